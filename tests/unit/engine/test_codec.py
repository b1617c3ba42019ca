"""How texts are packed: nothing is lost, what repeats costs little."""

from __future__ import annotations

import random
from functools import cache

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalbench.engine.benchmark import Sample
from evalbench.engine.calls import MediaPart, Prompt, TextPart, choose, generate, system, user
from evalbench.engine.errors import JournalError
from evalbench.engine.journal.codec import (
    TRAIN_AFTER,
    Packer,
    join_prompt,
    quotable,
    quote,
    split_prompt,
    train,
    unquote,
)
from tests.unit.engine.journals import sample
from tests.unit.engine.properties import quickly
from tests.unit.engine.strategies import prompts

WORDS = [f"word{n * 7919 % 997}" for n in range(400)]


def letter(number: int) -> bytes:
    """A record that resembles its siblings."""
    draw = random.Random(number)
    return orjson.dumps(
        {"dear": draw.choice(WORDS), "body": draw.choices(WORDS, k=12), "n": number}
    )


@cache
def learned() -> bytes:
    return train([letter(n) for n in range(400)])


# -- prompts -----------------------------------------------------------------------


@quickly
@given(prompts)
def test_a_prompt_survives_being_taken_apart(prompt: Prompt) -> None:
    shape, texts, blobs = split_prompt(prompt)
    taken: list[bytes] = []

    def blob(digest: bytes) -> bytes:
        taken.append(digest)
        return blobs[digest]

    assert join_prompt(shape, texts, blob) == prompt
    assert set(taken) == set(blobs)


def test_prompts_that_differ_in_their_own_texts_have_one_shape() -> None:
    def shape(question: str, picture: bytes) -> str:
        rules, shown = TextPart("Rules.", shared=True), MediaPart("image/png", picture)
        asked = user([rules, shown, question])
        return split_prompt(generate([system("Be short."), asked], max_tokens=4))[0]

    assert shape("Why?", b"one") == shape("How?", b"two")


def test_prompts_with_other_shared_text_or_parameters_have_another_shape() -> None:
    def shape(rules: str, most: int) -> str:
        return split_prompt(generate([user([TextPart(rules, shared=True), "?"])], max_tokens=most))[
            0
        ]

    assert len({shape("One.", 4), shape("Two.", 4), shape("One.", 5)}) == 3


def test_short_continuations_belong_to_the_shape_long_ones_do_not() -> None:
    letters = [split_prompt(choose(text, [" A", " B"]))[0] for text in ("one", "two")]
    endings = [split_prompt(choose("one", [word * 9, word * 8]))[0] for word in ("long ", "same ")]
    assert len(set(letters)) == len(set(endings)) == 1


def test_a_blob_that_is_gone_reads_as_empty() -> None:
    shape, texts, _ = split_prompt(generate([user([TextPart("gone", shared=True), "stays"])]))
    assert join_prompt(shape, texts, lambda _: b"").messages[0].text == "stays"


# -- quotes ------------------------------------------------------------------------


@quickly
@given(st.data())
def test_texts_survive_naming_what_they_quote(data: st.DataObject) -> None:
    quotes = data.draw(st.lists(st.text("ab", min_size=2, max_size=4), unique=True, max_size=4))
    pieces = st.lists(st.sampled_from([*quotes, "a", "b", "", "0", "é", "\0", "\01"]), max_size=6)
    texts = data.draw(st.lists(pieces.map("".join), max_size=4))
    assert unquote(quote(texts, quotes), lambda: quotes) == texts


def test_a_prompt_that_quotes_its_sample_names_the_places() -> None:
    of = sample(1, "Why is the sky blue on a clear day?", subject="weather")
    (text,) = of.inputs.values()
    told = quote([f"Question: {text}\nAgain: {text}\nAnswer:"], quotable(of))
    assert orjson.loads(told) == [["Question: ", "0", "\nAgain: ", "0", "\nAnswer:"]]


def test_what_a_sample_lets_quote_are_its_longest_texts_at_any_depth() -> None:
    long, deep, gold = "a long question, indeed", "a choice deep inside", "a gold text of its own"
    inputs = {"q": long, "choices": [{"text": deep}, "short"], "n": 5}
    found = quotable(Sample("0" * 16 + ".1", inputs, [gold]))
    assert found == [long, gold, deep]
    many = {str(n): f"text number {n:09}" for n in range(100)}
    assert len(quotable(Sample("0" * 16 + ".1", many, None))) < 50


# -- packing -----------------------------------------------------------------------


@quickly
@given(st.lists(st.binary(max_size=200), max_size=20))
def test_bytes_survive_packing_without_a_dictionary(records: list[bytes]) -> None:
    packer = Packer()
    frames = [packer.pack(record) for record in records]
    assert [Packer().unpack(frame) for frame in frames] == records
    assert all(len(frame) <= len(record) + 1 for frame, record in zip(frames, records, strict=True))


@quickly
@given(st.binary(max_size=3000))
def test_bytes_survive_packing_with_a_dictionary(data: bytes) -> None:
    packer = Packer(learned())
    assert packer.unpack(packer.pack(data)) == data


def test_a_packer_has_enough_after_a_number_of_records_and_then_packs_smaller() -> None:
    packer = Packer()
    for n in range(TRAIN_AFTER - 1):
        packer.pack(letter(n))
    assert packer.enough() == []
    plain = packer.pack(letter(9999))
    examples = packer.enough()
    assert len(examples) == TRAIN_AFTER
    packer.use(train(examples))
    assert packer.enough() == []
    small = packer.pack(letter(9999))
    assert len(small) < 0.8 * len(plain)
    assert packer.unpack(small) == packer.unpack(plain) == letter(9999)


@pytest.mark.parametrize("records", [[], [b"x"] * 3, [b""] * 400])
def test_records_that_teach_nothing_give_no_dictionary(records: list[bytes]) -> None:
    packer = Packer()
    packer.use(train(records))
    assert packer.unpack(packer.pack(letter(1))) == letter(1)
    assert packer.enough() == []


def test_huge_records_are_not_kept_whole_for_training() -> None:
    packer = Packer()
    for n in range(TRAIN_AFTER):
        packer.pack(letter(n) * 400)
    assert sum(map(len, packer.enough())) <= TRAIN_AFTER * 16 * 1024


def test_a_damaged_frame_is_told() -> None:
    with pytest.raises(JournalError, match="damaged"):
        Packer().unpack(b"\x01 no frame")


def test_a_frame_without_its_dictionary_is_told() -> None:
    frame = Packer(learned()).pack(letter(1))
    with pytest.raises(JournalError, match="dictionary"):
        Packer().unpack(frame)
