"""Keeps keys out of texts and out of the environment of child processes."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING
from urllib.parse import unquote

from evalbench.engine.calls import KeyNeed
from evalbench.engine.calls.secrets import SHORTEST, variables_in
from evalbench.engine.config import registry
from evalbench.engine.errors import SpecError

if TYPE_CHECKING:
    from evalbench.engine.calls.scrubbing import Scrubber

_OTHER_SECRETS = frozenset(
    {
        # Not providers: traces, and the Hugging Face Hub.
        "GALILEO_API_KEY",
        "HF_TOKEN",
        "HUGGING_FACE_HUB_TOKEN",
        "OTEL_EXPORTER_OTLP_HEADERS",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    }
)


def scrub(text: str, secrets: Iterable[str]) -> str:
    """``text`` with every secret replaced by ``[key]``, in any spelling.

    Secrets shorter than :data:`SHORTEST` are kept. If a key has several parts, joined by colons,
    each part is replaced too.
    """
    hidden = frozenset(secret for secret in secrets if len(secret) >= SHORTEST)
    return _scrubber(hidden).text(text) if hidden else text


@lru_cache(8)
def _scrubber(secrets: frozenset[str]) -> Scrubber:
    # Its patterns take milliseconds to compile.
    from evalbench.engine.calls.scrubbing import Scrubber

    return Scrubber(*secrets, mark="[key]")


def header_secrets(text: str) -> list[str]:
    """The secrets in headers in the format of OTEL_EXPORTER_OTLP_HEADERS; a plain key as it is.

    A value may be percent-encoded and start with the name of a scheme.
    """
    values = [part.partition("=")[2] for part in text.split(",")]
    words = [word for value in values for word in unquote(value).split()]
    return [text, *values, *words]


class ScrubbedFormatter(logging.Formatter):
    """A log formatter that scrubs every line, including tracebacks.

    Attributes:
        secrets: what to remove; keys are added when they are found.
    """

    def __init__(self, fmt: str) -> None:
        super().__init__(fmt)
        self.secrets: set[str] = set()

    def format(self, record: logging.LogRecord) -> str:
        """The scrubbed line."""
        return scrub(super().format(record), self.secrets)


@cache
def provider_variables() -> frozenset[str]:
    """Every environment variable known to hold a key of some provider."""
    needs = provider_needs().values()
    parts = {name for need in needs for names in need.parts.values() for name in names}
    named = {name for need in needs for name in (*need.variables, *need.withheld)}
    return _OTHER_SECRETS | parts | named | _of_headers()


def _of_headers() -> set[str]:
    """Variables that the headers of user-defined servers refer to."""
    found: set[str] = set()
    for name in registry.provider_names():
        try:
            cls = registry.provider_class(name)
        except SpecError:
            continue
        found.update(variables_in([*cls.own_headers.values(), *cls.own_query.values()]))
    return found


def provider_needs() -> dict[str, KeyNeed]:
    """The keys that the installed providers need, by provider name."""
    needs = {}
    for name in registry.provider_names():
        try:
            need = registry.provider_class(name).key
        except SpecError:
            continue  # a plug-in that cannot be imported cannot use a key either
        if need is not None:
            needs[name] = need
    return needs


def strip_environment(env: Mapping[str, str], keep: Collection[str] = ()) -> dict[str, str]:
    """A copy of an environment without keys, for a child process that needs none.

    Args:
        env: usually ``os.environ``.
        keep: variables that the process does need, for example ``HF_TOKEN`` for a worker that
            downloads a model.
    """
    hidden = provider_variables() - set(keep)
    return {name: value for name, value in env.items() if name not in hidden}
