"""Rules of thumb for counting the input tokens of texts, images and videos.

A provider that knows its models better declares its own rules, see
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
        tokens: the number by the rule.
        rule: its display name; ``rule of thumb`` if none is published.
        most: upper bound on what is billed; more than ``tokens`` only for a rule of thumb.
        audio, most_audio: those of ``tokens`` and ``most`` that are sound.
    """

    tokens: int
    rule: str
    most: int = 0
    audio: int = 0
    most_audio: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", max(self.most, self.tokens))


@dataclass(frozen=True)
class TokenRules:
    """How one model counts its input.

    Attributes:
        characters: English characters per token.
        frame: tokens per video frame.
        most_frame: upper bound on what a frame is billed as.
        sound: tokens per second of sound.
        known: whether these are the model's own numbers rather than a rule of thumb.
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
            detail: requested level of detail, in the provider's terms; empty for the default.
        """
        width, height = size or VERY_LARGE
        # Open models differ; most current ones cut images into patches of about this size, and
        # servers may be configured to keep large images at full size.
        most = patches(width, 28) * patches(height, 28)
        return MediaTokens(patch_tokens(width, height, 2576, 4784), "rule of thumb", most)

    def video(self, seconds: float | None, sound: bool, fps: float) -> MediaTokens:
        """Tokens of one video for a model that accepts videos directly.

        Args:
            seconds: its length; None if its file does not say.
            sound: whether it may have sound.
            fps: frames sampled per second.
        """
        likely = math.ceil((seconds or _LIKELY_S) * fps) * self.frame
        # One frame extra, in case both the first and the last are sampled.
        most = (math.ceil((seconds or _LONGEST_S) * fps) + 1) * self.most_frame
        heard = math.ceil((seconds or _LONGEST_S) * self.sound)
        audio = math.ceil((seconds or _LIKELY_S) * self.sound) if sound else 0
        rule = f"{self.frame} a frame, {fps:g} frames a second" if self.known else "rule of thumb"
        return MediaTokens(likely + audio, rule, most + heard, audio, heard)


VERY_LARGE = (8000, 6000)
"""Assumed size of an image whose file does not give one."""
_LIKELY_S, _LONGEST_S = 60.0, 3600.0
"""Assumed length of a video whose file does not give one."""


@functools.lru_cache(maxsize=4096)
def patch_tokens(width: int, height: int, edge: int, most: int) -> int:
    """One token per 28-pixel patch, after shrinking to the size that the model sees.

    An image fits if both edges, padded to whole patches, are within ``edge`` and the patches
    are within ``most``. A larger one is shrunk to the largest fitting size of the same aspect
    ratio, the short edge rounded half to even.
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
    """Number of patches of size ``side`` needed to cover this many pixels."""
    return math.ceil(pixels / side)
