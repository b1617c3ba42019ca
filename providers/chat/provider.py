"""Base class of providers with the chat completions protocol."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evalbench.engine.calls import ParamNote, RateLimits, Reply
from evalbench.engine.errors import ProviderError, ServerFault
from evalbench.providers.chat.errors import REQUEST_ID, hidden_status, read_error
from evalbench.providers.wire.exchange import Answered, Arrival
from evalbench.providers.wire.single_transport import CarriedProvider


class ChatProvider(CarriedProvider):
    """A provider whose answers are alike in realtime and in batches."""

    @abstractmethod
    def read_answer(self, body: Mapping[str, Any], arrival: Arrival) -> Reply:
        """A parsed successful answer as a reply; raises what indexing raises."""

    def failed_status(self, body: Mapping[str, Any]) -> int | None:
        """The status that an error inside a good answer implies; None if there is no error."""
        return hidden_status(body)

    def request_id(self, answered: Answered) -> str:
        """The provider's id of a request; empty if there is none."""
        return answered.headers.get(REQUEST_ID, "")

    def read_error(self, answered: Answered, model: str) -> ProviderError | Reply:
        """The error that a response reports, or the reply that it stands for.

        ``model`` is empty if the request was not about a model.
        """
        request_id = self.request_id(answered)
        return read_error(answered, self.who, model, self.scrub, request_id=request_id)

    def read_refusal(
        self,
        answered: Answered,
        model: str,
        limits: RateLimits | None,
        notes: tuple[ParamNote, ...] = (),
    ) -> Reply:
        """The reply that an unsuccessful response to a call stands for.

        Raises:
            ProviderError: the error that it reports.
        """
        result = self.read_error(answered, model)
        if isinstance(result, Reply):
            return replace(result, limits=limits, params=notes)
        result.limits = limits
        raise result

    def error_of(self, answered: Answered, model: str, what: str) -> ProviderError:
        """The error of an unsuccessful response to a request that asks for no reply.

        ``what`` describes it if it reports none.
        """
        result = self.read_error(answered, model)
        return ServerFault(what) if isinstance(result, Reply) else result
