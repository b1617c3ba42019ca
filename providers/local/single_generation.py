"""Generating one answer with transformers' own loop.

For models whose layers hold more than keys and values (recurrent state, convolutions): they cannot
be run in slots with our own mask.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from evalbench.engine.calls import Reply
from evalbench.providers.local.model import LoadedModel
from evalbench.providers.local.sequences import Sequence


def generate_one(
    model: LoadedModel,
    sequence: Sequence,
    ends: frozenset[int],
    images: Mapping[str, Tensor] | None = None,
) -> Reply:
    """The whole answer of ``sequence``.

    Args:
        model: the model.
        sequence: the prompt, and how to sample from it.
        ends: tokens that end the answer.
        images: the model's additional inputs, as its processor made them.
    """
    reply: Reply | None = None

    def finished(ids: Tensor, scores: Any, **_: Any) -> Tensor:
        nonlocal reply
        model.tokens_run += 1
        reply = sequence.take(int(ids[0, -1]), ends)
        return torch.tensor([reply is not None], device=ids.device)

    model.use(model.attention)
    prompt = model.tensor([sequence.prompt.tokens])
    model.tokens_run += prompt.numel() - 1
    sampling = (
        {}
        if sequence.greedy
        else {
            "temperature": sequence.temperature,
            "top_p": sequence.top_p,
            "top_k": sequence.top_k,
        }
    )
    with torch.inference_mode(), torch.random.fork_rng():
        torch.manual_seed(sequence.seed)
        model.network.generate(
            input_ids=prompt,
            attention_mask=torch.ones_like(prompt),
            max_new_tokens=sequence.most,
            do_sample=not sequence.greedy,
            stopping_criteria=[finished],
            pad_token_id=model.tokenizer.pad_token_id or 0,
            **(images or {}),
            **sampling,
        )
    assert reply is not None
    return reply
