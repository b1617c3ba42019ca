"""The desk: a short-lived child that answers questions before a run.

It alone loads providers and data sets outside an engine, so the command line
and the screen stay light and cannot be frozen by an import. Requests and
answers are JSON lines on its pipes::

    {"ask": "check", "specs": [...], "estimate": B, "secrets": [{ROLE: S}, ...]}
                                      ->  {"answer": [{"file": P, "count": N, "prices": {...}}]}
    {"ask": "prepare", "specs": [...]}   the same answer, without asking the provider
    {"ask": "estimate", "specs": [...], "secrets": [...]}
                                      ->  {"answer": [{...}, ...]}, see money.estimate
    {"ask": "prompts", "specs": [...], "count": N}  ->  {"answer": [[{...}, ...]]}, see rendering
    {"ask": "models", "provider": P, "secret": S}  ->  {"answer": [{"name": ..., ...}, ...]}
    {"ask": "fit", "provider": P, "models": [...], "settings": {...}, "benchmark": B}
                                      ->  {"answer": [{...}, ...]}, see :func:`.fitting.fit_models`
    {"ask": "key", "provider": P, "secret": S}     ->  {"answer": "what the key can see"}
    {"ask": "probe", "provider": P, "model": M, "params": {...}, "price": [...], "secret": S}
                                      ->  {"answer": {...}}, see :func:`.probing.probe`

Before an answer any number of ``{"progress": [what, done, total]}`` lines may
come. A failure is ``{"error": {...}}``, see :func:`evalbench.engine.errors.error_to_json`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from evalbench.engine import fitting, modes, registry
from evalbench.engine.calls import ModelRef, WorkerProvider
from evalbench.engine.dataset import is_prepared, prepare, selected_count
from evalbench.engine.errors import EvalbenchError, SpecError, error_from_json, error_to_json
from evalbench.engine.keys import HUGGINGFACE, strip_environment
from evalbench.engine.keys.hub import check_hub_token
from evalbench.engine.money.estimate import estimate, estimate_to_json
from evalbench.engine.money.prices import PriceBook
from evalbench.engine.money.unit_prices import UnitPrices
from evalbench.engine.options import parse_options
from evalbench.engine.paths import cache_dir
from evalbench.engine.probing import learn_prices, models_with_abilities, probe
from evalbench.engine.rehearsal import rehearse
from evalbench.engine.rendering import render
from evalbench.engine.roles import CANDIDATE, RoleSpec, make_provider
from evalbench.engine.settings import RunSpec, check_spec

Progress = Callable[[str, int, int | None], None]


@dataclass(frozen=True, slots=True)
class Checked:
    """A spec that can start: its prepared sample file, how many samples it selects, unit prices.

    ``prices`` holds by role the JSON form of
    :class:`evalbench.engine.money.unit_prices.UnitPrices`; None where they are unknown.
    ``fits`` says by role whether local models fit; see :meth:`evalbench.engine.fit.Fit.to_json`.
    ``estimate`` is as :func:`evalbench.engine.money.estimate.estimate_to_json` gives it;
    None when it was not asked for, or the run costs nothing. ``mode`` is the run's, chosen
    where it was open.
    """

    file: Path
    count: int
    prices: dict[str, Any] = field(default_factory=dict)
    estimate: dict[str, Any] | None = None
    fits: dict[str, Any] = field(default_factory=dict)
    mode: str | None = None


Secrets = Sequence[Mapping[str, str]]
"""Keys of specs by role, in their order; for providers that tell prices themselves."""


def check(
    specs: Sequence[RunSpec],
    progress: Progress | None = None,
    *,
    estimate: bool = False,
    secrets: Secrets = (),
) -> list[Checked]:
    """Validate specs against their providers and prepare their data.

    In a child process, unless everything is at hand already.

    Args:
        specs: what is to run.
        progress: told what is being prepared.
        estimate: estimate, besides, the runs that cost something.
        secrets: with these a price that no table has is asked for.

    Raises:
        EvalbenchError: the child's error, as raised there.
    """
    return _checked("check", specs, progress, estimate=estimate, secrets=secrets)


def prepare_data(spec: RunSpec, progress: Progress | None = None) -> Checked:
    """Prepare the data of a spec whatever its model, in a child process.

    Raises:
        EvalbenchError: the child's error, as raised there.
    """
    return _checked("prepare", [spec], progress)[0]


def _checked(
    ask: str,
    specs: Sequence[RunSpec],
    progress: Progress | None,
    *,
    estimate: bool = False,
    secrets: Secrets = (),
) -> list[Checked]:
    if all(_nothing_heavy(spec) for spec in specs):
        # A child would only cost its start.
        answers = [_look_at(spec, ask, progress, estimated=estimate) for spec in specs]
    else:
        request = {
            "ask": ask,
            "specs": [spec.to_json() for spec in specs],
            "estimate": estimate,
            "secrets": secrets,
        }
        answers = _ask(request, progress)
    return [
        Checked(
            Path(item["file"]),
            item["count"],
            item.get("prices") or {},
            item.get("estimate"),
            item.get("fits") or {},
            item.get("mode"),
        )
        for item in answers
    ]


def estimates(
    specs: Sequence[RunSpec], progress: Progress | None = None, secrets: Secrets = ()
) -> list[dict[str, Any]]:
    """Estimate runs in a child process; each as ``money.estimate.estimate_to_json`` gives it.

    Needs no key, and asks no provider but for a price that no table has.

    Raises:
        EvalbenchError: the child's error, as raised there.
    """
    found: list[dict[str, Any]] = _ask(
        {"ask": "estimate", "specs": [spec.to_json() for spec in specs], "secrets": secrets},
        progress,
    )
    return found


def prompts(spec: RunSpec, count: int, progress: Progress | None = None) -> list[dict[str, Any]]:
    """What the first samples of a run would be asked; see :func:`.rendering.render`.

    In a child process. Needs no key, asks no provider, and does not mind whether the
    models of the spec could answer.

    Raises:
        EvalbenchError: the child's error, as raised there.
    """
    request = {"ask": "prompts", "specs": [spec.to_json()], "count": count}
    rendered: list[dict[str, Any]] = _ask(request, progress)[0]
    return rendered


def models(
    provider: str, secret: str = "", settings: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """The models that a provider offers: ``ModelInfo`` and abilities as dictionaries.

    See :func:`evalbench.engine.probing.models_with_abilities`.

    Raises:
        EvalbenchError: the child's error.
    """
    request = {"ask": "models", "provider": provider, "secret": secret, "settings": settings or {}}
    listed: list[dict[str, Any]] = _ask(request, None)
    return listed


def fit_models(
    provider: str,
    names: Sequence[str],
    settings: Mapping[str, Any],
    benchmark: str | None = None,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Whether models fit on this machine; see :func:`evalbench.engine.fitting.fit_models`.

    Raises:
        EvalbenchError: the child's error.
    """
    request = {
        "ask": "fit",
        "provider": provider,
        "models": list(names),
        "settings": settings,
        "benchmark": benchmark,
    }
    found: list[dict[str, Any]] = _ask(request, progress)
    return found


