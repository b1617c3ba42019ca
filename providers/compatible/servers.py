"""Servers that differ only in their address, key and a few quirks: a table.

Facts come from the vendors' own documentation, linked in each row; whatever it omits is left at the
defaults of :class:`Quirks`, and learned when a server refuses it. Limits and prices link the page
they were read from; a row without one (``limits_page``, ``prices_page``) is unverified: no vendor
source could be opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from evalbench.engine.calls import KeyNeed, Published
from evalbench.engine.calls.options import setting
from evalbench.engine.inference_servers import ServerProgram
from evalbench.providers.compatible.programs import SGLANG
from evalbench.providers.compatible.provider import Compatible, CompatibleOptions
from evalbench.providers.compatible.quirks import Quirks
from evalbench.providers.wire.headers import minute_limits


@dataclass(frozen=True, slots=True)
class Server:
    """One row.

    Attributes:
        title: display name.
        address: base URL, with ``{name}`` for the value of an option.
        variables: environment variables for the key; the first is the vendor's own.
        source: documentation page.
        page: where to create keys.
        pattern: regular expression for a plausible key.
        required: whether a key is needed.
        key_header: the key's header; empty: ``Authorization: Bearer``.
        quirks: other differences.
        settings: its options, some of which are parts of its address.
        price_table: its name in the bundled price table; empty: not included.
        published: the vendor's published limits and prices; unverified if no page is given.
        free: whether it runs on the user's own machine.
        server: its program, if evalbench can start it.
    """

    title: str
    address: str
    variables: tuple[str, ...]
    source: str
    page: str = ""
    pattern: str = ""
    required: bool = True
    key_header: str = ""
    quirks: Quirks = field(default_factory=Quirks)
    settings: CompatibleOptions = field(default_factory=CompatibleOptions)
    price_table: str = ""
    published: Published = field(default_factory=Published)
    free: bool = False
    server: ServerProgram | None = None


_LOCAL = Quirks(raw_text=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudflareOptions(CompatibleOptions):
    """Options of ``cloudflare``."""

    account: str | None = setting(
        None, "id of the account that is asked", variables=("CLOUDFLARE_ACCOUNT_ID",)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DashScopeOptions(CompatibleOptions):
    """Options of ``dashscope``."""

    workspace: str | None = setting(None, "id of the workspace, the first part of its address")
    region: str = setting("ap-southeast-1", "region of the workspace")


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabricksOptions(CompatibleOptions):
    """Options of ``databricks``."""

    host: str | None = setting(
        None, "address of the Databricks workspace", variables=("DATABRICKS_HOST",)
    )


SERVERS: Mapping[str, Server] = {
    "baseten": Server(
        "Baseten",
        "https://inference.baseten.co/v1",
        ("BASETEN_API_KEY",),
        "https://docs.baseten.co/quickstart",
        "https://app.baseten.co/settings/api_keys",
        price_table="baseten",
        published=Published(
            120,
            1_000_000,
            "15 to 120 requests and 0.1 to 1 million tokens a minute, by account",
            "https://docs.baseten.co/inference/model-apis/pricing-and-limits",
            "https://docs.baseten.co/inference/model-apis/pricing-and-limits",
        ),
    ),
    "cerebras": Server(
        "Cerebras",
        "https://api.cerebras.ai/v1",
        ("CEREBRAS_API_KEY",),
        "https://inference-docs.cerebras.ai/resources/openai",
        "https://cloud.cerebras.ai",
        quirks=Quirks(limits=minute_limits),
        price_table="cerebras",
        published=Published(
            limits="by model and tier",
            limits_page="https://inference-docs.cerebras.ai/support/rate-limits",
        ),
    ),
    "cloudflare": Server(
        "Cloudflare Workers AI",
        "https://api.cloudflare.com/client/v4/accounts/{account}/ai/v1",
        ("CLOUDFLARE_API_KEY",),
        "https://developers.cloudflare.com/workers-ai/configuration/open-ai-compatibility",
        "https://dash.cloudflare.com/profile/api-tokens",
        settings=CloudflareOptions(),
        price_table="cloudflare",
        published=Published(
            300,
            limits="300 requests a minute; a few models differ",
            limits_page="https://developers.cloudflare.com/workers-ai/platform/limits",
        ),
    ),
    "cohere": Server(
        "Cohere",
        "https://api.cohere.ai/compatibility/v1",
        ("COHERE_API_KEY", "CO_API_KEY"),
        "https://docs.cohere.com/docs/compatibility-api",
        "https://dashboard.cohere.com/api-keys",
        price_table="cohere",
        published=Published(
            500,
            limits="500 requests a minute; 20 with a trial key",
            limits_page="https://docs.cohere.com/docs/rate-limits",
        ),
    ),
    "dashscope": Server(
        "Alibaba Cloud Model Studio",
        "https://{workspace}.{region}.maas.aliyuncs.com/compatible-mode/v1",
        ("DASHSCOPE_API_KEY",),
        "https://www.alibabacloud.com/help/en/model-studio/compatibility-of-openai-with-dashscope",
        "https://modelstudio.console.alibabacloud.com",
        # https://help.aliyun.com/en/model-studio/deep-thinking
        quirks=Quirks(batches="auto", effort="", no_thinking=("enable_thinking", False)),
        settings=DashScopeOptions(),
        published=Published(
            limits="by model; also a sixtieth of it each second",
            limits_page="https://www.alibabacloud.com/help/en/model-studio/rate-limit",
        ),
    ),
    "databricks": Server(
        "Databricks",
        "{host}/serving-endpoints",
        ("DATABRICKS_TOKEN",),
        "https://docs.databricks.com/aws/en/machine-learning/model-serving/score-foundation-models",
        "https://docs.databricks.com/aws/en/dev-tools/auth/pat",
        settings=DatabricksOptions(),
        price_table="databricks",
        published=Published(
            limits="by tier: input tokens and output tokens a minute, queries an hour",
            limits_page="https://docs.databricks.com/aws/machine-learning/foundation-model-apis/limits",
        ),
    ),
    "helicone": Server(
        "Helicone",
        "https://ai-gateway.helicone.ai/v1",
        ("HELICONE_API_KEY",),
        "https://docs.helicone.ai/gateway/integrations/llamaindex",
        "https://us.helicone.ai/settings/api-keys",
        published=Published(
            limits="those of the provider behind it",
            limits_page="https://docs.helicone.ai/ai-gateway/overview",
        ),
    ),
    "hf-inference": Server(
        "Hugging Face Inference Providers",
        "https://router.huggingface.co/v1",
        ("HF_TOKEN",),
        "https://huggingface.co/changelog/inference-providers-openai-compatible",
        "https://huggingface.co/settings/tokens",
        r"hf_\w{20,}",
        published=Published(
            limits="monthly credits, then pay as you go",
            limits_page="https://huggingface.co/docs/inference-providers/pricing",
            prices_page="https://huggingface.co/docs/inference-providers/pricing",
        ),
    ),
    "litellm": Server(
        "LiteLLM",
        "http://127.0.0.1:4000/v1",
        ("LITELLM_API_KEY",),
        "https://docs.litellm.ai/docs/simple_proxy",
        required=False,
    ),
    "minimax": Server(
        "MiniMax",
        "https://api.minimax.io/v1",
        ("MINIMAX_API_KEY",),
        "https://platform.minimax.io/docs/api-reference/text-openai-api",
        "https://platform.minimax.io",
        quirks=Quirks(cap="max_completion_tokens"),
        price_table="minimax",
        published=Published(
            500,
            20_000_000,
            "500 requests and 20 million tokens a minute; M3: 200 and 10 million",
            "https://platform.minimax.io/docs/guides/rate-limits",
        ),
    ),
    "moonshot": Server(
        "Moonshot AI",
        "https://api.moonshot.ai/v1",
        ("MOONSHOT_API_KEY",),
        "https://platform.kimi.ai/docs/api/quickstart",
        "https://platform.kimi.ai/console/api-keys",
        quirks=Quirks(batches="auto"),
        price_table="moonshotai",
        published=Published(
            limits="3 to 10,000 requests a minute, by what was paid in",
            limits_page="https://platform.moonshot.ai/docs/pricing/limits",
        ),
    ),
    "nvidia": Server(
        "NVIDIA NIM",
        "https://integrate.api.nvidia.com/v1",
        ("NVIDIA_API_KEY",),
        "https://docs.api.nvidia.com/nim/reference",
        "https://build.nvidia.com/settings",
        r"nvapi-[\w-]{20,}",
    ),
    "portkey": Server(
        "Portkey",
        "https://api.portkey.ai/v1",
        ("PORTKEY_API_KEY",),
        "https://portkey.ai/docs/api-reference/inference-api/headers",
        "https://app.portkey.ai/api-keys",
        key_header="x-portkey-api-key",
    ),
    "sambanova": Server(
        "SambaNova",
        "https://api.sambanova.ai/v1",
        ("SAMBANOVA_API_KEY",),
        "https://docs.sambanova.ai/docs/en/features/openai-compatibility",
        "https://cloud.sambanova.ai/apis",
        published=Published(
            limits="by model and tier; responses state them in headers",
            limits_page="https://docs.sambanova.ai/docs/en/models/rate-limits",
        ),
    ),
    "sglang": Server(
        "SGLang",
        "http://127.0.0.1:30000/v1",
        ("SGLANG_API_KEY",),
        "https://docs.sglang.io",
        required=False,
        quirks=_LOCAL,
        free=True,
        server=SGLANG,
    ),
    "tgi": Server(
        "Text Generation Inference",
        "http://127.0.0.1:3000/v1",
        ("TGI_API_KEY",),
        "https://huggingface.co/docs/text-generation-inference/messages_api",
        required=False,
        free=True,
    ),
    "zai": Server(
        "Z.ai (Zhipu)",
        "https://api.z.ai/api/paas/v4",
        ("ZAI_API_KEY",),
        "https://docs.z.ai/api-reference/introduction",
        "https://z.ai/manage-apikey/apikey-list",
        quirks=Quirks(no_thinking=("thinking", {"type": "disabled"})),
        price_table="zai",
    ),
}
"""Rows by provider name."""


@cache
def server_class(name: str) -> type[Compatible]:
    """The provider for a row.

    Raises:
        KeyError: there is no such row.
    """
    row = SERVERS[name]
    return type(
        name.title().replace("-", ""),
        (Compatible,),
        {
            "__doc__": f"{row.title}; see {row.source}.",
            "__module__": __name__,
            "name": name,
            "title": row.title,
            "own_address": row.address,
            "settings": row.settings,
            "key": KeyNeed(row.variables, row.page, row.pattern, required=row.required),
            "key_header": row.key_header,
            "quirks": row.quirks,
            "price_table": row.price_table,
            "published": row.published,
            "free": row.free,
            "server": row.server,
        },
    )


class _Table:
    """The rows as attributes, for entry points."""

    def __getattr__(self, name: str) -> Any:
        try:
            return server_class(name.replace("_", "-"))
        except KeyError:
            raise AttributeError(name) from None


servers = _Table()
