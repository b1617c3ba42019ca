"""Perplexity's Agent API, which has the form of OpenAI's Responses.

Its chat completions (Sonar) were shut down in September 2026. Sources:
https://docs.perplexity.ai/docs/grounded-llm/openai-compatibility (the format, and ``/v1/responses``
as an alias of ``/v1/agent``),
https://docs.perplexity.ai/docs/agent-api/building-agents/define-the-run (``instructions``, and
models as provider/model), https://docs.perplexity.ai/docs/admin/rate-limits-usage-tiers. Whether it
lists its models at ``/v1/models`` is unverified.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from evalbench.engine.calls import Call, GatewayOptions, KeyNeed, Published
from evalbench.engine.compat import override
from evalbench.providers.modelfacts import Refused
from evalbench.providers.openai.provider import OpenAI
from evalbench.providers.wire.exchange import Prepared

_NOT_DOCUMENTED = ("store", "truncation", "prompt_cache_key")


class Perplexity(OpenAI):
    """Models of several vendors on Perplexity, called without its search tools."""

    name: ClassVar[str] = "perplexity"
    title: ClassVar[str] = "Perplexity"
    price_table: ClassVar[str] = "perplexity"
    address_variables: ClassVar[tuple[str, ...]] = ()
    own_address: ClassVar[str | None] = "https://api.perplexity.ai/v1"
    takes_batches: ClassVar[bool] = False
    settings = GatewayOptions()
    key: ClassVar[KeyNeed | None] = KeyNeed(
        ("PERPLEXITY_API_KEY",), "https://console.perplexity.ai", r"pplx-\w{20,}"
    )
    published: ClassVar[Published] = Published(
        limits="by usage tier",
        limits_page="https://docs.perplexity.ai/docs/admin/rate-limits-usage-tiers",
    )

    def __init__(self, settings: Mapping[str, Any], secret: str = "") -> None:
        super().__init__({**settings, "api": "responses"}, secret)

    @override
    def prepared(self, call: Call, refused: Refused) -> Prepared:
        """System turns at the start become its ``instructions``."""
        prepared = super().prepared(call, refused)
        body = prepared.body
        for name in _NOT_DOCUMENTED:
            body.pop(name, None)
        rules = []
        while body["input"] and body["input"][0]["role"] == "developer":
            rules.append(body["input"].pop(0)["content"])
        if rules:
            body["instructions"] = "\n\n".join(rules)
        return prepared
