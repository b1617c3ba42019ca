"""What is left of a provider's limits, by what its responses say."""

from __future__ import annotations

from math import inf

import pytest

from evalbench.engine.calls import RateLimits
from evalbench.engine.dispatch.headroom import Headroom


def tokens(remaining: int, reset_s: float, limit: int | None = 6000) -> RateLimits:
    return RateLimits(tokens_remaining=remaining, tokens_reset_s=reset_s, tokens_limit=limit)


def test_what_was_sent_since_is_no_longer_left() -> None:
    headroom = Headroom()
    assert headroom.wait(100, 0.0) == 0.0
    headroom.learn(tokens(250, 60.0, limit=None), 0.0)
    headroom.use(100)
    headroom.use(100)
    assert headroom.wait(50, 0.0) == 0.0
    assert headroom.wait(51, 5.0) == inf, "only the next response tells how fast it refills"


def test_a_bucket_refills_evenly() -> None:
    headroom = Headroom()
    # 100 a second: the missing 5,900 take 59 s.
    headroom.learn(tokens(2000, 40.0), 0.0)
    headroom.learn(tokens(100, 59.0), 4.9)
    assert headroom.wait(200, 10.0) == inf, "it may be chance that they agree"
    headroom.learn(tokens(100, 59.0), 10.0)
    headroom.use(100)
    assert headroom.wait(100, 10.0) == pytest.approx(1.0)
    assert headroom.wait(100, 10.5) == pytest.approx(0.5)
    assert headroom.wait(100, 11.0) == 0.0


@pytest.mark.parametrize(("used", "each"), [(3100, 200), (6000, 0)], ids=["half used", "used up"])
def test_a_window_does_not_look_like_a_bucket(used: int, each: int) -> None:
    headroom = Headroom()
    for second in range(11):
        headroom.learn(tokens(6000 - used - each * second, 50.0 - second), float(second))
    assert headroom.wait(3000, 10.0) == inf


def test_little_use_tells_nothing_about_the_refill() -> None:
    headroom = Headroom()
    headroom.learn(tokens(5900, 1.0), 0.0)
    headroom.use(5900)
    assert headroom.wait(100, 10.0) == inf


def test_the_scarcer_of_requests_and_tokens_counts() -> None:
    headroom = Headroom()
    limits = RateLimits(
        requests_remaining=0,
        requests_reset_s=60.0,
        requests_limit=60,
        tokens_remaining=6000,
        tokens_reset_s=1.0,
        tokens_limit=6000,
    )
    for second in (0.0, 5.0):
        headroom.learn(limits, second)
    assert headroom.wait(100, 5.0) == pytest.approx(1.0)


def test_a_daily_quota_holds_nothing_back() -> None:
    headroom = Headroom()
    headroom.learn(RateLimits(requests_remaining=0, requests_reset_s=86_400.0), 0.0)
    assert headroom.wait(100, 0.0) == 0.0
