"""The preflight: a short-lived child that answers questions before a run.

It alone loads providers and data sets outside an engine, so the command line
and the screen stay light and cannot be frozen by an import. What it answers,
and how, says :mod:`evalbench.engine.preflight.child`.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from evalbench.engine.benchmark import hub_set
from evalbench.engine.calls import ModelRef
from evalbench.engine.calls.secrets import singly
from evalbench.engine.config import registry
from evalbench.engine.config.roles import texts_of
from evalbench.engine.config.spec import RunSpec
from evalbench.engine.data.dataset import ProgressCallback
from evalbench.engine.errors import EvalbenchError, error_from_json
from evalbench.engine.keys import (
    DEFAULT_NAME,
    HUGGINGFACE,
    find_key,
    known_names,
    scrub,
    strip_environment,
    with_variables,
)
from evalbench.engine.keys.handed import variables


@dataclass(frozen=True, slots=True)
class CheckedSpec:
    """A spec that can start: its prepared sample file, how many samples it selects, unit prices.

    ``prices`` holds by role the JSON form of
    :class:`evalbench.engine.cost.unit_prices.UnitPrices`; None where they are unknown.
    ``fits`` says by role whether local models fit; see
    :meth:`evalbench.engine.hardware.fit.Fit.to_json`.
    ``estimate`` is as :func:`evalbench.engine.cost.estimated.estimate_to_json` gives it;
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
    progress: ProgressCallback | None = None,
    *,
    estimate: bool = False,
    secrets: Secrets = (),
) -> list[CheckedSpec]:
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


def prepare_data(spec: RunSpec, progress: ProgressCallback | None = None) -> CheckedSpec:
    """Prepare the data of a spec whatever its model, in a child process.

    Raises:
        EvalbenchError: the child's error, as raised there.
    """
    return _checked("prepare", [spec], progress)[0]


def _checked(
    ask: str,
    specs: Sequence[RunSpec],
    progress: ProgressCallback | None,
    *,
    estimate: bool = False,
    secrets: Secrets = (),
) -> list[CheckedSpec]:
    from evalbench.engine.preflight.child import look_at, nothing_heavy

    if all(nothing_heavy(spec) for spec in specs):
        # A child would only cost its start.
        answers = [look_at(spec, ask, progress, estimated=estimate) for spec in specs]
    else:
        request = {
            "ask": ask,
            "specs": [spec.to_json() for spec in specs],
            "estimate": estimate,
            "secrets": secrets,
        }
        answers = _ask(request, progress)
    return [
        CheckedSpec(
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
    specs: Sequence[RunSpec], progress: ProgressCallback | None = None, secrets: Secrets = ()
) -> list[dict[str, Any]]:
    """Estimate runs in a child process; each as ``money.estimated.estimate_to_json`` gives it.

    Needs no key, and asks no provider but for a price that no table has.

    Raises:
        EvalbenchError: the child's error, as raised there.
    """
    found: list[dict[str, Any]] = _ask(
        {"ask": "estimate", "specs": [spec.to_json() for spec in specs], "secrets": secrets},
        progress,
    )
    return found


def prompts(
    spec: RunSpec, count: int, progress: ProgressCallback | None = None
) -> list[dict[str, Any]]:
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

    See :func:`evalbench.engine.preflight.probe.models_with_abilities`.

    Raises:
        EvalbenchError: the child's error.
    """
    secret = _whole(provider, secret, settings)
    request = {"ask": "models", "provider": provider, "secret": secret, "settings": settings or {}}
    listed: list[dict[str, Any]] = _ask(request, None)
    return listed


def fit_models(
    provider: str,
    names: Sequence[str],
    settings: Mapping[str, Any],
    asked: RunSpec | None = None,
    progress: ProgressCallback | None = None,
) -> list[dict[str, Any]]:
    """Whether models fit here; see :func:`evalbench.engine.preflight.fitting.fit_models`.

    Raises:
        EvalbenchError: the child's error.
    """
    request = {
        "ask": "fit",
        "provider": provider,
        "models": list(names),
        "settings": settings,
        "asked": asked.to_json() if asked else None,
    }
    found: list[dict[str, Any]] = _ask(request, progress)
    return found


def check_key(provider: str, secret: str, settings: Mapping[str, Any] | None = None) -> str:
    """Try a key by the provider's cheapest real call; a line on what it can see.

    Raises:
        ProviderError: the provider refuses it, or cannot be reached.
    """
    secret = _whole(provider, secret, settings)
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
        "secret": _whole(model.provider, secret, settings),
        "settings": settings,
        "params": params,
        "price": list(price),
    }
    told: dict[str, Any] = _ask(request, None)
    return told


def _whole(provider: str, secret: str, settings: Mapping[str, Any] | None) -> str:
    """A key with what the headers of its requests refer to; the child has no such variables."""
    if provider not in registry.provider_names():
        return secret
    return with_variables(provider, secret, texts_of(provider, settings or {}))


def _ask(request: dict[str, Any], progress: ProgressCallback | None) -> Any:
    # Libraries may print more than a pipe holds, hence a file. A session of its own,
    # so that a terminal that closes does not cut a download short.
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(
            [sys.executable, "-P", "-m", "evalbench.engine.preflight.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            # Keys come through the pipe. Data sets may need the hub's token.
            env=strip_environment(os.environ, keep=HUGGINGFACE.variables) | _hub_token(request),
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
    # The last line of a trace-back may hold what the process was given.
    why = scrub(words[-1], _secrets(request)) if words else "it said nothing"
    raise EvalbenchError("the helper process ended without an answer", why=why)


def _hub_token(request: Mapping[str, Any]) -> dict[str, str]:
    """The hub's token out of the keychain, for a set that ``--data`` or ``--dataset`` names there.

    The hub's client finds it only in its environment. One that is set there comes first.
    """
    if any(os.environ.get(variable) for variable in HUGGINGFACE.variables):
        return {}
    given = variables()
    for variable in HUGGINGFACE.variables:
        if token := given.get(variable):
            return {variable: token}
    specs = request.get("specs", ())
    named = any(
        hub_set(spec["common"].get("data")) or spec["options"].get("dataset") for spec in specs
    )
    if not named or DEFAULT_NAME not in known_names("huggingface"):
        return {}
    try:
        _, token = find_key("huggingface", HUGGINGFACE)
    except EvalbenchError:  # a public set needs none; of a private one the hub says so
        return {}
    return {HUGGINGFACE.variables[0]: token}


def _secrets(request: Mapping[str, Any]) -> list[str]:
    by_role = [secret for keys in request.get("secrets", ()) for secret in keys.values()]
    return [one for secret in (request.get("secret", ""), *by_role) for one in singly(secret)]


def _converse(
    child: subprocess.Popen[bytes], request: dict[str, Any], progress: ProgressCallback | None
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
