"""Runs written as other systems' files, and read back: the scores are the same."""

from __future__ import annotations

import asyncio
import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from evalbench.engine.benchmark import DataSource, Item
from evalbench.engine.config.spec import RunSpec, build_benchmark, make_spec
from evalbench.engine.errors import DataError, UsageError
from evalbench.engine.formats import export_runs, formats_of
from evalbench.engine.formats.fastchat import reader as fastchat
from evalbench.engine.formats.mmlu_experiment import reader as mmlu_experiment
from evalbench.engine.formats.openseesime import reader as openseesime
from evalbench.engine.formats.recorded import Place, Recorded, RecordedReply, write_run
from evalbench.engine.formats.speceval import reader as speceval
from evalbench.engine.journal import Journal, JournalReader
from evalbench.engine.journal.records import BatchRow
from evalbench.engine.runs.folder import RunFolder
from tests.imports import Written, write_json, write_lines, written

STATEMENTS = [
    {"id": name, "text": f"Be {name}.", "type": "requirement", "authority_level": "platform"}
    for name in ("brief", "kind")
]
JUDGES = ("answers/openai/judge-1", "answers/other")


@pytest.fixture
def spec_file(home: Path, tmp_path: Path) -> Path:
    """A specification of two statements, with a home of its own."""
    return write_lines(tmp_path / "small.jsonl", STATEMENTS)


def run_of(spec: RunSpec, items: Sequence[tuple[Item, Mapping[Place, RecordedReply]]]) -> Written:
    """A finished run of these samples and answers."""
    folder = asyncio.run(write_run(Recorded(spec, items, "small.jsonl")))
    with JournalReader(folder.journal) as journal:
        return Written(folder, journal.meta("metrics"))


def statement(place: int, more: Mapping[str, str] | None = None, **inputs: object) -> Item:
    held = STATEMENTS[place % 2]
    full = {
        "id": held["id"], "text": held["text"], "type": held["type"], "authority": "platform",
        "section": "", "subsection": "", "examples": [],
    }  # fmt: skip
    tags = {"statement": held["id"], "type": held["type"], **(more or {})}
    return Item({"statement": full, **inputs}, None, tags)


def same(before: Written, after: Written, leave_out: Sequence[str] = ()) -> None:
    """The metrics are those of the run that was written."""

    def numbers(run: Written) -> dict[str, tuple[object, object, object]]:
        return {
            name: (metric["value"], metric["k"], metric["n"])
            for name, metric in run.metrics.items()
            if not any(part in name for part in leave_out)
        }

    assert numbers(after) == numbers(before)
    assert after.folder.status().failed == before.folder.status().failed


def exported(run: RunFolder, place: Path, name: str | None = None) -> list[str]:
    """Write a run; the files' names below the folder."""
    return [str(path.relative_to(place)) for path in export_runs([run], name, place).files]


# -- SpecEval -----------------------------------------------------------------------


def test_answers_come_back(spec_file: Path, tmp_path: Path) -> None:
    items = [
        (
            statement(n, index=n, input=f"question {n}"),
            {("candidate", "answer", 0): RecordedReply(text)},
        )
        for n, text in enumerate(("yes", "no\nno", "   ", "ünï ☃"))
    ]
    items.append((statement(4, index=4, input="question 4"), {}))
    run = run_of(make_spec("spec-generate", "answers/org/model-a"), items)
    files = exported(run.folder, tmp_path / "out")
    assert len(files) == 2
    assert {Path(file).parts[1] for file in files} == {"org-model-a"}
    back = written(speceval.read_folder(tmp_path / "out" / "small" / "org-model-a", spec_file))
    same(run, back)
    [held] = [Path(tmp_path / "out" / file) for file in files if file.endswith("brief.json")]
    assert json.loads(held.read_bytes())[1] == {
        "original_index": 2,
        "input_text": "question 2",
        "output_text": "   ",
        "batch_id": run.folder.id,
    }


