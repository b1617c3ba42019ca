"""How many examples hypothesis tries."""

from __future__ import annotations

from hypothesis import settings

SHARE = "share"
"""The profile of a run that tries a share of all cases: ``pytest --share``."""


def examples(usual: int) -> int:
    """How many to try where others try 100: in a share of the cases, as large a share of them."""
    return max(2, usual * settings().max_examples // 100)
