"""Tasks of lm-evaluation-harness give what its own run gives, to the last digit."""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.benchmark import Ask as AnyAsk
from evalbench.engine.benchmark import Asked, DataSource, SequentialAsk, repeat_of, sample_ids
from evalbench.engine.benchmarks.lm_eval import aggregation, benchmark
from evalbench.engine.benchmarks.lm_eval.benchmark import LmEval
from evalbench.engine.benchmarks.lm_eval.harness import Harness
from evalbench.engine.benchmarks.lm_eval.index import Entry
from evalbench.engine.calls import Prompt, Reply
from evalbench.engine.calls.options import parse_options
from evalbench.engine.errors import DataError
from evalbench.engine.scoring.tally import Tally
from evalbench.providers.local.catalogue import DEFAULT, resolve
from evalbench.providers.local.weights import find
from tests.contract.local.driver import Worker
from tests.lm_eval_peer import EMBEDDED_DOCS, EMBEDDED_TOKENS, loglikelihood, rendered, text

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CHILD = "evalbench.engine.benchmarks.lm_eval.harness_child"
ROWS = [
    ("France", ["Paris", "Lyon", "Rome"], 0),
    ("Italy", ["Milan", "Rome"], 1),
    ("Peru", ["Lima", "Cusco", "Quito"], 0),
    ("Norway", ["Bergen", "Turku", "Oslo"], 2),
    ("Japan", ["Tokyo", "Osaka", "Kyoto"], 0),
    ("Kenya", ["Nairobi", "Kampala", "Accra"], 0),
]
CHOICE = """
output_type: multiple_choice
doc_to_text: "The capital of {{country}} is"
doc_to_choice: "{{options}}"
doc_to_target: label
"""
TEXT = """
output_type: generate_until
doc_to_text: "Q: What is the capital of {{country}}?\\nA:"
doc_to_target: capital
generation_kwargs: {until: ["\\n\\n", "Q:"], max_gen_toks: 24}
"""
PLAIN = {
    "choice": CHOICE,
    "choice_shots": CHOICE + "num_fewshot: 2\ndescription: 'About capitals.\\n\\n'\n",
    "choice_first": CHOICE + "num_fewshot: 1\nfewshot_config: {sampler: first_n}\n",
    "choice_metrics": CHOICE
    + "doc_to_choice: ['Paris', 'Rome']\ndoc_to_target: '{{label % 2}}'\nmetric_list:\n"
    + "".join(
        f"  - {{metric: {name}, aggregation: {how}, higher_is_better: true}}\n"
        for name, how in [
            *((one, "mean") for one in ("acc", "acc_norm", "acc_bytes", "exact_match")),
            *(("f1", "f1"), ("mcc", "matthews_corrcoef"), ("brier_score", "brier_score")),
        ]
    ),
    "choice_information": CHOICE
    + "metric_list:\n  - {metric: acc_mutual_info, aggregation: mean, higher_is_better: true}\n",
    "choice_contexts": CHOICE
    + "doc_to_text: label\ndoc_to_choice: \"{{['In ' ~ country, 'Not in ' ~ country, 'Of']}}\"\n"
    + "doc_to_target: ' is {{capital}}.'\ntarget_delimiter: ''\n",
    "likelihood": """
output_type: loglikelihood
doc_to_text: "The capital of {{country}} is"
doc_to_target: " {{capital}}"
metric_list:
  - {metric: acc, aggregation: mean, higher_is_better: true}
  - {metric: perplexity, aggregation: perplexity, higher_is_better: false}
""",
    "rolling": """
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "The capital of {{country}} is {{capital}}, an old city."
metric_list: [{metric: word_perplexity}, {metric: byte_perplexity}, {metric: bits_per_byte}]
""",
    "text": TEXT + "metric_list:\n  - {metric: exact_match, ignore_case: true}\n",
    "text_filters": TEXT
    + """
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
filter_list:
  - name: word
    filter: [{function: regex, regex_pattern: "([A-Z][a-z]+)"}, {function: take_first}]
  - name: last
    filter:
      - {function: regex, regex_pattern: "([A-Z][a-z]+)", group_select: -1}
      - {function: take_first}
""",
    "text_votes": TEXT
    + """
repeats: 3
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
filter_list:
  - {name: votes, filter: [{function: majority_vote}, {function: take_first}]}
""",
    "text_corpus": TEXT
    + "metric_list: [{metric: bleu}, {metric: chrf}, {metric: chrf++}, {metric: ter}]\n",
    "text_shots": TEXT + "num_fewshot: 3\nmetric_list: [{metric: exact_match}]\n",
    "text_targets": TEXT + "doc_to_target: options\nmetric_list: [{metric: exact_match}]\n",
    "text_prefix": TEXT + "gen_prefix: 'It is'\nmetric_list: [{metric: exact_match}]\n",
    "code": TEXT
    + """
process_docs: !function own.only_some
process_results: !function own.results
metric_list:
  - {metric: long, aggregation: mean, higher_is_better: true}
  - {metric: right, aggregation: mean, higher_is_better: true}
  - {metric: said, aggregation: !function own.different, higher_is_better: true}
""",
}
OWN = """
def only_some(docs):
    return docs.filter(lambda doc: doc["country"] != "Peru")

def results(doc, said):
    return {"long": len(said[0]), "right": float(doc["capital"] in said[0]), "said": said[0]}

def different(said):
    return len(set(said)) / len(said)
"""
GROUP = """
group: everything
task:
  - choice
  - group: inner
    task: [likelihood, choice_metrics]
    aggregate_metric_list: [{metric: acc, weight_by_size: true}]
aggregate_metric_list: [{metric: acc, weight_by_size: false}]
"""
CHATTED = ("choice_shots", "likelihood", "text_shots", "text_filters", "choice_contexts")
ASKED = {"plain": ["every", "everything"], "chat": ["chatted"]}
"""What is asked at all, plainly or in chat turns."""


