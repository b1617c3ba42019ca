"""How many CPU threads a model gets."""

from __future__ import annotations

import contextlib
import os


def choose_threads() -> int:
    """Number of idle physical cores, at least one.

    A pool with more threads than free cores spins while it waits for its slowest member: two
    threads on two busy cores were measured to be up to ten times slower than one.
    """
    try:
        allowed = len(os.sched_getaffinity(0))
    except AttributeError:
        allowed = os.cpu_count() or 1
    cores = allowed
    with contextlib.suppress(ImportError):
        import psutil

        cores = min(allowed, psutil.cpu_count(logical=False) or allowed)
    return max(1, cores - round(os.getloadavg()[0]))
