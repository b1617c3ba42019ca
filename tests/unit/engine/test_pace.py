"""The concurrency and the rate that are found, at servers that limit in different ways."""

from __future__ import annotations

import pytest

from bench import pace

# Answers a second that the limit allows, the least share of them that is reached while it is
# still searched for, and the most refusals.
LIMITS: dict[type[pace.Server], tuple[float, float, float]] = {
    pace.Random529: (110, 0.95, 0.22),
    pace.Rate5: (5, 0.93, 0.08),
    pace.Rate50: (50, 0.95, 0.11),
    pace.Rate500: (500, 0.95, 0.05),
    pace.Three: (50, 0.95, 0.06),
    pace.ThreeSlow: (5, 0.85, 0.12),
    pace.Tokens: (10, 0.95, 0.01),
    pace.Cap: (32, 0.85, 0.05),
    pace.Queue: (40, 0.9, 0.0),
    pace.ShortOutage: (83, 0.75, 0.12),
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
