"""What is installed is told without importing it again, until it changes."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from evalbench.engine.config import catalogue, registry
from evalbench.engine.config.catalogue import described
from tests.unit.engine.plugins import Installed

GROUP = "evalbench.benchmarks"


def test_the_second_time_nothing_is_imported(home: Path) -> None:
    rows, faults = described()
    assert [row.name for row in rows] == registry.benchmark_names()
    assert faults == []
    assert {row.title for row in rows} >= {"MGSM", "MMLU"}
    told = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys\nfrom evalbench.engine.config.catalogue import described\n"
            "found, _ = described()\n"
            "print(len(found), 'evalbench.engine.benchmarks.mmlu.benchmark' in sys.modules)",
        ],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    assert told.stdout.split() == [str(len(rows)), "False"]


def test_a_change_beside_a_module_is_noticed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = described()[0]
    monkeypatch.setattr(registry.benchmark_class("mmlu"), "title", "Another title")
    assert described()[0] == before
    monkeypatch.setattr(catalogue, "_files_in", lambda _: [["changed.py", 1, 1]])
    assert "Another title" in {row.title for row in described()[0]}


def test_what_cannot_be_imported_is_told_every_time(home: Path, installed: Installed) -> None:
    installed.add("half_written", "class Thing(", GROUP, broken="Thing")
    for _ in range(2):
        rows, (fault,) = described()
        assert "'broken' could not be imported" in str(fault)
        assert rows


def test_a_damaged_cache_is_made_anew(home: Path) -> None:
    rows, _ = described()
    path = home / "cache" / "benchmarks.json"
    for text in ("", "[]", '{"stamp": 1}'):
        path.write_text(text)
        assert described()[0] == rows
        assert path.read_text() != text


def test_a_plugin_in_a_zip_is_told_of_too(
    home: Path, installed: Installed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = (
        "from evalbench.engine.benchmarks.quickstart import Quickstart\n"
        "class Packed(Quickstart):\n    name, title = 'packed', 'From a zip'\n"
    )
    with zipfile.ZipFile(tmp_path / "plugin.zip", "w") as archive:
        archive.writestr("packed_away.py", source)
    monkeypatch.syspath_prepend(str(tmp_path / "plugin.zip"))
    installed.add("packed_away", "", GROUP, packed="Packed")
    (file,) = tmp_path.rglob("packed_away.py")
    file.unlink()
    rows, faults = described()
    assert faults == []
    assert "From a zip" in {row.title for row in rows}
