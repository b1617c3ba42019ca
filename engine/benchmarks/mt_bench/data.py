"""Where MT-bench's questions, reference answers and judge prompts come from.

The original's files: ``question.jsonl``, ``reference_answer/gpt-4.jsonl``
beside it, ``judge_prompts.jsonl``, and answer files of models
(``model_answer/MODEL.jsonl``), all of lm-sys/FastChat, ``fastchat/llm_judge``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evalbench.engine.benchmark import DataSource, Item
from evalbench.engine.benchmarks.mt_bench.prompts import OWN, JudgePrompt
from evalbench.engine.data.reading import find_table, read_rows, whole_of
from evalbench.engine.errors import DataError
from evalbench.engine.shapes import maybe, number

SPACE = "lmsys/mt-bench"
QUESTIONS = "data/mt_bench/question.jsonl"
REFERENCES = "data/mt_bench/reference_answer/gpt-4.jsonl"

WITH_REFERENCE = ("math", "reasoning", "coding")
"""Categories that are judged beside a reference answer."""

DISPUTED = frozenset({104, 105, 109, 111, 113, 114, 120, 122, 124, 125, 126, 128, 130})
"""Questions whose reference answer is reported wrong (lm-sys/FastChat, pull request 3158)."""

CATEGORIES = (
    "writing",
    "roleplay",
    "reasoning",
    "math",
    "coding",
    "extraction",
    "stem",
    "humanities",
)

Turns = tuple[str, str]

_TEMPERATURE = maybe(number(0, 2))


def question_files(path: Path) -> list[Path]:
    """The files that ``--data path`` means: the questions and, if there, the references."""
    path = find_table(
        path,
        ("question.jsonl", QUESTIONS),
        "question.jsonl",
        "give FastChat's data/mt_bench folder, or the file itself",
    )
    references = path.parent / "reference_answer" / "gpt-4.jsonl"
    return [path, references] if references.is_file() else [path]


def fetch(source: DataSource, revision: str | None) -> tuple[list[Path], str]:
    """The questions and references from the Hugging Face hub, and the commit they are of.

    Both are of one commit, also when the space changes meanwhile.

    Raises:
        DataError: they cannot be fetched.
    """
    if source.progress:
        source.progress(f"fetching {SPACE} from the Hugging Face hub", 0, None)
    try:
        from huggingface_hub import HfApi, hf_hub_download

        commit = HfApi().space_info(SPACE, revision=revision).sha or revision
        files = [
            Path(hf_hub_download(SPACE, name, repo_type="space", revision=commit))
            for name in (QUESTIONS, REFERENCES)
        ]
    except Exception as error:  # the hub's client raises a dozen unrelated types
        raise DataError(
            f"{SPACE} could not be fetched from the Hugging Face hub",
            why=f"{type(error).__name__}: {error}",
            cure="check the network and --revision, or give FastChat's data/mt_bench folder with"
            " --data PATH",
        ) from error
    return files, commit or ""


def read_questions(
    files: list[Path], references: str, baseline: Mapping[int, Turns] | None
) -> Iterator[Item]:
    """The questions, each with the reference answers that a judge is to see.

    Args:
        files: the questions, and the references if there are any.
        references: ``original``, ``undisputed`` or ``none``.
        baseline: another model's answers by question, for comparing.

    Raises:
        DataError: naming file and line for anything malformed.
    """
    held = read_answers(files[1]) if len(files) > 1 and references != "none" else {}
    for line, row in read_rows(files[0]):
        try:
            ident, category = whole_of(row["question_id"]), str(row["category"])
            turns = _turns(row["turns"])
            _TEMPERATURE(row.get("required_temperature"))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                "a question needs question_id, category and two turns",
                path=str(files[0]),
                line=line,
                why=f"{type(error).__name__}: {error}",
            ) from None
        inputs: dict[str, Any] = {"question_id": ident, "turns": list(turns)}
        wanted = category in WITH_REFERENCE and (references == "original" or ident not in DISPUTED)
        if wanted and ident in held:
            inputs["references"] = list(held[ident])
        if row.get("required_temperature") is not None:
            inputs["temperature"] = float(row["required_temperature"])
        if baseline is not None:
            if ident not in baseline:
                continue
            inputs["baseline"] = list(baseline[ident])
        yield Item(inputs, None, {"category": category})


def read_answers(path: Path) -> dict[int, Turns]:
    """The first choice of every question in one of FastChat's answer files.

    Answers that stand for an error (``ERROR``, ``$ERROR$``) are left out.

    Raises:
        DataError: naming the line that is malformed.
    """
    answers: dict[int, Turns] = {}
    for line, row in read_rows(path):
        try:
            turns = _turns(row["choices"][0]["turns"])
            ident = whole_of(row["question_id"])
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise DataError(
                "an answer needs question_id and choices with two turns",
                path=str(path),
                line=line,
                why=f"{type(error).__name__}: {error}",
            ) from None
        if not any(turn in ("ERROR", "$ERROR$") for turn in turns):
            answers[ident] = turns
    return answers


def _turns(value: Any) -> Turns:
    first, second = value
    if not isinstance(first, str) or not isinstance(second, str):
        raise TypeError("a turn is a text")
    return first, second


def read_prompts(path: Path) -> dict[str, JudgePrompt]:
    """The judge prompts of a file in the original's form; all eight must be there.

    Raises:
        DataError: something is missing or malformed.
    """
    prompts: dict[str, JudgePrompt] = {}
    for line, row in read_rows(path):
        name, template = row.get("name"), row.get("prompt_template")
        if not isinstance(name, str) or not isinstance(template, str):
            raise DataError(
                "a judge prompt needs name and prompt_template", path=str(path), line=line
            )
        prompts[name] = JudgePrompt(str(row.get("system_prompt") or ""), template)
    if missing := [name for name in OWN if name not in prompts]:
        raise DataError(f"the judge prompt {missing[0]} is missing", path=str(path))
    return {name: prompts[name] for name in OWN}