def check_key(provider: str, secret: str, settings: Mapping[str, Any] | None = None) -> str:
    """Try a key by the provider's cheapest real call; a line on what it can see.

    Raises:
        ProviderError: the provider refuses it, or cannot be reached.
    """
    request = {"ask": "key", "provider": provider, "secret": secret, "settings": settings or {}}
    told: str = _ask(request, None)
    return told


def probe_model(
    model: ModelRef,
    secret: str,
    settings: Mapping[str, Any],
    params: Mapping[str, Any],
    price: Sequence[str] = (),
) -> dict[str, Any]:
    """Ask a model one short question in a child process; see :func:`.probing.probe`.

    Raises:
        SpecError: the model would have to be loaded for it.
        ProviderError: it gave no answer.
    """
    request = {
        "ask": "probe",
        "provider": model.provider,
        "model": str(model),
        "secret": secret,
        "settings": settings,
        "params": params,
        "price": list(price),
    }
    told: dict[str, Any] = _ask(request, None)
    return told


def _ask(request: dict[str, Any], progress: Progress | None) -> Any:
    # Libraries may print more than a pipe holds, hence a file. A session of its own,
    # so that a terminal that closes does not cut a download short.
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(
            [sys.executable, "-m", "evalbench.engine.desk"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            # Keys come through the pipe. Data sets may need the hub's token.
            env=strip_environment(os.environ, keep=HUGGINGFACE.variables),
            start_new_session=True,
        ) as child,
    ):
        try:
            return _converse(child, request, progress)
        except EOFError:
            said.seek(0)
            words = said.read().decode("utf-8", "replace").strip().splitlines()
        except BaseException:
            child.kill()
            raise
    raise EvalbenchError(
        "the helper process ended without an answer", why=words[-1] if words else "it said nothing"
    )


