"""Benchmarks over programs from the command line, over the stand-in data of 126 problems."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.journal import JournalReader
from evalbench.engine.runs.folder import RunFolder
from tests.e2e.commandline import CommandLine, wait_until
from tests.faults.engines import Ledger, replied
from tests.simulator.handle import Handle

KEYS = {"ANTHROPIC_API_KEY": "sk-ant-api03-" + "x" * 80}
CANDIDATES = [
    ("compatible/mine", "custom", 120),
    ("anthropic/claude-haiku-4-5", "anthropic", 15),
]
"""Models, the simulator's paths to them, and how many problems they are asked."""
Row = dict[str, Any]


@pytest.fixture
def data(shared_data: Path) -> Path:
    return shared_data / "execution" / "mutated.jsonl"


@pytest.fixture
def rows(data: Path) -> list[Row]:
    """The problems with a mutant."""
    read = [json.loads(line) for line in data.read_text("utf-8").splitlines()]
    return [row for row in read if row["mutated_code"]]


def _rule(shown: str, text: str) -> dict[str, str]:
    return {"match": shown, "text": text.replace("\\", "\\\\")}


def _predicting(rows: list[Row], answer: Callable[[Row, str], str]) -> list[dict[str, str]]:
    """Rules of a model that answers ``answer(row, program)`` to every question."""
    return [
        _rule(
            re.escape(f"[PYTHON]\n{row[code]}\nassert {row['input']} == ??"),
            f"By hand:\n[ANSWER]\nassert {row['input']} == {answer(row, code)}\n[/ANSWER]",
        )
        for row in rows
        for code in ("code", "mutated_code")
    ]


def _own(row: Row, program: str) -> str:
    output: str = row["output" if program == "code" else "mutated_output"]
    return output


def _original(row: Row, _: str) -> str:
    output: str = row["output"]
    return output


def _fractions(cli: CommandLine) -> dict[str, tuple[float, int]]:
    """Numerator and denominator of every metric of the only run."""
    [line] = cli("show", cli.runs()[0].id, "--json").lines
    return {name: (metric["k"], metric["n"]) for name, metric in line["metrics"].items()}


@pytest.mark.share(2)
@pytest.mark.parametrize(("candidate", "path", "n"), CANDIDATES)
def test_a_perfect_model_predicts_every_program_and_reverts_never(
    cli: CommandLine, sim: Handle, data: Path, rows: list[Row], candidate: str, path: str, n: int
) -> None:
    sim.brain(rules=_predicting(rows, _own))
    done = cli(
        "run", "code-prediction", "--model", candidate, "--base-url", sim.base_url(path),
        "--data", str(data), "--limit", str(n), "--generations", "2", "--seed", "42",
        "--price", "0/0", "--json", "--concurrency", "16", **KEYS,
    )  # fmt: skip
    assert done.code == 0, done.err
    told = _fractions(cli)
    assert done.lines[-1]["outcomes"]["ok"] == n
    assert told["oc"] == told["mc"] == (2 * n, 2 * n)
    assert told["or"] == told["mr"] == (0, 2 * n)
    assert told["oc_pass_at_2"] == (n, n)
    assert told["left_out"] == (6, 126)
    # The original's pattern stops at the first ")" of an assertion.
    missed = sum(")" in row["input"][2:-1] for row in rows[:n])
    assert told["oc_faithful"] == (2 * (n - missed), 2 * n)
    [run] = cli.runs()
    with JournalReader(run.journal) as journal:
        calls = [call for row in journal.samples() for call in journal.calls(row.row)]
    seeds = {call.prompt.params.seed for call in calls}
    assert seeds == {42 + 1000 * at + extra for at in range(n) for extra in (0, 1, 500, 501)}
    sent = {entry["body"].get("seed") for entry in sim.entries() if entry["method"] == "POST"}
    assert sent == (seeds if path == "custom" else {None})


