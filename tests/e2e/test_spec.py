"""SpecEval from the command line: generate, then comply and rank on what was generated."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.commandline import CommandLine, wait_until
from tests.simulator.handle import Handle


def test_generated_answers_are_judged_and_ranked(
    cli: CommandLine, sim: Handle, shared_data: Path
) -> None:
    folder = shared_data / "speceval" / "sample"
    spec = ("--data", str(folder / "specs" / "sample.jsonl"))
    here = ("--base-url", sim.base_url("custom"), "--price", "1/1")
    runs = []
    for model in ("compatible/one", "compatible/two"):
        done = cli(
            "run", "spec-generate", *spec, "--model", model, *here,
            "--inputs", str(folder / "inputs"), "--json",
        )  # fmt: skip
        assert done.code == 0, done.err
        assert done.lines[-1]["metrics"]["answered"]["n"] == 13
        runs.append(next(line["folder"] for line in done.lines if line["event"] == "start"))
    judge = ("--judge", f"compatible/judge,base-url={sim.base_url('custom')}")
    answers = [word for n, run in enumerate(runs) for word in ("--answers", f"m{n}={run}")]
    before = sim.summary()["requests"]
    sim.rule("Decide whether a response", text='{"compliant": true, "confidence": 0.9}')
    done = cli(
        "run", "spec-comply", *spec, *answers, *judge, "--price", "compatible/judge=1/1", "--json"
    )
    assert done.code == 0, done.err
    end = done.lines[-1]
    assert (end["metrics"]["compliance"]["k"], end["metrics"]["compliance"]["n"]) == (26, 26)
    assert sim.summary()["requests"] - before == 26
    sim.rule("You compare two responses", text="Model: A")
    done = cli(
        "run", "spec-rank", *spec, *answers, *judge, "--price", "compatible/judge=1/1", "--json"
    )
    assert done.code == 0, done.err
    end = done.lines[-1]["metrics"]
    assert sim.summary()["requests"] - before == 26 + 26
    # A judge that always says A decides by the order, so nobody wins.
    assert end["win_rate_adjusted/contestant=m0"]["value"] == 0.5
    listed = cli("runs", "--json").lines
    assert {line["model"] for line in listed} >= {"answers/m0+m1", "compatible/one"}


def test_errors_in_the_place_of_answers_are_failures_not_verdicts(
    cli: CommandLine, sim: Handle, shared_data: Path
) -> None:
    folder = shared_data / "speceval" / "sample"
    answers = folder / "generations" / "org-max-mini"
    sim.rule("Decide whether a response", text='{"compliant": false, "confidence": 1}')
    done = cli(
        "run", "spec-comply", "--data", str(folder / "specs" / "sample.jsonl"),
        "--answers", str(answers), "--json",
        "--judge", f"compatible/judge,base-url={sim.base_url('custom')}",
    )  # fmt: skip
    assert done.code == 2
    end = done.lines[-1]
    assert (end["failed"], end["metrics"]["compliance"]["n"]) == (1, 11)
    assert sim.summary()["requests"] == 11


def test_results_are_written_where_they_are_wanted_although_nobody_watches(
    cli: CommandLine, sim: Handle, shared_data: Path, tmp_path: Path
) -> None:
    folder, tree = shared_data / "speceval" / "sample", tmp_path / "tree"
    words = (
        "run", "spec-comply", "--data", str(folder / "specs" / "sample.jsonl"),
        "--answers", str(folder / "generations" / "sample-model-a"), "--limit", "3",
        "--judge", f"compatible/judge,base-url={sim.base_url('custom')}",
    )  # fmt: skip
    sim.rule("Decide whether a response", text='{"compliant": true, "confidence": 1}')
    assert cli(*words, "--results-dir", str(tree), "--detach").code == 0
    wait_until(lambda: cli.only_run().status().at_rest, "the run is complete")
    results = tree / "spec_sample" / "judge_judge" / "sample-model-a" / "results"
    assert [*results.glob("*.json")]
