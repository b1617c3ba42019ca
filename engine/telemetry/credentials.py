"""Keys for traces destinations: found by the caller, passed to the engine, never stored."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from evalbench.engine.config.spec import RunSpec
from evalbench.engine.config.traces import GALILEO, OTLP
from evalbench.engine.errors import SpecError
from evalbench.engine.installed import install_command
from evalbench.engine.keys import (
    DEFAULT_NAME,
    GALILEO_KEY,
    OTLP_HEADERS,
    KeyRef,
    KeySource,
    find_key,
    known_names,
    read_env_file,
)
from evalbench.engine.keys.inherited import variables


def trace_keys(spec: RunSpec) -> dict[str, tuple[KeyRef, str]]:
    """The credentials for the destinations of a run's traces, by kind.

    Raises:
        SpecError: traces are requested, and the package that sends them is not installed.
        KeyUnavailable: Galileo's key was not found.
    """
    asked = {OTLP: spec.settings.traces.otlp, GALILEO: spec.settings.traces.enable_galileo}
    wanted = [kind for kind, given in asked.items() if given]
    if not wanted:
        return {}
    if not can_send():
        raise SpecError(
            "otlp",
            "traces need OpenTelemetry, which is not installed",
            hint=install_command("otlp"),
        )
    file = Path(spec.settings.env_file) if spec.settings.env_file else None
    found = {}
    for kind in wanted:
        if kind == OTLP:
            found[kind] = _headers(file)
        else:
            found[kind] = find_key(GALILEO, GALILEO_KEY, env_file=file)
    return found


def can_send() -> bool:
    """Whether the packages that send spans are installed; does not import them."""
    try:
        return find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        return False


def _headers(file: Path | None) -> tuple[KeyRef, str]:
    """Headers for a collector, as in OTEL_EXPORTER_OTLP_HEADERS; often there are none.

    That variable may contain spaces, unlike keys.
    """
    from_file = read_env_file(file) if file else {}
    for variable in OTLP_HEADERS.variables:
        if text := from_file.get(variable, "").strip():
            return KeyRef(OTLP, KeySource.FILE, str(file), variable), text
    for variable in OTLP_HEADERS.variables:
        if text := variables().get(variable, "").strip():
            return KeyRef(OTLP, KeySource.ENVIRONMENT, variable=variable), text
    if DEFAULT_NAME in known_names(OTLP):
        return find_key(OTLP, OTLP_HEADERS)
    return KeyRef(OTLP, KeySource.NONE), ""
