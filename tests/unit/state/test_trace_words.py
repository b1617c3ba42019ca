"""What became of traces, in words."""

from __future__ import annotations

from typing import Any

import pytest

from evalbench.tui.cli.main import main
from evalbench.tui.state.trace_words import trace_pairs, trace_words
from tests.pretending import pretend


def report(**changes: Any) -> dict[str, Any]:
    return {
        "to": "https://a.example:4318/v1/traces",
        "service": "otlp",
        "content": False,
        "sent": 1204,
        "left": 0,
        "refused": 0,
        "why": "",
        "links": {},
        **changes,
    }


def test_all_is_well_in_one_line() -> None:
    assert trace_pairs("RUN", [report()]) == [("traces", "1,204 calls sent to a.example:4318")]


def test_trouble_is_told_with_what_to_do() -> None:
    told = report(left=36, refused=2, why="the collector answers with HTTP 401\x1b[2J\nno")
    first, then = trace_pairs("RUN", [told])
    assert first[1].startswith("1,204 calls sent to a.example:4318; 36 not sent; 2 spans refused; ")
    assert first[1].isprintable()
    assert then == ("", "send the rest: evalbench trace RUN")


@pytest.mark.parametrize(
    ("links", "shown"),
    [
        ({"console": "C", "project": "P", "log_stream": "L"}, ["project: P", "log stream: L"]),
        ({"console": "C"}, ["console: C"]),
    ],
)
def test_galileo_is_told_with_its_links(links: dict[str, str], shown: list[str]) -> None:
    told = report(service="galileo", project="mine", log_stream="first", links=links)
    assert trace_words(told) == "1,204 calls sent to Galileo (mine / first)"
    assert [text for _, text in trace_pairs("RUN", [told])[1:]] == shown


def test_one_that_was_lost_is_no_success() -> None:
    told = report(sent=0, left=None, why="the process that sends traces failed: it died")
    assert [name for name, _ in trace_pairs("RUN", [told])] == ["traces", ""]


def test_a_run_without_a_place_is_asked_for_one(
    home: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run = pretend().folder
    assert main(["trace", run.id]) == 1
    assert f"try: evalbench trace {run.id} --otlp" in capsys.readouterr().err
