"""Which fields generateContent takes, and which values each model takes in them.

Requests are protocol buffers in JSON: every field goes by its camelCase or its
snake_case name, at every level, and a field nobody knows is refused.
"""

from __future__ import annotations

import re
from typing import Any

from tests.simulator.exchange import Exchange
from tests.simulator.google_errors import refuse
from tests.simulator.models import Model

MOST_BYTES = 20 * 1024 * 1024

SCHEMAS: dict[str, dict[str, str]] = {
    # field: the message in it, "[]" for a list of them, "" for anything plain.
    "request": {
        "contents": "content[]",
        "systemInstruction": "content",
        "generationConfig": "config",
        "safetySettings": "safety[]",
        "model": "",
        "serviceTier": "",
        "store": "",
        "cachedContent": "",
        "tools": "",
        "toolConfig": "",
    },
    "count": {"contents": "content[]", "generateContentRequest": "request"},
    "vertex count": {
        "contents": "content[]",
        "systemInstruction": "content",
        "generationConfig": "config",
    },
    "content": {"role": "", "parts": "part[]"},
    "part": {
        "text": "",
        "thought": "",
        "thoughtSignature": "",
        "inlineData": "blob",
        "fileData": "file",
        "videoMetadata": "video",
    },
    "blob": {"mimeType": "", "data": ""},
    "file": {"mimeType": "", "fileUri": ""},
    "video": {"fps": "", "startOffset": "", "endOffset": ""},
    "safety": {"category": "", "threshold": ""},
    "config": {
        "temperature": "",
        "topP": "",
        "topK": "",
        "candidateCount": "",
        "maxOutputTokens": "",
        "stopSequences": "",
        "seed": "",
        "presencePenalty": "",
        "frequencyPenalty": "",
        "responseLogprobs": "",
        "logprobs": "",
        "responseMimeType": "",
        "responseSchema": "",
        "responseJsonSchema": "",
        "thinkingConfig": "thinking",
        "mediaResolution": "",
    },
    "thinking": {"includeThoughts": "", "thinkingBudget": "", "thinkingLevel": ""},
    "create batch": {"batch": "batch"},
    "batch": {"displayName": "", "inputConfig": "source", "priority": "", "model": "", "name": ""},
    "source": {"fileName": "", "requests": "requests"},
    "requests": {"requests": "inline[]"},
    "inline": {"request": "request", "metadata": ""},
    "upload": {"file": "filemeta"},
    "filemeta": {"name": "", "displayName": "", "mimeType": "", "sizeBytes": ""},
}
_CATEGORIES = frozenset(
    f"HARM_CATEGORY_{name}"
    for name in (
        "HARASSMENT",
        "HATE_SPEECH",
        "SEXUALLY_EXPLICIT",
        "DANGEROUS_CONTENT",
        "CIVIC_INTEGRITY",
    )
)
_THRESHOLDS = frozenset(
    {"BLOCK_LOW_AND_ABOVE", "BLOCK_MEDIUM_AND_ABOVE", "BLOCK_ONLY_HIGH", "BLOCK_NONE", "OFF"}
)
_TIERS = ("standard", "flex", "priority", "unspecified")
_BUDGETS = {"pro": (128, 32_768), "flash-lite": (512, 24_576), "flash": (1, 24_576)}
"""Of the 2.5 models, besides 0 and -1."""


def _snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda letter: "_" + letter[0].lower(), name)


_NAMES = {
    schema: {spelling: name for name in fields for spelling in (name, _snake(name))}
    for schema, fields in SCHEMAS.items()
}


def body(exchange: Exchange, schema: str = "request") -> dict[str, Any]:
    """The body in camelCase, with nothing unknown in it."""
    if len(exchange.raw) > MOST_BYTES:
        refuse(f"Request payload size exceeds the limit: {MOST_BYTES} bytes.")
    try:
        value = exchange.body
    except ValueError as problem:
        refuse(f"Invalid JSON payload received. {problem}")
    return read(value, schema, "")


def read(value: Any, schema: str, where: str) -> dict[str, Any]:
    """A message with its fields in camelCase."""
    if not isinstance(value, dict):
        refuse(f"Invalid value at '{where or 'body'}' ({schema}), \"{value}\"")
    out: dict[str, Any] = {}
    for name, inner in value.items():
        known = _NAMES[schema].get(name)
        if known is None:
            at = f" at '{where}'" if where else ""
            refuse(
                f'Invalid JSON payload received. Unknown name "{name}"{at}: Cannot find field.',
                where,
            )
        kind = SCHEMAS[schema][known]
        path = f"{where}.{_snake(known)}" if where else _snake(known)
        if kind.endswith("[]"):
            if not isinstance(inner, list):
                refuse(f"Invalid value at '{path}' (repeated {kind[:-2]}), \"{inner}\"")
            out[known] = [read(one, kind[:-2], f"{path}[{at}]") for at, one in enumerate(inner)]
        elif kind:
            out[known] = read(inner, kind, path)
        else:
            out[known] = inner
    return out


def for_model(value: dict[str, Any], model: Model) -> None:
    """Check everything that depends on the model, but not the contents."""
    config = value.get("generationConfig", {})
    _numbers(config, model)
    _sampling(config, model)
    _thinking(config.get("thinkingConfig", {}), model)
    _logprobs(config, model)
    _schema(config)
    _safety(value.get("safetySettings", ()))
    tier = value.get("serviceTier", "standard")
    if tier not in _TIERS:
        refuse(f"Invalid value at 'service_tier' (ServiceTier), \"{tier}\"", "service_tier")


