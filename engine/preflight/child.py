"""Answers the preflight's requests; also the program of its child process.

It reads one request from its standard input, as JSON (see :mod:`.requests`), and writes lines of
JSON: any number of ``{"progress": [what, done, total]}``, then ``{"answer": ...}``, or
``{"error": {...}}``, see :func:`evalbench.engine.errors.error_to_json`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from evalbench.engine.calls import ModelRef, Provider
from evalbench.engine.calls.options import parse_options
from evalbench.engine.config import registry
from evalbench.engine.config.roles import CANDIDATE, RoleSpec, make_provider
from evalbench.engine.config.spec import RunSpec, build_benchmark, check_spec
from evalbench.engine.core_dumps import no_core_dumps
from evalbench.engine.cost import modes
from evalbench.engine.cost.estimated import estimate_to_json
from evalbench.engine.cost.prices import PriceBook
from evalbench.engine.cost.unit_prices import UnitPrices
from evalbench.engine.data.dataset import ProgressCallback, is_prepared, prepare, selected_count
from evalbench.engine.errors import EvalbenchError, SpecError, error_to_json, system_limit
from evalbench.engine.execution.reuse import replies_at_hand
from evalbench.engine.keys.hub_token import check_hub_token
from evalbench.engine.paths import cache_dir, runs_dir
from evalbench.engine.preflight import fitting
from evalbench.engine.preflight.checked import CheckedSpec
from evalbench.engine.preflight.estimate import estimate
from evalbench.engine.preflight.parameter_check import check_parameters
from evalbench.engine.preflight.probe import learn_prices, models_with_abilities, probe
from evalbench.engine.preflight.prompts import render
from evalbench.engine.preflight.requests import (
    ProbeRequest,
    ProviderRequest,
    Request,
    SpecsRequest,
)


def _answer(request: Request, progress: ProgressCallback) -> Any:
    match request["ask"]:
        case "fit":
            asked = RunSpec.from_json(request["asked"]) if request["asked"] else None
            return asyncio.run(
                fitting.fit_models(
                    request["provider"], request["models"], request["settings"], asked, progress
                )
            )
        case "prompts":
            return _prompts(RunSpec.from_json(request["spec"]), request["count"], progress)
        case "models" | "key" | "probe":
            return asyncio.run(_ask_provider(request))
        case _:
            secrets = request["secrets"] or [{} for _ in request["specs"]]
            return [
                _looked_at(request, raw, keys, progress)
                for raw, keys in zip(request["specs"], secrets, strict=True)
            ]


def _looked_at(
    request: SpecsRequest,
    raw: Mapping[str, Any],
    secrets: Mapping[str, str],
    progress: ProgressCallback,
) -> Any:
    checked = look_at(
        RunSpec.from_json(raw),
        request["ask"],
        progress,
        estimated=request["estimate"],
        secrets=secrets,
    )
    return checked.estimate if request["ask"] == "estimate" else checked.to_json()


def _prompts(spec: RunSpec, count: int, progress: ProgressCallback) -> list[dict[str, Any]]:
    file = prepare(spec, cache_dir(), progress)
    # Filters that leave nothing are an error, not an empty answer.
    selected_count(file, spec, registry.benchmark_class(spec.benchmark))
    return asyncio.run(render(spec, file, count))


def look_at(
    spec: RunSpec,
    ask: str,
    progress: ProgressCallback | None,
    *,
    estimated: bool = False,
    secrets: Mapping[str, str] | None = None,
) -> CheckedSpec:
    """The answer for one spec: ``prepare``, ``check`` or ``estimate`` it."""
    book = PriceBook(spec.settings.price, spec.candidate)
    if ask != "prepare":
        check_spec(spec)
        # An estimate scores nothing.
        if ask == "check":
            asyncio.run(build_benchmark(spec).check())
        asyncio.run(_learn_prices(spec, book, secrets or {}))
    file = prepare(spec, cache_dir(), progress)
    if ask == "estimate":
        return CheckedSpec(file, 0, estimate=_estimated(spec, file, book))
    count = selected_count(file, spec, registry.benchmark_class(spec.benchmark))
    if ask == "prepare":
        return CheckedSpec(file, count)
    if modes.is_open(spec):
        spec = modes.in_mode(spec, modes.chosen(spec, asyncio.run(estimate(spec, file, book))))
    found = asyncio.run(fitting.fits(spec, file))
    fitting.refuse_what_does_not_fit(spec, found)
    asyncio.run(check_parameters(spec, file))
    prices = _prices(spec, book)
    costs = estimated and not all(one and one.free for one in prices.values())
    return CheckedSpec(
        file,
        count,
        prices,
        _estimated(spec, file, book) if costs else None,
        {role: one.to_json() for role, one in found.items()},
        spec.settings.candidate.mode,
    )


def _estimated(spec: RunSpec, file: Path, book: PriceBook) -> dict[str, Any]:
    with replies_at_hand(spec, runs_dir()) as earlier:
        return estimate_to_json(asyncio.run(estimate(spec, file, book, earlier=earlier)))


def nothing_heavy(spec: RunSpec) -> bool:
    """Whether a check needs no heavy imports: data already prepared, and price known."""
    book = PriceBook(spec.settings.price, spec.candidate)
    parts = spec.roles().values()
    if modes.is_open(spec) or any(part.batched for part in parts):
        return False
    return is_prepared(spec, cache_dir()) and all(
        book.at_hand(part.ref, part.service_tier) and not _tells_price(part, book) for part in parts
    )


def _tells_price(part: RoleSpec, book: PriceBook) -> bool:
    """Whether only the provider itself knows what a model costs."""
    cls = registry.provider_class(part.ref.provider)
    if not cls.tells_prices:
        return False
    return book.prices(part.ref, service_tier=part.service_tier) is None


async def _learn_prices(spec: RunSpec, book: PriceBook, secrets: Mapping[str, str]) -> None:
    """Ask providers whose lists alone have a price, if there is a key for them."""
    for role, part in spec.roles().items():
        if not (secret := secrets.get(role)) or not _tells_price(part, book):
            continue
        provider = part.provider(secret)
        await learn_prices(provider)
        await provider.close()


def _prices(spec: RunSpec, book: PriceBook) -> dict[str, UnitPrices | None]:
    """The prices of every model of a run, by role; both kinds if a role is asked in batches."""
    found = {}
    for role, part in spec.roles().items():
        at_once = book.prices(part.ref, service_tier=part.service_tier)
        found[role] = book.prices(part.ref, "batch") if part.batched else at_once
        if part.batched:
            found[modes.realtime_key(role)] = at_once
        if found[role] is None and spec.settings.budget is not None:
            named = "" if role == CANDIDATE else f"{part.model}="
            raise SpecError(
                "budget",
                f"a budget cannot be kept for {part.model}: its price is unknown",
                hint=f"give it with --price {named}IN/OUT, in US dollars per million tokens",
            )
    return found


async def _ask_provider(request: ProviderRequest | ProbeRequest) -> Any:
    if request["ask"] == "key" and request["provider"] == "huggingface":
        return check_hub_token(request["secret"])
    if request["ask"] == "key" and request["provider"] in ("galileo", "otlp"):
        # Where it will be sent is not known yet.
        return "kept as it is; it is tried when traces are sent"
    cls = registry.provider_class(request["provider"])
    settings = parse_options(cls.options, request["settings"], f"provider {cls.name}")
    provider = make_provider(cls, settings, request["secret"])
    try:
        match request["ask"]:
            case "key" if isinstance(provider, Provider):
                return await provider.check_key()
            case "probe":
                model = ModelRef.parse(request["model"])
                book = PriceBook(request["price"], model)
                tier = str(settings.get("service_tier") or "")
                return await probe(provider, model, request["params"], book, tier)
        return await models_with_abilities(provider)
    finally:
        await provider.close()


def _failed(error: OSError) -> EvalbenchError:
    what = f"{error.strerror or type(error).__name__}: {error.filename or ''}".rstrip(": ")
    place, cache = Path(str(error.filename or "")), cache_dir()
    ours = place.name and (place.is_relative_to(cache) or cache.is_relative_to(place))
    hint = "choose a place that can be written to with EVALBENCH_HOME"
    return EvalbenchError(what, hint=hint if ours else "")


def main() -> None:
    """Serve one request from standard input."""
    no_core_dumps()
    # Libraries may print anywhere; the pipe is reserved for our answer.
    pipe = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)

    def say(message: dict[str, Any]) -> None:
        pipe.write(orjson.dumps(message) + b"\n")

    def progress(what: str, done: int, total: int | None) -> None:
        say({"progress": [what, done, total]})

    try:
        say({"answer": _answer(orjson.loads(sys.stdin.buffer.read()), progress)})
    except EvalbenchError as error:
        say({"error": error_to_json(error)})
    except OSError as error:
        say({"error": error_to_json(system_limit(error) or _failed(error))})


if __name__ == "__main__":
    main()
