"""The log of a run's events: what repeats takes one line for a while."""

from __future__ import annotations

from evalbench.engine.journal import Event
from evalbench.tui.state.event_log import EventLog


def _wait(ident: int, at_s: float, reason: str, count: int = 1, asked: float = 1) -> Event:
    body = {"reason": reason, "what": "slow down", "asked": asked}
    return Event(ident, int(1000 * at_s), "wait", count, body)


def _told(log: EventLog) -> list[tuple[str, int, int]]:
    return [(event.body["reason"], event.count, event.at_ms // 1000) for event in log]


def test_alternating_events_take_a_line_each_half_minute() -> None:
    log = EventLog()
    log.add(
        [_wait(1, 0, "a"), _wait(2, 1, "b", 2), _wait(3, 2, "a", 3), _wait(4, 29, "a", asked=9)]
    )
    assert _told(log) == [("b", 2, 1), ("a", 5, 29)]
    assert [event.body["asked"] for event in log] == [1, 9]
    log.add([_wait(5, 30, "a"), _wait(6, 30.5, "b")])
    assert _told(log) == [("a", 5, 29), ("a", 1, 30), ("b", 3, 30)]


def test_the_newest_may_grow_and_is_not_counted_twice() -> None:
    log = EventLog()
    log.add([_wait(1, 0, "a", 2)])
    log.add([_wait(1, 0, "a", 2)])
    log.add([_wait(1, 0, "a", 5), _wait(2, 3, "b")])
    log.add([_wait(2, 3, "b", 4)])
    assert _told(log) == [("a", 5, 0), ("b", 4, 3)]
    assert log.newest == 2


def test_only_the_newest_lines_are_kept() -> None:
    log = EventLog()
    for number in range(1, 1001):
        log.add([_wait(number, number, str(number))])
    told = _told(log)
    assert len(told) == 300
    assert told[-1][0] == "1000"
    log.add([_wait(1001, 1001, "1000"), _wait(1002, 1001, "700")])
    assert _told(log)[-2:] == [("1000", 2, 1001), ("700", 1, 1001)]
