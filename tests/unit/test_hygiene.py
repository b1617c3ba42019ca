"""The repository keeps its own promises about layout and imports."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = (
    "torch",
    "transformers",
    "datasets",
    "pandas",
    "pyarrow",
    "numpy",
    "textual",
    "anthropic",
    "openai",
    "boto3",
    "together",
    "google.genai",
    "aiohttp",
    "keyring",
)


def _loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys; print('\\n'.join(sys.modules))"
    # Measuring coverage loads modules of its own.
    env = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    return set(run.stdout.split())


def _configured() -> dict[str, object]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


@pytest.mark.parametrize(
    "module",
    [
        "evalbench.tui.cli.main",
        "evalbench.engine.process",
        "evalbench.engine.host",
        "evalbench.engine.registry",
        "evalbench.engine.benchmarks.mmlu",
        "evalbench.engine.benchmarks.quickstart",
        "evalbench.providers.local",
    ],
)
def test_import_is_light(module: str) -> None:
    assert not _loaded_by(f"import {module}") & set(HEAVY)


def test_every_provider_and_benchmark_is_light_to_load() -> None:
    statement = (
        "from evalbench.engine import registry as r\n"
        "for n in r.provider_names(): r.provider_class(n)\n"
        "for n in r.benchmark_names(): r.benchmark_class(n)"
    )
    assert not _loaded_by(statement) & set(HEAVY)


def test_the_command_line_starts_without_the_engine() -> None:
    loaded = _loaded_by("import evalbench.tui.cli.main")
    assert not loaded & {"rich", "orjson", "zstandard", "sqlite3", "asyncio"}


def test_every_package_is_declared() -> None:
    declared = set(_configured()["tool"]["setuptools"]["packages"])  # type: ignore[index]
    found = {
        "evalbench." + ".".join(init.parent.relative_to(ROOT).parts)
        for room in ("engine", "providers", "themes", "tui")
        for init in (ROOT / room).rglob("__init__.py")
    }
    assert found == declared


def test_no_module_is_outside_a_package() -> None:
    for room in ("engine", "providers", "themes", "tui"):
        for module in (ROOT / room).rglob("*.py"):
            assert (module.parent / "__init__.py").exists(), module


def test_dependencies_are_bounded() -> None:
    project = _configured()["project"]
    assert isinstance(project, dict)
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    for requirement in (r for group in groups for r in group):
        bounded = "<" in requirement or requirement.startswith(("evalbench[", "pandas-stubs"))
        assert bounded, requirement
