"""Conversations as APIs take them, and those that one cannot take in any form."""

from __future__ import annotations

from collections.abc import Sequence

from evalbench.engine.calls import Message
from evalbench.engine.errors import CallRejected
from evalbench.providers.modelfacts import ModelFacts


def leading_system(messages: Sequence[Message]) -> int:
    """How many messages at the start are the system's."""
    return next((i for i, m in enumerate(messages) if m.role != "system"), len(messages))


def check_turns(
    turns: Sequence[Message], facts: ModelFacts, who: str, *, system_turns: bool
) -> None:
    """Check what follows the system's messages, for APIs that keep those apart.

    Args:
        turns: the rest of the conversation.
        facts: of the model.
        who: whose API it is.
        system_turns: whether the model takes system messages among them.

    Raises:
        CallRejected: the conversation has a form that the model does not take.
    """
    if any(turn.role == "context" for turn in turns):
        raise raw_text_refused(who)
    if not turns:
        raise CallRejected("the call has a system message and no question")
    if turns[-1].role == "assistant" and facts.prefill is False:
        raise CallRejected(
            "the model does not continue an answer that the prompt began",
            hint="choose a style of the benchmark that ends with the user's turn",
        )
    if not system_turns and any(turn.role == "system" for turn in turns):
        raise CallRejected("the model takes system messages only at the start")


def raw_text_refused(who: str) -> CallRejected:
    """A prompt without turns went to an API that knows only turns."""
    return CallRejected(
        f"{who} answers conversations; it does not continue raw text",
        hint="choose a style of the benchmark that asks in chat turns",
    )
