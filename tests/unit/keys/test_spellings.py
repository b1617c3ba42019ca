"""A key is taken out however it is spelled, and nothing else is."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evalbench.engine.calls.scrubbing import Scrubber
from evalbench.engine.calls.secrets import SHORTEST
from tests.examples import examples
from tests.spellings import escaped, remains, spellings

MARK = "␟"
KEYS = {
    "letters": "sk-proj-PLANTED_0123456789abcdefGHIJ",
    "slashes": "wJalrXUtnFEMI/K7MDENG+bPxRfiCY/EXAMPLE==",
    "quotes": "pass\"word\\with/every<thing>&%41'",
    "foreign": "schlüssel-пароль-0123",
    "short": "abcd/123",
    "long": "sk-proj-" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9f" * 3,
}
AROUND = ("{}", "the key {} is wrong", '{{"a": "{}"}}', "<b>{}</b>", "Answer: B\n{}\nEND")

printable = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=60)
anything = st.text(
    st.characters(min_codepoint=33, max_codepoint=0x2FF, exclude_categories=("Cc", "Cf", "Cs")),
    min_size=8,
    max_size=30,
)


def is_long(key: str) -> bool:
    """Whether enough is left where its backslashes are taken for the beginnings of escapes."""
    return len(key.replace("\\", "")) >= SHORTEST


def redactor(key: str) -> Scrubber:
    return Scrubber(key, mark=MARK)


def survivors(key: str, around: Sequence[str] = AROUND) -> list[str]:
    """Spellings that are still there in a text, in bytes, or in parsed JSON."""
    take = redactor(key)
    left = []
    for name, spelled in spellings(key).items():
        for frame in around:
            text = frame.format(spelled)
            shown = {
                "text": take.text(text),
                "bytes": take.raw(text.encode()).decode(),
                "JSON": take.raw(orjson.dumps({"a": [text]})).decode(),
                "value": str(take.value({"a": [text], "n": 1})),
                "name": str(take.value({text: 1})),
            }
            left += [f"{name} in {kind}" for kind, out in shown.items() if MARK not in out]
            left += [f"{name} in {kind}" for kind, out in shown.items() if spelled in out]
            left += [
                f"{name} in {kind}: {piece}"
                for kind, out in shown.items()
                if out != MARK
                for piece in remains(key, out)
            ]
    return left


@pytest.mark.share(3)
@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_every_spelling_goes(key: str) -> None:
    assert survivors(key) == []


def is_plain(key: str) -> bool:
    """Whether no part of it reads as the percent code of a character that does not show.

    Such codes are passed over like the characters themselves; no provider's keys have any.
    """
    return unquote(key, errors="ignore").isprintable() or not key.isprintable()


@settings(deadline=None, max_examples=examples(25))
@given((printable | anything).filter(is_long).filter(is_plain))
@example("abc%41cdef")
@example("S_t$WVVJ=.gUxu~OWG_PvDVd2cNjD/Y:OUB8)Y7,")
def test_every_spelling_of_any_key_goes(key: str) -> None:
    # A code of digits alone is a number in JSON, whose digits a reader rounds anyway.
    left = [
        one
        for one in survivors(key, ["1 {} 2"])
        if not (key.encode().hex().isdigit() and "bytes" in one)
    ]
    assert left == []


@pytest.mark.parametrize("odd", [b"\xed\xa0\xbd", b"\\ud83d", b"\xe4 \\ud83d"])
def test_a_body_for_a_lenient_reader_stays_one(odd: bytes) -> None:
    key = KEYS["slashes"]
    take = redactor(key)
    for name, spelled in spellings(key).items():
        body = json.dumps({"t": f"Answer: B\n{spelled}", "n": math.nan}).encode()
        clean = take.raw(body.replace(b"Answer", odd + b" Answer") + b"]").decode(errors="replace")
        value, end = json.JSONDecoder().raw_decode(clean)
        assert clean[end:] == "]", name
        assert "Answer: B\n" in value["t"], name
        assert not remains(key, clean), name


def test_words_above_and_below_the_lines_of_a_code_stay() -> None:
    key = KEYS["letters"]
    for name in ("base32 on lines", "base64 of base32 on lines"):
        text = f"Answer: B\n{spellings(key)[name]}\nEND"
        assert redactor(key).text(text) == f"Answer: B\n{MARK}\nEND"


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_a_document_stays_one_and_keeps_all_else(key: str) -> None:
    for spelled in escaped(key).values():
        body = b'{"text":"before %s after","n":1.5,"more":["x\\ny"]}' % spelled.encode()
        assert json.loads(redactor(key).raw(body)) == {
            "text": f"before {MARK} after",
            "n": 1.5,
            "more": ["x\ny"],
        }


@pytest.mark.parametrize(
    "text",
    [
        "sk-proj-PLANTED",
        "sk-proj-PLANTED 0123456789abcdefGHIJ",
        "c2stcHJvag== is base64 of a part, 736b2d70726f6a hex",
        "100 % sure & certain: \\frac{a}{b} \\u00e9 %20 &amp; &#65; \\beta caf\u00e9",
        "a \u200b zero-width space, a soft\u00adhyphen",
        "a\\/b \\n \\x41 \\101 \U0001f600\ufe0f 模型",
    ],
)
def test_what_only_looks_alike_stays(text: str) -> None:
    take = redactor(KEYS["letters"])
    body = orjson.dumps({"text": text})
    value = {"text": text}
    assert take.text(text) is text
    assert take.raw(body) is body
    assert take.value(value) is value


@settings(deadline=None)
@given(st.text(), st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_whatever_holds_no_key_stays(text: str, value: Any) -> None:
    take = redactor(KEYS["slashes"])
    assert take.text(text) is text
    assert take.value(value) == value


def test_a_short_key_is_a_placeholder() -> None:
    assert Scrubber("EMPTY", "none", "1234567").text("EMPTY, none, 1234567") == (
        "EMPTY, none, 1234567"
    )


def test_only_the_spelling_is_cut_out() -> None:
    take = redactor("planted-key-0123")
    assert redactor("planted-key-abcd").text("\\0".join("planted-key-abcd")) == MARK
    assert take.text("a%20planted%2Dkey%2D0123%20b") == f"a%20{MARK}%20b"
    assert take.text("x \u200bplanted-\u200bkey-0123\u200b y") == f"x \u200b{MARK}\u200b y"
    for space in " ", "\n":
        bare = f"cGxhbnRlZC1rZXktMDEyMw{space}Answer: B"
        assert take.text(bare) == f"{MARK}{space}Answer: B"
    assert take.text("Basic dXNlcjpwbGFudGVkLWtleS0wMTIz!") == f"Basic dXNlcj{MARK}!"


def test_deep_and_odd_values() -> None:
    take = redactor("planted-key-0123")
    deep: Any = "planted-key-0123"
    for _ in range(400):
        deep = [deep]
    assert "planted" not in str(take.value(deep))
    assert take.value({"half": "\ud800 planted-key-0123"}) == {"half": f"\ud800 {MARK}"}
    assert take.value({"n": 2**70}) == {"n": 2**70}
    assert Scrubber("1234567890").value({"n": 1234567890}) == {"n": "[key removed]"}


@pytest.mark.parametrize("escape", [r"\n", r"\t", r"\u00e9", r"\\\n"])
def test_no_half_of_an_escape_is_left_before_a_code(escape: str) -> None:
    """What is nested too deeply to be read is searched as it is."""
    code = base64.b64encode(base64.b64encode(b"planted-key-0123")).decode()
    deep = "[" * 1500 + f'"B{escape}{code}"' + "]" * 1500
    cleaned = redactor("planted-key-0123").raw(deep.encode()).decode()
    text = json.loads(cleaned.strip("[]").join(("[", "]")))[0]
    assert MARK in text
    assert text[0] == "B"
    assert code not in text


def test_what_is_learned_later_goes_too() -> None:
    take = redactor("planted-key-0123")
    assert take.text("ya29.token-0123") == "ya29.token-0123"
    take.learn("ya29.token-0123", "")
    assert take.text("ya29.token-0123 planted-key-0123") == f"{MARK} {MARK}"


def test_a_file_is_written_anew_only_where_a_key_is_in_it(tmp_path: Path) -> None:
    take, file = redactor("planted-key-0123"), tmp_path / "results"
    file.write_bytes(b'{"a":"clean \\u00e9"}\nno JSON\n')
    before = file.stat()
    take.file(file)
    assert file.stat().st_ino == before.st_ino
    file.write_bytes(b'{"a":"\\u0070lanted-key-0123"}\nno JSON planted%2dkey-0123\n{"b":1}')
    file.chmod(0o600)
    take.file(file)
    assert file.read_text() == f'{{"a":"{MARK}"}}\nno JSON {MARK}\n{{"b":1}}'
    assert file.stat().st_mode & 0o777 == 0o600
    take.file(tmp_path / "none")
    file.write_bytes(b'{"a":"\\u0070lanted-key-0123","a":1}\n')
    take.file(file)
    assert file.read_text() == f'{{"a":"{MARK}","a":1}}\n'
