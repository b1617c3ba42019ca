"""The vendors' SDKs against the simulator: no retries of their own, replies parsed strictly."""

from __future__ import annotations

from typing import Any

import anthropic
import httpx
import httpx2
import openai
import together

from tests.simulator.handle import Handle


def anthropic_client(sim: Handle, key: str, **options: Any) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(**_common(sim, "anthropic", key, httpx2), **options)


def openai_client(sim: Handle, key: str, api: str = "openai") -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(**_common(sim, api, key, httpx2))


def together_client(sim: Handle, key: str) -> together.AsyncTogether:
    return together.AsyncTogether(**_common(sim, "together", key, httpx))


def _common(sim: Handle, api: str, key: str, http: Any) -> dict[str, Any]:
    return {
        "api_key": key,
        "base_url": sim.base_url(api),
        "max_retries": 0,
        "timeout": 10,
        # Reading the trust store takes longer than any of these tests, and there is no TLS here.
        "http_client": http.AsyncClient(verify=False),
        "_strict_response_validation": True,
    }