@pytest.mark.slow
def test_a_model_that_sees_the_familiar_program_reverts_always(
    cli: CommandLine, sim: Handle, data: Path, rows: list[Row]
) -> None:
    sim.brain(rules=_predicting(rows, _original))
    done = cli(
        "run", "code-prediction", "--model", "compatible/mine",
        "--base-url", sim.base_url("custom"), "--data", str(data), "--generations", "1",
        "--skip-booleans", "--price", "0/0", "--json", "--concurrency", "16",
    )  # fmt: skip
    assert done.code == 0, done.err
    told = _fractions(cli)
    booleans = sum(bool({row["output"], row["mutated_output"]} & {"True", "False"}) for row in rows)
    assert booleans == 11
    assert (told["oc"], told["mc"]) == ((120, 120), (0, 120))
    assert (told["or"], told["mr"]) == ((0, 109), (109, 109))
    assert told["outside_reversion"] == (11, 120)


@pytest.mark.slow
@pytest.mark.share(2)
@pytest.mark.parametrize(("candidate", "path", "n"), CANDIDATES)
def test_a_model_that_always_takes_a_has_no_preference_but_a_position(
    cli: CommandLine, sim: Handle, data: Path, rows: list[Row], candidate: str, path: str, n: int
) -> None:
    rules = [
        _rule(
            re.escape(f"[PROGRAM_A]\n{row[program]}\n[/PROGRAM_A]")
            + ".*"
            + re.escape(f"assert {row['input']} == ??"),
            json.dumps(
                {
                    "chosen_program": "A",
                    "assertion": f"assert {row['input']} == {_own(row, program)}",
                }
            ),
        )
        for row in rows
        for program in ("code", "mutated_code")
    ]
    sim.brain(rules=rules)
    done = cli(
        "run", "code-choice", "--model", candidate, "--base-url", sim.base_url(path),
        "--data", str(data), "--limit", str(n), "--price", "0/0", "--concurrency", "16", **KEYS,
    )  # fmt: skip
    assert done.code == 0, done.err
    told = _fractions(cli)
    assert told["preference_original"] == told["preference_mutated"] == (n, 2 * n)
    assert told["oc_correct"] == told["mc_correct"] == (n, n)
    assert told["or_reversion"] == told["mr_reversion"] == (0, n)
    assert told["invalid_runs"] == (0, 2 * n)
    assert told["preference_a"] == (2 * n, 2 * n)
    assert told["same_choice"] == (0, n)


def test_a_start_and_a_limit_choose_problems_and_their_seeds(
    cli: CommandLine, sim: Handle, data: Path, rows: list[Row]
) -> None:
    done = cli(
        "run", "code-choice", "--model", "compatible/mine", "--base-url", sim.base_url("custom"),
        "--data", str(data), "--start-index", "40", "--limit", "3", "--runs", "1",
        "--seed", "123", "--reasoning", "high", "--price", "0/0", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    bodies = [entry["body"] for entry in sim.entries() if entry["method"] == "POST"]
    assert {body["seed"] for body in bodies} == {40123, 41123, 42123}
    for body in bodies:
        system, question = body["messages"]
        row = rows[(body["seed"] - 123) // 1000]
        assert f"[PROGRAM_A]\n{row['code']}\n[/PROGRAM_A]" in question["content"]
        assert "Reasoning effort: high" in system["content"]
        assert (body["temperature"], "top_p" in body, "reasoning_effort" in body) == (
            0.6, False, False,
        )  # fmt: skip


def test_flags_are_put_over_the_benchmarks_parameters(
    cli: CommandLine, sim: Handle, data: Path
) -> None:
    done = cli(
        "run", "code-prediction", "--model", "compatible/mine",
        "--base-url", sim.base_url("custom"), "--data", str(data), "--limit", "1",
        "--generations", "1", "--temperature", "0", "--max-tokens", "77", "--price", "0/0",
    )  # fmt: skip
    assert done.code == 0, done.err
    bodies = [entry["body"] for entry in sim.entries() if entry["method"] == "POST"]
    assert {(body["temperature"], body.get("max_tokens")) for body in bodies} == {(0, 77)}


def test_no_data_is_told_with_the_cure(cli: CommandLine) -> None:
    done = cli("run", "code-prediction", "--model", "scripted/good")
    assert done.code == 1
    assert "ships no problems" in done.err
    assert "--data PATH" in done.err


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("words", "each"),
    [(("code-prediction", "--generations", "3"), 6), (("code-choice", "--runs", "2"), 2)],
)
def test_a_kill_in_the_middle_repeats_no_answered_call(
    cli: CommandLine, data: Path, tmp_path: Path, words: tuple[str, ...], each: int
) -> None:
    ledger = Ledger(tmp_path / "ledger")
    cli.env |= {"SCRIPTED_LEDGER": str(ledger.path), "SCRIPTED_LATENCY": "0.05"}
    limit = 60 // each
    started = cli.start(
        "run", *words, "--model", "scripted/good", "--data", str(data), "--limit", str(limit),
        "--concurrency", "4",
    )  # fmt: skip
    wait_until(lambda: ledger.answered().total() >= 17, "answers")
    run: RunFolder = cli.only_run()
    pid = run.live_pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    cli.finish(started)
    done, seen = replied(run), len(ledger.lines())
    assert done
    resumed = cli("resume", run.id)
    assert resumed.code == 0, resumed.err
    assert not ledger.asked(seen) & done
    assert set(replied(run).values()) == {1}
    assert len(replied(run)) == limit * each
    assert run.status().done == limit


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--thinking-budget", "2000", "--max-tokens", "1500"), "leaves no room for an answer"),
        (("--thinking-budget", "500"), "a thinking budget of 500 tokens is too small"),
    ],
)
def test_parameters_that_do_not_fit_together_are_told_before_the_first_call(
    cli: CommandLine, sim: Handle, data: Path, words: tuple[str, ...], what: str
) -> None:
    done = cli(
        "run", "code-prediction", "--model", "anthropic/claude-sonnet-4-5",
        "--base-url", sim.base_url("anthropic"), "--data", str(data), *words, **KEYS,
    )  # fmt: skip
    assert done.code == 1
    assert what in done.err
    assert cli.runs() == []
    assert sim.summary()["requests"] == 0


