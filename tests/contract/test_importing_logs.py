"""Logs of inspect and sample files of lm-evaluation-harness as runs."""

from __future__ import annotations

import asyncio
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.compare import compare
from evalbench.engine.errors import DataError, EvalbenchError
from evalbench.engine.formats import export_runs
from evalbench.engine.formats.full.reader import import_whole
from evalbench.engine.formats.inspect import reader as inspect_log
from evalbench.engine.formats.lm_eval import reader as lm_eval
from evalbench.engine.journal import JournalReader
from tests.contract.test_exporting_formats import metrics_of, mmlu_run
from tests.imports import write_json, write_lines, written

Row = dict[str, Any]


def message(role: str, text: str) -> Row:
    return {"role": role, "content": text}


def sample(number: int, value: Any, **more: Any) -> Row:
    """A sample of a log."""
    return {
        "id": number,
        "epoch": 1,
        "input": f"question {number}",
        "target": "yes",
        "messages": [message("user", f"question {number}"), message("assistant", "no")],
        "output": {"model": "m", "choices": [{"message": message("assistant", "no")}], "time": 2},
        "scores": {"match": {"value": value, "answer": "no", "explanation": "it is short"}},
        "metadata": {"category": "small", "other": {}},
        **more,
    }


def log(path: Path, samples: list[Row], **more: Any) -> Path:
    head = {"version": 2, "status": "success", "eval": {"task": "tiny", "model": "org/m"}}
    return write_json(path, head | {"samples": samples} | more)


def test_values_are_read_as_inspect_reads_them(home: Path, tmp_path: Path) -> None:
    values = ["C", "I", "P", "N", 0.25, True, "0.5", "yes", {"a": 1, "b": "I"}, "odd", None]
    rows = [sample(n, value) for n, value in enumerate(values)]
    rows.append(sample(20, "C", error={"message": "it broke"}))
    rows.append(sample(1, "C", epoch=2))
    recorded = inspect_log.read_log(log(tmp_path / "log.json", rows))
    run = written(recorded)
    # The two epochs of sample 1 are one right and one wrong.
    assert run.counts("match") == (1 + (0 + 1) + 0.5 + 0.25 + 1 + 0.5 + 1, 9)
    assert (run.counts("match/a"), run.counts("match/b")) == ((1, 1), (0, 1))
    assert run.folder.status().outcomes["unparsed"] == 2
    assert run.folder.status().failed == 1
    assert recorded.notes == [
        "2 scores that are no number were left out",
        "1 sample with an error: failed, not wrong",
        "2 epochs",
    ]


