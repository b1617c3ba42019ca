"""Finds a provider's key: as named by the command, in the environment, or in the keychain."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from evalbench.engine.calls import KeyNeed
from evalbench.engine.calls.secrets import bundled, variables_in
from evalbench.engine.config.env_file import read_env_file
from evalbench.engine.errors import KeyUnavailable, SpecError, UsageError
from evalbench.engine.keys import keychain
from evalbench.engine.keys.inherited import variables
from evalbench.engine.keys.keychain import UNATTENDED_S, KeychainState
from evalbench.engine.keys.references import DEFAULT_NAME, KeyRef, KeySource
from evalbench.engine.keys.stored_keys import clean_key, known_names, user_name

_UNKNOWN = (KeychainState.LOCKED, KeychainState.TIMED_OUT, KeychainState.FAILED)
"""States that leave open whether the keychain holds a key."""


def find_key(
    provider: str,
    need: KeyNeed,
    name: str | None = None,
    timeout: float = UNATTENDED_S,
    env_file: Path | None = None,
    profile: str | None = None,
) -> tuple[KeyRef, str]:
    """A provider's key and its source.

    Looks first at what the command names (``name`` in the keychain, or ``env_file``), then in the
    environment, then at the keychain's key named ``default``. If a provider often runs without
    a key the keychain is queried only if a key was set there, so that local servers start at once.
    Credentials that the provider's SDK finds itself come last, unless a profile is named: they are
    never read here, so that the SDK can refresh them.

    Args:
        provider: the provider's name.
        need: the key that it needs.
        name: a key in the keychain; if given, nothing else is searched.
        timeout: time limit for the keychain in seconds, see :mod:`.keychain`.
        env_file: a ``.env`` file to read first.
        profile: the provider's option of this name.

    Returns:
        The reference and the key; a reference with source ``none`` (or ``profile``) and an
        empty key if none is needed and none was found.

    Raises:
        KeyUnavailable: a key is needed (or named) and was not found; ``state`` gives the
            keychain's answer.
        SpecError: both ``name`` and ``env_file`` are given.
        DataError: the file is not a readable ``.env`` file.
        UsageError: what was found cannot be a key.
    """
    if name and env_file:
        raise SpecError("key", "a key is named in the keychain or in a file, not both")
    if name:
        return _from_keychain(provider, need, name, timeout)
    if need.profile and profile:
        return KeyRef(provider, KeySource.PROFILE, profile), ""
    if env_file and (found := _from_file(provider, need, env_file)):
        return found
    for variable in need.variables:
        if secret := key_in(variables(), need, variable):
            where = f"the environment variable {variable}"
            return (
                KeyRef(provider, KeySource.ENVIRONMENT, variable=variable),
                clean_key(secret, where),
            )
    if need.required or DEFAULT_NAME in known_names(provider):
        return _from_keychain(provider, need, DEFAULT_NAME, timeout)
    if need.profile:
        named = os.environ.get(need.profile, "").strip()
        return KeyRef(provider, KeySource.PROFILE, named, need.profile if named else ""), ""
    return KeyRef(provider, KeySource.NONE), ""


def find_again(ref: KeyRef, need: KeyNeed, timeout: float = UNATTENDED_S) -> tuple[KeyRef, str]:
    """The key behind a stored reference, for resuming a run.

    Uses the same named key or the same file; a key that came from the environment is looked up in
    the usual order, so that it may have moved to the keychain.

    Raises:
        KeyUnavailable, DataError, UsageError: see :func:`find_key`.
    """
    named = ref.name if ref.source is KeySource.KEYCHAIN else None
    file = Path(ref.name) if ref.source is KeySource.FILE else None
    profile = ref.name if ref.source is KeySource.PROFILE else None
    return find_key(ref.provider, need, named, timeout, file, profile)


def _from_file(provider: str, need: KeyNeed, path: Path) -> tuple[KeyRef, str] | None:
    variables = read_env_file(path)
    for variable in need.variables:
        if secret := key_in(variables, need, variable):
            ref = KeyRef(provider, KeySource.FILE, str(path.absolute()), variable)
            return ref, clean_key(secret, f"{variable} in {path}")
    return None


def key_in(variables: Mapping[str, str], need: KeyNeed, variable: str) -> str:
    """The key in a variable and those with its other parts; empty if there is none.

    Args:
        variables: by name: the environment, or the content of a file.
        need: the key needed.
        variable: one of ``need.variables``.
    """
    parts = [variables.get(name, "").strip() for name in (variable, *need.parts.get(variable, ()))]
    return ":".join(parts).rstrip(":") if parts[0] else ""


def _from_keychain(provider: str, need: KeyNeed, name: str, timeout: float) -> tuple[KeyRef, str]:
    answer = keychain.fetch(user_name(provider, name), timeout)
    if answer.state is not KeychainState.FOUND:
        variable = need.variables[0] if need.variables else ""
        error = keychain.unavailable(answer, provider, name, variable)
        stored = name != DEFAULT_NAME or name in known_names(provider)
        if variable and not stored and answer.state in _UNKNOWN:
            # Most likely it is the key that is missing.
            error.why = f"{variable} is not set, and {error.what}" + f": {error.why}" * bool(
                error.why
            )
            error.what = f"there is no key for {provider}"
        raise error
    return KeyRef(provider, KeySource.KEYCHAIN, name), answer.secret


def with_variables(
    provider: str,
    secret: str,
    texts: Sequence[str],
    env_file: Path | None = None,
) -> str:
    """A key and the secrets that headers and query parameters refer to, as one secret.

    Each variable is looked up in the file, in the environment, and among the provider's keys in the
    keychain, where it is stored under its own name.

    Args:
        provider: the provider's name.
        secret: its key.
        texts: headers and parameters that contain ``${VARIABLE}``.
        env_file: a ``.env`` file to read first.

    Raises:
        KeyUnavailable: a variable was not found, or the keychain did not answer.
        DataError: the file is not a readable ``.env`` file.
    """
    names = variables_in(texts)
    if not names:
        return secret
    values = {**variables(), **(read_env_file(env_file) if env_file else {})}
    kept = known_names(provider)
    for name in names:
        if values.get(name, "").strip():
            continue
        if name not in kept:
            raise KeyUnavailable(
                f"a header of {provider} needs the variable {name}, which is not set",
                hint=f"keep it in the keychain: evalbench keys set {provider} --name {name}; or"
                f" export {name}=…, or name a file of variables with --env-file FILE",
            )
        values[name] = _from_keychain(provider, KeyNeed((name,)), name, UNATTENDED_S)[1]
    return bundled(secret, {name: clean_value(values[name], name) for name in names})


def clean_value(raw: str, name: str) -> str:
    """The value of a variable for a header, without surrounding whitespace and quotation marks.

    Raises:
        UsageError: it contains characters not allowed in a header.
    """
    value = raw.strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1]
    if not (value.isascii() and value.isprintable()):
        raise UsageError(f"the variable {name} holds what no header can")
    return value
