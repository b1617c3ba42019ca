"""A sample's raw calls and replies: JSON with control and hidden characters made visible."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from evalbench.engine.calls import MediaPart, Message
from evalbench.engine.journal import CallRow
from evalbench.tui.state import figures
from evalbench.tui.state.sample_view import SampleView, call_title

_HIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
"""Control characters and other invisible ones; line breaks separate lines here."""


def marked(text: str) -> str:
    """``text`` with every hidden character written out, as in ``⟨U+202E⟩``."""
    return _HIDDEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def raw_words(calls: Sequence[CallRow]) -> str:
    """Each call as sent, and the body of its reply as the provider returned it."""
    return "\n\n".join(_raw_call(call) for call in calls) or "Nothing was asked yet."


def _raw_call(call: CallRow) -> str:
    prompt = call.prompt
    asked: dict[str, Any] = {
        "model": call.key.model,
        "messages": [_message(message) for message in prompt.messages],
    }
    if prompt.continuations:
        asked["continuations"] = list(prompt.continuations)
    asked |= prompt.params.asked()
    parts = [f"# {call_title(call)}", "## request, as evalbench asks for it", _json(asked)]
    reply = call.reply
    if reply is None:
        parts += ["## no reply"]
    elif reply.raw is not None:
        parts += ["## reply, as the provider sent it", _json(reply.raw)]
    else:
        told = {
            "text": reply.text,
            "outcome": reply.outcome.value,
            "error": reply.error,
            "logprobs": list(reply.logprobs),
        }
        kept = {name: value for name, value in told.items() if value}
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


def whole_words(view: SampleView) -> str:
    """A whole sample in plain text, nothing folded or cut."""
    lines = [f"sample {figures.count(view.number)}  {view.id}", f"result  {view.verdict.word}"]
    lines += [f"gold    {view.gold}"] if view.gold else []
    for score in view.scores:
        for parser, reading in score.readings:
            lines.append(f"read as {reading}  ({parser})")
    lines += [f"{name}  {value}" for name, value in view.tags]
    for call in view.calls:
        lines += ["", f"==== {call.title}"]
        for block in [*call.asked, *call.answered]:
            lines += ["", f"-- {block.title}", block.text]
        lines += [""] if call.facts else []
        lines += [f"{name}  {value}" for name, value in call.facts]
    return marked("\n".join(lines)) + "\n"
