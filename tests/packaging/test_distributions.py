"""Wheel and source distribution: built as for a release, and complete."""

from __future__ import annotations

import configparser
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import Any

import pytest

from tests.packaging.tree import ROOT, copy_sources, sources

pytestmark = pytest.mark.slow

ROOMS = ("engine", "providers", "themes", "tui")
FRONT = ("evalbench", "evalbench_tui.py")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both distributions; the wheel is built from the source distribution, as pip would."""
    source = copy_sources(tmp_path_factory.mktemp("source"))
    target = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--outdir", str(target), str(source)],
        check=True,
        capture_output=True,
        timeout=280,
    )
    return target


@pytest.fixture(scope="module")
def wheel(built: Path) -> zipfile.ZipFile:
    (file,) = built.glob("*.whl")
    return zipfile.ZipFile(file)


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return found


def _in_wheel() -> set[str]:
    rooms = {f"evalbench/{path}" for path in sources() if path.parts[0] in ROOMS}
    return rooms | {str(path) for path in sources() if path.parts[0] in FRONT}


def test_the_wheel_holds_every_file_of_the_rooms_and_no_other(wheel: zipfile.ZipFile) -> None:
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert held == _in_wheel()
    assert wheel.testzip() is None


def test_the_source_distribution_holds_what_the_wheel_is_built_from(built: Path) -> None:
    (file,) = built.glob("*.tar.gz")
    with tarfile.open(file) as archive:
        top, *_ = archive.getnames()
        names = {name.removeprefix(f"{top}/") for name in archive.getnames()}
    assert names >= {str(path) for path in sources()}
    assert not {name.split("/")[0] for name in names} & {"tests", "bench", "docs", ".ci", "build"}


def _metadata(wheel: zipfile.ZipFile) -> Message:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return Parser().parsestr(wheel.read(name).decode())


def test_the_metadata_is_whole(wheel: zipfile.ZipFile, project: dict[str, Any]) -> None:
    told = _metadata(wheel)
    assert (told["Name"], told["Version"]) == (project["name"], project["version"])
    assert told["Summary"] == project["description"]
    assert (told["License-Expression"], told["License-File"]) == ("MIT", "LICENSE")
    assert told["Requires-Python"] == ">=3.11"
    assert told["Description-Content-Type"] == "text/markdown"
    assert str(told.get_payload()).startswith("# evalbench\n")
    extras = set(told.get_all("Provides-Extra", []))
    assert extras == set(project["optional-dependencies"])
    required = told.get_all("Requires-Dist", [])
    for name, needs in project["optional-dependencies"].items():
        marked = [line for line in required if f"extra == '{name}'" in line.replace('"', "'")]
        assert len(marked) == len(needs), name


def test_every_entry_point_is_in_the_wheel(wheel: zipfile.ZipFile, project: dict[str, Any]) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith("/entry_points.txt"))
    told = configparser.ConfigParser()
    told.read_string(wheel.read(name).decode())
    assert dict(told["console_scripts"]) == project["scripts"]
    held = set(wheel.namelist())
    for group, points in project["entry-points"].items():
        assert dict(told[group]) == points
        for target in points.values():
            path = target.partition(":")[0].replace(".", "/")
            assert f"{path}.py" in held or f"{path}/__init__.py" in held


def test_the_container_runs_as_nobody_special() -> None:
    lines = (ROOT / "Dockerfile").read_text("utf-8").splitlines()
    last = max(number for number, line in enumerate(lines) if line.startswith("FROM "))
    final = lines[last:]
    users = [line.split()[1] for line in final if line.startswith("USER ")]
    assert users
    assert "root" not in users
    assert "VOLUME /data" in final
    assert "ENV EVALBENCH_HOME=/data" in final
    assert "ENV HF_HOME=/data/huggingface" in final
