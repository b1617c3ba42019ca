"""Keys that a suite would send to other machines: asked about, refused, or allowed by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalbench.engine import preflight
from evalbench.engine.config.spec import RunSpec, make_spec
from evalbench.engine.process.run_keys import KeyDestination, keys_bound, price_keys
from evalbench.tui.cli import key_hosts, run
from evalbench.tui.cli.main import main

SUITE = """
[[run]]
benchmark = "quickstart"
model = "{model}"
provider_options = {{base_url = "{url}"}}
"""


@pytest.fixture(autouse=True)
def keys(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "COMPATIBLE_API_KEY", "OPENROUTER_API_KEY"):
        monkeypatch.setenv(name, f"sk-{name.lower()}-0123456789")
    monkeypatch.delenv("VLLM_API_KEY", raising=False)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The runs that would have started."""
    found: list[Any] = []

    def launch(args: Any, start: Any, **_: Any) -> int:
        found.append(args.target)
        return 0

    monkeypatch.setattr(run, "launch", launch)
    return found


def suite(folder: Path, model: str = "openai/gpt-4.1", url: str = "https://evil.example/v1") -> str:
    file = folder / "suite.toml"
    file.write_text(SUITE.format(model=model, url=url))
    return str(file)


def spec(model: str, **more: Any) -> RunSpec:
    url = more.pop("base_url", None)
    options = {"base_url": url} if url else {}
    return make_spec("quickstart", model, provider_options=options, **more)


@pytest.mark.parametrize(
    ("model", "url", "host"),
    [
        ("openai/gpt-4.1", "https://Evil.example:8443/v1", "evil.example"),
        ("openai/gpt-4.1", "http://192.168.0.7:8000", "192.168.0.7"),
        ("compatible/m", "https://evil.example", "evil.example"),
        ("openai/gpt-4.1", "http://127.0.0.1:8000/v1", ""),
        ("openai/gpt-4.1", "http://[::1]:8000/v1", ""),
        ("openai/gpt-4.1", "http://localhost:8000/v1", ""),
        ("openai/gpt-4.1", "http://localhost.evil.example", "localhost.evil.example"),
        ("openai/gpt-4.1", None, ""),
        ("vllm/m", "https://no-key.example", ""),
        # Its SDK finds credentials by itself.
        ("bedrock/amazon.nova-lite-v1:0", "https://evil.example", "evil.example"),
    ],
)
def test_where_a_key_would_go(model: str, url: str | None, host: str) -> None:
    owner = model.partition("/")[0]
    assert keys_bound([spec(model, base_url=url)]) == (
        [KeyDestination(owner, host)] if host else []
    )


def test_judges_and_traces_have_keys_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=secret")
    judged = make_spec(
        "mt-bench",
        "local/gpt2-large",
        judge=["openai/gpt-4.1,base_url=https://judge.example"],
        otlp="https://traces.example",
    )
    bound = [KeyDestination("openai", "judge.example"), KeyDestination("otlp", "traces.example")]
    assert keys_bound([judged, judged]) == bound
    assert keys_bound([judged], typed=("judge",)) == bound[1:]
    assert keys_bound([judged], typed=("otlp",)) == bound[:1]
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_HEADERS")
    assert keys_bound([judged]) == bound[:1]


def test_galileo_has_a_key_and_its_variable_is_the_users_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def traced() -> RunSpec:
        return make_spec(
            "quickstart",
            "local/gpt2-large",
            enable_galileo=True,
            galileo_console_url="https://console.example",
        )

    monkeypatch.delenv("GALILEO_API_KEY", raising=False)
    monkeypatch.delenv("GALILEO_CONSOLE_URL", raising=False)
    assert keys_bound([traced()]) == []
    monkeypatch.setenv("GALILEO_API_KEY", "a-key-of-galileo-0123456789")
    assert keys_bound([traced()]) == [KeyDestination("galileo", "console.example")]
    monkeypatch.setenv("GALILEO_CONSOLE_URL", "https://console.example")
    assert keys_bound([traced()]) == []


def test_nobody_there_to_answer_means_no(
    tmp_path: Path, started: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    file = suite(tmp_path)
    assert main(["run", file]) == 1
    said = capsys.readouterr().err
    assert "would send the key of openai to evil.example" in said
    assert "--allow-host evil.example" in said
    assert main(["run", file, "--allow-host", "other.example"]) == 1
    assert started == []
    assert main(["run", file, "--allow-host", "EVIL.example"]) == 0
    assert started == [file]


def test_a_yes_to_everything_is_no_yes_to_this(
    tmp_path: Path, started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_hosts, "can_ask", lambda *, json: True)
    assert main(["run", suite(tmp_path), "--yes"]) == 1
    assert started == []


@pytest.mark.parametrize(("answer", "code"), [(True, 0), (False, 4)])
def test_somebody_there_is_asked(
    tmp_path: Path,
    started: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    answer: bool,
    code: int,
) -> None:
    asked: list[str] = []

    def confirmed(words: str) -> bool:
        asked.append(words)
        return answer

    monkeypatch.setattr(key_hosts, "can_ask", lambda *, json: True)
    monkeypatch.setattr(key_hosts, "confirmed", confirmed)
    file = suite(tmp_path)
    assert main(["run", file]) == code
    assert asked == [f"{file} sends the key of openai to evil.example. Is that right?"]
    assert started == ([file] if answer else [])


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/v1", "http://localhost:8000/v1"])
def test_this_machine_needs_no_answer(tmp_path: Path, started: list[Any], url: str) -> None:
    assert main(["run", suite(tmp_path, url=url)]) == 0
    assert len(started) == 1


def test_what_is_typed_needs_no_answer(started: list[Any]) -> None:
    words = ["--model", "openai/gpt-4.1", "--base-url", "https://my.example/v1"]
    assert main(["run", "quickstart", *words]) == 0
    assert len(started) == 1


def test_an_estimate_gives_no_key_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []

    def estimates(specs: Any, progress: Any, secrets: Any) -> list[Any]:
        given.append(secrets)
        return []

    monkeypatch.setattr(preflight, "estimates", estimates)
    monkeypatch.setattr("evalbench.tui.cli.quote.print_estimates", lambda *_: None)
    file = suite(tmp_path, "openrouter/some/model")
    assert main(["estimate", file]) == 0
    assert main(["estimate", file, "--allow-host", "evil.example"]) == 0
    secret = price_keys([spec("openrouter/some/model")])[0]
    assert given == [[{}], [secret]]
    assert secret["candidate"].startswith("sk-openrouter")
