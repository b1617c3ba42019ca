"""``evalbench models loaded`` and ``unload``: models that stay in memory after a run."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from evalbench.engine.errors import SpecError, nearest
from evalbench.engine.kept_workers import KeptWorker, kept_workers, unload
from evalbench.engine.terminal_text import one_line
from evalbench.tui.cli.output import stdout
from evalbench.tui.cli.parser import Parser
from evalbench.tui.cli.table import print_columns
from evalbench.tui.state import figures

WORDS = ("loaded", "unload")


def declare(parser: Parser, word: str) -> None:
    """Arguments of ``loaded`` or ``unload``."""
    models = " [MODEL]..." if word == "unload" else ""
    parser.short_usage(f"{word}{models}")
    parser.add_argument("provider", metavar=word, help=f"literally {word}")
    if word == "unload":
        parser.add_argument(
            "models",
            metavar="MODEL",
            nargs="*",
            help="model that no run uses now, as evalbench models loaded shows it (default: all)",
        )
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    parser.examples(
        "evalbench models loaded",
        "evalbench models unload",
        "evalbench models unload local/llama-3.2-3b",
    )


def execute(args: argparse.Namespace) -> int:
    """Print, or unload, what waits for another run."""
    found = kept_workers()
    if args.provider == "unload":
        found = _chosen(found, args.models)
        found = [one for one in found if unload(one)]
    out = stdout()
    if args.json:
        from evalbench.tui.cli import jsonlines

        for one in found:
            jsonlines.write(
                out,
                f"model-{'unloaded' if args.provider == 'unload' else 'loaded'}",
                model=one.model,
                pid=one.pid,
                backend=one.backend,
                device=one.device,
                memory=one.memory,
                until=one.until,
            )
    elif not found:
        out.line("no model is loaded that no run uses")
    elif args.provider == "unload":
        for one in found:
            freed = figures.amount(one.memory, "B")
            out.line(f"unloaded {one_line(one.model)} ({one_line(one.backend)}): {freed} freed")
    else:
        head = ("model", "backend", "memory", "on", "process", "unloads in")
        print_columns(out, head, [_row(one) for one in found])
    return 0


def _row(one: KeptWorker) -> tuple[str, ...]:
    left = figures.duration(max(0.0, one.until - time.time()))
    words = (one.model, one.backend, figures.amount(one.memory, "B"), one.device)
    return *map(one_line, words), str(one.pid), left


def _chosen(found: Sequence[KeptWorker], names: Sequence[str]) -> list[KeptWorker]:
    if not names:
        return list(found)
    wanted = {name if name.startswith("local/") else f"local/{name}" for name in names}
    known = {one.model for one in found}
    if missing := sorted(wanted - known):
        raise SpecError(
            "model",
            f"{one_line(missing[0])} is not loaded, or a run uses it",
            why=nearest(missing[0], known),
            hint="evalbench models loaded shows what can be unloaded",
        )
    return [one for one in found if one.model in wanted]
