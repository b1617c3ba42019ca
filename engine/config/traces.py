"""Trace settings of a run, and the destinations they select."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

from evalbench.engine.calls.options import options_of, record_of, setting, values_of
from evalbench.engine.config.env_file import variables_of
from evalbench.engine.errors import SpecError

OTLP = "otlp"
GALILEO = "galileo"


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSettings:
    """Settings of every run that determine where its traces are sent."""

    otlp: str | None = setting(
        None, "send traces to this OpenTelemetry endpoint (OTLP over HTTP)", metavar="URL"
    )
    otlp_content: bool = setting(False, "include prompts and answers in traces")
    enable_galileo: bool = setting(False, "send traces to Galileo")
    galileo_project: str | None = setting(
        None, "Galileo project (default: GALILEO_PROJECT, or one per benchmark)", metavar="NAME"
    )
    galileo_log_stream: str | None = setting(
        None, "Galileo log stream (default: GALILEO_LOG_STREAM, or one per run)", metavar="NAME"
    )
    galileo_console_url: str | None = setting(
        None,
        "Galileo console (default: GALILEO_CONSOLE_URL, or https://app.galileo.ai)",
        metavar="URL",
    )
    galileo_api_url: str | None = setting(
        None, "Galileo API URL (default: GALILEO_API_URL, or the one of the console)"
    )


TRACE_OPTIONS = options_of(TraceSettings)
"""The trace settings as options."""

_GALILEO_VARIABLES = {
    "galileo_project": "GALILEO_PROJECT",
    "galileo_log_stream": "GALILEO_LOG_STREAM",
    "galileo_console_url": "GALILEO_CONSOLE_URL",
    "galileo_api_url": "GALILEO_API_URL",
}
_CLOUD_CONSOLE = "https://app.galileo.ai"
_CLOUD_API = "https://api.galileo.ai"


@dataclass(frozen=True, slots=True)
class Destination:
    """One destination for traces.

    Attributes:
        kind: :data:`OTLP` or :data:`GALILEO`.
        endpoint: the address to which spans are posted.
        content: whether prompts and answers are included.
        project, log_stream, console: Galileo's own settings.
    """

    kind: str
    endpoint: str
    content: bool = False
    project: str = ""
    log_stream: str = ""
    console: str = ""

    @property
    def name(self) -> str:
        """A name unique among destinations."""
        return " ".join(filter(None, (self.endpoint, self.project, self.log_stream)))

    def to_json(self) -> dict[str, Any]:
        """A JSON form of the fields."""
        return asdict(self)


def completed(given: TraceSettings, env_file: str | None) -> TraceSettings:
    """The trace settings of a run, with Galileo settings from elsewhere if it is enabled.

    The ``.env`` file takes precedence over the environment.

    Raises:
        SpecError: an invalid address, or one containing something that must not be stored.
    """
    filled = values_of(given)
    if given.enable_galileo:
        variables = variables_of(env_file)
        for name, variable in _GALILEO_VARIABLES.items():
            filled[name] = filled[name] or variables.get(variable, "").strip() or None
    for name in ("otlp", "galileo_console_url", "galileo_api_url"):
        if filled[name] is not None:
            _address(name, filled[name])
    return record_of(TraceSettings, filled)


def _address(name: str, given: str) -> SplitResult:
    flag = "--" + name.replace("_", "-")
    parts = None
    with suppress(ValueError):
        parts = urlsplit(given)
        if not (parts.scheme in ("http", "https") and parts.hostname and parts.port != 0):
            parts = None
    if parts is None:
        raise SpecError(
            name, f"{flag} takes an address", hint=f"for example {flag} http://localhost:4318"
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise SpecError(
            name,
            f"{flag} takes an address without a user, a password or a question mark",
            why="it is kept with the run, and shown",
            hint="keys go into OTEL_EXPORTER_OTLP_HEADERS, or: evalbench keys set otlp",
        )
    return parts


def destinations(settings: TraceSettings, benchmark: str, run: str) -> list[Destination]:
    """Where a run's traces are sent.

    Args:
        settings: the run's trace settings.
        benchmark: the benchmark's name.
        run: the run's id.
    """
    content = settings.otlp_content
    found = []
    if settings.otlp:
        found.append(Destination(OTLP, traces_address(settings.otlp), content))
    if settings.enable_galileo:
        console = (settings.galileo_console_url or _CLOUD_CONSOLE).rstrip("/")
        api = (settings.galileo_api_url or galileo_api(console)).rstrip("/")
        found.append(
            Destination(
                GALILEO,
                f"{api}/otel/traces",
                content,
                project=settings.galileo_project or f"evalbench-{benchmark}",
                log_stream=settings.galileo_log_stream or run,
                console=console,
            )
        )
    return found


def traces_address(address: str) -> str:
    """The address to post spans to: ``/v1/traces`` is appended unless it is already there.

    Source: OTLP specification, "Endpoint URLs for OTLP/HTTP".
    """
    address = address.rstrip("/")
    return address if address.endswith("/traces") else f"{address}/v1/traces"


def galileo_api(console: str) -> str:
    """The API address for a Galileo console.

    Source: Galileo's documentation on OpenTelemetry: ``console`` in the address becomes ``api``,
    and the cloud version has its own.
    """
    if urlsplit(console).hostname == "app.galileo.ai":
        return _CLOUD_API
    return console.replace("console", "api").rstrip("/")
