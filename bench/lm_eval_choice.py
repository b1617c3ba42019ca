"""MMLU by log-likelihood: our command against lm-evaluation-harness, in one invocation.

Both run the same questions with the same few-shot prompts on the same weights
in float32 with one thread. Compared are the predicted letters, the
log-likelihoods, CPU seconds of everything each side starts, and memory::

    python -m venv /tmp/lm-eval && /tmp/lm-eval/bin/pip install 'lm-eval[hf]==0.4.13'
    python bench/lm_eval_choice.py --lm-eval-python /tmp/lm-eval/bin/python --data MMLU

``--data`` holds ``test.parquet`` and ``dev.parquet`` with the columns question,
subject, choices and answer. The exit status is 1 when fewer than 99 in 100
letters are equal or lm-evaluation-harness takes less than four times our CPU.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import pandas as pd
from whole_cost import Cost, measure

from evalbench.engine.calls import Outcome
from evalbench.engine.journal import JournalReader
from evalbench.providers.local.catalogue import DEFAULT, resolve
from evalbench.providers.local.weights import find

LETTERS = "ABCD"
SHOTS = 5
LEAST_EQUAL = 0.99
LEAST_RATIO = 4.0

Scores = dict[str, tuple[float, ...]]
"""Log-likelihoods of the four letters by the whole prompt text."""


def main() -> int:
    """Run both sides, print the comparison, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lm-eval-python", required=True, help="python with lm-eval 0.4.13")
    parser.add_argument("--data", required=True, type=Path, help="folder with the parquet files")
    parser.add_argument("--subject", action="append", help="default: abstract_algebra, anatomy")
    parser.add_argument("--limit", type=int, default=100, help="questions in all")
    options = parser.parse_args()
    subjects = options.subject or ["abstract_algebra", "anatomy"]
    weights = find(resolve(DEFAULT), lambda what, *_: print(what, file=sys.stderr))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        arguments = folder, options.data.absolute(), subjects, options.limit
        print("running lm-evaluation-harness", file=sys.stderr)
        theirs, their_cost = run_lm_eval(*arguments, options.lm_eval_python, weights.folder)
        print("running evalbench", file=sys.stderr)
        ours, our_cost = run_evalbench(*arguments)
    return compare(theirs, their_cost, ours, our_cost)


def environment(**more: str) -> dict[str, str]:
    """One thread, no network."""
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    return {**os.environ, "OMP_NUM_THREADS": "1", **offline, **more}


