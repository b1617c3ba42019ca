"""Hosts with which this user's keys have been used, so that no one else's file can choose them.

One small file next to the settings, readable only by its owner. It holds fingerprints of keys,
which reveal nothing about them, and the hosts to which the user has let each be sent.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterable
from pathlib import Path

from evalbench.engine.files import SETTINGS, read_plain
from evalbench.engine.paths import config_dir, make_private


def _file() -> Path:
    return config_dir() / "key_hosts.json"


def hosts_of(mark: str) -> frozenset[str]:
    """The hosts where a key has been used, by its fingerprint."""
    try:
        return frozenset(_read(read_plain(_file(), SETTINGS)).get(mark, ()))
    except OSError:
        return frozenset()


def remember_hosts(used: Iterable[tuple[str, str]]) -> None:
    """Remember the hosts of keys, by fingerprint. If that fails, the user is asked again.

    Args:
        used: pairs of fingerprint and host.
    """
    fresh = [(mark, host) for mark, host in used if host not in hosts_of(mark)]
    if not fresh:
        return
    with contextlib.suppress(OSError):
        make_private(_file().parent)
        # Written in place, under a lock: several commands may start at once.
        with os.fdopen(os.open(_file(), os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            known = _read(file.read())
            for mark, host in fresh:
                known[mark] = sorted({*known.get(mark, ()), host})
            file.seek(0)
            file.write(json.dumps(known, indent=1, sort_keys=True).encode())
            file.truncate()


def _read(data: bytes) -> dict[str, list[str]]:
    try:
        stored = json.loads(data or b"{}")
    except ValueError:
        return {}
    if not isinstance(stored, dict):
        return {}
    return {
        mark: [host for host in hosts if isinstance(host, str)]
        for mark, hosts in stored.items()
        if isinstance(hosts, list)
    }
