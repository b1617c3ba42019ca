"""Tiny models with random weights, built from their configurations: megabytes, not gigabytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_TEXT = (
    "The following are multiple choice questions (with answers) about colours. "
    "Question: which of these is a colour? A. seven B. blue C. quickly D. table Answer: B "
    "the quick brown fox jumps over the lazy dog and counts: one two three four five six "
    + " A B C D"
    * 20
)
VOCABULARY = 320

CHAT_TEMPLATE = (
    "{% for m in messages %}<s>{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<s>assistant:{% endif %}"
)


def make_llama(folder: Path, *, template: bool = True, **config: Any) -> Path:
    """Save a random llama and its tokenizer into ``folder``. ``config`` overrides its sizes."""
    from transformers import LlamaConfig, LlamaForCausalLM

    return _save(folder, LlamaForCausalLM, LlamaConfig, template, config)


def make_mistral(folder: Path, **config: Any) -> Path:
    """The same, with a sliding window in every layer."""
    from transformers import MistralConfig, MistralForCausalLM

    return _save(folder, MistralForCausalLM, MistralConfig, True, config)


def make_gemma(folder: Path, **config: Any) -> Path:
    """The same, with sliding and full layers in turn and a softcap on the logits."""
    from transformers import Gemma2Config, Gemma2ForCausalLM

    return _save(folder, Gemma2ForCausalLM, Gemma2Config, True, config)


def make_mamba(folder: Path) -> Path:
    """A model without attention, which can be neither packed nor run in slots."""
    from transformers import MambaConfig, MambaForCausalLM

    sizes = {"hidden_size": 32, "state_size": 8, "num_hidden_layers": 2, "n_positions": 256}
    return _save(folder, MambaForCausalLM, MambaConfig, True, sizes)


_SIZES = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 512,
}


def _save(folder: Path, model: Any, config: Any, template: bool, sizes: dict[str, Any]) -> Path:
    import torch

    _tokenizer(template).save_pretrained(folder)
    sizes = sizes if "state_size" in sizes else {**_SIZES, **sizes}
    torch.manual_seed(0)
    settings = config(
        vocab_size=VOCABULARY, bos_token_id=0, eos_token_id=1, pad_token_id=1, **sizes
    )
    network = model(settings)
    with torch.no_grad():
        for weight in network.parameters():
            if weight.dim() > 1:
                # Larger than the usual start, so that what is attended to matters.
                weight.mul_(6)
    network.save_pretrained(folder)
    return folder


def _tokenizer(template: bool) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    inner.train_from_iterator([_TEXT], trainer)
    outer = PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<s>", eos_token="</s>")
    if template:
        outer.chat_template = CHAT_TEMPLATE
    return outer


def make_gguf(path: Path) -> Path:
    """A GGUF file of a one-layer llama in float32, with a byte-level tokenizer."""
    import gguf
    import numpy as np

    width, wide, heads = 32, 48, 2
    letters = [*"abcdefghijklmnopqrstuvwxyz", "Ġ", "Ġa", "th", "the"]
    tokens = ["<unk>", "<s>", "</s>", *letters]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(width)
    writer.add_block_count(1)
    writer.add_feed_forward_length(wide)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10_000.0)
    writer.add_rope_dimension_count(width // heads)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types([3, 3, 3, *[1] * len(letters)])
    writer.add_token_merges(["Ġ a", "t h", "th e"])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    random = np.random.default_rng(0)
    shapes = {
        "token_embd": (len(tokens), width),
        "output": (len(tokens), width),
        "output_norm": (width,),
        "blk.0.attn_norm": (width,),
        "blk.0.ffn_norm": (width,),
        **{f"blk.0.attn_{name}": (width, width) for name in ("q", "k", "v", "output")},
        "blk.0.ffn_gate": (wide, width),
        "blk.0.ffn_up": (wide, width),
        "blk.0.ffn_down": (width, wide),
    }
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", random.standard_normal(shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def make_llava(folder: Path) -> Path:
    """A random llava that sees 56 × 56 pixels in 16 patches; it reads 2048 tokens.

    Its image processor needs neither torchvision nor a hub.
    """
    import torch
    from transformers import (
        CLIPVisionConfig,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    tokenizer = _tokenizer(template=False)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<image>"]})
    ends = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}
    sizes = {**_SIZES, "max_position_embeddings": 2048}
    torch.manual_seed(0)
    network = LlavaForConditionalGeneration(
        LlavaConfig(
            vision_config=CLIPVisionConfig(
                hidden_size=32,
                intermediate_size=48,
                num_hidden_layers=2,
                num_attention_heads=2,
                image_size=56,
                patch_size=14,
            ),
            text_config=LlamaConfig(vocab_size=len(tokenizer), **ends, **sizes),
            image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        )
    )
    with torch.no_grad():
        for weight in network.parameters():
            if weight.dim() > 1:
                weight.mul_(6)
    network.save_pretrained(folder)
    pixels = CLIPImageProcessorPil(
        size={"shortest_edge": 56}, crop_size={"height": 56, "width": 56}
    )
    LlavaProcessor(
        pixels,
        tokenizer,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=VISION_TEMPLATE,
    ).save_pretrained(folder)
    return folder


VISION_TEMPLATE = (
    "{% for m in messages %}<s>{{ m['role'] }}: {% for p in m['content'] %}"
    "{{ '<image>' if p['type'] == 'image' else p['text'] }}{% endfor %}\n{% endfor %}"
    "{% if add_generation_prompt %}<s>assistant:{% endif %}"
)
