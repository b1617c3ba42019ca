"""The concurrency and the rate that are found, at servers that limit in different ways."""

from __future__ import annotations

import random
from math import inf

import pytest

from bench import pace
from evalbench.engine.errors import ProviderError, RateLimited

# Answers a second that the limit allows, the least share of them that is reached while it is
# still searched for, and the most refusals.
LIMITS: dict[type[pace.Server], tuple[float, float, float]] = {
    pace.Random529: (110, 0.95, 0.22),
    pace.Rate5: (5, 0.93, 0.05),
    pace.Rate50: (50, 0.95, 0.11),
    pace.Rate500: (500, 0.95, 0.05),
    pace.Three: (50, 0.88, 0.06),
    pace.ThreeSlow: (5, 0.9, 0.05),
    pace.Tokens: (10, 0.95, 0.01),
    pace.Cap: (32, 0.85, 0.05),
    pace.FarCap: (30, 0.75, 0.05),
    pace.Queue: (40, 0.9, 0.0),
    pace.ShortOutage: (83, 0.85, 0.12),
    # What is sent last is answered after up to forty seconds.
    pace.SlowRate5: (5, 0.6, 0.07),
    pace.SlowRate20: (20, 0.6, 0.05),
    pace.SlowThree: (5, 0.6, 0.06),
    pace.SlowCap: (1.65, 0.85, 0.03),
    pace.SlowRandom529: (20, 0.4, 0.22),
    pace.SlowTokens: (10, 0.8, 0.01),
    pace.Unlimited: (26, 0.75, 0.0),
}


@pytest.mark.parametrize("kind", LIMITS, ids=lambda kind: kind.__name__)
def test_what_is_found_is_near_the_best(
    kind: type[pace.Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    best, share, most = LIMITS[kind]
    if kind in (pace.Rate50, pace.Three):
        monkeypatch.setattr(kind, "calls", (900 if kind.engines == 1 else 400) * kind.engines)
    found = pace.measure(kind, None, 1)
    assert found.answered == kind.calls
    assert found.rate > share * best
    assert found.refused <= most


class Rate20(pace.SlowOutage):
    calls = 1000


class Cap16(Rate20):
    """Refuses what is more than 16 calls at once, not what is more than a rate."""

    def __init__(self, dice: random.Random) -> None:
        super().__init__(dice)
        self.calls = round(50 * 16 / self.latency)
        self.bucket = pace.Bucket(1e9)

    def refuses(self) -> ProviderError | None:
        if self.inside > 16:
            return RateLimited("too many concurrent requests", status=429)
        return super().refuses()


@pytest.mark.parametrize(
    ("kind", "latency"),
    [(Rate20, 0.02), (Rate20, 0.5), (Rate20, 3.0), (Cap16, 0.5), (Cap16, 3.0)],
)
def test_an_outage_takes_little_more_than_its_own_time(
    kind: type[pace.SlowOutage], latency: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, "latency", latency)
    for seed in range(6):
        monkeypatch.setattr(kind, "down", 20.0)
        took = pace.measure(kind, None, seed).seconds
        monkeypatch.setattr(kind, "down", inf)
        assert took - pace.measure(kind, None, seed).seconds < 9 + 1.5 + 2.5 * latency
