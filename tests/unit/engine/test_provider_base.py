"""What a provider has from its base class, and where the engine takes it from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

import pytest

from evalbench.engine.calls import (
    BaseProvider,
    Call,
    Capabilities,
    ModelRef,
    Provider,
    Reply,
    WorkerProvider,
    generate,
)
from evalbench.engine.calls.key_shapes import KEYS, KEYS_IN_ERRORS
from evalbench.engine.calls.options import Option
from evalbench.engine.config import registry
from evalbench.engine.config.roles import make_provider
from evalbench.engine.cost.prices import PriceBook
from evalbench.engine.preflight.probe import models_with_abilities, probe
from evalbench.engine.telemetry.spans import _provider_name


class Least(Provider):
    """As little as a provider can be."""

    name: ClassVar[str] = "least"
    title: ClassVar[str] = "The least"

    async def answer(self, call: Call) -> Reply:
        return Reply("Earth.")


class Moody(Least):
    """Declares options without a record, as plug-ins may."""

    options: ClassVar[tuple[Option, ...]] = (Option("mood", str, "calm", "how it feels"),)


def every_provider() -> Iterator[type[BaseProvider]]:
    yield registry.provider_class("answers")
    yield from map(registry.provider_class, registry.provider_names())


def test_a_run_from_before_an_option_has_its_default() -> None:
    assert make_provider(Moody, {}, "").settings == {"mood": "calm"}
    assert make_provider(Moody, {"mood": "wild"}, "").settings == {"mood": "wild"}


async def test_a_provider_with_nothing_but_answers_can_do_all_that_is_asked_of_one() -> None:
    provider = make_provider(Least, {"mood": 1}, "a secret for another")
    assert isinstance(provider, Provider)
    assert (provider.settings, provider.secret) == ({"mood": 1}, "")
    assert provider.capabilities("m") == Capabilities()
    provider.check_model("m")
    call = Call(ModelRef("least", "m"), generate("?", temperature=0.5))
    await provider.get_ready(call)
    assert provider.param_notes(call) is None
    assert await models_with_abilities(provider) == []
    assert "no way to check" in await provider.check_key()
    told = await probe(provider, call.model, {}, PriceBook())
    assert (told["text"], told["cost"]) == ("Earth.", None)
    assert provider.batch_api is None
    await provider.close()


def test_what_must_be_there_is_asked_for_at_once() -> None:
    for base in (Provider, WorkerProvider):
        with pytest.raises(TypeError, match="abstract"):
            base({})  # type: ignore[abstract]


def test_what_ships_declares_what_the_engine_asks_for() -> None:
    free, named = set(), {}
    for cls in every_provider():
        assert issubclass(cls, Provider) != issubclass(cls, WorkerProvider)
        free |= {cls.name} if cls.free else set()
        named[cls.name] = _provider_name(cls.name)
    assert free == {
        *("answers", "local", "llamacpp", "lmstudio", "ollama", "sglang", "tgi", "vllm")
    }
    # The well-known values of OpenTelemetry's semantic conventions for generative AI.
    assert named["bedrock"] == "aws.bedrock"
    assert named["google"] == "gcp.gemini"
    assert named["vertex"] == "gcp.vertex_ai"
    assert (named["mistral"], named["xai"]) == ("mistral_ai", "x_ai")
    assert named["anthropic"] == "anthropic"
    assert _provider_name("nobody") == "nobody"


@pytest.mark.parametrize("word", ["sk-ant-api03", "gsk", "xai", "tgp_v1", "fw", "hf", "sk-or-v1"])
def test_one_table_knows_keys_whole_and_in_part(word: str) -> None:
    mark = "_" if word in ("gsk", "fw", "hf") else "-"
    key = f"{word}{mark}Zm9vYmFyYmF6cXV4MTIz"
    needs = [cls.key for cls in every_provider() if cls.key]
    assert word == "hf" or any(need.pattern and re.fullmatch(need.pattern, key) for need in needs)
    assert KEYS.sub("", f"it was {key}.") == "it was ."
    assert KEYS_IN_ERRORS.sub("", f"it was {key[:8]}***{key[-4:]}.") == "it was ."
