"""Published scores of published replies, read again by our benchmarks.

Clones of repositories that have both, each read where it is::

    python bench/reference_scores.py --bbh CLONE --mmlu-pro CLONE --gsm8k CLONE

that is suzgunmirac/BIG-Bench-Hard (code-davinci-002, three examples with reasoning),
TIGER-AI-Lab/MMLU-Pro (five examples with reasoning; unpack ``eval_results/*.zip`` first) and
openai/grade-school-math (models trained on the set). Printed are the published accuracy, that of
the set's strict reading, which is the published rule, and the headline. No model is called.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from evalbench.engine.benchmark import DataSource, SequentialAsk, sample_ids
from evalbench.engine.calls import Outcome, Prompt, Reply
from evalbench.engine.config.spec import build_benchmark, make_spec

Told = tuple[dict[str, Any], str, float | None]
"""A row with the set's published columns, the model's reply, and its published score if known."""


class _Given(SequentialAsk):
    """Answers with a reply that is there already."""

    def __init__(self, text: str) -> None:
        self._text = text

    async def __call__(
        self, role: str, prompt: Prompt, *, step: str = "answer", repeat: int = 0
    ) -> Reply:
        return Reply(text=self._text, outcome=Outcome.OK)


def read_again(benchmark: str, told: Iterable[Told], folder: Path) -> str:
    """Counts and accuracies of replies: published, strict, headline."""
    rows, options = list(told), {"shots": 0}
    table = folder / "test.jsonl"
    table.write_text("".join(json.dumps(row) + "\n" for row, _, _ in rows))
    bench = build_benchmark(make_spec(benchmark, "answers/x", data=str(table), options=options))
    data = bench.prepare(DataSource(table, folder))
    samples = list(sample_ids(data.items))
    bench = build_benchmark(make_spec(benchmark, "answers/x", options=options), data.shared)

    async def values() -> list[tuple[float, float]]:
        found = []
        for sample, (_, text, _) in zip(samples, rows, strict=True):
            score = await bench.solve(sample, _Given(text))
            found.append((score.values["accuracy"], score.values["accuracy_strict"]))
        return found

    scores = asyncio.run(values())
    known = [score for _, _, score in rows if score is not None]
    published = f"{100 * sum(known) / len(known):6.2f}" if known else "     –"
    headline, strict = (100 * sum(one) / len(rows) for one in zip(*scores, strict=True))
    return (
        f"{len(rows):6} replies  published {published}  strict {strict:6.2f}  ours {headline:6.2f}"
    )


def bbh(clone: Path) -> Iterator[tuple[str, list[Told]]]:
    """Each task of code-davinci-002, and all of them."""
    folder = clone / "code-davinci-002-outputs" / "code-davinci-002-cot"
    every: list[Told] = []
    for path in sorted(folder.glob("*_few_shot_template_0-255000.json")):
        task = path.name.removesuffix("_few_shot_template_0-255000.json")
        metrics = path.with_name(f"{path.stem}_eval_metrics.jsonl").read_text().splitlines()
        accuracy = json.loads(metrics[0])["accuracy"] / 100
        found: list[Told] = []
        for one in json.loads(path.read_text())["outputs"]:
            question = one["input"].rpartition("\n\nQ: ")[2].removeprefix("Q: ")
            question = question.removesuffix("\nA: Let's think step by step.")
            row = {"config": task, "input": question, "target": one["target"]}
            found.append((row, one["prediction"], accuracy))
        yield task, found
        every += found
    yield "all tasks", every


def mmlu_pro(clone: Path) -> Iterator[tuple[str, list[Told]]]:
    """Each model whose outputs are unpacked; published is the choice that they store."""
    for path in sorted((clone / "eval_results").glob("*.json")):
        found: list[Told] = []
        for row in json.loads(path.read_text()):
            if len(row["options"]) < 2:
                continue  # in outputs of 2024: later revisions of the set have more
            text = row.get("generated_text") or row.get("model_outputs") or ""
            found.append((row, text, float(row.get("pred") == row["answer"])))
        yield path.stem.removeprefix("model_outputs_"), found


def gsm8k(clone: Path) -> Iterator[tuple[str, list[Told]]]:
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
                    row[model]["solution"],
                    float(row[model]["is_correct"]),
                )
                for row in rows
            ],
        )


def main() -> int:
    """Entry point."""
    import tempfile

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    sources = {"bbh": bbh, "mmlu-pro": mmlu_pro, "gsm8k": gsm8k}
    for name in sources:
        parser.add_argument(f"--{name}", type=Path, metavar="CLONE")
    given = vars(parser.parse_args())
    for name, read in sources.items():
        if clone := given[name.replace("-", "_")]:
            for what, told in read(clone):
                with tempfile.TemporaryDirectory() as folder:
                    print(f"{name} {what:45} {read_again(name, told, Path(folder))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
