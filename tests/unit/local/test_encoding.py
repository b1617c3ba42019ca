"""Prompts become tokens as lm-evaluation-harness makes them; each character is a token here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from evalbench.engine.calls import Message, TextPart, choose, generate
from evalbench.engine.errors import CallRejected
from evalbench.providers.local.chat import ChatTemplate
from evalbench.providers.local.tokens import Choice, Encoder

START = 1


class Letters:
    """A tokenizer whose tokens are characters, and ``^`` the start token."""

    bos_token_id = eos_token_id = START

    def __call__(
        self, texts: Sequence[str], *, add_special_tokens: bool, return_attention_mask: bool
    ) -> dict[str, Any]:
        first = [START] if add_special_tokens else []
        return {"input_ids": [first + [self._of(one) for one in text] for text in texts]}

    def decode(self, ids: Sequence[int]) -> str:
        return "".join("^" if one == START else chr(one) for one in ids)

    def _of(self, one: str) -> int:
        return START if one == "^" else ord(one)


def encoder(context: int = 100) -> Encoder:
    return Encoder(Letters(), context, cast(ChatTemplate, None))


def read(choice: Choice) -> tuple[str, str]:
    letters = Letters()
    return letters.decode(choice.tokens), letters.decode(choice.targets)


def test_a_continuation_is_what_follows_its_context() -> None:
    length, choices = encoder().choices(choose("Is it?", [" A", " no"]))
    assert length == len("^Is it?")
    assert [read(one) for one in choices] == [("^Is it? ", " A"), ("^Is it? n", " no")]
    assert [one.cut for one in choices] == [0, 0]


def test_white_space_at_the_end_of_a_context_belongs_to_the_continuation() -> None:
    _, (choice,) = encoder().choices(choose("Is it? ", ["A"]))
    assert read(choice) == ("^Is it? ", " A")


def test_a_start_token_that_is_written_out_is_not_added_again() -> None:
    _, (choice,) = encoder().choices(choose("^So", ["!?"]))
    assert read(choice) == ("^So!", "!?")


def test_what_is_too_long_loses_its_beginning() -> None:
    _, choices = encoder(5).choices(choose("abcdef", ["g", "xyz"]))
    assert [read(one) for one in choices] == [("bcdef", "g"), ("defxy", "xyz")]
    assert [one.cut for one in choices] == [len("^a"), len("^abc")]
    with pytest.raises(CallRejected, match="6 tokens is longer than the model's context of 5"):
        encoder(5).choices(choose("a", ["uvwxyz"]))
    with pytest.raises(CallRejected, match="adds no token"):
        encoder(5).choices(choose("a", [""]))


def test_a_text_without_a_context_is_read_in_windows_that_cover_it_once() -> None:
    length, (choice,) = encoder(4).choices(choose("", ["abcdefghij"]))
    assert length == 1
    assert [read(one) for one in choice.windows] == [
        ("^abc", "abcd"),
        ("defg", "efgh"),
        ("fghi", "ij"),
    ]


def test_what_prompts_share_is_counted_in_tokens() -> None:
    given = [TextPart("ab", shared=True), TextPart("cd")]
    told = encoder().prompt(generate([Message("context", tuple(given))]))
    assert (told.shared, len(told.tokens)) == (len("^ab"), len("^abcd"))
    _, (choice,) = encoder().choices(choose(given, ["e"]))
    assert choice.shared == len("^ab")
