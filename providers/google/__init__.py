"""Gemini models over Google's APIs, through the official SDK.

``google`` asks the Gemini API with a key, ``vertex`` asks Vertex AI with the
machine's Google Cloud credentials. The SDK is imported on first use, in a
thread. It carries the request and the credentials; bodies are made and read here.
"""

from __future__ import annotations

from evalbench.providers.google.provider import Google
from evalbench.providers.google.vertex import Vertex

__all__ = ["Google", "Vertex"]
