"""Flags of scripts around Bedrock, and flags that say where a provider is asked."""

from __future__ import annotations

import argparse

import pytest

from evalbench.engine.errors import UsageError
from evalbench.tui.cli.address import declare_place, place
from evalbench.tui.cli.parser import Parser
from evalbench.tui.cli.target import declare_target, declare_target_settings, wanted_specs

SONNET = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


def _read(*words: str) -> argparse.Namespace:
    parser = Parser("run", "try something")
    declare_target(parser)
    declare_target_settings(parser, words)
    return parser.read(words)


def test_a_command_line_of_another_tool_means_the_same_here() -> None:
    args = _read(
        "quickstart", "--model-id", SONNET, "--region=us-east-1", "--latency-profile", "optimized",
        "--enable-thinking", "--thinking-budget-tokens", "3000", "--temperature", "0.6",
    )  # fmt: skip
    [spec], notes = wanted_specs(args)
    assert spec.model == f"bedrock/{SONNET}"
    assert spec.provider_options["region"] == "us-east-1"
    assert spec.provider_options["latency"] == "optimized"
    assert spec.settings.candidate.params.thinking_budget == 3000
    assert spec.settings.candidate.params.temperature == 0.6
    assert notes == ()


@pytest.mark.parametrize(
    ("words", "budget"),
    [
        ((), None),
        (("--enable-thinking",), 2000),
        (("--enable-thinking", "--thinking-budget", "4000"), 4000),
        (("--thinking-budget-tokens=1500", "--enable-thinking"), 1500),
    ],
)
def test_thinking_that_is_enabled_has_a_budget(words: tuple[str, ...], budget: int | None) -> None:
    [spec], _ = wanted_specs(_read("quickstart", f"--model-id={SONNET}", *words))
    assert spec.settings.candidate.params.thinking_budget == budget


def test_ids_and_models_may_stand_side_by_side() -> None:
    specs, _ = wanted_specs(
        _read("quickstart", "--model", "anthropic/claude-opus-5-5", "--model-id", "amazon.nova")
    )
    assert [spec.model for spec in specs] == ["anthropic/claude-opus-5-5", "bedrock/amazon.nova"]


def test_other_providers_do_not_have_them() -> None:
    with pytest.raises(UsageError, match="no flag --latency-profile"):
        _read("quickstart", "--model", "anthropic/claude-opus-5-5", "--latency-profile", "standard")


def test_where_a_provider_is_asked() -> None:
    words = ("bedrock", "--region", "eu-west-1", "--profile", "work", "--base-url", "http://x")
    parser = Parser("models", "list models")
    parser.add_argument("provider")
    declare_place(parser, words)
    args = parser.read(words)
    assert place(args, "bedrock") == {
        "base_url": "http://x", "region": "eu-west-1", "profile": "work"
    }  # fmt: skip
    assert place(args, "anthropic") == {"base_url": "http://x"}
    assert place(args, "huggingface") == {}