class Ask(SequentialAsk):
    """The same model as the library's."""

    async def __call__(
        self, role: str, prompt: Prompt, *, step: str = "answer", repeat: int = 0
    ) -> Reply:
        turns = [{"role": one.role, "content": one.text} for one in prompt.messages]
        alone = prompt.messages[0].role == "context"
        context = prompt.messages[0].text if alone else rendered(turns)
        if prompt.kind == "generate":
            return Reply(text=text(context, repeat))
        found = [loglikelihood(context, one) for one in prompt.continuations]
        flags = {"greedy": [flag for _, flag in found]}
        return Reply(logprobs=tuple(number for number, _ in found), raw=flags)

    async def many(self, asks: Sequence[Asked]) -> list[Reply]:
        return [await self(a[0], a[1], step=a[2], repeat=repeat_of(a)) for a in asks]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the tasks and their data."""
    place = tmp_path_factory.mktemp("tasks")
    rows = [
        {"country": country, "options": options, "label": label, "capital": options[label]}
        for country, options, label in ROWS
    ]
    for name, own in (("test", rows), ("train", rows[:4])):
        (place / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in own))
    (place / "base.yaml").write_text(
        f"dataset_path: json\ndataset_kwargs:\n  data_files: {{test: {place}/test.jsonl, "
        f"train: {place}/train.jsonl}}\ntest_split: test\ntraining_split: train\n"
        "fewshot_split: train\nmetadata: {version: 1.0}\n"
    )
    for name, body in PLAIN.items():
        tags = "[every, chatted]" if name in CHATTED else "[every]"
        (place / f"{name}.yaml").write_text(
            f"include: base.yaml\ntask: {name}\ntag: {tags}\n{body}"
        )
    (place / "everything.yaml").write_text(GROUP)
    (place / "own.py").write_text(OWN)
    return place


class Embedded(SequentialAsk):
    """The embedded model, in a worker."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    async def __call__(
        self, role: str, prompt: Prompt, *, step: str = "answer", repeat: int = 0
    ) -> Reply:
        return self._worker.replies([prompt])[0]


