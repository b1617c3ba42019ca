"""Reports as files: one self-contained HTML page, or Markdown.

Everything inserted into a template is made safe: control characters and terminal sequences are
removed, as is anything that looks like a provider's key; markup is escaped. The page has no script,
and a policy that forbids every request.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from evalbench.engine.errors import UsageError
from evalbench.engine.paths import write_file
from evalbench.engine.runs.sanitize import without_keys
from evalbench.engine.terminal_text import clean, one_line
from evalbench.tui.report.bars import bars
from evalbench.tui.report.charts import Chart
from evalbench.tui.report.content import Report
from evalbench.tui.report.svg import STYLE, colours, svg
from evalbench.tui.state.markdown import markdown_text

MARK = "evalbench report"
"""Part of the first line of every report, so that a report overwrites nothing else."""

_HERE = Path(__file__).parent
_COLUMNS = 96


def html(report: Report) -> str:
    """A report as HTML."""
    style = (_HERE / "report.css").read_text("utf-8") + STYLE + colours()
    return _write("report.html.jinja", report, _clean, autoescape=True, style=style)


def markdown(report: Report) -> str:
    """A report as Markdown, with charts as text."""
    return _write("report.md.jinja", report, _escaped, autoescape=False, style="")


FORMATS: dict[str, Callable[[Report], str]] = {
    ".html": html,
    ".htm": html,
    ".md": markdown,
    ".markdown": markdown,
}
"""A report's format, by the extension of its file."""


KINDS = {"html": ".html", "md": ".md"}
"""The values of ``--format``, with the equivalent extension."""


def is_summary(path: Path) -> bool:
    """Whether a file is a GitHub Actions step summary, which is appended to."""
    named = os.environ.get("GITHUB_STEP_SUMMARY")
    return named is not None and named != "" and path == Path(named).absolute()


def text_of(report: Report, kind: str) -> str:
    """A report as ``html`` or ``md``."""
    return FORMATS[KINDS[kind]](report)


def check_name(path: Path, kind: str | None = None) -> None:
    """Check that a report can be written to a file with this name, or any name given ``kind``.

    Raises:
        UsageError: the extension is unknown, or the file exists and is not a report.
    """
    if is_summary(path):
        return
    if kind is None and path.suffix.lower() not in FORMATS:
        raise UsageError(
            f"the format of {one_line(path.name)!r} is unknown",
            why="a report ends in .html or .md, or has a --format",
            hint="-o report.html",
        )
    try:
        with path.open("rb") as file:
            mine = MARK.encode() in file.readline(200)
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"{path} cannot be written", why=error.strerror or "") from None
    if not mine:
        raise UsageError(
            f"{path} is there already and is no report", hint="name another file with -o"
        )


def write_report(report: Report, path: Path, kind: str | None = None) -> None:
    """Write a report in the format of its extension, or ``kind``; replaces an older one.

    It is appended as Markdown to a GitHub Actions step summary.

    Raises:
        UsageError: the name is unsuitable, or the file cannot be written.
    """
    check_name(path, kind)
    if is_summary(path):
        try:
            with path.open("a", encoding="utf-8") as file:
                file.write(text_of(report, kind or "md") + "\n")
        except OSError as error:
            raise UsageError(f"{path} cannot be written", why=error.strerror or "") from None
        return
    text = text_of(report, kind) if kind else FORMATS[path.suffix.lower()](report)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, text.encode())
    except OSError as error:
        raise UsageError(f"{path} cannot be written", why=error.strerror or str(error)) from None


def _write(
    name: str, report: Report, safe: Callable[[Any], Any], *, autoescape: bool, style: str
) -> str:
    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=autoescape,  # noqa: S701  (Markdown is escaped by its own rules)
        finalize=safe,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"svg": svg, "bars": _bars, "fenced": _fenced}
    environment.tests["chart"] = lambda item: isinstance(item, Chart)
    # The style sheet is our own file.
    sheet = Markup(style)  # noqa: S704
    return environment.get_template(name).render(report=report, style=sheet)


def _clean(value: Any) -> Any:
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return clean(without_keys(value))


def _escaped(value: Any) -> Any:
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return markdown_text(value)


def _bars(chart: Chart) -> Markup:
    return _fenced("\n".join(bars(chart, _COLUMNS)))


def _fenced(text: str) -> Markup:
    """A text as a literal block: its fence is longer than any inside it."""
    text = clean(without_keys(text))
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return Markup("{0}text\n{1}\n{0}").format(Markup(fence), Markup(text))  # noqa: S704
