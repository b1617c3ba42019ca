"""Two engines at work on one key keep one limit."""

from __future__ import annotations

import json

import pytest

from evalbench.engine.paths import cache_dir
from tests.e2e.commandline import CommandLine, wait_until
from tests.simulator.handle import Handle

KEY = {"COMPATIBLE_API_KEY": "sk-shared-0123456789abcdef"}


def words(sim: Handle, size: int, *more: str) -> tuple[str, ...]:
    return (
        "run", "synthetic", "--model", "compatible/mine", "--base-url", sim.base_url("custom"),
        "--size", str(size), "--price", "0/0", *more,
    )  # fmt: skip


def test_two_engines_keep_one_rate(cli: CommandLine, sim: Handle) -> None:
    runs = [cli.start(*words(sim, size, "--qps", "10"), **KEY) for size in (20, 21)]
    for run in runs:
        assert cli.finish(run).code == 0
    times = sorted(entry["at"] for entry in sim.entries() if entry["method"] == "POST")
    assert len(times) == 41
    # 40 gaps of 0.1 s; what is measured at the other end of a connection jitters.
    assert times[-1] - times[0] >= 3.6
    assert all(times[n + 20] - times[n] >= 1.3 for n in range(len(times) - 20))


@pytest.mark.slow
def test_two_engines_share_what_the_key_bears(cli: CommandLine, sim: Handle) -> None:
    sim.latency(0.5)
    runs = [cli.start(*words(sim, size), **KEY) for size in (4000, 4001)]

    def both() -> bool:
        files = list(cache_dir().glob("limits/*.json"))
        text = files[0].read_text() if files else ""
        held = json.loads(text).get("engines", {}) if text else {}
        return len(held) == 2 and all(wanted > 8 for _, _, wanted, *_ in held.values())

    wait_until(both, "two engines in one file")
    runs_there = cli.runs()
    cli("stop", runs_there[0].id)

    def one_left() -> bool:
        text = next(cache_dir().glob("limits/*.json")).read_text()
        return bool(text) and len(json.loads(text)["engines"]) == 1

    wait_until(one_left, "its part given back")
    cli("stop", runs_there[1].id)
    for run in runs:
        assert cli.finish(run).code == 4
