"""Runs written for other tools, read by what reads them there."""

from __future__ import annotations

import asyncio
import csv
import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas
import pytest

from evalbench.engine.benchmark import Item, Sample
from evalbench.engine.calls import Outcome, Reply, Usage
from evalbench.engine.errors import DataError, UsageError
from evalbench.engine.importing.whole import import_whole
from evalbench.engine.journal import JournalReader
from evalbench.engine.rescoring import rescore
from evalbench.engine.results.exporting import FORMATS, export_run, export_runs
from evalbench.engine.runfolder import RunFolder
from evalbench.engine.settings import make_spec
from tests.finished import finished
from tests.nasty import nasty_run

SAID = ("A", "The answer is (B)", "no idea", "D", None)


def questions(count: int = 5) -> list[Item]:
    """Questions of MMLU."""
    return [
        Item(
            {"question": f"How much is {n}?", "choices": ["w", "x", "y", "z"]},
            1 if n else 0,
            {"subject": "anatomy" if n % 2 else "virology", "category": "other"},
        )
        for n in range(count)
    ]


def mmlu_run(said: Sequence[str | None] = SAID, **common: Any) -> RunFolder:
    """A finished run of MMLU with these replies; None is a failed call."""

    def say(sample: Sample, epoch: int, *_: object) -> Reply | None:
        place = int(sample.inputs["question"].split()[3][:-1])
        text = said[(place + epoch) % len(said)]
        return text and Reply(
            text,
            Outcome.REFUSED if text == "refused" else Outcome.OK,
            reasoning="hm",
            usage=Usage(10, 3),
            latency_s=0.25,
            cost=Decimal("0.000001234567"),
            possible_cost=Decimal("0.01"),
        )

    spec = make_spec("mmlu", "openai/gpt-4.1", options={"family": "chat"}, **common)
    return finished(spec, questions(len(said)), say)


def metrics_of(folder: RunFolder) -> Any:
    with JournalReader(folder.journal) as journal:
        return journal.meta("metrics")


def everything(folder: RunFolder) -> Any:
    """All that a run's journal says of its samples."""
    with JournalReader(folder.journal) as journal:
        rows = list(journal.samples())
        return rows, [journal.calls(row.row) for row in rows], list(journal.scores())


# -- JSON: complete, and back again -------------------------------------------------


def test_a_run_comes_back_from_json_as_it_was(home: Path, tmp_path: Path) -> None:
    run = mmlu_run((*SAID, "refused"), epochs=2)
    [path] = export_run(run, None, tmp_path / "run.json").files
    assert path == tmp_path / "run.json"
    elsewhere = tmp_path / "elsewhere"
    back = asyncio.run(import_whole(path, elsewhere))
    assert back.path.parent == elsewhere
    assert everything(back) == everything(run)
    assert metrics_of(back) == metrics_of(run)
    before, after = run.status(), back.status()
    assert (after.state, after.outcomes, after.metrics) == (
        before.state,
        before.outcomes,
        before.metrics,
    )
    again = asyncio.run(rescore(back))
    assert (again.changed, again.kept) == (0, before.failed)
    assert again.scored == len(run_scores(run)) - before.failed
    assert metrics_of(back) == metrics_of(run)


def run_scores(run: RunFolder) -> list[Any]:
    return everything(run)[2]


def test_json_laid_out_anew_is_read_too(home: Path, tmp_path: Path) -> None:
    run = mmlu_run()
    [path] = export_run(run, "json", tmp_path).files
    whole = json.loads(path.read_bytes())
    assert (whole["format"], whole["version"], whole["count"]) == ("evalbench run", 1, 5)
    assert len(whole["samples"]) == 5
    assert "keys" not in whole["facts"]
    path.write_text(json.dumps(whole))
    assert everything(asyncio.run(import_whole(path))) == everything(run)


@pytest.mark.parametrize(
    ("harm", "match"),
    [
        (lambda text: text[: len(text) // 2], "damaged|cut off"),
        (lambda text: text.replace('"version": 1', '"version": 99'), "newer evalbench"),
        (lambda text: text.replace('"evalbench run"', '"other"'), "no exported run"),
        (lambda text: text.replace('"row":2', '"raw":2'), "no sample of a run"),
        (lambda text: "[1]", "no exported run"),
        (lambda text: "{", "not JSON"),
    ],
)
def test_damaged_json_makes_no_run(home: Path, tmp_path: Path, harm: Any, match: str) -> None:
    [path] = export_run(mmlu_run(), "json", tmp_path).files
    path.write_text(harm(path.read_text()))
    with pytest.raises(DataError, match=match):
        asyncio.run(import_whole(path, tmp_path / "elsewhere"))
    assert not list((tmp_path / "elsewhere").glob("*"))


# -- tables ------------------------------------------------------------------------


def test_both_tables_hold_the_same_rows(home: Path, tmp_path: Path) -> None:
    run = mmlu_run(epochs=2)
    [flat] = export_run(run, None, tmp_path / "run.csv").files
    [packed] = export_run(run, None, tmp_path / "run.parquet").files
    table = pandas.read_parquet(packed)
    again = pandas.read_csv(flat)
    assert list(table.columns) == list(again.columns)
    assert len(table) == len(again) == 10
    assert table["score"].mean() == again["score"].mean() == metrics_of(run)["accuracy"]["value"]
    assert table["score"].notna().sum() == metrics_of(run)["accuracy"]["n"]
    first = table.iloc[0]
    assert (first["reply"], first["outcome"], first["tag.subject"]) == ("A", "ok", "virology")
    assert first["cost_usd"] == pytest.approx(0.000001234567)
    assert set(table[table["outcome"] == "error"]["error"]) == {"Overloaded: no room"}


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "＝1+1", '=HYPERLINK("x")'],
)
def test_no_cell_is_a_formula(home: Path, tmp_path: Path, text: str) -> None:
    [path] = export_run(mmlu_run((text, "-1.5", "B")), "csv", tmp_path).files
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert rows[0]["reply"].startswith("'")
    assert rows[0]["reply"][1:].strip() == text.strip()
    assert rows[1]["reply"] == "-1.5"


