"""A key is planted, used in every way, and then looked for everywhere it must not be."""

from __future__ import annotations

import contextlib
import html
import json
import os
from collections.abc import Iterator
from pathlib import Path

import orjson
import psutil
import pytest

from evalbench.engine.calls.replies import reply_to_json
from evalbench.engine.errors import EvalbenchError
from evalbench.engine.formats import FORMATS, export_runs
from evalbench.engine.journal import JournalReader
from evalbench.engine.runs.folder import RunFolder
from tests.e2e.commandline import CommandLine, Finished, wait_until
from tests.simulator.collector import collecting
from tests.simulator.handle import Handle
from tests.spellings import escaped, spellings

pytestmark = pytest.mark.cold

PLANTED = {
    "anthropic": ("sk-ant-api03-PLANTEDplantedPLANTED0123456789", "claude-haiku-4-5"),
    "openai": ("sk-proj-PLANTEDplantedPLANTED0123456789abcd", "gpt-4.1-mini"),
    "groq": ("gsk_PLANTEDplantedPLANTED0123456789abcdefgh", "llama-3.1-8b-instant"),
}


def processes_with(key: bytes) -> list[str]:
    """What is in sight of other processes: command lines and environments that hold ``key``."""
    hits = []
    for place in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            try:
                if key in (place / name).read_bytes():
                    hits.append(f"{place / name}")
            except OSError:
                continue
    return hits


def files_with(key: bytes, folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file() and key in file.read_bytes()]


def in_sight_of_others(folder: Path) -> list[Path]:
    """Files that other users of this machine can reach and read."""
    closed = {
        path for path in folder.rglob("*") if path.is_dir() and not path.stat().st_mode & 0o77
    }
    return [
        file
        for file in folder.rglob("*")
        if file.is_file() and file.stat().st_mode & 0o77 and not closed & set(file.parents)
    ]


def told_by_journal(run: RunFolder) -> Iterator[bytes]:
    """Everything a journal says, decoded: it is compressed on disk."""
    with JournalReader(run.journal) as journal:
        for key, value in journal._rows("SELECT key, value FROM run"):
            yield f"{key} ".encode() + bytes(value)
        for event in journal.events():
            yield orjson.dumps([event.kind, event.body])
        for sample in journal.samples():
            yield repr(sample).encode()
            for call in journal.calls(sample.row):
                yield repr(call.prompt).encode()
                if call.reply:
                    yield orjson.dumps(reply_to_json(call.reply))
        for score in journal.scores():
            yield repr(score).encode()


@pytest.mark.slow
@pytest.mark.parametrize("provider", list(PLANTED))
def test_a_planted_key_is_nowhere_but_in_the_keychain(
    cli: CommandLine, keychain: Path, sim: Handle, provider: str
) -> None:
    key, model = PLANTED[provider]
    there = ("--base-url", sim.base_url(provider))
    said: list[Finished] = [
        cli.feed(key, "keys", "set", provider, *there),
        cli("keys", "test", provider, *there),
        cli("keys", "list"),
        cli("models", provider, *there),
        cli("doctor"),
    ]
    assert [done.code for done in said] == [0] * len(said), said

    # Providers repeat what they were sent: here even the key.
    echo = orjson.dumps({"error": {"type": "invalid_request_error", "message": f"got {key}"}})
    sim.fault(status=400, body=echo.decode(), every=7)
    sim.fault(status=503, message=f"no room for {key}", every=11)
    sim.latency(0.2)
    words = ("run", "quickstart", "--model", f"{provider}/{model}", *there, "--concurrency", "4")
    child = cli.start(*words, "--json")
    run = cli.answering()
    engine = psutil.Process(run.live_pid())
    assert processes_with(key.encode()) == []
    assert key not in " ".join([*engine.cmdline(), *engine.environ().values()])
    said += [cli("stop", run.id), cli.finish(child)]

    # The key in the environment of the command must not reach the engine's.
    child = cli.start("resume", run.id, "--json", **{f"{provider.upper()}_API_KEY": key})
    pid = wait_until(run.live_pid, "the second engine")
    assert key.encode() not in Path(f"/proc/{pid}/environ").read_bytes()
    sim.latency(0)
    said.append(cli.finish(child))

    sim.no_faults()
    sim.fault(status=401, body=echo.decode())
    said.append(cli(*words, "--limit", "5"))
    assert said[-1].code == 5
    said += [cli("show", run.id), cli("show", run.id, "--json"), cli("runs", "--json")]
    reports = [str(run.path / name) for name in ("report.html", "report.md")]
    said.append(cli("report", run.id, "-o", reports[0], "-o", reports[1]))
    assert said[-1].code == 0

    for ending in ("json", "csv", "xml"):
        said.append(cli("export", run.id, "-o", str(cli.home / f"exported.{ending}")))
        assert said[-1].code == 0

    for done in said:
        assert key not in done.out + done.err
    assert files_with(key.encode(), cli.home) == []
    assert in_sight_of_others(cli.home) == []
    assert {run.path.stat().st_mode & 0o777 for run in cli.runs()} == {0o700}
    assert len(cli.runs()) == 2
    told = {one.id: b"\n".join(told_by_journal(one)) for one in cli.runs()}
    assert all(b'"source":"' in text for text in told.values()), "where the key lay is recorded"
    assert b"got [key" in told[run.id], "so is what the provider said, without the key"
    assert not [ident for ident, text in told.items() if key.encode() in text]
    assert files_with(key.encode(), keychain.parent) == [keychain]


