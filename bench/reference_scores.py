"""Published scores of published replies, read again by our benchmarks.

Clones of repositories that have both, each read where it is::

    python bench/reference_scores.py --bbh CLONE --mmlu-pro CLONE --gsm8k CLONE …

that is suzgunmirac/BIG-Bench-Hard (code-davinci-002, three examples with reasoning),
TIGER-AI-Lab/MMLU-Pro (five examples with reasoning; unpack ``eval_results/*.zip`` first),
openai/grade-school-math (models trained on the set), the authors' data of IFEval (``data`` of
google-research's ``instruction_following_eval``), MMMU-Benchmark/MMMU (its example outputs),
microsoft/CodeT (CodeGen 16B on HumanEval, 100 programs for each problem) and noahshinn/reflexion
(GPT-4 on HumanEval and MBPP). Printed are the published score, where each reply has one, and ours.
No model is called; programs run in the sandbox.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from evalbench.engine.benchmark import DataSource, SequentialAsk, sample_ids
from evalbench.engine.calls import Outcome, Prompt, Reply
from evalbench.engine.config.spec import build_benchmark, make_spec
from evalbench.engine.scoring.tally import Tally

Report = tuple[dict[str, Any], list[str], float | None]
"""A row with the set's published columns, the model's replies, and its published score if known."""
Read = tuple[str, list[Report]]
"""Whose replies they are, and the replies."""


class _Given(SequentialAsk):
    """Answers with replies that are there already."""

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts

    async def __call__(
        self, role: str, prompt: Prompt, *, step: str = "answer", repeat: int = 0
    ) -> Reply:
        return Reply(text=self._texts[repeat], outcome=Outcome.OK)


def read_again(
    benchmark: str, given_replies: list[Report], folder: Path, shown: Iterable[str], **options: Any
) -> str:
    """The count of replies, the published mean and our metrics, in percent."""
    table = folder / "test.jsonl"
    table.write_text("".join(json.dumps(row) + "\n" for row, _, _ in given_replies))
    spec = make_spec(benchmark, "answers/x", data=str(table), options=options)
    data = build_benchmark(spec).prepare(DataSource(table, folder))
    samples = list(sample_ids(data.items))
    bench = build_benchmark(make_spec(benchmark, "answers/x", options=options), data.shared)
    tally = Tally()

    async def score() -> None:
        for sample, (_, texts, _) in zip(samples, given_replies, strict=True):
            found = await bench.solve(sample, _Given(texts))
            tally.add(sample.tags, found.outcome, found.values)

    asyncio.run(score())
    known = [score for _, _, score in given_replies if score is not None]
    numbers = {one.name: one.value for one in bench.metrics(tally)}
    found = {"published": sum(known) / len(known) if known else None}
    found |= {name: numbers[name] for name in shown}
    values = "  ".join(
        f"{name} {'–' if value is None else f'{100 * value:.2f}'}" for name, value in found.items()
    )
    return f"{len(given_replies):6}  {values}"


def bbh(clone: Path) -> Iterator[Read]:
    """Each task of code-davinci-002, and all of them."""
    folder = clone / "code-davinci-002-outputs" / "code-davinci-002-cot"
    every: list[Report] = []
    for path in sorted(folder.glob("*_few_shot_template_0-255000.json")):
        task = path.name.removesuffix("_few_shot_template_0-255000.json")
        metrics = path.with_name(f"{path.stem}_eval_metrics.jsonl").read_text().splitlines()
        accuracy = json.loads(metrics[0])["accuracy"] / 100
        found: list[Report] = []
        for one in json.loads(path.read_text())["outputs"]:
            question = one["input"].rpartition("\n\nQ: ")[2].removeprefix("Q: ")
            question = question.removesuffix("\nA: Let's think step by step.")
            row = {"config": task, "input": question, "target": one["target"]}
            found.append((row, [one["prediction"]], accuracy))
        yield task, found
        every += found
    yield "all tasks", every


def mmlu_pro(clone: Path) -> Iterator[Read]:
    """Each model whose outputs are unpacked; published is the choice that they store."""
    for path in sorted((clone / "eval_results").glob("*.json")):
        found: list[Report] = []
        for row in json.loads(path.read_text()):
            if len(row["options"]) < 2:
                continue  # in outputs of 2024: later revisions of the set have more
            text = row.get("generated_text") or row.get("model_outputs") or ""
            found.append((row, [text], float(row.get("pred") == row["answer"])))
        yield path.stem.removeprefix("model_outputs_"), found


def gsm8k(clone: Path) -> Iterator[Read]:
    """The four models of the authors."""
    path = clone / "grade_school_math" / "data" / "example_model_solutions.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for model in ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"):
        yield (
            model,
            [
                (
                    {
                        "question": row["question"],
                        "answer": row["ground_truth"].replace("\nA: ", "\n#### "),
                    },
                    [row[model]["solution"]],
                    float(row[model]["is_correct"]),
                )
                for row in rows
            ],
        )


def ifeval(clone: Path) -> Iterator[Read]:
    """GPT-4 of November 2023."""
    rows = _lines(clone / "data" / "input_data.jsonl")
    replies = {
        one["prompt"]: one["response"]
        for one in _lines(clone / "data" / "input_response_data_gpt4_20231107_145030.jsonl")
    }
    yield "gpt-4", [(row, [replies[row["prompt"]]], None) for row in rows]


def mmmu(clone: Path) -> Iterator[Read]:
    """Two models of the paper."""
    for model in ("llava1.5_13b", "qwen_vl"):
        found: list[Report] = []
        for path in sorted((clone / "mmmu" / "example_outputs" / model).glob("*/output.json")):
            for one in json.loads(path.read_text()):
                options = list(one.get("index2ans", {}).values())
                row = {"id": one["id"], "question": one["id"], "answer": one["answer"]}
                found.append((row | {"options": options}, [one["response"]], None))
        yield model, found


_STOPS = re.compile("\n(?:class|def|#|if|print)")


def codet(clone: Path) -> Iterator[Read]:
    """CodeGen 16B, whose replies end where the authors' sampling does."""
    folder = clone / "CodeT" / "data"
    replies = {
        one["prompt"]: [_STOPS.split(text)[0] for text in one["samples"]]
        for one in _lines(
            folder
            / "generated_data"
            / "HumanEval_codegen16B_temp0.8_topp0.95_num100_max300_code_solution.jsonl"
        )
    }
    rows = _lines(folder / "dataset" / "HumanEval_for_code_generation.jsonl")
    yield "CodeGen 16B", [(row, replies[row["prompt"]], None) for row in rows]


