"""Generate ``models.json`` from LiteLLM's model list, at release time.

    pip download --no-deps litellm
    python -m evalbench.providers.modelfacts.make_table litellm-*.whl

Only plain facts are copied, only for the providers below and for chat models. Errors and gaps in
the list are corrected in ``families.json``.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from typing import Any

import orjson

_MEMBER = "litellm/model_prices_and_context_window_backup.json"
_PROVIDERS = {
    "anthropic": "anthropic",
    "openai": "openai",
    "groq": "groq",
    "deepseek": "deepseek",
    "mistral": "mistral",
    "xai": "xai",
    "fireworks_ai": "fireworks",
    "gemini": "google",
}
_MODES = ("chat", "responses")
_LEVELS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_ALWAYS = ("low", "medium", "high")


def make(models: dict[str, dict[str, Any]]) -> dict[str, dict[str, dict[str, Any]]]:
    """Rows by provider and model name, from LiteLLM's list."""
    table: dict[str, dict[str, dict[str, Any]]] = {}
    for key, entry in models.items():
        provider = _PROVIDERS.get(entry.get("litellm_provider", ""))
        if not provider or entry.get("mode") not in _MODES or not entry.get("max_input_tokens"):
            continue
        name = key.removeprefix(f"{entry['litellm_provider']}/")
        if name.startswith("ft:") or (provider == "fireworks" and "/" not in name):
            continue
        row = _row(provider, entry)
        if row.keys() - {"context_tokens", "output_tokens"}:
            table.setdefault(provider, {})[name] = row
    return {name: dict(sorted(rows.items())) for name, rows in sorted(table.items())}


def _row(provider: str, entry: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "context_tokens": entry.get("max_input_tokens"),
        "output_tokens": entry.get("max_output_tokens"),
        "images": bool(entry.get("supports_vision")),
        "retires": entry.get("deprecation_date"),
        "successor": entry.get("successor_model"),
    }
    if provider == "anthropic":
        row |= _anthropic(entry)
    elif provider == "openai":
        row |= _openai(entry)
    elif provider == "google":
        row |= _google(entry)
    else:
        # An absent flag means "no" only where the list is well maintained.
        row["images"] = entry.get("supports_vision") or None
        row["reasoning"] = entry.get("supports_reasoning") or None
        row["efforts"] = entry.get("reasoning_effort_levels")
    return {name: value for name, value in row.items() if value is not None}


def _anthropic(entry: dict[str, Any]) -> dict[str, Any]:
    return {
        "sampling": "no" if entry.get("supports_sampling_params") is False else "legacy",
        "efforts": _efforts(entry) if entry.get("supports_output_config") else [],
        "thinks": bool(entry.get("thinking_on_by_default") or entry.get("thinking_always_on")),
        "prefill": bool(entry.get("supports_assistant_prefill")),
        "system_turns": bool(entry.get("supports_mid_conversation_system")),
        "cache_tokens": entry.get("prompt_cache_min_tokens"),
    }


def _openai(entry: dict[str, Any]) -> dict[str, Any]:
    reasoning = bool(entry.get("supports_reasoning"))
    names = {"/v1/chat/completions": "chat", "/v1/responses": "responses"}
    paths = entry.get("supported_endpoints") or ["/v1/chat/completions"]
    return {
        "reasoning": reasoning,
        "efforts": _efforts(entry) if reasoning else [],
        "default_effort": entry.get("default_reasoning_effort"),
        "endpoints": [names[path] for path in names if path in paths] or None,
    }


def _google(entry: dict[str, Any]) -> dict[str, Any]:
    successor = entry.get("successor_model")
    return {
        "reasoning": entry.get("supports_reasoning") or None,
        "sampling": "no" if entry.get("supports_sampling_params") is False else None,
        "successor": successor.removeprefix("gemini/") if successor else None,
    }


def _efforts(entry: dict[str, Any]) -> list[str]:
    if "reasoning_effort_levels" in entry:
        return [level for level in _LEVELS if level in entry["reasoning_effort_levels"]]
    return [
        level
        for level in _LEVELS
        if level in _ALWAYS or entry.get(f"supports_{level}_reasoning_effort")
    ]


def main(wheel: Path) -> None:
    """Write ``models.json`` next to this file."""
    with zipfile.ZipFile(wheel) as archive:
        table = make(orjson.loads(archive.read(_MEMBER)))
    version = wheel.name.split("-")[1]
    about = {
        "what": "What models take and hold. Made by make_table.py; corrections go to families.json",
        "source": f"LiteLLM {version}, model_prices_and_context_window.json",
        "licence": "MIT, Copyright (c) 2023 Berri AI; see models.LICENSE.txt",
    }
    rows = ",\n".join(
        f"  {orjson.dumps(provider).decode()}: {{\n"
        + ",\n".join(
            f"    {orjson.dumps(name).decode()}: {orjson.dumps(row).decode()}"
            for name, row in models.items()
        )
        + "\n  }"
        for provider, models in table.items()
    )
    text = f'{{"about": {orjson.dumps(about).decode()},\n"models": {{\n{rows}\n}}}}\n'
    orjson.loads(text)
    (Path(__file__).parent / "models.json").write_text(text, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