def by_the_library(folder: Path, weights: str = "-") -> Any:
    """The library's own results and samples, by task."""
    out = folder / "theirs.json"
    tasks = [task for listed in ASKED.values() for task in listed]
    subprocess.run(
        [sys.executable, "-m", "tests.lm_eval_peer", str(folder), str(out), weights, *tasks],
        cwd=ROOT,
        check=True,
        capture_output=True,
        env={
            **os.environ,
            "HF_HUB_OFFLINE": "1",
            "OMP_NUM_THREADS": "1",
            "TQDM_DISABLE": "1",
        },
    )
    return json.loads(out.read_text())


@pytest.fixture(scope="module")
def theirs(folder: Path) -> Any:
    """What the library gives with the scripted model."""
    return by_the_library(folder)


class Warm(Harness):
    """A child that many benchmarks use, one after the other: loading the library takes long.

    Attributes:
        responses: the responses to every document's requests, as they were scored.
    """

    def __init__(self) -> None:
        super().__init__()
        self.responses: dict[tuple[str, int], list[list[Any]]] = {}

    async def score(
        self, settings: Callable[[], Mapping[str, Any]], request: Mapping[str, Any]
    ) -> Any:
        told = [results for _, results in request["results"]]
        self.responses[request["task"], request["doc_id"]] = told
        return await super().score(settings, request)

    def close(self) -> None:
        self._opened = False


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    """That child; tasks of the user's own may run code in it."""
    child = Warm()
    yield child
    Harness.close(child)


async def ours(
    child: Harness, task: str, ask: AnyAsk, docs: int | None = None, **given: Any
) -> tuple[dict[tuple[str, int], Any], dict[str, Any]]:
    """The values of every document, and the metrics."""
    options = parse_options(LmEval.options, given, "lm-eval")
    made = LmEval.named(task)(options)
    made._harness = child
    data = made.prepare(DataSource(None, Path(given["include_path"])))
    samples = [one for one in sample_ids(data.items) if one.inputs["doc_id"] < (docs or math.inf)]
    bench = LmEval.named(task)(options, shared=json.loads(json.dumps(data.shared)))
    bench._harness = child
    values, tally, scored = {}, Tally(), []
    for sample in samples:
        score = await bench.solve(sample, ask)
        scored.append((sample, score.values, json.loads(json.dumps(score.parsed))))
        tally.add(sample.tags, score.outcome, score.values)
        values[sample.inputs["task"], sample.inputs["doc_id"]] = score.values
    child.close()
    metrics = bench.final_metrics(tally, reversed(scored))  # its own order is that of documents
    return values, {one.name: one.value for one in metrics}


def compare(
    chat: str,
    folder: Path,
    warm: Warm,
    ask: AnyAsk,
    theirs: Any,
    rounding: float = 0.0,
    docs: int | None = None,
    **given: Any,
) -> None:
    """Every response, value of a document and metric is the library's.

    Args:
        chat: which of :data:`ASKED`.
        folder: of the task files.
        warm: loads the library.
        ask: the model.
        theirs: what :func:`by_the_library` gave.
        rounding: by how much log-likelihoods may differ, in nats.
        docs: only the first documents of every task.
        given: further options.
    """
    for task in ASKED[chat]:
        values, found = asyncio.run(
            ours(
                warm,
                task,
                ask,
                docs,
                include_path=str(folder),
                unsafe_task_code=True,
                apply_chat_template=chat == "chat",
                **given,
            )
        )
        assert theirs[task]["samples"].keys() == {name for name, _ in values}
        compared = 0
        for name, samples in theirs[task]["samples"].items():
            for sample in samples:
                told = warm.responses[name, sample["doc_id"]]
                assert _close(told, sample["resps"], rounding), (name, told, sample["resps"])
                for metric in sample["metrics"]:
                    if isinstance(value := sample[metric], int | float):
                        own = values[name, sample["doc_id"]][f"{metric},{sample['filter']}"]
                        assert own == pytest.approx(value, rel=0, abs=rounding), (name, metric)
                        compared += 1
        assert compared > (20 if docs is None else 10)
        for name, results in theirs[task]["results"].items():
            at = "" if name == task else f"/task={name}"
            at = f"/group={name}" if name.endswith("inner") else at
            for key, value in results.items():
                if "," in key and isinstance(value, int | float):
                    wanted = pytest.approx(value, rel=rounding, abs=rounding)
                    assert found.get(key + at) == wanted, (task, key, at)
                elif "," in key:
                    assert (value, found.get(key + at)) == ("N/A", None), (task, key, at)