def reflexion_humaneval(clone: Path) -> Iterator[Read]:
    """Single programs of two models, and GPT-4 with reflection."""
    folder = clone / "programming_runs" / "root"
    for name, path in {
        "text-davinci-003": "simple_test_run/simple_1_text-davinci-003_pass_at_k_1",
        "gpt-4": "simple_test_run/simple_1_gpt-4_pass_at_k_1",
        "gpt-4, Reflexion": "reflexion_humaneval_py_pass_at_1/reflexion_humaneval_py_pass_at_1",
    }.items():
        rows = _lines(folder / f"{path}.jsonl")
        yield name, [(row, [row["solution"]], float(row["is_solved"])) for row in rows]


def reflexion_mbpp(clone: Path) -> Iterator[Read]:
    """The same with tasks of MBPP, which MultiPL-E puts as signatures with a docstring."""
    folder = clone / "programming_runs" / "root"
    for name, path in {
        "gpt-4": "simple_mbpp_py/mbpp-py._simple_1_gpt-4_pass_at_k_1_py.jsonl",
        "gpt-4, Reflexion": "reflexion_mbpp_py/mbpp-py._reflexion_5_gpt-4_pass_at_k_1_py.jsonl",
    }.items():
        found: list[Report] = []
        for one in _lines(folder / path):
            task, function = int(one["name"].split("_")[1]), one["entry_point"]
            if not 11 <= task <= 510:
                continue
            tests = re.findall(r"^    (assert .*)$", one["test"], re.MULTILINE)
            row = {
                "task_id": task,
                "text": one["prompt"],
                "test_list": [re.sub(r"\bcandidate\b", function, test) for test in tests],
            }
            program = one["solution"]
            if f"def {function}(" not in program:
                program = one["prompt"] + program
            found.append((row, [program], float(one["is_solved"])))
        yield name, found


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


_ACCURACY = ("accuracy_strict", "accuracy")
_IFEVAL = ("prompt_strict", "instruction_strict", "prompt_loose", "instruction_loose")
SOURCES: Mapping[str, tuple[str, Any, tuple[str, ...], dict[str, Any]]] = {
    "bbh": ("bbh", bbh, _ACCURACY, {"shots": 0}),
    "mmlu-pro": ("mmlu-pro", mmlu_pro, _ACCURACY, {"shots": 0}),
    "gsm8k": ("gsm8k", gsm8k, _ACCURACY, {"shots": 0}),
    "ifeval": ("ifeval", ifeval, _IFEVAL, {}),
    "mmmu": ("mmmu", mmmu, _ACCURACY, {}),
    "codet": ("humaneval", codet, ("pass@1", "pass@10", "pass@100"), {"generations": 100}),
    "reflexion": ("humaneval", reflexion_humaneval, ("pass@1",), {}),
    "reflexion-mbpp": ("mbpp", reflexion_mbpp, ("pass@1",), {}),
}
"""By argument: the benchmark, what reads the clone, the metrics shown, and options."""


def main() -> int:
    """Entry point."""
    import tempfile

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name in SOURCES:
        parser.add_argument(f"--{name}", type=Path, metavar="CLONE")
    given = vars(parser.parse_args())
    for name, (benchmark, read, shown, options) in SOURCES.items():
        if clone := given[name.replace("-", "_")]:
            for what, given_replies in read(clone):
                with tempfile.TemporaryDirectory() as folder:
                    line = read_again(benchmark, given_replies, Path(folder), shown, **options)
                    print(f"{benchmark:10} {what:42} {line}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
