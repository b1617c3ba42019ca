"""Ollama's own API, which unlike its chat completions can set the context size to load.

With ``truncate`` and ``shift`` off, a prompt that does not fit is an error, and is never truncated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evalbench.engine.calls import Reply, Usage
from evalbench.providers.compatible.prepare import TEXT
from evalbench.providers.wire.exchange import Arrival, Prepared
from evalbench.providers.wire.lenient import as_object, as_text, encode, told_status
from evalbench.providers.wire.stops import outcome_of

_OPTIONS = {
    "max_tokens": "num_predict",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "seed": "seed",
    "stop": "stop",
}
_EFFORTS: Mapping[str, bool] = {"none": False}


def native(prepared: Prepared, root: str, num_ctx: int) -> Prepared:
    """The same request for Ollama's own API.

    Args:
        prepared: a request for chat completions or completions.
        root: the server's address without ``/v1``.
        num_ctx: tokens of context to load the model with.
    """
    asked = prepared.body
    options = {ours: asked[theirs] for theirs, ours in _OPTIONS.items() if theirs in asked}
    body: dict[str, Any] = {
        "model": asked["model"],
        "stream": False,
        "truncate": False,
        "shift": False,
        "options": {"num_ctx": num_ctx, **options},
    }
    if prepared.path == TEXT:
        body |= {"prompt": asked["prompt"], "raw": True}
        path = f"{root}/api/generate"
    else:
        body["messages"] = [_message(message) for message in asked["messages"]]
        path = f"{root}/api/chat"
    if (effort := asked.get("reasoning_effort")) is not None:
        body["think"] = _EFFORTS.get(effort, effort)
    if wanted := asked.get("response_format"):
        body["format"] = wanted["json_schema"]["schema"]
    # Completions call the number itself ``logprobs``.
    if top := asked.get("top_logprobs", asked.get("logprobs")):
        body |= {"logprobs": True, "top_logprobs": top}
    return replace(prepared, path=path, body=body)


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    """A turn with its images in a separate field."""
    content = message["content"]
    if isinstance(content, str):
        return {"role": message["role"], "content": content}
    texts = [part["text"] for part in content if part["type"] == "text"]
    images = [
        part["image_url"]["url"].partition(",")[2] for part in content if part["type"] != "text"
    ]
    return {"role": message["role"], "content": "".join(texts), "images": images}


def read_native(body: Mapping[str, Any], arrival: Arrival) -> Reply:
    """An answer of ``/api/chat`` or ``/api/generate``; ``raw`` is the body itself.

    Raises:
        KeyError, TypeError: the body is not an answer.
        BrokenOff: the server reports that the answer is incomplete.
    """
    message = body.get("message")
    text = body["response"] if message is None else message["content"]
    thoughts = (body if message is None else message).get("thinking")
    stop = as_text(body.get("done_reason"))
    return Reply(
        text=text if isinstance(text, str) else encode(text).decode(),
        outcome=outcome_of(stop),
        reasoning=as_text(thoughts),
        stop_reason=stop,
        usage=Usage(body.get("prompt_eval_count"), body.get("eval_count")),
        provider_model=as_text(body.get("model")),
        raw=body,
        request_id=arrival.request_id,
        limits=arrival.limits,
        params=arrival.params,
        latency_s=arrival.latency_s,
    )


def native_failure(body: Mapping[str, Any]) -> int | None:
    """The HTTP status equivalent to an error inside a good response; None if there is none."""
    if not body.get("error") or "message" in body or "response" in body:
        return None
    return told_status(as_object(body["error"])) or 500
