"""No core dumps: one would hold keys, questions and answers, and lie wherever the system puts it.

The limit is passed on to children, workers and their libraries included. What a system's
crash handler collects instead obeys it as well (systemd-coredump, apport).
"""

from __future__ import annotations

import contextlib
import resource


def no_core_dumps() -> None:
    """Leave no core dump behind, whatever this process or a child of it dies of."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
