"""Models on Bedrock: which they are, where they are offered, and by which names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from tests.simulator.models import Model, Price

_REGIONS = {
    "us": ("us-east-1", "us-east-2", "us-west-2"),
    "eu": ("eu-central-1", "eu-west-1", "eu-west-3"),
    "jp": ("ap-northeast-1", "ap-northeast-3"),
    "au": ("ap-southeast-2",),
    "apac": ("ap-northeast-1", "ap-southeast-1", "ap-southeast-2", "ap-south-1"),
}
REGIONS = frozenset(region for regions in _REGIONS.values() for region in regions) | {"sa-east-1"}


@dataclass(frozen=True, slots=True)
class Offer:
    """How a model can be had.

    Attributes:
        profiles: geographies of its inference profiles.
        on_demand: regions where its own id answers.
        video: whether it sees videos.
        caches: whether it takes cache points.
        optimized: whether it has optimized latency.
        legacy: whether the control plane calls it LEGACY.
    """

    profiles: tuple[str, ...] = ()
    on_demand: tuple[str, ...] = ()
    video: bool = False
    caches: bool = False
    optimized: bool = False
    legacy: bool = False


_MODERN = ("us", "eu", "jp", "au", "global")


@dataclass(frozen=True, slots=True)
class _Claude:
    """A Claude: Anthropic's model under Bedrock's name, with what is different here."""

    plain: str
    version: str = ""
    own: tuple[tuple[str, Any], ...] = ()

    @property
    def id(self) -> str:
        return f"anthropic.{self.plain}{self.version}"

    def model(self, known: dict[str, Model]) -> Model:
        # Bedrock retires models by a calendar of its own.
        own = {"lifecycle": "active", "deprecated_at": None, "retires_at": None, **dict(self.own)}
        like = own.pop("like", self.plain)
        return replace(known[like], id=self.id, **own)


def _other(name: str, title: str, released: str, context: int, **facts: Any) -> Model:
    facts.setdefault("images", False)
    facts.setdefault("max_output", 8192)
    facts.setdefault("thinking", frozenset())
    return Model(id=name, title=title, released=released, context=context, **facts)


_ENTRIES: tuple[tuple[Model | _Claude, Offer], ...] = (
    (
        _Claude(
            "claude-3-haiku",
            "-20240307-v1:0",
            (
                ("like", "claude-haiku-4-5"),
                ("title", "Claude 3 Haiku"),
                ("released", "2024-03-07"),
                ("thinking", frozenset({"disabled"})),
                ("price", Price(0.25, 1.25, 0.03, 0.3)),
                ("max_output", 4096),
            ),
        ),
        Offer(("us", "eu"), _REGIONS["us"] + _REGIONS["eu"], legacy=True),
    ),
    (_Claude("claude-haiku-4-5", "-20251001-v1:0"), Offer(_MODERN, caches=True)),
    (_Claude("claude-sonnet-4-5", "-20250929-v1:0"), Offer(_MODERN, caches=True)),
    (_Claude("claude-opus-4-6", "-v1"), Offer(_MODERN, caches=True)),
    (_Claude("claude-opus-4-7"), Offer(_MODERN, caches=True)),
    (_Claude("claude-opus-4-8"), Offer(_MODERN, caches=True)),
    (_Claude("claude-sonnet-5-5"), Offer(_MODERN, caches=True)),
    (_Claude("claude-opus-5-5"), Offer(_MODERN, caches=True)),
    (
        _other(
            "amazon.nova-lite-v1:0", "Nova Lite", "2024-12-03", 300_000,
            images=True, price=Price(0.06, 0.24, 0.015, 0.06),
        ),
        Offer(("us", "eu", "apac"), ("us-east-1",), video=True, caches=True),
    ),
    (
        _other(
            "amazon.nova-pro-v1:0", "Nova Pro", "2024-12-03", 300_000,
            images=True, price=Price(0.8, 3.2, 0.2, 0.8),
        ),
        Offer(("us", "eu", "apac"), ("us-east-1",), video=True, caches=True, optimized=True),
    ),
    (
        _other(
            "meta.llama3-3-70b-instruct-v1:0", "Llama 3.3 70B Instruct", "2024-12-19", 128_000,
            price=Price(0.72, 0.72, 0, 0), efforts=(),
        ),
        Offer(("us",), ("us-east-2",)),
    ),
    (
        _other(
            "openai.gpt-oss-120b-1:0", "gpt-oss-120b", "2025-08-05", 128_000,
            price=Price(0.15, 0.6, 0, 0), efforts=("low", "medium", "high"),
            default_effort="medium", thinks_unasked=True,
        ),
        Offer((), ("us-east-1", "us-west-2", "eu-central-1")),
    ),
    (
        _other(
            "mistral.mistral-large-3-675b-instruct", "Mistral Large 3", "2025-12-02", 256_000,
            images=True, price=Price(0.5, 1.5, 0, 0),
        ),
        Offer((), ("us-east-1", "us-west-2", "eu-west-1")),
    ),
)  # fmt: skip

OFFERS: dict[str, Offer] = {model.id: offer for model, offer in _ENTRIES}


def bedrock_models(claudes: Iterable[Model]) -> tuple[Model, ...]:
    """Bedrock's models, from Anthropic's own and those that stand here."""
    known = {model.id: model for model in claudes}
    return tuple(
        model.model(known) if isinstance(model, _Claude) else model for model, _ in _ENTRIES
    )


def offer_of(name: str) -> Offer:
    """How a model can be had; one that a test added answers everywhere."""
    known = OFFERS.get(name)
    return known or Offer(_MODERN, tuple(REGIONS), caches=True)


def profiles_in(name: str, region: str) -> list[str]:
    """The inference profiles of a model that can be called in a region."""
    return [
        f"{geography}.{name}"
        for geography in offer_of(name).profiles
        if geography == "global" or region in _REGIONS[geography]
    ]


def regions_of(geography: str) -> tuple[str, ...]:
    """Where a profile may run a model."""
    return tuple(sorted(REGIONS)) if geography == "global" else _REGIONS[geography]
