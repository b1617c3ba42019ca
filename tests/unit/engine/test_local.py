"""Answers from a worker process: what is sent, what comes back, and what happens when it dies.

The worker here is a script of a few lines that speaks frames.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import time
from base64 import b64decode
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from evalbench.engine.calls import (
    Call,
    Capabilities,
    MediaPart,
    ModelInfo,
    ModelRef,
    Outcome,
    Reply,
    WorkerCommand,
    WorkerProvider,
    generate,
    user,
)
from evalbench.engine.calls.frames import answer_frames
from evalbench.engine.calls.messages import call_from_json
from evalbench.engine.calls.options import Option
from evalbench.engine.dispatch.base import Halted, SendLog
from evalbench.engine.dispatch.local import replica
from evalbench.engine.dispatch.local.dispatcher import WINDOW, LocalDispatcher
from evalbench.engine.dispatch.local.local_slot import LocalWorkerHandle
from evalbench.engine.dispatch.local.replica import WorkerModel
from evalbench.engine.errors import NoSuchModel, WorkerFailed
from evalbench.engine.hardware.measures import together
from tests.unit.engine.virtual_time import settle, virtual_time

LANGUAGE = """
import json, os, struct, sys
folder = os.path.dirname(os.path.abspath(__file__))

def note(name, what):
    with open(os.path.join(folder, name), "a") as file:
        file.write(json.dumps(what) + "\\n")

def read():
    head = sys.stdin.buffer.read(4)
    if len(head) < 4:
        sys.exit(0)
    frame = json.loads(sys.stdin.buffer.read(struct.unpack(">I", head)[0]))
    note("heard", [life, frame])
    return frame

def say(**frame):
    body = json.dumps(frame).encode()
    sys.stdout.buffer.write(struct.pack(">I", len(body)) + body)
    sys.stdout.buffer.flush()

def reply(key, text="yes"):
    say(type="reply", key=key, reply={"text": text})

def calls():
    while True:
        for call in read().get("calls", []):
            yield call["key"], call["call"]["prompt"]["messages"][0]["parts"][0]["text"]

note("lives", os.getpid())
life = sum(1 for _ in open(os.path.join(folder, "lives")))
say(type="hello", protocol=1, pid=os.getpid())
"""

ANSWERS = "for key, text in calls(): reply(key, text.upper())"


class Scripted(WorkerProvider):
    """A worker provider whose worker runs a script."""

    name: ClassVar[str] = "scripted-worker"
    title: ClassVar[str] = "Scripted worker"
    options: ClassVar[tuple[Option, ...]] = ()

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.script: Path = settings["script"]
        self.argv = (sys.executable, "-I", "-S", str(self.script))

    def capabilities(self, model: str) -> Capabilities:
        return Capabilities()

    def check_model(self, model: str) -> None: ...

    async def models(self) -> Sequence[ModelInfo]:
        return []

    def worker_command(self, model: str) -> WorkerCommand:
        return WorkerCommand(self.argv, {"OF_THE_COMMAND": model, "OF_BOTH": "command"})

    def load_request(self, model: str) -> dict[str, Any]:
        return {"model": model, "settings": {"dtype": "float32"}}


class Bench:
    """A dispatcher with a scripted worker, and all that a test can see of them."""

    def __init__(self, folder: Path, body: str, **more: Any) -> None:
        self.folder = folder
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.provider = Scripted({"script": folder / "worker.py"})
        self.provider.script.write_text(LANGUAGE + body)
        self.log = folder / "worker.log"
        of_model = {name: more.pop(name) for name in {"env", "need"} & more.keys()}
        model = WorkerModel(self.provider, "m", **of_model)
        self.local = LocalDispatcher(model, report=self._report, log=self.log, **more)
        self.begun: list[str] = []

    def _report(self, kind: str, **body: Any) -> None:
        self.events.append((kind, body))

    def ask(self, text: str) -> asyncio.Task[Reply]:
        """Ask one question; its text is its key."""

        begun = self.begun

        class Leaving(SendLog):
            async def __call__(self) -> None:
                begun.append(text)

        call = Call(ModelRef("scripted-worker", "m"), generate(text))
        return asyncio.create_task(self.local.answer(call, text, Leaving()))

    def _notes(self, name: str) -> list[Any]:
        file = self.folder / name
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def heard(self, kind: str, life: int = 1) -> list[dict[str, Any]]:
        """Frames of one type that reached the worker in one of its lives."""
        return [f for lived, f in self._notes("heard") if lived == life and f["type"] == kind]

    def asked(self, life: int = 1) -> list[str]:
        """Keys of the calls that reached the worker."""
        return [call["key"] for frame in self.heard("answer", life) for call in frame["calls"]]

    @property
    def pids(self) -> list[int]:
        """Process ids of all workers so far."""
        return self._notes("lives")


async def until(condition: Callable[[], Any], what: str) -> None:
    """Wait for something that a process does."""
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        await asyncio.sleep(0.005)


Open = Callable[..., Any]


@pytest.fixture
def bench(tmp_path: Path) -> Open:
    """Opens a dispatcher over a script; closes it in the end."""

    @asynccontextmanager
    async def opened(body: str = ANSWERS, **more: Any) -> AsyncIterator[Bench]:
        made = Bench(tmp_path, body, **more)
        try:
            yield made
        finally:
            await made.local.close()

    return opened


def gone(pid: int) -> bool:
    """Whether a child process has ended and was waited for."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


