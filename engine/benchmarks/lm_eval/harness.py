"""The parent's side of the child process that loads lm-evaluation-harness."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from evalbench.engine.errors import DataError, EvalbenchError
from evalbench.engine.limited_process import end_child

_OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
_MODULE = "evalbench.engine.benchmarks.lm_eval.harness_child"


class TaskFailed(Exception):
    """A document could not be scored: the library, or the task's own code, raised an error."""


class Harness:
    """A child process of its own, started on first use.

    Attributes:
        folder: where it runs: tasks may name data files relative to it; None for here.
        offline: whether data sets are read from their cache only.
    """

    def __init__(self) -> None:
        self.folder: str | None = None
        self.offline = False
        self._process: subprocess.Popen[bytes] | None = None
        self._said: Any = None
        self._turn = asyncio.Lock()
        self._opened = False

    def ask(self, request: Mapping[str, Any]) -> Any:
        """The answer to a request.

        Raises:
            DataError: the library, or a task's own code, failed.
        """
        self._send(request)
        return self._read()

    def items(self) -> Iterator[dict[str, Any]]:
        """The documents of the opened tasks, as the child makes them."""
        self._send({"ask": "items"})
        while True:
            line = self._line()
            if "item" not in line:
                self._answer(line)
                return
            yield line["item"]

    async def score(
        self, settings: Callable[[], Mapping[str, Any]], request: Mapping[str, Any]
    ) -> Any:
        """The scores of one document; the tasks are loaded at the first one.

        Raises:
            DataError: they cannot be loaded, or their data has changed.
            TaskFailed: this document cannot be scored.
        """
        async with self._turn:
            try:
                if not self._opened:
                    await asyncio.to_thread(self._open, settings)
                    self._opened = True
                return await asyncio.to_thread(self._score, request)
            except asyncio.CancelledError:
                self.close()  # its answer would be read as that of another request
                raise

    def aggregate(
        self, settings: Callable[[], Mapping[str, Any]], request: Mapping[str, Any]
    ) -> Mapping[str, tuple[float | None, float | None]]:
        """Values and standard errors that need all documents of a task at once.

        Raises:
            DataError: the tasks cannot be loaded, or the task's own code failed.
        """
        if not self._opened:
            self._open(settings)
            self._opened = True
        answer = self.ask({"ask": "aggregate", **request})
        return {key: (value, stderr) for key, (value, stderr) in answer.items()}

    def _open(self, settings: Callable[[], Mapping[str, Any]]) -> None:
        self.ask({"ask": "open", "settings": settings()})

    def _score(self, request: Mapping[str, Any]) -> Any:
        self._send({"ask": "score", **request})
        line = self._line()
        if line.get("raised"):
            raise TaskFailed(line["error"])
        return self._answer(line)

    def close(self) -> None:
        """End the child, if it is running."""
        if self._process:
            end_child(self._process)
            self._process = None
        self._opened = False

    def _send(self, request: Mapping[str, Any]) -> None:
        process = self._process or self._start()
        assert process.stdin
        with contextlib.suppress(BrokenPipeError):  # reading shows why
            process.stdin.write(orjson.dumps(request) + b"\n")
            process.stdin.flush()

    def _start(self) -> subprocess.Popen[bytes]:
        # A file, because libraries may print more than a pipe holds.
        self._said = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env={**os.environ, "TQDM_DISABLE": "1", **(_OFFLINE if self.offline else {})},
            cwd=self.folder,
            start_new_session=True,
        )
        weakref.finalize(self, end_child, self._process)
        return self._process

    def _line(self) -> Any:
        assert self._process
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line.endswith(b"\n"):
            self._said.seek(0)
            words = self._said.read().decode("utf-8", "replace").strip().splitlines()
            self.close()
            raise EvalbenchError(
                "the process that loads lm-evaluation-harness ended without an answer",
                why=words[-1] if words else "it said nothing",
            )
        return orjson.loads(line)

    def _read(self) -> Any:
        return self._answer(self._line())

    def _answer(self, line: Mapping[str, Any]) -> Any:
        if line.get("raised"):
            raise DataError(
                f"lm-evaluation-harness failed: {line['error']}",
                why="it raised this itself, or the task's own code did",
            )
        if "error" in line:
            raise DataError(line["error"], why=line["why"], hint=line["hint"])
        return line["answer"]
