"""``--data hf:OWNER/NAME`` for any benchmark, and downloaded folders of shards."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from evalbench.engine.benchmark import DataSource, HubSet, hub_set
from evalbench.engine.config.spec import build_benchmark, make_spec
from evalbench.engine.errors import DataError, SpecError
from tests.simulator.dataset_hub import DatasetHub

NAME = "someone/questions"
REVISION = "0123456789abcdef0123456789abcdef01234567"
MMLU = {"question": "2 + 2?", "subject": "anatomy", "choices": list("wxyz"), "answer": 1}
CODE = {"code": "def f(x): return x", "input": "f(1)", "output": "1", "mutated_code": "def f(x): 0",
        "mutated_output": "None", "id": "p"}  # fmt: skip
TALK = {"question_id": 81, "category": "writing", "turns": ["one", "two"]}
SIGHT = {"question": "q", "question_type": "t", "answer": "Yes", "answer_choices": ["Yes", "No"],
         "media_type": "image", "image": "gone.png"}  # fmt: skip

PREPARE = """
import json, sys
from pathlib import Path
from evalbench.engine.config.spec import make_spec
from evalbench.engine.data.dataset import prepare, read_header
from evalbench.engine.errors import EvalbenchError

try:
    data = {"data": sys.argv[3]} if sys.argv[3] else {}
    spec = make_spec(sys.argv[2], "answers/x", **data, options=json.loads(sys.argv[4]))
    path = prepare(spec, Path(sys.argv[1]))
except EvalbenchError as error:
    print(json.dumps({"error": str(error)}))
else:
    header = read_header(path)
    print(json.dumps([header.count, header.origin, header.revision]))
"""


def parquet(*rows: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), file)
    return file.getvalue()


@pytest.mark.slow
def test_sets_of_the_hub_are_data_for_every_benchmark(tmp_path: Path) -> None:
    def prepared(url: str, benchmark: str, data: str, **options: Any) -> Any:
        done = subprocess.run(
            [sys.executable, "-c", PREPARE, str(tmp_path / "cache"), benchmark, data,
             json.dumps(options)],
            env={**os.environ, "HF_ENDPOINT": url, "HF_HOME": str(tmp_path / "hf")},
            capture_output=True, text=True, timeout=200,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    rows = [{**MMLU, **CODE, **TALK, "answer": 1, "text": "Be kind."}]
    files = {"README.md": b"", "data/test-00000-of-00001.parquet": parquet(*rows, *rows)}
    with DatasetHub(NAME, REVISION, files) as hub:
        for benchmark, options in (
            ("mmlu", {"family": "chat"}), ("code-prediction", {}), ("mt-bench", {}),
        ):  # fmt: skip
            found = prepared(hub.url, benchmark, f"hf:{NAME}", **options)
            assert found == [2, NAME, REVISION], benchmark
        # A branch is looked up although the set is there already: it may have moved.
        found = prepared(hub.url, "mmlu", f"hf:{NAME}@main", family="chat")
        assert found == [2, NAME, REVISION]
        told = prepared(hub.url, "mmlu", f"hf:{NAME}?split=train", family="chat")["error"]
        assert "?split=" in told


OWN = """
import json, sys
from pathlib import Path
from evalbench.engine.config.spec import make_spec
from evalbench.engine.data.dataset import prepare, read_samples
from evalbench.engine.config.registry import benchmark_class
from evalbench.engine.errors import EvalbenchError

file = Path(sys.argv[1]) / "own.toml"
for data in sys.argv[2:]:
    file.write_text(
        f'[benchmark]\\n{data}\\n[prompt]\\ntemplate = "{{{{ q }}}}"\\n[answer]\\ntarget = "a"\\n'
    )
    spec = make_spec("custom", "answers/x", options={"file": str(file)})
    try:
        path = prepare(spec, Path(sys.argv[1]) / "cache")
        found = [s.inputs["prompt"] for s in read_samples(path, spec, benchmark_class("custom"))]
    except EvalbenchError as error:
        found = str(error)
    print(json.dumps(found))
"""
CONFIGS = b"""---
configs:
- config_name: tables
  data_files:
  - split: train
    path: t/train.csv
  - split: test
    path: t/test.csv
