"""OpenAI's models on its API, through the official SDK.

Reasoning models go to the Responses endpoint, all others to chat completions.
The SDK is imported on first use, in a thread.
"""

from __future__ import annotations

from evalbench.providers.openai.perplexity import Perplexity
from evalbench.providers.openai.provider import OpenAI

__all__ = ["OpenAI", "Perplexity"]