# -- asking and answering --------------------------------------------------------


async def test_a_call_is_answered_by_the_worker(bench: Open) -> None:
    async with bench() as held:
        replies = await asyncio.gather(held.ask("one"), held.ask("two"))
        assert [reply.text for reply in replies] == ["ONE", "TWO"]
        assert [reply.outcome for reply in replies] == [Outcome.OK] * 2
        assert held.begun == ["one", "two"]
        assert held.asked() == ["one", "two"]
        assert len(held.heard("answer")) == 1, "calls that come together are sent together"
        assert (await held.ask("three")).text == "THREE"
        assert len(held.pids) == 1
        assert held.local.gauges()["worker_pid"] == held.pids[0]


async def test_no_worker_is_started_before_it_is_needed(bench: Open) -> None:
    async with bench() as held:
        assert held.local.gauges() == {
            "in_flight": 0,
            "memory": {},
            "progress": {},
            "worker_pid": None,
        }
        assert held.pids == []


async def test_the_worker_is_told_what_to_load_first(bench: Open) -> None:
    async with bench() as held:
        await held.ask("one")
        first = held._notes("heard")[0][1]
        assert first == {"type": "load", "model": "m", "settings": {"dtype": "float32"}}


async def test_what_the_worker_tells_of_itself_is_shown(bench: Open) -> None:
    body = """
read()
say(type="progress", what="loading", done=1, total=4, unit="B")
gen = calls()
key, _ = next(gen)
reply(key)
key, _ = next(gen)
say(type="loaded", info={"device": "cpu", "dtype": "float32"})
say(type="memory", used=5, peak=9, total=None, rss=7)
say(type="out-of-memory", keys=["a", "b"], budget=512)
reply(key)
read()
"""
    async with bench(body) as held:
        await held.ask("one")
        assert held.local.gauges()["progress"] == {
            "what": "loading",
            "done": 1,
            "total": 4,
            "unit": "B",
        }
        await held.ask("two")
        assert held.local.loaded == {"device": "cpu", "dtype": "float32"}
        assert held.local.gauges()["progress"] == {}
        assert held.local.gauges()["memory"] == {"used": 5, "peak": 9, "total": None, "rss": 7}
        assert held.events == [
            ("model-loaded", {"device": "cpu", "dtype": "float32"}),
            ("out-of-memory", {"budget": 512, "calls": 2}),
        ]


