"""Keys and models that providers offer for a run being set up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from evalbench.engine.errors import EvalbenchError
from evalbench.tui.state import figures
from evalbench.tui.state.key_places import KeyPlaces
from evalbench.tui.state.model_cache import Model, ModelList, ask_models, kept_models


@dataclass(slots=True)
class Offer:
    """What is known of one provider's models.

    Attributes:
        listed: the newest list.
        asking: whether a new list is being fetched.
        trouble: why fetching failed.
        flags: those of the last query: its address, and which key to use.
    """

    listed: ModelList | None = None
    asking: bool = False
    trouble: EvalbenchError | None = None
    flags: tuple[str, ...] = ()

    def models(self) -> tuple[Model, ...]:
        """The known models."""
        return self.listed.models if self.listed else ()

    def model(self, name: str) -> Model | None:
        """The model with this name."""
        return next((model for model in self.models() if model.name == name), None)

    def words(self, now: float) -> str:
        """How many are listed, how old the list is, and what is happening to it."""
        parts = []
        if self.listed:
            age = figures.age(now - self.listed.when)
            parts.append(f"{len(self.listed.models)} listed" if age == "now" else f"{age} old")
        if self.asking:
            parts.append("loading…")
        elif self.trouble:
            parts.append("✗ stale" if self.listed else "✗ no list")
        return ", ".join(parts)

    def empty_words(self) -> str:
        """The text for an empty list."""
        if self.asking:
            return "loading…"
        return f"✗ {self.trouble.what}" if self.trouble else "no models listed; type a name"


@dataclass(slots=True)
class Offered:
    """Everything learned from providers since the page was opened."""

    keys: dict[str, KeyPlaces] = field(default_factory=dict)
    offers: dict[str, Offer] = field(default_factory=dict)

    def of(self, provider: str) -> Offer:
        """What a provider offers; its cached list if it was not queried yet."""
        if provider not in self.offers:
            self.offers[provider] = Offer(kept_models(provider) if provider else None)
        return self.offers[provider]

    async def ask(
        self, provider: str, flags: tuple[str, ...], on_change: Callable[[], None]
    ) -> None:
        """Query a provider again; with flags, at another address or with another key.

        ``on_change`` is called when the query starts and when it ends.
        """
        offer = self.of(provider)
        if flags != offer.flags:
            # What another server has listed says nothing about this one.
            offer.listed = None if flags else kept_models(provider)
            offer.flags = flags
        offer.asking, offer.trouble = True, None
        on_change()
        try:
            offer.listed = await ask_models(provider, *flags)
        except EvalbenchError as error:
            offer.trouble = error
            if flags:
                offer.listed = None
        finally:
            offer.asking = False
        on_change()
