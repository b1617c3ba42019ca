"""OpenAI: the Responses API."""

from __future__ import annotations

from typing import Any

from tests.simulator import chat_reply, openai_access, openai_input
from tests.simulator.brain import Ask, Completion
from tests.simulator.exchange import Answer, Bill, Exchange
from tests.simulator.limits import openai_headers, written
from tests.simulator.models import Model
from tests.simulator.openai_chat import EFFORTS, TIERS
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

FIELDS = frozenset(
    {
        "access_programs",
        "background",
        "background_options",
        "context_management",
        "conversation",
        "image",
        "include",
        "input",
        "instructions",
        "max_output_tokens",
        "max_tool_calls",
        "metadata",
        "model",
        "moderation",
        "parallel_tool_calls",
        "previous_response_id",
        "prompt",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "reasoning",
        "safety_identifier",
        "service_tier",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "text",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "truncation",
        "user",
    }
)
_INCLUDABLE = (
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
)
_ECHOED = ("prompt_cache_key", "safety_identifier")
_LOGPROBS = "message.output_text.logprobs"


def respond(world: World, exchange: Exchange) -> Answer:
    """``POST /v1/responses``."""
    admit(world, openai_access.NAME, exchange, asks=True)
    value = openai_access.body(exchange)
    for name in value:
        if name not in FIELDS:
            refuse(f"Unknown parameter: '{name}'.", param=name, code="unknown_parameter")
    if value.get("stream") or value.get("background"):
        unsupported_parameter("stream" if value.get("stream") else "background")
    model = _model(world, value["model"])
    effort = _check(value, model)
    prompt = openai_input.read(value, model)
    if prompt.tokens > model.context:
        refuse(
            "Your input exceeds the context window of this model. "
            "Please adjust your input and try again.",
            param="input",
            code="context_length_exceeded",
        )
    cap = value.get("max_output_tokens")
    now = exchange.now
    buckets = world.limits.buckets(openai_access.NAME, exchange.key, model.id, now)
    openai_access.limit(world, buckets, model.id, now, prompt.tokens + (cap or 0))
    completion = world.brain.complete(
        Ask(
            exchange.content,
            model.id,
            prompt.last,
            prompt.text,
            min(cap or model.max_output, model.context - prompt.tokens),
            model.chars_per_token,
            effort=effort,
            schema=_schema(value),
        )
    )
    bill = openai_access.bill(
        world,
        exchange,
        model,
        prompt.text,
        input_tokens=prompt.tokens,
        output_tokens=completion.output_tokens,
        reasoning_tokens=completion.reasoning_tokens,
        tier=value.get("service_tier") or "auto",
        cache_key=value.get("prompt_cache_key") or "",
    )
    headers = written(openai_headers, buckets, now)
    if completion.kind == "failed":
        message = completion.text or "The model failed to generate a response."
        return Answer(failed(exchange, value, "server_error", message), headers=headers)
    body = _body(exchange, value, model, completion, bill, effort)
    return Answer(body, headers=headers, bill=bill)


def failed(exchange: Exchange, value: dict[str, Any], code: str, message: str) -> dict[str, Any]:
    """A response that failed, to be sent with HTTP status 200."""
    body = _frame(exchange, value, value.get("model", ""), "")
    body.update(status="failed", error={"code": code, "message": message})
    return body


def _model(world: World, name: str) -> Model:
    known = world.catalogue.find(openai_access.NAME, name)
    if known is None:
        refuse(
            f"The requested model '{name}' does not exist.",
            param="model",
            code="model_not_found",
        )
    return openai_access.model(world, name)


def _check(value: dict[str, Any], model: Model) -> str:
    """Check every parameter against the model, and give the effort it reasons with."""
    number(value, "max_output_tokens", 16, float("inf"), whole=True)
    number(value, "temperature", 0, 2, whole=False)
    number(value, "top_p", 0, 1, whole=False)
    number(value, "top_logprobs", 0, 20, whole=True)
    effort = _effort(value, model)
    reasons = model.reasons and effort != "none"
    for name in ("temperature", "top_p"):
        given = value.get(name)
        if given is not None and model.sampling != "free" and (reasons or given != 1):
            if model.sampling == "effortless" and not reasons:
                continue
            unsupported_parameter(name)
    include = value.get("include") or []
    for name in include:
        if name not in _INCLUDABLE:
            invalid_value("include[0]", name, _INCLUDABLE)
    if (_LOGPROBS in include or value.get("top_logprobs")) and (reasons or not model.logprobs):
        unsupported_parameter("top_logprobs")
    tier = value.get("service_tier")
    if tier is not None and tier not in TIERS:
        invalid_value("service_tier", tier, TIERS)
    if value.get("truncation", "disabled") not in ("auto", "disabled", None):
        invalid_value("truncation", value["truncation"], ("auto", "disabled"))
    _text(value)
    return effort


