"""State shared by one user's engines that work with the same key and model.

A file of a few hundred bytes under a lock: pauses, turns for ``--qps``, and how many calls may
be in flight where concurrency is adaptive. Times in it are wall-clock, so that processes agree
on them. An engine is identified by process id and start time; a dead one holds nothing back.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import orjson

from evalbench.engine.dispatch.steering import SHRINK
from evalbench.engine.paths import make_private
from evalbench.engine.runs.folder import process_start

BURST_S = 2.0
"""Refusals within this many seconds count as one burst."""
MOST = 256
_LOOK_S = 0.25
_LONGEST_LOOK_AWAY_S = 5.0
_LATE_S = 0.05
_MOST_BYTES = 1 << 16
_NUMBERS = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Share:
    """One engine's share of a key's concurrency.

    Attributes:
        size: calls that this engine may have in flight.
        level: calls that all engines together may have in flight.
        alone: no other engine has adaptive concurrency on this key.
        ramping: nothing has been refused yet.
        shrunk: when the level was cut last; 0 if it was not.
        part: this engine's share of what all may have in flight together.
    """

    size: int
    level: int
    alone: bool
    ramping: bool
    shrunk: float = 0.0
    part: float = 1.0


class SharedLimits:
    """One engine's view of the file."""

    def __init__(self, folder: Path, fingerprint: str, model: str) -> None:
        make_private(folder)
        safe = "".join(c if c.isalnum() or c in "-." else "-" for c in model)
        self._path = folder / f"{fingerprint}-{safe}.json"
        self._me = [os.getpid(), process_start(os.getpid())]
        self._name = f"{os.getpid()}.{next(_NUMBERS)}"
        self._alone = True
        self._refused = 0
        self._seen: Mapping[str, Any] = {}
        self._checked = float("-inf")

    # -- the rate --------------------------------------------------------------

    def next_slot(self, qps: float) -> float:
        """Take the next turn at ``qps`` requests per second, if it is due.

        Returns:
            0 if it was taken; else seconds after which to retry. Nothing is reserved for the
            waiter.
        """
        with self._locked() as state:
            now = time.time()
            due = float(state.get("next", 0.0))
            if state.get("last", 0.0) > now:
                due = now  # the clock was set back
            if due > now and not _lives(state.get("by")):
                # Now our own rate counts, starting from when the dead engine's call was sent.
                due = min(due, state.get("last", 0.0) + 1.0 / qps)
            if due > now:
                return float(min(due - now, _LONGEST_LOOK_AWAY_S))
            begun = due if now - due <= _LATE_S else now
            state.update(last=now, next=begun + 1.0 / qps, by=self._me)
            return 0.0

    # -- pauses ----------------------------------------------------------------

    def pause(self, seconds: float, why: str) -> None:
        """Pause every engine on this key for ``seconds``."""
        with self._locked() as state:
            now = time.time()
            if now + seconds > _paused(state, now):
                state.update(paused=now + seconds, told=now, why=why)
        self._checked = float("-inf")

    def paused_until(self, now: float) -> float:
        """When the pause ends, on the clock that ``now`` was read from; reads the file at 4 Hz."""
        if now - self._checked >= _LOOK_S:
            self._checked = now
            try:
                # Empty while another engine is writing: the last value still holds.
                self._seen = _read(self._path.read_bytes()) or self._seen
            except OSError:
                self._seen = {}
        clock = time.time()
        return now + max(0.0, _paused(self._seen, clock) - clock)

    @property
    def why(self) -> str:
        """Why the key is paused, as recorded by the engine that was told to wait."""
        return str(self._seen.get("why", ""))

    # -- concurrency -----------------------------------------------------------

    def share(
        self,
        *,
        size: int,
        wanted: int,
        grown: int = 0,
        refused: bool = False,
        left: float = SHRINK,
    ) -> Share:
        """Report what this engine wants; returns its share of the key's concurrency.

        An engine that is alone keeps the size that it found itself.

        Args:
            size: its current concurrency limit.
            wanted: its calls in flight or ready to be sent.
            grown: how much more concurrency the key seems to allow than before.
            refused: whether too many calls were refused for load.
            left: the share of the concurrency that should remain in that case.
        """
        with self._locked() as state:
            now = time.time()
            engines = {name: one for name, one in state.get("engines", {}).items() if _lives(one)}
            engines[self._name] = [*self._me, max(0, wanted), self._refused]
            alone = len(engines) == 1
            level = int(state.get("level", size))
            ramping = bool(state.get("ramping", True))
            if alone and self._alone:
                level, ramping = size, True
                state.pop("rate", None)
            else:
                level = min(MOST, level + min(grown, size))
            if refused and not alone and now - state.get("shrunk", -inf) > BURST_S:
                level, ramping = int(level * left), False
                state["shrunk"] = now
            level = max(level, 1)
            state.update(engines=engines, level=level, ramping=ramping)
            self._alone = alone
        if alone:
            return Share(level, level, alone, ramping)
        parts = allot(level, {n: one[2] for n, one in engines.items()})
        mine = parts[self._name]
        part = mine / sum(parts.values())
        return Share(mine, level, alone, ramping, state.get("shrunk", 0.0), part)

    def refusals(self, refused: int) -> int:
        """Report how many of this engine's calls in flight are refused; returns all engines'."""
        self._refused = refused
        with self._locked() as state:
            engines = {name: one for name, one in state.get("engines", {}).items() if _lives(one)}
            if self._name in engines:
                engines[self._name] = [*engines[self._name][:3], refused]
                state["engines"][self._name] = engines[self._name]
            return sum(one[3] for one in engines.values() if len(one) > 3)

    def found_rate(self, rate: float, before: float) -> float:
        """Report the request rate that this engine found; returns the key's, of all engines.

        Every engine adds its own changes, as factors, in whatever order.

        Args:
            rate: requests a second by all engines, as this one has it; infinite: it knows no limit.
            before: what was returned last; infinite at first.
        """
        with self._locked() as state:
            known = float(state.get("rate") or inf)
            if known == inf and before == inf:
                known = rate
            elif rate == inf and before < inf:
                known = inf
            elif max(known, rate, before) < inf:
                known *= rate / before
            state["rate"] = known if known < inf else None
            return known

    def leave(self) -> None:
        """Return this engine's share to the others."""
        with self._locked() as state:
            state.get("engines", {}).pop(self._name, None)
        self._alone = True

    @contextlib.contextmanager
    def _locked(self) -> Iterator[dict[str, Any]]:
        fd = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            raw = os.read(fd, _MOST_BYTES)
            state = _read(raw)
            yield state
            os.ftruncate(fd, 0)
            os.pwrite(fd, orjson.dumps(state), 0)
        finally:
            os.close(fd)


