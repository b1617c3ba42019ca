"""Runs written for other tools, read by what reads them there."""

from __future__ import annotations

import asyncio
import csv
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from evalbench.engine.benchmark import Item, Sample
from evalbench.engine.calls import Call, MediaPart, ModelRef, Outcome, Reply, Usage, generate, user
from evalbench.engine.config.spec import make_spec
from evalbench.engine.errors import DataError, UsageError
from evalbench.engine.execution.rescoring import rescore
from evalbench.engine.formats import FORMATS, export_runs
from evalbench.engine.formats.bedrock_evaluator import reader as bedrock
from evalbench.engine.formats.full.reader import import_whole
from evalbench.engine.formats.openseesime import reader as openseesime
from evalbench.engine.journal import CallKey, Journal, JournalReader
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.runs.status import State
from tests.finished import finished
from tests.imports import written
from tests.nasty import nasty_run
from tests.pretending import pretend

SAID = ("A", "The answer is (B)", "no idea", "D", None)


def questions(count: int = 5) -> list[Item]:
    """Questions of MMLU."""
    return [
        Item(
            {"question": f"How much is {n}?", "choices": ["w", "x", "y", "z"]},
            1 if n else 0,
            {"subject": "anatomy" if n % 2 else "virology", "category": "other"},
        )
        for n in range(count)
    ]


def mmlu_run(said: Sequence[str | None] = SAID, revision: str = "", **common: Any) -> RunFolder:
    """A finished run of MMLU with these replies; None is a failed call."""

    def say(sample: Sample, epoch: int, *_: object) -> Reply | None:
        place = int(sample.inputs["question"].split()[3][:-1])
        text = said[(place + epoch) % len(said)]
        if text is None:
            return None
        return Reply(
            text,
            Outcome.REFUSED if text == "refused" else Outcome.OK,
            reasoning="hm",
            usage=Usage(10, 3),
            latency_s=0.25,
            cost=Decimal("0.000001234567"),
            possible_cost=Decimal("0.01"),
        )

    spec = make_spec("mmlu", "openai/gpt-4.1", options={"family": "chat"}, **common)
    return finished(spec, questions(len(said)), say, revision=revision)


def metrics_of(folder: RunFolder) -> Any:
    with JournalReader(folder.journal) as journal:
        return journal.meta("metrics")


def everything(folder: RunFolder) -> Any:
    """All that a run's journal says of its samples."""
    with JournalReader(folder.journal) as journal:
        rows = list(journal.samples())
        return rows, [journal.calls(row.row) for row in rows], list(journal.scores())


# -- JSON: complete, and back again -------------------------------------------------


def test_a_run_comes_back_from_json_as_it_was(home: Path, tmp_path: Path) -> None:
    run = mmlu_run((*SAID, "refused"), epochs=2)
    [path] = export_runs([run], None, tmp_path / "run.json").files
    assert path == tmp_path / "run.json"
    elsewhere = tmp_path / "elsewhere"
    back = asyncio.run(import_whole(path, elsewhere))
    assert back.path.parent == elsewhere
    assert everything(back) == everything(run)
    assert metrics_of(back) == metrics_of(run)
    before, after = run.status(), back.status()
    assert (after.state, after.outcomes, after.metrics) == (
        before.state,
        before.outcomes,
        before.metrics,
    )
    again = asyncio.run(rescore(back))
    assert (again.changed, again.kept) == (0, before.failed)
    assert again.scored == len(run_scores(run)) - before.failed
    assert metrics_of(back) == metrics_of(run)


def run_scores(run: RunFolder) -> list[Any]:
    return everything(run)[2]


def test_json_laid_out_anew_is_read_too(home: Path, tmp_path: Path) -> None:
    run = mmlu_run()
    [path] = export_runs([run], "json", tmp_path).files
    whole = json.loads(path.read_bytes())
    assert (whole["format"], whole["version"], whole["count"]) == ("evalbench run", 1, 5)
    assert len(whole["samples"]) == 5
    assert "keys" not in whole["facts"]
    path.write_text(json.dumps(whole))
    assert everything(asyncio.run(import_whole(path))) == everything(run)


