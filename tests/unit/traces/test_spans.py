"""What a run's spans say, as a collector decodes them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pytest

from evalbench.engine.calls import (
    MediaPart,
    Outcome,
    Reply,
    choose,
    generate,
    system,
    user,
)
from evalbench.engine.calls.replies import Reused
from evalbench.engine.config.traces import GALILEO, Destination
from evalbench.engine.telemetry.content import LONGEST
from tests.nasty import STORABLE
from tests.simulator.collector import Collector
from tests.unit.traces.conftest import ANSWER, GOOD, QUESTION, Story, destination, make_exporter


async def test_each_call_is_one_span_below_its_sample(story: Story, collector: Collector) -> None:
    for row in (1, 2, 3):
        await story.finished(row)
    told = make_exporter(story, destination(collector))
    told.export()

    assert told.report()["sent"] == len(collector.calls()) == 6
    assert len(collector.roots()) == 3
    assert len(collector.spans) == 9
    assert len({span.id for span in collector.spans}) == 9
    assert len({span.trace for span in collector.spans}) == 3
    for root in collector.roots():
        assert root.parent == ""
        below = [span for span in collector.calls() if span.trace == root.trace]
        assert [span.parent for span in below] == [root.id] * 2
        assert all(root.start <= span.start <= span.end <= root.end for span in below)
        roles = Counter(span.attributes["evalbench.role"] for span in below)
        assert roles == {"candidate": 1, "judge": 1}


async def test_a_call_says_what_the_conventions_ask_for(story: Story, collector: Collector) -> None:
    await story.finished(1, accuracy=1.0, style=0.25)
    make_exporter(story, destination(collector)).export()

    (call,) = [one for one in collector.calls() if one.attributes["evalbench.role"] == "candidate"]
    assert call.name == "chat gpt-4.1-mini"
    assert not call.error
    assert call.events == ()
    assert dict(call.attributes) == {
        "session.id": story.folder.id,
        "evalbench.run.id": story.folder.id,
        "evalbench.benchmark": "mt-bench",
        "evalbench.sample.id": "0000000000000001.1",
        "evalbench.sample.number": 1,
        "evalbench.epoch": 0,
        "evalbench.sample.outcome": "ok",
        "evalbench.score.accuracy": 1.0,
        "evalbench.score.style": 0.25,
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4.1-mini",
        "gen_ai.request.max_tokens": 64,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.seed": 3,
        "gen_ai.request.stop_sequences": ["END"],
        "gen_ai.output.type": "text",
        "gen_ai.response.model": "gpt-4.1-mini-2025",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 11,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.usage.cache_read.input_tokens": 3,
        "gen_ai.usage.cache_write.input_tokens": 2,
        "gen_ai.usage.reasoning.output_tokens": 5,
        "gen_ai.usage.cost": 0.0015,
        "openinference.span.kind": "LLM",
        "evalbench.role": "candidate",
        "evalbench.call.step": "answer",
        "evalbench.call.repeat": 0,
        "evalbench.call.reask": 0,
        "evalbench.call.batched": False,
        "evalbench.call.attempts": 3,
        "evalbench.outcome": "ok",
        "evalbench.request_id": "req_1",
        "evalbench.latency_s": 0.25,
    }
    (root,) = collector.roots()
    assert root.name == "evaluate mt-bench"
    assert root.attributes["evalbench.tag.group"] == "one"
    assert [event[0] for event in root.events] == ["gen_ai.evaluation.result"] * 2
    assert root.events[1][1] == {
        "gen_ai.evaluation.name": "style",
        "gen_ai.evaluation.score.value": 0.25,
        "gen_ai.evaluation.score.label": "ok",
    }
    assert root.resource["service.name"] == "evalbench"


async def test_an_error_is_told_by_its_class_alone(story: Story, collector: Collector) -> None:
    failed = Reply(outcome=Outcome.ERROR, error="Overloaded: got sk-SECRET back", attempts=8)
    await story.call(1, failed)
    await story.score(1, Outcome.ERROR)
    make_exporter(story, destination(collector, content=True)).export()

    (call,), (root,) = collector.calls(), collector.roots()
    assert call.error
    assert root.error
    assert call.attributes["error.type"] == "Overloaded"
    assert root.attributes["evalbench.sample.outcome"] == "error"
    assert b"SECRET back" not in collector.everything()


async def test_a_log_likelihood_is_a_completion(story: Story, collector: Collector) -> None:
    await story.call(1, Reply(logprobs=(-1.5, -0.25)), prompt=choose("2 + 2 =", [" 5", " 4"]))
    await story.score(1, accuracy=1.0)
    make_exporter(story, destination(collector, content=True)).export()

    (call,) = collector.calls()
    assert call.name.startswith("text_completion ")
    (answer,) = json.loads(call.attributes["gen_ai.output.messages"])
    assert answer["parts"][0]["content"] == "-1.5000 ' 5'\n-0.2500 ' 4'"


async def test_content_stays_here_unless_it_is_wanted(story: Story, collector: Collector) -> None:
    await story.finished(1)
    make_exporter(story, destination(collector)).export()
    sent = collector.everything()
    assert b"SECRET" not in sent
    assert b"messages" not in sent

    picture = MediaPart("image/png", b"PICTURE-BYTES")
    thought = Reply(ANSWER, reasoning="SECRET-THOUGHT", stop_reason="end_turn")
    await story.call(2, thought, prompt=generate([system("Be brief."), user([picture, QUESTION])]))
    await story.score(2, accuracy=0.0)
    make_exporter(story, destination(collector, content=True)).export()
    call = collector.calls()[-1]
    assert json.loads(call.attributes["gen_ai.input.messages"]) == [
        {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
        {
            "role": "user",
            "parts": [
                {"type": "media", "mime_type": "image/png", "sha256": picture.sha256},
                {"type": "text", "content": QUESTION},
            ],
        },
    ]
    assert json.loads(call.attributes["gen_ai.output.messages"]) == [
        {
            "role": "assistant",
            "parts": [
                {"type": "reasoning", "content": "SECRET-THOUGHT"},
                {"type": "text", "content": ANSWER},
            ],
            "finish_reason": "end_turn",
        }
    ]
    assert b"PICTURE-BYTES" not in collector.everything()


async def test_galileo_gets_messages_in_its_own_shape(story: Story, collector: Collector) -> None:
    await story.finished(1)
    for content in (False, True):
        place = f"{collector.address}/otel/traces"
        make_exporter(story, Destination(GALILEO, place, content, "p", str(content))).export()
    plain, full = collector.calls()[0], collector.calls()[2]
    (message,) = json.loads(plain.attributes["gen_ai.input.messages"])
    assert message["content"] == "(content is not sent)"
    assert json.loads(full.attributes["gen_ai.input.messages"])[0]["content"] == QUESTION
    assert json.loads(full.attributes["gen_ai.output.messages"])[0]["content"] == ANSWER


async def test_hostile_texts_arrive_as_data(story: Story, collector: Collector) -> None:
    for row, text in enumerate(STORABLE.values(), 1):
        reply = Reply(text, stop_reason=text, provider_model=text, request_id=text)
        await story.call(row, reply, prompt=generate(text or "nothing"))
        await story.score(row, accuracy=0.0)
    told = make_exporter(story, destination(collector, content=True))
    told.export()

    assert (told.report()["sent"], told.report()["left"]) == (len(STORABLE), 0)
    by_row = {span.attributes["evalbench.sample.number"]: span for span in collector.calls()}
    for row, text in enumerate(STORABLE.values(), 1):
        attributes = by_row[row].attributes
        for name in ("gen_ai.response.model", "evalbench.request_id"):
            assert attributes.get(name, "").isprintable()
            assert len(attributes.get(name, "")) <= 200
        (answer,) = json.loads(attributes["gen_ai.output.messages"])
        said = answer["parts"][0]["content"]
        assert said == text or (len(text) > LONGEST and said.startswith(text[:LONGEST]))


@pytest.mark.parametrize(
    ("model", "name"),
    [("bedrock/x", "aws.bedrock"), ("xai/grok", "x_ai"), ("together/a/b", "together")],
)
async def test_providers_have_their_well_known_names(
    story: Story, collector: Collector, monkeypatch: pytest.MonkeyPatch, model: str, name: str
) -> None:
    monkeypatch.setattr("tests.unit.traces.conftest.CANDIDATE_MODEL", model)
    await story.call(1)
    await story.score(1, accuracy=1.0)
    make_exporter(story, destination(collector)).export()
    (call,) = collector.calls()
    assert call.attributes["gen_ai.provider.name"] == name
    assert call.attributes["gen_ai.request.model"] == model.partition("/")[2]


async def test_a_reply_of_an_earlier_run_costs_nothing_here(
    story: Story, collector: Collector
) -> None:
    await story.call(1, replace(GOOD, reused=Reused("EARLIER-RUN", 7, "2026-11-28T00:00:00Z")))
    await story.score(1, accuracy=1.0)
    make_exporter(story, destination(collector)).export()
    (call,) = collector.calls()
    assert call.attributes["evalbench.reused.run"] == "EARLIER-RUN"
    assert not [name for name in call.attributes if name.startswith("gen_ai.usage")]
