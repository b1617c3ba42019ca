"""Fixtures shared by every suite."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

from tests.examples import SHARE
from tests.simulator.fixtures import running_simulator, sim, still

if TYPE_CHECKING:
    from tests.warm import Warm

__all__ = ["running_simulator", "sim", "still"]

# Nobody's keychain is asked by a test, in whatever process; those about keychains bring their own.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"

# What a test loads is gone with its run; tests about kept models say so.
os.environ["EVALBENCH_KEEP_LOADED"] = "0"

# Models that whoever runs the tests has loaded are not seen. pytest's own folders have names that
# are too long for a socket's address.
os.environ["XDG_RUNTIME_DIR"] = tempfile.mkdtemp(prefix="eb-")
atexit.register(shutil.rmtree, os.environ["XDG_RUNTIME_DIR"], ignore_errors=True)

# Where the tests run must not change what commands do: CI gets plain lines, for example.
for _name in (
    *("CI", "GITHUB_STEP_SUMMARY", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES"),
    *("PAGER", "VISUAL", "EDITOR"),
):
    os.environ.pop(_name, None)

# What tests start finds compiled modules, as of an installed package; compiling them anew would
# take most of the time of most commands.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# What many tests wait for is a disk that confirms what was written. Memory does so at once, where
# there is enough of it (a container's is often 64 MB).
_MEMORY = Path("/dev/shm")
if "PYTEST_DEBUG_TEMPROOT" not in os.environ and os.access(_MEMORY, os.W_OK | os.X_OK):
    _room = os.statvfs(_MEMORY)
    if _room.f_bavail * _room.f_frsize > 4 << 30 and not _room.f_flag & os.ST_NOEXEC:
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(_MEMORY)

# What nohup, or the background of a script, lets its children ignore is what many tests are about.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How fast a machine is decides no test.
settings.register_profile("any", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any")
# The share of `make test` is small, and the same each time; `make all-tests` tries fresh examples.
settings.register_profile(SHARE, settings.get_profile("any"), max_examples=20, derandomize=True)

_SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real data sets that live beside the checkout and are never copied into it."""
    if not _SHARED_DATA.is_dir():
        pytest.skip("the shared data folder is not beside this checkout")
    return _SHARED_DATA


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh EVALBENCH_HOME."""
    folder = tmp_path / "home"
    monkeypatch.setenv("EVALBENCH_HOME", str(folder))
    return folder


@pytest.fixture(scope="session")
def warm_process(pytestconfig: pytest.Config) -> Iterator[Warm]:
    """A process that has imported what commands need; ask for ``warm`` instead."""
    process = pytestconfig.stash[_WARM]
    yield process
    process.close()


@pytest.fixture
def warm(request: pytest.FixtureRequest) -> Iterator[None]:
    """Commands, and their engines, are forked from a process that has imported what they need.

    Where the test is marked ``cold``, each is a fresh interpreter.
    """
    if request.node.get_closest_marker("cold"):
        yield
        return
    with request.getfixturevalue("warm_process"):
        yield


_WARM = pytest.StashKey["Warm"]()
_ROOT = Path(__file__).parent
_KINDS = {
    "unit": "pure",
    "contract": "pure",
    "pilot": "app",
    "e2e": "process",
    "faults": "process",
    "stranger": "process",
    "terminal": "slow",
    "packaging": "slow",
}
"""The marker of the tests in a folder; CONTRIBUTING.md says what each means."""

_OF_SLOW = 4
"""Of the slow tests of a file, one in so many is in the share, and at least one."""

_OF_APP = 5
"""The same, of the tests of the app and of processes, in the small share."""

_NEEDS = {"local", "cluster", "terminal", "keychain", "compiler", "shells", "peers", "sandbox"}
"""Markers of what not every machine has; tests that need it are slow as well."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--share`` and ``--small-share``: of tests that have many cases alike, only some run."""
    parser.addoption(
        "--share",
        action="store_true",
        help="of the cases of a test that are marked share(n), and of slow tests, run only some",
    )
    parser.addoption(
        "--small-share",
        action="store_true",
        help="the same, and of the tests of the app and of processes, run only some",
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """``auto``: two for each processor, as a test that waits leaves its own to another."""
    if config.option.numprocesses != "auto":
        return None
    ours = os.sched_getaffinity(0) if sys.platform == "linux" else range(os.cpu_count() or 1)
    return 2 * len(ours)


def pytest_configure(config: pytest.Config) -> None:
    """Choose how examples of property-based tests are drawn, before any such test is imported."""
    if config.getoption("share") or config.getoption("small_share"):
        settings.load_profile(SHARE)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """All that is collected stays until the end: no search for garbage has to go through it."""
    gc.disable()
    try:
        result = yield
    finally:
        gc.enable()
    gc.collect()
    gc.freeze()
    return result


def pytest_collection_finish(session: pytest.Session) -> None:
    """Start what commands are forked from, if any will be: it takes as long as some tests."""
    from tests.e2e.commandline import commands_environment
    from tests.warm import FEW, PRELOADED, Warm

    kinds = {mark.name for item in session.items for mark in item.iter_markers()}
    commands = bool(kinds & {"app", "process"})
    process = Warm(commands_environment(), PRELOADED if commands else FEW)
    session.config.stash[_WARM] = process
    if commands and not session.config.option.collectonly and not Warm.off():
        process.begin()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark each test by its folder, and leave out the cases that are not in the share."""
    for item in items:
        item.add_marker(_KINDS[item.path.relative_to(_ROOT).parts[0]])
        if any(mark.name in _NEEDS for mark in item.iter_markers()):
            item.add_marker("slow")
    small = config.getoption("small_share")
    if config.getoption("share") or small:
        left_out = set(_left_out(items, _OF_APP if small else 1))
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def _left_out(items: list[pytest.Item], of_app: int) -> Iterator[pytest.Item]:
    """Of tests that are alike, all but one in so many: always the same ones.

    These are the cases of a test that is marked ``share(n)``, and all slow tests of a file that
    are not marked; if ``of_app`` is more than 1, also all tests of a file of the app or of
    processes.
    """
    cases: dict[tuple[str, int], list[pytest.Item]] = {}
    for item in items:
        if of_app > 1 and not item.get_closest_marker("pure"):
            cases.setdefault((item.nodeid.partition("::")[0], of_app), []).append(item)
        elif mark := item.get_closest_marker("share"):
            cases.setdefault((item.nodeid.partition("[")[0], mark.args[0]), []).append(item)
        elif item.get_closest_marker("slow"):
            cases.setdefault((item.nodeid.partition("::")[0], _OF_SLOW), []).append(item)
    for (_, share), alike in cases.items():
        # By a hash of the name: every nth in order would leave out the same value of a
        # parameter each time.
        alike.sort(key=lambda item: crc32(item.nodeid.encode()))
        yield from alike[-(-len(alike) // share) :]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Where everything must run, a skip is a failure (set by the CI script)."""
    # Of processes that share the tests, only the one that hands them out has a reporter.
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    strict = os.environ.get("EVALBENCH_TESTS_MAY_NOT_SKIP")
    if strict and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
