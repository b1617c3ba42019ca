"""Together's catalogue of supported models, and whose a key is."""

from __future__ import annotations

from typing import Any

from tests.simulator.exchange import Answer, Exchange
from tests.simulator.models import Model
from tests.simulator.together_access import NAME, Access
from tests.simulator.together_errors import refuse

_PRODUCTS = ("PRODUCT_SERVERLESS", "PRODUCT_DEDICATED", "PRODUCT_FINE_TUNING")
_MODALITIES = ("MODALITY_TEXT", "MODALITY_IMAGE", "MODALITY_AUDIO", "MODALITY_VIDEO")
_QUERY = frozenset({"adapterMode", "after", "limit", "modality", "product", "search"})


class Catalogue:
    """``/v2/supported-models`` and ``/v3/whoami``."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def whoami(self, exchange: Exchange) -> Answer:
        """Whose key it is."""
        return Answer(
            {
                "type": "project_api_key",
                "api_key": {"id": "key_simulated"},
                "organization": {"id": "org_simulated", "name": "Simulated"},
                "project": {"id": "proj_simulated", "name": "Bench", "slug": "bench"},
            }
        )

    def supported(self, exchange: Exchange) -> Answer:
        """A page of the catalogue."""
        query = {name: values[-1] for name, values in exchange.query.items()}
        for name in query:
            if name not in _QUERY:
                refuse(f"unknown query parameter {name}", param=name)
        product, modality = query.get("product"), query.get("modality")
        if product is not None and product not in _PRODUCTS:
            refuse(f"invalid product {product}", param="product")
        if modality is not None and modality not in _MODALITIES:
            refuse(f"invalid modality {modality}", param="modality")
        wanted = query.get("search", "").lower()
        entries = [
            entry
            for model in self._access.world.catalogue.list(NAME)
            if model.lifecycle != "retired"
            for entry in [self._entry(model)]
            if (product is None or product in entry["products"])
            and (modality is None or modality in entry["inputModalities"])
            and wanted in f"{entry['id']} {entry['name']}".lower()
        ]
        begin = int(query.get("after") or 0)
        most = int(query.get("limit") or 50)
        after = str(begin + most) if begin + most < len(entries) else None
        page = entries[begin : begin + most]
        return Answer({"object": "list", "data": page, "next_cursor": after})

    @staticmethod
    def _entry(model: Model) -> dict[str, Any]:
        senses = ["MODALITY_TEXT"]
        senses += ["MODALITY_IMAGE"] if model.images else []
        senses += ["MODALITY_VIDEO"] if model.video else []
        features = ["FEATURE_TOOL_CALLING", "FEATURE_STRUCTURED_OUTPUT"]
        features += ["FEATURE_REASONING"] if "enabled" in model.thinking else []
        status = "DEPRECATED" if model.lifecycle == "deprecated" else "SUPPORTED"
        when = f"{model.released}T00:00:00Z"
        entry: dict[str, Any] = {
            "id": model.id,
            "name": model.id.removesuffix("-Turbo"),
            "baseModel": f"projects/proj_together/models/{model.title}",
            "baseModelId": model.title,
            "displayName": model.title,
            "displayType": "chat",
            "publisher": model.owner,
            "capabilities": ["CAPABILITY_CHAT"],
            "features": features,
            "inputModalities": senses,
            "outputModalities": ["MODALITY_TEXT"],
            "products": ["PRODUCT_SERVERLESS"] if model.serverless else [],
            "status": f"SUPPORTED_MODEL_STATUS_{status}",
            "contextLength": str(model.context),
            "deploymentProfiles": [],
            "createdAt": when,
            "updatedAt": when,
            "tags": [],
        }
        entry["products"].append("PRODUCT_DEDICATED")
        if model.serverless:
            entry["serverlessEndpoint"] = model.id
        if model.price and model.serverless:
            entry["pricing"] = {
                "input": model.price.input,
                "output": model.price.output,
                "cachedInput": model.price.cache_read,
            }
        return entry
