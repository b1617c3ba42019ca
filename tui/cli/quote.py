"""A run's estimated size and cost in words, from the preflight's estimates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalbench.engine.config.spec import RunSpec
from evalbench.engine.terminal_text import one_line
from evalbench.tui.cli.output import Out
from evalbench.tui.state import figures
from evalbench.tui.state.money_words import (
    Pair,
    count_range,
    money_range,
    price_words,
    rough_range,
    total,
)

Estimate = Mapping[str, Any]
"""As returned by :func:`evalbench.engine.cost.estimated.estimate_to_json`."""


def print_estimates(out: Out, specs: Sequence[RunSpec], estimates: Sequence[Estimate]) -> None:
    """Print the estimate of every run and, for several, their sum."""
    for spec, found in zip(specs, estimates, strict=True):
        _print_one(out, spec, found)
        out.line()
    if len(estimates) > 1:
        out.line(f"{len(estimates)} runs")
        _print_money(out, *(total([found[mode] for found in estimates]) for mode in _MODES))
        out.line()


_MODES = ("realtime", "batch")


def _print_one(out: Out, spec: RunSpec, found: Estimate) -> None:
    size = f"{figures.counted(found['samples'], 'sample')}"
    if found["epochs"] > 1:
        size += f" × {found['epochs']} epochs"
    if found["counted"] < found["samples"]:
        size += f", estimated from {found['counted']} drawn at random"
    out.line(f"{one_line(spec.label)} × {one_line(spec.model)}: {size}")
    _print_roles(out, found["roles"])
    if found["unfinished"]:
        unfinished = figures.counted(found["unfinished"], "sample")
        out.line(
            f"note      {unfinished} could not be followed to the end with made-up replies and may"
            " ask more"
        )
    for role in found["roles"]:
        named = f"{role['role']}: " if len(found["roles"]) > 1 else ""
        out.line(f"{'prices':<10}{named}{price_words(role['prices'])}")
    _print_money(out, found["realtime"], found["batch"])
    for role in found["roles"]:
        if role.get("batch_note"):
            out.line(f"{'':<10}{one_line(role['model'])} in batches: {role['batch_note']}")


def _print_roles(out: Out, roles: Sequence[Mapping[str, Any]]) -> None:
    from evalbench.tui.cli.table import print_columns

    images = any(role["images"][1] for role in roles)
    columns = ["role", "calls", "input tokens", "output tokens"]
    columns += ["images", "image tokens"] if images else []
    reused = any(role["reused"][1] for role in roles)
    columns += ["from earlier runs"] if reused else []
    costs = len(roles) > 1
    columns += ["cost"] if costs else []
    rows = []
    for role in roles:
        cells = [
            role["role"],
            count_range(role["calls"]),
            rough_range(role["input_tokens"]),
            rough_range(role["output_tokens"]),
        ]
        if images:
            cells += [count_range(role["images"]), rough_range(role["image_tokens"])]
        cells += [count_range(role["reused"])] if reused else []
        cells += [money_range(role["realtime"])] if costs else []
        rows.append(cells)
    print_columns(out, columns, rows, right=frozenset(range(1, len(columns))))


def _print_money(out: Out, realtime: Pair, batch: Pair) -> None:
    if realtime is not None and not realtime[1]:
        out.line(f"{'cost':<10}nothing")
        return
    words = money_range(realtime)
    if batch != realtime:
        words += f" answered at once; {money_range(batch)} through the batch API"
    out.line(f"{'cost':<10}{words}")
