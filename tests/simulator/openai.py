"""OpenAI: the routes of its API, the model list, and what every answer carries."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial
from typing import Any

from tests.simulator import openai_access, openai_chat, openai_errors, openai_responses
from tests.simulator.exchange import Answer, Api, Exchange, Route
from tests.simulator.models import Model
from tests.simulator.openai_batches import OpenAIBatches
from tests.simulator.refusals import admit
from tests.simulator.world import World


class OpenAI(Api):
    """Chat completions, Responses, models, files and batches."""

    name = "openai"
    base_path = "/openai/v1"

    def __init__(self, world: World) -> None:
        self._world = world
        unlimited = world.without_limits()
        endpoints = {
            "/v1/chat/completions": partial(openai_chat.complete, unlimited),
            "/v1/responses": partial(openai_responses.respond, unlimited),
        }
        self._batches = OpenAIBatches(
            world, self.name, self.base_path, endpoints, openai_errors.of_status
        )

    def routes(self) -> Iterable[Route]:
        """Under ``/openai/v1``."""
        return (
            *self._batches.routes(),
            Route("POST", "/openai/v1/chat/completions", self.chat, open=True),
            Route("POST", "/openai/v1/responses", self.responses, open=True),
            Route("GET", "/openai/v1/models", self.models),
            Route("GET", "/openai/v1/models/*", self.model),
        )

    def admit(self, exchange: Exchange) -> None:
        """Refuse a key that may do nothing."""
        admit(self._world, self.name, exchange)

    def error(self, status: int, message: str = "") -> Answer:
        """The usual error of a status."""
        return openai_errors.of_status(status, message)

    def error_within_200(self, exchange: Exchange, code: str) -> Answer:
        """A failed response; chat completions have no such thing."""
        if not exchange.path.endswith("/responses"):
            return super().error_within_200(exchange, code)
        message = "The model failed to generate a response."
        value = exchange.body
        return Answer(openai_responses.failed(exchange, value, code or "server_error", message))

    def dress(self, exchange: Exchange, answer: Answer) -> None:
        """Ids, versions and processing time."""
        super().dress(exchange, answer)
        headers = answer.headers
        headers["openai-organization"] = openai_access.ORGANIZATION
        headers["openai-processing-ms"] = "1"
        headers["openai-version"] = "2020-10-01"

    def chat(self, exchange: Exchange) -> Answer:
        """``POST /chat/completions``."""
        return openai_chat.complete(self._world, exchange)

    def responses(self, exchange: Exchange) -> Answer:
        """``POST /responses``."""
        return openai_responses.respond(self._world, exchange)

    def models(self, exchange: Exchange) -> Answer:
        """All models that still answer, on one page, in no order of use to anybody."""
        known = self._world.catalogue.list(self.name)
        offered = [_model(model) for model in known if model.lifecycle != "retired"]
        return Answer({"object": "list", "data": offered})

    def model(self, exchange: Exchange) -> Answer:
        """One model."""
        known = self._world.catalogue.find(self.name, exchange.tail)
        if known is None or known.lifecycle == "retired":
            openai_errors.refuse(
                f"The model '{exchange.tail}' does not exist",
                param="model",
                code="model_not_found",
                status=404,
            )
        return Answer(_model(known))


def _model(model: Model) -> dict[str, Any]:
    return {
        "id": model.id,
        "object": "model",
        "created": created(model),
        "owned_by": "system",
        "shutdown_date": model.retires_at,
    }


def created(model: Model) -> int:
    """A model's release as Unix time."""
    return int(datetime.fromisoformat(model.released).replace(tzinfo=UTC).timestamp())
