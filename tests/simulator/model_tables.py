"""The models of every API, what they take and what they cost.

Facts of November 2026: the models' own documentation for what they accept, and
the providers' price lists for US dollars per million tokens. Prices are flat:
surcharges for very long prompts are not modelled. Release dates only order the lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.simulator.bedrock_models import bedrock_models
from tests.simulator.google_models import GOOGLE
from tests.simulator.models import Model, Price

_OLD_THINKING = frozenset({"enabled", "disabled"})
_BOTH_THINKING = frozenset({"adaptive", "enabled", "disabled"})
_ADAPTIVE = frozenset({"adaptive", "disabled"})
_ALWAYS = frozenset({"adaptive"})
_TOOLS = frozenset({"adaptive", "between_tools"})
_LMHXM = ("low", "medium", "high", "xhigh", "max")
_LMHM = ("low", "medium", "high", "max")
_LMH = ("low", "medium", "high")


def _claude(name: str, title: str, released: str, price: Price, **facts: Any) -> Model:
    facts.setdefault("context", 1_000_000)
    facts.setdefault("max_output", 128_000)
    facts.setdefault("line", name.split("-")[1])
    return Model(id=name, title=title, released=released, price=price, owner="anthropic", **facts)


def _claude_5(name: str, title: str, released: str, price: Price, **facts: Any) -> Model:
    """A Claude without sampling parameters, of the newer tokenizer."""
    facts.setdefault("efforts", _LMHXM)
    facts.setdefault("default_effort", "high")
    facts.setdefault("thinks_unasked", True)
    facts.setdefault("sampling", "never")
    facts.setdefault("image_edge", 2576)
    facts.setdefault("chars_per_token", 3.0)
    return _claude(name, title, released, price, prefill=False, system_turns=True, **facts)


_SONNET = Price(3, 15, 0.3, 3.75, 6)
_OPUS = Price(5, 25, 0.5, 6.25, 10)

ANTHROPIC: tuple[Model, ...] = (
    _claude(
        "claude-3-7-sonnet-20250219",
        "Claude Sonnet 3.7",
        "2025-02-19",
        _SONNET,
        context=200_000,
        max_output=64_000,
        line="sonnet",
        thinking=_OLD_THINKING,
        lifecycle="retired",
        deprecated_at="2025-10-28",
        retires_at="2026-02-19",
    ),
    _claude(
        "claude-haiku-4-5",
        "Claude Haiku 4.5",
        "2025-10-01",
        Price(1, 5, 0.1, 1.25, 2),
        context=200_000,
        max_output=64_000,
        thinking=_OLD_THINKING,
        cache_minimum=4096,
        max_images=100,
    ),
    _claude(
        "claude-sonnet-4-5",
        "Claude Sonnet 4.5",
        "2025-09-29",
        _SONNET,
        context=200_000,
        max_output=64_000,
        thinking=_OLD_THINKING,
        lifecycle="deprecated",
        deprecated_at="2026-08-31",
        retires_at="2026-11-30",
        max_images=100,
    ),
    _claude(
        "claude-opus-4-5",
        "Claude Opus 4.5",
        "2025-11-01",
        _OPUS,
        context=200_000,
        max_output=64_000,
        thinking=_OLD_THINKING,
        efforts=_LMH,
        default_effort="high",
        cache_minimum=4096,
        max_images=100,
    ),
    _claude(
        "claude-sonnet-4-6",
        "Claude Sonnet 4.6",
        "2026-02-17",
        _SONNET,
        thinking=_BOTH_THINKING,
        efforts=_LMHM,
        default_effort="high",
        prefill=False,
    ),
    _claude(
        "claude-opus-4-6",
        "Claude Opus 4.6",
        "2026-02-05",
        _OPUS,
        thinking=_BOTH_THINKING,
        efforts=_LMHM,
        default_effort="high",
        prefill=False,
        cache_minimum=4096,
    ),
    _claude_5(
        "claude-opus-4-7",
        "Claude Opus 4.7",
        "2026-04-16",
        _OPUS,
        thinking=_ADAPTIVE,
        thinks_unasked=False,
        sampling="default",
        cache_minimum=4096,
    ),
    _claude_5(
        "claude-opus-4-8",
        "Claude Opus 4.8",
        "2026-05-28",
        _OPUS,
        thinking=_ADAPTIVE,
        thinks_unasked=False,
        sampling="default",
    ),
    _claude_5(
        "claude-sonnet-5",
        "Claude Sonnet 5",
        "2026-06-24",
        Price(2, 10, 0.2, 2.5, 4),
        thinking=_ADAPTIVE,
    ),
    _claude_5("claude-opus-5", "Claude Opus 5", "2026-07-21", _OPUS, thinking=_BOTH_THINKING),
    _claude_5(
        "claude-fable-5-1",
        "Claude Fable 5.1",
        "2026-08-25",
        Price(10, 50, 0.25, 12.5, 20),
        thinking=_ALWAYS,
        cache_minimum=512,
    ),
    _claude_5(
        "claude-fable-5-2",
        "Claude Fable 5.2",
        "2026-11-17",
        Price(8, 40, 0.2, 10, 16),
        thinking=_ALWAYS,
        cache_minimum=512,
    ),
    _claude_5(
        "claude-opus-5-5",
        "Claude Opus 5.5",
        "2026-09-22",
        Price(4, 20, 0.2, 5, 8),
        thinking=_ALWAYS,
        default_effort="medium",
        cache_minimum=512,
    ),
    _claude_5(
        "claude-sonnet-5-5",
        "Claude Sonnet 5.5",
        "2026-10-13",
        Price(2, 10, 0.1, 2.5, 4),
        thinking=_TOOLS,
        cache_minimum=512,
    ),
    _claude_5(
        "claude-haiku-5-5",
        "Claude Haiku 5.5",
        "2026-11-03",
        Price(0.1, 0.5, 0.01, 0.125, 0.2),
        thinking=_TOOLS,
        cache_minimum=512,
    ),
)


def _price(numbers: Sequence[float] | None) -> Price | None:
    if numbers is None:
        return None
    plain, out, read = numbers[:3]
    return Price(plain, out, read, numbers[3] if len(numbers) > 3 else plain)


def _gpt(
    name: str,
    released: str,
    price: Sequence[float] | None,
    **facts: Any,
) -> Model:
    """An OpenAI model; ``price`` is input, output, cached input and cache write."""
    facts.setdefault("context", 1_050_000)
    facts.setdefault("max_output", 128_000)
    return Model(
        id=name,
        title=name,
        released=released,
        price=_price(price),
        owner="openai",
        cache_writes_reported=price is not None and len(price) == 4,
        **facts,
    )


def _reasoner(
    name: str,
    released: str,
    price: Sequence[float] | None,
    efforts: str,
    default: str,
    **facts: Any,
) -> Model:
    levels = tuple(efforts.split())
    facts.setdefault("sampling", "effortless" if "none" in levels else "never")
    facts.setdefault("logprobs", "none" in levels)
    return _gpt(
        name,
        released,
        price,
        efforts=levels,
        default_effort=default,
        stop=False,
        thinks_unasked=default != "none",
        **facts,
    )


OPENAI: tuple[Model, ...] = (
    _gpt("gpt-4o", "2024-05-13", (2.5, 10, 1.25), context=128_000, max_output=16_384,
         lifecycle="deprecated", retires_at="2027-01-14"),
    _gpt("gpt-4o-mini", "2024-07-18", (0.15, 0.6, 0.075), context=128_000, max_output=16_384),
    _gpt("gpt-4.1", "2025-04-14", (2, 8, 0.5), context=1_047_576, max_output=32_768,
         lifecycle="deprecated", retires_at="2027-01-14"),
    _gpt("gpt-4.1-mini", "2025-04-14", (0.4, 1.6, 0.1), context=1_047_576, max_output=32_768),
    _gpt("gpt-4.1-nano", "2025-04-14", (0.1, 0.4, 0.025), context=1_047_576, max_output=32_768),
    _reasoner("o1-preview", "2024-09-12", (15, 60, 7.5), "low medium high", "medium",
              context=128_000, max_output=32_768, lifecycle="retired", retires_at="2025-07-28"),
    _reasoner("o3", "2025-04-16", (2, 8, 0.5), "low medium high", "medium",
              context=200_000, max_output=100_000, lifecycle="deprecated",
              retires_at="2026-12-11"),
    _reasoner("o4-mini", "2025-04-16", (1.1, 4.4, 0.275), "low medium high", "medium",
              context=200_000, max_output=100_000),
    _reasoner("gpt-5", "2025-08-07", (1.25, 10, 0.125), "minimal low medium high", "medium",
              sampling="default", context=400_000, lifecycle="deprecated",
              retires_at="2026-12-11"),
    _reasoner("gpt-5-mini", "2025-08-07", (0.25, 2, 0.025), "minimal low medium high", "medium",
              sampling="default", context=400_000, lifecycle="deprecated",
              retires_at="2026-12-11"),
    _reasoner("gpt-5-nano", "2025-08-07", (0.05, 0.4, 0.005), "minimal low medium high",
              "medium", sampling="default", context=400_000),
    _reasoner("gpt-5.1", "2025-11-13", (1.25, 10, 0.125), "none low medium high", "none",
              context=400_000),
    _reasoner("gpt-5.4", "2026-03-05", (2.5, 15, 0.25), "none low medium high xhigh", "none"),
    _reasoner("gpt-5.4-mini", "2026-03-17", (0.75, 4.5, 0.075), "none low medium high xhigh",
              "none", context=400_000),
    _reasoner("gpt-5.5", "2026-04-23", (5, 30, 0.5), "none low medium high xhigh", "none"),
    _reasoner("gpt-5.6-sol", "2026-07-09", (4, 20, 0.4, 5), "none low medium high xhigh max",
              "none"),
    _reasoner("gpt-5.6-terra", "2026-07-09", (2, 12, 0.2, 2.5),
              "none low medium high xhigh max", "none"),
    _reasoner("gpt-5.6-luna", "2026-07-09", (0.2, 1.2, 0.02, 0.25),
              "none low medium high xhigh max", "none"),
    _reasoner("gpt-6-astra", "2026-09-15", (10, 50, 1, 12.5), "low medium high xhigh max",
              "medium"),
    _reasoner("gpt-6-luna", "2026-09-15", (0.1, 0.5, 0.01, 0.125),
              "none low medium high xhigh max", "medium"),
    _reasoner("gpt-6.1-sol", "2026-10-20", (2, 10, 0.1, 2.5), "low medium high xhigh max",
              "medium"),
    _reasoner("gpt-6.1-terra", "2026-10-20", (1, 5, 0.05, 1.25),
              "none low medium high xhigh max", "medium"),
    _reasoner("gpt-6.2-sol", "2026-11-18", None, "low medium high xhigh max", "medium"),
)  # fmt: skip


def _open(
    name: str,
    context: int,
    price: Sequence[float] | None = None,
    **facts: Any,
) -> Model:
    """A model of an OpenAI-compatible server; ``price`` is input, output and cached input."""
    facts.setdefault("images", False)
    facts.setdefault("released", "2026-01-15")
    facts.setdefault("max_output", min(context, 32_768))
    facts.setdefault("owner", name.split("/")[0] if "/" in name else "library")
    return Model(
        id=name,
        title=name.rsplit("/", 1)[-1],
        context=context,
        price=_price(price),
        **facts,
    )


def _thinker(name: str, context: int, price: Sequence[float] | None = None, **facts: Any) -> Model:
    """A compatible model that always reasons before it answers."""
    facts.setdefault("efforts", _LMH)
    return _open(name, context, price, default_effort="medium", thinks_unasked=True, **facts)


COMPATIBLE: dict[str, tuple[Model, ...]] = {
    "groq": (
        _open("llama-3.3-70b-versatile", 131_072, (0.59, 0.79, 0.59), owner="Meta"),
        _open("llama-3.1-8b-instant", 131_072, (0.05, 0.08, 0.05), owner="Meta"),
        _open("meta-llama/llama-4-scout-17b-16e-instruct", 131_072, (0.11, 0.34, 0.11),
              images=True, max_images=5),
        _thinker("openai/gpt-oss-120b", 131_072, (0.15, 0.6, 0.075)),
        _thinker("openai/gpt-oss-20b", 131_072, (0.075, 0.3, 0.0375)),
    ),
    "openrouter": (
        _open("openai/gpt-4o-mini", 128_000, (0.15, 0.6, 0.075), images=True),
        _open("anthropic/claude-sonnet-5.5", 1_000_000, (2, 10, 0.1), images=True),
        _open("meta-llama/llama-3.3-70b-instruct", 131_072, (0.59, 0.79, 0.295)),
        _thinker("qwen/qwen3-32b", 40_960, (0.14, 0.4, 0.09)),
    ),
    "vllm": (_open("Qwen/Qwen2.5-7B-Instruct", 32_768, images=True),),
    "ollama": (
        _open("llama3.2:3b", 131_072),
        _open("llava:7b", 32_768, images=True),
        _thinker("qwen3:8b", 40_960),
    ),
    "lmstudio": (_open("qwen2.5-7b-instruct", 32_768), _thinker("openai/gpt-oss-20b", 131_072)),
    "llamacpp": (_open("gemma-3-4b-it-Q4_K_M.gguf", 8_192, images=True),),
    "deepseek": (
        _open("deepseek-chat", 64_000, (0.135, 0.55, 0.035)),
        _thinker("deepseek-reasoner", 64_000, (0.135, 0.55, 0.035), logprobs=False, efforts=()),
        _thinker("deepseek-v4-flash", 1_000_000, (0.15, 0.6, 0.003)),
    ),
    "mistral": (
        _open("mistral-large-latest", 262_144, (2, 6, 2), images=True),
        _open("mistral-small-latest", 262_144, (0.15, 0.6, 0.015), images=True),
        _thinker("magistral-medium-latest", 131_072, (2, 5, 2), efforts=()),
    ),
    "xai": (
        _open("grok-4.20", 1_000_000, (1.25, 2.5, 0.2), images=True),
        _thinker("grok-4.6", 500_000, (2, 6, 0.5), images=True, stop=False,
                 efforts=("low", "medium", "high", "xhigh")),
    ),
    "fireworks": (
        _open("accounts/fireworks/models/llama-v3p1-8b-instruct", 131_072, (0.2, 0.2, 0.2)),
        _open("accounts/fireworks/models/qwen2p5-vl-72b-instruct", 131_072, (0.9, 0.9, 0.9),
              images=True, max_images=30),
        _thinker("accounts/fireworks/models/gpt-oss-120b", 131_072, (0.15, 0.6, 0.015)),
    ),
    "custom": (_open("any-model", 131_072, images=True),),
}  # fmt: skip


_ALWAYS_ON = frozenset({"enabled"})
_SWITCHED = frozenset({"enabled", "disabled"})

TOGETHER: tuple[Model, ...] = (
    _open("meta-llama/Llama-3.3-70B-Instruct-Turbo", 131_072, (0.88, 0.88, 0.88)),
    _open("meta-llama/Llama-4-Scout-17B-16E-Instruct", 131_072, (0.18, 0.59, 0.18),
          images=True, lifecycle="deprecated"),
    _open("mistralai/Mixtral-8x22B-Instruct-v0.1", 65_536, serverless=False),
    _thinker("openai/gpt-oss-120b", 131_072, (0.15, 0.6, 0.15), thinking=_ALWAYS_ON),
    _thinker("Qwen/Qwen3.5-9B", 262_144, (0.17, 0.25, 0.17), efforts=(), images=True, video=True,
             thinking=_SWITCHED),
    _thinker("Qwen/Qwen3.5-397B-A17B", 262_144, (0.6, 3.6, 0.35), efforts=(), images=True,
             thinking=_SWITCHED),
    _thinker("deepseek-ai/DeepSeek-V4-Pro-0813", 512_000, (1.32, 3.96, 0.13), thinking=_SWITCHED),
    _thinker("MiniMaxAI/MiniMax-M3", 204_800, (0.3, 1.2, 0.06), efforts=(), thinking=_ALWAYS_ON),
)  # fmt: skip


TABLES: Mapping[str, Sequence[Model]] = {
    "anthropic": ANTHROPIC,
    "openai": OPENAI,
    "together": TOGETHER,
    "google": GOOGLE,
    "bedrock": bedrock_models(ANTHROPIC),
    **COMPATIBLE,
}
