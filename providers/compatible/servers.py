"""Servers that differ from others in their address, their key and a few quirks: a table.

Facts come from the vendors' own documentation, named with each; what is not said there is left at
the defaults of :class:`Quirks`, and learned when a server refuses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from evalbench.engine.calls import GATEWAY_OPTIONS, KeyNeed
from evalbench.engine.calls.options import Option
from evalbench.providers.compatible.provider import Compatible
from evalbench.providers.compatible.quirks import Quirks


@dataclass(frozen=True, slots=True)
class Server:
    """One row.

    Attributes:
        title: for people.
        address: with ``{name}`` for what an option says.
        variables: environment variables of the key; the first is the vendor's own.
        source: the page that the facts come from.
        page: where keys are made.
        pattern: regular expression of a plausible key.
        required: whether a key is needed.
        key_header: the header of the key; empty: ``Authorization: Bearer``.
        quirks: what else is special.
        options: those of its own, the parts of its address.
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
    options: tuple[Option, ...] = ()


_LOCAL = Quirks(raw_text=True)
_ACCOUNT = Option(
    "account",
    str,
    None,
    "id of the account that is asked",
    variables=("CLOUDFLARE_ACCOUNT_ID",),
)
_WORKSPACE = Option("workspace", str, None, "id of the workspace, the first part of its address")
_REGION = Option("region", str, "ap-southeast-1", "region of the workspace")
_HOST = Option(
    "host", str, None, "address of the Databricks workspace", variables=("DATABRICKS_HOST",)
)

SERVERS: Mapping[str, Server] = {
    "baseten": Server(
        "Baseten",
        "https://inference.baseten.co/v1",
        ("BASETEN_API_KEY",),
        "https://docs.baseten.co/quickstart",
        "https://app.baseten.co/settings/api_keys",
    ),
    "cerebras": Server(
        "Cerebras",
        "https://api.cerebras.ai/v1",
        ("CEREBRAS_API_KEY",),
        "https://inference-docs.cerebras.ai/resources/openai",
        "https://cloud.cerebras.ai",
    ),
    "cloudflare": Server(
        "Cloudflare Workers AI",
        "https://api.cloudflare.com/client/v4/accounts/{account}/ai/v1",
        ("CLOUDFLARE_API_KEY",),
        "https://developers.cloudflare.com/workers-ai/configuration/open-ai-compatibility",
        "https://dash.cloudflare.com/profile/api-tokens",
        options=(_ACCOUNT,),
    ),
    "cohere": Server(
        "Cohere",
        "https://api.cohere.ai/compatibility/v1",
        ("COHERE_API_KEY", "CO_API_KEY"),
        "https://docs.cohere.com/docs/compatibility-api",
        "https://dashboard.cohere.com/api-keys",
    ),
    "dashscope": Server(
        "Alibaba Cloud Model Studio",
        "https://{workspace}.{region}.maas.aliyuncs.com/compatible-mode/v1",
        ("DASHSCOPE_API_KEY",),
        "https://www.alibabacloud.com/help/en/model-studio/compatibility-of-openai-with-dashscope",
        "https://modelstudio.console.alibabacloud.com",
        quirks=Quirks(batches="auto"),
        options=(_WORKSPACE, _REGION),
    ),
    "databricks": Server(
        "Databricks",
        "{host}/serving-endpoints",
        ("DATABRICKS_TOKEN",),
        "https://docs.databricks.com/aws/en/machine-learning/model-serving/score-foundation-models",
        "https://docs.databricks.com/aws/en/dev-tools/auth/pat",
        options=(_HOST,),
    ),
    "helicone": Server(
        "Helicone",
        "https://ai-gateway.helicone.ai/v1",
        ("HELICONE_API_KEY",),
        "https://docs.helicone.ai/gateway/integrations/llamaindex",
        "https://us.helicone.ai/settings/api-keys",
    ),
    "hf-inference": Server(
        "Hugging Face Inference Providers",
        "https://router.huggingface.co/v1",
        ("HF_TOKEN",),
        "https://huggingface.co/changelog/inference-providers-openai-compatible",
        "https://huggingface.co/settings/tokens",
        r"hf_\w{20,}",
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
    ),
    "moonshot": Server(
        "Moonshot AI",
        "https://api.moonshot.ai/v1",
        ("MOONSHOT_API_KEY",),
        "https://platform.kimi.ai/docs/api/quickstart",
        "https://platform.kimi.ai/console/api-keys",
        quirks=Quirks(batches="auto"),
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
    ),
    "sglang": Server(
        "SGLang",
        "http://127.0.0.1:30000/v1",
        ("SGLANG_API_KEY",),
        "https://docs.sglang.io",
        required=False,
        quirks=_LOCAL,
    ),
    "tgi": Server(
        "Text Generation Inference",
        "http://127.0.0.1:3000/v1",
        ("TGI_API_KEY",),
        "https://huggingface.co/docs/text-generation-inference/messages_api",
        required=False,
    ),
    "zai": Server(
        "Z.ai (Zhipu)",
        "https://api.z.ai/api/paas/v4",
        ("ZAI_API_KEY",),
        "https://docs.z.ai/api-reference/introduction",
        "https://z.ai/manage-apikey/apikey-list",
    ),
}
"""By the name of the provider."""


@cache
def server_class(name: str) -> type[Compatible]:
    """The provider of one row.

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
            "options": (*GATEWAY_OPTIONS, *row.options),
            "key": KeyNeed(row.variables, row.page, row.pattern, required=row.required),
            "key_header": row.key_header,
            "quirks": row.quirks,
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
