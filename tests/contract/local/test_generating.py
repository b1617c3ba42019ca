"""Generated answers out of a real worker: the same whatever else is generated beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.calls import (
    Outcome,
    Prompt,
    Reply,
    TextPart,
    assistant,
    generate,
    system,
    user,
)
from evalbench.engine.calls.messages import Message
from evalbench.engine.calls.replies import reply_from_json
from tests.contract.local import tiny
from tests.contract.local.driver import Worker
from tests.contract.local.reference import Plain

pytestmark = [pytest.mark.local, pytest.mark.timeout(300)]

SHARED = "the quick brown fox jumps over the lazy dog and counts: " * 3


def raw(text: str, **params: object) -> Prompt:
    return generate([Message("context", (TextPart(text),))], **params)


def mixed() -> list[Prompt]:
    """Prompts of all lengths, greedy and drawn, some with a beginning in common."""
    prompts = [generate(f"count to {n} " * (n + 1), max_tokens=4 + 3 * n) for n in range(7)]
    prompts += [
        generate([system(TextPart(SHARED, shared=True)), user(f"{n} foxes")], max_tokens=9)
        for n in range(5)
    ]
    prompts += [
        generate(f"draw {n}", max_tokens=12, temperature=0.9, top_p=0.8, seed=n) for n in range(4)
    ]
    prompts += [generate("draw", max_tokens=12, temperature=1.3, seed=5), raw("the quick")]
    prompts[-1] = raw("the quick brown", max_tokens=20)
    return prompts


def texts(worker: Worker, prompts: list[Prompt]) -> list[str]:
    return [reply.text for reply in worker.replies(prompts)]


def test_answers_do_not_depend_on_what_runs_beside_them(llama: Path, worker: Worker) -> None:
    prompts = mixed()
    with Worker(str(llama), slots=1, prefix_cache=False) as alone:
        one_by_one = texts(alone, prompts)
    assert texts(worker, prompts) == one_by_one
    assert texts(worker, prompts[::-1])[::-1] == one_by_one
    assert len(set(one_by_one)) > len(prompts) / 2


def test_greedy_answers_are_those_of_plain_passes(worker: Worker, plain: Plain) -> None:
    context = "the lazy dog jumps over the quick brown fox"
    (reply,) = worker.replies([raw(context, max_tokens=25)])
    ids = plain.greedy(plain.tokenizer.encode(context), 25)
    ends = plain.tokenizer.eos_token_id
    ids = ids[: ids.index(ends)] if ends in ids else ids
    assert reply.text == plain.tokenizer.decode(ids, skip_special_tokens=True)


@pytest.mark.parametrize("name", ["mistral", "gemma", "mamba"])
def test_other_architectures_generate_what_plain_passes_do(name: str, tmp_path: Path) -> None:
    make = {
        "mistral": lambda folder: tiny.make_mistral(folder, sliding_window=16),
        "gemma": lambda folder: tiny.make_gemma(
            folder, sliding_window=16, query_pre_attn_scalar=16
        ),
        "mamba": tiny.make_mamba,
    }[name]
    folder = make(tmp_path / name)
    plain = Plain(folder)
    contexts = ["the lazy dog jumps over the quick brown fox " * n for n in (1, 3)]
    with Worker(str(folder)) as worker:
        found = texts(worker, [raw(context, max_tokens=12) for context in contexts])
    for context, text in zip(contexts, found, strict=True):
        ids = plain.greedy(plain.tokenizer.encode(context), 12)
        ends = plain.tokenizer.eos_token_id
        ids = ids[: ids.index(ends)] if ends in ids else ids
        assert text == plain.tokenizer.decode(ids, skip_special_tokens=True)


def test_an_answer_cut_by_its_limit_is_truncated(worker: Worker) -> None:
    (reply,) = worker.replies([raw("one two three", max_tokens=3)])
    assert reply.outcome is Outcome.TRUNCATED
    assert reply.stop_reason == "length"
    assert reply.usage.output_tokens == 3


def test_an_end_token_ends_the_answer_and_is_not_part_of_it(tmp_path: Path, plain: Plain) -> None:
    context = "the quick brown fox jumps"
    ids = plain.greedy(plain.tokenizer.encode(context), 6)
    folder = tiny.make_llama(tmp_path / "model")
    (folder / "generation_config.json").write_text(f'{{"eos_token_id": [1, {ids[4]}]}}')
    with Worker(str(folder)) as worker:
        (reply,) = worker.replies([raw(context, max_tokens=50)])
    first = ids.index(ids[4])
    assert reply.outcome is Outcome.OK
    assert reply.stop_reason == "end"
    assert reply.text == plain.tokenizer.decode(ids[:first])
    assert reply.usage.output_tokens == first + 1


def test_a_stop_text_ends_the_answer_before_it(worker: Worker) -> None:
    (whole,) = worker.replies([raw("one two", max_tokens=30)])
    middle = len(whole.text) // 2
    stop = whole.text[middle : middle + 3]
    (cut, other) = worker.replies(
        [
            raw("one two", max_tokens=30, stop=("never occurs", stop)),
            raw("one two", max_tokens=30, stop=("never occurs",)),
        ]
    )
    assert cut.text == whole.text[: whole.text.index(stop)]
    assert cut.outcome is Outcome.OK
    assert cut.stop_reason == "stop"
    assert (cut.usage.output_tokens or 0) < 30
    assert other.text == whole.text


def test_drawing_follows_the_seed(worker: Worker) -> None:
    def drawn(key: str, seed: int | None) -> Reply:
        worker.ask({key: generate("draw", max_tokens=20, temperature=1.0, seed=seed)})
        return reply_from_json(worker.answers([key])[key]["reply"])

    first, again, other = drawn("a", 7), drawn("b", 7), drawn("c", 8)
    assert first.text == again.text != other.text
    assert first.raw == {"decoding": "sampled", "seed": 7}
    # Without a seed it is made of the call's key, which differs between epochs.
    assert drawn("epoch 1", None).text != drawn("epoch 2", None).text


@pytest.mark.parametrize("few", [{"top_p": 1e-9}, {"top_k": 1}, {"top_k": 1, "top_p": 0.5}])
def test_drawing_among_one_token_takes_the_likeliest(worker: Worker, few: dict[str, Any]) -> None:
    greedy = generate("choose well", max_tokens=15)
    narrow = generate("choose well", max_tokens=15, temperature=1.0, seed=1, **few)
    hot = generate("choose well", max_tokens=15, temperature=5.0, seed=1)
    one, two, three = worker.replies([greedy, narrow, hot])
    assert one.text == two.text != three.text


def test_what_is_not_taken_is_said(worker: Worker) -> None:
    (reply,) = worker.replies([generate("hello", max_tokens=2, seed=1, effort="high", logprobs=3)])
    fates = {note.name: note.fate for note in reply.params}
    assert fates == {
        "max_tokens": "sent",
        "seed": "sent",
        "effort": "dropped",
        "logprobs": "dropped",
    }
    assert reply.raw == {"decoding": "greedy"}


def test_what_does_not_fit_the_context_fails_where_that_is_asked_for(llama: Path) -> None:
    prompts = {
        "long answer": generate("the quick brown fox " * 10, max_tokens=500),
        "long prompt": Prompt("generate", (user("the quick brown fox " * 200),)),
    }
    with Worker(str(llama), too_long="fail") as worker:
        worker.ask(prompts)
        for frame in worker.answers(prompts).values():
            assert frame["error"] == "ContextTooLong"
            assert "512 tokens" in frame["what"]


def test_an_answer_has_the_room_that_is_left_and_a_prompt_loses_its_beginning(
    worker: Worker, plain: Plain
) -> None:
    ids = plain.tokenizer.encode("the quick brown fox jumps over " * 60)
    text, kept = (plain.tokenizer.decode(part) for part in (ids, ids[-256:]))
    assert len(ids) > 512
    short, cut, same = worker.replies(
        [raw("one two", max_tokens=511), raw(text, max_tokens=400), raw(kept, max_tokens=256)]
    )
    room = 512 - (short.usage.input_tokens or 0)
    if short.outcome is Outcome.TRUNCATED:
        assert (short.stop_reason, short.usage.output_tokens) == ("context", room)
    assert (short.cut_tokens, same.cut_tokens) == (0, 0)
    assert cut.cut_tokens == len(ids) - 256
    assert (cut.text, cut.usage.input_tokens) == (same.text, 256)
    assert [note.fate for note in cut.params if note.name == "whole prompt"] == ["dropped"]
    assert "whole prompt" not in {note.name for note in same.params}


def test_no_limit_means_the_whole_context(worker: Worker, plain: Plain) -> None:
    prompt = Prompt("generate", (Message("context", (TextPart("one " * 240),)),))
    (reply,) = worker.replies([prompt])
    used = (reply.usage.input_tokens or 0) + (reply.usage.output_tokens or 0)
    assert used == 512 or reply.stop_reason == "end"


def test_chat_turns_are_rendered_by_the_models_own_template(worker: Worker, plain: Plain) -> None:
    turns = [system("be brief"), user("one"), assistant("two"), user("three")]
    rendered = "<s>system: be brief\n<s>user: one\n<s>assistant: two\n<s>user: three\n<s>assistant:"
    chat, context = worker.replies([generate(turns, max_tokens=8), raw(rendered, max_tokens=8)])
    assert chat.text == context.text
    assert chat.usage.input_tokens == context.usage.input_tokens


def test_a_model_without_a_template_gets_the_given_or_the_documented_one(tmp_path: Path) -> None:
    folder = tiny.make_llama(tmp_path / "bare", template=False)
    rendered = "<|system|>\nbe brief\n\n<|user|>\none\n\n<|assistant|>\n"
    given = "{% for m in messages %}{{ m['role'][0] }}> {{ m['content'] }} {% endfor %}a>"
    with Worker(str(folder), chat_template=given) as worker:
        info = worker.next("loaded")["info"]
        assert (info["chat_template"], len(info["chat_template_sha256"])) == ("given", 64)
        chat, context = worker.replies(
            [generate([user("one")], max_tokens=8), raw("u> one a>", max_tokens=8)]
        )
        assert chat.text == context.text
    with Worker(str(folder)) as worker:
        assert worker.next("loaded")["info"]["chat_template"] == "default"
        chat, context = worker.replies(
            [generate([system("be brief"), user("one")], max_tokens=8), raw(rendered, max_tokens=8)]
        )
    assert chat.text == context.text


def test_a_marked_beginning_is_computed_once(worker: Worker, plain: Plain) -> None:
    shared = "a beginning of its own, counted once: " + SHARED
    prompts = [
        generate([system(TextPart(shared, shared=True)), user(f"{n}")], max_tokens=2)
        for n in range(6)
    ]
    before = worker.memory()
    worker.replies(prompts)
    after = worker.memory()
    computed, asked = (after[n] - before[n] for n in ("tokens_computed", "tokens_asked"))
    beginning = len(plain.tokenizer.encode(shared))
    assert asked - computed >= 5 * (beginning - 1)
