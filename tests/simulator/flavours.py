"""How servers that copy OpenAI's chat completions differ: one record for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.simulator.limits import (
    Headers,
    mistral_headers,
    no_headers,
    openai_headers,
    openrouter_headers,
    xai_headers,
)
from tests.simulator.models import Model
from tests.simulator.openai import created

_COMMON = frozenset(
    {
        "messages",
        "model",
        "max_tokens",
        "max_completion_tokens",
        "temperature",
        "top_p",
        "n",
        "seed",
        "stop",
        "stream",
        "stream_options",
        "logprobs",
        "top_logprobs",
        "logit_bias",
        "presence_penalty",
        "frequency_penalty",
        "response_format",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "user",
        "reasoning_effort",
    }
)
_ROLES = ("system", "user", "assistant", "tool")
_ALL_ROLES = ("developer", *_ROLES)
_CLOUD = _COMMON | {"service_tier", "store", "metadata", "prompt_cache_key", "safety_identifier"}
_SAMPLERS = frozenset({"top_k", "min_p", "repetition_penalty", "typical_p"})

ModelFields = Callable[[Model], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Flavour:
    """One kind of server.

    Attributes:
        known: body fields it understands.
        unknown: what it does with others.
        refused: fields it knows and refuses, whatever their value.
        hosted: whether it is a vendor's service, which continues no raw text.
        reasoning: the field of a message that holds reasoning; ``chunks`` puts
            it into the content as Mistral does; empty: nowhere.
        schema: whether a response format may be a JSON schema.
        logprobs: whether it reports them; ``ignored`` answers null.
        headers: how it writes rate limits.
        retry_after: whether a 429 carries the header.
        requests_window: seconds that its request limit is counted over.
        overflow: what it does with a prompt that does not fit.
        cap_counts: whether prompt and allowed output together must fit.
        loaded_context: context it serves, when shorter than the model's own.
        any_model: whether any model name gets the loaded model.
        reasoning_apart: whether output token counts leave reasoning out.
        batches: whether it has files and batches as OpenAI has.
        fields: what a line of its model list holds besides the id.
    """

    name: str
    base_path: str
    known: frozenset[str] = _COMMON
    unknown: Literal["ignore", "refuse"] = "ignore"
    refused: frozenset[str] = frozenset()
    roles: tuple[str, ...] = _ALL_ROLES
    hosted: bool = True
    public_models: bool = False
    reasoning: Literal["", "reasoning", "reasoning_content", "chunks"] = "reasoning_content"
    logprobs: Literal["yes", "ignored"] = "yes"
    schema: bool = True
    max_n: int = 1
    headers: Headers = no_headers
    retry_after: bool = False
    requests_window: float = 60.0
    overflow: Literal["refuse", "truncate", "within_200"] = "refuse"
    cap_counts: bool = False
    loaded_context: int | None = None
    any_model: bool = False
    reasoning_apart: bool = False
    batches: bool = False
    fields: ModelFields = field(default=lambda model: _plain(model))


def _plain(model: Model) -> dict[str, Any]:
    return {"object": "model", "created": created(model), "owned_by": model.owner}


def _groq(model: Model) -> dict[str, Any]:
    return {
        **_plain(model),
        "active": model.lifecycle != "retired",
        "context_window": model.context,
        "public_apps": None,
        "max_completion_tokens": model.max_output,
    }


def routable(model: Model) -> list[str]:
    """The parameters that some route of OpenRouter honours for a model."""
    parameters = ["max_tokens", "temperature", "top_p", "seed", "stop", "response_format"]
    if model.logprobs:
        parameters += ["logprobs", "top_logprobs"]
    if model.reasons:
        parameters += ["reasoning", "reasoning_effort", "include_reasoning"]
    return parameters


def _openrouter(model: Model) -> dict[str, Any]:
    price = model.price
    per_token = (
        {
            "prompt": f"{price.input / 1e6:.10f}".rstrip("0"),
            "completion": f"{price.output / 1e6:.10f}".rstrip("0"),
            "input_cache_read": f"{price.cache_read / 1e6:.10f}".rstrip("0"),
        }
        if price
        else {"prompt": "0", "completion": "0"}
    )
    return {
        "canonical_slug": model.id,
        "name": model.title,
        "created": created(model),
        "description": "",
        "context_length": model.context,
        "architecture": {
            "modality": "text+image->text" if model.images else "text->text",
            "input_modalities": ["text", "image"] if model.images else ["text"],
            "output_modalities": ["text"],
            "tokenizer": "Other",
            "instruct_type": None,
        },
        "pricing": per_token,
        "top_provider": {
            "context_length": model.context,
            "max_completion_tokens": model.max_output,
            "is_moderated": False,
        },
        "per_request_limits": None,
        "supported_parameters": routable(model),
    }


def _vllm(model: Model) -> dict[str, Any]:
    return {
        **_plain(model),
        "owned_by": "vllm",
        "root": model.id,
        "parent": None,
        "max_model_len": model.context,
    }


def _without_date(model: Model) -> dict[str, Any]:
    return {"object": "model", "owned_by": model.owner}


def _llamacpp(model: Model) -> dict[str, Any]:
    return {
        **_plain(model),
        "owned_by": "llamacpp",
        "meta": {"n_ctx_train": 131_072, "n_params": 3_880_099_328},
    }


def _mistral(model: Model) -> dict[str, Any]:
    return {
        **_plain(model),
        "owned_by": "mistralai",
        "capabilities": {"completion_chat": True, "vision": model.images},
        "name": model.title,
        "max_context_length": model.context,
        "aliases": [],
        "deprecation": f"{model.retires_at}T12:00:00Z" if model.retires_at else None,
        "type": "base",
    }


def _fireworks(model: Model) -> dict[str, Any]:
    return {
        **_plain(model),
        "owned_by": "fireworks",
        "kind": "HF_BASE_MODEL",
        "supports_chat": True,
        "supports_image_input": model.images,
        "supports_tools": True,
        "context_length": model.context,
    }


FLAVOURS: tuple[Flavour, ...] = (
    Flavour(
        "groq",
        "/groq/openai/v1",
        known=_CLOUD | {"reasoning_format", "include_reasoning"},
        unknown="refuse",
        refused=frozenset({"logprobs", "top_logprobs", "logit_bias"}),
        reasoning="reasoning",
        headers=openai_headers,
        retry_after=True,
        requests_window=86_400.0,
        batches=True,
        fields=_groq,
    ),
    Flavour(
        "openrouter",
        "/openrouter/api/v1",
        known=_CLOUD
        | _SAMPLERS
        | {"provider", "models", "route", "transforms", "plugins", "usage", "reasoning"}
        | {"include_reasoning", "top_a"},
        public_models=True,
        reasoning="reasoning",
        headers=openrouter_headers,
        max_n=8,
        fields=_openrouter,
    ),
    Flavour(
        "vllm",
        "/vllm/v1",
        known=_COMMON
        | _SAMPLERS
        | {"chat_template_kwargs", "structured_outputs", "guided_json", "guided_choice"}
        | {"min_tokens", "ignore_eos", "prompt_logprobs", "include_reasoning", "priority"},
        hosted=False,
        reasoning="reasoning",
        max_n=128,
        cap_counts=True,
        fields=_vllm,
    ),
    Flavour(
        "ollama",
        "/ollama/v1",
        known=_COMMON - {"max_completion_tokens", "n", "logit_bias", "logprobs", "top_logprobs"},
        hosted=False,
        reasoning="reasoning",
        logprobs="ignored",
        overflow="truncate",
        loaded_context=4096,
    ),
    Flavour(
        "lmstudio",
        "/lmstudio/v1",
        known=(_COMMON | {"top_k", "repeat_penalty"}) - {"max_completion_tokens", "n"},
        roles=_ROLES,
        hosted=False,
        reasoning="reasoning",
        logprobs="ignored",
        overflow="within_200",
        any_model=True,
        fields=_without_date,
    ),
    Flavour(
        "llamacpp",
        "/llamacpp/v1",
        known=_COMMON | _SAMPLERS | {"chat_template_kwargs", "cache_prompt", "grammar"},
        hosted=False,
        any_model=True,
        max_n=8,
        fields=_llamacpp,
    ),
    Flavour(
        "deepseek",
        "/deepseek",
        known=_COMMON - {"max_completion_tokens", "n", "seed", "logit_bias"} | {"thinking"},
        schema=False,
        roles=_ROLES,
        fields=_without_date,
    ),
    Flavour(
        "mistral",
        "/mistral/v1",
        known=_COMMON
        - {"max_completion_tokens", "seed", "logprobs", "top_logprobs", "logit_bias", "user"}
        | {"random_seed", "safe_prompt", "prompt_mode", "prediction", "metadata"},
        unknown="refuse",
        roles=_ROLES,
        reasoning="chunks",
        max_n=8,
        headers=mistral_headers,
        fields=_mistral,
    ),
    Flavour(
        "xai",
        "/xai/v1",
        known=_CLOUD | {"search_parameters", "deferred"},
        headers=xai_headers,
        max_n=8,
        reasoning_apart=True,
    ),
    Flavour(
        "fireworks",
        "/fireworks/inference/v1",
        known=_CLOUD
        | _SAMPLERS
        | {"context_length_exceeded_behavior", "prompt_truncate_len", "echo", "raw_output"},
        unknown="refuse",
        headers=xai_headers,
        max_n=128,
        fields=_fireworks,
    ),
    Flavour("custom", "/custom/v1", hosted=False, any_model=True, max_n=8),
)
