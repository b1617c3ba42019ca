"""How many input tokens texts, images and videos come to: rules of thumb.

A provider whose models are known better declares rules of its own, see
:meth:`evalbench.engine.calls.Provider.token_rules`.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MediaTokens:
    """Input tokens of one image or video.

    Attributes:
        tokens: by the rule.
        rule: its name, for people; ``rule of thumb`` where none is published.
        most: never less than what is billed; more than ``tokens`` only for a rule of thumb.
    """

    tokens: int
    rule: str
    most: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", max(self.most, self.tokens))


@dataclass(frozen=True)
class TokenRules:
    """How one model counts its input.

    Attributes:
        characters: English characters that make one token.
        frame: tokens of one frame of a video.
        most_frame: never less than what one is billed as.
        sound: tokens of a second of sound.
        known: whether these are the model's own numbers, not a rule of thumb.
    """

    characters: float = 3.5
    frame: int = 258
    most_frame: int = 258
    sound: int = 32
    known: bool = False

    def image(self, size: tuple[int, int] | None, detail: str = "") -> MediaTokens:
        """Tokens of one image.

        Args:
            size: width and height in pixels; None counts as a very large image.
            detail: how closely it is to be looked at, in the provider's words; empty: as it does
                unasked.
        """
        width, height = size or VERY_LARGE
        # Open models differ; most of today's cut images into patches of about this size,
        # and servers may be set to leave large images as they are.
        most = patches(width, 28) * patches(height, 28)
        return MediaTokens(patch_tokens(width, height, 2576, 4784), "rule of thumb", most)

    def video(self, seconds: float | None, sound: bool, fps: float) -> MediaTokens:
        """Tokens of one video for a model that takes one as it is.

        Args:
            seconds: how long it lasts; None: its file does not say.
            sound: whether it may have sound.
            fps: frames that the model looks at in a second.
        """
        likely = math.ceil((seconds or _LIKELY_S) * fps) * self.frame
        # One frame more: where the first and the last are both looked at.
        most = (math.ceil((seconds or _LONGEST_S) * fps) + 1) * self.most_frame
        heard = math.ceil((seconds or _LONGEST_S) * self.sound)
        if sound:
            likely += math.ceil((seconds or _LIKELY_S) * self.sound)
        rule = f"{self.frame} a frame, {fps:g} frames a second" if self.known else "rule of thumb"
        return MediaTokens(likely, rule, most + heard)


VERY_LARGE = (8000, 6000)
"""Taken for an image whose file does not say how large it is."""
_LIKELY_S, _LONGEST_S = 60.0, 3600.0
"""Taken for a video whose file does not say how long it lasts."""


@functools.lru_cache(maxsize=4096)
def patch_tokens(width: int, height: int, edge: int, most: int) -> int:
    """One token for each 28-pixel patch, after shrinking to what the model sees.

    An image fits when both edges, padded to whole patches, are within ``edge``
    and the patches are within ``most``. A larger one is shrunk to the largest
    size of the same shape that fits, the short edge rounded half to even.
    """
    long, short = max(width, height), min(width, height)
    shape = long / short
    fit = patches(long, 28) * 28 <= edge and patches(long, 28) * patches(short, 28) <= most
    low, high = (long, long + 1) if fit else (1, long)
    while high - low > 1:
        middle = (low + high) // 2
        across = patches(middle, 28)
        down = patches(max(1, round(middle / shape)), 28)
        if across * 28 <= edge and across * down <= most:
            low = middle
        else:
            high = middle
    if not fit:
        short = max(1, round(low / shape))
    return patches(low, 28) * patches(short, 28)


def patches(pixels: int | float, side: int) -> int:
    """Patches of a side's length that cover so many pixels."""
    return math.ceil(pixels / side)