def _read(raw: bytes) -> dict[str, Any]:
    """The state in a file; empty if it is damaged or half written."""
    try:
        state = orjson.loads(raw)
    except ValueError:
        return {}
    return state if isinstance(state, dict) else {}


def allot(level: int, wants: Mapping[str, int]) -> dict[str, int]:
    """Divide ``level``: no engine gets more than an equal share while another wants it.

    What is left is divided evenly, in reserve. Every engine gets at least one call, so if
    there are more engines than calls, the total exceeds the level.
    """
    parts: dict[str, int] = {}
    left = level
    for number, name in enumerate(sorted(wants, key=lambda name: (wants[name], name))):
        parts[name] = max(1, min(wants[name], left // (len(wants) - number)))
        left -= parts[name]
    spare = max(0, left)
    for number, name in enumerate(sorted(parts)):
        parts[name] += spare // len(parts) + (number < spare % len(parts))
    return parts


def _paused(state: Mapping[str, Any], now: float) -> float:
    """When the pause ends; one set in the future predates a change of the clock and is ignored."""
    return 0.0 if state.get("told", 0.0) > now else float(state.get("paused", 0.0))


def _lives(engine: Any) -> bool:
    """Whether an engine, stored as process id, start time and more, is still running."""
    if not isinstance(engine, list) or len(engine) < 2 or not isinstance(engine[0], int):
        return False
    return bool(engine[1]) and process_start(engine[0]) == engine[1]
