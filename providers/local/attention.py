"""Attention on a CPU that computes only what tokens may attend to.

The operations of transformers' ``eager_attention_forward``, on keys and values that
:mod:`.cache` keeps apart, instead of on all of them under a mask.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from evalbench.providers.local.cache import Blocks, Runs
from evalbench.providers.local.matrix_products import product

BLOCKS, RUNS = "evalbench_blocks", "evalbench_runs"
"""The names of :func:`attend_blocks` and :func:`attend_runs` in transformers."""
_SPECIAL = ("softcap", "s_aux", "position_bias", "sliding_window")


def attend_blocks(
    module: Any, query: Tensor, key: Blocks, value: Blocks, _mask: Any, scaling: float, **how: Any
) -> tuple[Tensor, None]:
    """Attention of one token per slot to keys and values in blocks.

    Args:
        module: the layer.
        query: ``[slots, heads, 1, size]``, in the order of the blocks.
        key, value: from the cache.
        scaling: what scores are multiplied by.
        how: what else the model asks for.

    Returns:
        ``[slots, 1, heads, size]``.

    Raises:
        ValueError: it asks for something else than plain attention.
    """
    _refuse_special(how)
    found = []
    start = 0
    for keys, values, mask in zip(key, value, key.masks, strict=True):
        rows, heads, _, size = keys.shape
        asked = query[start : start + rows].reshape(rows, heads, -1, size)
        scores = torch.matmul(asked, keys.transpose(2, 3)).mul_(scaling).add_(mask)
        weights = torch.softmax(scores, dim=-1, dtype=torch.float32).to(values.dtype)
        found.append(torch.matmul(weights, values).reshape(rows, 1, -1, values.shape[3]))
        start += rows
    return torch.cat(found), None


def attend_runs(
    module: Any, query: Tensor, key: Runs, value: Runs, _mask: Any, scaling: float, **how: Any
) -> tuple[Tensor, None]:
    """Attention within the runs of a pack, multiplied by oneDNN; scores are float32.

    Args:
        module: the layer.
        query: ``[1, heads, tokens, size]``.
        key, value: from the cache.
        scaling: what scores are multiplied by.
        how: what else the model asks for.

    Returns:
        ``[1, tokens, heads, size]``.

    Raises:
        ValueError: it asks for something else than plain attention.
    """
    _refuse_special(how)
    _, heads, tokens, size = query.shape
    found: Tensor | None = None
    for run in key.runs:
        start, end, _ = run
        count = end - start
        keys, values = key.of(run).float(), value.of(run)
        together = heads // len(keys)  # as many heads share one of keys and values
        asked = query[0, :, start:end].reshape(len(keys), -1, size).float().mul_(scaling)
        if found is None:
            found = query.new_empty((1, tokens, heads, values.shape[2]))
        for head in range(len(keys)):
            scores = product(asked[head], keys[head])
            scores.view(together, count, -1)[:, :, -count:].add_(_later(count))
            weights = torch.softmax(scores, dim=-1).to(values.dtype)
            read = product(weights, values[head].T.contiguous()).view(together, count, -1)
            found[0, start:end, head * together : (head + 1) * together] = read.transpose(0, 1)
    assert found is not None
    return found, None


def _later(count: int) -> Tensor:
    """What is added to scores so that no token attends to a later one, ``[count, count]``."""
    # The corner of a larger one: few sizes are kept, however many lengths there are.
    return _causal(1 << (count - 1).bit_length())[:count, :count]


@cache
def _causal(size: int) -> Tensor:
    return torch.full((size, size), -torch.inf).triu_(1)


def _refuse_special(how: dict[str, Any]) -> None:
    if any(how.get(name) is not None for name in _SPECIAL):
        raise ValueError("not plain attention")


ALL_ATTENTION_FUNCTIONS.register(BLOCKS, attend_blocks)
ALL_ATTENTION_FUNCTIONS.register(RUNS, attend_runs)
