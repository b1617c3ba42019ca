"""The result table in docs/performance.md, made from what the scripts reported."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path

from bench.figures import Figure

BEGIN = "<!-- bench: begin (written by `make bench`, do not edit) -->"
END = "<!-- bench: end -->"
_WORST = 3
_PACKAGES = (
    "evalbench", "textual", "aiohttp", "orjson", "zstandard", "openai", "anthropic", "together",
    "boto3", "google-genai", "torch", "transformers", "numpy", "scipy",
)  # fmt: skip


@dataclass(frozen=True)
class Report:
    """What one script reported, and when.

    Attributes:
        script: its name.
        figures: what it measured.
        skipped: what it could not measure, and why, in words.
        begun: when, in seconds since the epoch.
        seconds: how long it took.
        loads: load averages of a minute before and after it.
        machine: the machine it ran on.
    """

    script: str
    figures: list[Figure]
    skipped: list[str] = field(default_factory=list)
    begun: float = 0.0
    seconds: float = 0.0
    loads: tuple[float, float] = (0.0, 0.0)
    machine: str = ""

    @property
    def busy(self) -> bool:
        """Whether others kept the machine so busy that a missed target says nothing certain."""
        return max(self.loads) > 2 * (os.cpu_count() or 1)

    def keep(self, folder: Path) -> None:
        """Store it for tables to come."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.script}.json").write_text(json.dumps(asdict(self), indent=1) + "\n")


def kept(folder: Path, order: Sequence[str]) -> list[Report]:
    """What scripts reported on this machine, now or before, in the order of ``order``."""
    found = []
    for name in order:
        file = folder / f"{name}.json"
        if not file.exists():
            continue
        stored = json.loads(file.read_text())
        stored["figures"] = [Figure(**one) for one in stored["figures"]]
        stored["loads"] = tuple(stored["loads"])
        report = Report(**stored)
        if report.machine == machine():
            found.append(report)
    return found


def machine() -> str:
    """Processor, memory, kernel and Python of this machine."""
    processor, memory = platform.processor() or platform.machine(), 0.0
    for line in _lines("/proc/cpuinfo"):
        if line.startswith("model name"):
            processor = line.partition(":")[2].strip()
            break
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemTotal"):
            memory = int(line.split()[1]) / 1024**2
    return (
        f"{processor}, {os.cpu_count()} processors, {memory:.0f} GiB; "
        f"{platform.system()} {platform.release()}; Python {platform.python_version()}"
    )


def _lines(file: str) -> list[str]:
    try:
        return Path(file).read_text("utf-8").splitlines()
    except OSError:
        return []


def versions() -> str:
    """The packages that matter, with their versions."""
    found = []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(found)


def render(reports: Sequence[Report]) -> str:
    """The whole part between the markers."""
    return "\n".join([BEGIN, *_head(reports), *_rows(reports), *_beneath(reports), END])


def _head(reports: Sequence[Report]) -> Iterator[str]:
    yield ""
    yield f"Machine: {machine()}.  "
    yield f"Packages: {versions()}.  "
    if reports:
        first, last = (
            min(one.begun for one in reports),
            max(one.begun + one.seconds for one in reports),
        )
        days = dict.fromkeys(time.strftime("%Y-%m-%d", time.localtime(at)) for at in (first, last))
        oldest = min(reports, key=lambda one: one.begun)
        newest = max(reports, key=lambda one: one.begun)
        yield (
            f"Measured: {' to '.join(days)}; load average {oldest.loads[0]:.1f} before, "
            f"{newest.loads[1]:.1f} after (each script's below)."
        )
    yield ""


def _rows(reports: Sequence[Report]) -> Iterator[str]:
    yield "| figure | target | measured | | beside it, same run | | ratio | script |"
    yield "| --- | --: | --: | --- | --- | --: | --: | --- |"
    for one in reports:
        for figure in one.figures:
            yield _row(figure, one)
    yield ""


def _row(figure: Figure, report: Report) -> str:
    unit = f" {figure.unit}" if figure.unit else ""
    sign = "≥" if figure.at_least else "≤"
    target = "" if figure.target is None else f"{sign} {number(figure.target)}{unit}"
    beside = "" if figure.beside_value is None else f"{number(figure.beside_value)}{unit}"
    ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}"
    name = f"{figure.name} ({figure.note})" if figure.note else figure.name
    value, said = f"{number(figure.value)}{unit}", verdict(figure, busy=report.busy)
    cells = name, target, value, said, figure.beside, beside, ratio, f"`{report.script}`"
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"


def verdict(figure: Figure, *, busy: bool) -> str:
    """Whether the target is met, in words; empty where there is none."""
    if figure.target is None:
        return ""
    over, target = figure.value, figure.target
    if over >= target if figure.at_least else over <= target:
        return "met"
    return "missed, but busy" if busy else "**missed**"


def number(value: float) -> str:
    """A number with three digits that count, more only before the point."""
    if value and abs(value) < 100:
        return f"{value:.3g}"
    return f"{value:,.0f}"


def _beneath(reports: Sequence[Report]) -> Iterator[str]:
    missed = [(one.miss or 0.0, one.name) for script in reports for one in script.figures]
    worst = sorted((pair for pair in missed if pair[0] > 0), reverse=True)[:_WORST]
    if worst:
        words = "; ".join(f"{name} ({share:.2f} of it)" for share, name in worst)
        yield f"Worst against their targets: {words}."
        yield ""
    if any(one.busy for one in reports):
        yield "*Busy*: the load was more than twice the processors, so a miss says nothing certain."
        yield ""
    yield "| script | begun | took | load before, after |"
    yield "| --- | --- | --: | --: |"
    for one in reports:
        begun = time.strftime("%Y-%m-%d %H:%M", time.localtime(one.begun))
        loads = ", ".join(f"{load:.1f}" for load in one.loads)
        yield f"| `{one.script}` | {begun} | {one.seconds:.0f} s | {loads} |"
    yield ""
    skipped = [f"- `{one.script}`: {words}" for one in reports for words in one.skipped]
    if skipped:
        yield "Not measured:"
        yield ""
        yield from skipped
        yield ""


def put(file: Path, table: str) -> None:
    """Write the table between the markers of a file; at its end where it has none.

    Raises:
        SystemExit: the file has one marker without the other.
    """
    text = file.read_text("utf-8") if file.exists() else ""
    if BEGIN not in text and END not in text:
        file.write_text(f"{text.rstrip()}\n\n{table}\n".lstrip(), "utf-8")
        return
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{file} has one marker of the table without the other")
    file.write_text(before + table + after, "utf-8")
