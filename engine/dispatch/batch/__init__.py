"""Calls through a provider's batches: collected, sent once, waited for, and read.

``batching`` is the dispatcher. ``collection`` fills a batch, ``life`` takes it
through its stages, ``creation`` makes it at the provider, ``settling`` says what
becomes of its calls.
"""

from typing import TYPE_CHECKING, Any

from evalbench.engine.dispatch.batch.wishes import BatchWishes

if TYPE_CHECKING:
    from evalbench.engine.dispatch.batch.batching import Batching


def __getattr__(name: str) -> Any:
    # Few runs have batches, and all would wait for what these load.
    if name != "Batching":
        raise AttributeError(name)
    from evalbench.engine.dispatch.batch.batching import Batching

    return Batching


__all__ = ["BatchWishes", "Batching"]
