"""Converts rows of published data sets to the columns used by the files in this folder.

Each function takes a row with the published columns, from the Hub or a copy, and returns ours; None
skips the row. Any exception means that the row is not from this data set.
"""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from evalbench.engine.benchmarks.custom.rows import OptionNumber
from evalbench.engine.data.reading import Row, list_in, read_rows


def _object(value: Any) -> Any:
    """An object, also if a CSV cell holds it as JSON."""
    return json.loads(value) if isinstance(value, str) else value


def mmlu_pro(row: Row) -> Row:
    """Ten options or fewer; solved examples have their reasoning in ``cot_content``."""
    reasoning = str(row.get("cot_content") or "")
    return {
        "question": str(row["question"]),
        "options": [str(one) for one in list_in(row["options"])],
        "answer_index": OptionNumber(row["answer_index"]),
        "category": str(row["category"]),
        "reasoning": reasoning.removeprefix("A: Let's think step by step.").strip(),
    }


def gpqa(row: Row) -> Row:
    """The correct answer and three wrong ones, without surrounding whitespace."""
    names = ("Correct Answer", *(f"Incorrect Answer {n}" for n in (1, 2, 3)))
    domain = row.get("High-level domain") or row.get("Subdomain") or "all"
    return {
        "question": str(row["Question"]).strip(),
        "options": [str(row[name]).strip() for name in names],
        "answer": OptionNumber(0),
        "domain": str(domain),
    }


def gsm8k(row: Row) -> Row:
    """The number after ``####``, without commas."""
    return {
        "question": str(row["question"]),
        "answer": str(row["answer"]),
        "number": str(row["answer"]).split("####")[1].strip().replace(",", ""),
    }


def math_500(row: Row) -> Row:
    """Problem and answer, subject and level."""
    return {
        "problem": str(row["problem"]),
        "answer": str(row["answer"]),
        "subject": str(row.get("subject") or "all"),
    }


def arc(row: Row) -> Row:
    """Options with their labels, which are letters or numbers."""
    choices = _object(row["choices"])
    labels = [str(label) for label in list_in(choices["label"])]
    return {
        "question": str(row["question"]),
        "options": [str(text) for text in list_in(choices["text"])],
        "answer": OptionNumber(labels.index(str(row["answerKey"]))),
    }


def hellaswag(row: Row) -> Row | None:
    """A beginning and four endings; those of the test split have no label."""
    if str(row["label"]) == "":
        return None
    return {
        "ctx": str(row["ctx"]),
        "endings": [str(one) for one in list_in(row["endings"])],
        "label": OptionNumber(row["label"]),
    }


def winogrande(row: Row) -> Row:
    """A sentence with a blank and two words for it."""
    return {
        "sentence": str(row["sentence"]).replace("_", "[BLANK]"),
        "options": [str(row["option1"]), str(row["option2"])],
        "answer": OptionNumber(int(row["answer"]) - 1),
    }


def truthfulqa(row: Row) -> Row:
    """The one true option first; for the authors' CSV, converted to mc1 in their way."""
    if "mc1_targets" in row:
        targets = _object(row["mc1_targets"])
        options = [str(one) for one in list_in(targets["choices"])]
        right = [int(label) for label in list_in(targets["labels"])].index(1)
        options.insert(0, options.pop(right))
        return {"question": str(row["question"]), "options": options, "answer": OptionNumber(0)}
    wrong = [one.strip() for one in str(row["Incorrect Answers"]).split(";")]
    return {
        "question": str(row["Question"]),
        "options": [str(row["Best Answer"]).strip(), *filter(None, dict.fromkeys(wrong))],
        "answer": OptionNumber(0),
    }


def truthfulqa_judged(row: Row) -> Row:
    """True and false reference answers, from the Hub's columns or the authors' CSV."""
    if "correct_answers" in row:
        true, false = list_in(row["correct_answers"]), list_in(row["incorrect_answers"])
        question, category = row["question"], row.get("category")
    else:
        true, false = (str(row[f"{w} Answers"]).split(";") for w in ("Correct", "Incorrect"))
        question, category = row["Question"], row.get("Category")
    return {
        "question": str(question),
        "true": [one for text in true if (one := str(text).strip())],
        "false": [one for text in false if (one := str(text).strip())],
        "category": str(category or "all"),
    }


