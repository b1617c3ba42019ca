"""The servers that evalbench can start itself: vLLM, SGLang and llama.cpp."""

from __future__ import annotations

from evalbench.engine.inference_servers import ServerProgram


def _vllm(model: str, name: str) -> list[str]:
    # Perplexities need the token that ends texts, where none begins them.
    return ["serve", model, "--served-model-name", name, "--enable-tokenizer-info-endpoint"]


def _sglang(model: str, name: str) -> list[str]:
    return ["serve", "--model-path", model, "--served-model-name", name]


def _llama_cpp(model: str, name: str) -> list[str]:
    return ["-m" if model.lower().endswith(".gguf") else "-hf", model, "--alias", name]


VLLM = ServerProgram(
    name="vllm",
    title="vLLM",
    program="vllm",
    provider="vllm",
    port=8000,
    server_key="VLLM_API_KEY",
    our_key="VLLM_API_KEY",
    install="python3 -m venv ~/vllm && ~/vllm/bin/pip install vllm, an environment of its own since"
    ' it pins its own torch; then PATH="$HOME/vllm/bin:$PATH" evalbench …',
    arguments=_vllm,
)
SGLANG = ServerProgram(
    name="sglang",
    title="SGLang",
    program="sglang",
    provider="sglang",
    port=30000,
    server_key="",
    our_key="SGLANG_API_KEY",
    install="python3 -m venv ~/sglang && ~/sglang/bin/pip install sglang, an environment of its own"
    ' since it pins its own torch; then PATH="$HOME/sglang/bin:$PATH" evalbench …',
    arguments=_sglang,
)
LLAMA_CPP = ServerProgram(
    name="llama.cpp",
    title="llama.cpp",
    program="llama-server",
    provider="llamacpp",
    port=8080,
    server_key="LLAMA_API_KEY",
    our_key="LLAMACPP_API_KEY",
    install="pip install xllamacpp, or brew install llama.cpp, or unpack a release of"
    " https://github.com/ggml-org/llama.cpp into a folder on PATH",
    arguments=_llama_cpp,
    package="xllamacpp",
    module="evalbench.providers.compatible.llama_server",
)
PROGRAMS = {program.name: program for program in (VLLM, SGLANG, LLAMA_CPP)}
