"""Plots as files."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from PIL import Image

from evalbench.engine.errors import UsageError
from evalbench.engine.installed import install_command
from evalbench.tui.report.charts import Chart, Paces, bins_of, dots_of, shares_of
from evalbench.tui.report.plots import png, write_plots

NAME = r"cost in $\frac{1}{0}$ \x 漢字 <b>"


def charts() -> list[Chart]:
    half = {"value": 0.5, "low": 0.4, "high": 0.6, "bound_low": 0.3, "bound_high": 0.7}
    found = [
        dots_of(NAME, [NAME, "b"], [[NAME, half, half], ["x", None, half]]),
        shares_of("Outcomes", [(NAME, {"ok": 9, "unparsed": 1})]),
        bins_of("Ratings", [NAME], [{1.0: 3, 2.0: 1, 7.0: 6}]),
        Paces("Done", (NAME,), (((0, 0.1), (9, 0.2), (20, 1)),)),
    ]
    return [chart for chart in found if chart]


@pytest.mark.share(2)
@pytest.mark.parametrize("chart", charts(), ids=lambda chart: type(chart).__name__)
def test_every_chart_is_a_picture_and_names_are_no_formulas(home: Path, chart: Chart) -> None:
    picture = Image.open(io.BytesIO(png(chart)))
    assert picture.width == 1600
    colours = picture.convert("RGB").getcolors(1 << 24)
    assert colours is not None
    assert len(colours) > 10, "something is drawn"


def test_plots_are_numbered_files_of_both_kinds(home: Path, tmp_path: Path) -> None:
    place = tmp_path / "a" / "plots"
    files, notes = write_plots(charts(), place)
    assert notes == []
    assert [file.name for file in files[:4]] == [
        "01-cost-in-frac-1-0-x-b.svg", "01-cost-in-frac-1-0-x-b.png",
        "02-outcomes.svg", "02-outcomes.png",
    ]  # fmt: skip
    assert sorted(place.iterdir()) == sorted(files)
    assert not [p for p in tmp_path.rglob("*") if "matplotlib" in p.name and "home" not in p.parts]


def test_without_matplotlib_the_svgs_are_there_and_a_note_says_how(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    files, notes = write_plots(charts(), tmp_path / "plots")
    assert {file.suffix for file in files} == {".svg"}
    assert install_command("report") in notes[0]


def test_a_place_that_cannot_be_written_is_told(home: Path, tmp_path: Path) -> None:
    (tmp_path / "plots").write_text("a file")
    with pytest.raises(UsageError, match="cannot be written to"):
        write_plots(charts(), tmp_path / "plots")
