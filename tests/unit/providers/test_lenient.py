"""JSON that a strict parser refuses and any reader reads."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from evalbench.providers.wire.lenient import decode, odd_counts, sum_of

MARK = "a byte-order mark stood before the body"
HALVES = "halves of characters (lone surrogates) were replaced by U+FFFD"
NUMBERS = "numbers that JSON has not (NaN, infinities) were read as null"
BYTES = "bytes that are not UTF-8 were replaced by U+FFFD"
CONTROLS = "control characters stood in texts unescaped"
TAIL = "what followed the end of the JSON was left out"


@pytest.mark.parametrize(
    ("raw", "value", "notes"),
    [
        (b'{"a": 1}', {"a": 1}, ()),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}, (MARK,)),
        (b'\n \xef\xbb\xbf{"a": 1}', {"a": 1}, (MARK,)),
        (b'{"a": "x \\ud83d y"}', {"a": "x \ufffd y"}, (HALVES,)),
        (b'{"\\udc00": "\\ud83d\\ude00"}', {"\ufffd": "\U0001f600"}, (HALVES,)),
        (b'{"a": NaN, "b": [-Infinity, Infinity]}', {"a": None, "b": [None, None]}, (NUMBERS,)),
        (b'{"a": -1e400, "b": 1e5}', {"a": None, "b": 1e5}, (NUMBERS,)),
        (b'{"a": "\t\x01"}', {"a": "\t\x01"}, (CONTROLS,)),
        (b'{"a": "caf\xe9"}', {"a": "caf\ufffd"}, (BYTES,)),
        (b'{"a": 1}{"a": 2}', {"a": 1}, (TAIL,)),
        (b'{"a": 1}\x00\n', {"a": 1}, ()),
        (b'{"a": 1, "a": 2, "b": NaN}', {"a": 2, "b": None}, (NUMBERS,)),
        ('{"a": "é"}'.encode("utf-16"), {"a": "é"}, ("the body came in UTF-16",)),
        (b'{"a": NaN, "b": "\xff\t\\ud800"}', {"a": None, "b": "\ufffd\t\ufffd"},
         (BYTES, CONTROLS, NUMBERS, HALVES)),
    ],
)  # fmt: skip
def test_what_any_reader_reads(raw: bytes, value: Any, notes: tuple[str, ...]) -> None:
    assert decode(raw)[0] == value
    assert set(decode(raw)[1]) == set(notes)


def test_bytes_are_read_as_the_header_says_where_they_are_not_utf_8() -> None:
    latin = "application/json; charset=ISO-8859-1"
    assert decode(b'{"a": "caf\xe9"}', latin) == ({"a": "café"}, ("the body came in ISO-8859-1",))
    # UTF-8 is UTF-8, whatever the header says.
    assert decode('{"a": "café"}'.encode(), latin) == ({"a": "café"}, ())
    assert decode(b'{"a": "caf\xe9"}', "text/x; charset=zip")[0] == {"a": "caf\ufffd"}


@pytest.mark.parametrize("depth", [150, 300, 1020, 1500, 100_000])
def test_what_is_too_deep_to_be_kept_is_left_out(depth: int) -> None:
    raw = b'{"deep": %s%s, "text": "B"}' % (b"[" * depth, b"]" * depth)
    value, notes = decode(raw)
    assert value["text"] == "B"
    assert bool(notes) == (depth > 254)
    assert orjson.dumps({"raw": value})


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b" ", b"<html>", b'{"a": ', b'{"a": "x', b"\xff\xfe", b"\\"),
        *(b"[" * 100_000, b'"' + b"\\" * 50_001),
    ],
)
def test_what_no_reader_reads(raw: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whatever the parser says
        decode(raw)


def test_whole_numbers_of_any_size_can_be_kept() -> None:
    value, _ = decode(b'{"a": 123456789012345678901, "b": %s, "c": NaN}' % (b"9" * 5000))
    assert value == {"a": 123456789012345678901.0, "b": None, "c": None}


def test_counts_that_can_be_none_are_named_and_not_quoted() -> None:
    body = {
        "usage": {
            "prompt_tokens": "secret",
            "completion_tokens": 3,
            "total_tokens": 1.5,
            "prompt_tokens_details": {"cached_tokens": -1, "audio_tokens": None},
            "cost": "free",
        },
        "eval_count": True,
    }
    told = odd_counts(body)
    assert [words.partition(" ")[0] for words in told] == [
        "prompt_tokens", "total_tokens", "cached_tokens", "eval_count",
    ]  # fmt: skip
    assert "secret" not in "".join(told)
    assert odd_counts({"usage": [1]}) == (
        "usage is no number of tokens and counts as not reported",
    )
    assert odd_counts({"usage": {"prompt_tokens": 12.0}}) == ()


def test_a_sum_of_counts_is_known_when_all_are_that_are_told() -> None:
    assert sum_of(9, None, 3) == 12
    assert sum_of(None, 3) is None
    assert sum_of(9, "3") is None
    assert sum_of(9, -3) is None
