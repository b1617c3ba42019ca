"""``evalbench doctor``: can this installation run benchmarks?"""

from __future__ import annotations

import argparse
import platform
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal, NamedTuple

from evalbench.engine import installed
from evalbench.engine.calls import BaseProvider, KeyNeed
from evalbench.engine.config import registry
from evalbench.engine.config.roles import environment_address
from evalbench.engine.errors import SpecError
from evalbench.engine.hardware.gpu import Gpus
from evalbench.engine.installed import pip_words
from evalbench.engine.journal.schema import on_network_disk
from evalbench.engine.keys import KeychainState, KeyRef, list_keys, probe
from evalbench.engine.paths import cache_dir, config_dir, runs_dir
from evalbench.engine.process.launch import logout_warning
from evalbench.engine.sandbox import INSTALL, installed_sandboxes
from evalbench.engine.terminal_text import one_line
from evalbench.tui.cli.output import stdout
from evalbench.tui.cli.parser import Parser
from evalbench.tui.state import figures

_LEAST_FREE = 2_000_000_000

_EXTRAS = {
    "lm-eval": ("lm-eval",),
    "data": ("datasets", "pandas", "pyarrow"),
    "scorers": (
        *("antlr4-python3-runtime", "jsonschema", "langdetect", "math-verify", "nltk"),
        *("openpyxl", "rapidfuzz", "rouge-score", "sacrebleu"),
    ),
    "stats": ("numpy", "scipy"),
    "anthropic": ("anthropic",),
    "openai": ("openai",),
    "bedrock": ("boto3",),
    "google": ("google-genai",),
    "together": ("together",),
    "local": (
        *("torch", "transformers", "safetensors", "gguf", "accelerate"),
        *("nvidia-ml-py", "psutil"),
    ),
    "gpu": ("bitsandbytes",),
    "cluster": ("ray",),
    "vision": ("av", "pillow"),
    "report": ("matplotlib",),
    "images": ("textual-image",),
    "otlp": ("opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"),
    "web": ("textual-serve",),
    "flash": ("flash-attn",),
}
_OF_PROVIDERS = ("anthropic", "openai", "bedrock", "google", "together")
"""Reported with the providers that need them."""


class Check(NamedTuple):
    """One check result. ``bad`` means that something essential is broken."""

    mark: Literal["ok", "note", "bad"]
    what: str
    hint: str = ""


def declare(parser: Parser, words: Sequence[str]) -> None:
    """No arguments."""
    parser.epilog = "exits with 1 if something essential is broken"


def execute(args: argparse.Namespace) -> int:
    """Print all checks."""
    out = stdout()
    checks = [*_system(), *_places(), *_plugins(), *_providers(), *_extras()]
    checks += [_sandbox(), _keychain()]
    checks += [Check(*finding) for finding in gpu_findings()]
    for check in checks:
        out.paragraph(f"{check.mark:<5}{one_line(check.what)}", 5)
        # Commands are left to the terminal to wrap: so they can be pasted.
        if check.hint:
            out.line(f"     try: {check.hint}")
    bad = sum(check.mark == "bad" for check in checks)
    out.line()
    broken = "1 essential thing is" if bad == 1 else f"{bad} essential things are"
    out.line(f"{broken} broken" if bad else "ready to run")
    return 1 if bad else 0


def _system() -> Iterator[Check]:
    yield Check("ok", f"evalbench {installed.version()}")
    yield Check("ok", f"Python {platform.python_version()} at {sys.executable}")
    wsl = ", inside WSL" if "microsoft" in platform.release().lower() else ""
    yield Check("ok", f"{platform.platform()}{wsl}")
    yield Check("ok", f"SQLite {sqlite3.sqlite_version}")
    if warning := logout_warning():
        what, _, hint = warning.partition("; allow it to stay with: ")
        yield Check("note", what, hint)


