"""Answers of a deterministic worker: the same to the last bit, whatever is asked beside them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from evalbench.engine.calls import Prompt, Reply, TextPart, choose, generate, system, user
from evalbench.engine.calls.options import parse_options
from evalbench.engine.errors import SpecError
from evalbench.providers.local import Local
from tests.contract.local import tiny
from tests.contract.local.driver import Worker
from tests.contract.local.test_choosing import exam, few_shot, odd_ones
from tests.contract.local.test_generating import SHARED, raw

pytestmark = [pytest.mark.local, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def alone(llama: Path) -> Iterator[Worker]:
    with Worker(str(llama), deterministic=True) as running:
        yield running


def prompts() -> list[Prompt]:
    """Scored, greedy and drawn, of all lengths, with beginnings in common, marked and not."""
    shared = [
        generate([system(TextPart(SHARED, shared=True)), user(f"{n} foxes")], max_tokens=9)
        for n in range(3)
    ]
    drawn = [
        generate(f"draw {n}", max_tokens=12, temperature=0.9, top_p=0.8, seed=n) for n in range(3)
    ]
    greedy = [raw("the quick brown fox " * n, max_tokens=4 + 5 * n) for n in range(1, 5)]
    # The same question with other answers, and behind a longer common beginning.
    more = [
        choose([TextPart(few_shot("foxes"), shared=True), "Question: one?\nAnswer:"], [" A", " E"]),
        choose([TextPart(few_shot("foxes") + "Question:", shared=True), " one?"], [" A", " B"]),
    ]
    return [*exam(["foxes"], 4), *more, *odd_ones(), *greedy, *shared, *drawn]


def bits(replies: list[Reply]) -> list[tuple[object, ...]]:
    """What may not differ at all."""
    return [(reply.text, reply.logprobs) for reply in replies]


def test_answers_are_the_same_bits_in_any_company(llama: Path, alone: Worker) -> None:
    asked = prompts()
    together = bits(alone.replies(asked))
    one_by_one = [bits(alone.replies([prompt]))[0] for prompt in asked]
    assert together == one_by_one
    with Worker(str(llama), deterministic=True) as other:
        backwards = bits(other.replies(asked[::-1]))
    assert backwards[::-1] == together


def test_no_call_runs_with_the_rows_of_another(alone: Worker) -> None:
    (question,) = exam(["lamps"], 1)
    alone.replies([question])
    before = alone.memory()["tokens_computed"]
    alone.replies([question])
    once = alone.memory()["tokens_computed"]
    alone.replies([question] * 3)
    assert alone.memory()["tokens_computed"] - once == 3 * (once - before) > 0


def test_answers_are_those_of_packed_calls_but_for_rounding(alone: Worker, worker: Worker) -> None:
    asked = prompts()
    pairs = zip(alone.replies(asked), worker.replies(asked), strict=True)
    for one, other in pairs:
        assert one.text == other.text
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


def test_models_that_cannot_be_packed_are_asked_row_by_row(tmp_path: Path) -> None:
    asked = [*exam(["colours"], 3), *odd_ones()[:3], raw("the quick brown", max_tokens=9)]
    with Worker(str(tiny.make_mamba(tmp_path / "model")), deterministic=True) as worker:
        together = bits(worker.replies(asked))
        assert [bits(worker.replies([prompt]))[0] for prompt in asked] == together


def test_the_record_says_how_it_was_computed(alone: Worker, worker: Worker) -> None:
    def told(one: Worker) -> tuple[object, ...]:
        info = next(frame["info"] for frame in one.seen if frame["type"] == "loaded")
        return tuple(info[name] for name in ("layout", "dtype", "threads", "batch_tokens", "slots"))

    for one in (alone, worker):
        one.memory()
    assert told(alone) == ("alone", "float32", 1, 512, 1)
    assert told(worker) == ("together", "float32", 1, 512, 32)


@pytest.mark.parametrize(
    ("setting", "value"), [("dtype", "bfloat16"), ("quantize", "4bit"), ("slots", 4)]
)
def test_what_would_contradict_it_is_refused(llama: Path, setting: str, value: object) -> None:
    values = {"deterministic": True, setting: value}
    provider = Local(parse_options(Local.options, values, "local"))
    with pytest.raises(SpecError, match=f"--{setting} {value} and --deterministic exclude"):
        provider.check_model(str(llama))
