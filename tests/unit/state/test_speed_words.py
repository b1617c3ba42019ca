"""What a local model took, beside what it was estimated to take."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalbench.engine.config import registry
from evalbench.engine.hardware.measures import Measures
from evalbench.engine.runs.status import State
from evalbench.tui.state.event_words import log_words
from evalbench.tui.state.run_view import RunView
from evalbench.tui.state.speed_words import speed_words
from tests.e2e.commandline import PLUGINS
from tests.pretending import pretend

MB = 1_000_000


def test_the_peak_is_told_beside_what_was_estimated() -> None:
    held = Measures(peak=480 * MB, total=8000 * MB, device="cuda (Pretend [9000])")
    assert speed_words(held) == ["at most 480.0 MB of 8.0 GB (cuda (Pretend [9000]))"]
    held.expected = 520 * MB
    assert speed_words(held)[-1].endswith(", estimated 520.0 MB")
    assert Measures.from_json(held.to_json()) == held


def test_answers_and_speed_are_told() -> None:
    held = Measures(answers=40, seconds=60.0, slowest=75.0, output_tokens=900, busy_s=20.0)
    assert speed_words(held) == ["40 answers, 1.5 s each, the slowest 1:15", "45 tokens/s"]
    assert speed_words(Measures()) == []


@pytest.mark.parametrize(
    ("info", "said"),
    [
        ({"dtype": "float32", "layout": "alone"}, "float32, one call at a time"),
        (
            {"dtype": "bfloat16", "quantize": "none", "layout": "together"},
            "bfloat16, calls together",
        ),
        ({"dtype": "bfloat16", "quantize": "4bit", "layout": "together"}, "4bit, calls together"),
    ],
)
def test_how_it_was_computed_is_told(info: dict[str, str], said: str) -> None:
    held, other = Measures(), Measures(answers=1)
    held.loaded(info)
    held.add(other)
    assert speed_words(held) == ["1 answer, 0 s each, the slowest 0 s", said]
    assert Measures.from_json(held.to_json()) == held


def test_a_run_adds_up_what_its_engines_did(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PLUGINS))
    registry._found.cache_clear()
    engine = pretend("synthetic", "scripted/good", total=4)
    told = Measures(answers=3, seconds=6.0, output_tokens=90, busy_s=3.0, peak=5, device="cpu")
    for _ in range(2):
        engine.event("model-unloaded", model="tiny", **told.to_json())
    engine.event("model-unloaded", model="other", **told.to_json())
    engine.status(state=State.COMPLETE)
    view = RunView(engine.folder)
    view.look()
    assert {name: held.answers for name, held in view.measures.items()} == {"tiny": 6, "other": 3}
    assert log_words(view.log[0]) == "model done; 30 tokens/s"
