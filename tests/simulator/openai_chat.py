"""OpenAI: chat completions."""

from __future__ import annotations

from typing import Any

from tests.simulator import chat_prompt, chat_reply, openai_access
from tests.simulator.brain import Completion
from tests.simulator.exchange import Answer, Bill, Exchange
from tests.simulator.limits import openai_headers, written
from tests.simulator.models import Model
from tests.simulator.openai_errors import (
    check_schema,
    invalid_value,
    number,
    refuse,
    unsupported_parameter,
    unsupported_value,
)
from tests.simulator.refusals import admit
from tests.simulator.world import World

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
TIERS = ("auto", "default", "flex", "priority", "fast", "scale")
ROLES = ("system", "assistant", "user", "function", "tool", "developer")
FIELDS = frozenset(
    {
        "messages",
        "model",
        "audio",
        "frequency_penalty",
        "function_call",
        "functions",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_tokens",
        "metadata",
        "modalities",
        "moderation",
        "n",
        "parallel_tool_calls",
        "prediction",
        "presence_penalty",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "reasoning_effort",
        "response_format",
        "safety_identifier",
        "seed",
        "service_tier",
        "stop",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "user",
        "verbosity",
        "web_search_options",
    }
)


def complete(world: World, exchange: Exchange) -> Answer:
    """``POST /v1/chat/completions``."""
    admit(world, openai_access.NAME, exchange, asks=True)
    value = openai_access.body(exchange)
    if not value.keys() <= FIELDS:
        unknown = next(name for name in value if name not in FIELDS)
        refuse(f"Unrecognized request argument supplied: {unknown}")
    if "messages" not in value:
        refuse(
            "Missing required parameter: 'messages'.",
            param="messages",
            code="missing_required_parameter",
        )
    if value.get("stream"):
        unsupported_parameter("stream")
    model = openai_access.model(world, value["model"])
    effort = _check(value, model)
    prompt = chat_prompt.read(
        value["messages"],
        model,
        roles=ROLES,
        refuse=refuse,
        image_tokens=openai_access.image_tokens,
    )
    if prompt.tokens > model.context:
        openai_access.context_exceeded(model, prompt.tokens)
    cap = value.get("max_completion_tokens") or value.get("max_tokens")
    now = exchange.now
    buckets = world.limits.buckets(openai_access.NAME, exchange.key, model.id, now)
    openai_access.limit(world, buckets, model.id, now, prompt.tokens + (cap or 0))
    said = chat_reply.completions(
        world,
        exchange,
        model,
        prompt,
        value,
        cap=min(cap or model.max_output, model.context - prompt.tokens),
        effort=effort,
        count=value.get("n") or 1,
    )
    tier = value.get("service_tier") or "auto"
    bill = openai_access.bill(
        world,
        exchange,
        model,
        prompt.text,
        input_tokens=prompt.tokens,
        output_tokens=sum(one.output_tokens for one in said),
        reasoning_tokens=sum(one.reasoning_tokens for one in said),
        tier=tier,
        cache_key=value.get("prompt_cache_key") or "",
    )
    body = _body(exchange, value, model, said, bill, prompt.image_tokens)
    return Answer(body, headers=written(openai_headers, buckets, now), bill=bill)


def _check(value: dict[str, Any], model: Model) -> str:
    """Check every parameter against the model, and give the effort it reasons with."""
    cap_name = "max_completion_tokens" if "max_completion_tokens" in value else "max_tokens"
    if "max_tokens" in value and value["max_tokens"] is not None:
        if model.reasons:
            unsupported_parameter("max_tokens", "max_completion_tokens")
        if value.get("max_completion_tokens") is not None:
            refuse(
                "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not "
                "supported.",
                code="invalid_parameter_combination",
            )
    number(value, cap_name, 1, float("inf"), whole=True)
    cap = value.get(cap_name)
    if cap is not None and cap > model.max_output:
        refuse(
            f"max_tokens is too large: {cap}. This model supports at most {model.max_output} "
            f"completion tokens, whereas you provided {cap}.",
            param=cap_name,
            code="invalid_value",
        )
    effort = _effort(value, model)
    number(value, "temperature", 0, 2, whole=False)
    number(value, "top_p", 0, 1, whole=False)
    number(value, "n", 1, 128, whole=True)
    number(value, "seed", -(2**63), 2**63 - 1, whole=True)
    number(value, "top_logprobs", 0, 20, whole=True)
    _sampling(value, model, effort)
    _logprobs(value, model, effort)
    stops = value.get("stop")
    if stops is not None:
        if not model.stop:
            unsupported_parameter("stop")
        if isinstance(stops, list) and len(stops) > 4:
            refuse(
                "Invalid 'stop': array too long. Expected an array with maximum length 4, but "
                f"got an array with length {len(stops)} instead.",
                param="stop",
                code="array_above_max_length",
            )
    tier = value.get("service_tier")
    if tier is not None and tier not in TIERS:
        invalid_value("service_tier", tier, TIERS)
    _format(value)
    return effort


