"""The typed settings of ``start_run``, written from what is declared.

``python -m tests.settings_source`` writes ``evalbench/settings.py`` anew: after an option was
added to the run, or to a benchmark or a provider that ships.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from evalbench.engine.calls.options import Option
from evalbench.engine.config import registry
from evalbench.engine.config.spec import COMMON

FILE = Path(__file__).parents[1] / "evalbench" / "settings.py"

# A path by what they do with the text, not by how they are declared.
_PATHS = ("data", "env_file")
# Parameters of ``start_run`` itself.
_OWN = ("budget",)

_HEAD = '''\
"""The settings that ``start_run`` takes, with their types.

Written by ``python -m tests.settings_source`` from the options that are declared; a test
compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypedDict


class Settings(TypedDict, total=False):
    """Settings of a run, and of the benchmarks and providers that come with evalbench.

    None stands for the default. Which of them a benchmark or a provider takes is checked when
    the run is started.
    """
'''


def source() -> str:
    """The text of ``evalbench/settings.py``."""
    owners: dict[str, str] = {}
    found: dict[str, list[Option]] = {}
    for owner, option in _declared():
        owners.setdefault(option.name, owner)
        found.setdefault(option.name, []).append(option)
    lines, before = [], ""
    for name, options in found.items():
        if owners[name] != before:
            before = owners[name]
            lines.append(f"\n    # {before}")
        lines.append(f"    {name}: {_annotation(options)}")
    return _formatted(_HEAD + "\n".join(lines) + "\n")


def _declared() -> Iterator[tuple[str, Option]]:
    """Every option with who takes it, under its own name."""
    yield from (("The run", option) for option in COMMON if option.name not in _OWN)
    for name in registry.benchmark_names():
        cls = registry.benchmark_class(name)
        if cls.__module__.startswith("evalbench."):
            yield from ((name, option) for option in cls.options)
            yield from ((name, Option(tag, str, (), "", many=True)) for tag in cls.filters)
    for name in registry.provider_names():
        provider = registry.provider_class(name)
        if provider.__module__.startswith("evalbench."):
            yield from ((name, option) for option in provider.options)


def _annotation(options: Iterable[Option]) -> str:
    """A type for whatever one of the options takes."""
    kinds: dict[str, None] = {}
    choices: dict[str, None] = {}
    for option in options:
        if option.choices and not option.many:
            choices |= dict.fromkeys(option.choices)
            continue
        kinds[option.type.__name__] = None
        if option.path or option.name in _PATHS:
            kinds["Path"] = None
        if option.many:
            kinds["Sequence[str | Path]" if "Path" in kinds else "Sequence[str]"] = None
    if choices and "str" not in kinds:
        kinds[f"Literal[{', '.join(map(repr, choices))}]"] = None
    return " | ".join([*kinds, "None"])


def _formatted(text: str) -> str:
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(FILE), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    FILE.write_text(source(), "utf-8")
