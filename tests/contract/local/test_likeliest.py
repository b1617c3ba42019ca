"""Tokens chosen by a head in bfloat16 and a few exact logits: those of float32."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.calls import generate
from tests.contract.local.test_blocks import load, written

pytestmark = [pytest.mark.local, pytest.mark.timeout(300)]


@pytest.fixture(autouse=True)
def onednn() -> None:
    import torch

    if not (torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()):
        pytest.skip("oneDNN does not multiply bfloat16 here")


def twins(dtype: str, count: int) -> tuple[Any, Any]:
    """A head in which ``count`` tokens differ by less than bfloat16 shows, and rows for it."""
    import torch

    torch.manual_seed(0)
    weight = torch.randn(3000 // count, 96).repeat(count, 1)
    steps = 1 + 0.01 * torch.rand(len(weight))
    weight[:, 0] *= steps
    rows = weight[:40] + 0.1 * torch.randn(40, 96)
    rows[:, 0] = weight[:40, 0] * 3
    return weight.to(getattr(torch, dtype)), rows.to(getattr(torch, dtype))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("count", [2, 200])
def test_tokens_are_those_of_exact_logits(dtype: str, count: int) -> None:
    import torch

    from evalbench.providers.local.likeliest import Likeliest

    weight, rows = twins(dtype, count)
    exact = rows.double() @ weight.double().T
    with torch.inference_mode():
        found = Likeliest(weight).tokens(rows)
    wanted, chosen = exact.max(dim=1).values, exact.gather(1, found[:, None])[:, 0]
    torch.testing.assert_close(chosen, wanted, rtol=1e-6, atol=0)
    rounded = rows.bfloat16() @ weight.bfloat16().T
    assert (exact.gather(1, rounded.argmax(dim=1)[:, None])[:, 0] < wanted * (1 - 1e-5)).any()


def test_answers_are_the_same_and_drawn_ones_are_not_touched(
    llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evalbench.providers.local.likeliest import Likeliest

    monkeypatch.setattr("torch.cpu._is_avx512_bf16_supported", lambda: True)
    greedy = {str(n): generate(f"count to {n} " * (n + 1), max_tokens=20) for n in range(6)}
    drawn = {"drawn": generate("draw", max_tokens=20, temperature=1.0, seed=3)}
    chooses = load(llama, dtype="float32")
    if not chooses._model.onednn:
        pytest.skip("oneDNN does not multiply here")
    found = written(chooses, greedy), written(chooses, greedy | drawn)
    assert isinstance(chooses._model.likeliest, Likeliest)
    monkeypatch.setattr(Likeliest, "of", lambda _weight: None)
    plain = load(llama, dtype="float32")
    assert found == (written(plain, greedy), written(plain, greedy | drawn))
    assert plain._model.likeliest is None
    assert len(set(found[0].values())) > 3


def test_heads_that_would_not_be_faster_or_have_no_room_are_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import torch

    from evalbench.providers.local import likeliest

    weight = torch.randn(300, 8)
    free = weight.nbytes // 2 * 8
    able = True
    monkeypatch.setattr("torch.cpu._is_avx512_bf16_supported", lambda: able)
    monkeypatch.setattr(likeliest, "free_bytes", lambda _device: free)
    of = likeliest.Likeliest.of
    assert of(weight) is None
    assert of(weight.bfloat16()) is not None  # they are there already
    free += 8
    assert of(weight) is not None
    assert of(weight.half()) is None
    able = False
    assert of(weight) is None