def run_lm_eval(
    scratch: Path, data: Path, subjects: list[str], limit: int, python: str, weights: Path
) -> tuple[Scores, Cost]:
    """Score with lm-evaluation-harness: one local task per subject, batch size 1."""
    tasks = scratch / "tasks"
    tasks.mkdir()
    test, dev = (pd.read_parquet(data / f"{name}.parquet") for name in ("test", "dev"))
    for subject in subjects:
        questions = test[test.subject == subject].head(limit // len(subjects))
        write_rows(tasks / f"{subject}.test.jsonl", questions)
        write_rows(tasks / f"{subject}.dev.jsonl", dev[dev.subject == subject])
        (tasks / f"{subject}.yaml").write_text(task(tasks, subject))
    command = [
        *(python, "-m", "lm_eval", "run", "--model", "hf", "--device", "cpu"),
        *("--model_args", f"pretrained={weights},dtype=float32", "--batch_size", "1"),
        *("--tasks", ",".join(f"bench_{subject}" for subject in subjects)),
        *("--include_path", str(tasks), "--log_samples", "--output_path", str(scratch / "out")),
    ]
    log = scratch / "lm-eval.log"
    env = environment(HF_HOME=str(scratch / "hf"))
    cost = measure(command, env=env, log=log, cwd=scratch)
    if cost.status:
        raise SystemExit(f"lm-evaluation-harness failed:\n{log.read_text()[-3000:]}")
    scores: Scores = {}
    for file in (scratch / "out").rglob("samples_*.jsonl"):
        for line in file.read_text().splitlines():
            row = json.loads(line)
            first = row["arguments"]["gen_args_0"]["arg_0"]
            scores[first] = tuple(float(likelihood(reply)) for reply in row["resps"])
    return scores, cost


def likelihood(reply: Any) -> Any:
    """The number in a logged response, ``[likelihood, is greedy]`` in one or two lists."""
    while isinstance(reply, list):
        reply = reply[0]
    return reply


def write_rows(path: Path, rows: pd.DataFrame) -> None:
    """The rows as JSON lines."""
    with path.open("w") as file:
        for row in rows.itertuples():
            value = {"question": row.question, "choices": list(row.choices)}
            file.write(json.dumps({**value, "answer": int(row.answer)}) + "\n")


def task(folder: Path, subject: str) -> str:
    """An lm-evaluation-harness task that asks MMLU's original way."""
    options = "\\n".join(f"{letter}. {{{{choices[{n}]}}}}" for n, letter in enumerate(LETTERS))
    title = subject.replace("_", " ")
    return f"""\
task: bench_{subject}
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


def run_evalbench(
    scratch: Path, data: Path, subjects: list[str], limit: int
) -> tuple[Scores, Cost]:
    """Score with the real command; its engine and worker are processes of their own."""
    command = [
        *(sys.executable, "-m", "evalbench.tui.cli.main", "run", "mmlu"),
        *("--model", f"local/{DEFAULT}", "--data", str(data), "--family", "original"),
        *("--shots", str(SHOTS), "--limit", str(limit), "--threads", "1", "--no-ui", "--json"),
        *(part for subject in subjects for part in ("--subject", subject)),
        *("--run-dir", str(scratch / "runs")),
    ]
    log = scratch / "evalbench.log"
    cost = measure(command, env=environment(), log=log, cwd=scratch)
    if cost.status:
        raise SystemExit(f"evalbench failed:\n{log.read_text()[-3000:]}")
    journal = next((scratch / "runs").rglob("journal.db"))
    scores: Scores = {}
    with JournalReader(journal) as reader:
        for sample in reader.samples():
            (call,) = reader.calls(sample.row)
            assert call.reply is not None
            assert call.reply.outcome is Outcome.OK
            scores[call.prompt.messages[0].text] = call.reply.logprobs
    return scores, cost


def compare(theirs: Scores, their_cost: Cost, ours: Scores, our_cost: Cost) -> int:
    """Print both sides; 0 when they agree and ours is cheap enough."""
    if theirs.keys() != ours.keys():
        print(f"the prompts differ: {len(theirs.keys() ^ ours.keys())} occur on one side only")
        return 1
    equal = sum(letter(theirs[prompt]) == letter(ours[prompt]) for prompt in ours)
    gap = max(abs(a - b) for p in ours for a, b in zip(theirs[p], ours[p], strict=True))
    ratio = their_cost.cpu_s / our_cost.cpu_s
    print(f"questions {len(ours)}, float32, 1 thread")
    for name, cost in (("lm-evaluation-harness", their_cost), ("evalbench", our_cost)):
        print(
            f"{name:24} {cost.cpu_s:8.1f} CPU-s {cost.wall_s:8.1f} s {cost.peak_mib:6.0f} MiB peak"
        )
    print(f"equal letters {equal} of {len(ours)}, largest difference {gap:.6f} nats")
    print(f"CPU ratio {ratio:.2f} (at least {LEAST_RATIO:g} wanted)")
    return 0 if equal >= LEAST_EQUAL * len(ours) and ratio >= LEAST_RATIO else 1


def letter(logprobs: tuple[float, ...]) -> str:
    """The predicted letter."""
    return LETTERS[logprobs.index(max(logprobs))]


if __name__ == "__main__":
    sys.exit(main())