def _converse(
    child: subprocess.Popen[bytes], request: dict[str, Any], progress: Progress | None
) -> Any:
    assert child.stdin
    assert child.stdout
    with contextlib.suppress(BrokenPipeError):
        child.stdin.write(orjson.dumps(request))
        child.stdin.close()
    for line in child.stdout:
        message = orjson.loads(line)
        if "progress" in message:
            if progress:
                progress(*message["progress"])
        elif "error" in message:
            raise error_from_json(message["error"])
        else:
            return message["answer"]
    raise EOFError


def _answer(request: dict[str, Any], say: Callable[[dict[str, Any]], None]) -> Any:
    if request["ask"] == "fit":
        return asyncio.run(
            fitting.fit_models(
                request["provider"],
                request["models"],
                request["settings"],
                request["benchmark"],
                lambda what, done, total: say({"progress": [what, done, total]}),
            )
        )
    if "provider" in request:
        return asyncio.run(_ask_provider(request))
    answers: list[Any] = []
    secrets = request.get("secrets") or [{} for _ in request["specs"]]
    for raw, keys in zip(request["specs"], secrets, strict=True):
        spec = RunSpec.from_json(raw)
        if request["ask"] == "prompts":
            answers.append(_prompts(spec, request["count"], say))
            continue
        answers.append(
            _look_at(
                spec,
                request["ask"],
                lambda what, done, total: say({"progress": [what, done, total]}),
                estimated=request.get("estimate", False),
                secrets=keys,
            )
        )
    return answers


def _prompts(
    spec: RunSpec, count: int, say: Callable[[dict[str, Any]], None]
) -> list[dict[str, Any]]:
    file = prepare(
        spec, cache_dir(), lambda what, done, total: say({"progress": [what, done, total]})
    )
    # Filters that leave nothing are told, not answered with nothing.
    selected_count(file, spec, registry.benchmark_class(spec.benchmark))
    return asyncio.run(render(spec, file, count))


