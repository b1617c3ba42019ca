"""Replies survive being written down."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any

import orjson
import pytest
from hypothesis import given

from evalbench.engine.calls import RateLimits, Reply, Usage
from evalbench.engine.calls.replies import (
    MOST_DOLLARS,
    plain,
    reply_from_json,
    reply_to_json,
    token_count,
)
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


@quickly
@given(replies)
def test_a_reply_that_can_be_stored_is_plain_already(reply: Reply) -> None:
    assert plain(reply) == reply


@pytest.mark.parametrize(
    ("text", "carried"),
    [
        ("half \ud83d a pair", "half \ufffd a pair"),
        ("\udc00\ud83d", "\ufffd\ufffd"),
        ("a whole \ud83d\ude00 in halves", "a whole \U0001f600 in halves"),
    ],
)
def test_halves_of_characters_are_joined_or_replaced(text: str, carried: str) -> None:
    made = plain(Reply(text, raw={text: [text]}))
    assert (made.text, made.raw) == (carried, {carried: [carried]})
    assert orjson.dumps(reply_to_json(made))


def test_what_is_no_json_becomes_text_and_money_is_kept() -> None:
    when = PurePosixPath("a/b")
    reply = Reply(
        "x",
        raw={"big": 2**70, "fits": 2**63, "low": -(2**63), "odd": when, 5: 1.5},
        limits=RateLimits(requests_remaining=3),
        cost=Decimal("0.5"),
        possible_cost=Decimal("0.25"),
    )
    made = plain(reply)
    assert made.raw == {
        "big": str(2**70),
        "fits": 2**63,
        "low": -(2**63),
        "odd": "a/b",
        "5": 1.5,
    }
    assert (made.limits, made.cost, made.possible_cost) == (
        reply.limits,
        reply.cost,
        reply.possible_cost,
    )
    assert orjson.dumps(reply_to_json(made))


def test_settling_changes_what_the_dispatcher_knows_and_nothing_else() -> None:
    # Every field has a value that no other has, so that none can take another's place.
    values: dict[str, Any] = {one.name: object() for one in fields(Reply)}
    known: dict[str, Any] = {
        name: object()
        for name in ("attempts", "latency_s", "possibly_billed", "cost", "possible_cost")
    }
    before = Reply(**values)
    assert before.settled(**known) == replace(before, **known)


@pytest.mark.parametrize(
    ("told", "count"),
    [
        (0, 0), (10**9, 10**9), (12.0, 12), (None, None), (10**9 + 1, None), (10**18, None),
        (-1, None), (1.5, None), (True, None), ("9", None), ({}, None), (math.nan, None),
        (math.inf, None), (1e300, None),
    ],
)  # fmt: skip
def test_a_token_count_is_a_whole_number_that_a_call_can_have(told: Any, count: int | None) -> None:
    assert token_count(told) == count
    made = Usage(*[told] * 2)
    assert (made.input_tokens, made.output_tokens) == (count, count)
    assert type(made.input_tokens) in (int, type(None))


def test_counts_that_contradict_each_other_are_not_told() -> None:
    assert Usage(9, 3, 4, 5, 3) == Usage(9, 3, cache_read_tokens=4, cache_write_tokens=5,
                                         reasoning_tokens=3)  # fmt: skip
    contradicting = Usage(9, 3, 5, 5, 4)
    assert contradicting == Usage(None, 3)
    # What is not told contradicts nothing.
    assert Usage(None, None, 5, 5, 4).cache_read_tokens == 5


def test_what_is_too_deep_or_too_dear_to_be_kept() -> None:
    deep: Any = "B"
    for _ in range(600):
        deep = [deep]
    made = plain(Reply("B", raw=deep, cost=Decimal(10**30), possible_cost=Decimal("NaN")))
    assert orjson.dumps(reply_to_json(made))
    assert (made.text, made.cost, made.possible_cost) == ("B", None, MOST_DOLLARS)
