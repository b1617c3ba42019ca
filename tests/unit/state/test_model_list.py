"""The catalogue in words: order, ages, prices and retirement."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import date

import pytest

from evalbench.tui.state import model_list
from evalbench.tui.state.cli_child import CommandFailed
from evalbench.tui.state.model_cache import Model, ModelList
from evalbench.tui.state.model_list import Catalogue, Offer, Ways, detail_words, price_words

MODEL = Model("p/m", "p", "m", "A model", 8192)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("", ("", "")),
        ("some day", ("some day", "")),
        ("2026-11-27", ("retired", "bad")),
        ("2026-11-28", ("today", "warn")),
        ("2026-11-29", ("in 1 day", "warn")),
        ("2027-02-26", ("in 90 days", "warn")),
        ("2027-02-27", ("2027-02-27", "")),
    ],
)
def test_retirement_that_is_near_is_told_in_days(told: str, said: tuple[str, str]) -> None:
    model = replace(MODEL, retires=told)
    assert model_list.retires_words(model, date(2026, 11, 28)) == said


@pytest.mark.parametrize(
    ("price", "said"),
    [
        (None, ("unknown", "unknown")),
        ((0.0, 0.0), ("free", "free")),
        ((3.0, 15.0), ("$3", "$15")),
        ((0.075, 0.0), ("$0.075", "$0")),
    ],
)
def test_an_unknown_price_is_never_nothing(
    price: tuple[float, float] | None, said: tuple[str, str]
) -> None:
    assert price_words(replace(MODEL, price=price)) == said


def test_providers_with_models_come_first_and_this_machine_before_all() -> None:
    catalogue = Catalogue({name: Offer(name) for name in ("a", "local", "z")})
    assert catalogue.to_ask(0) == ["local", "a", "z"]
    catalogue.offers["z"].listed = ModelList("z", 1000, (MODEL,))
    rows = catalogue.rows()
    assert [getattr(row, "id", row.provider) for row in rows] == ["z", "p/m", "local", "a"]
    assert catalogue.to_ask(1000) == ["local", "a"]
    assert catalogue.to_ask(1001 + 24 * 3600) == ["z", "local", "a"]


def test_a_query_leaves_models_only() -> None:
    listed = ModelList("p", time.time(), (MODEL, replace(MODEL, id="p/n", title="Another")))
    catalogue = Catalogue({"p": Offer("p", listed), "q": Offer("q")})
    assert catalogue.rows("ano") == [listed.models[1]]
    assert catalogue.rows("q") == []


def test_a_provider_says_where_its_list_stands_or_how_to_get_it() -> None:
    offer = Offer("p")
    assert offer.words(0) == "p · not asked yet"
    offer.asking = True
    assert offer.words(0) == "p · asking now"
    offer.asking, offer.listed = False, ModelList("p", 1000, (MODEL,))
    assert offer.words(1010) == "p · 1 model · asked just now"
    assert offer.words(1000 + 3 * 3600) == "p · 1 model · asked 3 h ago"
    offer.trouble = CommandFailed("it is away", why="no route", hint="start it; or wait")
    assert offer.words(1010) == "p · 1 model · asked just now · it is away · start it"
    assert detail_words(offer) == "p: it is away\nwhy: no route · try: start it; or wait"


def test_a_missing_key_is_set_in_the_app() -> None:
    # Also if there is no keychain, so that no command could store one.
    trouble = CommandFailed("no key", hint="export P_API_KEY=…; or --env-file FILE")
    trouble.setting = "key"
    offer = Offer("p", trouble=trouble)
    ways = Ways("F5", "F3")
    assert offer.words(0, ways) == "p · no key · F5 sets its key"
    assert detail_words(offer, ways=ways) == "p: no key\ntry: F5 sets its key"
    # Whoever has taken that key away is told what the command says.
    assert offer.words(0) == "p · no key · export P_API_KEY=…"
    offer.trouble = CommandFailed("it is away", hint="start it")
    assert offer.words(0, ways) == "p · it is away · start it"


def test_a_missing_setting_is_named_as_in_the_app() -> None:
    trouble = CommandFailed("P needs --base-url", why="see --base-url", hint="give it --now")
    trouble.setting = "base_url"
    offer = Offer("p", trouble=trouble)
    asks = "a new run (F3) asks for base-url"
    assert offer.words(0, Ways("F5", "F3")) == f"p · P needs base-url · {asks}"
    told = detail_words(offer, ways=Ways("F5", "F3"))
    assert told == f"p: P needs base-url\nwhy: see base-url · try: {asks}"
    assert offer.words(0) == "p · P needs base-url · give it now"
