"""What a local model took, beside what it was reckoned to take."""

from __future__ import annotations

from evalbench.engine.measures import Measures
from evalbench.tui.state.speed_words import speed_words

MB = 1_000_000


def test_the_peak_is_told_beside_what_was_reckoned() -> None:
    held = Measures(peak=480 * MB, total=8000 * MB, device="cuda (Pretend [9000])")
    assert speed_words(held) == ["at most 480.0 MB of 8.0 GB (cuda (Pretend [9000]))"]
    held.expected = 520 * MB
    assert speed_words(held)[-1].endswith(", reckoned 520.0 MB")
    assert Measures.from_json(held.to_json()) == held
