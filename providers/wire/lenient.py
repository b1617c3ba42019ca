"""JSON as servers really send it: parsed strictly first, then as leniently as possible.

A reply that was paid for must not be lost to bad syntax. What a strict parser rejects but a person
could read (byte order marks, lone surrogates, infinities, unescaped control characters, other
encodings, trailing data) is accepted, and each oddity is noted.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from evalbench.engine.calls.replies import MOST_DEPTH, MOST_TOKENS, plain_json, token_count

_TOO_DEEP = f"what stood inside more than {MOST_DEPTH} lists and objects was left out"
_BLANK = "\ufeff\x00 \t\r\n"
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)
_CHARSET = re.compile(r"charset=[\"']?(iso-8859-\d{1,2}|latin-?1|windows-125\d|cp125\d)\b", re.I)
_LONGEST_INT = 18
"""Any whole number with this many digits fits into 64 bits."""
_USAGES = ("usage", "usageMetadata")
_DETAILS = ("details", "Details")
_COUNTS = ("tokens", "Tokens", "TokenCount")
_EVALUATED = ("prompt_eval_count", "eval_count")
"""The token counts of Ollama's own API, which are at the top level of an answer."""


def decode(raw: bytes, content_type: str = "") -> tuple[Any, tuple[str, ...]]:
    """A body as JSON that can be stored, and notes on its oddities, which quote none of it.

    Args:
        raw: the body.
        content_type: the header, for bytes that are not UTF-8.

    Raises:
        ValueError: it cannot be read as JSON.
    """
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return _Leniently(raw, content_type).read()
    if not _can_be_written(value):
        return plain_json(value), (_TOO_DEEP,)
    return value, ()


def encode(value: Any) -> bytes:
    """JSON of any value."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return orjson.dumps(plain_json(value))


def _can_be_written(value: Any) -> bool:
    try:
        orjson.dumps(value)
    except TypeError:
        return False
    return True


class _Leniently:
    """One body on the slow path."""

    def __init__(self, raw: bytes, content_type: str) -> None:
        self._notes: dict[str, None] = {}
        self._text = self._decoded(raw, content_type)

    def read(self) -> tuple[Any, tuple[str, ...]]:
        text = self._text.lstrip(_BLANK)
        if "\ufeff" in self._text[: len(self._text) - len(text)]:
            self._note("a byte-order mark stood before the body")
        if text.count("[") + text.count("{") > MOST_DEPTH:
            text = self._flattened(text)
        try:
            value, end = self._first_value(text)
        except RecursionError:
            raise ValueError("lists and objects that are never closed") from None
        if text[end:].strip(_BLANK):
            self._note("what followed the end of the JSON was left out")
        made = plain_json(value)
        if made != value:
            self._note("halves of characters (lone surrogates) were replaced by U+FFFD")
        return made, tuple(self._notes)

    def _note(self, words: str) -> None:
        self._notes[words] = None

    def _decoded(self, raw: bytes, content_type: str) -> str:
        encoding = json.detect_encoding(raw)
        if encoding == "utf-8-sig":
            # Then it is UTF-8, whatever the header says.
            encoding, content_type = "utf-8", ""
        try:
            text = raw.decode(encoding)
            if encoding != "utf-8":
                self._note(f"the body came in {encoding.upper()}")
            return text
        except UnicodeDecodeError:
            pass
        if found := _CHARSET.search(content_type):
            self._note(f"the body came in {found[1].upper()}")
            return raw.decode(found[1], "replace")
        self._note("bytes that are not UTF-8 were replaced by U+FFFD")
        return raw.decode(encoding, "replace")

    def _first_value(self, text: str) -> tuple[Any, int]:
        try:
            return self._decoder(strict=True).raw_decode(text)
        except json.JSONDecodeError as error:
            if not error.msg.startswith("Invalid control character"):
                raise
        self._note("control characters stood in texts unescaped")
        return self._decoder(strict=False).raw_decode(text)

    def _decoder(self, *, strict: bool) -> json.JSONDecoder:
        return json.JSONDecoder(
            strict=strict,
            parse_constant=self._no_number,
            parse_float=self._float,
            parse_int=self._int,
        )

    def _no_number(self, _: str) -> None:
        self._note("numbers that JSON has not (NaN, infinities) were read as null")

    def _float(self, digits: str) -> float | None:
        value = float(digits)
        if math.isfinite(value):
            return value
        self._no_number(digits)
        return None

    def _int(self, digits: str) -> int | float | None:
        # Larger ones become floats, as in the strict parser.
        return int(digits) if len(digits) <= _LONGEST_INT else self._float(digits)

    def _flattened(self, text: str) -> str:
        """The text with null in place of values nested too deeply."""
        kept, depth, start, done = [], 0, 0, 0
        for found in _TOKEN.finditer(text):
            letter = found[0]
            if letter in "[{":
                depth += 1
                if depth == MOST_DEPTH + 1:
                    start = found.start()
            elif letter in "]}":
                if depth == MOST_DEPTH + 1:
                    kept += [text[done:start], "null"]
                    done = found.end()
                depth -= 1
        if not kept:
            return text
        self._note(_TOO_DEEP)
        return "".join(kept) + text[done:]


def as_object(value: object) -> Mapping[str, Any]:
    """A JSON object; empty if the value is anything else."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> Sequence[Any]:
    """A JSON list; empty if the value is anything else."""
    return value if isinstance(value, list) else ()


def as_text(value: object) -> str:
    """A JSON string; empty if the value is anything else."""
    return value if isinstance(value, str) else ""


def status_number(value: object) -> int:
    """A status as a number, however it is spelled; 0 if there is none."""
    try:
        return int(value) if isinstance(value, int | float | str) else 0
    except (ValueError, OverflowError):
        return 0


def told_status(error: Mapping[str, Any]) -> int:
    """The HTTP status named by an error inside a good response; 0 if it names none."""
    numbers = map(status_number, map(error.get, ("code", "status", "status_code", "http_status")))
    return next((number for number in numbers if 400 <= number < 600), 0)


def sum_of(first: object, *more: object) -> int | None:
    """The sum of token counts; None if the first is missing, or one of them is invalid."""
    total = token_count(first)
    for one in more:
        if one is not None:
            count = token_count(one)
            if count is None or total is None:
                return None
            total += count
    return total


def odd_counts(body: Mapping[str, Any]) -> tuple[str, ...]:
    """Impossible token counts in a good answer, in words; see :class:`Usage`."""
    odd: list[str] = []
    for name in _USAGES:
        usage = body.get(name)
        if type(usage) is dict:
            odd += _odd_in(usage)
        elif usage is not None:
            odd.append(name)
    odd += [name for name in _EVALUATED if name in body and _is_odd(body[name])]
    if not odd:
        return ()
    return tuple(f"{name} is no number of tokens and counts as not reported" for name in odd)


def _odd_in(usage: Mapping[str, Any]) -> list[str]:
    odd: list[str] = []
    for name, value in usage.items():
        # Called for every reply, nearly all of which are fine.
        if value is None or (type(value) is int and 0 <= value <= MOST_TOKENS):
            continue
        if type(value) is dict:
            if name.endswith(_DETAILS):
                odd += _odd_in(value)
        elif name.endswith(_COUNTS) and _is_odd(value):
            odd.append(name)
    return odd


def _is_odd(value: object) -> bool:
    return value is not None and token_count(value) is None
