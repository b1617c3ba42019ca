"""A run on disk: its folder, status, lock and commands, and finding it again."""

from __future__ import annotations

import errno
import itertools
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from evalbench.engine.config.spec import RunSpec, make_spec
from evalbench.engine.errors import RunBusy, RunNotFound, UsageError
from evalbench.engine.paths import write_file
from evalbench.engine.runs import folder as runfolder
from evalbench.engine.runs.folder import (
    STALE_S,
    Lock,
    RunFolder,
    all_runs,
    find_run,
    make_run,
    process_start,
    short_ids,
)
from evalbench.engine.runs.status import State, Status

NOBODY = 2**22 + 1
"""A process id that no Linux or macOS system gives out."""


@pytest.fixture
def spec(plugins: None) -> RunSpec:
    return make_spec("synthetic", "scripted/good", desc="a first try", tag=["x"])


@pytest.fixture
def run(spec: RunSpec, tmp_path: Path) -> RunFolder:
    return make_run(spec, tmp_path / "runs", total=7)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


# -- files -------------------------------------------------------------------


def test_a_file_is_replaced_whole_and_is_the_owners_alone(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    before = os.umask(0)
    try:
        write_file(file, b"a long first version")
        write_file(file, b"short")
    finally:
        os.umask(before)
    assert file.read_bytes() == b"short"
    assert mode(file) == 0o600
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_that_cannot_be_replaced_leaves_nothing_behind(tmp_path: Path) -> None:
    taken = tmp_path / "a.json"
    taken.mkdir()
    with pytest.raises(OSError, match="directory"):
        write_file(taken, b"data")
    assert list(tmp_path.iterdir()) == [taken]


# -- making ---------------------------------------------------------------------


def test_a_new_run_has_a_telling_name_a_spec_and_a_status(run: RunFolder, spec: RunSpec) -> None:
    stamp, _, rest = run.id.partition("-synthetic-good-")
    assert time.strptime(stamp, "%Y%m%d-%H%M%S")
    assert len(rest) == 4
    assert run.spec() == spec
    status = run.status()
    assert (status.run, status.state, status.total) == (run.id, State.CREATED, 7)
    assert (status.benchmark, status.model) == ("synthetic", "scripted/good")
    assert (status.desc, status.tags) == ("a first try", ["x"])
    assert (status.pid, status.at_rest, run.live_pid()) == (None, False, None)
    assert time.time() - 60 < status.created <= status.updated <= time.time()


def test_a_run_is_the_owners_alone(run: RunFolder) -> None:
    assert mode(run.path) == 0o700
    assert {mode(file) for file in run.path.iterdir()} == {0o600}


def test_its_files_have_fixed_names(run: RunFolder) -> None:
    names = [path.name for path in (run.journal, run.engine_log, run.worker_log)]
    assert names == ["journal.db", "engine.log", "worker.log"]


@pytest.mark.parametrize(
    ("model", "slug"),
    [
        ("scripted/Org/Model-7B_v1.5", "org-model-7b-v1.5"),
        ("scripted/..", "model"),
        ("scripted/" + "long" * 30, ("long" * 30)[:40]),
        ("scripted/żółw🐢", "w"),
    ],
)
def test_any_model_gives_a_plain_folder_name(
    plugins: None, tmp_path: Path, model: str, slug: str
) -> None:
    made = make_run(make_spec("synthetic", model), tmp_path)
    assert f"-synthetic-{slug}-" in made.id
    assert made.spec().model == model


def test_a_place_that_cannot_be_written_to_is_told(spec: RunSpec, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot make a run folder in") as caught:
        make_run(spec, tmp_path / "file" / "runs")
    assert caught.value.why == "Not a directory"
    assert "--run-dir" in caught.value.hint


def test_without_a_place_it_is_the_users(home: Path, spec: RunSpec) -> None:
    assert make_run(spec).path.parent == home / "runs"


# -- spec and status ----------------------------------------------------------------


@pytest.mark.parametrize("body", [None, b"", b"{", b"[]", b"{}", b'{"benchmark": 1}', b"5"])
def test_a_folder_without_a_readable_spec_is_no_run(tmp_path: Path, body: bytes | None) -> None:
    if body is not None:
        (tmp_path / "spec.json").write_bytes(body)
    with pytest.raises(RunNotFound, match="is not a readable run"):
        RunFolder(tmp_path).spec()


def test_a_status_is_read_as_it_was_written(run: RunFolder) -> None:
    metrics = {"accuracy": {"value": 0.5}}
    paused = replace(run.status(), state=State.PAUSED, outcomes={"ok": 3}, metrics=metrics)
    assert run.write_status(paused) == run.status()
    assert run.status().at_rest


def test_fields_of_a_newer_version_are_passed_over(run: RunFolder) -> None:
    file = run.path / "status.json"
    file.write_bytes(orjson.dumps({**orjson.loads(file.read_bytes()), "mood": "good"}))
    assert run.status().total == 7


@pytest.mark.parametrize(
    "body", [None, b"", b"[]", b"{}", b"5", b'{"run": "r", "state": "dreaming"}']
)
def test_a_status_that_cannot_be_read_is_a_fresh_one(run: RunFolder, body: bytes | None) -> None:
    file = run.path / "status.json"
    file.unlink()
    if body is not None:
        file.write_bytes(body)
    status = run.status()
    assert status == Status(run.id)
    assert bool(status.unreadable) is (body is not None)
    assert run.shown_state(status) == ("interrupted" if body is None else "unreadable")
    run.write_status(status)
    assert run.status().unreadable == ""


def test_on_a_full_disk_the_status_is_written_over_the_old_one(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    run.write_status(replace(run.status(), problem="x" * 500))
    monkeypatch.setattr(runfolder, "write_file", full)
    status = replace(run.status(), state=State.FAILED, problem="the disk is full")
    assert run.write_status(status) == run.status()
    (run.path / "status.json").unlink()
    with pytest.raises(OSError, match="No space"):
        run.write_status(status)


# -- who is alive -----------------------------------------------------------------------


def claimed(pid: int | None, **changes: Any) -> Status:
    """The status of a running run that some process on this machine drives."""
    status = Status("r", State.RUNNING, pid=pid, host=socket.gethostname(), updated=time.time())
    return replace(status, **{"pid_started": process_start(pid) if pid else "", **changes})


def test_a_living_engine_is_known_by_id_and_start(run: RunFolder) -> None:
    assert run.live_pid(claimed(os.getpid())) == os.getpid()
    run.write_status(claimed(os.getpid()))
    assert run.live_pid() == os.getpid()


def test_a_process_that_was_given_the_same_id_is_no_engine(run: RunFolder) -> None:
    assert run.live_pid(claimed(os.getpid(), pid_started="12345")) is None


def test_a_dead_engine_is_not_alive(run: RunFolder) -> None:
    assert run.live_pid(claimed(NOBODY, pid_started="12345")) is None
    assert run.live_pid(claimed(NOBODY)) is None


def test_an_engine_that_is_dead_but_not_yet_buried_is_not_alive(run: RunFolder) -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    status = claimed(child.pid)
    assert run.live_pid(status) == child.pid
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert run.live_pid(status) is None
    child.communicate()
    assert run.live_pid(status) is None


def test_a_run_is_interrupted_when_its_engine_is_gone_and_not_while_it_comes_up(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    status = run.status()
    assert run.shown_state(status) == "created"
    monkeypatch.setattr("evalbench.engine.runs.folder.time.time", lambda: status.updated + 11)
    assert run.shown_state(status) == "interrupted"
    monkeypatch.undo()
    status = replace(status, state=State.RUNNING, pid=NOBODY, host=socket.gethostname())
    assert run.shown_state(status) == "interrupted"


def test_a_run_at_rest_has_no_engine_whatever_its_status_says(run: RunFolder) -> None:
    assert run.live_pid(claimed(os.getpid(), state=State.COMPLETE)) is None


def test_an_engine_on_another_machine_lives_while_it_writes(run: RunFolder) -> None:
    away = claimed(NOBODY, host="elsewhere.example")
    assert run.live_pid(away) == NOBODY
    silent = replace(away, updated=time.time() - STALE_S - 1)
    assert run.live_pid(silent) is None


def test_the_start_of_a_process_is_its_own_and_stays() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        mine = process_start(os.getpid())
        assert mine
        assert mine == process_start(os.getpid())
        assert process_start(child.pid) not in ("", mine)
    finally:
        child.communicate()
    assert process_start(NOBODY) == ""


def test_without_proc_ps_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ps = tmp_path / "ps"
    ps.write_text('#!/bin/sh\n[ "$*" = "-o lstart= -p 41" ] && echo "Mon Nov 30 10:00:00 2026 "\n')
    ps.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(runfolder, "Path", lambda name: tmp_path / "macos" / name.lstrip("/"))
    assert process_start(41) == "Mon Nov 30 10:00:00 2026"
    assert process_start(42) == ""


def test_the_start_of_a_process_is_the_same_in_every_time_zone_and_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ps = tmp_path / "ps"
    ps.write_text('#!/bin/sh\necho "$TZ, $LC_ALL"\n')
    ps.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setattr(runfolder, "Path", lambda name: tmp_path / "macos" / name.lstrip("/"))
    assert process_start(41) == "UTC, C"


# -- the lock ------------------------------------------------------------------------------


def test_a_run_is_driven_by_one_engine_at_a_time(run: RunFolder) -> None:
    lock = Lock(run)
    with pytest.raises(RunBusy) as caught:
        Lock(run)
    assert caught.value.what == f"run {run.id} is already being driven"
    assert caught.value.hint == f"watch it: evalbench attach {run.id}"
    lock.release()
    Lock(run).release()


def test_who_holds_the_lock_is_named(run: RunFolder) -> None:
    run.write_status(claimed(os.getpid()))
    lock = Lock(run)
    with pytest.raises(RunBusy, match=f"driven by process {os.getpid()}"):
        Lock(run)
    lock.release()


HOLD = """
import sys
from dataclasses import replace
from pathlib import Path
from evalbench.engine.runs.folder import Lock, RunFolder
lock = Lock(RunFolder(Path(sys.argv[1])))
print("held", flush=True)
input()
"""


def test_the_lock_of_a_killed_engine_is_free(run: RunFolder) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(run.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout
    assert child.stdout.readline() == "held\n"
    with pytest.raises(RunBusy):
        Lock(run)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    Lock(run).release()


def test_an_engine_that_is_letting_go_is_waited_for(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.write_status(claimed(os.getpid(), state=State.PAUSED))
    held = Lock(run)
    monkeypatch.setattr(time, "sleep", lambda seconds: held.release())
    Lock(run).release()


def test_but_not_for_ever(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    run.write_status(claimed(os.getpid(), state=State.PAUSED))
    held = Lock(run)
    passed = itertools.count(0, 5)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    monkeypatch.setattr(time, "monotonic", lambda: next(passed))
    with pytest.raises(RunBusy):
        Lock(run)
    held.release()


def test_where_no_lock_can_be_the_run_cannot_be_driven(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write to"):
        Lock(RunFolder(tmp_path / "gone"))


# -- commands ---------------------------------------------------------------------------------


def test_commands_are_taken_once_and_in_order(run: RunFolder) -> None:
    assert run.take_commands() == []
    for calls in range(20):
        run.command("concurrency", value=calls)
    run.command("stop")
    assert mode(run.path / "commands") == 0o700
    expected = [{"do": "concurrency", "value": calls} for calls in range(20)] + [{"do": "stop"}]
    assert run.take_commands() == expected
    assert run.take_commands() == []


def test_what_is_no_command_is_passed_over(run: RunFolder) -> None:
    run.command("pause")
    folder = run.path / "commands"
    (folder / "0.json").write_bytes(b"{half")
    (folder / ".1.json.77").write_bytes(b'{"do": "stop"}')
    (folder / "notes.txt").write_bytes(b"mine")
    assert run.take_commands() == [{"do": "pause"}]
    assert {file.name for file in folder.iterdir()} == {".1.json.77", "notes.txt"}


# -- finding -----------------------------------------------------------------------------------


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A place with three runs and other things."""
    place = tmp_path / "place"
    for name in ("20260101-mmlu-a-0001", "20260102-mmlu-b-0002", "20260103-mmlu-b-0003"):
        (place / name).mkdir(parents=True)
        (place / name / "spec.json").write_text("{}")
    (place / "notes").mkdir()
    (place / "file").touch()
    return place


def test_all_runs_are_listed_newest_first(runs: Path) -> None:
    assert [run.id[-4:] for run in all_runs(runs)] == ["0003", "0002", "0001"]
    assert all_runs(runs / "none") == []
    assert all_runs(runs / "file") == []


def test_runs_of_one_second_are_listed_in_the_order_they_were_made_in(
    spec: RunSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The second run is made in the same moment as the first, and waits for the next.
    moments = iter([0, 0, 20_000, 40_000, 400_000_000, 999_999_999])
    monkeypatch.setattr(time, "time_ns", lambda: 5 * 10**9 + next(moments))
    benchmarks = ["synthetic", "synthetic", "quickstart", "synthetic", "custom"]
    made = [make_run(replace(spec, benchmark=name), tmp_path).id for name in benchmarks]
    assert [run.id for run in all_runs(tmp_path)] == made[::-1]
    assert find_run("last", tmp_path).id == made[-1]


def test_a_run_is_found_by_id_part_path_or_as_the_last(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = runs / "20260101-mmlu-a-0001"
    for name in (first.name, "0001", "20260101", "mmlu-a", str(first), f"{first}/"):
        assert find_run(name, runs).path == first
    assert find_run("last", runs).id == "20260103-mmlu-b-0003"
    monkeypatch.chdir(first)
    monkeypatch.setenv("HOME", str(runs))
    assert find_run(".", runs).path == first
    assert find_run(f"~/{first.name}", runs).path == first


def test_a_whole_id_wins_over_being_a_part(runs: Path) -> None:
    longer = runs / "20260101-mmlu-a-0001-again"
    longer.mkdir()
    (longer / "spec.json").write_text("{}")
    assert find_run("20260101-mmlu-a-0001", runs).path == runs / "20260101-mmlu-a-0001"


def test_several_matches_are_listed(runs: Path) -> None:
    with pytest.raises(RunNotFound) as caught:
        find_run("mmlu-b", runs)
    assert caught.value.what.splitlines() == [
        "'mmlu-b' could be any of",
        "    20260103-mmlu-b-0003",
        "    20260102-mmlu-b-0002",
    ]


@pytest.mark.parametrize("name", ["none", "", "x" * 300, "~no-such-user-here", "a\0b", "notes"])
def test_a_run_that_is_not_there_is_told(runs: Path, name: str) -> None:
    with pytest.raises(RunNotFound) as caught:
        find_run(name, runs)
    assert caught.value.what == f"there is no run {name!r}"
    assert caught.value.why == ""
    assert caught.value.hint.startswith(("list them: evalbench runs", "did you mean "))


def test_runs_are_counted_back_from_the_last(runs: Path) -> None:
    assert find_run("last~0", runs).id == find_run("last", runs).id == "20260103-mmlu-b-0003"
    assert find_run("last~1", runs).id == "20260102-mmlu-b-0002"
    with pytest.raises(RunNotFound) as caught:
        find_run("last~3", runs)
    assert "last~2 is the oldest" in caught.value.why


def test_short_ids_name_one_run_and_beginnings_of_them_do(runs: Path) -> None:
    for name in ("20260104-mmlu-c-0001", "20260105-mmlu-c-00ab"):
        (runs / name).mkdir()
        (runs / name / "spec.json").write_text("{}")
    shown = short_ids(all_runs(runs))
    assert shown["20260105-mmlu-c-00ab"] == "00ab"
    # Two have the same end.
    assert shown["20260104-mmlu-c-0001"] == "20260104-mmlu-c-0001"
    for ident, short in shown.items():
        assert find_run(short, runs).id == ident
    assert find_run("00a", runs).id == "20260105-mmlu-c-00ab"
    assert find_run("20260105", runs).id == "20260105-mmlu-c-00ab"


def test_among_many_runs_the_nearest_is_named(runs: Path) -> None:
    for number in range(12):
        (runs / f"20260201-openseesime-x-{number:04}").mkdir()
        (runs / f"20260201-openseesime-x-{number:04}" / "spec.json").write_text("{}")
    with pytest.raises(RunNotFound) as caught:
        find_run("20260101-mmul-a-0001", runs)
    assert caught.value.hint.startswith("did you mean 20260101-mmlu-a-0001")


def test_where_there_are_no_runs_the_place_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunNotFound) as caught:
        find_run("last", tmp_path / "none")
    assert caught.value.why == f"no run is in {tmp_path / 'none'}"
