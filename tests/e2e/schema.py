"""The schema of JSON lines, read from the page that documents it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

_PAGE = Path(__file__).parents[2] / "docs" / "json-lines.md"
_OTHER = "Everything else that happens to a run"
_TYPES: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "whole number": (int,),
    "number": (int, float),
    "object": (dict,),
    "list": (list,),
    "true or false": (bool,),
    "null": (type(None),),
    "anything": (object,),
}


@cache
def _sections() -> dict[str, dict[str, str]]:
    """Field name to type, by heading."""
    found: dict[str, dict[str, str]] = {}
    heading = ""
    for line in _PAGE.read_text("utf-8").splitlines():
        if line.startswith("#"):
            heading = line.strip("# ")
        elif (row := re.match(r"\| (\w+) \| ([^|]+) \| .* \|$", line)) and row[1] != "field":
            found.setdefault(heading, {})[row[1]] = row[2].strip()
    return found


_OF_SHOW = frozenset(
    {
        "spec",
        "record",
        "prices",
        "key",
        "judges",
        "imported",
        "reused_of",
        "local_models",
        "workers",
        "traces",
    }
)


def check_line(line: Mapping[str, Any], *, of_show: bool = False) -> None:
    """Assert that a line has exactly the documented fields, in type.

    ``of_show``: it is a run as ``show`` prints it.
    """
    assert next(iter(line)) == "event"
    event = line["event"]
    fields = dict(_sections().get(event) or _sections()[_OTHER])
    if event == "run" and not of_show:
        for name in _OF_SHOW:
            del fields[name]
    missing = set(fields) - set(line)
    unknown = set(line) - set(fields) - {"event"}
    assert not missing, f"{event} lacks {missing}"
    assert not unknown, f"{event} has undocumented {unknown}"
    for name, kind in fields.items():
        if name in line:
            _check_type(f"{event}.{name}", line[name], kind)
    for name, metric in (line.get("metrics") or {}).items() if event != "benchmark" else ():
        assert set(metric) == set(_sections()["Metrics"]), name
        for part, kind in _sections()["Metrics"].items():
            _check_type(f"{event}.metrics.{name}.{part}", metric[part], kind)


def _check_type(what: str, value: Any, kind: str) -> None:
    names = [kind] if kind in _TYPES else kind.split(" or ")
    allowed = tuple(one for name in names for one in _TYPES[name])
    if isinstance(value, bool) and object not in allowed:
        # In Python every bool is an int too; in JSON none is.
        allowed = tuple(one for one in allowed if one is bool)
    assert isinstance(value, allowed), f"{what} is {value!r}, not {kind}"
