"""Servers and services that need no ``--base-url``: their addresses, keys and quirks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from evalbench.engine.calls import (
    Call,
    KeyNeed,
    ModelInfo,
    Published,
    Reply,
)
from evalbench.engine.calls.options import setting
from evalbench.engine.compat import override
from evalbench.engine.errors import AccessDenied, ProviderError
from evalbench.engine.inference_servers import ServerProgram
from evalbench.providers.chat.errors import error_object
from evalbench.providers.compatible import openrouter
from evalbench.providers.compatible.programs import LLAMA_CPP
from evalbench.providers.compatible.provider import Compatible, CompatibleOptions
from evalbench.providers.compatible.quirks import Quirks
from evalbench.providers.modelfacts import Refused
from evalbench.providers.wire.exchange import Answered, Prepared
from evalbench.providers.wire.failures import build, error_response, json_body, no_model
from evalbench.providers.wire.headers import day_limits, minute_limits, router_limits


@dataclass(frozen=True, slots=True, kw_only=True)
class GroqOptions(CompatibleOptions):
    """Options of :class:`Groq`."""

    reasoning_format: str | None = setting(
        None,
        "where reasoning goes: parsed (its own field), raw (in the text) or hidden",
        choices=("parsed", "raw", "hidden"),
        affects_answers=True,
    )


class Groq(Compatible):
    """Open-weight models on Groq. Its request limits are per day, its token limits per minute."""

    name: ClassVar[str] = "groq"
    title: ClassVar[str] = "Groq"
    price_table: ClassVar[str] = "groq"
    own_address: ClassVar[str | None] = "https://api.groq.com/openai/v1"
    published: ClassVar[Published] = Published(
        limits="by model and plan; responses state them in headers",
        limits_page="https://console.groq.com/docs/rate-limits",
    )
    settings = GroqOptions()
    key: ClassVar[KeyNeed | None] = KeyNeed(
        ("GROQ_API_KEY",), "https://console.groq.com/keys", r"gsk_\w{20,}"
    )
    quirks: ClassVar[Quirks] = Quirks(
        top_k=False,
        cap="max_completion_tokens",
        logprobs=False,
        most_images=5,
        batches="yes",
        limits=day_limits,
    )

    @override
    def prepared(self, call: Call, refused: Refused) -> Prepared:
        prepared = super().prepared(call, refused)
        if form := self.settings.reasoning_format:
            prepared.body["reasoning_format"] = form
        return prepared


_NO_ROUTE = re.compile(r"No endpoints found(?P<model> for \S+$)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRouterOptions(CompatibleOptions):
    """Options of :class:`OpenRouter`."""

    require_parameters: bool = setting(
        True, "use only routes that support every parameter of a call", affects_answers=True
    )


class OpenRouter(Compatible):
    """Models of many providers behind one router, which reports the cost of each answer."""

    name: ClassVar[str] = "openrouter"
    title: ClassVar[str] = "OpenRouter"
    price_table: ClassVar[str] = "openrouter"
    own_address: ClassVar[str | None] = "https://openrouter.ai/api/v1"
    settings = OpenRouterOptions()
    key: ClassVar[KeyNeed | None] = KeyNeed(
        ("OPENROUTER_API_KEY",), "https://openrouter.ai/settings/keys", r"sk-or-[\w-]{20,}"
    )
    quirks: ClassVar[Quirks] = Quirks(
        effort="reasoning", budget=True, key_path="/key", limits=router_limits
    )
    tells_prices: ClassVar[bool] = True

    @override
    async def warm(self, model: str) -> None:
        """Weekly: the parameters that the routes to every model support."""
        if not self.facts.fresh(model):
            await self.fetch_models()

    @override
    async def fetch_models(self) -> list[ModelInfo]:
        self._listed: dict[str, dict[str, Any]] = {}
        listed = await super().fetch_models()
        self.facts.tell(self._listed)
        return listed

    def _line(self, entry: Mapping[str, Any]) -> ModelInfo:
        line = super()._line(entry)
        self._listed[line.name] = openrouter.facts_of(entry)
        return replace(line, rates=openrouter.rates_of(entry))

    @override
    def read(self, answered: Answered, prepared: Prepared) -> Reply:
        """The reply reports its own cost."""
        reply = super().read(answered, prepared)
        usage = reply.raw.get("usage") if isinstance(reply.raw, Mapping) else None
        return replace(reply, billed=openrouter.billed(usage))

    @override
    def prepare(self, call: Call) -> Prepared:
        prepared = super().prepare(call)
        if self.settings.require_parameters:
            prepared.body["provider"] = {"require_parameters": True}
        return prepared

    @override
    def read_error(self, answered: Answered, model: str) -> ProviderError | Reply:
        """A model without a route for this call, or for this account, is not an unknown model."""
        if answered.status != 404:
            return super().read_error(answered, model)
        response = error_response(answered, self.scrub, error_object(json_body(answered)), "")
        found = _NO_ROUTE.match(response.message)
        if found is None:
            return super().read_error(answered, model)
        if found["model"]:
            return no_model(response, self.who, model)
        what, hint = f"no route of OpenRouter serves {model!r} to this account", ""
        if "parameters" in response.message:
            what = f"no route of OpenRouter serves {model!r} with these parameters"
            hint = (
                "ask for fewer parameters, or allow routes that drop some: --require-parameters no"
            )
        return build(AccessDenied, what, response, hint=hint)

    def key_words(self, body: Mapping[str, Any]) -> str:
        """The remainder of the key's own spending limit."""
        data = body.get("data")
        left = data.get("limit_remaining") if isinstance(data, Mapping) else None
        return f"; ${left:.2f} of its limit is left" if isinstance(left, int | float) else ""


