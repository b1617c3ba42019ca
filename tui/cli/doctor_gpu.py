"""The GPU checks of ``evalbench doctor``."""

from __future__ import annotations

import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from evalbench.engine.hardware.gpu import Gpus
from evalbench.engine.installed import pip_words
from evalbench.tui.state import figures

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
    told = [str(card["name"])]
    if card["total"]:
        told.append(figures.amount(card["total"], "B"))
    capability = card["capability"]
    if capability:
        told.append("compute capability {}.{}".format(*capability))
    if driver:
        told.append(f"driver {driver}")
    what = "GPU: " + ", ".join(told)
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
