"""Benchmarks and providers are found by name, ours and anybody's."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from evalbench.engine.benchmark import Benchmark
from evalbench.engine.benchmarks.quickstart import Quickstart
from evalbench.engine.config import registry
from evalbench.engine.errors import SpecError
from tests.unit.engine.plugins import Installed

BENCHMARKS, PROVIDERS = "evalbench.benchmarks", "evalbench.providers"


def test_what_ships_is_found() -> None:
    assert {"mmlu", "quickstart"} <= set(registry.benchmark_names())
    assert {"anthropic", "local", "openai"} <= set(registry.provider_names())
    assert registry.benchmark_names() == sorted(registry.benchmark_names())
    assert registry.provider_names() == sorted(registry.provider_names())
    assert registry.benchmark_class("quickstart") is Quickstart
    assert registry.provider_class("local").name == "local"


def test_every_name_leads_to_a_class_of_that_name() -> None:
    for name in registry.benchmark_names():
        assert registry.benchmark_class(name).name == name
    for name in registry.provider_names():
        assert registry.provider_class(name).name == name


def test_a_plug_in_is_found_through_its_entry_points(plugins: None) -> None:
    assert {"synthetic", "two-turn"} <= set(registry.benchmark_names())
    assert issubclass(registry.benchmark_class("two-turn"), Benchmark)
    assert registry.provider_class("scripted").title == "Scripted answers"


@pytest.mark.parametrize(
    ("load", "name", "what", "hint"),
    [
        (
            registry.benchmark_class,
            "quikstart",
            "there is no benchmark named 'quikstart'",
            "did you mean quickstart?",
        ),
        (
            registry.provider_class,
            "Antropic",
            "there is no provider named 'Antropic'",
            "did you mean anthropic or databricks?",
        ),
    ],
)
def test_an_unknown_name_points_to_the_nearest(
    load: Callable[[str], object], name: str, what: str, hint: str
) -> None:
    with pytest.raises(SpecError) as caught:
        load(name)
    assert (caught.value.what, caught.value.hint) == (what, hint)


@pytest.mark.parametrize(
    ("module", "source", "why"),
    [
        ("needs_more", "import a_library_that_is_not_there", "a_library_that_is_not_there"),
        ("of_another_time", "", "no attribute 'Thing'"),
        ("half_written", "class Thing(", "never closed"),
        ("of_its_own", "class Thing: ...", "not a class derived from BaseProvider"),
        ("quarrelsome", "raise RuntimeError('not on this machine')", "not on this machine"),
    ],
)
def test_a_plug_in_that_cannot_be_imported_is_told_and_harms_nobody(
    installed: Installed, module: str, source: str, why: str
) -> None:
    installed.add(module, source, PROVIDERS, broken="Thing")
    assert "broken" in registry.provider_names()
    assert registry.provider_class("local").name == "local"
    with pytest.raises(SpecError, match="could not be imported") as caught:
        registry.provider_class("broken")
    assert caught.value.field == "provider"
    assert why in caught.value.why
    assert caught.value.__cause__ is not None


def test_benchmarks_and_providers_are_kept_apart(installed: Installed) -> None:
    installed.add("one_name", "class Thing: ...", BENCHMARKS, thing="Thing")
    assert "thing" in registry.benchmark_names()
    assert "thing" not in registry.provider_names()


def test_a_process_that_is_handed_what_is_installed_does_not_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "_handed", None)
    found = registry.installed()
    assert found[BENCHMARKS]["quickstart"] == "evalbench.engine.benchmarks.quickstart:Quickstart"
    monkeypatch.setattr(registry, "_found", lambda: pytest.fail("it looked again"))
    registry.hand({BENCHMARKS: {"mine": found[BENCHMARKS]["quickstart"]}, PROVIDERS: {}})
    assert registry.benchmark_names() == ["mine"]
    assert registry.provider_names() == []
    assert registry.benchmark_class("mine") is Quickstart
    assert registry.installed()[PROVIDERS] == {}
