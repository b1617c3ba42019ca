"""The keys that runs need, looked for where they lie. Found, handed on, never stored."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from evalbench.engine import registry
from evalbench.engine.calls import KeyNeed
from evalbench.engine.errors import EvalbenchError
from evalbench.engine.keys import HUGGINGFACE, KeyRef, find_key, looks_like_key, not_here
from evalbench.engine.roles import CANDIDATE, JUDGE, RoleSpec
from evalbench.engine.settings import RunSpec
from evalbench.engine.traces.credentials import trace_keys
from evalbench.engine.traces.options import GALILEO, OTLP


class HeldKey(NamedTuple):
    """A key on its way to an engine: where it lay, and the key itself. Never stored."""

    ref: KeyRef
    secret: str


_TRACE_ADDRESSES = {OTLP: "otlp", GALILEO: "galileo_console_url"}
"""Settings that name who takes traces, and with them a key."""


class Bound(NamedTuple):
    """A key, by its owner (a provider, or who takes traces), and a host that it would go to."""

    owner: str
    host: str


def find_keys(specs: Sequence[RunSpec]) -> list[dict[str, HeldKey]]:
    """The keys of every spec by role, looked for anew: environment, keychain, or as it says.

    Raises:
        KeyUnavailable: one is needed and not there; nothing was started.
    """
    return [
        {role: _find_key(part, spec.get("env_file")) for role, part in spec.cast().items()}
        | {kind: HeldKey(*found) for kind, found in trace_keys(spec).items()}
        for spec in specs
    ]


def keys_bound(specs: Sequence[RunSpec], typed: Collection[str] = ()) -> list[Bound]:
    """Keys that would go to other machines than the provider's own, as the specs say.

    Args:
        specs: of a file, which somebody else may have written.
        typed: common settings that did not come from it.
    """
    found = [
        Bound(part.ref.provider, host)
        for spec in specs
        for role, part in spec.cast().items()
        if (role == CANDIDATE or JUDGE not in typed)
        and (host := _elsewhere(part.provider_options.get("base_url")))
        and _sends_key(part, spec.get("env_file"))
    ]
    found += [
        Bound(owner, host)
        for spec in specs
        for owner, name in _TRACE_ADDRESSES.items()
        if name not in typed
        and (host := _elsewhere(spec.get(name)))
        and spec.get(name) != os.environ.get(name.upper())
        and _sends_trace_key(spec, owner)
    ]
    return list(dict.fromkeys(found))


def _elsewhere(address: str | None) -> str:
    """The host of an address; empty for this machine, and for what is no address."""
    try:
        host = urlsplit((address or "").strip()).hostname or ""
    except ValueError:
        return ""
    try:
        here = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        here = False
    return "" if here else host


def _sends_key(part: RoleSpec, env_file: str | None) -> bool:
    need = part.key_need
    if need is None:
        return False
    # With a profile the SDK finds credentials itself.
    return need.required or bool(need.profile) or bool(_key_at_hand(part, need, env_file))


def _sends_trace_key(spec: RunSpec, owner: str) -> bool:
    try:
        return bool(trace_keys(spec).get(owner, (None, ""))[1])
    except EvalbenchError:
        # Then nothing is sent either: a run says why.
        return False


def price_keys(specs: Sequence[RunSpec], withheld: Collection[Bound] = ()) -> list[dict[str, str]]:
    """Keys by role for each spec, of providers that tell prices themselves, where there are any.

    Args:
        specs: of the runs.
        withheld: what may not be sent.
    """
    return [
        {
            role: secret
            for role, part in spec.cast().items()
            if _tells_prices(part.ref.provider)
            and (part.ref.provider, _elsewhere(part.provider_options.get("base_url")))
            not in withheld
            and (need := part.key_need)
            and (secret := _key_at_hand(part, need, spec.get("env_file")))
        }
        for spec in specs
    ]


def _key_at_hand(part: RoleSpec, need: KeyNeed, env_file: str | None) -> str:
    file = Path(env_file) if env_file else None
    try:
        # Not required: the keychain is asked only for keys that were set.
        need = replace(need, required=False)
        return find_key(part.ref.provider, need, part.get("key"), env_file=file)[1]
    except EvalbenchError:
        return ""


def secrets_for_prices(held: Sequence[Mapping[str, HeldKey]]) -> list[dict[str, str]]:
    """Of the keys of runs those that a price may be asked for with; nobody else needs them."""
    return [
        {role: key.secret for role, key in keys.items() if _tells_prices(key.ref.provider)}
        for keys in held
    ]


def _tells_prices(provider: str) -> bool:
    known = provider in registry.provider_names()
    return known and bool(getattr(registry.provider_class(provider), "tells_prices", False))


def _find_key(part: RoleSpec, env_file: str | None) -> HeldKey:
    provider, need = part.ref.provider, part.key_need
    if need is None:
        # A model on this machine may lie behind a hub token.
        provider, need = "huggingface", HUGGINGFACE
    named = part.get("key")
    if named and looks_like_key(named):
        raise not_here()
    named = named if provider != "huggingface" else None
    file = Path(env_file) if env_file else None
    profile = part.provider_options.get("profile")
    return HeldKey(*find_key(provider, need, named, env_file=file, profile=profile))
