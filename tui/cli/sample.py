"""``evalbench show RUN --sample``: one sample with all its calls and replies."""

from __future__ import annotations

from textwrap import indent
from typing import Any

from evalbench.engine.calls import MediaPart, Message, Reply
from evalbench.engine.calls.messages import prompt_to_json
from evalbench.engine.calls.replies import reply_to_json
from evalbench.engine.errors import UsageError
from evalbench.engine.journal import CallRow, JournalReader
from evalbench.engine.runs.browse import SampleBrowser, SampleLine
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.runs.rows import as_text, gold_text
from evalbench.engine.terminal_text import clean, one_line
from evalbench.tui.cli import jsonlines
from evalbench.tui.cli.output import Out
from evalbench.tui.state.figures import OUTCOME_WORDS
from evalbench.tui.state.reuse_words import taken_words
from evalbench.tui.state.sample_view import (
    call_titles,
    choice_table,
    media_words,
    param_words,
    score_titles,
)
from evalbench.tui.state.sample_words import notes, readings


def show_sample(out: Out, folder: RunFolder, which: str, *, json: bool) -> None:
    """Print one sample of a run.

    Args:
        out: output stream.
        folder: the run's folder.
        which: its number in the run, from 1, or its id.
        json: print it as one JSON object.

    Raises:
        UsageError: the run has no such sample.
        JournalError: the journal cannot be read.
    """
    line, calls = _find(folder, which)
    if json:
        jsonlines.write(out, "sample", run=folder.id, **_as_json(line, calls))
    else:
        _print(out, line, calls)


def _find(folder: RunFolder, which: str) -> tuple[SampleLine, list[CallRow]]:
    samples = SampleBrowser(folder.journal)
    if which.isdecimal():
        number = int(which)
    else:
        with JournalReader(folder.journal) as journal:
            number = next((row.row for row in journal.samples() if row.sample.id == which), 0)
    last = len(samples.rows())
    found = samples.sample(number) if 0 < number <= last else None
    if found is None:
        raise UsageError(
            f"the run has no sample {which!r}",
            hint=f"give a number from 1 to {last}, or a whole sample id",
        )
    return found


def _as_json(row: SampleLine, calls: list[CallRow]) -> dict[str, Any]:
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
            for score in row.scores
        ],
    }


def _print(out: Out, row: SampleLine, calls: list[CallRow]) -> None:
    out.line(f"sample {row.row}, {row.sample.id}")
    for tag, text in row.sample.tags.items():
        out.line(f"{tag}: {one_line(text)}")
    detail = row.scores[0].detail if row.scores else {}
    out.line(f"gold: {one_line(gold_text(row.sample, detail))}")
    for title, call in zip(call_titles(calls), calls, strict=True):
        out.line()
        out.line(f"--- {one_line(title)}")
        for message in call.prompt.messages:
            _print_block(out, message.role, _message_text(message))
        if call.prompt.continuations:
            _print_block(out, "continuations", as_text(list(call.prompt.continuations)))
        _print_reply(out, call)
    for epoch, score in score_titles(row.scores):
        out.line()
        title = f"score of {epoch}" if epoch else "score"
        out.line(f"--- {title}: {OUTCOME_WORDS[score.outcome]}")
        if score.values:
            out.line(", ".join(f"{name} {value:g}" for name, value in score.values.items()))
        for parser, reading in readings(score.detail):
            out.line(f"{parser} parser: {one_line(reading)}")
        for name, note in notes(score.detail):
            out.line(f"{name}: {one_line(note)}")


def _print_reply(out: Out, call: CallRow) -> None:
    reply: Reply | None = call.reply
    if reply is None:
        out.line("no reply yet")
        return
    if reply.error:
        _print_block(out, "failed", reply.error)
        return
    if reply.reused:
        out.line(one_line(taken_words(reply.reused)))
    if reply.reasoning:
        _print_block(out, "reasoning", reply.reasoning)
    if reply.logprobs:
        table = choice_table(call.prompt.continuations, reply.logprobs)
        _print_block(out, "log-likelihoods", table)
    else:
        _print_block(out, f"reply, {reply.outcome}", reply.text)
    for words in param_words(reply):
        out.line(f"  parameter {one_line(words)}")
    for words in reply.notes:
        out.line(f"  odd: {one_line(words)}")


def _print_block(out: Out, title: str, text: str) -> None:
    out.line(f"[{title}]")
    out.line(indent(clean(text), "  ") or "  (empty)")


def _message_text(message: Message) -> str:
    return "".join(
        f"<{media_words(part)}>" if isinstance(part, MediaPart) else part.text
        for part in message.parts
    )