def _places() -> Iterator[Check]:
    for name, folder in (("runs", runs_dir()), ("cache", cache_dir()), ("config", config_dir())):
        place = _existing(folder)
        free = shutil.disk_usage(place).free
        about = f"{name}: {folder}, {figures.amount(free, 'B')} free"
        problem = _unwritable(place)
        if problem:
            yield Check("bad", f"{about}: {problem}", "set EVALBENCH_HOME to a writable folder")
        elif free < _LEAST_FREE and name != "config":
            yield Check("note", about, "free some space: weights and journals grow")
        else:
            yield Check("ok", about)
    if kind := on_network_disk(runs_dir()):
        yield Check(
            "note",
            f"runs are on a network file system ({kind}): journals are slower there",
            "set EVALBENCH_HOME or --run-dir to a local disk",
        )


def _existing(folder: Path) -> Path:
    return next(place for place in (folder, *folder.parents) if place.exists())


def _unwritable(place: Path) -> str:
    try:
        with tempfile.TemporaryFile(dir=place):
            return ""
    except OSError as error:
        return error.strerror or str(error)


def _plugins() -> Iterator[Check]:
    for what, names, load in (
        ("benchmarks", registry.benchmark_names(), registry.benchmark_class),
        ("providers", registry.provider_names(), registry.provider_class),
    ):
        working = []
        for name in names:
            try:
                load(name)
                working.append(name)
            except SpecError as error:
                yield Check("note", error.summary, error.hint)
        if working:
            yield Check("ok", f"{what}: {', '.join(working)}")
        else:
            yield Check("bad", f"no {what} can be loaded", "reinstall evalbench")


def _providers() -> Iterator[Check]:
    """What each provider needs besides the network: its package and its key."""
    refs = list_keys()
    for name in registry.provider_names():
        try:
            cls = registry.provider_class(name)
        except SpecError:
            continue  # reported above
        need = cls.key
        keys = [ref for ref in refs if ref.provider == name]
        notes = [_key_words(name, need, keys)] if need else []
        if found := environment_address(name):
            notes.append("asked at {1} ({0})".format(*found))
        missing = [package for package in _EXTRAS.get(_extra(cls), ()) if not _version(package)]
        if missing:
            notes.insert(0, f"not installed: {', '.join(missing)}")
            yield Check(
                "note", f"{name}: {'; '.join(notes)}", installed.install_command(_extra(cls))
            )
        else:
            yield Check("ok", f"{name}: {'; '.join(['installed', *notes])}")


def _extra(cls: type[BaseProvider]) -> str:
    return cls.extra


def _key_words(name: str, need: KeyNeed, refs: list[KeyRef]) -> str:
    if refs:
        return ", ".join(
            f"key in {ref.variable}" if ref.variable else f"key {ref.name!r} in the keychain"
            for ref in refs
        )
    if need.profile:
        return f"no key here; a profile, login or role of this machine serves too ({need.profile})"
    if need.required:
        return f"no key: evalbench keys set {name}" + "".join(f", or {v}" for v in need.variables)
    return "no key, and few servers ask for one"


def _keychain() -> Check:
    """Whether the keychain responds, within the timeout of an unattended run."""
    answer = probe()
    backend = f" ({answer.backend})" if answer.backend else ""
    if answer.state in (KeychainState.ABSENT, KeychainState.FOUND):
        return Check("ok", f"keychain: answers{backend}")
    hint = "keys in environment variables still work; see docs/keychains.md"
    match answer.state:
        case KeychainState.NO_KEYCHAIN:
            what = "there is none here"
        case KeychainState.TIMED_OUT:
            what = f"no answer within {answer.limit_s:g} s: locked and waiting for you, or broken"
            hint = f"evalbench keys test PROVIDER waits for its dialog; {hint}"
        case state:
            what = f"{state.value}{backend}" + (f": {answer.why}" if answer.why else "")
    return Check("note", f"keychain: {what}", hint)


def _extras() -> Iterator[Check]:
    absent = []
    for extra, packages in _EXTRAS.items():
        if extra in _OF_PROVIDERS:
            continue
        found = {name: _version(name) for name in packages}
        missing = [name for name, installed in found.items() if not installed]
        if len(missing) == len(packages):
            absent.append(extra)
        elif missing:
            yield Check(
                "note",
                f"extra {extra}: without {', '.join(missing)}",
                installed.install_command(extra),
            )
        else:
            versions = ", ".join(f"{name} {installed}" for name, installed in found.items())
            yield Check("ok", f"extra {extra}: {versions}")
    if absent:
        yield Check(
            "note",
            f"extras that are not installed: {', '.join(absent)}",
            f"{installed.install_command(absent[0])}, if you need {absent[0]}, say",
        )


