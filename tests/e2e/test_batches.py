"""Provider batches from the command line: same scores, half the money, nothing lost."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.e2e.commandline import CommandLine, alike, wait_until
from tests.e2e.schema import check_line
from tests.simulator.handle import Handle

KEYS = {
    "ANTHROPIC_API_KEY": "sk-ant-api03-" + "x" * 80,
    "OPENAI_API_KEY": "sk-proj-" + "y" * 60,
    "GROQ_API_KEY": "gsk_" + "z" * 48,
    "TOGETHER_API_KEY": "tgp_v1_" + "t" * 48,
    "GOOGLE_API_KEY": "AIza" + "g" * 35,
}
MODELS = {
    "openai": "openai/gpt-4.1-mini",
    "anthropic": "anthropic/claude-haiku-4-5",
    "google": "google/gemini-2.5-flash",
    "together": "together/meta-llama/Llama-3.3-70B-Instruct-Turbo",
}
QUICK = ("--batch-poll", "0.05", "--json", "--yes")


def words(sim: Handle, api: str, *more: str, benchmark: str = "quickstart") -> tuple[str, ...]:
    """``evalbench run`` against an API of the simulator."""
    return ("run", benchmark, "--model", MODELS[api], "--base-url", sim.base_url(api), *more)


def answered(sim: Handle) -> dict[str, int]:
    """How many requests were worked on once, twice, …, in batches and at once."""
    counts: dict[str, int] = sim.summary()["answered"]
    return counts


@pytest.mark.share(4)
@pytest.mark.parametrize("api", list(MODELS))
def test_batches_give_the_same_scores_for_half_the_money(
    cli: CommandLine, sim: Handle, api: str
) -> None:
    now = cli(*words(sim, api, "--json", "--yes"), **KEYS)
    later = cli(*words(sim, api, "--mode", "batch", *QUICK), **KEYS)

    assert (now.code, later.code) == (0, 0), later.err
    first, second = now.lines[-1], later.lines[-1]
    assert second["metrics"] == alike(first["metrics"])
    assert second["spend_usd"] == pytest.approx(first["spend_usd"] / 2)
    assert len(sim.batches()[0]["items"]) == 72


@pytest.mark.slow
@pytest.mark.parametrize("api", list(MODELS))
def test_a_thousand_questions_score_alike_in_batches(
    cli: CommandLine, sim: Handle, shared_data: Path, api: str
) -> None:
    data = ("--data", str(shared_data / "mmlu"), "--family", "chat", "--limit", "1000", *QUICK)
    now = cli(*words(sim, api, *data, benchmark="mmlu"), **KEYS)
    later = cli(*words(sim, api, *data, "--mode", "batch", benchmark="mmlu"), **KEYS)

    assert (now.code, later.code) == (0, 0), later.err
    assert later.lines[-1]["metrics"] == alike(now.lines[-1]["metrics"])
    assert later.lines[-1]["done"] == 1000
    # A few questions occur twice in the data.
    counts = answered(sim)
    assert sum(int(times) * many for times, many in counts.items()) == 2000
    assert all(int(times) % 2 == 0 for times in counts)


@pytest.mark.slow
def test_turns_and_judges_are_waves_of_batches(
    cli: CommandLine, sim: Handle, shared_data: Path
) -> None:
    judge = f"openai/gpt-5-mini,base-url={sim.base_url('openai')}"
    data = ("--judge", judge, "--data", str(shared_data / "mt_bench"), "--limit", "16")
    now = cli(*words(sim, "anthropic", *data, "--json", "--yes", benchmark="mt-bench"), **KEYS)
    later = cli(
        *words(sim, "anthropic", *data, "--mode", "batch", *QUICK, benchmark="mt-bench"), **KEYS
    )

    assert (now.code, later.code) == (0, 0), later.err
    assert later.lines[-1]["metrics"] == alike(now.lines[-1]["metrics"])
    assert later.lines[-1]["spend_usd"] == pytest.approx(now.lines[-1]["spend_usd"] / 2)
    assert sorted((batch["api"], len(batch["items"])) for batch in sim.batches()) == [
        ("anthropic", 16),
        ("anthropic", 16),
        ("openai", 32),
    ]


def test_submit_leave_and_collect(cli: CommandLine, sim: Handle) -> None:
    sim.batch(running=3600.0)
    sent = cli(*words(sim, "openai", "--mode", "batch", "--submit-only", "--no-ui"), **KEYS)
    assert sent.code == 0, sent.err
    assert "waiting" in sent.out
    assert "evalbench collect" in sent.out

    early = cli("collect", "--json", **KEYS)
    assert early.code == 7
    [batch] = cli("batches", "--json").lines
    check_line(batch)
    assert (batch["stage"], batch["requests"]) == ("running", 72)
    listed = cli("batches")
    assert batch["name"] in listed.out

    sim.advance(4000)
    done = cli("collect", "--all", **KEYS)
    assert done.code == 0, done.err
    assert "complete" in done.out
    assert cli("collect").code == 0
    assert cli("batches", "--json").lines == []
    shown = cli("batches", "show", batch["name"])
    assert "72 of 72 read" in shown.out
    assert f"{batch['name']}.requests.jsonl" in shown.out
    assert answered(sim) == {"1": 72}


@pytest.mark.slow
def test_a_run_goes_on_elsewhere_from_a_copy_of_its_folder(
    cli: CommandLine, sim: Handle, tmp_path: Path
) -> None:
    sim.batch(running=3600.0)
    cli(*words(sim, "openai", "--mode", "batch", "--submit-only", *QUICK), **KEYS)
    [run] = cli.runs()
    copy = tmp_path / "elsewhere" / run.id
    shutil.copytree(run.path, copy)
    shutil.rmtree(run.path)
    sim.advance(4000)

    done = cli("collect", str(copy), "--json", **KEYS)

    assert done.code == 0, done.err
    assert done.lines[-1]["done"] == 72
    assert answered(sim) == {"1": 72}


@pytest.mark.slow
def test_a_batch_can_be_cancelled_from_outside(cli: CommandLine, sim: Handle) -> None:
    sim.batch(running=3600.0)
    cli(*words(sim, "openai", "--mode", "batch", "--submit-only", *QUICK), **KEYS)
    [batch] = cli("batches", "--json").lines
    sim.advance(1800)

    assert cli("batches", "cancel", batch["id"], **KEYS).code == 0
    sim.advance(1200)
    done = cli("collect", "--json", **KEYS)

    end = done.lines[-1]
    assert done.code == 2
    assert 0 < end["outcomes"]["error"] < 72
    assert end["done"] == 72
    assert cli("batches", "cancel", "nobody").code == 1


@pytest.mark.slow
def test_results_that_are_missing_are_fetched_by_a_resume(cli: CommandLine, sim: Handle) -> None:
    sim.fault(status=404, path="/content")
    # It is tried for a while, and by the next one again.
    cli(*words(sim, "openai", "--mode", "batch", "--submit-only", *QUICK), **KEYS)
    [run] = cli.runs()
    assert run.status().state == "waiting"
    _ten_minutes_later(run)

    given_up = cli("collect", "--json", **KEYS)
    assert given_up.code == 5
    assert given_up.lines[-1]["state"] == "failed"
    told = "1 batch has ended, but the results of 72 calls cannot be fetched"
    assert told in given_up.lines[-1]["problem"]
    [batch] = cli("batches", "--json").lines
    check_line(batch)
    assert (batch["stage"], float(batch["resend_cost"]) > 0) == ("unfetched", True)
    assert "ended, results not fetched" in cli("batches").out
    shown = cli("show", run.id)
    assert told in shown.out
    assert "72 calls; sending them again costs at most $" in shown.out
    as_json = cli("show", run.id, "--json").lines[0]
    check_line(as_json, of_show=True)
    assert as_json["unfetched"] == 72
    assert "its results were not fetched" in cli("batches", "cancel", batch["name"]).out
    again = cli("resume", run.id, "--submit-only", "--no-ui", **KEYS)
    assert again.code == 5
    assert f"evalbench resume {run.id} --resend-unfetched sends the 72 calls again" in again.out
    assert answered(sim) == {"1": 72}

    sim.no_faults()
    done = cli("collect", "--json", **KEYS)
    assert done.code == 0, done.err
    assert done.lines[-1]["done"] == 72
    assert answered(sim) == {"1": 72}


@pytest.mark.slow
def test_what_is_not_fetched_is_sent_again_when_that_is_said(cli: CommandLine, sim: Handle) -> None:
    sim.batch(times=1, gone=True)
    cli(*words(sim, "openai", "--mode", "batch", "--submit-only", *QUICK), **KEYS)
    [run] = cli.runs()
    _ten_minutes_later(run)
    assert cli("collect", **KEYS).code == 5

    sent = cli("resume", run.id, "--resend-unfetched", "--submit-only", "--no-ui", **KEYS)
    assert sent.code == 0, sent.err
    assert "72 calls; sending them again costs at most $" in sent.out
    assert "cannot be fetched: 72 calls; at most" in sent.out
    [status] = cli("show", run.id, "--json").lines
    assert (status["state"], status["done"], status["failed"]) == ("complete", 72, 0)
    assert status["possible_usd"] > 0
    assert answered(sim) == {"2": 72}


def _ten_minutes_later(run: Any) -> None:
    """Let results of a resting run have been missing for longer than they are tried for."""
    with sqlite3.connect(run.journal) as journal:
        [(number, body)] = journal.execute("SELECT id, body FROM batch").fetchall()
        held = json.loads(body)
        held["failing_since"] -= 1000
        journal.execute("UPDATE batch SET body = ? WHERE id = ?", (json.dumps(held), number))


def test_stragglers_are_asked_at_once_after_a_while(cli: CommandLine, sim: Handle) -> None:
    sim.batch(waiting=1e9)
    done = cli(*words(sim, "openai", "--mode", "batch", "--batch-fallback", "0s", *QUICK), **KEYS)
    assert done.code == 0, done.err
    assert done.lines[-1]["outcomes"]["error"] == 0
    assert answered(sim) == {"1": 72}


def test_a_cheap_run_does_not_wait_for_a_batch(cli: CommandLine, sim: Handle) -> None:
    done = cli(*words(sim, "openai", "--mode", "auto", "--limit", "5", *QUICK), **KEYS)
    assert done.code == 0, done.err
    assert not sim.batches()


@pytest.mark.parametrize(
    ("mode", "told"),
    [
        (("--mode", "batch", "--model", "local/smollm2-135m-instruct"), "takes no batches"),
        (("--mode", "later", "--model", "openai/gpt-4.1-mini"), "--mode"),
        (("--batch-fallback", "soon", "--model", "openai/gpt-4.1-mini"), "6h"),
    ],
)
def test_bad_wishes_are_told_with_the_cure(
    cli: CommandLine, mode: tuple[str, ...], told: str
) -> None:
    done = cli("run", "quickstart", *mode, "--yes", **KEYS)
    assert done.code == 1
    assert told in done.err
    assert cli.runs() == []


@pytest.mark.share(4)
@pytest.mark.parametrize("api", list(MODELS))
def test_engines_that_are_killed_lose_nothing_and_send_nothing_twice(
    cli: CommandLine, sim: Handle, api: str
) -> None:
    sim.batch(running=2.0)
    wanted = words(sim, api, "--mode", "batch", "--batch-size", "30", *QUICK, "--detach")
    cli(*wanted, **KEYS)
    [run] = cli.runs()
    for moment in ("submitting", "running", "fetched"):
        _kill_when(run, moment)
        again = cli("resume", run.id, "--detach", "--json", **KEYS)
        assert again.code == 0, again.err
    wait_until(lambda: run.status().at_rest, "the end")
    status = run.status()
    assert (status.state, status.done, status.failed) == ("complete", 72, 0)
    assert answered(sim) == {"1": 72}
    assert sum(len(batch["items"]) for batch in sim.batches()) == 72


def _kill_when(run: Any, stage: str) -> None:
    """Kill the run's engine once a batch of it has come so far, or it has ended."""
    order = ("collecting", "prepared", "uploaded", "submitting", "submitted", "running", "ended")

    def far_enough() -> bool:
        status = run.status()
        stages = [batch["stage"] for batch in status.batches]
        later = order[order.index(stage) :] if stage in order else ("fetched", "done")
        return status.at_rest or any(one in (*later, "fetched", "done") for one in stages)

    wait_until(far_enough, f"a batch that is {stage}")
    pid = run.live_pid()
    if pid is not None:
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not psutil.pid_exists(pid) or run.live_pid() is None, "its end")
