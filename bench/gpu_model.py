"""A llama-like model of 1.5 billion random weights, for ``gpu.py``; and what the device is.

    python -m bench.gpu_model look DEVICE
    python -m bench.gpu_model make DEVICE FOLDER TOKENIZER [--tiny]

A process of its own, since one that has once computed on a card keeps memory there. It
prints one line of JSON: ``name``, ``problem`` (why there is no such device), ``torch``,
``cuda``, and of ``make`` ``bitsandbytes`` (why it cannot be used).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

_SIZES: dict[str, int] = {
    "hidden_size": 2048,
    "intermediate_size": 5632,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 8192,
}
_TINY: dict[str, int] = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 8192,
}


def look(device: str) -> dict[str, Any]:
    """The device, or why it is not there."""
    card_facts: dict[str, Any] = {"name": device, "problem": "", "torch": torch.__version__}
    card_facts["cuda"] = torch.version.cuda or ""
    if device == "cpu":
        return card_facts
    if torch.version.cuda is None:
        return card_facts | {"problem": f"torch {torch.__version__} is a build without CUDA"}
    if not torch.cuda.is_available():
        return card_facts | {"problem": f"torch {torch.__version__} sees no NVIDIA card or driver"}
    card = torch.cuda.get_device_properties(0)
    return card_facts | {"name": f"{card.name}, {card.total_memory / 1e9:.0f} GB"}


def _bitsandbytes() -> str:
    try:
        import bitsandbytes  # noqa: F401
    except Exception as error:  # it looks for libraries of CUDA, and fails in many ways
        return f"bitsandbytes cannot be imported: {type(error).__name__}: {error}".split("\n")[0]
    return ""


def make(device: str, folder: Path, tokenizer: Path, *, tiny: bool) -> None:
    """Save the model with the tokenizer of another one."""
    import transformers

    words = transformers.AutoTokenizer.from_pretrained(tokenizer, trust_remote_code=False)
    config = transformers.LlamaConfig(
        vocab_size=len(words),
        bos_token_id=words.bos_token_id,
        eos_token_id=words.eos_token_id,
        pad_token_id=words.pad_token_id,
        tie_word_embeddings=True,
        **(_TINY if tiny else _SIZES),
    )
    torch.manual_seed(0)
    with torch.device(device):
        network = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    network.save_pretrained(folder)
    words.save_pretrained(folder)


def main(words: Sequence[str]) -> int:
    """Look at a device and, if asked to, make the model there."""
    what, device, *rest = words
    card = look(device)
    if what == "make" and not card["problem"]:
        card["bitsandbytes"] = _bitsandbytes()
        make(device, Path(rest[0]), Path(rest[1]), tiny="--tiny" in rest)
    print(json.dumps(card))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
