"""Traces from the command line: every call once, no key anywhere, and a run that does not care."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from evalbench.engine.runs.status import State
from tests.e2e.commandline import CommandLine, wait_until
from tests.e2e.schema import check_line
from tests.simulator.collector import Collector, collecting
from tests.simulator.handle import Handle

KEY = "sk-proj-PLANTEDplantedPLANTED0123456789abcd"
HEADERS = "Authorization=Basic UExBTlRFRC1IRUFERVI="
SCRIPTED = ("--model", "scripted/good")


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as found:
        yield found


def files_with(text: str, folder: Path) -> list[Path]:
    found = (file for file in folder.rglob("*") if file.is_file())
    return [file for file in found if text.encode() in file.read_bytes()]


def test_every_call_arrives_once_and_the_end_says_so(
    cli: CommandLine, collector: Collector
) -> None:
    words = ("run", "two-turn", "--size", "20", *SCRIPTED, "--otlp", collector.address)
    done = cli(*words, "--json", OTEL_EXPORTER_OTLP_HEADERS=HEADERS)

    assert done.code == 0, done.err
    for line in done.lines:
        check_line(line)
    assert done.lines[-1]["traces"] == [
        {
            "to": f"{collector.address}/v1/traces",
            "service": "otlp",
            "content": False,
            "sent": 80,
            "left": 0,
            "refused": 0,
            "why": "",
            "links": {},
        }
    ]
    assert len(collector.calls()) == len({span.id for span in collector.calls()}) == 80
    assert Counter(span.trace for span in collector.calls()).most_common()[-1][1] == 4
    assert len(collector.roots()) == 20
    assert collector.spans[-1].attributes["evalbench.run.state"] == "complete"
    assert {span.headers["authorization"] for span in collector.spans} == {
        "Basic UExBTlRFRC1IRUFERVI="
    }
    assert b"Riddle" not in collector.everything()
    assert "UExBTlRF" not in done.out + done.err
    assert files_with("UExBTlRF", cli.home) == []

    shown = cli("show", "last")
    assert "traces    80 calls sent to 127.0.0.1:" in shown.out
    for line in cli("show", "last", "--json").lines:
        check_line(line, of_show=True)
        assert line["traces"] == done.lines[-1]["traces"]

    again = cli("trace", "last", "--json")
    check_line(again.lines[0])
    assert (again.code, again.lines[0]["traces"][0]["sent"]) == (0, 0)
    full = cli("trace", "last", "--otlp", f"{collector.address}/full", "--otlp-content")
    assert (full.code, full.out.split()[:2]) == (0, ["traces", "80"])
    assert len(collector.calls()) == 160
    assert b"Riddle 3: which" in collector.everything()


@pytest.mark.slow
def test_a_resume_sends_the_calls_that_are_new(cli: CommandLine, collector: Collector) -> None:
    fault = '{"class": "CallRejected", "every": 10}'
    words = ("run", "synthetic", "--size", "40", *SCRIPTED, "--otlp", collector.address)
    first = cli(*words, "--json", SCRIPTED_FAULT=fault)
    assert first.code == 2, first.err
    failed = first.lines[-1]["failed"]
    assert len(collector.calls()) == 40
    assert len([span for span in collector.calls() if span.error]) == failed > 0

    second = cli("resume", "last", "--json")
    assert second.code == 0, second.err
    assert second.lines[-1]["traces"][0]["sent"] == failed
    assert len(collector.calls()) == len({span.id for span in collector.calls()}) == 40 + failed
    runs = [span for span in collector.spans if span.name == "run synthetic"]
    assert len({span.id for span in runs}) == 2
    assert len({span.trace for span in runs}) == 1


@pytest.mark.slow
def test_a_collector_that_is_not_there_changes_nothing(cli: CommandLine, tmp_path: Path) -> None:
    with collecting() as gone:
        address = gone.address
    done = cli("run", "synthetic", "--size", "20", *SCRIPTED, "--otlp", address)
    assert done.code == 0, done.err
    assert "traces    0 calls sent to 127.0.0.1:" in done.out
    assert "20 not sent; the collector cannot be reached" in done.out
    rest = f"evalbench trace {cli.only_run().id}"
    assert rest in done.out
    with collecting() as there:
        told = cli("trace", "last", "--otlp", there.address)
        assert told.code == 0, told.err
        assert len(there.calls()) == 20


@pytest.mark.slow
def test_a_collector_that_hangs_keeps_no_run_running(
    cli: CommandLine, collector: Collector
) -> None:
    collector.hold.clear()
    child = cli.start("run", "synthetic", "--size", "20", *SCRIPTED, "--otlp", collector.address)
    run = wait_until(lambda: cli.runs() and cli.only_run(), "a run")
    # It is complete while its traces are still on their way.
    wait_until(lambda: run.status().tracing, "the last traces")
    status = run.status()
    assert (status.state, status.exit_code, status.done) == (State.COMPLETE, 0, 20)
    done = cli.finish(child)
    assert done.code == 0, done.out + done.err
    assert f"send the rest: evalbench trace {run.id}" in done.out
    assert not run.status().tracing
    assert [file.name for file in run.path.glob("journal.db*")] == ["journal.db"]
    collector.hold.set()
    told = cli("trace", "last")
    assert told.code == 0, told.out + told.err
    assert len({span.id for span in collector.calls()}) == 20


@pytest.mark.slow
def test_neither_keys_nor_the_words_of_judges_leave_unasked(
    cli: CommandLine, sim: Handle, collector: Collector
) -> None:
    place = sim.base_url("openai")
    words = ("run", "judged", "--size", "10", "--model", "openai/gpt-4.1-mini", "--base-url", place)
    judges = ("--judge", "scripted/good", "--judge", f"openai/gpt-4.1,base_url={place}")
    env = {"OPENAI_API_KEY": KEY, "OTEL_EXPORTER_OTLP_HEADERS": HEADERS}
    for more in ((), ("--otlp-content",)):
        collector.spans.clear()
        done = cli(*words, *judges, "--otlp", collector.address, *more, "--yes", **env)
        assert done.code == 0, done.out + done.err
        models = Counter(
            (span.attributes["evalbench.role"], span.attributes["gen_ai.request.model"])
            for span in collector.calls()
        )
        assert models == {
            ("candidate", "gpt-4.1-mini"): 10,
            ("judge", "good"): 10,
            ("judge", "gpt-4.1"): 10,
        }
        asked = [s for s in collector.calls() if s.attributes["gen_ai.provider.name"] == "openai"]
        assert {span.attributes["server.address"] for span in asked} == {"127.0.0.1"}
        assert all(span.attributes["gen_ai.usage.input_tokens"] for span in asked)
        assert (b"Grade" in collector.everything()) is bool(more)
    assert KEY.encode() not in collector.everything()
    assert files_with(KEY, cli.home) == []


@pytest.mark.slow
def test_calls_of_batches_are_told_as_such(
    cli: CommandLine, sim: Handle, collector: Collector
) -> None:
    done = cli(
        *("run", "quickstart", "--model", "openai/gpt-4.1-mini", "--limit", "12"),
        *("--base-url", sim.base_url("openai"), "--mode", "batch", "--batch-poll", "0.05"),
        *("--otlp", collector.address, "--yes", "--json"),
        OPENAI_API_KEY=KEY,
    )
    assert done.code == 0, done.err
    assert len(collector.calls()) == 12
    assert all(span.attributes["evalbench.call.batched"] for span in collector.calls())
    assert all(span.attributes["gen_ai.usage.cost"] > 0 for span in collector.calls())


@pytest.mark.slow
def test_galileo_and_another_are_told_with_keys_of_the_keychain(
    cli: CommandLine, keychain: Path, collector: Collector
) -> None:
    key, header = "galileo-PLANTED-0123456789", "x-key=PLANTED%20HEADER"
    kept = [cli.feed(key, "keys", "set", "galileo"), cli.feed(header, "keys", "set", "otlp")]
    assert [done.code for done in kept] == [0, 0], kept
    done = cli(
        *("run", "synthetic", "--size", "10", *SCRIPTED, "--otlp", f"{collector.address}/v1"),
        *("--enable-galileo", "--galileo-project", "MyFirstEvaluation"),
        *("--galileo-log-stream", "scripted", "--galileo-console-url", collector.address),
    )
    assert done.code == 0, done.err
    link = f"{collector.address}/project/p-0"
    assert f"project: {link}\n" in done.out
    assert f"log stream: {link}/log-streams/s-0\n" in done.out
    assert link in cli("show", "last").out
    names = ("galileo-api-key", "project", "logstream", "x-key")
    told = Counter(tuple(span.headers.get(name) for name in names) for span in collector.calls())
    assert told == {
        (key, "MyFirstEvaluation", "scripted", None): 10,
        (None, None, None, "PLANTED HEADER"): 10,
    }
    paths = {path for _, path, _ in collector.seen if path.endswith("traces")}
    assert paths == {"/otel/traces", "/v1/v1/traces"}
    assert "PLANTED" not in done.out + done.err + kept[0].out + kept[1].out
    assert files_with("PLANTED", cli.home) == []

    cli.env["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
    refused = cli("run", "synthetic", *SCRIPTED, "--enable-galileo")
    assert refused.code == 5
    assert "galileo" in refused.err
    assert len(cli.runs()) == 1, "nothing was started"


@pytest.mark.slow
def test_who_sends_ends_with_an_engine_that_is_killed(
    slow: CommandLine, collector: Collector
) -> None:
    child = slow.start("run", "synthetic", *SCRIPTED, "--otlp", collector.address, "--json")
    run = slow.answering()
    pid = run.live_pid()
    assert pid
    (sender,) = wait_until(lambda: psutil.Process(pid).children(), "the process that sends")
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not sender.is_running(), "its end")
    assert slow.finish(child).code == 6
    resumed = slow("resume", run.id, "--json", SCRIPTED_LATENCY="0")
    assert resumed.code == 0, resumed.err
    assert resumed.lines[-1]["traces"][0]["left"] == 0
    assert len({span.id for span in collector.calls()}) >= 500
