"""Checks for conversations that an API cannot accept in any form."""

from __future__ import annotations

from collections.abc import Sequence

from evalbench.engine.calls import Message
from evalbench.engine.errors import CallRejected
from evalbench.providers.modelfacts import ModelFacts


def leading_system(messages: Sequence[Message]) -> int:
    """The number of system messages at the start."""
    return next((i for i, m in enumerate(messages) if m.role != "system"), len(messages))


def check_turns(
    turns: Sequence[Message], facts: ModelFacts, who: str, *, system_turns: bool
) -> None:
    """Check the messages after the system's, for APIs that take those separately.

    Args:
        turns: the rest of the conversation.
        facts: facts about the model.
        who: the API's name.
        system_turns: whether the model accepts later system messages.

    Raises:
        CallRejected: the model does not accept this form of conversation.
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
    """A prompt without turns, for an API that accepts only turns."""
    return CallRejected(
        f"{who} answers conversations; it does not continue raw text",
        hint="choose a style of the benchmark that asks in chat turns",
    )
