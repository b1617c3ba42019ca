"""Flags made from option declarations, and looking at words before parsing them."""

from __future__ import annotations

import pytest

from evalbench.engine.calls.options import Option
from evalbench.engine.errors import UsageError
from evalbench.tui.cli.parser import (
    Parser,
    add_options,
    bare_words,
    filter_options,
    flag_values,
    given,
)

OPTIONS = [
    Option("size", int, 5, "how many, in % of what there is", minimum=1, maximum=9),
    Option("style", str, "plain", "how it looks", choices=("plain", "bold")),
    Option("cache", bool, True, "keep answers"),
    Option("tag", str, (), "a label", many=True),
    Option("top_p", float, None, "US-style nucleus"),
]


@pytest.fixture
def parser() -> Parser:
    made = Parser("try", "try something")
    made.add_argument("target")
    made.add_argument("--json", action="store_true")
    add_options(made, OPTIONS, "settings")
    return made


def test_only_what_was_given_is_given(parser: Parser) -> None:
    assert given(parser.read(["x"]), OPTIONS) == {}
    args = parser.read(
        ["x", "--size", "3", "--no-cache", "--tag", "a", "--tag=b", "--top-p", "0.5"]
    )
    assert given(args, OPTIONS) == {"size": "3", "cache": False, "tag": ["a", "b"], "top_p": "0.5"}


def test_a_flag_of_two_owners_serves_both(parser: Parser) -> None:
    other = [Option("size", int, None, "another size"), Option("depth", int, None, "how deep")]
    add_options(parser, other, "more settings")
    args = parser.read(["x", "--size", "3", "--depth", "4"])
    assert given(args, OPTIONS) == {"size": "3"}
    assert given(args, other) == {"size": "3", "depth": "4"}


def test_filters_are_repeatable_flags(parser: Parser) -> None:
    filters = filter_options({"sub_ject": "only these"})
    add_options(parser, filters, "filters")
    assert given(parser.read(["x", "--sub-ject", "a", "--sub-ject", "b"]), filters) == {
        "sub_ject": ["a", "b"]
    }


def test_help_tells_default_range_and_choices(parser: Parser) -> None:
    text = " ".join(parser.format_help().split())
    assert "--size N how many, in % of what there is (default 5; 1 to 9)" in text
    assert "--style {plain,bold} how it looks (default plain)" in text
    assert "--cache, --no-cache keep answers (default yes)" in text
    assert "--tag TAG a label (repeatable)" in text
    assert "--top-p X US-style nucleus" in text


@pytest.mark.parametrize(
    ("words", "what", "hint"),
    [
        (["x", "--sise", "3"], "evalbench try has no flag --sise", "did you mean --size?"),
        (["x", "--sise=3"], "evalbench try has no flag --sise", "did you mean --size?"),
        (["x", "y"], "evalbench try: 'y' is one word too many", "evalbench try --help"),
        ([], "the following arguments are required: target", "evalbench try --help"),
        (["x", "--size"], "argument --size: expected one argument", "evalbench try --help"),
        (["x", "--siz", "3"], "evalbench try has no flag --siz", "did you mean --size?"),
    ],
)
def test_mistakes_are_usage_errors(parser: Parser, words: list[str], what: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parser.read(words)
    assert what in caught.value.what
    assert caught.value.hint.startswith(hint.rstrip("?"))


@pytest.mark.parametrize(
    ("words", "bare"),
    [
        ([], []),
        (["x"], ["x"]),
        (["--size", "3", "x"], ["x"]),
        (["--size=3", "x"], ["x"]),
        (["--json", "x"], ["x"]),
        (["--no-cache", "x"], ["x"]),
        (["--subject", "anatomy", "x"], ["x", "anatomy"]),
        (["x", "--subject", "anatomy"], ["x", "anatomy"]),
        (["--subject=anatomy", "x", "y"], ["x", "y"]),
        (["--unknown", "x"], ["x"]),
        (["-", "x"], ["-", "x"]),
    ],
)
def test_bare_words_come_surest_first(parser: Parser, words: list[str], bare: list[str]) -> None:
    assert bare_words(parser, words) == bare


def test_flag_values_are_found_before_parsing() -> None:
    words = ["run", "--model", "a/b", "--model=c/d", "--model"]
    assert sorted(flag_values(words, "--model")) == ["a/b", "c/d"]
