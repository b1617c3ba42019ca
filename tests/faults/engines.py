"""Engine processes that tests start, watch and end in bad ways."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from evalbench.engine.calls import Outcome
from evalbench.engine.config.spec import RunSpec, make_spec
from evalbench.engine.errors import JournalError
from evalbench.engine.journal import CallRow, JournalReader, SampleRow
from evalbench.engine.process.launch import Engine, EngineOptions, launch_runs, resume_run
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.runs.status import Status
from tests.e2e.commandline import LONG_S as LONG_S
from tests.e2e.commandline import wait_until as wait_until


class Ledger:
    """What a scripted provider was asked, and answered: one line each, in order."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def lines(self, after: int = 0) -> list[tuple[str, str]]:
        """(what, content hash) of every line after the first ``after``."""
        words = [line.split() for line in self.path.read_text().splitlines()[after:]]
        return [(what, digest) for what, digest, _ in words]

    def asked(self, after: int = 0) -> Counter[str]:
        """How often each content hash was asked."""
        return Counter(digest for what, digest in self.lines(after) if what == "asked")

    def answered(self, after: int = 0) -> Counter[str]:
        """How often each content hash was answered."""
        return Counter(digest for what, digest in self.lines(after) if what == "answered")


def _options(how: dict[str, Any]) -> EngineOptions:
    """The engine's options, taken out of what else is said."""
    return EngineOptions(
        **{f.name: how.pop(f.name) for f in fields(EngineOptions) if f.name in how}
    )


@dataclass
class Engines:
    """Starts engines on runs of the test plug-ins, and leaves none behind."""

    home: Path
    ledger: Ledger
    started: list[Engine] = field(default_factory=list)

    def spec(self, benchmark: str = "synthetic", size: int = 500, **common: Any) -> RunSpec:
        """A spec for the scripted model."""
        options = {"size": size} | common.pop("options", {})
        return make_spec(benchmark, "scripted/good", options=options, **common)

    def start(self, spec: RunSpec | list[RunSpec], **how: Any) -> RunFolder:
        """Start one engine on one run or several; the first of them."""
        engine = launch_runs(spec, options=_options(how), **how)
        self.started.append(engine)
        return engine.runs[0]

    def resume(self, run: RunFolder, **how: Any) -> RunFolder:
        """Go on with a run."""
        engine = resume_run(run, _options(how), **how)
        self.started.append(engine)
        return engine.runs[0]

    @property
    def pid(self) -> int:
        """The engine started last."""
        return self.started[-1].pid

    def end(self, sign: int = signal.SIGKILL) -> None:
        """Send the newest engine a signal and wait until it is gone."""
        os.kill(self.pid, sign)
        self.wait()

    def wait(self) -> int:
        """Wait until the newest engine has ended; its exit code, negative for a signal."""

        def gone() -> tuple[int, int] | None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            return (pid, status) if pid else None

        _, status = wait_until(gone, "the end of the engine")
        return os.waitstatus_to_exitcode(status)

    def finish(self, run: RunFolder) -> Status:
        """Wait for the newest engine's end; the run's status then."""
        self.wait()
        return run.status()

    def clean_up(self) -> None:
        """End whatever a test left behind."""
        for engine in self.started:
            if engine.hold:
                engine.hold.close()
            try:
                os.kill(engine.pid, signal.SIGKILL)
                os.waitpid(engine.pid, 0)
            except (ProcessLookupError, ChildProcessError):
                continue


def answered(run: RunFolder) -> Iterator[tuple[SampleRow, CallRow]]:
    """The calls that have an answer in the journal, each with its sample."""
    try:
        reader = JournalReader(run.journal)
    except JournalError:
        return  # ended before there was one
    with reader:
        for item in reader.samples():
            for call in reader.calls(item.row):
                if call.reply is not None and call.reply.outcome is not Outcome.ERROR:
                    yield item, call


def replied(run: RunFolder) -> Counter[str]:
    """Content hashes of the calls that have an answer in the journal, with their number."""
    return Counter(call.content_hash.hex() for _, call in answered(run))


def scores(run: RunFolder) -> dict[tuple[str, int], Any]:
    """Every score by sample and epoch, with all that was read and how often it was failed."""
    with JournalReader(run.journal) as reader:
        ids = {item.row: item.sample.id for item in reader.samples()}
        return {
            (ids[score.row], score.epoch): (score.outcome, score.values, score.detail)
            for score in reader.scores()
        }
