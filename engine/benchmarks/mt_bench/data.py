"""The sources of MT-bench's questions, reference answers and judge prompts.

The original's files: ``question.jsonl``, ``reference_answer/gpt-4.jsonl`` next to it,
``judge_prompts.jsonl``, and models' answer files (``model_answer/MODEL.jsonl``), all from
lm-sys/FastChat, ``fastchat/llm_judge``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from evalbench.engine.benchmark import DataSource, Item
from evalbench.engine.benchmarks.mt_bench.prompts import OWN, JudgePrompt
from evalbench.engine.calls.templates import ORIGINAL, placeholders
from evalbench.engine.data.fetching import fetch_once
from evalbench.engine.data.hub import ANSWER_S, fetching
from evalbench.engine.data.reading import find_table, list_in, read_rows, whole_of
from evalbench.engine.errors import DataError
from evalbench.engine.field_checks import maybe, number

SPACE = "lmsys/mt-bench"
QUESTIONS = "data/mt_bench/question.jsonl"
REFERENCES = "data/mt_bench/reference_answer/gpt-4.jsonl"

WITH_REFERENCE = ("math", "reasoning", "coding")
"""Categories that are judged along with a reference answer."""

DISPUTED = frozenset({104, 105, 109, 111, 113, 114, 120, 122, 124, 125, 126, 128, 130})
"""Questions whose reference answer is reported to be wrong (lm-sys/FastChat, pull request 3158)."""

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
    """The files that ``--data path`` refers to: the questions and, if present, the references."""
    path = find_table(
        path,
        ("question.jsonl", QUESTIONS),
        "question.jsonl",
        "give FastChat's data/mt_bench folder, or the file itself",
    )
    references = path.parent / "reference_answer" / "gpt-4.jsonl"
    return [path, references] if references.is_file() else [path]


def fetch(source: DataSource, revision: str | None) -> tuple[list[Path], str]:
    """The questions and references from the Hugging Face Hub, and their commit.

    Both are from the same commit, even if the space changes in the meantime.

    Raises:
        DataError: they cannot be downloaded.
    """
    hint = (
        "check the network and --revision, or give FastChat's data/mt_bench folder with --data PATH"
    )
    with fetching(SPACE, source.progress, hint):
        from huggingface_hub import HfApi, hf_hub_download

        commit = HfApi().space_info(SPACE, revision=revision, timeout=ANSWER_S).sha or revision
        files = [
            Path(hf_hub_download(SPACE, name, repo_type="space", revision=commit))
            for name in (QUESTIONS, REFERENCES)
        ]
    return files, commit or ""


def read_questions(
    files: list[Path], references: str, baseline: Mapping[int, Turns] | None
) -> Iterator[Item]:
    """The questions, each with the reference answers shown to a judge.

    Args:
        files: the questions, and the references if any.
        references: ``original``, ``undisputed`` or ``none``.
        baseline: another model's answers by question, for comparison.

    Raises:
        DataError: names file and line of anything malformed.
    """
    answers = read_answers(files[1]) if len(files) > 1 and references != "none" else {}
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
        if wanted and ident in answers:
            inputs["references"] = list(answers[ident])
        if row.get("required_temperature") is not None:
            inputs["temperature"] = float(row["required_temperature"])
        if baseline is not None:
            if ident not in baseline:
                continue
            inputs["baseline"] = list(baseline[ident])
        yield Item(inputs, None, {"category": category})


def read_answers(path: Path) -> dict[int, Turns]:
    """The first choice of every question in one of FastChat's answer files.

    Answers that represent an error (``ERROR``, ``$ERROR$``) are left out.

    Raises:
        DataError: names the malformed line.
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


def answers_of(path: Path) -> str:
    """The model of a FastChat answer file: as in its first row, else from its name."""
    _, row = next(read_rows(path), (0, {}))
    return str(row.get("model_id") or path.stem)


def compared_with(against: str | None, shared: Mapping[str, Any] | None) -> str:
    """The name of the model that a run compares its own with; empty for a rating run."""
    if against is None:
        return ""
    return str((shared or {}).get("against") or Path(against).stem)


def _turns(value: Any) -> Turns:
    first, second = list_in(value)
    if not isinstance(first, str) or not isinstance(second, str):
        raise TypeError("a turn is a text")
    return first, second


