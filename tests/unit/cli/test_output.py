"""Output that its reader may close."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest

from evalbench.tui.cli.output import Out, plain_terminal
from tests.unit.cli.terminal import Terminal


def test_a_closed_reader_silences_the_stream_for_good() -> None:
    code = (
        "import sys; from evalbench.tui.cli.output import stdout\n"
        "out = stdout(); sys.stdin.readline(); out.line('x' * 100_000); out.line('more')\n"
        "sys.exit(7 if out.gone and not out.isatty() else 1)"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdin
    assert child.stdout
    assert child.stderr
    child.stdout.close()
    child.stdin.write(b"\n")
    child.stdin.close()
    assert child.stderr.read() == b""
    assert child.wait() == 7
    child.stderr.close()


def test_lines_are_seen_at_once() -> None:
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "w") as stream, os.fdopen(read_end) as reader:
        Out(stream).line("first")
        assert reader.readline() == "first\n"


@pytest.mark.parametrize(
    ("term", "plain"), [("dumb", True), ("", True), ("unknown", True), ("xterm-256color", False)]
)
def test_terminals_that_cannot_move_their_cursor(
    monkeypatch: pytest.MonkeyPatch, term: str, plain: bool
) -> None:
    monkeypatch.setenv("TERM", term)
    assert plain_terminal() is plain


def test_a_paragraph_is_wrapped_on_a_terminal_and_whole_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    words = "prices    $2.5 in, $10 out, $1.25 cached per million tokens (a-very-long/name)"
    terminal, file = Terminal(), io.StringIO()
    Out(terminal).paragraph(words, 10)
    assert terminal.getvalue().splitlines() == [
        "prices    $2.5 in, $10 out, $1.25",
        "          cached per million tokens",
        "          (a-very-long/name)",
    ]
    Out(file).paragraph(words, 10)
    assert file.getvalue() == words + "\n"
    narrow = Terminal()
    Out(narrow).paragraph("a long name of a setting:      its value is here", 31)
    assert narrow.getvalue().splitlines() == [
        "a long name of a setting:      its",
        "    value is here",
    ]


def test_a_paragraph_counts_the_cells_of_wide_glyphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    terminal = Terminal()
    Out(terminal).paragraph("模型    一二三四 五六七八 九十", 8)
    assert terminal.getvalue().splitlines() == ["模型    一二三四 五六七八", "        九十"]