def _numbers(config: dict[str, Any], model: Model) -> None:
    cap = config.get("maxOutputTokens")
    if cap is not None and (type(cap) is not int or not 1 <= cap <= model.max_output):
        refuse(
            f"Unable to submit request because it has a maxOutputTokens value of {cap} but the "
            f"supported range is from 1 (inclusive) to {model.max_output + 1} (exclusive). "
            "Update the value and try again."
        )
    if config.get("candidateCount", 1) != 1:
        refuse("Multiple candidates is not enabled for this model")
    seed = config.get("seed")
    if seed is not None and (type(seed) is not int or not -(2**31) <= seed < 2**31):
        refuse(f"Invalid value at 'generation_config.seed' (TYPE_INT32), {seed}")
    stops = config.get("stopSequences", [])
    if not isinstance(stops, list) or not all(isinstance(stop, str) for stop in stops):
        refuse("Invalid value at 'generation_config.stop_sequences' (TYPE_STRING)")
    if len(stops) > 5:
        refuse(
            "* GenerateContentRequest.generation_config.stop_sequences: the number of "
            "stop_sequences must be at most 5."
        )


def _sampling(config: dict[str, Any], model: Model) -> None:
    given = {
        name: config[name]
        for name in ("temperature", "topP", "topK")
        if config.get(name) is not None
    }
    for name, number in given.items():
        if isinstance(number, bool) or not isinstance(number, int | float):
            refuse(f"Invalid value at 'generation_config.{_snake(name)}' (TYPE_FLOAT)")
        if model.sampling == "never":
            refuse(f"`{_snake(name)}` is not supported for models/{model.id}.")
    for name, most in (("temperature", 2.0), ("topP", 1.0)):
        if not 0 <= given.get(name, 0) <= most:
            field = f"generation_config.{_snake(name)}"
            refuse(
                f"* GenerateContentRequest.{field}: {_snake(name)} must be in the range "
                f"[0.0, {most}].",
                field,
            )


def _thinking(config: dict[str, Any], model: Model) -> None:
    budget, level = config.get("thinkingBudget"), config.get("thinkingLevel")
    if budget is not None and level is not None:
        refuse("You can only set only one of thinking budget and thinking level.")
    if config and not model.thinking & {"budget", "level"}:
        refuse(f"Thinking is not supported for models/{model.id}.")
    if level is not None:
        _level(str(level), model)
    if budget is not None:
        _budget(budget, model)


def _level(level: str, model: Model) -> None:
    if "level" not in model.thinking:
        refuse("Thinking level is not supported for this model.")
    if level.lower() not in ("minimal", "low", "medium", "high", "xhigh"):
        refuse(f"Invalid value at 'generation_config.thinking_config.thinking_level', \"{level}\"")
    if level.lower() not in model.efforts:
        refuse(
            f"Thinking level {level.upper()} is not supported for this model. Please retry with "
            "other thinking level."
        )


def _budget(budget: Any, model: Model) -> None:
    if type(budget) is not int:
        refuse("Invalid value at 'generation_config.thinking_config.thinking_budget' (TYPE_INT32)")
    if "budget" not in model.thinking:
        refuse("Thinking budget is not supported for this model. Use thinking level instead.")
    if budget == 0 and "off" not in model.thinking:
        refuse("Budget 0 is invalid. This model only works in thinking mode.")
    family = next(name for name in _BUDGETS if model.id.removeprefix("gemini-2.5-") == name)
    least, most = _BUDGETS[family]
    if budget not in (0, -1) and not least <= budget <= most:
        refuse(
            f"The thinking budget {budget} is invalid. Please choose a value between {least} and "
            f"{most}."
        )


def _logprobs(config: dict[str, Any], model: Model) -> None:
    asked, top = config.get("responseLogprobs"), config.get("logprobs")
    if top is not None and not asked:
        refuse("Logprobs can only be set when responseLogprobs is true.")
    if asked and not model.logprobs:
        refuse(f"Logprobs is not enabled for models/{model.id}")
    if top is not None and (type(top) is not int or not 0 <= top <= 20):
        refuse(f"The number of logprobs must be between 0 and 20, but got {top}.")


def _schema(config: dict[str, Any]) -> None:
    kinds = [name for name in ("responseSchema", "responseJsonSchema") if name in config]
    if len(kinds) > 1:
        refuse("response_schema and response_json_schema cannot both be set.")
    for name in kinds:
        if not isinstance(config[name], dict):
            refuse(f"Invalid value at 'generation_config.{_snake(name)}'")
        if config.get("responseMimeType") != "application/json":
            refuse(
                f"* GenerateContentRequest.generation_config.{_snake(name)}: response mimetype "
                "application/json must be set when a schema is provided."
            )
    mime = config.get("responseMimeType", "text/plain")
    if mime not in ("text/plain", "application/json", "text/x.enum"):
        refuse(
            "* GenerateContentRequest.generation_config.response_mime_type: allowed mimetypes "
            "are `text/plain`, `application/json` and `text/x.enum`."
        )


def _safety(settings: Any) -> None:
    seen = set()
    for at, setting in enumerate(settings):
        for name, known in (("category", _CATEGORIES), ("threshold", _THRESHOLDS)):
            if setting.get(name) not in known:
                where = f"safety_settings[{at}].{name}"
                refuse(f"Invalid value at '{where}', \"{setting.get(name)}\"", where)
        if setting["category"] in seen:
            refuse("* GenerateContentRequest.safety_settings: duplicate category.")
        seen.add(setting["category"])