COMPLIES = '{"compliant": true, "confidence": 0.9, "explanation": "as `code` says"}'
DECISIONS = (COMPLIES, COMPLIES.replace("true", "false"), "no JSON at all", COMPLIES)


def test_decisions_of_every_judge_come_back(spec_file: Path, tmp_path: Path) -> None:
    items = []
    for n, said in enumerate((*DECISIONS, None)):
        answer = None if said is None else f"answer {n}"
        item = statement(n, {"contestant": "model-a"}, input=f"question {n}", answer=answer)
        told = {
            (f"judge/{judge}", "comply", 0): RecordedReply(said if place == 0 else COMPLIES)
            for place, judge in enumerate(JUDGES)
            if said
        }
        items.append((item, told))
    spec = make_spec("spec-comply", "answers/model-a", judge=list(JUDGES))
    run = run_of(spec, items)
    assert len(exported(run.folder, tmp_path / "out")) == 4
    for judge, folder in zip(JUDGES, ("judge_openai-judge-1", "judge_other"), strict=True):
        place = tmp_path / "out" / "spec_small" / folder / "model-a"
        back = written(speceval.read_folder(place, spec_file))
        assert back.counts("compliance") == run.counts(f"compliance/judge={judge}")
        assert back.folder.status().failed == run.folder.status().failed == 1


def test_short_names_and_a_file_for_every_batch(spec_file: Path, tmp_path: Path) -> None:
    items = [
        (statement(0, {"contestant": "model-a"}, input="q", answer="a"),
         {(f"judge/{judge}", "comply", 0): RecordedReply(COMPLIES) for judge in JUDGES})
    ]  # fmt: skip
    run = run_of(make_spec("spec-comply", "answers/model-a", judge=list(JUDGES)), items)

    async def sent() -> None:
        journal = Journal(run.folder.journal)
        body = {"role": f"judge/{JUDGES[0]}", "model": "judge-1", "requests": 1, "answered": 1,
                "failed": 0, "job": {"id": "batch/42"}}  # fmt: skip
        await journal.put_batch(BatchRow(1, "abc", "done", body))
        await journal.close()

    asyncio.run(sent())
    done = export_runs([run.folder], "speceval", tmp_path / "out", short_names=True)
    places = {str(path.relative_to(tmp_path / "out" / "spec_small")) for path in done.files}
    assert places == {
        "judge_judge-1/model-a/results/brief.json",
        "judge_judge-1/model-a/metadata/batch-42.json",
        "judge_other/model-a/results/brief.json",
    }
    [told] = (tmp_path / "out").rglob("metadata/*.json")
    assert json.loads(told.read_bytes())["batch_id"] == "batch/42"
    assert json.loads(told.read_bytes())["status"] == "completed"
    plain = {str(path) for path in export_runs([run.folder], "speceval", tmp_path / "all").files}
    assert any("judge_openai-judge-1" in path for path in plain)


def test_both_orders_of_every_pair_come_back(spec_file: Path, tmp_path: Path) -> None:
    verdicts = [("A", "B"), ("A", "A"), ("B", "A"), ("equal", "equal"), ("what", "N/A")]
    pair = {"a": "mixtral-x", "b": "org/max"}
    items = []
    for n, (first, second) in enumerate(verdicts):
        item = statement(n, pair, input=f"question {n}", answers=[f"one {n}", f"two {n}"])
        role = f"judge/{JUDGES[0]}"
        told = {
            (role, "first", 0): RecordedReply(f"Model: {first}"),
            (role, "second", 0): RecordedReply(f"Model: {second}"),
        }
        items.append((item, told))
    broken = statement(5, pair, input="question 5", answers=["one", None])
    given = [f"{name}={spec_file}" for name in ("mixtral-x", "org-max")]
    spec = make_spec(
        "spec-rank", "answers/mixtral-x,org-max", judge=[JUDGES[0]], options={"answers": given}
    )
    run = run_of(spec, [*items, (broken, {})])
    assert len(exported(run.folder, tmp_path / "out")) == 4
    judged = tmp_path / "out" / "spec_small" / "judge_openai-judge-1"
    back = written(speceval.read_folder(judged / "mixtral-xxorg-max", spec_file))
    same(run, back)
    other = written(speceval.read_folder(judged / "org-maxxmixtral-x", spec_file))
    assert other.counts("win_rate/contestant=org/max") == run.counts("win_rate/contestant=org/max")