@pytest.mark.parametrize(
    ("harm", "match"),
    [
        (lambda text: text[: len(text) // 2], "damaged|cut off"),
        (lambda text: text.replace('"version": 1', '"version": 99'), "newer evalbench"),
        (lambda text: text.replace('"evalbench run"', '"other"'), "no exported run"),
        (lambda text: text.replace('"row":2', '"raw":2'), "no sample of a run"),
        (lambda text: "[1]", "no exported run"),
        (lambda text: "{", "not JSON"),
    ],
)
def test_damaged_json_makes_no_run(home: Path, tmp_path: Path, harm: Any, match: str) -> None:
    [path] = export_runs([mmlu_run()], "json", tmp_path).files
    path.write_text(harm(path.read_text()))
    with pytest.raises(DataError, match=match):
        asyncio.run(import_whole(path, tmp_path / "elsewhere"))
    assert not list((tmp_path / "elsewhere").glob("*"))


# -- tables ------------------------------------------------------------------------


def test_both_tables_hold_the_same_rows(home: Path, tmp_path: Path) -> None:
    import pandas

    run = mmlu_run(epochs=2)
    [flat] = export_runs([run], None, tmp_path / "run.csv").files
    [packed] = export_runs([run], None, tmp_path / "run.parquet").files
    table = pandas.read_parquet(packed)
    again = pandas.read_csv(flat)
    assert list(table.columns) == list(again.columns)
    assert len(table) == len(again) == 10
    assert table["score"].mean() == again["score"].mean() == metrics_of(run)["accuracy"]["value"]
    assert table["score"].notna().sum() == metrics_of(run)["accuracy"]["n"]
    first = table.iloc[0]
    assert (first["reply"], first["outcome"], first["tag.subject"]) == ("A", "ok", "virology")
    assert first["cost_usd"] == pytest.approx(0.000001234567)
    assert set(table[table["outcome"] == "error"]["error"]) == {"Overloaded: no room"}


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "＝1+1", '=HYPERLINK("x")'],
)
def test_no_cell_is_a_formula(home: Path, tmp_path: Path, text: str) -> None:
    [path] = export_runs([mmlu_run((text, "-1.5", "B"))], "csv", tmp_path).files
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert rows[0]["reply"].startswith("'")
    assert rows[0]["reply"][1:].strip() == text.strip()
    assert rows[1]["reply"] == "-1.5"


# -- every format ------------------------------------------------------------------

KEY = "sk-ant-api03-PLANTEDplantedPLANTED0123456789"
HOSTILE = f"=cmd|'/C calc'!A0 <script>alert(1)</script> \x1b]0;owned\x07\x9b31m \u202e\n{KEY}"


def mt_bench_run(home_text: str = "fine") -> RunFolder:
    """A run of MT-bench with two judges."""
    items = [
        Item(
            {"question_id": 81 + n, "turns": [f"first {n}", f"second {n}"]},
            None,
            {"category": "writing" if n else "math"},
        )
        for n in range(3)
    ]

    def say(sample: Sample, epoch: int, role: str, step: str, repeat: int) -> Reply:
        if role == "candidate":
            return Reply(f"{home_text} {step}", latency_s=1.5, usage=Usage(5, 7))
        rating = (sample.inputs["question_id"] + len(step) + len(role) + int(step[-1])) % 10 + 1
        return Reply(f"{home_text} Rating: [[{rating}]]")

    judges = ["openai/gpt-4.1", "openai/gpt-4.1-mini"]
    return finished(make_spec("mt-bench", "openai/gpt-4.1-nano", judge=judges), items, say)


