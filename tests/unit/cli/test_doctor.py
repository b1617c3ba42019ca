"""What the doctor says of extras and, through NVIDIA's library or tool, of graphics cards."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from evalbench.engine.installed import install_command, pip_words
from evalbench.tui.cli import doctor
from evalbench.tui.cli.main import main

ROOT = Path(__file__).parents[3]


def _names(requirements: list[str]) -> set[str]:
    """The packages of requirements, without extras and ranges."""
    names = {re.split(r"[\[<>=;]", line, maxsplit=1)[0] for line in requirements}
    return names - {"evalbench-tui"}


def test_the_doctor_knows_what_every_extra_brings() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    core = _names(project["dependencies"])
    extras = project["optional-dependencies"]
    named = {name: _names(lines) - core for name, lines in extras.items() if name != "dev"}
    assert {name: set(packages) for name, packages in doctor._EXTRAS.items()} == {
        name: packages for name, packages in named.items() if packages
    }


def test_a_base_installation(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    extras = {package for packages in doctor._EXTRAS.values() for package in packages}

    def installed(name: str) -> str:
        if name in extras:
            raise PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(doctor, "version", installed)
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name in doctor._OF_PROVIDERS:
        (place,) = (n for n, line in enumerate(lines) if line.startswith(f"note {name}: not inst"))
        assert lines[place + 1] == f"     try: {install_command(name)}"
    (line,) = (line for line in lines if "extras that are not installed" in line)
    told = line.partition(": ")[2].split(", ")
    assert set(told) == set(doctor._EXTRAS) - set(doctor._OF_PROVIDERS)


def test_where_programs_of_models_would_run(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "note no sandbox for programs that models write" in out
    assert "try: install bubblewrap (apt install bubblewrap" in out
    for name in ("docker", "bwrap"):
        (tmp_path / name).touch(0o755)
    assert main(["doctor"]) == 0
    assert "ok   sandbox for programs that models write: bubblewrap" in capsys.readouterr().out


# -- cards, in a process of its own, since the library is found once by a process ---------------


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a stand-in for NVIDIA's library."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler, "a C compiler is needed"
    folder = tmp_path_factory.mktemp("nvml")
    source = ROOT / "tests" / "unit" / "engine" / "nvml.c"
    target = folder / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", target, source], check=True)
    return folder


@pytest.mark.compiler
@pytest.mark.skipif(sys.platform != "linux", reason="NVML is found so on Linux only")
@pytest.mark.parametrize(
    ("env", "told"),
    [
        ({"NVML_CARDS": "0"}, "ok   GPU: none found; local models run on the CPU"),
        (
            {"NVML_INIT": "9"},
            "note GPU: an NVIDIA driver is installed but not loaded; local models run on the CPU",
        ),
        (
            {"NVML_INIT": "999"},
            "note GPU: the NVIDIA driver does not answer: Unknown Error; local models run on the"
            " CPU",
        ),
        (
            {"NVML_MAJOR": "6"},
            "note GPU: Pretend 9000, 8.6 GB, compute capability 6.6, driver 590.44.01: too old"
            " for today's torch",
        ),
        (
            {"NVML_MAJOR": "7"},
            "ok   GPU: Pretend 9000, 8.6 GB, compute capability 7.6, driver 590.44.01; older"
            " card: float16 instead of bfloat16, no flash-attn",
        ),
    ],
)
def test_the_line_of_a_card(library: Path, home: Path, env: dict[str, str], told: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "evalbench.tui.cli.main", "doctor"],
        env={**os.environ, "LD_LIBRARY_PATH": str(library), **env},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert told in lines
    if told.startswith("note"):
        assert lines[lines.index(told) + 1].startswith("     try: ")


@pytest.mark.parametrize(
    ("script", "what", "hint"),
    [
        (
            "echo 'Pretend 9000, 8192 MiB'",
            "GPU: Pretend 9000, 8192 MiB",
            f"{shlex.join(pip_words('install'))} nvidia-ml",
        ),
        ("exit 9", "GPU: nvidia-smi does not answer", "check the driver"),
    ],
)
def test_without_the_python_library_the_tool_is_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, what: str, hint: str
) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setitem(sys.modules, "pynvml", None)
    ((mark, told, advice), *_) = doctor.gpu_findings()
    assert mark == "note"
    assert told.startswith(what)
    assert advice.startswith(hint)
