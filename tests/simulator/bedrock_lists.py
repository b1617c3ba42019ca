"""Bedrock's control plane and STS: lists of models and profiles, who asks."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

from tests.simulator.bedrock_checks import error, refuse
from tests.simulator.bedrock_models import offer_of, profiles_in, regions_of
from tests.simulator.exchange import Answer, Exchange, Refused
from tests.simulator.models import Model
from tests.simulator.world import World

_ACCOUNT = "123456789012"
_STS = "https://sts.amazonaws.com/doc/2011-06-15/"
_PAGE = 100


def _models(world: World, region: str) -> list[Model]:
    return [
        model
        for model in world.catalogue.list("bedrock")
        if model.lifecycle != "retired"
        and (region in offer_of(model.id).on_demand or profiles_in(model.id, region))
    ]


def _arn(region: str, model: str) -> str:
    return f"arn:aws:bedrock:{region}::foundation-model/{model}"


def foundation_models(world: World, query: dict[str, list[str]], region: str) -> Answer:
    """Every model of a region, whether it answers by its own id or not."""
    for name in query:
        if name not in (
            *("byProvider", "byCustomizationType", "byOutputModality", "byInferenceType"),
            "projectIdentifier",
        ):
            refuse(f"Unknown query parameter {name}")
    listed = [_summary(model, region) for model in _models(world, region)]
    # What Bedrock lists besides: no model that writes text.
    listed.append(
        {
            **_summary(listed_like("amazon.titan-embed-text-v2:0"), region),
            "outputModalities": ["EMBEDDING"],
            "inferenceTypesSupported": ["ON_DEMAND"],
        }
    )
    return Answer({"modelSummaries": listed})


def listed_like(name: str) -> Model:
    """A model that is only listed."""
    return Model(id=name, title="Titan Text Embeddings V2", released="", context=8192, max_output=1)


def _summary(model: Model, region: str) -> dict[str, Any]:
    offer = offer_of(model.id)
    lifecycle: dict[str, Any] = {"status": "LEGACY" if offer.legacy else "ACTIVE"}
    if offer.legacy:
        lifecycle |= {
            "legacyTime": "2026-03-10T00:00:00Z",
            "endOfLifeTime": "2026-12-10T00:00:00Z",
        }
    inputs = ["TEXT", *(["IMAGE"] if model.images else []), *(["VIDEO"] if offer.video else [])]
    return {
        "modelArn": _arn(region, model.id),
        "modelId": model.id,
        "modelName": model.title,
        "providerName": model.id.partition(".")[0].title(),
        "inputModalities": inputs,
        "outputModalities": ["TEXT"],
        "responseStreamingSupported": True,
        "customizationsSupported": [],
        "inferenceTypesSupported": (
            ["ON_DEMAND"] if region in offer.on_demand else ["INFERENCE_PROFILE"]
        ),
        "modelLifecycle": lifecycle,
    }


def inference_profiles(world: World, query: dict[str, list[str]], region: str) -> Answer:
    """The profiles of a region, by pages."""
    kind = query.get("type", ["SYSTEM_DEFINED"])[0]
    if kind not in ("SYSTEM_DEFINED", "APPLICATION"):
        refuse(f"1 validation error detected: Value '{kind}' at 'typeEquals'")
    size = min(int(query.get("maxResults", [str(_PAGE)])[0]), 1000)
    found = [
        _profile(model, name, region)
        for model in _models(world, region)
        for name in profiles_in(model.id, region)
        if kind == "SYSTEM_DEFINED"
    ]
    start = int(query.get("nextToken", ["0"])[0])
    body: dict[str, Any] = {"inferenceProfileSummaries": found[start : start + size]}
    if start + size < len(found):
        body["nextToken"] = str(start + size)
    return Answer(body)


def _profile(model: Model, name: str, region: str) -> dict[str, Any]:
    geography = name.partition(".")[0]
    return {
        "inferenceProfileName": f"{geography.upper()} {model.title}",
        "description": f"Routes requests to {model.title} in {geography} regions.",
        "createdAt": "2025-10-01T00:00:00Z",
        "updatedAt": "2025-10-01T00:00:00Z",
        "inferenceProfileArn": f"arn:aws:bedrock:{region}:{_ACCOUNT}:inference-profile/{name}",
        "models": [{"modelArn": _arn(where, model.id)} for where in regions_of(geography)],
        "inferenceProfileId": name,
        "status": "ACTIVE",
        "type": "SYSTEM_DEFINED",
    }


def availability(world: World, name: str, region: str) -> Answer:
    """Whether this account may use a model."""
    if name not in {model.id for model in _models(world, region)}:
        raise Refused(error(404, "Could not find the specified model."))
    return Answer(
        {
            "modelId": name,
            "agreementAvailability": {"status": "AVAILABLE"},
            "authorizationStatus": "AUTHORIZED",
            "entitlementAvailability": "AVAILABLE",
            "regionAvailability": "AVAILABLE",
        }
    )


def identity(exchange: Exchange) -> Answer:
    """GetCallerIdentity."""
    form = parse_qs(exchange.raw.decode())
    if form.get("Action") != ["GetCallerIdentity"] or form.get("Version") != ["2011-06-15"]:
        raise Refused(error(400, "Could not find operation", "InvalidAction"))
    text = (
        f'<GetCallerIdentityResponse xmlns="{_STS}"><GetCallerIdentityResult>'
        f"<Arn>arn:aws:iam::{_ACCOUNT}:user/tester</Arn><UserId>AIDATESTER</UserId>"
        f"<Account>{_ACCOUNT}</Account></GetCallerIdentityResult><ResponseMetadata>"
        f"<RequestId>{exchange.request_id}</RequestId></ResponseMetadata>"
        "</GetCallerIdentityResponse>"
    )
    return Answer(text.encode(), content_type="text/xml")


_IN_STS = {
    "UnrecognizedClientException": "InvalidClientTokenId",
    "ExpiredTokenException": "ExpiredToken",
    "InvalidSignatureException": "SignatureDoesNotMatch",
    "MissingAuthenticationTokenException": "MissingAuthenticationToken",
    "IncompleteSignatureException": "IncompleteSignature",
}


def in_xml(answer: Answer, request_id: str) -> Answer:
    """An error in the form and by the names of STS."""
    name = answer.headers.get("x-amzn-errortype", "")
    text = (
        f'<ErrorResponse xmlns="{_STS}"><Error><Type>Sender</Type>'
        f"<Code>{_IN_STS.get(name, name)}</Code><Message>{escape(answer.body['message'])}"
        f"</Message></Error><RequestId>{request_id}</RequestId></ErrorResponse>"
    )
    return Answer(text.encode(), answer.status, content_type="text/xml")
