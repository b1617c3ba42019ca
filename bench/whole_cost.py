"""CPU time and memory of a command with everything it starts, detached processes included.

``python bench/whole_cost.py COMMAND...`` runs the command, waits until nothing
that came from it is left, and prints one line of JSON on standard error. Linux
only: orphans are adopted (``PR_SET_CHILD_SUBREAPER``), so their time counts.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

_ADOPT_ORPHANS = 36


@dataclass(frozen=True)
class Cost:
    """What a command took.

    Attributes:
        status: its exit status.
        cpu_s: user and system seconds of all its processes.
        wall_s: until the last of them ended.
        peak_mib: resident memory of the largest one at its peak.
    """

    status: int
    cpu_s: float
    wall_s: float
    peak_mib: float


def measure(command: list[str], *, env: dict[str, str], log: Path, cwd: Path) -> Cost:
    """Run ``command`` in a measuring process of its own; its output goes to ``log``."""
    with log.open("wb") as file:
        outer = [sys.executable, __file__, *command]
        done = subprocess.run(
            outer, env=env, cwd=cwd, stdout=file, stderr=subprocess.PIPE, text=True, check=False
        )
    lines = done.stderr.splitlines()
    if not lines or not lines[-1].startswith("{"):
        raise SystemExit(f"could not measure {command[0]}:\n{done.stderr}")
    return Cost(**json.loads(lines[-1]))


def main() -> None:
    """Run the command line's arguments as a command and print its cost."""
    if sys.platform != "linux":
        raise SystemExit("only Linux can count the time of detached processes")
    ctypes.CDLL(None, use_errno=True).prctl(_ADOPT_ORPHANS, 1, 0, 0, 0)
    began = time.monotonic()
    status = subprocess.run(sys.argv[1:], stderr=subprocess.STDOUT, check=False).returncode
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cost = Cost(
        status,
        round(used.ru_utime + used.ru_stime, 2),
        round(time.monotonic() - began, 2),
        round(used.ru_maxrss / 1024),
    )
    print(json.dumps(asdict(cost)), file=sys.stderr)


if __name__ == "__main__":
    main()
