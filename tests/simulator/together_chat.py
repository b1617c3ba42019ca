"""Chat completions as Together takes and gives them."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from tests.simulator import chat_prompt, chat_reply
from tests.simulator.brain import Completion
from tests.simulator.exchange import Answer, Bill, Exchange
from tests.simulator.images import Image
from tests.simulator.models import Model
from tests.simulator.refusals import admit
from tests.simulator.together_access import NAME, Access
from tests.simulator.together_errors import refuse

EFFORTS = ("low", "medium", "high")
_IMAGE_TOKENS = 576
_VIDEO_TOKENS = 4608
_ROLES = ("system", "user", "assistant", "tool")
_FIELDS = frozenset(
    {
        *("messages", "model", "max_tokens", "temperature", "top_p", "top_k", "min_p", "stop"),
        *("repetition_penalty", "presence_penalty", "frequency_penalty", "logit_bias", "seed"),
        *("n", "logprobs", "echo", "stream", "response_format", "tools", "tool_choice"),
        *("function_call", "safety_model", "compliance", "chat_template_kwargs", "reasoning"),
        *("reasoning_effort", "context_length_exceeded_behavior"),
    }
)
_NUMBERS = (
    # field, least, most, whole
    ("max_tokens", 1, float("inf"), True),
    ("temperature", 0, 2, False),
    ("top_p", 0, 1, False),
    ("seed", 0, 2**63 - 1, True),
    ("n", 1, 128, True),
    ("logprobs", 0, 20, True),
)


class Chat:
    """Checks a request, has it answered, and words the answer."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._world = access.world

    def complete(self, exchange: Exchange) -> Answer:
        """``POST /v1/chat/completions``."""
        admit(self._world, NAME, exchange, asks=True)
        value = _body(exchange)
        model = self._access.model(value["model"])
        warnings = _check(value, model)
        prompt = _read(value, model)
        cap = self._room(exchange, value, model, prompt.tokens)
        headers = self._access.limit(exchange, model, prompt.tokens + cap)
        said = chat_reply.completions(
            self._world,
            exchange,
            model,
            prompt,
            value,
            cap=cap,
            effort=_effort(value, model),
            count=value.get("n") or 1,
        )
        cached = model.price is not None and model.price.cache_read < model.price.input
        bill = chat_reply.bill(self._world, exchange, NAME, model, prompt, said, cached=cached)
        body = _reply(exchange, value, model, said, bill)
        if warnings:
            body["warnings"] = [{"message": warning} for warning in warnings]
        return Answer(body, headers=headers, bill=bill)

    def _room(self, exchange: Exchange, value: dict[str, Any], model: Model, tokens: int) -> int:
        """The cap, cut to what fits; an error where the request wants to know."""
        asked = value.get("max_tokens")
        cap = min(asked or model.max_output, model.max_output)
        if tokens + (asked or 1) <= model.context:
            return min(cap, model.context - tokens)
        if value.get("context_length_exceeded_behavior") != "truncate":
            refuse(
                f"Input validation error: `inputs` tokens + `max_new_tokens` must be <= "
                f"{model.context}. Given: {tokens} `inputs` tokens and {asked or 0} "
                "`max_new_tokens`",
                param="max_tokens",
            )
        exchange.notes["context_truncated_from"] = tokens + (asked or 0)
        return max(1, model.context - tokens)


def _body(exchange: Exchange) -> dict[str, Any]:
    try:
        value = exchange.body
    except ValueError:
        refuse("The request body is not valid JSON.")
    if not isinstance(value, dict) or not isinstance(value.get("model"), str):
        refuse("Missing required parameter: model", param="model")
    exchange.model = value["model"]
    return value


def _check(value: dict[str, Any], model: Model) -> list[str]:
    """Refuse what is not in the API, and tell what the model does not mind."""
    for name in value:
        if name not in _FIELDS:
            refuse(f"Unrecognized request argument supplied: {name}", param=name)
    if value.get("stream"):
        refuse("the simulator answers whole messages only", param="stream")
    for name, least, most, whole in _NUMBERS:
        _number(value, name, least, most, whole=whole)
    stops = value.get("stop")
    if stops is not None and not (
        isinstance(stops, list) and all(isinstance(text, str) and text for text in stops)
    ):
        refuse("stop must be an array of strings", param="stop")
    behaviour = value.get("context_length_exceeded_behavior", "error")
    if behaviour not in ("truncate", "error"):
        refuse("must be truncate or error", param="context_length_exceeded_behavior")
    _format(value)
    return _check_reasoning(value, model)


def _number(value: dict[str, Any], name: str, least: float, most: float, *, whole: bool) -> None:
    given = value.get(name)
    if given is None:
        return
    kind = int if whole else int | float
    if isinstance(given, bool) or not isinstance(given, kind):
        refuse(
            f"Invalid type for '{name}': expected {'an integer' if whole else 'a number'}, got "
            f"{type(given).__name__}",
            param=name,
        )
    if not least <= given <= most:
        refuse(f"'{name}' must be between {least:g} and {most:g}, got {given}", param=name)


