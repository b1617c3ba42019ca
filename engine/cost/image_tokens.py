"""What an image counts as in input tokens, by each provider's published rule.

Sources, as read in autumn 2026:

- Claude: platform.claude.com, Vision, "Resolution and token cost", and
  Coordinates, "How Claude resizes and pads images";
- OpenAI: developers.openai.com, Images and vision, "Model sizing behavior" and
  "Calculating costs"; the factor 1.2 of GPT-5.2 and later stands on the pricing
  page and was confirmed by others' measurements;
- Gemini: ai.google.dev, Understand and count tokens, and Media resolution.
"""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass

_CLAUDE = re.compile(r"claude-(?:(?P<old>\d)|[a-z]+-(?P<major>\d+)(?:[-.](?P<minor>\d)(?!\d))?)")
_GPT = re.compile(r"(?:gpt|chatgpt)-(?P<major>\d+)(?:\.(?P<minor>\d+))?")
_GEMINI = re.compile(r"gemini-(?P<major>\d+)")


@dataclass(frozen=True, slots=True)
class ImageTokens:
    """Input tokens of one image.

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


@functools.lru_cache(maxsize=4096)
def image_tokens(model: str, size: tuple[int, int] | None, detail: str = "") -> ImageTokens:
    """Tokens of one image for a model.

    Args:
        model: its name; prefixes such as ``us.anthropic.`` do not matter.
        size: width and height in pixels; None counts as a very large image.
        detail: asked of OpenAI models: ``low``, ``high`` or ``original``; empty: their default.
    """
    name = model.lower().rpartition("/")[2]
    width, height = size or (8000, 6000)
    if edge := _claude_limits(name):
        return ImageTokens(claude_tokens(width, height, *edge), f"28-pixel patches, {edge[0]} px")
    if rule := _openai(name, width, height, detail):
        return rule
    if found := _GEMINI.search(name):
        if int(found["major"]) >= 3:
            return ImageTokens(1120, "fixed 1,120 (high media resolution)")
        return ImageTokens(gemini_tiles(width, height) * 258, "258 a tile")
    # Open models differ; most of today's cut images into patches of about this size,
    # and servers may be set to leave large images as they are.
    most = _patches(width, 28) * _patches(height, 28)
    return ImageTokens(claude_tokens(width, height, 2576, 4784), "rule of thumb", most)


def claude_version(name: str) -> tuple[int, int] | None:
    """(major, minor) of a Claude model's name; None for other models."""
    found = _CLAUDE.search(name)
    if found is None:
        return None
    if found["old"]:
        return int(found["old"]), 0
    return int(found["major"]), int(found["minor"] or 0)


def _claude_limits(name: str) -> tuple[int, int] | None:
    version = claude_version(name)
    if version is None:
        return None
    return (2576, 4784) if version >= (4, 7) else (1568, 1568)


def claude_tokens(width: int, height: int, edge: int, most: int) -> int:
    """One token for each 28-pixel patch, after shrinking to what the model sees.

    An image fits when both edges, padded to whole patches, are within ``edge``
    and the patches are within ``most``. A larger one is shrunk to the largest
    size of the same shape that fits, the short edge rounded half to even.
    """
    long, short = max(width, height), min(width, height)
    shape = long / short
    fit = _patches(long, 28) * 28 <= edge and _patches(long, 28) * _patches(short, 28) <= most
    low, high = (long, long + 1) if fit else (1, long)
    while high - low > 1:
        middle = (low + high) // 2
        across = _patches(middle, 28)
        down = _patches(max(1, round(middle / shape)), 28)
        if across * 28 <= edge and across * down <= most:
            low = middle
        else:
            high = middle
    if not fit:
        short = max(1, round(low / shape))
    return _patches(low, 28) * _patches(short, 28)


def _patches(pixels: int | float, side: int) -> int:
    return math.ceil(pixels / side)


