"""Reading what compatible servers send."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evalbench.engine.calls import Outcome, Reply
from evalbench.providers.chat.errors import error_object
from evalbench.providers.chat.reply import read_chat, read_usage
from evalbench.providers.wire.exchange import Arrival
from evalbench.providers.wire.failures import looks_too_long

_OPEN, _CLOSE = "<think>", "</think>"


def read_completion(body: Mapping[str, Any], arrival: Arrival) -> Reply:
    """A chat completion; thoughts that a server left in the text are moved to ``reasoning``.

    Raises:
        KeyError, IndexError, TypeError: when the body is no completion.
    """
    reply = read_chat(body, arrival)
    return _without_thoughts(reply) if _OPEN in reply.text or _CLOSE in reply.text else reply


def read_text(body: Mapping[str, Any], arrival: Arrival) -> Reply:
    """A completion of raw text; raises as :func:`read_completion`."""
    choice = body["choices"][0]
    stop = choice.get("finish_reason") or ""
    return Reply(
        text=choice["text"],
        outcome=Outcome.TRUNCATED if stop == "length" else Outcome.OK,
        stop_reason=stop,
        usage=read_usage(body.get("usage")),
        provider_model=body.get("model") or "",
        raw=body,
        request_id=arrival.request_id,
        limits=arrival.limits,
        params=arrival.params,
        latency_s=arrival.latency_s,
    )


def _without_thoughts(reply: Reply) -> Reply:
    """Split one leading block of thoughts off; templates often put its opening mark in the prompt.

    Marks elsewhere are text like any other.
    """
    text = reply.text
    thoughts, closed, answer = text.partition(_CLOSE)
    opened = thoughts.lstrip().startswith(_OPEN)
    if closed and (opened or _OPEN not in thoughts):
        thoughts = thoughts.lstrip().removeprefix(_OPEN).strip()
        return replace(reply, text=answer.lstrip(), reasoning=reply.reasoning or thoughts)
    if opened and reply.outcome is Outcome.TRUNCATED:
        thoughts = text.lstrip().removeprefix(_OPEN).strip()
        return replace(reply, text="", reasoning=reply.reasoning or thoughts)
    return reply


def hidden_error(body: object) -> int | None:
    """The status of an error inside a good response, as routers send them; None without one."""
    if not isinstance(body, dict):
        return None
    error = error_object(body) if "error" in body else None
    if error is None:
        choices = body.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        error = first.get("error") if isinstance(first, dict) else None
    if not isinstance(error, dict):
        return None
    try:
        status = int(error.get("code") or 0)
    except (TypeError, ValueError):
        status = 0
    if 400 <= status < 600:
        return status
    return 400 if looks_too_long(str(error.get("message"))) else 502
