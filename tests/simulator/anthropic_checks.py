"""Which fields the Messages API takes, by API version and by model.

Messages are worded as the API words them: a path, a colon, what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from tests.simulator.exchange import Answer, Exchange, Refused
from tests.simulator.models import Model
from tests.simulator.schemas import open_object

OLD_VERSION = "2023-06-01"
NEW_VERSION = "2026-10-21"

SAMPLING = ("temperature", "top_p", "top_k")
FIELDS = frozenset(
    {
        "model",
        "max_tokens",
        "messages",
        "cache_control",
        "container",
        "diagnostics",
        "inference_geo",
        "metadata",
        "output_config",
        "service_tier",
        "speed",
        "stop_sequences",
        "stream",
        "system",
        "thinking",
        "tool_choice",
        "tools",
    }
)
COUNT_FIELDS = frozenset(
    {
        "model",
        "messages",
        "cache_control",
        "output_config",
        "system",
        "thinking",
        "tool_choice",
        "tools",
    }
)


def error(status: int, kind: str, message: str, details: dict[str, Any] | None = None) -> Answer:
    """An error body of this API; ``dress`` adds the request id."""
    inner: dict[str, Any] = {"type": kind, "message": message}
    if details is not None:
        inner["details"] = details
    return Answer({"type": "error", "error": inner}, status)


def refuse(message: str, *, details: dict[str, Any] | None = None) -> NoReturn:
    """400 with ``invalid_request_error``."""
    raise Refused(error(400, "invalid_request_error", message, details))


def version(headers: Mapping[str, str]) -> str:
    """The API version a request asks for."""
    asked = headers.get("anthropic-version")
    if asked is None:
        refuse("anthropic-version: header is required")
    if asked not in (OLD_VERSION, NEW_VERSION):
        refuse(f'anthropic-version: "{asked}" is not a valid version')
    return asked


def body(exchange: Exchange, *, counting: bool) -> tuple[dict[str, Any], str]:
    """The body, checked as far as the model does not matter, and the API version."""
    asked = version(exchange.headers)
    try:
        value = exchange.body
    except ValueError as problem:
        refuse(f"The request body is not valid JSON: {problem}")
    if not isinstance(value, dict):
        refuse("Input should be a valid dictionary")
    _fields(value, asked, counting=counting)
    if not isinstance(value["model"], str):
        refuse("model: Input should be a valid string")
    exchange.model = value["model"]
    messages = value["messages"]
    if not isinstance(messages, list):
        refuse("messages: Input should be a valid list")
    if not messages:
        refuse("messages: at least one message is required")
    if len(messages) > 100_000:
        refuse("messages: too many messages; the maximum is 100000")
    if not counting:
        _settings(value)
    return value, asked


def _fields(value: dict[str, Any], asked: str, *, counting: bool) -> None:
    """Refuse unknown fields and missing ones."""
    known = COUNT_FIELDS if counting else FIELDS
    if not value.keys() <= known:
        sampling = SAMPLING if asked == OLD_VERSION and not counting else ()
        for name in value:
            if name not in known and name not in sampling:
                refuse(f"{name}: Extra inputs are not permitted")
    for name in ("model", "messages") if counting else ("model", "max_tokens", "messages"):
        if name not in value:
            refuse(f"{name}: Field required")


def _settings(value: dict[str, Any]) -> None:
    cap = value["max_tokens"]
    if not isinstance(cap, int) or isinstance(cap, bool):
        refuse("max_tokens: Input should be a valid integer")
    if cap < 0:
        refuse("max_tokens: Input should be greater than or equal to 0")
    if value.get("stream"):
        refuse("stream: the simulator answers whole messages only")
    if value.get("service_tier", "auto") not in ("auto", "standard_only"):
        refuse("service_tier: Input should be 'auto' or 'standard_only'")
    if value.get("speed", "standard") not in ("standard", "fast", None):
        refuse("speed: Input should be 'standard' or 'fast'")
    stops = value.get("stop_sequences", ())
    if not isinstance(stops, list | tuple) or not all(isinstance(s, str) for s in stops):
        refuse("stop_sequences: Input should be a valid list")
    if any(not stop.strip() for stop in stops):
        refuse("stop_sequences: each stop sequence must contain non-whitespace")
    metadata = value.get("metadata", {})
    if not isinstance(metadata, dict) or metadata.keys() - {"user_id"}:
        refuse("metadata: Extra inputs are not permitted")


def for_model(value: dict[str, Any], asked: str, model: Model) -> None:
    """Check everything that depends on the model, but not the messages."""
    cap = value.get("max_tokens")
    if cap is not None and cap > model.max_output:
        refuse(
            f"max_tokens: {cap} > {model.max_output}, which is the maximum allowed number of "
            f"output tokens for {model.id}"
        )
    _thinking(value, cap, model)
    _output_config(value, model)
    if asked == OLD_VERSION:
        _sampling(value, model)


def _thinking(value: dict[str, Any], cap: int | None, model: Model) -> None:
    thinking = value.get("thinking")
    if thinking is None:
        return
    kind = thinking.get("type") if isinstance(thinking, dict) else None
    if kind not in ("adaptive", "enabled", "disabled", "between_tools"):
        refuse(
            "thinking: Input tag does not match any of the expected tags: "
            "'adaptive', 'between_tools', 'disabled', 'enabled'"
        )
    allowed = {"type"}
    if kind in ("adaptive", "enabled"):
        allowed.add("display")
    if kind == "enabled":
        allowed.add("budget_tokens")
    for name in thinking:
        if name not in allowed:
            refuse(f"thinking.{kind}.{name}: Extra inputs are not permitted")
    if thinking.get("display", "summarized") not in ("summarized", "omitted", None):
        refuse(f"thinking.{kind}.display: Input should be 'summarized' or 'omitted'")
    if kind not in model.thinking:
        _refuse_thinking(kind)
    if kind == "enabled":
        _budget(thinking.get("budget_tokens"), cap)


def _refuse_thinking(kind: str) -> NoReturn:
    if kind == "adaptive":
        refuse("adaptive thinking is not supported on this model")
    hint = ' Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
    refuse(
        f'"thinking.type.{kind}" is not supported for this model.'
        + (hint if kind == "enabled" else "")
    )


def _budget(budget: Any, cap: int | None) -> None:
    if budget is None:
        refuse("thinking.enabled.budget_tokens: Field required")
    if not isinstance(budget, int) or budget < 1024:
        refuse("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
    if cap is not None and budget >= cap:
        refuse("`max_tokens` must be greater than `thinking.budget_tokens`.")


def _output_config(value: dict[str, Any], model: Model) -> None:
    config = value.get("output_config")
    if config is None:
        return
    if not isinstance(config, dict):
        refuse("output_config: Input should be a valid dictionary")
    for name in config:
        if name not in ("effort", "format"):
            refuse(f"output_config.{name}: Extra inputs are not permitted")
    effort = config.get("effort")
    if effort is not None:
        if effort not in ("low", "medium", "high", "xhigh", "max"):
            refuse(
                "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'"
            )
        if not model.efforts:
            refuse("This model does not support the effort parameter.")
        if effort not in model.efforts:
            refuse(
                f"This model does not support effort level '{effort}'. "
                f"Supported levels: {', '.join(model.efforts)}."
            )
    wanted = config.get("format")
    if wanted is not None and (
        not isinstance(wanted, dict)
        or wanted.get("type") != "json_schema"
        or not isinstance(wanted.get("schema"), dict)
    ):
        refuse("output_config.format: Input should be a valid json_schema format")
    if wanted is not None and open_object(wanted["schema"]):
        refuse(
            "output_config.format.schema: For 'object' type, 'additionalProperties' must be "
            "explicitly set to false"
        )


def _sampling(value: dict[str, Any], model: Model) -> None:
    given = {name: value[name] for name in SAMPLING if value.get(name) is not None}
    if not given:
        return
    for name, number in given.items():
        if isinstance(number, bool) or not isinstance(number, int | float):
            refuse(f"{name}: Input should be a valid number")
    if not 0 <= given.get("temperature", 0) <= 1:
        refuse("temperature: range: 0..1")
    if model.sampling != "free":
        default = {"temperature": 1, "top_p": 1}
        for name, number in given.items():
            if model.sampling == "never" or number != default.get(name):
                refuse(f"`{name}` is deprecated for this model.")
    if "temperature" in given and "top_p" in given:
        refuse(
            "`temperature` and `top_p` cannot both be specified for this model. "
            "Please use only one."
        )
    if (value.get("thinking") or {}).get("type") == "enabled":
        _sampling_while_thinking(given)


def _sampling_while_thinking(given: dict[str, Any]) -> None:
    if given.get("temperature", 1) != 1:
        refuse("`temperature` may only be set to 1 when thinking is enabled.")
    if "top_k" in given:
        refuse("`top_k` must be unset when thinking is enabled.")
    if not 0.95 <= given.get("top_p", 1) <= 1:
        refuse("`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.")
