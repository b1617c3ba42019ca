"""From flags to specs."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from evalbench.engine.config import registry
from evalbench.engine.config.spec import make_spec
from evalbench.engine.errors import SpecError
from evalbench.tui.cli.parser import Parser
from evalbench.tui.cli.settings import changed, declare_settings, new_specs

MODEL = "local/smollm2-135m-instruct"


def _read(*words: str) -> argparse.Namespace:
    parser = Parser("try", "try something")
    declare_settings(parser, registry.benchmark_class("mmlu"), [MODEL])
    return parser.read(words)


def test_every_kind_of_setting_finds_its_place() -> None:
    args = _read(
        "--limit", "9", "--shots", "2", "--threads", "1", "--subject", "anatomy", "--shuffle"
    )
    (spec,) = new_specs(args, "mmlu", [MODEL])
    assert spec.settings.limit == 9
    assert spec.settings.shuffle is True
    assert spec.options["shots"] == 2
    assert spec.provider_options["threads"] == 1
    assert spec.filters == {"subject": ("anatomy",)}


def test_one_spec_for_each_model() -> None:
    specs = new_specs(_read(), "mmlu", [MODEL, "local/other"])
    assert [spec.model for spec in specs] == [MODEL, "local/other"]


def test_changes_are_put_over_what_is_stored(tmp_path: Path) -> None:
    stored = make_spec(
        "mmlu", MODEL, options={"shots": 3}, filters={"subject": "anatomy"}, limit=5, tag=["a"]
    )
    assert changed(stored, _read()) is stored
    new = changed(stored, _read("--limit", "7", "--style", "permuted", "--threads", "2"))
    assert (new.get("limit"), new.get("tag")) == (7, ("a",))
    assert (new.options["shots"], new.options["style"]) == (3, "permuted")
    assert new.provider_options["threads"] == 2
    assert new.filters == stored.filters


def test_data_that_is_gone_does_not_hinder_other_changes(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.touch()
    stored = make_spec("mmlu", MODEL, data=str(file))
    file.unlink()
    assert changed(stored, _read("--concurrency", "3")).get("data") == str(file)
    with pytest.raises(SpecError, match="there is no file"):
        changed(stored, _read("--data", str(file)))


def test_a_bad_value_is_refused() -> None:
    with pytest.raises(SpecError, match="--shots"):
        new_specs(_read("--shots", "many"), "mmlu", [MODEL])
