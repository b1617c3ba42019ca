"""What is known of a model, and the catalogue of those that exist."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

Sampling = Literal["free", "default", "effortless", "never"]
"""When temperature and top_p are taken: always; only at their default value;
only while reasoning effort is ``none``; not at all."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float
    cache_write_1h: float = 0.0


@dataclass(frozen=True, slots=True)
class Model:
    """One model.

    Attributes:
        context: most input tokens, or input and output together where the provider counts so.
        max_output: most output tokens.
        video: whether it takes videos as they are.
        serverless: whether it can be called without an endpoint of one's own (Together).
        efforts: reasoning efforts it takes; empty: it has no such setting.
        default_effort: the effort when none is asked for.
        thinking: values of Anthropic's ``thinking.type`` it takes; Together's switch likewise.
        thinks_unasked: whether it reasons when the request says nothing.
        prefill: whether the last turn may be the assistant's.
        system_turns: whether ``system`` may be a role within messages.
        stop: whether stop texts are taken.
        cache_minimum: fewest tokens of a cacheable prefix.
        cache_writes_reported: whether usage tells what was written to the cache.
        image_edge: longest side in pixels that is not shrunk.
        max_images: most images in one request.
        chars_per_token: length of its tokens in characters.
    """

    id: str
    title: str
    released: str
    context: int
    max_output: int
    price: Price | None = None
    owner: str = ""
    line: str | None = None
    images: bool = True
    video: bool = False
    serverless: bool = True
    sampling: Sampling = "free"
    efforts: tuple[str, ...] = ()
    default_effort: str = ""
    thinking: frozenset[str] = frozenset({"disabled"})
    thinks_unasked: bool = False
    prefill: bool = True
    system_turns: bool = False
    stop: bool = True
    logprobs: bool = True
    lifecycle: Literal["active", "deprecated", "retired"] = "active"
    deprecated_at: str | None = None
    retires_at: str | None = None
    cache_minimum: int = 1024
    cache_writes_reported: bool = False
    image_edge: int = 1568
    max_images: int = 600
    chars_per_token: float = 4.0

    @property
    def reasons(self) -> bool:
        """Whether it has reasoning efforts."""
        return bool(self.efforts)


_DATE = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2})$")


class Catalogue:
    """The models of every API; a test may change or add some.

    Attributes:
        any_name: whether an API with models answers to every other name too, as its newest
            active model would.
    """

    def __init__(self, tables: Mapping[str, Iterable[Model]]) -> None:
        self._tables = tables
        self._models: dict[str, dict[str, Model]] = {}
        self.any_name = False
        self.reset()

    def reset(self) -> None:
        """Back to what it was made of."""
        self._models = {api: {m.id: m for m in models} for api, models in self._tables.items()}

    def list(self, api: str) -> list[Model]:
        """Every model of an API, newest first."""
        models = self._models.get(api, {}).values()
        return sorted(models, key=lambda model: model.released, reverse=True)

    def find(self, api: str, name: str) -> Model | None:
        """A model by its name, or the name of its dated snapshot; retired or not."""
        models = self._models.get(api, {})
        model = models.get(name)
        if model is None and name[-1:].isdigit():
            model = models.get(_DATE.sub("", name))
        if model is None and self.any_name and name and models:
            active = [one for one in self.list(api) if one.lifecycle == "active"]
            model = replace((active or self.list(api))[0], id=name, title=name)
        return model

    def change(self, api: str, name: str, **facts: Any) -> None:
        """Change facts of a model, or add one: ``like`` then names the model to start from.

        Raises:
            KeyError: when there is nothing to start from.
            TypeError: for a fact that models do not have.
        """
        models = self._models[api]
        base = models[facts.pop("like", name)]
        if isinstance(facts.get("price"), list | tuple):
            facts["price"] = Price(*facts["price"])
        for plural in ("efforts", "thinking"):
            if plural in facts:
                facts[plural] = (tuple if plural == "efforts" else frozenset)(facts[plural])
        models[name] = replace(base, id=name, **facts)