def _sandbox() -> Check:
    if found := installed_sandboxes():
        return Check("ok", f"sandbox for programs that models write: {found[0]}")
    return Check("note", "no sandbox for programs that models write (humaneval, mbpp)", INSTALL)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


# -- GPUs ---------------------------------------------------------------------

Finding = tuple[Literal["ok", "note", "bad"], str, str]
"""Mark, finding, hint, as in a check of the doctor."""

_PCI = Path("/sys/bus/pci/devices")
_NVIDIA = "0x10de"
_DISPLAY = "0x03"
_TIMEOUT_S = 10
_BF16_FROM = (8, 0)
_TORCH_FROM = (7, 5)
"""Current torch builds contain no code for older cards."""


def gpu_findings() -> Iterator[Finding]:
    """One result per card, or why there is none."""
    if sys.platform == "darwin" and platform.machine() == "arm64":
        yield "ok", "GPU: Apple silicon", ""
        return
    gpus = Gpus()
    cards = gpus.read()
    if not cards:
        yield _none(gpus.trouble)
        return
    for card in cards:
        yield _card(card, gpus.driver)
    if torch := _torch_for_cpus():
        yield (
            "note",
            f"torch {torch} is a build for CPUs: local models do not use the GPU",
            "install a build of torch for CUDA",
        )


def _card(card: Mapping[str, Any], driver: str) -> Finding:
    parts = [str(card["name"])]
    if card["total"]:
        parts.append(figures.amount(card["total"], "B"))
    capability = card["capability"]
    if capability:
        parts.append("compute capability {}.{}".format(*capability))
    if driver:
        parts.append(f"driver {driver}")
    what = "GPU: " + ", ".join(parts)
    if capability and tuple(capability) < _TORCH_FROM:
        hint = "use --device cpu, or a server such as llama.cpp (docs/local-models.md)"
        return "note", f"{what}: too old for today's torch", hint
    if capability and tuple(capability) < _BF16_FROM:
        return "ok", f"{what}; older card: float16 instead of bfloat16, no flash-attn", ""
    return "ok", what, ""


def _none(trouble: str) -> Finding:
    cpu = "local models run on the CPU"
    if "not installed" in trouble and shutil.which("nvidia-smi"):
        return _by_tool()
    if "no NVIDIA driver" in trouble and _card_in_sight():
        hint = "install NVIDIA's driver, or leave it: everything works without, more slowly"
        return "note", f"GPU: there is an NVIDIA card, but no driver; {cpu}", hint
    if "not loaded" in trouble or "does not answer" in trouble:
        hint = "restart the machine or reinstall the driver; nvidia-smi shows details"
        return "note", f"GPU: {trouble}; {cpu}", hint
    return "ok", f"GPU: none found; {cpu}", ""


def _by_tool() -> Finding:
    """Cards according to NVIDIA's own tool, if the package that reads them is missing."""
    query = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader"]
    hint = f"{shlex.join([*pip_words('install'), 'nvidia-ml-py'])}, to see their memory and load"
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=_TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        return "note", f"GPU: nvidia-smi does not answer: {error}", "check the driver"
    return "note", "GPU: " + "; ".join(done.stdout.strip().splitlines()), hint


def _card_in_sight(devices: Path = _PCI) -> bool:
    """Whether an NVIDIA card is installed, with or without a driver."""
    for device in devices.glob("*"):
        try:
            vendor = (device / "vendor").read_text().strip()
            kind = (device / "class").read_text().strip()
        except OSError:
            continue
        if vendor == _NVIDIA and kind.startswith(_DISPLAY):
            return True
    return False


def _torch_for_cpus() -> str:
    """The version of torch if it cannot use cards; empty if it can, or is not installed."""
    try:
        found = version("torch")
    except PackageNotFoundError:
        return ""
    return found if found.endswith("+cpu") else ""
