"""A run's folder names an address: a key goes there only where this user has sent it before."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalbench import run as api
from evalbench.engine import preflight
from evalbench.engine.config.spec import RunSpec, make_spec
from evalbench.engine.errors import SpecError
from evalbench.engine.keys import fingerprint
from evalbench.engine.keys.known_hosts import hosts_of, remember_hosts
from evalbench.engine.process import launch as process
from evalbench.engine.process import run_keys
from evalbench.engine.process.run_keys import (
    KeyDestination,
    keys_bound,
    remember_place,
    unknown_hosts,
)
from evalbench.engine.record_schemas import BatchStatus
from evalbench.engine.runs.folder import RunFolder, make_run
from evalbench.engine.runs.status import State
from evalbench.tui.cli import confirm, key_hosts
from evalbench.tui.cli.main import main

KEY = "sk-mine-0123456789abcdef"
EVIL = "https://evil.example/v1"


@pytest.fixture(autouse=True)
def keys(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "COMPATIBLE_API_KEY", "GALILEO_API_KEY"):
        monkeypatch.setenv(name, KEY)
    for name in ("OTEL_EXPORTER_OTLP_HEADERS", "GALILEO_CONSOLE_URL", "RAY_ADDRESS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs that went on, and whatever else was sent anything."""
    found: list[str] = []

    def spawn(runs: Any, *_: Any, **__: Any) -> Any:
        found.extend(folder.id for folder, _ in runs)
        raise SpecError("x", "sent")

    def check(specs: Any, *_: Any, **__: Any) -> list[preflight.CheckedSpec]:
        found.append("checked")
        return [preflight.CheckedSpec(Path("x"), 1) for _ in specs]

    def tell(folder: RunFolder, *_: Any, **__: Any) -> list[Any]:
        found.append(folder.id)
        return []

    monkeypatch.setattr(process, "_spawn", spawn)
    monkeypatch.setattr(preflight, "check", check)
    monkeypatch.setattr("evalbench.tui.cli.trace.export_traces", tell)
    return found


def spec(url: str | None = EVIL, model: str = "openai/gpt-4.1", **more: Any) -> RunSpec:
    options = {"base_url": url} if url else {}
    return make_spec("quickstart", model, provider_options=options, **more)


def judged(**more: Any) -> RunSpec:
    return make_spec("mt-bench", "local/gpt2-large", **more)


def folder(of: RunSpec, state: State = State.PAUSED) -> RunFolder:
    run = make_run(of, None, total=1)
    run.write_status(replace(run.status(), state=state))
    return run


