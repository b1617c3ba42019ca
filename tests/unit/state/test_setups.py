"""Set-ups kept under a name: written, read, replaced, forgotten, and never with a key in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalbench.engine.errors import UsageError
from evalbench.engine.paths import config_dir
from evalbench.tui.state.setups import (
    FILE,
    Setup,
    check_name,
    delete_setup,
    load_setups,
    save_setup,
)

KEY = "sk-ant-api03-" + "a1B2" * 20


def test_setups_are_kept_replaced_and_forgotten(home: Path) -> None:
    assert load_setups() == []
    one = Setup('my "daily" [run]', "mmlu", "openai/gpt-5", {"limit": "20", "data": ""})
    save_setup(one)
    save_setup(Setup("b", "quickstart", "", {"temperature": KEY, "seed": "7"}))
    found = load_setups()
    assert [setup.name for setup in found] == ["b", 'my "daily" [run]']
    assert found[0].typed == {"seed": "7"}
    assert found[1] == Setup(one.name, one.benchmark, one.model, {"limit": "20"})
    assert KEY not in (config_dir() / FILE).read_text()
    save_setup(Setup("b", "mmlu", "x/y", {}))
    delete_setup(one.name)
    delete_setup("never there")
    assert load_setups() == [Setup("b", "mmlu", "x/y", {})]


@pytest.mark.parametrize("body", ["a = 1", "[a]\nsettings = 3", "[a", "\x00"])
def test_a_file_that_is_wrong_is_told_of_and_kept(home: Path, body: str) -> None:
    file = config_dir() / FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(body)
    with pytest.raises(UsageError, match="cannot be read"):
        load_setups()
    assert file.read_text() == body


def test_names_are_short_and_printable() -> None:
    assert check_name("  my   run ") == "my run"
    for wrong in ("", " ", "x" * 61, "a\x1bb", KEY):
        with pytest.raises(ValueError, match="name"):
            check_name(wrong)
