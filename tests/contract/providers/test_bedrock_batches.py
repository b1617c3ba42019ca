"""Bedrock's batch jobs through boto3: bucket, job, results; and what goes wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalbench.engine import errors as e
from evalbench.engine.calls import BatchJob, Call, JobState, Outcome, Provider, ResultLine
from tests.contract.providers.conftest import Make
from tests.simulator.handle import Handle
from tests.unit.providers.calls import ask, few_shot, look

pytestmark = pytest.mark.usefixtures("still")

SONNET = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
PLACES = {
    "batch_bucket": "s3://evals/batches",
    "batch_role": "arn:aws:iam::123456789012:role/batches",
}
NAME = "abcdef0123"
MANY = 100


def questions(count: int = MANY, **params: Any) -> list[Call]:
    return [ask(f"bedrock/{SONNET}", max_tokens=50 + number, **params) for number in range(count)]


async def submitted(provider: Any, folder: Path, calls: list[Call], name: str = NAME) -> BatchJob:
    file = folder / f"{name}.jsonl"
    lines = [provider.batch_api.line(call, f"{name}{n:04d}") for n, call in enumerate(calls)]
    file.write_bytes(b"".join(line + b"\n" for line in lines))
    uploaded = await provider.batch_api.upload(file, name, SONNET)
    job: BatchJob = await provider.batch_api.create(file, name, SONNET, uploaded)
    [found] = await provider.batch_api.find(name, SONNET, uploaded, requests=len(calls), since=0.0)
    assert found.id == job.id
    assert found.name == name
    return job


async def fetched(provider: Any, job: BatchJob, folder: Path) -> dict[str, ResultLine]:
    await provider.batch_api.fetch(job, folder / "results")
    assert (folder / "results").stat().st_mode & 0o777 == 0o600
    lines = (folder / "results").read_bytes().splitlines()
    return {result.item: result for result in map(provider.batch_api.parse, lines)}


async def test_a_batch_answers_as_calls_do(sim: Handle, make: Make, tmp_path: Path) -> None:
    provider: Provider = make("bedrock", **PLACES)
    assert provider.batch_api is not None
    sim.batch(waiting=60, running=600, order="shuffled")
    calls = [*questions(98, temperature=0.5, seed=7), look(f"bedrock/{SONNET}"),
             few_shot(f"bedrock/{SONNET}")]  # fmt: skip
    job = await submitted(provider, tmp_path, calls)
    assert job.state is JobState.WAITING
    sim.advance(360)
    half = await provider.batch_api.poll(job.id, SONNET)
    assert (half.state, half.total, half.succeeded) == (JobState.RUNNING, 100, 50)
    sim.advance(360)
    done = await provider.batch_api.poll(job.id, SONNET)
    assert (done.state, done.succeeded, done.failed) == (JobState.ENDED, 100, 0)
    results = await fetched(provider, done, tmp_path)
    for number, call in enumerate(calls):
        reply = provider.batch_api.reply(results[f"{NAME}{number:04d}"], call)
        assert reply.outcome is Outcome.OK
        if number > 96:
            at_once = await provider.answer(call)
            assert reply.usage.input_tokens == at_once.usage.input_tokens
            assert reply.params == at_once.params
            assert reply.raw.keys() == at_once.raw.keys()


async def test_requests_that_fail_and_those_without_a_turn(
    sim: Handle, make: Make, tmp_path: Path
) -> None:
    provider = make("bedrock", **PLACES)
    sim.batch(running=1000, failing=[3], status=429)
    calls = questions()
    job = await submitted(provider, tmp_path, calls)
    sim.advance(500)
    assert (await provider.batch_api.poll(job.id, SONNET)).state is JobState.RUNNING
    await provider.batch_api.cancel(job.id, SONNET)
    stopped = await provider.batch_api.poll(job.id, SONNET)
    assert stopped.state is JobState.CANCELLED
    await provider.batch_api.cancel(job.id, SONNET)
    results = await fetched(provider, stopped, tmp_path)
    assert 40 < len(results) < 60
    with pytest.raises(e.RateLimited):
        provider.batch_api.reply(results[f"{NAME}0002"], calls[2])


async def test_a_refused_parameter_is_learned_from_a_line(
    sim: Handle, make: Make, tmp_path: Path
) -> None:
    provider = make("bedrock", **PLACES)
    calls = questions(temperature=1.5)
    job = await submitted(provider, tmp_path, calls)
    results = await fetched(provider, await provider.batch_api.poll(job.id, SONNET), tmp_path)
    with pytest.raises(e.TransientError, match="goes without it"):
        provider.batch_api.reply(results[f"{NAME}0000"], calls[0])
    assert b"temperature" not in provider.batch_api.line(calls[0], "again")


async def test_what_jobs_do_not_take_is_not_in_their_lines(sim: Handle, make: Make) -> None:
    provider = make("bedrock", latency="optimized", service_tier="flex", **PLACES)
    line = provider.batch_api.line(ask(f"bedrock/{SONNET}"), "a")
    assert b"performanceConfig" not in line
    assert b"serviceTier" not in line


async def test_a_job_of_too_few_fails_as_a_whole(sim: Handle, make: Make, tmp_path: Path) -> None:
    provider = make("bedrock", **PLACES)
    assert provider.batch_api.terms(SONNET).least_requests == MANY
    job = await submitted(provider, tmp_path, questions(3))
    failed = await provider.batch_api.poll(job.id, SONNET)
    assert failed.state is JobState.FAILED
    assert "minimum of 100" in failed.why


async def test_a_creation_that_is_repeated_makes_one_job(
    sim: Handle, make: Make, tmp_path: Path
) -> None:
    provider = make("bedrock", **PLACES)
    first = await submitted(provider, tmp_path, questions())
    again = await submitted(provider, tmp_path, questions())
    assert first.id == again.id
    assert len(sim.batches()) == 1


@pytest.mark.parametrize(
    ("bucket", "kind", "words"),
    [("no-such-bucket", e.NoSuchModel, "no bucket"), ("closed", e.AccessDenied, "s3:PutObject")],
)
async def test_buckets_that_do_not_work(
    sim: Handle, make: Make, tmp_path: Path, bucket: str, kind: type[Exception], words: str
) -> None:
    provider = make("bedrock", **{**PLACES, "batch_bucket": f"s3://{bucket}/x"})
    (tmp_path / "a.jsonl").write_bytes(b"{}\n")
    with pytest.raises(kind, match=words):
        await provider.batch_api.upload(tmp_path / "a.jsonl", NAME, SONNET)


async def test_jobs_and_results_that_are_gone(sim: Handle, make: Make, tmp_path: Path) -> None:
    provider = make("bedrock", **PLACES)
    arn = "arn:aws:bedrock:us-east-1:123456789012:model-invocation-job/abcdefabcdef"
    with pytest.raises(e.CallRejected, match="no longer"):
        await provider.batch_api.poll(arn, SONNET)
    sim.batch(gone=True)
    job = await submitted(provider, tmp_path, questions())
    with pytest.raises(e.CallRejected, match="not in the bucket"):
        await fetched(provider, await provider.batch_api.poll(job.id, SONNET), tmp_path)


async def test_without_a_bucket_and_a_role_there_are_no_batches(make: Make) -> None:
    assert make("bedrock").batch_api.terms(SONNET) is None
    assert not make("bedrock", batch_bucket="s3://evals").capabilities(SONNET).batch
    assert make("bedrock", **PLACES).capabilities(SONNET).batch
    with pytest.raises(e.SpecError, match="s3://my-bucket"):
        make("bedrock", batch_bucket="evals/batches")
