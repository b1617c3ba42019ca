"""bbh: the authors' three solved examples for each task, which its data set does not contain.

They are read from the folder ``cot-prompts`` of the authors' repository: the one beside ``--data``,
or else downloaded at a fixed commit (MIT licence), and cached.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evalbench.engine.benchmark import DataSource
from evalbench.engine.benchmarks.custom.rows import Numbered, Tables
from evalbench.engine.data.fetching import fetch_once
from evalbench.engine.data.reading import read_json
from evalbench.engine.errors import DataError
from evalbench.engine.files import read_plain

FOLDER = "cot-prompts"
_AUTHORS = (
    "https://raw.githubusercontent.com/suzgunmirac/BIG-Bench-Hard/"
    "9ee07bd481feebf959a6b59d61ea57bdcf30964d/cot-prompts"
)
_SUMS = Path(__file__).parent / "bbh-prompts.json"
"""The SHA-256 of each task's file."""
_HINT = "put the authors' folder cot-prompts beside the data, or ask without examples: --shots 0"
_QUESTION = re.compile(r"\n\n(?=Q: )")
_STEPS = "\nA: Let's think step by step."


@dataclass(frozen=True, slots=True)
class TaskPrompt:
    """A task's description, and its solved examples as (question, reasoning)."""

    description: str
    examples: tuple[tuple[str, str], ...]


def with_examples(tables: Tables, tasks: Sequence[str], source: DataSource) -> Tables:
    """The questions with the description of their task, and the solved examples.

    Raises:
        DataError: the examples cannot be read or downloaded.
    """
    prompts = {task: parse_prompt(text, task) for task, text in _texts(tasks, source).items()}

    def described() -> Iterator[Numbered]:
        for number, row in tables.rows:
            prompt = prompts.get(row["task"])
            yield number, {**row, "description": prompt.description if prompt else ""}

    examples = [
        {
            "task": task,
            "description": prompt.description,
            "question": question,
            "reasoning": reasoning,
            "target": reasoning.rpartition("the answer is ")[2].removesuffix("."),
        }
        for task, prompt in prompts.items()
        for question, reasoning in prompt.examples
    ]
    return replace(
        tables,
        rows=described(),
        examples=lambda: iter(list(enumerate(examples, 1))),
        examples_name=FOLDER,
    )


def authors_rows(path: Path) -> Iterator[Numbered]:
    """The questions of a task, as the authors publish them: the list ``examples`` of an object.

    Raises:
        DataError: the file has another form.
    """
    body = read_json(path)
    rows = body.get("examples") if isinstance(body, dict) else None
    if not isinstance(rows, list):
        raise DataError("this is no file of the authors of BIG-Bench Hard", path=str(path))
    return iter(list(enumerate(rows, 1)))


def parse_prompt(text: str, task: str) -> TaskPrompt:
    """A file of the folder: a warning, a line of dashes, the description, and the examples.

    Raises:
        DataError: it has another form.
    """
    description, *parts = _QUESTION.split(text.partition("\n-----\n")[2].strip())
    examples = [part.removeprefix("Q: ").partition(_STEPS) for part in parts]
    if not examples or not all(steps for _, steps, _ in examples):
        raise DataError(f"{FOLDER}/{task}.txt holds no solved examples", hint=_HINT)
    found = ((question, answer.strip()) for question, _, answer in examples)
    return TaskPrompt(description, tuple(found))


def _texts(tasks: Sequence[str], source: DataSource) -> Mapping[str, str]:
    """The text of each task's file."""
    if source.path:
        folder = source.path if source.path.is_dir() else source.path.parent
        for near in (folder, folder.parent):
            if (near / FOLDER).is_dir():
                return {task: _text(near / FOLDER / f"{task}.txt") for task in tasks}
    found: dict[str, str] = {}
    sums = json.loads(_SUMS.read_text(encoding="utf-8"))
    for number, task in enumerate(tasks):
        kept = source.cache / "bbh" / FOLDER / f"{task}.txt"
        if source.progress and not kept.is_file():
            source.progress("fetching the examples of BIG-Bench Hard", number, len(tasks))
        address = f"{_AUTHORS}/{task}.txt"
        found[task] = _text(
            fetch_once(address, sums[task], kept, "the solved examples of BIG-Bench Hard", _HINT)
        )
    return found


def _text(path: Path) -> str:
    try:
        return read_plain(path).decode("utf-8", "replace")
    except OSError as error:
        raise DataError(f"{path} cannot be read", why=str(error), hint=_HINT) from None
