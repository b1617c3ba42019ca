"""One sample with all its calls and replies, as blocks of text, and as they were sent.

Nothing here is made safe for a terminal: callers do that when printing.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalbench.engine.calls import MediaPart, Message, Reply
from evalbench.engine.journal import CallRow, ScoreRow
from evalbench.engine.runs.browse import SampleLine
from evalbench.engine.runs.headline import Headline
from evalbench.engine.runs.rows import gold_text
from evalbench.engine.terminal_text import visible
from evalbench.tui.state import figures
from evalbench.tui.state.cells import cell, widest
from evalbench.tui.state.reuse_words import taken_words
from evalbench.tui.state.sample_words import (
    Verdict,
    notes,
    outcome_word,
    question_words,
    readings,
    value_word,
    verdict,
)

CANDIDATE = "candidate"
_LONG_CHARACTERS, _LONG_LINES = 700, 10

Pairs = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Block:
    """One text with a title, or one picture.

    Attributes:
        folded: whether it is folded at first: long, shared, or seen before.
        tone: ``bad`` for errors, else empty.
        exact: whether its lines are a table and must not be wrapped.
    """

    title: str
    text: str = ""
    folded: bool = False
    tone: str = ""
    exact: bool = False
    media: MediaPart | None = None


@dataclass(frozen=True, slots=True)
class CallView:
    """One call: the role, the prompt, the reply, and its usage."""

    title: str
    asked: list[Block]
    answered: list[Block]
    facts: Pairs
    in_flight: bool


@dataclass(frozen=True, slots=True)
class ScoreView:
    """The score of one epoch: its outcome, what parsers read, and its values."""

    title: str
    outcome: str
    readings: Pairs
    values: Pairs
    notes: Pairs


@dataclass(frozen=True, slots=True)
class SampleView:
    """A whole sample."""

    number: int
    id: str
    verdict: Verdict
    outcome: str
    question: str
    gold: str
    tags: Pairs
    scores: list[ScoreView]
    calls: list[CallView]
    reply: str = field(repr=False, default="")

    @property
    def in_flight(self) -> int:
        """Calls without a reply."""
        return sum(call.in_flight for call in self.calls)


def sample_view(
    line: SampleLine, calls: Sequence[CallRow], headline: Headline, *, live: bool
) -> SampleView:
    """A sample for display; ``headline`` is the run's."""
    detail = line.scores[0].detail if line.scores else {}
    last = next(
        (call.reply.text for call in reversed(calls) if call.reply and call.key.role == CANDIDATE),
        "",
    )
    return SampleView(
        line.row,
        line.sample.id,
        verdict(line.scores, headline),
        outcome_word(line, live=live),
        question_words(line.sample.inputs),
        gold_text(line.sample, detail),
        list(line.sample.tags.items()),
        [_score_view(score, headline, title) for title, score in score_titles(line.scores)],
        list(_call_views(calls, live=live)),
        last,
    )


def score_titles(scores: Sequence[ScoreRow]) -> Iterator[tuple[str, ScoreRow]]:
    """Each score and its epoch, from 1; the epoch is named unless it is the only one."""
    several = any(score.epoch for score in scores)
    for score in scores:
        yield f"epoch {score.epoch + 1}" if several else "", score


def _score_view(score: ScoreRow, headline: Headline, title: str) -> ScoreView:
    return ScoreView(
        title,
        figures.OUTCOME_WORDS[score.outcome],
        readings(score.detail),
        [(name, value_word(number, name, headline)) for name, number in score.values.items()],
        notes(score.detail),
    )


def call_titles(calls: Sequence[CallRow]) -> list[str]:
    """A name for each call of a sample: its role and model, and what tells it from the others.

    Epochs and repeats are counted from 1 here, and from 0 in the journal and in JSON.
    """
    epochs = any(call.key.epoch for call in calls)
    repeats = any(call.key.repeat for call in calls)
    return [_call_title(call, epochs=epochs, repeats=repeats) for call in calls]


def _call_title(call: CallRow, *, epochs: bool, repeats: bool) -> str:
    key = call.key
    parts = [f"{key.role} {key.model}"]
    if key.step != "answer":
        parts.append(key.step)
    if epochs:
        parts.append(f"epoch {key.epoch + 1}")
    if repeats:
        parts.append(f"repeat {key.repeat + 1}")
    if call.reask:
        parts.append(f"asked again ({call.reask})")
    return " · ".join(parts)


def _call_views(calls: Sequence[CallRow], *, live: bool) -> Iterator[CallView]:
    seen: set[Message] = set()
    for title, call in zip(call_titles(calls), calls, strict=True):
        asked = list(_asked(call, seen))
        seen |= set(call.prompt.messages)
        in_flight = call.reply is None and live
        yield CallView(
            title,
            asked,
            list(_answered(call, live=live)),
            [] if call.reply is None else reply_facts(call.reply),
            in_flight,
        )


