"""A final check before weights are read: do they fit in memory?

On Linux a process that uses too much main memory gets no error; it is killed.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from evalbench.engine.calls.options import values_of
from evalbench.engine.errors import ProviderError, WorkerFailed
from evalbench.engine.hardware.devices import DeviceMemory
from evalbench.engine.hardware.fit import Loading, Work, fit, flag
from evalbench.providers.local import loading, memory
from evalbench.providers.local.catalogue import FolderModel
from evalbench.providers.local.options import LocalOptions
from evalbench.providers.local.shapes import footprint

_SHORTEST = 64
"""Tokens of prompt and answer that every model should have room for."""


def check_memory(folder: Path, settings: LocalOptions) -> None:
    """Refuse weights that do not fit in memory, before they are read.

    Raises:
        WorkerFailed: with the figures and what would help.
    """
    try:
        size = footprint(FolderModel(folder))
    except ProviderError:
        return
    device = loading.choose_device(settings.device)
    chosen = str(loading.choose_dtype(settings.dtype, device)).removeprefix("torch.")
    available = DeviceMemory(device.type, device.type, memory.free_bytes(device), 0)
    options = values_of(replace(settings, dtype=chosen))
    found = fit(size, available, Loading.chosen(options, available), Work(_SHORTEST, 1))
    form, need = next(iter(found.least.items()))
    if need <= found.free:
        return
    smaller = [flag(name) for name, bytes_ in found.least.items() if bytes_ <= found.free]
    raise WorkerFailed(
        "the model does not fit into memory",
        why=f"in {form} it takes at least {need / 1e9:.1f} GB; {found.free / 1e9:.1f} GB "
        + ("are allowed by --memory-limit" if settings.memory_limit else "are free"),
        hint=" or ".join(smaller) or "choose a smaller model",
    )
