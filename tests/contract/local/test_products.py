"""Packed weights, and 16-bit ones on processors that cannot multiply them."""

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

    from evalbench.providers.local.matrix_products import widen_products

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


@pytest.mark.parametrize("name", ["float32", "bfloat16"])
@pytest.mark.parametrize("rows", [1, 40])
def test_packed_products_are_those_of_torch(name: str, rows: int) -> None:
    import torch
    from transformers.pytorch_utils import Conv1D

    from evalbench.providers.local.matrix_products import pack_products, unpack_products

    class Network(torch.nn.Sequential):  # type: ignore[misc]
        def get_output_embeddings(self) -> Any:
            return self[-1]

    dtype = getattr(torch, name)
    torch.manual_seed(0)
    layers = (torch.nn.Linear(70, 190, bias=False), Conv1D(31, 190), torch.nn.Linear(31, 50))
    network = Network(*layers).to(dtype)
    given = torch.randn(2, rows, 70).to(dtype)
    with torch.inference_mode():
        plain = network(given)
        packed = pack_products(network)
        found = network(given)
        assert packed == list(network[:2])  # the output head is multiplied on its own
        unpack_products(packed)
        assert torch.equal(network(given), plain)
    assert found.dtype is dtype
    step = float(torch.finfo(dtype).eps) * float(plain.abs().max())
    assert float((found - plain).abs().max()) <= 4 * step


def test_weights_used_twice_are_not_packed() -> None:
    import torch

    from evalbench.providers.local.matrix_products import pack_products

    class Network(torch.nn.Sequential):  # type: ignore[misc]
        def get_output_embeddings(self) -> None:
            return None

    network = Network(*(torch.nn.Linear(8, 8) for _ in range(3)))
    network[1].weight = network[0].weight
    assert pack_products(network) == [network[2]]
    assert network[1].weight is network[0].weight


def test_a_model_that_onednn_cannot_pack_is_multiplied_by_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from evalbench.providers.local import loading

    arrange = torch.ops.mkldnn._reorder_linear_weight
    packed: list[torch.Tensor] = []

    def fails_at_last(weight: torch.Tensor, rows: int) -> torch.Tensor:
        if len(packed) == 20:
            raise RuntimeError("could not create a primitive descriptor")
        packed.append(weight)
        return arrange(weight, rows)

    folder = make_llama(tmp_path)
    wanted = loading.load(folder, settings("float32"))
    monkeypatch.setattr(torch.ops.mkldnn, "_reorder_linear_weight", fails_at_last)
    model = loading.load(folder, settings("float32"))
    assert len(packed) == 20
    assert (model.onednn, model.packs, model.blocks) == (False, True, True)
    assert {type(one).__name__ for one in model.network.modules()}.isdisjoint({"_PackedLinear"})
    for name, weight in model.network.named_parameters():
        if name in dict(wanted.network.named_parameters()):
            assert torch.equal(weight, wanted.network.get_parameter(name)), name


def test_memory_that_runs_out_while_weights_are_packed_ends_the_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from evalbench.providers.local import loading

    def no_memory(weight: torch.Tensor, rows: int) -> torch.Tensor:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr(torch.ops.mkldnn, "_reorder_linear_weight", no_memory)
    with pytest.raises(RuntimeError, match="can't allocate memory"):
        loading.load(make_llama(tmp_path), settings("float32"))


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="the system does not tell")
def test_while_weights_are_packed_their_file_leaves_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    from evalbench.providers.local.matrix_products import pack_products, unpack_products

    class Network(torch.nn.Sequential):  # type: ignore[misc]
        def get_output_embeddings(self) -> Any:
            return self[-1]

    network = Network(*(torch.nn.Linear(1024, 1024, bias=False) for _ in range(5)))
    made = {name: weight.detach().clone() for name, weight in network.named_parameters()}
    file = tmp_path / "model.safetensors"
    save_file(made, file)
    network.load_state_dict(load_file(file), assign=True)
    assert all(bool(weight.isfinite().all()) for weight in network.parameters())
    arrange = torch.ops.mkldnn._reorder_linear_weight
    held = []

    def watched(weight: torch.Tensor, rows: int) -> torch.Tensor:
        held.append(resident(file))
        return arrange(weight, rows)

    monkeypatch.setattr(torch.ops.mkldnn, "_reorder_linear_weight", watched)
    layers = pack_products(network)
    size = 1024 * 1024 * 4
    assert held[0] >= 5 * size
    assert held[3] <= held[0] - 3 * size + 64 * 1024
    assert resident(file) == 0
    unpack_products(layers)
    assert len(layers) == 4
    for name, weight in network.named_parameters():
        assert torch.equal(weight, made[name]), name