COMMANDS = (("resume",), ("collect",))


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize(
    ("theirs", "told"),
    [
        (spec(), "the key of openai to evil.example"),
        (spec("http://api.openai.com/v1"), "the key of openai to api.openai.com"),
        (spec("http://10.0.0.7:8000", "compatible/m"), "the key of compatible to 10.0.0.7"),
        (spec("https://evil.example", "bedrock/amazon.nova-lite-v1:0"), "bedrock to evil.example"),
        (spec("https://evil.example", "vertex/gemini-2.5-flash"), "vertex to evil.example"),
        (
            judged(judge=["openai/gpt-4.1,base_url=https://evil.example"]),
            "the key of openai to evil.example",
        ),
        (
            spec(None, enable_galileo=True, galileo_console_url="https://evil.example"),
            "the key of galileo to evil.example",
        ),
        (
            spec(None, enable_galileo=True, galileo_api_url="https://evil.example"),
            "the key of galileo to evil.example",
        ),
    ],
)
def test_nobody_there_to_answer_means_no(
    words: tuple[str, ...],
    theirs: RunSpec,
    told: str,
    sent: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = folder(theirs)
    assert main([*words, run.id]) == 1
    said = capsys.readouterr().err
    assert told in said
    assert f"--allow-host {told.rpartition(' ')[2]}" in said
    assert sent == []
    assert KEY not in said


@pytest.mark.parametrize("words", COMMANDS)
def test_an_allowed_host_is_remembered_with_the_key(
    words: tuple[str, ...], sent: list[str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = folder(spec())
    assert main([*words, run.id, "--allow-host", "other.example"]) == 1
    assert sent == []
    assert main([*words, run.id, "--allow-host", "EVIL.example"]) == 1
    assert sent == ["checked", run.id]
    main([*words, run.id])
    assert sent == ["checked", run.id] * 2
    held = home / "config" / "key_hosts.json"
    assert held.stat().st_mode & 0o777 == 0o600
    assert json.loads(held.read_text()) == {fingerprint(KEY): ["evil.example"]}
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another-0123456789abcdef")
    main([*words, run.id])
    assert sent == ["checked", run.id] * 2


def test_without_tls_it_is_another_place(sent: list[str]) -> None:
    main(["resume", folder(spec()).id, "--allow-host", "evil.example"])
    before = list(sent)
    assert main(["resume", folder(spec("http://evil.example/v1")).id]) == 1
    assert sent == before


@pytest.mark.parametrize(
    "theirs",
    [
        spec(None),
        spec("https://api.openai.com/v1"),
        spec("https://api.openai.com/v2"),
        spec("http://127.0.0.1:8000/v1"),
        spec("http://localhost:8000/v1", "compatible/m"),
        spec(None, enable_galileo=True, galileo_console_url="https://app.galileo.ai"),
    ],
)
def test_a_providers_own_and_this_machine_need_no_answer(theirs: RunSpec, sent: list[str]) -> None:
    run = folder(theirs)
    main(["resume", run.id])
    assert sent == ["checked", run.id]


def test_what_is_typed_is_the_users_own_word(sent: list[str]) -> None:
    run = folder(spec())
    main(["resume", run.id, "--base-url", "https://my.example/v1"])
    assert sent == ["checked", run.id]


def test_where_a_run_was_started_it_goes_on(sent: list[str]) -> None:
    words = ["run", "quickstart", "--model", "openai/gpt-4.1", "--base-url", EVIL, "--yes"]
    main(words)
    run = folder(spec())
    main(["resume", run.id])
    assert sent[-1] == run.id


def test_a_place_that_was_tried_is_known() -> None:
    remember_place("openai", {"base_url": EVIL}, KEY)
    assert unknown_hosts([spec()]) == []
    assert keys_bound([spec()]) == [KeyDestination("openai", "evil.example")]
    remember_place("openai", {"base_url": "http://127.0.0.1:1"}, KEY)
    remember_place("openai", {}, KEY)
    assert hosts_of(fingerprint(KEY)) == {"evil.example"}


def test_each_secret_beside_a_key_is_known_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY_TOKEN", "token-0123456789")
    remember_place("openai", {"base_url": EVIL}, KEY)
    assert unknown_hosts([spec()]) == []
    with_token = make_spec(
        "quickstart",
        "openai/gpt-4.1",
        provider_options={"base_url": EVIL, "header": ["X-Auth: Bearer ${GATEWAY_TOKEN}"]},
    )
    assert unknown_hosts([with_token]) == [KeyDestination("openai", "evil.example")]
    run_keys.check_hosts([with_token], "it", allow=["evil.example"])
    assert unknown_hosts([with_token]) == []
    assert hosts_of(fingerprint("token-0123456789")) == {"evil.example"}


@pytest.mark.parametrize(("answer", "code"), [(True, 1), (False, 4)])
def test_somebody_there_is_asked(
    sent: list[str], monkeypatch: pytest.MonkeyPatch, answer: bool, code: int
) -> None:
    asked: list[str] = []

    def confirmed(words: str) -> bool:
        asked.append(words)
        return answer

    monkeypatch.setattr(key_hosts, "can_ask", lambda *, json: True)
    monkeypatch.setattr(key_hosts, "confirmed", confirmed)
    run = folder(spec())
    assert main(["resume", run.id]) == code
    assert asked == [f"run {run.id} sends the key of openai to evil.example. Is that right?"]
    assert sent == (["checked", run.id] if answer else [])
    assert main(["resume", run.id, "--yes"]) == 1
    assert len(asked) == 1


@pytest.mark.parametrize("words", [*COMMANDS, ("trace",)])
def test_programs_are_told_what_to_allow(
    words: tuple[str, ...],
    sent: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(confirm, "can_ask", lambda *, json: True)
    run = folder(
        spec(None, enable_galileo=True, galileo_console_url="https://evil.example")
        if words == ("trace",)
        else spec()
    )
    assert main([*words, run.id, "--json"]) == 1
    line = json.loads(capsys.readouterr().out.splitlines()[0])
    owner = "galileo" if words == ("trace",) else "openai"
    assert line == {
        "event": "key-hosts",
        "text": f"run {run.id} sends the key of {owner} to evil.example",
        "hosts": ["evil.example"],
    }
    assert sent == []
    main([*words, run.id, "--json", "--allow-host", "evil.example"])
    assert sent[-1] == run.id


def test_traces_go_where_they_are_told(sent: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=planted-0123")
    run = folder(spec(otlp="https://evil.example"))
    assert main(["trace", run.id]) == 1
    assert sent == []
    assert main(["trace", run.id, "--otlp", "https://mine.example"]) == 0
    assert sent == [run.id]
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_HEADERS")
    assert main(["trace", run.id]) == 0


def test_a_cluster_is_asked_about_though_no_key_is_there() -> None:
    there = replace(spec(None, "local/gpt2-large"))
    there = there.changed(mode="cluster", address="10.0.0.9:6379")
    assert keys_bound([there]) == [KeyDestination(run_keys.CLUSTER, "10.0.0.9")]
    with pytest.raises(SpecError, match=r"its calls to the cluster at 10\.0\.0\.9"):
        run_keys.check_hosts([there], "run x")
    run_keys.check_hosts([there], "run x", typed=["address"])
    here = there.changed(address="127.0.0.1:6379")
    auto = there.changed(address="auto")
    assert keys_bound([here, auto]) == []


def test_cancelling_a_batch_asks_too(sent: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    run = folder(spec(), State.WAITING)
    pending: list[BatchStatus] = [{"name": "abc", "id": "batch-1", "stage": "running"}]
    run.write_status(replace(run.status(), batches=pending))
    assert main(["batches", "cancel", "abc"]) == 1
    assert "--allow-host evil.example" in capsys.readouterr().err
    assert sent == []


def test_a_program_allows_hosts_by_name(sent: list[str]) -> None:
    run = folder(spec())
    with pytest.raises(SpecError, match=r"would send the key of openai to evil\.example"):
        api.open_run(run.path).resume()
    assert sent == []
    with pytest.raises(SpecError, match="sent"):
        api.open_run(run.path).resume(allow_hosts=["evil.example"])
    assert sent == ["checked", run.id]


def test_the_memory_survives_what_is_done_to_it(home: Path) -> None:
    file = home / "config" / "key_hosts.json"
    remember_hosts([("a", "x.example"), ("b", "y.example")])
    for damage in ("", "[]", "{", '{"a": 3, "b": [1, "y.example"]}'):
        file.write_text(damage)
        assert hosts_of("a") == frozenset()
    assert hosts_of("b") == {"y.example"}
    remember_hosts([("a", "z.example")])
    assert hosts_of("a") == {"z.example"}
    assert hosts_of("b") == {"y.example"}
    file.unlink()
    if os.geteuid():
        file.parent.chmod(0o500)
        remember_hosts([("a", "z.example")])
        file.parent.chmod(0o700)


@pytest.mark.parametrize("link", ["engine.log", "batches/abc.requests.jsonl", "status.json"])
@pytest.mark.parametrize("command", ["resume", "collect", "score"])
def test_a_folder_with_links_is_refused(
    command: str, link: str, sent: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine"
    mine.write_text('{"private": 1}')
    run = folder(spec(None, otlp="http://127.0.0.1:1"))
    place = run.path / link
    place.parent.mkdir(exist_ok=True)
    place.unlink(missing_ok=True)
    place.symlink_to(mine)
    assert main([command, str(run.path)]) == 1
    assert f"{place.name} is a link" in capsys.readouterr().err
    assert mine.read_text() == '{"private": 1}'
    assert sent == []


def test_a_region_cannot_be_another_host() -> None:
    for region in ("x.evil.example/#", "evil.example", "us-east-1@evil.example", "a b"):
        theirs = make_spec(
            "quickstart", "bedrock/amazon.nova-lite-v1:0", provider_options={"region": region}
        )
        with pytest.raises(SpecError, match="no AWS region"):
            theirs.roles()["candidate"].provider()
