"""What ``start_run`` takes, and what it says to what it does not."""

from __future__ import annotations

import inspect
from decimal import Decimal
from pathlib import Path
from typing import Any, Never

import pytest

import evalbench
from evalbench import SpecError, start_run
from evalbench.engine.config.spec import RunSpec
from evalbench.engine.process import launch
from tests import settings_source

MODEL = "local/smollm2-135m-instruct"


class _Asked(Exception):
    """What a run would be started with."""


@pytest.fixture
def never_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(spec: RunSpec, **_: Any) -> Never:
        raise _Asked(spec)

    monkeypatch.setattr(launch, "launch_runs", refuse)


def test_the_typed_settings_are_those_that_are_declared() -> None:
    written = settings_source.FILE.read_text("utf-8")
    assert written == settings_source.source(), "run: python -m tests.settings_source"
    own = set(inspect.signature(start_run).parameters) - {"settings"}
    assert not own & set(evalbench.Settings.__annotations__)


def test_every_promised_name_is_there() -> None:
    assert {getattr(evalbench, name) for name in evalbench.__all__} >= {start_run, SpecError}
    assert dir(evalbench) == sorted(evalbench.__all__)
    with pytest.raises(AttributeError, match="start_runs"):
        evalbench.start_runs  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.usefixtures("never_started")
def test_every_setting_reaches_whom_it_belongs_to(tmp_path: Path) -> None:
    # The type checker reads these calls too: it accepts the first and refuses the others.
    with pytest.raises(_Asked) as asked:
        start_run("mmlu", MODEL, budget=1, limit=3, shots=2, dtype="float32", data=tmp_path)
    spec: RunSpec = asked.value.args[0]
    assert (spec.settings.budget, spec.settings.limit, spec.settings.data) == (
        Decimal(1),
        3,
        str(tmp_path),
    )
    assert (spec.options["shots"], spec.provider_options["dtype"]) == (2, "float32")
    with pytest.raises(_Asked) as asked:
        start_run("quickstart", MODEL, plugin_options={"topic": "geography"})
    assert asked.value.args[0].filters == {"topic": ("geography",)}
    with pytest.raises(SpecError, match="did you mean temperature"):
        start_run("mmlu", MODEL, temprature=1.0)  # type: ignore[call-arg]
    with pytest.raises(SpecError, match="--limit takes a whole number"):
        start_run("mmlu", MODEL, limit="many")  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="--dtype cannot be"):
        start_run("mmlu", MODEL, dtype="float64")  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="neither a run nor quickstart nor local"):
        start_run("quickstart", MODEL, shots=2)
