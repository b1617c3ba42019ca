"""The servers that a local model can run in instead of transformers: which, and with what options.

A server is started by the run's worker and ends with it, see
:mod:`evalbench.providers.local.server_worker`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from evalbench.engine.calls import Capabilities
from evalbench.engine.calls.footprint import AS_IN_FILE, Footprint
from evalbench.engine.errors import SpecError
from evalbench.engine.hardware.devices import DeviceMemory, cards_to_use
from evalbench.engine.hardware.fit import parse_bytes
from evalbench.engine.inference_servers import ServerProgram
from evalbench.providers.compatible.programs import LLAMA_CPP, PROGRAMS, SGLANG, VLLM
from evalbench.providers.local.catalogue import HubModel, KnownModel, Source
from evalbench.providers.local.chat import ChatTemplate
from evalbench.providers.local.options import TRANSFORMERS, LocalOptions

PROCESSES = {"vllm": 2_000_000_000, "sglang": 2_000_000_000}
"""Resident memory of a server on a CPU without its model: vLLM's three processes were seen to take
this much after compiling; SGLang has as many."""

_SLOTS = {"cpu": 8}
_SLOTS_GPU = 256
_TOKENS_A_SLOT = 2048
_SHARE = 0.9
"""Of free memory: the rest is for what is not foreseen."""
_ONE_CARD = 0.7
"""Weights beyond this share of one card leave too little for keys and values."""


def is_gguf(source: Source) -> bool:
    """Whether a model is a GGUF file, or has one in its package."""
    if isinstance(source, KnownModel):
        return source.packaged is not None
    return bool(source.gguf)


def choose(settings: LocalOptions, source: Source) -> ServerProgram | None:
    """The server for a model; None for transformers.

    ``auto`` takes llama.cpp for a GGUF file, and vLLM or else SGLang on NVIDIA GPUs, where they
    are installed and nothing is set that they do not do; transformers for the rest.
    """
    wanted = settings.backend
    if wanted != "auto":
        return PROGRAMS.get(wanted)
    named_gguf = is_gguf(source) and not isinstance(source, KnownModel)
    if named_gguf and LLAMA_CPP.installed() and not _refused(settings, LLAMA_CPP):
        return LLAMA_CPP
    if not cards_to_use(settings.device):
        return None
    able = (kind for kind in (VLLM, SGLANG) if kind.installed() and not _refused(settings, kind))
    return next(able, None)


def check(settings: LocalOptions, source: Source, model: str) -> None:
    """Reject what the server that is asked for cannot do.

    Raises:
        SpecError: with a hint.
    """
    kind = choose(settings, source)
    if kind is None:
        return
    if not kind.installed():
        what, why = kind.absence
        raise SpecError("backend", what, why=why, hint=kind.install)
    if kind is LLAMA_CPP and not is_gguf(source) and not isinstance(source, HubModel):
        raise SpecError(
            "backend",
            f"llama.cpp reads GGUF files, and {model} is none",
            hint="name a .gguf file or org/name-GGUF:Q4_K_M, or use --backend vllm",
        )
    if found := _refused(settings, kind):
        name, why = found
        raise SpecError(
            name,
            f"--{name.replace('_', '-')} cannot be used with --backend {kind.name}",
            why=why,
            hint=f"leave it out, or use --backend {TRANSFORMERS}",
        )


def _refused(settings: LocalOptions, kind: ServerProgram) -> tuple[str, str] | None:
    """A setting that a server does not follow, and why."""
    if settings.deterministic:
        return "deterministic", "a server computes calls together"
    if settings.quantize != "none":
        return "quantize", "it takes the weights as they are in the files"
    if kind is LLAMA_CPP and settings.dtype != "auto":
        return "dtype", "a GGUF file has its own number format"
    if kind is not LLAMA_CPP and settings.device == "mps":
        return "device", f"{kind.title} does not run on Apple's GPUs"
    return None


def capabilities(kind: ServerProgram) -> Capabilities:
    """What models in a server support."""
    if kind is VLLM:
        return Capabilities(choose=True, reason="the server that evalbench starts gets text only")
    return Capabilities(
        choose=False,
        reason=f"{kind.title}'s server gives no likelihoods of given texts: use vLLM or "
        "transformers, or let the model write its answer",
    )


def number_format(settings: LocalOptions, kind: ServerProgram, memory: DeviceMemory) -> str:
    """The number format of the weights: that of the file in llama.cpp, else 16 bits if not set."""
    if kind is LLAMA_CPP:
        return AS_IN_FILE
    asked = settings.dtype
    return asked if asked != "auto" else "bfloat16" if memory.bf16 else "float16"


def slots(settings: LocalOptions, memory: DeviceMemory, smaller: int = 0) -> int:
    """How many answers a server writes at the same time; ``smaller`` halves it so often."""
    most = settings.slots or _SLOTS.get(memory.device, _SLOTS_GPU)
    return max(1, most >> smaller)


def context_tokens(
    size: Footprint, form: str, memory: DeviceMemory, limit: int | None, many: int
) -> int:
    """Tokens of all answers together that a server in main memory gets room for.

    At least one whole context if it fits, at most what ``many`` answers of usual length need.
    """
    free = min(memory.free, limit if limit is not None else memory.free) * _SHARE
    room = int((free - size.weights(form)) // _bytes_kept(size, form))
    wanted = max(size.context_tokens, many * _TOKENS_A_SLOT)
    return max(min(_TOKENS_A_SLOT, size.context_tokens), min(wanted, room))


def _bytes_kept(size: Footprint, form: str) -> int:
    """Bytes of one token's keys and values; llama.cpp keeps them in 16 bits."""
    return size.kept * (4 if form == "float32" else 2)