def code_run(benchmark: str, text: str = "fine") -> RunFolder:
    """A run of code-prediction or code-choice."""
    items = [
        Item(
            {"id": f"p{n}", "calls": ["f(1)", "f(2)"], "code": "def f(x): return x + 1",
             "mutant": "def f(x): return x - 1"},
            {"original": ["2", "3"], "mutated": ["0", "1"]},
            {"difficulty": "easy", "mutation": "arithmetic"},
        )
        for n in range(3)
    ]  # fmt: skip

    def say(sample: Sample, epoch: int, role: str, step: str, repeat: int) -> Reply:
        place = int(sample.inputs["id"][1]) + repeat
        case = int(step[-1]) - 1
        kinds = ("original", "mutated")
        if benchmark == "code-prediction":
            kind = kinds[(step.startswith("mutated") + place) % 2]
            said = None if place == 3 else sample.gold[kind][case]
            return Reply(f"{text} [ANSWER]{said}[/ANSWER]" if said else text, latency_s=0.5)
        said = None if place == 1 and case else sample.gold[kinds[place % 2]][case]
        chosen = {"chosen_program": "AB"[(place + case) % 2], "assertion": said}
        return Reply(f"{text} {json.dumps(chosen)}" if said else text, latency_s=0.5)

    options = {"generations": 2} if benchmark == "code-prediction" else {}
    spec = make_spec(benchmark, "openai/gpt-4.1", options=options)
    index = {"p0": 0, "p1": 1, "p2": 3}
    shared = {"index": index, "rows": 4, "left_out": 1}
    return finished(spec, items, say, shared)


def read_any(path: Path) -> str:
    """What a person or a program sees of a file's texts."""
    if path.suffix == ".parquet":
        import pandas

        return pandas.read_parquet(path).to_csv()
    if path.suffix == ".eval":
        import zipfile

        with zipfile.ZipFile(path) as held:
            return "".join(held.read(name).decode() for name in held.namelist())
    return path.read_text()


HARMFUL = ("\x1b", "\x07", "\x9b", "\u202e", KEY, "PLANTED")


def hostile_runs(name: str) -> list[RunFolder]:
    """Runs that a format takes, whose replies are hostile."""
    own = FORMATS[name].benchmarks
    if "mt-bench" in own:
        return [mt_bench_run(HOSTILE)]
    if "code-choice" in own:
        return [code_run("code-prediction", HOSTILE), code_run("code-choice", HOSTILE)]
    if "openseesime" in own:
        return [picture_run()]
    if "spec-generate" in own:
        return [spec_run()]
    return [mmlu_run((HOSTILE, "B", f"B {HOSTILE}"))]


def picture_run() -> RunFolder:
    """A run of OpenSeeSimE whose options look like formulas."""
    items = [
        Item(
            {"question": f"@how {n}?", "choices": ["-5 MPa", "+3"], "video": False,
             "file": f"{n}.png", "question_id": n, "media": []},
            "-5 MPa",
            {"type": "Multi", "medium": "image", "simulation": "beam", "answer": "-5 MPa"},
        )
        for n in range(2)
    ]  # fmt: skip

    def say(sample: Sample, *_: object) -> Reply:
        return Reply(f"{'-5 MPa' if '0' in sample.inputs['question'] else '+3'}\n{HOSTILE}")

    return finished(make_spec("openseesime", "openai/gpt-4.1"), items, say)


def spec_run() -> RunFolder:
    """A run of spec-generate."""
    statement = {"id": "kind", "text": "Be kind.", "type": "requirement", "authority": "platform",
                 "section": "", "subsection": "", "examples": []}  # fmt: skip
    item = Item({"statement": statement, "input": "hi", "index": 0}, None, {"statement": "kind"})
    spec = make_spec("spec-generate", "openai/gpt-4.1")
    return finished(spec, [item], lambda *_: Reply(HOSTILE))


def test_options_that_look_like_formulas_come_back(home: Path, tmp_path: Path) -> None:
    run = picture_run()
    [path] = export_runs([run], "openseesime", tmp_path).files
    rows = list(csv.reader(path.read_text().splitlines()))
    # A number is only a number.
    assert {c for row in rows for c in row if c[:1] in tuple("=+-@")} == {"+3"}
    [recorded] = openseesime.read_results(path)
    assert written(recorded).counts("accuracy_strict") == (1, 2)


@pytest.mark.parametrize("name", list(FORMATS))
def test_hostile_replies_come_out_harmless(home: Path, tmp_path: Path, name: str) -> None:
    done = export_runs(hostile_runs(name), name, tmp_path / "out")
    texts = [read_any(path) for path in done.files]
    assert done.files
    for text in texts:
        assert not [harm for harm in HARMFUL if harm in text]
        if name not in ("csv", "parquet", "openseesime"):
            assert "<script" not in text
            assert "</script" not in text
    assert not [p for p in (tmp_path / "out").rglob("*") if p.name.endswith(".part")]


