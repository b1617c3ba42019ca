"""The parsers against the recorded parser cases beside the checkout."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from evalbench.engine.scoring.letters import read_first, read_simple_evals, read_strict
from evalbench.engine.scoring.letters_lenient import read_lenient


@pytest.mark.parametrize(
    ("field", "parser"),
    [
        ("upstream", read_strict),
        ("seed_later", read_first),
        ("simple_evals", read_simple_evals),
        ("proposed", read_lenient),
    ],
)
def test_every_case_is_read_as_stated(shared_data: Path, field: str, parser: object) -> None:
    lines = (shared_data / "parse_cases" / "mmlu_letter.jsonl").read_bytes().splitlines()
    cases = [orjson.loads(line) for line in lines]
    assert cases
    assert callable(parser)
    read = {case["id"]: parser(case["reply"]) for case in cases}
    stated = {case["id"]: None if case[field] == -1 else case[field] for case in cases}
    for case in cases:
        if parser is read_lenient and "either is fine" in case["why"]:
            assert read.pop(case["id"]) == 1
            del stated[case["id"]]
    assert read == stated
