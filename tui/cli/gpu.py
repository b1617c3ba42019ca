"""``evalbench gpu``: GPUs and local workers, once or continuously."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evalbench.engine.calls.options import Option
from evalbench.engine.hardware.gpu import Gpus
from evalbench.engine.installed import missing_modules, pip_words
from evalbench.engine.record_schemas import Gauges, WorkerGauges
from evalbench.engine.runs.folder import all_runs
from evalbench.engine.runs.status import State
from evalbench.engine.terminal_text import one_line
from evalbench.tui.cli.output import plain_terminal, stdout
from evalbench.tui.cli.parser import Parser
from evalbench.tui.state import figures
from evalbench.tui.state.glyphs import substitutes

_STEPS = "▁▂▃▄▅▆▇█"
_COLUMNS = 40
_EVERY = Option("every", float, 1.0, "seconds between readings", minimum=0.5, maximum=3600)


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments."""
    parser.add_argument("--watch", action="store_true", help="repeat until Ctrl-C")
    parser.add_argument(
        "--every",
        metavar="S",
        default="1",
        help="seconds between readings with --watch (default: 1, minimum: 0.5)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per reading")
    parser.examples(
        "evalbench gpu",
        "evalbench gpu --watch",
        "evalbench gpu --watch --json | jq '.cards[].utilisation'",
    )


def execute(args: argparse.Namespace) -> int:
    """Print one reading, or one after another."""
    every = _EVERY.parse(args.every)
    out = stdout()
    gpus = Gpus()
    drawn = 0
    try:
        while True:
            of_runs = _readings_of_runs()
            cards, workers = [*gpus.read(), *of_runs.cards], of_runs.workers
            if args.json:
                from evalbench.tui.cli import jsonlines

                body = {"driver": gpus.driver, "trouble": gpus.trouble}
                jsonlines.write(out, "gpu", at=time.time(), cards=cards, workers=workers, **body)
            else:
                lines = _lines(cards, gpus.trouble, workers, history=args.watch)
                if drawn and out.isatty() and not plain_terminal():
                    out.write(f"\x1b[{drawn}F\x1b[J")
                for line in lines:
                    out.line(line)
                drawn = len(lines)
            if not args.watch or out.gone:
                return 0
            time.sleep(every)
    except KeyboardInterrupt:
        return 0


def _lines(
    cards: Sequence[Mapping[str, Any]],
    trouble: str,
    workers: Sequence[Mapping[str, Any]],
    *,
    history: bool,
) -> list[str]:
    lines = [line for number, card in enumerate(cards) for line in _card(number, card, history)]
    if not cards:
        lines.append(f"no GPU to read: {trouble}" if trouble else "no GPU to read")
        if missing_modules(["pynvml"]):
            lines.append("  try: " + shlex.join([*pip_words("install"), "nvidia-ml-py"]))
    return lines + [_worker(one) for one in workers]


def _card(number: int, card: Mapping[str, Any], history: bool) -> list[str]:
    parts = []
    if card["used"] is not None and card["total"]:
        peak = f" (peak {figures.amount(card['peak'], 'B')})" if card["peak"] is not None else ""
        used, total = (figures.amount(card[name], "B") for name in ("used", "total"))
        parts.append(f"{used} of {total}{peak}")
    if card["utilisation"] is not None:
        parts.append(f"{card['utilisation']} % busy")
    if card["temperature"] is not None:
        parts.append(f"{card['temperature']} °C")
    if card["power"] is not None:
        most = f" of {card['power_limit']:.0f}" if card["power_limit"] is not None else ""
        parts.append(f"{card['power']:.0f}{most} W")
    named = " ".join(one_line(card[name]) for name in ("node", "name") if card.get(name))
    lines = [f"{number}  {named}  {' · '.join(parts) or 'no readings'}"]
    if history and card["history"]:
        shown = card["history"][-_COLUMNS:]
        columns = "".join(_STEPS[min(7, value * len(_STEPS) // 100)] for value in shown)
        columns = columns.translate(substitutes())
        lines.append(f"   {columns} busy in the last {figures.counted(len(shown), 'reading')}")
    for pid, used in card["processes"].items():
        memory = figures.amount(used, "B") if used is not None else "unknown memory"
        command = "" if card.get("node") else _command(pid)
        lines.append(f"   process {pid} {command}".rstrip() + f": {memory}")
    return lines


def _command(pid: str) -> str:
    """A process's name, if the system reports it."""
    if sys.platform != "linux":
        return ""
    try:
        return one_line(Path(f"/proc/{int(pid)}/comm").read_text())
    except (OSError, ValueError):
        return ""


class _Readings(NamedTuple):
    """The latest reports of live runs' engines.

    Attributes:
        workers: workers of local models.
        cards: cards of other nodes in a cluster.
    """

    workers: list[dict[str, Any]]
    cards: list[dict[str, Any]]


def _readings_of_runs() -> _Readings:
    found = _Readings([], [])
    for folder in all_runs():
        status = folder.status()
        if not status or status.state not in (State.RUNNING, State.PAUSING, State.STOPPING):
            continue
        gauges = status.gauges
        if folder.live_pid(status):
            for one in _of_run(gauges):
                if one.get("pid"):
                    found.workers.append({"run": folder.id, "model": status.model, **one})
            known = {(card["node"], card["uuid"]) for card in found.cards}
            found.cards.extend(
                card
                for card in gauges.get("gpus") or ()
                if card.get("node") and (card["node"], card["uuid"]) not in known
            )
    return found


def _of_run(gauges: Gauges) -> list[dict[str, Any]]:
    """Each worker of a run: its only one, or all of several."""
    measures = gauges.get("measures") or {}
    only: WorkerGauges = {
        "pid": gauges.get("worker_pid"),
        "memory": gauges.get("memory") or {},
        "tokens_per_second": measures.get("tokens_per_second"),
        "idle": gauges.get("idle"),
    }
    return [
        {
            "worker": one.get("worker") or "",
            "node": one.get("node") or "",
            "pid": one.get("pid"),
            "memory": one.get("memory") or {},
            "tokens_per_second": one.get("tokens_per_second"),
            "idle": one.get("idle"),
        }
        for one in gauges.get("workers") or [only]
    ]


def _worker(one: Mapping[str, Any]) -> str:
    memory = one["memory"]
    parts = []
    for name, words in (("used", "{}"), ("reserved", "{} reserved"), ("peak", "peak {}")):
        if memory.get(name):
            parts.append(words.format(figures.amount(memory[name], "B")))
    if (cache := memory.get("kv_cache")) is not None:
        parts.append(f"cache {100 * cache:.0f} % full")
    if one["tokens_per_second"]:
        parts.append(f"{one['tokens_per_second']:.1f} tokens/s")
    if one["idle"] is not None:
        parts.append(f"{one['idle']:.0%} idle".replace("%", " %"))
    named = f" at {one_line(one['worker'])}" if one["worker"] else ""
    return f"{one_line(one['run'])}: worker {one['pid']}{named}  {' · '.join(parts)}".rstrip()
