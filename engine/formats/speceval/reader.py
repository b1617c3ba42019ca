"""SpecEval's folders: models' answers, rankings, and compliance results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from evalbench.engine.benchmark import Item
from evalbench.engine.benchmarks.spec_adherence.data import Spec, contestant, is_time, read_spec
from evalbench.engine.config.roles import JUDGE, answers_model
from evalbench.engine.config.spec import make_spec
from evalbench.engine.data.reading import read_json
from evalbench.engine.errors import DataError, counted
from evalbench.engine.field_checks import anything, either, flag, maybe, number, record, text, whole
from evalbench.engine.formats.reading import fitting
from evalbench.engine.formats.recorded import Place, Recorded, RecordedReply, known_as, stands_for

_ENTRIES = {
    "": record(
        {"input_text": text, "output_text": anything}, {"original_index": maybe(whole(-(2**63)))}
    ),
    "results": record(
        {"input": text, "output": anything, "compliant": maybe(flag)},
        {"confidence": maybe(either(number(), text)), "explanation": maybe(text)},
    ),
    "rankings": record(
        {"input": text, "output_a": anything, "output_b": anything, "rank": anything},
        {"raw_judge_response": maybe(text)},
    ),
}
"""The objects of a result file, by their key; answers have a file of their own."""

_META = record(
    {},
    dict.fromkeys(
        ("statement_id", "model", "model_a", "model_b", "ranking_judge_model_info"), maybe(text)
    ),
)
_FAILED = "ERROR:"
_RANKS = {1: "Model: A", -1: "Model: B"}


class Entry(NamedTuple):
    """One object of a result file, with its location."""

    statement: str
    body: Mapping[str, Any]
    file: Path
    number: int


def read_folder(folder: Path, spec_file: Path) -> Recorded:
    """The run for one results folder, of any kind.

    Args:
        folder: contains ``results/STATEMENT.json``, or is that folder itself.
        spec_file: the specification.

    Raises:
        DataError: the files are of an unknown kind, or malformed.
    """
    spec = read_spec(spec_file)
    results, notes = _results(folder.resolve())
    bodies = {file: read_json(file) for file in sorted(results.glob("*.json"))}
    for file, body in bodies.items():
        fitting(_metadata(body), _META, "this is no metadata of SpecEval's", file)
    kinds = {file: _kind(body) for file, body in bodies.items()}
    first = next(iter(kinds.values()))
    for file, kind in kinds.items():
        if not kind or kind != first:
            raise DataError(
                "this is no result of SpecEval's, or of another kind than the rest",
                path=str(file),
                hint="a results folder holds lists of answers, rankings, or compliance results",
            )
    read = {"answers": _generated, "rankings": _ranked, "results": _judged}[first]
    recorded = read(results, bodies, spec, notes)
    if not recorded.items:
        why = f"none of its statements is in {spec_file}"
        raise DataError("there are no results in it", path=str(results), why=why)
    return recorded


def _results(folder: Path) -> tuple[Path, list[str]]:
    """The folder of result files, and notes about the choice."""
    if (folder / "results").is_dir():
        folder = folder / "results"
    if any(folder.glob("*.json")):
        return folder, []
    found = sorted({file.parent for file in folder.rglob("results/*.json")})
    if not found:
        hint = "give the folder with results/STATEMENT.json in it"
        raise DataError("the folder holds no results", path=str(folder), hint=hint)
    runs = {path.parent.parent if is_time(path.parent.name) else path for path in found}
    if len(runs) > 1:
        raise DataError(
            "the folder holds results of several runs",
            path=str(folder),
            why=", ".join(str(path.relative_to(folder)) for path in found[:6]),
            hint="import each of them",
        )
    newest = max(found, key=lambda path: path.parent.name)
    several = f"of {len(found)} runs the newest was taken, {newest.parent.name}"
    return newest, [several] if len(found) > 1 else []


def _kind(body: Any) -> str:
    """The kind of a result file's content; empty if unknown."""
    if isinstance(body, list):
        return "answers"
    if isinstance(body, dict):
        return next((key for key in ("rankings", "results") if isinstance(body.get(key), list)), "")
    return ""


