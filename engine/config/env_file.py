"""Reads a ``.env`` file for keys and settings, only if a command names one (``--env-file``)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from evalbench.engine.errors import DataError
from evalbench.engine.files import read_text

_LINE = re.compile(
    r"""(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*
        (?:'(?P<single>[^']*)' | "(?P<double>(?:[^"\\]|\\.)*)" | (?P<bare>[^'"\s\#][^\s]*)?)
        \s*(?:\#.*)?""",
    re.VERBOSE,
)
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "$": "$"}


def read_env_file(path: Path) -> dict[str, str]:
    r"""The variables of a ``.env`` file; the environment is not changed.

    One ``NAME=value`` per line, optionally preceded by ``export``. Blank lines and lines starting
    with ``#`` are skipped. A value is bare (up to the first whitespace), in single quotes (taken
    literally) or in double quotes (with the escapes ``\n``, ``\t``, ``\"``, ``\\`` and ``\$``). A
    comment may follow after whitespace. Nothing is expanded, values cannot span lines, and the last
    of several equal names wins.

    Raises:
        DataError: with the number of the first invalid line; the line itself is not quoted,
            because it may contain a key.
    """
    try:
        text = read_text(path, encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror or "" if isinstance(error, OSError) else "it is not UTF-8 text"
        raise DataError(
            "cannot be read", path=str(path), why=why, hint="check the path given to --env-file"
        ) from None
    found: dict[str, str] = {}
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        parsed = _LINE.fullmatch(line)
        if parsed is None:
            raise DataError(
                "not a NAME=value line",
                path=str(path),
                line=number,
                hint="put a value with spaces or quotes in it into quotes",
            )
        found[parsed["name"]] = _value(parsed)
    return found


def variables_of(env_file: str | None) -> Mapping[str, str]:
    """The source of settings: the environment, overridden by a ``.env`` file.

    A file that no longer exists, as for a run resumed elsewhere, counts as empty.
    """
    path = Path(env_file) if env_file else None
    if path is None or not path.is_file():
        return os.environ
    return {**os.environ, **read_env_file(path)}


def _value(parsed: re.Match[str]) -> str:
    if parsed["double"] is not None:
        return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[0]), parsed["double"])
    return str(parsed["single"] or parsed["bare"] or "")
