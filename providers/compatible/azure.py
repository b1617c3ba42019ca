"""Azure OpenAI: deployments as models, a key or an Entra token, its v1 API or a dated one.

Source: https://learn.microsoft.com/azure/foundry/openai/api-version-lifecycle, and the Azure guide
of OpenAI's SDKs, https://github.com/openai/openai-node/blob/master/docs/azure.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar
from urllib.parse import quote

from evalbench.engine.calls import Call, KeyNeed, Published, Reply
from evalbench.engine.calls.options import record_of, setting
from evalbench.engine.compat import override
from evalbench.engine.errors import NoSuchModel, ProviderError
from evalbench.providers.compatible.provider import Compatible, CompatibleOptions
from evalbench.providers.compatible.quirks import Quirks
from evalbench.providers.modelfacts import Refused
from evalbench.providers.wire.address import Address
from evalbench.providers.wire.exchange import Answered, Prepared

_V1 = "v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class AzureOptions(CompatibleOptions):
    """Options of :class:`Azure`."""

    endpoint: str | None = setting(
        None,
        "address of the resource, https://NAME.openai.azure.com",
        variables=("AZURE_OPENAI_ENDPOINT",),
    )
    api_version: str = setting(
        _V1,
        "v1, or a dated version such as 2024-10-21, which asks a deployment by its address",
        variables=("OPENAI_API_VERSION",),
        affects_answers=True,
    )


class Azure(Compatible):
    """Models of an Azure OpenAI resource. A model's name is that of its deployment."""

    name: ClassVar[str] = "azure"
    title: ClassVar[str] = "Azure OpenAI"
    price_table: ClassVar[str] = "azure"
    own_address: ClassVar[str | None] = "{endpoint}/openai/v1"
    published: ClassVar[Published] = Published(
        limits="by region, model and deployment: tokens and requests a minute",
        limits_page="https://learn.microsoft.com/azure/ai-foundry/openai/quotas-limits",
    )
    settings = AzureOptions()
    key: ClassVar[KeyNeed | None] = KeyNeed(
        ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"), "https://portal.azure.com"
    )
    quirks: ClassVar[Quirks] = Quirks(cap="max_completion_tokens", batches="no")

    def __init__(self, settings: Mapping[str, Any], secret: str = "") -> None:
        own = record_of(AzureOptions, settings)
        self._version = own.api_version
        if self._version != _V1:
            settings = {**settings, "query": (f"api-version={self._version}", *own.query)}
        super().__init__(settings, secret)
        self._root = self.address.url.removesuffix("/openai/v1")

    @classmethod
    @override
    def address_for(cls, settings: Mapping[str, Any]) -> Address:
        """The base URL, from whatever part of a resource's address is given."""
        own = record_of(AzureOptions, settings)
        given = own.base_url or own.endpoint
        if given:
            # Not the prefix of https://openai-…, where it begins a resource's name.
            given = re.sub(r"(?<!/)/openai(?:/.*)?$", "", str(given).strip().strip("'\""))
            given = given.rstrip("/")
            given = given if "://" in given else f"https://{given}"
            settings = {**settings, "base_url": f"{given}/openai/v1"}
        return super().address_for(settings)

    def key_headers(self) -> dict[str, str]:
        """A key goes in its own header; an Entra token is a JSON Web Token."""
        if self.secret.startswith("eyJ"):
            return {"Authorization": f"Bearer {self.secret}"}
        return {"api-key": self.secret} if self.secret else {}

    @override
    def prepared(self, call: Call, refused: Refused) -> Prepared:
        """Dated versions have the deployment in the path."""
        prepared = super().prepared(call, refused)
        if self._version == _V1:
            return prepared
        deployment = quote(prepared.model, safe="")
        path = f"{self._root}/openai/deployments/{deployment}{prepared.path}"
        return replace(prepared, path=path)

    @override
    def read_error(self, answered: Answered, model: str) -> ProviderError | Reply:
        """A model's name says nothing here; its list has no deployments either."""
        result = super().read_error(answered, model)
        if isinstance(result, NoSuchModel):
            result.what = f"this Azure OpenAI resource has no deployment {model!r}"
            result.hint = "name a deployment, as the resource's page of deployments lists them"
        return result
