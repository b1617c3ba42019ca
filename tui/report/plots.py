"""Charts as files: SVG as in reports, and PNG with matplotlib if it is installed."""

from __future__ import annotations

import io
import os
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evalbench.engine.errors import UsageError
from evalbench.engine.installed import install_command
from evalbench.engine.paths import cache_dir, write_file
from evalbench.tui.report.charts import (
    Bins,
    Chart,
    Dots,
    Heat,
    Mark,
    Paces,
    Shares,
    tick_word,
    ticks,
)
from evalbench.tui.report.svg import svg_file
from evalbench.tui.state import figures

_COLOURS = ("#0072b2", "#b34700", "#00795a", "#a1467d", "#7a5c00", "#4d4d4d")
_PARTS = dict(
    zip(
        figures.OUTCOME_WORDS.values(),
        ("#0072b2", "#8a6d00", "#a1467d", "#6b4fa0", "#b34700", "#4d4d4d"),
        strict=True,
    )
)
_SHAPES = "os^D*P"
_STROKES = ("-", "--", ":", "-.")
_DPI = 200
_WIDTH_IN, _ROW_IN, _FRAME_IN = 8.0, 0.22, 1.1
_MOST_IN = 200.0
"""Programs cannot draw pictures higher than this."""
_LONGEST_NAME = 46


def write_plots(charts: Sequence[Chart], folder: Path) -> tuple[list[Path], list[str]]:
    """Write every chart as an SVG and, with matplotlib, a PNG file; replaces older ones.

    Args:
        charts: numbered in order.
        folder: created if missing.

    Returns:
        The files, and notes on what could not be made.

    Raises:
        UsageError: the folder is not writable.
    """
    drawing = _matplotlib()
    files: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for place, chart in enumerate(charts, 1):
            name = f"{place:02}-{_slug(chart.title)}"
            files.append(folder / f"{name}.svg")
            write_file(files[-1], svg_file(chart).encode())
            if drawing:
                files.append(folder / f"{name}.png")
                write_file(files[-1], png(chart))
    except OSError as error:
        raise UsageError(
            f"{folder} cannot be written to", why=error.strerror or str(error)
        ) from None
    return files, [] if drawing else [_no_png()]


def _slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60] or "plot"


def _matplotlib() -> bool:
    # Its font cache goes with everything else that evalbench writes.
    os.environ.setdefault("MPLCONFIGDIR", str(cache_dir() / "matplotlib"))
    # A notebook's backend, which its variable may name, need not be installed here.
    named = os.environ.pop("MPLBACKEND", None)
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    finally:
        if named is not None:
            os.environ["MPLBACKEND"] = named
    return True