def _effort(value: dict[str, Any], model: Model) -> str:
    effort = value.get("reasoning_effort")
    if effort is None:
        return model.default_effort
    if effort not in EFFORTS:
        invalid_value("reasoning_effort", effort, EFFORTS)
    if not model.reasons:
        refuse("Unrecognized request argument supplied: reasoning_effort")
    if effort not in model.efforts:
        unsupported_value("reasoning_effort", effort, model.id, model.efforts)
    return str(effort)


def _sampling(value: dict[str, Any], model: Model, effort: str) -> None:
    for name in ("temperature", "top_p"):
        given = value.get(name)
        if given is None or model.sampling == "free":
            continue
        if model.sampling == "effortless" and effort == "none":
            continue
        if model.sampling == "default":
            if given != 1:
                refuse(
                    f"Unsupported value: '{name}' does not support {given} with this model. "
                    "Only the default (1) value is supported.",
                    param=name,
                    code="unsupported_value",
                )
            continue
        unsupported_parameter(name)


def _logprobs(value: dict[str, Any], model: Model, effort: str) -> None:
    asked = value.get("logprobs")
    if asked is not None and not isinstance(asked, bool):
        refuse(
            f"Invalid type for 'logprobs': expected a boolean, but got a "
            f"{type(asked).__name__} instead.",
            param="logprobs",
            code="invalid_type",
        )
    top = value.get("top_logprobs")
    if top and not asked:
        refuse(
            "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.",
            param="top_logprobs",
        )
    if asked and (not model.logprobs or effort not in ("", "none")):
        unsupported_parameter("logprobs")


def _format(value: dict[str, Any]) -> None:
    wanted = value.get("response_format")
    if wanted is None:
        return
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    if kind not in ("text", "json_object", "json_schema"):
        invalid_value("response_format.type", kind, ("json_object", "json_schema", "text"))
    if kind == "json_schema":
        inner = wanted.get("json_schema")
        if not isinstance(inner, dict) or "name" not in inner:
            refuse(
                "Missing required parameter: 'response_format.json_schema'.",
                param="response_format.json_schema",
                code="missing_required_parameter",
            )
        check_schema(inner, "response_format")


def _body(
    exchange: Exchange,
    value: dict[str, Any],
    model: Model,
    completions: list[Completion],
    bill: Bill,
    image_tokens: int,
) -> dict[str, Any]:
    top = value.get("top_logprobs") or 0
    choices = []
    for index, completion in enumerate(completions):
        refused = completion.kind == "refusal"
        found = (
            {"content": chat_reply.logprobs(completion.text, exchange.content, top)}
            if value.get("logprobs")
            else None
        )
        choices.append(
            {
                "index": index,
                "message": {
                    "role": "assistant",
                    "content": None if refused else completion.text,
                    "refusal": completion.text if refused else None,
                    "annotations": [],
                },
                "logprobs": {**found, "refusal": None} if found else None,
                "finish_reason": chat_reply.finish_reason(completion),
            }
        )
    tier = value.get("service_tier") or "auto"
    return {
        "id": f"chatcmpl-{exchange.number:024d}",
        "object": "chat.completion",
        "created": int(exchange.now),
        "model": f"{model.id}-{model.released}",
        "choices": choices,
        "usage": {
            "prompt_tokens": bill.input_tokens,
            "completion_tokens": bill.output_tokens,
            "total_tokens": bill.input_tokens + bill.output_tokens,
            "prompt_tokens_details": {
                "cached_tokens": bill.cache_read_tokens,
                "cache_write_tokens": bill.cache_write_tokens,
                "audio_tokens": 0,
                "image_tokens": image_tokens,
                "text_tokens": bill.input_tokens - image_tokens,
            },
            "completion_tokens_details": {
                "reasoning_tokens": bill.reasoning_tokens,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        },
        "service_tier": "default" if tier == "auto" else tier,
        "system_fingerprint": "fp_simulated",
    }
