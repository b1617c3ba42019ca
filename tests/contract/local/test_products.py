"""16-bit weights on processors that cannot multiply them, and what is packed in few bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalbench.providers.local.options import LocalOptions
from tests.contract.local.tiny import make_llama

pytestmark = [pytest.mark.local, pytest.mark.timeout(300)]


def settings(dtype: str) -> LocalOptions:
    return LocalOptions(device="cpu", threads=1, dtype=dtype)


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
@pytest.mark.parametrize("rows", [1, 40])
def test_widened_products_are_those_of_float32_rounded_once(name: str, rows: int) -> None:
    import torch
    from transformers.pytorch_utils import Conv1D

    from evalbench.providers.local.products import widen_products

    dtype = getattr(torch, name)
    torch.manual_seed(0)
    layers = torch.nn.Sequential(torch.nn.Linear(700, 1900), Conv1D(31, 1900)).to(dtype)
    given = torch.randn(2, rows, 700).to(dtype)
    exact = given
    with torch.inference_mode():
        for layer in layers:
            weight = layer.weight if isinstance(layer, torch.nn.Linear) else layer.weight.T
            wide = torch.nn.functional.linear(exact.float(), weight.float(), layer.bias.float())
            exact = wide.to(dtype)
        widen_products(layers)
        found = layers(given)
    assert found.dtype is dtype
    step = float(torch.finfo(dtype).eps) * float(exact.abs().max())
    assert float((found - exact).abs().max()) <= step


def test_products_in_float32_are_for_processors_without_16_bits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import torch

    from evalbench.providers.local import loading, products

    cpu, card = torch.device("cpu"), torch.device("cuda")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    for able in (True, False):
        monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda able=able: able)
        assert products.multiplies(torch.bfloat16, cpu) is able
        assert products.multiplies(torch.bfloat16, card)
        assert products.multiplies(torch.float32, cpu)
        model = loading.load(make_llama(tmp_path / str(able)), settings(dtype="bfloat16"))
        assert model.info["products"] == ("bfloat16" if able else "float32")
        kinds = {type(layer) for layer in model.network.modules()}
        assert (torch.nn.Linear in kinds) is able
        assert model.packs


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_a_model_that_reads_neighbours_or_wrong_places_is_not_packed(
    tmp_path: Path, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from evalbench.providers.local import loading, model

    folder = make_llama(tmp_path)
    plain = model.LoadedModel.run
    assert loading.load(folder, settings(dtype=dtype)).packs

    def careless(self: Any, tokens: Any, positions: Any, **how: Any) -> Any:
        if how.get("mask") is not None:
            how["mask"] = torch.ones_like(how["mask"])
        return plain(self, tokens, positions, **how)

    def misplaced(self: Any, tokens: Any, positions: Any, **how: Any) -> Any:
        if how.get("mask") is not None:
            first = int(positions.min())
            positions = torch.arange(first, first + positions.shape[1])[None]
        return plain(self, tokens, positions, **how)

    for wrong in (careless, misplaced):
        monkeypatch.setattr(model.LoadedModel, "run", wrong)
        assert not loading.load(folder, settings(dtype=dtype)).packs
