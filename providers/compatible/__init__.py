"""Servers that speak OpenAI's chat completions, over a connection of our own.

No SDK is needed here: one aiohttp session answers thousands of calls a second,
which is what a local inference server can take.
"""

from __future__ import annotations

from evalbench.providers.compatible.provider import Compatible

__all__ = ["Compatible"]
