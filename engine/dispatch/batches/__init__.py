"""Calls through a provider's batches: collected, sent once, waited for, and read.

``batching`` is the dispatcher. ``collection`` fills a batch, ``life`` takes it
through its stages, ``creation`` makes it at the provider, ``settling`` says what
becomes of its calls.
"""

from evalbench.engine.dispatch.batches.batching import Batching, BatchWishes

__all__ = ["BatchWishes", "Batching"]
