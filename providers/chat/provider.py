"""Base class of providers with the chat completions protocol."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from evalbench.engine.calls import Reply
from evalbench.providers.chat.errors import hidden_status
from evalbench.providers.wire.exchange import Arrival
from evalbench.providers.wire.single_transport import CarriedProvider


class ChatProvider(CarriedProvider):
    """A provider whose answers are alike in realtime and in batches."""

    @abstractmethod
    def read_answer(self, body: Mapping[str, Any], arrival: Arrival) -> Reply:
        """A parsed successful answer as a reply; raises what indexing raises."""

    def failed_status(self, body: Mapping[str, Any]) -> int | None:
        """The status that an error inside a good answer implies; None if there is no error."""
        return hidden_status(body)