def test_a_zipped_log_keeps_every_epoch(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("header.json", json.dumps({"eval": {"task": "tiny", "model": "org/m"}}))
        for number in (1, 2):
            for epoch, value in enumerate("CIC", 1):
                row = sample(number, value, epoch=epoch)
                packed.writestr(f"samples/{number}_epoch_{epoch}.json", json.dumps(row))
    recorded = inspect_log.read_log(path)
    run = written(recorded)
    assert run.counts("match") == (4, 6)
    assert run.folder.spec().get("epochs") == 3
    assert run.folder.status().total == 6
    assert recorded.notes == ["3 epochs"]


def test_texts_that_lie_apart_are_put_in(home: Path, tmp_path: Path) -> None:
    row = sample(1, "C", input="attachment://abc", attachments={"abc": "the long question"})
    recorded = inspect_log.read_log(log(tmp_path / "log.json", [row]))
    assert recorded.items[0][0].inputs["question"] == "the long question"


def test_a_run_of_ours_comes_back_through_inspect(home: Path, tmp_path: Path) -> None:
    run = mmlu_run()
    [path] = export_runs([run], "inspect", tmp_path).files
    before = metrics_of(run)["accuracy"]
    assert written(inspect_log.read_log(path)).counts("mmlu") == (before["k"], before["n"])


def test_logs_pair_with_each_other_and_with_runs_of_mmlu(home: Path, tmp_path: Path) -> None:
    one, other = mmlu_run(("B", "B", "A", "B")), mmlu_run(("A", "B", "B", "C"))
    as_logs = []
    for n, run in enumerate((one, other)):
        [samples, _] = export_runs([run], "lm-eval", tmp_path / str(n)).files
        [recorded] = lm_eval.read_samples(samples)
        as_logs.append(written(recorded).folder)
        [recorded] = lm_eval.read_samples(samples, "mmlu")
        paired = compare([run, written(recorded).folder])
        assert (paired.pairs[0].n, len(paired.flips)) == (4, 0)
    assert compare(as_logs).pairs[0].n == 4
    assert len(compare(as_logs).flips) == len(compare([one, other]).flips) > 0


@pytest.mark.parametrize("subject", ["STEM", "anatomy", "astrology"])
def test_a_subject_of_mmlu_may_be_a_category(home: Path, tmp_path: Path, subject: str) -> None:
    sample = {
        "id": 1,
        "epoch": 1,
        "input": "Which is a bone?",
        "choices": ["rib", "lung", "eye", "skin"],
        "target": "A",
        "metadata": {"subject": subject},
        "output": {"choices": [{"message": {"role": "assistant", "content": "A"}}]},
    }
    path = log(tmp_path / "log.json", [sample])
    if subject == "astrology":
        with pytest.raises(DataError, match="this is no sample of a log") as told:
            inspect_log.read_log(path, "mmlu")
        assert "'astrology' is no subject or category of MMLU" in told.value.why
    else:
        [(item, _)] = inspect_log.read_log(path, "mmlu").items
        assert item.tags == {
            "subject": subject,
            "category": "STEM" if subject == "STEM" else "other",
        }


def test_a_damaged_log_is_refused(home: Path, tmp_path: Path) -> None:
    [path] = export_runs([mmlu_run()], "inspect", tmp_path).files
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"not JSON|no whole"):
        inspect_log.read_log(path)
    with zipfile.ZipFile(tmp_path / "empty.eval", "w") as packed:
        packed.writestr("other.json", "{}")
    with pytest.raises(DataError, match="no log of inspect"):
        inspect_log.read_log(tmp_path / "empty.eval")
    with pytest.raises(DataError, match="no sample of a log"):
        inspect_log.read_log(log(tmp_path / "log.json", [{"id": 1}]))
    with pytest.raises(DataError, match="there are no samples"):
        inspect_log.read_log(log(tmp_path / "none.json", []))
    with pytest.raises(DataError, match="names no task"):
        inspect_log.read_log(write_json(tmp_path / "odd.json", {"eval": 3}))


@pytest.mark.parametrize("name", ["../../../up", "/tmp/up", "a\x00b", "x/../../up"])
def test_names_in_a_log_lead_nowhere(home: Path, tmp_path: Path, name: str) -> None:
    before = set(tmp_path.iterdir())
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    refers = f"attachment://../../{secret}"
    shown = {"type": "image", "image": f"file://{secret}"}
    row = sample(1, "C", input=[message("user", refers), {"role": "user", "content": [shown]}])
    head = {"task": name, "model": f"org/{name}", "dataset": {"location": str(secret)}}
    try:
        run = written(inspect_log.read_log(log(tmp_path / "log.json", [row], eval=head))).folder
    except DataError:
        pass
    else:
        assert run.path.parent == home / "runs"
        assert b"the secret" not in run.journal.read_bytes()
        with JournalReader(run.journal) as journal:
            assert "the secret" not in repr(list(journal.samples()))
    assert set(tmp_path.iterdir()) - before <= {home, secret, tmp_path / "log.json"}


@pytest.mark.parametrize("name", ["../../../up", "/tmp/up", "x/../../up"])
def test_names_in_an_exported_run_lead_nowhere(home: Path, tmp_path: Path, name: str) -> None:
    [path] = export_runs([mmlu_run()], "json", tmp_path / "out").files
    given = path.read_text()
    assert '"benchmark":"mmlu"' in given
    path.write_text(given.replace('"benchmark":"mmlu"', json.dumps({"benchmark": name})[1:-1]))
    before = {file for file in tmp_path.rglob("*") if home not in file.parents}
    try:
        run = asyncio.run(import_whole(path))
    except EvalbenchError:
        pass
    else:
        assert run.path.parent == home / "runs"
    assert {file for file in tmp_path.rglob("*") if home not in file.parents} == before


# -- lm-evaluation-harness -------------------------------------------------------------

