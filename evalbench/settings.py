"""The settings that ``start_run`` takes, with their types.

Written by ``python -m tests.settings_source`` from the options that are declared; a test
compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypedDict


class Settings(TypedDict, total=False):
    """Settings of a run, and of the benchmarks and providers that come with evalbench.

    None stands for the default. Which of them a benchmark or a provider takes is checked when
    the run is started.
    """

    # The run
    data: str | Path | None
    limit: int | None
    shuffle: bool | None
    seed: int | None
    epochs: int | None
    concurrency: int | None
    qps: float | None
    tpm: int | None
    attempts: int | None
    max_tokens: int | None
    temperature: float | None
    top_p: float | None
    top_k: int | None
    stop: str | Sequence[str] | None
    effort: str | None
    thinking_budget: int | None
    thinking_room: int | None
    key: str | None
    mode: Literal["realtime", "batch", "auto", "cluster"] | None
    batch_size: int | None
    workers: int | None
    price: str | Sequence[str] | None
    judge: str | Sequence[str] | None
    batch_poll: float | None
    batch_fallback: str | None
    wait_for_server: str | None
    otlp: str | None
    otlp_content: bool | None
    enable_galileo: bool | None
    galileo_project: str | None
    galileo_log_stream: str | None
    galileo_console_url: str | None
    galileo_api_url: str | None
    reuse: bool | None
    reuse_across_modes: bool | None
    address: str | None
    env_file: str | Path | None
    desc: str | None
    tag: str | Sequence[str] | None

    # aime
    subset: Literal["2025", "2024", "challenge", "easy", "diamond", "main", "extended"] | None

    # bbh
    group: str | Sequence[str] | None

    # code-choice
    dataset: str | None
    split: str | None
    start_index: int | None
    runs: int | None
    reasoning: Literal["low", "medium", "high"] | None
    compare_effort: str | Sequence[str] | None
    skip_booleans: bool | None
    prompt: Literal["evalbench", "original"] | None
    difficulty: str | Sequence[str] | None
    mutation: str | Sequence[str] | None

    # code-prediction
    include_missing_mutations: bool | None
    generations: int | None

    # custom
    file: str | Path | None

    # drop
    shots: int | None

    # humaneval
    program_tokens: int | None
    program_seconds: float | None
    unsafe_run_code: bool | None

    # mmlu
    family: Literal["original", "chat", "cot"] | None
    style: Literal["default", "permuted", "uppercase", "randomcase", "duplicatewrong"] | None
    subject: str | Sequence[str] | None
    category: str | Sequence[str] | None

    # mt-bench
    references: Literal["original", "undisputed", "none"] | None
    revision: str | None
    judge_prompts: Literal["original"] | None
    judge_repeats: int | None
    against: str | Path | None

    # openseesime
    set: Literal["structural", "structural-small", "structural-mini", "fluid", "fluid-mini"] | None
    rows: int | None
    video: Literal["frames", "native"] | None
    frames: int | None
    frame_sampling: Literal["uniform", "segment"] | None
    max_side: int | None
    media_cache_gb: float | None
    type: str | Sequence[str] | None
    medium: str | Sequence[str] | None
    simulation: str | Sequence[str] | None

    # quickstart
    kind: str | Sequence[str] | None
    topic: str | Sequence[str] | None

    # spec-comply
    inputs: str | Path | None
    answers: str | Path | Sequence[str | Path] | None
    results_dir: str | Path | None
    statement: str | Sequence[str] | None

    # spec-rank
    undecided: Literal["tie", "drop"] | None

    # anthropic
    base_url: str | None
    timeout: float | None
    header: str | Sequence[str] | None
    query: str | Sequence[str] | None
    legacy_sampling: Literal["auto", "never"] | None
    prompt_cache: Literal["5m", "1h", "off"] | None
    oversized_image: Literal["error", "downsize"] | None
    service_tier: (
        Literal["auto", "standard_only", "default", "priority", "flex", "reserved", "standard"]
        | None
    )

    # azure
    batches: Literal["auto", "yes", "no"] | None
    endpoint: str | None
    api_version: str | None

    # bedrock
    region: str | None
    profile: str | None
    latency: Literal["standard", "optimized"] | None
    batch_bucket: str | None
    batch_role: str | None

    # cloudflare
    account: str | None

    # dashscope
    workspace: str | None

    # databricks
    host: str | None

    # google
    safety_settings: Literal["off", "none", "only_high", "medium_and_above", "low_and_above"] | None
    video_fps: float | None

    # groq
    reasoning_format: Literal["parsed", "raw", "hidden"] | None

    # local
    device: Literal["auto", "cpu", "cuda", "mps"] | None
    dtype: Literal["auto", "float32", "bfloat16", "float16"] | None
    quantize: Literal["none", "4bit", "8bit"] | None
    memory_limit: str | None
    threads: int | None
    max_batch_tokens: int | None
    slots: int | None
    deterministic: bool | None
    prefix_cache: bool | None
    chat_template: str | Path | None
    too_long: Literal["cut", "fail"] | None

    # ollama
    num_ctx: int | None

    # openai
    api: Literal["auto", "chat", "responses"] | None
    image_detail: Literal["auto", "low", "high", "original"] | None

    # openrouter
    require_parameters: bool | None

    # vertex
    project: str | None
    location: str | None
