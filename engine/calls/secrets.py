"""Secrets besides the key: variables that headers and query parameters refer to.

A header or query parameter is stored with the run and therefore contains no secret, only the
name of a variable, ``Bearer ${GATEWAY_TOKEN}``. The values travel with the key in one string
that only the provider takes apart.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from evalbench.engine.calls.key_shapes import MAYBE_KEYS
from evalbench.engine.errors import SpecError

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SENSITIVE = re.compile(r"auth|api-?key|token|secret|passw|cookie|credential", re.IGNORECASE)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_QUERY_NAME = re.compile(r"[\w.\-\[\]]+")
SHORTEST = 8
"""A shorter secret is a placeholder for a server without keys; replacing it would garble texts."""
_AFTER = "\n"
"""No key contains a line break."""


def variables_in(texts: Iterable[str]) -> list[str]:
    """The names of the variables that texts refer to, without duplicates."""
    return list(dict.fromkeys(name for text in texts for name in _VARIABLE.findall(text)))


def filled(text: str, values: Mapping[str, str]) -> str:
    """A text with its variables filled in; one without a value becomes empty."""
    return _VARIABLE.sub(lambda found: values.get(found[1], ""), text)


def bundled(key: str, values: Mapping[str, str]) -> str:
    """A key and the values of variables as one secret string."""
    return key + _AFTER + json.dumps(dict(values)) if values else key


def unbundled(secret: str) -> tuple[str, dict[str, str]]:
    """The key and the values of :func:`bundled`."""
    key, _, rest = secret.partition(_AFTER)
    return key.strip(), json.loads(rest) if rest.strip() else {}


def key_of(secret: str) -> str:
    """The key of :func:`bundled` alone."""
    return unbundled(secret)[0]


def singly(secret: str) -> list[str]:
    """The key and the values of :func:`bundled` separately, for redaction."""
    key, found = unbundled(secret)
    return [key, *found.values()]


def header(given: str, option: str = "header") -> tuple[str, str]:
    """A header as entered, ``Name: value``; the value may contain ``${VARIABLE}``.

    Raises:
        SpecError: it is not a header, or contains a secret itself.
    """
    name, sign, value = given.partition(":")
    name, value = name.strip(), value.strip()
    if not sign or not _HEADER_NAME.fullmatch(name) or not value.isprintable():
        raise SpecError(
            option,
            "--header is not a header",
            why="it is written NAME: VALUE",
            hint="for example --header 'X-Team: evals'",
        )
    return name, _without_secret(name, value, option)


def query(given: str, option: str = "query") -> tuple[str, str]:
    """A query parameter as entered, ``name=value``; the value may contain ``${VARIABLE}``.

    Raises:
        SpecError: it is not a query parameter, or contains a secret itself.
    """
    name, sign, value = given.partition("=")
    name, value = name.strip(), value.strip()
    if not sign or not _QUERY_NAME.fullmatch(name) or not value.isprintable():
        raise SpecError(
            option,
            "--query is not a query parameter",
            why="it is written NAME=VALUE",
            hint="for example --query api-version=2024-10-21",
        )
    return name, _without_secret(name, value, option)


def _without_secret(name: str, value: str, option: str) -> str:
    bare = _VARIABLE.sub("", value)
    bare = re.sub(r"(?i)^(?:bearer|basic|token|api-key)\b", "", bare.strip()).strip()
    if bare and (_SENSITIVE.search(name) or MAYBE_KEYS.search(bare)):
        shown = re.sub(r"\W+", "_", name).upper()
        raise SpecError(
            option,
            f"the value of {name} looks like a secret",
            why="settings are kept with the run, and secrets must not be",
            hint=f"put it into a variable and name that: '{name}: ${{{shown}}}'",
        )
    return value
