"""Files that people bring, and one value of each put wrong: what importing and looking do then.

A *source* is a small, right set of files and the command that imports them. Every value in its
files, at every place, is replaced by each of the ``ODDITIES`` in turn, or left out.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalbench.engine.benchmark import Item
from evalbench.engine.calls import Reply
from evalbench.engine.calls.replies import Usage
from evalbench.engine.config.spec import make_spec
from evalbench.engine.formats import export_runs
from evalbench.engine.runs.folder import RunFolder
from evalbench.tui.cli.main import main
from tests.finished import finished

ODDITIES = {
    "nothing": "null",
    "true": "true",
    "a negative": "-1",
    "more than 64 bits": str(2**70),
    "an epoch beyond all": str(2**60),
    "infinity": "1e400",
    "no number": "NaN",
    "a huge number": "1e300",
    "a word": '"x"',
    "a huge number as a text": '"1e400"',
    "an empty text": '""',
    "an empty list": "[]",
    "an empty object": "{}",
    "5,000 lists in one another": "[" * 5000 + "]" * 5000,
    "200 lists in one another": "[" * 200 + "]" * 200,
    "half a surrogate pair": '"\\ud800"',
    "control characters": '"\\u0000\\u001b[2J\\u202e"',
    "a list of objects": '[{"a": [1]}]',
}
"""What a value is replaced by, as JSON, or nearly."""

GONE = "left out"

_MARK = "@@here@@"

Place = tuple[str | int, ...]
Files = dict[str, Any]
"""Contents of files by name: a JSON value, or rows of a ``.jsonl`` file."""


@dataclass(frozen=True)
class Source:
    """Right files, and the words behind ``evalbench import``, where ``{}`` is their folder."""

    name: str
    files: Files
    words: tuple[str, ...]
    more: Files = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Write all files as they should be."""
        for name, body in {**self.files, **self.more}.items():
            write(folder / name, body)

    def command(self, folder: Path) -> list[str]:
        """The command that imports them."""
        return ["import", *(word.format(folder) for word in self.words)]


@dataclass(frozen=True)
class Change:
    """One value of one file put wrong."""

    file: str
    place: Place
    oddity: str

    def __str__(self) -> str:
        return f"{self.file}: {'.'.join(map(str, self.place))} = {self.oddity}"

    def write(self, folder: Path, files: Files) -> None:
        """Write the file with it."""
        write(folder / self.file, files[self.file], self)


def write(path: Path, body: Any, change: Change | None = None) -> None:
    """Write a file; with a change, that in it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if change:
        body = _changed(deepcopy(body), change.place, change.oddity == GONE)
    rows = path.suffix == ".jsonl"
    text = "".join(json.dumps(row) + "\n" for row in body) if rows else json.dumps(body)
    if change and change.oddity != GONE:
        text = text.replace(f'"{_MARK}"', ODDITIES[change.oddity])
    path.write_text(text)


def _changed(body: Any, place: Place, gone: bool) -> Any:
    if not place:
        return _MARK
    inner = body
    for step in place[:-1]:
        inner = inner[step]
    if gone:
        del inner[place[-1]]
    else:
        inner[place[-1]] = _MARK
    return body


def changes(files: Files) -> Iterator[Change]:
    """Every change there is; of a long list the first two members stand for all."""
    for name, body in files.items():
        for place in _places(body):
            rows = name.endswith(".jsonl")
            if not place and rows:
                continue
            for oddity in (*ODDITIES, GONE):
                if oddity != GONE or place:
                    yield Change(name, place, oddity)


def _places(value: Any, place: Place = ()) -> Iterator[Place]:
    yield place
    if isinstance(value, dict):
        for name, held in value.items():
            yield from _places(held, (*place, name))
    elif isinstance(value, list):
        for number, held in enumerate(value[:2]):
            yield from _places(held, (*place, number))


# -- the command line, in this process -----------------------------------------------------


@dataclass(frozen=True)
class Told:
    """What a command said."""

    code: int
    out: str
    err: str


def evalbench(*words: str) -> Told:
    """Run a command."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(words)
    return Told(code, out.getvalue(), err.getvalue())


def crashed(told: Told) -> bool:
    """Whether a command ended by a fault of the program."""
    return told.code == 6 or "Traceback" in told.err or "crashed" in told.err


def looks(run: str, other: str, place: Path) -> list[list[str]]:
    """Every command that reads a run."""
    return [
        ["runs"],
        ["runs", "--json"],
        ["show", run],
        ["show", run, "--json"],
        ["show", run, "--sample", "1"],
        ["report", run, "-o", str(place / "report.md")],
        ["report", run, other, "-o", str(place / "report.html")],
        ["compare", run, other],
        ["compare", other, run, "--json"],
        ["export", run, "--format", "json", "-o", str(place / "out.json")],
        ["export", run, "--format", "csv", "-o", str(place / "out.csv")],
    ]


