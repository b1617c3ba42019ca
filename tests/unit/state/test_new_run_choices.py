"""Lines of the pickers of a new run: keys, models, and what stands against them."""

from __future__ import annotations

import time
from typing import Any

import pytest

from evalbench.engine.calls.footprint import Footprint
from evalbench.engine.errors import EvalbenchError
from evalbench.engine.hardware.devices import DeviceMemory
from evalbench.tui.state import offered
from evalbench.tui.state.ability import obstacle, shortfalls
from evalbench.tui.state.key_places import KeyPlaces, about_key, key_lines, key_places
from evalbench.tui.state.model_cache import Model, ModelList
from evalbench.tui.state.offered import Offer, Offered
from evalbench.tui.state.plugins import load_known
from evalbench.tui.state.run_choices import (
    Place,
    about_benchmark,
    about_model,
    about_provider,
    benchmark_choices,
    model_choices,
    provider_choices,
)


def key(provider: str, source: str, name: str = "", variable: str = "", **more: Any) -> Any:
    line = {"event": "key", "provider": provider, "source": source, "name": name}
    return line | {"variable": variable, "page": "https://keys", "required": True} | more


LINES = [
    key("anthropic", "none", variable="ANTHROPIC_API_KEY"),
    key("groq", "environment", variable="GROQ_API_KEY"),
    key("groq", "keychain", "default"),
    key("ollama", "none", variable="OLLAMA_API_KEY", required=False),
    key("openai", "keychain", "default"),
    key("openai", "keychain", "work"),
]


def test_places_of_keys_are_told_with_what_would_do_instead() -> None:
    places = key_places(LINES)
    assert {name: one.state for name, one in places.items()} == {
        "anthropic": "no key",
        "groq": "env var",
        "ollama": "optional",
        "openai": "keychain",
    }
    assert places["openai"].words() == "key: keychain, default, work"
    assert places["groq"].words() == "key: environment, GROQ_API_KEY; keychain, default"
    assert places["anthropic"].words() == ("no key, and one is needed; ANTHROPIC_API_KEY works too")
    assert "often not needed" in places["ollama"].words()


def test_the_list_of_keys_has_a_line_for_each_and_for_who_has_none() -> None:
    places = key_places(LINES)
    lines = key_lines(places, {("openai", "work"): "✗ refused"})
    assert [(line.provider, line.name, line.held) for line in lines] == [
        ("groq", "GROQ_API_KEY", True),
        ("groq", "default", True),
        ("openai", "default", True),
        ("openai", "work", True),
        ("anthropic", "", False),
        ("ollama", "", False),
    ]
    told = [about_key(line, places[line.provider]) for line in lines]
    assert told[0] == "set outside, in GROQ_API_KEY; it comes before the keychain's default key"
    assert told[1] == "not used now: GROQ_API_KEY is set and comes first"
    assert told[2].startswith("used unless")
    assert told[3] == "✗ refused"
    assert "https://keys" in told[4]
    assert [line.in_keychain for line in lines] == [False, True, True, True, False, False]


def test_providers_that_can_be_asked_come_first() -> None:
    known = load_known()
    choices = provider_choices(known, key_places(LINES))
    idents = [choice.ident for choice in choices]
    assert idents.index("local") < idents.index("ollama") < idents.index("anthropic")
    states = {choice.ident: choice.cells[1] for choice in choices}
    assert states["local"] == ("not used", "dim")
    assert states["groq"] == ("env var", "good")
    assert states["anthropic"] == ("no key", "warn")
    assert "https://keys" in about_provider(known, key_places(LINES), "anthropic")
    assert "needs no key" in about_provider(known, key_places(LINES), "local")
    assert "looking up its key" in about_provider(known, {}, "anthropic")
    assert about_provider(known, {}, "nobody") == ""
    assert about_provider(known, {}, "compatible").startswith("Your own server")
    names = [choice.ident for choice in benchmark_choices(known)]
    assert names == list(known.benchmarks)
    assert "57 subjects" in about_benchmark(known, "mmlu")


PLAIN = Model("x/plain", "x", "plain", able={"generate": True, "choose": False, "reason": "no API"})
ABLE = Model(
    "x/able",
    "x",
    "able",
    "The able one",
    8000,
    "2999-01-01",
    price=(1.0, 2.5),
    able={
        "generate": True,
        "choose": True,
        "images": False,
        "logprobs": True,
        "untaken": {"temperature": "not while it reasons", "seed": ""},
    },
)
GB = 1_000_000_000
UNKNOWN = Model("x/unknown", "x", "unknown")


