"""Runs the simulator until interrupted: ``python -m tests.simulator``."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import signal

from tests.simulator.clock import Clock
from tests.simulator.server import Simulator
from tests.simulator.world import Latency


def main() -> None:
    """Print one line of JSON with the addresses, then serve."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulator", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--seed", type=int, default=0, help="what answers depend on")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds of every answer")
    parser.add_argument("--count-only", action="store_true", help="keep no journal entries")
    parser.add_argument("--standing", action="store_true", help="a clock that only you advance")
    parser.add_argument("--any-model", action="store_true", help="answer to any model name")
    gc.set_threshold(50_000)
    asyncio.run(_serve(parser.parse_args()))


async def _serve(options: argparse.Namespace) -> None:
    simulator = Simulator(Clock(running=not options.standing))
    simulator.world.brain.seed = options.seed
    simulator.world.latency = Latency(base=options.latency)
    simulator.world.catalogue.any_name = options.any_model
    simulator.ledger.keep = not options.count_only
    url = await simulator.start(options.port)
    print(json.dumps({"url": url, "base_urls": simulator.base_urls()}), flush=True)  # noqa: T201
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    await stopped.wait()
    await simulator.stop()


if __name__ == "__main__":
    main()
