"""What each of several workers does, in words."""

from __future__ import annotations

from evalbench.tui.state.worker_words import worker_words, workers_words


def test_a_worker_tells_its_work_speed_and_memory() -> None:
    busy = {
        "worker": "gpu 0",
        "in_flight": 64,
        "answers": 1200,
        "tokens_per_second": 12.345,
        "memory": {"used": 2_000_000_000},
        "idle": 0.051,
        "progress": {},
    }
    assert worker_words(busy) == (
        "gpu 0: 64 in flight, 1,200 answers, 12.3 tokens/s, 2.0 GB, 5 % idle"
    )
    assert worker_words({"worker": "a\x1b[2J"}) == "a: 0 in flight"


def test_a_worker_that_loads_tells_only_that() -> None:
    loading = {"what": "loading the model", "done": 0, "total": None, "unit": ""}
    assert worker_words({"worker": "b", "progress": loading}) == "b: loading the model"
    for seconds, words in ((7, "7 s"), (75, "1:15")):
        loading |= {"done": seconds, "unit": "s"}
        assert (
            worker_words({"worker": "b", "progress": loading}) == f"b: loading the model: {words}"
        )


def test_very_many_are_counted() -> None:
    many = [{"worker": str(n)} for n in range(10)]
    assert workers_words(many, 8)[-2:] == ["7: 0 in flight", "… and 2 more workers"]
    assert len(workers_words(many[:8], 8)) == 8