def test_what_no_file_can_be_named_is_refused(home: Path, tmp_path: Path) -> None:
    item = statement(0, index=0, input="question")
    item.inputs["statement"]["id"] = "../../up"
    spec = make_spec("spec-generate", "answers/../../up")
    run = run_of(spec, [(item, {("candidate", "answer", 0): RecordedReply("yes")})])
    with pytest.raises(DataError, match="cannot be the name of a file"):
        export_runs([run.folder], None, tmp_path / "out")
    assert not (tmp_path / "out").exists()


# -- FastChat -----------------------------------------------------------------------


@pytest.fixture
def questions(home: Path, tmp_path: Path) -> Path:
    """Three questions of FastChat's form."""
    rows = [
        {"question_id": 81 + n, "category": "writing", "turns": [f"first {n}", f"second {n}"]}
        for n in range(3)
    ]
    write_lines(tmp_path / "mt" / "question.jsonl", rows)
    return tmp_path / "mt"


def talks(
    say: Callable[[int, int], dict[Place, RecordedReply]],
) -> list[tuple[Item, dict[Place, RecordedReply]]]:
    """Every question with both answers, and what judges say of each turn."""
    items = []
    for n in range(3):
        turns = [f"first {n}", f"second {n}"]
        inputs = {"question_id": 81 + n, "turns": turns, "baseline": ["their one", "their two"]}
        told = {
            ("candidate", f"turn-{turn}", 0): RecordedReply(f"answer {turn} to {n}")
            for turn in (1, 2)
        }
        told |= say(n, 1) | say(n, 2)
        items.append((Item(inputs, None, {"category": "writing"}), told))
    return items


def test_ratings_come_back(questions: Path, tmp_path: Path) -> None:
    texts = ("Rating: [[7]]", "Good. [[8.5]]", "no rating")

    def say(n: int, turn: int) -> dict[Place, RecordedReply]:
        return {
            (f"judge/{judge}", f"rate-{turn}", 0): RecordedReply(texts[(n + turn + place) % 3])
            for place, judge in enumerate(JUDGES)
        }

    spec = make_spec("mt-bench", "answers/model-a", judge=list(JUDGES))
    run = run_of(spec, talks(say))
    out = tmp_path / "out"
    assert sorted(exported(run.folder, out)) == [
        "model_answer/model-a.jsonl",
        "model_judgment/openai-judge-1_single.jsonl",
        "model_judgment/other_single.jsonl",
    ]
    for judge in ("openai-judge-1", "other"):
        path = out / "model_judgment" / f"{judge}_single.jsonl"
        [recorded] = fastchat.read_results(path, questions, out / "model_answer")
        back = written(recorded)
        role = next(one for one in JUDGES if judge.split("-")[0] in one)
        assert back.counts("score") == run.counts(f"score/judge={role}")
        [row, *_] = [json.loads(line) for line in path.read_text().splitlines()]
        assert row["judge"][1] == "single-v1"
        assert "answer 1 to 0" in row["user_prompt"]


