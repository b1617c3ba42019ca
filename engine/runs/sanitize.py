"""Makes texts harmless for the programs that open an exported file.

Models can output anything: terminal sequences, spreadsheet formulas, scripts, even someone's
key. A file to be shared must not contain any of it in a form that takes effect when the file is
opened.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from evalbench.engine.calls.key_shapes import KEYS, KEYS_IN_JSON
from evalbench.engine.terminal_text import visible

KEY_GONE = "[key removed]"

_LOGIN = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_FORMULA = re.compile("[=+\\-@\t\r\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_ACTIVE = re.compile(
    rb"\x7f|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae]|\xe2\x81[\xa6-\xa9]|<(?=[sS][cC][rR]|/[sS][cC][rR]|!--)"
)


def without_keys(value: Any) -> Any:
    """A text, or JSON values, with everything that looks like a provider's key replaced."""
    if isinstance(value, str):
        return KEYS.sub(KEY_GONE, value)
    if isinstance(value, Mapping):
        return {without_keys(name): without_keys(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_keys(part) for part in value]
    return value


def holds_key(value: Any) -> bool:
    """Whether anything in a JSON value looks like a provider's key."""
    return value is not None and KEYS_IN_JSON.search(orjson.dumps(value)) is not None


def without_logins(value: Any) -> Any:
    """Settings without keys, and without user names and passwords in addresses."""
    if isinstance(value, str):
        return _LOGIN.sub(KEY_GONE, without_keys(value))
    if isinstance(value, Mapping):
        return {name: without_logins(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_logins(part) for part in value]
    return value


def cell(text: str) -> str:
    """A text for a spreadsheet: never a formula, which starts with ``= + - @`` or whitespace.

    Such texts are prefixed with an apostrophe, as OWASP's page on CSV injection advises; numbers
    stay as they are.
    """
    text = visible(text.replace("\r\n", "\n"))
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def uncell(text: str) -> str:
    """Inverse of :func:`cell` for the apostrophe; a quoted text keeps its quotes."""
    marked = text[:1] == "'" and _FORMULA.match(text[1:2]) and not text.endswith("'")
    return text[1:] if marked else text


def json_bytes(value: Any, *, indent: bool = False) -> bytes:
    """JSON that is inert in a terminal and when embedded in a web page.

    Every reader gets the same value: anything that could take effect is just written as an
    escape.
    """
    option = orjson.OPT_NON_STR_KEYS | (orjson.OPT_INDENT_2 if indent else 0)
    body = orjson.dumps(value, option=option)
    return _ACTIVE.sub(_escape, body)


def _escape(found: re.Match[bytes]) -> bytes:
    return f"\\u{ord(found[0].decode()):04x}".encode()
