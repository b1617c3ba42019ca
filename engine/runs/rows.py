"""A run as a table, one row per sample and epoch, and the text of what is in a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from string import ascii_uppercase
from typing import Any

import orjson

from evalbench.engine.benchmark import Sample
from evalbench.engine.calls import Outcome
from evalbench.engine.config.roles import CANDIDATE
from evalbench.engine.journal import CallRow
from evalbench.engine.runs.reader import RunReader, SampleRecord, role_of

FIXED = {
    "run": str,
    "benchmark": str,
    "title": str,
    "model": str,
    "sample": str,
    "row": int,
    "epoch": int,
    "outcome": str,
    "score": float,
    "question": str,
    "gold": str,
    "reply": str,
    "reasoning": str,
    "parsed": str,
    "note": str,
    "error": str,
    "calls": int,
    "reused": int,
    "input_tokens": int,
    "output_tokens": int,
    "cost_usd": float,
    "latency_s": float,
}
"""Columns of every run, with their types."""


def columns(run: RunReader) -> dict[str, type]:
    """Name and type of all columns: tags as ``tag.NAME``, values as ``value.NAME``.

    Scans the scores and samples once, because the names they use are only known afterwards.
    """
    found = run.labels()
    return (
        FIXED
        | {f"tag.{name}": str for name in found.tags}
        | {f"value.{name}": float for name in found.values}
    )


def rows(run: RunReader) -> Iterator[dict[str, Any]]:
    """The rows, in order; samples without a score have the outcome ``waiting``."""
    name = run.headline
    for record in run.walk():
        for epoch in sorted(record.scores) or [0]:
            yield row_of(run, record, epoch, name)


def row_of(run: RunReader, record: SampleRecord, epoch: int, headline: str) -> dict[str, Any]:
    """One row: a sample in one epoch; ``headline`` names the metric used as its score."""
    score = record.scores.get(epoch)
    detail: Mapping[str, Any] = score.detail if score else {}
    answers = record.answers(epoch)
    own = [call for call in record.calls if call.key.epoch == epoch]
    replies = [call for call in answers if role_of(call) == CANDIDATE]
    return {
        "run": run.id,
        "benchmark": run.spec.label,
        "title": run.status.title,
        "model": run.spec.model,
        "sample": record.sample.id,
        "row": record.row,
        "epoch": epoch,
        "outcome": score.outcome.value if score else "waiting",
        "score": run.grade(score, headline),
        "question": question(record),
        "gold": as_text(record.sample.gold),
        "reply": _texts(replies, "text"),
        "reasoning": _texts(replies, "reasoning"),
        "parsed": as_text(detail.get("parsed")),
        "note": str(detail.get("note") or ""),
        "error": str(detail.get("error") or "") or _failure(own),
        "calls": len(own),
        "reused": sum(bool(call.reply and call.reply.reused) for call in own),
        "input_tokens": _sum(own, lambda reply: reply.usage.input_tokens),
        "output_tokens": _sum(own, lambda reply: reply.usage.output_tokens),
        "cost_usd": _sum(own, lambda reply: None if reply.cost is None else float(reply.cost)),
        "latency_s": sum(call.reply.latency_s for call in answers if call.reply),
        **{f"tag.{tag}": value for tag, value in record.sample.tags.items()},
        **({f"value.{one}": float(v) for one, v in score.values.items()} if score else {}),
    }


def question(record: SampleRecord) -> str:
    """The sample's question for display; if it has no such input, all its inputs."""
    given = record.sample.inputs
    for name in ("question", "input", "prompt"):
        if isinstance(given.get(name), str):
            return str(given[name])
    turns = given.get("turns")
    if isinstance(turns, list):
        return "\n\n".join(map(str, turns))
    return as_text(given)


def gold_text(sample: Sample, detail: Mapping[str, Any], *, short: bool = False) -> str:
    """The correct answer.

    For a choice, its letter as the options were shown, and its text unless ``short``.
    """
    gold, choices = sample.gold, sample.inputs.get("choices")
    if isinstance(gold, int) and isinstance(choices, list) and 0 <= gold < len(choices):
        place = next(
            (at for at, option in enumerate(shown_order(choices, detail)) if option == gold), None
        )
        letter = "?" if place is None else ascii_uppercase[place % 26]
        return letter if short else f"{letter}) {as_text(choices[gold])}"
    if isinstance(gold, list) and gold:
        return as_text(gold[0]) if short else " or ".join(map(as_text, gold))
    return as_text(gold)


def read_text(detail: Mapping[str, Any]) -> str:
    """The parsed answer: by the lenient parser if there is one; of several judges, each one's."""
    parsed = detail.get("parsed")
    if not isinstance(parsed, Mapping) or not parsed:
        return ""
    name = next((name for name in parsed if "lenient" in name), next(iter(parsed)))
    return reading_text(parsed[name])


def reading_text(reading: Any, *, nothing: str = "–", names: bool = False) -> str:
    """What a parser read, in words; several readings, such as those of judges, one by one.

    Args:
        reading: a JSON value.
        nothing: stands for what could not be read.
        names: whether readings are preceded by their names.
    """

    def words(part: Any, between: str) -> str:
        if isinstance(part, list):
            return between.join(words(one, ", ") for one in part)
        if isinstance(part, Mapping):
            named = ((f"{name}: " if names else "", one) for name, one in part.items())
            return between.join(name + words(one, ", ") for name, one in named)
        return nothing if part is None else as_text(part)

    nested = names or (
        isinstance(reading, Mapping)
        and any(isinstance(one, (Mapping, list)) for one in reading.values())
    )
    return words(reading, "; " if nested else ", ")


def shown_order(choices: Sequence[Any], detail: Mapping[str, Any]) -> Sequence[int]:
    """Numbers of the options in the order shown."""
    order: Sequence[int] = detail.get("parsed", {}).get("order", range(len(choices)))
    return order


def as_text(value: Any) -> str:
    """A JSON value as text: strings unchanged, null as an empty string."""
    if value is None or value == {}:
        return ""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _texts(calls: list[CallRow], name: str) -> str:
    found = [(call, getattr(call.reply, name)) for call in calls]
    given = [(call, text) for call, text in found if text]
    if len(given) == 1 and len(calls) == 1:
        return str(given[0][1])
    return "\n\n".join(f"[{call.key.step} {call.key.repeat}]\n{text}" for call, text in given)


def _failure(calls: list[CallRow]) -> str:
    """The last error of a sample that has no answer yet."""
    for call in reversed(calls):
        if call.reply and call.reply.outcome is Outcome.ERROR:
            return call.reply.error
    return ""


def _sum(calls: list[CallRow], read: Any) -> Any:
    """The sum over replies; None if none reported a value."""
    values = [value for call in calls if call.reply and (value := read(call.reply)) is not None]
    return sum(values) if values else None
