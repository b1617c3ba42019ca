"""The likeliest token of each row, without the logits of all tokens in float32.

The output head is the largest product of a small model. Multiplied in bfloat16 it takes half the
time, and a bound on what that rounds away leaves a few candidates, whose exact logits decide: the
tokens are those of float32.
"""

from __future__ import annotations

import torch
from torch import Tensor

from evalbench.providers.local.matrix_products import product, widened_product
from evalbench.providers.local.memory import free_bytes

_CANDIDATES = 64
"""Rows with more of them, one in a thousand, are multiplied in float32."""
_PIECE = 1 << 20
_ROUNDING = 2**-8
"""Twice the relative error of a number rounded to bfloat16."""
_SUMMING = 2**-23
"""Twice the relative error of one sum in float32."""
_SHARE = 8
"""Weights in float32 are rounded once more if they leave this many times their memory free."""


class Likeliest:
    """The output head of a model on a CPU whose processor multiplies bfloat16."""

    def __init__(self, weight: Tensor) -> None:
        """Prepare for the head's weights, ``[vocabulary, size]``, float32 or bfloat16."""
        self._weight = weight
        self._rough = weight.bfloat16()
        # Of any row: its length, and that of what is rounded away.
        self._longest = self._lost = 0.0
        step = max(1, _PIECE // weight.shape[1])
        for exact, rough in zip(weight.split(step), self._rough.split(step), strict=True):
            self._longest = max(self._longest, float(exact.float().norm(dim=1).max()))
            if exact.dtype != rough.dtype:
                self._lost = max(self._lost, float((exact - rough.float()).norm(dim=1).max()))

    @classmethod
    def of(cls, weight: Tensor) -> Likeliest | None:
        """One for these weights; None if it is not faster, or has no room."""
        if weight.device.type != "cpu" or not torch.cpu._is_avx512_bf16_supported():
            return None
        if weight.dtype == torch.bfloat16:
            return cls(weight)
        room = free_bytes(weight.device) // _SHARE
        return cls(weight) if weight.dtype == torch.float32 and weight.nbytes // 2 < room else None

    def tokens(self, rows: Tensor) -> Tensor:
        """The token with the largest logit of each of ``rows``, ``[rows, size]``: ``[rows]``."""
        rounded = rows.bfloat16()
        rough = product(rounded, self._rough)
        values, found = rough.topk(min(_CANDIDATES, rough.shape[1]), dim=1)
        best = values[:, :1].float()
        near = values >= best - 2 * (
            self._error(rows.float(), rounded.float()) + _ROUNDING * best.abs()
        )
        row, place = near.nonzero(as_tuple=True)
        token = found[row, place]
        exact = torch.full(near.shape, -torch.inf)
        exact[row, place] = (rows[row].float() * self._weight[token].float()).sum(dim=1)
        chosen = found.gather(1, exact.argmax(dim=1, keepdim=True))[:, 0]
        unsure = near.all(dim=1)
        if unsure.any():
            logits = widened_product(rows[unsure], self._weight, None, onednn=True)
            chosen[unsure] = logits.argmax(dim=1)
        return chosen

    def _error(self, rows: Tensor, rounded: Tensor) -> Tensor:
        """How far the rough logits of each row may be off, before they are rounded, ``[rows, 1]``.

        By the Cauchy-Schwarz inequality, for what is rounded away of rows and of weights; and sums
        of ``size`` products in float32.
        """
        lost = (rows - rounded).norm(dim=1, keepdim=True)
        length = rounded.norm(dim=1, keepdim=True)
        summing = _SUMMING * rows.shape[1] * self._longest
        return lost * self._longest + length * (self._lost + summing)
