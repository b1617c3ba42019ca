"""The worker as a process: order of frames, repeats, cancelling, noise, death and memory."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil
import pytest

from evalbench.engine.calls import Prompt, choose, generate
from tests.contract.local import tiny
from tests.contract.local.driver import Frame, Worker
from tests.contract.local.reference import Plain

pytestmark = [pytest.mark.local, pytest.mark.timeout(300)]

ENDLESS = generate("count", max_tokens=400)


def question(number: int) -> Prompt:
    return choose(f"the quick brown fox counts {number} and", [" one", " two three four"])


def test_a_worker_greets_loads_and_says_what_it_runs(llama: Path) -> None:
    with Worker(str(llama)) as worker:
        info = worker.next("loaded")["info"]
        kinds = [frame["type"] for frame in worker.seen]
        assert kinds[0] == "hello"
        assert worker.seen[0] == {"type": "hello", "protocol": 1, "pid": worker.process.pid}
        assert kinds[-1] == "loaded"
        assert set(kinds[1:-1]) == {"progress"}
        worker.send({"type": "bye"})
        assert worker.end() == 0
    assert info["device"] == "cpu"
    assert info["dtype"] == "float32"
    assert info["attention"] == "sdpa"
    assert info["threads"] == 1
    assert info["parameters"] == sum(weight.numel() for weight in Plain(llama).network.parameters())
    assert info["context_tokens"] == 512
    assert info["chat_template"] == "own"
    assert info["origin"] == f"folder {llama}"
    assert len(info["revision"]) == 64
    assert set(info["versions"]) == {"torch", "transformers", "tokenizers"}


@pytest.mark.skipif(sys.platform != "linux", reason="only there can it be seen")
def test_a_worker_starts_without_libraries_that_only_training_needs(worker: Worker) -> None:
    worker.memory()
    loaded = Path(f"/proc/{worker.process.pid}/maps").read_text()
    assert "/torch/lib/" in loaded
    assert "/scipy/" not in loaded


def test_memory_is_reported_when_asked_and_while_working(worker: Worker) -> None:
    frame = worker.memory()
    assert 0 < frame["rss"] <= frame["peak"] <= frame["total"]
    assert frame["used"] == frame["rss"]


def test_a_key_that_was_answered_is_answered_again_without_work(worker: Worker) -> None:
    worker.ask({"again": question(1)})
    first = worker.answers(["again"])["again"]
    before = worker.memory()["tokens_computed"]
    worker.ask({"again": question(1)})
    assert worker.answers(["again"])["again"] == first
    assert worker.memory()["tokens_computed"] == before


def test_a_key_in_work_is_not_doubled(worker: Worker) -> None:
    long = generate("count slowly", max_tokens=60)
    for _ in range(3):
        worker.ask({"once": long})
    worker.answers(["once"])
    worker.replies([question(2)])
    assert sum(f.get("key") == "once" for f in worker.seen if f["type"] == "reply") == 1


def test_calls_that_come_later_join_those_in_work(worker: Worker) -> None:
    worker.ask({"long": ENDLESS})
    worker.ask({"short": generate("hello", max_tokens=2), "choice": question(3)})
    order: list[str] = []
    while "long" not in order:
        order.append(worker.next("reply")["key"])
    assert set(order) == {"long", "short", "choice"}
    assert order[-1] == "long"


def test_cancelling_one_call_lets_the_others_finish(worker: Worker) -> None:
    worker.ask({"stays": generate("stay", max_tokens=50), "goes": ENDLESS, "waits": question(4)})
    worker.send({"type": "cancel", "keys": ["goes", "unknown"]})
    assert worker.next("cancelled")["keys"] == ["goes"]
    assert worker.answers(["stays"])["stays"]["type"] == "reply"
    worker.replies([question(5)])
    assert not any(frame.get("key") == "goes" for frame in worker.seen)


def test_cancelling_everything_empties_the_queue(worker: Worker) -> None:
    started = len(worker.seen)
    worker.ask({f"gone {n}": ENDLESS for n in range(40)})
    worker.send({"type": "cancel", "keys": []})
    assert sorted(worker.next("cancelled")["keys"]) == sorted(f"gone {n}" for n in range(40))
    worker.replies([question(6)])
    replies = [f for f in worker.seen[started:] if f["type"] == "reply"]
    assert len(replies) == 1


def test_a_cancelled_key_can_be_asked_again(worker: Worker) -> None:
    worker.ask({"twice": ENDLESS})
    worker.send({"type": "cancel", "keys": ["twice"]})
    worker.next("cancelled")
    worker.ask({"twice": question(7)})
    assert worker.answers(["twice"])["twice"]["type"] == "reply"


def test_bye_lets_the_queue_finish_first(llama: Path) -> None:
    with Worker(str(llama)) as worker:
        worker.ask({f"{n}": question(n) for n in range(20)})
        worker.send({"type": "bye"})
        worker.answers(f"{n}" for n in range(20))
        assert worker.end() == 0
        assert worker.seen[-1]["type"] == "memory"


@pytest.mark.parametrize("busy", [True, False])
def test_without_an_engine_the_worker_is_gone_at_once(llama: Path, busy: bool) -> None:
    with Worker(str(llama)) as worker:
        worker.next("loaded")
        if busy:
            worker.ask({f"{n}": ENDLESS for n in range(8)})
            worker.until(lambda frame: frame["type"] == "memory")
        assert worker.process.stdin is not None
        worker.process.stdin.close()
        assert worker.process.wait(20) == 0
        assert not any(frame["type"] == "reply" for frame in worker.seen)


def test_what_is_no_frame_ends_the_worker(llama: Path) -> None:
    with Worker(str(llama)) as worker:
        worker.next("loaded")
        assert worker.process.stdin is not None
        worker.process.stdin.write(b"\0\0\0\4oops")
        worker.process.stdin.flush()
        assert worker.end() == 1
        worker._threads[1].join(20)
        assert "JSONDecodeError" in worker.log


def test_what_libraries_print_never_reaches_the_engine(llama: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\n"
        "class Noisy:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.startswith('transformers.models.llama'):\n"
        "            print('noise: printed')\n"
        "            os.write(1, b'noise: written\\n')\n"
        "            sys.stdin.read()\n"
        "sys.meta_path.insert(0, Noisy())\n"
    )
    with Worker(str(llama), env={"PYTHONPATH": str(tmp_path)}) as worker:
        worker.replies([question(1)])
        worker.send({"type": "bye"})
        assert worker.end() == 0
        worker._threads[1].join(20)
        assert "noise: printed" in worker.log
        assert "noise: written" in worker.log


def last_fatal(worker: Worker) -> Frame:
    frame = worker.next("fatal")
    assert worker.end() == 1
    return frame


def test_a_model_that_does_not_exist_is_fatal(tmp_path: Path) -> None:
    folder = tiny.make_llama(tmp_path / "model")
    worker = Worker(str(folder))
    with worker:
        worker.send({"type": "load", "model": "smollm3", "settings": {}})
        worker.next("loaded")
        frame = last_fatal(worker)
    assert frame["error"] == "NoSuchModel"
    assert "smollm2-135m-instruct" in frame["why"]


def test_weights_that_cannot_be_read_are_fatal(tmp_path: Path) -> None:
    folder = tiny.make_llama(tmp_path / "model")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with Worker(str(folder)) as worker:
        frame = last_fatal(worker)
    assert frame["error"] == "WorkerFailed"
    assert "could not be loaded" in frame["what"]
    assert frame["hint"]


def test_a_device_that_is_not_there_is_fatal(llama: Path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has the device that the test needs to be absent")
    with Worker(str(llama), device="cuda") as worker:
        frame = last_fatal(worker)
    assert frame["error"] == "WorkerFailed"
    assert "no cuda device" in frame["what"]
    assert "--device cpu" in frame["hint"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can limit another process")
def test_when_memory_runs_out_batches_shrink_and_only_the_impossible_fails(tmp_path: Path) -> None:
    # Through a layer this wide 512 tokens need 3 gigabytes, 64 tokens 400 megabytes, and even
    # for 32 tokens every piece is so large that the allocator gives it back when it is free.
    folder = tiny.make_llama(
        tmp_path / "wide",
        hidden_size=16,
        head_dim=4,
        intermediate_size=2**19,
        num_hidden_layers=1,
    )
    plain = Plain(folder)
    prompts = {f"{n}": question(n) for n in range(60)}
    wanted = {
        key: [plain.loglikelihood(p.messages[0].text, c) for c in p.continuations]
        for key, p in list(prompts.items())[::6]
    }
    with Worker(str(folder), max_batch_tokens=512) as worker:
        worker.next("loaded")
        process = psutil.Process(worker.process.pid)

        def leave(megabytes: int) -> None:
            room = process.memory_info().vms + megabytes * 2**20
            process.rlimit(psutil.RLIMIT_AS, (room, -1))

        leave(600)
        worker.ask(prompts)
        found = worker.answers(prompts)
        budgets = [f["budget"] for f in worker.seen if f["type"] == "out-of-memory"]
        assert budgets == [256, 128, 64]
        for key, logprobs in wanted.items():
            assert found[key]["reply"]["logprobs"] == pytest.approx(logprobs, abs=1e-3)

        leave(4)
        worker.ask({"impossible": choose("count one two three " * 40, [" four"])})
        frame = worker.answers(["impossible"])["impossible"]
        assert frame["type"] == "failed"
        assert frame["error"] == "OutOfMemory"

        leave(600)
        worker.ask({"after": question(1)})
        assert worker.answers(["after"])["after"]["type"] == "reply"
