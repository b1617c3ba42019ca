"""Log-likelihoods out of a real worker: equal to plain passes, at a fraction of their tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.calls import Prompt, TextPart, choose
from evalbench.engine.calls.messages import Message, user
from tests.contract.local import tiny
from tests.contract.local.driver import Worker
from tests.contract.local.reference import Plain

pytestmark = [pytest.mark.local, pytest.mark.timeout(300)]

WORDS = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "blue",
    "red",
    "green",
    "dog",
    "fox",
    "table",
]
LETTERS = (" A", " B", " C", " D")


def few_shot(subject: str) -> str:
    shots = "".join(
        f"Question: {WORDS[n % 16]} {subject} {WORDS[(5 * n) % 16]}?\nAnswer: {'ABCD'[n % 4]}\n\n"
        for n in range(6)
    )
    return f"The following are questions about {subject}.\n\n{shots}"


def question(number: int) -> str:
    words = " ".join(WORDS[(number * k + k * k) % 16] for k in range(1, 9))
    return f"Question: {words} ({number})?\nAnswer:"


def exam(subjects: list[str], count: int, *, marked: bool = True) -> list[Prompt]:
    return [
        choose([TextPart(few_shot(subject), shared=marked), question(n)], LETTERS)
        for subject in subjects
        for n in range(count)
    ]


def odd_ones() -> list[Prompt]:
    """Everything that is not the plain case of a multiple-choice question."""
    return [
        choose("the quick brown fox", [" jumps over the lazy dog", " counts: one two", " A"]),
        choose("the quick brown fox", [" jumps over the lazy dog", " jumps over the table"]),
        choose("the quick brown fox ", ["jumps", "counts"]),
        choose("a line ends\n", ["and another", "begins"]),
        choose("", ["the quick", "fox", "jumps over the lazy dog"]),
        choose("the lazy dog " * 60, [" jumps over the quick brown fox", " A"]),
        choose("blue", ["blue", "blue"]),
    ]


def expected(plain: Plain, prompts: list[Prompt]) -> list[tuple[float, ...]]:
    return [
        tuple(plain.loglikelihood(p.messages[0].text, text) for text in p.continuations)
        for p in prompts
    ]


def assert_equal(got: list[tuple[float, ...]], wanted: list[tuple[float, ...]]) -> None:
    assert len(got) == len(wanted)
    for ours, theirs in zip(got, wanted, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-4, rel=1e-5)


def logprobs(worker: Worker, prompts: list[Prompt]) -> list[tuple[float, ...]]:
    return [reply.logprobs for reply in worker.replies(prompts)]


@pytest.mark.parametrize(
    ("make", "sizes"),
    [
        (tiny.make_llama, {}),
        (tiny.make_mistral, {"sliding_window": 16}),
        (tiny.make_gemma, {"sliding_window": 16, "query_pre_attn_scalar": 16}),
    ],
)
def test_packed_rows_read_as_plain_passes(make: Any, sizes: dict[str, Any], tmp_path: Path) -> None:
    folder = make(tmp_path / "model", **sizes)
    prompts = [*exam(["colours", "foxes"], 9), *odd_ones(), *exam(["tables"], 4, marked=False)]
    with Worker(str(folder)) as worker:
        assert worker.next("loaded")["info"]["packs"] is True
        assert_equal(logprobs(worker, prompts), expected(Plain(folder), prompts))


def test_a_model_that_cannot_be_packed_is_run_in_padded_batches(tmp_path: Path) -> None:
    folder = tiny.make_mamba(tmp_path / "model")
    prompts = [*exam(["colours"], 5), *odd_ones()[:4]]
    with Worker(str(folder)) as worker:
        assert worker.next("loaded")["info"]["packs"] is False
        assert_equal(logprobs(worker, prompts), expected(Plain(folder), prompts))


def test_without_prefix_cache_every_row_is_run_by_itself(llama: Path, worker: Worker) -> None:
    prompts = exam(["birds"], 6)
    with Worker(str(llama), prefix_cache=False) as alone:
        assert_equal(logprobs(worker, prompts), logprobs(alone, prompts))
        cost = alone.memory()
    assert cost["tokens_computed"] == cost["tokens_asked"]


def rows(plain: Plain, prompts: list[Prompt]) -> list[list[int]]:
    return [plain.tokenizer.encode(p.messages[0].text) for p in prompts]


def trie_size(sequences: list[list[int]]) -> int:
    return len({tuple(ids[:n]) for ids in sequences for n in range(1, len(ids) + 1)})


def cost(worker: Worker, prompts: list[Prompt]) -> tuple[int, int]:
    """Tokens computed and asked for while the worker answers ``prompts``."""
    before = worker.memory()
    worker.replies(prompts)
    after = worker.memory()
    computed, asked = (after[n] - before[n] for n in ("tokens_computed", "tokens_asked"))
    return computed, asked


@pytest.mark.parametrize("marked", [True, False])
def test_a_shared_beginning_is_run_once(worker: Worker, plain: Plain, marked: bool) -> None:
    subjects = ["stones", "rivers"] if marked else ["clouds", "winds"]
    prompts = exam(subjects, 12, marked=marked)
    ids = rows(plain, prompts)
    prefixes = sum(len(plain.tokenizer.encode(few_shot(subject))) for subject in subjects)
    computed, asked = cost(worker, prompts)
    assert asked == sum(map(len, ids))
    assert trie_size(ids) <= computed < asked / 3
    # Behind the prefixes every question costs its own tokens and nothing else.
    assert computed - prefixes <= asked - 12 * prefixes


def test_a_later_batch_finds_the_prefix_computed(worker: Worker, plain: Plain) -> None:
    prompts = exam(["trees"], 8)
    cost(worker, prompts[:4])
    computed, asked = cost(worker, prompts[4:])
    prefix = len(plain.tokenizer.encode(few_shot("trees")))
    assert asked > 4 * prefix
    assert computed <= asked - 4 * prefix + 4


def test_a_question_that_repeats_costs_nothing_more(worker: Worker) -> None:
    prompts = exam(["lamps"], 1) * 5
    computed, asked = cost(worker, prompts)
    assert computed * 5 == asked


def test_small_batches_change_nothing(llama: Path, plain: Plain) -> None:
    prompts = [*exam(["colours"], 5), *odd_ones()]
    with Worker(str(llama), max_batch_tokens=33) as worker:
        assert worker.next("loaded")["info"]["batch_tokens"] == 33
        assert_equal(logprobs(worker, prompts), expected(plain, prompts))


def test_usage_counts_the_context_once_and_every_continuation(worker: Worker, plain: Plain) -> None:
    tokenizer = plain.tokenizer
    context, endings = "the quick brown fox", [" jumps over", " A"]
    (reply,) = worker.replies([choose(context, endings)])
    whole = [len(tokenizer.encode(context + ending)) for ending in endings]
    before = len(tokenizer.encode(context))
    assert reply.usage.input_tokens == sum(whole) - before
    assert reply.usage.output_tokens == 0


def test_chat_turns_are_rendered_with_the_template(worker: Worker, plain: Plain) -> None:
    prompt = Prompt("choose", (user("which colour?"),), (" blue", " red"))
    rendered = "<s>user: which colour?\n<s>assistant:"
    before = plain.tokenizer.encode(rendered, add_special_tokens=False)
    wanted = [
        plain.of_tokens(before, plain.tokenizer.encode(rendered + ending)[len(before) :])
        for ending in prompt.continuations
    ]
    (reply,) = worker.replies([prompt])
    assert reply.logprobs == pytest.approx(wanted, abs=1e-4)


def test_a_prompt_that_is_too_long_loses_its_beginning_and_says_so(
    worker: Worker, plain: Plain
) -> None:
    context, endings = "one two three " * 250, [" four", " five six"]
    (reply, short) = worker.replies([choose(context, endings), choose("one two", endings)])
    wanted = [
        len(plain.tokenizer.encode(context.rstrip() + " " + ending)) - 1 - 512 for ending in endings
    ]
    assert reply.cut_tokens == max(wanted) > 0
    assert [note.name for note in reply.params] == ["whole prompt"]
    assert (short.cut_tokens, short.params) == (0, ())


def test_a_long_text_without_a_context_is_read_in_windows(worker: Worker, plain: Plain) -> None:
    text = "the quick brown fox jumps over the lazy dog " * 150
    ids, start = plain.tokenizer.encode(text), plain.tokenizer.bos_token_id
    windows = [plain.of_tokens([start], ids[:512])]
    for begin in range(512, len(ids), 512):
        end = min(begin + 512, len(ids))
        windows.append(plain.of_tokens(ids[end - 513 : begin], ids[begin:end]))
    assert len(windows) > 2
    (reply, short) = worker.replies([choose("", [text, "fox"]), choose("", ["fox"])])
    assert reply.logprobs == pytest.approx([sum(windows), *short.logprobs], rel=1e-5)
    assert reply.cut_tokens == 0
    assert isinstance(reply.raw, dict)
    assert [type(flag) for flag in reply.raw["greedy"]] == [bool, bool]


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        (choose("the quick", ["", " fox"]), "adds no token"),
        (choose("the quick", []), "no continuations"),
        (choose("the quick", [" dog" * 600]), "longer than the model's context"),
        (Prompt("choose", (Message("context", ()),), ("",)), "adds no token"),
    ],
)
def test_what_cannot_be_scored_fails_alone(worker: Worker, prompt: Prompt, said: str) -> None:
    bad, good = f"bad: {said} {prompt}", f"good: {said} {prompt}"
    worker.ask({bad: prompt, good: choose("the quick", [" fox"])})
    found = worker.answers([bad, good])
    assert found[good]["type"] == "reply"
    assert found[bad]["type"] == "failed"
    assert found[bad]["error"] == "CallRejected"
    assert said in found[bad]["what"]
