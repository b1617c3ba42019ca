"""Every line that tells people what to install: read as it stands, and possible as it stands."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
FILES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(ROOT.glob("docs/**/*.md")),
    *sorted(ROOT.glob("docs/**/*.ipynb")),
    ROOT / "Makefile",
    ROOT / "Dockerfile",
    *sorted(ROOT.glob(".ci/*")),
]
_LINE = re.compile(
    r"(?:pip3?|pipx|uv tool|uv pip)[\"']? (?:install|inject|upgrade|wheel)(?= )[^`\n]*"
    r"|uvx --from [^`\n]*"
    r"|\$\(INSTALL\) [^\n]*"
)
_TARGET = re.compile(r"(?P<place>[^\[]+)(?:\[(?P<extras>[^\]]*)\])?")
_WHEEL = f"evalbench_tui-{PROJECT['version']}-py3-none-any.whl"


def _words(line: str) -> list[str]:
    parts = shlex.split(line.rstrip("\\"), comments=True)
    words = [word for word in parts if not word.startswith("-")]
    # What follows is the command to start, of the package that was named.
    return words[:2] if words[0] == "uvx" else words


def _wanted() -> list[tuple[str, str]]:
    """Where each line stands, and each thing that it installs and that could be ours."""
    found = []
    for file in FILES:
        text = file.read_text("utf-8")
        if file.suffix == ".ipynb":
            cells = json.loads(text)["cells"]
            text = "\n".join("".join(cell["source"]) for cell in cells)
        for number, line in enumerate(text.splitlines(), 1):
            for match in _LINE.findall(line):
                where = f"{file.relative_to(ROOT)}:{number}: {match}"
                found += [(where, word) for word in _words(match)]
    return found


def test_install_lines_name_a_checkout_or_a_wheel_and_extras_that_exist() -> None:
    ours = []
    for where, word in _wanted():
        target = _TARGET.fullmatch(word)
        if target is None or "$" in word:
            continue
        place, extras = target["place"], target["extras"]
        # On the index this name is another project's, and ours is not there.
        assert not re.match(r"evalbench(?:-tui)?(?:[=<>~@].*)?$", place), where
        if place in (".", "../..") or place.endswith(".whl"):
            ours.append(word)
            assert not place.endswith(".whl") or Path(place).name == _WHEEL, where
            unknown = set(extras.split(",") if extras else ()) - set(
                PROJECT["optional-dependencies"]
            )
            assert not unknown, where
    assert len(ours) > 20


def test_what_the_build_of_the_container_installs_exists() -> None:
    text = (ROOT / "Dockerfile").read_text("utf-8") + (ROOT / "docs/containers.md").read_text(
        "utf-8"
    )
    named = {extra for found in re.findall(r"EXTRAS=([\w,]+)", text) for extra in found.split(",")}
    assert named
    assert named <= set(PROJECT["optional-dependencies"])


def test_extras_are_told_by_their_names() -> None:
    """The table in docs/installing.md has every extra, and no other."""
    text = (ROOT / "docs/installing.md").read_text("utf-8")
    table = text[text.index("| extra | for |") :].partition("\n\n")[0]
    told = {
        name
        for row in table.splitlines()[2:]
        for name in re.findall(r"`([\w-]+)`", row.split("|")[1])
    }
    assert told == set(PROJECT["optional-dependencies"]) - {"dev"}
