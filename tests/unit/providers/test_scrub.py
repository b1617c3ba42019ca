"""Keys stay out of everything that is shown or kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalbench.engine.calls import Reply
from evalbench.engine.errors import ProviderError
from evalbench.providers.wire.reply_scrubbing import GONE, SecretScrubber

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
    assert KEY not in SecretScrubber(KEY).text(text)
    assert KEY.encode() not in SecretScrubber(KEY).exact(text.encode())


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
        ("see http://me:hun/ter@2@proxy:8080/", "hun/ter"),
        ("see http://me:hun/ter@2@proxy:8080/", "ter@2"),
        ("BasicAuth(login='me', password='hunter2', encoding='latin1')", "hunter2"),
        ("Proxy-Authorization: Basic bWU6aHVudGVyMg==", "bWU6aHVudGVyMg"),
        ("{b'Authorization': b'Basic bWU6aHVudGVyMg=='}", "bWU6aHVudGVyMg"),
        ("GET /v1/models?alt=sse&key=hunter2hunter&x=1", "hunter2hunter"),
        ("GET /v1?api_key=hunter2", "hunter2"),
        ("https://b.s3.amazonaws.com/x?X-Amz-Signature=abc123&X-Amz-Date=1", "abc123"),
        ("a token ya29.a0AfH6SMBxplantedplanted of Google", "planted"),
    ],
)
def test_what_looks_like_any_key(text: str, gone: str) -> None:
    assert gone not in SecretScrubber("").text(text)


@pytest.mark.parametrize(
    ("masked", "left"),
    [
        ("pla...6789", ""),
        ("planted-key-0…6789.", "."),
        ("your api key: ****6789 is invalid", "your api key:  is invalid"),
        ("'pla••••••••6789'", "''"),
        ("planted xxxx 6789", ""),
        ("plan [...] 89", ""),
        ("Bearer planted-<redacted>89", "Bearer "),
        ("x-api-key: planted-ke***6789", "x-api-key: "),
        ("planted-key-0123***", ""),
        (f"{KEY}***6789", ""),
    ],
)
def test_a_masked_form_of_the_key_is_removed_whole(masked: str, left: str) -> None:
    scrubber = SecretScrubber(KEY)
    assert scrubber.text(masked).replace(GONE, "") == left
    assert scrubber.text(masked).count(GONE) == 1
    error = ProviderError(f"refused: {masked}", why=masked)
    scrubber.error(error)
    assert error.why.replace(GONE, "") == left
    # An answer may say so much by chance.
    if KEY not in masked:
        assert scrubber.exact(masked.encode()) == masked.encode()


@pytest.mark.parametrize(
    "text",
    [
        "wait ... 67",
        "p...89",
        "see plan.89",
        "a plan ... of 6789 steps",
        "1***9",
        "[1] 6789",
        "****67890",
    ],
)
def test_so_little_beside_an_ellipsis_is_no_key(text: str) -> None:
    assert SecretScrubber(KEY).text(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "x-api-key: AbCdEfGh***rong",
        "api_key=AbCdEfGh…rong",
        "Bearer AbCdEfGhIj****rong",
        "authorization: AbCdEfGh•••rong",
        "AIza…rong",
        "sk-proj-••••rong",
    ],
)
def test_a_masked_form_of_any_key_is_removed_whole(text: str) -> None:
    assert "rong" not in SecretScrubber("").text(text)


def test_what_stands_around_a_query_stays() -> None:
    text = SecretScrubber("").text("GET /v1?alt=sse&key=hunter2&monkey=1 failed (see ?page=2)")
    assert text == f"GET /v1?alt=sse&key={GONE}&monkey=1 failed (see ?page=2)"


@pytest.mark.parametrize("named", ["http://me:planted%2Fpass@proxy:1", "me:planted%2Fpass@proxy:1"])
def test_passwords_of_proxies_go_too(named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", named)
    text = SecretScrubber(KEY).text(
        "login='me', pass planted/pass, bWU6cGxhbnRlZC9wYXNz, planted%2fpass"
    )
    assert "planted" not in text
    assert "cGxhbnRlZ" not in text


def test_no_cut_leaves_a_part_of_a_key() -> None:
    assert "planted" not in SecretScrubber(KEY).text("x" * 1995 + KEY)
    assert "planted" not in SecretScrubber(KEY).identity("x" * 190 + KEY)


def test_a_reply_that_comes_in_pieces() -> None:
    reply = Reply(text=f"a {KEY} b", reasoning=KEY)
    clean = SecretScrubber(KEY).reply(reply)
    assert KEY not in repr(clean)
    assert clean.text == f"a {GONE} b"
    fine = Reply(text="nothing")
    assert SecretScrubber(KEY).reply(fine) is fine


def test_errors_lose_the_key_wherever_it_is() -> None:
    error = ProviderError(KEY, why=KEY, hint=KEY, body=KEY, request_id=KEY)
    error.param = KEY
    with pytest.raises(ProviderError) as caught, SecretScrubber(KEY).errors():
        raise error
    assert KEY not in f"{caught.value!r} {vars(caught.value)}"


@pytest.mark.parametrize(
    "text", ["The model `gpt-5` does not exist", "risk-adjusted-returns-of-assets", "max_tokens: 5"]
)
def test_plain_texts_stay(text: str) -> None:
    assert SecretScrubber(KEY).text(text) == text


def test_the_sentence_around_a_key_stays() -> None:
    text = SecretScrubber("").text(
        "Incorrect API key provided: sk-proj-********wxyz. You can find it."
    )
    assert text == f"Incorrect API key provided: {GONE}. You can find it."


def test_answers_lose_only_the_exact_key() -> None:
    body = b"an answer about sk-proj-abcdefghij1234567890 keys"
    assert SecretScrubber(KEY).exact(body) == body


def test_a_placeholder_is_no_key() -> None:
    assert SecretScrubber("none").exact(b"none of these") == b"none of these"


def test_long_texts_are_cut() -> None:
    assert len(SecretScrubber("").text("x" * 10_000)) == 2000


@given(st.text(), st.text())
def test_the_key_is_gone_wherever_it_stands(before: str, after: str) -> None:
    text = SecretScrubber(KEY).text(before + KEY + after, most=10**6)
    assert KEY not in text
    assert GONE in text
