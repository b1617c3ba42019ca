"""A model that stays loaded: one run after the other, with the worker's real process."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from evalbench.engine.calls import Call, ModelRef, Prompt, Reply, choose, generate
from evalbench.engine.calls.options import parse_options
from evalbench.engine.dispatch.base import SendLog
from evalbench.engine.dispatch.local import local_slot
from evalbench.engine.dispatch.local.dispatcher import LocalDispatcher
from evalbench.engine.dispatch.local.replica import WorkerModel
from evalbench.engine.hardware.devices import DeviceMemory
from evalbench.engine.kept_workers import kept_workers, unload
from evalbench.providers.local import Local
from evalbench.tui.cli.main import main
from tests.contract.local import tiny
from tests.e2e.inference_servers import gone, install
from tests.runtime_folder import runtime_folder

pytestmark = [pytest.mark.local, pytest.mark.timeout(300)]

QUESTION = choose("the quick brown fox counts and", [" one", " two three four"])


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with runtime_folder(monkeypatch) as place:
        yield place


class Engine:
    """What an engine has of a local model."""

    def __init__(self, model: Path, log: Path, **settings: Any) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.model = str(model)
        given = {"threads": 1, "keep_loaded": "10m", **settings}
        provider = Local(parse_options(Local.options, given, "local"))
        self.local = LocalDispatcher(
            WorkerModel(provider, self.model, need={"total": 1}), report=self.report, log=log
        )

    def report(self, kind: str, **body: Any) -> None:
        self.events.append((kind, body))

    async def ask(self, prompt: Prompt = QUESTION, key: str = "one") -> Reply:
        return await self.local.answer(Call(ModelRef("local", self.model), prompt), key, SendLog())

    def told(self, kind: str) -> list[dict[str, Any]]:
        return [body for name, body in self.events if name == kind]

    @property
    def pid(self) -> int:
        pid = self.local.gauges()["worker_pid"]
        assert pid is not None
        return pid

    @property
    def loaded_before(self) -> bool:
        [info] = self.told("model-loaded")
        return bool(info.get("kept"))


@asynccontextmanager
async def engine(model: Path, log: Path, **settings: Any) -> AsyncIterator[Engine]:
    """An engine that has asked one question, and leaves in order."""
    one = Engine(model, log, **settings)
    try:
        reply = await one.ask()
        assert reply.logprobs
        yield one
    finally:
        await one.local.close()


async def until_gone(pid: int) -> None:
    while not gone(pid):
        await asyncio.sleep(0.02)


async def test_two_runs_load_once_and_answer_alike(llama: Path, tmp_path: Path) -> None:
    logs = tmp_path / "first.log", tmp_path / "second.log"
    async with engine(llama, logs[0]) as first:
        answers = await first.ask(generate("count", max_tokens=20), "two")
        assert not first.loaded_before
    [told] = first.told("model-kept")
    assert told["seconds"] == 600
    [kept] = kept_workers()
    assert (kept.pid, kept.model) == (first.pid, f"local/{llama}")
    assert kept.memory == told["memory"] > 0

    async with engine(llama, logs[1]) as second:
        assert second.loaded_before
        assert second.pid == first.pid
        assert kept_workers() == []
        # The same key is a call of another run: it is computed, as by a new worker.
        again = await second.ask(generate("count", max_tokens=20), "two")
        assert again.text == answers.text
        assert os.readlink(f"/proc/{second.pid}/fd/2") == str(logs[1])
    [one], [two] = first.told("model-loaded"), second.told("model-loaded")
    assert {**two, "kept": None} == {**one, "kept": None}
    assert second.told("model-unloaded")[0]["answers"] == 2
    [kept] = kept_workers()
    assert os.readlink(f"/proc/{kept.pid}/cwd") == "/"
    assert os.readlink(f"/proc/{kept.pid}/fd/2") == os.devnull
    assert psutil.Process(kept.pid).num_fds() < 40


async def test_other_options_or_other_weights_load_anew(llama: Path, tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    folder = tiny.make_llama(tmp_path / "own")
    async with engine(folder, log) as first:
        pass
    async with engine(folder, log, dtype="bfloat16") as other:
        assert not other.loaded_before
        assert other.pid != first.pid
    weights = folder / "model.safetensors"
    body = bytearray(weights.read_bytes())
    body[-1] ^= 1
    weights.write_bytes(body)
    async with engine(folder, log) as changed:
        assert not changed.loaded_before
    assert len(kept_workers()) == 3


async def test_a_second_run_at_the_same_time_loads_its_own(llama: Path, tmp_path: Path) -> None:
    async with engine(llama, tmp_path / "0.log"):
        pass
    async with engine(llama, tmp_path / "1.log") as one, engine(llama, tmp_path / "2.log") as two:
        assert (one.loaded_before, two.loaded_before) == (True, False)
        assert one.pid != two.pid
    assert {kept.pid for kept in kept_workers()} == {one.pid, two.pid}


async def test_an_engine_that_is_cut_off_takes_its_worker_with_it(
    llama: Path, tmp_path: Path
) -> None:
    one = Engine(llama, tmp_path / "worker.log")
    await one.ask()
    asking = asyncio.create_task(one.ask(generate("count", max_tokens=400), "long"))
    pid = one.pid
    [replica] = one.local._replicas
    # What the system does when an engine is killed.
    replica._handle._writer.transport.abort()  # type: ignore[union-attr]
    replica._closing = True
    await until_gone(pid)
    assert kept_workers() == []
    asking.cancel()
    await one.local.close()
    async with engine(llama, tmp_path / "worker.log") as next_one:
        assert not next_one.loaded_before


async def test_a_run_that_is_stopped_keeps_its_model(llama: Path, tmp_path: Path) -> None:
    one = Engine(llama, tmp_path / "worker.log")
    await one.ask()
    asking = asyncio.create_task(one.ask(generate("count", max_tokens=400), "long"))
    await asyncio.sleep(0)
    one.local.halt()
    await one.local.close()
    await asyncio.wait({asking})
    asking.exception()
    [kept] = kept_workers()
    async with engine(llama, tmp_path / "worker.log") as next_one:
        assert next_one.loaded_before
        assert next_one.pid == kept.pid


async def test_without_time_nothing_is_kept_or_taken(llama: Path, tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    async with engine(llama, log, keep_loaded="0") as one:
        pass
    await until_gone(one.pid)
    async with engine(llama, log) as kept:
        pass
    async with engine(llama, log, keep_loaded="0") as alone:
        assert alone.pid != kept.pid
    assert [other.pid for other in kept_workers()] == [kept.pid]


async def test_when_its_time_is_over_it_ends(llama: Path, tmp_path: Path) -> None:
    async with engine(llama, tmp_path / "worker.log", keep_loaded="0.1s") as one:
        pass
    await until_gone(one.pid)
    assert kept_workers() == []


async def test_it_gives_way_when_memory_is_short(
    llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "worker.log"
    async with engine(llama, log) as one:
        pass
    monkeypatch.setattr(
        local_slot, "device_memory", lambda device: DeviceMemory("cpu", "CPU", 0, 1)
    )
    async with engine(llama, log, dtype="bfloat16"):
        assert gone(one.pid)


async def test_a_server_stays_with_its_worker(
    llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(install(tmp_path / "bin", "vllm")))
    monkeypatch.setenv("STAND_IN", "")
    server = 0
    for before in (False, True):
        one = Engine(llama, tmp_path / f"{before}.log", backend="vllm")
        reply = await one.ask(generate("A or B?", max_tokens=4))
        assert reply.text == "A"
        assert one.loaded_before is before
        [info] = one.told("model-loaded")
        assert server in (0, info["server_pid"])
        server = info["server_pid"]
        await one.local.close()
    [kept] = kept_workers()
    assert kept.pid == one.pid
    assert unload(kept)
    assert gone(kept.pid)
    assert gone(server)


async def test_a_server_that_ends_meanwhile_is_not_kept(
    llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(install(tmp_path / "bin", "vllm")))
    monkeypatch.setenv("STAND_IN", "")
    one = Engine(llama, tmp_path / "worker.log", backend="vllm")
    await one.ask(generate("A or B?", max_tokens=4))
    await one.local.close()
    os.kill(one.told("model-loaded")[0]["server_pid"], signal.SIGKILL)
    await until_gone(one.pid)
    assert kept_workers() == []


async def test_the_command_that_unloads(
    llama: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with engine(llama, tmp_path / "worker.log") as one:
        pass
    assert main(["models", "loaded"]) == 0
    assert f"local/{llama}" in capsys.readouterr().out
    assert main(["models", "unload", "no-such"]) == 1
    assert "local/no-such is not loaded" in capsys.readouterr().err
    assert main(["models", "unload", f"local/{llama}"]) == 0
    assert capsys.readouterr().out.startswith(f"unloaded local/{llama} (transformers): ")
    assert gone(one.pid)
    assert main(["models", "unload", "--json"]) == 0
    assert capsys.readouterr().out == ""


def test_a_time_that_is_none_is_refused(llama: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "quickstart", "--model", f"local/{llama}", "--keep-loaded", "soon"]) == 1
    assert "--keep-loaded cannot be 'soon'" in capsys.readouterr().err
