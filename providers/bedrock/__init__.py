"""Models on Amazon Bedrock, through boto3 in threads of its own.

boto3 is imported on first use, in a thread. It signs and carries requests;
bodies are made and read here.
"""

from __future__ import annotations

from evalbench.providers.bedrock.provider import Bedrock

__all__ = ["Bedrock"]