def listed() -> dict[str, str]:
    """The state of every run in the list, by id."""
    told = evalbench("runs", "--json")
    assert told.code == 0, told.err
    return {line["id"]: line["state"] for line in map(json.loads, told.out.splitlines())}


# -- right files ----------------------------------------------------------------------------


def good_run() -> RunFolder:
    """A finished run of two questions in two epochs."""
    items = [
        Item({"question": f"What is {n} and one, all told?", "choices": list("wxyz")}, 1,
             {"subject": "anatomy", "category": "other"})
        for n in range(2)
    ]  # fmt: skip
    spec = make_spec("mmlu", "openai/gpt-4.1", options={"family": "chat", "shots": 0}, epochs=2)
    said = Reply(
        "The answer is B.", usage=Usage(12, 5), latency_s=0.5, provider_model="m", raw={"id": "a"}
    )
    return finished(spec, items, lambda *_: said)


def judged_run() -> RunFolder:
    """A finished run of one question that a judge has rated."""
    turns = {"question_id": 81, "turns": ["Write a story, please.", "Make it shorter now."]}
    item = Item({**turns, "reference": None}, None, {"category": "writing"})
    spec = make_spec("mt-bench", "openai/gpt-4.1", judge=["openai/gpt-4o"])
    return finished(spec, [item], lambda *_: Reply("So it is. Rating: [[7]]"))


def exported(run: RunFolder, place: Path) -> Any:
    """A run as a file holds it."""
    (file,) = export_runs([run], "json", place).files
    return json.loads(Path(file).read_text())


def _message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def _inspect() -> Files:
    samples = [
        {
            "id": number, "epoch": 1, "input": [_message("user", "How much?")], "target": ["B"],
            "choices": ["one", "two"],
            "messages": [_message("user", "How much?"), _message("assistant", "B")],
            "output": {"choices": [{"message": _message("assistant", "B")}], "time": 2.5},
            "scores": {"match": {"value": "C", "answer": "B", "explanation": "so"}},
            "metadata": {"subject": "anatomy", "category": "small"},
        }
        for number in range(2)
    ]  # fmt: skip
    results = {"scores": [{"name": "match", "metrics": {"accuracy": {"value": 1.0}}}]}
    head = {"status": "success", "eval": {"task": "tiny", "model": "org/m"}, "results": results}
    return {"log.json": {**head, "samples": samples}}


_DATE = "2026-11-28T09-11-33.752082"


def _lm_eval() -> Files:
    rows = [
        {
            "doc_id": number,
            "doc": {"question": "How much?", "choices": list("wxyz"), "answer": 1,
                    "subject": "anatomy"},
            "target": 1,
            "arguments": {f"gen_args_{n}": {"arg_0": "Q", "arg_1": f" {n}"} for n in range(4)},
            "resps": [[["-1.0", "False"]]] * 4,
            "filtered_resps": [["-1.0", "False"]] * 4,
            "filter": "none", "metrics": ["acc"], "acc": 1.0,
        }
        for number in range(2)
    ]  # fmt: skip
    results = {
        "results": {"mmlu": {"alias": "mmlu", "acc,none": 0.6}},
        "group_subtasks": {"mmlu": ["mmlu_anatomy"]},
        "model_name": "org/model",
    }
    return {f"samples_mmlu_anatomy_{_DATE}.jsonl": rows, f"results_{_DATE}.json": results}


def _fastchat() -> Iterator[Source]:
    questions = [{"question_id": 81, "category": "writing", "turns": ["Write.", "Again."]}]
    single = [
        {"question_id": 81, "model": "one", "judge": ["gpt-4", "single-v1"], "user_prompt": "p",
         "judgment": "Rating: [[7]]", "score": 7, "turn": turn, "tstamp": 1.0}
        for turn in (1, 2)
    ]  # fmt: skip
    pair = [
        {"question_id": 81, "model_1": "one", "model_2": "two", "g1_winner": "model_1",
         "g2_winner": "tie", "judge": ["gpt-4", "pair-v2"], "g1_user_prompt": "p",
         "g1_judgment": "So [[A]]", "g2_user_prompt": "p", "g2_judgment": "So [[C]]",
         "turn": turn, "tstamp": 1.0}
        for turn in (1, 2)
    ]  # fmt: skip
    answers = [
        {"question_id": 81, "model_id": "one", "choices": [{"index": 0, "turns": ["a", "b"]}]}
    ]
    data = {"question.jsonl": questions}
    for name, rows in (("single", single), ("pair", pair), ("answers", answers)):
        files = {f"{name}.jsonl": rows, **data}
        words = ("fastchat", f"{{}}/{name}.jsonl", "--data", "{}/question.jsonl")
        yield Source(f"fastchat {name}", files, words)
    with_answers = (
        "fastchat",
        "{}/single.jsonl",
        "--data",
        "{}/question.jsonl",
        "--answers",
        "{}/a",
    )
    more = {"single.jsonl": single, **data}
    yield Source("fastchat with answers", {"a/one.jsonl": answers}, with_answers, more)


