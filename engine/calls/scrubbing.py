"""Removes secrets from what servers send back, however they are spelled.

A secret is found as it is and with case swapped; with any of its characters escaped for JSON,
Python, a URL, HTML or as quoted-printable; split by invisible characters; in base64, base32 or
hexadecimal digits, alone or after a user name, on one line or several. These are composed: what
one of them stands for is searched for the others, four levels deep with at most two codes.

Every reply passes through here, so the work is done in two steps. :meth:`Scrubber._suspects`
looks at bytes using only C string searches, and lets nearly all of them pass. Only if it sees a
secret, or something that could hide part of one, is everything undone one by one, keeping track
of positions, so that exactly the secret's spelling is cut out and nothing around it; of a code in
or around other spellings, the whole code is cut out. Most HTML and URL escapes stand for
characters that occur in no secret, and are skipped.
"""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from evalbench.engine.calls.secrets import SHORTEST
from evalbench.engine.paths import open_private

_MOST_LAYERS = 4
_MOST_CODES = 2
"""Of these levels, how many may be codes."""
_MOST_QUOTED = 2
"""And how many quoted-printable."""
_LONG_CODE = 44
"""Longer words are taken for codes: most identifiers that providers give are shorter."""
_LONG_LINE = 32
"""The shortest lines that they are broken into."""
_BLOCK = 1 << 17
"""Bytes of a file; more would not stay in a core's cache while they are searched several times."""

_HIDDEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufffd"
)
"""Invisible characters, and escapes for none. Source: Unicode,
``Default_Ignorable_Code_Point``."""
_TAGS = "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
"""The same beyond 16 bits. A set that contains both is many times slower to search."""
_CONTROL = r"\x00-\x08\x0b-\x1f\x7f-\x9f"
"""Removed before reaching a terminal, and so as good as invisible."""
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]P^_X][^\x07\x1b]*(?:\x07|\x1b\\)|[@-~])")
"""Sequences that a terminal interprets and does not show: ECMA-48 control sequences, strings."""

_IS_HIDDEN = re.compile(f"[{_HIDDEN}{_CONTROL}]+")
_IS_TAG = re.compile(f"[{_TAGS}]+")
_LEADS = {
    0xC2: rb"\xc2[\x80-\x9f\xad]",
    0xCD: rb"\xcd\x8f",
    0xD8: rb"\xd8\x9c",
    0xE1: rb"\xe1(?:\x85[\x9f\xa0]|\x9e[\xb4\xb5]|\xa0[\x8b-\x8f])",
    0xE2: rb"\xe2(?:\x80[\x8b-\x8f\xa8-\xae]|\x81[\xa0-\xaf]|\xa0\x80)",
    0xE3: rb"\xe3\x85\xa4",
    0xED: rb"\xed[\xa0-\xbf]",
    0xEF: rb"\xef(?:\xb8[\x80-\x8f]|\xbb\xbf|\xbe\xa0|\xbf\xbd)",
    0xF0: rb"\xf0(?:\x9b\xb2[\xa0-\xa3]|\x9d\x85[\xb3-\xba])",
    0xF3: rb"\xf3\xa0",
}
_HIDDEN_BYTES = tuple((bytes([lead]), re.compile(rest)) for lead, rest in _LEADS.items())
"""The same in UTF-8, by first byte: most texts contain few of these, and one is found fast."""