def test_what_a_model_does_not_take_is_dropped_and_told(
    cli: CommandLine, sim: Handle, data: Path
) -> None:
    done = cli(
        "run", "code-prediction", "--model", "anthropic/claude-sonnet-4-5",
        "--base-url", sim.base_url("anthropic"), "--data", str(data), "--limit", "1",
        "--generations", "1", "--top-p", "0.95", "--thinking-budget", "2000", **KEYS,
    )  # fmt: skip
    assert done.code == 0, done.err
    [run] = cli.runs()
    params = run.status().params
    fates = {name: params[name]["fate"] for name in ("temperature", "top_p", "thinking_budget")}
    assert fates == {"temperature": "dropped", "top_p": "dropped", "thinking_budget": "sent"}


def test_programs_of_models_run_without_a_sandbox_by_name_only(
    cli: CommandLine, sim: Handle, tmp_path: Path
) -> None:
    """On a machine with neither bubblewrap nor podman nor docker."""
    problem = {
        "task_id": "HumanEval/0",
        "prompt": 'def f():\n    """One."""\n',
        "entry_point": "f",
        "test": "def check(candidate):\n    assert candidate() == 1\n",
    }
    (tmp_path / "HumanEval.jsonl").write_text(json.dumps(problem) + "\n")
    sim.brain(rules=[_rule("def f", "def f():\n    return 1\n")])
    (tmp_path / "bin").mkdir()
    words = (
        "run", "humaneval", "--data", str(tmp_path), "--model", "compatible/mine",
        "--base-url", sim.base_url("custom"), "--price", "0/0",
    )  # fmt: skip
    bare = {"PATH": str(tmp_path / "bin")}
    refused = cli(*words, **bare)
    assert refused.code == 5
    assert "neither bubblewrap nor podman nor docker is installed" in refused.err
    assert "apt install bubblewrap" in refused.err
    assert cli.runs() == []
    # An estimate runs no program.
    estimated = cli("estimate", *words[1:], "--json", **bare)
    assert estimated.code == 0, estimated.err
    assert estimated.lines[0]["roles"][0]["calls"] == [1, 1]
    done = cli(*words, "--unsafe-run-code", **bare)
    assert done.code == 0, done.err
    assert _fractions(cli)["pass@1"] == (1, 1)
