"""From a folder of safetensors to a model on its devices, ready to run."""

from __future__ import annotations

import logging
from dataclasses import replace
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import transformers

from evalbench.engine.calls.options import values_of
from evalbench.engine.errors import ProviderError, WorkerFailed
from evalbench.engine.hardware.devices import DeviceMemory
from evalbench.engine.hardware.fit import Loading, Work, fit, flag, parse_bytes
from evalbench.engine.installed import install_command
from evalbench.providers.local.cache import cache_argument
from evalbench.providers.local.catalogue import FolderModel
from evalbench.providers.local.chat import ChatTemplate
from evalbench.providers.local.fast_paths import choose_fast_paths, layer_kinds
from evalbench.providers.local.footprints import footprint
from evalbench.providers.local.matrix_products import multiplies, widen_products
from evalbench.providers.local.memory import free_bytes, limit_device
from evalbench.providers.local.model import LoadedModel
from evalbench.providers.local.options import LocalOptions
from evalbench.providers.local.threads import choose_threads
from evalbench.providers.local.vision_config import configuration, sees

_DEFAULT_CONTEXT = 2048
_UNSET_LENGTH = 10**9
_FLASH = "flash_attention_2"
_FLASH_FROM = (8, 0)
_SHARE = 0.8
"""A model whose weights take more than this fraction of one card is spread over all of them."""
_TILE_ROWS, _BLOCK = 32, 64
"""What bitsandbytes packs together on some processors, of a 4-bit layer."""
_SHORTEST = 64
"""Tokens of prompt and answer that every model should have room for."""


def load(folder: Path, settings: LocalOptions, sharing: int = 1) -> LoadedModel:
    """Load a model and find out how it can be run.

    Args:
        folder: contains configuration, tokenizer and safetensors.
        settings: the provider's options.
        sharing: number of workers that share the CPUs.

    Raises:
        WorkerFailed: transformers cannot load it, or the device is absent.
        torch.OutOfMemoryError: it does not fit on the device.
    """
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    device = choose_device(settings.device)
    quantize = settings.quantize
    dtype = choose_dtype(settings.dtype, device, quantized=quantize != "none")
    products = dtype if multiplies(dtype, device) else torch.float32
    if limit := parse_bytes(settings.memory_limit):
        limit_device(device, limit)
    _set_threads(settings, sharing)
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        processor = _load_processor(folder)
        network, attention = _load_network(folder, device, dtype, products, quantize)
    except (ValueError, OSError, KeyError, ImportError) as error:
        raise WorkerFailed(
            f"{folder} could not be loaded",
            why=str(error).strip().split("\n")[0],
            hint="check that transformers supports this model; models that bring their own "
            "Python code are not run",
        ) from error
    if products != dtype:
        widen_products(network)
    config = network.config.get_text_config()
    model = LoadedModel(
        network=network.eval(),
        tokenizer=tokenizer,
        processor=processor,
        chat=_chat_template(settings.chat_template, processor, tokenizer),
        device=device,
        dtype=dtype,
        layers=config.num_hidden_layers,
        context_tokens=_context_tokens(config, tokenizer),
        attention=attention,
        window=getattr(config, "sliding_window", None) or 0,
        window_by_layer="sliding_attention" in layer_kinds(config),
        cache_name=cache_argument(network.get_decoder()),
    )
    parameters = int(network.num_parameters())
    choose_fast_paths(model, quantize, onednn=products == dtype and not settings.memory_limit)
    model.tokens_run = 0
    model.info = {
        "device": _device_name(device),
        "devices": len(_devices_of(network, device)),
        "dtype": str(dtype).removeprefix("torch."),
        "products": str(products).removeprefix("torch."),
        "quantize": quantize,
        "attention": model.attention,
        "attention_because": attention_reason(model.attention, device, dtype),
        "masked_attention": model.masked_attention if model.packs else None,
        "packs": model.packs,
        "threads": torch.get_num_threads(),
        "parameters": parameters,
        "context_tokens": model.context_tokens,
        "architecture": type(network).__name__,
        **model.chat.info,
        "images": processor is not None,
        "versions": {name: metadata.version(name) for name in _versioned(model, quantize)},
    }
    return model


def set_threads(model: LoadedModel, settings: LocalOptions, sharing: int) -> None:
    """Choose the threads of a loaded model again."""
    _set_threads(settings, sharing)
    model.info["threads"] = torch.get_num_threads()


