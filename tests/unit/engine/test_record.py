"""The reproducibility record, and the identity that a resume compares."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError
from typing import Any

import orjson
import pytest

from evalbench.engine import installed
from evalbench.engine.config.spec import RunSpec, build_benchmark, make_spec
from evalbench.engine.data.dataset import DataHeader
from evalbench.engine.runs.record import identity, record

pytestmark = pytest.mark.usefixtures("plugins")

HEADER = DataHeader(
    count=500, data_hash="d41a", origin="hub/riddles", revision="abc123", shared=None
)


def spec(**given: Any) -> RunSpec:
    return make_spec("synthetic", "scripted/good", **given)


def identity_of(made: RunSpec, data_hash: str = "d41a") -> dict[str, Any]:
    return identity(made, build_benchmark(made), data_hash)


def test_the_record_says_what_a_reviewer_needs() -> None:
    made = spec(seed=9)
    told = record(made, build_benchmark(made), HEADER)
    assert told["benchmark"] == {
        "name": "synthetic",
        "version": "1",
        "prompts": "evalbench",
        "templates": build_benchmark(made).template_hash(),
        "licence": "CC0-1.0",
    }
    assert told["data"] == {
        "origin": "hub/riddles",
        "revision": "abc123",
        "hash": "d41a",
        "count": 500,
    }
    assert told["seed"] == 9
    assert told["python"] == platform.python_version()
    assert told["platform"] == platform.platform()
    assert told["packages"]["evalbench"] == installed.version()
    assert orjson.loads(orjson.dumps(told)) == told


def test_packages_that_are_not_there_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(name: str) -> str:
        if name != installed.DISTRIBUTION:
            raise PackageNotFoundError(name)
        return "0.1.0"

    monkeypatch.setattr("importlib.metadata.version", found)
    made = spec()
    assert record(made, build_benchmark(made), HEADER)["packages"] == {"evalbench": "0.1.0"}


def test_equal_runs_have_equal_identities() -> None:
    assert identity_of(spec(tag=["a"])) == identity_of(spec(tag=["b"], concurrency=9))


@pytest.mark.parametrize("given", [{"limit": 5}, {"options": {"wording": "puzzle"}}, {"seed": 1}])
def test_other_settings_are_another_identity(given: dict[str, Any]) -> None:
    assert identity_of(spec(**given))["settings"] != identity_of(spec())["settings"]


def test_other_data_is_another_identity() -> None:
    assert identity_of(spec())["data"] == "d41a"
    assert identity_of(spec(), "beef") != identity_of(spec())


def test_other_prompts_and_another_version_are_another_identity(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = identity_of(spec())
    kind = type(build_benchmark(spec()))
    monkeypatch.setattr(kind, "templates", lambda self: "Other words.")
    other_words = identity_of(spec())
    assert other_words["prompt templates"] != before["prompt templates"]
    monkeypatch.setattr(kind, "version", "2")
    assert identity_of(spec())["benchmark version"] == "2"
    assert before["benchmark version"] == "1"