def _asked(call: CallRow, seen: set[Message]) -> Iterator[Block]:
    judge = call.key.role != CANDIDATE
    for message in call.prompt.messages:
        before = message in seen
        # A judge's prompt contains the question and the answer, which are shown above already.
        yield from message_blocks(message, before="unchanged" if before else "", fold=judge)
    options = call.prompt.continuations
    if options and not (call.reply and call.reply.logprobs):
        yield Block("choices", "\n".join(options))


def message_blocks(message: Message, *, before: str = "", fold: bool = False) -> Iterator[Block]:
    """A message in blocks: texts shared by many calls separately, pictures separately."""
    run: list[str] = []
    title = ", ".join(filter(None, [message.role, before]))

    def text(own: str) -> Block:
        return Block(title, own, folded=bool(before) or (fold and is_long(own)))

    for part in message.parts:
        shared = not isinstance(part, MediaPart) and part.shared
        if run and (shared or isinstance(part, MediaPart)):
            yield text("".join(run))
            run = []
        if isinstance(part, MediaPart):
            yield Block(f"{title}, {media_words(part)}", media=part)
        elif shared:
            known = f"{title}, shared by many calls"
            yield Block(known, part.text, folded=bool(before) or is_long(part.text))
        else:
            run.append(part.text)
    if run:
        yield text("".join(run))


def is_long(text: str) -> bool:
    """Whether a text fills much of a screen."""
    return len(text) > _LONG_CHARACTERS or text.count("\n") > _LONG_LINES


def media_words(part: MediaPart) -> str:
    """``image/png, 45.2 kB``."""
    return f"{part.media_type}, {figures.amount(len(part.data), 'B')}"


def _answered(call: CallRow, *, live: bool) -> Iterator[Block]:
    reply = call.reply
    if reply is None:
        text = "in flight: no reply yet" if live else "no reply: the run ended before it came"
        yield Block("reply", text)
        return
    if reply.error:
        yield Block("failed", reply.error, tone="bad")
        return
    if reply.reasoning:
        yield Block("reasoning", reply.reasoning, folded=is_long(reply.reasoning))
    if reply.logprobs:
        table = choice_table(call.prompt.continuations, reply.logprobs)
        yield Block("log-likelihoods", table, exact=True)
        return
    name = "reply" if call.key.role == CANDIDATE else f"what the {call.key.role} says"
    stopped = "" if reply.outcome == "ok" else f", {figures.OUTCOME_WORDS[reply.outcome]}"
    yield Block(name + stopped, reply.text or "(empty)")


def choice_table(choices: Sequence[str], logprobs: Sequence[float]) -> str:
    """Choices with their log-likelihoods (natural log) and shares, the greatest marked.

    The shares are relative to the choices: a softmax of the log-likelihoods.
    """
    greatest = max(logprobs)
    weights = [math.exp(p - greatest) if math.isfinite(p) else 0.0 for p in logprobs]
    total = sum(weights) if math.isfinite(greatest) else 0.0
    names = [cell(choice, 40).strip() or "(blank)" for choice in choices]
    names += ["?"] * (len(logprobs) - len(names))
    width = widest(names)
    lines = []
    for name, logprob, weight in zip(names, logprobs, weights, strict=False):
        share = f"{100 * weight / total:5.1f} %" if total else "    ? %"
        mark = "  greatest" if logprob == greatest else ""
        lines.append(f"{cell(name, width)}  {logprob:9.4f}  {share}{mark}")
    return "\n".join(lines)


def reply_facts(reply: Reply) -> Pairs:
    """A reply's usage and source, in words; only what is known."""
    facts: Pairs = []
    if tokens := token_words(reply):
        facts.append(("tokens", tokens))
    if reply.reused:
        facts.append(("reused", taken_words(reply.reused)))
    facts += list(_money(reply))
    if reply.latency_s or reply.attempts > 1:
        tries = "" if reply.attempts <= 1 else f", {reply.attempts} attempts"
        facts.append(("time", figures.duration(reply.latency_s) + tries))
    answered = ", ".join(
        filter(
            None, [reply.provider_model, reply.stop_reason and f"stopped by {reply.stop_reason}"]
        )
    )
    if answered:
        facts.append(("answered by", answered))
    if reply.service_tier:
        facts.append(("service tier", reply.service_tier))
    if reply.request_id:
        facts.append(("request", reply.request_id))
    facts += [("parameters", words) for words in param_words(reply)]
    facts += [("oddity", words) for words in reply.notes]
    return facts


