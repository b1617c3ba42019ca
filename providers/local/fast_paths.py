"""Finding out, when a model is loaded, which fast paths give its results.

Each is tried on a few short rows and compared with plain passes; what fails or differs by more than
rounding is not used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor

from evalbench.providers.local.attention import BLOCKS, RUNS
from evalbench.providers.local.cache import Prefix, Slots
from evalbench.providers.local.matrix_products import has_onednn, pack_products, unpack_products
from evalbench.providers.local.memory import is_out_of_memory
from evalbench.providers.local.model import LoadedModel
from evalbench.providers.local.packing import Group, Pack, Row, pack_rows
from evalbench.providers.local.passes import extend, prefill_together, run_pack, run_padded

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

T = TypeVar("T")


def layer_kinds(config: Any) -> set[str]:
    """What the layers of a model attend to, as named in its configuration."""
    return set(getattr(config, "layer_types", None) or ["full_attention"])


def choose_fast_paths(model: LoadedModel, quantize: str, *, onednn: bool) -> None:
    """Set ``onednn``, ``packs``, ``masked_attention``, ``plain_head`` and ``blocks`` of a model.

    Args:
        model: the model to test.
        quantize: how its layers are stored: ``none``, ``4bit`` or ``8bit``.
        onednn: whether oneDNN may multiply.
    """
    if not layer_kinds(model.network.config.get_text_config()) <= _LAYER_KINDS:
        return
    sample = _Sample.of(model)
    plain = _tried(lambda: _plain(model, sample))
    if plain is None:
        return
    # First: the checks' own passes are faster by it, and test it too.
    layers = pack_products(model.network) if onednn and has_onednn(model.device) else []
    model.onednn = bool(layers)
    model.packs = _finds_packing(model, quantize, sample, plain[:, -1])
    if layers and not model.packs:
        unpack_products(layers)
        model.onednn = False
        model.packs = _finds_packing(model, quantize, sample, plain[:, -1])
    model.blocks = model.packs and _can_use_blocks(model, sample, plain)


@dataclass(frozen=True, slots=True)
class _Sample:
    """Short rows of equal length, the first ``shared`` tokens of which are the same."""

    rows: tuple[tuple[int, ...], ...]
    shared: int

    @classmethod
    def of(cls, model: LoadedModel) -> _Sample:
        size = min(model.network.get_input_embeddings().weight.shape[0], 997)
        start = tuple(7 * n % size for n in range(1, 7))
        ends = [tuple(step * n % size for n in range(2, 5)) for step in (11, 13, 17, 19)]
        return cls(tuple((*start, *end) for end in ends), len(start))


def _plain(model: LoadedModel, sample: _Sample) -> Tensor:
    """Log-probabilities after each token of each row: ``[rows, tokens, vocabulary]``."""
    rows = [Row(tokens, take=len(tokens)) for tokens in sample.rows]
    logits = [logits for _, logits in run_padded(model, rows)]
    return torch.stack(logits).log_softmax(-1)


def _finds_packing(model: LoadedModel, quantize: str, sample: _Sample, plain: Tensor) -> bool:
    """Choose the fastest way of running packed that is correct; False if none is."""
    runs = [RUNS] if model.onednn and not model.window else []
    for model.masked_attention in (*runs, "sdpa", "eager"):
        for model.plain_head in (True, False):
            if _tried(lambda: _packs(model, quantize, sample, plain)):
                return True
    return False


def _packs(model: LoadedModel, quantize: str, sample: _Sample, plain: Tensor) -> bool:
    """Whether rows packed after a prefix give the same results as plain ones.

    How far rounding drives two layouts apart depends on the model. So formats other than float32
    are compared with a layout that is certainly wrong: each row sees those before it.
    """
    rows = tuple(Row(tokens, take=1) for tokens in sample.rows)
    (pack,) = pack_rows(Group(sample.shared, rows), pack=sample.shared * len(rows))
    start = sample.rows[0][: sample.shared]
    prefix = extend(model, Prefix(()), start, chunk=sample.shared)
    gap = _gap(plain, _run(model, prefix, pack))
    if model.dtype == torch.float32 and quantize != "8bit":
        return gap < _ROUNDING
    return gap < _SHARE[quantize] * _gap(plain, _run(model, prefix, _leaking(pack)))


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


def _can_use_blocks(model: LoadedModel, sample: _Sample, plain: Tensor) -> bool:
    """Whether answers of different lengths may attend in blocks, on a CPU."""
    if model.device.type != "cpu" or model.window:
        return False
    # Each row is two tokens shorter than the one before.
    lengths = [len(tokens) - 2 * at for at, tokens in enumerate(sample.rows)]
    rows = [tokens[:size] for tokens, size in zip(sample.rows, lengths, strict=True)]
    wanted = torch.stack([one[size - 1] for one, size in zip(plain, lengths, strict=True)])
    found = _tried(lambda: _step(model, rows))
    return found is not None and _same(model, wanted, found)


def _step(model: LoadedModel, rows: list[tuple[int, ...]]) -> Tensor:
    """Log-probabilities after each row, whose last token is run in a step of all rows."""
    slots = Slots(len(rows), model.layers, apart=True, unit=4)
    for prompt, _ in prefill_together(model, Prefix(()), [tokens[:-1] for tokens in rows]):
        slots.add(prompt)
    slots.begin_step(model)
    last = model.tensor([[rows[slot][-1]] for slot in slots.order])
    logits = model.run(last, slots.at[:, None], cache=slots.cache, attention=BLOCKS)
    places = [slots.order.index(slot) for slot in range(len(rows))]
    return logits[places, 0].log_softmax(-1)


def _same(model: LoadedModel, one: Tensor, other: Tensor) -> bool:
    """Whether these log-probabilities, ``[rows, ...]``, differ by rounding only.

    In other formats than float32, rounding is small against how far rows are from each other.
    """
    gap = float((one - other).abs().mean())
    if model.dtype == torch.float32:
        return gap < _ROUNDING
    return gap < _SHARE["none"] * float((one[1:] - one[:-1]).abs().mean())


def _tried(check: Callable[[], T]) -> T | None:
    """The result of a check; None if the model cannot be run in that way at all."""
    try:
        return check()
    except (TypeError, ValueError, RuntimeError, AttributeError, KeyError) as error:
        if is_out_of_memory(error):
            raise
        return None
