"""What we write is read by the systems that it is written for, and what they write by us."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.formats import export_runs
from evalbench.engine.formats.inspect import reader as inspect_log
from evalbench.engine.formats.lm_eval import reader as lm_eval
from evalbench.engine.journal import JournalReader
from tests.contract.test_exporting_formats import metrics_of, mmlu_run, mt_bench_run
from tests.imports import written
from tests.nasty import nasty_run

pytestmark = pytest.mark.peers

PEERS = Path(__file__).parents[2] / ".make" / "peers"

READ_LOG = """
import json, sys
from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries
log = read_eval_log(sys.argv[1])
json.dump({
    "status": log.status, "model": log.eval.model, "task": log.eval.task,
    "total": log.results.total_samples, "completed": log.results.completed_samples,
    "metrics": {name: m.value for s in log.results.scores for name, m in s.metrics.items()},
    "summaries": len(read_eval_log_sample_summaries(sys.argv[1])),
    "samples": [{
        "id": s.id, "epoch": s.epoch, "target": s.target,
        "input": s.input if isinstance(s.input, str) else s.input[-1].text,
        "said": s.output.completion if s.output.choices else None,
        "score": next(iter(s.scores.values())).as_float() if s.scores else None,
        "error": s.error.message if s.error else None, "events": len(s.events),
    } for s in log.samples],
}, sys.stdout)
"""

MAKE_LOG = """
import sys, types
tiktoken = sys.modules["tiktoken"] = types.ModuleType("tiktoken")
class Words:
    def encode(self, text, **_): return text.split()
    encode_ordinary = encode
tiktoken.get_encoding = tiktoken.encoding_for_model = lambda *_: Words()
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice
outputs = [ModelOutput.from_content("mockllm/model", f"ANSWER: {c}") for c in "ABCDBB"]
samples = [
    Sample(input=f"How much is {n}?" + " long" * 500, choices=["w", "x", "y", "z"], target="B",
           metadata={"subject": "anatomy"})
    for n in range(6)
]
task = Task(dataset=MemoryDataset(samples, name="tiny"), solver=multiple_choice(),
            scorer=choice(), name="tiny_mmlu")
eval(task, model=get_model("mockllm/model", custom_outputs=outputs), log_dir=sys.argv[1],
     log_format=sys.argv[2], display="none")
"""

READ_RESULTS = """
import glob, json, sys
from lm_eval.utils import get_results_filenames, get_sample_results_filenames, make_table
files = glob.glob(sys.argv[1] + "/*")
[results], [samples] = get_results_filenames(files), get_sample_results_filenames(files)
held = json.load(open(results))
rows = [json.loads(line) for line in open(samples)]
json.dump({"table": make_table(held), "results": held["results"], "rows": rows}, sys.stdout)
"""


def peer(tmp_path: Path, code: str, *words: str) -> str:
    """What a script prints that has the peers' packages."""
    env = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    env |= {"PYTHONPATH": str(PEERS), "HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        env=env, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def read(tmp_path: Path, code: str, *words: str) -> Any:
    return json.loads(peer(tmp_path, code, *words).splitlines()[-1])


def test_inspect_reads_our_log(home: Path, tmp_path: Path) -> None:
    run = mmlu_run(epochs=2)
    [path] = export_runs([run], "inspect", tmp_path / "logs").files
    log = read(tmp_path, READ_LOG, str(path))
    accuracy = metrics_of(run)["accuracy"]
    assert (log["status"], log["model"], log["task"]) == ("success", "openai/gpt-4.1", "mmlu")
    assert (log["total"], log["completed"], log["summaries"]) == (10, 8, 10)
    assert log["metrics"]["accuracy"] == accuracy["value"]
    scores = [one["score"] for one in log["samples"] if one["score"] is not None]
    assert (sum(scores), len(scores)) == (accuracy["k"], accuracy["n"])
    with JournalReader(run.journal) as journal:
        for row in journal.samples():
            for call in journal.calls(row.row):
                [one] = [
                    one
                    for one in log["samples"]
                    if (one["id"], one["epoch"]) == (row.sample.id, call.key.epoch + 1)
                ]
                assert one["target"] == "ABCD"[row.sample.gold]
                assert one["input"] == call.prompt.messages[-1].text or one["error"]
                if call.reply is None or call.reply.error:
                    assert one["error"] == "Overloaded: no room"
                else:
                    assert one["error"] != "Overloaded: no room"
                    assert one["said"] == call.reply.text


def test_inspect_reads_judged_and_nasty_runs(home: Path, tmp_path: Path) -> None:
    run = mt_bench_run()
    [path] = export_runs([run], "inspect", tmp_path / "judged").files
    log = read(tmp_path, READ_LOG, str(path))
    scores = [one["score"] for one in log["samples"]]
    assert sum(scores) / 3 == pytest.approx(metrics_of(run)["score"]["value"])
    assert {one["events"] for one in log["samples"]} == {6}
    nasty = asyncio.run(nasty_run()).folder
    [path] = export_runs([nasty], "inspect", tmp_path / "nasty").files
    assert read(tmp_path, READ_LOG, str(path))["status"] == "started"


@pytest.mark.parametrize("form", ["eval", "json"])
def test_we_read_their_log(home: Path, tmp_path: Path, form: str) -> None:
    peer(tmp_path, MAKE_LOG, str(tmp_path / "logs"), form)
    [path] = (tmp_path / "logs").glob(f"*.{form}")
    recorded = inspect_log.read_log(path)
    run = written(recorded)
    assert run.counts("choice") == run.counts("choice/subject=anatomy") == (3, 6)
    assert recorded.spec.model == "answers/mockllm/model"
    assert any("accuracy 0.5" in note for note in recorded.notes)
    [item, *_] = [item for item, _ in recorded.items]
    assert item.inputs["question"].startswith("How much is 0? long")
    same = written(inspect_log.read_log(path, "mmlu"))
    assert same.counts("accuracy") == (3, 6)


def test_the_harness_reads_our_results(home: Path, tmp_path: Path) -> None:
    run = mmlu_run(("A", "B", "C", "D"), epochs=2)
    [samples, _] = export_runs([run], "lm-eval", tmp_path / "out").files
    told = read(tmp_path, READ_RESULTS, str(samples.parent))
    accuracy = metrics_of(run)["accuracy"]
    assert told["results"]["mmlu"]["acc,none"] == accuracy["value"]
    assert sum(row["acc"] for row in told["rows"]) == accuracy["k"] / 2
    assert len(told["rows"]) == accuracy["n"] / 2
    assert {len(row["resps"][0]) for row in told["rows"]} == {2}
    assert "|acc" in told["table"]
    [back] = lm_eval.read_samples(samples.parent)
    assert written(back).metrics["acc"]["value"] == accuracy["value"]
