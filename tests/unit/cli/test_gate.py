"""Scores that fail a pipeline."""

from __future__ import annotations

from typing import Any

import pytest

from evalbench.engine.config.spec import make_spec
from evalbench.engine.errors import UsageError
from evalbench.tui.cli.gate import FAILED, gate_code, gates, judged, misspelt

METRICS: dict[str, dict[str, Any]] = {
    "accuracy": {"value": 0.75, "low": 0.6, "high": 0.85},
    "accuracy/subject=anatomy": {"value": 0.5, "low": 0.3, "high": 0.7},
    "rating": {"value": None, "low": None, "high": None},
}


def test_what_is_below_is_told() -> None:
    for text, below in (
        ("accuracy=0.75", False),
        ("accuracy=0.8", True),
        ("accuracy = 80%", True),
        ("accuracy.value=0.8", True),
        ("accuracy.low=0.7", True),
        ("accuracy.low=0.6", False),
        ("accuracy.high=0.8", False),
        ("accuracy.high=0.9", True),
        ("rating=1", True),
        ("accuracy/subject=anatomy=0.4", False),
        ("accuracy/subject=anatomy.low=0.4", True),
    ):
        assert bool(judged(gates([text]), METRICS)) == below, text


@pytest.mark.parametrize("text", ["accuracy", "=0.5", "accuracy=", "accuracy=much", "accuracy=nan"])
def test_wishes_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="--fail-under"):
        gates([text])


def test_an_unknown_metric_is_told_with_the_nearest() -> None:
    with pytest.raises(UsageError) as error:
        judged(gates(["acuracy=1"]), METRICS)
    assert "accuracy" in error.value.hint


def test_a_misspelt_metric_is_noted_before_the_start() -> None:
    specs = [make_spec("quickstart", "local/smollm2-135m-instruct")]
    assert misspelt(gates(["accuracy.low=0.5"]), specs) == ()
    (note,) = misspelt(gates(["acuracy=0.5"]), specs)
    assert "no metric 'acuracy' is known so far; did you mean accuracy" in note
    # A group's, which exists once one of its samples is scored.
    assert misspelt(gates(["accuracy/kind=logic=0.5"]), specs) == ()


def test_only_a_run_that_went_well_gets_the_code(capsys: pytest.CaptureFixture[str]) -> None:
    wanted = gates(["accuracy=0.8"])
    for code, shown in ((0, FAILED), (2, FAILED), (3, 3), (5, 5)):
        assert gate_code(code, wanted, {"one": METRICS}, json=False) == shown
    assert gate_code(0, wanted, {}, json=False) == 0
    assert "failed: one: accuracy is 0.75, below 0.8" in capsys.readouterr().err
    unknown = gates(["acuracy=1"])
    with pytest.raises(UsageError):
        gate_code(0, unknown, {"one": METRICS}, json=False)
    assert gate_code(5, unknown, {"one": METRICS}, json=False) == 5
    assert "no metric 'acuracy'" in capsys.readouterr().err
