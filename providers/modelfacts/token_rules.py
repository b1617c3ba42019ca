"""How models count input tokens, by each vendor's published rule, regardless of host.

Sources, read in autumn 2026:

- Claude: platform.claude.com, Vision, "Resolution and token cost", and
  Coordinates, "How Claude resizes and pads images"; from 4.7 on, a tokenizer that produces about 30
  % more tokens for the same text;
- OpenAI: developers.openai.com, Images and vision, "Model sizing behavior" and
  "Calculating costs"; the factor 1.2 of GPT-5.2 and later is on the pricing page and was confirmed
  by third-party measurements;
- Gemini: ai.google.dev, Understand and count tokens, and Media resolution: it samples one video
  frame per second by default; a frame is 258 tokens up to Gemini 2 and 70 from Gemini 3 on, a
  second of audio 32.
"""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass

from evalbench.engine.calls.token_rules import (
    VERY_LARGE,
    MediaTokens,
    TokenRules,
    patch_tokens,
    patches,
)

_CLAUDE = re.compile(r"claude-(?:(?P<old>\d)|[a-z]+-(?P<major>\d+)(?:[-.](?P<minor>\d)(?!\d))?)")
_GPT = re.compile(r"(?:gpt|chatgpt)-(?P<major>\d+)(?:\.(?P<minor>\d+))?")
_GEMINI = re.compile(r"gemini-(?P<major>\d+)")


@functools.lru_cache(maxsize=256)
def token_rules(model: str) -> TokenRules:
    """The rules for a model by name; prefixes such as ``us.anthropic.`` are ignored."""
    name = model.lower().rpartition("/")[2]
    if version := claude_version(name):
        if version >= (4, 7):
            return _Claude(characters=2.7, edge=2576, most_patches=4784)
        return _Claude(edge=1568, most_patches=1568)
    if _openai(name, *VERY_LARGE, ""):
        return _OpenAI(name=name)
    if found := _GEMINI.search(name):
        new = int(found["major"]) >= 3
        return _Gemini(frame=70 if new else 258, known=True, fixed=new)
    return TokenRules()


def claude_version(name: str) -> tuple[int, int] | None:
    """(major, minor) of a Claude model's name; None for other models."""
    found = _CLAUDE.search(name)
    if found is None:
        return None
    if found["old"]:
        return int(found["old"]), 0
    return int(found["major"]), int(found["minor"] or 0)


@dataclass(frozen=True)
class _Claude(TokenRules):
    edge: int = 0
    most_patches: int = 0

    def image(self, size: tuple[int, int] | None, detail: str = "") -> MediaTokens:
        tokens = patch_tokens(*(size or VERY_LARGE), self.edge, self.most_patches)
        return MediaTokens(tokens, f"28-pixel patches, {self.edge} px")


@dataclass(frozen=True)
class _OpenAI(TokenRules):
    name: str = ""

    def image(self, size: tuple[int, int] | None, detail: str = "") -> MediaTokens:
        return _openai(self.name, *(size or VERY_LARGE), detail) or super().image(size, detail)


@dataclass(frozen=True)
class _Gemini(TokenRules):
    fixed: bool = False

    def image(self, size: tuple[int, int] | None, detail: str = "") -> MediaTokens:
        if self.fixed:
            return MediaTokens(1120, "fixed 1,120 (high media resolution)")
        return MediaTokens(gemini_tiles(*(size or VERY_LARGE)) * 258, "258 a tile")


_TILES = (
    # name prefix, base tokens, tokens per tile
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
    # name prefix, tokens per patch, limits for each detail: (patches, longest edge)
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
# From GPT-5.6 on: detail "auto" keeps the size, and more than 30,000 patches are rejected.
_LATER_PATCHES = {"auto": (30_000, 65_535), "high": (2500, 2048)}
_LOW = (256, 512)


@functools.lru_cache(maxsize=4096)
def _openai(name: str, width: int, height: int, detail: str) -> MediaTokens | None:
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


def _tiled(width: int, height: int, base: int, tile: int, detail: str) -> MediaTokens:
    tiles = 0 if detail == "low" else openai_tiles(width, height)
    return MediaTokens(base + tile * tiles, f"{base} + {tile} a tile")


def _patched(
    width: int, height: int, factor: float, limits: dict[str, tuple[int, int]], detail: str
) -> MediaTokens:
    default = limits.get("auto", limits["high"])
    most, edge = _LOW if detail == "low" else limits.get(detail, default)
    tokens = math.ceil(round(openai_patches(width, height, most, edge) * factor, 6))
    return MediaTokens(tokens, f"32-pixel patches × {factor:g}, {most:,} at most")


def openai_patches(width: int, height: int, most: int, edge: int) -> int:
    """Number of 32-pixel patches, after shrinking to the longest edge and the patch budget.

    The shrunk size is adjusted so that one side is a whole number of patches.
    """
    scale = min(1.0, edge / max(width, height))
    w, h = width * scale, height * scale
    if patches(w, 32) * patches(h, 32) <= most:
        return patches(w, 32) * patches(h, 32)
    shrink = math.sqrt(32 * 32 * most / (w * h))
    across, down = w * shrink / 32, h * shrink / 32
    shrink *= min(math.floor(across) / across, math.floor(down) / down)
    # Rounded: 33.000000001 patches count as 33.
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
    return patches(width, side) * patches(height, side)
