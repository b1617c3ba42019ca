"""Looks up the keys that runs need. They are found and passed on, never stored."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from evalbench.engine.calls.secrets import singly
from evalbench.engine.config import registry
from evalbench.engine.config.roles import (
    CANDIDATE,
    JUDGE,
    RoleSpec,
    environment_address,
    make_provider,
    texts_of,
)
from evalbench.engine.config.spec import RunSpec
from evalbench.engine.config.traces import GALILEO, OTLP
from evalbench.engine.errors import EvalbenchError, SpecError
from evalbench.engine.keys import (
    HUGGINGFACE,
    KeyRef,
    find_key,
    fingerprint,
    looks_like_key,
    not_here,
    with_variables,
)
from evalbench.engine.keys.known_hosts import hosts_of, remember_hosts
from evalbench.engine.telemetry.credentials import trace_keys


class ResolvedKey(NamedTuple):
    """A key on its way to an engine: its source, and the key itself. Never stored."""

    ref: KeyRef
    secret: str


_TRACE_ADDRESSES = (
    ("otlp", OTLP),
    ("galileo_console_url", GALILEO),
    ("galileo_api_url", GALILEO),
)
"""Settings that name a traces destination and with it a key."""

_GALILEO_CLOUD = ("app.galileo.ai", "api.galileo.ai")
CLUSTER = "cluster"
"""The key owner for a run that joins a cluster, whose nodes run its code."""


class KeyDestination(NamedTuple):
    """A key, by its owner (a provider or traces destination), and the host it would be sent to."""

    owner: str
    host: str


AskHosts = Callable[[Sequence[KeyDestination]], bool]
"""Asks the user whether keys may be sent to hosts where none has been used."""


def find_keys(specs: Sequence[RunSpec]) -> list[dict[str, ResolvedKey]]:
    """Look up the keys of every spec by role, in the environment, keychain, or as specified.

    Raises:
        UsageError: packages that a provider needs are not installed; no key helps then.
        KeyUnavailable: a required key was not found; nothing was started.
    """
    return [
        {role: _find_key(part, spec.settings.env_file) for role, part in spec.roles().items()}
        | {kind: ResolvedKey(*found) for kind, found in trace_keys(spec).items()}
        for spec in specs
    ]


def keys_bound(specs: Sequence[RunSpec], typed: Collection[str] = ()) -> list[KeyDestination]:
    """Keys that these specs would send to machines other than the provider's own.

    Args:
        specs: from a file or a run's folder, which someone else may have written.
        typed: names of settings that do not come from there.
    """
    return list(dict.fromkeys(way.bound for way in _ways(specs, typed)))


def unknown_hosts(
    specs: Sequence[RunSpec], typed: Collection[str] = (), *, environment: bool = False
) -> list[KeyDestination]:
    """The part of :func:`keys_bound` where the key has never been used; same arguments.

    ``environment``: consider only hosts named by the environment.
    """
    ways = _ways(specs, typed, environment=environment)
    return list(dict.fromkeys(way.bound for way in ways if not way.known))


def check_hosts(
    specs: Sequence[RunSpec],
    who: str,
    *,
    all_keys: Sequence[Mapping[str, ResolvedKey]] = (),
    typed: Collection[str] = (),
    allow: Collection[str] = (),
    ask: AskHosts | None = None,
    environment: bool = False,
) -> None:
    """Let no key be sent to a new host unless the user allows it.

    What is allowed is remembered for the next time.

    Args:
        specs: from a file or a run's folder, which someone else may have written.
        who: what names the hosts, for the error message.
        all_keys: the keys of the specs, if they have already been found.
        typed: names of settings that do not come from there.
        allow: allowed hosts.
        ask: asks the user; None if unattended.
        environment: check only addresses named by the environment.

    Raises:
        SpecError: with the hosts, and the flag that allows them.
    """
    ways = list(_ways(specs, typed, all_keys, environment=environment))
    allowed = {host.strip().lower() for host in allow}
    unknown = [way.bound for way in ways if not way.known and way.bound.host not in allowed]
    unknown = list(dict.fromkeys(unknown))
    if unknown and not (ask and ask(unknown)):
        hosts = dict.fromkeys(bound.host for bound in unknown)
        raise SpecError(
            "base_url",
            f"{who} would send {bound_words(unknown)}",
            why="this host has not been approved for the key",
            hint=" ".join(f"--allow-host {host}" for host in hosts)
            + (", or --base-url with the address" if environment else ""),
        )
    _remember(ways)


def remember_specs(specs: Sequence[RunSpec], all_keys: Sequence[Mapping[str, ResolvedKey]]) -> None:
    """Remember where the keys of runs started by the user are sent."""
    _remember(_ways(specs, (), all_keys))


def remember_place(
    provider: str,
    settings: Mapping[str, Any],
    secret: str,
    *,
    typed: bool = True,
    ask: AskHosts | None = None,
) -> None:
    """Remember that a key is used at an address, ``typed`` or taken from the environment.

    Raises:
        SpecError: the environment names a host where the key has never been used, and ``ask``
            did not allow it.
    """
    address = settings.get("base_url")
    host = _elsewhere(address, provider)
    if not host:
        return
    marks = _marks(provider, secret, settings.get("profile"))
    way = _Way(KeyDestination(provider, host), marks, _place(address, host))
    if not typed and secret and not way.known:
        found = environment_address(provider)
        if not (ask and ask([way.bound])):
            raise SpecError(
                "base_url",
                f"{found[0] if found else 'the environment'} would send {bound_words([way.bound])}",
                why="this address has not been confirmed",
                hint=f"if it is: --base-url {address}",
            )
    _remember([way])


def bound_words(bound: Sequence[KeyDestination]) -> str:
    """Keys and their hosts as part of a sentence."""
    return ", ".join(
        f"its calls to the cluster at {one.host}"
        if one.owner == CLUSTER
        else f"the key of {one.owner} to {one.host}"
        for one in bound
    )


class _Way(NamedTuple):
    """Where one key is sent on another machine: the place as remembered, and fingerprints.

    Secrets that headers refer to are sent with the key, each with its own fingerprint.
    """

    bound: KeyDestination
    marks: tuple[str, ...]
    place: str

    @property
    def known(self) -> bool:
        return all(self.place in hosts_of(mark) for mark in self.marks)


def _remember(ways: Iterable[_Way]) -> None:
    remember_hosts((mark, way.place) for way in ways for mark in way.marks)


def _ways(
    specs: Sequence[RunSpec],
    typed: Collection[str],
    all_keys: Sequence[Mapping[str, ResolvedKey]] = (),
    *,
    environment: bool = False,
) -> Iterator[_Way]:
    for number, spec in enumerate(specs):
        keys = all_keys[number] if all_keys else {}
        yield from _ways_of_models(spec, typed, keys, environment=environment)
        if not environment:
            yield from _ways_of_traces(spec, typed)


def _ways_of_models(
    spec: RunSpec, typed: Collection[str], keys: Mapping[str, ResolvedKey], *, environment: bool
) -> Iterator[_Way]:
    for role, part in spec.roles().items():
        if environment and not _led(part, typed):
            continue
        if part.clustered and (way := _way_to_cluster(spec, typed)):
            yield way
        if not environment and (JUDGE if role != CANDIDATE else "base_url") in typed:
            continue
        provider, address = part.ref.provider, part.provider_options.get("base_url")
        if not (host := _elsewhere(address, provider)):
            continue
        key = keys[role].secret if role in keys else _key_at_hand(part, spec.settings.env_file)
        need = part.key_need
        # With a profile the SDK finds credentials itself.
        if key or (need and (need.required or need.profile)):
            marks = _marks(provider, key, part.provider_options.get("profile"))
            yield _Way(KeyDestination(provider, host), marks, _place(address, host))


def _led(part: RoleSpec, typed: Collection[str]) -> bool:
    """Whether the environment determines where a model is called."""
    if part.role == CANDIDATE and "base_url" in typed:
        return False
    found = environment_address(part.ref.provider)
    return found is not None and part.provider_options.get("base_url") == found[1]


def environment_words(specs: Sequence[RunSpec], typed: Collection[str] = ()) -> list[str]:
    """Where models are called because of the environment, one line each."""
    parts = [part for spec in specs for part in spec.roles().values() if _led(part, typed)]
    return list(
        dict.fromkeys(
            f"{part.ref.provider} is asked at {part.provider_options['base_url']}"
            f" ({_variable(part)})"
            for part in parts
        )
    )


def environment_variables(specs: Sequence[RunSpec], typed: Collection[str] = ()) -> str:
    """The variables that change the address of these specs' models, listed for an error."""
    parts = [part for spec in specs for part in spec.roles().values() if _led(part, typed)]
    return ", ".join(dict.fromkeys(map(_variable, parts)))


