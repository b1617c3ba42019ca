"""A server sends the key back, spelled in every way: in replies, errors, batches and lists."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson
import pytest

from evalbench.engine.calls import BatchJob, JobState, ModelInfo, Reply
from evalbench.engine.calls.replies import reply_to_json
from evalbench.engine.errors import ProviderError
from evalbench.providers.wire.exchange import Answered
from evalbench.providers.wire.streams import write_all
from tests.contract.providers.conftest import Make
from tests.contract.providers.test_answers import LANES
from tests.simulator.handle import Handle
from tests.spellings import escaped, spellings
from tests.unit.providers.calls import ask

KEY = "sk-planted/key+with==0123456789"
HERE = "WHERE-THE-KEY-GOES"

LINES = {
    "anthropic": '{"custom_id":"a","result":{"type":"succeeded","message":%s}}',
    "openai-chat": '{"custom_id":"a","response":{"status_code":200,"body":%s}}',
    "openai-responses": '{"custom_id":"a","response":{"status_code":200,"body":%s}}',
    "groq": '{"custom_id":"a","response":{"status_code":200,"body":%s}}',
    "together": '{"custom_id":"a","response":{"status_code":200,"body":%s}}',
    "google": '{"key":"a","response":%s}',
    "bedrock": '{"recordId":"a","modelOutput":%s}',
}
ERROR_LINES = {
    "anthropic": '{"custom_id":"a","result":{"type":"errored","error":%s}}',
    "openai-chat": '{"custom_id":"a","response":{"status_code":500,"body":%s}}',
    "google": '{"key":"a","error":{"code":13,"message":"' + HERE + '"}}',
    "bedrock": '{"recordId":"a","error":{"errorCode":500,"errorMessage":"' + HERE + '"}}',
    "together": '{"custom_id":"a","error":%s}',
}
TROUBLE = json.dumps(
    {
        "type": "error",
        "message": HERE,
        "error": {"type": HERE, "message": f"bad key {HERE}", "code": HERE, "param": HERE},
    }
)


@lru_cache(1)
def in_strings() -> list[tuple[str, str]]:
    """Every spelling, with what stands for it in a JSON string."""
    found = [(spelled, json.dumps(spelled)[1:-1]) for spelled in spellings(KEY).values()]
    return found + [(KEY, put) for put in escaped(KEY).values()]


def some(case: int, of: int) -> list[tuple[str, str]]:
    """The spellings of one case, where as many neighbouring cases have all of them together."""
    return in_strings()[case % of :: of]


def assert_gone(spelled: str, *told: str) -> None:
    for text in told:
        assert spelled.lower() not in text.lower()
        assert KEY.lower() not in json.dumps(text).replace("\\/", "/").lower()


def shown(reply: Reply) -> tuple[str, str, str]:
    return reply.text, reply.reasoning, orjson.dumps(reply_to_json(reply)).decode()


def shown_of(error: ProviderError) -> list[str]:
    names = ("what", "why", "hint", "body", "request_id", "param")
    return [str(error), repr(error), *(getattr(error, name) for name in names)]


async def answered_by(provider: Any, model: str, sim: Handle, patch: pytest.MonkeyPatch) -> Any:
    """A real response of the simulator, whose answer has a place for the key."""
    sim.rule(".", text=HERE)
    seen: list[Answered] = []
    send = provider.send

    async def watched(prepared: Any) -> Answered:
        seen.append(await send(prepared))
        return seen[-1]

    patch.setattr(provider, "send", watched)
    assert (await provider.answer(ask(model))).text == HERE
    return seen[-1]


def reanswer(provider: Any, patch: pytest.MonkeyPatch, answered: Answered) -> None:
    async def send(_: Any) -> Answered:
        return answered

    patch.setattr(provider, "send", send)


@pytest.mark.share(5)
@pytest.mark.parametrize("lane", LANES)
async def test_replies(lane: str, make: Make, sim: Handle, monkeypatch: pytest.MonkeyPatch) -> None:
    name, model, settings = LANES[lane]
    provider = make(name, KEY, **settings)
    real = await answered_by(provider, f"{name}/{model}", sim, monkeypatch)
    for spelled, put in some(list(LANES).index(lane), len(LANES)):
        body = real.body.replace(HERE.encode(), put.encode())
        headers = {**real.headers, **{id_: spelled for id_ in real.headers if "request" in id_}}
        reanswer(provider, monkeypatch, replace(real, body=body, headers=headers))
        reply = await provider.answer(ask(f"{name}/{model}"))
        assert "[key removed]" in reply.text, (spelled, reply.text)
        assert_gone(spelled, *shown(reply))


@pytest.mark.share(10)
@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
async def test_errors(
    lane: str, status: int, make: Make, sim: Handle, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, model, settings = LANES[lane]
    provider = make(name, KEY, **settings)
    await provider.get_ready(ask(f"{name}/{model}"))
    case = list(LANES).index(lane) + status
    for number, (spelled, put) in enumerate(some(case, 15)):
        body = TROUBLE if number % 2 else f"<h1>{HERE}</h1>" if number % 3 else HERE
        body = body.replace(HERE, put)
        headers = {"x-request-id": spelled, "request-id": spelled}
        reanswer(provider, monkeypatch, Answered(status, headers, body.encode()))
        with pytest.raises(ProviderError) as caught:
            await provider.answer(ask(f"{name}/{model}"))
        assert_gone(spelled, *shown_of(caught.value))


def fetched(provider: Any, line: str, folder: Path) -> bytes:
    """A line of results, searched for the key as each file that is fetched."""
    file = folder / "results.jsonl"
    file.write_bytes(line.encode())
    provider.scrub.file(file)
    return file.read_bytes()


@pytest.mark.share(5)
@pytest.mark.parametrize("lane", LINES)
async def test_batches(
    lane: str, make: Make, sim: Handle, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    name, model, settings = LANES[lane]
    provider, call = make(name, KEY, **settings), ask(f"{name}/{model}")
    real = await answered_by(provider, f"{name}/{model}", sim, monkeypatch)
    for spelled, put in some(list(LINES).index(lane), 4):
        line = fetched(provider, (LINES[lane] % real.body.decode()).replace(HERE, put), tmp_path)
        reply = provider.batch_api.reply(provider.batch_api.parse(line), call)
        assert "[key removed]" in reply.text, spelled
        assert_gone(spelled, *shown(reply))
        if lane in ERROR_LINES:
            bad = ERROR_LINES[lane].replace("%s", TROUBLE).replace(HERE, put)
            result = provider.batch_api.parse(fetched(provider, bad, tmp_path))
            with pytest.raises(ProviderError) as caught:
                provider.batch_api.reply(result, call)
            assert_gone(spelled, *shown_of(caught.value))


@pytest.mark.share(3)
@pytest.mark.parametrize("lane", ["anthropic", "openai-chat", "google", "together", "bedrock"])
@pytest.mark.parametrize("whole", [True, False])
async def test_files_of_results(
    lane: str, whole: bool, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, _, settings = LANES[lane]
    provider = make(name, KEY, **settings)
    texts = [put for _, put in in_strings()]
    written = b"".join(b'{"a":"%s"}\n' % text.encode() for text in texts)

    async def download(*args: Any) -> Answered:
        into = next(one for one in args if isinstance(one, Path))

        async def pieces() -> Any:
            yield written[:1000]
            yield written[1000:]

        await write_all(pieces(), into, lambda: None)
        if not whole:
            raise ProviderError("cut")
        return Answered(200, {}, b"")

    for place in ("carrier", "client", "boto"):
        if carrier := getattr(provider, place, None):
            monkeypatch.setattr(carrier, "download", download)
    file = tmp_path / "results.part"
    where = {"output": "s3://bucket/x" if lane == "bedrock" else "file-1", "input": "s3://bucket/y"}
    job = BatchJob("batch-1", JobState.ENDED, results={**where, "file": "files/1"})
    if whole:
        await provider.batch_api.fetch(job, file)
    else:
        with pytest.raises(ProviderError, match="cut"):
            await provider.batch_api.fetch(job, file)
    kept = file.read_text()
    assert kept.count("[key removed]") >= len(texts)
    for spelled, _ in in_strings():
        assert_gone(spelled, kept)


@pytest.mark.share(5)
@pytest.mark.parametrize("lane", LANES)
async def test_model_lists(lane: str, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    name, _, settings = LANES[lane]
    provider = make(name, KEY, **settings)

    async def listed() -> list[ModelInfo]:
        return [ModelInfo(name=text, title=text, notes=text) for text in spellings(KEY).values()]

    monkeypatch.setattr(provider, "fetch_models", listed)
    for spelled, model in zip(spellings(KEY).values(), await provider.models(), strict=True):
        assert_gone(spelled, model.name, model.title, model.notes)