def png(chart: Chart) -> bytes:
    """A chart as a picture for papers, 8 inches wide at 200 dpi.

    Raises:
        ImportError: matplotlib is not installed.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = _rows(chart)
    height = min(_MOST_IN, _FRAME_IN + _ROW_IN * rows)
    # Names are literal: a dollar sign starts no formula, and any script may occur.
    style: Any = {"text.parse_math": False, "font.size": 9, "font.family": "DejaVu Sans"}
    out = io.BytesIO()
    with mpl.rc_context(style), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure = Figure(figsize=(_WIDTH_IN, height), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        axes.set_title(_name(chart.title), loc="left", fontsize=10)
        _draw(axes, chart)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        # No machine or time data: equal charts give equal files.
        figure.savefig(out, format="png", dpi=_DPI, metadata={"Software": None})
    return out.getvalue()


def _rows(chart: Chart) -> int:
    if isinstance(chart, Heat):
        return 2 * len(chart.rows) + 4
    if isinstance(chart, (Dots, Bins)):
        return len(chart.rows) * max(1, len(chart.series))
    return len(chart.rows) if isinstance(chart, Shares) else 12


def _name(text: str) -> str:
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"


def _draw(axes: Any, chart: Chart) -> None:
    if isinstance(chart, Dots):
        _dots(axes, chart)
    elif isinstance(chart, Shares):
        _shares(axes, chart)
    elif isinstance(chart, Bins):
        _bins(axes, chart)
    elif isinstance(chart, Heat):
        _heat(axes, chart)
    else:
        _paces(axes, chart)


def _heat(axes: Any, chart: Heat) -> None:
    nothing = float("nan")
    shades = [[chart.shade(m) if m else nothing for m in row] for row in chart.marks]
    axes.imshow(shades, cmap="Blues", vmin=-0.15, vmax=1.7, aspect="auto")
    for row, marks in enumerate(chart.marks):
        for column, mark in enumerate(marks):
            if mark:
                axes.text(column, row, chart.word(mark), ha="center", va="center", fontsize=8)
    _named_rows(axes, chart.rows)
    names = [_name(name) for name in chart.columns]
    axes.set_xticks(range(len(names)), labels=names, rotation=30, ha="right")
    axes.tick_params(axis="x", length=0)


def _named_rows(axes: Any, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), labels=[_name(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)


def _legend(axes: Any, series: Sequence[str]) -> None:
    if len(series) > 1:
        axes.legend(loc="upper left", bbox_to_anchor=(0, -0.12), ncols=2, frameon=False)


def _place(row: int, series: int, of: int) -> float:
    """The position of a series in its row: spread over six tenths of it."""
    return row + (0.6 * (series + 0.5) / of - 0.3 if of > 1 else 0.0)


def _dots(axes: Any, chart: Dots) -> None:
    of = len(chart.series)
    for at, name in enumerate(chart.series):
        marks = [(row, row_marks[at]) for row, row_marks in enumerate(chart.marks)]
        there = [(_place(row, at, of), mark) for row, mark in marks if mark is not None]
        colour = _COLOURS[at % len(_COLOURS)]
        for y, mark in there:
            _reach(axes, y, mark, colour)
        shape = _SHAPES[(at + at // len(_COLOURS)) % len(_SHAPES)]
        axes.plot(
            [mark.value for _, mark in there],
            [y for y, _ in there],
            shape,
            color=colour,
            markersize=4,
            clip_on=False,
            label=_name(name),
        )
    _named_rows(axes, chart.rows)
    axes.set_xlim(chart.low, chart.high)
    places = ticks(chart.low, chart.high)
    axes.set_xticks(places, labels=[tick_word(place, share=chart.share) for place in places])
    axes.grid(axis="x", color="#d5dae0", linewidth=0.6)
    axes.set_axisbelow(True)
    _legend(axes, chart.series)


def _reach(axes: Any, y: float, mark: Mark, colour: str) -> None:
    if mark.bound_low is not None and mark.bound_high is not None:
        axes.hlines(y, mark.bound_low, mark.bound_high, color=colour, linewidth=0.8, linestyle=":")
    if mark.low is not None and mark.high is not None:
        axes.hlines(y, mark.low, mark.high, color=colour, linewidth=2)


def _shares(axes: Any, chart: Shares) -> None:
    left = [0.0] * len(chart.rows)
    for at, part in enumerate(chart.parts):
        widths = [counts[at] / (sum(counts) or 1) for counts in chart.counts]
        axes.barh(range(len(chart.rows)), widths, 0.6, left=left, color=_PARTS[part], label=part)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    _named_rows(axes, chart.rows)
    _percent(axes)
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.25), ncols=6, frameon=False)


def _percent(axes: Any) -> None:
    places = ticks(0, 1)
    axes.set_xlim(0, 1)
    axes.set_xticks(places, labels=[tick_word(place, share=True) for place in places])


def _bins(axes: Any, chart: Bins) -> None:
    of = len(chart.series)
    for at, name in enumerate(chart.series):
        places = [_place(row, at, of) for row in range(len(chart.rows))]
        widths = [100 * shares[at] for shares in chart.shares]
        colour = _COLOURS[at % len(_COLOURS)]
        axes.barh(places, widths, 0.55 / of, color=colour, label=_name(name))
    _named_rows(axes, chart.rows)
    axes.set_xlabel("% of samples")
    _legend(axes, chart.series)


def _paces(axes: Any, chart: Paces) -> None:
    for at, (name, points) in enumerate(zip(chart.series, chart.lines, strict=True)):
        seconds, shares = zip(*points, strict=True)
        colour, stroke = _COLOURS[at % len(_COLOURS)], _STROKES[at % len(_STROKES)]
        axes.plot(seconds, shares, stroke, color=colour, label=_name(name))
    places = (0.0, 0.5, 1.0)
    axes.set_yticks(places, labels=[tick_word(place, share=True) for place in places])
    longest = max(points[-1][0] for points in chart.lines) or 1.0
    axes.set_xticks(
        [place * longest for place in places],
        labels=[figures.duration(place * longest) for place in places],
    )
    axes.grid(color="#d5dae0", linewidth=0.6)
    _legend(axes, chart.series)


def _no_png() -> str:
    return f"no PNG was made, for lack of matplotlib: {install_command('report')}"
