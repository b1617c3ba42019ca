"""``evalbench show RUN --sample``: one sample with everything that was asked and answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from textwrap import indent
from typing import Any

import orjson

from evalbench.engine.calls import MediaPart, Message, Reply
from evalbench.engine.calls.messages import prompt_to_json
from evalbench.engine.calls.replies import reply_to_json
from evalbench.engine.errors import UsageError
from evalbench.engine.journal import CallRow, JournalReader, SampleRow, ScoreRow
from evalbench.engine.runfolder import RunFolder
from evalbench.tui.cli import jsonlines
from evalbench.tui.cli.output import Out
from evalbench.tui.state.clean import clean, one_line
from evalbench.tui.state.figures import OUTCOME_WORDS


def show_sample(out: Out, folder: RunFolder, which: str, *, json: bool) -> None:
    """Print one sample of a run.

    Args:
        out: where to.
        folder: the run.
        which: its number in the run, from 1, or its id.
        json: as one JSON object.

    Raises:
        UsageError: the run has no such sample.
        JournalError: the journal cannot be read.
    """
    with JournalReader(folder.journal) as journal:
        row = _find(journal, which)
        calls = journal.calls(row.row)
        scores = [score for score in journal.scores(row.row, _MOST_EPOCHS) if score.row == row.row]
    if json:
        jsonlines.write(out, "sample", run=folder.id, **_as_json(row, calls, scores))
    else:
        _print(out, row, calls, scores)


_MOST_EPOCHS = 1000


def _find(journal: JournalReader, which: str) -> SampleRow:
    wanted: Iterable[SampleRow]
    if which.isdecimal():
        wanted = journal.samples(int(which), 1)
        found = next((row for row in wanted if row.row == int(which)), None)
    else:
        found = next((row for row in journal.samples() if row.sample.id == which), None)
    if found is None:
        raise UsageError(
            f"the run has no sample {which!r}",
            cure=f"give a number from 1 to {journal.size()}, or a whole sample id",
        )
    return found


def _as_json(row: SampleRow, calls: list[CallRow], scores: list[ScoreRow]) -> dict[str, Any]:
    return {
        "number": row.row,
        "id": row.sample.id,
        "tags": row.sample.tags,
        "inputs": row.sample.inputs,
        "gold": row.sample.gold,
        "calls": [
            {
                **call.key._asdict(),
                "reask": call.reask,
                "prompt": prompt_to_json(call.prompt),
                "reply": reply_to_json(call.reply) if call.reply else None,
            }
            for call in calls
        ],
        "scores": [
            {
                "epoch": score.epoch,
                "outcome": score.outcome,
                "values": score.values,
                **score.detail,
            }
            for score in scores
        ],
    }


def _print(out: Out, row: SampleRow, calls: list[CallRow], scores: list[ScoreRow]) -> None:
    out.line(f"sample {row.row}, {row.sample.id}")
    for tag, text in row.sample.tags.items():
        out.line(f"{tag}: {one_line(text)}")
    out.line(f"gold: {one_line(_text(row.sample.gold))}")
    for call in calls:
        again = f", asked again ({call.reask})" if call.reask else ""
        out.line()
        out.line(
            f"--- {call.key.role} {one_line(call.key.model)},"
            f" step {call.key.step}, epoch {call.key.epoch}{again}"
        )
        for message in call.prompt.messages:
            _print_block(out, message.role, _message_text(message))
        if call.prompt.continuations:
            _print_block(out, "continuations", _text(list(call.prompt.continuations)))
        _print_reply(out, call.reply)
    for score in scores:
        values = ", ".join(f"{name} {value:g}" for name, value in score.values.items())
        out.line()
        out.line(f"--- score of epoch {score.epoch}: {OUTCOME_WORDS[score.outcome]}")
        if values:
            out.line(values)
        for name, value in _flat_detail(score.detail):
            out.line(f"{name}: {one_line(_text(value))}")


def _print_reply(out: Out, reply: Reply | None) -> None:
    if reply is None:
        out.line("no reply yet")
        return
    if reply.error:
        _print_block(out, "failed", reply.error)
        return
    if reply.reasoning:
        _print_block(out, "reasoning", reply.reasoning)
    if reply.logprobs:
        _print_block(out, "log-likelihoods", " ".join(f"{value:.4f}" for value in reply.logprobs))
    else:
        _print_block(out, f"reply, {reply.outcome}", reply.text)
    for note in reply.params:
        if note.fate != "sent":
            out.line(f"  parameter {note.name} was {note.fate} {one_line(note.reason)}".rstrip())


def _print_block(out: Out, title: str, text: str) -> None:
    out.line(f"[{title}]")
    out.line(indent(clean(text), "  ") or "  (empty)")


def _message_text(message: Message) -> str:
    return "".join(
        f"<{part.media_type}, {len(part.data):,} bytes>"
        if isinstance(part, MediaPart)
        else part.text
        for part in message.parts
    )


def _flat_detail(detail: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """The parsers' readings by name, then whatever else there is."""
    for name, value in detail.items():
        if name == "parsed":
            for parser, reading in value.items():
                yield f"{parser} parser", reading
        else:
            yield name, value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