def test_comparisons_come_back(questions: Path, tmp_path: Path) -> None:
    verdicts = [("A", "B"), ("A", "A"), ("C", "C"), ("B", "A"), ("?", "A"), ("B", "C")]

    def say(n: int, turn: int) -> dict[Place, RecordedReply]:
        pair = verdicts[2 * n + turn - 1]
        return {
            (f"judge/{JUDGES[1]}", f"compare-{turn}-{order}", 0): RecordedReply(f"So [[{letter}]]")
            for order, letter in zip(("first", "second"), pair, strict=True)
        }

    against = write_json(tmp_path / "theirs.jsonl", {})
    spec = make_spec(
        "mt-bench", "answers/model-a", judge=[JUDGES[1]], options={"against": str(against)}
    )
    run = run_of(spec, talks(say))
    out = tmp_path / "out"
    assert "model_answer/theirs.jsonl" in exported(run.folder, out)
    path = out / "model_judgment" / "other_pair.jsonl"
    [recorded] = fastchat.read_results(path, questions, out / "model_answer")
    same(run, written(recorded))


def test_several_runs_are_one_set_of_files_and_keep_their_names(
    questions: Path, tmp_path: Path
) -> None:
    def rated(shift: int) -> Callable[[int, int], dict[Place, RecordedReply]]:
        return lambda n, turn: {
            (f"judge/{JUDGES[0]}", f"rate-{turn}", 0): RecordedReply(f"[[{n + turn + shift}]]")
        }

    models = ("answers/org/one", "answers/org/two")
    runs = [
        run_of(make_spec("mt-bench", model, judge=[JUDGES[0]]), talks(rated(place)))
        for place, model in enumerate(models)
    ]
    out = tmp_path / "out"
    done = export_runs([run.folder for run in runs], "fastchat", out)
    assert sorted(path.name for path in done.files) == [
        "openai-judge-1_single.jsonl", "org-one.jsonl", "org-two.jsonl",
    ]  # fmt: skip
    [judged] = (out / "model_judgment").iterdir()
    backs = fastchat.read_results(judged, questions, out / "model_answer")
    assert [back.spec.model for back in backs] == list(models)
    for run, back in zip(runs, backs, strict=True):
        assert not back.notes
        same(run, written(back))
    against = out / "model_answer" / "org-two.jsonl"
    bench = build_benchmark(make_spec("mt-bench", models[0], options={"against": str(against)}))
    shared = bench.prepare(DataSource(questions, tmp_path)).shared
    assert shared["against"] == "org/two"
    twice = run_of(make_spec("mt-bench", models[0], judge=[JUDGES[0]]), talks(rated(3)))
    more = export_runs([runs[0].folder, twice.folder], "fastchat", tmp_path / "twice")
    assert len(more.files) == 2  # the same answers, judged twice
    changed = talks(rated(0))
    changed[0][1]["candidate", "turn-1", 0] = RecordedReply("something else")
    other = run_of(make_spec("mt-bench", models[0], judge=[JUDGES[0]]), changed)
    with pytest.raises(UsageError, match="different answers of org/one"):
        export_runs([runs[0].folder, other.folder], "fastchat", tmp_path / "unlike")


# -- OpenSeeSimE and MMLU -------------------------------------------------------------


def test_a_table_of_pictures_comes_back(home: Path, tmp_path: Path) -> None:
    said = ("yes\nIt bends.", "No", "Yes, because", None)
    items = []
    for n, text in enumerate(said):
        inputs = {
            "question": f"Is it, \"bent\" ({n})?", "choices": ["Yes", "No"], "video": n % 2 == 1,
            "file": f"beam_{n}.png", "question_id": n, "media": [],
        }  # fmt: skip
        tags = {
            "type": "Binary", "medium": "video" if n % 2 else "image", "simulation": "beam",
            "answer": "Yes",
        }  # fmt: skip
        told = {("candidate", "answer", 0): RecordedReply(text)} if text else {}
        items.append((Item(inputs, "Yes", tags), told))
    run = run_of(make_spec("openseesime", "answers/claude-x"), items)
    [name] = exported(run.folder, tmp_path / "out")
    [recorded] = openseesime.read_results(tmp_path / "out" / name)
    back = written(recorded)
    assert back.counts("accuracy_strict") == run.counts("accuracy_strict") == (1, 3)
    assert back.folder.status().failed == 1
    rows = list(csv.DictReader((tmp_path / "out" / name).read_text().splitlines()))
    assert [row["correct"] for row in rows] == ["True", "False", "False", "False"]
    assert [row["model_answer"] for row in rows] == ["Yes", "No", "None", "None"]