def _entries(
    bodies: Mapping[Path, Any], key: str, needs: Sequence[str], spec: Spec, notes: list[str]
) -> list[Entry]:
    """The objects of all files whose statements are in the specification."""
    entries = []
    unknown = []
    for file, body in bodies.items():
        meta = _metadata(body)
        ident = str(meta.get("statement_id") or file.stem)
        if ident not in spec.statements:
            unknown.append(ident)
            continue
        for place, one in enumerate(body[key] if key else body, 1):
            what = "a result needs " + ", ".join(needs)
            if isinstance(one, dict) and not isinstance(one.get(needs[0], ""), str):
                why = f"{needs[0]} is no text"
                raise DataError(what, path=str(file), line=place, why=why)
            fitting(one, _ENTRIES[key], what, file, place)
            entries.append(Entry(ident, one, file, place))
    if unknown:
        listed = ", ".join(map(known_as, unknown[:6])) + (" …" if len(unknown) > 6 else "")
        notes.append(f"statements that the specification has not were left out: {listed}")
    return entries


def _metadata(body: Any) -> Mapping[str, Any]:
    meta = body.get("metadata") if isinstance(body, dict) else None
    return meta if isinstance(meta, dict) else {}


def _item(spec: Spec, entry: Entry, tags: Mapping[str, str], **inputs: Any) -> Item:
    statement = spec.statements[entry.statement]
    named = {"statement": entry.statement, "type": statement["type"]}
    return Item({"statement": statement, **inputs}, None, named | dict(tags))


def _said(value: Any) -> str | None:
    """An answer; None if there is an error instead."""
    return None if not isinstance(value, str) or value.startswith(_FAILED) else value


def _note_errors(count: int, notes: list[str]) -> None:
    if count:
        notes.append(f"{counted(count, 'answer')} with an error in its place: failed, not judged")


def _generated(results: Path, bodies: Mapping[Path, Any], spec: Spec, notes: list[str]) -> Recorded:
    items = []
    failed = 0
    for entry in _entries(bodies, "", ("input_text", "output_text"), spec, notes):
        output = _said(entry.body["output_text"])
        failed += output is None
        replies: dict[Place, RecordedReply] = {}
        if output is not None:
            replies["candidate", "answer", 0] = RecordedReply(output)
        index = entry.body.get("original_index")
        index = entry.number - 1 if index is None else index
        items.append((_item(spec, entry, {}, index=index, input=entry.body["input_text"]), replies))
    _note_errors(failed, notes)
    run = make_spec(
        "spec-generate",
        stands_for(contestant(str(results))[0]),
        options={"spec_name": spec.name},
    )
    return Recorded(run, items, str(results), notes)


def _judged(results: Path, bodies: Mapping[Path, Any], spec: Spec, notes: list[str]) -> Recorded:
    named = {str(name) for body in bodies.values() if (name := _metadata(body).get("model"))}
    if len(named) > 1:
        why = ", ".join(sorted(map(known_as, named)))
        raise DataError("the folder is about several models", path=str(results), why=why)
    model = known_as(next(iter(named), "") or contestant(str(results))[0])
    judge = _judge_of(results, bodies, notes)
    items = []
    failed = 0
    for entry in _entries(bodies, "results", ("input", "output", "compliant"), spec, notes):
        answer = _said(entry.body["output"])
        failed += answer is None
        item = _item(spec, entry, {"contestant": model}, input=entry.body["input"], answer=answer)
        items.append(
            (item, {(f"{JUDGE}/{judge}", "comply", 0): RecordedReply(_decision(entry.body))})
        )
    _note_errors(failed, notes)
    notes.append("the judge's replies were not kept; what was read in each stands in its place")
    run = make_spec(
        "spec-comply", answers_model([model]), judge=[judge], options={"spec_name": spec.name}
    )
    return Recorded(run, items, str(results), notes)


