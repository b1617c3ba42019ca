"""Prices by providers' own lists: for a week, and only where nothing else knows better."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from evalbench.engine.calls import ModelInfo, ModelRef
from evalbench.engine.cost.listed_prices import FRESH, find_listed, store_listed
from evalbench.engine.cost.prices import PriceBook
from evalbench.engine.paths import cache_dir

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
LIVE = ModelInfo("Qwen/Qwen3.5-397B-A17B", rates={"input": "0.6", "output": "3.6"})
KNOWN = ModelInfo("meta-llama/Llama-3.3-70B-Instruct-Turbo", rates={"input": "9", "output": "9"})


@pytest.fixture(autouse=True)
def _fresh_home(home: Path) -> Path:
    return home


def priced(name: str, **how: str) -> Decimal | None:
    found = PriceBook().prices(ModelRef("together", name), at=NOW, **how)  # type: ignore[arg-type]
    return found.rates.output if found else None


def test_a_list_tells_what_no_table_knows() -> None:
    assert priced(LIVE.name) is None
    store_listed("together", [LIVE, KNOWN, ModelInfo("free/of-price")], NOW)
    found = PriceBook().prices(ModelRef("together", LIVE.name), at=NOW)
    assert found
    assert (found.rates.input, found.rates.output) == (Decimal("0.6"), Decimal("3.6"))
    assert found.source == "together's model list of 2026-11-28"
    assert priced("free/of-price") is None
    assert priced(KNOWN.name) == Decimal("0.88")


def test_what_the_user_says_comes_first() -> None:
    store_listed("together", [LIVE], NOW)
    book = PriceBook([f"together/{LIVE.name}=1/2"])
    found = book.prices(ModelRef("together", LIVE.name), at=NOW)
    assert found
    assert found.rates.output == 2


def test_it_says_nothing_of_batches_and_tiers() -> None:
    store_listed("together", [LIVE], NOW)
    assert priced(LIVE.name, mode="batch") is None
    assert priced(LIVE.name, service_tier="flex") is None


@pytest.mark.parametrize(
    ("age", "known"), [(timedelta(0), True), (FRESH, False), (-timedelta(days=2), False)]
)
def test_an_old_list_is_not_believed(age: timedelta, known: bool) -> None:
    store_listed("together", [LIVE], NOW - age)
    assert (find_listed("together", LIVE.name, NOW) is not None) is known


def test_a_list_without_prices_takes_none_away() -> None:
    store_listed("together", [LIVE], NOW)
    store_listed("together", [ModelInfo(LIVE.name)], NOW)
    store_listed("openrouter", [ModelInfo("a/b", rates={"input": "1", "output": "1"})], NOW)
    assert priced(LIVE.name) is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"together": []}',
        '{"together": {"when": "x", "models": {}}}',
        '{"together": {"when": "2026-11-28T12:00:00+00:00", "models": {"m": {"input": "NaN",'
        ' "output": "1"}}}}',
        '{"together": {"when": "2026-11-28T12:00:00+00:00", "models": {"m": {"output": "1"}}}}',
        '{"together": {"when": "2026-11-28T12:00:00+00:00", "models": {"m": {"input": "a",'
        ' "output": "1"}}}}',
        '{"together": {"when": "2026-11-28T12:00:00", "models": {"m": {"input": "1",'
        ' "output": "1"}}}}',
    ],
)
def test_a_damaged_file_tells_nothing(text: str) -> None:
    cache_dir().mkdir(parents=True)
    (cache_dir() / "told-prices.json").write_text(text)
    assert find_listed("together", "m", NOW) is None
