"""Prompts that are read together, in one pass: the same as read one by one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.calls import Reply, TextPart, generate
from evalbench.engine.calls.messages import Message
from evalbench.providers.local.options import LocalOptions
from tests.contract.local.test_choosing import WORDS

pytestmark = [pytest.mark.local, pytest.mark.timeout(300)]

SETTINGS = LocalOptions(device="cpu", dtype="float32", threads=1)


@pytest.fixture(scope="module")
def loaded(llama: Path) -> Any:
    from evalbench.providers.local import loading

    return loading.load(llama, SETTINGS)


@pytest.fixture(params=["evalbench_runs", "sdpa"])
def model(loaded: Any, request: pytest.FixtureRequest) -> Any:
    """One that reads prompts in a row, where oneDNN multiplies, and one that pads them."""
    if request.param != "sdpa" and loaded.masked_attention != request.param:
        pytest.skip("oneDNN does not multiply here")
    return replace(loaded, masked_attention=request.param)


def test_keys_values_and_logits_are_those_of_single_passes(model: Any) -> None:
    import torch

    from evalbench.providers.local.cache import Prefix
    from evalbench.providers.local.passes import extend, prefill, prefill_together

    ends = [tuple(step * n % 300 for n in range(1, size)) for step, size in ((7, 40), (11, 33))]
    for begin in (Prefix(()), extend(model, Prefix(()), tuple(range(2, 40)), 16)):
        together = prefill_together(model, begin, ends)
        for tokens, (held, logits) in zip(ends, together, strict=True):
            alone, wanted = prefill(model, begin, tokens, 512)
            assert held.tokens == alone.tokens == begin.tokens + tokens
            torch.testing.assert_close(logits, wanted, atol=1e-4, rtol=1e-4)
            torch.testing.assert_close(held.layers, alone.layers, atol=1e-4, rtol=1e-4)


def passes(model: Any, texts: list[str], **settings: Any) -> tuple[list[str], list[int]]:
    """Answers to prompts, and how many prompts each pass over prompts has read."""
    from evalbench.providers.local.active_calls import ActiveCalls

    answering = ActiveCalls(model, replace(SETTINGS, **settings), {})
    for number, text in enumerate(texts):
        prompt = generate([Message("context", (TextPart(text),))], max_tokens=6)
        answering.add(str(number), prompt)
    read: list[int] = []
    run = type(model).run

    def watched(self: Any, tokens: Any, *args: Any, **more: Any) -> Any:
        if tokens.shape[1] > 1:
            in_a_row = more.get("attention") == "evalbench_runs"
            read.append(len(more["keep"]) if in_a_row else tokens.shape[0])
        return run(self, tokens, *args, **more)

    found: dict[str, str] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(model), "run", watched)
        while len(answering):
            for key, reply in answering.step(lambda *_: None):
                assert isinstance(reply, Reply)
                found[key] = reply.text
    return [found[str(number)] for number in range(len(texts))], read


def prompts(sizes: list[int]) -> list[str]:
    """Texts of so many words that begin in different ways."""
    return [
        " ".join(WORDS[(n + 3 * k + k * k) % 16] for k in range(size))
        for n, size in enumerate(sizes)
    ]


def test_prompts_are_read_in_one_pass_those_that_are_padded_if_about_one_length(
    model: Any,
) -> None:
    texts = prompts([12, 13, 32, 12, 12, 34])
    answers, read = passes(model, texts)
    assert read == ([4, 2] if model.masked_attention == "sdpa" else [6])
    alone, singly = passes(model, texts, slots=1)
    assert (answers, singly) == (alone, [1] * 6)
    assert len(set(answers)) > 3


def test_no_more_are_read_than_there_is_room_for(model: Any) -> None:
    texts = prompts([20] * 6)
    answers, read = passes(model, texts, slots=3)
    assert max(read) == 3
    narrow, small = passes(model, texts, max_batch_tokens=32)
    assert set(small) == {1}
    assert answers == narrow


def test_what_begins_alike_is_read_behind_its_beginning(model: Any) -> None:
    begin = "the quick brown fox jumps over the lazy dog and counts " * 3
    texts = [begin + text for text in prompts([8, 8, 9])] + prompts([40])
    answers, read = passes(model, texts)
    assert read[:2] == [1, 3]
    assert passes(model, texts, prefix_cache=False)[0] == answers


def test_a_short_beginning_is_computed_once_if_many_prompts_share_it(model: Any) -> None:
    begin = "count the foxes and dogs: the "
    texts = [begin + text for text in prompts([8] * 16)]
    answers, read = passes(model, texts)
    assert read == [1, 16]
    assert passes(model, texts, prefix_cache=False)[0] == answers
    assert passes(model, texts[:3])[1] == [3]
