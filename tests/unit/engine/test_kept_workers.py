"""A worker that waits for an engine: who gets it, and when it gives up.

The waiting worker is a thread of this process.
"""

from __future__ import annotations

import os
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine import installed, kept_workers
from evalbench.engine.calls import frames
from evalbench.engine.hardware.devices import DeviceMemory
from evalbench.engine.kept_workers import WaitingWorker, take, unload
from evalbench.engine.preflight import fitting
from tests.runtime_folder import runtime_folder


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(kept_workers, "_LOOK_S", 0.01)
    with runtime_folder(monkeypatch) as place:
        yield place


def asked(identity: str = "a" * 64, seconds: float = 600.0) -> frames.Keep:
    return {
        "type": "keep",
        "identity": identity,
        "model": "local/some",
        "seconds": seconds,
        "log": os.devnull,
    }


class Waiting:
    """Waits in a thread, and greets whoever comes; ``heard`` is what they sent."""

    def __init__(self, keep: frames.Keep | None = None, greets: bool = True, **more: Any) -> None:
        self.worker = WaitingWorker(keep or asked(), backend="vllm", device="cpu", memory=1000)
        self.heard: list[frames.EngineFrame] = []
        self.came = False
        self._greets = greets
        self._more = more
        self.thread = threading.Thread(target=self._wait)
        self.thread.start()

    def _wait(self) -> None:
        with self.worker:
            connection = self.worker.wait(**self._more)
        if connection is None:
            return
        self.came = True
        with connection:
            if self._greets:
                hello = {"type": "hello", "protocol": frames.PROTOCOL, "pid": os.getpid()}
                connection.sendall(frames.encode(hello))
                with connection.makefile("rb") as stream:
                    while frame := frames.read_blocking(stream):
                        self.heard.append(frame)
                        if frame["type"] == "bye":
                            break

    def over(self) -> bool:
        self.thread.join(60)
        return not self.thread.is_alive()


def passing(step: float) -> Callable[[], float]:
    """A clock that advances with every look at it."""
    now = [0.0]

    def clock() -> float:
        now[0] += step
        return now[0]

    return clock


def test_what_waits_is_listed_and_nobody_else_may_read_it(folder: Path) -> None:
    waiting = Waiting()
    [one] = kept_workers.kept_workers()
    assert (one.pid, one.model, one.memory) == (os.getpid(), "local/some", 1000)
    assert one.on_cpu
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    assert unload(one)
    assert waiting.over()
    assert [frame["type"] for frame in waiting.heard] == ["bye"]
    assert list(folder.iterdir()) == []
    assert not unload(one)


def test_whoever_comes_first_has_it_alone() -> None:
    waiting = Waiting()
    found = take("a" * 64)
    assert found is not None
    connection, pid = found
    assert pid == os.getpid()
    assert take("a" * 64) is None
    assert kept_workers.kept_workers() == []
    connection.close()
    assert waiting.over()


def test_another_model_is_left_to_wait() -> None:
    waiting = Waiting()
    assert take("b" * 64) is None
    [one] = kept_workers.kept_workers()
    unload(one)
    assert waiting.over()


def test_a_worker_of_another_version_is_asked_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = Waiting()
    monkeypatch.setattr(installed, "version", lambda: "99.0")
    assert take("a" * 64) is None
    assert waiting.over()
    assert [frame["type"] for frame in waiting.heard] == ["bye"]


def test_it_gives_up_when_its_time_is_over(folder: Path) -> None:
    waiting = Waiting(asked(seconds=600.0), clock=passing(200.0))
    assert waiting.over()
    assert not waiting.came
    assert list(folder.iterdir()) == []


def test_it_gives_up_when_its_files_are_removed(folder: Path) -> None:
    waiting = Waiting()
    for file in folder.iterdir():
        file.unlink(missing_ok=True)  # it removes what is left itself
    assert waiting.over()
    assert not waiting.came


def test_it_gives_up_when_its_model_cannot_be_used_any_more() -> None:
    waiting = Waiting(usable=lambda: False)
    assert waiting.over()
    assert not waiting.came


def test_one_that_closes_without_a_greeting_is_not_taken() -> None:
    waiting = Waiting(greets=False)
    assert take("a" * 64) is None
    assert waiting.over()


def test_what_a_killed_worker_left_is_removed(folder: Path) -> None:
    waiting = Waiting()
    [file] = folder.glob("*.json")
    told = file.read_text()
    [one] = kept_workers.kept_workers()
    unload(one)
    assert waiting.over()
    file.write_text(told)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(one.path))
    assert take("a" * 64) is None
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x"}', '{"pid": 1}'])
def test_a_file_that_is_no_record_is_nobody(folder: Path, text: str) -> None:
    folder.mkdir(mode=0o700)
    (folder / "odd.json").write_text(text)
    assert kept_workers.kept_workers() == []


def test_a_folder_that_others_can_enter_is_not_used(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    folder.chmod(0o755)
    with pytest.raises(PermissionError):
        WaitingWorker(asked(), backend="vllm", device="cpu", memory=0)
    assert kept_workers.kept_workers() == []


def test_its_memory_counts_as_free_on_its_device(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = Waiting()
    on_cpu = fitting.with_kept(DeviceMemory("cpu", "CPU", 500, 10_000))
    on_card = fitting.with_kept(DeviceMemory("cuda", "card", 500, 10_000))
    assert (on_cpu.free, on_card.free) == (1500, 500)
    assert fitting.with_kept(DeviceMemory("cpu", "CPU", 500, 1200)).free == 1200
    [one] = kept_workers.kept_workers()
    unload(one)
    assert waiting.over()