- config_name: others
  data_files:
  - split: held
    path: o/held.csv
---
"""
TABLES = {
    "README.md": CONFIGS,
    **{f"{place}.csv": f"q,a\n{place},1\n".encode() for place in ("t/train", "t/test", "o/held")},
}
SETS: dict[str, tuple[dict[str, bytes], dict[str, Any]]] = {
    "csv": (
        TABLES,
        {
            f'data = "hf:{NAME}?config=tables"': ["t/test"],
            f'data = "hf:{NAME}?config=tables&split=train"': ["t/train"],
            f'data = "hf:{NAME}@{REVISION}?config=others"': ["o/held"],
            f'hub = "{NAME}"\nconfig = "tables"\nrevision = "main"': ["t/test"],
            f'data = "hf:{NAME}?config=none"': "could not be fetched",
            f'data = "hf:{NAME}@gone?config=tables"': "could not be fetched",
            'data = "hf:someone"': "the form is hf:OWNER/NAME",
        },
    ),
    "jsonl": ({"train.jsonl": b'{"q": "line", "a": "1"}\n'}, {f'data = "hf:{NAME}"': ["line"]}),
    "parquet": (
        {"data/test-00000-of-00001.parquet": parquet({"q": "shard", "a": "1"})},
        {f'data = "hf:{NAME}?split=test"': ["shard"]},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "token"), [*((kind, "hf_own") for kind in SETS), ("jsonl", "")])
def test_own_benchmarks_name_sets_of_the_hub(tmp_path: Path, kind: str, token: str) -> None:
    """By configuration, split and commit; private ones by their token."""
    files, cases = SETS[kind]
    with DatasetHub(NAME, REVISION, files, token="hf_own") as hub:
        known = {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "hf")}
        done = subprocess.run(
            [sys.executable, "-c", OWN, str(tmp_path), *cases],
            env={**os.environ, **known, **({"HF_TOKEN": token} if token else {})},
            capture_output=True, text=True, timeout=250,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for (data, expected), line in zip(cases.items(), done.stdout.splitlines(), strict=True):
        found = json.loads(line)
        if not token:
            assert "evalbench keys set huggingface" in found
        else:
            assert expected in found if isinstance(expected, str) else expected == found, data


def test_what_a_set_is_called() -> None:
    assert hub_set("data/file.csv") is hub_set(None) is None
    assert hub_set("hf:a/b") == HubSet("a/b")
    assert hub_set("hf:a/b@main?config=all&split=dev") == HubSet("a/b", "main", "all", "dev")
    for wrong in ("hf:", "hf:a", "hf:a/b?rows=3", "hf:a/b/c"):
        with pytest.raises(SpecError, match="the form is hf:OWNER/NAME"):
            make_spec("mmlu", "answers/x", data=wrong)
    assert make_spec("mmlu", "answers/x", data="hf:a/b").get("data") == "hf:a/b"


CHOICE = {"text": ["a", "b"], "label": ["A", "B"]}
PUBLISHED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "mmlu": (MMLU, {"family": "chat"}),
    "code-choice": (CODE, {}),
    "mt-bench": (TALK, {}),
    "openseesime": (SIGHT, {}),
    "spec-generate": (
        {"id": "s", "text": "Be kind.", "metadata": {"examples": [{"user_query": "hi"}]}}, {},
    ),
    "humaneval": (
        {"task_id": "HumanEval/0", "prompt": "def f():", "entry_point": "f", "test": ""}, {},
    ),
    "mbpp": ({"task_id": 11, "text": "Do.", "test_list": ["assert f(1) == 1"]}, {}),
    "gsm8k": ({"question": "1 + 1?", "answer": "#### 2"}, {}),
    "arc": ({"question": "q", "choices": CHOICE, "answerKey": "A"}, {}),
    "hellaswag": ({"ctx": "c", "endings": list("wxyz"), "label": "0"}, {}),
    "drop": (
        {"passage": "p", "question": "q", "answer": {"number": "3", "spans": ["x"]}},
        {"shots": 0},
    ),
    "truthfulqa": (
        {"question": "q", "mc1_targets": {"choices": ["a", "b"], "labels": [0, 1]}}, {},
    ),
    "mgsm": ({"question": "q", "answer_number": 1, "config": "de"}, {}),
    "simpleqa": ({"metadata": "{'topic': 'x'}", "problem": "q", "answer": "a"}, {}),
    "ifeval": (
        {"prompt": "p", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{"n": 1}]}, {},
    ),
}  # fmt: skip


@pytest.mark.share(3)
@pytest.mark.parametrize("benchmark", PUBLISHED)
def test_a_downloaded_copy_is_read_in_every_form(benchmark: str, tmp_path: Path) -> None:
    """A folder of shards as the hub has it, and tables under any name, in a folder or by name."""
    pytest.importorskip("PIL")
    row, options = PUBLISHED[benchmark]

    def count(path: Path) -> int:
        spec = make_spec(benchmark, "answers/x", data=str(path), options=options)
        return len(list(build_benchmark(spec).prepare(DataSource(path, tmp_path)).items))

    for place in ("shards", "shards/data", "shards/all"):
        folder = tmp_path / place.replace("/", "-")
        inside = folder / place.partition("/")[2]
        inside.mkdir(parents=True)
        for number in range(2):
            kept = {**row, "question_id": 81 + number}
            if benchmark == "spec-generate":
                kept["id"] = f"s{number}"
            shard = inside / f"test-0000{number}-of-00002.parquet"
            shard.write_bytes(parquet(kept))
        assert count(folder) == 2, place
    for name in ("my own.csv", "my own.jsonl"):
        folder = tmp_path / name.replace(".", "-")
        folder.mkdir()
        kept = {"question_id": 81, **row}
        with (folder / name).open("w", newline="") as file:
            if name.endswith("csv"):
                cells = [json.dumps(v) if isinstance(v, list | dict) else v for v in kept.values()]
                csv.writer(file).writerows([list(kept), cells])
            else:
                file.write(json.dumps(kept))
        assert (count(folder), count(folder / name)) == (1, 1), name


LANGUAGES = ("bn", "de", "en", "es", "fr", "ja", "ru", "sw", "te", "th", "zh")


TASKS: dict[str, dict[str, Any]] = {
    "date_understanding": {
        "question": "When?",
        "choices": {"label": ["A)", "B)"], "text": ["x", "y"]},
        "target": "B",
    },
    "navigate": {
        "question": "Back?\nOptions:\n- Yes\n- No",
        "choices": {"label": [], "text": []},
        "target": "Yes ",
    },
    "web_of_lies": {"question": "Lies?", "choices": {"label": [], "text": []}, "target": "No"},
    "word_sorting": {"question": "Sort.", "target": "a b"},
}
"""A row of each kind of BIG-Bench Hard's tasks."""
ASKED = {
    "date_understanding": ("When?\nOptions:\n(A) x\n(B) y", "(B)"),
    "navigate": ("Back?\nOptions:\n- Yes\n- No", "Yes"),
    "web_of_lies": ("Lies?", "No"),
    "word_sorting": ("Sort.", "a b"),
}
READ = """
import json, sys
from pathlib import Path
from evalbench.engine.config.registry import benchmark_class
from evalbench.engine.config.spec import make_spec
from evalbench.engine.data.dataset import prepare, read_header, read_samples

spec = make_spec(sys.argv[2], "answers/x", options=json.loads(sys.argv[3]))
path = prepare(spec, Path(sys.argv[1]))
header = read_header(path)
samples = read_samples(path, spec, benchmark_class(spec.benchmark))
rows = [[one.tags["group"], str(one.inputs["prompt"]), str(one.gold)] for one in samples]
print(json.dumps([header.count, header.origin, header.revision, rows]))
"""


