"""Options of local models."""

from __future__ import annotations

from dataclasses import dataclass, replace

from evalbench.engine.calls.options import seconds_of, setting
from evalbench.engine.hardware.fit import FIXED_BATCH
from evalbench.providers.compatible.programs import PROGRAMS

TRANSFORMERS = "transformers"
BACKENDS = (TRANSFORMERS, "auto", *PROGRAMS)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalOptions:
    """Options of :class:`evalbench.providers.local.Local`."""

    backend: str = setting(
        TRANSFORMERS,
        "what runs the model: transformers, or a server that is installed here and started for "
        "the run; auto takes llama.cpp for GGUF files, and vLLM or SGLang on NVIDIA GPUs",
        choices=BACKENDS,
        affects_answers=True,
    )
    device: str = setting(
        "auto",
        "device; auto picks CUDA, then Apple's GPU, then the CPU",
        choices=("auto", "cpu", "cuda", "mps"),
    )
    dtype: str = setting(
        "auto",
        "data type of the weights; auto is float32 on a CPU and bfloat16 (float16 on "
        "older cards) on a GPU",
        choices=("auto", "float32", "bfloat16", "float16"),
        affects_answers=True,
    )
    quantize: str = setting(
        "none",
        "quantize weights to 4-bit nf4 or 8-bit integers (bitsandbytes): less memory, "
        "different answers",
        choices=("none", "4bit", "8bit"),
        affects_answers=True,
    )
    memory_limit: str | None = setting(None, "memory limit, such as 6GB (default: free memory)")
    threads: int = setting(
        0, "CPU threads of all workers together; 0 uses the free physical cores", minimum=0
    )
    max_batch_tokens: int = setting(
        0, "maximum tokens per forward pass; 0 derives it from free memory", minimum=0
    )
    slots: int = setting(
        0, "maximum concurrent generations; 0 derives it from free memory", minimum=0
    )
    deterministic: bool = setting(
        False,
        "run calls one at a time in float32 for bit-identical answers; several times slower",
        affects_answers=True,
    )
    prefix_cache: bool = setting(True, "cache shared prefixes; no is for debugging")
    chat_template: str | None = setting(
        None,
        "Jinja chat template, file or text (default: the model's own)",
        path="text",
        affects_answers=True,
    )
    too_long: str = setting(
        "cut",
        "if prompt and answer exceed the context: cut shortens the answer, then the "
        "start of the prompt, and records it; fail is an error",
        choices=("cut", "fail"),
        affects_answers=True,
    )

    keep_loaded: str = setting(
        "10m",
        "how long the model stays loaded after the run, for the next run of it with the same "
        "options; 0 unloads it at once (evalbench models unload does it later)",
        metavar="TIME",
        variables=("EVALBENCH_KEEP_LOADED",),
    )

    @property
    def keep_loaded_s(self) -> float:
        """The same in seconds.

        Raises:
            SpecError: it is not a duration.
        """
        return seconds_of("keep_loaded", self.keep_loaded) or 0.0

    def fixed(self) -> LocalOptions:
        """Options that leave nothing to load or free memory, for ``deterministic``."""
        if not self.deterministic:
            return self
        return replace(
            self,
            dtype="float32",
            slots=1,
            max_batch_tokens=self.max_batch_tokens or FIXED_BATCH,
            threads=self.threads or 1,
        )
