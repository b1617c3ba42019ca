"""Calls through a provider's batches: collected, sent once, waited for, and read.

``batching`` creates the dispatcher. ``collection`` fills a batch, ``lifecycle`` takes it
through its stages, ``creation`` creates it at the provider, ``reconciliation`` handles the
calls of one that has ended.
"""

from typing import TYPE_CHECKING, Any

from evalbench.engine.dispatch.batch.settings import BatchSettings

if TYPE_CHECKING:
    from evalbench.engine.dispatch.batch.dispatcher import BatchDispatcher


def __getattr__(name: str) -> Any:
    # Few runs have batches, and all would wait for these imports.
    if name != "BatchDispatcher":
        raise AttributeError(name)
    from evalbench.engine.dispatch.batch.dispatcher import BatchDispatcher

    return BatchDispatcher


__all__ = ["BatchDispatcher", "BatchSettings"]
