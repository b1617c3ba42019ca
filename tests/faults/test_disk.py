"""Disks that are full, over their quota or not to be written to."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evalbench.engine.errors import UsageError
from evalbench.engine.journal import JournalReader
from evalbench.engine.runs.folder import RunFolder
from evalbench.tui.state.run_follower import RunFollower
from tests.faults.engines import Engines, replied, wait_until

needs_mount = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("mount") is None, reason="only root can mount"
)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of eight megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)], check=False
    )
    if made.returncode:
        pytest.skip("this system lets even root mount nothing")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def goes_on_once_freed(engines: Engines, run: RunFolder, free: Callable[[], object]) -> str:
    """The run stopped and kept what it had; it goes on from there. What it said of the reason."""
    status = engines.finish(run)
    told = status.problem
    assert (status.state, status.exit_code) == ("failed", 5)
    assert run.live_pid() is None
    known, mark = replied(run), len(engines.ledger.lines())
    assert 0 < len(known) < status.total
    free()
    engines.resume(run)
    status = engines.finish(run)
    assert (status.state, status.exit_code, status.problem) == ("complete", 0, "")
    assert not engines.ledger.asked(after=mark) & known
    assert [file.name for file in run.path.glob("journal*")] == ["journal.db"]
    with JournalReader(run.journal) as reader:
        assert len(list(reader.scores())) == status.total
    return told


@needs_mount
def test_a_full_disk_stops_the_run_and_loses_nothing(engines: Engines, small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(7_600_000))
    run = engines.start(engines.spec(concurrency=16, size=400), run_dir=small_disk)
    told = goes_on_once_freed(engines, run, ballast.unlink)
    assert "no space is left" in told
    assert f"evalbench resume {run.id}" in told


@pytest.mark.slow
@pytest.mark.cold  # a limit that the command inherits
def test_a_file_that_may_not_grow_stops_the_run_and_loses_nothing(engines: Engines) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, before[1]))
    try:
        run = engines.start(engines.spec(concurrency=16, size=600))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    told = goes_on_once_freed(engines, run, lambda: None)
    assert str(run.journal) in told


@pytest.mark.share(3)
@needs_mount
@pytest.mark.parametrize("room_kb", [0, 48, 300])
def test_whatever_is_full_is_told_with_exit_code_5(
    engines: Engines, small_disk: Path, monkeypatch: pytest.MonkeyPatch, room_kb: int
) -> None:
    """Data, caches and runs on one disk that is full sooner or later."""
    monkeypatch.setenv("EVALBENCH_HOME", str(small_disk))
    (small_disk / "ballast").write_bytes(bytes(8 * 1024 * 1024 - room_kb * 1024))
    words = ["run", "synthetic", "--model", "scripted/good", "--size", "3000", "--no-ui"]
    command = [sys.executable, "-m", "evalbench.tui.cli.main", *words, "--concurrency", "16"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 5
    assert "no space is left" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@needs_mount
def test_a_disk_that_became_read_only_is_told_although_the_engine_could_not_store_it(
    engines: Engines, small_disk: Path
) -> None:
    run = engines.start(engines.spec(concurrency=2, size=2000), run_dir=small_disk)
    watching = RunFollower(run)
    wait_until(lambda: watching.look() and watching.status.done, "the first answers")
    # As of an engine that met the disk: nothing of its end can be written.
    engines.end()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    wait_until(lambda: watching.look() or watching.ended, "the end of the engine")
    assert watching.exit_code == 5
    assert "cannot be written to" in watching.problem()
    assert f"make it writable again, then: evalbench resume {run.id}" in watching.problem()
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    known, mark = replied(run), len(engines.ledger.lines())
    engines.resume(run)
    assert engines.finish(run).exit_code == 0
    assert not engines.ledger.asked(after=mark) & known


@needs_mount
def test_a_disk_without_room_for_a_run_is_told_at_once(engines: Engines, small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(bytes(8 * 1024 * 1024))
    with pytest.raises(UsageError, match="cannot make a run folder") as caught:
        engines.start(engines.spec(), run_dir=small_disk)
    assert "No space left" in caught.value.why
    assert not engines.ledger.lines()


@needs_mount
def test_a_read_only_place_is_told_before_anything_is_sent(
    engines: Engines, small_disk: Path
) -> None:
    run = engines.start(engines.spec(size=20), run_dir=small_disk)
    assert engines.finish(run).exit_code == 0
    mark = len(engines.ledger.lines())
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(UsageError, match="cannot make a run folder"):
        engines.start(engines.spec(), run_dir=small_disk)
    with pytest.raises(UsageError, match="cannot write to"):
        engines.resume(run)
    assert len(engines.ledger.lines()) == mark
    # Looking is still possible.
    with JournalReader(run.journal) as reader:
        assert reader.size() == 20
