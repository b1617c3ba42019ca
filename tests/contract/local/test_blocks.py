"""Answers of different lengths, generated together in blocks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.calls import Reply, generate
from evalbench.providers.local.options import LocalOptions
from tests.contract.local.reference import Plain
from tests.contract.local.tiny import make_gemma, make_llama, make_mistral

pytestmark = [pytest.mark.local, pytest.mark.timeout(300)]


def load(folder: Path, **options: Any) -> Any:
    from evalbench.providers.local import active_calls
    from evalbench.providers.local.catalogue import FolderModel

    settings = LocalOptions(device="cpu", threads=1, **options)
    return active_calls.ActiveCalls.load(FolderModel(folder), settings, lambda *_: None)


def written(calls: Any, prompts: dict[str, Any]) -> dict[str, str]:
    """The answers to all prompts, generated together."""
    for key, prompt in prompts.items():
        calls.add(key, prompt)
    texts = {}
    while len(calls):
        for key, reply in calls.step(lambda *_: pytest.fail("memory ran out")):
            assert isinstance(reply, Reply)
            texts[key] = reply.text
    return texts


@pytest.mark.parametrize("slots", [1, 3, 32])
def test_texts_are_those_of_transformers(tmp_path: Path, slots: int) -> None:
    folder = make_llama(tmp_path)
    calls = load(folder, dtype="float32", slots=slots)
    assert calls._model.blocks
    # Lengths on both sides of a block's width, which answers outgrow at different times.
    sizes = [1, 25, 6, 7, 8, 9, 10, 2, 18, 20, 3, 4]
    lengths = [70, 20, 3, 9, 1, 40, 70, 70, 5, 66, 90, 30]
    asked = {
        str(at): generate("the quick brown fox " * size, max_tokens=length)
        for at, (size, length) in enumerate(zip(sizes, lengths, strict=True))
    }
    found = written(calls, asked)
    plain = Plain(folder)
    for key, prompt in asked.items():
        tokens = calls._generation._encoder.prompt(prompt).tokens
        ids = plain.greedy(list(tokens), prompt.params.max_tokens or 0)
        ids = ids[: ids.index(1)] if 1 in ids else ids
        assert found[key] == plain.tokenizer.decode(ids, skip_special_tokens=True), key


def test_models_whose_attention_is_special_stay_in_one_block(tmp_path: Path) -> None:
    assert load(make_llama(tmp_path / "llama")).info["packs"]
    assert not load(make_mistral(tmp_path / "window", sliding_window=8))._model.blocks
    assert not load(make_gemma(tmp_path / "softcap", sliding_window=None))._model.blocks


@pytest.mark.skipif(sys.platform != "linux", reason="others may give memory back later")
def test_an_answer_that_ends_gives_its_memory_back() -> None:
    import psutil
    import torch

    from evalbench.providers.local.cache import Prefix, Slots

    def resident() -> int:
        return int(psutil.Process().memory_info().rss)

    def of(number: int) -> Prefix:
        layer = torch.full((1, 2, 1000, 64), float(number))
        return Prefix((7,) * 1000, ((layer, layer + 0.5),) * 4)

    row = 2 * 4 * 2 * 1000 * 64 * 4
    slots = Slots(8, 4, apart=True)
    before = resident()
    for number in range(8):
        slots.add(of(number))
    full = resident()
    assert full - before > 8 * row
    for slot in (1, 1, 1, 1, 1, 1):
        slots.remove(slot)
    assert resident() < full - 5 * row
    # The last takes the place of one that ends.
    (block,) = slots.blocks
    for slot, number in ((0, 0), (1, 2)):
        for keys, values in block.of(slot):
            assert bool((keys[0, :, :1000] == number).all())
            assert bool((values[0, :, :1000] == number + 0.5).all())
