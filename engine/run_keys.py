"""The keys that runs need, looked for where they lie. Found, handed on, never stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from evalbench.engine import registry
from evalbench.engine.calls import KeyNeed
from evalbench.engine.errors import EvalbenchError
from evalbench.engine.keys import HUGGINGFACE, KeyRef, find_key, looks_like_key, not_here
from evalbench.engine.roles import RoleSpec
from evalbench.engine.settings import RunSpec
from evalbench.engine.traces.credentials import trace_keys


class HeldKey(NamedTuple):
    """A key on its way to an engine: where it lay, and the key itself. Never stored."""

    ref: KeyRef
    secret: str


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


def price_keys(specs: Sequence[RunSpec]) -> list[dict[str, str]]:
    """Keys by role for each spec, of providers that tell prices themselves, where there are any."""
    return [
        {
            role: secret
            for role, part in spec.cast().items()
            if _tells_prices(part.ref.provider)
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
