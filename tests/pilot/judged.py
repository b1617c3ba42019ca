"""The metrics of a judged run, as its benchmark makes them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from evalbench.engine.benchmarks.mt_bench import metrics as mt_bench_metrics
from evalbench.engine.calls import Outcome
from evalbench.engine.runs.status import State
from evalbench.engine.scoring.tally import Tally
from tests.pretending import PretendEngine, pretend

JUDGES = ("openai/gpt-5-mini", "anthropic/claude-haiku-4-5")
CATEGORIES = (
    "coding", "extraction", "humanities", "math", "reasoning", "roleplay", "stem", "writing"
)  # fmt: skip


def rated() -> dict[str, dict[str, Any]]:
    """Two judges' ratings of ten questions of every category, a little apart from each other."""
    tally = Tally()
    for place, category in enumerate(CATEGORIES):
        for number in range(10):
            values: dict[str, float] = {}
            for turn in (1, 2):
                for milder, judge in enumerate(JUDGES):
                    rating = 1 + (place + 3 * turn + number % 4 + milder * (number % 2)) % 10
                    values[f"rating/{turn}/{judge}"] = float(rating)
                    values[f"lenient/{turn}/{judge}"] = float(rating)
            for judge in JUDGES:
                values |= {f"judged/{judge}": 2.0, f"unread/{judge}": float(number == 7)}
            tally.add({"category": category}, Outcome.OK, values)
    return {one.name: asdict(one) for one in mt_bench_metrics.ratings(tally, JUDGES)}


async def judged_run() -> PretendEngine:
    """A complete run of MT-bench with two judges."""
    engine = pretend("mt-bench", "openai/gpt-4.1", total=80, judge=list(JUDGES))
    metrics = rated()
    await engine.keep(metrics=metrics, created=1_790_000_000.0)
    engine.event("started", pid=4711, host="here")
    engine.status(
        State.COMPLETE,
        created=1_790_000_000.0,
        done=80,
        seconds=93.0,
        sent=160,
        metrics={name: one for name, one in metrics.items() if not one["group"]},
        outcomes={"ok": 72, "unparsed": 8},
        spend_usd=0.34,
    )
    return engine
