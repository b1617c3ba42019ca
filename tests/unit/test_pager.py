"""A text in the user's pager or editor: what is started, and what is told when that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evalbench.tui.pager import edit, page

Show = Callable[[Any, str], None]
BOTH = pytest.mark.parametrize(
    ("show", "variable", "default"), [(page, "PAGER", "less"), (edit, "EDITOR", "vi")]
)


@BOTH
@pytest.mark.parametrize(
    ("command", "told"),
    [
        ('sh -c \'cp "$0" shown; ls -l "$0" | cut -c1-10 > mode\'', []),
        ("sh -c 'exit 3'", ["sh ended with exit code 3"]),
        (
            "no-such-program",
            ["no-such-program cannot be started: No such file or directory; set {} to another"],
        ),
        ("less '", ["{} cannot be read: No closing quotation"]),
    ],
)
def test_programs_that_work_and_those_that_do_not(
    show: Show,
    variable: str,
    default: str,
    command: str,
    told: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(variable, command)
    said: list[str] = []
    app: Any = SimpleNamespace(notify=lambda words, **_: said.append(words))
    resumed = 0

    @contextmanager
    def suspend() -> Iterator[None]:
        """Like Textual's, which does not resume after an error."""
        nonlocal resumed
        yield
        resumed += 1

    app.suspend = suspend
    show(app, "the text, \udc00")
    assert resumed == ("cannot be read" not in "".join(told))
    wanted = [one.format(variable) for one in told]
    assert [words[: len(one)] for words, one in zip(said, wanted, strict=True)] == wanted
    shown = tmp_path / "shown"
    assert (shown.read_text() if shown.exists() else "") == ("" if told else "the text, \\udc00")
    if not told:
        assert (tmp_path / "mode").read_text() == "-r--------\n"


@BOTH
def test_the_program_when_none_is_set(
    show: Show,
    variable: str,
    default: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = tmp_path / default
    program.write_text('#!/bin/sh\necho "$#" > "${0%/*}/started"\n')
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    for blank in ("", "  "):
        monkeypatch.setenv(variable, blank)
        show(SimpleNamespace(suspend=nullcontext), "the text")
        assert (tmp_path / "started").read_text() == "1\n"
        (tmp_path / "started").unlink()


def test_visual_goes_before_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EDITOR", "touch editor")
    monkeypatch.setenv("VISUAL", "touch visual")
    edit(SimpleNamespace(suspend=nullcontext), "the text")  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["visual"]
