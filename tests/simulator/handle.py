"""Steers a simulator from a test or a bench, whichever process it runs in."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Self

from tests.simulator.clock import Clock
from tests.simulator.server import Simulator

_ROOT = Path(__file__).parents[2]


class ControlError(Exception):
    """The simulator did not understand; the text says what."""


class Handle:
    """The simulator behind ``url``, through its control endpoints."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.base_urls: dict[str, str] = self._call("GET", "")["base_urls"]

    def base_url(self, api: str) -> str:
        """The base URL of an API, as its clients are given it."""
        return self.base_urls[api]

    def reset(self) -> None:
        """Forget faults, journal, settings, keys, limits, caches and advances of the clock."""
        self._call("POST", "/reset")

    def fault(self, kind: str = "status", **how: Any) -> None:
        """Script trouble; see :class:`tests.simulator.faults.Fault`."""
        self._call("POST", "/faults", {"kind": kind, **how})

    def faults(self) -> list[dict[str, Any]]:
        """The script with how often each fault was applied."""
        script: list[dict[str, Any]] = self._call("GET", "/faults")
        return script

    def batch(self, *, times: int | None = None, nth: tuple[int, ...] = (), **script: Any) -> None:
        """Script how batches go; see :class:`tests.simulator.batches.Script`.

        Args:
            times: so many batches at most; None: all that are made from now on.
            nth: ordinals of the batches meant; empty: each.
            script: fields of the script.
        """
        self._call(
            "POST", "/faults", {"kind": "batch", "times": times, "nth": list(nth), "batch": script}
        )

    def batches(self) -> list[dict[str, Any]]:
        """Every batch: ``id``, ``api``, ``phase``, ``items``, ``counts``, ``metadata``."""
        batches: list[dict[str, Any]] = self._call("GET", "/batches")
        return batches

    def no_faults(self) -> None:
        """Clear the script."""
        self._call("DELETE", "/faults")

    def brain(self, **settings: Any) -> None:
        """Change what models say; see :class:`tests.simulator.brain.Brain`."""
        self._call("POST", "/brain", settings)

    def rule(self, match: str, **rule: Any) -> None:
        """Script an answer; see :class:`tests.simulator.brain.Rule`."""
        self.brain(rules=[{"match": match, **rule}])

    def limits(self, api: str, **quota: Any) -> None:
        """Set rate limits; see :class:`tests.simulator.limits.Quota`."""
        self._call("POST", "/limits", {"api": api, **quota})

    def latency(self, base: float = 0.0, per_token: float = 0.0, jitter: float = 0.0) -> None:
        """Set how long answers take, in seconds."""
        given = {"base": base, "per_token": per_token, "jitter": jitter}
        self._call("POST", "/latency", given)

    def key(self, key: str, state: str) -> None:
        """Give a key a state; see :mod:`tests.simulator.accounts`."""
        self._call("POST", "/keys", {key: state})

    def model(self, api: str, name: str, **facts: Any) -> None:
        """Change a model, or add one ``like`` another."""
        self._call("POST", "/models", {"api": api, "name": name, **facts})

    def advance(self, seconds: float) -> float:
        """Move the clock forward and give its reading."""
        now: float = self._call("POST", "/clock", {"advance": seconds})["now"]
        return now

    def stand_still(self) -> None:
        """Let the clock move only when it is advanced, until the next reset."""
        self._call("POST", "/clock", {"stand": True})

    def keep_entries(self, keep: bool) -> None:
        """Keep journal entries, or only count."""
        self._call("POST", "/ledger", {"keep": keep})

    def entries(self, after: int = 0) -> list[dict[str, Any]]:
        """Journal entries in order of arrival; see :class:`tests.simulator.ledger.Entry`."""
        entries: list[dict[str, Any]] = self._call("GET", f"/ledger?after={after}")
        return entries

    def summary(self) -> dict[str, Any]:
        """All counters; see :meth:`tests.simulator.ledger.Ledger.summary`."""
        summary: dict[str, Any] = self._call("GET", "/summary")
        return summary

    def wait(self, timeout: float = 10.0, **least: int) -> dict[str, Any]:
        """Wait until counters (requests, finished, in_flight, client_gone) are reached.

        Raises:
            TimeoutError: when they are not.
        """
        asked = {"timeout": timeout, **least}
        summary: dict[str, Any] = self._call("GET", "/wait", asked, patience=timeout + 60)
        if not summary["reached"]:
            raise TimeoutError(f"waited for {least}, got {summary}")
        return summary

    def _call(
        self, method: str, path: str, body: dict[str, Any] | None = None, patience: float = 60
    ) -> Any:
        request = urllib.request.Request(
            f"{self.url}/_sim{path}",
            method=method,
            data=json.dumps(body).encode() if body is not None else None,
            headers={"content-type": "application/json"},
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=patience) as reply:
                return json.loads(reply.read())
        except urllib.error.HTTPError as problem:
            raise ControlError(json.loads(problem.read())["error"]) from None


class InThread(Handle):
    """A simulator in a thread of this process.

    Args:
        clock: its time; a running clock when None.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.simulator = Simulator(clock)
        starting = asyncio.run_coroutine_threadsafe(self.simulator.start(), self._loop)
        super().__init__(starting.result(30))

    def close(self) -> None:
        """Stop it and end its thread."""
        asyncio.run_coroutine_threadsafe(self.simulator.stop(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class InProcess(Handle):
    """A simulator in a process of its own, for benches: it shares no interpreter with the client.

    Args:
        options: further command-line options of ``python -m tests.simulator``.
    """

    def __init__(self, *options: str) -> None:
        command = [sys.executable, "-m", "tests.simulator", *options]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=_ROOT)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise ControlError(f"the simulator ended with {self._process.wait()}")
        super().__init__(json.loads(line)["url"])

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._process.pid

    def close(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.wait(10)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
