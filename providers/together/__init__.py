"""Open models on Together's API, through the official SDK.

The SDK is imported on first use, in a thread.
"""

from __future__ import annotations

from evalbench.providers.together.provider import Together

__all__ = ["Together"]
