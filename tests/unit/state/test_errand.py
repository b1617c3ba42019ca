"""Commands for the app, in child processes: what they say, how they fail, how they are ended."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from evalbench.tui.state.errand import ErrandFailed, Line, errand


async def test_a_command_that_fails_says_why_and_what_to_do(home: Path) -> None:
    with pytest.raises(ErrandFailed) as caught:
        await errand("estimate", "mmul")
    assert "there is no benchmark named 'mmul'" in caught.value.what
    assert "mmlu" in caught.value.cure
    assert caught.value.exit_code == 1


@pytest.mark.parametrize("word", ["a\0b", "half \ud800", "x" * 3_000_000])
async def test_words_that_no_command_line_can_carry_are_told(home: Path, word: str) -> None:
    with pytest.raises(ErrandFailed, match="could not be started"):
        await errand("estimate", "quickstart", "--desc", word)


async def test_lines_come_as_they_are_printed_and_cancelling_ends_the_command(home: Path) -> None:
    lines: list[Line] = []
    asking = asyncio.create_task(errand("benchmarks", on_line=lines.append))
    found = await asking
    assert found == lines
    assert {line["event"] for line in found} == {"benchmark"}
    again = asyncio.create_task(errand("benchmarks"))
    await asyncio.sleep(0)
    again.cancel()
    with pytest.raises(asyncio.CancelledError):
        await again
