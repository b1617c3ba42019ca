"""How the states of runs are marked. Apart from other words, as Home needs no more of them."""

from __future__ import annotations

from collections.abc import Mapping

STATE_MARKS: Mapping[str, tuple[str, str]] = {
    "running": ("▸", "good"),
    "complete": ("✓", "good"),
    "failed": ("✗", "bad"),
    "interrupted": ("!", "bad"),
    "unreadable": ("!", "bad"),
    "created": ("·", "dim"),
}
"""A state's glyph and tone; those of others are ``–`` and ``warn``."""
