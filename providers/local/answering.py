"""One model and the calls it is working on, whatever their kind."""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Mapping
from typing import Any

import torch

from evalbench.engine.calls import Prompt
from evalbench.engine.errors import OutOfMemory, WorkerFailed
from evalbench.providers.local import loading, memory, weights
from evalbench.providers.local.budget import Budget
from evalbench.providers.local.catalogue import Source
from evalbench.providers.local.generation import Generation
from evalbench.providers.local.model import LoadedModel
from evalbench.providers.local.prefixes import Prefixes
from evalbench.providers.local.progress import Progress
from evalbench.providers.local.scoring import Answer, Scoring
from evalbench.providers.local.tokens import Encoder

OnOutOfMemory = Callable[[list[str], int], None]


class Answering:
    """Calls in work on one loaded model; :meth:`step` moves them forward.

    ``info`` is what a run records about the model.
    """

    def __init__(
        self, model: LoadedModel, settings: Mapping[str, Any], info: dict[str, Any]
    ) -> None:
        self._model = model
        self._budget = Budget(
            model, max_batch_tokens=settings["max_batch_tokens"], slots=settings["slots"]
        )
        self._prefixes = Prefixes(model)
        encoder = Encoder(model.tokenizer, model.context_tokens)
        shared = model, encoder, self._budget, self._prefixes
        self._scoring = Scoring(*shared, share=settings["prefix_cache"])
        self._generation = Generation(*shared, share=settings["prefix_cache"])
        self._turn: Scoring | Generation = self._generation
        self.info = {
            **info,
            **model.info,
            "batch_tokens": self._budget.batch,
            "slots": self._budget.slots,
        }

    @classmethod
    def load(cls, source: Source, settings: Mapping[str, Any], progress: Progress) -> Answering:
        """Find the weights and load them.

        Raises:
            NoSuchModel, AccessDenied, WorkerFailed: with what to do about it.
        """
        found = weights.find(source, progress)
        progress("loading the model", 0, None, "")
        try:
            model = loading.load(found.folder, settings)
        except (RuntimeError, MemoryError) as error:
            if not memory.is_out_of_memory(error):
                raise
            raise WorkerFailed(
                "the model does not fit into memory",
                why=str(error).split("\n")[0],
                cure="choose a smaller model, --dtype bfloat16, or --device cpu",
            ) from error
        return cls(model, settings, {"origin": found.origin, "revision": found.revision})

    def __len__(self) -> int:
        return len(self._scoring) + len(self._generation)

    def __contains__(self, key: str) -> bool:
        return key in self._scoring or key in self._generation

    def add(self, key: str, prompt: Prompt) -> None:
        """Take a call in.

        Raises:
            CallRejected: when this model cannot answer it; nothing was taken in.
        """
        kind = self._scoring if prompt.kind == "choose" else self._generation
        kind.add(key, prompt)

    def cancel(self, keys: Collection[str]) -> list[str]:
        """Forget calls, all of them when ``keys`` is empty; returns those that were in work."""
        return self._scoring.cancel(keys) + self._generation.cancel(keys)

    def step(self, on_out_of_memory: OnOutOfMemory) -> list[Answer]:
        """One forward pass, scoring and generation in turn.

        When it does not fit into memory, batches are halved from then on;
        calls that do not fit the smallest batch have failed.
        """
        other = self._scoring if self._turn is self._generation else self._generation
        if len(other):
            self._turn = other
        try:
            return self._turn.step()
        except (RuntimeError, MemoryError) as error:
            if not memory.is_out_of_memory(error):
                raise
            reason = str(error).split("\n")[0]
        # Outside of the handler, whose traceback would keep the pass's tensors alive.
        keys = self._turn.retreat()
        self._prefixes.clear()
        gc.collect()
        if self._model.device.type == "cuda":
            torch.cuda.empty_cache()
        if self._budget.halve():
            on_out_of_memory(keys, self._budget.batch)
            return []
        if keys:
            self._turn.cancel(keys)
        failure = OutOfMemory("this call alone does not fit into memory", why=reason)
        return [(key, failure) for key in keys]

    def memory(self) -> dict[str, int]:
        """Bytes in use, and tokens run through the model beside tokens asked for."""
        return {
            **memory.readings(self._model.device),
            "tokens_computed": self._model.tokens_run,
            "tokens_asked": self._scoring.tokens_asked + self._generation.tokens_asked,
        }