def _variable(part: RoleSpec) -> str:
    found = environment_address(part.ref.provider)
    return found[0] if found else ""


def _way_to_cluster(spec: RunSpec, typed: Collection[str]) -> _Way | None:
    """A cluster's nodes get the Hugging Face token, and can run code in processes that join."""
    address = spec.settings.address
    host = "" if address == "auto" or "address" in typed else _elsewhere(f"//{address}")
    return _Way(KeyDestination(CLUSTER, host), _marks(CLUSTER, ""), host) if host else None


def _ways_of_traces(spec: RunSpec, typed: Collection[str]) -> Iterator[_Way]:
    for name, owner in _TRACE_ADDRESSES:
        address = spec.get(name)
        if name in typed or address == os.environ.get(name.upper()):
            continue
        host = _elsewhere(address)
        if host and host not in _GALILEO_CLOUD and (key := _trace_key(spec, owner)):
            yield _Way(KeyDestination(owner, host), _marks(owner, key), _place(address, host))


def _place(address: str | None, host: str) -> str:
    """A host as it is remembered: without TLS anyone on the way can read what is sent there."""
    return f"http://{host}" if (address or "").strip().lower().startswith("http:") else host


def _marks(owner: str, secret: str, profile: str | None = None) -> tuple[str, ...]:
    """Fingerprints of a key and the secrets sent with it, or of credentials found by an SDK."""
    found = [one for one in singly(secret) if one]
    return tuple(map(fingerprint, found or [f"{owner} {profile or ''}"]))