_ESCAPE = r"""
    [\\%&](?:
      (?<=\\)(?:
          u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}
        | u[0-9a-fA-F]{4} | u\{[0-9a-fA-F]{1,6}\} | U[0-9a-fA-F]{8} | x[0-9a-fA-F]{2}
        | [0-3][0-7]{2} | 0 | [bfnrtv] | [!-/:-@\[-`{-~]
      )
    | (?<=%)u[0-9a-fA-F]{4}
    | (?<=%)[0-9a-fA-F]{2}(?:%[0-9a-fA-F]{2})*
    | (?<=&)(?:\#[0-9]{1,7}|\#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});?
    )
"""
_AT_ESCAPES = re.compile(f"({_ESCAPE})", re.VERBOSE)
_UNIT = re.compile(f"{_ESCAPE}|[{_HIDDEN}{_CONTROL}{_TAGS}]+", re.VERBOSE)
_ESC, _BEL = "\x1b", "\x07"
_WHITE = {"b": "", "f": "", "v": "", "n": "\n", "r": "\r", "t": "\t"}
_DELETED = bytes([*range(9), *range(11, 32), 127])
_FOLD = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ-_", b"abcdefghijklmnopqrstuvwxyz+/")
"""Folds case, and the two base64 alphabets."""
_BASE64 = frozenset("abcdefghijklmnopqrstuvwxyz0123456789+/")
_IS_CODE = re.compile(rb"[A-Za-z0-9+/_-]")
_ONE_CODE = bytes(97 if _IS_CODE.match(bytes([code])) else 32 for code in range(256))
"""Turns every character of a code into an ``a``, all others into blanks."""
_CODES = re.compile(r"[A-Za-z0-9+/_-]+(?:\r?\n[ \t]*[A-Za-z0-9+/_-]+)*={0,6}")
_BREAKS = re.compile(rb"\s+|\\[rnt]")
_CODE_LINES = re.compile(
    rb"(?<!\\)[A-Za-z0-9+/_-]+(?:(?:\r?\n|\\r\\n|\\n)(?:[ \t]|\\t)*[A-Za-z0-9+/_-]+)*"
)
_LINES_ABOVE = 160
_NUMBER = re.compile(rb"[0-9]{16}")
"""May be hexadecimal digits of a secret, and loses some of them when parsed."""
_LINE = re.compile(r"\S+")
_STANDARD = bytes.maketrans(b"-_", b"+/")
_HEX = re.compile(rb"[0-9a-fA-F]+")
_BASE32 = re.compile(rb"[A-Z2-7]+|[a-z2-7]+")
_BASE32_DIGITS = bytes.maketrans(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567abcdefghijklmnopqrstuvwxyz",
    b"0123456789ABCDEFGHIJKLMNOPQRSTUV0123456789ABCDEFGHIJKLMNOP",
)
_STRETCH = re.compile(rb"[\t\n\r -~]{12}")
_QUOTED = re.compile(r"(?:=[0-9a-fA-F]{2}|=\r?\n)+")
_SOFT = re.compile(r"=\r?\n")
"""Quoted-printable: RFC 2045, section 6.7."""
_SPACE = re.compile(r"\s+")
_PIECE = 16
"""A code broken into lines of at least twice this length has one such piece unbroken."""
_BEFORE_JSON = "\ufeff\x00 \t\r\n"
_LENIENT = json.JSONDecoder(strict=False)
_BEGUN_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*(?P<escape>\\(?:u[0-9a-fA-F]{0,3})?)\Z")
"""The beginning of an escape whose end was taken for base64: half of it would spoil an answer."""
_MASK = re.compile(
    r"[ ]?(?P<mask>(?:[*…•·●█∗＊#]+|[.]{2,}|[xX]{3,}|[\[<(][A-Za-z.…*]{1,20}[\])>])+)[ ]?"
)
"""What services write for the part of a key that they do not show."""
_HEAD, _TAIL, _BOTH = 10, 4, (3, 2)
"""How many characters of a secret beside a mask identify it: at its beginning, at its end, at both.
Fewer occur in other texts by chance."""
_FORMS_ESCAPES = frozenset("\\%&#;{}=")
_NAMES = {
    " ": ("nbsp",),
    '"': ("quot",),
    "'": ("apos",),
    "<": ("lt",),
    ">": ("gt",),
    "—": ("mdash", "ndash", "hellip", "lsquo", "rsquo", "ldquo", "rdquo", "bull", "middot"),
    "é": ("eacute", "auml", "ouml", "uuml", "szlig", "copy", "euro", "times"),
}
"""Common HTML entity names by character; those beyond ASCII by some non-ASCII character."""


def _fold(text: str) -> str:
    lower = text.lower()
    if len(lower) != len(text):
        # A few letters have a two-character lower-case form; positions must not shift.
        lower = "".join(low if len(low := one.lower()) == 1 else one for one in text)
    return lower.replace("-", "+").replace("_", "/")


@dataclass(frozen=True, slots=True)
class _Needle:
    """A case-folded text to search for.

    Attributes:
        text: the text.
        code: it is base64 or hexadecimal, which may be broken into lines.
        before, after: base64 in which the character before, or after, also encodes a part of it.
    """

    text: str
    code: bool = False
    before: bool = False
    after: bool = False


