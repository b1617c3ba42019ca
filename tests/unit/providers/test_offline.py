"""What a provider says about a model without touching the network."""

from __future__ import annotations

from typing import Any

import pytest

from evalbench.engine.calls import NETWORK_OPTIONS, Provider
from evalbench.engine.config import registry
from evalbench.engine.errors import NoSuchModel
from evalbench.providers.anthropic import Anthropic
from evalbench.providers.openai import OpenAI

NETWORK = sorted(set(registry.provider_names()) - {"local", "scripted"})
BASE = "http://127.0.0.1:9/v1"


def built(name: str, **settings: Any) -> Any:
    provider: Any = registry.provider_class(name)
    return provider({"base_url": BASE, **settings}, "key-planted-0123456789")


@pytest.mark.parametrize("name", NETWORK)
def test_every_provider_is_whole(name: str) -> None:
    provider = built(name)
    assert isinstance(provider, Provider)
    assert provider.name == name
    assert provider.title
    assert {option.name for option in NETWORK_OPTIONS} <= {o.name for o in provider.options}
    assert provider.key is not None
    assert provider.key.variables
    assert not provider.key.required or provider.key.page.startswith("https://")
    assert "planted" not in repr(provider)


BATCHING = (
    *("anthropic", "openai", "google", "groq", "together", "compatible"),
    *("dashscope", "moonshot"),
)
"""Those that take batches, as far as is known before one is sent."""


@pytest.mark.parametrize("name", BATCHING)
def test_batches_are_bounded(name: str) -> None:
    provider = built(name)
    assert provider.batch_api is not None
    terms = provider.batch_api.terms("some-model")
    assert terms is not None
    assert terms.least_requests == 1
    assert 50_000 <= terms.most_requests <= 100_000
    assert 100_000_000 <= terms.most_bytes <= 2_147_483_648
    assert terms.window_s in (86_400, 2 * 86_400)


@pytest.mark.parametrize("name", NETWORK)
def test_capabilities_of_a_stranger(name: str) -> None:
    able = built(name).capabilities("some-model")
    assert able.generate
    assert able.batch is (name in BATCHING)
    assert able.choose is (name == "vllm")
    assert able.choose or able.reason


def test_capabilities_of_known_models() -> None:
    assert Anthropic({}).capabilities("claude-opus-5-5").images
    assert not Anthropic({}).capabilities("claude-opus-5-5").logprobs
    assert OpenAI({}).capabilities("gpt-4.1").logprobs
    assert not OpenAI({}).capabilities("o3-mini").images
    assert not OpenAI({}).capabilities("o3").logprobs


@pytest.mark.parametrize("model", ["", "  ", "a\nb", "\x1b[31m"])
def test_what_is_no_name_is_refused(model: str) -> None:
    for name in ("anthropic", "openai", "groq"):
        with pytest.raises(NoSuchModel):
            built(name).check_model(model)


def test_a_model_of_another_provider_is_refused_at_the_own_address() -> None:
    with pytest.raises(NoSuchModel) as caught:
        OpenAI({}).check_model("claude-opus-5-5")
    assert "anthropic/claude-opus-5-5" in caught.value.hint
    with pytest.raises(NoSuchModel):
        Anthropic({}).check_model("gpt-4.1")
    built("openai").check_model("claude-opus-5-5")


def test_unknown_names_pass() -> None:
    Anthropic({}).check_model("claude-novella-9")
    OpenAI({}).check_model("gpt-99")
