"""Matrix products that are faster on x86 CPUs than torch's default.

*Packed*: in float32 torch calls MKL, which uses only AVX2 on AMD's processors, and in any format it
rearranges a layer's weights for each product. oneDNN, which comes with torch, multiplies by weights
that were packed, that is rearranged, once: with AVX-512 a product of 32 rows takes 2.3 times less
in float32 and 1.3 times less in bfloat16.

*Widened*: some CPUs cannot multiply 16-bit numbers. There, torch multiplies number by number and is
seven times slower than in float32. The weights stay as they are; one piece of them at a time is
widened, which is lossless, and multiplied in float32. Sums are float32 either way and each result
is rounded once.
"""

from __future__ import annotations

import platform
from collections import Counter
from typing import Any

import torch
from torch import Tensor
from transformers.pytorch_utils import Conv1D

from evalbench.providers.local.memory import FileMappings, is_limited, is_out_of_memory, trim

_PIECE = 1 << 20
"""Weights widened at once on a CPU: 4 MB, which fits its caches (0.25 to 4 million perform alike, a
whole large layer takes up to four times as long)."""
_PIECE_ON_CARDS = 1 << 24
_FEW_ROWS = 8
"""With fewer rows than this, reading the weights dominates, and 16-bit ones are half the size."""
_PACKED_FOR = 512
"""Rows for which weights are packed; one row is no slower than if packed for one."""