def _format(value: dict[str, Any]) -> None:
    wanted = value.get("response_format")
    if wanted is None:
        return
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    if kind not in ("text", "json_object", "json_schema"):
        refuse("response_format.type must be text, json_object or json_schema",
               param="response_format")  # fmt: skip
    named = wanted.get("json_schema") or {}
    if kind == "json_schema" and not (named.get("name") and isinstance(named.get("schema"), dict)):
        refuse("response_format.json_schema needs a name and a schema", param="response_format")


def _check_reasoning(value: dict[str, Any], model: Model) -> list[str]:
    effort, switch = value.get("reasoning_effort"), value.get("reasoning")
    if effort is not None and effort not in EFFORTS:
        refuse("reasoning_effort must be low, medium or high", param="reasoning_effort")
    warnings = []
    if switch is not None:
        if not (isinstance(switch, dict) and set(switch) <= {"enabled"}):
            refuse("reasoning takes enabled, and nothing else", param="reasoning")
        if not isinstance(switch.get("enabled", True), bool):
            refuse("reasoning.enabled must be a boolean", param="reasoning")
        if "enabled" not in model.thinking:
            warnings.append(f"reasoning is not supported by {model.id} and was ignored")
        elif switch.get("enabled") is False and "disabled" not in model.thinking:
            refuse(f"reasoning cannot be disabled for {model.id}", param="reasoning")
    if effort is not None and not model.efforts:
        warnings.append(f"reasoning_effort is not supported by {model.id} and was ignored")
    return warnings


def _effort(value: dict[str, Any], model: Model) -> str:
    if not model.thinks_unasked or (value.get("reasoning") or {}).get("enabled") is False:
        return ""
    return (value.get("reasoning_effort") if model.efforts else None) or model.default_effort


def _read(value: dict[str, Any], model: Model) -> chat_prompt.ChatPrompt:
    """The messages, measured; videos are counted apart from what all chats have."""
    videos = 0
    messages = value.get("messages")
    if isinstance(messages, list):
        kept = []
        for at, message in enumerate(messages):
            content = message.get("content") if isinstance(message, dict) else None
            if isinstance(content, list):
                parts = [part for part in content if not _is_video(part)]
                for part in content:
                    if _is_video(part):
                        _check_video(part, model, f"messages[{at}].content")
                        videos += 1
                parts = parts or [{"type": "text", "text": ""}]
                message = {**message, "content": parts}
            kept.append(message)
        messages = kept
    prompt = chat_prompt.read(
        messages, model, roles=_ROLES, refuse=refuse, image_tokens=_image_tokens
    )
    prompt.tokens += videos * _VIDEO_TOKENS
    return prompt


def _is_video(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "video_url"


def _check_video(part: dict[str, Any], model: Model, param: str) -> None:
    if not model.video:
        refuse(f"{model.id} does not support video input", param=param)
    inner = part.get("video_url")
    url = inner.get("url") if isinstance(inner, dict) else None
    if isinstance(url, str) and url.startswith("https://"):
        return
    head, _, data = str(url).partition(",")
    if not (head.startswith("data:video/") and head.endswith(";base64")):
        refuse("video_url.url must be an address or a base64 data URI of a video", param=param)
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        refuse("video_url.url is not base64", param=param)


def _image_tokens(model: Model, image: Image | None, detail: str) -> int:
    return _IMAGE_TOKENS


def _reply(
    exchange: Exchange,
    value: dict[str, Any],
    model: Model,
    completions: list[Completion],
    bill: Bill,
) -> dict[str, Any]:
    usage: dict[str, Any] = {
        "prompt_tokens": bill.input_tokens,
        "completion_tokens": bill.output_tokens,
        "total_tokens": bill.input_tokens + bill.output_tokens,
        "cached_tokens": bill.cache_read_tokens,
    }
    if bill.reasoning_tokens:
        usage["reasoning_tokens"] = bill.reasoning_tokens
    return {
        "id": f"sim{exchange.number:06d}-{exchange.content % 10**9:09d}",
        "object": "chat.completion",
        "created": int(exchange.now),
        "model": model.id,
        "prompt": [],
        "choices": [
            {
                "index": index,
                "finish_reason": _finish(completion),
                "seed": value.get("seed", exchange.content % 2**31),
                "logprobs": _logprobs(completion.text, exchange.content, value.get("logprobs")),
                "message": _message(completion, model),
            }
            for index, completion in enumerate(completions)
        ],
        "usage": usage,
    }


def _finish(completion: Completion) -> str:
    """``eos`` where the model ended by itself, ``stop`` at one of the request's texts."""
    if completion.truncated:
        return "length"
    return "eos" if completion.stopped_by is None else "stop"


def _message(completion: Completion, model: Model) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": completion.text, "tool_calls": []}
    if completion.reasoning:
        field = "reasoning_content" if model.owner == "deepseek-ai" else "reasoning"
        message[field] = completion.reasoning
    return message


def _logprobs(text: str, content: int, top: int | None) -> dict[str, Any] | None:
    """Four lists side by side, in Together's older form; the best rivals of the first token."""
    if top is None:
        return None
    pieces = chat_reply.logprobs(text, content, max(top, 1))
    first = pieces[0]["top_logprobs"] if pieces else []
    return {
        "tokens": [piece["token"] for piece in pieces],
        "token_logprobs": [piece["logprob"] for piece in pieces],
        "token_ids": [float(at) for at, _ in enumerate(pieces)],
        "top_logprobs": {rival["token"]: rival["logprob"] for rival in first[:top]},
    }
