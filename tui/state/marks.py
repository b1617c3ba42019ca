"""Glyphs for run states. In a separate module because Home needs nothing else of the wording."""

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
"""A state's glyph and tone; unknown states get ``–`` and ``warn``."""