def _close(told: Any, wanted: Any, rounding: float) -> bool:
    """Whether responses are equal, but for the rounding of log-likelihoods."""
    if isinstance(wanted, list):
        pairs = zip(told, wanted, strict=True)
        return all(_close(one, other, rounding) for one, other in pairs)
    if isinstance(wanted, float):
        return bool(abs(told - wanted) <= rounding)
    return bool(told == wanted)


@pytest.mark.parametrize("chat", ASKED)
def test_samples_and_metrics_are_those_of_the_library(
    chat: str, folder: Path, theirs: Any, warm: Warm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benchmark, "all_tasks", dict)
    monkeypatch.setattr(aggregation, "ITERATIONS", 10)  # as the library is asked for
    compare(chat, folder, warm, Ask(), theirs)


@pytest.mark.local
@pytest.mark.timeout(900)
def test_so_they_are_with_the_embedded_model(
    folder: Path, warm: Warm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Log-likelihoods differ by float32's rounding: the library computes them in other batches."""
    monkeypatch.setattr(benchmark, "all_tasks", dict)
    monkeypatch.setattr(aggregation, "ITERATIONS", 10)
    weights = find(resolve(DEFAULT), lambda *_: None).folder
    theirs = by_the_library(folder, str(weights))
    with Worker(DEFAULT, dtype="float32") as worker:
        for chat in ASKED:
            compare(
                chat,
                folder,
                warm,
                Embedded(worker),
                theirs,
                rounding=1e-4,
                docs=EMBEDDED_DOCS,
                gen_kwargs=f"max_gen_toks={EMBEDDED_TOKENS}",
            )


FORMS = (
    "So it is.\nFinal Answer: The final answer is ${}$. I hope it is correct.",
    "Hence \\boxed{{{}}}.",
    "The answer is ${}$.",
    "It is not known.",
)
MATHEMATICS = (
    ("\\frac{3}{4}", "0.75"),
    ("x^2+2x+1", "(x+1)^2"),
    ("[2,5)", "(2,5]"),
    ("1,200", "1200"),
    ("50\\%", "50"),
    ("12", "13"),
)
INSTRUCTIONS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "punctuation:no_comma": ({}, ["No comma", "One, two", ""]),
    "length_constraints:number_words": (
        {"relation": "at least", "num_words": 3},
        ["one two three", "one", "Hi.\none two\nthree"],
    ),
    "detectable_format:json_format": ({}, ['```json\n{"a": 1}\n```', "{a: 1}"]),
    "keywords:existence": ({"keywords": ["apple", "pear"]}, ["Pear and apple", "apple"]),
    "startend:end_checker": ({"end_phrase": "The end."}, ["So. The end.", "*The end.*", "The"]),
    "detectable_format:number_bullet_lists": ({"num_bullets": 2}, ["* a\n* b", "* a\n\n* b", "-"]),
    "combination:two_responses": ({}, ["one******two", "one"]),
}


