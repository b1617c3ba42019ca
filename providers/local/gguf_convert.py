"""Convert one GGUF file to a folder of safetensors.

transformers takes half a minute to read a GGUF file and less than a second to read the folder, so
this is done once. The values are those of the GGUF file: precision lost to quantisation is not
restored.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gguf
import torch
import transformers


def convert(file: Path, target: Path, form: str = "float32") -> None:
    """Write the configuration, tokenizer and weights of ``file`` to the folder ``target``.

    ``form`` is the number format of the weights.

    Raises:
        ValueError, OSError: transformers cannot read the file.
    """
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    with _read_once():
        tokenizer = transformers.AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
        model: Any = transformers.AutoModelForCausalLM.from_pretrained(
            file.parent, gguf_file=file.name, dtype=getattr(torch, form)
        )
    # The weights are plain numbers by now, but transformers still treats them as quantised and
    # would refuse to save them.
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    for name in ("is_quantized", "quantization_method", "hf_quantizer"):
        model.__dict__.pop(name, None)
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)


@contextlib.contextmanager
def _read_once() -> Iterator[None]:
    """Cache what transformers repeatedly requests from gguf.

    It parses the whole header three times and builds the table of tensor names once per module;
    together that is most of a conversion's time.
    """
    names = ("GGUFReader", "get_tensor_name_map")
    before = {name: getattr(gguf, name) for name in names}
    for name, function in before.items():
        setattr(gguf, name, functools.cache(function))
    try:
        yield
    finally:
        for name, function in before.items():
            setattr(gguf, name, function)
