"""Names of models on Bedrock: foundation models, inference profiles, ARNs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

GEOGRAPHIES = (
    *("us", "eu", "apac", "jp", "au", "ca", "sa", "me", "af", "in", "mx", "us-gov"),
    "global",
)
"""What a system-defined inference profile is called after: where its model may run."""

_ARN = re.compile(r"arn:aws[\w-]*:(?:bedrock|sagemaker):(?P<region>[a-z0-9-]*):\d*:(?P<rest>.+)")
_VERSION = re.compile(r"(?:-v\d+)?(?::[\w.]+)*$")


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model's name, taken apart.

    Attributes:
        text: the whole name, as the API takes it.
        base: the foundation model's own name, ``vendor.model``; empty where the
            name does not tell it (an application profile, a model of one's own).
        geography: of an inference profile, such as ``us`` or ``global``.
        region: the region that an ARN names.
    """

    text: str
    base: str = ""
    geography: str = ""
    region: str = ""

    @property
    def vendor(self) -> str:
        """Who made the model, such as ``anthropic``."""
        return self.base.partition(".")[0]

    @property
    def plain(self) -> str:
        """The model's name as its maker writes it: without vendor and Bedrock's version."""
        return _VERSION.sub("", self.base.partition(".")[2])


@cache
def model_name(text: str) -> ModelName:
    """Take a name apart; anything is a name, if not one that tells much."""
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