def test_an_experiment_comes_back(home: Path, tmp_path: Path) -> None:
    items = []
    for n, text in enumerate(("A", "The answer is (B)", "I do not know", "D", None)):
        inputs = {"question": f"q {n}", "choices": ["w", "x", "y", "z"]}
        tags = {"subject": "anatomy", "category": "STEM"}
        told = {("candidate", "answer", 0): RecordedReply(text)} if text else {}
        items.append((Item(inputs, 1 if n else 0, tags), told))
    run = run_of(make_spec("mmlu", "answers/claude", options={"family": "chat"}), items)
    assert sorted(exported(run.folder, tmp_path / "out")) == [
        "config.json", "questions.parquet", "results.parquet",
    ]  # fmt: skip
    recorded = mmlu_experiment.read_experiment(tmp_path / "out")
    back = written(recorded)
    assert back.counts("accuracy") == run.counts("accuracy") == (2, 4)
    assert any("1 question without a prediction" in note for note in recorded.notes)


def test_an_experiment_keeps_what_an_older_parser_read(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = Item({"question": "q", "choices": ["w", "x"]}, 1, {"subject": "anatomy"})
    spec = make_spec("mmlu", "answers/claude", options={"family": "chat"})
    with monkeypatch.context() as earlier:
        earlier.setattr("evalbench.engine.scoring.letters.LENIENT", "letter-lenient/1")
        run = run_of(spec, [(item, {("candidate", "answer", 0): RecordedReply("B")})])
    exported(run.folder, tmp_path / "out")
    assert pq.read_table(tmp_path / "out" / "results.parquet")["predicted"].to_pylist() == [1]


# -- what is refused ----------------------------------------------------------------


def test_what_does_not_fit_and_what_is_there_is_refused(home: Path, tmp_path: Path) -> None:
    inputs = {"question": "q", "choices": ["w", "x", "y", "z"]}
    item = Item(inputs, 1, {"subject": "anatomy", "category": "STEM"})
    spec = make_spec("mmlu", "answers/claude", options={"family": "chat"})
    run = run_of(spec, [(item, {("candidate", "answer", 0): RecordedReply("B")})])
    with pytest.raises(UsageError, match="a run of mmlu cannot be written as speceval"):
        export_runs([run.folder], "speceval", tmp_path / "out")
    with pytest.raises(UsageError, match="there is no format 'specevil'"):
        export_runs([run.folder], "specevil", tmp_path / "out")
    export_runs([run.folder], "mmlu-experiment", tmp_path / "out")
    with pytest.raises(UsageError, match="is there already"):
        export_runs([run.folder], None, tmp_path / "out")
    assert formats_of("custom")[0] == "json"
    for name, place, told in (
        ("mmlu-experiment", "run.csv", "several files"),
        ("csv", "run.json", "ending in .csv"),
        ("lm-eval", "run.jsonl", "several files"),
    ):
        with pytest.raises(UsageError, match=told):
            export_runs([run.folder], name, tmp_path / place)
        assert not (tmp_path / place).exists()
    assert export_runs([run.folder], "csv", tmp_path / "run.CSV").files == [tmp_path / "run.CSV"]
    assert export_runs([run.folder], "csv", tmp_path / "v1.2").files[0].parent == tmp_path / "v1.2"
    other = run_of(spec, [(item, {("candidate", "answer", 0): RecordedReply("A")})])
    both = export_runs([run.folder, other.folder], "mmlu-experiment", tmp_path / "both")
    assert {path.parent.name for path in both.files} == {run.folder.id, other.folder.id}