def _of_the_library(folder: Path) -> dict[str, list[str]]:
    """Its own minerva_math and ifeval over local rows, and a reply to each row."""
    library = Path(str(importlib.metadata.distribution("lm_eval").locate_file("lm_eval/tasks")))
    rows: dict[str, list[dict[str, Any]]] = {"mathematics": [], "instructions": []}
    replies: dict[str, list[str]] = {"mathematics": [], "instructions": []}
    for right, other in MATHEMATICS:
        for form in FORMS:
            for answer in (right, other):
                number = len(replies["mathematics"])
                solution = f"It is $\\boxed{{{right}}}$."
                rows["mathematics"].append({"problem": f"No. {number}?", "solution": solution})
                replies["mathematics"].append(form.format(answer))
    for name, (given, said) in INSTRUCTIONS.items():
        for one in said:
            number = len(replies["instructions"])
            row = {"key": number, "prompt": f"No. {number}?", "instruction_id_list": [name]}
            names = {key: None for own, _ in INSTRUCTIONS.values() for key in own}
            rows["instructions"].append({**row, "kwargs": [{**names, **given}]})
            replies["instructions"].append(one)
    files = {"mathematics": "minerva_math/minerva_math_algebra", "instructions": "ifeval/ifeval"}
    for task, file in files.items():
        table = folder / f"{task}.jsonl"
        table.write_text("".join(json.dumps(row) + "\n" for row in rows[task]))
        (folder / f"{task}.replies.json").write_text(json.dumps(replies[task]))
        (folder / f"{task}.yaml").write_text(
            f"include: {library}/{file}.yaml\ntask: {task}\ntag: null\ndataset_path: json\n"
            "dataset_name: null\n"
            f"dataset_kwargs: {{data_files: {{train: {table}, test: {table}}}}}\n"
        )
    return replies


class Replying(SequentialAsk):
    """Answers the question of a number with the reply of that number."""

    def __init__(self, replies: list[str]) -> None:
        self._replies = replies

    async def __call__(
        self, role: str, prompt: Prompt, *, step: str = "answer", repeat: int = 0
    ) -> Reply:
        numbers = re.findall(r"No\. (\d+)\?", prompt.messages[-1].text)
        return Reply(text=self._replies[int(numbers[-1])])


def test_the_library_s_own_scorers_of_mathematics_and_instructions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benchmark, "all_tasks", dict)
    (tmp_path / "nltk" / "tokenizers" / "punkt_tab").mkdir(parents=True)
    # Else ifeval downloads it, which these instructions do not need.
    monkeypatch.setenv("NLTK_DATA", str(tmp_path / "nltk"))
    replies = _of_the_library(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "tests.lm_eval_scorers", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1"},
    )
    assert done.returncode == 0, done.stderr
    theirs = json.loads(done.stdout)
    child = Warm()
    try:
        for task, texts in replies.items():
            values, _ = asyncio.run(ours(child, task, Replying(texts), include_path=str(tmp_path)))
            for number, wanted in enumerate(theirs[task]):
                for metric, value in wanted.items():
                    found = values[task, number]
                    own = [found[f"{metric}#0"]] if isinstance(value, list) else found[metric]
                    assert own == value, (task, texts[number], metric)
            numbers = [one for row in theirs[task] for one in row.values()]
            assert len({str(one) for one in numbers}) > 1
    finally:
        Harness.close(child)


