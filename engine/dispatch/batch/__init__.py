"""Calls through a provider's batches: collected, sent once, waited for, and read.

``batching`` is the dispatcher. ``collection`` fills a batch, ``life`` takes it
through its stages, ``creation`` makes it at the provider, ``reconciliation`` says what
becomes of its calls.
"""

from typing import TYPE_CHECKING, Any

from evalbench.engine.dispatch.batch.settings import BatchSettings

if TYPE_CHECKING:
    from evalbench.engine.dispatch.batch.dispatcher import BatchDispatcher


def __getattr__(name: str) -> Any:
    # Few runs have batches, and all would wait for what these load.
    if name != "BatchDispatcher":
        raise AttributeError(name)
    from evalbench.engine.dispatch.batch.dispatcher import BatchDispatcher

    return BatchDispatcher


__all__ = ["BatchDispatcher", "BatchSettings"]
