"""Answers about images: one call after another, with the model's own loop.

Models differ in how images are fed to them, so a call's additional inputs are made by the model's
processor and passed on unexamined.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping
from typing import Any

import torch
from torch import Tensor

from evalbench.engine.calls import MediaPart, Prompt
from evalbench.engine.errors import CallRejected, ProviderError
from evalbench.providers.local.generation import end_tokens
from evalbench.providers.local.loglikelihoods import Answer
from evalbench.providers.local.memory import is_out_of_memory
from evalbench.providers.local.model import LoadedModel
from evalbench.providers.local.sequences import Sequence
from evalbench.providers.local.single_generation import generate_one
from evalbench.providers.local.tokens import Encoded

_FAULTS = (ValueError, TypeError, KeyError, IndexError, AttributeError, RuntimeError)


def has_images(prompt: Prompt) -> bool:
    """Whether any part of a prompt is not text."""
    return any(isinstance(part, MediaPart) for turn in prompt.messages for part in turn.parts)


class Vision:
    """The calls with images waiting for an answer, in order of arrival.

    Images are prepared only when it is a call's turn: preprocessed, they are ten to a hundred times
    as large as when they were sent.
    """

    def __init__(self, model: LoadedModel, *, may_cut: bool) -> None:
        self.tokens_asked = 0
        self._model = model
        self._may_cut = may_cut
        self._ends = end_tokens(model)
        self._waiting: dict[str, Prompt] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, key: str) -> bool:
        return key in self._waiting

    def add(self, key: str, prompt: Prompt) -> None:
        """Accept a call."""
        self._waiting[key] = prompt

    def cancel(self, keys: Collection[str]) -> list[str]:
        """Drop calls, all of them if ``keys`` is empty; returns those that were waiting."""
        return [key for key in keys or list(self._waiting) if self._waiting.pop(key, None)]

    def step(self) -> list[Answer]:
        """Answer the call that has waited longest.

        Raises:
            RuntimeError, MemoryError: memory ran out; call :meth:`retreat`.
        """
        key, prompt = next(iter(self._waiting.items()))
        try:
            answer = self._answer(key, prompt)
        except ProviderError as error:
            answer = key, error
        except _FAULTS as error:
            if is_out_of_memory(error):
                raise
            # The processor's output is passed on unexamined, and a model may reject it.
            answer = (
                key,
                CallRejected(
                    "the model cannot answer this prompt with images",
                    why=f"{type(error).__name__}: {error}".split("\n")[0],
                ),
            )
        del self._waiting[key]
        return [answer]

    def retreat(self) -> list[str]:
        """The call for which memory ran out."""
        return list(self._waiting)[:1]

    def _answer(self, key: str, prompt: Prompt) -> Answer:
        inputs = self._inputs(prompt)
        tokens = tuple(inputs.pop("input_ids")[0].tolist())
        inputs.pop("attention_mask", None)
        model = self._model
        sequence = Sequence(
            key,
            Encoded(tokens, 0, chat=True),
            prompt.params,
            model.tokenizer,
            model.context_tokens,
            may_cut=self._may_cut,
            whole=True,
        )
        self.tokens_asked += len(tokens)
        sequence.begin()
        reply = generate_one(model, sequence, self._ends, inputs)
        self.tokens_asked += len(sequence.ids)
        return key, reply

    def _inputs(self, prompt: Prompt) -> dict[str, Tensor]:
        """Token ids and prepared images of a prompt, on the model's device.

        Raises:
            CallRejected: an image cannot be read, or the processor does not accept these turns.
        """
        processor = self._model.processor
        mark = str(getattr(processor, "image_token", ""))
        text = self._model.chat.render(self._model.tokenizer, prompt.messages, mark)
        images = [
            _opened(part)
            for turn in prompt.messages
            for part in turn.parts
            if isinstance(part, MediaPart)
        ]
        # Templates write the start token themselves.
        special = not text.startswith(self._model.tokenizer.bos_token or "\0")
        try:
            made: Mapping[str, Any] = processor(
                text=[text], images=images, return_tensors="pt", add_special_tokens=special
            )
        except _FAULTS as error:
            if is_out_of_memory(error):
                raise
            raise CallRejected(
                "the model's processor does not take this prompt", why=str(error).split("\n")[0]
            ) from error
        return {name: self._placed(value) for name, value in made.items()}

    def _placed(self, value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        return value.to(
            self._model.device, self._model.dtype if torch.is_floating_point(value) else None
        )


def _opened(part: MediaPart) -> Any:
    """An image, decoded.

    Raises:
        CallRejected: its bytes are missing, or are not an image.
    """
    from PIL import Image

    if not part.data:
        raise CallRejected(
            f"the bytes of image {part.sha256[:12]} are missing",
            hint="prepare the data again: they are kept in evalbench's media cache",
        )
    try:
        with Image.open(io.BytesIO(part.data)) as image:
            return image.convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise CallRejected(
            f"image {part.sha256[:12]} ({part.media_type}) cannot be read", why=str(error)
        ) from error