def test_a_task_without_its_sentence_data_is_refused_before_it_costs_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benchmark, "all_tasks", dict)
    monkeypatch.setenv("NLTK_DATA", str(tmp_path / "none"))
    # No network: nltk would ask a server of its own.
    for name in ("HOME", "APPDATA"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    task = [*_of_the_library(tmp_path)][1]
    child = Warm()
    try:
        with pytest.raises(DataError, match=f"{task} needs nltk's sentence data") as refused:
            asyncio.run(ours(child, task, Ask(), include_path=str(tmp_path)))
    finally:
        Harness.close(child)
    assert "python -m nltk.downloader punkt_tab" in refused.value.hint


@pytest.mark.parametrize("file", ["humaneval/humaneval", "mbpp/mbpp_plus_instruct"])
def test_the_library_s_tasks_that_run_code_are_refused_before_they_do(
    file: str, warm: Warm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = file.partition("/")[2]
    entry = Entry("TASK", f"{file}.yaml", "generate_until", "", "", [])
    monkeypatch.setattr(benchmark, "all_tasks", lambda: {task: entry})
    with pytest.raises(DataError, match=f"{task} runs code that models write") as refused:
        asyncio.run(ours(warm, task, Ask(), include_path=str(tmp_path)))
    assert "--unsafe-run-code" in refused.value.hint


def test_loading_tasks_loads_no_torch(folder: Path) -> None:
    """It takes seconds, and nothing that scores needs it."""
    settings = {
        **parse_options(LmEval.options, {"include_path": str(folder)}, "lm-eval"),
        "task": "choice",
        "gen_kwargs": {},
        "index": {},
    }
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-P", "-m", CHILD],
        input=json.dumps({"ask": "open", "settings": settings}) + "\n",
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert "answer" in json.loads(done.stdout)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "lm_eval.tasks" in loaded
    assert not loaded & {"torch", "evaluate", "transformers.modeling_utils"}


def test_code_of_task_files_needs_a_flag(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "all_tasks", dict)
    (folder / "evil").mkdir()
    for name, body in {
        "jinja": TEXT + "doc_to_text: \"{{ ''.__class__.__mro__[1].__subclasses__() }}\"\n",
        "script": TEXT + "metric_list: [{metric: /tmp/own_metric, hf_evaluate: true}]\n",
    }.items():
        (folder / "evil" / f"{name}.yaml").write_text(
            f"include: ../base.yaml\ntask: {name}\n{body}"
        )
    child = Warm()  # Of its own, because what it forbids it forbids to its end.
    try:
        for task, why in (("code", "own.only_some"), ("jinja", "unsafe"), ("script", "script")):
            with pytest.raises(DataError, match=why) as refused:
                asyncio.run(ours(child, task, Ask(), include_path=str(folder)))
            if task != "jinja":
                assert "--unsafe-task-code" in refused.value.hint
    finally:
        Harness.close(child)


def test_a_task_that_cannot_be_loaded_is_named(
    folder: Path, warm: Warm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benchmark, "all_tasks", dict)
    place = folder / "unfit"
    place.mkdir()
    (place / "empty.jsonl").touch()
    for name, change, why in (
        ("misnamed", 'doc_to_text: "{{town}}"', "lacks: 'town' is undefined"),
        ("rowless", f"dataset_kwargs: {{data_files: {{test: {place}/empty.jsonl}}}}", "no rows"),
        ("lost", f"dataset_kwargs: {{data_files: {{test: {place}/gone.jsonl}}}}", r"gone\.jsonl"),
    ):
        (place / f"{name}.yaml").write_text(
            f"include: ../base.yaml\ntask: {name}\nfewshot_split: null\ntraining_split: null\n"
            f"{TEXT}{change}\n"
        )
        with pytest.raises(DataError, match=f"cannot load {name}") as refused:
            asyncio.run(ours(warm, name, Ask(), include_path=str(place), unsafe_task_code=True))
        assert re.search(why, refused.value.why)


@pytest.mark.slow
def test_the_index_is_that_of_the_library() -> None:
    """Of all its files, in a process of its own, since importing it changes much."""
    code = """
import json, sys
from lm_eval.tasks._index import TaskIndex
from evalbench.engine.benchmarks.lm_eval.index import all_tasks, library_tasks

base = library_tasks()
held = all_tasks()
wanted = TaskIndex.build([base])
for name, one in wanted.items():
    entry, config = held[name], one.cfg or {}
    assert entry.kind == one.kind.name, name
    assert entry.path == (str(one.yaml_path.relative_to(base)) if one.yaml_path else ""), name
    assert entry.output_type == str(config.get("output_type") or "generate_until"), name
    data = [str(config.get(key) or "") for key in ("dataset_path", "dataset_name")]
    assert entry.data == " ".join(data), name
    if entry.kind != "GROUP":
        assert entry.members == sorted(one.tags), name
print(json.dumps([len(wanted), list(held) == list(wanted)]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    count, same = json.loads(done.stdout)
    assert count > 10_000
    assert same
