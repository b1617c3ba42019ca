"""Claude models on Anthropic's API, through the official SDK.

The SDK is imported on first use, in a thread. It handles transport, the key and the API version;
bodies are built and parsed here.
"""

from __future__ import annotations

from evalbench.providers.anthropic.provider import Anthropic

__all__ = ["Anthropic"]
