"""Where evalbench writes."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import platformdirs
import pytest

from evalbench.engine.errors import UsageError
from evalbench.engine.paths import (
    cache_dir,
    config_dir,
    expand,
    make_private,
    open_private,
    runs_dir,
)


def test_one_folder_can_hold_everything(home: Path) -> None:
    assert (runs_dir(), cache_dir(), config_dir()) == (
        home / "runs",
        home / "cache",
        home / "config",
    )


def test_that_folder_may_be_given_as_people_write_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for given in ("~/eval", "eval"):
        monkeypatch.setenv("EVALBENCH_HOME", given)
        assert runs_dir() == tmp_path / "eval" / "runs"


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda: runs_dir().parent, platformdirs.user_data_path),
        (cache_dir, platformdirs.user_cache_path),
        (config_dir, platformdirs.user_config_path),
    ],
)
def test_otherwise_the_platforms_places_are_used(
    ours: Callable[[], Path], theirs: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALBENCH_HOME", "")
    assert ours() == theirs("evalbench", appauthor=False)


def test_homes_that_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(_: object) -> None:
        raise KeyError("uid not found")

    monkeypatch.delenv("EVALBENCH_HOME", raising=False)
    monkeypatch.delenv("HOME")
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", nobody)
    monkeypatch.setattr("pwd.getpwnam", nobody)
    for place in (runs_dir, cache_dir, config_dir):
        with pytest.raises(UsageError, match="no home folder") as caught:
            place()
        assert "set HOME or EVALBENCH_HOME" in caught.value.hint
    for path in ("~", "~/x", "~nobody/x"):
        with pytest.raises(UsageError, match="is not known"):
            expand(path)
    assert expand("x/~y") == Path("x/~y")


def test_files_are_made_for_their_user_alone(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_bytes(b"old")
    there.chmod(0o644)
    before = os.umask(0)
    try:
        for name, mode in (("there", "ab"), ("new", "wb"), ("added", "ab")):
            with open_private(tmp_path / name, mode) as file:
                assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600
                file.write(b"!")
    finally:
        os.umask(before)
    assert there.read_bytes() == b"old!"


def test_folders_are_made_for_their_user_alone(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir(mode=0o755)
    make_private(there / "cache" / "data")
    make_private(there / "cache" / "data")
    modes = [path.stat().st_mode & 0o777 for path in (there, there / "cache", there / "cache/data")]
    assert modes == [0o755, 0o700, 0o700]
    (there / "file").touch()
    with pytest.raises(NotADirectoryError):
        make_private(there / "file" / "data")
