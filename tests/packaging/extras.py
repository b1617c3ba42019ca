"""Does each extra alone install, and does evalbench work with no more than that?

    make packages                                       every extra, with this Python
    python tests/packaging/extras.py openai local       these ("base": none at all)
    python tests/packaging/extras.py --python python3.13 base providers

Builds the wheel and makes a fresh environment for each extra, one after the other,
so it takes minutes and a few gigabytes of a temporary folder. uv is used where it
is installed, which is several times quicker than pip.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.packaging.tree import ROOT, copy_sources

LEFT_OUT = ("dev", "flash")
"""For developers of evalbench; builds for minutes and needs nvcc."""

PROVIDERS = ("anthropic", "openai", "bedrock", "together", "google")

_LIGHT = """
import sys
from evalbench.tui.cli.main import main
code = main(sys.argv[1:])
heavy = {"torch", "ray", "transformers", "pandas", "datasets", "textual"} & set(sys.modules)
sys.exit(f"loaded {heavy}" if heavy else code)
"""
_LOOKS = (
    ["--version"],
    ["benchmarks"],
    ["keys", "list", "--all"],
    ["run", "mmlu", "--model", "local/smollm2-135m-instruct", "--help"],
    ["completion", "bash"],
    ["runs"],
    ["doctor"],
)


class Failed(Exception):
    """A step that did not end well."""


def main(words: Sequence[str]) -> int:
    """Try the extras; 1 when one of them fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("extras", nargs="*")
    parser.add_argument("--python", default=sys.executable)
    args = parser.parse_args(words)
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    every = ["base", *(name for name in known["optional-dependencies"] if name not in LEFT_OUT)]
    failed = []
    with tempfile.TemporaryDirectory(prefix="evalbench-extras-") as scratch:
        wheel = _build(Path(scratch))
        for extra in args.extras or every:
            began = time.monotonic()
            folder = Path(scratch) / extra
            try:
                told = _try(extra, wheel, folder, args.python)
            except Failed as error:
                failed.append(extra)
                told = f"FAILED {error}"
            seconds = time.monotonic() - began
            size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
            print(f"{extra:<12}{seconds:>6.0f} s {size / 1e6:>7,.0f} MB  {told}", flush=True)  # noqa: T201
            shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


def _build(scratch: Path) -> Path:
    source = copy_sources(scratch / "source")
    target = scratch / "dist"
    _do([sys.executable, "-m", "build", "--wheel", "--outdir", str(target), str(source)])
    (wheel,) = target.glob("*.whl")
    return wheel


def _try(extra: str, wheel: Path, folder: Path, python: str) -> str:
    """Install and look; what was found."""
    wanted = str(wheel) if extra == "base" else f"{wheel}[{extra}]"
    inside = folder / "bin" / "python"
    if uv := shutil.which("uv"):
        _do([uv, "venv", "--quiet", "--python", python, str(folder)])
        _do([uv, "pip", "install", "--quiet", "--python", str(inside), wanted])
        _do([uv, "pip", "check", "--quiet", "--python", str(inside)])
    else:
        _do([python, "-m", "venv", str(folder)])
        _do([str(inside), "-m", "pip", "install", "--quiet", wanted])
        _do([str(inside), "-m", "pip", "check"])
    env = {"PATH": os.environ["PATH"], "EVALBENCH_HOME": str(folder / "home"), "HOME": str(folder)}
    said = ""
    for look in _LOOKS:
        said = _do([str(inside), "-c", _LIGHT, *look], env=env)
    if "ready to run" not in said:
        raise Failed(f"the doctor finds: {said}")
    for name in (extra,) if extra in PROVIDERS else PROVIDERS if extra == "providers" else ():
        if not any(line.startswith(f"ok   {name}: installed") for line in said.splitlines()):
            raise Failed(f"the doctor misses a package of {name}: {said}")
    packages = sum(1 for _ in folder.glob("lib/python*/site-packages/*.dist-info"))
    return f"ok, {packages} packages"


def _do(words: Sequence[str], env: dict[str, str] | None = None) -> str:
    done = subprocess.run(words, capture_output=True, text=True, env=env)
    if done.returncode:
        raise Failed(f"{' '.join(words)[:200]}\n{done.stdout[-1500:]}{done.stderr[-1500:]}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
