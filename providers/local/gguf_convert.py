"""From one GGUF file to a folder of float32 safetensors.

Reading a GGUF file takes transformers about half a minute, reading the folder
less than a second, so this is done once. The values are those of the GGUF
file: whatever its quantisation lost stays lost.
"""

from __future__ import annotations

from pathlib import Path

import torch
import transformers


def convert(gguf: Path, target: Path) -> None:
    """Write configuration, tokenizer and float32 weights of ``gguf`` into folder ``target``.

    Raises:
        ValueError, OSError: when the file is not one that transformers can read.
    """
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    tokenizer = transformers.AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        gguf.parent, gguf_file=gguf.name, dtype=torch.float32
    )
    # The weights are plain numbers by now, but transformers still thinks of them
    # as quantised and would refuse to save them.
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    for name in ("is_quantized", "quantization_method", "hf_quantizer"):
        model.__dict__.pop(name, None)
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)
