"""What OpenAI-compatible servers have besides chat: model lists and key checks."""

from __future__ import annotations

from typing import Any

from tests.simulator.compatible_access import Access
from tests.simulator.exchange import Answer, Exchange
from tests.simulator.models import Model


class Lists:
    """The further endpoints of one flavour's server."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._world = access.world
        self._flavour = access.flavour
        self.name = access.name

    def models(self, exchange: Exchange) -> Answer:
        """The model list; public where the flavour says so."""
        known = self._world.catalogue.list(self.name)
        data = [self._line(model) for model in known if model.lifecycle != "retired"]
        return Answer({"object": "list", "data": data})

    def _line(self, model: Model) -> dict[str, Any]:
        return {"id": model.id, **self._flavour.fields(model)}

    def key(self, exchange: Exchange) -> Answer:
        """OpenRouter: what a key may spend."""
        poor = self._world.accounts.state(exchange.key) == "nocredit"
        return Answer(
            {
                "data": {
                    "label": "sk-or-v1-...",
                    "limit": 10.0,
                    "limit_remaining": 0.0 if poor else 9.0,
                    "usage": 10.0 if poor else 1.0,
                    "is_free_tier": False,
                    "rate_limit": {"requests": -1, "interval": "10s"},
                }
            }
        )

    def tags(self, exchange: Exchange) -> Answer:
        """Ollama: its own model list."""
        return Answer(
            {
                "models": [
                    {
                        "name": model.id,
                        "model": model.id,
                        "modified_at": f"{model.released}T00:00:00Z",
                        "size": 2_019_393_189,
                        "digest": "0" * 64,
                        "details": {"format": "gguf", "family": model.id.split(":")[0]},
                    }
                    for model in self._world.catalogue.list(self.name)
                ]
            }
        )

    def loaded(self, exchange: Exchange) -> Answer:
        """Ollama: the models in memory, with the context that each was given."""
        given = self._flavour.loaded_context or 0
        return Answer(
            {
                "models": [
                    {
                        "name": model.id,
                        "model": model.id,
                        "size": 2_019_393_189,
                        "size_vram": 2_019_393_189,
                        "digest": "0" * 64,
                        "expires_at": "2026-11-28T23:59:59Z",
                        "context_length": min(model.context, given),
                    }
                    for model in self._world.catalogue.list(self.name)
                ]
            }
        )

    def props(self, exchange: Exchange) -> Answer:
        """llama.cpp: what the server was started with."""
        model = self._world.catalogue.list(self.name)[0]
        settings = {"n_ctx": model.context, "params": {}}
        return Answer({"default_generation_settings": settings, "model_path": model.id})


def version(exchange: Exchange) -> Answer:
    """Ollama: which version runs."""
    return Answer({"version": "0.14.2"})


def health(exchange: Exchange) -> Answer:
    """llama.cpp: ready."""
    return Answer({"status": "ok"})
