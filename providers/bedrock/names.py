"""Names of models on Bedrock: foundation models, inference profiles, ARNs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

GEOGRAPHIES = (
    *("us", "eu", "apac", "jp", "au", "ca", "sa", "me", "af", "in", "mx", "us-gov"),
    "global",
)
"""Prefixes of system-defined inference profiles: where the model may run."""

_ARN = re.compile(r"arn:aws[\w-]*:(?:bedrock|sagemaker):(?P<region>[a-z0-9-]*):\d*:(?P<rest>.+)")
_VERSION = re.compile(r"(?:-v\d+)?(?::[\w.]+)*$")


@dataclass(frozen=True, slots=True)
class ModelName:
    """A parsed model name.

    Attributes:
        text: the full name, as the API takes it.
        base: the foundation model's own name, ``vendor.model``; empty if the name does not contain
            it (an application profile, a custom model).
        geography: the inference profile's, such as ``us`` or ``global``.
        region: the region in an ARN.
    """

    text: str
    base: str = ""
    geography: str = ""
    region: str = ""

    @property
    def vendor(self) -> str:
        """The vendor, such as ``anthropic``."""
        return self.base.partition(".")[0]

    @property
    def plain(self) -> str:
        """The vendor's own name for the model: without the vendor and Bedrock's version."""
        return _VERSION.sub("", self.base.partition(".")[2])


@cache
def model_name(text: str) -> ModelName:
    """Parse a name; any string is a name, though not always an informative one."""
    found = _ARN.fullmatch(text)
    region, name = (found["region"], found["rest"]) if found else ("", text)
    kind, slash, inner = name.partition("/")
    if slash:
        if kind not in ("inference-profile", "foundation-model"):
            return ModelName(text, region=region)
        name = inner
    geography, _, rest = name.partition(".")
    if geography in GEOGRAPHIES and "." in rest:
        return ModelName(text, rest, geography, region)
    return ModelName(text, name if "." in name else "", "", region)


def geography_of(region: str) -> str:
    """The geography whose profiles a region usually has."""
    if region.startswith("us-gov-"):
        return "us-gov"
    area = region.partition("-")[0]
    return {"ap": "apac", "ca": "us"}.get(area, area)
