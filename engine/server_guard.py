"""Ends a server whose owner is gone, however that ended; run as a script by the owner.

Its standard input is a pipe that only the owner holds. When it closes, the server's process group
is asked to end, and then made to: a server may ignore the signal while it loads, and processes that
it has started may outlive it. Then its folder of temporary files is removed.
"""

from __future__ import annotations

import os
import signal
import sys
import time

_LOOK_S = 0.1


def main(group: int, grace_s: float, folder: str = "") -> None:
    """Wait for the end of the owner, then end the group and remove its folder."""
    sys.stdin.read()
    end = time.monotonic() + grace_s
    _signal(group, signal.SIGTERM)
    while time.monotonic() < end and _signal(group, 0):
        time.sleep(_LOOK_S)
    _signal(group, signal.SIGKILL)
    if folder:
        # Slow to import, and most guards are killed before.
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


def _signal(group: int, number: int) -> bool:
    """False if there is no such group any more."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), *sys.argv[3:])