def _needles(secret: str) -> Iterator[_Needle]:
    """Every form of a secret once escapes are undone, or partly undone."""
    # For some letters the number of characters changes with their case.
    cases = {secret, secret.upper(), secret.lower(), secret.swapcase()}
    # One of its own backslashes may look like the start of an escape.
    cases.add(secret.replace("\\", ""))
    for text in (one for case in cases for one in _undone(case)):
        if len(text) >= SHORTEST:
            yield _Needle(_fold(text))
    for one, other in (("+", " "), (" ", "+")):
        if one in secret:
            yield _Needle(_fold(secret.replace(one, other)))
    raw = secret.encode("utf-8", "surrogatepass")
    yield _Needle(raw.hex(), code=True)
    for shift in range(3):
        whole = base64.b64encode(bytes(shift) + raw).decode()
        first, last = -(-8 * shift // 6), 8 * (shift + len(raw)) // 6
        after = 8 * (shift + len(raw)) % 6 != 0
        yield _Needle(_fold(whole[first:last]), code=True, before=shift > 0, after=after)


def _undone(secret: str) -> Iterator[str]:
    """A secret, and what is left of it when apparent escapes in it are undone."""
    layer: _Layer | None = _Layer(secret)
    while layer is not None:
        yield layer.text
        layer = layer.below()


class _Layer:
    """A text with one level of escapes undone, which knows the origin of each character."""

    def __init__(
        self,
        text: str,
        above: _Layer | None = None,
        steps: Sequence[tuple[int, int, int, int]] = (),
    ) -> None:
        """``steps``: start and end here, start and end above, of every unit that was undone."""
        self.text = text
        self._above = above
        self._steps = steps
        self._starts = [step[0] for step in steps]
        self._depth: int = above._depth + 1 if above else 0

    def below(self) -> _Layer | None:
        """The next level; None if nothing is left to undo."""
        return self.without(_units(self.text))

    def unquoted(self) -> Iterator[_Layer]:
        """The text with quoted-printable undone, and with its soft line breaks alone."""
        if "=" in self.text:
            soft = ((at.start(), at.end(), "") for at in _SOFT.finditer(self.text))
            yield from filter(None, map(self.without, (_quoted_units(self.text), soft)))

    def without(self, units: Iterator[tuple[int, int, str]]) -> _Layer | None:
        """The text with these units replaced by their meanings; None if there are none."""
        return self._without(units) if self._depth < _MOST_LAYERS else None

    def unbroken(self) -> _Layer | None:
        """The text without whitespace; None if it has none."""
        spaces = ((found.start(), found.end(), "") for found in _SPACE.finditer(self.text))
        return self._without(spaces)

    def obeyed(self) -> _Layer | None:
        """The text without terminal sequences; None if it has none."""
        return self._without((at.start(), at.end(), "") for at in _SEQUENCE.finditer(self.text))

    def _without(self, units: Iterator[tuple[int, int, str]]) -> _Layer | None:
        pieces: list[str] = []
        steps: list[tuple[int, int, int, int]] = []
        here = last = 0
        for start, end, meaning in units:
            pieces += self.text[last:start], meaning
            here += start - last
            steps.append((here, here + len(meaning), start, end))
            here += len(meaning)
            last = end
        if not steps:
            return None
        pieces.append(self.text[last:])
        return _Layer("".join(pieces), self, steps)

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """The range in the original text of characters ``start`` to ``end``."""
        if self._above is None:
            return start, end
        return self._above.origin(self._up(start), self._up(end - 1, end=True))

    def touch(self, place: int) -> bool:
        """Whether the characters before and at a position are also adjacent above."""
        return self._up(place - 1, end=True) == self._up(place)

    def _up(self, place: int, *, end: bool = False) -> int:
        """Where the character at a position starts above, or ends."""
        at = bisect_right(self._starts, place) - 1
        if at < 0:
            return place + end
        _, ends, above, above_end = self._steps[at]
        if place < ends:
            return above_end if end else above
        return above_end + (place - ends) + end


def _units(text: str) -> Iterator[tuple[int, int, str]]:
    """Every escape and every run of hidden characters: start, end, and meaning."""
    for found in _UNIT.finditer(text):
        unit, start = found[0], found.start()
        if unit[0] == "%" and unit[1] != "u":
            for size, meaning in _percent(unit):
                yield start, start + size, meaning
                start += size
        elif (meaning := _meaning(unit)) != unit:
            yield start, found.end(), meaning


def _quoted_units(text: str) -> Iterator[tuple[int, int, str]]:
    """Every soft line break and every character in quoted-printable."""
    for found in _QUOTED.finditer(text):
        start, run = found.start(), found[0]
        if "\n" in run:
            digits = _SOFT.sub("", run).replace("=", "%")
            yield start, found.end(), "".join(meaning for _, meaning in _percent(digits))
            continue
        for size, meaning in _percent(run.replace("=", "%")):
            yield start, start + size, meaning
            start += size


def _unquoted(found: re.Match[str]) -> str:
    return "".join(meaning for _, _, meaning in _quoted_units(found[0]))


def _decoded(code: bytes, least: int) -> Iterator[bytes]:
    """What a word may stand for: in hexadecimal digits, base32 and base64, at every alignment.

    The first two need not be all of it: a word above or below may have been taken for a line.

    Args:
        code: without line breaks.
        least: length of the shortest part that can stand for a secret.
    """
    for run in _HEX.findall(code):
        for start in range(2) if len(run) >= least else ():
            yield bytes.fromhex(run[start : start + (len(run) - start) // 2 * 2].decode())
    for run in _BASE32.findall(code):
        if len(run) >= least:
            # As one number: base64.b32decode takes seconds a megabyte.
            bits = int(run.translate(_BASE32_DIGITS), 32)
            for length in range(5 * len(run), 5 * max(0, len(run) - 8), -5):
                number = (bits & ((1 << length) - 1)) >> length % 8
                yield number.to_bytes(length // 8, "big")
    if code.islower():
        return  # a path, or words with dashes: base64 of a text has capitals
    code = code.translate(_STANDARD)
    for start in range(4):
        part = code[start:]
        part = part[: len(part) - (len(part) % 4 == 1)]
        yield binascii.a2b_base64(part + b"=" * (-len(part) % 4))


def _readable(data: bytes) -> bool:
    """Whether bytes are text, or some of them, as hardly any are that were no code."""
    if _STRETCH.search(data):
        return True
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start >= len(data) - 3 > 0
    return bool(data)


@lru_cache(4096)
def _meaning(unit: str) -> str:
    """The meaning of an escape, or of a run of hidden characters."""
    if unit[0] == "%":
        # JavaScript's escape() writes %uXXXX.
        code = unit[1] == "u"
        meaning = chr(int(unit[2:], 16)) if code else "".join(one for _, one in _percent(unit))
    elif unit[0] == "&":
        meaning = html.unescape(unit)
    elif unit[0] == "\\":
        meaning = _unescaped(unit[1], unit[2:].strip("{}"))
    else:
        meaning = ""
    return _kept(meaning)


def _unescaped(kind: str, digits: str) -> str:
    if kind in _WHITE:
        return _WHITE[kind]
    if kind in "uUx" and "\\" in digits:
        high, low = int(digits[:4], 16), int(digits[6:], 16)
        return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    if kind in "uUx" and digits:
        code = int(digits, 16)
        return chr(code) if code <= 0x10FFFF else ""
    return chr(int(kind + digits, 8)) if digits or kind == "0" else kind


_SIZES = ((0xF0, 4), (0xE0, 3), (0xC0, 2))


def _percent(run: str) -> Iterator[tuple[int, str]]:
    """Decode percent-encoded bytes: the length of each character, and its meaning.

    Invalid UTF-8 is read as Latin-1.
    """
    raw, at = bytes.fromhex(run.replace("%", "")), 0
    while at < len(raw):
        size = next((size for least, size in _SIZES if raw[at] >= least), 1)
        try:
            meaning = raw[at : at + size].decode()
        except UnicodeDecodeError:
            size, meaning = 1, chr(raw[at])
        yield 3 * size, _kept(meaning)
        at += size


def _undo(text: str) -> str:
    """A text with one level of escapes undone, and no hidden characters left."""
    if "\\" in text or "%" in text or "&" in text:
        parts = _AT_ESCAPES.split(text)
        parts[1::2] = map(_meaning, parts[1::2])
        parts[::2] = map(_shown, parts[::2])
        return "".join(parts)
    return _shown(text)


def _kept(meaning: str) -> str:
    """What the next level sees of an escape: also the start or end of a terminal sequence."""
    return meaning if meaning in (_ESC, _BEL) else _shown(meaning)


def _shown(text: str) -> str:
    """The part of a text that a screen shows."""
    return _IS_TAG.sub("", _IS_HIDDEN.sub("", text))


class Scrubber:
    """Removes secrets from texts, bytes and parsed JSON.

    Args:
        secrets: those shorter than :data:`SHORTEST` are kept: replacing them would garble
            texts. If one has several parts, joined by colons, each long part is removed too.
        mark: the replacement for a secret.
    """

    def __init__(self, *secrets: str, mark: str = "[key removed]") -> None:
        self._mark = mark
        self._secrets: set[str] = set()
        self._found: list[_Needle] = []
        self._direct: list[bytes] = []
        self._pieces: list[bytes] = []
        self._escape = self._json_escape = self._percent = self._entity = re.compile(rb"(?!)")
        self._quoted = self._escape
        self._foreign = False
        self._code = self._line = b""
        self._least = 0
        self.learn(*secrets)

    def learn(self, *secrets: str) -> None:
        """Remove these from now on as well."""
        parts = {part for secret in secrets for part in (secret, *secret.split(":"))}
        fresh = {part for part in parts if len(part) >= SHORTEST} - self._secrets
        if not fresh:
            return
        self._secrets |= fresh
        every = {needle for secret in self._secrets for needle in _needles(secret)}
        # Longest first, so that no part is cut out of a whole.
        self._found = sorted(every, key=lambda needle: -len(needle.text))
        self._direct = sorted({_plain(one) for one in self._found if not one.code} - {b""})
        self._pieces = sorted({piece for one in self._found if one.code for piece in _pieces(one)})
        self._direct += _in_json(self._secrets)
        self._escape, self._json_escape = _escapes_of(self._secrets)
        self._percent, self._entity = _telling({one for needle in every for one in needle.text})
        self._quoted = _telling_quoted({one for secret in self._secrets for one in secret})
        # Everything but base64 makes a secret longer than that.
        self._least = min(_LONG_CODE, *(-(-4 * len(one) // 3) for one in self._secrets))
        self._code = b"a" * self._least
        self._line = self._code[:_LONG_LINE]
        self._foreign = not all(secret.isascii() for secret in self._secrets)

    # -- searching -------------------------------------------------------------------

    def _suspects(self, data: bytes, *, json: bool = True, codes: int = _MOST_CODES) -> bool:
        """Whether bytes may contain a secret; fast, with no false negatives.

        Args:
            data: UTF-8.
            json: whether they may be JSON, where ``\\b`` and ``\\f`` are control characters.
            codes: how many codes may be nested.
        """
        folded = data.translate(_FOLD, _DELETED)
        for piece in self._direct:
            if piece in folded:
                return True
        if b"\\" in data and (self._json_escape if json else self._escape).search(data):
            return True
        if b"%" in data and self._percent.search(folded):
            return True
        if b"&" in data and self._entity.search(folded):
            return True
        if b"\x1b" in data:
            return True
        if b"=" in data and self._quoted.search(data):
            return True
        if self._suspects_code(data, folded, codes):
            return True
        if data.isascii():
            return False
        if self._foreign:
            return True
        return any(lead in data and hidden.search(data) for lead, hidden in _HIDDEN_BYTES)

    def _suspects_code(self, data: bytes, folded: bytes, codes: int) -> bool:
        """Whether a long word among bytes may be a code for something that contains a secret."""
        marked = data.translate(_ONE_CODE, b"\0")
        at = marked.find(self._line)
        if at < 0:
            return False
        if any(piece in folded for piece in self._pieces):
            return True
        while codes and at >= 0:
            start = marked.rfind(b" ", 0, at) + 1
            if start and data[start - 1] in b"\n \t\\":
                # The lines above may belong to it.
                start = max(0, start - _LINES_ABOVE)
            found = _CODE_LINES.search(data, start)
            while found and found.end() <= at:
                found = _CODE_LINES.search(data, found.end())
            assert found
            code = _BREAKS.sub(b"", found[0])
            if len(code) >= self._least and any(True for _ in self._meanings_of(code, codes)):
                return True
            at = marked.find(self._line, found.end())
        return False

    def _meanings_of(self, code: bytes, codes: int = _MOST_CODES) -> Iterator[bytes]:
        """Everything that a word may stand for and that may contain a secret.

        Read at a wrong alignment, a word may look as if: so the first is not always the one.
        """
        for meaning in _decoded(code, self._least):
            if _readable(meaning) and self._suspects(meaning, codes=codes - 1):
                yield meaning

    def _code_units(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Every code for something that may contain a secret, on one line or several."""
        for found in _CODES.finditer(text):
            start, end = found.span()
            if end - start < self._least:
                continue
            # The words above and below may be no part of it, but one line may hold a part only.
            lines = [(start + at.start(), start + at.end()) for at in _LINE.finditer(found[0])]
            alone = [unit for line in lines if (unit := self._code_unit(text, *line))]
            if (
                len(lines) > 1
                and not any(self._holds(meaning) for _, _, meaning in alone)
                and (unit := self._code_on(text, lines))
            ):
                alone = [unit]
            yield from alone

    def _code_on(self, text: str, lines: list[tuple[int, int]]) -> tuple[int, int, str] | None:
        """A code on these lines, without short words above and below that are no part of it."""
        unit = self._code_unit(text, lines[0][0], lines[-1][1])
        for first, last in ((1, 0), (0, 1)):
            word = lines[-last]
            fewer = lines[first : len(lines) - last]
            if unit is None or len(fewer) < 2 or word[1] - word[0] >= _PIECE:
                continue
            less = self._code_unit(text, fewer[0][0], fewer[-1][1])
            if less is not None and self._holds(less[2]):
                unit, lines = less, fewer
        return unit

    def _code_unit(self, text: str, start: int, end: int) -> tuple[int, int, str] | None:
        """A code, unless it contains only one for a secret itself, of which the place is known."""
        code = "".join(text[start:end].split()).rstrip("=")
        if len(code) < self._least:
            return None
        folded = _fold(code)
        meaning = b"\n".join(self._meanings_of(code.encode())).decode("utf-8", "replace")
        direct = any(needle.code and needle.text in folded for needle in self._found)
        # If a part of a secret stands there as it is, another may be spelled in some other way.
        if not meaning or (direct and not self._holds(self._without_plain(meaning))):
            return None
        return start, end, meaning

    def _without_plain(self, text: str) -> str:
        """A text without the secrets that stand in it as they are."""
        for needle in self._found:
            while (at := _fold(text).find(needle.text)) >= 0:
                text = text[:at] + text[at + len(needle.text) :]
        return text

    def _holds(self, text: str, codes: int = _MOST_CODES) -> bool:
        """Whether a text contains a secret."""
        return self._holds_below(text, _MOST_LAYERS, codes, quoted=_MOST_QUOTED)

    def _holds_below(self, text: str, levels: int, codes: int, *, quoted: int) -> bool:
        """Whether a text contains a secret when up to ``levels`` spellings are undone."""
        while True:
            if self._holds_here(text):
                return True
            if not levels:
                return False
            levels -= 1
            if quoted and "=" in text:
                # A = before hexadecimal digits may be none of its own.
                for plain in {_QUOTED.sub(_unquoted, text), _SOFT.sub("", text)} - {text}:
                    if self._goes_on(plain, levels, codes, quoted=quoted - 1):
                        return True
            if codes and (units := list(self._code_units(text))):
                plain = "\n".join(meaning for _, _, meaning in units)
                if self._goes_on(plain, levels, codes - 1, quoted=quoted):
                    return True
            below = _undo(text)
            if below == text:
                return False
            text = below

    def _goes_on(self, text: str, levels: int, codes: int, *, quoted: int) -> bool:
        data = text.encode("utf-8", "surrogatepass")
        return self._suspects(data, codes=codes) and self._holds_below(
            text, levels, codes, quoted=quoted
        )

    def _holds_here(self, text: str) -> bool:
        """Whether a text contains a secret as it is, or broken into lines, or for a terminal."""
        folded = _fold(text)
        if any(needle.text in folded for needle in self._found):
            return True
        unbroken = "".join(folded.split())
        if any(needle.code and needle.text in unbroken for needle in self._found):
            return True
        if _ESC in text:
            shown = _fold(_shown(_SEQUENCE.sub("", text)))
            return any(needle.text in shown for needle in self._found)
        return False

    def _places(self, text: str) -> list[tuple[int, int]]:
        """Positions of secrets in a text, in order, without overlaps."""
        found: list[tuple[int, int]] = []
        for layer in self._layers(_Layer(text), _MOST_CODES, quoted=_MOST_QUOTED):
            found += self._in_layer(layer, code_only=False)
            if unbroken := layer.unbroken():
                found += self._in_layer(unbroken, code_only=True)
            if obeyed := layer.obeyed():
                found += self._in_layer(obeyed.below() or obeyed, code_only=False)
        found.sort()
        merged: list[tuple[int, int]] = []
        for start, end in found:
            if merged and start < merged[-1][1]:
                merged[-1] = merged[-1][0], max(end, merged[-1][1])
            else:
                merged.append((start, end))
        return merged

    def _layers(self, layer: _Layer, codes: int, *, quoted: int) -> Iterator[_Layer]:
        """A text, and everything below it: see :meth:`_holds_below`."""
        below: _Layer | None = layer
        while below is not None:
            yield below
            for unquoted in below.unquoted() if quoted else ():
                yield from self._if_suspect(unquoted, codes, quoted=quoted - 1)
            if codes and (plain := below.without(self._code_units(below.text))):
                yield from self._if_suspect(plain, codes - 1, quoted=quoted)
            below = below.below()

    def _if_suspect(self, layer: _Layer, codes: int, *, quoted: int) -> Iterator[_Layer]:
        if self._suspects(layer.text.encode("utf-8", "surrogatepass"), codes=codes):
            yield from self._layers(layer, codes, quoted=quoted)

    def _in_layer(self, layer: _Layer, *, code_only: bool) -> Iterator[tuple[int, int]]:
        folded = _fold(layer.text)
        for needle in self._found:
            if code_only and not needle.code:
                continue
            start = folded.find(needle.text)
            while start >= 0:
                end = start + len(needle.text)
                before = needle.before and folded[start - 1 : start] in _BASE64
                after = needle.after and folded[end : end + 1] in _BASE64
                if code_only:
                    # A word after a space is not part of the code, though it looks like base64.
                    before = before and layer.touch(start)
                    after = after and layer.touch(end)
                yield layer.origin(start - before, end + after)
                start = folded.find(needle.text, start + 1)

    # -- removing --------------------------------------------------------------------

    def text(self, text: str) -> str:
        """A text without the secrets; the same object if there are none."""
        if not self._secrets or not text:
            return text
        data = text.encode("utf-8", "surrogatepass")
        if self._suspects(data, json=False) and self._holds(text):
            return self._cut(text)
        return text

    def masked(self, text: str) -> str:
        """A text without the secrets, and without what services show of them: ``sk-…wxyz``.

        For errors only: in an answer, so little of a secret may be anything.
        """
        pieces: list[str] = []
        last = 0
        for found in _MASK.finditer(text):
            for secret in self._secrets:
                head = _overlap(text[last : found.start()], secret)
                tail = _overlap(secret, text[found.end() : found.end() + len(secret)])
                if text[found.end() + tail :][:1].isalnum():
                    tail = 0  # a word of its own
                if head >= _HEAD or tail >= _TAIL or (head >= _BOTH[0] and tail >= _BOTH[1]):
                    start = found.start() - head if head else found.start("mask")
                    pieces += text[last:start], self._mark
                    last = found.end() + tail if tail else found.end("mask")
                    break
        return self.text("".join([*pieces, text[last:]]))

    def _cut(self, text: str, *, whole_escapes: bool = False) -> str:
        pieces: list[str] = []
        last = 0
        for start, end in self._places(text):
            if whole_escapes and (
                begun := _BEGUN_ESCAPE.search(text, max(last, start - 64), start)
            ):
                start = begun.start("escape")
            pieces += text[last:start], self._mark
            last = end
        return "".join([*pieces, text[last:]])

    def value(self, value: Any) -> Any:
        """Parsed JSON without secrets in names and texts; the same object if there are none."""
        if not self._secrets or value is None:
            return value
        try:
            if not self._suspects(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)):
                return value
        except TypeError:
            pass  # half a surrogate pair, a number beyond 64 bits, or nested too deeply for orjson
        try:
            cleaned = self._cleaned(value)
        except RecursionError:
            return self._mark
        return value if cleaned == value else cleaned

    def _cleaned(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self._cleaned(name): self._cleaned(one) for name, one in value.items()}
        if isinstance(value, list | tuple):
            return [self._cleaned(one) for one in value]
        if isinstance(value, int | float) and self.text(digits := str(value)) is not digits:
            return self._mark
        return value

    def raw(self, data: bytes) -> bytes:
        """Bytes without the secrets; a JSON document stays valid."""
        if not self._secrets or not self._suspects(data):
            return data
        try:
            parsed = orjson.loads(data)
            # Many servers escape every non-ASCII letter: this is the fastest way to undo it.
            if not isinstance(parsed, dict | list | str):
                return self._cut_bytes(data)
            if not (self._suspects(orjson.dumps(parsed)) or _NUMBER.search(data)):
                return data
        except (ValueError, TypeError):
            return self._cut_odd(data)
        try:
            cleaned = self._cleaned(parsed)
            if cleaned != parsed or self._holds(data.decode("utf-8", "surrogateescape")):
                return self._cut_bytes(orjson.dumps(cleaned))
        except (TypeError, RecursionError):
            return self._cut_bytes(data)
        return data

    def _cut_odd(self, data: bytes) -> bytes:
        """Bytes without the secrets that only a lenient reader takes for JSON, or nobody.

        Cut as they are, they might lose half of an escape, and with it the whole answer.
        """
        text = data.decode("utf-8", "surrogateescape")
        if not self._holds(text):
            return data
        try:
            parsed, end = _LENIENT.raw_decode(text, len(text) - len(text.lstrip(_BEFORE_JSON)))
            cleaned = self._cleaned(parsed)
            try:
                fresh = json.dumps(cleaned, ensure_ascii=False).encode("utf-8", "surrogateescape")
            except UnicodeEncodeError:  # halves of characters that were escaped
                fresh = json.dumps(cleaned).encode()
            return self._cut_bytes(fresh + text[end:].encode("utf-8", "surrogateescape"))
        except (ValueError, RecursionError):
            return self._cut_bytes(data)

    def _cut_bytes(self, data: bytes) -> bytes:
        """Bytes without the secrets, in any format."""
        text = data.decode("utf-8", "surrogateescape")
        if not self._holds(text):
            return data
        return self._cut(text, whole_escapes=True).encode("utf-8", "surrogateescape")

    def file(self, path: Path) -> None:
        """Remove the secrets from a file of lines; one without any is only read.

        Raises:
            OSError: it cannot be read or rewritten.
        """
        if not self._secrets or not path.exists() or not self._file_suspects(path):
            return
        fresh = path.with_name(path.name + ".clean")
        with path.open("rb") as source, open_private(fresh) as target:
            for line in source:
                body = line.rstrip(b"\r\n")
                # Duplicate names exist only in the bytes.
                target.write(self._cut_bytes(self.raw(body)) + line[len(body) :])
        fresh.replace(path)

    def _file_suspects(self, path: Path) -> bool:
        with path.open("rb") as source:
            while block := source.read(_BLOCK):
                block += source.readline()
                if self._suspects(block) and self._holds(block.decode("utf-8", "surrogateescape")):
                    return True
        return False


def _overlap(one: str, other: str) -> int:
    """The most characters that are the end of one text and the beginning of another."""
    most = min(len(one), len(other))
    return next((n for n in range(most, 0, -1) if one.endswith(other[:n])), 0)


def _plain(needle: _Needle) -> bytes:
    """What to search for."""
    return needle.text.encode("utf-8", "surrogatepass").translate(_FOLD, _DELETED)


def _pieces(needle: _Needle) -> Iterator[bytes]:
    """Two pieces of a code to search for, so that a line break leaves at least one whole."""
    text = _plain(needle)
    size = min(_PIECE, len(text) // 2)
    yield text[:size]
    yield text[size : 2 * size]


def _in_json(secrets: set[str]) -> list[bytes]:
    """Secrets as encoded in JSON, where that differs."""
    return [
        written.translate(_FOLD, _DELETED)
        for secret in secrets
        if (written := orjson.dumps(_fold(secret))[1:-1]) != _fold(secret).encode()
    ]


def _escapes_of(secrets: set[str]) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Find backslash escapes that can hide a character of a secret: in texts, in JSON."""
    marks = {one for secret in secrets for one in secret if one.isascii() and not one.isalnum()}
    own = re.escape("".join(sorted(marks - {" ", "/"}))).encode()
    some = rb"u[0-9a-fA-F{]|x[0-9a-fA-F]|U000|[0-3][0-7]{2}|0(?![0-9])|[/" + own + rb"]"
    # Not those of \\beta and \\frac, whose backslash is itself escaped.
    control = rb"(?<!\\\\)(?:\\\\)*(?:[bf]|r(?!\\n))"
    return re.compile(rb"\\(?:" + some + rb")"), re.compile(
        rb"\\(?:" + some + b"|" + control + rb")"
    )


def _telling(marks: set[str]) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Find URL and HTML escapes in folded bytes; most harmless ones are left out.

    An escape is harmless if what it stands for occurs neither in a needle nor in an escape, and
    breaks no line of a code.

    Args:
        marks: every character of the needles.
    """
    ascii_only = all(mark.isascii() for mark in marks)
    harmless = [
        one
        for one in map(chr, range(32, 127))
        if _fold(one) not in marks and one not in _FORMS_ESCAPES and not one.isalnum()
    ]
    codes = "|".join(f"{ord(one):02x}" for one in harmless)
    numbers = "|".join(f"{ord(one)}|x{ord(one):x}" for one in harmless)
    names = [
        name
        for one, those in _NAMES.items()
        if one in harmless or (ascii_only and not one.isascii())
        for name in those
    ]
    if "&" not in marks:
        # What it stands for may start another escape.
        names.append("amp(?!;(?:#|[a-z]{2,31};))")
    known = "|".join([f"#(?:{numbers})" if numbers else "(?!)", *names])
    return re.compile(
        f"%(?:(?!{codes or '(?!)'})[0-9a-f]{{2}}|u[0-9a-f]{{4}})".encode()
    ), re.compile(f"&(?!(?:{known});)(?:#[0-9x]|[a-z]{{2,31}};)".encode())


def _telling_quoted(marks: set[str]) -> re.Pattern[bytes]:
    """Find quoted-printable in bytes that may be a secret's.

    Letters and digits stand for themselves there, unless all characters are encoded.

    Args:
        marks: every character of the secrets.
    """
    either = {*_LEADS, *b"=+/\\%&"}
    either |= {
        byte for one in marks if not one.isalnum() or not one.isascii() for byte in one.encode()
    }
    codes = "|".join(sorted(f"{byte:02x}" for byte in either))
    codes = f"(?:{codes}|{codes.upper()}|[0-9a-fA-F]{{2}}=[0-9a-fA-F]{{2}})"
    return re.compile(rf"=(?=[0-9a-fA-F\r\n\\])(?:\r?\n|\\r\\n|\\n|\\u000[aAdD]|{codes})".encode())
