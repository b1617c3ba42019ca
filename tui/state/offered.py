"""What providers offer to a run that is being set up: their keys and their models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from evalbench.engine.errors import EvalbenchError
from evalbench.tui.state import figures
from evalbench.tui.state.key_places import KeyPlaces
from evalbench.tui.state.model_cache import Model, ModelList, ask_models, kept_models


@dataclass(slots=True)
class Offer:
    """One provider's models, as far as they are known.

    Attributes:
        listed: the newest list.
        asking: whether a fresh one is on its way.
        trouble: why it could not be had.
    """

    listed: ModelList | None = None
    asking: bool = False
    trouble: EvalbenchError | None = None

    def models(self) -> tuple[Model, ...]:
        """The models known."""
        return self.listed.models if self.listed else ()

    def model(self, name: str) -> Model | None:
        """The model of this name."""
        return next((model for model in self.models() if model.name == name), None)

    def words(self, now: float) -> str:
        """How many are listed, how old the list is, and what is being done about it."""
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
        """What an empty list says."""
        if self.asking:
            return "loading…"
        return f"✗ {self.trouble.what}" if self.trouble else "no models listed; type a name"


@dataclass(slots=True)
class Offered:
    """All that was learned from providers since the page was opened."""

    keys: dict[str, KeyPlaces] = field(default_factory=dict)
    offers: dict[str, Offer] = field(default_factory=dict)

    def of(self, provider: str) -> Offer:
        """What a provider offers; its kept list when it was not asked yet."""
        if provider not in self.offers:
            self.offers[provider] = Offer(kept_models(provider) if provider else None)
        return self.offers[provider]

    async def ask(
        self, provider: str, flags: tuple[str, ...], on_change: Callable[[], None]
    ) -> None:
        """Ask a provider anew; with flags, at another address or with another key.

        ``on_change`` is called when it is being asked and when it has answered.
        """
        offer = self.of(provider)
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
