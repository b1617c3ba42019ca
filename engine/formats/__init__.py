"""Runs as files for other tools, in formats that those and our own import can read.

A format is a module with ``write(run, files) -> list[str]``: it adds its files to ``files`` and
returns notes for the user. A format that combines several runs in one file has
``write_all(runs, files)`` instead.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import ExitStack
from importlib import import_module
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from evalbench.engine.errors import JournalError, JournalTooNew, UsageError, counted, nearest
from evalbench.engine.paths import write_file
from evalbench.engine.runs.folder import RunFolder


class Format(NamedTuple):
    """An export format.

    Attributes:
        summary: a one-line description.
        module: the module that writes it.
        benchmarks: the benchmarks whose runs it supports; empty for any.
        suffix: extension of the file; empty if there may be several files.
        together: whether several runs are written as one.
        apart: whether each of several runs gets its own folder: the file names are fixed.
    """

    summary: str
    module: str
    benchmarks: tuple[str, ...] = ()
    suffix: str = ""
    together: bool = False
    apart: bool = False


FORMATS: dict[str, Format] = {
    "json": Format(
        "everything about a run; evalbench import json reads it", "full.writer", (), ".json"
    ),
    "csv": Format("a row for each sample, safe to open in a spreadsheet", "csv_table", (), ".csv"),
    "jsonl": Format("the same rows as JSON lines", "jsonl_table", (), ".jsonl"),
    "parquet": Format(
        "the same rows for pandas, polars and DuckDB", "parquet_table", (), ".parquet"
    ),
    "junit": Format("JUnit XML for CI: a case for each sample", "junit", (), ".xml"),
    "inspect": Format("an .eval log for inspect_ai and its viewer", "inspect.writer", (), ".eval"),
    "lm-eval": Format("lm-evaluation-harness: results JSON and samples JSONL", "lm_eval.writer"),
    "every-eval-ever": Format("a record of Every Eval Ever, with its samples", "every_eval_ever"),
    "hf-model-card": Format(
        "YAML for a model card on the Hugging Face hub", "model_card", apart=True
    ),
    "speceval": Format(
        "SpecEval's folders: results/STATEMENT.json for each model, judge or pair",
        "speceval.writer",
        ("spec-generate", "spec-comply", "spec-rank"),
    ),
    "fastchat": Format(
        "FastChat's model_answer and model_judgment files; takes several runs",
        "fastchat.writer",
        ("mt-bench",),
        together=True,
    ),
    "mt-bench-json": Format(
        "MT-bench results with model_results and a ranking; takes several runs",
        "mt_bench_json",
        ("mt-bench",),
        ".json",
        together=True,
    ),
    "bedrock": Format(
        "the Bedrock evaluator's JSON; takes a run of each kind",
        "bedrock_evaluator.writer",
        ("code-prediction", "code-choice"),
        ".json",
        together=True,
    ),
    "openseesime": Format(
        "OpenSeeSimE's CSV of results", "openseesime.writer", ("openseesime",), ".csv", apart=True
    ),
    "mmlu-experiment": Format(
        "a folder of the Claude MMLU Experimenter: config.json and results.parquet",
        "mmlu_experiment.writer",
        ("mmlu",),
        apart=True,
    ),
}
_FILE_ENDINGS = {one.suffix for one in FORMATS.values() if one.suffix} | {
    ".jsonl", ".yaml", ".yml", ".txt", ".md", ".html", ".zip", ".toml", ".log", ".xlsx",
}  # fmt: skip
"""A path with one of these extensions is a file, not a new folder."""
_BY_ENDING = {one.suffix: name for name, one in reversed(FORMATS.items()) if one.suffix}


class Exported(NamedTuple):
    """The result of an export: the format, its files, and notes for the user."""

    format: str
    files: list[Path]
    notes: list[str]


def formats_of(benchmark: str) -> list[str]:
    """The formats available for a benchmark's runs, its own ones first."""
    own = [name for name, one in FORMATS.items() if benchmark in one.benchmarks]
    return own + [name for name, one in FORMATS.items() if not one.benchmarks]