def read_from(hub: DatasetHub, folder: Path, benchmark: str, **options: Any) -> Any:
    """Count, origin, revision, and (group, prompt, gold) of each sample."""
    done = subprocess.run(
        [sys.executable, "-c", READ, str(folder / "cache"), benchmark, json.dumps(options)],
        env={**os.environ, "HF_ENDPOINT": hub.url, "HF_HOME": str(folder / "hf")},
        capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def described(configs: Mapping[str, Sequence[str]]) -> bytes:
    """The beginning of a README that says where the splits of each configuration are."""
    lines = ["---", "configs:"]
    for config, splits in configs.items():
        lines += [f"- config_name: {config}", "  data_files:"]
        lines += [f"  - split: {one}\n    path: {config}/{one}-*" for one in splits]
    return "\n".join([*lines, "---", ""]).encode()


@pytest.mark.slow
def test_mgsm_is_read_from_its_pinned_commit(tmp_path: Path) -> None:
    """Its layout there: a configuration for each language, with the splits train and test."""
    known = build_benchmark(make_spec("mgsm", "answers/x"))._file()  # type: ignore[attr-defined]
    row = {"question": "q", "answer": None, "answer_number": 1, "equation_solution": None}
    files = {"README.md": described(dict.fromkeys(LANGUAGES, ("train", "test")))}
    for one in LANGUAGES:
        files[f"{one}/test-00000-of-00001.parquet"] = parquet(row, {**row, "answer_number": 2})
        files[f"{one}/train-00000-of-00001.parquet"] = parquet(row)
    with DatasetHub(known.hub, known.revision, files) as hub:
        count, origin, revision, rows = read_from(hub, tmp_path, "mgsm")
    assert (count, origin, revision) == (22, known.hub, known.revision)
    assert [(group, gold) for group, _, gold in rows[:2]] == [("bn", "['1']"), ("bn", "['2']")]


@pytest.mark.slow
def test_big_bench_hard_is_read_from_its_pinned_commit(tmp_path: Path) -> None:
    """Its layout there: a configuration for each task, whose only split has the task's name."""
    bench = build_benchmark(make_spec("bbh", "answers/x"))
    known, tasks = bench._file(), bench.about.configs  # type: ignore[attr-defined]
    assert len(tasks) == 27
    names = [*tasks, "few_shot_prompts"]
    files = {"README.md": described({one: (one,) for one in names})}
    for one in names:
        row = TASKS.get(one, TASKS["word_sorting"])
        files[f"{one}/{one}-00000-of-00001.parquet"] = parquet(row)
    with DatasetHub(known.hub, known.revision, files) as hub:
        count, origin, revision, rows = read_from(hub, tmp_path, "bbh", shots=0)
    assert (count, origin, revision) == (27, known.hub, known.revision)
    for task, prompt, gold in rows:
        question, target = ASKED.get(task, ASKED["word_sorting"])
        assert f"Q: {question}\n" in prompt, task
        assert gold == str([target]), task


@pytest.mark.parametrize(
    ("benchmark", "configs", "split", "row"),
    [
        ("mgsm", ("de", "fr"), "test", {"question": "q", "answer_number": 1}),
        (
            "bbh",
            ("navigate", "snarks"),
            "{config}",
            {"question": "q", "target": "A", "choices": {"text": ["a", "b"], "label": ["A", "B"]}},
        ),
    ],
)
def test_a_downloaded_copy_of_many_configurations_is_read_whole(
    benchmark: str, configs: tuple[str, ...], split: str, row: dict[str, Any], tmp_path: Path
) -> None:
    for one in configs:
        folder = tmp_path / one
        folder.mkdir()
        (folder / f"{split.format(config=one)}-00000-of-00001.parquet").write_bytes(parquet(row))
    shots = {"shots": 0} if benchmark == "bbh" else {}
    bench = build_benchmark(make_spec(benchmark, "answers/x", data=str(tmp_path), options=shots))
    items = list(bench.prepare(DataSource(tmp_path, tmp_path)).items)
    assert [item.tags["group"] for item in items] == list(configs)


def test_a_table_may_have_any_name(tmp_path: Path) -> None:
    header = "question,subject,A,B,C,D,answer\n"
    (tmp_path / "my own questions.csv").write_text(header + "2 + 2?,anatomy,w,x,y,z,B\n")
    bench = build_benchmark(make_spec("mmlu", "answers/x", options={"family": "chat"}))
    [item] = bench.prepare(DataSource(tmp_path, tmp_path)).items
    assert item.gold == 1
    (tmp_path / "another.csv").write_text(header)
    with pytest.raises(DataError, match="holds no test split"):
        bench.prepare(DataSource(tmp_path, tmp_path))
