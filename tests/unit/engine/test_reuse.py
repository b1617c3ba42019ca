"""Which replies of earlier runs stand for a call, and which do not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.calls import (
    Call,
    MediaPart,
    Message,
    ModelRef,
    Outcome,
    Params,
    Prompt,
    Reply,
    TextPart,
    Usage,
    choose,
    user,
)
from evalbench.engine.config.roles import RoleSpec
from evalbench.engine.config.spec import RunSpec, make_spec
from evalbench.engine.execution.model_identity import note_model
from evalbench.engine.execution.reuse import EarlierReplies, maker, replies_at_hand, taken
from evalbench.engine.journal import CallKey, Journal
from evalbench.engine.journal.reader import (
    RowDecoder,
    Totals,
    reused_replies,
    spend_by_model,
    totals,
)
from evalbench.engine.journal.records import BatchRow
from evalbench.engine.journal.schema import connect, create
from evalbench.engine.runs.folder import RunFolder, make_run
from tests.unit.engine.journals import sample

MODEL = "openai/gpt-4.1-mini"
LOCAL = "local/smollm2-135m-instruct"
LOADED = {
    "revision": "sha256 0001",
    "dtype": "float32",
    "quantize": "none",
    "layout": "together",
    "device": "cpu",
}
PARAMS = Params(max_tokens=16, temperature=0.5)
PROMPT = Prompt(
    "generate",
    (user([TextPart("What is this? "), MediaPart("image/png", b"a red ball")]),),
    params=PARAMS,
)


def call(prompt: Prompt = PROMPT, model: str = MODEL) -> Call:
    return Call(ModelRef.parse(model), prompt)


def key(epoch: int = 0, repeat: int = 0, step: str = "answer", model: str = MODEL) -> CallKey:
    return CallKey(epoch, "candidate", model, step, repeat)


@dataclass
class Runs:
    """Runs in a folder."""

    folder: Path
    made: list[RunFolder] = field(default_factory=list)

    def spec(self, model: str = MODEL, **settings: Any) -> RunSpec:
        return make_spec("quickstart", model, **settings)

    async def add(
        self,
        *replies: tuple[CallKey, Call, Reply],
        spec: RunSpec | None = None,
        batched: bool = False,
        loaded: Mapping[str, Any] | None = None,
        **meta: Any,
    ) -> RunFolder:
        """A run in which these calls were answered, each for a sample of its own."""
        spec = spec or self.spec()
        run = make_run(spec, self.folder)
        self.made.append(run)
        create(run.journal)
        journal = Journal(run.journal)
        journal.set(created=1_700_000_000.0 + len(self.made), **meta)
        if loaded:
            note_model(journal, spec.model, loaded)
        if batched:
            journal.put_batch(BatchRow(1, "batch", "read", {"role": "candidate"}))
        for row, (named, asked, reply) in enumerate(replies, 1):
            await journal.add_samples([(row, sample(row))])
            await journal.intend(row, named, 0, asked, asked.content_hash, ())
            await journal.store_reply(row, named, 0, reply)
            if batched:
                journal.put_in_batch(journal.call_id(row, named, 0), 1, row)
        await journal.close()
        return run

    def earlier(
        self, spec: RunSpec | None = None, journal: Journal | None = None, **how: Any
    ) -> EarlierReplies:
        """What a new run may take."""
        held = journal.query(taken) if journal else []
        found = EarlierReplies((spec or self.spec()).roles(), journal, **how)
        found.collect(self.folder, "the new run", held)
        return found


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path / "runs")


async def takes(earlier: EarlierReplies, asked: Call, named: CallKey | None = None) -> bool:
    return await earlier.take("candidate", named or key(), asked.content_hash) is not None


async def test_a_reply_is_taken_once_and_says_where_from(runs: Runs) -> None:
    given = Reply("a ball", usage=Usage(20, 2), raw={"id": "x"}, provider_model="gpt-4.1-mini-2025")
    run = await runs.add((key(), call(), replace(given, attempts=3)))
    earlier = runs.earlier()
    assert earlier.found == 1
    assert earlier.holds("candidate", key(), call().content_hash) is not None
    reply = await earlier.take("candidate", key(), call().content_hash)
    assert reply is not None
    assert reply.reused is not None
    assert reply.reused.run == run.id
    ago = datetime.now(UTC) - datetime.fromisoformat(reply.reused.at)
    assert abs(ago) < timedelta(minutes=10)
    assert (reply.cost, reply.possible_cost, reply.attempts) == (Decimal(0), Decimal(0), 0)
    assert (reply.text, reply.raw, reply.usage) == ("a ball", {"id": "x"}, Usage(20, 2))
    assert not await takes(earlier, call())


_OTHER: Mapping[str, Any] = {
    "max_tokens": 17,
    "temperature": 0.0,
    "top_p": 0.9,
    "top_k": 40,
    "seed": 1,
    "stop": ("\n",),
    "effort": "low",
    "thinking_budget": 100,
    "logprobs": 2,
    "schema": "{}",
}


def _messages(change: Callable[[Message], Message]) -> Prompt:
    return replace(PROMPT, messages=tuple(map(change, PROMPT.messages)))


_CHANGES: Mapping[str, Prompt] = {
    **{
        one.name: replace(PROMPT, params=replace(PARAMS, **{one.name: _OTHER[one.name]}))
        for one in fields(Params)
    },
    "text": _messages(lambda one: replace(one, parts=(TextPart("What is it? "), one.parts[1]))),
    "role": _messages(lambda one: replace(one, role="assistant")),
    "order": _messages(lambda one: replace(one, parts=one.parts[::-1])),
    "bytes of a picture": _messages(
        lambda one: replace(one, parts=(one.parts[0], MediaPart("image/png", b"a blue ball")))
    ),
    "kind of a picture": _messages(
        lambda one: replace(one, parts=(one.parts[0], MediaPart("image/jpeg", b"a red ball")))
    ),
    "a message more": replace(PROMPT, messages=(*PROMPT.messages, user("And now?"))),
    "kind": choose("What is this? ", ["a ball", "a box"]),
}


@pytest.mark.parametrize("changed", list(_CHANGES))
async def test_whatever_is_asked_otherwise_is_asked(runs: Runs, changed: str) -> None:
    await runs.add((key(), call(), Reply("a ball")))
    earlier = runs.earlier()
    assert not await takes(earlier, call(_CHANGES[changed]))
    assert await takes(earlier, call())


@pytest.mark.parametrize(
    "named", [key(epoch=1), key(repeat=1)], ids=["another epoch", "another repeat"]
)
async def test_a_reply_stands_for_its_own_epoch_and_repeat(runs: Runs, named: CallKey) -> None:
    await runs.add((key(), call(), Reply("a ball")))
    assert not await takes(runs.earlier(), call(), named)


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("openai/gpt-4.1", {}),
        (f"{MODEL}@2025-04-14", {}),
        ("groq/gpt-4.1-mini", {}),
        (MODEL, {"base_url": "http://127.0.0.1:1/v1"}),
        (MODEL, {"image_detail": "low"}),
    ],
)
async def test_another_model_or_place_is_asked(
    runs: Runs, model: str, settings: dict[str, Any]
) -> None:
    await runs.add((key(), call(), Reply("a ball")))
    earlier = runs.earlier(runs.spec(model, provider_options=settings))
    assert earlier.found == 0
    assert not await takes(earlier, call(model=model))


def test_every_option_that_decides_answers_is_part_of_who_answers() -> None:
    alike = RoleSpec("candidate", LOCAL, provider_options={"dtype": "auto", "threads": 1})
    assert maker(alike) == maker(replace(alike, provider_options={"dtype": "auto", "threads": 9}))
    assert maker(alike) != maker(replace(alike, provider_options={"dtype": "float16"}))
    hosted = RoleSpec("candidate", "bedrock/any", provider_options={"region": "eu-west-1"})
    assert maker(hosted) == maker(
        replace(hosted, provider_options={**hosted.provider_options, "timeout": 9.0})
    )
    for option in ({"region": "us-east-1"}, {"latency": "optimized"}, {"service_tier": "flex"}):
        changed = replace(hosted, provider_options={**hosted.provider_options, **option})
        assert maker(hosted) != maker(changed)


@pytest.mark.parametrize(
    ("reply", "good"),
    [
        (Reply(outcome=Outcome.ERROR, error="Overloaded: no room"), False),
        (Reply("a b", Outcome.TRUNCATED, usage=Usage(20, 16)), True),
        (Reply("a b", Outcome.TRUNCATED, usage=Usage(20, 3)), False),
        (Reply("a b", Outcome.TRUNCATED), False),
        (Reply("I would rather not.", Outcome.REFUSED), True),
        (Reply("", Outcome.FILTERED), True),
    ],
)
async def test_only_what_asking_again_would_repeat_is_taken(
    runs: Runs, reply: Reply, good: bool
) -> None:
    await runs.add((key(), call(), reply))
    assert await takes(runs.earlier(), call()) is good


async def test_of_what_was_asked_again_only_the_newest_stands(runs: Runs) -> None:
    run = await runs.add((key(), call(), Reply("No.", Outcome.REFUSED)))
    journal = Journal(run.journal)
    await journal.intend(1, key(), 1, call(), call().content_hash, ())
    await journal.store_reply(1, key(), 1, Reply(outcome=Outcome.ERROR, error="Overloaded"))
    await journal.close()
    assert not await takes(runs.earlier(), call())


async def test_equal_samples_get_a_reply_each(runs: Runs) -> None:
    await runs.add((key(), call(), Reply("one")), (key(), call(), Reply("two")))
    earlier = runs.earlier()
    found = [await earlier.take("candidate", key(), call().content_hash) for _ in range(3)]
    assert [reply and reply.text for reply in found] == ["one", "two", None]


@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("mode", ["batch", "realtime"])
async def test_modes_are_exchanged_only_if_said(runs: Runs, mode: str, across: bool) -> None:
    await runs.add((key(), call(), Reply("a ball")), batched=mode == "batch")
    same = runs.earlier(runs.spec(mode=mode), across_modes=across)
    other = "realtime" if mode == "batch" else "batch"
    assert await takes(same, call())
    assert await takes(runs.earlier(runs.spec(mode=other), across_modes=across), call()) is across


async def test_through_a_chain_of_runs_a_reply_stays_one(runs: Runs, tmp_path: Path) -> None:
    first = await runs.add((key(), call(), Reply("a ball", usage=Usage(20, 2))))
    reply = await runs.earlier().take("candidate", key(), call().content_hash)
    assert reply is not None
    second = await runs.add((key(), call(), reply))
    earlier = runs.earlier()
    assert earlier.found == 1
    again = await earlier.take("candidate", key(), call().content_hash)
    assert again is not None
    assert again.reused == reply.reused
    assert again.reused is not None
    assert again.reused.run == first.id
    # What a resumed run has taken already is not there any more.
    journal = Journal(second.journal)
    assert runs.earlier(journal=journal).found == 0
    await journal.close()
    decoder = RowDecoder(connect(second.journal, readonly=True))
    assert reused_replies(decoder, second.journal) == {first.id: 1}
    assert totals(decoder, second.journal) == Totals()
    assert spend_by_model(decoder, second.journal) == {}


async def test_what_was_spent_is_told_of_each_role_and_model(runs: Runs) -> None:
    run = await runs.add(
        (key(), call(), Reply("a ball", cost=Decimal("0.25"))),
        (key(repeat=1), call(), Reply("a ball", cost=Decimal("0.5"))),
        (CallKey(0, "judge", "acme/judge", "grade", 0), call(), Reply("9", cost=Decimal("0.125"))),
        (CallKey(0, "judge", "acme/free", "grade", 0), call(), Reply("9")),
    )
    decoder = RowDecoder(connect(run.journal, readonly=True))
    assert spend_by_model(decoder, run.journal) == {
        ("candidate", MODEL): Decimal("0.75"),
        ("judge", "acme/judge"): Decimal("0.125"),
        ("judge", "acme/free"): Decimal(0),
    }


async def test_an_estimate_is_told_of_one_epoch_of_a_run_that_may_reuse(runs: Runs) -> None:
    await runs.add((key(), call(), Reply("a ball")))
    for settings, there in (
        ({"reuse": True}, True),
        ({}, False),
        ({"reuse": True, "epochs": 2}, False),
    ):
        with replies_at_hand(runs.spec(**settings), runs.folder) as earlier:
            assert (earlier is not None) is there
            assert not earlier or earlier.found == 1


async def test_nothing_is_promised_of_a_local_model(runs: Runs, tmp_path: Path) -> None:
    journal = await local(runs, LOADED, tmp_path)
    await journal.close()
    with replies_at_hand(runs.spec(LOCAL, reuse=True), runs.folder) as earlier:
        assert earlier is not None
        asked = call(model=LOCAL)
        assert earlier.holds("candidate", key(model=LOCAL), asked.content_hash) is None


async def test_imported_and_damaged_runs_give_nothing(runs: Runs) -> None:
    await runs.add((key(), call(), Reply("a ball")), imported={"source": "somewhere"})
    broken = await runs.add((key(), call(), Reply("a ball")))
    broken.journal.write_bytes(b"not a journal" * 100)
    empty = await runs.add((key(), call(), Reply("a ball")))
    empty.journal.unlink()
    assert runs.earlier().found == 0


async def local(runs: Runs, loaded: Mapping[str, Any], tmp_path: Path) -> Journal:
    """An earlier run of the local model, loaded like that; the journal of a new one."""
    asked = call(model=LOCAL)
    await runs.add((key(model=LOCAL), asked, Reply("a ball")), spec=runs.spec(LOCAL), loaded=loaded)
    create(tmp_path / "new.db")
    return Journal(tmp_path / "new.db")


@pytest.mark.parametrize("changed", [None, *LOADED])
async def test_a_local_model_must_be_loaded_alike(
    runs: Runs, tmp_path: Path, changed: str | None
) -> None:
    then = LOADED | ({changed: "other"} if changed else {})
    journal = await local(runs, then, tmp_path)
    note_model(journal, LOCAL, LOADED)
    earlier = runs.earlier(runs.spec(LOCAL), journal)
    assert earlier.found == 1
    same = await takes(earlier, call(model=LOCAL), key(model=LOCAL))
    assert same is (changed is None)
    events = journal.query(lambda decoder: decoder.db.execute("SELECT kind FROM event").fetchall())
    assert events == ([] if same else [("reuse-refused",)])
    await journal.close()


async def test_weights_of_unknown_revision_are_never_the_same(runs: Runs, tmp_path: Path) -> None:
    unknown = LOADED | {"revision": ""}
    journal = await local(runs, unknown, tmp_path)
    note_model(journal, LOCAL, unknown)
    earlier = runs.earlier(runs.spec(LOCAL), journal)
    assert not await takes(earlier, call(model=LOCAL), key(model=LOCAL))
    await journal.close()


async def test_calls_wait_until_the_local_model_is_loaded(runs: Runs, tmp_path: Path) -> None:
    journal = await local(runs, LOADED, tmp_path)
    earlier = runs.earlier(runs.spec(LOCAL), journal)
    digest, named = call(model=LOCAL).content_hash, key(model=LOCAL)
    # The first is asked; of the others the next is, when it fails before the model is loaded.
    assert await earlier.take("candidate", named, digest) is None
    second = asyncio.create_task(earlier.take("candidate", named, digest))
    third = asyncio.create_task(earlier.take("candidate", named, digest))
    await asyncio.sleep(0)
    assert not second.done()
    earlier.asked("candidate")
    assert await second is None
    await asyncio.sleep(0)
    assert not third.done()
    note_model(journal, LOCAL, LOADED)
    earlier.asked("candidate")
    reply = await third
    assert reply is not None
    assert reply.text == "a ball"
    await journal.close()
    earlier.close()
