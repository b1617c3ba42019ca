"""``evalbench gpu``: cards and local workers, now or as time goes by."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalbench.engine.gpu import Gpus
from evalbench.engine.options import Option
from evalbench.engine.runfolder import all_runs
from evalbench.engine.status import State
from evalbench.tui.cli.output import plain_terminal, stdout
from evalbench.tui.cli.parser import Parser
from evalbench.tui.state import figures
from evalbench.tui.state.clean import one_line

_STEPS = "▁▂▃▄▅▆▇█"
_COLUMNS = 40
_EVERY = Option("every", float, 1.0, "seconds between readings", minimum=0.5, maximum=3600)


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments."""
    parser.add_argument("--watch", action="store_true", help="read again and again, until Ctrl-C")
    parser.add_argument(
        "--every",
        metavar="S",
        default="1",
        help="with --watch: seconds between readings (default 1, at least 0.5)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a reading")
    parser.examples(
        "evalbench gpu",
        "evalbench gpu --watch",
        "evalbench gpu --watch --json | jq '.cards[].utilisation'",
    )


def execute(args: argparse.Namespace) -> int:
    """Print one reading, or one after the other."""
    every = _EVERY.parse(args.every)
    out = stdout()
    gpus = Gpus()
    drawn = 0
    try:
        while True:
            cards, workers = gpus.read(), _workers()
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
    return lines + [_worker(one) for one in workers]


def _card(number: int, card: Mapping[str, Any], history: bool) -> list[str]:
    told = []
    if card["used"] is not None and card["total"]:
        peak = f" (peak {figures.amount(card['peak'], 'B')})" if card["peak"] is not None else ""
        used, total = (figures.amount(card[name], "B") for name in ("used", "total"))
        told.append(f"{used} of {total}{peak}")
    if card["utilisation"] is not None:
        told.append(f"{card['utilisation']} % busy")
    if card["temperature"] is not None:
        told.append(f"{card['temperature']} °C")
    if card["power"] is not None:
        most = f" of {card['power_limit']:.0f}" if card["power_limit"] is not None else ""
        told.append(f"{card['power']:.0f}{most} W")
    lines = [f"{number}  {one_line(card['name'])}  {' · '.join(told) or 'tells nothing'}"]
    if history and card["history"]:
        shown = card["history"][-_COLUMNS:]
        columns = "".join(_STEPS[min(7, value * len(_STEPS) // 100)] for value in shown)
        lines.append(f"   {columns} busy, the last {len(shown)} readings")
    for pid, used in card["processes"].items():
        held = figures.amount(used, "B") if used is not None else "unknown memory"
        lines.append(f"   process {pid} {_command(pid)}".rstrip() + f": {held}")
    return lines


def _command(pid: str) -> str:
    """What a process is called, where the system tells."""
    if sys.platform != "linux":
        return ""
    try:
        return one_line(Path(f"/proc/{int(pid)}/comm").read_text())
    except (OSError, ValueError):
        return ""


def _workers() -> list[dict[str, Any]]:
    """The local workers of live runs, as their engines told last."""
    found = []
    for folder in all_runs():
        status = folder.status()
        if not status or status.state not in (State.RUNNING, State.PAUSING, State.STOPPING):
            continue
        gauges = status.gauges
        if folder.live_pid(status):
            for one in _of_run(gauges):
                if one.get("pid"):
                    found.append({"run": folder.id, "model": status.model, **one})
    return found


def _of_run(gauges: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each worker of a run: its only one, or all of several."""
    measures = gauges.get("measures") or {}
    only = {
        "pid": gauges.get("worker_pid"),
        "memory": gauges.get("memory"),
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
    told = []
    for name, words in (("used", "{}"), ("reserved", "{} reserved"), ("peak", "peak {}")):
        if memory.get(name):
            told.append(words.format(figures.amount(memory[name], "B")))
    if one["tokens_per_second"]:
        told.append(f"{one['tokens_per_second']:.1f} tokens/s")
    if one["idle"] is not None:
        told.append(f"{one['idle']:.0%} idle".replace("%", " %"))
    named = f" at {one_line(one['worker'])}" if one["worker"] else ""
    return f"{one_line(one['run'])}: worker {one['pid']}{named}  {' · '.join(told)}".rstrip()