@pytest.mark.share(3)
@pytest.mark.parametrize("name", [n for n, one in FORMATS.items() if not one.benchmarks])
def test_a_live_run_full_of_nasty_texts_can_be_written(
    home: Path, tmp_path: Path, name: str
) -> None:
    engine = asyncio.run(nasty_run())
    for path in export_runs([engine.folder], name, tmp_path / "out").files:
        text = read_any(path)
        assert not [c for c in ("\x1b", "\x07", "\x9b", "\0", "\u202e") if c in text]


def test_nothing_is_left_of_an_export_that_fails(home: Path, tmp_path: Path) -> None:
    run = mmlu_run()
    export_runs([run], "csv", tmp_path / "out")
    with pytest.raises(UsageError, match="is there already"):
        export_runs([run], "csv", tmp_path / "out")
    with pytest.raises(UsageError, match="makes a file of each run"):
        export_runs([run, run], "csv", tmp_path / "other.csv")
    assert [path.suffix for path in (tmp_path / "out").iterdir()] == [".csv"]


# -- what the files say ------------------------------------------------------------


def test_mt_bench_results_have_the_documents_layout(home: Path, tmp_path: Path) -> None:
    one, other = mt_bench_run(), mt_bench_run("other")
    [path] = export_runs([one, other], "mt-bench-json", tmp_path / "ranking.json").files
    assert path == tmp_path / "ranking.json"
    whole = json.loads(path.read_bytes())
    metrics = metrics_of(one)
    [first, _] = whole["model_results"]
    assert first["overall_score"]["mean"] == pytest.approx(metrics["score"]["value"])
    assert first["overall_score"]["count"] == metrics["score"]["n"] == 12
    for category in ("math", "writing"):
        held = first["category_breakdown"][category]["mean"]
        assert held == pytest.approx(metrics[f"score/category={category}"]["value"])
    assert first["turn_breakdown"]["turn_2"]["mean"] == pytest.approx(metrics["turn_2"]["value"])
    assert first["average_generation_time_s"] == 1.5
    ranking = whole["comparison"]["overall_ranking"]
    assert [set(one) for one in ranking] == [{"model", "score"}] * 2
    assert ranking[0]["score"] >= ranking[1]["score"]
    against = make_spec("mt-bench", "openai/x", options={"against": str(path)})
    pairs = finished(against, [], lambda *_: None)
    with pytest.raises(UsageError, match="compared answers in pairs"):
        export_runs([pairs], "mt-bench-json", tmp_path / "pairs.json")


def test_both_kinds_of_bedrock_come_back(home: Path, tmp_path: Path) -> None:
    runs = [code_run("code-prediction"), code_run("code-choice")]
    [path] = export_runs(runs, "bedrock", tmp_path).files
    backs = [written(one) for one in bedrock.read_results(path, None)]
    assert len(backs) == 2
    for run, back in zip(runs, backs, strict=True):
        before = metrics_of(run)
        names = [name for name in before if name.endswith("_faithful")]
        assert {n: back.counts(n) for n in names} == {
            n: (before[n]["k"], before[n]["n"]) for n in names
        }
        assert any(before[name]["k"] for name in names)
    counts = json.loads(path.read_bytes())["prediction"]["metrics_counts"]
    for name, count in counts.items():
        assert backs[0].counts(f"{name.lower()}_faithful") == (count["success"], count["total"])
    choice = json.loads(path.read_bytes())["choice"]["execution_choice_counts"]
    assert backs[1].counts("oc_correct_faithful") == (
        choice["OC"]["correct"],
        choice["OC"]["total"],
    )
    with pytest.raises(UsageError, match="one run of prediction and one of choice"):
        export_runs([runs[0], runs[0]], "bedrock", tmp_path / "twice")


