"""When spans are sent, what is kept of it, and what a collector in trouble costs."""

from __future__ import annotations

import time

import pytest

from evalbench.engine.calls import Outcome, Reply
from evalbench.engine.config.traces import OTLP, Destination
from evalbench.engine.telemetry import exporter, otlp
from tests.simulator.collector import Collector
from tests.unit.traces.conftest import Story, destination, make_exporter


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long was waited between two tries; nobody does."""
    found: list[float] = []
    monkeypatch.setattr(time, "sleep", found.append)
    return found


FACTS = {"state": "complete", "samples": 2, "ended_ms": 90_000}


async def test_a_sample_is_told_once_it_is_scored(story: Story, collector: Collector) -> None:
    await story.call(1)
    told = make_exporter(story, destination(collector))
    told.export()
    assert collector.bodies == [], "its second call is still to come"

    await story.call(2)
    await story.score(2, accuracy=1.0)
    told.export()
    assert [span.attributes["evalbench.sample.number"] for span in collector.calls()] == [2]

    await story.call(1, step="second")
    await story.score(1, accuracy=0.0)
    told.export()
    told.export()
    assert len(collector.calls()) == 3
    assert told.report()["left"] == 0


async def test_what_is_unfinished_at_the_end_is_told_then(
    story: Story, collector: Collector
) -> None:
    await story.finished(1)
    await story.call(2)
    await story.call(3, None)
    told = make_exporter(story, destination(collector))
    told.finish(FACTS, None)
    assert [span.attributes["evalbench.sample.number"] for span in collector.calls()] == [1, 1, 2]
    assert "evalbench.sample.outcome" not in collector.roots()[-1].attributes
    run = collector.spans[-1]
    assert run.name == "run mt-bench"
    assert run.attributes["evalbench.run.state"] == "complete"
    assert {link for root in collector.roots() for link in root.links} == {(run.trace, run.id)}


async def test_a_resume_tells_only_what_is_new(story: Story, collector: Collector) -> None:
    await story.call(1)
    await story.call(1, Reply(outcome=Outcome.ERROR, error="Overloaded: no"), step="second")
    await story.score(1, Outcome.ERROR)
    await story.finished(2)
    make_exporter(story, destination(collector)).finish(FACTS, None)
    before = list(collector.spans)
    assert len(collector.calls()) == 4

    await story.unscore(Outcome.ERROR)
    story.engine.event("started", at_ms=0)
    await story.call(1, step="second", reask=1)
    await story.score(1, accuracy=1.0)
    make_exporter(story, destination(collector)).finish(FACTS, None)
    new = collector.spans[len(before) :]
    (call,) = [span for span in new if span.parent]
    assert call.attributes["evalbench.call.reask"] == 1
    assert (
        call.trace == next(s for s in before if s.attributes["evalbench.sample.number"] == 1).trace
    )
    (root,) = [s for s in new if s.id == call.parent]
    assert root.id not in {span.id for span in before}
    assert root.attributes["evalbench.score.accuracy"] == 1.0


async def test_sent_once_more_it_is_the_same(story: Story, collector: Collector) -> None:
    await story.finished(1)
    make_exporter(story, destination(collector)).finish(FACTS, None)
    first = [(span.trace, span.id, span.name) for span in collector.spans]
    make_exporter(story, destination(collector)).finish(FACTS, None)
    assert len(collector.spans) == len(first), "nothing is left to be told"
    make_exporter(story, destination(collector), anew="all").finish(FACTS, None)
    assert [(span.trace, span.id, span.name) for span in collector.spans] == first * 2


async def test_each_destination_is_told_on_its_own(story: Story, collector: Collector) -> None:
    await story.finished(1)
    make_exporter(story, destination(collector)).export()
    other = Destination(OTLP, f"{collector.address}/else/v1/traces")
    make_exporter(story, other).export()
    assert len(collector.calls()) == 4


async def test_many_samples_go_in_few_requests(
    story: Story, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evalbench.engine.telemetry.outbox.PAGE", 5)
    monkeypatch.setattr(exporter, "_MOST_SPANS", 12)
    for row in range(1, 9):
        await story.finished(row)
    make_exporter(story, destination(collector)).export()
    assert len(collector.calls()) == len({span.id for span in collector.calls()}) == 16
    assert len(collector.roots()) == 8, "no sample is torn apart"
    assert len(collector.bodies) == 2


async def test_a_collector_that_is_down_is_left_alone_for_a_while(
    story: Story, collector: Collector
) -> None:
    await story.finished(1)
    collector.status = 503
    collector.headers = {"Retry-After": "3000"}
    told = make_exporter(story, destination(collector))
    for _ in range(5):
        told.export()
    assert len(collector.bodies) == 1
    report = told.report()
    assert (report["sent"], report["left"]) == (0, 2)
    assert "HTTP 503" in report["why"]

    collector.status = 200
    told.finish(FACTS, time.monotonic() + 60)
    assert told.report()["left"] == 0
    assert told.report()["why"] == ""


@pytest.mark.parametrize(
    ("status", "why"), [(401, "does not accept the key"), (429, "HTTP 429"), (302, "elsewhere")]
)
async def test_what_a_collector_says_is_told(
    story: Story,
    collector: Collector,
    status: int,
    why: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(otlp, "ATTEMPT_S", 0.3)
    await story.finished(1)
    collector.status = status
    collector.headers = {"Location": f"{collector.address}/stolen/v1/traces"}
    told = make_exporter(story, destination(collector), "Authorization=Basic%20SECRET")
    told.finish(FACTS, time.monotonic() + 60)
    assert why in told.report()["why"]
    assert (told.report()["sent"], told.report()["left"]) == (0, 2)
    assert not [path for _, path, _ in collector.seen if "stolen" in path]


async def test_one_that_hangs_gets_no_more_than_its_time(
    story: Story, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otlp, "ATTEMPT_S", 0.3)
    await story.finished(1)
    collector.hold.clear()
    told = make_exporter(story, destination(collector))
    told.finish(FACTS, time.monotonic() + 60)
    assert "cannot be reached" in told.report()["why"]
    told.finish(FACTS, time.monotonic() - 1)
    assert told.report()["left"] == 2
    # Two tries, and the exporter itself tries a broken connection once more.
    assert len(collector.bodies) <= 4


async def test_too_much_at_once_goes_in_pieces(story: Story, collector: Collector) -> None:
    for row in range(1, 9):
        await story.finished(row)
    collector.most_spans = 5
    told = make_exporter(story, destination(collector))
    told.export()
    assert told.report()["left"] == 0
    assert len(collector.calls()) == len({span.id for span in collector.calls()}) == 16


async def test_what_is_refused_is_counted_and_offered_again_on_request(
    story: Story, collector: Collector
) -> None:
    await story.finished(1)
    collector.status = 400
    told = make_exporter(story, destination(collector))
    told.export()
    told.export()
    assert len(collector.bodies) == 1, "it would be refused again"
    assert told.report()["refused"] == 3
    assert told.report()["left"] == 2
    assert "HTTP 400" in told.report()["why"]

    collector.status = 200
    make_exporter(story, destination(collector)).export()
    assert collector.spans == []
    make_exporter(story, destination(collector), anew="refused").export()
    assert len(collector.calls()) == 2


async def test_rejected_spans_are_told(story: Story, collector: Collector) -> None:
    await story.finished(1)
    collector.reject = 1
    told = make_exporter(story, destination(collector))
    told.export()
    assert told.report()["refused"] == 1
    assert told.report()["why"] == "the collector rejects some spans"


async def test_a_collector_that_wakes_up_gets_everything_without_a_deadline(
    story: Story, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    await story.finished(1)
    collector.status = 500
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        collector.status = 200

    monkeypatch.setattr(time, "sleep", sleep)
    told = make_exporter(story, destination(collector))
    told.finish(FACTS, None)
    assert pauses == [1.0]
    assert told.report()["left"] == 0
    assert told.report()["sent"] == 2


async def test_one_that_never_does_is_given_up(
    story: Story, collector: Collector, pauses: list[float]
) -> None:
    await story.finished(1)
    collector.status = 500
    told = make_exporter(story, destination(collector))
    told.finish(FACTS, None)
    assert pauses == [1.0, 2.0]
    assert told.report()["left"] == 2


async def test_at_the_end_trouble_gets_a_second_chance_unless_it_is_old(
    story: Story, collector: Collector, pauses: list[float]
) -> None:
    await story.finished(1)
    collector.status = 500
    new = make_exporter(story, destination(collector))
    new.finish(FACTS, time.monotonic() + 60)
    assert (pauses, len(collector.bodies)) == ([1.0], 2)
    old = make_exporter(story, destination(collector))
    for _ in range(2):
        old._not_before = 0.0
        old.export()
    old.finish(FACTS, time.monotonic() + 60)
    assert (pauses, len(collector.bodies)) == ([1.0], 5)
