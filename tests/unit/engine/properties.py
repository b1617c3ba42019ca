"""How long hypothesis looks: enough to meet the odd cases, short enough to run every time."""

from __future__ import annotations

from hypothesis import settings

from tests.examples import examples

quickly = settings(max_examples=examples(25), deadline=None)
