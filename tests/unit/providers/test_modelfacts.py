"""What is known about models, and who has the last word."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from evalbench.engine.config import registry
from evalbench.engine.errors import UsageError
from evalbench.engine.paths import cache_dir, config_dir
from evalbench.providers import modelfacts
from evalbench.providers.anthropic.catalogue import told_facts
from evalbench.providers.modelfacts import FactsResolver, ModelFacts, known_names, other_provider
from evalbench.providers.modelfacts.make_table import make
from evalbench.providers.modelfacts.table import table_facts

HERE = Path(modelfacts.__file__).parent


def users_own(text: str) -> None:
    config_dir().mkdir(parents=True)
    (config_dir() / "models.toml").write_text(text, "utf-8")


@pytest.mark.parametrize("provider", ["anthropic", "openai", "mistral", "xai", "fireworks"])
def test_every_row_can_be_read(provider: str) -> None:
    names = known_names(provider)
    assert names
    for name in names:
        assert isinstance(table_facts(provider, name), ModelFacts)


def test_families_can_be_read_and_name_known_providers() -> None:
    families = orjson.loads((HERE / "families.json").read_bytes())["families"]
    for provider, entries in families.items():
        assert provider in registry.provider_names()
        for family in entries:
            assert family["facts"] == dict(family["facts"])
            ModelFacts().with_known(family["facts"])


@pytest.mark.parametrize(
    ("model", "thinking", "sampling"),
    [
        ("claude-haiku-4-5", ("enabled", "disabled"), "legacy"),
        ("claude-haiku-4-5-20251001", ("enabled", "disabled"), "legacy"),
        ("claude-opus-4-6", ("adaptive", "enabled", "disabled"), "legacy"),
        ("claude-opus-4-8", ("adaptive", "disabled"), "no"),
        ("claude-sonnet-5", ("adaptive", "disabled"), "no"),
        ("claude-sonnet-5-5", ("adaptive", "between_tools"), "no"),
        ("claude-opus-5-5", ("adaptive",), "no"),
        ("claude-fable-5-2", ("adaptive",), "no"),
        ("claude-novella-9", None, "no"),
    ],
)
def test_generations_of_claude(model: str, thinking: tuple[str, ...] | None, sampling: str) -> None:
    facts = table_facts("anthropic", model)
    assert (facts.thinking, facts.sampling) == (thinking, sampling)


def test_dated_names_take_the_row_of_the_plain_one() -> None:
    plain = table_facts("openai", "gpt-6-luna")
    assert table_facts("openai", "gpt-6-luna-2026-09-15") == plain
    assert plain.context_tokens


def test_nothing_is_known_of_a_stranger() -> None:
    assert table_facts("compatible", "some/model") == ModelFacts()


def test_retirement_dates_are_there() -> None:
    facts = table_facts("openai", "gpt-5-mini")
    assert facts.retires == "2026-12-11"
    assert facts.successor


def test_the_api_overrules_the_table_and_the_user_everybody() -> None:
    facts_resolver = FactsResolver("anthropic", "host")
    assert facts_resolver.of("claude-opus-5-5").thinking == ("adaptive",)
    facts_resolver.tell(
        {"claude-opus-5-5": {"thinking": ["adaptive", "disabled"], "images": False}}
    )
    assert facts_resolver.of("claude-opus-5-5").thinking == ("adaptive", "disabled")
    assert FactsResolver("anthropic", "host").of("claude-opus-5-5").images is False
    assert FactsResolver("anthropic", "elsewhere").of("claude-opus-5-5").images is True
    users_own('["anthropic/claude-opus-5-5"]\nimages = true\nefforts = ["low"]\n')
    facts = FactsResolver("anthropic", "host").of("claude-opus-5-5")
    assert (facts.images, facts.efforts) == (True, ("low",))
    assert facts.thinking == ("adaptive", "disabled")


def test_told_facts_are_fresh_for_a_while() -> None:
    facts_resolver = FactsResolver("anthropic", "host")
    assert not facts_resolver.fresh("m")
    facts_resolver.tell({"m": {"images": True}})
    assert facts_resolver.fresh("m")
    assert FactsResolver("anthropic", "host").fresh("m")


@pytest.mark.parametrize("content", [b"", b"[]", b'{"m": 1}', b'{"m": [1, {"odd": 2}]}'])
def test_a_damaged_copy_is_no_copy(content: bytes) -> None:
    file = cache_dir() / "models" / "anthropic-host.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    assert not FactsResolver("anthropic", "host").fresh("m")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[", "cannot be read"),
        ('["openai/m"]\nefort = ["low"]', "no field 'efort'"),
        ('["openai/m"]\nimages = "yes"', "images cannot be 'yes'"),
        ('["openai/m"]\nsampling = "maybe"', "sampling cannot be"),
        ('["openai/m"]\ncontext_tokens = true', "context_tokens cannot be"),
        ('"openai/m" = 3', "models.toml"),
    ],
)
def test_mistakes_in_the_users_file_are_named(text: str, words: str) -> None:
    users_own(text)
    with pytest.raises(UsageError, match=words):
        FactsResolver("openai", "host").of("m")


def test_a_model_that_plainly_belongs_elsewhere() -> None:
    assert other_provider("openai", "claude-opus-5-5") == "anthropic"
    assert other_provider("anthropic", "gpt-4.1") == "openai"
    assert other_provider("anthropic", "claude-opus-5-5") == ""
    assert other_provider("anthropic", "anything") == ""


def test_what_the_api_states_and_nothing_else() -> None:
    entry = {
        "id": "m",
        "max_input_tokens": 1000,
        "retires_at": "2027-01-02T00:00:00Z",
        "capabilities": {
            "image_input": {"supported": False},
            "thinking": {
                "supported": True,
                "types": {"adaptive": {"supported": True}, "enabled": {"supported": False}},
            },
            "effort": {"supported": True, "low": {"supported": True}, "max": None},
        },
    }
    assert told_facts(entry) == {
        "context_tokens": 1000,
        "retires": "2027-01-02",
        "images": False,
        "thinking": ["adaptive"],
        "efforts": ["low"],
    }
    assert told_facts({"id": "m"}) == {}
    assert told_facts({"id": "m", "capabilities": {"thinking": "odd", "effort": 3}}) == {}


def test_the_table_is_made_of_plain_facts() -> None:
    table = make(
        {
            "claude-x": {
                "litellm_provider": "anthropic",
                "mode": "chat",
                "max_input_tokens": 10,
                "supports_sampling_params": False,
                "supports_output_config": True,
                "supports_max_reasoning_effort": True,
            },
            "mistral/m": {
                "litellm_provider": "mistral",
                "mode": "chat",
                "max_input_tokens": 10,
                "reasoning_effort_levels": ["none", "high"],
            },
            "text-embedding": {"litellm_provider": "openai", "mode": "embedding"},
            "gpt-x": {"litellm_provider": "azure", "mode": "chat", "max_input_tokens": 10},
        }
    )
    assert table["anthropic"]["claude-x"]["efforts"] == ["low", "medium", "high", "max"]
    assert table["anthropic"]["claude-x"]["sampling"] == "no"
    assert table["mistral"] == {"m": {"context_tokens": 10, "efforts": ["none", "high"]}}
    assert table.keys() == {"anthropic", "mistral"}