_TILES = (
    # name begins with, base tokens, tokens a tile
    ("gpt-4o-mini", 2833, 5667),
    ("gpt-4o", 85, 170),
    ("chatgpt-4o", 85, 170),
    ("gpt-4.1", 85, 170),
    ("gpt-4.5", 85, 170),
    ("gpt-4", 85, 170),
    ("o1", 75, 150),
    ("o3", 75, 150),
    ("computer-use", 65, 129),
    ("gpt-5-chat", 70, 140),
)
_PATCHES = (
    # name begins with, tokens a patch, what each detail keeps at most: (patches, longest edge)
    ("gpt-4.1-mini", 1.62, {"high": (1536, 2048)}),
    ("gpt-4.1-nano", 2.46, {"high": (1536, 2048)}),
    ("o4-mini", 1.72, {"high": (1536, 2048)}),
    ("gpt-5-mini", 1.62, {"high": (1536, 2048)}),
    ("gpt-5-nano", 2.46, {"high": (1536, 2048)}),
    ("gpt-5.4-mini", 1.62, {"high": (1536, 2048)}),
    ("gpt-5.4-nano", 2.46, {"high": (1536, 2048)}),
    ("gpt-5.2", 1.2, {"high": (1536, 2048)}),
    ("gpt-5.3", 1.2, {"high": (1536, 2048)}),
    ("gpt-5.4", 1.2, {"high": (2500, 2048), "original": (10_000, 6000)}),
    ("gpt-5.5", 1.2, {"auto": (10_000, 6000), "high": (2500, 2048)}),
)
# From GPT-5.6 on: detail "auto" keeps the size, and more than 30,000 patches are refused.
_LATER_PATCHES = {"auto": (30_000, 65_535), "high": (2500, 2048)}
_LOW = (256, 512)


def _openai(name: str, width: int, height: int, detail: str) -> ImageTokens | None:
    for start, factor, limits in _PATCHES:
        if name.startswith(start):
            return _patched(width, height, factor, limits, detail)
    for start, base, tile in _TILES:
        if name.startswith(start):
            return _tiled(width, height, base, tile, detail)
    if found := _GPT.match(name):
        if (int(found["major"]), int(found["minor"] or 0)) >= (5, 6):
            return _patched(width, height, 1.2, _LATER_PATCHES, detail)
        return _tiled(width, height, 70, 140, detail)
    return None


def _tiled(width: int, height: int, base: int, tile: int, detail: str) -> ImageTokens:
    tiles = 0 if detail == "low" else openai_tiles(width, height)
    return ImageTokens(base + tile * tiles, f"{base} + {tile} a tile")


def _patched(
    width: int, height: int, factor: float, limits: dict[str, tuple[int, int]], detail: str
) -> ImageTokens:
    default = limits.get("auto", limits["high"])
    most, edge = _LOW if detail == "low" else limits.get(detail, default)
    tokens = math.ceil(round(openai_patches(width, height, most, edge) * factor, 6))
    return ImageTokens(tokens, f"32-pixel patches × {factor:g}, {most:,} at most")


def openai_patches(width: int, height: int, most: int, edge: int) -> int:
    """32-pixel patches that cover the image, shrunk first to the longest edge and the budget.

    The shrunk size is corrected so that one side is a whole number of patches.
    """
    scale = min(1.0, edge / max(width, height))
    w, h = width * scale, height * scale
    if _patches(w, 32) * _patches(h, 32) <= most:
        return _patches(w, 32) * _patches(h, 32)
    shrink = math.sqrt(32 * 32 * most / (w * h))
    across, down = w * shrink / 32, h * shrink / 32
    shrink *= min(math.floor(across) / across, math.floor(down) / down)
    # Rounded: 33.000000001 patches are 33.
    return math.ceil(round(w * shrink / 32, 6)) * math.ceil(round(h * shrink / 32, 6))


def openai_tiles(width: int, height: int) -> int:
    """512-pixel tiles, after shrinking into 2048 × 2048 and then to a short side of 768."""
    scale = min(1.0, 2048 / max(width, height))
    scale *= min(1.0, 768 / (min(width, height) * scale))
    return math.ceil(round(width * scale / 512, 6)) * math.ceil(round(height * scale / 512, 6))


def gemini_tiles(width: int, height: int) -> int:
    """One tile up to 384 × 384; else tiles of the short side / 1.5, between 256 and 768 pixels."""
    if width <= 384 and height <= 384:
        return 1
    side = min(768, max(256, math.floor(min(width, height) / 1.5)))
    return _patches(width, side) * _patches(height, side)
