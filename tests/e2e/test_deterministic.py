"""A deterministic run of a local model: the same answers in another company, and it says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalbench.engine.journal import JournalReader
from tests.contract.local import tiny
from tests.e2e.commandline import LONG_S, CommandLine

pytestmark = [pytest.mark.local, pytest.mark.timeout(300)]


def test_answers_do_not_depend_on_the_run_around_them(cli: CommandLine, tmp_path: Path) -> None:
    model = tiny.make_llama(tmp_path / "llama")
    found = []
    for more in (["--limit", "3"], ["--concurrency", "2"]):
        started = cli.start(
            "run", "quickstart", "--model", f"local/{model}", "--deterministic",
            "--max-tokens", "12", "--threads", "1", "--json", *more,
        )  # fmt: skip
        _, err = started.communicate(timeout=LONG_S)
        assert started.returncode == 0, err
        run = cli.runs()[0]
        with JournalReader(run.journal) as journal:
            calls = [call for row in journal.samples() for call in journal.calls(row.row)]
        replies = {str(call.prompt.messages): call.reply for call in calls}
        found.append({key: (reply.text, reply.logprobs) for key, reply in replies.items() if reply})
        shown = cli("show", run.id, "--json").lines[0]
        [told] = shown["local_models"].values()
        assert (told["numbers"], told["layout"]) == ("float32", "alone")
        assert shown["spec"]["provider_options"]["deterministic"] is True
    few, many = found
    assert len(few) == 3 < len(many)
    assert few.items() <= many.items()
    assert "float32, one call at a time" in cli("show", "last").out
