"""A limited number of calls in flight is told from a limited rate of calls."""

from __future__ import annotations

from collections.abc import Iterable

from evalbench.engine.dispatch.number_limit import NumberLimit, Sent


def limit_after(
    accepted: Iterable[int],
    refused: Iterable[tuple[float, int]],
    in_flight: Iterable[tuple[float, int]] = (),
    now: float = 5.0,
) -> int | None:
    """What is found of calls accepted beside so many, then of some refused, by when and beside."""
    number = NumberLimit()
    for beside in accepted:
        number.accepted(beside)
    for at, beside in refused:
        number.refused(Sent(at, beside, paced=False))
    sent = [Sent(at, beside, paced=False) for at, beside in in_flight]
    return number.found(now, decided_s=0.5, refusing_s=0.1, in_flight=sent)


APART = [(1.0, 16), (1.2, 16), (1.4, 16), (1.6, 16)]


def test_calls_refused_again_and_again_beside_as_many_are_too_many() -> None:
    assert limit_after(range(16), APART) == 16
    assert limit_after(range(16), [(1.0, 18), *((at + 1, 16) for at, _ in APART)]) == 16


def test_a_few_refusals_or_some_at_once_show_nothing() -> None:
    assert limit_after(range(16), APART[:3]) is None
    assert limit_after(range(16), [(1.0, 16 + n) for n in range(10)]) is None
    assert limit_after(range(16), APART, now=1.55) is None


def test_a_call_that_was_accepted_beside_as_many_shows_that_it_is_not_the_number() -> None:
    assert limit_after(range(16), APART, in_flight=[(1.3, 16)]) is None
    assert limit_after(range(16), APART, in_flight=[(1.3, 15), (0.5, 16), (4.95, 16)]) == 16
    number = NumberLimit()
    for at, beside in APART:
        number.refused(Sent(at, beside, paced=False))
    number.accepted(16)
    assert number.found(5.0, decided_s=0.5, refusing_s=0.1, in_flight=()) is None


def test_where_none_was_accepted_beside_a_few_less_it_is_not_known() -> None:
    assert limit_after(range(14), APART) is None
    assert limit_after(range(15), APART) == 16


def test_a_refusal_beside_fewer_has_another_cause() -> None:
    assert limit_after(range(16), [*APART, (1.7, 10)]) is None