# -- every format ------------------------------------------------------------------

KEY = "sk-ant-api03-PLANTEDplantedPLANTED0123456789"
HOSTILE = f"=cmd|'/C calc'!A0 <script>alert(1)</script> \x1b]0;owned\x07\x9b31m \u202e {KEY}"


def mt_bench_run(home_text: str = "fine") -> RunFolder:
    """A run of MT-bench with two judges."""
    items = [
        Item(
            {"question_id": 81 + n, "turns": [f"first {n}", f"second {n}"]},
            None,
            {"category": "writing" if n else "math"},
        )
        for n in range(3)
    ]

    def say(sample: Sample, epoch: int, role: str, step: str, repeat: int) -> Reply:
        if role == "candidate":
            return Reply(f"{home_text} {step}", latency_s=1.5, usage=Usage(5, 7))
        rating = (sample.inputs["question_id"] + len(step) + len(role) + int(step[-1])) % 10 + 1
        return Reply(f"{home_text} Rating: [[{rating}]]")

    judges = ["openai/gpt-4.1", "openai/gpt-4.1-mini"]
    return finished(make_spec("mt-bench", "openai/gpt-4.1-nano", judge=judges), items, say)


def code_run(benchmark: str, text: str = "fine") -> RunFolder:
    """A run of code-prediction or code-choice."""
    items = [
        Item(
            {"id": f"p{n}", "calls": ["f(1)", "f(2)"], "code": "def f(x): return x + 1",
             "mutant": "def f(x): return x - 1"},
            {"original": ["2", "3"], "mutated": ["0", "1"]},
            {"difficulty": "easy", "mutation": "arithmetic"},
        )
        for n in range(3)
    ]  # fmt: skip
    answers = ("2", "0", "7", None)

    def say(sample: Sample, epoch: int, role: str, step: str, repeat: int) -> Reply:
        place = int(sample.inputs["id"][1]) + repeat + len(step)
        said = answers[place % 4]
        if benchmark == "code-prediction":
            return Reply(f"{text} [ANSWER]{said}[/ANSWER]" if said else text, latency_s=0.5)
        chosen = {"chosen_program": "AB"[place % 2], "assertion": said}
        return Reply(f"{text} {json.dumps(chosen)}" if said else text, latency_s=0.5)

    options = {"generations": 2} if benchmark == "code-prediction" else {}
    spec = make_spec(benchmark, "openai/gpt-4.1", options=options)
    index = {"p0": 0, "p1": 1, "p2": 3}
    shared = {"index": index, "rows": 4, "left_out": 1}
    return finished(spec, items, say, shared)


def read_any(path: Path) -> str:
    """What a person or a program sees of a file's texts."""
    if path.suffix == ".parquet":
        return pandas.read_parquet(path).to_csv()
    if path.suffix == ".eval":
        import zipfile

        with zipfile.ZipFile(path) as held:
            return "".join(held.read(name).decode() for name in held.namelist())
    return path.read_text()


HARMFUL = ("\x1b", "\x07", "\x9b", "\u202e", KEY, "PLANTED")


def hostile_runs(name: str) -> list[RunFolder]:
    """Runs that a format takes, whose replies are hostile."""
    own = FORMATS[name].benchmarks
    if "mt-bench" in own:
        return [mt_bench_run(HOSTILE)]
    if "code-choice" in own:
        return [code_run("code-prediction", HOSTILE), code_run("code-choice", HOSTILE)]
    return [mmlu_run((HOSTILE, "B", f"B {HOSTILE}"))]


@pytest.mark.parametrize("name", [n for n in FORMATS if n not in ("speceval", "openseesime")])
def test_hostile_replies_come_out_harmless(home: Path, tmp_path: Path, name: str) -> None:
    done = export_runs(hostile_runs(name), name, tmp_path / "out")
    texts = [read_any(path) for path in done.files]
    assert done.files
    for text in texts:
        assert not [harm for harm in HARMFUL if harm in text]
        if name not in ("csv", "parquet", "mmlu-experiment"):
            assert "<script" not in text
            assert "</script" not in text
    assert not [p for p in (tmp_path / "out").rglob("*") if p.name.endswith(".part")]


@pytest.mark.parametrize("name", [n for n, one in FORMATS.items() if not one.benchmarks])
def test_a_live_run_full_of_nasty_texts_can_be_written(
    home: Path, tmp_path: Path, name: str
) -> None:
    engine = asyncio.run(nasty_run())
    for path in export_run(engine.folder, name, tmp_path / "out").files:
        text = read_any(path)
        assert not [c for c in ("\x1b", "\x07", "\x9b", "\0", "\u202e") if c in text]


def test_nothing_is_left_of_an_export_that_fails(home: Path, tmp_path: Path) -> None:
    run = mmlu_run()
    export_run(run, "csv", tmp_path / "out")
    with pytest.raises(UsageError, match="is there already"):
        export_run(run, "csv", tmp_path / "out")
    with pytest.raises(UsageError, match="makes a file of each run"):
        export_runs([run, run], "csv", tmp_path / "other.csv")
    assert [path.suffix for path in (tmp_path / "out").iterdir()] == [".csv"]