def export_runs(
    folders: Sequence[RunFolder], name: str | None, place: Path, *, short_names: bool = False
) -> Exported:
    """Write runs to a folder or a file; existing files are never replaced.

    Args:
        folders: the runs.
        name: the format; None to choose by the extension of ``place``, else the benchmark's own,
            else JSON.
        place: the target folder, created if missing; or a file with the extension of a format
            that writes a single file.
        short_names: name models without their provider, as most systems do.

    Raises:
        UsageError: the format does not support the runs, or a file already exists.
        JournalError: a run cannot be read, not even partly.
    """
    benchmarks = list(dict.fromkeys(folder.spec().benchmark for folder in folders))
    name = _format(benchmarks, name, place)
    chosen = FORMATS[name]
    ending = "" if place.is_dir() else place.suffix.lower()
    single = bool(chosen.suffix) and ending == chosen.suffix
    if ending in _FILE_ENDINGS and not single:
        raise UsageError(
            f"{name} is no {ending} file, and {place} names one",
            hint=f"name a file ending in {chosen.suffix}, or a folder"
            if chosen.suffix
            else f"name a folder: {name} makes several files",
        )
    if single and len(folders) > 1 and not chosen.together:
        raise UsageError(
            f"{name} makes a file of each run", hint="name a folder with -o for several runs"
        )
    out = place, place if single else None
    try:
        return _written(name, out, [(folder, None) for folder in folders], short_names)
    except JournalTooNew:
        raise
    except JournalError as damage:
        return _written_of_what_is_left(name, out, folders, damage, short_names)


def export_samples(folder: RunFolder, numbers: Collection[int], path: Path) -> None:
    """Write the rows of these samples as ``evalbench export`` does for all, in their order.

    Args:
        folder: the run's folder.
        numbers: the samples' numbers.
        path: ends in ``.csv`` or ``.jsonl``; replaced if it exists.

    Raises:
        UsageError: the file cannot be written.
        JournalError: the journal cannot be read.
    """
    from evalbench.engine.formats import csv_table, jsonl_table
    from evalbench.engine.formats.files import unwritable
    from evalbench.engine.runs.reader import RunReader
    from evalbench.engine.runs.rows import columns, rows

    write = jsonl_table.write_rows if path.suffix == ".jsonl" else csv_table.write_rows
    body = BytesIO()
    with RunReader(folder) as run:
        write(columns(run), (row for row in rows(run) if row["row"] in numbers), body)
    try:
        write_file(path, body.getvalue())
    except OSError as error:
        raise unwritable(path, error) from None


def _written(
    name: str,
    out: tuple[Path, Path | None],
    journals: Sequence[tuple[RunFolder, Path | None]],
    short_names: bool,
) -> Exported:
    from evalbench.engine.formats.files import Files
    from evalbench.engine.runs.reader import RunReader

    module = import_module(f"{__name__}.{FORMATS[name].module}")
    with Files(*out) as files, ExitStack() as stack:
        runs = [stack.enter_context(RunReader(folder, journal)) for folder, journal in journals]
        for run in runs:
            run.short_names = short_names
        notes: list[str] = []
        if FORMATS[name].together:
            notes += module.write_all(runs, files)
        else:
            for run in runs:
                files.below = run.id if FORMATS[name].apart and len(runs) > 1 else ""
                own = run.notes() if FORMATS[name].benchmarks else ()
                notes += [*own, *module.write(run, files)]
        return Exported(name, files.commit(), list(dict.fromkeys(notes)))


def _written_of_what_is_left(
    name: str,
    out: tuple[Path, Path | None],
    folders: Sequence[RunFolder],
    damage: JournalError,
    short_names: bool,
) -> Exported:
    """Write as much as can be read from a damaged journal."""
    from evalbench.engine.journal.salvage import salvage

    with TemporaryDirectory(prefix="evalbench-") as scratch:
        journals, notes = [], []
        for number, folder in enumerate(folders):
            whole = Path(scratch) / f"{number}.db"
            try:
                found = salvage(folder.journal, whole)
            except JournalError as nothing:
                raise nothing from damage
            except OSError:
                raise damage from None
            journals.append((folder, whole))
            notes.append(
                f"{damage.what}: of {folder.id} this is what could still be read,"
                f" {counted(found.samples, 'sample')} and {counted(found.scores, 'score')}"
            )
        done = _written(name, out, journals, short_names)
        return done._replace(notes=[*notes, *done.notes])


def _format(benchmarks: Sequence[str], name: str | None, place: Path) -> str:
    fitting = [
        one
        for one in formats_of(benchmarks[0])
        if all(one in formats_of(other) for other in benchmarks)
    ]
    if name is None:
        by_ending = _BY_ENDING.get(place.suffix.lower())
        return by_ending if by_ending and not place.is_dir() else fitting[0]
    if name in fitting:
        return name
    listed = ", ".join(fitting)
    if name not in FORMATS:
        raise UsageError(f"there is no format {name!r}", hint=nearest(name, FORMATS) or listed)
    raise UsageError(
        f"a run of {' and '.join(benchmarks)} cannot be written as {name}",
        hint=f"--format {listed}",
    )