class LmStudio(Compatible):
    """The server of LM Studio."""

    name: ClassVar[str] = "lmstudio"
    title: ClassVar[str] = "LM Studio"
    free: ClassVar[bool] = True
    own_address: ClassVar[str | None] = "http://127.0.0.1:1234/v1"
    key: ClassVar[KeyNeed | None] = KeyNeed(("LMSTUDIO_API_KEY",), required=False)
    quirks: ClassVar[Quirks] = Quirks(raw_text=True)


class LlamaCpp(Compatible):
    """The server of llama.cpp."""

    name: ClassVar[str] = "llamacpp"
    title: ClassVar[str] = "llama.cpp"
    free: ClassVar[bool] = True
    server: ClassVar[ServerProgram | None] = LLAMA_CPP
    own_address: ClassVar[str | None] = "http://127.0.0.1:8080/v1"
    key: ClassVar[KeyNeed | None] = KeyNeed(("LLAMACPP_API_KEY",), required=False)
    quirks: ClassVar[Quirks] = Quirks(raw_text=True)


class DeepSeek(Compatible):
    """DeepSeek's own API."""

    name: ClassVar[str] = "deepseek"
    title: ClassVar[str] = "DeepSeek"
    price_table: ClassVar[str] = "deepseek"
    own_address: ClassVar[str | None] = "https://api.deepseek.com/v1"
    published: ClassVar[Published] = Published(
        limits="none of its own; 429 and 503 under load",
        limits_page="https://platform.deepseek.com/api-docs/quick_start/rate_limit",
    )
    key: ClassVar[KeyNeed | None] = KeyNeed(
        ("DEEPSEEK_API_KEY",), "https://platform.deepseek.com/api_keys", r"sk-\w{20,}"
    )
    quirks: ClassVar[Quirks] = Quirks(top_k=False, seed="", schema=False, cached_from=1024)


class Mistral(Compatible):
    """Mistral's own API."""

    name: ClassVar[str] = "mistral"
    title: ClassVar[str] = "Mistral"
    price_table: ClassVar[str] = "mistral"
    trace_name: ClassVar[str] = "mistral_ai"
    own_address: ClassVar[str | None] = "https://api.mistral.ai/v1"
    published: ClassVar[Published] = Published(
        limits="by tier: requests a second, tokens a minute and a month",
        limits_page="https://docs.mistral.ai/deployment/ai-studio/tier",
    )
    key: ClassVar[KeyNeed | None] = KeyNeed(
        ("MISTRAL_API_KEY",), "https://console.mistral.ai/api-keys", r"\w{32}"
    )
    quirks: ClassVar[Quirks] = Quirks(
        top_k=False, seed="random_seed", logprobs=False, limits=minute_limits
    )


class Xai(Compatible):
    """Grok models on xAI."""

    name: ClassVar[str] = "xai"
    title: ClassVar[str] = "xAI"
    price_table: ClassVar[str] = "x-ai"
    trace_name: ClassVar[str] = "x_ai"
    own_address: ClassVar[str | None] = "https://api.x.ai/v1"
    published: ClassVar[Published] = Published(
        limits="by model and tier: requests a second, tokens a minute",
        limits_page="https://docs.x.ai/developers/rate-limits",
    )
    key: ClassVar[KeyNeed | None] = KeyNeed(
        ("XAI_API_KEY",), "https://console.x.ai", r"xai-\w{20,}"
    )
    quirks: ClassVar[Quirks] = Quirks(
        top_k=False, cap="max_completion_tokens", most_logprobs=8, cached_from=1024
    )


class Fireworks(Compatible):
    """Open-weight models on Fireworks."""

    name: ClassVar[str] = "fireworks"
    title: ClassVar[str] = "Fireworks"
    price_table: ClassVar[str] = "fireworks"
    own_address: ClassVar[str | None] = "https://api.fireworks.ai/inference/v1"
    published: ClassVar[Published] = Published(
        6000,
        limits="6,000 requests a minute; tokens by use, stated in headers",
        limits_page="https://docs.fireworks.ai/guides/quotas_usage/account-quotas",
    )
    key: ClassVar[KeyNeed | None] = KeyNeed(
        ("FIREWORKS_API_KEY",), "https://app.fireworks.ai/settings/users/api-keys", r"fw_\w{16,}"
    )
    quirks: ClassVar[Quirks] = Quirks(most_logprobs=5)