def bbh(row: Row) -> Row:
    """A task's question and its answer."""
    task = row.get("config") or row.get("task") or row.get("dataset_name") or "all"
    question = str(row.get("input") or row["question"])
    options = _object(row.get("choices")) or {}
    # Tasks without options have an empty list of them, or none.
    labels, texts = (list_in(options.get(name) or []) for name in ("label", "text"))
    if texts and "Options:" not in question:
        lines = [
            f"({str(label).strip('()')}) {text}" for label, text in zip(labels, texts, strict=True)
        ]
        question = "\n".join([question.rstrip("\n"), "Options:", *lines])
    target = str(row["target"]).strip()
    if texts and re.fullmatch(r"[A-Z]", target):
        target = f"({target})"
    found = {"question": question, "target": target, "task": str(task)}
    return {**found, "description": "", "reasoning": ""}


def drop(row: Row) -> Row:
    """A passage, a question and every annotated answer: a list of lists of spans."""
    validated = _object(row.get("validated_answers") or {})
    if isinstance(validated, dict):
        names = ("number", "date", "spans")
        columns = [list_in(validated.get(name) or []) for name in names]
        validated = [dict(zip(names, one, strict=True)) for one in zip(*columns, strict=True)]
    answers: list[list[str]] = []
    for one in [_object(row["answer"]), *validated]:
        spans = _drop_spans(one)
        if any(text.strip() for text in spans) and spans not in answers:
            answers.append(spans)
    return {
        "passage": str(row["passage"]),
        "question": str(row["question"]),
        "answers": [json.dumps(spans, ensure_ascii=False) for spans in answers],
        "first": ", ".join(answers[0]),
    }


def _drop_spans(answer: Any) -> list[str]:
    if str(answer.get("number") or "") != "":
        return [str(answer["number"])]
    if answer.get("spans"):
        return [str(span) for span in answer["spans"]]
    date = answer.get("date") or {}
    return [" ".join(str(date.get(part) or "") for part in ("day", "month", "year")).strip()]


def aime_2024(row: Row) -> Row:
    """Problem and the integer that answers it."""
    return {"problem": str(row["Problem"]), "answer": str(int(row["Answer"]))}


def aime(row: Row) -> Row:
    """The same for later years; also for a copy with either set of columns."""
    if "Problem" in row:
        return aime_2024(row)
    return {"problem": str(row["problem"]), "answer": str(int(str(row["answer"]).strip()))}


_MMMU_PICTURES = tuple(f"image_{number}" for number in range(1, 8))


def mmmu(row: Row) -> Row:
    """A question, its options if it has any, and its images in order."""
    options = list_in(row["options"]) if row.get("options") else []
    answer = row["answer"]
    accepted = (
        list_in(answer) if not options and str(answer).startswith("[") else [str(answer).strip()]
    )
    pictures = [row[name] for name in _MMMU_PICTURES if row.get(name) not in (None, "")]
    subject = row.get("config") or "_".join(str(row["id"]).split("_")[1:-1])
    return {
        "question": str(row["question"]),
        "options": [str(one) for one in options],
        "answer": [str(one) for one in accepted],
        "pictures": pictures,
        "subject": str(subject),
    }


def simpleqa(row: Row) -> Row:
    """A question and its one answer; its topic is in ``metadata``."""
    about = row.get("metadata") or "{}"
    if isinstance(about, str):
        about = ast.literal_eval(about)
    topic = about.get("topic") or row.get("topic")
    return {
        "problem": str(row["problem"]),
        "answer": str(row["answer"]),
        "topic": str(topic or "all"),
    }


@cache
def _languages() -> dict[str, Row]:
    """simple-evals' texts in each language, by code."""
    path = Path(__file__).parent / "mgsm-languages.jsonl"
    return {row["config"]: row for _, row in read_rows(path)}


def mgsm(row: Row) -> Row:
    """A problem, and the instruction in its language."""
    language = str(row.get("config") or row.get("language") or row.get("lang") or "en")
    if language not in _languages():
        raise ValueError(f"one of the languages {', '.join(_languages())}, not {language!r}")
    number = row.get("answer_number", row.get("answer", row.get("targets")))
    texts = _languages()[language]
    return {
        "question": str(row.get("question") or row["inputs"]).strip(),
        "number": str(number).replace(",", "").strip(),
        "language": language,
        "instruction": texts["instruction"],
        "label": texts["answer_label"],
    }
