"""``evalbench import``: results of other systems, as runs."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

from evalbench.engine.errors import UsageError
from evalbench.engine.importing.recorded import Recorded, write_run
from evalbench.tui.cli.launch import declare_run_dir
from evalbench.tui.cli.output import stdout
from evalbench.tui.cli.parser import Parser
from evalbench.tui.state import figures
from evalbench.tui.state.clean import one_line

_KINDS = {
    "fastchat": "FastChat judgments of MT-bench, single or in pairs; --data names the questions",
    "mmlu-experiment": "a folder of the Claude MMLU Experimenter",
    "speceval": "a results folder: answers, rankings or compliance; --data names the specification",
    "openseesime": "a CSV of OpenSeeSimE results",
}


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments."""
    lines = [f"  {name:<16}{what}" for name, what in _KINDS.items()]
    parser.description = "\n".join([f"{parser.description}", "", *lines])
    parser.add_argument("kind", metavar="KIND", choices=list(_KINDS), help="whose results")
    parser.add_argument("path", metavar="PATH", type=Path, help="the file or folder")
    parser.add_argument("--data", type=Path, metavar="PATH", help="questions or specification")
    parser.add_argument(
        "--answers", type=Path, metavar="PATH", help="fastchat: the models' answers, file or folder"
    )
    declare_run_dir(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object for each run")
    parser.examples(
        "evalbench import fastchat model_judgment/gpt-4_single.jsonl --data mt_bench",
        "evalbench import mmlu-experiment experiments/first",
        "evalbench import speceval judge_x/model-a/results --data openai.jsonl",
    )


def execute(args: argparse.Namespace) -> int:
    """Read, write the runs, and say what they came to."""
    out = stdout()
    for recorded in _read(args.kind, args.path.expanduser(), args.data, args.answers):
        folder = asyncio.run(write_run(recorded, args.run_dir))
        status = folder.status()
        if args.json:
            from evalbench.tui.cli import jsonlines

            jsonlines.write(
                out,
                "imported",
                run=folder.id,
                folder=str(folder.path),
                benchmark=status.benchmark,
                model=status.model,
                done=status.done,
                failed=status.failed,
                metrics=jsonlines.metrics_json(status.metrics),
                notes=recorded.notes,
            )
            continue
        head = next(iter(status.metrics.values()), None)
        score = figures.score(head) if head and head.get("value") is not None else "not scored"
        out.line(f"{folder.id}: {status.benchmark} × {one_line(status.model)}: {score}")
        for note in recorded.notes:
            out.line(f"  note: {one_line(note)}")
    return 0


def _read(kind: str, path: Path, data: Path | None, answers: Path | None) -> list[Recorded]:
    if kind in ("fastchat", "speceval") and data is None:
        what = "questions" if kind == "fastchat" else "specification"
        raise UsageError(f"the {what} are needed too", cure=f"name the {what} with --data PATH")
    if kind == "fastchat":
        from evalbench.engine.importing.fastchat import read_judgments

        assert data
        return read_judgments(path, data, answers)
    if kind == "speceval":
        from evalbench.engine.importing.speceval import read_folder

        assert data
        return [read_folder(path, data)]
    if kind == "mmlu-experiment":
        from evalbench.engine.importing.mmlu_experiment import read_experiment

        return [read_experiment(path)]
    from evalbench.engine.importing.openseesime import read_results

    return read_results(path)
