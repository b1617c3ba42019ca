"""A text in the user's pager: what is started, and what is told when that fails."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evalbench.tui.pager import page


@pytest.mark.parametrize(
    ("pager", "told"),
    [
        ("sh -c 'cp \"$0\" shown'", []),
        ("sh -c 'exit 3'", ["sh ended with exit code 3"]),
        (
            "no-such-pager",
            ["no-such-pager cannot be started: No such file or directory"],
        ),
        ("less '", ["PAGER cannot be read: No closing quotation"]),
    ],
)
def test_a_pager_that_works_and_those_that_do_not(
    pager: str, told: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PAGER", pager)
    said: list[str] = []
    app: Any = SimpleNamespace(suspend=nullcontext, notify=lambda words, **_: said.append(words))
    page(app, "the text")
    assert [words[: len(one)] for words, one in zip(said, told, strict=True)] == told
    shown = tmp_path / "shown"
    assert (shown.read_text() if shown.exists() else "") == ("" if told else "the text")


def test_without_a_pager_it_is_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    less = tmp_path / "less"
    less.write_text('#!/bin/sh\necho "$#" > "${0%/*}/started"\n')
    less.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    for blank in ("", "  "):
        monkeypatch.setenv("PAGER", blank)
        page(SimpleNamespace(suspend=nullcontext), "the text")  # type: ignore[arg-type]
        assert (tmp_path / "started").read_text() == "1\n"
        (tmp_path / "started").unlink()
