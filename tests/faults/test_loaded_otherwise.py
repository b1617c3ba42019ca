"""A run is resumed where its local model is loaded otherwise: noticed when it is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalbench.engine.config.spec import make_spec
from evalbench.engine.journal import JournalReader
from tests.faults.engines import Engines, wait_until
from tests.faults.test_cards import WORKER
from tests.faults.workers import Homely

INFO = 'info={"device": "none"}'
FULL = INFO.replace("}", ', "dtype": "float32", "quantize": "none", "revision": "abc"}')


@pytest.fixture
def worker(engines: Engines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The script of a local worker; engines find a provider that starts it."""
    homely = Homely(tmp_path / "installed", monkeypatch, WORKER.replace(INFO, FULL))
    return homely.folder / "worker.py"


@pytest.mark.slow
def test_other_numbers_stop_a_resumed_run_unless_they_are_accepted(
    engines: Engines, worker: Path
) -> None:
    run = engines.start(make_spec("synthetic", "homely/any", options={"size": 60}))
    wait_until(lambda: run.status().done > 5, "some scores")
    engines.end()

    worker.write_text(worker.read_text().replace("float32", "bfloat16"))
    status = engines.finish(engines.resume(run))
    assert status.state == "failed"
    assert "homely/any: dtype was float32, is now bfloat16" in status.problem
    assert "--accept-changes" in status.problem
    assert status.done < 60

    status = engines.finish(engines.resume(run, accept_changes=True))
    assert (status.state, status.done, status.mixed) == ("complete", 60, True)
    with JournalReader(run.journal) as reader:
        kinds = [event.kind for event in reader.events()]
    assert kinds.count("changes-accepted") == 1


@pytest.mark.slow
def test_the_same_model_goes_on(engines: Engines, worker: Path) -> None:
    run = engines.start(make_spec("synthetic", "homely/any", options={"size": 60}))
    wait_until(lambda: run.status().done > 5, "some scores")
    engines.end()
    status = engines.finish(engines.resume(run))
    assert (status.state, status.mixed, status.problem) == ("complete", False, "")