def resident(file: Path) -> int:
    """Bytes of a file that are in this process's memory."""
    found, ours = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if not line.split(maxsplit=1)[0].endswith(":"):
            ours = line.endswith(str(file))
        elif ours and line.startswith("Rss:"):
            found += 1024 * int(line.split()[1])
    return found


def test_where_allocations_may_fail_products_are_those_of_torch(tmp_path: Path) -> None:
    import resource

    import torch

    from evalbench.providers.local import loading, matrix_products

    def packed(**options: Any) -> bool:
        model = loading.load(folder, LocalOptions(device="cpu", threads=1, **options))
        kinds = {type(one).__name__ for one in model.network.modules()}
        assert model.onednn is ("_PackedLinear" in kinds)
        return model.onednn

    folder = make_llama(tmp_path)
    assert packed()
    assert not packed(memory_limit="64GB")
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (1 << 40, before[1]))
    try:
        assert not packed()
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert not matrix_products.has_onednn(torch.device("cuda"))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_model_that_multiplies_by_weights_itself_keeps_them(
    tmp_path: Path, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from transformers.models.llama.modeling_llama import LlamaMLP

    from evalbench.providers.local import loading

    def packed(folder: str) -> set[str]:
        model = loading.load(make_llama(tmp_path / folder), settings(dtype=dtype))
        assert (model.packs, model.blocks) == (True, True)
        kinds = {type(one).__name__ for one in model.network.modules()}
        return kinds & {"Linear", "_PackedLinear"}

    monkeypatch.setattr("torch.ops.mkldnn._is_mkldnn_bf16_supported", lambda: True)
    # The output head is never packed.
    assert packed("plain") == {"Linear", "_PackedLinear"}

    def itself(self: Any, x: torch.Tensor) -> torch.Tensor:
        gate = torch.nn.functional.linear(x, self.gate_proj.weight)
        down: torch.Tensor = self.down_proj(self.act_fn(gate) * self.up_proj(x))
        return down

    monkeypatch.setattr(LlamaMLP, "forward", itself)
    assert packed("direct") == {"Linear"}


def test_products_in_float32_are_for_processors_without_16_bits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import torch

    from evalbench.providers.local import loading, matrix_products

    cpu, card = torch.device("cpu"), torch.device("cuda")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    for able in (True, False):
        monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda able=able: able)
        assert matrix_products.multiplies(torch.bfloat16, cpu) is able
        assert matrix_products.multiplies(torch.bfloat16, card)
        assert matrix_products.multiplies(torch.float32, cpu)
        model = loading.load(make_llama(tmp_path / str(able)), settings(dtype="bfloat16"))
        assert model.info["products"] == ("bfloat16" if able else "float32")
        kinds = {type(layer) for layer in model.network.modules()}
        assert {"_PackedLinear", "_WideLinear"} & {kind.__name__ for kind in kinds} == {
            "_PackedLinear" if able else "_WideLinear"
        }
        assert model.packs


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_a_model_that_reads_neighbours_or_wrong_places_is_not_packed(
    tmp_path: Path, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from evalbench.providers.local import attention, cache, loading, model

    folder = make_llama(tmp_path)
    plain, of = model.LoadedModel.run, cache.Runs.of
    assert loading.load(folder, settings(dtype=dtype)).packs

    def careless(self: Any, tokens: Any, positions: Any, **how: Any) -> Any:
        if how.get("mask") is not None:
            how["mask"] = torch.ones_like(how["mask"])
        return plain(self, tokens, positions, **how)

    def careless_runs(self: Any, run: Any) -> Any:
        return of(self, (run[0], run[1], tuple(range(run[0]))))

    def misplaced(self: Any, tokens: Any, positions: Any, **how: Any) -> Any:
        if how.get("mask") is not None or how.get("attention") == attention.RUNS:
            first = int(positions.min())
            positions = torch.arange(first, first + positions.shape[1])[None]
        return plain(self, tokens, positions, **how)

    monkeypatch.setattr(cache.Runs, "of", careless_runs)
    assert loading.load(folder, settings(dtype=dtype)).masked_attention in ("sdpa", "eager")
    monkeypatch.setattr(model.LoadedModel, "run", careless)
    assert not loading.load(folder, settings(dtype=dtype)).packs
    monkeypatch.setattr(cache.Runs, "of", of)
    monkeypatch.setattr(model.LoadedModel, "run", misplaced)
    assert not loading.load(folder, settings(dtype=dtype)).packs
