"""The provider ``vertex``: Gemini models of a Google Cloud project.

Credentials are the machine's own (Application Default Credentials), found and refreshed by the SDK;
a Vertex AI express-mode key works as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from evalbench.engine.calls import KeyNeed
from evalbench.engine.calls.options import record_of, setting
from evalbench.engine.errors import SpecError
from evalbench.providers.google.access import Access
from evalbench.providers.google.provider import Gemini, GeminiOptions
from evalbench.providers.wire.address import api_address

_MULTI_REGIONS = ("us", "eu")
_REGION = re.compile(r"[a-z0-9-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class VertexOptions(GeminiOptions):
    """Options of :class:`Vertex`."""

    project: str | None = setting(
        None, "Google Cloud project (default: from the machine's credentials)"
    )
    location: str = setting("global", "Google Cloud location: global or a region")


class Vertex(Gemini):
    """Calls Gemini models as the machine's Google Cloud account."""

    name: ClassVar[str] = "vertex"
    title: ClassVar[str] = "Vertex AI"
    trace_name: ClassVar[str] = "gcp.vertex_ai"
    address_variables: ClassVar[tuple[str, ...]] = ("GOOGLE_VERTEX_BASE_URL",)
    batch_lacks: ClassVar[str] = (
        "batches of Vertex AI go through buckets of Google Cloud; "
        "google/MODEL takes them with a key of the Gemini API"
    )
    settings = VertexOptions()
    key: ClassVar[KeyNeed | None] = KeyNeed(
        variables=("VERTEX_API_KEY",),
        page="https://console.cloud.google.com/vertex-ai/studio/settings/api-keys",
        required=False,
        profile="GOOGLE_APPLICATION_CREDENTIALS",
    )

    def __init__(self, settings: Mapping[str, Any], secret: str = "") -> None:
        own = record_of(VertexOptions, settings)
        location = own.location
        address = api_address(own.base_url, _own(location), version="v1", versioned=False)
        access = Access(
            secret=secret.strip(),
            vertex=True,
            project=own.project or "",
            location=location,
        )
        super().__init__(settings, access, address, "v1")


def _own(location: str) -> str:
    if not _REGION.fullmatch(location):
        # It becomes part of the host name that credentials are sent to.
        raise SpecError(
            "location",
            f"{location!r} is no region of Google Cloud",
            hint="global, or a region such as europe-west4",
        )
    if location == "global":
        return "https://aiplatform.googleapis.com"
    if location in _MULTI_REGIONS:
        return f"https://aiplatform.{location}.rep.googleapis.com"
    return f"https://{location}-aiplatform.googleapis.com"
