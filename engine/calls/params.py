"""The table of call parameters.

A parameter is a field of :class:`Params`. What settings, forms, probes, traces and file readers
need to know about it is declared with the field. To add one, declare it here and in the terms
of the providers that accept it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any

from evalbench.engine.calls.options import Option
from evalbench.engine.calls.values import value_object
from evalbench.engine.field_checks import Check, list_of, maybe, number, record, text, whole


@dataclass(frozen=True, slots=True)
class Parameter:
    """Facts about one parameter.

    Attributes:
        shape: the shape of a stored value.
        option: the setting that requests it; None if set by a benchmark or the run's seed.
        title: display name in lists of what a model does not accept; empty if not listed.
        trial: a value that works on every model with this parameter; None if it is not probed.
        trace: its name in traces, after ``gen_ai.request.``; empty if not traced.
        unset: description of what applies when it is not requested.
    """

    shape: Check
    option: Option | None = None
    title: str = ""
    trial: Any = None
    trace: str = ""
    unset: str = "the model's own"


def _parameter(default: Any = None, /, **known: Any) -> Any:
    parameter = Parameter(**known)
    return field(default=default, metadata={"parameter": parameter, "setting": parameter.option})


_COUNT = maybe(whole(0, 2**53))


@value_object
class Params:
    """Requested parameters. None means not requested: the provider's default applies.

    Attributes:
        max_tokens: cap on generated tokens; every generating call has one.
        temperature, top_p, top_k: sampling; 0 temperature means greedy.
        seed: sampling seed, for providers that take one.
        stop: strings that end the answer; not part of it.
        effort: reasoning effort, in the provider's terms.
        thinking_budget: maximum tokens for reasoning.
        logprobs: how many alternatives to report for each generated token.
        schema: JSON schema, as JSON text, that the answer must follow. The reply's text
            is still text; a provider without schema support answers freely.
    """

    max_tokens: int | None = _parameter(
        shape=_COUNT,
        option=Option(
            "max_tokens",
            int,
            None,
            "maximum tokens per reply, reasoning included (default: the benchmark's limit "
            "plus --thinking-room)",
            minimum=1,
        ),
        trace="max_tokens",
        unset="benchmark's own",
    )
    temperature: float | None = _parameter(
        shape=maybe(number()),
        option=Option(
            "temperature",
            float,
            None,
            "sampling temperature",
            minimum=0,
            maximum=2,
        ),
        title="temperature",
        trial=0.5,
        trace="temperature",
    )
    top_p: float | None = _parameter(
        shape=maybe(number()),
        option=Option("top_p", float, None, "nucleus sampling probability", minimum=0, maximum=1),
        title="top-p",
        trial=0.5,
        trace="top_p",
    )
    top_k: int | None = _parameter(
        shape=_COUNT,
        option=Option(
            "top_k",
            int,
            None,
            "sample only from this many of the likeliest tokens",
            minimum=1,
        ),
        title="top-k",
        trial=40,
        trace="top_k",
    )
    seed: int | None = _parameter(
        shape=maybe(whole(-(2**63), 2**63 - 1)), title="seed", trial=1, trace="seed"
    )
    stop: tuple[str, ...] = _parameter(
        (),
        shape=list_of(text),
        option=Option("stop", str, (), "stop sequence", many=True, metavar="TEXT"),
        title="stop texts",
        trial=("\n",),
        trace="stop_sequences",
        unset="none",
    )
    effort: str | None = _parameter(
        shape=maybe(text),
        option=Option(
            "effort", str, None, "reasoning effort, in the provider's terms", metavar="LEVEL"
        ),
        title="effort",
        trial="low",
        trace="reasoning.level",
    )
    thinking_budget: int | None = _parameter(
        shape=_COUNT,
        option=Option(
            "thinking_budget",
            int,
            None,
            "token budget for reasoning; 0 turns it off",
            minimum=0,
        ),
    )
    logprobs: int | None = _parameter(shape=_COUNT, trial=1)
    schema: str | None = _parameter(shape=maybe(text))

    def asked(self) -> dict[str, Any]:
        """Only the requested parameters, by name."""
        # Hot path: every call passes through here twice.
        named = zip(PARAMETERS, _VALUES(self), strict=True)
        return {name: value for name, value in named if value is not None and value != ()}

    def override(self, **changes: Any) -> Params:
        """A copy with every change that is not None applied."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        values.update({name: value for name, value in changes.items() if value is not None})
        values["stop"] = tuple(values["stop"])
        return Params(**values)


PARAMETERS: Mapping[str, Parameter] = {
    one.name: one.metadata["parameter"] for one in fields(Params)
}
"""Every parameter by name."""
_VALUES = attrgetter(*PARAMETERS)

PARAM_OPTIONS: tuple[Option, ...] = tuple(p.option for p in PARAMETERS.values() if p.option)
"""The settings that request parameters."""

ASKED: Check = record({}, {name: one.shape for name, one in PARAMETERS.items()}, closed=True)
"""Stored parameters, in the form of :meth:`Params.asked`."""