def token_words(reply: Reply) -> str:
    """``150 in (100 cached), 20 out (8 reasoning)``."""
    usage = reply.usage
    into, out = [], []
    if usage.cache_read_tokens:
        into.append(f"{figures.count(usage.cache_read_tokens)} cached")
    if usage.cache_write_tokens:
        into.append(f"{figures.count(usage.cache_write_tokens)} written to the cache")
    if usage.audio_tokens:
        into.append(f"{figures.count(usage.audio_tokens)} sound")
    if usage.reasoning_tokens:
        out.append(f"{figures.count(usage.reasoning_tokens)} reasoning")
    return ", ".join(
        f"{figures.count(number)} {way}" + (f" ({', '.join(parts)})" if parts else "")
        for number, way, parts in (
            (usage.input_tokens, "in", into),
            (usage.output_tokens, "out", out),
        )
        if number is not None
    )


def _money(reply: Reply) -> Iterator[tuple[str, str]]:
    if reply.cost is not None and reply.cost:
        yield "cost", figures.dollars(float(reply.cost))
    if reply.possible_cost:
        yield "besides", f"up to {figures.dollars(float(reply.possible_cost))} possibly billed"
    elif reply.possibly_billed:
        yield "besides", "possibly billed, at an unknown price"


def param_words(reply: Reply) -> list[str]:
    """Parameters that were not sent, with the reason."""
    return [
        f"{note.name} was {note.fate}" + (f": {note.reason}" if note.reason else "")
        for note in reply.params
        if note.fate != "sent"
    ]


_HIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
"""Control characters and other invisible ones; line breaks separate lines here."""


def marked(text: str) -> str:
    """``text`` with every hidden character written out, as in ``⟨U+202E⟩``."""
    return _HIDDEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def raw_words(calls: Sequence[CallRow]) -> str:
    """Each call as sent, and the body of its reply as the provider returned it."""
    parts = [_raw_call(call, title) for title, call in zip(call_titles(calls), calls, strict=True)]
    return "\n\n".join(parts) or "Nothing was asked yet."


def _raw_call(call: CallRow, title: str) -> str:
    prompt = call.prompt
    asked: dict[str, Any] = {
        "model": call.key.model,
        "messages": [_message(message) for message in prompt.messages],
    }
    if prompt.continuations:
        asked["continuations"] = list(prompt.continuations)
    asked |= prompt.params.asked()
    parts = [f"# {title}", "## request, as evalbench asks for it", _json(asked)]
    reply = call.reply
    if reply is None:
        parts += ["## no reply"]
    elif reply.raw is not None:
        parts += ["## reply, as the provider sent it", _json(reply.raw)]
    else:
        fields = {
            "text": reply.text,
            "outcome": reply.outcome.value,
            "error": reply.error,
            "logprobs": list(reply.logprobs),
        }
        kept = {name: value for name, value in fields.items() if value}
        parts += ["## reply, of which no body is kept", _json(kept)]
    return "\n".join(parts)


def _message(message: Message) -> dict[str, Any]:
    return {
        "role": message.role,
        "content": [
            f"({part.media_type}, {figures.amount(len(part.data), 'B')}, sha256 {part.sha256})"
            if isinstance(part, MediaPart)
            else part.text
            for part in message.parts
        ],
    }


def _json(value: Any) -> str:
    return marked(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def sample_facts(view: SampleView) -> Iterator[tuple[str, str, str]]:
    """A sample's result and tags: each with its name and tone."""
    found = view.verdict
    word = ", ".join(filter(None, [found.word, view.outcome]))
    yield "result", f"{found.glyph} {word}", found.tone
    if view.gold:
        yield "gold", view.gold, "strong"
    for score in view.scores:
        if score.title:
            yield score.title, score.outcome, ""
        for parser, reading in score.readings:
            yield "read as", f"{reading}  ({parser})", ""
        for name, word in score.values:
            yield "counts as", f"{word}  ({name})", ""
        for name, note in score.notes:
            yield name, note, ""
    for tag, value in view.tags:
        yield tag, value, ""


def whole_words(view: SampleView) -> str:
    """A whole sample in plain text, nothing folded or cut; control characters are escaped."""
    lines = [f"sample {figures.count(view.number)}  {view.id}"]
    lines += [f"{name}  {value}" for name, value, _ in sample_facts(view)]
    for call in view.calls:
        lines += ["", f"==== {call.title}"]
        for block in [*call.asked, *call.answered]:
            lines += ["", f"-- {block.title}", block.text]
        lines += [""] if call.facts else []
        lines += [f"{name}  {value}" for name, value in call.facts]
    return visible("\n".join(lines)) + "\n"
