"""Estimates the input tokens of a prompt before it is sent.

Gives a likely count for estimates, and an upper bound for the budget. No tokenizer is loaded:
vocabularies are large, differ by model and need the network.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from evalbench.engine.calls import MediaPart, ModelRef, Prompt
from evalbench.engine.calls.token_rules import MediaTokens, TokenRules
from evalbench.engine.config import registry
from evalbench.engine.data.media_headers import image_size, video_length
from evalbench.engine.errors import SpecError

_MESSAGE_TOKENS = 4
_MESSAGE_TOKENS_MOST = 32
_PROMPT_TOKENS_MOST = 64
_IMAGE_WRAPPING_MOST = 16
_WIDE = 1.25
"""Each UTF-8 byte of a character beyond the first counts as this many characters: a Chinese
character makes about one token, a Cyrillic letter about two thirds of one."""


@dataclass(frozen=True, slots=True)
class InputTokens:
    """Input tokens of one prompt.

    Attributes:
        likely: the best guess.
        most: upper bound on what is billed: a token of current tokenizers covers at least one
            byte of text.
        shared: likely tokens of the shared prefix, which providers may cache.
        images: number of images and videos.
        image_tokens: their share of ``likely``.
        audio_tokens, most_audio: the shares of ``likely`` and ``most`` that are sound.
    """

    likely: int
    most: int
    shared: int = 0
    images: int = 0
    image_tokens: int = 0
    audio_tokens: int = 0
    most_audio: int = 0


@functools.lru_cache(maxsize=256)
def rules_of(model: ModelRef) -> TokenRules:
    """How a model counts, as declared by its provider; rules of thumb if that is not installed."""
    try:
        return registry.provider_class(model.provider).token_rules(model.name)
    except SpecError:
        return TokenRules()


def text_tokens(text: str, rules: TokenRules) -> float:
    """Likely tokens of a text."""
    beyond = 0 if text.isascii() else len(text.encode()) - len(text)
    return (len(text) + _WIDE * beyond) / rules.characters


def input_tokens(
    prompt: Prompt, rules: TokenRules, detail: str = "", per_image: int = 0, fps: float = 1.0
) -> InputTokens:
    """Estimate a prompt's input tokens.

    For log-likelihood prompts the continuations count too, each together with the context.

    Args:
        prompt: the prompt to count.
        rules: how the model counts tokens.
        detail: see :meth:`TokenRules.image`.
        per_image: tokens of every image, if the model uses a fixed number; else 0.
        fps: frames that the model samples per second of video.
    """
    likely, most = 0.0, float(_PROMPT_TOKENS_MOST)
    shared, leading, beginning = 0.0, True, 0.0
    images, of_images = 0, 0
    audio = most_audio = 0
    for message in prompt.messages:
        likely += _MESSAGE_TOKENS
        most += _MESSAGE_TOKENS_MOST
        for part in message.parts:
            if isinstance(part, MediaPart):
                if part.media_type.startswith("video/"):
                    image = rules.video(*video_length(part.data), fps)
                elif per_image:
                    image = MediaTokens(per_image, "the same for every image")
                else:
                    image = rules.image(image_size(part.data), detail)
                images += 1
                of_images += image.tokens
                audio, most_audio = audio + image.audio, most_audio + image.most_audio
                likely += image.tokens
                most += image.most + _IMAGE_WRAPPING_MOST
                leading = False
                continue
            tokens_here = text_tokens(part.text, rules)
            likely += tokens_here
            most += len(part.text.encode())
            leading = leading and (part.shared or message.role == "system")
            beginning += tokens_here
            if leading and part.shared:
                shared = beginning
    asked = max(1, len(prompt.continuations))
    likely, most, of_images = likely * asked, most * asked, of_images * asked
    for continuation in prompt.continuations:
        likely += text_tokens(continuation, rules)
        most += len(continuation.encode())
    return InputTokens(
        round(likely),
        round(most),
        round(shared),
        images * asked,
        of_images,
        audio * asked,
        most_audio * asked,
    )
