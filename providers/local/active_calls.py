"""One model and all the calls it is working on."""

from __future__ import annotations

import gc
import time
from collections import deque
from collections.abc import Callable, Collection
from typing import Any

import torch

from evalbench.engine.calls import Prompt
from evalbench.engine.errors import OutOfMemory, WorkerFailed
from evalbench.engine.hardware.fit import parse_bytes
from evalbench.providers.local import loading, memory, weights
from evalbench.providers.local.batch_size import Budget
from evalbench.providers.local.catalogue import Source
from evalbench.providers.local.determinism import explain_nondeterminism, make_deterministic
from evalbench.providers.local.generation import Generation
from evalbench.providers.local.loading import check_memory
from evalbench.providers.local.loglikelihoods import Answer, Scoring
from evalbench.providers.local.model import LoadedModel
from evalbench.providers.local.options import LocalOptions
from evalbench.providers.local.prefixes import Prefixes
from evalbench.providers.local.progress import ReportProgress
from evalbench.providers.local.tokens import Encoder
from evalbench.providers.local.vision import Vision, has_images

_STRIKES_S = (1.0, 2.0)
"""Seconds before the smallest batch is retried: other processes may free memory."""

OnOutOfMemory = Callable[[list[str], int], None]


class ActiveCalls:
    """Calls in progress on one loaded model; :meth:`step` advances them.

    ``info`` is what a run records about the model.
    """

    def __init__(
        self,
        model: LoadedModel,
        settings: LocalOptions,
        info: dict[str, Any],
        *,
        smaller: int = 0,
        sharing: int = 1,
    ) -> None:
        self._model = model
        self._about = info
        self._apart = apart = settings.deterministic
        limit = parse_bytes(settings.memory_limit)
        # Each on its own card, or all together in main memory.
        sharing = sharing if model.device.type != "cuda" else 1
        if limit is not None:
            limit //= sharing
            if model.device.type == "cpu":
                memory.limit_process(limit)
        self._budget = Budget(
            model,
            max_batch_tokens=settings.max_batch_tokens,
            slots=settings.slots,
            limit=limit,
            smaller=smaller,
            fixed=apart,
            sharing=sharing,
        )
        self._prefixes = Prefixes(model, whole=apart)
        encoder = Encoder(model.tokenizer, model.context_tokens, model.chat)
        shared = model, encoder, self._budget, self._prefixes
        share, may_cut = settings.prefix_cache, settings.too_long == "cut"
        self._scoring = Scoring(*shared, share=share, apart=apart)
        self._generation = Generation(*shared, share=share, may_cut=may_cut, apart=apart)
        self._vision = Vision(model, may_cut=may_cut)
        self._kinds: deque[Scoring | Generation | Vision] = deque(
            (self._scoring, self._generation, self._vision)
        )
        self._strikes = 0
        self.info = {
            **info,
            **model.info,
            "layout": "alone" if apart else "together",
            "batch_tokens": self._budget.batch,
            "slots": self._budget.slots,
        }

    @classmethod
    def load(
        cls,
        source: Source,
        settings: LocalOptions,
        progress: ReportProgress,
        *,
        smaller: int = 0,
        sharing: int = 1,
    ) -> ActiveCalls:
        """Find the weights and load them.

        Args:
            source: what to load.
            settings: the provider's options.
            progress: callback for progress.
            smaller: how often to halve the batch at once, because memory ran out before.
            sharing: number of workers that share the CPUs.

        Raises:
            NoSuchModel, AccessDenied, WorkerFailed: with a hint.
        """
        found = weights.find(source, progress)
        progress("loading the model", 0, None, "")
        check_memory(found.folder, settings)
        about: dict[str, Any] = {"origin": found.origin, "revision": found.revision}
        if settings.deterministic:
            about |= make_deterministic(loading.choose_device(settings.device))
        try:
            model = loading.load(found.folder, settings, sharing)
        except (RuntimeError, MemoryError) as error:
            if not memory.is_out_of_memory(error):
                raise
            raise WorkerFailed(
                "the model does not fit into memory",
                why=str(error).split("\n")[0],
                hint="choose a smaller model, --quantize 4bit, --dtype bfloat16 or --device "
                "cpu; evalbench models fit shows what fits",
            ) from error
        return cls(model, settings, about, smaller=smaller, sharing=sharing)

    def anew(self, settings: LocalOptions, *, smaller: int = 0, sharing: int = 1) -> ActiveCalls:
        """After :meth:`rest`: the same model, as if it had just been loaded; for the next engine.

        Limits are chosen by the memory that is free now, and threads by the cores.
        """
        loading.set_threads(self._model, settings, sharing)
        return ActiveCalls(self._model, settings, self._about, smaller=smaller, sharing=sharing)

    def rest(self) -> None:
        """Drop all calls and computed prefixes, and give free memory back to the system."""
        self.cancel(())
        self._prefixes.clear()
        self._model.likeliest, self._model.likeliest_sought = None, False
        self._model.tokens_run = 0
        memory.release(self._model.device)

    def __len__(self) -> int:
        return sum(len(kind) for kind in self._kinds)

    def __contains__(self, key: str) -> bool:
        return any(key in kind for kind in self._kinds)

    def add(self, key: str, prompt: Prompt) -> None:
        """Accept a call.

        Raises:
            CallRejected: this model cannot answer it; nothing was accepted.
        """
        if prompt.kind == "choose":
            self._scoring.add(key, prompt)
        elif self._model.processor is not None and has_images(prompt):
            self._vision.add(key, prompt)
        else:
            self._generation.add(key, prompt)

    def cancel(self, keys: Collection[str]) -> list[str]:
        """Drop calls, all of them if ``keys`` is empty; returns those that were in progress."""
        return [key for kind in self._kinds for key in kind.cancel(keys)]

    def step(self, on_out_of_memory: OnOutOfMemory) -> list[Answer]:
        """One forward pass, or one answer about images, in turn.

        If memory runs out, batches are halved from then on; calls that do not fit the smallest
        batch three times fail.
        """
        self._kinds.rotate(-1)
        turn = next(kind for kind in self._kinds if len(kind))
        try:
            answers = turn.step()
            self._strikes = 0
            return answers
        except (RuntimeError, MemoryError) as error:
            if not memory.is_out_of_memory(error):
                explain_nondeterminism(error)
                raise
            reason = str(error).split("\n")[0]
        # Outside the handler, whose traceback would keep the pass's tensors alive.
        keys = turn.retreat()
        self._prefixes.clear()
        gc.collect()
        if self._model.device.type == "cuda":
            torch.cuda.empty_cache()
        if turn is not self._vision and self._budget.halve():
            on_out_of_memory(keys, self._budget.batch)
            return []
        if self._strikes < len(_STRIKES_S):
            on_out_of_memory(keys, self._budget.batch)
            time.sleep(_STRIKES_S[self._strikes])
            self._strikes += 1
            return []
        self._strikes = 0
        if keys:
            turn.cancel(keys)
        failure = OutOfMemory(
            "this call alone does not fit into memory",
            why=reason,
            hint=f"--max-batch-tokens below {self._budget.batch} takes less" if self._apart else "",
        )
        return [(key, failure) for key in keys]

    def memory(self) -> dict[str, int]:
        """Bytes in use, and the tokens run through the model compared with the tokens requested."""
        return {
            **memory.readings(self._model.device),
            "tokens_computed": self._model.tokens_run,
            "tokens_asked": sum(kind.tokens_asked for kind in self._kinds),
        }
