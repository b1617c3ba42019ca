"""How often one call is tried, and how long it waits between tries."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalbench.engine import errors
from evalbench.engine.dispatch.retry import (
    LONGEST_OUTAGE_S,
    LONGEST_RETRY_AFTER_S,
    LONGEST_WAIT_S,
    OVERLOAD_FACTOR,
    RetryPolicy,
    requested_wait,
    wait_words,
)
from evalbench.engine.errors import (
    CallRejected,
    ConnectionFailed,
    DeadlineExceeded,
    Overloaded,
    ProviderError,
    RateLimited,
    ServerFault,
    TransientError,
)
from tests.unit.engine.properties import quickly

TRANSIENT = [RateLimited, Overloaded, ServerFault, ConnectionFailed, DeadlineExceeded]


@pytest.fixture
def longest_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chance always chooses the longest wait."""
    monkeypatch.setattr(random, "uniform", lambda low, high: high)


def waits(retry_policy: RetryPolicy, error: ProviderError, most: int = 1000) -> list[float]:
    """Every wait that is granted until there is none."""
    granted: list[float] = []
    while (wait := retry_policy.wait(error)) is not None and len(granted) < most:
        granted.append(wait)
    return granted


def test_every_transient_error_is_listed_here() -> None:
    kinds = {kind for kind in vars(errors).values() if isinstance(kind, type)}
    assert set(TRANSIENT) == {
        kind for kind in kinds if issubclass(kind, TransientError) and kind is not TransientError
    }


@pytest.mark.parametrize(
    "kind", [ProviderError, CallRejected, errors.ContextTooLong, errors.OutOfMemory, errors.BadKey]
)
def test_what_will_not_change_is_not_tried_again(kind: type[ProviderError]) -> None:
    assert RetryPolicy(8).wait(kind("no", retry_after=1)) is None


@pytest.mark.parametrize("kind", [ServerFault, ConnectionFailed, DeadlineExceeded])
def test_faults_double_their_wait_up_to_the_number_of_tries(
    kind: type[ProviderError], longest_waits: None
) -> None:
    assert waits(RetryPolicy(5), kind("broken")) == [0.5, 1, 2, 4]


@pytest.mark.parametrize("kind", [RateLimited, Overloaded])
def test_refusals_wait_longer_and_are_tried_more_often(
    kind: type[ProviderError], longest_waits: None
) -> None:
    granted = waits(RetryPolicy(2), kind("full"))
    assert granted == [2, 4, 8, 16, 32, 60, 60, 60, 60]
    assert len(granted) + 1 == 2 * OVERLOAD_FACTOR


@pytest.mark.parametrize(("kind", "most"), [(ServerFault, 1), (RateLimited, OVERLOAD_FACTOR)])
def test_a_single_try_is_a_single_try(kind: type[ProviderError], most: int) -> None:
    assert len(waits(RetryPolicy(1), kind("no"))) + 1 == most


def test_faults_and_refusals_are_counted_apart() -> None:
    retry_policy = RetryPolicy(3)
    assert len(waits(retry_policy, RateLimited("full"), most=10)) == 10
    assert len(waits(retry_policy, ServerFault("broken"))) == 2
    assert retry_policy.wait(RateLimited("full")) is not None
    assert retry_policy.wait(ServerFault("broken")) is None


@quickly
@given(st.sampled_from(TRANSIENT), st.integers(1, 12))
def test_jitter_keeps_within_the_upper_half_and_a_minute(
    kind: type[ProviderError], tries: int
) -> None:
    retry_policy = RetryPolicy(100)
    base = 2.0 if kind in (RateLimited, Overloaded) else 0.5
    for number in range(tries):
        wait = retry_policy.wait(kind("later"))
        full = min(60.0, base * 2**number)
        assert wait is not None
        assert full / 2 <= wait <= full


@pytest.mark.parametrize("kind", TRANSIENT)
@pytest.mark.parametrize("asked", [0.0, 0.25, 17.5, LONGEST_RETRY_AFTER_S])
def test_a_retry_after_is_obeyed_to_the_letter(kind: type[ProviderError], asked: float) -> None:
    assert RetryPolicy(3).wait(kind("later", retry_after=asked)) == asked


def test_a_wait_beyond_reason_is_not_begun() -> None:
    assert RetryPolicy(3).wait(RateLimited("tomorrow", retry_after=300.5)) is None


@pytest.mark.parametrize("kind", [RateLimited, Overloaded])
def test_a_long_wait_is_no_try_of_the_call(kind: type[ProviderError]) -> None:
    assert requested_wait(kind("later", retry_after=LONGEST_RETRY_AFTER_S), 0) is None
    assert requested_wait(kind("later"), 0) is None
    assert requested_wait(kind("later", retry_after=360), 0) == 360
    assert requested_wait(kind("later", retry_after=360), LONGEST_OUTAGE_S - 100) is None
    with pytest.raises(errors.QuotaExhausted, match="2 h 1 min"):
        requested_wait(kind("later", retry_after=LONGEST_OUTAGE_S + 1), 0)


def test_a_fault_is_not_waited_for_that_long() -> None:
    assert requested_wait(ServerFault("broken", retry_after=360), 0) is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "1 s"),
        (90, "90 s"),
        (91, "2 min"),
        (3600, "1 h"),
        (19_260, "5 h 21 min"),
        (86_400 * 2 + 3_700, "2 d 1 h"),
    ],
)
def test_waits_in_words(seconds: float, words: str) -> None:
    assert wait_words(seconds) == words


def test_all_waits_of_one_call_end_after_half_an_hour() -> None:
    granted = waits(RetryPolicy(100), RateLimited("later", retry_after=250))
    assert sum(granted) == 1750
    assert sum(granted) + 250 > LONGEST_WAIT_S


def test_the_wait_is_short_where_a_long_one_avoids_nothing(longest_waits: None) -> None:
    retry_policy = RetryPolicy(8)
    later = RateLimited("later")
    granted = [retry_policy.wait(later, answering=True, steered=True) for _ in range(6)]
    assert granted == [0.5, 1, 2, 4, 5, 5]
    assert RetryPolicy(8).wait(later, steered=True) == 2, "nobody is answered"
    told = RateLimited("later", retry_after=9)
    assert RetryPolicy(8).wait(told, answering=True, steered=True) == 9