def product(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``rows @ weight.T + bias`` by oneDNN, all of one number format, without gradients.

    Args:
        rows: ``[..., inputs]``.
        weight: ``[outputs, inputs]``, or what :func:`pack_products` made of it.
        bias: ``[outputs]``, or None.
    """
    result: Tensor = torch.ops.mkldnn._linear_pointwise(rows, weight, bias, "none", [], "")
    return result


def has_onednn(device: torch.device) -> bool:
    """Whether a model on that device can be multiplied by oneDNN.

    Where memory is limited, allocations fail; oneDNN does not recover from that.
    """
    if device.type != "cpu" or platform.machine().lower() not in {"x86_64", "amd64"}:
        return False
    return bool(torch.backends.mkldnn.is_available()) and not is_limited()


def pack_products(network: Any) -> list[Any]:
    """Pack the weights of linear layers for oneDNN.

    The packed weights replace the others, whose memory is freed. Left alone are weights used
    elsewhere too, and the output head.

    Returns:
        The layers, for :func:`unpack_products`; none if oneDNN cannot pack one of them.

    Raises:
        RuntimeError, MemoryError: memory ran out; the network cannot be used any more.
    """
    uses = Counter(id(one) for _, one in network.named_parameters(remove_duplicate=False))
    head = network.get_output_embeddings()
    files = FileMappings()
    layers: list[Any] = []
    for layer in network.modules():
        kind = _PACKED.get(type(layer))
        if kind is None or layer is head or uses[id(layer.weight)] > 1:
            continue
        if layer.weight.dtype in (torch.float32, torch.bfloat16):
            try:
                kind.pack(layer, files)
            except RuntimeError as error:
                if is_out_of_memory(error):
                    raise
                unpack_products(layers)
                return []
            layers.append(layer)
    # A file counts as this process's memory until nothing refers to it.
    for weight in network.parameters():
        if files.hold(weight):
            weight.data = weight.data.clone()
    trim()
    return layers


def unpack_products(layers: list[Any]) -> None:
    """Undo :func:`pack_products`."""
    for layer in layers:
        layer.unpack()


def widened_product(
    rows: Tensor, weight: Tensor, bias: Tensor | None, *, onednn: bool = False
) -> Tensor:
    """``rows @ weight.T + bias`` in float32, in whatever format the weights are stored.

    Args:
        rows: ``[..., inputs]``, any number format.
        weight: ``[outputs, inputs]``.
        bias: ``[outputs]``, or None.
        onednn: multiply by oneDNN.

    Returns:
        float32, ``[..., outputs]``.
    """
    multiply = product if onednn else torch.nn.functional.linear
    wide = rows.float()
    outputs, inputs = weight.shape
    result = wide.new_empty((*wide.shape[:-1], outputs))
    piece = _PIECE if weight.device.type == "cpu" else _PIECE_ON_CARDS
    step = max(1, piece // inputs)
    for start in range(0, outputs, step):
        part = slice(start, start + step)
        shift = None if bias is None else bias[part].float()
        result[..., part] = multiply(wide, weight[part].float(), shift)
    return result


def multiplies(dtype: torch.dtype, device: torch.device) -> bool:
    """Whether the device's own matrix products of such numbers are worth using."""
    if device.type != "cpu" or platform.machine().lower() not in {"x86_64", "amd64"}:
        return True
    if not torch.backends.mkldnn.is_available():
        return bool(dtype == torch.float32)
    if dtype == torch.bfloat16:
        return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    if dtype == torch.float16:
        return bool(torch.ops.mkldnn._is_mkldnn_fp16_supported())
    return True


def widen_products(network: Any) -> None:
    """Make every linear layer with 16-bit weights multiply in float32."""
    for layer in network.modules():
        # Not its subclasses: quantised layers multiply in their own way.
        if (kind := _WIDENED.get(type(layer))) and layer.weight.dtype.itemsize == 2:
            layer.__class__ = kind


class _WideLinear(torch.nn.Linear):  # type: ignore[misc]
    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        if input.numel() < _FEW_ROWS * self.in_features:
            return super().forward(input)
        return widened_product(input, self.weight, self.bias).to(input.dtype)


class _WideConv1D(Conv1D):  # type: ignore[misc]
    """GPT-2's linear layer, whose weights are transposed."""

    def forward(self, x: Tensor) -> Tensor:
        if x.numel() < _FEW_ROWS * self.nx:
            plain: Tensor = super().forward(x)
            return plain
        return widened_product(x, self.weight.T, self.bias).to(x.dtype)


class _Packed(torch.nn.Module):  # type: ignore[misc]
    """A linear layer whose weights are packed for oneDNN.

    It has no ``weight``: a model that multiplies by it without calling the layer fails at once.
    """

    plain: type
    bias: Tensor | None

    @classmethod
    def pack(cls, layer: Any, files: FileMappings) -> None:
        """Make a plain layer a packed one; it stays as it is if that fails.

        Raises:
            RuntimeError: oneDNN cannot pack its weights.
        """
        weight = layer.weight.detach()
        straight = cls._transposed(weight).contiguous()
        packed = torch.ops.mkldnn._reorder_linear_weight(straight, _PACKED_FOR)
        del layer.weight
        layer.packed = packed
        layer.__class__ = cls
        files.drop(weight)

    def unpack(self) -> None:
        """Make it a plain layer again."""
        weight = self._transposed(self.packed.to_dense()).contiguous()
        del self.packed
        self.weight = torch.nn.Parameter(weight, requires_grad=False)
        self.__class__ = self.plain

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """One product with the packed weights."""
        return product(input, self.packed, self.bias)

    @staticmethod
    def _transposed(weight: Tensor) -> Tensor:
        """From what the layer holds to ``[outputs, inputs]``, and back."""
        return weight


class _PackedLinear(_Packed, torch.nn.Linear):  # type: ignore[misc]
    plain = torch.nn.Linear


class _PackedConv1D(_Packed, Conv1D):  # type: ignore[misc]
    plain = Conv1D

    @staticmethod
    def _transposed(weight: Tensor) -> Tensor:
        return weight.T


_PACKED: dict[type, type[_Packed]] = {one.plain: one for one in (_PackedLinear, _PackedConv1D)}
_WIDENED: dict[type, type] = {torch.nn.Linear: _WideLinear, Conv1D: _WideConv1D}
