"""MT-bench results as one JSON file: ``model_results`` and ``comparison.overall_ranking``.

The layout is that of the MT-bench Evaluation System's README, plus what else is known here: turns,
judges and the number of ratings behind each score.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import mean, stdev
from typing import Any

from evalbench.engine.benchmark import judge_name
from evalbench.engine.benchmarks.mt_bench.metrics import TURNS
from evalbench.engine.calls import Outcome
from evalbench.engine.config.roles import CANDIDATE
from evalbench.engine.errors import UsageError
from evalbench.engine.formats.files import Files
from evalbench.engine.runs.reader import RunReader, SampleRecord, role_of

Ratings = dict[tuple[str, int, str], list[float]]
"""By category, turn and judge."""


def write_all(runs: Sequence[RunReader], files: Files) -> list[str]:
    """Add the file to ``files``.

    Raises:
        UsageError: a run compared answers in pairs, so it has no ratings.
    """
    results = [_model(run) for run in runs]
    judges = sorted({judge for one in results for judge in one["judge_breakdown"]})
    files.json(
        "mt_bench_results.json",
        {
            "metadata": {
                "benchmark": "mt-bench",
                "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(runs[-1].created)),
                "judge_models": judges,
                "runs": [run.id for run in runs],
            },
            "model_results": results,
            "comparison": {
                "overall_ranking": _ranking(results, lambda one: one["overall_score"]),
                "category_rankings": {
                    category: _ranking(
                        results,
                        lambda one, category=category: one["category_breakdown"].get(category),
                    )
                    for category in sorted({c for o in results for c in o["category_breakdown"]})
                },
            },
        },
    )
    return []


def _ranking(results: Sequence[dict[str, Any]], read: Any) -> list[dict[str, Any]]:
    """Models by score, best first; those without one are left out."""
    scored = [
        {"model": one["model_name"], "score": score["mean"]}
        for one in results
        if (score := read(one)) and score["mean"] is not None
    ]
    return sorted(scored, key=lambda one: -one["score"])


def _model(run: RunReader) -> dict[str, Any]:
    if run.spec.options.get("against"):
        raise UsageError(
            f"run {run.id} compared answers in pairs and has no ratings",
            hint="write it with --format fastchat",
        )
    ratings: Ratings = {}
    questions = failed = 0
    seconds: list[float] = []
    for record in run.walk():
        questions += 1
        failed += _add(run, record, ratings)
        seconds += [
            call.reply.latency_s
            for call in record.answers(0)
            if call.reply and role_of(call) == CANDIDATE and call.reply.latency_s
        ]
    categories = sorted({category for category, _, _ in ratings})
    judges = sorted({judge for _, _, judge in ratings})
    return {
        "model_name": run.candidate,
        "run": run.id,
        "overall_score": _spread(ratings),
        "category_breakdown": {
            category: _spread(ratings, category=category) for category in categories
        },
        "turn_breakdown": {f"turn_{turn}": _spread(ratings, turn=turn) for turn in TURNS},
        "judge_breakdown": {run.named(judge): _spread(ratings, judge=judge) for judge in judges},
        "questions": questions,
        "failed_questions": failed,
        "average_generation_time_s": mean(seconds) if seconds else None,
    }


def _add(run: RunReader, record: SampleRecord, ratings: Ratings) -> bool:
    """Add a sample's ratings; returns whether it failed."""
    category = record.sample.tags.get("category", "")
    judges = [judge_name(role) for role in run.judges]
    for score in record.scores.values():
        for turn in TURNS:
            for judge in judges:
                rating = score.values.get(f"rating/{turn}/{judge}")
                if rating is not None:
                    ratings.setdefault((category, turn, judge), []).append(rating)
    return any(score.outcome is Outcome.ERROR for score in record.scores.values())


def _spread(
    ratings: Ratings, *, category: str | None = None, turn: int | None = None, judge: str = ""
) -> dict[str, Any]:
    """Mean, sample standard deviation and number of the ratings that match the conditions."""
    found = [
        rating
        for (of, at, by), given in ratings.items()
        if category in (None, of) and turn in (None, at) and judge in ("", by)
        for rating in given
    ]
    return {
        "mean": mean(found) if found else None,
        "std": stdev(found) if len(found) > 1 else None,
        "count": len(found),
    }
