"""Trying, at loading, whether a model reads rows right that are packed behind a prefix."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from evalbench.providers.local.cache import Prefix
from evalbench.providers.local.memory import is_out_of_memory
from evalbench.providers.local.model import LoadedModel
from evalbench.providers.local.packing import Group, Pack, Row, pack_rows
from evalbench.providers.local.passes import extend, run_pack, run_padded

_LAYER_KINDS = {"full_attention", "sliding_attention"}
_ROUNDING = 1e-4
"""Nats that float32 may differ by from one layout to another, in the mean over the vocabulary;
0.000005 was measured."""
_SHARE = {"none": 0.2, "4bit": 0.2, "8bit": 0.35}
"""Of the gap that rows make which look at their neighbours, how much rounding may make.

Measured with SmolLM2 in bfloat16: 0.08, and 0.24 in 8-bit, where rows run alone and together are
as far apart, because which numbers stay whole depends on all of them. Positions that go on from
row to row make 0.5.
"""


def layer_kinds(config: Any) -> set[str]:
    """What the layers of a model look at, by the names of its configuration."""
    return set(getattr(config, "layer_types", None) or ["full_attention"])


def learn_packing(model: LoadedModel, quantize: str) -> bool:
    """Set the fastest way of running packed that reads right; False when none does.

    Args:
        model: what is tried; its ``masked_attention`` and ``plain_head`` are set.
        quantize: how its layers are kept: ``none``, ``4bit`` or ``8bit``.
    """
    if not layer_kinds(model.network.config.get_text_config()) <= _LAYER_KINDS:
        return False
    for model.masked_attention in ("sdpa", "eager"):
        for model.plain_head in (True, False):
            if _reads_right(model, quantize):
                return True
    return False


def _reads_right(model: LoadedModel, quantize: str) -> bool:
    """Whether short rows packed behind a prefix read as they do plainly.

    How far rounding carries two layouts apart depends on the model. So what is not float32
    is held against a reading that is wrong for certain: each row sees those before it.
    """
    size = min(model.network.get_input_embeddings().weight.shape[0], 997)
    start = tuple(7 * n % size for n in range(1, 7))
    ends = [tuple(step * n % size for n in range(2, 5)) for step in (11, 13, 17, 19)]
    rows = tuple(Row((*start, *end), take=1) for end in ends)
    (pack,) = pack_rows(Group(len(start), rows), pack=len(start) * len(ends))
    try:
        plain = torch.cat([logits for _, logits in run_padded(model, list(rows))])
        prefix = extend(model, Prefix(()), start, chunk=len(start))
        gap = _gap(plain, _run(model, prefix, pack))
        if model.dtype == torch.float32 and quantize != "8bit":
            return gap < _ROUNDING
        return gap < _SHARE[quantize] * _gap(plain, _run(model, prefix, _leaking(pack)))
    except (TypeError, ValueError, RuntimeError, AttributeError, KeyError) as error:
        if is_out_of_memory(error):
            raise
        return False


def _run(model: LoadedModel, prefix: Prefix, pack: Pack) -> Tensor:
    return torch.cat([logits for _, logits in run_pack(model, prefix, pack, len(prefix.tokens))])


def _leaking(pack: Pack) -> Pack:
    """The same pack, in which each row sees those before it."""
    blocks = [(start, end, tuple(range(start))) for start, end, _ in pack.blocks]
    return Pack(pack.prefix, pack.tokens, pack.depths, blocks, pack.reads)


def _gap(one: Tensor, other: Tensor) -> float:
    """How far apart rows' log-probabilities are, in the mean over the vocabulary.

    Of all rows but the first, which has none before it.
    """
    return float((one.log_softmax(-1) - other.log_softmax(-1))[1:].abs().mean())
