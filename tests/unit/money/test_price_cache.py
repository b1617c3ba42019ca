"""Prices from the bundled table are looked up once a day."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from evalbench.engine.calls import ModelRef
from evalbench.engine.cost.prices import PriceBook, PriceCache

CLAUDE = ModelRef("anthropic", "claude-sonnet-4-5")


def test_a_price_is_at_hand_once_it_was_looked_up(home: Path) -> None:
    book = PriceBook()
    assert not book.at_hand(CLAUDE)
    found = book.prices(CLAUDE)
    assert found is not None
    assert PriceBook().at_hand(CLAUDE)
    assert PriceBook().prices(CLAUDE) == found


def test_a_remembered_price_needs_no_table(home: Path) -> None:
    PriceBook().prices(CLAUDE)
    code = (
        "import sys; from evalbench.engine.calls import ModelRef\n"
        "from evalbench.engine.cost.prices import PriceBook\n"
        f"assert PriceBook().prices(ModelRef('anthropic', '{CLAUDE.name}'))\n"
        "assert 'genai_prices' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_that_there_is_no_price_is_remembered_too(home: Path) -> None:
    nobody = ModelRef("openai", "no-such-model")
    assert PriceBook().prices(nobody) is None
    assert PriceBook().at_hand(nobody)


@pytest.mark.parametrize("model", ["local/x", "custom/x"])
def test_what_the_table_is_not_asked_for_is_always_at_hand(home: Path, model: str) -> None:
    assert PriceBook().at_hand(ModelRef.parse(model))


def test_a_price_given_or_on_file_is_at_hand(home: Path) -> None:
    assert PriceBook(["1/2"], CLAUDE).at_hand(CLAUDE)


def test_a_new_day_forgets(home: Path) -> None:
    now = datetime.now(UTC)
    PriceCache(now).keep("question", None)
    assert PriceCache(now).knows("question")
    assert not PriceCache(now + timedelta(days=1)).knows("question")


def test_a_damaged_memory_is_empty(home: Path) -> None:
    now = datetime.now(UTC)
    PriceCache(now).keep("question", None)
    (home / "cache" / "prices.json").write_text("{")
    assert not PriceCache(now).knows("question")
