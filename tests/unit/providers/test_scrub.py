"""Keys stay out of everything that is shown or kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalbench.providers.wire.scrub import GONE, Scrub

KEY = "planted-key-0123456789"


@pytest.mark.parametrize(
    "text",
    [
        f"Incorrect API key provided: {KEY}.",
        f"Authorization: Bearer {KEY}",
        f"http://user:{KEY}@host/v1",
        f"{{'x-api-key': '{KEY}'}}",
        KEY * 3,
    ],
)
def test_the_key_itself(text: str) -> None:
    assert KEY not in Scrub(KEY).text(text)
    assert KEY.encode() not in Scrub(KEY).exact(text.encode())


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("key sk-proj-abcdefghij1234567890 is wrong", "abcdefghij"),
        ("key sk-ant-api03-AbC_dEf-123456 is wrong", "AbC_dEf"),
        ("key gsk_abcdefghijklmnop is wrong", "abcdefgh"),
        ("Incorrect API key provided: sk-proj-********wxyz.", "wxyz"),
        ("AIzaSyA1234567890abcdefghijklmnop", "SyA123"),
        ("AKIAIOSFODNN7EXAMPLE", "IOSFODNN"),
        ("authorization: bearer abcdefgh12345678", "abcdefgh"),
        ("api_key=abcdefgh12345678", "abcdefgh"),
        ("see http://me:hunter2@proxy:8080/", "hunter2"),
    ],
)
def test_what_looks_like_any_key(text: str, gone: str) -> None:
    assert gone not in Scrub("").text(text)


@pytest.mark.parametrize(
    "text", ["The model `gpt-5` does not exist", "risk-adjusted-returns-of-assets", "max_tokens: 5"]
)
def test_plain_texts_stay(text: str) -> None:
    assert Scrub(KEY).text(text) == text


def test_the_sentence_around_a_key_stays() -> None:
    text = Scrub("").text("Incorrect API key provided: sk-proj-********wxyz. You can find it.")
    assert text == f"Incorrect API key provided: {GONE}. You can find it."


def test_answers_lose_only_the_exact_key() -> None:
    body = b"an answer about sk-proj-abcdefghij1234567890 keys"
    assert Scrub(KEY).exact(body) == body


def test_a_placeholder_is_no_key() -> None:
    assert Scrub("none").exact(b"none of these") == b"none of these"


def test_long_texts_are_cut() -> None:
    assert len(Scrub("").text("x" * 10_000)) == 2000


@given(st.text(), st.text())
def test_the_key_is_gone_wherever_it_stands(before: str, after: str) -> None:
    text = Scrub(KEY).text(before + KEY + after, most=10**6)
    assert KEY not in text
    assert GONE in text