SPELLED = "sk-proj-PLANTED/plAnted+PLANTED0123456789=="


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["realtime", "batch"])
def test_no_spelling_of_a_planted_key_is_kept_or_shown(
    cli: CommandLine, sim: Handle, mode: str
) -> None:
    cli.env |= {"OPENAI_API_KEY": SPELLED}
    every = spellings(SPELLED)
    answers = [f"{name} {text}" for name, text in every.items()]
    sim.rule(".", text="\n".join(answers).replace("\\", "\\\\"))
    body = f'{{"error":{{"message":"got {escaped(SPELLED)["every letter"]}","type":"x"}}}}'
    sim.fault(status=500, body=body, path="completions", nth=[1, 2])
    words = ("run", "quickstart", "--model", "openai/gpt-4.1-mini", "--limit", "4")
    with collecting() as collector:
        there = ("--base-url", sim.base_url("openai"), "--mode", mode, "--batch-poll", "0.1")
        traced = ("--otlp", collector.address, "--otlp-content")
        said = [cli(*words, *there, *traced, "--json")]
        assert said[0].code in (0, 2), said[0]
        traces = b"\n".join(collector.bodies).decode("utf-8", "replace")
        assert "[key removed]" in traces
    run = cli.only_run()
    said += [cli("show", run.id), cli("show", run.id, "--json"), cli("runs", "--json")]
    said.append(cli("show", run.id, "--sample", "1"))
    outputs = [str(cli.home / f"report.{ending}") for ending in ("html", "md")]
    said.append(cli("report", run.id, "-o", outputs[0], "-o", outputs[1]))
    written = 0
    for name in FORMATS:
        folder = cli.home / f"exported-{name}"
        for place in (folder, folder / "file"):
            # Some formats are for other benchmarks, and some make one file.
            with contextlib.suppress(EvalbenchError):
                written += len(export_runs([run], name, place).files)
    assert written > 3
    told = b"\n".join(told_by_journal(run)).decode()
    assert "[key removed]" in told
    kept = [
        file.read_bytes().decode("utf-8", "replace")
        for file in cli.home.rglob("*")
        if file.is_file()
    ]
    assert any("[key removed]" in text for text in kept)
    shown = "\n".join([told, traces, *kept, *(done.out + done.err for done in said)])
    shown = f"{shown}\n{html.unescape(shown)}".lower()
    left = [name for name, text in every.items() if text.lower() in shown]
    left += [name for name, text in every.items() if json.dumps(text)[1:-1].lower() in shown]
    assert left == []


def test_the_search_can_find(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"...PLANTED...")
    assert files_with(b"PLANTED", tmp_path) == [tmp_path / "file"]
    assert in_sight_of_others(tmp_path) == [tmp_path / "file"]
    (tmp_path / "shut").mkdir(mode=0o700)
    (tmp_path / "file").rename(tmp_path / "shut" / "file")
    assert in_sight_of_others(tmp_path) == []
    own = f"{os.environ['PATH']}".encode()
    assert f"/proc/{os.getpid()}/environ" in processes_with(own)
