"""Bedrock from the command line: another tool's command line, and what AWS users get wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalbench.engine.journal import JournalReader
from tests.e2e.commandline import CommandLine, alike
from tests.simulator.handle import Handle

SONNET = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
SECRET = "PLANTED/planted+PLANTED/planted+01234567"
PAIR = {
    "AWS_ACCESS_KEY_ID": "AKIAPLANTED1234567",
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_REGION": "us-east-1",
}


@pytest.fixture(autouse=True)
def _no_account(cli: CommandLine, tmp_path: Path) -> None:
    cli.env |= {
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": str(tmp_path / "config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"),
    }


def converses(sim: Handle) -> list[dict[str, object]]:
    return [entry for entry in sim.entries() if entry["path"].endswith("/converse")]


def test_the_flags_of_another_tool_and_what_became_of_them(
    cli: CommandLine, sim: Handle, shared_data: Path
) -> None:
    data = shared_data / "execution" / "mutated.jsonl"
    done = cli(
        "run", "code-prediction", "--data", str(data), "--limit", "2", "--generations", "1",
        "--model-id", f"arn:aws:bedrock:us-east-1:216874796537:inference-profile/{SONNET}",
        "--region", "us-east-1", "--latency-profile", "optimized", "--enable-thinking",
        "--thinking-budget-tokens", "2000", "--temperature", "0.6", "--top-p", "0.95",
        "--budget", "1", "--base-url", sim.base_url("bedrock"), "--no-ui", **PAIR,
    )  # fmt: skip
    assert done.code == 0, done.err
    body = converses(sim)[-1]["body"]
    assert body["inferenceConfig"] == {"maxTokens": 3000}  # type: ignore[index]
    assert body["additionalModelRequestFields"] == {  # type: ignore[index]
        "thinking": {"type": "enabled", "budget_tokens": 2000}
    }
    told = cli("show", "last").out
    for line in (
        "temperature      dropped: not while the model thinks",
        "top_p            dropped: not while the model thinks",
        "latency          refused: Latency performance configuration is not supported",
        "seed             dropped: Bedrock takes no seed",
        "thinking_budget  sent",
    ):
        assert line in told
    [run] = cli.runs()
    assert run.spec().provider_options["region"] == "us-east-1"
    for file in run.path.rglob("*"):
        assert not file.is_file() or SECRET.encode() not in file.read_bytes()
    with JournalReader(run.journal) as journal:
        assert SECRET not in repr([journal.calls(s.row) for s in journal.samples()])


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("env", "model", "words"),
    [
        ({"AWS_SESSION_TOKEN": "expired-0123456789"}, SONNET, ("expired", "log in again")),
        ({}, SONNET[3:], ("inference profile only", f"bedrock/{SONNET}")),
        ({"AWS_ACCESS_KEY_ID": ""}, SONNET, ("no key for Amazon Bedrock", "--profile")),
    ],
)
def test_what_is_wrong_stops_the_run_with_its_cure(
    cli: CommandLine, sim: Handle, env: dict[str, str], model: str, words: tuple[str, ...]
) -> None:
    done = cli(
        "run", "synthetic", "--model", f"bedrock/{model}", "--size", "20", "--concurrency", "1",
        "--base-url", sim.base_url("bedrock"), "--price", "1/5", "--no-ui", **{**PAIR, **env},
    )  # fmt: skip
    assert done.code == 5
    for word in words:
        assert word in done.out + done.err
    assert len(converses(sim)) <= 1


@pytest.mark.slow
def test_a_profile_travels_by_name_and_is_read_in_the_engine(
    cli: CommandLine, sim: Handle, tmp_path: Path
) -> None:
    (tmp_path / "credentials").write_text(
        f"[work]\naws_access_key_id = AKIAPLANTED1234567\naws_secret_access_key = {SECRET}\n"
    )
    (tmp_path / "config").write_text("[profile work]\nregion = us-west-2\n")
    place = ("--base-url", sim.base_url("bedrock"), "--profile", "work")
    tried = cli("keys", "test", "bedrock", *place)
    assert tried.code == 0, tried.out + tried.err
    assert "'work'" in tried.out
    assert "us-west-2" in tried.out
    listed = cli("models", "bedrock", *place)
    assert f"bedrock/{SONNET}" in listed.out
    done = cli("run", "synthetic", "--model", f"bedrock/{SONNET}", "--size", "4", *place, "--no-ui")
    assert done.code == 0, done.err
    assert "bedrock credentials of profile 'work'" in cli("show", "last").out
    assert SECRET not in done.out + done.err + tried.out + listed.out


PLACES = (
    "--batch-bucket", "s3://evals/batches",
    "--batch-role", "arn:aws:iam::123456789012:role/batches",
)  # fmt: skip


def in_batches(sim: Handle, benchmark: str, *more: str, batch: bool) -> tuple[str, ...]:
    """A run on Bedrock, through batches or at once."""
    mode = ("--mode", "batch", "--batch-poll", "0.05", *PLACES) if batch else ()
    where = ("--model", f"bedrock/{SONNET}", "--base-url", sim.base_url("bedrock"))
    return ("run", benchmark, *where, *mode, *more, "--json", "--yes")


def test_enough_calls_go_out_in_a_batch_for_half_the_money(cli: CommandLine, sim: Handle) -> None:
    twice = ("--epochs", "2")
    now = cli(*in_batches(sim, "quickstart", *twice, batch=False), **PAIR)
    later = cli(*in_batches(sim, "quickstart", *twice, batch=True), **PAIR)
    assert (now.code, later.code) == (0, 0), later.err
    assert later.lines[-1]["metrics"] == alike(now.lines[-1]["metrics"])
    assert later.lines[-1]["spend_usd"] == pytest.approx(now.lines[-1]["spend_usd"] / 2)
    assert [len(batch["items"]) for batch in sim.batches()] == [144]


def test_fewer_calls_than_a_batch_must_have_are_asked_at_once_and_it_is_said(
    cli: CommandLine, sim: Handle
) -> None:
    done = cli(*in_batches(sim, "quickstart", batch=True), **PAIR)
    assert done.code == 0, done.err
    assert sim.batches() == []
    [told] = [line for line in done.lines if line["event"] == "batch-too-small"]
    assert told["detail"] == {"calls": 72, "least": 100}
    assert sim.summary()["answered"] == {"1": 72}


@pytest.mark.slow
def test_two_epochs_of_mt_bench_are_waves_of_batches(
    cli: CommandLine, sim: Handle, shared_data: Path
) -> None:
    judge = f"bedrock/{SONNET},base-url={sim.base_url('bedrock')}"
    data = ("--data", str(shared_data / "mt_bench"), "--epochs", "2")
    now = cli(*in_batches(sim, "mt-bench", *data, "--judge", judge, batch=False), **PAIR)
    places = f",batch-bucket={PLACES[1]},batch-role={PLACES[3]}"
    later = cli(*in_batches(sim, "mt-bench", *data, "--judge", judge + places, batch=True), **PAIR)
    assert (now.code, later.code) == (0, 0), later.err
    assert later.lines[-1]["metrics"] == alike(now.lines[-1]["metrics"])
    assert sorted(len(batch["items"]) for batch in sim.batches()) == [160, 160, 320]
