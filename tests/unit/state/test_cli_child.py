"""Commands for the app, in child processes: what they say, how they fail, how they are ended."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from evalbench.engine.config.spec import make_spec
from evalbench.engine.runs.folder import make_run
from evalbench.tui.state.cli_child import CommandFailed, Line, run_command


async def test_a_command_that_fails_says_why_and_what_to_do(home: Path) -> None:
    with pytest.raises(CommandFailed) as caught:
        await run_command("estimate", "mmul")
    assert "there is no benchmark named 'mmul'" in caught.value.what
    assert "mmlu" in caught.value.hint
    assert caught.value.exit_code == 1


@pytest.mark.cold
@pytest.mark.parametrize("word", ["a\0b", "half \ud800", "x" * 3_000_000])
async def test_words_that_no_command_line_can_carry_are_told(home: Path, word: str) -> None:
    with pytest.raises(CommandFailed, match="could not be started"):
        await run_command("estimate", "quickstart", "--desc", word)


async def test_lines_come_as_they_are_printed_and_cancelling_ends_the_command(home: Path) -> None:
    lines: list[Line] = []
    asking = asyncio.create_task(run_command("benchmarks", on_line=lines.append))
    found = await asking
    assert found == lines
    assert {line["event"] for line in found} == {"benchmark"}
    again = asyncio.create_task(run_command("benchmarks"))
    await asyncio.sleep(0)
    again.cancel()
    with pytest.raises(asyncio.CancelledError):
        await again


@pytest.mark.parametrize("agreed", [True, False])
async def test_keys_go_where_a_folder_says_only_with_a_yes(
    home: Path, monkeypatch: pytest.MonkeyPatch, agreed: bool
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine-0123456789abcdef")
    options = {"base_url": "https://nobody.invalid/v1"}
    run = make_run(make_spec("quickstart", "openai/gpt-4.1", provider_options=options), None)
    asked: list[Line] = []

    async def ask(line: Line) -> bool:
        asked.append(line)
        return agreed

    # With a price that is none, what is allowed ends before anything is sent.
    words = ("resume", run.id, "--price", "nonsense")
    if agreed:
        with pytest.raises(CommandFailed) as caught:
            await run_command(*words, ask=ask)
        assert "would send" not in caught.value.what
    else:
        assert await run_command(*words, ask=ask) == []
    assert [line["hosts"] for line in asked] == [["nobody.invalid"]]
