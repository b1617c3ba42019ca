"""lm-evaluation-harness on the questions of ``local.py``: its tasks, its command, what it logs.

It runs in this Python with the packages of a folder before it (``lm-eval.txt``), so both
sides stand on the same torch and transformers.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from bench.whole_cost import Cost, measure

LETTERS = "ABCD"
SHOTS = 5
TAG = "bench"
"""What all tasks are known by together."""

Scores = dict[str, tuple[float, ...]]
"""Log-likelihoods of the four letters by the whole prompt text."""


def environment(**more: str) -> dict[str, str]:
    """One thread, no network, and no model that stays loaded: each command has its whole cost."""
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    return {
        **os.environ,
        "EVALBENCH_KEEP_LOADED": "0",
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        **offline,
    } | more


@dataclass(frozen=True)
class LmEval:
    """lm-evaluation-harness with one model.

    Attributes:
        packages: the folder that holds it.
        weights: the model's folder.
        scratch: where tasks and results go.
        device: where it runs.
    """

    packages: Path
    weights: Path
    scratch: Path
    device: str = "cpu"

    def score(
        self, data: Path, subjects: Sequence[str], limit: int, dtype: str, batch: int
    ) -> tuple[Scores, Cost]:
        """MMLU by log-likelihood, asked the original way: one task per subject."""
        tasks = self._folder("tasks")
        test, dev = (pd.read_parquet(data / f"{name}.parquet") for name in ("test", "dev"))
        for subject in subjects:
            questions = test[test.subject == subject].head(limit // len(subjects))
            _write_questions(tasks / f"{subject}.test.jsonl", questions)
            _write_questions(tasks / f"{subject}.dev.jsonl", dev[dev.subject == subject])
            (tasks / f"{subject}.yaml").write_text(_choice_task(tasks, subject))
        names = [f"bench_{subject}" for subject in subjects]
        rows, cost = self._run(tasks, names, dtype, batch)
        scores = {
            row["arguments"]["gen_args_0"]["arg_0"]: tuple(
                float(_first(reply)) for reply in row["resps"]
            )
            for row in rows
        }
        return scores, cost

    def newest_tasks(self) -> Path:
        """The task files of the last round."""
        return max(self.scratch.glob("tasks-*"), key=lambda one: int(one.name.rpartition("-")[2]))

    def write(
        self, prompts: Sequence[str], most: int, dtype: str, batch: int
    ) -> tuple[list[str], Cost]:
        """Greedy answers to ``prompts`` of at most ``most`` tokens, by the chat template."""
        tasks = self._folder("tasks")
        lines = (json.dumps({"prompt": prompt}) for prompt in prompts)
        (tasks / "prompts.jsonl").write_text("\n".join(lines) + "\n")
        (tasks / "write.yaml").write_text(_writing_task(tasks, most))
        rows, cost = self._run(tasks, ["bench_write"], dtype, batch, "--apply_chat_template")
        texts = {row["doc"]["prompt"]: str(_first(row["resps"])) for row in rows}
        return [texts[prompt] for prompt in prompts], cost

    def _run(
        self, tasks: Path, names: Sequence[str], dtype: str, batch: int, *more: str
    ) -> tuple[list[Any], Cost]:
        out = self._folder("out")
        command = [
            *(sys.executable, "-m", "lm_eval", "run", "--model", "hf", "--device", self.device),
            *("--model_args", f"pretrained={self.weights},dtype={dtype}"),
            *("--batch_size", str(batch), "--tasks", ",".join(names), *more),
            *("--include_path", str(tasks), "--log_samples", "--output_path", str(out)),
        ]
        log = self.scratch / "lm-eval.log"
        env = environment(HF_HOME=str(self.scratch / "hf"), PYTHONPATH=str(self.packages))
        cost = measure(command, env=env, log=log, cwd=self.scratch)
        if cost.status:
            raise SystemExit(f"lm-evaluation-harness failed:\n{log.read_text()[-3000:]}")
        files = out.rglob("samples_*.jsonl")
        return [json.loads(line) for file in files for line in file.read_text().splitlines()], cost

    def _folder(self, name: str) -> Path:
        """A new folder of that name: no round may read what an earlier one left."""
        number = sum(1 for _ in self.scratch.glob(f"{name}-*"))
        folder = self.scratch / f"{name}-{number}"
        folder.mkdir()
        return folder


def _first(reply: Any) -> Any:
    """What a logged response holds, in one or two lists."""
    while isinstance(reply, list):
        reply = reply[0]
    return reply


def _write_questions(path: Path, rows: pd.DataFrame) -> None:
    with path.open("w") as file:
        for row in rows.to_dict("records"):
            value = {"question": row["question"], "choices": list(row["choices"])}
            file.write(json.dumps({**value, "answer": int(row["answer"])}) + "\n")


def _choice_task(folder: Path, subject: str) -> str:
    options = "\\n".join(f"{letter}. {{{{choices[{n}]}}}}" for n, letter in enumerate(LETTERS))
    title = subject.replace("_", " ")
    return f"""\
task: bench_{subject}
tag: {TAG}
dataset_path: json
dataset_kwargs:
  data_files:
    test: {folder / subject}.test.jsonl
    dev: {folder / subject}.dev.jsonl
test_split: test
fewshot_split: dev
num_fewshot: {SHOTS}
fewshot_config:
  sampler: first_n
output_type: multiple_choice
description: "The following are multiple choice questions (with answers) about {title}.\\n\\n"
doc_to_text: "{{{{question.strip()}}}}\\n{options}\\nAnswer:"
doc_to_choice: {json.dumps(list(LETTERS))}
doc_to_target: answer
metric_list:
  - metric: acc
"""


def _writing_task(folder: Path, most: int) -> str:
    return f"""\
task: bench_write
dataset_path: json
dataset_kwargs:
  data_files:
    test: {folder}/prompts.jsonl
test_split: test
output_type: generate_until
doc_to_text: "{{{{prompt}}}}"
doc_to_target: ""
generation_kwargs:
  until: ["<|im_end|>"]
  max_gen_toks: {most}
  do_sample: false
metric_list:
  - metric: bypass
"""
