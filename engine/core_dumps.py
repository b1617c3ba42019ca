"""Disables core dumps, which would write keys, questions and answers to a system folder.

The limit is inherited by children, including workers and their libraries. A system's crash
handler obeys it as well (systemd-coredump, apport).
"""

from __future__ import annotations

import contextlib
import resource


def no_core_dumps() -> None:
    """Prevent core dumps of this process and its children."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
