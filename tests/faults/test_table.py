"""The table of faults names tests that are there, and leaves out none of this folder's files."""

from __future__ import annotations

import re
from pathlib import Path

_HERE = Path(__file__).parent
_NAMED = re.findall(r"`([\w/]+\.py)::(\w+)`", (_HERE / "README.md").read_text("utf-8"))


def test_every_named_test_is_there() -> None:
    missing = [
        f"{file}::{name}"
        for file, name in _NAMED
        if f"def {name}(" not in (_HERE.parent / file).read_text("utf-8")
    ]
    assert len(_NAMED) > 40
    assert not missing


def test_no_fault_is_forgotten() -> None:
    told = {Path(file).name for file, _ in _NAMED}
    about_other_things = {"test_cards.py", "test_rescoring.py", "test_steering.py", "test_table.py"}
    assert {file.name for file in _HERE.glob("test_*.py")} - told == about_other_things
