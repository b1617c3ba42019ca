"""The table of measured figures: what scripts tell, how it is kept, shown and put into a page."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from bench import table
from bench.__main__ import main
from bench.figures import Figure, declare, read, tell
from bench.plan import HERE, SCRIPTS

MET = Figure("start, CPU", 0.25, "s", 0.5, beside="nothing", beside_value=0.1, note="9 starts")
MISSED = Figure("lines read", 10.0, "MB/s", 20.0, at_least=True)
FREE = Figure("a|b", 1234.5, "ms")


def told(*figures: Figure, script: str = "one", skipped: tuple[str, ...] = ()) -> table.Report:
    return table.Report(script, list(figures), list(skipped), 1e9, 7.0, (1.0, 2.0), table.machine())


def rows(text: str) -> list[list[str]]:
    """The cells of the first table."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    width = lines[0].count("|")
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines
            if line.count("|") == width]  # fmt: skip


def test_every_row_says_target_value_verdict_comparison_and_script() -> None:
    shown = rows(table.render([told(MET, MISSED, FREE)]))
    assert shown[2:] == [
        ["start, CPU (9 starts)", "≤ 0.5 s", "0.25 s", "met", "nothing", "0.1 s", "2.50", "`one`"],
        ["lines read", "≥ 20 MB/s", "10 MB/s", "**missed**", "", "", "", "`one`"],
        ["a/b", "", "1,234 ms", "", "", "", "", "`one`"],
    ]


def test_on_a_busy_machine_a_miss_is_not_certain() -> None:
    busy = table.Report("one", [MET, MISSED], loads=(900.0, 1.0), machine=table.machine())
    assert [row[3] for row in rows(table.render([busy]))[2:]] == ["met", "missed, but busy"]
    assert "says nothing certain" in table.render([busy])


def test_what_was_missed_by_most_is_named_first_and_what_could_not_be_measured_is_said() -> None:
    text = table.render([told(MET, MISSED, skipped=("promptfoo is not installed",))])
    assert "says nothing certain" not in text
    assert "Worst against their targets: lines read (2.00 of it); start, CPU (0.50 of it)." in text
    assert "- `one`: promptfoo is not installed" in text


def test_above_it_stand_machine_versions_date_and_loads() -> None:
    text = table.render([told(MET)])
    assert table.machine() in text
    assert re.search(r"textual \d", text)
    assert "Measured: 2001-09-0" in text
    assert "load average 1.0 before, 2.0 after" in text


def test_a_scripts_figures_come_back_as_it_told_them(tmp_path: Path) -> None:
    file = tmp_path / "figures"
    parser = argparse.ArgumentParser()
    declare(parser)
    into = parser.parse_args(["--figures", str(file)]).figures
    tell(into, [MET])
    tell(into, [MISSED], skipped=["no node"])
    tell(None, [FREE])
    assert read(file) == ([MET, MISSED], ["no node"])


def test_what_was_told_before_is_kept_by_script_and_in_the_plans_order(tmp_path: Path) -> None:
    told(MET, script="b").keep(tmp_path)
    told(FREE, script="a").keep(tmp_path)
    told(MISSED, script="b").keep(tmp_path)
    found = table.kept(tmp_path, ["a", "none", "b"])
    assert [(one.script, one.figures) for one in found] == [("a", [FREE]), ("b", [MISSED])]


def test_what_another_machine_told_is_not_shown(tmp_path: Path) -> None:
    table.Report("a", [MET], machine="another").keep(tmp_path)
    assert table.kept(tmp_path, ["a"]) == []


def test_only_what_stands_between_the_markers_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Performance\n\nnotes before\n")
    table.put(page, table.render([told(MET)]))
    page.write_text(page.read_text() + "\nnotes after\n")
    table.put(page, table.render([told(MISSED)]))
    text = page.read_text()
    assert text.startswith("# Performance\n\nnotes before\n\n" + table.BEGIN)
    assert text.endswith(table.END + "\n\nnotes after\n")
    assert "lines read" in text
    assert "start, CPU" not in text


def test_a_page_with_half_a_table_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"notes\n{table.BEGIN}\nmore notes\n")
    with pytest.raises(SystemExit, match="one marker"):
        table.put(page, table.render([told(MET)]))
    assert "more notes" in page.read_text()


def test_a_smoke_is_never_written_into_the_documentation() -> None:
    with pytest.raises(SystemExit, match="--into"):
        main(["--quick"])


def test_every_script_that_tells_figures_is_in_the_plan() -> None:
    telling = {
        file.stem for file in HERE.glob("*.py") if "from bench.figures import Figure, d" in
        file.read_text("utf-8")
    }  # fmt: skip
    assert telling <= {script.name for script in SCRIPTS}
    assert "growth" in telling


@pytest.mark.slow
def test_one_script_measured_in_small_makes_a_table(tmp_path: Path) -> None:
    page = tmp_path / "table.md"
    assert main(["--quick", "--only", "comparing", "--into", str(page)]) == 0
    text = page.read_text("utf-8")
    assert text.startswith(table.BEGIN)
    assert text.rstrip().endswith(table.END)
    (row,) = rows(text)[2:]
    assert row[0].startswith("`compare` of 2 runs of 200 samples, CPU (")
    assert row[1] == "≤ 3 s"
    assert float(row[2].removesuffix(" s")) > 0
    assert float(row[6]) > 0
    assert row[7] == "`comparing`"
