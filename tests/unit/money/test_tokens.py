"""Token counts before a call."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalbench.engine.calls import MediaPart, ModelRef, TextPart, choose, generate, system, user
from evalbench.engine.calls.token_rules import TokenRules
from evalbench.engine.cost.tokens import input_tokens, rules_of, text_tokens
from evalbench.providers.modelfacts.token_rules import token_rules

ENGLISH = "The engine writes its intent before a call leaves, and the reply before it is used. "


def test_english_is_three_and_a_half_characters_a_token_and_less_for_new_claude() -> None:
    assert text_tokens("x" * 350, TokenRules()) == pytest.approx(100)
    assert text_tokens("x" * 350, token_rules("claude-sonnet-4-5")) == pytest.approx(100)
    assert text_tokens("x" * 270, token_rules("claude-sonnet-5-5")) == pytest.approx(100)
    # Published: the new tokenizer makes about 30 % more tokens of the same text.
    old, new = (text_tokens(ENGLISH, token_rules(f"claude-sonnet-{v}")) for v in ("4-6", "5"))
    assert 1.25 < new / old < 1.35


def test_chinese_is_about_a_token_a_character() -> None:
    assert 0.8 < text_tokens("模型必须回答每一个问题", token_rules("gpt-4.1")) / 11 < 1.2


@settings(deadline=None)
@given(st.text(max_size=300))
def test_no_text_has_more_tokens_than_the_most(text: str) -> None:
    counted = input_tokens(generate(text), token_rules("gpt-4.1"))
    # A byte-level tokenizer makes at most one token a byte.
    assert counted.most >= len(text.encode()) + 32
    assert counted.likely <= counted.most


def test_leading_shared_parts_are_counted_apart() -> None:
    rubric = TextPart("r" * 3500, shared=True)
    prompt = generate([system([rubric]), user([TextPart("q" * 350), rubric])])
    counted = input_tokens(prompt, token_rules("gpt-4.1"))
    assert counted.shared == 1000
    assert counted.likely == 2100 + 8


def test_images_are_counted_by_the_models_rule(png: Callable[[int, int], bytes]) -> None:
    picture = MediaPart("image/png", png(1920, 1080))
    prompt = generate([user([picture, "What is it?", picture])])
    for model, tokens in (("claude-sonnet-4-5", 1560), ("claude-sonnet-5", 2691)):
        counted = input_tokens(prompt, token_rules(model))
        assert (counted.images, counted.image_tokens) == (2, 2 * tokens)
        assert counted.likely > 2 * tokens
        assert counted.most > 2 * tokens


def test_every_continuation_is_read_with_its_context() -> None:
    one = input_tokens(generate("x" * 350), token_rules("gpt-4.1")).likely
    four = input_tokens(choose("x" * 350, [" A", " B", " C", " D"]), token_rules("gpt-4.1")).likely
    assert 4 * one <= four < 4 * one + 4


def test_each_provider_says_how_its_models_count() -> None:
    claude = token_rules("claude-sonnet-5")
    assert claude != TokenRules()
    for name in ("anthropic", "bedrock", "compatible", "openrouter"):
        assert rules_of(ModelRef(name, "anthropic.claude-sonnet-5")) == claude
    # One's own names for models say nothing, and nothing is known of a provider that is not here.
    assert rules_of(ModelRef("local", "claude-sonnet-5")) == TokenRules()
    assert rules_of(ModelRef("gone", "claude-sonnet-5")) == TokenRules()
