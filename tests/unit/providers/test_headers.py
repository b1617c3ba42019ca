"""Headers hold anything; reading them gives numbers or nothing, never an exception."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalbench.providers.anthropic.read import read_limits
from evalbench.providers.wire import headers as h


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("6m0s", 360.0),
        ("1s", 1.0),
        ("28ms", 0.028),
        ("2m59.56s", 179.56),
        ("1h2m3s", 3723.0),
        ("1d", 86_400.0),
        ("1.5", 1.5),
        ("0", 0.0),
        (" 7 ", 7.0),
        ("-1", None),
        ("nan", None),
        ("inf", None),
        ("1e400", None),
        ("9999d", None),
        ("soon", None),
        ("1x", None),
        ("", None),
        (None, None),
    ],
)
def test_durations(text: str | None, expected: float | None) -> None:
    assert h.seconds(text) == (None if expected is None else pytest.approx(expected))


@given(st.integers(0, 86_400_000))
def test_durations_as_providers_write_them(milliseconds: int) -> None:
    whole, rest = divmod(milliseconds, 1000)
    minutes, seconds = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    text = f"{hours}h{minutes}m{seconds}.{rest:03d}s"
    read = h.seconds(text)
    assert read is not None
    assert math.isclose(read, milliseconds / 1000, abs_tol=1e-6)


@given(st.dictionaries(st.sampled_from(
    [*h._OPENAI, "x-ratelimit-remaining-req-minute",
     "x-ratelimit-remaining-requests-day", "x-ratelimit-reset-tokens-minute",
     "retry-after", "retry-after-ms", "date",
     "x-ratelimit-remaining", "x-ratelimit-reset",
     *(f"anthropic-ratelimit-{a}-{b}" for a in ("requests", "tokens", "input-tokens")
       for b in ("limit", "remaining", "reset"))]
), st.text(max_size=30)))  # fmt: skip
def test_nothing_in_a_header_can_break_the_reading(headers: dict[str, str]) -> None:
    for read in (h.openai_limits, h.router_limits, h.minute_limits, read_limits):
        limits = read(headers)
        for value in () if limits is None else (limits.requests_reset_s, limits.tokens_reset_s):
            assert value is None or value >= 0
    wait = h.retry_after(headers)
    assert wait is None or wait >= 0


def test_openai_limits() -> None:
    limits = h.openai_limits(
        {
            "x-ratelimit-limit-requests": "500",
            "x-ratelimit-remaining-requests": "499",
            "x-ratelimit-reset-requests": "120ms",
            "x-ratelimit-remaining-tokens": "29000",
            "x-ratelimit-reset-tokens": "6m0s",
        }
    )
    assert limits
    assert limits.requests_remaining == 499
    assert limits.requests_reset_s == pytest.approx(0.12)
    assert limits.tokens_remaining == 29_000
    assert limits.tokens_reset_s == pytest.approx(360)
    assert (limits.requests_limit, limits.tokens_limit) == (500, None)
    assert h.openai_limits({"content-type": "x"}) is None


def test_anthropic_limits_count_from_the_servers_own_clock() -> None:
    wrong_clock = datetime(2031, 1, 1, tzinfo=UTC)
    limits = read_limits(
        {
            "date": format_datetime(wrong_clock, usegmt=True),
            "anthropic-ratelimit-requests-limit": "50",
            "anthropic-ratelimit-requests-remaining": "0",
            "anthropic-ratelimit-requests-reset": "2031-01-01T00:00:12Z",
            "anthropic-ratelimit-tokens-reset": "2030-12-31T23:59:59Z",
            "anthropic-ratelimit-input-tokens-remaining": "1000",
            "anthropic-ratelimit-output-tokens-remaining": "200",
        }
    )
    assert limits
    assert (limits.requests_remaining, limits.requests_limit) == (0, 50)
    assert limits.requests_reset_s == pytest.approx(12)
    assert limits.tokens_reset_s == 0
    assert read_limits({"request-id": "x"}) is None


def test_other_families() -> None:
    now = datetime.now(UTC)
    reset = int((now + timedelta(seconds=30)).timestamp() * 1000)
    router = h.router_limits(
        {"x-ratelimit-limit": "20", "x-ratelimit-remaining": "3", "x-ratelimit-reset": str(reset)}
    )
    assert router
    assert (router.requests_remaining, router.requests_limit) == (3, 20)
    assert router.requests_reset_s == pytest.approx(30, abs=2)
    minute = h.minute_limits(
        {"x-ratelimit-remaining-req-minute": "5", "x-ratelimit-limit-tokens-minute": "9000"}
    )
    assert minute
    assert (minute.requests_remaining, minute.tokens_limit) == (5, 9000)
    daily = h.minute_limits(
        {
            "x-ratelimit-limit-requests-day": "14400",
            "x-ratelimit-remaining-requests-day": "14399",
            "x-ratelimit-reset-requests-day": "33011.38",
            "x-ratelimit-remaining-tokens-minute": "59000",
            "x-ratelimit-reset-tokens-minute": "11.38",
        }
    )
    assert daily
    assert (daily.requests_remaining, daily.requests_limit, daily.requests_reset_s) == (
        *(14399, 14400),
        None,
    )
    assert (daily.tokens_remaining, daily.tokens_reset_s) == (59000, 11.38)
    assert h.minute_limits({"x-ratelimit-remaining-requests": "5"}) is None


@pytest.fixture
def tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This machine is nine hours ahead."""
    with monkeypatch.context() as away:
        away.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("tokyo")
def test_times_without_a_zone_are_utc_wherever_this_machine_is() -> None:
    then = datetime(2026, 11, 30, 10, tzinfo=UTC).timestamp()
    for text in ("Mon, 30 Nov 2026 10:00:00 GMT", "Mon, 30 Nov 2026 10:00:00 -0000"):
        assert h.server_date({"date": text}) == then
    for text in ("2026-11-30T10:00:00Z", "2026-11-30T10:00:00", "2026-11-30T19:00:00+09:00"):
        assert h.moment(text) == then


def test_retry_after() -> None:
    now = datetime.now(UTC)
    assert h.retry_after({"retry-after": "3"}) == 3
    assert h.retry_after({"retry-after": "0.5"}) == 0.5
    assert h.retry_after({"retry-after-ms": "250", "retry-after": "1"}) == 0.25
    later = format_datetime(now + timedelta(seconds=90), usegmt=True)
    wait = h.retry_after({"retry-after": later, "date": format_datetime(now, usegmt=True)})
    assert wait == pytest.approx(90, abs=1.1)
    assert h.retry_after({"retry-after": format_datetime(now - timedelta(1), usegmt=True)}) == 0
    assert h.retry_after({"retry-after": "a while"}) is None
    assert h.retry_after({}) is None
