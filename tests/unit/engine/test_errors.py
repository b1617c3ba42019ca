"""What a user reads when something went wrong, and what a caller learns from its class."""

from __future__ import annotations

import errno
import inspect
import os
import tempfile

import orjson
import pytest

from evalbench.engine import errors
from evalbench.engine.errors import (
    DataError,
    EvalbenchError,
    KeyUnavailable,
    ProviderError,
    RateLimited,
    SpecError,
    error_from_json,
    error_to_json,
    nearest,
    system_limit,
)


def test_the_text_is_what_then_why_then_hint() -> None:
    error = EvalbenchError("the cup fell", why="it stood at the edge", hint="buy another")
    assert str(error) == "the cup fell\n  why: it stood at the edge\n  try: buy another"


def test_what_is_unknown_is_not_mentioned() -> None:
    assert str(EvalbenchError("the cup fell")) == "the cup fell"
    assert str(EvalbenchError("the cup fell", hint="sweep")) == "the cup fell\n  try: sweep"


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "no space is left"),
        (errno.EDQUOT, "no space is left"),
        (errno.EMFILE, "too many files are open"),
        (errno.ENFILE, "too many files are open on this machine"),
        (errno.EROFS, "read only"),
        (errno.EIO, "the disk failed"),
    ],
)
def test_what_the_machine_refuses_is_told_with_its_reason(number: int, said: str) -> None:
    try:
        try:
            raise OSError(number, os.strerror(number), "/somewhere")
        except OSError as error:
            raise ValueError("cannot be read") from error
    except ValueError as error:
        limit = system_limit(error)
        other = system_limit(error, "no run can be made")
    assert limit
    assert said in limit.what
    assert limit.why.startswith(f"{os.strerror(number)}: /somewhere")
    assert limit.hint
    assert other
    assert (other.what, other.why, other.exit_code) == ("no run can be made", limit.why, 5)


def test_other_failures_are_nobodys_limit() -> None:
    assert system_limit(FileNotFoundError(errno.ENOENT, "gone", "x")) is None
    assert system_limit(ValueError("no space is left")) is None
    hidden = ValueError("bad")
    hidden.__context__ = OSError(errno.EIO, "broken")
    hidden.__suppress_context__ = True
    assert system_limit(hidden) is None


def test_temporary_files_without_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/nowhere"])
    monkeypatch.setattr(tempfile, "tempdir", None)
    with pytest.raises(FileNotFoundError) as caught:
        tempfile.gettempdir()
    limit = system_limit(caught.value)
    assert limit
    assert "TMPDIR" in limit.hint


def test_external_text_is_not_a_format() -> None:
    assert str(EvalbenchError("{0} %s", why="{why}")) == "{0} %s\n  why: {why}"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (DataError("no gold", path="a.csv", line=7), "a.csv, row 7: no gold"),
        (DataError("is empty", path="a.csv"), "a.csv: is empty"),
        (DataError("is empty"), "is empty"),
        (DataError("is empty", line=7), "is empty"),
    ],
)
def test_a_data_error_says_where(error: DataError, text: str) -> None:
    assert str(error) == text


def test_errors_carry_what_their_readers_need() -> None:
    assert SpecError("limit", "too small").field == "limit"
    assert KeyUnavailable("no key", state="locked").state == "locked"
    error = RateLimited("slow down", status=429, retry_after=2.5, body="{}", request_id="r1")
    assert (error.status, error.retry_after, error.body, error.request_id) == (429, 2.5, "{}", "r1")
    assert (error.possibly_billed, error.limits, error.param) == (False, None, "")


EXIT_CODES = {
    "UsageError": 1,
    "SpecError": 1,
    "DataError": 1,
    "RunChanged": 1,
    "RunBusy": 1,
    "RunNotFound": 1,
    "NotApproved": 1,
    "RunUnfinished": 1,
    "SystemLimit": 5,
    "KeyUnavailable": 5,
    "JournalError": 5,
    "JournalFull": 5,
    "JournalTooNew": 1,
    "SandboxMissing": 5,
}


CLASSES = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, EvalbenchError) and kind is not EvalbenchError
]


def test_every_error_ends_the_process_with_its_code() -> None:
    assert len(CLASSES) > len(EXIT_CODES)
    for kind in CLASSES:
        expected = 5 if issubclass(kind, ProviderError) else EXIT_CODES[kind.__name__]
        assert kind.exit_code == expected, kind


@pytest.mark.parametrize("kind", [EvalbenchError, *CLASSES])
def test_every_error_crosses_a_pipe(kind: type[EvalbenchError]) -> None:
    error = (
        kind("limit", "what", why="why", hint="hint")
        if issubclass(kind, SpecError)
        else kind("what", why="why", hint="hint")
    )
    read = error_from_json(orjson.loads(orjson.dumps(error_to_json(error))))
    assert type(read) is kind
    assert str(read) == str(error)
    assert getattr(read, "field", "limit") == "limit"


@pytest.mark.parametrize("name", ["OfANewerVersion", "Iterable", "nearest", "__name__"])
def test_an_error_of_an_unknown_class_is_one_all_the_same(name: str) -> None:
    read = error_from_json({"class": name, "what": "what", "why": "", "hint": "hint"})
    assert type(read) is EvalbenchError
    assert str(read) == "what\n  try: hint"


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("mmul", ["mmlu", "quickstart"], "did you mean mmlu?"),
        ("MMLU", ["mmlu", "quickstart"], "did you mean mmlu?"),
        ("colour", ["color", "colours"], "did you mean colours or color?"),
        ("zzz", ["mmlu", "quickstart"], "known: mmlu, quickstart"),
        ("zzz", [], ""),
        ("zzz", [f"name{n}" for n in range(13)], ""),
        ("zzz", [f"name{n}" for n in range(3)], "known: name0, name1, name2"),
    ],
)
def test_nearest_names(name: str, known: list[str], hint: str) -> None:
    assert nearest(name, known) == hint
    assert nearest(name, dict.fromkeys(known)) == hint


@pytest.mark.parametrize(
    ("number", "what", "words"),
    [
        (1, "reply", "1 reply"),
        (2, "reply", "2 replies"),
        (3, "key", "3 keys"),
        (14_042, "answer", "14,042 answers"),
        (2, "open batch", "2 open batches"),
        (2, "epoch", "2 epochs"),
        (0.5, "point", "0.50 points"),
    ],
)
def test_counted_nouns_agree_with_their_number(number: float, what: str, words: str) -> None:
    assert errors.counted(number, what) == words
