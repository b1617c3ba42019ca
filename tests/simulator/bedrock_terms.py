"""Which settings of Converse a model takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from tests.simulator.bedrock_checks import refuse
from tests.simulator.bedrock_models import Offer
from tests.simulator.models import Model
from tests.simulator.schemas import open_object

_MOST_STOPS = 2500


@dataclass(frozen=True, slots=True)
class Asked:
    """Settings of a request as the brain needs them.

    Attributes:
        cap: most output tokens.
        effort: the effort that the model thinks with; empty when it does not.
    """

    cap: int
    stops: tuple[str, ...]
    effort: str
    budget: int | None
    schema: dict[str, Any] | None
    claude: bool


def read_terms(value: dict[str, Any], model: Model, offer: Offer) -> Asked:
    """The settings of a checked body, refused where the model does not take them."""
    config = value.get("inferenceConfig") or {}
    more = value.get("additionalModelRequestFields") or {}
    output = value.get("outputConfig") or {}
    cap = config.get("maxTokens", model.max_output)
    if cap > model.max_output:
        refuse(
            f"The maximum tokens you requested exceeds the model limit of {model.max_output}."
            " Try again with a maximum tokens value that is lower than"
            f" {model.max_output}."
        )
    claude = model.id.startswith("anthropic.")
    if claude:
        _claude_fields(more, model, cap)
        _claude_sampling(config, more, model)
    elif "thinking" in more:
        refuse("Malformed input request: extraneous key [thinking] is not permitted")
    effort = output.get("effort")
    if effort is not None and effort not in model.efforts:
        known = ", ".join(model.efforts)
        refuse(
            f"This model does not support effort level '{effort}'. Supported levels: {known}."
            if known
            else "This model does not support the effort parameter.",
            model=True,
        )
    if (value.get("performanceConfig") or {}).get("latency") == "optimized" and not offer.optimized:
        refuse("Latency performance configuration is not supported for this model.")
    stops = tuple(config.get("stopSequences") or ())
    if claude and any(not stop.strip() for stop in stops):
        refuse("stop_sequences: each stop sequence must contain non-whitespace", model=True)
    return Asked(
        cap,
        stops,
        _thinks(more, model, effort),
        (more.get("thinking") or {}).get("budget_tokens"),
        _schema(output, model),
        claude,
    )


def _thinks(more: dict[str, Any], model: Model, effort: str | None) -> str:
    kind = (more.get("thinking") or {}).get("type")
    thinks = kind in ("adaptive", "enabled") if kind else model.thinks_unasked
    return (effort or model.default_effort or "medium") if thinks else ""


def _claude_fields(more: dict[str, Any], model: Model, cap: int) -> None:
    for name in more:
        if name not in ("thinking", "top_k", "anthropic_beta"):
            refuse(f"{name}: Extra inputs are not permitted", model=True)
    thinking = more.get("thinking")
    if thinking is None:
        return
    kind = thinking.get("type")
    if kind not in model.thinking:
        refuse(f'"thinking.type.{kind}" is not supported for this model.', model=True)
    if kind != "enabled":
        return
    budget = thinking.get("budget_tokens")
    if not isinstance(budget, int) or budget < 1024:
        refuse(
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
            model=True,
        )
    if budget >= cap:
        refuse("`max_tokens` must be greater than `thinking.budget_tokens`.", model=True)


def _claude_sampling(config: dict[str, Any], more: dict[str, Any], model: Model) -> None:
    given = {name: config[name] for name in ("temperature", "topP") if name in config}
    if not given:
        return
    wire = {"temperature": "temperature", "topP": "top_p"}
    if model.sampling != "free":
        refuse(f"`{wire[next(iter(given))]}` is deprecated for this model.", model=True)
    if len(given) == 2 and "claude-3" not in model.id:
        refuse(
            "`temperature` and `top_p` cannot both be specified for this model. "
            "Please use only one.",
            model=True,
        )
    if (more.get("thinking") or {}).get("type") in ("enabled", "adaptive"):
        if given.get("temperature", 1) != 1:
            refuse("`temperature` may only be set to 1 when thinking is enabled.", model=True)
        if not 0.95 <= given.get("topP", 1) <= 1:
            refuse(
                "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.",
                model=True,
            )


def _schema(output: dict[str, Any], model: Model) -> dict[str, Any] | None:
    wanted = output.get("textFormat")
    if wanted is None:
        return None
    if "claude-3" in model.id or model.id.startswith(("amazon.", "meta.")):
        refuse("This model does not support outputConfig.textFormat.")
    try:
        schema: Any = orjson.loads(wanted["structure"]["jsonSchema"]["schema"])
    except orjson.JSONDecodeError:
        schema = None
    if not isinstance(schema, dict):
        refuse("The JSON schema of outputConfig.textFormat is not valid JSON.")
    if model.id.startswith("anthropic.") and open_object(schema):
        refuse(
            "outputConfig.textFormat: For 'object' type, 'additionalProperties' must be "
            "explicitly set to false",
            model=True,
        )
    return schema
