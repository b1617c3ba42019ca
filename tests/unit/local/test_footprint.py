"""Footprints: of known models from a table, of others from the heads of their files."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.errors import NoSuchModel
from evalbench.providers.local import footprints
from evalbench.providers.local.catalogue import KNOWN, FolderModel, resolve
from evalbench.providers.local.footprints import footprint, known_footprint, of_config
from evalbench.providers.local.weight_headers import read_gguf

CONFIG = {
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 32,
    "vocab_size": 100,
    "max_position_embeddings": 64,
}


def write_safetensors(file: Path, **shapes: list[int]) -> None:
    header = {name: {"dtype": "F32", "shape": shape} for name, shape in shapes.items()}
    body = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    file.write_bytes(struct.pack("<Q", len(body)) + body)


def text(words: str) -> bytes:
    return struct.pack("<Q", len(words)) + words.encode()


def write_gguf(file: Path, tensors: dict[str, list[int]], **facts: int | str | list[str]) -> None:
    body = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(facts))
    for name, value in facts.items():
        body += text(name.replace("__", "."))
        if isinstance(value, int):
            body += struct.pack("<II", 4, value)
        elif isinstance(value, str):
            body += struct.pack("<I", 8) + text(value)
        else:
            body += struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))
    for name, shape in tensors.items():
        body += text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
        body += struct.pack("<IQ", 0, 0)
    file.write_bytes(body)


@pytest.mark.parametrize("name", KNOWN)
def test_every_known_model_has_a_footprint(name: str) -> None:
    found = known_footprint(name)
    assert found == footprint(KNOWN[name])
    assert found.context_tokens == KNOWN[name].context_tokens
    assert 0.7 * found.parameters < found.linear < found.parameters
    assert found.download


def test_keys_and_values_of_a_token() -> None:
    # KiB in 16 bits; from the configurations: 2 × layers × key heads × width.
    kept = {"llama-3.2-1b": 32, "llama-3.2-3b": 112, "qwen2.5-3b": 36, "gpt2-large": 180}
    assert {name: known_footprint(name).kept * 2 // 1024 for name in kept} == kept


def test_a_folder_is_counted_by_its_tensors(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    write_safetensors(tmp_path / "a.safetensors", table=[100, 8], norm=[8])
    write_safetensors(tmp_path / "b.safetensors", up=[32, 8], down=[8, 32])
    found = footprint(resolve(str(tmp_path)))
    assert (found.parameters, found.linear) == (800 + 8 + 512, 512)
    assert found.kept == 2 * 2 * 2 * 2
    assert (found.vocabulary, found.context_tokens, found.download) == (100, 64, 0)


def test_models_that_see_are_read_by_their_part_about_text(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(
        json.dumps({"vision_config": {"hidden_size": 999}, "text_config": CONFIG})
    )
    write_safetensors(tmp_path / "model.safetensors", eye=[50, 50], table=[100, 8])
    found = footprint(resolve(str(tmp_path)))
    assert found.parameters == 2500 + 800


def test_recurrent_layers_hold_no_keys() -> None:
    kinds = ["linear_attention", "full_attention"]
    assert of_config({**CONFIG, "layer_types": kinds}).kept * 2 == of_config(CONFIG).kept


@pytest.mark.parametrize("alone", [True, False])
def test_a_gguf_file_alone_or_in_its_folder(tmp_path: Path, alone: bool) -> None:
    file = tmp_path / "model.gguf"
    write_gguf(
        file,
        {"token_embd": [8, 100], "up": [8, 32], "norm": [8]},
        general__architecture="llama",
        llama__embedding_length=8,
        llama__block_count=2,
        llama__attention__head_count=4,
        llama__attention__head_count_kv=2,
        llama__feed_forward_length=32,
        llama__context_length=64,
        tokenizer__ggml__tokens=[f"t{n}" for n in range(100)],
    )
    source = resolve(str(file if alone else tmp_path))
    assert isinstance(source, FolderModel)
    assert source.gguf == file
    found = footprint(source)
    assert (found.parameters, found.linear) == (800 + 256 + 8, 256)
    assert (found.kept, found.vocabulary, found.context_tokens) == (16, 100, 64)


def test_several_gguf_files_are_not_guessed_from(tmp_path: Path) -> None:
    for name in ("a.gguf", "b.gguf"):
        write_gguf(tmp_path / name, {})
    with pytest.raises(NoSuchModel) as caught:
        resolve(str(tmp_path))
    assert "several GGUF files" in str(caught.value)
    assert "a.gguf" in caught.value.hint


@pytest.mark.parametrize("size", [0, 3, 20, 60])
def test_a_cut_gguf_file_is_said_to_be_one(tmp_path: Path, size: int) -> None:
    file = tmp_path / "model.gguf"
    write_gguf(file, {"a": [2, 2]}, general__architecture="llama", llama__block_count=2)
    file.write_bytes(file.read_bytes()[:size])
    with pytest.raises(ValueError, match=r"GGUF|empty"):
        read_gguf(file)
    with pytest.raises(NoSuchModel, match="do not tell how large"):
        footprint(resolve(str(file)))


@pytest.mark.parametrize("config", [{}, [], {"hidden_size": "wide"}, {"hidden_size": 8}])
def test_a_configuration_that_tells_nothing(tmp_path: Path, config: Any) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    write_safetensors(tmp_path / "model.safetensors", table=[100, 8])
    with pytest.raises(NoSuchModel, match="do not tell how large"):
        footprint(resolve(str(tmp_path)))


@pytest.mark.local
@pytest.mark.parametrize("name", KNOWN)
def test_the_table_is_what_transformers_builds(name: str) -> None:
    import torch
    import transformers

    table = Path(footprints.__file__).with_name("configs.json")
    config = json.loads(table.read_text())[name]["config"]
    kind = config.pop("model_type")
    with torch.device("meta"):
        network = transformers.AutoModelForCausalLM.from_config(
            transformers.AutoConfig.for_model(kind, **config)
        )
    linear = [
        module.weight.numel()
        for label, module in network.named_modules()
        if type(module).__name__ in ("Linear", "Conv1D") and "lm_head" not in label
    ]
    found = known_footprint(name)
    assert found.parameters == sum(weight.numel() for weight in network.parameters())
    assert found.linear == sum(linear)
