"""``evalbench import``: import results from other tools as runs."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evalbench.engine.errors import DataError, UsageError
from evalbench.engine.paths import expand
from evalbench.engine.terminal_text import one_line
from evalbench.tui.cli.launch import declare_run_dir
from evalbench.tui.cli.output import Out, stdout
from evalbench.tui.cli.parser import Parser
from evalbench.tui.cli.table import print_scores
from evalbench.tui.state import figures

if TYPE_CHECKING:
    from evalbench.engine.formats.recorded import Recorded
    from evalbench.engine.runs.folder import RunFolder

_KINDS = {
    "json": "a run that evalbench export --format json wrote",
    "inspect": "a log of inspect_ai, .eval or .json, or a folder with several",
    "lm-eval": "lm-evaluation-harness: samples_TASK_DATE.jsonl, or the folder with them",
    "fastchat": "MT-bench judgments or answers of FastChat; --data names the questions",
    "mmlu-experiment": "a folder of the Claude MMLU Experimenter",
    "speceval": "a results folder: answers, rankings or compliance; --data names the specification",
    "bedrock": "a JSON file of execution prediction or choice on Bedrock; --data may name the"
    " problems",
    "openseesime": "a CSV of OpenSeeSimE results",
}
_NEEDS_DATA = {"fastchat": "questions", "speceval": "specification"}
_TAKES_DATA = (*_NEEDS_DATA, "bedrock")


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments."""
    lines = [f"  {name:<17}{what}" for name, what in _KINDS.items()]
    parser.description = "\n".join([f"{parser.description}", "", *lines])
    parser.add_argument("kind", metavar="KIND", choices=list(_KINDS), help="format to import")
    parser.add_argument("path", metavar="PATH", type=Path, help="file or folder")
    parser.add_argument(
        "--data",
        type=Path,
        metavar="PATH",
        help="file or folder with the questions, specification or problems",
    )
    parser.add_argument(
        "--answers",
        type=Path,
        metavar="PATH",
        help="with fastchat: file or folder with the models' answers",
    )
    parser.add_argument(
        "--as",
        dest="benchmark",
        choices=("recorded", "mmlu"),
        default="recorded",
        help="with inspect and lm-eval: import MMLU results as an mmlu run",
    )
    declare_run_dir(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object per run")
    parser.examples(
        "evalbench import fastchat model_judgment/gpt-4_single.jsonl --data mt_bench",
        "evalbench import json run.json",
        "evalbench import inspect logs/2026-11-28_mmlu.eval --as mmlu",
        "evalbench import mmlu-experiment experiments/first",
        "evalbench import speceval judge_x/model-a/results --data openai.jsonl",
    )


def execute(args: argparse.Namespace) -> int:
    """Read everything, then write the runs, and print their results."""
    from evalbench.engine.formats.recorded import write_run

    given = _existing(args.kind, args.path, args.data, args.answers)
    out = stdout()
    if args.kind == "json":
        from evalbench.engine.formats.full.reader import import_whole

        folder = asyncio.run(import_whole(given[0], args.run_dir))
        _tell(out, folder, [], json=args.json)
        return 0
    if args.benchmark != "recorded" and args.kind not in _LOGS:
        raise UsageError(f"--as does not go with {args.kind}")
    reader = _LOGS.get(args.kind)
    for recorded in reader(given[0], args.benchmark) if reader else _read(args.kind, *given):
        folder = asyncio.run(write_run(recorded, args.run_dir))
        _tell(out, folder, _notes(folder), json=args.json)
    return 0


def _notes(folder: RunFolder) -> Sequence[str]:
    """What could not be imported as it was, according to the run's journal."""
    from evalbench.engine.journal import JournalReader

    with JournalReader(folder.journal) as journal:
        notes: Sequence[str] = journal.meta("imported")["notes"]
    return notes


def _inspect(path: Path, benchmark: str) -> list[Recorded]:
    from evalbench.engine.formats.inspect.reader import read_log

    if not path.is_dir():
        return [read_log(path, benchmark)]
    logs = sorted(file for file in path.rglob("*") if file.suffix in (".eval", ".json"))
    if not logs:
        raise DataError("there are no logs in it", path=str(path), why="they end in .eval or .json")
    return [read_log(file, benchmark) for file in logs]


def _lm_eval(path: Path, benchmark: str) -> list[Recorded]:
    from evalbench.engine.formats.lm_eval.reader import read_samples

    return read_samples(path, benchmark)


_LOGS = {"inspect": _inspect, "lm-eval": _lm_eval}


def _tell(out: Out, folder: RunFolder, notes: Sequence[str], *, json: bool) -> None:
    status = folder.status()
    if json:
        from evalbench.tui.cli import jsonlines

        jsonlines.write(
            out,
            "imported",
            run=folder.id,
            folder=str(folder.path),
            benchmark=status.benchmark,
            model=status.model,
            total=status.total,
            failed=status.failed,
            metrics=jsonlines.metrics_json(status.metrics),
            notes=list(notes),
        )
        return
    failed = f", {figures.count(status.failed)} of them failed" if status.failed else ""
    out.line(f"{folder.id}: {one_line(status.benchmark)} × {one_line(status.model)}")
    out.line(f"  {figures.counted(status.total, 'sample')}{failed}")
    for note in notes:
        out.line(f"  note: {one_line(note)}")
    print_scores(out, status.metrics, all_groups=False)


def _existing(
    kind: str, path: Path, data: Path | None, answers: Path | None
) -> tuple[Path, Path | None, Path | None]:
    """The paths, with the arguments of this kind validated.

    Raises:
        UsageError: something is missing, or does not apply.
    """
    if (what := _NEEDS_DATA.get(kind)) and data is None:
        raise UsageError(f"the {what} are not in it", hint=f"name the {what} with --data PATH")
    if data is not None and kind not in _TAKES_DATA:
        raise UsageError(f"--data does not go with {kind}: its files hold the questions")
    if answers is not None and kind != "fastchat":
        raise UsageError(f"--answers does not go with {kind}")
    found = [expand(one) if one else None for one in (path, data, answers)]
    for one in found:
        try:
            str(one).encode()  # fails for a name that no run can have
            there = one is None or one.exists()
        except UnicodeEncodeError:
            hint = "rename it, or make a link to it"
            raise DataError("its name is not UTF-8 text", path=str(one), hint=hint) from None
        except OSError as error:
            raise DataError("it cannot be read", path=str(one), why=error.strerror or "") from None
        if not there:
            raise DataError("there is no such file or folder", path=str(one), hint="check the path")
    wants_folder = kind in ("mmlu-experiment", "speceval")
    place = found[0]
    assert place
    if kind not in _LOGS and place.is_dir() != wants_folder:
        raise DataError(
            f"this is a {'file' if wants_folder else 'folder'}",
            path=str(place),
            hint=f"{kind}: {_KINDS[kind]}",
        )
    return place, found[1], found[2]


def _read(kind: str, path: Path, data: Path | None, answers: Path | None) -> list[Recorded]:
    recorded = _readers(kind, path, data, answers)
    if not any(one.items for one in recorded):
        raise DataError("there are no results in it", path=str(path))
    return recorded


def _readers(kind: str, path: Path, data: Path | None, answers: Path | None) -> list[Recorded]:
    if kind == "fastchat":
        from evalbench.engine.formats.fastchat import reader as fastchat

        assert data
        return fastchat.read_results(path, data, answers)
    if kind == "speceval":
        from evalbench.engine.formats.speceval.reader import read_folder

        assert data
        return [read_folder(path, data)]
    if kind == "mmlu-experiment":
        from evalbench.engine.formats.mmlu_experiment.reader import read_experiment

        return [read_experiment(path)]
    if kind == "bedrock":
        from evalbench.engine.formats.bedrock_evaluator import reader as bedrock

        return bedrock.read_results(path, data)
    from evalbench.engine.formats.openseesime import reader as openseesime

    return openseesime.read_results(path)
