"""Memory: what this process uses, what is free, and whether an error means it ran out."""

from __future__ import annotations

import bisect
import contextlib
import ctypes
import gc
import math
import mmap
import resource
import sys
from pathlib import Path
from typing import Any

import psutil
import torch
from torch import Tensor

_SIGNS = (
    "out of memory",
    "can't allocate memory",
    "not enough memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether ``error`` says that memory ran out.

    torch raises its own class for GPUs, but a plain RuntimeError with the allocator's message on a
    CPU.
    """
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in _SIGNS)


def readings(device: torch.device) -> dict[str, int]:
    """``used`` and ``peak`` of the model, ``total`` of its device, and this process's ``rss``."""
    rss = int(psutil.Process().memory_info().rss)
    if device.type == "cuda":
        return {
            "used": torch.cuda.memory_allocated(device),
            "reserved": torch.cuda.memory_reserved(device),
            "peak": torch.cuda.max_memory_allocated(device),
            "total": torch.cuda.mem_get_info(device)[1],
            "rss": rss,
        }
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "used": rss,
        # The system's peak lags a little behind.
        "peak": max(rss, peak if sys.platform == "darwin" else peak * 1024),
        "total": psutil.virtual_memory().total,
        "rss": rss,
    }


def limit_device(device: torch.device, limit: int) -> None:
    """Keep torch's allocator below ``limit`` bytes over all cards; does nothing elsewhere."""
    if device.type != "cuda":
        return
    count = torch.cuda.device_count()
    for card in range(count):
        total = torch.cuda.get_device_properties(card).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, limit / count / total), card)


def limit_process(limit: int) -> None:
    """Let this process grow to ``limit`` resident bytes, and fail allocations beyond that.

    The system limits only address space, much of which is never used, so the remaining room is
    added to what is in use now. Call it after the model is loaded and has run once.
    """
    memory = psutil.Process().memory_info()
    room = max(0, limit - int(memory.rss))
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    soft = int(memory.vms) + room
    if hard != resource.RLIM_INFINITY:
        soft = min(soft, hard)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def is_limited() -> bool:
    """Whether the system may refuse this process memory, instead of ending it."""
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def free_bytes(device: torch.device) -> int:
    """What can still be allocated for the model, given other processes and limits."""
    if device.type == "cuda":
        # Memory that torch holds but does not use is free for the model, though not for others.
        cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0] + cached)
    free = int(psutil.virtual_memory().available)
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        free = min(free, limit - int(psutil.Process().memory_info().vms))
    return max(0, min(free, _control_group_free(free)))


def _control_group_free(otherwise: int, root: Path = Path("/sys/fs/cgroup")) -> int:
    """Room below the container's limit; ``otherwise`` if there is none."""
    try:
        limit = (root / "memory.max").read_text().strip()
        if limit == "max":
            return otherwise
        return int(limit) - int((root / "memory.current").read_text())
    except (OSError, ValueError):
        return otherwise


def release(device: torch.device) -> None:
    """Give memory that is free in this process back, and start a new peak."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
    trim()
    # It does not exist everywhere; then the peak is an earlier one.
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def trim() -> None:
    """Give main memory that this process has freed back to the system, where the C library can."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


class FileMappings:
    """What of this process's memory was mapped from files when this was made.

    Weights are mapped from a model's files, whose pages then count as memory of this process.
    Where the system does not tell, nothing is.
    """

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        with contextlib.suppress(OSError):
            for line in Path("/proc/self/maps").read_text().splitlines():
                span, _, _, _, inode, *_ = line.split()
                if inode != "0":
                    begin, end = span.split("-")
                    self._starts.append(int(begin, 16))
                    self._ends.append(int(end, 16))

    def hold(self, tensor: Tensor) -> bool:
        """Whether a tensor is part of a file."""
        if tensor.device.type != "cpu":
            return False
        at = bisect.bisect_right(self._starts, tensor.data_ptr()) - 1
        return at >= 0 and tensor.data_ptr() + tensor.nbytes <= self._ends[at]

    def drop(self, tensor: Tensor) -> None:
        """Give back the pages of a tensor that is part of a file, see :func:`drop_pages`."""
        if self.hold(tensor):
            drop_pages(tensor)


def drop_pages(tensor: Tensor) -> None:
    """Give back the main memory of a tensor that was made by :func:`zeros` or mapped from a file.

    What it holds is undefined afterwards; in a file, it is the file's.
    """
    if tensor.device.type != "cpu":
        return
    page = mmap.PAGESIZE
    begin = -(-tensor.data_ptr() // page) * page
    end = (tensor.data_ptr() + tensor.nbytes) // page * page
    if begin < end:
        advise = ctypes.CDLL(None).madvise
        advise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), mmap.MADV_DONTNEED)


def zeros(shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Zeros for large buffers, of the number format and on the device of ``like``.

    In main memory only what was written to counts, and all of it goes back to the system as soon
    as the tensor is gone; what is freed between others, the C library would keep.

    Raises:
        RuntimeError, MemoryError: there is not enough memory.
    """
    if like.device.type != "cpu":
        return like.new_zeros(shape)
    size = like.dtype.itemsize * math.prod(shape)
    try:
        pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"{size} bytes for a buffer: {error}") from error
    return torch.frombuffer(pages, dtype=like.dtype).view(shape)


def bytes_per_token(config: Any, dtype: torch.dtype) -> tuple[int, int]:
    """Memory per token: ``(kept, passing)``.

    ``kept`` is its keys and values in all layers. ``passing`` is an upper bound on what a forward
    pass needs for it: hidden states, the widest layer, and a row of float32 logits twice.
    """
    size = dtype.itemsize
    # Models without attention have no heads; assuming one of full width is safe.
    heads = getattr(config, "num_attention_heads", None) or 1
    head_size = getattr(config, "head_dim", None) or config.hidden_size // heads
    kv_heads = getattr(config, "num_key_value_heads", None) or heads
    kept = 2 * config.num_hidden_layers * kv_heads * head_size * size
    widest = getattr(config, "intermediate_size", None) or 4 * config.hidden_size
    passing = size * (6 * config.hidden_size + 4 * heads * head_size + 3 * widest)
    return kept, passing + 8 * config.vocab_size