def _look_at(
    spec: RunSpec,
    ask: str,
    progress: Progress | None,
    *,
    estimated: bool = False,
    secrets: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The answer about one spec: ``prepare``, ``check`` or ``estimate`` it."""
    book = PriceBook(spec.get("price"), spec.candidate)
    if ask != "prepare":
        check_spec(spec)
        asyncio.run(_learn_prices(spec, book, secrets or {}))
    file = prepare(spec, cache_dir(), progress)
    if ask == "estimate":
        return estimate_to_json(asyncio.run(estimate(spec, file, book)))
    answer: dict[str, Any] = {"file": str(file)}
    answer["count"] = selected_count(file, spec, registry.benchmark_class(spec.benchmark))
    if ask == "check":
        if modes.is_open(spec):
            spec = modes.in_mode(spec, modes.chosen(spec, asyncio.run(estimate(spec, file, book))))
        answer["mode"] = spec.get("mode")
        found = asyncio.run(fitting.fits(spec, file))
        fitting.refuse_what_does_not_fit(spec, found)
        answer["fits"] = {role: one.to_json() for role, one in found.items()}
        asyncio.run(rehearse(spec, file))
        prices = _prices(spec, book)
        answer["prices"] = {role: one.to_json() if one else None for role, one in prices.items()}
        if estimated and not all(one and one.free for one in prices.values()):
            answer["estimate"] = estimate_to_json(asyncio.run(estimate(spec, file, book)))
    return answer


def _nothing_heavy(spec: RunSpec) -> bool:
    """Whether a check needs no heavy import: prepared data, and a price that is at hand."""
    book = PriceBook(spec.get("price"), spec.candidate)
    parts = spec.cast().values()
    if modes.is_open(spec) or any(part.batched for part in parts):
        return False
    return is_prepared(spec, cache_dir()) and all(
        book.at_hand(part.ref, part.service_tier) and not tells_price(part, book) for part in parts
    )


def tells_price(part: RoleSpec, book: PriceBook) -> bool:
    """Whether only the provider itself can tell what a model costs."""
    cls = registry.provider_class(part.ref.provider)
    if not getattr(cls, "tells_prices", False):
        return False
    return book.prices(part.ref, service_tier=part.service_tier) is None


async def _learn_prices(spec: RunSpec, book: PriceBook, secrets: Mapping[str, str]) -> None:
    """Ask the providers whose lists alone have a price, where there is a key for them."""
    for role, part in spec.cast().items():
        if not (secret := secrets.get(role)) or not tells_price(part, book):
            continue
        provider = part.provider(secret)
        await learn_prices(provider)
        if not isinstance(provider, WorkerProvider):
            await provider.close()


def _prices(spec: RunSpec, book: PriceBook) -> dict[str, UnitPrices | None]:
    """The prices of every model of a run, by role; of one asked in batches both kinds."""
    found = {}
    for role, part in spec.cast().items():
        at_once = book.prices(part.ref, service_tier=part.service_tier)
        found[role] = book.prices(part.ref, "batch") if part.batched else at_once
        if part.batched:
            found[modes.realtime_key(role)] = at_once
        if found[role] is None and spec.get("budget") is not None:
            named = "" if role == CANDIDATE else f"{part.model}="
            raise SpecError(
                "budget",
                f"a budget cannot be kept for {part.model}: its price is unknown",
                cure=f"give it with --price {named}IN/OUT, in US dollars per million tokens",
            )
    return found


async def _ask_provider(request: dict[str, Any]) -> Any:
    if request["ask"] == "key" and request["provider"] == "huggingface":
        return check_hub_token(request["secret"])
    cls = registry.provider_class(request["provider"])
    settings = parse_options(cls.options, request["settings"], f"provider {cls.name}")
    provider = make_provider(cls, settings, request["secret"])
    try:
        match request["ask"]:
            case "key" if not isinstance(provider, WorkerProvider):
                return await provider.check_key()
            case "probe":
                model = ModelRef.parse(request["model"])
                book = PriceBook(request["price"], model)
                tier = str(settings.get("service_tier") or "")
                return await probe(provider, model, request["params"], book, tier)
        return await models_with_abilities(provider)
    finally:
        if not isinstance(provider, WorkerProvider):
            await provider.close()


def main() -> None:
    """Serve one request from standard input."""
    # Libraries print where they like; the pipe is ours alone.
    pipe = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)

    def say(message: dict[str, Any]) -> None:
        pipe.write(orjson.dumps(message) + b"\n")

    try:
        say({"answer": _answer(orjson.loads(sys.stdin.buffer.read()), say)})
    except EvalbenchError as error:
        say({"error": error_to_json(error)})
    except OSError as error:
        what = f"{error.strerror or type(error).__name__}: {error.filename or ''}".rstrip(": ")
        say({"error": error_to_json(EvalbenchError(what))})


if __name__ == "__main__":
    main()
