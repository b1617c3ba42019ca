"""The repository keeps its own promises about layout and imports."""

from __future__ import annotations

import ast
import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
HEAVY = (
    "torch",
    "ray",
    "transformers",
    "datasets",
    "pandas",
    "pyarrow",
    "numpy",
    "scipy",
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
        "evalbench.tui.cli.compare",
        "evalbench.tui.state.compared",
        "evalbench.engine.process.launch",
        "evalbench.engine.process.main",
        "evalbench.engine.config.registry",
        "evalbench.engine.benchmarks.mmlu.benchmark",
        "evalbench.engine.benchmarks.quickstart",
        "evalbench.providers.local",
    ],
)
def test_import_is_light(module: str) -> None:
    assert not _loaded_by(f"import {module}") & set(HEAVY)


def test_an_engine_does_not_look_for_what_is_installed() -> None:
    # It is handed that by whoever starts it.
    assert "importlib.metadata" not in _loaded_by("import evalbench.engine.process.main")


def test_every_provider_and_benchmark_is_light_to_load() -> None:
    statement = (
        "from evalbench.engine.config import registry as r\n"
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
    assert found | {"evalbench"} == declared


def test_no_module_is_outside_a_package() -> None:
    for room in ("engine", "providers", "themes", "tui"):
        for module in (ROOT / room).rglob("*.py"):
            assert (module.parent / "__init__.py").exists(), module


def test_dependencies_are_bounded() -> None:
    project = _configured()["project"]
    assert isinstance(project, dict)
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    for requirement in (r for group in groups for r in group):
        bounded = "<" in requirement or "==" in requirement
        bounded = bounded or requirement.startswith(("evalbench-tui[", "pandas-stubs"))
        assert bounded, requirement


_PERMISSIVE = re.compile(
    r"\b(MIT|BSD|Apache|PSF|Python Software Foundation|ISC|Zlib|MPL|Mozilla|Unlicense)\b", re.I
)
_COPYLEFT = re.compile(r"GPL|General Public|Affero|EUPL|SSPL|CC-BY-(NC|SA)", re.I)


def _base_install() -> set[str]:
    """Every distribution that a plain install brings to this machine."""
    project = _configured()["project"]
    assert isinstance(project, dict)
    left = list(project["dependencies"])
    found: set[str] = set()
    while left:
        requirement = Requirement(left.pop())
        name = canonicalize_name(requirement.name)
        wanted = not requirement.marker or requirement.marker.evaluate({"extra": ""})
        if wanted and name not in found:
            found.add(name)
            left += importlib.metadata.requires(name) or []
    return found


def _licence(name: str) -> str:
    """What a distribution says of its licence, without the licence's text."""
    told = importlib.metadata.metadata(name)
    lines = [told["License-Expression"], (told["License"] or "").split("\n")[0]]
    lines += [c for c in told.get_all("Classifier") or [] if c.startswith("License ::")]
    return "; ".join(line for line in lines if line)


def test_the_base_install_is_under_permissive_licences() -> None:
    licences = {name: _licence(name) for name in _base_install()}
    assert len(licences) > 30
    bad = {
        name: told
        for name, told in licences.items()
        if _COPYLEFT.search(told) or not _PERMISSIVE.search(told)
    }
    assert bad == {}


def test_the_engine_lists_no_provider() -> None:
    # What belongs to one is declared by its class. Formats of others have names of their own, and
    # so have lm-eval's metrics, such as perplexity.
    points = _configured()["project"]["entry-points"]["evalbench.providers"]  # type: ignore[index]
    names = set(points) - {"answers", "local"}
    found = [
        f"{module.relative_to(ROOT)}:{node.lineno}: {node.value!r}"
        for module in (ROOT / "engine").rglob("*.py")
        if not {"formats", "lm_eval"} & set(module.parts)
        for node in ast.walk(ast.parse(module.read_text("utf-8")))
        if isinstance(node, ast.Constant) and node.value in names
    ]
    assert found == []


_READ_AS_MARKUP = ("Button", "Checkbox", "Label", "RadioButton", "Static", "notify")
_NEVER_MARKUP = ("Content", "Text", "plain")


def _shows_markup(call: ast.Call) -> bool:
    """Whether a widget or toast is given text that is not written there, and may read it."""
    if _name(call.func) not in _READ_AS_MARKUP:
        return False
    off = [keyword for keyword in call.keywords if keyword.arg == "markup"]
    if off and isinstance(off[0].value, ast.Constant) and off[0].value.value is False:
        return False
    shown = [*call.args, *(k.value for k in call.keywords if k.arg in ("content", "title"))]
    return any(
        not isinstance(text, ast.Constant)
        and not (isinstance(text, ast.Call) and _name(text.func) in _NEVER_MARKUP)
        for text in shown
    )


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def test_no_screen_reads_text_from_outside_as_markup() -> None:
    found = [
        f"{module.relative_to(ROOT)}:{node.lineno}"
        for folder in ("screens", "widgets", ".")
        for module in (ROOT / "tui" / folder).glob("*.py")
        for node in ast.walk(ast.parse(module.read_text("utf-8")))
        if isinstance(node, ast.Call) and _shows_markup(node)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("written", "bad"),
    [
        ('Static("fixed")', False),
        ("Static(words)", True),
        ("Static(words, markup=False)", False),
        ("Static(words, markup=True)", True),
        ('Label(f"{count} runs")', True),
        ("Label(plain(words))", False),
        ("self.notify(str(error))", True),
        ("self.notify(str(error), markup=False)", False),
        ('app.notify("done", title=name)', True),
        ("Plain(words)", False),
    ],
)
def test_the_look_for_markup_finds_it(written: str, bad: bool) -> None:
    call = ast.parse(written, mode="eval").body
    assert isinstance(call, ast.Call)
    assert _shows_markup(call) is bad


def test_what_is_slow_is_left_out_wherever_tests_are_told_to_run() -> None:
    for page in ("Makefile", "README.md"):
        assert "-m 'not slow'" in (ROOT / page).read_text()
    assert "-m slow" in (ROOT / "Makefile").read_text()
