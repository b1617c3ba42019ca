"""Faults of plug-ins: told, and nobody else's run ends by them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evalbench.engine.config import registry
from evalbench.engine.config.spec import make_spec
from evalbench.engine.journal import JournalReader
from evalbench.engine.runs.folder import all_runs
from tests.faults.engines import Engines
from tests.unit.engine.plugins import Installed

SOURCE = """
from evalbench_testing import Synthetic

class Clumsy(Synthetic):
    name = "clumsy"

    def metrics(self, tally):
        raise ZeroDivisionError("nothing to divide by")

class Leaving(Synthetic):
    name = "leaving"

    async def solve(self, sample, ask):
        if sample.inputs["question"].startswith("Riddle 3:"):
            raise SystemExit(0)
        return await super().solve(sample, ask)
"""


@pytest.fixture
def plugin(engines: Engines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engines:
    """Engines that find two faulty benchmarks beside the others."""
    folder = tmp_path / "site"
    folder.mkdir()
    Installed(folder).add(
        "faulty", SOURCE, "evalbench.benchmarks", clumsy="Clumsy", leaving="Leaving"
    )
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{os.environ['PYTHONPATH']}")
    registry._found.cache_clear()
    return engines


def test_metrics_that_cannot_be_made_end_that_run_alone(plugin: Engines) -> None:
    size = {"size": 30}
    specs = [make_spec(name, "scripted/good", options=size) for name in ("clumsy", "synthetic")]
    plugin.start(specs)
    assert plugin.wait() == 6
    runs = {run.status().benchmark: run for run in all_runs()}
    good, clumsy = runs["synthetic"].status(), runs["clumsy"].status()
    assert (good.state, good.exit_code, good.done) == ("complete", 0, 30)
    assert (clumsy.state, clumsy.exit_code, clumsy.done) == ("failed", 6, 30)
    assert "ZeroDivisionError: nothing to divide by" in clumsy.problem
    assert "engine.log" in clumsy.problem
    # One engine has one log; the folder of the other run says where it is.
    logs = sorted((run.engine_log for run in runs.values()), key=lambda log: len(log.read_text()))
    assert str(logs[1]) in logs[0].read_text()
    assert "Traceback" in logs[1].read_text()
    assert {log.stat().st_mode & 0o777 for log in logs} == {0o600}
    # What was answered is safe and at rest.
    assert [file.name for file in runs["clumsy"].path.glob("journal*")] == ["journal.db"]
    with JournalReader(runs["clumsy"].journal) as reader:
        assert len(list(reader.scores())) == 30


def test_a_benchmark_that_wants_to_leave_fails_its_sample_alone(plugin: Engines) -> None:
    run = plugin.start(make_spec("leaving", "scripted/good", options={"size": 10}))
    status = plugin.finish(run)
    assert (status.state, status.exit_code, status.failed, status.done) == ("complete", 2, 1, 10)
    assert status.errors == {"SystemExit": 1}
