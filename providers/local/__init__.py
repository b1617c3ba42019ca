"""Models on this machine: transformers in a worker process.

Importing this package does not load torch: it only resolves model names, declares options and
defines how the worker is started. Everything heavy is in :mod:`evalbench.providers.local.worker`.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any, ClassVar

from evalbench.engine.calls import Capabilities, ModelInfo, WorkerCommand, WorkerProvider
from evalbench.engine.calls.footprint import Footprint
from evalbench.engine.calls.options import values_of
from evalbench.engine.compat import override
from evalbench.engine.errors import NoSuchModel, SpecError
from evalbench.engine.hardware.devices import device_memory
from evalbench.engine.hardware.fit import parse_bytes
from evalbench.engine.inference_servers import ServerProgram
from evalbench.engine.installed import install_command
from evalbench.providers.local import backends
from evalbench.providers.local.catalogue import KNOWN, FolderModel, KnownModel, resolve
from evalbench.providers.local.chat import check_template
from evalbench.providers.local.footprints import footprint, known_footprint, packed_bytes
from evalbench.providers.local.options import TRANSFORMERS, LocalOptions
from evalbench.providers.local.vision_config import configuration, image_tokens, may_see

_NEEDS = ("torch", "transformers", "safetensors", "huggingface_hub", "gguf")

_DECIDING = ("torch", "transformers", "tokenizers", "accelerate", "bitsandbytes", "flash-attn")
"""Packages that a loaded model depends on."""

_DETERMINISTIC = {"dtype": ("auto", "float32"), "quantize": ("none",), "slots": (0, 1)}
"""Settings allowed together with ``deterministic``."""

_ENVIRONMENT = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "PYTHONUNBUFFERED": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
}

_SAME_BITS = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
"""Makes cuBLAS always sum in the same order; read when CUDA starts, see ``determinism``."""


class Local(WorkerProvider):
    """Runs open-weight models with transformers, one worker process per model."""

    name: ClassVar[str] = "local"
    title: ClassVar[str] = "This machine"
    extra: ClassVar[str] = "local"
    modules: ClassVar[tuple[str, ...]] = _NEEDS
    settings: LocalOptions = LocalOptions()

    @override
    def modules_for(self, model: str) -> Sequence[str]:
        return () if self._server(model) else self.modules

    def _server(self, model: str) -> ServerProgram | None:
        """The server that runs the model; None for transformers."""
        if self.settings.backend == TRANSFORMERS:
            return None
        with contextlib.suppress(NoSuchModel):
            return backends.choose(self.settings, resolve(model))
        return None

    @override
    def capabilities(self, model: str) -> Capabilities:
        if server := self._server(model):
            return backends.capabilities(server)
        missing = [name for name in _NEEDS if find_spec(name) is None]
        if missing:
            return Capabilities(
                generate=False,
                choose=False,
                reason=f"{', '.join(missing)} not installed: {install_command('local')}",
            )
        try:
            source = resolve(model)
        except NoSuchModel as error:
            return Capabilities(choose=True, reason=error.what)
        if not may_see(source):
            return Capabilities(choose=True, reason=f"{model} reads text only")
        if find_spec("PIL") is None:
            reason = f"pillow not installed: {install_command('vision')}"
            return Capabilities(choose=True, reason=reason)
        tokens = image_tokens(configuration(source) or {})
        return Capabilities(choose=True, images=True, image_tokens=tokens)

    @override
    def check_model(self, model: str) -> None:
        backends.check(self.settings, resolve(model), model)
        parse_bytes(self.settings.memory_limit)
        _ = self.settings.keep_loaded_s
        self._check_deterministic()
        if self.settings.quantize != "none" and find_spec("bitsandbytes") is None:
            raise SpecError(
                "quantize",
                "--quantize needs bitsandbytes, which is not installed",
                hint=install_command("gpu"),
            )
        if template := self.settings.chat_template:
            check_template(template)

    async def models(self) -> Sequence[ModelInfo]:
        """The models with short names; any hub repository or folder works as well."""
        return [
            ModelInfo(
                name=known.name,
                title=known.title,
                context_tokens=known.context_tokens,
                notes=_notes(known),
            )
            for known in KNOWN.values()
        ]

    @override
    def footprint(self, model: str) -> Footprint:
        source = resolve(model)
        size = footprint(source)
        if server := self._server(model):
            memory = device_memory(self.settings.device)
            form = backends.number_format(self.settings, server, memory)
            process = backends.PROCESSES.get(server.name, 0)
            size = replace(size, form=form, packed=packed_bytes(source), process=process)
        return size

    @override
    def worker_command(self, model: str) -> WorkerCommand:
        if self._server(model):
            return WorkerCommand(
                (sys.executable, "-P", "-m", "evalbench.providers.local.server_worker"),
                _ENVIRONMENT,
            )
        same_bits = _SAME_BITS if self.settings.deterministic else {}
        return WorkerCommand(
            (sys.executable, "-P", "-m", "evalbench.providers.local.worker"),
            {**_ENVIRONMENT, **same_bits},
        )

    def load_request(self, model: str) -> dict[str, Any]:
        """The body of the worker's ``load`` frame: the model and the settings.

        A folder is made absolute here, because the worker may have another working directory.
        """
        source = resolve(model)
        name = str(source.path) if isinstance(source, FolderModel) else model
        settings = values_of(self.settings.fixed())
        del settings["keep_loaded"]
        return {"model": name, "settings": settings}

    @property
    @override
    def keep_loaded_s(self) -> float:
        return self.settings.keep_loaded_s

    @override
    def load_identity(self, model: str) -> dict[str, Any]:
        """The request to load it, its files if they are the user's own, and package versions.

        A branch of the hub is looked up when its model is loaded.
        """
        from evalbench.providers.local.weights import fingerprint

        source = resolve(model)
        return {
            **self.load_request(model),
            "files": fingerprint(source) if isinstance(source, FolderModel) else "",
            "versions": dict(_versions()),
        }

    def _check_deterministic(self) -> None:
        if not self.settings.deterministic:
            return
        for name, allowed in _DETERMINISTIC.items():
            value = values_of(self.settings)[name]
            if value not in allowed:
                raise SpecError(
                    name,
                    f"--{name} {value} and --deterministic exclude each other",
                    why="it computes every call by itself, in float32",
                    hint="leave one of them out",
                )


def _versions() -> Iterator[tuple[str, str]]:
    for name in _DECIDING:
        with contextlib.suppress(PackageNotFoundError):
            yield name, version(name)


def _notes(known: KnownModel) -> str:
    size = (known_footprint(known.name).download or 0) / 1e6
    amount = f"{size / 1000:.1f} GB" if size >= 1000 else f"{size:.0f} MB"
    words = [f"{amount} to download", known.licence]
    if known.packaged:
        words.append("needs no hub")
    elif known.gated:
        words.append("ask its owner on the hub")
    return "; ".join(words)
