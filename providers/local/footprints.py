"""The memory a model needs, from its configuration and the headers of its files.

No weights are read and torch is not loaded: configurations are JSON, and the header of a
safetensors or GGUF file lists its tensors.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from evalbench.engine.calls.footprint import Footprint
from evalbench.engine.errors import NoSuchModel
from evalbench.providers.local.catalogue import FolderModel, HubModel, KnownModel, Source
from evalbench.providers.local.weight_headers import read_gguf, safetensors_shapes

_CONTEXT = 2048
_NAMES = {
    "hidden": ("hidden_size", "n_embd", "d_model"),
    "layers": ("num_hidden_layers", "n_layer", "num_layers"),
    "heads": ("num_attention_heads", "n_head", "num_heads"),
    "vocabulary": ("vocab_size",),
    "context": ("max_position_embeddings", "n_positions", "n_ctx"),
}


def footprint(source: Source) -> Footprint:
    """A model's footprint, looked up on the hub if nothing is here.

    Raises:
        NoSuchModel: its files do not contain the information.
        AccessDenied, WorkerFailed: the hub does not provide it.
    """
    if isinstance(source, KnownModel):
        return known_footprint(source.name)
    if isinstance(source, FolderModel):
        return _of_folder(source)
    return _of_repository(source)


def packed_bytes(source: Source) -> int:
    """Bytes of a GGUF file, as far as known before it is fetched; 0 for others."""
    if isinstance(source, KnownModel):
        return source.packaged.member_bytes if source.packaged else 0
    file = source.gguf if isinstance(source, FolderModel) else None
    if isinstance(source, HubModel):
        from evalbench.providers.local import hub

        file = hub.at_hand(source)
    return file.stat().st_size if file and file.suffix == ".gguf" else 0


@cache
def known_footprint(name: str) -> Footprint:
    """The footprint of a model with a short name, from the table that ships with it."""
    known = json.loads(Path(__file__).with_name("configs.json").read_text())[name]
    return of_config(known["config"], parameters=known["parameters"], download=known["download"])


def of_config(
    config: Mapping[str, Any],
    *,
    parameters: int | None = None,
    linear: int | None = None,
    download: int | None = None,
) -> Footprint:
    """The footprint of a decoder.

    Args:
        config: as saved by transformers; for vision models, the text part is used.
        parameters, linear: counted in its files; estimated from ``config`` if omitted.
        download: size of its files in bytes.

    Raises:
        KeyError: ``config`` lacks what every decoder has.
    """
    text = config.get("text_config") or config
    hidden, layers = _number(text, "hidden"), _number(text, "layers")
    heads, vocabulary = _number(text, "heads"), _number(text, "vocabulary")
    width = text.get("head_dim") or hidden // heads
    kv_heads = text.get("num_key_value_heads") or (1 if text.get("multi_query") else heads)
    widest = text.get("intermediate_size") or text.get("n_inner") or 4 * hidden
    if linear is None:
        # Older OpenAI-style models have no gate.
        into = 2 if "n_embd" in text else 3
        attention = 2 * hidden * width * (heads + kv_heads)
        linear = layers * (attention + into * hidden * widest)
    if parameters is None:
        tables = 1 if text.get("tie_word_embeddings", True) else 2
        parameters = linear + tables * vocabulary * hidden
    return Footprint(
        parameters=parameters,
        linear=min(linear, parameters),
        kept=2 * _attention_layers(text, layers) * kv_heads * width,
        passing=6 * hidden + 4 * heads * width + 3 * widest,
        vocabulary=vocabulary,
        context_tokens=_number(text, "context", _CONTEXT),
        download=download,
    )


def _number(config: Mapping[str, Any], what: str, otherwise: int | None = None) -> int:
    for name in _NAMES[what]:
        if value := config.get(name):
            return int(value)
    if otherwise is None:
        raise KeyError(_NAMES[what][0])
    return otherwise


def _attention_layers(config: Mapping[str, Any], layers: int) -> int:
    """Layers that hold keys and values; recurrent ones hold almost nothing."""
    kinds = config.get("layer_types")
    if not kinds:
        return layers
    return sum("attention" in kind and "linear" not in kind for kind in kinds)


def count_weights(shapes: Iterable[Sequence[int]], vocabulary: int) -> tuple[int, int]:
    """All weights, and those that quantisation shrinks: not the embedding tables."""
    parameters = linear = 0
    for shape in shapes:
        size = math.prod(shape)
        parameters += size
        if len(shape) == 2 and vocabulary not in shape:
            linear += size
    return parameters, linear


def _of_folder(source: FolderModel) -> Footprint:
    try:
        if source.gguf:
            return _of_gguf(source.gguf)
        config = json.loads((source.path / "config.json").read_bytes())
        files = sorted(source.path.glob("*.safetensors"))
        shapes = [shape for file in files for shape in safetensors_shapes(file)]
        parameters, linear = count_weights(shapes, _vocabulary(config))
        return of_config(
            config,
            parameters=parameters,
            linear=linear,
            download=0,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _unreadable(str(source.path), error) from error


def _vocabulary(config: Mapping[str, Any]) -> int:
    return _number(config.get("text_config") or config, "vocabulary")


def _of_gguf(file: Path) -> Footprint:
    """GGUF prefixes the same keys with the architecture, and lists dimensions in reverse."""
    metadata, shapes = read_gguf(file)
    arch = str(metadata["general.architecture"])

    def of(name: str) -> Any:
        return metadata.get(f"{arch}.{name}")

    config = {
        "hidden_size": of("embedding_length"),
        "num_hidden_layers": of("block_count"),
        "num_attention_heads": of("attention.head_count"),
        "num_key_value_heads": of("attention.head_count_kv"),
        "head_dim": of("attention.key_length"),
        "intermediate_size": of("feed_forward_length"),
        "max_position_embeddings": of("context_length"),
        "vocab_size": of("vocab_size") or metadata.get("tokenizer.ggml.tokens"),
    }
    parameters, linear = count_weights(shapes, config["vocab_size"])
    return of_config(config, parameters=parameters, linear=linear, download=0)


def _of_repository(source: HubModel) -> Footprint:
    from evalbench.providers.local import hub

    cached = hub.at_hand(source)
    if cached and cached.suffix == ".gguf":
        return _of_folder(FolderModel(cached.parent, cached))
    config, shapes, size = hub.describe(source)
    try:
        parameters, linear = count_weights(shapes, _vocabulary(config))
        return of_config(config, parameters=parameters, linear=linear, download=size)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _unreadable(source.repo, error) from error


def _unreadable(name: str, error: Exception) -> NoSuchModel:
    return NoSuchModel(
        f"the files of {name} do not tell how large the model is",
        why=f"{type(error).__name__}: {error}",
        hint="check that it is a language model saved by transformers, or a GGUF file of one",
    )
