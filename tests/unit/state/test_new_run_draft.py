"""A run that is being set up: its settings, its faults, and the command line that equals it."""

from __future__ import annotations

import shlex

import pytest

from evalbench.engine.errors import SpecError
from evalbench.engine.options import Option
from evalbench.tui.state.draft import MORE, Draft, default_words, help_words, parsed
from evalbench.tui.state.known import Known, load_known


@pytest.fixture(scope="module")
def known() -> Known:
    found = load_known()
    assert not found.broken
    return found


@pytest.fixture
def draft(known: Known) -> Draft:
    return Draft(known, "mmlu", "openai", "gpt-4.1")


def test_what_is_installed_is_known_with_what_it_needs(known: Known) -> None:
    mmlu, openai, local = (
        known.benchmarks["mmlu"],
        known.providers["openai"],
        known.providers["local"],
    )
    assert mmlu.takes_data
    assert "subject" in mmlu.filters
    assert mmlu.needs({}) == {"choose"}
    assert mmlu.needs({"family": "chat"}) == {"generate"}
    assert mmlu.needs({"family": "cot", "shots": 5}) == frozenset()
    assert (openai.takes_key, openai.needs_key, openai.local) == (True, True, False)
    assert (local.takes_key, local.needs_key, local.local) == (False, False, True)
    assert known.providers["ollama"].needs_key is False
    assert "worker" in local.mode
    assert "network" in openai.mode


def test_what_is_missing_is_told_in_the_order_of_choosing(known: Known) -> None:
    draft = Draft(known)
    assert "benchmark" in draft.missing
    draft.benchmark = "mmlu"
    assert "provider" in draft.missing
    draft.choose_model("openai/")
    assert "model" in draft.missing
    draft.choose_model("openrouter/meta/llama")
    assert (draft.provider, draft.model, draft.missing) == ("openrouter", "meta/llama", "")
    assert draft.full_model == "openrouter/meta/llama"


def test_settings_come_by_use_and_each_once(draft: Draft) -> None:
    sections = draft.sections()
    assert [part.title for part in sections] == ["settings", "of mmlu", "of openai", MORE]
    names = [option.name for part in sections for option in part.options]
    assert len(names) == len(set(names))
    assert names[:3] == ["limit", "epochs", "concurrency"]
    assert {"subject", "family", "base_url", "shuffle", "price"} <= set(names)


def test_data_and_judges_are_asked_for_where_they_apply(known: Known) -> None:
    def first(benchmark: str) -> set[str]:
        section = Draft(known, benchmark, "openai").sections()[0]
        return {option.name for option in section.options}

    assert "data" in first("mmlu")
    assert "judge" not in first("mmlu")
    closed = [name for name, one in known.benchmarks.items() if not one.takes_data]
    assert all("data" not in first(name) for name in closed)
    judged = [name for name, one in known.benchmarks.items() if one.judged]
    assert all("judge" in first(name) for name in judged)


def test_the_command_line_has_what_differs_from_the_defaults(draft: Draft) -> None:
    assert draft.command() == "evalbench run mmlu --model openai/gpt-4.1"
    draft.typed |= {
        "limit": " 50 ",
        "seed": "0",
        "temperature": "0.50",
        "shuffle": "yes",
        "subject": "anatomy, astronomy",
        "family": "original",
        "desc": "-odd one",
        "stop": 'a, "b, c"',
        "nothing-of-this-name": "x",
    }
    words = shlex.split(draft.command())
    assert words[:5] == ["evalbench", "run", "mmlu", "--model", "openai/gpt-4.1"]
    assert words[5:] == [
        *("--limit", "50", "--temperature", "0.5"),
        *("--subject", "anatomy", "--subject", "astronomy"),
        *("--shuffle", "--stop", "a", "--stop", "b, c", "--desc=-odd one"),
    ]
    draft.choose_model("openrouter/x")
    draft.typed["require_parameters"] = "no"
    assert "--no-require-parameters" in draft.words()


def test_a_key_is_refused_wherever_it_is_typed_and_never_comes_into_a_command(
    draft: Draft,
) -> None:
    secret = "sk-proj-0123456789abcdefghij"
    draft.typed |= {"key": f" {secret} ", "desc": secret, "limit": "3"}
    assert set(draft.faults()) == {"key", "desc"}
    for fault in draft.faults().values():
        assert secret not in str(fault)
    assert secret not in draft.command() + " ".join([*draft.probe_words(), *draft.asking_words()])


def test_address_and_key_of_a_provider_are_not_carried_to_another(draft: Draft) -> None:
    draft.typed |= {"base_url": "http://127.0.0.1:9", "key": "work", "limit": "3"}
    draft.choose_provider("openai")
    assert draft.typed["base_url"]
    draft.choose_provider("groq")
    assert (draft.typed, draft.model) == ({"limit": "3"}, "")


def test_a_probe_takes_the_settings_of_the_model_only(draft: Draft) -> None:
    draft.typed |= {
        "limit": "50",
        "temperature": "1",
        "family": "chat",
        "api": "chat",
        "key": "work",
        "base_url": "http://127.0.0.1:9",
    }
    assert draft.probe_words() == (
        *("openai/gpt-4.1", "--temperature", "1"),
        *("--base-url", "http://127.0.0.1:9", "--api", "chat", "--key", "work"),
    )
    asking = draft.asking_words()
    assert asking == ("--base-url", "http://127.0.0.1:9", "--key", "work")


def test_faults_name_what_is_allowed_and_stay_out_of_the_command(draft: Draft) -> None:
    draft.typed |= {"limit": "0", "temperature": "hot", "family": "chatty", "epochs": "2"}
    faults = draft.faults()
    assert set(faults) == {"limit", "temperature", "family"}
    assert faults["limit"].what == "--limit must be at least 1, not 0"
    assert "chat" in faults["family"].why
    assert draft.command().endswith("--epochs 2")
    # Needs are those of the settings that can be read.
    assert draft.needs() == {"choose"}
    draft.typed["family"] = "chat"
    assert draft.needs() == {"generate"}


@pytest.mark.parametrize(
    ("option", "text", "value"),
    [
        (Option("n", int, 3, ""), "", 3),
        (Option("n", int, 3, ""), " 4 ", 4),
        (Option("t", str, None, ""), " as it is ", " as it is "),
        (Option("t", str, (), "", many=True), "a,,b ,", ("a", "b")),
        (Option("b", bool, True, ""), "no", False),
    ],
)
def test_typed_texts_become_values(option: Option, text: str, value: object) -> None:
    assert parsed(option, text) == value


def test_a_text_that_is_no_value_is_refused() -> None:
    with pytest.raises(SpecError, match="takes a whole number, not 'x'"):
        parsed(Option("n", int, None, ""), "x")


def test_defaults_and_help_are_in_words() -> None:
    assert default_words(Option("limit", int, None, "")) == "all samples"
    assert default_words(Option("timeout", float, 600.0, "")) == "600"
    assert default_words(Option("group", str, (), "", many=True)) == "any"
    shown = help_words(Option("temperature", float, None, "How warm", minimum=0, maximum=2))
    assert shown == "--temperature: how warm (0 to 2)"
    assert "several: with commas" in help_words(Option("tag", str, (), "a label", many=True))
