"""Finding lines by a few letters."""

from __future__ import annotations

from evalbench.tui.state.fuzzy import fitting, having_words

MODELS = [
    "anthropic/claude-sonnet-5 Claude Sonnet 5",
    "openai/gpt-6-mini GPT 6 mini",
    "local/smollm2-135m-instruct SmolLM2",
]


def test_nothing_typed_keeps_all_in_order() -> None:
    assert fitting(MODELS, "  ") == [0, 1, 2]


def test_every_word_must_fit() -> None:
    assert fitting(MODELS, "gpt mini") == [1]
    assert fitting(MODELS, "gpt sonnet") == []


def test_letters_in_order_within_one_word_fit() -> None:
    assert fitting(MODELS, "snt5") == [0]
    assert fitting(MODELS, "5sonnet") == []
    assert fitting(["ab cd"], "ad") == []


def test_the_beginning_of_a_word_comes_before_its_inside_and_scattered_letters() -> None:
    assert fitting(["xx-s-o-l", "parasol", "mini-sol"], "SOL") == [2, 1, 0]


def test_the_name_that_was_typed_comes_first() -> None:
    providers = ["azure Azure OpenAI", "openai-like A server", "openai OpenAI"]
    assert fitting(providers, "openai") == [2, 1, 0]
    assert fitting(providers, "open") == [1, 2, 0]
    assert fitting(["gpt-4o-mini", "gpt-4o"], "gpt-4o") == [1, 0]


def test_all_words_are_found_in_order_but_those_in_names_first() -> None:
    texts = [
        ("arc_easy", "arc_easy ARC Easy multiple_choice allenai/ai2_arc"),
        ("gsm8k", "gsm8k generate_until openai/gsm8k main"),
        ("ai2_arc", "ai2_arc group arc_easy"),
        ("science", "science generate_until allenai/ai2_arc"),
    ]
    assert having_words(texts, "ARC") == [0, 2, 3]
    assert having_words(texts, "arc  Generate_Until") == [3]
    assert having_words(texts, "openai") == [1]
    assert having_words([*reversed(texts)], "arc easy") == [3, 1]
    assert having_words(texts, "arc nothing") == []