def cards_needed(size: Footprint, form: str, memory: DeviceMemory) -> int:
    """Over how many GPUs the layers' products are split: as few as hold the weights."""
    if memory.device != "cuda":
        return 1
    one = memory.total / memory.cards * _ONE_CARD
    count = 1
    while count * 2 <= memory.cards and size.weights(form) > count * one:
        count *= 2
    return count


def options(
    kind: ServerProgram,
    settings: LocalOptions,
    size: Footprint,
    memory: DeviceMemory,
    *,
    many: int,
    threads: int,
    chat: ChatTemplate,
    scratch: Path,
) -> tuple[list[str], dict[str, str]]:
    """A server's command-line options and environment variables.

    Args:
        kind: the server.
        settings: the provider's options.
        size: the model's footprint.
        memory: the device.
        many: answers at the same time.
        threads: CPU threads.
        chat: the template of chat turns.
        scratch: private folder for files that it reads.
    """
    limit = parse_bytes(settings.memory_limit)
    batch, shared = settings.max_batch_tokens, settings.prefix_cache
    words: list[str] = []
    env: dict[str, str] = {}
    template = ""
    if chat.origin != "own":
        file = scratch / "template.jinja"
        file.write_text(chat.text)
        template = str(file)
    if kind is LLAMA_CPP:
        tokens = context_tokens(size, AS_IN_FILE, memory, limit, many)
        words = ["-c", str(tokens), "-np", str(many), "-kvu", "--metrics"]
        words += ["-b", str(batch)] if batch else []
        words += ["-t", str(threads)] if threads else []
        words += ["-ngl", "0"] if settings.device == "cpu" else []
        words += [] if shared else ["--no-cache-prompt"]
        words += ["--chat-template-file", template] if template else []
        return words, env
    form = number_format(settings, kind, memory)
    cards = str(cards_needed(size, form, memory))
    part = _part_of_memory(memory, limit)
    if kind is VLLM:
        # Neutral sampling, whatever the model's own files suggest.
        words = ["--dtype", form, "--max-num-seqs", str(many), "--generation-config", "vllm"]
        words += ["--max-model-len", "auto", "--tensor-parallel-size", cards]
        words += ["--max-num-batched-tokens", str(batch)] if batch else []
        words += ["--enable-prefix-caching" if shared else "--no-enable-prefix-caching"]
        words += ["--chat-template", template] if template else []
        # A line for each call would fill the worker's log.
        words += ["--disable-uvicorn-access-log"]
        if memory.device == "cuda":
            words += ["--gpu-memory-utilization", part]
        else:
            tokens = context_tokens(size, form, memory, limit, many)
            words += ["--kv-cache-memory-bytes", str(tokens * _bytes_kept(size, form))]
            # By itself it binds the threads of every server to the same processors.
            env |= {"VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": str(threads)}
        # The sockets of its processes stay behind if they are killed.
        env |= {"VLLM_RPC_BASE_PATH": str(scratch)}
        return words, env | {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
    words = ["--dtype", form, "--max-running-requests", str(many), "--sampling-defaults", "openai"]
    words += ["--tp-size", cards, "--enable-metrics", "--log-level-http", "warning"]
    words += ["--chunked-prefill-size", str(batch)] if batch else []
    if memory.device == "cuda":
        words += ["--mem-fraction-static", part]
    else:
        # By itself it takes nearly all of the main memory.
        tokens = context_tokens(size, form, memory, limit, many)
        words += ["--device", "cpu", "--max-total-tokens", str(tokens)]
        words += [] if amx() else ["--attention-backend", "torch_native"]
    words += [] if shared else ["--disable-radix-cache"]
    words += ["--chat-template", template] if template else []
    return words, env


@cache
def amx() -> bool:
    """Whether the processor has AMX, without which SGLang's own attention cannot run on it."""
    try:
        return "amx_tile" in Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return False


def _part_of_memory(memory: DeviceMemory, limit: int | None) -> str:
    """The share of all its cards' memory that a server may take."""
    allowed = memory.free * _SHARE if limit is None else min(limit, memory.free)
    return f"{max(0.05, min(_SHARE, allowed / max(1, memory.total))):.3f}"


def gauges(kind: ServerProgram, text: str) -> dict[str, float]:
    """What a server's ``/metrics`` say, by our names; whatever is missing is left out.

    ``kv_cache`` is the used fraction of the room for keys and values; ``running`` and ``waiting``
    count calls; ``prompt_tokens`` and ``cached_tokens`` were read, and found computed.
    """
    names = _METRICS[kind.name]
    found: dict[str, float] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        ours = names.get(name.partition("{")[0])
        if ours is None or line.startswith("#"):
            continue
        # Labels may hold spaces.
        value = (line.rpartition("}")[2] if "{" in name or "}" in rest else rest).split()
        try:
            found[ours] = found.get(ours, 0.0) + float(value[0])
        except (ValueError, IndexError):
            continue
    return found


_METRICS: Mapping[str, Mapping[str, str]] = {
    "vllm": {
        "vllm:kv_cache_usage_perc": "kv_cache",
        "vllm:num_requests_running": "running",
        "vllm:num_requests_waiting": "waiting",
        "vllm:prompt_tokens_total": "prompt_tokens",
        "vllm:prefix_cache_hits_total": "cached_tokens",
    },
    "sglang": {
        "sglang:token_usage": "kv_cache",
        "sglang:num_running_reqs": "running",
        "sglang:num_queue_reqs": "waiting",
        "sglang:prompt_tokens_total": "prompt_tokens",
        "sglang:cached_tokens_total": "cached_tokens",
    },
    "llama.cpp": {
        "llamacpp:requests_processing": "running",
        "llamacpp:requests_deferred": "waiting",
        "llamacpp:prompt_tokens_total": "computed_tokens",
    },
}
