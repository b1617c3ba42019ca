"""Forward passes over plans: compute a prefix, then run a pack after it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import torch
from torch import Tensor

from evalbench.providers.local.attention import RUNS
from evalbench.providers.local.cache import (
    Prefix,
    behind,
    behind_in_runs,
    remembered,
    remembered_run,
)
from evalbench.providers.local.model import LoadedModel
from evalbench.providers.local.packing import Pack, Row


def extend(model: LoadedModel, prefix: Prefix, tokens: tuple[int, ...], chunk: int) -> Prefix:
    """``prefix`` followed by ``tokens``, computed in steps of at most ``chunk`` tokens."""
    for start in range(0, len(tokens), chunk):
        step = tokens[start : start + chunk]
        prefix, _ = _causal(model, prefix, step, keep=model.tensor([]), remember=True)
    return prefix


def prefill(
    model: LoadedModel, prefix: Prefix, tokens: tuple[int, ...], chunk: int
) -> tuple[Prefix, Tensor]:
    """As :func:`extend`, but also returns the logits after the last token, ``[vocabulary]``."""
    head = len(tokens) - 1 - (len(tokens) - 1) % chunk
    prefix = extend(model, prefix, tokens[:head], chunk)
    prefix, logits = _causal(model, prefix, tokens[head:], keep=None, remember=True)
    return prefix, logits[0, -1]


def prefill_together(
    model: LoadedModel, prefix: Prefix, ends: Sequence[tuple[int, ...]]
) -> list[tuple[Prefix, Tensor]]:
    """As :func:`prefill`, for several sequences after one ``prefix``, in one pass.

    Where the model cannot run them one after the other in a row, they are padded on the right,
    where no real token attends, so equal lengths are cheapest.
    """
    if model.masked_attention == RUNS:
        return _prefill_runs(model, prefix, ends)
    start, longest = len(prefix.tokens), max(map(len, ends))
    cache = behind(prefix, model.layers, remember=True)
    lasts = sorted({len(tokens) - 1 for tokens in ends})
    logits = model.run(
        model.tensor([[*tokens, *[0] * (longest - len(tokens))] for tokens in ends]),
        model.tensor([range(start, start + longest)] * len(ends)),
        cache=cache,
        keep=model.tensor(lasts),
    )
    return [
        (remembered(cache, prefix.tokens + tokens, row), logits[row, lasts.index(len(tokens) - 1)])
        for row, tokens in enumerate(ends)
    ]


def _prefill_runs(
    model: LoadedModel, prefix: Prefix, ends: Sequence[tuple[int, ...]]
) -> list[tuple[Prefix, Tensor]]:
    bounds = list(pairwise(accumulate(map(len, ends), initial=0)))
    before = len(prefix.tokens)
    runs = [(*bound, ()) for bound in bounds]
    cache = behind_in_runs(prefix, model.layers, runs, remember=True)
    logits = model.run(
        model.tensor([[token for tokens in ends for token in tokens]]),
        model.tensor([[before + at for tokens in ends for at in range(len(tokens))]]),
        cache=cache,
        keep=model.tensor([end - 1 for _, end in bounds]),
        attention=RUNS,
    )
    return [
        (remembered_run(cache, prefix, tokens, start), one)
        for tokens, (start, _), one in zip(ends, bounds, logits[0], strict=True)
    ]


def run_pack(
    model: LoadedModel, prefix: Prefix, pack: Pack, chunk: int
) -> list[tuple[Row, Tensor]]:
    """Run one pack after its computed prefix.

    A pack that is one long run of tokens is computed in steps of ``chunk``.

    Returns:
        Per row, the logits of the positions it reads: float32, ``[take, vocabulary]``.
    """
    wanted = sorted({at for _, positions in pack.reads for at in positions})
    if len(pack.blocks) == 1:
        head = wanted[0] if len(pack.tokens) > chunk else 0
        prefix = extend(model, prefix, tuple(pack.tokens[:head]), chunk)
        keep = model.tensor([at - head for at in wanted])
        _, logits = _causal(model, prefix, tuple(pack.tokens[head:]), keep=keep, remember=False)
    elif model.masked_attention == RUNS:
        logits = model.run(
            model.tensor([pack.tokens]),
            model.tensor([[len(prefix.tokens) + depth for depth in pack.depths]]),
            cache=behind_in_runs(prefix, model.layers, pack.blocks),
            keep=model.tensor(wanted),
            attention=RUNS,
        )
    else:
        before = len(prefix.tokens)
        positions = model.tensor([[before + depth for depth in pack.depths]])
        logits = model.run(
            model.tensor([pack.tokens]),
            positions,
            cache=behind(prefix, model.layers),
            mask=_pack_mask(model, before, pack),
            key_positions=torch.cat((model.tensor([range(before)]), positions), dim=1),
            keep=model.tensor(wanted),
        )
    return _by_row(logits[0], wanted, pack)


def run_padded(model: LoadedModel, rows: list[Row]) -> list[tuple[Row, Tensor]]:
    """Run rows as a padded batch, for models that cannot run packs. Returns as :func:`run_pack`."""
    longest = max(len(row.tokens) for row in rows)
    padded = [[*row.tokens, *[0] * (longest - len(row.tokens))] for row in rows]
    attend = [[n < len(row.tokens) for n in range(longest)] for row in rows]
    reads = [range(len(row.tokens) - row.take, len(row.tokens)) for row in rows]
    wanted = sorted({at for positions in reads for at in positions})
    logits = model.run_plainly(model.tensor(padded), model.tensor(attend), model.tensor(wanted))
    place = {at: index for index, at in enumerate(wanted)}
    return [
        (row, one[[place[at] for at in positions]])
        for row, one, positions in zip(rows, logits, reads, strict=True)
    ]


def _by_row(logits: Tensor, wanted: list[int], pack: Pack) -> list[tuple[Row, Tensor]]:
    place = {at: index for index, at in enumerate(wanted)}
    return [(row, logits[[place[at] for at in positions]]) for row, positions in pack.reads]


def _causal(
    model: LoadedModel,
    prefix: Prefix,
    tokens: tuple[int, ...],
    *,
    keep: Tensor | None,
    remember: bool,
) -> tuple[Prefix, Tensor]:
    """Run ``tokens`` directly after ``prefix``, each seeing everything before it."""
    start = len(prefix.tokens)
    cache = behind(prefix, model.layers, remember=remember)
    logits = model.run(
        model.tensor([tokens]),
        model.tensor([range(start, start + len(tokens))]),
        cache=cache,
        keep=keep,
    )
    if remember:
        prefix = remembered(cache, prefix.tokens + tokens)
    return prefix, logits


def _pack_mask(model: LoadedModel, before: int, pack: Pack) -> Tensor:
    """Which keys each token of the pack may attend to, ``[1, 1, n, before + n]``."""
    size = len(pack.tokens)
    mask = torch.zeros((size, before + size), dtype=torch.bool)
    mask[:, :before] = True
    for start, end, seen in pack.blocks:
        own = mask[start:end, before + start : before + end]
        own.copy_(torch.ones_like(own).tril_())
        if seen:
            mask[start:end, before + torch.tensor(seen)] = True
    return mask.to(model.device)[None, None]
