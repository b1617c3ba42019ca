"""Together: chat completions, batches, the live catalogue, and whose key it is."""

from __future__ import annotations

from collections.abc import Iterable

from tests.simulator import together_catalogue
from tests.simulator.exchange import Answer, Api, Exchange, Route
from tests.simulator.refusals import admit
from tests.simulator.statuses import usual
from tests.simulator.together_access import Access
from tests.simulator.together_batches import TogetherBatches
from tests.simulator.together_chat import Chat
from tests.simulator.together_errors import error
from tests.simulator.world import World


class Together(Api):
    """The API of Together. Its base URL has no version: paths bring their own."""

    name = "together"
    base_path = "/together"

    def __init__(self, world: World) -> None:
        self._world = world
        access = Access(world)
        self._chat = Chat(access)
        # Batches meet no rate limits.
        later = Chat(Access(world.without_limits()))
        self._batches = TogetherBatches(access, later.complete, self.error)
        self._catalogue = together_catalogue.Catalogue(access)

    def routes(self) -> Iterable[Route]:
        """Each under its own version."""
        yield Route("POST", "/together/v1/chat/completions", self._chat.complete, open=True)
        yield Route("GET", "/together/v2/supported-models", self._catalogue.supported)
        yield Route("GET", "/together/v3/whoami", self._catalogue.whoami)
        yield from self._batches.routes()

    def admit(self, exchange: Exchange) -> None:
        """Refuse a key that may do nothing."""
        admit(self._world, self.name, exchange)

    def error(self, status: int, message: str = "") -> Answer:
        """A failure as Together words it."""
        name, text, _ = usual(self.name, status)
        return error(status, message or text, name)

    def dress(self, exchange: Exchange, answer: Answer) -> None:
        """A request id, in a header and in the body of an error."""
        super().dress(exchange, answer)
        if isinstance(answer.body, dict) and "error" in answer.body:
            answer.body.setdefault("id", exchange.request_id)
