"""The default model with its real weights: found, converted, and as good as it is known to be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from evalbench.engine.calls import Outcome, TextPart, choose, generate
from evalbench.engine.calls.messages import Message
from evalbench.providers.local.catalogue import DEFAULT, KNOWN, resolve
from evalbench.providers.local.options import LocalOptions
from evalbench.providers.local.weights import find
from tests.contract.local.driver import Worker
from tests.contract.local.reference import Plain

# The first test of a fresh machine downloads 93 MB and converts them.
pytestmark = [pytest.mark.local, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def folder() -> Path:
    return find(resolve(DEFAULT), lambda *_: None).folder


@pytest.fixture(scope="module")
def smollm2(folder: Path) -> Iterator[Worker]:
    with Worker(DEFAULT) as running:
        yield running


def test_what_is_loaded_is_what_was_pinned(smollm2: Worker) -> None:
    info = smollm2.next("loaded")["info"]
    assert info["parameters"] == 134_515_008
    assert info["context_tokens"] == KNOWN[DEFAULT].context_tokens
    packaged = KNOWN[DEFAULT].packaged
    assert packaged is not None
    assert info["revision"] == packaged.member_sha256
    assert info["chat_template"] == "own"
    assert info["packs"] is True


@pytest.mark.parametrize(("dtype", "quantize"), [("bfloat16", "none"), ("auto", "8bit")])
def test_rounding_does_not_keep_it_from_packing(folder: Path, dtype: str, quantize: str) -> None:
    from evalbench.providers.local import loading
    from evalbench.providers.local.attention import RUNS

    settings = LocalOptions(device="cpu", dtype=dtype, quantize=quantize, threads=1)
    model = loading.load(folder, settings)
    attention = RUNS if model.onednn else "sdpa"
    assert (model.packs, model.masked_attention, model.plain_head) == (True, attention, True)


def test_it_knows_the_capital_of_france(smollm2: Worker) -> None:
    raw = generate([Message("context", (TextPart("The capital of France is"),))], max_tokens=2)
    chat = generate("What is the capital of France?", max_tokens=30)
    one, two = smollm2.replies([raw, chat])
    assert one.text == " Paris."
    assert two.text == "The capital of France is Paris."
    assert two.outcome is Outcome.OK
    (scored,) = smollm2.replies([choose("The capital of France is", [" Paris", " Rome", " Oslo"])])
    assert scored.logprobs[0] == max(scored.logprobs)


def test_few_shot_questions_score_as_plain_passes(smollm2: Worker, folder: Path) -> None:
    shots = "".join(f"{n} + {n} =\nAnswer: {2 * n}\n\n" for n in range(2, 12))
    prompts = [
        choose(
            [TextPart("Add the numbers.\n\n" + shots, shared=True), f"{n} + 1 =\nAnswer:"],
            [f" {n}", f" {n + 1}", f" {n + 2}", " not a number at all"],
        )
        for n in range(20, 24)
    ]
    plain = Plain(folder)
    for reply, prompt in zip(smollm2.replies(prompts), prompts, strict=True):
        context = prompt.messages[0].text
        wanted = [plain.loglikelihood(context, text, 8192) for text in prompt.continuations]
        assert reply.logprobs == pytest.approx(wanted, rel=1e-5, abs=1e-4)


def test_answers_are_the_same_alone_and_side_by_side(smollm2: Worker) -> None:
    questions = ["Name three fruits.", "Write a haiku about rain.", "What is two plus two?"]
    prompts = [generate(question, max_tokens=24) for question in questions]
    together = [reply.text for reply in smollm2.replies(prompts)]
    alone = [smollm2.replies([prompt])[0].text for prompt in prompts]
    assert together == alone