def test_a_report_for_ci_counts_as_the_run_does(home: Path, tmp_path: Path) -> None:
    run = mmlu_run((*SAID, "refused"))
    [path] = export_runs([run], None, tmp_path / "run.xml").files
    suites = ElementTree.parse(path).getroot()
    [suite] = suites
    numbers = {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}
    assert numbers == {"tests": 6, "failures": 3, "errors": 1, "skipped": 0}
    assert len(suite.findall("testcase")) == 6
    assert len(suite.findall("testcase/failure")) == 3
    for number, case in enumerate(suite.findall("testcase"), 1):
        assert case.attrib["name"].startswith(f"{number}: ")
        assert len(case.attrib["name"]) < 100
    messages = [found.attrib["message"] for found in suite.findall("testcase/failure")]
    assert messages == [
        "no answer could be read in the reply; right is B) x",
        "answered D; right is B) x",
        "the model refused to answer; right is B) x",
    ]
    [error] = suite.findall("testcase/error")
    assert error.attrib["message"] == "Overloaded: no room"
    accuracy = metrics_of(run)["accuracy"]
    assert accuracy["k"] == 6 - 3 - 1


TEXT = {"type": "string"}
NUMBER = {"type": "number"}
TEXTS = {"type": "object", "additionalProperties": TEXT}
MODEL = {"type": "object", "required": ["name", "id"], "additionalProperties": True}
RECORD = {
    "type": "object",
    "additionalProperties": False,
    "required": [
        "schema_version", "evaluation_id", "retrieved_timestamp", "source_metadata",
        "model_info", "eval_library", "evaluation_results",
    ],
    "properties": {
        "schema_version": {"const": "0.2.2"},
        "evaluation_id": TEXT,
        "evaluation_timestamp": TEXT,
        "retrieved_timestamp": {"type": "string", "pattern": r"^[0-9.]+$"},
        "source_metadata": {
            "required": ["source_type", "source_organization_name", "evaluator_relationship"],
            "properties": {
                "source_type": {"enum": ["documentation", "evaluation_run"]},
                "evaluator_relationship": {
                    "enum": ["first_party", "third_party", "collaborative", "other"]
                },
            },
        },
        "eval_library": {
            "required": ["name", "version"], "properties": {"additional_details": TEXTS},
        },
        "model_info": MODEL,
        "evaluation_results": {
            "type": "array",
            "items": {
                "required": ["evaluation_name", "source_data", "metric_config", "score_details"],
                "properties": {
                    "source_data": {
                        "required": ["dataset_name", "source_type"],
                        "properties": {"source_type": {"enum": ["hf_dataset", "other"]}},
                        "if": {"properties": {"source_type": {"const": "hf_dataset"}}},
                        "then": {"required": ["hf_repo"]},
                    },
                    "metric_config": {
                        "required": ["lower_is_better"],
                        "properties": {
                            "lower_is_better": {"type": "boolean"},
                            "score_type": {"const": "continuous"},
                            "llm_scoring": {"required": ["judges", "input_prompt"]},
                        },
                        "if": {"required": ["score_type"]},
                        "then": {"required": ["min_score", "max_score"]},
                    },
                    "score_details": {
                        "required": ["score"],
                        "properties": {
                            "score": NUMBER,
                            "details": TEXTS,
                            "uncertainty": {
                                "properties": {
                                    "num_samples": {"type": "integer"},
                                    "confidence_interval": {"required": ["lower", "upper"]},
                                }
                            },
                        },
                    },
                    "generation_config": {
                        "properties": {
                            "generation_args": {
                                "additionalProperties": False,
                                "properties": {
                                    "temperature": NUMBER,
                                    "top_p": NUMBER,
                                    "max_tokens": {"type": "integer", "minimum": 1},
                                },
                            }
                        }
                    },
                },
            },
        },
        "detailed_evaluation_results": {
            "required": ["format", "file_path"],
            "properties": {
                "format": {"const": "jsonl"}, "hash_algorithm": {"enum": ["sha256", "md5"]},
                "total_rows": {"type": "integer"},
            },
        },
    },
}  # fmt: skip
"""What the schema of records (version 0.2.2) asks of the fields that we write."""

