"""What a cluster costs: one worker on a node of a Ray cluster, beside one on this machine.

    python -m bench.cluster [--size 5000] [--rounds 3]

The worker is a script that answers at once, so that only the way there and back
counts. Runs of both kinds alternate, so that what else the machine does falls on
both. Seconds are those from the first call to the last score, without the start
of Ray and of workers. Needs the extra ``cluster``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from bench.figures import Figure, declare, tell
from evalbench.engine.config.spec import make_spec
from evalbench.engine.process.launch import launch_runs
from tests.faults.ray_nodes import small_cluster
from tests.faults.workers import Homely

_PLUGINS = Path(__file__).resolve().parents[1] / "tests" / "plugins"
_PROMISE_MS = 2.0
_PATIENCE_S = 600.0


def seconds(size: int, **how: Any) -> float:
    """Seconds a run of so many calls takes, from the first call to the last score."""
    engine = launch_runs(make_spec("synthetic", "homely/any", options={"size": size}, **how))
    run = engine.runs[0]
    end = time.monotonic() + _PATIENCE_S
    while not run.status().at_rest and time.monotonic() < end:
        time.sleep(0.1)
    status = run.status()
    assert (status.state, status.done) == ("complete", size), status.problem
    os.waitpid(engine.pid, 0)
    return status.seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", type=int, default=5000, help="calls of each run")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each kind")
    declare(parser)
    args = parser.parse_args()
    if find_spec("ray") is None:
        print("Ray is not installed")
        tell(args.figures, [], skipped=["cluster: Ray is not installed"])
        return
    here, there = [], []
    with tempfile.TemporaryDirectory() as home, pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVALBENCH_HOME", home)
        patch.setenv("PYTHONPATH", str(_PLUGINS))
        patch.syspath_prepend(str(_PLUGINS))
        Homely(Path(home) / "installed", patch)
        with small_cluster() as nodes:
            place = {"mode": "cluster", "address": nodes.address}
            for _ in range(args.rounds):
                here.append(seconds(args.size) / args.size * 1000)
                there.append(seconds(args.size, **place) / args.size * 1000)
                print(f"{here[-1]:.3f} ms a call here, {there[-1]:.3f} on a node", flush=True)
    more = statistics.median(b - a for a, b in zip(here, there, strict=True))
    print(f"a call costs {more:.3f} ms more, promised are at most {_PROMISE_MS:g}")
    tell(
        args.figures,
        [
            Figure(
                "call on a node of a cluster, more than on this machine, wall",
                max(more, 0.0),
                "ms",
                target=_PROMISE_MS,
                note=f"median of {args.rounds} rounds of {args.size} calls",
            ),
            Figure(
                "call of a local model on a node of a cluster, wall",
                statistics.median(there),
                "ms",
                beside="on this machine",
                beside_value=statistics.median(here),
            ),
        ],
    )


if __name__ == "__main__":
    main()