def test_what_a_model_cannot_do_is_told_with_the_reason() -> None:
    assert obstacle(PLAIN, {"choose"}) == "no API"
    assert obstacle(PLAIN, {"generate"}) == ""
    assert obstacle(ABLE, {"images", "generate"}) == "sees no images"
    assert obstacle(UNKNOWN, {"choose"}) == ""
    assert shortfalls(ABLE) == ["no images", "no temperature (not while it reasons)", "no seed"]
    assert shortfalls(UNKNOWN) == []


def test_models_that_cannot_answer_are_greyed_and_last() -> None:
    offer = Offer(ModelList("x", 0.0, (PLAIN, ABLE, UNKNOWN)))
    choices = model_choices(offer, frozenset({"choose"}))
    assert [(choice.ident, choice.dim) for choice in choices] == [
        ("able", False),
        ("unknown", False),
        ("plain", True),
    ]
    assert choices[0].cells == (
        "able",
        ("8,000", "dim"),
        ("$1–2.5", "dim"),
        ("2999-01-01", ""),
    )
    assert choices[2].cells[0] == ("✗ plain", "dim")
    told = about_model(offer, "able", frozenset({"choose"}))
    assert told.splitlines() == [
        "The able one · context 8,000 · retires 2999-01-01 · $1 in, $2.5 out per million tokens",
        "no images · no temperature (not while it reasons) · no seed",
    ]
    assert about_model(offer, "plain", frozenset({"choose"})).startswith(
        "✗ not for this benchmark: no API"
    )
    assert "can be tried" in about_model(offer, "typed", frozenset())
    assert about_model(offer, "", frozenset()) == ""


def test_models_that_do_not_fit_are_greyed_with_the_reason() -> None:
    size = Footprint(3 * GB, 2 * GB, 50_000, 50_000, 3072, 128_000, 8192)
    large = Model("local/large", "local", "large", "Large", footprint=size)
    offer = Offer(ModelList("local", 0.0, (large, ABLE)))
    card = DeviceMemory("cuda", "Pretend 9000", 5_500_000_000, 6 * GB)
    none = frozenset({"generate"})

    def dim(place: Place) -> list[bool]:
        return [one.dim for one in model_choices(offer, none, place) if one.ident == "large"]

    assert dim(Place()) == [False]
    assert dim(Place(card)) == [True]
    assert dim(Place(card, {"quantize": "8bit"})) == [False]
    assert dim(Place(card, {"memory_limit": "80GB"})) == [False]
    assert dim(Place(card, {"memory_limit": "nonsense"})) == [False]
    told = about_model(offer, "large", none, Place(card)).splitlines()[0]
    assert told.startswith("✗ does not fit into memory: needs ")
    assert told.endswith("5.5 GB free; set quantize to 8bit")
    card = DeviceMemory("cuda", "Pretend 9000", GB, 6 * GB)
    told = about_model(offer, "large", none, Place(card)).splitlines()[0]
    assert told.endswith("in 4-bit, 1.0 GB free")
    told = about_model(offer, "large", none, Place(card, {"memory_limit": "80GB"}))
    assert "fits: " in told.splitlines()[0]


async def test_a_list_that_cannot_be_had_is_told_with_its_cure(
    home: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(provider: str, *flags: str) -> ModelList:
        raise EvalbenchError("no key", hint="set one")

    monkeypatch.setattr(offered, "ask_models", refuse)
    seen: list[str] = []
    all_offers = Offered()
    offer = all_offers.of("x")
    await all_offers.ask("x", (), lambda: seen.append(offer.empty_words()))
    assert seen == ["loading…", "✗ no key"]
    assert about_model(offer, "", frozenset()) == "✗ no list: no key\ntry: set one"
    told = about_model(offer, "", frozenset(), hint="ctrl+t sets the key")
    assert told == "✗ no list: no key\ntry: ctrl+t sets the key"
    assert offer.words(0.0) == "✗ no list"

    offer.listed = ModelList("x", time.time() - 7200, (ABLE,))
    assert offer.words(time.time()) == "2 h old, ✗ stale"
    assert "✗ no current list: no key" in about_model(offer, "able", frozenset())
    # At another address another server's list says nothing.
    await all_offers.ask("x", ("--base-url", "http://127.0.0.1:9"), lambda: None)
    assert offer.models() == ()


async def test_a_fresh_list_takes_the_place_of_the_kept_one(
    home: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def answer(provider: str, *flags: str) -> ModelList:
        return ModelList(provider, time.time(), (ABLE, UNKNOWN))

    monkeypatch.setattr(offered, "ask_models", answer)
    all_offers = Offered()
    await all_offers.ask("x", (), lambda: None)
    assert all_offers.of("x").words(time.time()) == "2 listed"
    assert all_offers.of("x").model("unknown") is UNKNOWN
    assert KeyPlaces("x").found is False