COUNT = {"type": "integer", "minimum": 0}
INSTANCE = {
    "type": "object",
    "additionalProperties": False,
    "required": [
        "schema_version", "evaluation_id", "model_id", "evaluation_name", "sample_id",
        "interaction_type", "input", "answer_attribution", "evaluation",
    ],
    "properties": {
        **dict.fromkeys(
            ("schema_version", "evaluation_id", "model_id", "evaluation_name", "sample_id",
             "evaluation_result_id", "sample_hash"),
            TEXT,
        ),
        "interaction_type": {"enum": ["single_turn", "multi_turn", "agentic"]},
        "input": {
            "required": ["raw", "reference"],
            "properties": {
                "raw": TEXT,
                "formatted": {"type": ["string", "null"]},
                "reference": {"type": "array", "items": TEXT},
                "choices": {"type": ["array", "null"], "items": TEXT},
            },
        },
        "output": {
            "type": "object",
            "required": ["raw"],
            "properties": {
                "raw": {"type": "array", "items": TEXT},
                "reasoning_trace": {"type": ["array", "null"], "items": TEXT},
            },
        },
        "messages": {
            "type": "array",
            "minItems": 1,
            "items": {
                "required": ["turn_idx", "role"], "properties": {"turn_idx": COUNT, "role": TEXT},
            },
        },
        "answer_attribution": {
            "type": "array",
            "items": {
                "required": [
                    "turn_idx", "source", "extracted_value", "extraction_method", "is_terminal",
                ],
                "properties": {
                    "turn_idx": COUNT, "extracted_value": TEXT, "is_terminal": {"type": "boolean"},
                },
            },
        },
        "evaluation": {
            "required": ["score", "is_correct"],
            "properties": {
                "score": NUMBER, "is_correct": {"type": "boolean"},
                "num_turns": {"type": "integer", "minimum": 1},
            },
        },
        "token_usage": {
            "required": ["input_tokens", "output_tokens", "total_tokens"],
            "additionalProperties": COUNT,
        },
        "performance": {"properties": {"latency_ms": {"type": "number", "minimum": 0}}},
        "metadata": TEXTS,
    },
    "if": {"properties": {"interaction_type": {"const": "single_turn"}}},
    "then": {"required": ["output"], "properties": {"messages": False}},
    "else": {
        "required": ["messages"],
        "properties": {"output": False, "evaluation": {"required": ["num_turns"]}},
    },
}  # fmt: skip
"""The same for a sample's line."""


def test_a_record_of_every_eval_ever_has_what_its_schema_wants(home: Path, tmp_path: Path) -> None:
    import jsonschema

    for run in (mmlu_run(), mt_bench_run()):
        [lines, path] = export_runs([run], "every-eval-ever", tmp_path / run.id).files
        record = json.loads(path.read_bytes())
        rows = [json.loads(line) for line in lines.read_text().splitlines()]
        jsonschema.validate(record, RECORD)
        [headline, *_] = record["evaluation_results"]
        held = next(iter(metrics_of(run).values()))
        assert headline["score_details"]["score"] == held["value"]
        told = record["detailed_evaluation_results"]
        assert told["file_path"] == lines.name
        assert told["checksum"] == hashlib.sha256(lines.read_bytes()).hexdigest()
        assert told["total_rows"] == len(rows)
        mean = sum(row["evaluation"]["score"] for row in rows) / len(rows)
        assert mean == pytest.approx(held["value"])
        for row in rows:
            jsonschema.validate(row, INSTANCE)
            assert row["evaluation_result_id"] == headline["evaluation_result_id"]
    assert [turn["role"] for turn in row["messages"]] == ["user", "assistant"] * 2
    assert row["evaluation"]["num_turns"] == 2


def test_a_record_of_every_eval_ever_has_the_title_of_ones_own_benchmark(
    home: Path, tmp_path: Path
) -> None:
    run = mmlu_run()
    file = run.path / "status.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"title": "Sums of two"}))
    [lines, path] = export_runs([run], "every-eval-ever", tmp_path / "out").files
    record = json.loads(path.read_bytes())
    names = {result["evaluation_name"] for result in record["evaluation_results"]}
    names |= {json.loads(line)["evaluation_name"] for line in lines.read_text().splitlines()}
    assert names == {"Sums of two"}
    assert record["evaluation_results"][0]["source_data"]["dataset_name"] == "mmlu"


def test_a_model_card_is_read_by_the_hubs_library(home: Path, tmp_path: Path) -> None:
    from huggingface_hub import ModelCard

    run = mmlu_run()
    [path] = export_runs([run], "hf-model-card", tmp_path).files
    card = ModelCard(f"---\n{path.read_text()}---\n# text\n", ignore_metadata_errors=False)
    [accuracy, *_] = card.data.eval_results
    assert accuracy.metric_value == metrics_of(run)["accuracy"]["value"]
    assert (accuracy.dataset_name, accuracy.metric_type) == ("mmlu", "accuracy")


