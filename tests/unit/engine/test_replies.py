"""Replies survive being written down."""

from __future__ import annotations

import math

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalbench.engine.calls import Outcome, ParamNote, RateLimits, Reply, Usage
from evalbench.engine.calls.replies import reply_from_json, reply_to_json
from tests.unit.engine.properties import quickly

counts = st.none() | st.integers(0, 10**7)
texts = st.text(max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
replies = st.builds(
    Reply,
    text=texts,
    outcome=st.sampled_from([outcome for outcome in Outcome if outcome is not Outcome.UNPARSED]),
    reasoning=texts,
    stop_reason=texts,
    logprobs=st.lists(st.floats(allow_nan=False), max_size=4).map(tuple),
    usage=st.builds(Usage, counts, counts, counts, counts, counts),
    latency_s=st.floats(0, 1e4),
    provider_model=texts,
    request_id=texts,
    params=st.lists(
        st.builds(ParamNote, texts, st.sampled_from(["sent", "dropped", "refused"]), texts),
        max_size=3,
    ).map(tuple),
    raw=json_values,
    error=texts,
    possibly_billed=st.booleans(),
    attempts=st.integers(1, 100),
)


@quickly
@given(replies)
def test_a_reply_survives_json(reply: Reply) -> None:
    assert reply_from_json(orjson.loads(orjson.dumps(reply_to_json(reply)))) == reply


def test_a_plain_reply_is_its_text_alone() -> None:
    assert reply_to_json(Reply("B")) == {"text": "B"}
    assert reply_to_json(Reply()) == {}


def test_limits_are_never_stored() -> None:
    reply = Reply("B", limits=RateLimits(requests_remaining=3))
    assert reply_from_json(reply_to_json(reply)) == Reply("B")


@pytest.mark.parametrize("impossible", [-math.inf, math.nan])
def test_a_likelihood_of_nothing_is_still_a_number(impossible: float) -> None:
    stored = orjson.dumps(reply_to_json(Reply(logprobs=(-0.5, impossible))))
    read = reply_from_json(orjson.loads(stored)).logprobs
    assert read[0] == -0.5
    assert math.isnan(read[1]) if math.isnan(impossible) else read[1] == impossible