def _elsewhere(address: str | None, provider: str = "") -> str:
    """The host of an address; empty for this machine, an invalid address, or the provider's own.

    Without TLS no host counts as the provider's own.
    """
    text = (address or "").strip()
    host = _host(text)
    if (
        not host
        or _is_here(host)
        or (text.lower().startswith("https:") and host == _own_host(provider))
    ):
        return ""
    return host


def _host(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _own_host(provider: str) -> str:
    """The host of a provider's public API; empty if it has none."""
    if provider not in registry.provider_names():
        return ""
    try:
        made = make_provider(registry.provider_class(provider), {})
    except EvalbenchError:
        return ""
    return _host(made.endpoint)


def _trace_key(spec: RunSpec, owner: str) -> str:
    try:
        return trace_keys(spec).get(owner, (None, ""))[1]
    except EvalbenchError:
        # Then nothing is sent either: the run reports why.
        return ""


def price_keys(
    specs: Sequence[RunSpec], withheld: Collection[KeyDestination] = ()
) -> list[dict[str, str]]:
    """For each spec, keys by role of providers that report prices themselves, if available.

    Args:
        specs: the runs' specs.
        withheld: keys that may not be sent.
    """
    return [
        {
            role: secret
            for role, part in spec.roles().items()
            if _tells_prices(part.ref.provider)
            and (
                part.ref.provider,
                _elsewhere(part.provider_options.get("base_url"), part.ref.provider),
            )
            not in withheld
            and (secret := _key_at_hand(part, spec.settings.env_file))
        }
        for spec in specs
    ]


def _key_at_hand(part: RoleSpec, env_file: str | None) -> str:
    if part.key_need is None:
        return ""
    file = Path(env_file) if env_file else None
    profile = part.provider_options.get("profile")
    # Not required: the keychain is read only for keys that were set.
    need = replace(part.key_need, required=False)
    try:
        name = part.ref.provider
        _, secret = find_key(name, need, part.settings.key, env_file=file, profile=profile)
        return with_variables(name, secret, texts_of(name, part.provider_options), file)
    except EvalbenchError:
        return ""


def secrets_for_prices(all_keys: Sequence[Mapping[str, ResolvedKey]]) -> list[dict[str, str]]:
    """The subset of the runs' keys needed to look up prices."""
    return [
        {role: key.secret for role, key in keys.items() if _tells_prices(key.ref.provider)}
        for keys in all_keys
    ]


def _tells_prices(provider: str) -> bool:
    known = provider in registry.provider_names()
    return known and registry.provider_class(provider).tells_prices


def _find_key(part: RoleSpec, env_file: str | None) -> ResolvedKey:
    provider, need = part.ref.provider, part.key_need
    if need is None:
        # A model on this machine may need a Hugging Face token.
        provider, need = "huggingface", HUGGINGFACE
    named = part.settings.key
    if named and looks_like_key(named):
        raise not_here()
    if part.key_need is not None:
        part.require_packages()
    named = named if provider != "huggingface" else None
    file = Path(env_file) if env_file else None
    profile = part.provider_options.get("profile")
    ref, secret = find_key(provider, need, named, env_file=file, profile=profile)
    if part.key_need is not None:
        texts = texts_of(provider, part.provider_options)
        secret = with_variables(provider, secret, texts, file)
    return ResolvedKey(ref, secret)
