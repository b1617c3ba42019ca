"""The form for a user-defined server: its fields, and the resulting command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalbench.engine.calls.options import Option
from evalbench.engine.calls.secrets import variables_in
from evalbench.tui.state.draft import FIRST_TITLE, Section

NAME = Option("name", str, None, "its name in models: NAME/MODEL; small letters, digits, dashes")
_FIELDS = (
    Option("base_url", str, None, "address of the API, such as https://gateway.example.com/v1"),
    Option("header", str, None, "headers of every request, NAME: VALUE, several separated by ;"
           " ${VARIABLE} stands for a secret, which is asked for and kept in the keychain"),
    Option("query", str, None, "query parameters of every request, NAME=VALUE, separated by ;"),
    Option("price", str, None, "US dollars per million tokens, MODEL=IN/OUT, separated by ;"
           " * is every other model"),
    Option("price_source", str, None, "where the prices come from"),
    Option("like", str, None, "a provider that it is like: vllm, groq, azure and so on"),
    Option("title", str, None, "its name for people"),
    Option("key_variable", str, None, "environment variable of its key"),
    Option("key_header", str, None, "header of the key, instead of Authorization: Bearer"),
    Option("key_page", str, None, "address where keys are made"),
    Option("requests_per_minute", float, None, "its limit", minimum=0.01),
    Option("tokens_per_minute", int, None, "its limit, prompts and replies", minimum=1),
    Option("concurrency", int, None, "maximum concurrent calls", minimum=1),
    Option("timeout", float, None, "seconds for one attempt at one call", minimum=1),
    Option("key_required", str, None, "whether nothing works without a key", choices=("yes", "no")),
    Option("batches", str, None, "whether it takes OpenAI-style batches",
           choices=("auto", "yes", "no")),
)  # fmt: skip
_HINTS = {
    "name": "my-gateway",
    "base_url": "https://…/v1",
    "header": "none",
    "query": "none",
    "price": "unknown",
    "price_source": "–",
    "like": "compatible",
    "title": "its name",
    "key_variable": "NAME_API_KEY",
    "key_header": "Authorization",
    "key_page": "–",
    "requests_per_minute": "no limit",
    "tokens_per_minute": "no limit",
    "concurrency": "adaptive",
    "timeout": "600",
    "key_required": "if named",
    "batches": "auto",
}
_SEVERAL = {"header": ("headers", ": "), "query": ("query", "="), "price": ("prices", "=")}


def sections(*, new: bool) -> list[Section]:
    """The fields; an existing server keeps its name."""
    return [Section(FIRST_TITLE, (NAME, *_FIELDS) if new else _FIELDS, _HINTS)]


def typed_of(description: Mapping[str, Any]) -> dict[str, str]:
    """The text to type for a description from the file."""
    found: dict[str, str] = {}
    for option in _FIELDS:
        field, sign = _SEVERAL.get(option.name, (option.name, ""))
        value = description.get("key" if field == "key_variable" else field)
        if value is None:
            continue
        if sign:
            found[option.name] = "; ".join(f"{name}{sign}{one}" for name, one in value.items())
        else:
            found[option.name] = (
                {True: "yes", False: "no"}.get(value, str(value))
                if isinstance(value, bool)
                else str(value)
            )
    return found


def command_words(typed: Mapping[str, str], before: Mapping[str, str]) -> list[str]:
    """Flags of ``evalbench providers`` for what was typed; empty values for removed entries.

    Args:
        typed: values by field.
        before: values in the file.
    """
    words: list[str] = []
    for option in _FIELDS:
        now, then = typed.get(option.name, "").strip(), before.get(option.name, "")
        if now == then:
            continue
        several = [part.strip() for part in now.split(";")] if option.name in _SEVERAL else [now]
        for value in several:
            words.append(f"{option.flag}={value}")
    return words


def header_variables(typed: Mapping[str, str]) -> list[str]:
    """The variables that headers and parameters refer to; their values are secrets."""
    return variables_in([typed.get("header", ""), typed.get("query", "")])
