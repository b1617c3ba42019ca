"""The preflight: a short-lived child process that answers questions before a run.

Apart from the engine, only it loads providers and data sets, so the command line and the screen
stay light and are never blocked by an import. :mod:`.requests` defines
what can be asked.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, Literal

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
from evalbench.engine.keys.inherited import variables
from evalbench.engine.preflight.checked import CheckedSpec as CheckedSpec
from evalbench.engine.preflight.requests import (
    FitRequest,
    ProbeRequest,
    PromptsRequest,
    ProviderRequest,
    Request,
    Secrets,
    SpecsRequest,
)


def check(
    specs: Sequence[RunSpec],
    progress: ProgressCallback | None = None,
    *,
    estimate: bool = False,
    secrets: Secrets = (),
) -> list[CheckedSpec]:
    """Validate specs against their providers and prepare their data.

    In a child process, unless everything is already available.

    Args:
        specs: the specs to check.
        progress: called with the progress of preparation.
        estimate: whether to estimate the runs that cost something.
        secrets: keys for looking up prices that no table has.

    Raises:
        EvalbenchError: the child's error, as raised there.
    """
    return _checked("check", specs, progress, estimate=estimate, secrets=secrets)


def prepare_data(spec: RunSpec, progress: ProgressCallback | None = None) -> CheckedSpec:
    """Prepare the data of a spec, regardless of its model, in a child process.

    Raises:
        EvalbenchError: the child's error, as raised there.
    """
    return _checked("prepare", [spec], progress)[0]


def _checked(
    ask: Literal["check", "prepare"],
    specs: Sequence[RunSpec],
    progress: ProgressCallback | None,
    *,
    estimate: bool = False,
    secrets: Secrets = (),
) -> list[CheckedSpec]:
    from evalbench.engine.preflight.child import look_at, nothing_heavy

    if all(nothing_heavy(spec) for spec in specs):
        # Starting a child would only cost time.
        return [look_at(spec, ask, progress, estimated=estimate) for spec in specs]
    request: SpecsRequest = {
        "ask": ask,
        "specs": [spec.to_json() for spec in specs],
        "estimate": estimate,
        "secrets": secrets,
    }
    return [CheckedSpec.from_json(item) for item in _ask(request, progress)]


def estimates(
    specs: Sequence[RunSpec], progress: ProgressCallback | None = None, secrets: Secrets = ()
) -> list[dict[str, Any]]:
    """Estimate runs in a child process; each in the form of ``cost.estimated.estimate_to_json``.

    Needs no key, and contacts a provider only for a price that no table has.

    Raises:
        EvalbenchError: the child's error, as raised there.
    """
    request: SpecsRequest = {
        "ask": "estimate",
        "specs": [spec.to_json() for spec in specs],
        "estimate": True,
        "secrets": secrets,
    }
    found: list[dict[str, Any]] = _ask(request, progress)
    return found


def rendered_prompts(
    spec: RunSpec, count: int, progress: ProgressCallback | None = None
) -> list[dict[str, Any]]:
    """The prompts of the first samples of a run; see :func:`.prompts.render`.

    In a child process. Needs no key, contacts no provider, and works even if the models of the
    spec could not answer.

    Raises:
        EvalbenchError: the child's error, as raised there.
    """
    request: PromptsRequest = {"ask": "prompts", "spec": spec.to_json(), "count": count}
    rendered: list[dict[str, Any]] = _ask(request, progress)
    return rendered


def models(
    provider: str, secret: str = "", settings: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """A provider's models: ``ModelInfo`` and capabilities as dictionaries.

    See :func:`evalbench.engine.preflight.probe.models_with_abilities`.

    Raises:
        EvalbenchError: the child's error.
    """
    secret = _whole(provider, secret, settings)
    request: ProviderRequest = {
        "ask": "models",
        "provider": provider,
        "secret": secret,
        "settings": settings or {},
    }
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
    request: FitRequest = {
        "ask": "fit",
        "provider": provider,
        "models": list(names),
        "settings": settings,
        "asked": asked.to_json() if asked else None,
    }
    found: list[dict[str, Any]] = _ask(request, progress)
    return found


def check_key(provider: str, secret: str, settings: Mapping[str, Any] | None = None) -> str:
    """Test a key with the provider's cheapest real call; returns one line on what it can access.

    Raises:
        ProviderError: the provider refuses it, or cannot be reached.
    """
    secret = _whole(provider, secret, settings)
    request: ProviderRequest = {
        "ask": "key",
        "provider": provider,
        "secret": secret,
        "settings": settings or {},
    }
    answer: str = _ask(request, None)
    return answer


def probe_model(
    model: ModelRef,
    secret: str,
    settings: Mapping[str, Any],
    params: Mapping[str, Any],
    price: Sequence[str] = (),
) -> dict[str, Any]:
    """Ask a model one short question in a child process; see :func:`.probe.probe`.

    Raises:
        SpecError: the model would have to be loaded first.
        ProviderError: it did not answer.
    """
    request: ProbeRequest = {
        "ask": "probe",
        "provider": model.provider,
        "model": str(model),
        "secret": _whole(model.provider, secret, settings),
        "settings": settings,
        "params": params,
        "price": list(price),
    }
    answer: dict[str, Any] = _ask(request, None)
    return answer


def _whole(provider: str, secret: str, settings: Mapping[str, Any] | None) -> str:
    """A key with the variables used in its request headers; the child does not have them."""
    if provider not in registry.provider_names():
        return secret
    return with_variables(provider, secret, texts_of(provider, settings or {}))


def _ask(request: Request, progress: ProgressCallback | None) -> Any:
    # A file, because libraries may print more than a pipe holds. A session of its own, so that
    # closing the terminal does not interrupt a download.
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            [sys.executable, "-P", "-m", "evalbench.engine.preflight.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            # Keys are sent through the pipe. Data sets may need the Hugging Face token.
            env=strip_environment(os.environ, keep=HUGGINGFACE.variables) | _hub_token(request),
            start_new_session=True,
        ) as child,
    ):
        try:
            return _converse(child, request, progress)
        except EOFError:
            errors.seek(0)
            words = errors.read().decode("utf-8", "replace").strip().splitlines()
        except BaseException:
            child.kill()
            raise
    # The last line of a traceback may contain what the process was given.
    why = scrub(words[-1], _secrets(request)) if words else "it said nothing"
    raise EvalbenchError("the helper process ended without an answer", why=why)


def _hub_token(request: Request) -> dict[str, str]:
    """The Hugging Face token from the keychain, if ``--data`` or ``--dataset`` needs the Hub.

    The Hub's client reads it only from its environment. One set there takes precedence.
    """
    if any(os.environ.get(variable) for variable in HUGGINGFACE.variables):
        return {}
    given = variables()
    for variable in HUGGINGFACE.variables:
        if token := given.get(variable):
            return {variable: token}
    match request["ask"]:
        case "prompts":
            specs = [request["spec"]]
        case "check" | "prepare" | "estimate":
            specs = request["specs"]
        case _:
            specs = []
    named = any(
        hub_set(spec["common"].get("data")) or spec["options"].get("dataset") for spec in specs
    )
    if not named or DEFAULT_NAME not in known_names("huggingface"):
        return {}
    try:
        _, token = find_key("huggingface", HUGGINGFACE)
    except EvalbenchError:  # public sets need none; for a private one the Hub reports the error
        return {}
    return {HUGGINGFACE.variables[0]: token}


def _secrets(request: Request) -> list[str]:
    match request["ask"]:
        case "check" | "prepare" | "estimate":
            secrets = [secret for keys in request["secrets"] for secret in keys.values()]
        case "models" | "key" | "probe":
            secrets = [request["secret"]]
        case _:
            secrets = []
    return [one for secret in secrets for one in singly(secret)]


def _converse(
    child: subprocess.Popen[bytes], request: Request, progress: ProgressCallback | None
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
