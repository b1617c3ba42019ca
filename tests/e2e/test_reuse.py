"""Replies of earlier runs from the command line: nothing is asked, all is marked."""

from __future__ import annotations

import os
import signal
import zlib
from pathlib import Path

import pytest

from evalbench.engine.journal import JournalReader
from evalbench.engine.journal.reader import reused_replies
from evalbench.engine.runs.folder import RunFolder
from tests.contract.local import tiny
from tests.e2e.commandline import CommandLine, alike, wait_until
from tests.e2e.test_planted_key import files_with, told_by_journal
from tests.faults.engines import Ledger
from tests.simulator.handle import Handle

KEY = "gsk_PLANTEDplantedPLANTED0123456789abcdefgh"


def reused(run: RunFolder) -> dict[str, int]:
    with JournalReader(run.journal) as journal:
        return journal.query(reused_replies)


def newest(cli: CommandLine) -> RunFolder:
    return max(cli.runs(), key=lambda run: run.status().created)


@pytest.mark.slow
def test_a_second_run_asks_nothing_and_says_so(cli: CommandLine, sim: Handle) -> None:
    words = (
        "run", "quickstart", "--model", "groq/llama-3.1-8b-instant",
        "--base-url", sim.base_url("groq"), "--limit", "12", "--json",
    )  # fmt: skip
    cli.env["GROQ_API_KEY"] = KEY
    first = cli(*words).lines[-1]
    asked = len(sim.entries())
    assert asked >= 12
    assert (first["exit_code"], first["reused"]) == (0, 0)

    estimated = cli("estimate", *words[1:], "--reuse").lines[0]
    [role] = estimated["roles"]
    assert (role["reused"], role["calls"], estimated["realtime"]) == ([12, 12], [0, 0], [0, 0])

    done = cli(*words, "--reuse", "--budget", "0")
    second = done.lines[-1]
    assert (second["exit_code"], second["reused"], second["spend_usd"]) == (0, 12, 0)
    assert second["metrics"] == alike(first["metrics"])
    assert len(sim.entries()) == asked
    run = newest(cli)
    assert reused(run) == {first["run"]: 12}
    shown = cli("show", run.id, "--json").lines[0]
    assert (shown["sent"], shown["reused"], shown["input_tokens"]) == (0, 12, 0)
    assert shown["reused_of"] == {first["run"]: 12}
    told = f"12 replies of earlier runs (12 of {first['run']}), which cost nothing here"
    assert told in cli("show", run.id).out
    assert f"taken from run {first['run']}, given on" in cli("show", run.id, "--sample", "1").out
    report = cli.home / "report.md"
    assert cli("report", run.id, "-o", str(report)).code == 0
    assert told in report.read_text("utf-8")
    table = cli.home / "run.csv"
    assert cli("export", run.id, "-o", str(table)).code == 0
    header, line, *_ = table.read_text("utf-8").splitlines()
    assert line.split(",")[header.split(",").index("run")] == run.id
    assert "reused" in header.split(",")

    # Another temperature is another question, and failures are never taken.
    changed = cli(*words, "--reuse", "--temperature", "0.7").lines[-1]
    assert (changed["exit_code"], changed["reused"]) == (0, 0)
    assert len(sim.entries()) == asked + 12
    assert files_with(KEY.encode(), cli.home) == []
    assert not any(KEY.encode() in text for one in cli.runs() for text in told_by_journal(one))


def test_what_is_missing_is_asked_also_after_a_kill(cli: CommandLine, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    cli.env |= {"SCRIPTED_LEDGER": str(ledger.path)}
    words = ("run", "synthetic", "--model", "scripted/good", "--concurrency", "2", "--json")
    assert cli(*words, "--size", "20").code == 0
    paid = ledger.asked()
    assert len(paid) == 20

    child = cli.start(*words, "--size", "40", "--reuse", SCRIPTED_LATENCY="0.2")
    wait_until(lambda: len(ledger.answered()) > 22, "replies to new calls")
    run = newest(cli)
    pid = run.live_pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    cli.finish(child)
    assert cli("resume", run.id, "--json").code == 0
    status = run.status()
    assert (status.state, status.done, status.failed, status.reused) == ("complete", 40, 0, 20)
    assert sum(reused(run).values()) == 20
    assert all(ledger.asked()[digest] == 1 for digest in paid)
    assert len(ledger.asked()) == 40


def test_a_second_epoch_is_asked(cli: CommandLine) -> None:
    words = ("run", "synthetic", "--model", "scripted/good", "--size", "10", "--json")
    assert cli(*words).code == 0
    assert cli(*words, "--epochs", "2", "--reuse").lines[-1]["reused"] == 10
    status = newest(cli).status()
    assert (status.sent, status.done) == (10, 20)


def picture(shade: int) -> bytes:
    """A picture of one grey point."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        whole = kind + body
        return len(body).to_bytes(4, "big") + whole + zlib.crc32(whole).to_bytes(4, "big")

    head = (1).to_bytes(4, "big") * 2 + bytes([8, 0, 0, 0, 0])
    pixels = zlib.compress(bytes([0, shade]))
    parts = chunk(b"IHDR", head), chunk(b"IDAT", pixels), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.mark.slow
def test_other_bytes_of_a_picture_are_asked(cli: CommandLine, sim: Handle) -> None:
    here = cli.home.parent
    (here / "seen.toml").write_text(
        '[benchmark]\ntitle = "Seen"\ndata = "seen.csv"\n'
        '[prompt]\ntemplate = "{{ question }}"\nimages = ["image"]\nmax_tokens = 8\n'
        '[answer]\ntarget = "answer"\nscorer = "exact"\n',
        "utf-8",
    )
    rows = ["question,image,answer", "Grey?,one.png,yes", "White?,two.png,no"]
    (here / "seen.csv").write_text("\n".join(rows) + "\n", "utf-8")
    for name, shade in (("one.png", 100), ("two.png", 200)):
        (here / name).write_bytes(picture(shade))
    cli.env["OPENAI_API_KEY"] = "sk-proj-" + "y" * 60
    words = (
        "run", "seen.toml", "--model", "openai/gpt-4.1-mini", "--base-url", sim.base_url("openai"),
        "--json", "--reuse",
    )  # fmt: skip
    first = cli(*words)
    assert first.code == 0, first.err
    assert cli(*words).lines[-1]["reused"] == 2
    asked = len(sim.entries())
    (here / "two.png").write_bytes(picture(201))
    assert cli(*words).lines[-1]["reused"] == 1
    assert len(sim.entries()) == asked + 1


@pytest.mark.local
def test_a_local_model_is_loaded_to_see_that_it_is_the_same(
    cli: CommandLine, tmp_path: Path
) -> None:
    model = f"local/{tiny.make_llama(tmp_path / 'llama', max_position_embeddings=4096)}"
    words = ("run", "quickstart", "--model", model, "--limit", "8", "--json", "--max-tokens", "4")
    first = cli(*words)
    assert first.code == 0, first.err
    second = cli(*words, "--reuse").lines[-1]
    assert second["metrics"] == alike(first.lines[-1]["metrics"])
    status = newest(cli).status()
    assert (status.sent, status.reused) == (1, 7)
