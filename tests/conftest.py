"""Fixtures shared by every suite."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.simulator.fixtures import running_simulator, sim, still

__all__ = ["running_simulator", "sim", "still"]

# Nobody's keychain is asked by a test, in whatever process; those about keychains bring their own.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"

# What tests start finds compiled modules, as of an installed package; compiling them anew would
# take most of the time of most commands.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# What nohup, or the background of a script, lets its children ignore is what many tests are about.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

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


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Where everything must run, a skip is a failure (set by the CI script)."""
    # Of processes that share the tests, only the one that hands them out has a reporter.
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    strict = os.environ.get("EVALBENCH_TESTS_MAY_NOT_SKIP")
    if strict and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
