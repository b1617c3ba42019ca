"""What the preflight's child process can be asked: one JSON object, whose ``ask`` says what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

Secrets = Sequence[Mapping[str, str]]
"""Keys of specs by role, in order; for providers that report prices themselves."""


class SpecsRequest(TypedDict):
    """Look at specs.

    ``check``: validate them and prepare their data; with ``estimate`` also what they cost. The
    answer is a list of :class:`.checked.CheckedSpec`. ``prepare``: the same without asking the
    provider. ``estimate``: the answer is a list, see ``cost.estimated``.
    """

    ask: Literal["check", "prepare", "estimate"]
    specs: list[dict[str, Any]]
    estimate: bool
    secrets: Secrets


class PromptsRequest(TypedDict):
    """The prompts of the first ``count`` samples; the answer is a list, see :mod:`.prompts`."""

    ask: Literal["prompts"]
    spec: dict[str, Any]
    count: int


class FitRequest(TypedDict):
    """Whether models fit here; the answer is that of :func:`.fitting.fit_models`."""

    ask: Literal["fit"]
    provider: str
    models: list[str]
    settings: Mapping[str, Any]
    asked: dict[str, Any] | None


class ProviderRequest(TypedDict):
    """``models``: the answer lists them. ``key``: the answer says what the key can see."""

    ask: Literal["models", "key"]
    provider: str
    secret: str
    settings: Mapping[str, Any]


class ProbeRequest(TypedDict):
    """Ask a model a short question; the answer is that of :func:`.probe.probe`."""

    ask: Literal["probe"]
    provider: str
    model: str
    secret: str
    settings: Mapping[str, Any]
    params: Mapping[str, Any]
    price: list[str]


Request = SpecsRequest | PromptsRequest | FitRequest | ProviderRequest | ProbeRequest
