"""What every benchmark has from its base class, and the engine's front door."""

from __future__ import annotations

from typing import Any

import pytest

import evalbench
from evalbench import run
from evalbench.engine.benchmark import answer_outcome
from evalbench.engine.calls import Outcome, Reply
from evalbench.engine.config.spec import build_benchmark, make_spec
from evalbench.engine.runs import result

OK, TRUNCATED, UNPARSED = Outcome.OK, Outcome.TRUNCATED, Outcome.UNPARSED


@pytest.mark.parametrize(
    ("reply", "parsed", "outcome"),
    [
        (OK, "B", OK),
        (OK, None, UNPARSED),
        (OK, 0, OK),
        (OK, "", OK),
        (TRUNCATED, "B", OK),
        (TRUNCATED, None, TRUNCATED),
        (Outcome.REFUSED, None, Outcome.REFUSED),
        (Outcome.REFUSED, "B", Outcome.REFUSED),
        (Outcome.FILTERED, "B", Outcome.FILTERED),
    ],
)
def test_the_outcome_of_a_sample_follows_from_its_reply(
    reply: Outcome, parsed: object, outcome: Outcome
) -> None:
    assert answer_outcome(Reply(outcome=reply), parsed) is outcome


@pytest.mark.usefixtures("plugins")
def test_the_hash_of_the_templates_covers_texts_options_and_seed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def template_hash(**given: Any) -> str:
        return build_benchmark(make_spec("synthetic", "scripted/good", **given)).template_hash()

    hashes = [
        template_hash(),
        template_hash(options={"wording": "puzzle"}),
        template_hash(seed=1),
    ]
    assert template_hash(concurrency=3) == hashes[0]
    kind = type(build_benchmark(make_spec("synthetic", "scripted/good")))
    monkeypatch.setattr(kind, "templates", lambda self: "Other words.")
    assert len({*hashes, template_hash()}) == 4


@pytest.mark.usefixtures("plugins")
def test_a_benchmark_generates_unless_it_says_otherwise() -> None:
    bench = build_benchmark(make_spec("synthetic", "scripted/good"))
    assert bench.needs() == {"generate"}


def test_the_python_api_is_at_the_front_door() -> None:
    assert evalbench.start_run is run.start_run
    assert evalbench.open_run is run.open_run
    assert evalbench.Run is run.Run
    assert evalbench.Result is result.Result
    with pytest.raises(AttributeError, match="stop_everything"):
        _ = evalbench.stop_everything  # type: ignore[attr-defined]