def _effort(value: dict[str, Any], model: Model) -> str:
    reasoning = value.get("reasoning")
    if reasoning is None:
        return model.default_effort
    for name in reasoning:
        if name not in ("effort", "summary", "generate_summary", "mode", "context"):
            refuse(
                f"Unknown parameter: 'reasoning.{name}'.",
                param=f"reasoning.{name}",
                code="unknown_parameter",
            )
    summary = reasoning.get("summary")
    if summary is not None and summary not in ("auto", "concise", "detailed"):
        invalid_value("reasoning.summary", summary, ("auto", "concise", "detailed"))
    effort = reasoning.get("effort")
    if not model.reasons and (effort is not None or summary is not None):
        unsupported_parameter("reasoning.effort" if effort is not None else "reasoning.summary")
    if effort is None:
        return model.default_effort
    if effort not in EFFORTS:
        invalid_value("reasoning.effort", effort, EFFORTS)
    if effort not in model.efforts:
        unsupported_value("reasoning.effort", effort, model.id, model.efforts)
    return str(effort)


def _text(value: dict[str, Any]) -> None:
    text = value.get("text")
    if text is None:
        return
    for name in text:
        if name not in ("format", "verbosity"):
            refuse(
                f"Unknown parameter: 'text.{name}'.",
                param=f"text.{name}",
                code="unknown_parameter",
            )
    wanted = text.get("format")
    if wanted is None:
        return
    kinds = ("json_object", "json_schema", "text")
    if wanted.get("type") not in kinds:
        invalid_value("text.format.type", wanted.get("type"), kinds)
    if wanted["type"] == "json_schema":
        for name in ("name", "schema"):
            if name not in wanted:
                refuse(
                    f"Missing required parameter: 'text.format.{name}'.",
                    param=f"text.format.{name}",
                    code="missing_required_parameter",
                )
        check_schema(wanted, "text.format")


def _schema(value: dict[str, Any]) -> dict[str, Any] | None:
    wanted = (value.get("text") or {}).get("format") or {}
    if wanted.get("type") == "json_schema":
        schema: dict[str, Any] = wanted["schema"]
        return schema
    return {"type": "object", "properties": {}} if wanted.get("type") == "json_object" else None


def _frame(exchange: Exchange, value: dict[str, Any], name: str, effort: str) -> dict[str, Any]:
    """A response object without its outcome."""
    text = value.get("text") or {}
    reasoning = value.get("reasoning") or {}
    tier = value.get("service_tier") or "auto"
    return {
        "id": f"resp_{exchange.number:024d}",
        "object": "response",
        "created_at": int(exchange.now),
        "completed_at": None,
        "status": "completed",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": value.get("instructions"),
        "max_output_tokens": value.get("max_output_tokens"),
        "max_tool_calls": None,
        "model": name,
        "output": [],
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": effort or None, "summary": reasoning.get("summary")},
        "service_tier": "default" if tier == "auto" else tier,
        "store": value.get("store", True),
        "temperature": value.get("temperature", 1.0),
        "text": {
            "format": text.get("format") or {"type": "text"},
            "verbosity": text.get("verbosity") or "medium",
        },
        "tool_choice": "auto",
        "tools": [],
        "top_logprobs": value.get("top_logprobs") or 0,
        "top_p": value.get("top_p", 1.0),
        "truncation": value.get("truncation") or "disabled",
        "usage": None,
        "user": value.get("user"),
        "metadata": value.get("metadata") or {},
        **{name: value[name] for name in _ECHOED if value.get(name) is not None},
    }


def _body(
    exchange: Exchange,
    value: dict[str, Any],
    model: Model,
    completion: Completion,
    bill: Bill,
    effort: str,
) -> dict[str, Any]:
    body = _frame(exchange, value, f"{model.id}-{model.released}", effort)
    output = body["output"]
    if completion.reasoning_tokens:
        wants_summary = (value.get("reasoning") or {}).get("summary") is not None
        summary = [{"type": "summary_text", "text": completion.reasoning}] if wants_summary else []
        item = {"id": f"rs_{exchange.number:024d}", "type": "reasoning", "summary": summary}
        if "reasoning.encrypted_content" in (value.get("include") or []):
            item["encrypted_content"] = f"{exchange.content:016x}"
        output.append(item)
    filtered = completion.kind == "filtered"
    unfinished = completion.truncated or filtered
    if completion.text or not unfinished:
        output.append(
            {
                "id": f"msg_{exchange.number:024d}",
                "type": "message",
                "role": "assistant",
                "status": "incomplete" if unfinished else "completed",
                "content": [_part(exchange, value, completion)],
            }
        )
    if unfinished:
        body["status"] = "incomplete"
        reason = "content_filter" if filtered else "max_output_tokens"
        body["incomplete_details"] = {"reason": reason}
    else:
        body["completed_at"] = int(exchange.now)
    body["usage"] = {
        "input_tokens": bill.input_tokens,
        "input_tokens_details": {
            "cached_tokens": bill.cache_read_tokens,
            "cache_write_tokens": bill.cache_write_tokens,
        },
        "output_tokens": bill.output_tokens,
        "output_tokens_details": {"reasoning_tokens": bill.reasoning_tokens},
        "total_tokens": bill.input_tokens + bill.output_tokens,
    }
    return body


def _part(exchange: Exchange, value: dict[str, Any], completion: Completion) -> dict[str, Any]:
    if completion.kind == "refusal":
        return {"type": "refusal", "refusal": completion.text}
    wanted = _LOGPROBS in (value.get("include") or [])
    top = value.get("top_logprobs") or 0
    return {
        "type": "output_text",
        "text": completion.text,
        "annotations": [],
        "logprobs": chat_reply.logprobs(completion.text, exchange.content, top) if wanted else [],
    }