async def test_a_step_that_counts_nothing_tells_how_long_it_takes(
    bench: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = """
read()
gen = calls()
for what in ("starting vLLM", "starting vLLM", "loading"):
    key, _ = next(gen)
    say(type="progress", what=what, done=0, total=None, unit="")
    reply(key)
read()
"""
    now = [1000.0]
    monkeypatch.setattr(replica, "time", SimpleNamespace(monotonic=lambda: now[0]))
    async with bench(body) as held:
        for passed, what, seconds in (
            (0.0, "starting vLLM", 0),
            (75.5, "starting vLLM", 75),
            (5.0, "loading", 0),
        ):
            now[0] += passed
            await held.ask("next")
            assert held.local.gauges()["progress"] == {
                "what": what,
                "done": seconds,
                "total": None,
                "unit": "s",
            }


@pytest.mark.parametrize(
    ("frame", "error"),
    [
        (
            'error="ContextTooLong", what="too long", why="9 > 8", hint="cut it"',
            "ContextTooLong: too long\n  why: 9 > 8\n  try: cut it",
        ),
        ('error="Nonsense", what="odd"', "ProviderError: odd"),
        ('error="EvalbenchError", what="odd"', "ProviderError: odd"),
        ("", "ProviderError: the worker failed"),
    ],
)
async def test_a_call_that_failed_in_the_worker_is_an_error(
    bench: Open, frame: str, error: str
) -> None:
    body = f'for key, _ in calls(): say(type="failed", key=key, {frame})'
    async with bench(body) as held:
        reply = await held.ask("one")
        assert (reply.outcome, reply.error, reply.attempts) == (Outcome.ERROR, error, 1)
        assert not reply.possibly_billed


async def test_the_environment_is_ours_with_additions(
    bench: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INHERITED", "yes")
    names = ("INHERITED", "OF_THE_COMMAND", "OF_BOTH", "OF_THE_RUN")
    body = f"for key, _ in calls(): reply(key, ' '.join(os.environ[n] for n in {names}))"
    async with bench(body, env={"OF_BOTH": "run", "OF_THE_RUN": "token"}) as held:
        assert (await held.ask("one")).text == "yes m run token"


async def test_what_libraries_print_goes_to_the_log(bench: Open) -> None:
    async with bench("print('hello there', file=sys.stderr)\n" + ANSWERS) as held:
        held.log.write_text("from before\n")
        await held.ask("one")
        assert held.log.read_text() == "from before\nhello there\n"


async def test_the_window_is_wide_and_can_be_set(bench: Open) -> None:
    async with bench() as held, bench(window=3) as narrow:
        assert (held.local.window, narrow.local.window) == (WINDOW, 3)
        narrow.local.set_concurrency(5)
        assert narrow.local.window == 5


async def test_a_question_that_is_withdrawn_is_not_sent(bench: Open) -> None:
    async with bench() as held:
        withdrawn = held.ask("one")
        await settle(1)
        assert held.begun == ["one"]
        withdrawn.cancel()
        await asyncio.wait([withdrawn])
        await held.ask("two")
        assert held.asked() == ["two"]
        assert held.local.gauges()["in_flight"] == 0


async def test_an_answer_to_what_nobody_asked_is_passed_over(bench: Open) -> None:
    async with bench("reply('ghost')\n" + ANSWERS) as held:
        assert (await held.ask("one")).text == "ONE"


# -- when the worker dies -------------------------------------------------------------


async def test_a_worker_that_dies_is_started_again_and_asked_only_what_is_open(
    bench: Open,
) -> None:
    body = """
gen = calls()
if life == 1:
    key, text = next(gen)
    reply(key, text.upper())
    next(gen)
    os._exit(3)
for key, text in gen: reply(key, text.upper())
"""
    async with bench(body) as held:
        replies = await asyncio.gather(*(held.ask(text) for text in ("one", "two", "three")))
        assert [reply.text for reply in replies] == ["ONE", "TWO", "THREE"]
        assert held.asked(1) == ["one", "two", "three"]
        assert held.asked(2) == ["two", "three"]
        assert held.begun == ["one", "two", "three"], "a call is begun once, however often sent"
        assert held.events == [("worker-restarted", {"exit": 3, "waiting": 2})]
        assert len(held.heard("load", 2)) == 1


async def test_a_worker_that_dies_again_and_again_is_given_up_with_its_last_words(
    bench: Open,
) -> None:
    body = "next(calls())\nprint('no room\\nout of luck', file=sys.stderr, flush=True); os._exit(9)"
    async with bench(body) as held:
        one, two = held.ask("one"), held.ask("two")
        with pytest.raises(WorkerFailed) as caught:
            await one
        assert caught.value.what == "the local worker died 4 times in a row (exit 9)"
        assert caught.value.why == "out of luck"
        assert str(held.log) in caught.value.hint
        with pytest.raises(WorkerFailed):
            await two
        assert len(held.pids) == 4
        with pytest.raises(WorkerFailed):
            await held.ask("three")
        assert "three" not in held.begun, "nothing more is sent"


async def test_a_worker_that_is_killed_was_most_likely_ended_for_its_memory(bench: Open) -> None:
    async with bench("next(calls())\nos.kill(os.getpid(), 9)") as held:
        with pytest.raises(WorkerFailed, match="4 times in a row \\(signal 9\\)") as caught:
            await held.ask("one")
        assert "memory ran out" in caught.value.why
        assert "evalbench models fit" in caught.value.hint


KILLED = """
say(type="loaded", info={})
if life == 1:
    say(type="out-of-memory", keys=[], budget=256)
if life < LAST:
    next(calls())
    os.kill(os.getpid(), 9)
for key, text in calls(): reply(key)
"""


async def test_a_worker_that_is_killed_starts_again_with_a_smaller_batch(bench: Open) -> None:
    async with bench(KILLED.replace("LAST", "3")) as held:
        replies = await asyncio.gather(held.ask("one"), held.ask("two"))
        assert [reply.text for reply in replies] == ["yes", "yes"]
        assert [held.heard("load", life)[0].get("smaller") for life in (1, 2, 3)] == [None, 2, 3]
        assert held.asked(2) == held.asked(3) == ["one", "two"], "not one by one"
        assert [body for kind, body in held.events if kind == "worker-restarted"] == [
            {"exit": -9, "waiting": 2, "halved": 2},
            {"exit": -9, "waiting": 2, "halved": 3},
        ]


async def test_the_third_time_calls_go_one_by_one(bench: Open) -> None:
    async with bench(KILLED.replace("LAST", "4")) as held:
        replies = await asyncio.gather(held.ask("one"), held.ask("two"))
        assert [reply.text for reply in replies] == ["yes", "yes"]
        assert held.asked(3) == ["one", "two"]
        assert [len(frame["calls"]) for frame in held.heard("answer", 4)] == [1, 1]


async def test_deaths_are_forgiven_when_answers_come_between(bench: Open) -> None:
    body = "key, _ = next(calls())\nreply(key)\nos._exit(1)"
    async with bench(body) as held:
        for number in range(6):
            assert (await held.ask(f"question {number}")).text == "yes"
        await until(lambda: len(held.events) == 6, "six restarts")


POISONED = """
say(type="loaded", info={})
held = []
while True:
    frame = read()
    for call in frame.get("calls", []):
        held.append((call["key"], call["call"]["prompt"]["messages"][0]["parts"][0]["text"]))
    if any("poison" in text for _, text in held):
        os._exit(7)
    while held:
        key, text = held.pop(0)
        reply(key, text.upper())
"""


@pytest.mark.parametrize("slot", [0, 2, 4])
async def test_a_call_that_kills_the_worker_fails_alone(bench: Open, slot: int) -> None:
    async with bench(POISONED) as held:
        texts = ["one", "two", "three", "four"]
        texts.insert(slot, "poison")
        replies = await asyncio.gather(*(held.ask(text) for text in texts))
        bad = replies.pop(slot)
        assert [reply.text for reply in replies] == ["ONE", "TWO", "THREE", "FOUR"]
        assert (bad.outcome, bad.attempts) == (Outcome.ERROR, 2)
        assert "died 2 times with this call in it (exit 7)" in bad.error
        await until(lambda: len(held.pids) == 3, "the third worker")
        lone = [frame["calls"] for life in (2, 3) for frame in held.heard("answer", life)]
        assert [len(calls) for calls in lone] == [1] * 5, "those that were inside go one by one"
        assert (await held.ask("later")).text == "LATER"
        assert len(held.pids) == 3
        assert held.events[1] == ("worker-restarted", {"exit": 7, "waiting": 5, "one_by_one": 5})


async def test_several_that_kill_it_fail_and_the_run_goes_on(bench: Open) -> None:
    async with bench(POISONED) as held:
        texts = ["poison 1", "one", "poison 2", "two", "poison 3", "three"]
        replies = await asyncio.gather(*(held.ask(text) for text in texts))
        assert [reply.outcome for reply in replies] == [Outcome.ERROR, Outcome.OK] * 3


async def test_a_death_while_the_model_loads_is_no_calls_fault(bench: Open) -> None:
    body = "next(calls())\nif life < 4: os._exit(9)\nreply('one'); next(calls())"
    async with bench(body) as held:
        assert (await held.ask("one")).text == "yes"


async def test_a_worker_that_every_call_kills_ends_the_run(bench: Open) -> None:
    async with bench("say(type='loaded', info={})\nnext(calls())\nos._exit(9)") as held:
        asks = [held.ask(text) for text in ("one", "two", "three", "four", "five")]
        ends = await asyncio.gather(*asks, return_exceptions=True)
        failed = [end for end in ends if isinstance(end, Reply)]
        assert len(failed) == 3
        assert all(isinstance(end, WorkerFailed) for end in ends if not isinstance(end, Reply))
        assert len(held.pids) == 4


@pytest.mark.parametrize(
    ("error", "kind"), [("NoSuchModel", NoSuchModel), ("OutOfMemory", WorkerFailed)]
)
async def test_a_fatal_word_of_the_worker_ends_everything(
    bench: Open, error: str, kind: type[Exception]
) -> None:
    body = f'next(calls())\nsay(type="fatal", error="{error}", what="w", why="y", hint="c")\nread()'
    async with bench(body) as held:
        with pytest.raises(kind) as caught:
            await held.ask("one")
        assert str(caught.value) == "w\n  why: y\n  try: c"
        await until(lambda: gone(held.pids[0]), "the worker's end")
        assert len(held.pids) == 1


async def test_a_worker_of_another_version_is_told(bench: Open) -> None:
    async with bench('say(type="hello", protocol=99)\nread()\nread()') as held:
        with pytest.raises(WorkerFailed, match="different protocols") as caught:
            await held.ask("one")
        assert caught.value.why == "worker 99, engine 1"


async def test_a_worker_that_cannot_be_started_is_told(bench: Open) -> None:
    async with bench() as held:
        held.provider.argv = (str(held.folder / "nothing"),)
        with pytest.raises(WorkerFailed, match="could not be started") as caught:
            await held.ask("one")
        assert "No such file" in caught.value.why


@pytest.mark.parametrize(
    "nonsense",
    [
        'sys.stdout.buffer.write(b"Loading weights: 100%\\n" * 9)',
        'sys.stdout.buffer.write(b"\\0\\0\\0\\4oops")',
        "say(key='no type')",
        "say(type='reply')",
        "say(type='reply', key='one', reply={'outcome': 'splendid'})",
        "sys.stdout.buffer.write(struct.pack('>I', 2) + b'[]')",
    ],
)
async def test_what_is_no_frame_ends_the_run_instead_of_hanging_it(
    bench: Open, nonsense: str
) -> None:
    async with bench(f"next(calls())\n{nonsense}\nsys.stdout.flush()\nread()") as held:
        with pytest.raises(WorkerFailed, match="is not a frame") as caught:
            await held.ask("one")
        assert str(held.log) in caught.value.hint


async def test_a_question_begun_as_the_worker_fails_fails_too(bench: Open) -> None:
    body = 'next(calls())\nsay(type="fatal", error="NoSuchModel", what="w")\nread()'
    async with bench(body) as held:
        failed = asyncio.Event()
        call = Call(ModelRef("scripted-worker", "m"), generate("two"))
        late = asyncio.create_task(held.local.answer(call, "two", failed_wait(failed)))
        with pytest.raises(NoSuchModel):
            await held.ask("one")
        failed.set()
        with pytest.raises(NoSuchModel):
            await late


def failed_wait(event: asyncio.Event) -> SendLog:
    """A ``before_send`` that waits for an event."""

    class Waiting(SendLog):
        async def __call__(self) -> None:
            await event.wait()

    return Waiting()


# -- stopping ------------------------------------------------------------------------------


async def test_halting_drops_what_is_open_and_tells_the_worker(bench: Open) -> None:
    async with bench("for key, _ in calls(): key == 'quick' and reply(key)") as held:
        assert (await held.ask("quick")).text == "yes"
        slow = held.ask("slow")
        await until(lambda: "slow" in held.asked(), "the slow question")
        held.local.halt()
        with pytest.raises(Halted):
            await slow
        await until(lambda: held.heard("cancel"), "the cancellation")
        assert held.heard("cancel") == [{"type": "cancel", "keys": []}]
        with pytest.raises(Halted):
            await held.ask("later")
        assert "later" not in held.begun


async def test_a_question_begun_as_the_run_halts_is_not_sent(bench: Open) -> None:
    async with bench() as held:

        async def before_send() -> None:
            held.local.halt()

        call = Call(ModelRef("scripted-worker", "m"), generate("one"))
        with pytest.raises(Halted):
            await held.local.answer(call, "one", before_send)
        assert held.pids == []


async def test_closing_ends_the_worker(bench: Open) -> None:
    async with bench() as held:
        await held.ask("one")
        await held.local.close()
        assert gone(held.pids[0])


def test_a_worker_that_will_not_go_is_killed(tmp_path: Path) -> None:
    @virtual_time
    async def close() -> None:
        body = "key, _ = next(calls())\nreply(key)\nimport time\nwhile True: time.sleep(60)"
        held = Bench(tmp_path, body)
        await held.ask("one")
        await held.local.close()
        assert gone(held.pids[0])

    close()


async def test_images_travel_once_in_each_frame_of_bounded_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("evalbench.engine.calls.frames._MEDIA_BYTES", 10)
    one, two = MediaPart("image/png", b"111111"), MediaPart("image/png", b"222222")
    gone = MediaPart("image/png", b"", "ab" * 32)
    shown = {"a": [one], "b": [one, gone], "c": [one, two], "d": [], "e": [two]}
    model = ModelRef("scripted-worker", "m")
    calls = [(key, Call(model, generate([user([*parts, key])]))) for key, parts in shown.items()]
    frames = list(answer_frames(calls))
    assert [[entry["key"] for entry in frame["calls"]] for frame in frames] == [
        ["a", "b"],
        ["c"],
        ["d", "e"],
    ]
    media = [
        {name: b64decode(data) for name, data in frame.get("media", {}).items()} for frame in frames
    ]
    assert media == [
        {one.sha256: one.data},
        {one.sha256: one.data, two.sha256: two.data},
        {two.sha256: two.data},
    ]
    read = [
        call_from_json(entry["call"], held)
        for frame, held in zip(frames, media, strict=True)
        for entry in frame["calls"]
    ]
    assert [call.content_hash for call in read] == [call.content_hash for _, call in calls]
    assert "media" not in next(answer_frames(calls[3:4]))


async def test_what_was_measured_is_told_at_the_end_over_all_lives(bench: Open) -> None:
    body = """
read()
say(type="loaded", info={"device": "cpu", "dtype": "float32", "layout": "alone"})
for key, text in calls():
    say(type="memory", used=5, peak=life * 100, total=1000, rss=7, busy_s=2.0)
    usage = {"input_tokens": 3, "output_tokens": 8}
    say(type="reply", key=key, reply={"text": text, "usage": usage, "latency_s": float(life)})
    sys.exit(0)
"""
    held = bench(body, need={"total": 5000, "process": 700})
    async with held as inside:
        await inside.ask("one")
        await inside.ask("two")
        now = inside.local.gauges()["measures"]
        assert (now["answers"], now["peak"]) == (2, 200)
    kind, told = inside.events[-1]
    assert kind == "model-unloaded"
    assert told == {
        "model": "m",
        "answers": 2,
        "seconds": 3.0,
        "slowest": 2.0,
        "input_tokens": 6,
        "output_tokens": 16,
        "busy_s": 4.0,
        "peak": 200,
        "total": 1000,
        "expected": 5000,
        "device": "cpu",
        "numbers": "float32",
        "layout": "alone",
        "seconds_per_answer": 1.5,
        "tokens_per_second": 4.0,
    }
    both = together([told, told, {"model": "other"}])
    assert (both["m"].answers, both["m"].busy_s, both["m"].peak) == (4, 8.0, 200)
    assert both["other"].seconds_per_answer is None


async def test_what_is_sent_while_a_worker_ends_is_dropped(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        reader, writer = await asyncio.open_connection(sock=ours)
        handle = LocalWorkerHandle(reader, writer, os.getpid(), None, tmp_path / "log")
        ending = asyncio.create_task(handle.end())
        assert await asyncio.to_thread(theirs.recv, 1) == b""
        handle.send({"type": "bye"})
    await ending
