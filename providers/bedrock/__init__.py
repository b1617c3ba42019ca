"""Models on Amazon Bedrock, through boto3 in its own threads.

boto3 is imported on first use, in a thread. It signs and sends requests; bodies are built and
parsed here.
"""

from __future__ import annotations

from evalbench.providers.bedrock.provider import Bedrock

__all__ = ["Bedrock"]
