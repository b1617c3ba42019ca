"""How this copy of evalbench was installed, and the command that adds an extra to it.

The distribution is called ``evalbench-tui``, because ``evalbench`` is taken on the package index.
Sources: PEP 610 (``direct_url.json``), the metadata of pipx (``pipx_metadata.json``) and the
receipt of ``uv tool`` (``uv-receipt.toml``).
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from evalbench.engine.errors import UsageError

DISTRIBUTION = "evalbench-tui"


def version() -> str:
    """The version of evalbench; ``unknown`` if it is imported without being installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown"


def require(extra: str, purpose: str, *modules: str) -> None:
    """Fail before modules of an extra are used if they are missing.

    Args:
        extra: the extra that provides them.
        purpose: what needs them, as the start of a sentence.
        modules: names to import.

    Raises:
        UsageError: one is not installed.
    """
    if missing := missing_modules(modules):
        raise UsageError(
            f"{purpose} needs {' and '.join(missing)}, which this installation lacks",
            hint=install_command(extra),
        )


def missing_modules(modules: Iterable[str]) -> list[str]:
    """Those of these modules that are not installed."""
    return [name for name in modules if not _there(name)]


def _there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        # The package that contains it is missing too.
        return False


def install_command(*extras: str) -> str:
    """A shell command that adds extras to this copy, in the way it was installed.

    If pip can refer to the source again (a checkout, a wheel that still exists, a repository), that
    is given with the extras; otherwise the extras' packages are listed individually, as the
    distribution need not be on an index.
    """
    prefix = Path(sys.prefix)
    source = _source(_direct_url())
    if (prefix / "pipx_metadata.json").is_file():
        return shlex.join(["pipx", "inject", prefix.name, *_packages(extras)])
    if (receipt := _uv_receipt(prefix)) is not None and source:
        return shlex.join(["uv", "tool", "install", *_with(source, {*extras, *receipt})])
    wanted = _with(source, set(extras)) if source else _packages(extras)
    return shlex.join([*pip_words("install"), *wanted])


def pip_words(verb: str) -> list[str]:
    """The start of a pip command for this Python's environment."""
    if find_spec("pip") is None:
        return ["uv", "pip", verb, "--python", sys.executable]
    python = sys.executable
    return [python, "-m", "pip", verb]


def packages_of(extra: str) -> list[str]:
    """Requirements of an extra as stated in the metadata, except for our own other extras.

    Returns:
        For example ``anthropic[aiohttp]<3,>=2``; empty for an unknown extra.
    """
    from importlib.metadata import PackageNotFoundError, requires

    try:
        stated = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        return []
    marked = re.compile(rf"""extra\s*==\s*["']{re.escape(extra)}["']""")
    found: list[str] = []
    for line in stated:
        requirement, _, marker = line.partition(";")
        if not marked.search(marker):
            continue
        requirement = requirement.strip()
        if own := re.match(rf"{DISTRIBUTION}\[([^\]]+)\]", requirement):
            for inner in own[1].split(","):
                found += packages_of(inner.strip())
        else:
            found.append(requirement)
    return list(dict.fromkeys(found))


def _packages(extras: Sequence[str]) -> list[str]:
    found = [package for extra in extras for package in packages_of(extra)]
    return list(dict.fromkeys(found))


def _with(source: tuple[str, str], extras: set[str]) -> list[str]:
    """The arguments for a source with extras: ``--editable`` and the path, or the path."""
    kind, place = source
    named = f"[{','.join(sorted(extras))}]" if extras else ""
    if kind == "repository":
        return [f"{DISTRIBUTION}{named} @ {place}"]
    return [*(["--editable"] if kind == "editable" else []), place + named]


def _source(direct: Mapping[str, Any]) -> tuple[str, str] | None:
    """Kind and location of what this copy was installed from, if pip can refer to it again."""
    url = str(direct.get("url", ""))
    if vcs := direct.get("vcs_info"):
        commit = vcs.get("commit_id") or vcs.get("requested_revision") or ""
        return "repository", f"{vcs.get('vcs', 'git')}+{url}" + (f"@{commit}" if commit else "")
    parts = urlsplit(url)
    if parts.scheme == "file":
        path = Path(unquote(parts.path))
        editable = bool((direct.get("dir_info") or {}).get("editable"))
        return ("editable" if editable else "path", str(path)) if path.exists() else None
    return ("repository", url) if parts.scheme in ("http", "https") else None


def _direct_url() -> Mapping[str, Any]:
    from importlib.metadata import distributions

    # A build leaves metadata in the checkout too, which is found first from inside it.
    for found in distributions(name=DISTRIBUTION):
        try:
            record = json.loads(found.read_text("direct_url.json") or "")
        except ValueError:
            continue
        if isinstance(record, dict):
            return record
    return {}


def _uv_receipt(prefix: Path) -> list[str] | None:
    """The extras that ``uv tool`` has in this environment; None outside of one."""
    import tomllib

    try:
        receipt = tomllib.loads((prefix / "uv-receipt.toml").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return list(_receipt_extras(receipt))


def _receipt_extras(receipt: Mapping[str, Any]) -> Iterator[str]:
    for requirement in receipt.get("tool", {}).get("requirements", []):
        if isinstance(requirement, dict) and requirement.get("name") == DISTRIBUTION:
            yield from requirement.get("extras", [])