def _set_threads(settings: LocalOptions, sharing: int) -> None:
    # How sums are split over threads affects their last bits.
    sharing = 1 if settings.deterministic else sharing
    torch.set_num_threads(max(1, (settings.threads or choose_threads()) // sharing))


def _versioned(model: LoadedModel, quantize: str) -> list[str]:
    """The packages that answers depend on."""
    names = ["torch", "transformers", "tokenizers"]
    names += ["bitsandbytes"] if quantize != "none" else []
    return names + (["flash-attn"] if model.attention == _FLASH else [])


def attention_order(device: torch.device, dtype: torch.dtype) -> list[str]:
    """Attention implementations to try, best first.

    transformers does not fall back automatically if a requested one is missing.
    """
    return [*([] if _no_flash(device, dtype) else [_FLASH]), "sdpa", "eager"]


def attention_reason(chosen: str, device: torch.device, dtype: torch.dtype) -> str:
    """Why that attention was chosen, in words."""
    if chosen == _FLASH:
        return "flash-attn is installed and this card can use it"
    reason = _no_flash(device, dtype) or "flash-attn does not take this model"
    return reason if chosen == "sdpa" else f"torch's own does not take this model; {reason}"


def _no_flash(device: torch.device, dtype: torch.dtype) -> str:
    """Why flash-attn cannot be used; empty if it can."""
    if device.type != "cuda":
        return "flash-attn needs an NVIDIA card"
    if find_spec("flash_attn") is None:
        return "flash-attn is not installed"
    if torch.cuda.get_device_capability(device) < _FLASH_FROM:
        return "flash-attn needs a card of compute capability 8.0 or newer"
    return "flash-attn needs 16 bits" if dtype is torch.float32 else ""


def choose_device(asked: str) -> torch.device:
    """The device for the setting ``device``.

    Raises:
        WorkerFailed: the requested device is not available.
    """
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if asked == "auto":
        asked = next((name for name, present in there.items() if present), "cpu")
    if not there.get(asked, True):
        raise WorkerFailed(
            f"there is no {asked} device here",
            why=f"torch {torch.__version__} does not see one",
            hint="use --device cpu, or install a driver and a torch build that fits it",
        )
    return torch.device(asked)


def choose_dtype(asked: str, device: torch.device, *, quantized: bool = False) -> torch.dtype:
    """The number format for the setting ``dtype``; if quantised, that of the other weights."""
    if asked != "auto":
        chosen: torch.dtype = getattr(torch, asked)
        return chosen
    if device.type == "cpu":
        return torch.bfloat16 if quantized else torch.float32
    if device.type == "cuda":
        newer = torch.cuda.get_device_capability(device) >= (8, 0)
    else:
        newer = torch.backends.mps.is_macos_or_newer(14, 0)
    return torch.bfloat16 if newer else torch.float16


_DATA_ONLY = {"use_safetensors": True, "trust_remote_code": False}
"""Forbids pickled weights and code shipped with a model: both would run as the user."""


def _load_network(
    folder: Path, device: torch.device, dtype: torch.dtype, products: torch.dtype, quantize: str
) -> tuple[Any, str]:
    vision = sees(configuration(FolderModel(folder)) or {})
    kind = transformers.AutoModelForImageTextToText if vision else transformers.AutoModelForCausalLM
    problem: Exception | None = None
    form = str(dtype).removeprefix("torch.") if quantize == "none" else quantize
    how = {**_placement(folder, device, form), **_quantization(quantize, products)}
    for attention in attention_order(device, dtype):
        try:
            network = kind.from_pretrained(
                folder, dtype=dtype, attn_implementation=attention, **_DATA_ONLY, **how
            )
        except (ImportError, ValueError) as error:
            problem = problem or error
        else:
            if quantize == "4bit" and device.type == "cpu":
                _leave_unpacked(network)
            return network, attention
    assert problem is not None
    raise problem


def _load_processor(folder: Path) -> Any:
    """The image processor of a vision model; None for others."""
    if not sees(configuration(FolderModel(folder)) or {}) or find_spec("PIL") is None:
        return None
    processor = transformers.AutoProcessor.from_pretrained(folder, trust_remote_code=False)
    return processor if hasattr(processor, "image_processor") else None


def _chat_template(given: str | None, processor: Any, tokenizer: Any) -> ChatTemplate:
    owner = processor if getattr(processor, "chat_template", None) else tokenizer
    own = getattr(owner, "chat_template", None)
    if isinstance(own, dict):
        own = own.get("default")
    chosen = ChatTemplate.choose(given, own, in_parts=processor is not None)
    return chosen.for_model(tokenizer)


def _device_name(device: torch.device) -> str:
    if device.type == "cuda":
        return f"cuda ({torch.cuda.get_device_name(device)})"
    return str(device.type)


def _context_tokens(config: Any, tokenizer: Any) -> int:
    """The model's limit, from its configuration or else its tokenizer."""
    for name in ("n_positions", "max_position_embeddings", "n_ctx"):
        if value := getattr(config, name, None):
            return int(value)
    value = getattr(tokenizer, "model_max_length", None) or _UNSET_LENGTH
    return int(value) if value < _UNSET_LENGTH else _DEFAULT_CONTEXT


def _placement(folder: Path, device: torch.device, form: str) -> dict[str, Any]:
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


def _quantization(quantize: str, products: torch.dtype) -> dict[str, Any]:
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


def _leave_unpacked(network: torch.nn.Module) -> None:
    """Have layers multiplied as they are whose shape bitsandbytes cannot pack.

    On processors with AVX-512 BF16 its ``Linear4bit`` packs weights in tiles of 32 rows and of one
    block of 64 columns, and fails on any other shape (``_convert_weight_packed_for_cpu``).
    """
    for layer in network.modules():
        if hasattr(layer, "support_avx512bf16_for_cpu") and (
            layer.in_features % _BLOCK or layer.out_features % _TILE_ROWS
        ):
            layer.support_avx512bf16_for_cpu = False


def _devices_of(network: Any, device: torch.device) -> list[torch.device]:
    """The devices that hold parts of a model, starting with the one that takes its input."""
    parts = getattr(network, "hf_device_map", None) or {}
    found = [
        torch.device("cuda", one) if isinstance(one, int) else torch.device(one)
        for one in parts.values()
    ]
    return list(dict.fromkeys(found)) or [device]


def check_memory(folder: Path, settings: LocalOptions) -> None:
    """Refuse weights that do not fit in memory, before they are read.

    On Linux a process that uses too much main memory gets no error; it is killed.

    Raises:
        WorkerFailed: with the figures and what would help.
    """
    try:
        size = footprint(FolderModel(folder))
    except ProviderError:
        return
    device = choose_device(settings.device)
    chosen = str(choose_dtype(settings.dtype, device)).removeprefix("torch.")
    available = DeviceMemory(device.type, device.type, free_bytes(device), 0)
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
