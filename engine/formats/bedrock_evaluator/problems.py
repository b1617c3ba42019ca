"""The problems behind result files of execution prediction and choice."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalbench.engine.benchmark import DataSource, Item
from evalbench.engine.benchmarks.code_reasoning.data import Selection, read_problems

PROGRAMS = ("original", "mutated")
"""The programs of a problem, by field name."""

_GONE = "# the program is not in the imported file"


def read_programs(data: Path | None) -> Mapping[str, Item]:
    """The problems of a data file by id, with both programs; empty without a file.

    Raises:
        DataError: it cannot be read.
    """
    if data is None:
        return {}
    found = read_problems(DataSource(data, data), Selection("", "", 0, without_mutant=True))
    return {item.inputs["id"]: item for item in found.items}


def item_of(
    problem: Mapping[str, Any], place: int, taken: Mapping[str, int], problems: Mapping[str, Item]
) -> Item:
    """A problem as a sample; programs and calls are taken from ``problems`` if known."""
    ident = str(problem.get("problem_id", place))
    known = problems.get(ident)
    gold = {name: _outputs(problem[f"{name}_output"]) for name in PROGRAMS}
    cases = len(gold["original"])
    if len(gold["mutated"]) != cases:
        raise ValueError("the programs have different numbers of outputs")
    calls = problem.get("test_inputs")
    if known and len(known.inputs["calls"]) == cases:
        calls = known.inputs["calls"]
    elif not isinstance(calls, list) or len(calls) != cases:
        calls = [f"{problem.get('function_name') or 'f'}(...)"] * cases
    inputs = {
        "id": _new_name(ident, taken),
        "calls": [str(call) for call in calls],
        "code": known.inputs["code"] if known else _GONE,
        "mutant": (known.inputs["mutant"] if known else None) or _GONE,
    }
    tags = dict(known.tags) if known else {}
    if problem.get("difficulty"):
        tags["difficulty"] = str(problem["difficulty"])
    return Item(inputs, gold, tags)


def _new_name(ident: str, taken: Mapping[str, int]) -> str:
    """The id, with a number if it is taken: some files have one result per test case."""
    name, times = ident, 1
    while name in taken:
        times += 1
        name = f"{ident} #{times}"
    return name


def _outputs(value: Any) -> list[str]:
    """The outputs for each test case, in Python notation."""
    return [one if isinstance(one, str) else repr(one) for one in _as_list(value)]


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