PROMPTS = "judge_prompts.jsonl"
_ORIGINAL_HASH = "cec233aa355927239c27aab6ac02f2650b4274ddb7d1c8d7a008832f4abfab24"
_FASTCHAT = (
    "https://raw.githubusercontent.com/lm-sys/FastChat/"
    "0e6d3e4beaab66f4d3f93db72541a4abab8af28d/fastchat/llm_judge/data/judge_prompts.jsonl"
)
_FASTCHAT_SHA256 = "fd283293406d024f44c174b094ef48031d0687a4682fd3a56b29b138f80281b6"


class JudgePrompts(NamedTuple):
    """The eight judge prompts by name, and their name in records."""

    name: str
    prompts: Mapping[str, JudgePrompt]


def prompts_beside(path: Path) -> Path | None:
    """FastChat's ``judge_prompts.jsonl`` in the folder given by ``--data path``, or above it.

    FastChat keeps it in ``data`` and the questions in ``data/mt_bench``.
    """
    folder = path if path.is_dir() else path.parent
    return next((p for place in (folder, folder.parent) if (p := place / PROMPTS).is_file()), None)


def find_prompts(given: str, source: DataSource) -> JudgePrompts:
    """The judge prompts selected by ``--judge-prompts``: a file, or ``original``.

    The original ones are those next to the questions; without ``--data`` they are downloaded from
    FastChat's repository, at a fixed commit, and cached.

    Raises:
        DataError: they cannot be found or downloaded, or are malformed.
    """
    if given != ORIGINAL:
        return read_prompts(Path(given))
    beside = prompts_beside(source.path) if source.path else None
    path = beside or _fetched(source)
    found = read_prompts(path)
    if found.name != ORIGINAL:
        raise DataError(
            "these are not the judge prompts that FastChat ships",
            path=str(path),
            hint=f"name the file to use it all the same: --judge-prompts {path}",
        )
    return found


def _fetched(source: DataSource) -> Path:
    """FastChat's file, downloaded unless it is in the cache."""
    kept = source.cache / PROMPTS
    if source.progress and not kept.is_file():
        source.progress("fetching judge_prompts.jsonl of FastChat", 0, None)
    return fetch_once(
        _FASTCHAT,
        _FASTCHAT_SHA256,
        kept,
        "FastChat's judge prompts",
        "check the network, or name the file: --judge-prompts judge_prompts.jsonl",
    )


def read_prompts(path: Path) -> JudgePrompts:
    """The judge prompts in a file of the original's format; all eight are required.

    Raises:
        DataError: something is missing or malformed, or a template has an unknown field.
    """
    prompts: dict[str, JudgePrompt] = {}
    for line, row in read_rows(path):
        name, template = row.get("name"), row.get("prompt_template")
        if not isinstance(name, str) or not isinstance(template, str):
            raise DataError(
                "a judge prompt needs name and prompt_template", path=str(path), line=line
            )
        prompts[name] = JudgePrompt(str(row.get("system_prompt") or ""), template)
        if name in OWN:
            _check_prompt(name, prompts[name], path, line)
    if missing := [name for name in OWN if name not in prompts]:
        raise DataError(f"the judge prompt {missing[0]} is missing", path=str(path))
    kept = {name: prompts[name] for name in OWN}
    digest = hashlib.sha256(orjson.dumps({n: list(p) for n, p in kept.items()})).hexdigest()
    own_name = ORIGINAL if digest == _ORIGINAL_HASH else f"{path.name} (sha256 {digest[:12]})"
    return JudgePrompts(own_name, kept)


def _check_prompt(name: str, prompt: JudgePrompt, path: Path, line: int) -> None:
    """Check that a template has exactly the fields that its judge needs."""
    able = placeholders(OWN[name].template)
    used = placeholders(prompt.template)
    single = "answer_a" not in able and "answer_a_1" not in able
    needed = {one for one in able if one.startswith("answer")} if single else able & {
        "answer_a", "answer_b", "answer_a_2", "answer_b_2",
    }  # fmt: skip
    if unknown := sorted(used - able):
        raise DataError(
            f"the judge prompt {name} has an unknown placeholder {{{unknown[0]}}}",
            path=str(path),
            line=line,
            why="it may name " + ", ".join(f"{{{one}}}" for one in sorted(able)),
            hint="write braces that are text twice: {{ }}",
        )
    if lacking := sorted(needed - used):
        raise DataError(
            f"the judge prompt {name} lacks {{{lacking[0]}}}",
            path=str(path),
            line=line,
            why="the judge would not see the answer",
        )
