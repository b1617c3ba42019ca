"""Imports sample files of lm-evaluation-harness (``--log_samples``) as runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from evalbench.engine.benchmark import Item
from evalbench.engine.data.reading import read_json, unreadable, whole_of
from evalbench.engine.errors import DataError, counted
from evalbench.engine.field_checks import (
    anything,
    either,
    list_of,
    maybe,
    record,
    table_of,
    text,
    whole,
)
from evalbench.engine.files import lines_of, open_plain, parse_json
from evalbench.engine.formats.reading import fitting, malformed
from evalbench.engine.formats.recorded import Place, Recorded, RecordedReply
from evalbench.engine.formats.scored import (
    LARGEST_SCORE,
    Items,
    given,
    labels,
    mmlu_item,
    mmlu_run,
    none_in,
    scored_run,
)
from evalbench.engine.scoring.letters import LETTERS

_SAMPLES = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.:-]+)\.jsonl")
_SCORER = "lm-eval"
_QUESTIONS = ("question", "query", "input", "prompt", "text", "goal", "problem")

Json = Mapping[str, Any]

_RESULTS = record(
    {},
    {
        "results": table_of(table_of(anything)),
        "group_subtasks": table_of(list_of(text)),
        "model_name": maybe(text),
    },
)
_LINE = record(
    {"doc_id": either(text, whole()), "doc": anything},
    {"filter": text, "metrics": maybe(list_of(text)), "resps": maybe(list_of(anything))},
)


def read_samples(path: Path, benchmark: str = "recorded") -> list[Recorded]:
    """Runs for a samples file, or those in a folder: one per task or group of tasks.

    Of several evaluations in a folder, the newest is used.

    Raises:
        DataError: there is none, or a line is malformed.
    """
    files = [path] if path.is_file() else _newest(path)
    if not files:
        raise DataError(
            "there is no samples_TASK_DATE.jsonl in it",
            path=str(path),
            hint="run lm_eval with --log_samples --output_path",
        )
    by_task: dict[str, list[Path]] = {}
    for file in files:
        by_task.setdefault(_group(file, alone=path.is_file()), []).append(file)
    return [_run(task, paths, path, benchmark) for task, paths in sorted(by_task.items())]


def _newest(folder: Path) -> list[Path]:
    found = [(match["date"], file) for file in folder.rglob("*.jsonl") if (match := _match(file))]
    last = max((date for date, _ in found), default="")
    return sorted(file for date, file in found if date == last)


def _match(file: Path) -> re.Match[str] | None:
    return _SAMPLES.fullmatch(file.name)


def _task(file: Path) -> str:
    match = _match(file)
    return match["task"] if match else file.stem.removeprefix("samples_")


def _results(file: Path) -> Json:
    """The results file next to a samples file; empty if there is none."""
    match = _match(file)
    beside = file.with_name(f"results_{match['date']}.json") if match else file
    if not match or not beside.is_file():
        return {}
    results: Json = fitting(read_json(beside), _RESULTS, "these are no results", beside)
    return results


def _group(file: Path, *, alone: bool) -> str:
    """The outermost group that a task belongs to."""
    task = _task(file)
    groups = _results(file).get("group_subtasks")
    if alone or not groups:
        return task
    # Visit each group once: in an edited file two may contain each other.
    while outer := next((name for name, parts in groups.items() if task in parts), None):
        task = outer
        groups = {name: parts for name, parts in groups.items() if name != outer}
    return task


def _run(task: str, files: Sequence[Path], path: Path, benchmark: str) -> Recorded:
    items: Items = []
    unread = 0
    for file in files:
        for number, lines in _documents(file):
            try:
                if benchmark == "mmlu":
                    items.append(_mmlu(lines[0]))
                else:
                    item, replies, odd = _scored(_task(file), task, lines)
                    unread += odd
                    items.append((item, replies))
            except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
                raise malformed("this is no sample", file, number, error) from None
    if not items:
        raise none_in(path)
    results = _results(files[0])
    notes = [_said(results, task)] if task in results.get("results", {}) else []
    if unread:
        which = "that is no number was" if unread == 1 else "that are no number were"
        notes.append(f"{counted(unread, 'score')} {which} left out")
    model = str(results.get("model_name") or files[0].parent.name.replace("__", "/") or "unnamed")
    if benchmark == "mmlu":
        notes.insert(0, "the likeliest letter, or the reply, is read by mmlu's parsers")
        return mmlu_run(model, items, path, notes)
    return scored_run(task, model, [_SCORER], items, path, notes)


def _said(results: Json, task: str) -> str:
    stated = ", ".join(
        f"{name} {value:.6g}"
        for name, value in results["results"][task].items()
        if isinstance(value, (int, float)) and "stderr" not in name
    )
    return f"the results file says: {stated}"


def _documents(file: Path) -> Iterator[tuple[int, list[Json]]]:
    """The lines of each document, one per filter, with the number of the first."""
    documents: dict[Any, tuple[int, list[Json]]] = {}
    try:
        with open_plain(file) as lines:
            for number, line in enumerate(lines_of(lines, file), 1):
                if not line.strip():
                    continue
                try:
                    row = parse_json(line)
                except orjson.JSONDecodeError as error:
                    raise malformed("this is no sample", file, number, error) from None
                fitting(row, _LINE, "this is no sample", file, number)
                documents.setdefault(row["doc_id"], (number, []))[1].append(row)
    except OSError as error:
        raise unreadable(file, error) from None
    yield from documents.values()


def _scored(
    own: str, task: str, lines: Sequence[Json]
) -> tuple[Item, Mapping[Place, RecordedReply], int]:
    first = lines[0]
    doc = first["doc"]
    inputs = dict(doc) if isinstance(doc, dict) else {"question": str(doc)}
    if not isinstance(inputs.get("question"), str):
        named = next((inputs[n] for n in _QUESTIONS if isinstance(inputs.get(n), str)), None)
        inputs["question"] = named or orjson.dumps(doc).decode()
    tags = labels(doc)
    if own != task:
        tags["task"] = own
    values: dict[str, float] = {}
    odd = 0
    read: dict[str, Any] = {}
    for line in lines:
        ending = "" if line.get("filter", "none") == "none" else f",{line['filter']}"
        for name in line.get("metrics") or _metrics(line):
            value = line.get(name)
            if isinstance(value, (bool, int, float)) and abs(value) <= LARGEST_SCORE:
                values[f"{name}{ending}"] = float(value)
            else:
                odd += 1
        read[str(line.get("filter", "none"))] = line.get("filtered_resps")
    place, scores = given(_SCORER, values, read)
    replies = {
        ("candidate", "answer", 0): RecordedReply(_said_text(first), _context(first)),
        place: scores,
    }
    return Item(inputs, first.get("target"), tags), replies, odd


_FIXED = {
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics",
    "doc_hash", "prompt_hash", "target_hash",
}  # fmt: skip


def _metrics(line: Json) -> list[str]:
    """The metrics of a line. Older files do not list them: all unknown fields are metrics."""
    return [name for name in line if name not in _FIXED]


def _mmlu(line: Json) -> tuple[Item, Mapping[Place, RecordedReply]]:
    doc = line["doc"]
    answer = doc["answer"]
    gold = LETTERS.index(answer) if isinstance(answer, str) else whole_of(answer)
    item = mmlu_item(doc["question"], doc["choices"], gold, doc.get("subject"))
    likely = _likelihoods(line)
    text = LETTERS[likely.index(max(likely))] if likely else _said_text(line)
    return item, {("candidate", "answer", 0): RecordedReply(text, _context(line))}


def _pairs(line: Json) -> list[Sequence[Any]]:
    """The arguments of every request, in either form written by the harness."""
    arguments = line.get("arguments") or []
    if isinstance(arguments, dict):
        return [[one.get("arg_0"), one.get("arg_1")] for one in arguments.values()]
    return [one if isinstance(one, list) else [one] for one in arguments]


def _context(line: Json) -> str:
    pairs = _pairs(line)
    first = pairs[0][0] if pairs and pairs[0] else ""
    return first if isinstance(first, str) else orjson.dumps(first).decode()


def _likelihoods(line: Json) -> list[float]:
    """The log-likelihood of every choice; empty for a generated reply."""
    found = []
    for one in line.get("filtered_resps") or []:
        if not isinstance(one, list) or not one or one[0] is None:
            return []
        try:
            found.append(float(one[0]))
        except (TypeError, ValueError):
            return []
    return found


def _said_text(line: Json) -> str:
    """The reply, or the continuation that was most likely."""
    likely = _likelihoods(line)
    pairs = _pairs(line)
    if likely and len(pairs) == len(likely) and len(pairs[0]) > 1:
        return str(pairs[likely.index(max(likely))][1]).strip()
    first = line["resps"][0] if line.get("resps") else ""
    while isinstance(first, list):
        first = first[0] if first else ""
    return str(first)
