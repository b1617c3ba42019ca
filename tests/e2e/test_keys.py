"""``evalbench keys``, with a keychain of the test's own and simulated providers."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.commandline import CommandLine, Finished
from tests.e2e.schema import check_line
from tests.simulator.handle import Handle

KEY = "gsk_0123456789abcdefghijWXYZ"
OTHER = "gsk_9876543210zyxwvutsrqABCD"


def held(keychain: Path) -> dict[str, str]:
    return json.loads(keychain.read_text()) if keychain.exists() else {}


def told(done: Finished) -> list[dict[str, Any]]:
    """JSON lines without the note, on a busy machine, that the keychain is waited for."""
    return [line for line in done.lines if line["event"] != "note"]


def test_a_piped_key_is_tried_kept_listed_tested_and_removed(
    cli: CommandLine, keychain: Path, sim: Handle
) -> None:
    url = sim.base_url("groq")
    done = cli.feed(KEY + "\nanother line\n", "keys", "set", "groq", "--base-url", url)
    assert done.code == 0, done.err
    assert "Groq accepts the key; it sees" in done.out
    assert "the groq key 'default' is stored in the keychain (gsk…WXYZ)" in done.out
    assert held(keychain) == {"evalbench groq/default": KEY}
    assert [entry["path"] for entry in sim.entries()] == ["/groq/openai/v1/models"]

    listed = cli("keys", "list").out.splitlines()
    assert [line.split() for line in listed] == [
        ["provider", "name", "where"],
        ["groq", "default", "keychain"],
    ]
    tested = cli("keys", "test", "groq", "--base-url", url)
    assert tested.code == 0
    assert tested.out.startswith("ok   groq key 'default' from the keychain: Groq accepts the key")

    gone = cli("keys", "rm", "groq")
    assert gone.code == 0
    assert "the groq key 'default' is gone from the keychain" in gone.out
    assert held(keychain) == {}
    again = cli("keys", "rm", "groq")
    assert again.code == 1
    assert "the keychain has no groq key of that name" in again.err
    for one in (done, tested, gone):
        assert KEY not in one.out + one.err


def test_a_key_that_the_provider_refuses_is_not_kept(
    cli: CommandLine, keychain: Path, sim: Handle
) -> None:
    wrong = "gsk_wrong6789abcdefghijklmnop"
    url = sim.base_url("groq")
    done = cli.feed(wrong, "keys", "set", "groq", "--base-url", url)
    assert done.code == 5
    assert "nothing was kept" in done.err
    assert held(keychain) == {}
    assert wrong not in done.out + done.err
    assert cli.feed(wrong, "keys", "set", "groq", "--no-check").code == 0
    tested = cli("keys", "test", "groq", "--base-url", url)
    assert tested.code == 5
    assert tested.out.startswith("bad  groq key 'default' from the keychain:")


def test_a_key_that_could_not_be_tried_is_kept_with_a_note(
    cli: CommandLine, keychain: Path
) -> None:
    done = cli.feed(KEY, "keys", "set", "groq", "--base-url", "http://127.0.0.1:9")
    assert done.code == 0
    assert "note: the key could not be tried:" in done.err
    assert held(keychain) == {"evalbench groq/default": KEY}


def test_a_key_of_another_shape_is_warned_about(cli: CommandLine, keychain: Path) -> None:
    done = cli.feed("hf_0123456789abcdefghijklmn", "keys", "set", "groq", "--no-check")
    assert done.code == 0
    assert "warning: this does not look like such a key" in done.err
    assert "https://console.groq.com/keys" in done.err


@pytest.mark.share(3)
@pytest.mark.parametrize("text", ["", "\n", "two words\n"])
def test_what_is_no_key_is_refused(cli: CommandLine, keychain: Path, text: str) -> None:
    done = cli.feed(text, "keys", "set", "groq")
    assert done.code == 1
    assert "the first line of standard input" in done.err
    assert held(keychain) == {}


@pytest.mark.share(4)
@pytest.mark.parametrize(
    "words",
    [
        ("keys", "set", "groq", KEY),
        ("keys", "set", KEY),
        ("keys", "set", "groq", "--name", KEY),
        ("keys", "set", "groq", "--name", "work", KEY),
        ("keys", "set", "groq", "--api-key", KEY),
        ("keys", "set", "groq", f"--api-key={KEY}"),
        ("keys", KEY),
        ("keys", "test", "groq", KEY, "--json"),
        ("run", "synthetic", "--model", "scripted/good", "--key", KEY),
        ("run", "synthetic", "--model", "groq/llama-3.1-8b-instant", "--key", KEY),
        ("models", "groq", "--key", KEY),
    ],
)
def test_a_key_on_the_command_line_is_refused_and_not_repeated(
    cli: CommandLine, keychain: Path, words: tuple[str, ...]
) -> None:
    done = cli.feed("", *words)
    assert done.code == 1
    assert KEY not in done.out + done.err
    if f"--api-key={KEY}" not in words:
        assert "a key does not belong on the command line" in done.err
    assert not [file for file in cli.home.rglob("*") if KEY in file.name]
    assert cli.runs() == []
    assert held(keychain) == {}


@pytest.mark.slow
def test_environment_variables_are_listed_first_and_all_keys_are_tested(
    cli: CommandLine, keychain: Path, sim: Handle
) -> None:
    url = sim.base_url("vllm")
    cli.feed(KEY, "keys", "set", "vllm", "--name", "work", "--no-check")
    set_default = cli.feed(OTHER, "keys", "set", "vllm", "--no-check", VLLM_API_KEY=KEY)
    assert "note: VLLM_API_KEY is set here, and the environment comes first" in set_default.err
    lines = cli("keys", "list", "--json", VLLM_API_KEY=KEY).lines
    for line in lines:
        check_line(line)
    assert [(line["source"], line["name"], line["variable"]) for line in lines] == [
        ("environment", "", "VLLM_API_KEY"),
        ("keychain", "default", ""),
        ("keychain", "work", ""),
    ]
    shown = cli("keys", "list", VLLM_API_KEY=KEY).out
    assert "vllm: the environment comes before the keychain's default key" in shown
    assert KEY not in shown

    found = cli("keys", "test", "vllm", "--base-url", url, "--json", VLLM_API_KEY=KEY)
    (line,) = told(found)
    check_line(line)
    assert (line["source"], line["ok"]) == ("environment", True)
    named = cli("keys", "test", "vllm", "--name", "work", "--base-url", url, VLLM_API_KEY=KEY)
    assert named.out.startswith("ok   vllm key 'work' from the keychain: vLLM answers")
    everything = cli("keys", "test", "--json", VLLM_API_KEY=KEY)
    assert len(told(everything)) == 3
    for line in told(everything):
        check_line(line)
        # Nobody serves at the address of a usual vLLM server.
        assert (line["ok"], bool(line["what"])) == (False, True)
    assert everything.code == 5


def test_there_is_a_plain_answer_when_nothing_is_set(cli: CommandLine, keychain: Path) -> None:
    assert "no key is set" in cli("keys", "list").out
    assert cli("keys", "list", "--json").lines == []
    tested = cli("keys", "test")
    assert tested.code == 1
    assert "evalbench keys set PROVIDER" in tested.err
    missing = cli("keys", "test", "groq")
    assert missing.code == 5
    assert "evalbench keys set groq" in missing.err
    assert "GROQ_API_KEY" in missing.err
    unknown = cli("keys", "set", "grok")
    assert unknown.code == 1
    assert "did you mean groq" in unknown.err
    nobody = cli("keys", "set")
    assert "whose key is it?" in nobody.err


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("backend", "says", "hint"),
    [
        ("evalbench_keyrings.Locked", "the keychain is locked", "GROQ_API_KEY"),
        ("keyring.backends.fail.Keyring", "in a keychain: ", "--env-file"),
        ("evalbench_keyrings.Crashing", "the keychain failed", "GROQ_API_KEY"),
    ],
)
def test_a_keychain_that_gives_nothing_is_told_with_its_cure(
    cli: CommandLine, keychain: Path, backend: str, says: str, hint: str
) -> None:
    cli.env["PYTHON_KEYRING_BACKEND"] = backend
    for done in (
        cli.feed(KEY, "keys", "set", "groq", "--no-check"),
        cli("keys", "test", "groq"),
        cli("run", "quickstart", "--model", "groq/llama-3.1-8b-instant"),
    ):
        assert done.code == 5
        assert says in done.err
        assert hint in done.err
        assert KEY not in done.out + done.err
    assert cli.runs() == []


@pytest.mark.slow
def test_a_keychain_that_waits_for_a_dialog_is_announced(cli: CommandLine, keychain: Path) -> None:
    cli.env["PYTHON_KEYRING_BACKEND"] = "evalbench_keyrings.Silent"
    child = cli.start("keys", "test", "groq")
    assert child.stderr
    said = child.stderr.readline()
    assert "waiting for the keychain: it may show a dialog" in said
    assert "60 s" in said
    child.send_signal(signal.SIGINT)
    assert child.wait() == 4


def test_an_unattended_run_waits_three_seconds_for_a_silent_keychain(
    cli: CommandLine, keychain: Path
) -> None:
    cli.env["PYTHON_KEYRING_BACKEND"] = "evalbench_keyrings.Silent"
    done = cli("run", "quickstart", "--model", "groq/llama-3.1-8b-instant")
    assert done.code == 5
    assert "the keychain did not answer within 3 s" in done.err
    assert "evalbench keys test groq" in done.err


@pytest.mark.slow
def test_a_named_key_of_the_keychain_serves_models_and_runs(
    cli: CommandLine, keychain: Path, sim: Handle
) -> None:
    url = sim.base_url("groq")
    cli.feed(KEY, "keys", "set", "groq", "--name", "work", "--no-check")
    without = cli("models", "groq", "--base-url", url)
    assert without.code == 5
    listed = cli("models", "groq", "--base-url", url, "--key", "work", "--json")
    assert listed.code == 0, listed.err
    for line in listed.lines:
        check_line(line)
    model = listed.lines[0]["id"]
    words = ("--base-url", url, "--key", "work", "--limit", "5", "--json")
    done = cli("run", "quickstart", "--model", model, *words)
    assert done.code == 0, done.err
    (shown,) = cli("show", "last", "--json").lines
    check_line(shown, of_show=True)
    assert shown["key"] == {"provider": "groq", "source": "keychain", "name": "work"}
    assert "key     groq key 'work' from the keychain" in cli("show", "last").out


def test_retirement_dates_of_models_are_shown(
    cli: CommandLine, keychain: Path, sim: Handle
) -> None:
    url = sim.base_url("anthropic")
    done = cli("models", "anthropic", "--base-url", url, ANTHROPIC_API_KEY="sk-ant-" + "x" * 24)
    assert done.code == 0, done.err
    header, *rows = done.out.splitlines()
    column = header.index("retires")
    assert any(row[column : column + 2] == "20" for row in rows)


def test_models_of_all_providers_need_no_key_for_some(cli: CommandLine, keychain: Path) -> None:
    done = cli("models")
    assert "scripted/good" in done.out
    assert "no key for anthropic" in done.err
    assert "evalbench keys set PROVIDER" in done.err


@pytest.mark.slow
def test_doctor_tells_packages_keys_and_the_keychain(cli: CommandLine, keychain: Path) -> None:
    cli.feed(KEY, "keys", "set", "groq", "--no-check")
    done = cli("doctor", MISTRAL_API_KEY=OTHER)
    assert done.code == 0
    assert "groq: installed; key 'default' in the keychain" in done.out
    assert "mistral: installed; key in MISTRAL_API_KEY" in done.out
    assert "no key: evalbench keys set deepseek, or DEEPSEEK_API_KEY" in done.out
    assert "ok   keychain: answers (a file)" in done.out
    assert KEY not in done.out
    assert OTHER not in done.out
    silent = cli("doctor", PYTHON_KEYRING_BACKEND="evalbench_keyrings.Silent")
    assert silent.code == 0
    assert "note keychain: no answer within 3 s" in silent.out
    locked = cli("doctor", PYTHON_KEYRING_BACKEND="evalbench_keyrings.Locked")
    assert "note keychain: locked" in locked.out


@pytest.mark.slow
def test_programs_set_list_and_remove_keys(cli: CommandLine, keychain: Path, sim: Handle) -> None:
    missing = {line["provider"]: line for line in cli("keys", "list", "--all", "--json").lines}
    assert missing["groq"]["source"] == "none"
    assert missing["groq"]["variable"] == "GROQ_API_KEY"
    assert missing["groq"]["page"].startswith("https://")
    assert (missing["groq"]["required"], missing["ollama"]["required"]) == (True, False)
    assert "local" not in missing

    url = sim.base_url("groq")
    done = cli.feed(KEY, "keys", "set", "groq", "--base-url", url, "--json", GROQ_API_KEY=OTHER)
    (line,) = told(done)
    check_line(line)
    assert (line["event"], line["provider"], line["name"]) == ("key-set", "groq", "default")
    assert line["what"].startswith("Groq accepts the key")
    assert "GROQ_API_KEY is set here" in line["notes"][0]

    listed = cli("keys", "list", "--all", "--json").lines
    for one in listed:
        check_line(one)
    assert [one["source"] for one in listed if one["provider"] == "groq"] == ["keychain"]
    assert "no key; ANTHROPIC_API_KEY is read too" in cli("keys", "list", "--all").out

    gone = cli("keys", "rm", "groq", "--json")
    (line,) = told(gone)
    check_line(line)
    assert (line["event"], line["notes"]) == ("key-gone", [])
    assert KEY not in done.out + done.err + gone.out


@pytest.mark.slow
def test_programs_are_told_that_the_keychain_waits(cli: CommandLine, keychain: Path) -> None:
    cli.env["PYTHON_KEYRING_BACKEND"] = "evalbench_keyrings.Silent"
    child = cli.start("keys", "test", "groq", "--json")
    assert child.stdout
    said = json.loads(child.stdout.readline())
    check_line(said)
    assert "waiting for the keychain" in said["text"]
    child.send_signal(signal.SIGINT)
    assert child.wait() == 4


def test_a_complete_run_is_resumed_without_a_key(
    cli: CommandLine, keychain: Path, sim: Handle
) -> None:
    where = ("--base-url", sim.base_url("groq"))
    cli.env["GROQ_API_KEY"] = KEY
    done = cli("run", "quickstart", "--model", "groq/llama-3.3-70b-versatile", *where)
    assert done.code == 0, done.err
    del cli.env["GROQ_API_KEY"]
    again = cli("resume", "last")
    assert again.code == 0, again.err
    assert "nothing is left to be asked" in again.out + again.err
    retried = cli("resume", "last", "--retry", "refused")
    assert (retried.code, "GROQ_API_KEY" in retried.err) == (5, True)
    assert "nothing is left" not in retried.out
