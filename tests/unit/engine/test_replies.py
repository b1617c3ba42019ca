"""Replies survive being written down."""

from __future__ import annotations

import math

import orjson
import pytest
from hypothesis import given

from evalbench.engine.calls import RateLimits, Reply
from evalbench.engine.calls.replies import reply_from_json, reply_to_json
from tests.unit.engine.properties import quickly
from tests.unit.engine.strategies import replies


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
