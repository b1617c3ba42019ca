"""Bit-identical results on an NVIDIA card: the settings that torch needs for that.

Follows torch's notes on reproducibility (docs.pytorch.org, "Reproducibility"). cuBLAS reads its
setting, ``CUBLAS_WORKSPACE_CONFIG``, when CUDA starts: it is in the worker's environment.
"""

from __future__ import annotations

import os
from typing import Any

import torch

from evalbench.engine.errors import WorkerFailed

_SIGN = "does not have a deterministic implementation"


def make_deterministic(device: torch.device) -> dict[str, Any]:
    """Forbid nondeterministic operations in this process; call it before anything is loaded.

    Returns:
        What was set, for the record; empty for non-NVIDIA devices, which need nothing.
    """
    if device.type != "cuda":
        return {}
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.allow_tf32 = False
    torch.set_float32_matmul_precision("highest")
    return {
        "deterministic": {
            "algorithms": torch.are_deterministic_algorithms_enabled(),
            "cublas_workspace": os.environ.get("CUBLAS_WORKSPACE_CONFIG", ""),
            "cudnn_benchmark": torch.backends.cudnn.benchmark,
            "tf32": torch.backends.cuda.matmul.allow_tf32 or torch.backends.cudnn.allow_tf32,
        }
    }


def explain_nondeterminism(error: BaseException) -> None:
    """Explain that torch has no deterministic implementation of an operation.

    Raises:
        WorkerFailed: ``error`` means that.
    """
    if _SIGN in str(error):
        raise WorkerFailed(
            "this model cannot be run with --deterministic on this device",
            why=str(error).split(". ")[0],
            hint="--device cpu, or leave --deterministic out",
        ) from error
