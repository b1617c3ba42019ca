"""Gemini models over Google's APIs, through the official SDK.

``google`` uses the Gemini API with a key; ``vertex`` uses Vertex AI with the machine's Google Cloud
credentials. The SDK is imported on first use, in a thread. It handles transport and credentials;
bodies are built and parsed here.
"""

from __future__ import annotations

from evalbench.providers.google.provider import Google
from evalbench.providers.google.vertex import Vertex

__all__ = ["Google", "Vertex"]
