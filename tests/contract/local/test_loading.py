"""What is chosen when a model is loaded: device, numbers, attention, threads, batch size."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from evalbench.engine.calls import choose, generate
from evalbench.engine.errors import WorkerFailed
from evalbench.providers.local.options import LocalOptions
from tests.contract.local.driver import Worker
from tests.contract.local.reference import Plain

pytestmark = [pytest.mark.local, pytest.mark.timeout(300)]


def test_attention_falls_back_from_the_fastest_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from evalbench.providers.local import loading

    cpu, cuda = torch.device("cpu"), torch.device("cuda")
    half, whole = torch.bfloat16, torch.float32
    card = {"installed": True, "capability": (8, 0)}
    monkeypatch.setattr(loading, "find_spec", lambda name: card["installed"] or None)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: card["capability"])

    def told(device: torch.device, dtype: torch.dtype) -> tuple[str, str]:
        first = loading.attention_order(device, dtype)[0]
        return first, loading.attention_reason(first, device, dtype)

    assert loading.attention_order(cuda, half) == ["flash_attention_2", "sdpa", "eager"]
    assert told(cuda, half)[1] == "flash-attn is installed and this card can use it"
    assert told(cuda, whole) == ("sdpa", "flash-attn needs 16 bits")
    assert told(cpu, half) == ("sdpa", "flash-attn needs an NVIDIA card")
    card["capability"] = (7, 5)
    assert told(cuda, half)[0] == "sdpa"
    assert "compute capability" in told(cuda, half)[1]
    card["installed"] = False
    assert told(cuda, half) == ("sdpa", "flash-attn is not installed")
    reason = loading.attention_reason("eager", cpu, whole)
    assert reason.startswith("torch's own does not take this model")


def test_a_cpu_computes_in_float32_unless_told_otherwise() -> None:
    import torch

    from evalbench.providers.local.loading import choose_dtype

    cpu = torch.device("cpu")
    assert choose_dtype("auto", cpu) is torch.float32
    assert choose_dtype("auto", cpu, quantized=True) is torch.bfloat16
    assert choose_dtype("bfloat16", cpu) is torch.bfloat16
    assert choose_dtype("float16", torch.device("cuda")) is torch.float16


def test_an_absent_device_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from evalbench.providers.local.loading import choose_device

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert choose_device("auto").type == "cpu"
    with pytest.raises(WorkerFailed, match="no mps device"):
        choose_device("mps")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto").type == "cuda"


@pytest.mark.parametrize(
    ("cores", "allowed", "load", "threads"),
    [(8, 16, 0.2, 8), (8, 16, 3.4, 5), (8, 4, 0.0, 4), (2, 2, 1.0, 1), (2, 2, 9.0, 1)],
)
def test_threads_are_the_free_physical_cores(
    monkeypatch: pytest.MonkeyPatch, cores: int, allowed: int, load: float, threads: int
) -> None:
    from evalbench.providers.local.threads import choose_threads

    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(allowed)), raising=False)
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr(psutil, "cpu_count", lambda logical: cores)
    assert choose_threads() == threads


@pytest.mark.parametrize(
    ("error", "is_memory"),
    [
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: 99 bytes"), True),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), True),
        (RuntimeError("MPS backend out of memory (MPS allocated: 5 GB)"), True),
        (MemoryError(), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_errors_that_mean_too_little_memory(error: Exception, is_memory: bool) -> None:
    from evalbench.providers.local.memory import is_out_of_memory

    assert is_out_of_memory(error) is is_memory


def test_bfloat16_scores_with_a_float32_head(llama: Path, plain: Plain) -> None:
    context, endings = "the quick brown fox jumps over", [" the", " A", " lazy dog"]
    with Worker(str(llama), dtype="bfloat16") as worker:
        info = worker.next("loaded")["info"]
        scored, written = worker.replies(
            [choose(context, endings), generate("count", max_tokens=5)]
        )
    assert info["dtype"] == "bfloat16"
    assert info["packs"] is True
    wanted = [plain.loglikelihood(context, ending) for ending in endings]
    assert scored.logprobs == pytest.approx(wanted, rel=0.05)
    # Logits rounded to bfloat16 would leave steps that a float32 head does not.
    assert all(value != pytest.approx(round(value * 8) / 8, abs=1e-6) for value in scored.logprobs)
    assert written.usage.output_tokens == 5


def test_the_batch_shrinks_to_the_free_memory(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from evalbench.providers.local import batch_size, loading

    model = loading.load(llama, LocalOptions(device="cpu", dtype="float32", threads=1))
    chosen = batch_size.Budget(model, max_batch_tokens=0, slots=0)
    assert (chosen.batch, chosen.slots) == (512, 32)
    monkeypatch.setattr(batch_size, "free_bytes", lambda _: 3 * 2**20)
    tight = batch_size.Budget(model, max_batch_tokens=0, slots=0)
    assert 32 <= tight.batch < 512
    assert tight.resident < chosen.resident
    fixed = batch_size.Budget(model, max_batch_tokens=2048, slots=3)
    assert (fixed.batch, fixed.slots) == (2048, 3)
    steps = 0
    while fixed.halve():
        steps += 1
    assert (fixed.batch, fixed.slots, steps) == (32, 1, 6)


def test_workers_on_one_machine_share_its_threads_and_memory(
    llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evalbench.providers.local import batch_size, loading

    settings = LocalOptions(device="cpu", dtype="float32", threads=4)
    assert loading.load(llama, settings, sharing=2).info["threads"] == 2
    model = loading.load(llama, replace(settings, threads=1), sharing=2)
    assert model.info["threads"] == 1
    monkeypatch.setattr(batch_size, "free_bytes", lambda _: 3 * 2**20)
    alone = batch_size.Budget(model, max_batch_tokens=0, slots=0)
    shared = batch_size.Budget(model, max_batch_tokens=0, slots=0, sharing=2)
    assert (shared.batch, shared.resident) == (alone.batch // 2, alone.resident // 2)


@pytest.mark.parametrize("quantize", ["4bit", "8bit"])
def test_quantised_layers_answer_nearly_the_same(llama: Path, plain: Plain, quantize: str) -> None:
    prompt = choose("the quick brown fox", [" jumps", " over"])
    with Worker(str(llama), quantize=quantize) as worker:
        info = worker.next("loaded")["info"]
        (reply,) = worker.replies([prompt])
        assert "MatMul8bitLt" not in worker.log
    assert (info["quantize"], info["dtype"]) == (quantize, "bfloat16")
    assert info["parameters"] == sum(weight.numel() for weight in plain.network.parameters())
    assert info["versions"]["bitsandbytes"]
    wanted = [plain.loglikelihood(prompt.messages[0].text, c) for c in prompt.continuations]
    assert reply.logprobs == pytest.approx(wanted, rel=0.1)


def test_weights_that_memory_cannot_hold_are_refused_before_they_are_read(llama: Path) -> None:
    with Worker(str(llama), memory_limit="1MB") as worker:
        assert worker.end() == 1
    fatal = worker.seen[-1]
    assert (fatal["type"], fatal["error"]) == ("fatal", "WorkerFailed")
    assert fatal["what"] == "the model does not fit into memory"
    assert "allowed by --memory-limit" in fatal["why"]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody enforces the limit")
def test_a_limit_is_a_ceiling(llama: Path) -> None:
    with Worker(str(llama), memory_limit="900MB") as worker:
        worker.next("loaded")
        held = psutil.Process(worker.process.pid)
        soft, _ = held.rlimit(psutil.RLIMIT_AS)
        room = soft - held.memory_info().vms
        assert held.memory_info().rss + room < 950_000_000
        assert worker.replies([generate("count one two", max_tokens=3)])[0].text is not None


@pytest.mark.parametrize("kind", ["llama", "theirs"])
def test_code_that_comes_with_a_model_is_never_run(llama: Path, tmp_path: Path, kind: str) -> None:
    from evalbench.providers.local import loading

    folder, sign = tmp_path / "model", tmp_path / "it-ran"
    shutil.copytree(llama, folder)
    auto = {f"Auto{what}": "theirs.Theirs" for what in ("Config", "ModelForCausalLM", "Tokenizer")}
    for name in ("config.json", "tokenizer_config.json"):
        body = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps(body | {"auto_map": auto, "model_type": kind}))
    (folder / "theirs.py").write_text(f"open({str(sign)!r}, 'w')\nclass Theirs: ...\n")
    with contextlib.suppress(WorkerFailed):
        loading.load(folder, LocalOptions(device="cpu"))
    assert not sign.exists()


def test_pickled_weights_are_never_read(llama: Path, tmp_path: Path) -> None:
    from evalbench.providers.local import loading

    folder = tmp_path / "model"
    shutil.copytree(llama, folder)
    for weights in folder.glob("*.safetensors"):
        weights.unlink()
    (folder / "pytorch_model.bin").write_bytes(b"not even a pickle")
    with pytest.raises(WorkerFailed, match="safetensors"):
        loading.load(folder, LocalOptions(device="cpu"))
