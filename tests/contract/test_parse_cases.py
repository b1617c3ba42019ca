"""Every parser against the recorded parser cases beside the checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from evalbench.engine.benchmarks.parsers import KINDS, ReplyKind

NOTHING = (-1, "error", "invalid")
"""How the files of ratings, verdicts, letters and choices say that nothing is read."""


def _cases(shared_data: Path, entry: ReplyKind) -> list[dict[str, Any]]:
    file = shared_data / "parse_cases" / f"{entry.name.replace('-', '_')}.jsonl"
    cases = [orjson.loads(line) for line in file.read_bytes().splitlines()]
    assert cases
    return cases


def _stated(entry: ReplyKind, case: dict[str, Any], *fields: str) -> Any:
    value = next(case[field] for field in fields if field in case)
    if entry.name == "speceval-ranking":
        return value  # -1 is a rank there
    return None if isinstance(value, (int, str)) and value in NOTHING else value


@pytest.mark.parametrize("entry", KINDS.values(), ids=lambda entry: entry.name)
def test_every_case_is_read_as_stated(shared_data: Path, entry: ReplyKind) -> None:
    for case in _cases(shared_data, entry):
        choices = case.get("choices", ())
        faithful = entry.faithful.read(case["reply"], choices)
        lenient = entry.lenient.read(case["reply"], choices)
        wanted = _stated(entry, case, "upstream", "upstream_score", "upstream_prediction")
        assert faithful == wanted, case
        # A full-width letter alone, of which both readings are called right there.
        either = "either is fine" in case.get("why", "")
        if entry.name != "execution-prediction" and not either:
            assert lenient == _stated(entry, case, "proposed", "proposed_verdict"), case
        if "expected" in case:
            for parser, value, field in (
                (entry.faithful, faithful, "upstream_correct"),
                (entry.lenient, lenient, "proposed_correct"),
            ):
                assert parser.is_right(value, case["expected"]) is case[field], case
