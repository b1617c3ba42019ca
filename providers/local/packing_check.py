"""Testing, at load time, in which fast ways a model gives correct results."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from evalbench.providers.local.cache import ATTEND, Prefix, Slots
from evalbench.providers.local.matrix_products import has_onednn, pack_products, unpack_products
from evalbench.providers.local.memory import is_out_of_memory
from evalbench.providers.local.model import LoadedModel
from evalbench.providers.local.packing import Group, Pack, Row, pack_rows
from evalbench.providers.local.passes import extend, prefill, run_pack, run_padded

_LAYER_KINDS = {"full_attention", "sliding_attention"}
_ROUNDING = 1e-4
"""Difference in nats, averaged over the vocabulary, that float32 layouts may have; 0.000005 was
measured."""
_SHARE = {"none": 0.2, "4bit": 0.2, "8bit": 0.35}
"""Maximum effect of rounding, as a share of the gap that rows seeing their neighbours cause.

Measured with SmolLM2 in bfloat16: 0.08, and 0.24 in 8-bit, where rows run alone and together are as
far apart, because which numbers stay whole depends on all of them. Positions that continue from row
to row cause 0.5.
"""


def layer_kinds(config: Any) -> set[str]:
    """What the layers of a model attend to, as named in its configuration."""
    return set(getattr(config, "layer_types", None) or ["full_attention"])


def learn_packing(model: LoadedModel, quantize: str) -> bool:
    """Choose the fastest way of running packed that is correct; False if none is.

    Args:
        model: the model to test; its ``masked_attention`` and ``plain_head`` are set.
        quantize: how its layers are stored: ``none``, ``4bit`` or ``8bit``.
    """
    if not layer_kinds(model.network.config.get_text_config()) <= _LAYER_KINDS:
        return False
    for model.masked_attention in ("sdpa", "eager"):
        for model.plain_head in (True, False):
            if _holds(partial(_reads_right, model, quantize)):
                return True
    return False


def learn_blocks(model: LoadedModel) -> bool:
    """Whether answers of different lengths may attend in blocks, on a CPU."""
    if model.device.type != "cpu" or model.window:
        return False
    rows, _ = _sample(model)
    cut = tuple(Row(row.tokens[: len(row.tokens) - 2 * at], take=1) for at, row in enumerate(rows))
    return _holds(lambda: _same(model, _plain(model, cut), _step(model, cut)))


def _step(model: LoadedModel, rows: tuple[Row, ...]) -> Tensor:
    """Log-probabilities after each row, whose last token is run in a step of all rows."""
    slots = Slots(len(rows), model.layers, apart=True, unit=4)
    for row in rows:
        slots.add(prefill(model, Prefix(()), row.tokens[:-1], len(row.tokens))[0])
    slots.begin_step(model)
    last = model.tensor([[rows[slot].tokens[-1]] for slot in slots.order])
    logits = model.run(last, slots.at[:, None], cache=slots.cache, attention=ATTEND)
    places = [slots.order.index(slot) for slot in range(len(rows))]
    return logits[places, 0].log_softmax(-1)


def _same(model: LoadedModel, one: Tensor, other: Tensor) -> bool:
    """Whether these log-probabilities differ by rounding only.

    In other formats than float32, rounding is small against how far rows are from each other.
    """
    gap = float((one - other).abs().mean())
    if model.dtype == torch.float32:
        return gap < _ROUNDING
    return gap < _SHARE["none"] * float((one[1:] - one[:-1]).abs().mean())


def learn_products(model: LoadedModel) -> None:
    """Use oneDNN for matrix products, unless that changes what the model computes."""
    if not has_onednn(model.device):
        return
    rows, _ = _sample(model)
    plain = _plain(model, rows)
    packed = pack_products(model.network)
    model.onednn = _holds(lambda: _same(model, plain, _plain(model, rows)))
    if not model.onednn:
        unpack_products(packed)


def _sample(model: LoadedModel) -> tuple[tuple[Row, ...], int]:
    """Short rows, and how many tokens they begin with alike."""
    size = min(model.network.get_input_embeddings().weight.shape[0], 997)
    start = tuple(7 * n % size for n in range(1, 7))
    ends = [tuple(step * n % size for n in range(2, 5)) for step in (11, 13, 17, 19)]
    return tuple(Row((*start, *end), take=1) for end in ends), len(start)


def _plain(model: LoadedModel, rows: tuple[Row, ...]) -> Tensor:
    """Log-probabilities after each row."""
    logits = [logits for _, logits in run_padded(model, list(rows))]
    return torch.cat(logits).log_softmax(-1)


def _reads_right(model: LoadedModel, quantize: str) -> bool:
    """Whether short rows packed after a prefix give the same results as plain ones.

    How far rounding drives two layouts apart depends on the model. So formats other than float32
    are compared with a layout that is certainly wrong: each row sees those before it.
    """
    rows, shared = _sample(model)
    (pack,) = pack_rows(Group(shared, rows), pack=shared * len(rows))
    plain = _plain(model, rows)
    prefix = extend(model, Prefix(()), rows[0].tokens[:shared], chunk=shared)
    gap = _gap(plain, _run(model, prefix, pack))
    if model.dtype == torch.float32 and quantize != "8bit":
        return gap < _ROUNDING
    return gap < _SHARE[quantize] * _gap(plain, _run(model, prefix, _leaking(pack)))


def _holds(check: Callable[[], bool]) -> bool:
    """The result of a check; False if the model cannot be run in that way at all."""
    try:
        return check()
    except (TypeError, ValueError, RuntimeError, AttributeError, KeyError) as error:
        if is_out_of_memory(error):
            raise
        return False


def _run(model: LoadedModel, prefix: Prefix, pack: Pack) -> Tensor:
    logits = [logits for _, logits in run_pack(model, prefix, pack, len(prefix.tokens))]
    return torch.cat(logits).log_softmax(-1)


def _leaking(pack: Pack) -> Pack:
    """The same pack, but each row sees those before it."""
    blocks = [(start, end, tuple(range(start))) for start, end, _ in pack.blocks]
    return Pack(pack.prefix, pack.tokens, pack.depths, blocks, pack.reads)


def _gap(one: Tensor, other: Tensor) -> float:
    """The distance between rows' log-probabilities, averaged over the vocabulary.

    Of all rows but the first, which has none before it.
    """
    return float((one - other)[1:].abs().mean())
