"""Runs as files of other systems: written so that those, and our own import, can read them.

A format is a module with ``write(run, folder) -> list[str]``: it puts its files
through ``folder`` and returns what is to be told about them.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from evalbench.engine.errors import UsageError, nearest
from evalbench.engine.runfolder import RunFolder


class Format(NamedTuple):
    """One way of writing a run: what it is, of which benchmarks, and the module that does it."""

    summary: str
    benchmarks: tuple[str, ...]
    module: str


FORMATS: dict[str, Format] = {
    "speceval": Format(
        "SpecEval's folders: results/STATEMENT.json for each model, judge or pair",
        ("spec-generate", "spec-comply", "spec-rank"),
        "speceval",
    ),
    "fastchat": Format(
        "FastChat's model_answer and model_judgment files",
        ("mt-bench",),
        "fastchat",
    ),
    "openseesime": Format("OpenSeeSimE's CSV of results", ("openseesime",), "openseesime"),
    "mmlu-experiment": Format(
        "a folder of the Claude MMLU Experimenter: config.json and results.parquet",
        ("mmlu",),
        "mmlu_experiment",
    ),
}


class Exported(NamedTuple):
    """What was written: its files, and what is to be told about them."""

    files: list[Path]
    notes: list[str]


def formats_of(benchmark: str) -> list[str]:
    """The formats that runs of a benchmark can be written in."""
    return [name for name, one in FORMATS.items() if benchmark in one.benchmarks]


def export_run(folder: RunFolder, name: str | None, place: Path) -> Exported:
    """Write a run below a folder; no file that is there is replaced.

    Args:
        folder: the run.
        name: the format; None where only one fits.
        place: the folder to write to; made where it is missing.

    Raises:
        UsageError: the format does not fit the run, or a file is there already.
        JournalError: the run cannot be read.
    """
    from evalbench.engine.results.exporting.held import Files, HeldRun

    chosen = FORMATS[_format(folder.spec().benchmark, name)]
    module = import_module(f"{__name__}.{chosen.module}")
    files = Files(place)
    with HeldRun(folder) as run:
        notes = [*run.notes(), *module.write(run, files)]
    return Exported(files.write(), notes)


def _format(benchmark: str, name: str | None) -> str:
    fitting = formats_of(benchmark)
    if name is None and len(fitting) == 1:
        return fitting[0]
    if name in fitting:
        return str(name)
    listed = ", ".join(fitting)
    if name is not None and name not in FORMATS:
        raise UsageError(f"there is no format {name!r}", cure=nearest(name, FORMATS) or listed)
    raise UsageError(
        f"a run of {benchmark} cannot be written as {name}"
        if name
        else f"which format a run of {benchmark} is to have is not clear",
        cure=f"--format {listed}" if fitting else "see evalbench export --help for what can be",
    )
