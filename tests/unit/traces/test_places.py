"""Where traces go, what that takes, and the process beside the engine."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.config.spec import RunSpec, make_spec
from evalbench.engine.config.traces import GALILEO, OTLP, Destination, destinations
from evalbench.engine.errors import KeyUnavailable, SpecError
from evalbench.engine.keys import KeySource, key_needs, provider_variables
from evalbench.engine.telemetry import credentials, galileo, supervisor
from evalbench.engine.telemetry.credentials import trace_keys
from evalbench.engine.telemetry.supervisor import TraceSupervisor
from tests.simulator.collector import Collector
from tests.unit.traces.conftest import Story

HEADERS = "Authorization=Basic cGxhbnRlZA=="


def spec(**common: Any) -> RunSpec:
    return make_spec("quickstart", "local/smollm2-135m-instruct", **common)


def places(**common: Any) -> list[Destination]:
    return destinations(spec(**common).settings.traces, "quickstart", "RUN")


@pytest.mark.parametrize(
    ("given", "posted_to"),
    [
        ("http://localhost:6006", "http://localhost:6006/v1/traces"),
        ("http://localhost:4318/", "http://localhost:4318/v1/traces"),
        ("https://a.example/api/public/otel", "https://a.example/api/public/otel/v1/traces"),
        ("https://a.example/v1/traces", "https://a.example/v1/traces"),
        ("https://api.galileo.ai/otel/traces", "https://api.galileo.ai/otel/traces"),
    ],
)
def test_an_address_says_where_spans_are_posted_to(given: str, posted_to: str) -> None:
    assert places(otlp=given) == [Destination(OTLP, posted_to)]


@pytest.mark.parametrize(
    "address",
    ["localhost:4318", "ftp://a.example", "http://", "http://a:b@c.example", "http://a?key=s3cret"],
)
@pytest.mark.parametrize("name", ["otlp", "galileo_console_url", "galileo_api_url"])
def test_what_cannot_be_one_is_refused_unrepeated(name: str, address: str) -> None:
    with pytest.raises(SpecError) as caught:
        spec(**{name: address})
    assert caught.value.field == name
    assert "s3cret" not in str(caught.value)
    assert "a:b" not in str(caught.value)


def test_nothing_is_sent_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GALILEO_PROJECT", "mine")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a.example")
    assert places() == []
    assert spec().get("galileo_project") is None
    assert trace_keys(spec()) == {}


def test_galileo_is_named_by_flags_then_by_its_variables_then_by_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("PROJECT", "LOG_STREAM", "CONSOLE_URL", "API_URL"):
        monkeypatch.delenv(f"GALILEO_{name}", raising=False)
    (place,) = places(enable_galileo=True, otlp_content=True)
    assert place == Destination(
        GALILEO,
        "https://api.galileo.ai/otel/traces",
        True,
        "evalbench-quickstart",
        "RUN",
        "https://app.galileo.ai",
    )
    monkeypatch.setenv("GALILEO_PROJECT", "mine")
    monkeypatch.setenv("GALILEO_CONSOLE_URL", "https://console.galileo.mine.example/")
    (place,) = places(enable_galileo=True, galileo_log_stream="stream")
    assert place.endpoint == "https://api.galileo.mine.example/otel/traces"
    assert (place.project, place.log_stream) == ("mine", "stream")
    (place,) = places(enable_galileo=True, galileo_project="given")
    assert place.project == "given"
    monkeypatch.setenv("GALILEO_API_URL", "https://traces.mine.example/")
    (place,) = places(enable_galileo=True)
    assert place.endpoint == "https://traces.mine.example/otel/traces"
    assert place.console == "https://console.galileo.mine.example"


def test_settings_stand_in_the_env_file_beside_the_key(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / ".env"
    file.write_text(
        "GALILEO_API_KEY=secret-of-the-file\nGALILEO_PROJECT='from the file'\n"
        "GALILEO_LOG_STREAM=stream # of the file\n"
        "export GALILEO_CONSOLE_URL=https://console.galileo.file.example\nAWS_REGION=eu-west-9\n"
    )
    monkeypatch.setenv("GALILEO_PROJECT", "of the environment")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    (place,) = places(enable_galileo=True, env_file=str(file))
    assert (place.project, place.log_stream) == ("from the file", "stream")
    assert place.endpoint == "https://api.galileo.file.example/otel/traces"
    (place,) = places(enable_galileo=True, env_file=str(file), galileo_project="flag")
    assert place.project == "flag"
    made = make_spec("quickstart", "bedrock/anthropic.claude-haiku-4-5", env_file=str(file))
    assert made.provider_options["region"] == "eu-west-9"
    judged = make_spec(
        "mt-bench",
        "local/smollm2-135m-instruct",
        env_file=str(file),
        judge=["bedrock/anthropic.claude-haiku-4-5", "bedrock/other.model,region=eu-west-1"],
    )
    regions = [part.provider_options["region"] for part in [*judged.roles().values()][1:]]
    assert regions == ["eu-west-9", "eu-west-1"]
    assert "secret" not in str([made.to_json(), judged.to_json()])
    file.write_text(file.read_text() + "GALILEO_API_URL=https://api.file.example\n")
    (place,) = places(enable_galileo=True, env_file=str(file))
    assert place.endpoint == "https://api.file.example/otel/traces"
    file.unlink()
    assert make_spec("quickstart", "bedrock/x.y", env_file=str(file)).provider_options["region"]


def test_headers_come_from_the_environment_spaces_and_all(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wanted = spec(otlp="http://localhost:4318")
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", raising=False)
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_HEADERS", raising=False)
    assert trace_keys(wanted)[OTLP][1] == ""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", HEADERS)
    ref, secret = trace_keys(wanted)[OTLP]
    assert (ref.source, secret) == (KeySource.ENVIRONMENT, HEADERS)
    file = tmp_path / "keys.env"
    file.write_text('OTEL_EXPORTER_OTLP_HEADERS="x-key=of a file"\n')
    ref, secret = trace_keys(spec(otlp="http://localhost:4318", env_file=str(file)))[OTLP]
    assert (ref.source, secret) == (KeySource.FILE, "x-key=of a file")


def test_galileo_needs_its_key(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GALILEO_API_KEY", raising=False)
    with pytest.raises(KeyUnavailable):
        trace_keys(spec(enable_galileo=True))
    monkeypatch.setenv("GALILEO_API_KEY", "gk-0123456789")
    assert trace_keys(spec(enable_galileo=True))[GALILEO][1] == "gk-0123456789"


def test_without_the_package_nothing_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "find_spec", lambda name: None)
    with pytest.raises(SpecError, match=r"\[otlp\]"):
        trace_keys(spec(otlp="http://localhost:4318"))


def test_such_keys_are_kept_and_hidden_like_others() -> None:
    assert {"galileo", "otlp"} <= set(key_needs())
    needs = (key_needs()[name] for name in ("galileo", "otlp"))
    assert {name for need in needs for name in need.variables} <= provider_variables()


def place_at(collector: Collector) -> Destination:
    return Destination(
        GALILEO, f"{collector.address}/otel/traces", False, "mine", "stream", "https://c.example"
    )


def test_project_and_log_stream_are_found_or_made(collector: Collector) -> None:
    told = galileo.links(place_at(collector), "gk-1")
    assert told == {
        "console": "https://c.example",
        "project": "https://c.example/project/p-0",
        "log_stream": "https://c.example/project/p-0/log-streams/s-0",
    }
    assert galileo.links(place_at(collector), "gk-1") == told
    assert (list(collector.projects), list(collector.streams)) == (["mine"], ["stream"])
    assert {heads.get("Galileo-API-Key") for _, _, heads in collector.seen} == {"gk-1"}


@pytest.mark.parametrize("ident", ["../evil", "\x1b[2J", ""])
def test_an_api_that_says_something_else_gives_only_the_console(
    collector: Collector, ident: str
) -> None:
    collector.projects["mine"] = ident
    assert galileo.links(place_at(collector), "gk-1")["project"] == ""
    collector.galileo = False
    told = galileo.links(place_at(collector), "gk-1")
    assert told == {"console": "https://c.example", "project": "", "log_stream": ""}


@pytest.mark.parametrize("status", [300, 302, 404, 500])
def test_a_good_answer_with_a_bad_status_is_none(collector: Collector, status: int) -> None:
    collector.projects["mine"] = "p-0"
    collector.api_status = status
    assert galileo.links(place_at(collector), "gk-1")["project"] == ""
    collector.api_status = 201
    assert galileo.links(place_at(collector), "gk-1")["project"] == "https://c.example/project/p-0"


# -- the process beside the engine ------------------------------------------------


async def test_it_tells_while_the_engine_works_and_the_rest_at_the_end(
    story: Story, collector: Collector
) -> None:
    await story.finished(1)
    traces = TraceSupervisor(story.folder, spec(otlp=collector.address), {OTLP: HEADERS})
    await traces.start()
    end = time.monotonic() + 60
    while not collector.spans:
        assert time.monotonic() < end
        await asyncio.sleep(0.05)
    await story.finished(2)
    (report,) = await traces.end()
    assert (report["sent"], report["left"], report["why"]) == (4, 0, "")
    assert len(collector.calls()) == 4
    assert {span.headers["authorization"] for span in collector.spans} == {"Basic cGxhbnRlZA=="}
    assert collector.spans[-1].name == "run mt-bench"
    files = b"".join(path.read_bytes() for path in story.folder.path.iterdir() if path.is_file())
    assert b"cGxhbnRlZA" not in files


async def test_a_collector_that_hangs_is_waited_for_no_longer_than_said(
    story: Story, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "WITHIN_S", 0.2)
    monkeypatch.setattr(supervisor, "_OVERTIME_S", 0.8)
    collector.hold.clear()
    await story.finished(1)
    traces = TraceSupervisor(story.folder, spec(otlp=collector.address), {})
    await traces.start()
    began = time.monotonic()
    (report,) = await traces.end()
    # It was asked to be quick, or it was ended; neither takes as long as the collector would.
    assert time.monotonic() - began < 30
    assert report["why"]
    assert collector.spans == []


async def test_it_ends_with_the_engine(story: Story, collector: Collector) -> None:
    traces = TraceSupervisor(story.folder, spec(otlp=collector.address), {})
    await traces.start()
    ((_, child),) = traces._children
    assert child.stdin
    child.stdin.close()
    assert await asyncio.wait_for(child.wait(), 60) == 0


async def test_a_run_that_cannot_be_read_is_a_report(story: Story, collector: Collector) -> None:
    story.folder.journal.write_bytes(b"not a journal at all")
    traces = TraceSupervisor(story.folder, spec(otlp=collector.address), {})
    await traces.start()
    (report,) = await traces.end()
    assert "not a readable journal" in report["why"]
    assert (report["sent"], report["left"]) == (0, None)
