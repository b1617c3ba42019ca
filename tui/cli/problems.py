"""Error reports for failed commands."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from evalbench.engine.errors import EvalbenchError, KeyUnavailable, SpecError, system_limit
from evalbench.engine.paths import cache_dir, make_private, write_file
from evalbench.engine.terminal_text import clean
from evalbench.tui.cli.output import stderr, stdout


def report(error: Exception, words: Sequence[str]) -> int:
    """Print an error and return its exit code.

    With ``--json`` among ``words``, standard output gets an ``error`` line too. Anything that is
    not an :class:`EvalbenchError` is a bug: its traceback goes to a file and the exit code is 6.
    """
    if not isinstance(error, EvalbenchError):
        error = system_limit(error) or _crash(error, words)
    stderr().line("error: " + clean(str(error)))
    if "--json" in words:
        body = {
            "event": "error",
            "what": error.what,
            "why": error.why,
            "try": error.hint,
            "exit_code": error.exit_code,
            "setting": _setting(error),
        }
        stdout().line(json.dumps(body, ensure_ascii=False))
    return error.exit_code


def _setting(error: EvalbenchError) -> str:
    if isinstance(error, SpecError):
        return error.field
    return "key" if isinstance(error, KeyUnavailable) else ""


class Crash(EvalbenchError):
    """A bug in evalbench itself."""

    exit_code = 6


def _crash(error: Exception, words: Sequence[str]) -> Crash:
    what = f"evalbench crashed: {type(error).__name__}: {error}"
    try:
        folder = cache_dir() / "crashes"
        file = folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
        _write_report(file, error, words)
    except (OSError, EvalbenchError) as failure:
        why = getattr(failure, "strerror", None) or str(failure)
        return Crash(what, why=f"no report could be written: {why}")
    return Crash(what, hint=f"report it, with {file} (it holds no keys and no answers)")


def _write_report(file: Path, error: Exception, words: Sequence[str]) -> None:
    """The traceback and version details; without local variables, which may hold secrets."""
    make_private(file.parent)
    lines = [
        f"command: {words[0] if words else ''}",
        f"python: {sys.version}",
        f"platform: {platform.platform()}",
        "",
        *traceback.format_exception(error),
    ]
    write_file(file, "\n".join(lines).encode("utf-8", "replace"))
