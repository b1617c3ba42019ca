"""How well text stands out: the contrast ratio of WCAG 2."""

from __future__ import annotations

from textual.color import Color


def ratio(first: Color, second: Color) -> float:
    """Between 1 (equal) and 21 (black and white)."""
    low, high = sorted((_luminance(first), _luminance(second)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: Color) -> float:
    def linear(value: int) -> float:
        share = value / 255
        return share / 12.92 if share <= 0.03928 else ((share + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(colour.r) + 0.7152 * linear(colour.g) + 0.0722 * linear(colour.b)
