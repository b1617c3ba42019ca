"""A run's folder or journal that is taken away while the run goes on: it stops, and says so."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable

import pytest

from evalbench.engine.errors import JournalError, RunBusy
from evalbench.engine.runs.folder import RunFolder
from evalbench.tui.cli.closing import print_closing
from evalbench.tui.cli.output import Out
from evalbench.tui.state.run_follower import RunFollower
from tests.faults.engines import Engines, replied, wait_until

AT_ONCE = 4
LONG = 1500
"""Samples of a run that is not over before anybody looks."""
LOOKS_S = 2
"""Calls of 20 ms that are sent until somebody looks, generously."""
MOST = AT_ONCE * 50 * LOOKS_S


def begin(engines: Engines) -> RunFolder:
    """A run at work, with answers in its journal and its status."""
    run = engines.start(engines.spec(size=4000, concurrency=AT_ONCE))
    wait_until(lambda: (run.status().replies or 0) > 10, "replies in the status")
    return run


def stopped_soon(engines: Engines, asked: int) -> None:
    """The engine ended with the right code, and sent hardly anything more."""
    assert engines.wait() == 5
    sent = engines.ledger.asked().total()
    assert sent - asked <= MOST
    # Calls in flight were waited for.
    assert engines.ledger.answered().total() == sent


def replaced_by_a_copy(run: RunFolder) -> None:
    copy = run.path.with_name("copy")
    shutil.copytree(run.path, copy)
    run.path.rename(run.path.with_name("away"))
    copy.rename(run.path)


@pytest.mark.share(3)
@pytest.mark.parametrize(
    "take_away",
    [
        lambda run: shutil.rmtree(run.path),
        lambda run: run.path.rename(run.path.with_name("elsewhere")),
        replaced_by_a_copy,
    ],
    ids=["deleted", "renamed", "replaced"],
)
def test_a_folder_that_is_taken_away(
    engines: Engines, take_away: Callable[[RunFolder], None]
) -> None:
    run = begin(engines)
    watch = RunFollower(run)
    asked = engines.ledger.asked().total()
    before = None
    take_away(run)
    if run.path.exists():
        before = (run.path / "status.json").read_bytes()
    stopped_soon(engines, asked)
    wait_until(lambda: watch.look() or watch.ended, "the watcher to see it")
    assert watch.exit_code == 5
    assert "was deleted, renamed or replaced" in watch.problem()
    told = io.StringIO()
    print_closing(Out(told), watch)
    assert "next" not in told.getvalue()
    # What lies there now is somebody else's.
    assert run.path.exists() == (before is not None)
    if before is not None:
        assert (run.path / "status.json").read_bytes() == before
    for place in ("elsewhere", "away"):
        there = RunFolder(run.path.with_name(place))
        if there.path.exists():
            assert replied(there) == engines.ledger.answered()
            assert "renamed" in there.engine_log.read_text() or place == "away"


@pytest.mark.slow
def test_a_folder_that_was_renamed_goes_on_from_there(engines: Engines) -> None:
    run = engines.start(engines.spec(size=LONG, concurrency=AT_ONCE))
    wait_until(lambda: (run.status().replies or 0) > 10, "replies in the status")
    moved = RunFolder(run.path.rename(run.path.with_name("elsewhere")))
    assert engines.wait() == 5
    engines.resume(moved)
    status = engines.finish(moved)
    assert (status.state, status.done) == ("complete", LONG)
    assert {*engines.ledger.asked().values()} == {1}


def test_a_journal_that_is_taken_away(engines: Engines) -> None:
    run = begin(engines)
    asked = engines.ledger.asked().total()
    run.journal.unlink()
    stopped_soon(engines, asked)
    status = run.status()
    assert (status.state, status.exit_code) == ("failed", 5)
    assert "it was deleted" in status.problem
    assert status.replies == engines.ledger.answered().total()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("journal.db", "something else wrote into it"),
        ("journal.db-wal", "something else wrote into its write-ahead log"),
    ],
)
def test_only_the_content_of_a_journal_ends_its_run(engines: Engines, name: str, said: str) -> None:
    run = begin(engines)
    file = run.path / name
    file.touch()
    held = run.status().replies or 0
    wait_until(lambda: (run.status().replies or 0) > held + 2 * AT_ONCE * 50, "the run to go on")
    asked = engines.ledger.asked().total()

    def stopped() -> bool:
        if run.status().state != "running":
            return True
        # More than once: SQLite may start a log over before the engine looks, and no harm is done.
        with file.open("r+b") as there:
            there.write(bytes(file.stat().st_size))
        return False

    wait_until(stopped, "the run to stop")
    stopped_soon(engines, asked)
    assert said in run.status().problem


@pytest.mark.slow
def test_a_log_that_is_deleted_stops_the_run_and_loses_nothing(engines: Engines) -> None:
    run = engines.start(engines.spec(size=LONG, concurrency=AT_ONCE))
    wait_until(lambda: (run.status().replies or 0) > 10, "replies in the status")
    (run.path / "journal.db-wal").unlink()
    (run.path / "journal.db-shm").unlink()
    status = engines.finish(run)
    assert status.exit_code == 5
    assert "its write-ahead log was deleted" in status.problem
    assert replied(run) == engines.ledger.answered()
    engines.resume(run)
    assert engines.finish(run).state == "complete"
    assert {*engines.ledger.asked().values()} == {1}


# -- what a resume finds ----------------------------------------------------------------


@pytest.fixture
def killed(engines: Engines) -> RunFolder:
    """A run whose engine was killed when the status had counted replies."""
    run = engines.start(engines.spec(size=300, concurrency=AT_ONCE))
    wait_until(lambda: (run.status().replies or 0) > 10, "replies in the status")
    engines.end()
    return run


def refused(engines: Engines, run: RunFolder, *words: str) -> JournalError:
    """A resume sends nothing, changes nothing that could be put back, and says what is missing."""
    sent, status = len(engines.ledger.lines()), run.status()
    journal = run.journal.read_bytes() if run.journal.exists() else None
    with pytest.raises(JournalError) as caught:
        engines.resume(run)
    assert caught.value.exit_code == 5
    for word in words:
        assert word in str(caught.value)
    assert len(engines.ledger.lines()) == sent
    assert run.status() == status
    assert (run.journal.read_bytes() if run.journal.exists() else None) == journal
    return caught.value


def test_a_log_that_is_gone_after_a_kill_can_be_put_back(
    engines: Engines, killed: RunFolder
) -> None:
    log = killed.path / "journal.db-wal"
    aside = log.rename(killed.path.parent / "aside")
    # It is made anew of the log.
    (killed.path / "journal.db-shm").unlink()
    status = killed.status()
    refused(engines, killed, "journal.db-wal is missing", f"0 of {status.replies} replies")
    refused(engines, killed, "--accept-loss", f"again: {status.replies}")
    aside.rename(log)
    mark, known = len(engines.ledger.lines()), replied(killed)
    engines.resume(killed)
    assert engines.finish(killed).state == "complete"
    assert not engines.ledger.asked(after=mark) & known


@pytest.mark.slow
def test_the_loss_can_be_accepted(engines: Engines, killed: RunFolder) -> None:
    (killed.path / "journal.db-wal").unlink()
    (killed.path / "journal.db-shm").unlink()
    engines.resume(killed, accept_loss=True)
    status = engines.finish(killed)
    assert (status.state, status.done, status.replies) == ("complete", 300, 300)
    # It is whole again: nothing is missing any more.
    engines.resume(killed)
    assert engines.finish(killed).state == "complete"


def test_a_status_of_another_run_says_nothing(engines: Engines, killed: RunFolder) -> None:
    other = engines.start(engines.spec(size=40, concurrency=40))
    engines.finish(other)
    foreign = (other.path / "status.json").read_bytes()
    (killed.path / "status.json").write_bytes(foreign)
    aside = (killed.path / "journal.db-wal").rename(killed.path.parent / "aside")
    # Nothing of this run is in the journal, but another run's status says that there was.
    refused(engines, killed, "journal.db-wal is missing")
    aside.rename(killed.path / "journal.db-wal")
    (killed.path / "status.json").write_bytes(foreign)
    mark, known = len(engines.ledger.lines()), replied(killed)
    engines.resume(killed)
    status = engines.finish(killed)
    assert (status.state, status.total, status.done) == ("complete", 300, 300)
    assert not engines.ledger.asked(after=mark) & known


def test_a_copy_of_a_live_run_asks_nothing_before_the_run_has_ended(engines: Engines) -> None:
    run = engines.start(engines.spec(size=400, concurrency=2))
    wait_until(lambda: (run.status().replies or 0) > 10, "replies in the status")
    copy = RunFolder(run.path.parents[1] / "copies" / run.id)
    shutil.copytree(run.path, copy.path)
    with pytest.raises(RunBusy, match="is a copy of a run that process") as caught:
        engines.resume(copy)
    assert "pay for the same calls" in caught.value.why
    assert run.live_pid() == engines.pid
    # Killed, the run is no reason any more; what the copy lacks is asked.
    engines.end()
    engines.resume(copy)
    assert engines.finish(copy).state == "complete"


@pytest.mark.slow
def test_a_copy_of_a_run_at_rest_goes_on_anywhere(engines: Engines) -> None:
    run = engines.start(engines.spec(size=300, concurrency=AT_ONCE))
    wait_until(lambda: (run.status().replies or 0) > 10, "replies in the status")
    run.command("stop")
    engines.finish(run)
    copy = RunFolder(run.path.parents[1] / "copies" / "another-name")
    copy.path.mkdir(parents=True)
    for name in ("journal.db", "spec.json", "status.json"):
        shutil.copy(run.path / name, copy.path / name)
    engines.resume(copy)
    assert engines.finish(copy).state == "complete"
    # Nor does anybody need its status.
    (run.path / "status.json").unlink()
    engines.resume(run)
    assert engines.finish(run).state == "complete"
