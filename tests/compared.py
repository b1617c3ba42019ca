"""What ``evalbench compare --json`` prints, made up."""

from __future__ import annotations

from typing import Any


def lines(runs: int = 2, *, share: bool = True, **head: Any) -> list[dict[str, Any]]:
    """What the command prints about some runs, all pairs of which look the same."""
    names = [f"run-{number}" for number in range(runs)]
    found: list[dict[str, Any]] = [
        {
            "event": "comparing",
            "benchmark": "mmlu",
            "name": "mmlu",
            "metric": "accuracy",
            "title": "",
            "share": share,
            "runs": names,
            "samples": 14_042,
            "compared": "model",
            "values": ["a/b", "c/d"],
            "differences": [],
            "warnings": [],
            "flips": 2,
        }
        | head
    ]
    found += [
        {
            "event": "contender",
            "run": name,
            "model": "a/b",
            "score": 0.5,
            "low": 0.4,
            "high": 0.6,
            "place_best": 1,
            "place_worst": 1 + number,
            "failed": number,
            "missing": 0,
        }
        for number, name in enumerate(names)
    ]
    return [*found, pair()]


def pair(**changed: Any) -> dict[str, Any]:
    return {
        "event": "comparison",
        "first": "run-0",
        "second": "run-1",
        "n": 14_042,
        "difference": 0.0191,
        "low": 0.0101,
        "high": 0.0281,
        "interval": "paired score interval (Tango), 95 %",
        "bootstrap": [0.01, 0.028],
        "test": "McNemar's exact test",
        "p": 0.00001,
        "p_holm": 0.03,
        "p_bh": 0.02,
        "clustered": {
            "tag": "subject", "clusters": 57, "low": -0.001, "high": 0.04, "p": 0.062,
            "bootstrap": None,
        },
        "first_higher": 800,
        "second_higher": 1_068,
        "equal": 12_174,
        "both_right": 8_000,
        "both_wrong": 4_174,
        "detectable": 0.009,
        "bounds": [0.018, 0.02],
    } | changed  # fmt: skip
