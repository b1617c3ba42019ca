"""Several workers with one model: who gets which calls, and what becomes of those of the dead.

The workers here live in this process and do what the test says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.calls import (
    Call,
    ModelRef,
    Outcome,
    Reply,
    TextPart,
    WorkerCommand,
    WorkerProvider,
    generate,
)
from evalbench.engine.calls import user as said
from evalbench.engine.dispatch.base import Halted, SendLog
from evalbench.engine.dispatch.local.dispatcher import LocalDispatcher
from evalbench.engine.dispatch.local.machine import Machine, slots_for
from evalbench.engine.dispatch.local.replica import WorkerModel
from evalbench.engine.dispatch.local.worker_slots import NodeLost
from evalbench.engine.errors import JournalError, RunChanged, UsageError, WorkerFailed
from tests.unit.engine.virtual_time import virtual_time

SOME_S = 1.0


class Pretend:
    """A worker that does nothing of itself; one life."""

    pid: int | None = 1

    def __init__(self) -> None:
        self.code: int | None = None
        self.sent: list[Mapping[str, Any]] = []
        self.answered: list[str] = []
        self.frames: asyncio.Queue[Any] = asyncio.Queue()

    def send(self, frame: Mapping[str, Any]) -> None:
        self.sent.append(frame)

    async def drain(self) -> None: ...

    async def read(self) -> Any:
        frame = await self.frames.get()
        if isinstance(frame, Exception):
            raise frame
        return frame

    async def end(self) -> None: ...

    def last_log_line(self) -> str:
        return "the end"

    # -- what a test does with it --

    @property
    def asked(self) -> list[str]:
        return [call["key"] for f in self.sent if f["type"] == "answer" for call in f["calls"]]

    @property
    def load(self) -> Mapping[str, Any]:
        return self.sent[0]

    def say(self, **frame: Any) -> None:
        self.frames.put_nowait(frame)

    def ready(self, **info: Any) -> None:
        self.say(type="loaded", info=info)

    def answer(self, *keys: str) -> None:
        for key in keys:
            if key not in self.answered:
                self.answered.append(key)
                self.say(type="reply", key=key, reply={"text": key.upper()})

    def die(self, code: int) -> None:
        self.code = code
        self.frames.put_nowait(None)


@dataclass
class Spot:
    """A place for pretended workers."""

    name: str
    node: str = ""
    sharing: int = 1
    lives: list[Pretend] = field(default_factory=list)

    async def start(
        self, command: WorkerCommand, env: Mapping[str, str], keep: object = None
    ) -> Pretend:
        self.lives.append(Pretend())
        return self.lives[-1]

    @property
    def worker(self) -> Pretend:
        return self.lives[-1]


class Field:
    """A ground whose places come and go as the test wants."""

    here = False

    def __init__(self, *spots: Spot, most: int | None = None, look_s: float | None = 0.1) -> None:
        self.spots = list(spots)
        self.most = most
        self.look_s = look_s

    async def slots(self) -> Sequence[Spot]:
        return list(self.spots)

    def cards(self) -> list[dict[str, Any]]:
        return []

    async def close(self) -> None: ...


class Provider(WorkerProvider):
    """What loads a model in a pretended worker."""

    def worker_command(self, model: str) -> WorkerCommand:
        return WorkerCommand(("true",), {})

    def load_request(self, model: str) -> dict[str, Any]:
        return {"model": model}


class Many:
    """A dispatcher over pretended workers, and what a test sees of it."""

    def __init__(self, pool: Field, **more: Any) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.local = LocalDispatcher(
            WorkerModel(Provider({}), "m"),
            report=self.report,
            log=Path("/nowhere/worker.log"),
            pool=pool,
            **more,
        )

    def report(self, kind: str, **body: Any) -> None:
        self.events.append((kind, body))

    def told(self, kind: str) -> list[dict[str, Any]]:
        return [body for name, body in self.events if name == kind]

    def ask(self, *keys: str, beginning: str = "") -> list[asyncio.Task[Reply]]:
        """Ask questions; their texts are their keys."""
        parts = [TextPart(beginning, shared=True)] if beginning else []
        model = ModelRef("any", "m")
        return [
            asyncio.create_task(
                self.local.answer(Call(model, generate([said([*parts, key])])), key, SendLog())
            )
            for key in keys
        ]


def numbered(count: int, letter: str = "q") -> list[str]:
    return [f"{letter}{n}" for n in range(count)]


async def a_while() -> None:
    await asyncio.sleep(SOME_S)


def two(**more: Any) -> tuple[Spot, Spot, Field, Many]:
    one, other = Spot("one"), Spot("other")
    pool = Field(one, other, **more)
    return one, other, pool, Many(pool)


@virtual_time
async def test_only_workers_that_have_loaded_get_calls() -> None:
    one, other, _, many = two()
    asks = many.ask(*numbered(200))
    await a_while()
    assert (one.worker.asked, other.worker.asked) == ([], [])
    other.worker.ready()
    await a_while()
    assert one.worker.asked == []
    assert len(other.worker.asked) == 50, "it leaves a share to those that come"
    one.worker.ready()
    await a_while()
    assert set(one.worker.asked).isdisjoint(other.worker.asked)
    one.worker.answer(*one.worker.asked)
    other.worker.answer(*other.worker.asked)
    for _ in range(20):
        await a_while()
        for spot in (one, other):
            spot.worker.answer(*spot.worker.asked)
    assert [(await ask).text for ask in asks] == [key.upper() for key in numbered(200)]
    everybody = one.worker.asked + other.worker.asked
    assert sorted(everybody) == sorted(numbered(200)), "each call went to one worker, once"
    await many.local.close()


@virtual_time
async def test_equal_beginnings_stay_with_one_worker() -> None:
    one, other, _, many = two()
    many.ask(*numbered(30, "law"), beginning="Questions of law. " * 9)
    many.ask(*numbered(30, "art"), beginning="Questions of art. " * 9)
    await a_while()
    one.worker.ready()
    other.worker.ready()
    await a_while()
    begun = [{key[:3] for key in spot.worker.asked[:30]} for spot in (one, other)]
    assert sorted(map(sorted, begun)) == [["art"], ["law"]]
    await many.local.close()


@virtual_time
async def test_calls_of_a_lost_worker_go_to_the_others_and_are_no_suspects() -> None:
    one, other, pool, many = two()
    asks = many.ask(*numbered(40))
    await a_while()
    one.worker.ready()
    other.worker.ready()
    await a_while()
    lost = one.worker.asked
    assert lost
    pool.spots.remove(one)
    one.worker.frames.put_nowait(NodeLost("its node is gone"))
    await a_while()
    for _ in range(5):
        other.worker.answer(*other.worker.asked)
        await a_while()
    assert [(await ask).text for ask in asks] == [key.upper() for key in numbered(40)]
    assert len(one.lives) == 1
    assert many.told("worker-lost") == [
        {"worker": "one", "why": "its node is gone", "waiting": len(lost)}
    ]
    assert many.told("worker-restarted") == []
    gauges = many.local.gauges()
    assert [told["worker"] for told in gauges["workers"]] == ["other"]
    assert gauges["measures"]["answers"] == 40
    await many.local.close()


@virtual_time
async def test_a_place_that_comes_later_is_used() -> None:
    one, other, pool, many = two()
    pool.spots.remove(other)
    asks = many.ask(*numbered(100))
    await a_while()
    one.worker.ready()
    await a_while()
    assert many.local.window == 768
    pool.spots.append(other)
    await a_while()
    other.worker.ready()
    await a_while()
    assert len(other.worker.asked) >= 32
    assert many.local.window == 2 * 768
    for _ in range(9):
        for spot in (one, other):
            spot.worker.answer(*spot.worker.asked)
        await a_while()
    assert all(ask.done() for ask in asks)
    await many.local.close()


@virtual_time
async def test_a_dead_worker_starts_again_smaller_while_the_other_goes_on() -> None:
    one, other, _, many = two()
    asks = many.ask(*numbered(40))
    await a_while()
    one.worker.ready()
    other.worker.ready()
    await a_while()
    one.worker.die(-9)
    await a_while()
    other.worker.answer(*other.worker.asked)
    one.worker.ready()
    await a_while()
    assert one.worker.load == {"type": "load", "model": "m", "smaller": 1}
    assert many.told("worker-restarted")[0]["worker"] == "one"
    for _ in range(5):
        for spot in (one, other):
            spot.worker.answer(*spot.worker.asked)
        await a_while()
    assert [(await ask).outcome for ask in asks] == [Outcome.OK] * 40
    await many.local.close()


@virtual_time
async def test_a_call_that_kills_its_worker_fails_alone() -> None:
    one, other, _, many = two()
    asks = dict(zip(numbered(8), many.ask(*numbered(8)), strict=True))
    await a_while()
    for spot in (one, other):
        spot.worker.ready()
    for _ in range(40):
        await a_while()
        for spot in (one, other):
            worker = spot.worker
            done = [key for key in asks if asks[key].done()]
            held = [key for key in worker.asked if key not in done]
            if worker.code is not None:
                continue
            if "q3" in held:
                worker.die(7)
                await a_while()
                spot.worker.ready()
            else:
                worker.answer(*held)
    replies = {key: await ask for key, ask in asks.items()}
    assert replies.pop("q3").outcome is Outcome.ERROR
    assert {reply.outcome for reply in replies.values()} == {Outcome.OK}
    await many.local.close()


@virtual_time
async def test_a_worker_that_cannot_load_leaves_the_work_to_the_others() -> None:
    one, other, _, many = two()
    asks = many.ask("a", "b")
    await a_while()
    one.worker.say(type="fatal", error="WorkerFailed", what="no room", why="a small card")
    other.worker.ready()
    await a_while()
    other.worker.answer("a", "b")
    assert [(await ask).text for ask in asks] == ["A", "B"]
    assert many.told("worker-given-up") == [{"worker": "one", "why": "no room: a small card"}]
    await a_while()
    assert len(one.lives) == 1, "it is not tried again"
    await many.local.close()


@pytest.mark.parametrize("look_s", [None, 0.1])
@virtual_time
async def test_when_nobody_is_left_the_last_reason_ends_the_run(look_s: float | None) -> None:
    one, other, _, many = two(look_s=look_s)
    (ask,) = many.ask("a")
    await a_while()
    for spot in (one, other):
        spot.worker.say(type="fatal", error="WorkerFailed", what="no room")
    with pytest.raises(WorkerFailed, match="no room"):
        await ask
    await many.local.close()


@virtual_time
async def test_a_worker_that_loads_the_model_otherwise_is_not_used() -> None:
    one, other, _, many = two()

    def report(kind: str, **body: Any) -> None:
        many.report(kind, **body)
        if body.get("dtype") == "float16":
            raise RunChanged("the model is another", hint="")

    many.local._report = report
    (ask,) = many.ask("a")
    await a_while()
    one.worker.ready(dtype="bfloat16")
    other.worker.ready(dtype="float16")
    await a_while()
    one.worker.answer("a")
    assert (await ask).text == "A"
    assert other.worker.asked == []
    assert [body["worker"] for body in many.told("worker-given-up")] == ["other"]
    await many.local.close()


@virtual_time
async def test_a_place_that_is_lost_again_and_again_is_left_alone() -> None:
    one, other, _, many = two()
    (ask,) = many.ask("a")
    await a_while()
    other.worker.ready()
    for _ in range(3):
        one.worker.frames.put_nowait(NodeLost("no evalbench there"))
        await a_while()
    assert len(one.lives) == 3
    assert many.told("worker-given-up")[0]["why"].endswith("no evalbench there")
    other.worker.answer("a")
    assert (await ask).text == "A"
    await many.local.close()


@virtual_time
async def test_a_run_without_any_machine_waits_ten_minutes() -> None:
    pool = Field()
    many = Many(pool)
    (ask,) = many.ask("a")
    await asyncio.sleep(590)
    assert not ask.done()
    assert many.local.gauges()["progress"]["what"] == "waiting for a machine"
    await asyncio.sleep(20)
    with pytest.raises(WorkerFailed, match="no machine"):
        await ask
    await many.local.close()


@virtual_time
async def test_a_journal_that_cannot_be_written_ends_the_run() -> None:
    one, _, _, many = two()

    def report(kind: str, **body: Any) -> None:
        if kind == "worker-lost":
            raise JournalError("the disk is gone")

    many.local._report = report
    (ask,) = many.ask("a")
    await a_while()
    one.worker.frames.put_nowait(NodeLost("gone"))
    with pytest.raises(JournalError):
        await ask
    await many.local.close()


@virtual_time
async def test_no_more_workers_than_asked_for() -> None:
    one, other, pool, many = two(most=1)
    many.ask("a")
    await a_while()
    assert (len(one.lives), len(other.lives)) == (1, 0)
    pool.spots.remove(one)
    one.worker.frames.put_nowait(NodeLost("gone"))
    await a_while()
    assert len(other.lives) == 1, "another takes its place"
    await many.local.close()


@virtual_time
async def test_halting_tells_every_worker() -> None:
    one, other, _, many = two()
    asks = many.ask(*numbered(40))
    await a_while()
    one.worker.ready()
    other.worker.ready()
    await a_while()
    many.local.halt()
    for ask in asks:
        with pytest.raises(Halted):
            await ask
    for spot in (one, other):
        assert spot.worker.sent[-1] == {"type": "cancel", "keys": []}
    await many.local.close()


@virtual_time
async def test_gauges_tell_of_each_worker() -> None:
    one, _, _, many = two()
    one.node = "node-a"
    (ask,) = many.ask("a")
    await a_while()
    one.worker.ready()
    one.worker.say(type="memory", used=5, peak=9, busy_s=0.5)
    await a_while()
    one.worker.answer("a")
    await ask
    told = many.local.gauges()["workers"]
    assert [(w["worker"], w["node"], w["pid"], w["answers"]) for w in told] == [
        ("one", "node-a", 1, 1),
        ("other", "", 1, 0),
    ]
    assert told[0]["memory"] == {"used": 5, "peak": 9, "busy_s": 0.5}
    assert told[0]["idle"] is not None
    assert told[1]["idle"] is None
    await many.local.close()


def test_each_worker_has_a_card_or_its_share_of_the_cores(tmp_path: Path) -> None:
    cards = slots_for(2, ["GPU-a", "GPU-b", "GPU-c"], tmp_path)
    assert [(one.name, one.env, one.sharing) for one in cards] == [  # type: ignore[attr-defined]
        ("gpu 0", {"CUDA_VISIBLE_DEVICES": "GPU-a"}, 2),
        ("gpu 1", {"CUDA_VISIBLE_DEVICES": "GPU-b"}, 2),
    ]
    cores = slots_for(3, [], tmp_path)
    assert [(one.name, one.sharing) for one in cores] == [(f"worker {n}", 3) for n in (1, 2, 3)]
    with pytest.raises(UsageError, match="not 4 GPUs") as caught:
        slots_for(4, ["GPU-a"], tmp_path)
    assert caught.value.hint == "--workers 1"


async def test_a_machine_without_cards_has_as_many_places_as_workers(tmp_path: Path) -> None:
    (lone,) = await Machine(tmp_path).slots()
    assert (lone.name, lone.sharing) == ("", 1)
    assert [one.sharing for one in await Machine(tmp_path, 2, "cpu").slots()] == [2, 2]
