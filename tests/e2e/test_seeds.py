"""The run's seed on the wire: only when it is given, and another one for every epoch."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.e2e.commandline import CommandLine
from tests.simulator.handle import Handle

RUN = ("run", "synthetic", "--size", "3", "--epochs", "2", "--price", "0/0")


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("words", "seeds"),
    [((), {None: 6}), (("--seed", "0"), {None: 6}), (("--seed", "7"), {7: 3, 8: 3})],
)
def test_every_epoch_has_a_seed_of_its_own(
    cli: CommandLine, sim: Handle, words: tuple[str, ...], seeds: dict[int | None, int]
) -> None:
    done = cli(*RUN, "--model", "compatible/mine", "--base-url", sim.base_url("custom"), *words)
    assert done.code == 0, done.err
    asked = [entry["body"] for entry in sim.entries() if entry["method"] == "POST"]
    assert Counter(body.get("seed") for body in asked) == seeds


def test_where_there_is_no_seed_the_run_says_so(cli: CommandLine, sim: Handle) -> None:
    done = cli(
        *RUN, "--model", "anthropic/claude-haiku-4-5", "--base-url", sim.base_url("anthropic"),
        "--seed", "7", ANTHROPIC_API_KEY="sk-ant-" + "x" * 24,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert all("seed" not in entry["body"] for entry in sim.entries() if entry["body"])
    [run] = cli.runs()
    assert run.status().params["seed"]["fate"] == "dropped"
