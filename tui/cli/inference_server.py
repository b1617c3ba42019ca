"""Which third-party inference server ``evalbench serve`` starts, and in which environment."""

from __future__ import annotations

from collections.abc import Mapping

from evalbench.engine.config import registry
from evalbench.engine.errors import UsageError
from evalbench.engine.inference_servers import ServerProgram
from evalbench.engine.keys import strip_environment
from evalbench.engine.paths import expand

_PROVIDERS = ("llamacpp", "sglang", "vllm")


def server_programs() -> dict[str, ServerProgram]:
    """The servers that can be started, by ``--engine`` value."""
    found = (registry.provider_class(name).server for name in _PROVIDERS)
    return {program.name: program for program in found if program}


def choose_kind(model: str, name: str | None) -> ServerProgram:
    """The server for a model: the named one, else llama.cpp for GGUF and vLLM for others.

    Raises:
        UsageError: it is not installed, or the model does not exist.
    """
    if model.startswith((".", "/", "~")) and not expand(model).exists():
        raise UsageError(f"there is no {model}", hint="name a folder, a GGUF file or org/name")
    programs = server_programs()
    gguf = "gguf" in model.lower()
    usual, other = ("llama.cpp", "vllm") if gguf else ("vllm", "llama.cpp")
    kind = programs[name or usual]
    if kind.installed():
        return kind
    why = f"there is no {kind.program} on PATH"
    if not name:
        why += "; a GGUF model needs it" if gguf else "; models that are not GGUF need it"
        if programs[other].installed():
            why += f" ({programs[other].title} is there; --engine {other} can be tried anyway)"
    raise UsageError(f"{kind.title} is not installed", why=why, hint=kind.install)


def environment(kind: ServerProgram, env: Mapping[str, str]) -> dict[str, str]:
    """The environment of a server, without keys except those for the hub and for itself."""
    stripped = strip_environment(env, keep=("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"))
    stripped.pop(kind.server_key, None)
    if kind.server_key and (key := env.get(kind.our_key)):
        stripped[kind.server_key] = key
    return stripped
