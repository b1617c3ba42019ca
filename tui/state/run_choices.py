"""The lines of a new run's three pickers, and the details of each line and of the choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalbench.engine.benchmarks.lm_eval.index import LM_EVAL
from evalbench.engine.hardware.devices import DeviceMemory
from evalbench.tui.state.ability import obstacle, shortfalls
from evalbench.tui.state.draft import Draft
from evalbench.tui.state.fit_words import fit_here, fit_words, why_not
from evalbench.tui.state.key_places import KeyPlaces
from evalbench.tui.state.model_cache import Model
from evalbench.tui.state.model_list import context_words, price_words, retires_words
from evalbench.tui.state.offered import Offer
from evalbench.tui.state.plugins import Known

Cell = str | tuple[str, str]
"""Text, or text and tone, in the form that tables take."""


@dataclass(frozen=True, slots=True)
class Choice:
    """An item to choose.

    Attributes:
        ident: its identifier.
        cells: what its line shows.
        found_by: text that typed letters are matched against.
        dim: whether it exists but is not suitable for this run.
    """

    ident: str
    cells: tuple[Cell, ...]
    found_by: str
    dim: bool = False


def benchmark_choices(known: Known) -> list[Choice]:
    """One line per benchmark."""
    return [Choice(name, (name,), f"{name} {one.title}") for name, one in known.benchmarks.items()]


def task_choices(known: Known) -> list[Choice]:
    """One line per task of lm-evaluation-harness, short names first. Takes tens of milliseconds."""
    found = []
    for name, entry in sorted(known.tasks.items(), key=lambda pair: len(pair[0])):
        full = f"{LM_EVAL}/{name}"
        found.append(Choice(full, (full,), f"{full} {entry.alias} {entry.what}"))
    return found


_KEY_TONES = {"env var": "good", "keychain": "good", "no key": "warn"}
_KEY_ORDER = ("optional", "no key")
"""Sort order: providers with a key, or needing none; then servers that may exist; the rest."""


def provider_choices(known: Known, keys: Mapping[str, KeyPlaces]) -> list[Choice]:
    """One line per provider, with the state of its key."""
    choices = []
    for name, one in known.providers.items():
        state = keys[name].state if name in keys else "" if one.takes_key else "not used"
        tone = _KEY_TONES.get(state, "dim")
        rank = 1 + _KEY_ORDER.index(state) if state in _KEY_ORDER else 0
        choices.append((rank, Choice(name, (name, (state, tone)), f"{name} {one.about}")))
    return [choice for _, choice in sorted(choices, key=lambda pair: pair[0])]


@dataclass(frozen=True, slots=True)
class Place:
    """Where and how local models would be loaded.

    Attributes:
        memory: free memory there; None if not known yet.
        options: their provider's options, as far as given.
    """

    memory: DeviceMemory | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def stands_against(self, model: Model) -> str:
        """Why a model does not fit there; empty if it does, or if that is unknown."""
        found = fit_here(model.footprint, self.memory, self.options)
        return why_not(found) if found else ""


def model_choices(offer: Offer, needs: frozenset[str], place: Place | None = None) -> list[Choice]:
    """One line per model; those that cannot answer such calls are greyed out and come last.

    The same goes for those that do not fit in the memory of ``place``.
    """
    choices = [_model_choice(model, needs, place or Place()) for model in offer.models()]
    return sorted(choices, key=lambda choice: choice.dim)


def _model_choice(model: Model, needs: frozenset[str], place: Place) -> Choice:
    stands_against = obstacle(model, needs) or place.stands_against(model)
    into, out = price_words(model)
    price = into if into == out else f"{into}–{out[1:]}"
    context = context_words(model) if model.context else ""
    return Choice(
        model.name,
        (
            (f"✗ {model.name}", "dim") if stands_against else model.name,
            (context, "dim"),
            ("" if price == "unknown" else price, "dim"),
            retires_words(model),
        ),
        f"{model.name} {model.title}",
        dim=bool(stands_against),
    )


def about_benchmark(known: Known, name: str) -> str:
    """Title and summary."""
    family, _, task = name.partition("/")
    if family == LM_EVAL and task in known.tasks:
        return f"{known.tasks[task].alias or task}: {known.tasks[task].what}"
    one = known.benchmark(name)
    return f"{one.title}: {one.summary}" if one else ""


def about_provider(known: Known, keys: Mapping[str, KeyPlaces], name: str) -> str:
    """Title, how its models are called, where its key is or how to set one."""
    one = known.providers.get(name)
    if one is None:
        return ""
    parts = [one.about]
    places = keys.get(name)
    if places is None:
        parts.append("looking up its key…" if one.takes_key and not keys else "needs no key")
    else:
        parts.append(places.words())
        if not places.found and places.page:
            parts.append(f"keys are made at {places.page}")
    return _joined(parts)


def about_answering(draft: Draft, keys: Mapping[str, KeyPlaces]) -> str:
    """How the chosen model is called, and where its key is."""
    if draft.stand_in:
        return "no model is called: the answers exist already"
    provider = draft.known_provider
    if provider is None:
        return ""
    wished = draft.typed.get("mode", "")
    if provider.local and wished != "cluster":
        wished = ""
    parts = [wished or provider.mode]
    if places := keys.get(provider.name):
        lacking = "no key yet" if places.required else "no key; often not needed"
        parts.append(places.words() if places.found else f"{lacking}: ctrl+t sets one")
    elif not provider.takes_key:
        parts.append("needs no key")
    return _joined(parts)


def about_model(
    offer: Offer, name: str, needs: frozenset[str], place: Place | None = None, hint: str = ""
) -> str:
    """Details of the model under the cursor; the error, if there is no list.

    ``hint`` replaces that of the error.
    """
    model = offer.model(name)
    if model is None:
        if offer.trouble:
            trouble = offer.trouble
            hint = hint or trouble.hint
            rest = [f"try: {hint}" if hint else trouble.why]
            return "\n".join([f"✗ no list: {trouble.what}", *filter(None, rest)])
        return f"{name}: not listed; it can be tried anyway" if name else ""
    retires = retires_words(model)[0]
    parts = [model.title, f"context {context_words(model)}"]
    if retires:
        parts.append(retires if retires == "retired" else f"retires {retires}")
    into, out = price_words(model)
    if into != "unknown":
        parts.append(
            "free" if into == out == "free" else f"{into} in, {out} out per million tokens"
        )
    else:
        parts.append("price unknown")
    if reason := obstacle(model, needs):
        return f"✗ not for this benchmark: {reason}\n{_joined(parts)}"
    place = place or Place()
    if reason := place.stands_against(model):
        return f"✗ does not fit into memory: {reason}\n{_joined([*parts, model.notes])}"
    if found := fit_here(model.footprint, place.memory, place.options):
        parts.append(fit_words(found)[0])
    stale = f"✗ no current list: {offer.trouble.what}" if offer.trouble else ""
    return _joined([*parts, model.notes]) + "\n" + _joined([stale, *shortfalls(model)])


def _joined(parts: Sequence[str]) -> str:
    return " · ".join(part for part in parts if part)
