"""Who may ask an OpenAI-compatible server what: bodies, keys, models, rate limits."""

from __future__ import annotations

from typing import Any, NoReturn

from tests.simulator.clock import duration
from tests.simulator.exchange import Exchange, Refused
from tests.simulator.flavours import Flavour
from tests.simulator.limits import Buckets, whole_seconds, written
from tests.simulator.models import Model
from tests.simulator.refusals import admit, word
from tests.simulator.world import World


class Access:
    """The gate of one flavour's server. Its methods raise ``Refused``."""

    def __init__(self, world: World, flavour: Flavour) -> None:
        self.world = world
        self.flavour = flavour
        self.name = flavour.name
        world.limits.windows[flavour.name] = flavour.requests_window

    def body(self, exchange: Exchange) -> dict[str, Any]:
        """The JSON object of a request."""
        try:
            value = exchange.body
        except ValueError:
            self.refuse("The request body is not valid JSON.")
        if not isinstance(value, dict) or not isinstance(value.get("model"), str):
            if self.flavour.any_model and isinstance(value, dict):
                value.setdefault("model", "")
            else:
                self.refuse("you must provide a model parameter", param="model")
        exchange.model = value["model"]
        return value

    def admit(self, exchange: Exchange, model: str) -> None:
        """Refuse a key that may not ask a model."""
        admit(self.world, self.name, exchange, asks=True, model=model)

    def model(self, name: str) -> Model:
        """The model that answers to a name."""
        catalogue = self.world.catalogue
        known = catalogue.find(self.name, name)
        if known is None and self.flavour.any_model:
            known = catalogue.list(self.name)[0]
        if known is None or known.lifecycle == "retired":
            raise Refused(word(self.name, "model", model=name))
        return known

    def limit(self, buckets: Buckets, now: float, needed: int, model: Model) -> None:
        """Refuse what is over a rate limit, and take what is not."""
        denial = self.world.limits.check(buckets, now, tokens=needed)
        if denial is None:
            buckets.take(now, tokens=needed)
            return
        by_requests = denial.what == "requests"
        daily = by_requests and self.flavour.requests_window > 60
        status = 413 if denial.wait is None and self.name == "groq" else 0
        answer = word(
            self.name,
            "limit",
            status,
            model=model.id,
            unit="requests" if by_requests else "tokens",
            window="day (RPD)" if daily else f"minute ({'R' if by_requests else 'T'}PM)",
            limit=denial.limit,
            used=denial.used,
            requested=denial.requested,
            wait=duration(denial.wait or 0.0),
        )
        answer.headers.update(written(self.flavour.headers, buckets, now))
        if self.flavour.retry_after and denial.wait is not None:
            answer.headers["retry-after"] = whole_seconds(denial.wait)
        raise Refused(answer)

    def refuse(
        self, message: str, *, param: str | None = None, code: str | None = None
    ) -> NoReturn:
        """A bad request."""
        raise Refused(word(self.name, "bad", message=message, param=param, code=code))
