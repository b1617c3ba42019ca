"""Claude models over Anthropic's API, through the official SDK.

The SDK is imported on first use, in a thread. It carries the request, the key
and the API version; bodies are made and read here.
"""

from __future__ import annotations

from evalbench.providers.anthropic.provider import Anthropic

__all__ = ["Anthropic"]
