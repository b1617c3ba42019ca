"""What may be asked of Together: which models, and at a rate that moves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from tests.simulator.exchange import Exchange, Refused
from tests.simulator.limits import Bucket, Buckets
from tests.simulator.models import Model
from tests.simulator.together_errors import error, refuse
from tests.simulator.world import World

NAME = "together"
PLATFORM = "together:platform"
"""Limits by this name are what the platform can do for a model, for all its customers together."""
_WINDOW_S = 10.0
_STEP = 1.25
_STEADY = 0.5
_HIGHEST = 20.0


@dataclass(slots=True)
class Rate:
    """What one key may ask of one model: it rises with a steady load, and not with a burst.

    Every ten seconds in which at least half of the rate was used, and nothing
    was above it, raise it by a quarter, to twenty times its beginning at most.
    """

    begun: float
    requests: Bucket
    tokens: Bucket
    since: float
    answered: int = 0
    refused: int = 0
    factor: float = field(default=1.0)

    def move(self, now: float) -> None:
        """Close the window if it is over."""
        passed = now - self.since
        if passed < _WINDOW_S:
            return
        steady = self.answered >= _STEADY * self.begun * self.factor * passed
        if steady and not self.refused and self.factor < _HIGHEST:
            self.factor *= _STEP
            for bucket in (self.requests, self.tokens):
                bucket.level(now)
                bucket.capacity *= _STEP
        self.since, self.answered, self.refused = now, 0, 0


class Access:
    """The gate of the API. Its methods raise ``Refused``."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._rates: dict[tuple[str, str], tuple[Buckets, Rate]] = {}

    def model(self, name: str) -> Model:
        """The model of a call."""
        known = self.world.catalogue.find(NAME, name)
        site = "https://api.together.ai/models"
        if known is None or known.lifecycle == "retired":
            message = f"Unable to access model {name}. Please visit {site} to view the list of "
            message += "supported models."
            kind = "invalid_request_error"
            raise Refused(error(404, message, kind, code="model_not_available"))
        if not known.serverless:
            refuse(
                f"Unable to access non-serverless model {name}. Please visit {site}/{name} to "
                "create and start a new dedicated endpoint for the model.",
                code="model_not_available",
            )
        return known

    def limit(self, exchange: Exchange, model: Model, tokens: int) -> dict[str, str]:
        """Take from the limits and give the headers; above the key's rate or the platform's refuse.

        Above the key's rate the answer is a 429; where the platform cannot serve
        what is within it, a 503.
        """
        now = exchange.now
        buckets = self.world.limits.buckets(NAME, exchange.key, model.id, now)
        platform = self.world.limits.buckets(PLATFORM, "", model.id, now)
        if buckets.endless and platform.endless:
            return dict(_FREE)
        rate = self._rate(exchange.key, model.id, buckets, now)
        rate.move(now)
        for what, bucket, need in (
            ("request", rate.requests, 1.0),
            ("token", rate.tokens, min(float(tokens), rate.tokens.capacity)),
        ):
            if bucket.level(now) < need - 1e-6:
                rate.refused += 1
                said = f"Request was rejected due to {what} rate limiting: this is above your "
                self._stop(429, said + "dynamic rate.", f"dynamic_{what}_limited", rate, now)
        if self.world.limits.check(platform, now) is not None:
            said = "The model is overloaded and cannot serve requests just now."
            self._stop(503, said, "service_unavailable", rate, now)
        platform.take(now, tokens=tokens)
        rate.requests.take(1, now)
        rate.tokens.take(tokens, now)
        rate.answered += 1
        return _headers(rate, now)

    def _rate(self, key: str, model: str, buckets: Buckets, now: float) -> Rate:
        held = self._rates.get((key, model))
        if held is None or held[0] is not buckets:
            # A quota is told per minute and kept per second.
            a_second = buckets.requests.capacity / 60
            tokens = buckets.tokens.capacity / 60
            held = (
                buckets,
                Rate(
                    a_second,
                    _per_second(a_second, now),
                    _per_second(tokens, now),
                    now,
                ),
            )
            self._rates[key, model] = held
        return held[1]

    @staticmethod
    def _stop(status: int, message: str, kind: str, rate: Rate, now: float) -> NoReturn:
        answer = error(status, message, kind)
        answer.headers.update(_headers(rate, now))
        raise Refused(answer)


def _per_second(amount: float, now: float) -> Bucket:
    """A second's worth, of one at least, which then takes longer to fill."""
    capacity = max(1.0, amount)
    return Bucket(capacity, capacity / amount, now)


_FREE = {
    "x-ratelimit-limit": "10000",
    "x-ratelimit-remaining": "9999",
    "x-ratelimit-reset": "0.0001",
    "x-tokenlimit-limit": "30000000",
    "x-tokenlimit-remaining": "29999000",
}


def _headers(rate: Rate, now: float) -> dict[str, str]:
    """Whole numbers per second, as begun and as they are now; reset in seconds."""
    out = {"x-ratelimit-reset": f"{rate.requests.wait(1.0, now):.4f}"}
    for kind, bucket in (("ratelimit", rate.requests), ("tokenlimit", rate.tokens)):
        left = max(0, int(bucket.level(now) + 1e-6))
        out[f"x-{kind}-limit-dynamic"] = str(int(bucket.capacity))
        out[f"x-{kind}-remaining-dynamic"] = str(left)
        out[f"x-{kind}-limit"] = str(int(bucket.capacity / rate.factor))
        out[f"x-{kind}-remaining"] = str(left)
    return out
