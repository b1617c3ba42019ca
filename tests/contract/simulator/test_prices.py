"""The simulator charges what the price data that evalbench ships with says."""

from __future__ import annotations

import pytest
from genai_prices import Usage, calc_price

from tests.simulator.exchange import Bill
from tests.simulator.model_tables import TABLES
from tests.simulator.models import Model
from tests.simulator.world import price

PRICED = [
    pytest.param(api, model, id=f"{api}/{model.id}")
    for api in ("anthropic", "openai", "groq")
    for model in TABLES[api]
    if model.price is not None and model.lifecycle != "retired"
]


@pytest.mark.parametrize(("api", "model"), PRICED)
def test_price(api: str, model: Model) -> None:
    hourly = 300 if api == "anthropic" else 0
    ours = price(
        Bill(
            model.id,
            input_tokens=5000,
            output_tokens=700,
            cache_read_tokens=2000,
            cache_write_tokens=1000,
            cache_write_1h_tokens=hourly,
        ),
        model,
    )
    theirs = calc_price(
        Usage(
            input_tokens=5000,
            output_tokens=700,
            cache_read_tokens=2000,
            cache_write_tokens=1000,
            cache_write_1h_tokens=hourly,
        ),
        model_ref=model.id,
        provider_id=api,
    )
    assert ours.nanodollars == pytest.approx(float(theirs.total_price) * 1e9, rel=1e-9)


def test_unknown_prices_stay_unknown() -> None:
    model = next(model for model in TABLES["openai"] if model.id == "gpt-6.2-sol")
    with pytest.raises(LookupError):
        calc_price(Usage(input_tokens=1), model_ref=model.id, provider_id="openai")
    assert price(Bill(model.id, input_tokens=5), model).nanodollars == 0
