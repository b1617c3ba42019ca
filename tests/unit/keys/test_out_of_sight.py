"""Scrubbing, environments, fingerprints, masks and ``.env`` files."""

from __future__ import annotations

import logging
import stat
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalbench.engine.calls import KeyNeed
from evalbench.engine.errors import DataError
from evalbench.engine.keys import (
    HUGGINGFACE,
    ScrubbedFormatter,
    fingerprint,
    header_secrets,
    implausible,
    masked,
    read_env_file,
    scrub,
    strip_environment,
)

KEY = "sk-acme-01234/56789+abcdef=="


@settings(deadline=None)
@given(
    st.text(), st.text(), st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8)
)
def test_no_text_keeps_a_secret(before: str, after: str, secret: str) -> None:
    text = scrub(f"{before}{secret} {quote(secret, safe='')}{after}", [secret])
    assert secret not in text.replace("[key]", "\0")


def test_the_longer_of_two_secrets_goes_first() -> None:
    assert scrub("abcdefgh-more and abcdefgh", ["abcdefgh", "abcdefgh-more"]) == "[key] and [key]"


def test_each_part_of_a_pair_goes() -> None:
    text = scrub("AKIAPLANTED123 signed with secret-part/+", ["AKIAPLANTED123:secret-part/+"])
    assert text == "[key] signed with [key]"


def test_placeholders_do_not_garble_texts() -> None:
    assert scrub("an EMPTY list", ["EMPTY", ""]) == "an EMPTY list"


def test_logs_are_scrubbed_trace_backs_included() -> None:
    formatter = ScrubbedFormatter("%(message)s")
    formatter.secrets.add(KEY)
    try:
        raise ValueError(f"bad {KEY}")
    except ValueError:
        record = logging.LogRecord("x", 40, "f", 1, "said %r", (KEY,), sys.exc_info())
    line = formatter.format(record)
    assert "said '[key]'" in line
    assert "ValueError: bad [key]" in line


def test_an_environment_is_stripped_of_keys_only() -> None:
    env = {"PATH": "/bin", "OPENAI_API_KEY": "a", "HF_TOKEN": "b", "AWS_SECRET_ACCESS_KEY": "c"}
    assert strip_environment(env) == {"PATH": "/bin"}
    assert strip_environment(env, keep=["HF_TOKEN"]) == {"PATH": "/bin", "HF_TOKEN": "b"}
    assert len(env) == 4


def test_a_plug_ins_own_variable_is_stripped_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "acme-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[evalbench.providers]\nacme = acme_provider:Acme\nbroken = no_such_module:X\n"
    )
    (tmp_path / "acme_provider.py").write_text(
        "from evalbench.engine.calls import KeyNeed, Provider\n"
        "class Acme(Provider): key = KeyNeed(('ACME_API_KEY',))\n"
    )
    code = (
        "from evalbench.engine.keys import strip_environment\n"
        "print(strip_environment({'ACME_API_KEY': 'x', 'HOME': '/'}))"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "{'HOME': '/'}"


def test_a_fingerprint_is_steady_and_says_nothing(home: Path) -> None:
    first = fingerprint(KEY)
    assert first == fingerprint(KEY)
    assert first != fingerprint(KEY + "x")
    assert len(first) == 12
    assert KEY[:8] not in first


def test_another_installation_gives_another_fingerprint(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = fingerprint(KEY)
    salt = home / "config" / "fingerprint.salt"
    assert stat.S_IMODE(salt.stat().st_mode) == 0o600
    assert [path.name for path in salt.parent.iterdir()] == ["fingerprint.salt"]
    monkeypatch.setenv("EVALBENCH_HOME", str(tmp_path / "elsewhere"))
    assert fingerprint(KEY) != first


def test_masks_tell_keys_apart_and_hide_short_ones() -> None:
    assert masked("sk-ant-api03-abcdefghijkl-wxyz") == "sk-…wxyz"
    assert masked("short-secret") == "…"


def test_a_wrong_looking_key_is_warned_about() -> None:
    need = KeyNeed(("X",), page="https://acme.example", pattern=r"sk-\w+")
    assert implausible(need, "sk-abc") == ""
    assert "https://acme.example" in implausible(need, "hf_abc")
    assert implausible(KeyNeed(("X",)), "anything") == ""
    assert implausible(HUGGINGFACE, "hf_" + "a" * 34) == ""


GRAMMAR = r"""
# a comment
BARE=sk-1
export EXPORTED = sk-2   # why
SINGLE='a # b\n'
DOUBLE="a \"b\" \\ \$x\n" # tail
EMPTY=
HASH=a#b
TWICE=1
TWICE=2
"""


def test_the_grammar_of_env_files(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_bytes(b"\xef\xbb\xbf" + GRAMMAR.replace("\n", "\r\n").encode())
    assert read_env_file(file) == {
        "BARE": "sk-1",
        "EXPORTED": "sk-2",
        "SINGLE": r"a # b\n",
        "DOUBLE": 'a "b" \\ $x\n',
        "EMPTY": "",
        "HASH": "a#b",
        "TWICE": "2",
    }


@pytest.mark.parametrize("line", ["no sign", "A='x", 'B="x', "C=a b", "1A=x", "=x", "D='a' b"])
def test_a_wrong_line_is_named_and_not_quoted(tmp_path: Path, line: str) -> None:
    file = tmp_path / ".env"
    file.write_text(f"OK=1\n{line}\n")
    with pytest.raises(DataError, match="row 2") as caught:
        read_env_file(file)
    assert line not in str(caught.value)


def test_a_missing_env_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="gone"):
        read_env_file(tmp_path / "gone")


def test_every_value_of_headers_is_a_secret() -> None:
    held = header_secrets("authorization=Bearer%20planted-0123,x-key=other-key-0123")
    text = scrub("b'Bearer planted-0123' x-key: OTHER-key-0123", held)
    assert "planted" not in text
    assert "0123" not in text