def _bedrock() -> Iterator[Source]:
    said = {"prediction": "4", "response": "[ANSWER]4[/ANSWER]", "latency_s": 1.5}
    problem = {
        "problem_index": 0, "problem_id": "p0", "function_name": "f", "difficulty": "easy",
        "has_mutation": True, "original_output": "4", "mutated_output": ["5"],
        "original_predictions": [said], "mutated_predictions": [{"testcases": [said]}],
        "test_inputs": ["f(1)"],
    }  # fmt: skip
    whole = {
        "bedrock_model_id": "us.claude",
        "config": {"num_generations": 1, "reasoning_effort": "high", "seed": 42,
                   "skip_boolean_for_reversion": False},
        "benchmark_summary": {"generations_per_problem": 1},
        "results": [problem],
    }  # fmt: skip
    yield Source("bedrock prediction", {"r.json": {"prediction": whole}}, ("bedrock", "{}/r.json"))
    records = [
        {
            "problem_index": 0, "problem_id": "p0", "run_index": run, "function_name": "f",
            "original_first": first, "test_input": "f(1)", "latency_s": 0.5,
            "include_reversion": True, "chosen_program_letter": "A",
            "chosen_program_type": "original", "prediction": "4", "expected_output": "4",
            "other_output": "5",
            "response": '{"chosen_program": "A", "assertion": "assert f(1) == 4"}',
        }
        for run, first in enumerate((True, False))
    ]  # fmt: skip
    config = {"skip_boolean_for_reversion": False, "seed": 123, "reasoning_effort": "low"}
    body = {"choice": {"execution_choice_config": config, "execution_choice_results": records}}
    yield Source("bedrock choice", {"r.json": body}, ("bedrock", "{}/r.json"))


def _spec_eval() -> Iterator[Source]:
    spec = [{"id": "brief", "text": "Be brief.", "type": "requirement",
             "authority_level": "platform", "examples": []}]  # fmt: skip
    answers = [{"input_text": "Hi?", "output_text": "Hello.", "original_index": 0}] * 2
    comply = {
        "metadata": {"model": "one", "statement_id": "brief"},
        "results": [{"input": "Hi?", "output": "Hello.", "compliant": True, "confidence": 0.75,
                     "explanation": "so"}],
    }  # fmt: skip
    meta = {"ranking_judge_model_info": "openai/judge", "model_a": "one", "model_b": "two",
            "statement_id": "brief"}  # fmt: skip
    entry = {"input": "Hi?", "output_a": "a", "output_b": "b", "rank": 1,
             "raw_judge_response": "Model: A"}  # fmt: skip
    for name, body in (
        ("answers", answers), ("comply", comply), ("rank", {"metadata": meta, "rankings": [entry]})
    ):  # fmt: skip
        files = {f"{name}/results/brief.json": body, "spec.jsonl": spec}
        words = ("speceval", f"{{}}/{name}", "--data", "{}/spec.jsonl")
        yield Source(f"speceval {name}", files, words)


def sources(place: Path) -> list[Source]:
    """One of each kind. It needs a home, in which it makes two runs."""
    inspect, lm_eval = _inspect(), _lm_eval()
    row = {
        "file_name": "Beams.png", "question": "Where?", "question_type": "multiple choice",
        "question_id": 3, "answer": "B", "answer_choices": ["A", "B"], "model": "claude",
        "model_answer": "B", "explanation": "At the\nend.", "correct": True, "media_type": "image",
    }  # fmt: skip
    mmlu = {"question": "2 + 2?", "subject": "anatomy", "choices": list("4567"), "answer": 0,
            "predicted": 0}  # fmt: skip
    return [
        Source("a run", {"run.json": exported(good_run(), place / "a")}, ("json", "{}/run.json")),
        Source("a judged run", {"run.json": exported(judged_run(), place / "b")},
               ("json", "{}/run.json")),
        Source("inspect", inspect, ("inspect", "{}/log.json")),
        Source("inspect as mmlu", inspect, ("inspect", "{}/log.json", "--as", "mmlu")),
        Source("lm-eval", lm_eval, ("lm-eval", "{}")),
        Source("lm-eval as mmlu", lm_eval, ("lm-eval", "{}", "--as", "mmlu")),
        *_fastchat(),
        Source("mmlu-experiment", {"config.json": {"model": "m", "description": "d"},
               "results.jsonl": [mmlu]}, ("mmlu-experiment", "{}")),
        *_spec_eval(),
        *_bedrock(),
        Source("openseesime", {"r.jsonl": [row]}, ("openseesime", "{}/r.jsonl")),
    ]  # fmt: skip
