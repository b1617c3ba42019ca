"""Placing a model's layers on devices, and the format of their weights there."""

from __future__ import annotations

import logging
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import transformers

from evalbench.engine.errors import ProviderError, WorkerFailed
from evalbench.engine.installed import install_command
from evalbench.providers.local.catalogue import FolderModel
from evalbench.providers.local.memory import free_bytes
from evalbench.providers.local.shapes import footprint

_SHARE = 0.8
"""A model whose weights take more than this fraction of one card is spread over all of them."""


def placement(folder: Path, device: torch.device, form: str) -> dict[str, Any]:
    """The ``from_pretrained`` arguments that place a model on devices.

    Args:
        folder: the model's files.
        device: where it runs.
        form: its number format, ``8bit`` or ``4bit``.
    """
    if device.type == "cpu":
        return {}
    if device.type == "cuda" and torch.cuda.device_count() > 1:
        try:
            weights = footprint(FolderModel(folder)).weights(form)
        except ProviderError:
            weights = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
        if weights > _SHARE * free_bytes(device):
            return {"device_map": "auto"}
    return {"device_map": {"": device}}


def quantization(quantize: str, products: torch.dtype) -> dict[str, Any]:
    """The ``from_pretrained`` arguments that quantise the linear layers.

    Args:
        quantize: ``none``, ``4bit`` or ``8bit``.
        products: number format in which 4-bit layers multiply.

    Raises:
        WorkerFailed: bitsandbytes is not installed.
    """
    if quantize == "none":
        return {}
    if find_spec("bitsandbytes") is None:
        raise WorkerFailed(
            f"--quantize {quantize} needs a package that is not installed",
            why="bitsandbytes holds the quantised layers",
            hint=install_command("gpu"),
        )
    if quantize == "8bit":
        # It warns about every pass through every layer.
        logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
        config = transformers.BitsAndBytesConfig(load_in_8bit=True)
    else:
        config = transformers.BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_use_double_quant=True,
            bnb_4bit_compute_dtype=products,
        )
    return {"quantization_config": config}


def devices_of(network: Any, device: torch.device) -> list[torch.device]:
    """The devices that hold parts of a model, starting with the one that takes its input."""
    parts = getattr(network, "hf_device_map", None) or {}
    found = [
        torch.device("cuda", one) if isinstance(one, int) else torch.device(one)
        for one in parts.values()
    ]
    return list(dict.fromkeys(found)) or [device]
