"""``evalbench compare``: real runs side by side, in words and as JSON lines."""

from __future__ import annotations

import pytest

from tests.e2e.commandline import CommandLine
from tests.e2e.schema import check_line


@pytest.fixture
def pair(cli: CommandLine) -> list[str]:
    """Ids of two runs of the same riddles, by two models that guess."""
    for model in ("scripted/good", "scripted/better"):
        done = cli("run", "synthetic", "--model", model, "--size", "40", "--tag", "duel")
        assert done.code == 0, done.err
    return [run.id for run in reversed(cli.runs())]


@pytest.mark.slow
def test_two_runs_as_json_lines(cli: CommandLine, pair: list[str]) -> None:
    done = cli("compare", *pair, "--json", "--flips", "3")
    assert done.code == 0, done.err
    for line in done.lines:
        check_line(line)
    kinds = [line["event"] for line in done.lines]
    assert kinds == ["comparing", "contender", "contender", "comparison", "flip", "flip", "flip"]
    head, best, worse, comparison, flip, *_ = done.lines
    assert (head["runs"], head["samples"], head["compared"]) == (pair, 40, "model")
    assert (head["differences"], head["warnings"]) == ([], [])
    assert best["score"] >= worse["score"]
    assert {best["run"], worse["run"]} == set(pair)
    assert (comparison["first"], comparison["second"]) == tuple(pair)
    higher = comparison["first_higher"], comparison["second_higher"]
    assert sum(higher) == head["flips"] > 3
    assert comparison["difference"] == pytest.approx((higher[1] - higher[0]) / 40)
    assert comparison["clustered"]["tag"] == "group"
    assert sorted(flip["scores"]) == [0.0, 1.0]
    assert flip["question"].startswith("Riddle")


def test_two_runs_in_words(cli: CommandLine, pair: list[str]) -> None:
    told = cli("compare", "--tag", "duel", "--flips", "1").out
    assert "40 samples scored in every run" in told
    assert "compared: the model" in told
    assert "WARNING" not in told
    assert "McNemar's exact test" in told
    assert f"evalbench show {pair[0]} --sample N" in told


@pytest.mark.slow
def test_three_runs_are_ranked_and_differences_are_warned_of(
    cli: CommandLine, pair: list[str]
) -> None:
    other = ("--size", "30", "--wording", "puzzle", "--mood", "refusing")
    cli("run", "synthetic", "--model", "scripted/good", *other)
    done = cli("compare", *pair, "last")
    assert done.code == 0, done.err
    assert "WARNING: " in done.out
    assert "option wording" in done.out
    assert "only 30 of 40 scored samples are in every run" in done.out
    assert "B − A" in done.out
    assert "not significant" in done.out
    assert "A higher" in done.out


@pytest.mark.slow
def test_mistakes_are_told(cli: CommandLine, pair: list[str]) -> None:
    for words, what in (
        ((pair[0],), "it takes two runs"),
        ((*pair, "--flips", "-1"), "--flips cannot be '-1'"),
        ((*pair, "--metric", "acuracy"), "did you mean accuracy"),
        (("--tag", "none-such"), "no run has the tag"),
        ((pair[0], "nothing"), "there is no run"),
    ):
        done = cli("compare", *words)
        assert (done.code, what in done.err) == (1, True), done.err
        assert "Traceback" not in done.err
