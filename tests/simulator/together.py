"""Together: chat completions, batches, the live catalogue, and whose key it is."""

from __future__ import annotations

from collections.abc import Iterable

from tests.simulator import together_catalogue
from tests.simulator.exchange import Answer, Exchange, Route
from tests.simulator.together_access import Access, error
from tests.simulator.together_batches import TogetherBatches
from tests.simulator.together_chat import Chat
from tests.simulator.world import World


class Together:
    """The API of Together. Its base URL has no version: paths bring their own."""

    name = "together"
    base_path = "/together"

    def __init__(self, world: World) -> None:
        access = Access(world)
        self._chat = Chat(access)
        # Batches meet no rate limits.
        later = Chat(Access(world.without_limits()))
        self._batches = TogetherBatches(access, later.complete, self.error)
        self._catalogue = together_catalogue.Catalogue(access)

    def routes(self) -> Iterable[Route]:
        """Each under its own version."""
        yield Route("POST", "/together/v1/chat/completions", self._chat.complete)
        yield Route("GET", "/together/v2/supported-models", self._catalogue.supported)
        yield Route("GET", "/together/v3/whoami", self._catalogue.whoami)
        yield from self._batches.routes()

    def error(self, status: int, message: str = "") -> Answer:
        """A failure as Together words it."""
        if status == 429:
            return error(429, message or together_catalogue.SLOW, "dynamic_request_limited")
        kind = {503: "service_unavailable"}.get(status, "server_error")
        kind = "invalid_request_error" if status < 500 else kind
        return error(status, message or "simulated failure", kind)

    def error_within_200(self, exchange: Exchange, code: str) -> Answer:
        """There is none."""
        raise ValueError("together reports no error inside a 200")

    def dress(self, exchange: Exchange, answer: Answer) -> None:
        """A request id, in a header and in the body of an error."""
        answer.headers["x-request-id"] = exchange.request_id
        if isinstance(answer.body, dict) and "error" in answer.body:
            answer.body.setdefault("id", exchange.request_id)
