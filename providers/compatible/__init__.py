"""Servers that speak OpenAI's chat completions, over our own HTTP client.

No SDK is needed: one aiohttp session handles thousands of calls per second, as many as a local
inference server can take.
"""

from __future__ import annotations

from evalbench.providers.compatible.provider import Compatible

__all__ = ["Compatible"]
