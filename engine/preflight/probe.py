"""Queries a provider's models: what each supports, and one short question to one of them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from evalbench.engine.calls import (
    PARAMETERS,
    BaseProvider,
    Call,
    ModelRef,
    Provider,
    WorkerProvider,
    generate,
)
from evalbench.engine.calls.footprint import Footprint
from evalbench.engine.calls.replies import reply_to_json
from evalbench.engine.cost.listed_prices import store_listed
from evalbench.engine.cost.prices import PriceBook
from evalbench.engine.errors import ProviderError, SpecError

_QUESTION = "Which planet do we live on? Answer with one word."
_ANSWER_TOKENS = 64
_THINKING_TOKENS = 4096


async def models_with_abilities(provider: BaseProvider) -> list[dict[str, Any]]:
    """The available models, each with ``able``: its ``Capabilities``, and what it does not accept.

    ``able.untaken`` gives, by name, why a parameter would be dropped. ``footprint`` determines the
    memory use of a model on this machine; None for others.
    """
    listed = await provider.models()
    store_listed(provider.name, listed)
    return [
        asdict(model)
        | {
            "able": asdict(provider.capabilities(model.name))
            | {"untaken": _untaken(provider, model.name)},
            "footprint": size.to_json() if (size := _size(provider, model.name)) else None,
        }
        for model in listed
    ]


def _size(provider: BaseProvider, model: str) -> Footprint | None:
    return provider.footprint(model) if isinstance(provider, WorkerProvider) else None


async def learn_prices(provider: BaseProvider) -> None:
    """Query a provider's own list for prices, if it has any; on failure they stay unknown."""
    if provider.tells_prices:
        with contextlib.suppress(ProviderError):
            store_listed(provider.name, await provider.models())


def _untaken(provider: BaseProvider, model: str) -> dict[str, str]:
    """Parameters that the provider would drop from a call to this model, with its reasons.

    Each is requested alone, since some exclude one another. For a provider that does not say in
    advance what it would send, the result is empty.
    """
    reasons: dict[str, str] = {}
    for name, parameter in PARAMETERS.items():
        if parameter.trial is None:
            continue
        call = Call(ModelRef(provider.name, model), generate("?", **{name: parameter.trial}))
        with contextlib.suppress(ProviderError):
            for note in provider.param_notes(call) or ():
                if note.name == name and note.fate != "sent":
                    reasons[name] = note.reason
    return reasons


async def probe(
    provider: BaseProvider,
    model: ModelRef,
    params: Mapping[str, Any],
    book: PriceBook,
    service_tier: str = "",
) -> dict[str, Any]:
    """Ask a model one short question, once.

    Args:
        provider: the model's provider.
        model: the model to ask.
        params: fields of :class:`evalbench.engine.calls.Params` to request.
        book: where to look up the cost.
        service_tier: the service tier to request.

    Returns:
        The reply in the form of ``reply_to_json``, without the provider's body, and ``cost``:
        US dollars as text, or None if unknown.

    Raises:
        SpecError: the model would have to be loaded first.
        ProviderError: it did not answer.
    """
    if isinstance(provider, WorkerProvider):
        raise SpecError(
            "model",
            f"{model} is not probed",
            why="it would have to be loaded into memory for one question",
            hint="start a run with --limit 1",
        )
    assert isinstance(provider, Provider)
    provider.check_model(model.name)
    thinks = provider.capabilities(model.name).thinks or "effort" in params
    room = params.get("thinking_budget", _THINKING_TOKENS if thinks else 0)
    asked = {"max_tokens": _ANSWER_TOKENS + room, **params}
    began = time.perf_counter()
    reply = await provider.answer(Call(model, generate(_QUESTION, **asked)))
    reply = replace(reply, raw=None, latency_s=reply.latency_s or time.perf_counter() - began)
    cost = reply.billed
    if cost is None:
        prices = book.prices(model, service_tier=service_tier)
        if prices is None:
            await learn_prices(provider)
            prices = book.prices(model, service_tier=service_tier)
        cost = prices.cost(reply.usage, reply.service_tier) if prices else None
    return reply_to_json(reply) | {"cost": None if cost is None else str(cost)}
