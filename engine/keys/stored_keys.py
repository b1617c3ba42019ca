"""Sets, lists and removes keys in the keychain.

Keychains cannot be listed portably, so a small file next to the user's settings records the names
(never a key): ``keys.json``, readable only by its owner.
"""

from __future__ import annotations

import json
import os
import re

from evalbench.engine.calls import KeyNeed
from evalbench.engine.calls.key_shapes import begins_like_key
from evalbench.engine.errors import SpecError, UsageError
from evalbench.engine.field_checks import list_of, table_of, text
from evalbench.engine.files import parse_json, read_plain
from evalbench.engine.keys import inherited, keychain
from evalbench.engine.keys.keychain import ATTENDED_S, KeychainState
from evalbench.engine.keys.log_scrubbing import provider_needs
from evalbench.engine.keys.references import DEFAULT_NAME, KeyRef, KeySource
from evalbench.engine.paths import config_dir, make_private, write_file

HUGGINGFACE = KeyNeed(
    ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"),
    page="https://huggingface.co/settings/tokens",
    pattern=r"hf_\w{20,}",
    required=False,
)
"""The Hugging Face Hub is not a provider, but private models and data need its token."""

GALILEO_KEY = KeyNeed(("GALILEO_API_KEY",), page="https://app.galileo.ai/settings/api-keys")
"""For traces, see :mod:`evalbench.engine.telemetry`."""

OTLP_HEADERS = KeyNeed(
    ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"), required=False
)
"""Headers for trace destinations, ``NAME=VALUE,…``, percent-encoded."""

NOT_PROVIDERS = {"galileo": GALILEO_KEY, "huggingface": HUGGINGFACE, "otlp": OTLP_HEADERS}
"""Keys stored like those of providers, by the name under which they are set."""

_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def key_needs() -> dict[str, KeyNeed]:
    """The keys that can be set, by the name under which they are set: of providers and others."""
    return {**provider_needs(), **NOT_PROVIDERS}


def is_variable(name: str) -> bool:
    """Whether a name is not a key's but a variable's that headers refer to: ``${GATEWAY_TOKEN}``.

    Variables are recognised by their names: capitals, with an underscore.
    """
    return _VARIABLE.fullmatch(name) is not None


def looks_like_key(text: str) -> bool:
    """Whether a text that should be something else is a key, which must not be repeated."""
    patterns = filter(None, (need.pattern for need in key_needs().values()))
    return begins_like_key(text) or any(re.fullmatch(pattern, text) for pattern in patterns)


def not_here() -> UsageError:
    """The error for a key given on the command line; its text does not quote the key."""
    return UsageError(
        "a key does not belong on the command line",
        why="command lines are visible to all users of this machine, and shells save them",
        hint="replace that key by a new one where you got it, then: evalbench keys set PROVIDER"
        " (it asks, or reads a pipe)",
    )


def user_name(provider: str, name: str) -> str:
    """The user name of a key in the keychain, under the service ``evalbench``.

    Raises:
        UsageError: the name looks like a key.
        SpecError: the name is ambiguous.
    """
    if looks_like_key(name):
        raise not_here()
    if not _NAME.fullmatch(name):
        raise SpecError(
            "name",
            "a key cannot be named like that",
            why="names are letters, digits, dots, dashes and underscores",
        )
    return f"{provider}/{name}"


def clean_key(raw: str, where: str = "what was typed") -> str:
    """A key without the whitespace and quotation marks left around it by pasting.

    Raises:
        UsageError: it is empty, or contains invalid characters. The text does not quote it.
    """
    secret = raw.strip()
    if len(secret) > 1 and secret[0] == secret[-1] and secret[0] in "'\"`":
        secret = secret[1:-1].strip()
    if not secret:
        raise UsageError(f"{where} is empty")
    if not (secret.isascii() and secret.isprintable()) or " " in secret:
        raise UsageError(
            f"{where} cannot be a key",
            why="it has spaces, line breaks or letters that no key has inside it",
            hint="copy the key again, alone",
        )
    return secret


def implausible(need: KeyNeed, secret: str) -> str:
    """A warning if a key does not look like this provider's keys; otherwise empty."""
    if not need.pattern or re.fullmatch(need.pattern, secret):
        return ""
    return "this does not look like such a key" + (
        f"; keys are made at {need.page}" * bool(need.page)
    )


def set_key(
    provider: str, secret: str, name: str = DEFAULT_NAME, timeout: float = ATTENDED_S
) -> KeyRef:
    """Store a key in the keychain, replacing an older one of the same name.

    Raises:
        UsageError: it cannot be a key.
        SpecError: the name is not valid.
        KeyUnavailable: the keychain did not accept it.
    """
    user = user_name(provider, name)
    answer = keychain.store(user, clean_key(secret), timeout)
    if answer.state is not KeychainState.FOUND:
        raise keychain.unavailable(answer, provider, name, _first_variable(provider))
    names = _read_names()
    names[provider] = sorted({*names.get(provider, ()), name})
    _write_names(names)
    return KeyRef(provider, KeySource.KEYCHAIN, name)


def remove_key(provider: str, name: str = DEFAULT_NAME, timeout: float = ATTENDED_S) -> bool:
    """Remove a key from the keychain and from the list. False if it was not there.

    Raises:
        KeyUnavailable: the keychain did not respond; the key stays listed.
    """
    answer = keychain.forget(user_name(provider, name), timeout)
    if answer.state not in (KeychainState.FOUND, KeychainState.ABSENT):
        raise keychain.unavailable(answer, provider, name, _first_variable(provider))
    names = _read_names()
    left = [other for other in names.pop(provider, []) if other != name]
    _write_names({**names, provider: left} if left else names)
    return answer.state is KeychainState.FOUND


def list_keys() -> list[KeyRef]:
    """The sources of keys, by provider: set variables first, then names in the keychain.

    Does not query the keychain, so it never blocks; a listed key may have been removed by other
    means.
    """
    needs, names, environment = key_needs(), _read_names(), inherited.variables()
    found = []
    for provider in sorted({*needs, *names}):
        variables = needs[provider].variables if provider in needs else ()
        found += [
            KeyRef(provider, KeySource.ENVIRONMENT, variable=variable)
            for variable in variables
            if environment.get(variable, "").strip()
        ]
        profile = needs[provider].profile if provider in needs else ""
        if profile and (named := os.environ.get(profile, "").strip()):
            found.append(KeyRef(provider, KeySource.PROFILE, named, profile))
        found += [KeyRef(provider, KeySource.KEYCHAIN, name) for name in names.get(provider, ())]
    return found


def known_names(provider: str) -> list[str]:
    """Names of this provider's keys that were set in the keychain."""
    return _read_names().get(provider, [])


def _first_variable(provider: str) -> str:
    need = key_needs().get(provider)
    return need.variables[0] if need and need.variables else ""


def _read_names() -> dict[str, list[str]]:
    try:
        names: dict[str, list[str]] = parse_json(read_plain(config_dir() / "keys.json"))
        _NAMES(names)
    except (OSError, ValueError):
        return {}
    return names


_NAMES = table_of(list_of(text))


def _write_names(names: dict[str, list[str]]) -> None:
    path = config_dir() / "keys.json"
    make_private(path.parent)
    write_file(path, json.dumps(names, indent=1, sort_keys=True).encode())
