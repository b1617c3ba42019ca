"""What OpenRouter's list and its answers say, in numbers that can be anything."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from evalbench.providers.compatible.openrouter import billed, facts_of, rates_of
from evalbench.providers.modelfacts import ModelFacts


@pytest.mark.parametrize(
    ("pricing", "rates"),
    [
        (
            {"prompt": "0.00000015", "completion": "0.0000006", "input_cache_read": "0.000000075"},
            {"input": "0.15", "output": "0.6", "cache_read": "0.075"},
        ),
        ({"prompt": "0", "completion": "0"}, {"input": "0", "output": "0"}),
        ({"prompt": "0.00001", "completion": "0.00003", "request": "0"},
         {"input": "10", "output": "30"}),
        ({"prompt": "0.00001", "completion": "0.00003", "request": "0.01"}, {}),
        ({"prompt": "-1", "completion": "-1"}, {}),  # the price of "auto" depends on the route
        ({"prompt": "0.00001"}, {}),
        ({"prompt": "NaN", "completion": "inf"}, {}),
        ({"prompt": True, "completion": None}, {}),
        (None, {}),
        ("free", {}),
    ],
)  # fmt: skip
def test_rates(pricing: Any, rates: dict[str, str]) -> None:
    assert rates_of({"pricing": pricing}) == rates


def test_facts() -> None:
    entry = {
        "context_length": 1000,
        "architecture": {"input_modalities": ["text", "image"]},
        "supported_parameters": ["max_tokens", "temperature", "structured_outputs", "reasoning"],
    }
    known = facts_of(entry)
    assert known == {"context_tokens": 1000, "images": True, "logprobs": False, "stop": False,
                     "schema": True}  # fmt: skip
    ModelFacts().with_known(known)
    plain = facts_of({"supported_parameters": ["max_tokens"]})
    assert (plain["sampling"], plain["reasoning"], plain["efforts"]) == ("no", False, ())
    ModelFacts().with_known(plain)


@pytest.mark.parametrize(
    "entry", [{}, {"supported_parameters": []}, {"architecture": None, "context_length": "x"}]
)
def test_a_list_that_says_nothing_tells_nothing(entry: dict[str, Any]) -> None:
    assert facts_of(entry) == {}


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        ({"cost": 0.00012}, "0.00012"),
        ({"cost": 0}, "0"),
        ({"cost": 0.001, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.02}},
         "0.021"),
        # With a key of the user's own this is only the fee: what the answer cost is not told.
        ({"cost": 0, "is_byok": True}, None),
        ({"cost": 0.001, "is_byok": True, "cost_details": {"upstream_inference_cost": None}}, None),
        ({"cost": 0.001, "is_byok": True, "cost_details": {"upstream_inference_cost": -1}}, None),
        ({"cost": 0.001, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.02}},
         "0.001"),
        ({"cost": -1}, None),
        ({"cost": "NaN"}, None),
        ({"cost": None}, None),
        ({}, None),
        (None, None),
    ],
)  # fmt: skip
def test_what_was_charged(usage: Any, cost: str | None) -> None:
    assert billed(usage) == (None if cost is None else Decimal(cost))
