"""Matrix products of 16-bit weights on CPUs that cannot multiply 16-bit numbers.

There, torch multiplies number by number and is seven times slower than in float32. The weights stay
as they are; one piece of them at a time is widened, which is lossless, and multiplied in float32.
Sums are float32 either way and each result is rounded once.
"""

from __future__ import annotations

import platform
from typing import Any

import torch
from torch import Tensor
from transformers.pytorch_utils import Conv1D

_PIECE = 1 << 20
"""Weights widened at once on a CPU: 4 MB, which fits its caches (0.25 to 4 million perform alike, a
whole large layer takes up to four times as long)."""
_PIECE_ON_CARDS = 1 << 24
_FEW_ROWS = 8
"""With fewer rows than this, reading the weights dominates, and 16-bit ones are half the size."""


def widened_product(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """``rows @ weight.T + bias`` in float32, in whatever format the weights are stored.

    Args:
        rows: ``[..., inputs]``, any number format.
        weight: ``[outputs, inputs]``.
        bias: ``[outputs]``, or None.

    Returns:
        float32, ``[..., outputs]``.
    """
    wide = rows.float()
    outputs, inputs = weight.shape
    result = wide.new_empty((*wide.shape[:-1], outputs))
    piece = _PIECE if weight.device.type == "cpu" else _PIECE_ON_CARDS
    step = max(1, piece // inputs)
    for start in range(0, outputs, step):
        part = slice(start, start + step)
        shift = None if bias is None else bias[part].float()
        result[..., part] = torch.nn.functional.linear(wide, weight[part].float(), shift)
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


_WIDENED: dict[type, type] = {torch.nn.Linear: _WideLinear, Conv1D: _WideConv1D}