DATE = "2026-11-28T09-11-33.752082"


def likelihoods(number: int, subject: str, best: int) -> Row:
    """A document of MMLU, answered by log-likelihood, as the harness logs it."""
    letters = [" A", " B", " C", " D"]
    return {
        "doc_id": number,
        "doc": {
            "question": f"How much is {number}?", "choices": ["w", "x", "y", "z"],
            "answer": 1, "subject": subject,
        },
        "target": 1,
        "arguments": {
            f"gen_args_{n}": {"arg_0": f"Q{number}", "arg_1": letter}
            for n, letter in enumerate(letters)
        },
        "resps": [[[str(-1.0 if n == best else -3.0), "False"]] for n in range(4)],
        "filtered_resps": [[str(-1.0 if n == best else -3.0), "False"] for n in range(4)],
        "filter": "none",
        "metrics": ["acc"],
        "doc_hash": "a", "prompt_hash": "b", "target_hash": "c",
        "acc": 1.0 if best == 1 else 0.0,
    }  # fmt: skip


def harness_folder(place: Path) -> Path:
    """Two tasks of one group."""
    for subject, best in (("anatomy", (1, 1, 0)), ("virology", (1, 3))):
        rows = [likelihoods(n, subject, one) for n, one in enumerate(best)]
        write_lines(place / f"samples_mmlu_{subject}_{DATE}.jsonl", rows)
    groups = {"mmlu": ["mmlu_stem", "mmlu_other"], "mmlu_stem": ["mmlu_anatomy"]}
    groups["mmlu_other"] = ["mmlu_virology"]
    results = {"mmlu": {"alias": "mmlu", "acc,none": 0.6, "acc_stderr,none": 0.1}}
    held = {"results": results, "group_subtasks": groups, "model_name": "org/model"}
    write_json(place / f"results_{DATE}.json", held)
    return place


def test_tasks_of_a_group_become_one_run(home: Path, tmp_path: Path) -> None:
    folder = harness_folder(tmp_path / "org__model")
    [recorded] = lm_eval.read_samples(folder)
    run = written(recorded)
    assert run.counts("acc") == (3, 5)
    assert run.counts("acc/task=mmlu_virology") == (1, 2)
    assert recorded.spec.model == "answers/org/model"
    assert recorded.notes == ["the results file says: acc,none 0.6"]
    with JournalReader(run.folder.journal) as journal:
        calls = journal.calls(1)
        assert next(call.reply.text for call in calls if call.reply) == "B"
    [alone] = lm_eval.read_samples(folder / f"samples_mmlu_virology_{DATE}.jsonl")
    assert written(alone).counts("acc") == (1, 2)
    [same] = lm_eval.read_samples(folder, "mmlu")
    assert written(same).counts("accuracy") == (3, 5)


def test_every_filter_is_a_score(home: Path, tmp_path: Path) -> None:
    base = {
        "doc": {"problem": "1 + 1"}, "target": "2", "arguments": [["Q", {}]],
        "resps": [["It is 2."]], "metrics": ["exact_match", "odd"], "odd": [1, 2],
    }  # fmt: skip
    rows = [
        base | {"doc_id": n, "filter": name, "exact_match": float(hit)}
        for name, hits in (("strict-match", (0, 0)), ("flexible-extract", (1, 0)))
        for n, hit in enumerate(hits)
    ]
    path = write_lines(tmp_path / "model" / f"samples_gsm8k_{DATE}.jsonl", rows)
    [recorded] = lm_eval.read_samples(path)
    run = written(recorded)
    assert run.counts("exact_match,strict-match") == (0, 2)
    assert run.counts("exact_match,flexible-extract") == (1, 2)
    assert recorded.items[0][0].inputs["question"] == "1 + 1"
    assert recorded.notes == ["4 scores that are no number were left out"]


def test_samples_that_are_none_are_refused(home: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no samples_TASK"):
        lm_eval.read_samples(tmp_path)
    bad = tmp_path / f"samples_x_{DATE}.jsonl"
    for text in ("{", "[1]", json.dumps({"doc_id": 1})):
        bad.write_text(text)
        with pytest.raises(DataError, match="this is no sample"):
            lm_eval.read_samples(bad)
