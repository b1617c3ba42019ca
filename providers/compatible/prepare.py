"""A body for a compatible server for a call: pure, for realtime and batch alike.

Which parameters a server supports is mostly unknown until it says so: they are sent, and refusals
are learned. Many servers silently ignore unknown parameters; "sent" only means on the wire.
"""

from __future__ import annotations

from typing import Any

from evalbench.engine.calls import Call, MediaPart, Params
from evalbench.engine.errors import CallRejected, counted
from evalbench.providers.chat.conversation import chat_messages
from evalbench.providers.compatible.quirks import Quirks
from evalbench.providers.modelfacts import ModelFacts, Refused
from evalbench.providers.wire.exchange import Prepared
from evalbench.providers.wire.negotiation import Negotiation, Terms
from evalbench.providers.wire.prompt_checks import raw_text_refused
from evalbench.providers.wire.provider import wire_name
from evalbench.providers.wire.schemas import send_response_format, takes_schema

_CAPS = ("max_tokens", "max_completion_tokens")


def terms(
    params: Params,
    facts: ModelFacts,
    refused: Refused,
    quirks: Quirks,
    who: str,
    *,
    raw: bool = False,
) -> Terms:
    """Negotiate the parameters for a server with these quirks.

    Args:
        params: the requested parameters.
        facts: facts about the model.
        refused: what the model refused before.
        quirks: the server's quirks.
        who: the server's name, for reasons.
        raw: whether the call continues raw text.

    Raises:
        CallRejected: the server refuses every way to cap an answer.
    """
    talk = Negotiation(params, refused, who)
    caps = sorted(_CAPS, key=lambda name: name != quirks.cap)
    talk.cap(*caps)
    for name in ("temperature", "top_p", "top_k"):
        if facts.sampling == "no":
            talk.drop(name, "the model takes no sampling parameters")
        elif name == "top_k" and not quirks.top_k:
            talk.drop(name, f"{who} takes no top-k")
        else:
            talk.send(name, name)
    if quirks.seed:
        talk.send("seed", quirks.seed)
    if facts.stop is False:
        talk.drop("stop", "the model takes no stop texts")
    else:
        talk.send("stop", "stop")
    _reasoning(talk, facts, quirks, who)
    _logprobs(talk, facts, quirks, who)
    _schema(talk, params, facts, quirks, who, raw=raw)
    return talk.terms()


def _reasoning(talk: Negotiation, facts: ModelFacts, quirks: Quirks, who: str) -> None:
    if quirks.no_thinking and talk.asked("effort") == "none":
        field, value = quirks.no_thinking
        talk.send("effort", field, value, reason="as thinking off")
    elif not quirks.effort:
        talk.drop("effort", f"{who} takes no reasoning effort")
    elif not talk.takes_effort(facts):
        pass
    elif quirks.effort == "reasoning":
        talk.send("effort", "reasoning.effort", aliases=("reasoning_effort",))
    else:
        talk.send("effort", "reasoning_effort", aliases=("reasoning", "thinking", "think"))
    if quirks.budget:
        talk.send("thinking_budget", "reasoning.max_tokens")
    else:
        talk.drop("thinking_budget", f"{who} takes no thinking budget")


def _logprobs(talk: Negotiation, facts: ModelFacts, quirks: Quirks, who: str) -> None:
    if not quirks.logprobs or facts.logprobs is False:
        talk.drop("logprobs", f"{who} reports no log-probabilities")
    elif talk.send_logprobs("top_logprobs", most=quirks.most_logprobs, aliases=("logprobs",)):
        talk.fields["logprobs"] = True


def _schema(
    talk: Negotiation, params: Params, facts: ModelFacts, quirks: Quirks, who: str, *, raw: bool
) -> None:
    if not quirks.schema:
        talk.drop("schema", f"{who} takes no schema")
    elif takes_schema(talk, params, facts):
        if raw:
            talk.drop("schema", "for chats only; the call continues raw text")
        else:
            send_response_format(talk, params)


CHAT = "/chat/completions"
TEXT = "/completions"


def is_raw(call: Call) -> bool:
    """Whether a call continues raw text instead of a conversation."""
    messages = call.prompt.messages
    return bool(messages) and messages[0].role == "context"


def prepare(call: Call, terms: Terms, quirks: Quirks, who: str) -> Prepared:
    """The request for a call: chat turns, or raw text if the server can continue it.

    Raises:
        CallRejected: the server does not accept raw text, or a part cannot be sent.
    """
    messages = call.prompt.messages
    body: dict[str, Any] = {"model": wire_name(call)}
    fields = terms.fields
    if is_raw(call):
        if not quirks.raw_text:
            raise raw_text_refused(who)
        if len(messages) != 1 or any(isinstance(part, MediaPart) for part in messages[0].parts):
            raise CallRejected(f"{who} continues one raw text, without turns or images")
        body["prompt"] = messages[0].text
        path = TEXT
        fields = _for_text(terms)
    else:
        _check_images(call, quirks, who)
        body["messages"] = chat_messages(messages, who)
        path = CHAT
    return Prepared(
        model=wire_name(call),
        path=path,
        body={**body, **quirks.extra, **fields},
        headers=terms.headers,
        notes=terms.notes,
        negotiable=terms.negotiable,
    )


def _check_images(call: Call, quirks: Quirks, who: str) -> None:
    images = sum(isinstance(part, MediaPart) for m in call.prompt.messages for part in m.parts)
    if quirks.most_images and images > quirks.most_images:
        raise CallRejected(
            f"{who} takes {counted(quirks.most_images, 'image')} in one request,"
            f" and the call has {images}",
            hint="show fewer: benchmarks of videos have an option for the number of frames",
        )


def _for_text(terms: Terms) -> dict[str, Any]:
    """The fields in the form of ``/completions``, where ``logprobs`` is a number."""
    fields = dict(terms.fields)
    if fields.pop("logprobs", None):
        fields["logprobs"] = fields.pop("top_logprobs")
    if "max_completion_tokens" in fields:
        fields["max_tokens"] = fields.pop("max_completion_tokens")
    return fields
