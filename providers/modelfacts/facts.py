"""The record of one model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Everything that decides how a model is called. None: unknown.

    Attributes:
        context_tokens: maximum tokens of the prompt (for most models, of prompt and answer).
        output_tokens: maximum tokens of one answer.
        images: whether it accepts images.
        video: whether it accepts videos as they are.
        reasoning: whether it reasons before it answers.
        sampling: ``yes``; ``no``; ``legacy``: only under Anthropic's API version
            2023-06-01; ``unreasoned``: only at reasoning effort ``none``.
        efforts: supported reasoning efforts, lowest first; empty: it has no such setting.
        default_effort: the effort if none is requested.
        thinking: supported values of Anthropic's ``thinking.type``; for Gemini ``level``, or
            ``budget`` plus ``off`` if the budget may be 0.
        thinks: whether it thinks by default.
        stop: whether it accepts stop sequences.
        logprobs: whether it reports log-probabilities.
        schema: whether its answers can follow a JSON schema.
        prefill: whether it continues an answer begun in the request.
        system_turns: whether system messages may follow other messages.
        cache_tokens: minimum length of a cacheable prefix.
        endpoints: ``chat``, ``responses``.
        retires: retirement date, ISO format.
        successor: the replacement its provider offers.
    """

    context_tokens: int | None = None
    output_tokens: int | None = None
    images: bool | None = None
    video: bool | None = None
    reasoning: bool | None = None
    sampling: str | None = None
    efforts: tuple[str, ...] | None = None
    default_effort: str | None = None
    thinking: tuple[str, ...] | None = None
    thinks: bool | None = None
    stop: bool | None = None
    logprobs: bool | None = None
    schema: bool | None = None
    prefill: bool | None = None
    system_turns: bool | None = None
    cache_tokens: int | None = None
    endpoints: tuple[str, ...] | None = None
    retires: str | None = None
    successor: str | None = None

    def with_known(self, known: Mapping[str, Any]) -> ModelFacts:
        """A copy updated with ``known``, a mapping of field names as read from a file.

        Raises:
            ValueError: a name is not a field, or a value has the wrong type.
        """
        return replace(self, **{name: _checked(name, value) for name, value in known.items()})


_NAMES = tuple(f.name for f in fields(ModelFacts))
_KINDS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("context_tokens", "output_tokens", "cache_tokens"), int),
    **dict.fromkeys(
        (
            *("images", "video", "reasoning", "thinks", "stop", "logprobs", "schema"),
            *("prefill", "system_turns"),
        ),
        bool,
    ),
    **dict.fromkeys(("sampling", "default_effort", "retires", "successor"), str),
    **dict.fromkeys(("efforts", "thinking", "endpoints"), (list, tuple)),
}
_SAMPLING = ("yes", "no", "legacy", "unreasoned")


def _checked(name: str, value: Any) -> Any:
    if name not in _NAMES:
        raise ValueError(f"there is no field {name!r}; fields: {', '.join(_NAMES)}")
    if not isinstance(value, _KINDS[name]) or (_KINDS[name] is int and isinstance(value, bool)):
        raise ValueError(f"{name} cannot be {value!r}")
    if name == "sampling" and value not in _SAMPLING:
        raise ValueError(f"sampling cannot be {value!r}; one of {', '.join(_SAMPLING)}")
    return tuple(str(item) for item in value) if isinstance(value, list | tuple) else value
