"""What torch is told for the same bits on a card, as far as that can be seen without one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.calls import generate
from evalbench.engine.errors import WorkerFailed
from evalbench.providers.local.options import LocalOptions

pytestmark = [pytest.mark.local, pytest.mark.timeout(300)]


@pytest.fixture
def torch() -> Iterator[Any]:
    """torch, whose settings are put back afterwards."""
    import torch

    cudnn = torch.backends.cudnn
    before = torch.get_float32_matmul_precision(), cudnn.benchmark, cudnn.allow_tf32
    yield torch
    torch.use_deterministic_algorithms(False)
    torch.set_float32_matmul_precision(before[0])
    cudnn.benchmark, cudnn.allow_tf32 = before[1:]


def test_on_a_card_nothing_is_left_to_chance_and_that_is_recorded(
    torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evalbench.providers.local.determinism import make_deterministic

    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = torch.backends.cudnn.allow_tf32 = True
    assert make_deterministic(torch.device("cuda")) == {
        "deterministic": {
            "algorithms": True,
            "cublas_workspace": ":4096:8",
            "cudnn_benchmark": False,
            "tf32": False,
        }
    }
    assert torch.are_deterministic_algorithms_enabled()
    assert not torch.is_deterministic_algorithms_warn_only_enabled()
    assert not torch.backends.cudnn.allow_tf32
    assert not torch.backends.cudnn.benchmark
    assert torch.get_float32_matmul_precision() == "highest"


def test_a_cpu_needs_nothing(torch: Any) -> None:
    from evalbench.providers.local.determinism import make_deterministic

    assert make_deterministic(torch.device("cpu")) == {}
    assert not torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize("deterministic", [True, False])
def test_it_is_settled_before_the_model_is_loaded(
    torch: Any, llama: Path, monkeypatch: pytest.MonkeyPatch, deterministic: bool
) -> None:
    from evalbench.providers.local import active_calls, loading
    from evalbench.providers.local.catalogue import FolderModel

    seen: list[bool] = []
    load, cpu = loading.load, torch.device("cpu")

    def watched(folder: Path, *given: Any) -> Any:
        seen.append(torch.are_deterministic_algorithms_enabled())
        monkeypatch.setattr(loading, "choose_device", lambda _: cpu)
        return load(folder, *given)

    monkeypatch.setattr(active_calls, "check_memory", lambda *_: None)
    monkeypatch.setattr(loading, "choose_device", lambda _: torch.device("cuda"))
    monkeypatch.setattr(loading, "load", watched)
    settings = LocalOptions(deterministic=deterministic, threads=1, device="cpu", dtype="float32")
    made = active_calls.ActiveCalls.load(FolderModel(llama), settings, lambda *_: None)
    assert seen == [deterministic]
    assert made.info.get("deterministic", {}).get("algorithms", False) is deterministic


def test_what_torch_cannot_compute_the_same_way_twice_is_said(
    torch: Any, llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evalbench.providers.local import active_calls, loading

    settings = LocalOptions(deterministic=True, device="cpu", max_batch_tokens=64).fixed()
    made = active_calls.ActiveCalls(loading.load(llama, settings), settings, {})
    made.add("a", generate("count", max_tokens=2))

    def fails(*_: Any, **__: Any) -> Any:
        raise RuntimeError(
            "cumsum_cuda_kernel does not have a deterministic implementation, but you set "
            "'torch.use_deterministic_algorithms(True)'. You can turn off determinism."
        )

    monkeypatch.setattr(type(made._model), "run", fails)
    with pytest.raises(WorkerFailed, match="--deterministic") as caught:
        made.step(lambda *_: None)
    assert caught.value.why.startswith("cumsum_cuda_kernel does not have")
    assert "--device cpu" in caught.value.hint
