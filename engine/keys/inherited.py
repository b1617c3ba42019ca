"""Keys passed to a command by its parent: found like variables, but not in the environment.

The environment is inherited by every child process and can be read from outside. Data from a pipe
is held by this process alone.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping

NAMED_BY = "EVALBENCH_KEYS_FD"
"""The variable that names the pipe's descriptor; removed once it has been read."""

_FIRST = 3
"""Lower ones are the standard streams."""
_MOST = 1 << 20
_held: dict[str, str] = {}


def take_inherited() -> None:
    """Read what was passed, once. A descriptor that is not such a pipe is left alone."""
    number = os.environ.pop(NAMED_BY, "")
    try:
        end = int(number)
        if end < _FIRST or not stat.S_ISFIFO(os.fstat(end).st_mode):
            return
        with os.fdopen(end, "rb") as pipe:
            found = json.loads(pipe.read(_MOST))
    except (OSError, ValueError, OverflowError, RecursionError):
        return
    if isinstance(found, dict):
        _held.update((str(name), str(value)) for name, value in found.items())


def variables() -> Mapping[str, str]:
    """The variables in which keys are looked up: the environment, and those passed by a pipe."""
    return {**os.environ, **_held} if _held else os.environ
