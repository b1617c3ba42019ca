"""The leaderboard: which run counts, the places that intervals allow, and its files."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.config import registry
from evalbench.engine.errors import UsageError
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.runs.status import State
from evalbench.tui.cli.main import main
from evalbench.tui.cli.output import Out
from evalbench.tui.state.leaderboard import chosen, leaderboard, moment
from evalbench.tui.state.run_list import RunList
from tests.pretending import pretend

EVIL = "[/b]<script>|`=1+1"


def scored(
    model: str, value: float, half: float, benchmark: str = "quickstart", **more: Any
) -> RunFolder:
    """A complete run with this score and interval; ``file`` and ``task`` are options."""
    options = {name: str(more.pop(name)) for name in ("file", "task") if name in more}
    metric = {"value": value, "low": value - half, "high": value + half, "k": 1, "n": 400}
    tags = ["nightly"] if half < 0.1 else ()
    run = pretend(benchmark, model, options=options, tag=tags)
    told: dict[str, Any] = {"spend_usd": 0.5, "input_tokens": 1000, "output_tokens": 200, **more}
    run.status(State.COMPLETE, done=400, metrics={"accuracy": {**metric, "share": True}}, **told)
    return run.folder


def own_file(folder: Path) -> Path:
    """A benchmark of one's own."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "sums.toml"
    file.write_text('data = "sums.csv"\nprompt = "{{ sum }}"\ngold = "n"\nscorer = "exact"\n')
    return file


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs of three models on two benchmarks."""
    monkeypatch.setenv("EVALBENCH_HOME", str(tmp_path))
    scored("local/a", 0.9, 0.02)
    scored("local/b", 0.7, 0.05)
    scored("groq/c", 0.66, 0.05)
    scored("local/a", 0.5, 0.2, "mmlu")
    scored("local/b", 0.6, 0.2, "mmlu", spend_usd=None)
    pretend("quickstart", "local/late").status(State.PAUSED, done=3)
    return tmp_path


def test_places_are_those_that_the_intervals_allow(home: Path) -> None:
    board = leaderboard(RunList().look())
    assert board.benchmarks == ("quickstart", "mmlu")
    assert board.models == ("local/a", "local/b", "groq/c")
    assert [board.rank(model, "quickstart") for model in board.models] == ["1", "2–3", "2–3"]
    assert [board.rank(model, "mmlu") for model in board.models] == ["1–2", "1–2", ""]
    assert leaderboard(RunList().look(), "mmlu").models == ("local/b", "local/a", "groq/c")
    # The newest complete run counts.
    scored("local/a", 0.1, 0.02)
    newer = leaderboard(RunList().look())
    assert newer.models == ("local/b", "groq/c", "local/a")
    assert newer.rank("local/a", "quickstart") == "3"


def test_columns_have_the_titles_of_ones_own_benchmarks(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scored("local/a", 0.4, 0.1, "gsm8k", title="Sums of two")
    board = leaderboard(RunList().look())
    assert board.head("gsm8k") == "Sums of two (gsm8k)"
    assert main(["leaderboard", "--format", "md"]) == 0
    assert "Sums of two (gsm8k)" in capsys.readouterr().out
    assert main(["leaderboard", "--format", "csv", "--by", "gsm8k"]) == 0
    rows = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert {row["title"] for row in rows if row["benchmark"] == "gsm8k"} == {"Sums of two"}


def test_files_of_one_name_are_benchmarks_of_their_own(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [own_file(home / folder / "math") for folder in ("easy", "hard")]
    for model, file, value in (("a", 0, 0.9), ("b", 1, 0.2), ("a", 1, 0.4)):
        folder = scored(f"local/{model}", value, 0.05, "custom", file=files[file])
        assert folder.status().source == str(files[file])
    scored("local/c", 0.5, 0.1, "custom", title="Adding", file=files[0])
    board = leaderboard(RunList().look(), "hard/math/sums.toml")
    assert {"easy/math/sums.toml", "hard/math/sums.toml"} < {*board.benchmarks}
    assert board.models[:2] == ("local/a", "local/b")
    assert board.rank("local/a", "easy/math/sums.toml") == "1"
    assert board.head("easy/math/sums.toml") == "Adding (easy/math/sums.toml)"
    assert main(["leaderboard", "--by", "sums"]) == 1
    assert "easy/math/sums.toml or hard/math/sums.toml" in capsys.readouterr().err
    assert main(["leaderboard", "--format", "csv"]) == 0
    rows = [*csv.DictReader(io.StringIO(capsys.readouterr().out))]
    found = {(row["benchmark"], row["model"], row["value"]) for row in rows}
    assert ("hard/math/sums.toml", "local/a", "0.4") in found
    assert ("easy/math/sums.toml", "local/a", "0.9") in found


def test_runs_of_one_file_share_a_column_that_has_its_name(home: Path) -> None:
    for value in (0.3, 0.4):
        scored("local/a", value, 0.05, "custom", file=own_file(home))
    board = leaderboard(RunList().look())
    assert "sums" in board.benchmarks
    assert len(board.benchmarks) == 3
    # An imported task and a file may be called alike, too.
    scored("local/a", 0.5, 0.05, "recorded", task="sums")
    assert {"sums", "sums.toml"} < {*leaderboard(RunList().look()).benchmarks}


def test_runs_are_chosen_by_tag_and_date(home: Path) -> None:
    lines = RunList().look()
    assert len(leaderboard(chosen(lines, "nightly")).benchmarks) == 1
    today = time.strftime("%Y-%m-%d")
    assert leaderboard(chosen(lines, since=moment(today))).models
    assert leaderboard(chosen(lines, until=moment(today, end=True))).models
    assert not leaderboard(chosen(lines, until=moment(today))).models
    assert not leaderboard(chosen(lines, since=moment("2999-01-01"))).models
    with pytest.raises(UsageError, match="is no date"):
        moment("yesterday")


def test_it_is_printed_and_written(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scored(f"local/{EVIL}", 0.3, 0.01)
    assert main(["leaderboard"]) == 0
    out = capsys.readouterr().out
    assert "90.0 % (88.0–92.0) · 1" in out
    assert "unknown" in out
    with monkeypatch.context() as narrow:
        narrow.setattr(Out, "isatty", lambda _: True)
        narrow.setenv("COLUMNS", "80")
        assert main(["leaderboard"]) == 0
        out = re.sub(r"\x1b\[\d*m", "", capsys.readouterr().out)
        assert re.search(r"^local/a +quickstart +90\.0 % +88\.0–92\.0 +1 ", out, re.MULTILINE)
        assert max(map(len, out.splitlines())) <= 80
        assert main(["benchmarks"]) == 0
        listed = re.sub(r"\x1b\[\d*m", "", capsys.readouterr().out).splitlines()
        assert max(map(len, listed)) <= 80
        names = [line.split()[0] for line in listed]
        assert names[1:-1] == registry.benchmark_names()
    for kind in ("md", "html", "csv", "json"):
        assert main(["leaderboard", "-o", str(home / f"board.{kind}")]) == 0
    told = json.loads((home / "board.json").read_text())
    first = told["scores"][0]
    assert (first["benchmark"], first["model"], first["value"]) == ("quickstart", "local/a", 0.9)
    assert (first["rank_low"], first["rank_high"], first["cost_usd"]) == (1, 1, 0.5)
    assert (first["tokens"], first["tags"], first["n"]) == (1200, ["nightly"], 400)
    rows = list(csv.DictReader(io.StringIO((home / "board.csv").read_text())))
    assert len(rows) == len(told["scores"]) == 6
    assert rows[0]["low"] == "0.88"
    page = (home / "board.html").read_text()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    text = (home / "board.md").read_text()
    assert "| local/a | 90.0 % (88.0–92.0) · 1 |" in text
    assert "<script>" not in text
    assert r"\|\`" in text
    assert os.stat(home / "board.md").st_mode & 0o077 == 0
    capsys.readouterr()
    assert main(["leaderboard", "--by", "mmlu", "--format", "csv"]) == 0
    assert capsys.readouterr().out.startswith("benchmark,model,rank_low")
    assert main(["leaderboard", "--by", "mmlo"]) == 1
    assert "mmlu" in capsys.readouterr().err
    assert main(["leaderboard", "-o", "board.txt"]) == 1
    assert main(["leaderboard", "--tag", "none"]) == 0
    assert "no complete run has a score" in capsys.readouterr().out