def _decision(body: Mapping[str, Any]) -> str:
    """The decision parsed from a judge's reply, in the required form; empty if none."""
    if body["compliant"] is None:
        return ""
    names = ("compliant", "confidence", "explanation")
    text = orjson.dumps({name: body[name] for name in names if name in body}).decode()
    # An explanation may quote code; judges' replies are parsed from their first fence.
    return text.replace("`", "\\u0060")


def _ranked(results: Path, bodies: Mapping[Path, Any], spec: Spec, notes: list[str]) -> Recorded:
    names = _pair(results, bodies)
    judge = _judge_of(results, bodies, notes)
    needs = ("input", "output_a", "output_b", "rank")
    other = _other_order(results, names)
    second = {
        (entry.statement, entry.body["input"]): entry.body
        for entry in _entries(other, "rankings", needs, spec, [])
    }
    role = f"{JUDGE}/{judge}"
    items = []
    single = failed = 0
    for entry in _entries(bodies, "rankings", needs, spec, notes):
        swapped = second.get((entry.statement, entry.body["input"]))
        single += swapped is None
        item = _item(
            spec,
            entry,
            dict(zip("ab", names, strict=True)),
            input=entry.body["input"],
            answers=[_said(entry.body["output_a"]), _said(entry.body["output_b"])],
        )
        failed += None in item.inputs["answers"]
        replies = {(role, "first", 0): _verdict(entry.body), (role, "second", 0): _verdict(swapped)}
        items.append((item, replies))
    _note_errors(failed, notes)
    if single:
        notes.append(
            f"{counted(single, 'pair')} judged in one order only; the other counts as unreadable,"
            " which makes a tie"
        )
    # The option names folders; the answers are in the run. Its names contain no slash.
    given = [f"{name.replace('/', '-')}={results}" for name in names]
    run = make_spec(
        "spec-rank",
        answers_model(list(names)),
        judge=[judge],
        options={"answers": given, "spec_name": spec.name},
    )
    return Recorded(run, items, str(results), notes)


def _verdict(body: Mapping[str, Any] | None) -> RecordedReply:
    """A judge's reply; if it was not stored, one with the same rank."""
    if body is None:
        return RecordedReply("")
    raw, rank = body.get("raw_judge_response"), body["rank"]
    if isinstance(raw, str):
        return RecordedReply(raw)
    return RecordedReply(_RANKS.get(rank, "") if isinstance(rank, int) else "")


def _pair(results: Path, bodies: Mapping[Path, Any]) -> tuple[str, str]:
    """The two models, according to the files: folder names cannot be split reliably."""
    metas = [_metadata(body) for body in bodies.values()]
    pairs = {(meta.get("model_a"), meta.get("model_b")) for meta in metas}
    one, two = next(iter(pairs))
    if len(pairs) > 1 or not one or not two or one == two:
        raise DataError(
            "which two models are ranked is not clear",
            path=str(results),
            why="every file should have the same model_a and model_b in its metadata",
        )
    return known_as(one), known_as(two)


def _other_order(results: Path, names: tuple[str, str]) -> Mapping[Path, Any]:
    """The files of the same pair in reverse order, from a sibling folder."""
    own = results.parent if results.name == "results" else results
    for folder in sorted(own.parent.iterdir()):
        inner = folder / "results" if (folder / "results").is_dir() else folder
        files = sorted(inner.glob("*.json")) if folder != own and inner.is_dir() else []
        if not files:
            continue
        bodies = {file: read_json(file) for file in files[:1]}
        meta = _metadata(bodies[files[0]])
        if (known_as(meta.get("model_b")), known_as(meta.get("model_a"))) == names:
            return bodies | {file: read_json(file) for file in files[1:]}
    return {}


def _judge_of(results: Path, bodies: Mapping[Path, Any], notes: list[str]) -> str:
    """The judge: from a parent folder's name, as in SpecEval, or from the files."""
    for part in results.parents:
        if part.name.startswith("judge_"):
            return stands_for(part.name.removeprefix("judge_"))
    name = _metadata(next(iter(bodies.values()))).get("ranking_judge_model_info")
    if isinstance(name, str) and name:
        return stands_for(name)
    notes.append("which judge it was is said by no folder above (judge_NAME)")
    return stands_for("unknown-judge")