def test_results_on_a_set_of_the_hub_name_it(home: Path, tmp_path: Path) -> None:
    import yaml

    run = mmlu_run(revision="c30699e")
    [_, path] = export_runs([run], "hf-model-card", tmp_path).files
    assert path.relative_to(tmp_path) == Path(".eval_results/mmlu.yaml")
    [entry] = yaml.safe_load(path.read_text())
    assert entry["dataset"] == {"id": "made/up", "task_id": "default", "revision": "c30699e"}
    assert entry["value"] == metrics_of(run)["accuracy"]["value"]


def test_pictures_come_back_from_json(home: Path, tmp_path: Path) -> None:
    picture = MediaPart("image/png", b"\x89PNG not really")
    engine = pretend("quickstart", "openai/x", total=2)

    async def ask() -> None:
        journal = Journal(engine.folder.journal)
        for row in (1, 2):
            sample = Sample(f"{row:016x}.1", {"question": "what is it?"}, "A", {})
            journal.add_samples([(row, sample)])
            call = Call(ModelRef("openai", "x"), generate([user([picture, f"number {row}"])]))
            key = CallKey(0, "candidate", "openai/x", "answer", 0)
            journal.intend(row, key, 0, call, call.content_hash, [])
            journal.store_reply(row, key, 0, Reply("A"))
        await journal.close()

    asyncio.run(ask())
    [path] = export_runs([engine.folder], "json", tmp_path).files
    back = asyncio.run(import_whole(path, tmp_path / "elsewhere"))
    assert everything(back) == everything(engine.folder)
    assert back.status().state is State.STOPPED
    with JournalReader(back.journal) as journal:
        [part, _] = journal.calls(2)[0].prompt.messages[0].parts
        assert isinstance(part, MediaPart)
        assert part.data == picture.data


def documented(heading: str) -> set[str]:
    """The fields under a heading of the page about the JSON's form."""
    page = (Path(__file__).parents[2] / "docs" / "export-schema.md").read_text("utf-8")
    section = page.split(f"## {heading}\n")[1].split("\n## ")[0]
    return set(re.findall(r"^\| (\w+) \|", section, re.MULTILINE)) - {"field"}


def test_the_json_is_as_it_is_documented(home: Path, tmp_path: Path) -> None:
    [path] = export_runs([mmlu_run()], "json", tmp_path).files
    whole = json.loads(path.read_bytes())
    sample = whole["samples"][0]
    assert set(whole) == documented("The file")
    assert set(sample) == documented("A sample")
    assert set(sample["calls"][0]) == documented("A call")
    assert set(sample["scores"][0]) == documented("A score")
    page = (Path(__file__).parents[2] / "docs" / "export-schema.md").read_text("utf-8")
    for name in sample["calls"][0]["reply"]:
        assert f"`{name}`" in page


def test_tables_and_results_have_the_title_of_an_own_benchmark(home: Path, tmp_path: Path) -> None:
    run = mmlu_run(("A",))
    run.write_status(replace(run.status(), title="Little sums"))
    [table] = export_runs([run], "csv", tmp_path / "csv").files
    assert [row["title"] for row in csv.DictReader(table.open())] == ["Little sums"]
    [whole] = export_runs([run], "json", tmp_path / "json").files
    assert json.loads(whole.read_text())["status"]["title"] == "Little sums"
    files = export_runs([run], "lm-eval", tmp_path / "lm-eval").files
    [results] = [path for path in files if path.name.startswith("results")]
    assert json.loads(results.read_text())["results"]["mmlu"]["alias"] == "Little sums"


def test_the_error_of_a_share_is_the_harnesss(home: Path, tmp_path: Path) -> None:
    run = mmlu_run(("B", "B", "C", "B", "D"))  # the first is right with A, the others with B
    files = export_runs([run], "lm-eval", tmp_path).files
    [results] = [path for path in files if path.name.startswith("results")]
    found = json.loads(results.read_text())["results"]["mmlu"]
    assert found["acc,none"] == 0.4
    # The standard deviation of two ones and three zeros, from n - 1, over the root of n.
    assert found["acc_stderr,none"] == pytest.approx(0.3**0.5 / 5**0.5)
