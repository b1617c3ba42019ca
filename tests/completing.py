"""Lines to complete, and a shell that is typed into."""

from __future__ import annotations

import os
import pty
import select
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

CASES: list[tuple[str, list[str]]] = [
    ("evalbench ru", ["run", "runs"]),
    ("evalbench --ver", ["--version"]),
    ("evalbench --theme mono", ["monochrome"]),
    ("evalbench run mm", ["mmlu", "mmlu-pro", "mmmu"]),
    ("evalbench run mmlu --fami", ["--family"]),
    ("evalbench run mmlu --family c", ["chat", "cot"]),
    ("evalbench run mmlu --family=c", ["--family=chat", "--family=cot"]),
    ("evalbench run --limit 5 mm", ["mmlu", "mmlu-pro", "mmmu"]),
    ("evalbench run quickstart --fami", []),
    ("evalbench run mmlu --limit ", []),
    ("evalbench run mmlu --quanti", ["--quantize"]),
    ("evalbench run mmlu --model anthropic/x --quanti", []),
    ("evalbench run mmlu --model groq/x --reasoning-f", ["--reasoning-format"]),
    ("evalbench run mmlu --model anth", ["anthropic/"]),
    ("evalbench probe anthropic/x --eff", ["--effort"]),
    ("evalbench run mmlu --data not", ["notes.txt"]),
    ("evalbench resume ", ["last", "20261128-quick-1"]),
    ("evalbench compare last 2026", ["20261128-quick-1"]),
    ("evalbench resume last --retry tr", ["truncated"]),
    ("evalbench keys se", ["set"]),
    ("evalbench keys set anth", ["anthropic"]),
    ("evalbench models fit --quanti", ["--quantize"]),
    ("evalbench models --quanti", []),
    ("evalbench export last --format ju", ["junit"]),
    ("evalbench serve x --engine v", ["vllm"]),
    ("evalbench serve x -- --eng", []),
    ("evalbench parse mt-bench-si", ["mt-bench-single"]),
]
"""A line up to the cursor, and what it may become; in a folder with ``notes.txt`` and one run."""

BY_SHELLS = [
    (line, wanted)
    for line, wanted in CASES
    if line.endswith((" ru", " --fami", "=c", " anth", " not", "resume ", " --eng"))
]
"""Some of them for every shell: a value after =, a model that goes on, a file, runs, nothing."""

_LONG_S = 60.0


class Typing:
    """An interactive shell on a terminal of its own.

    Args:
        words: the shell.
        setup: a line that it runs first.
        home: its folder and home.
        env: more for its environment.
    """

    def __init__(self, words: Sequence[str], setup: str, home: Path, **env: str) -> None:
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            try:
                os.chdir(home)
                path = os.environ["PATH"]
                env = {"PATH": path, "HOME": str(home), "TERM": "dumb", "LC_ALL": "C.UTF-8"} | env
                os.execvpe(words[0], list(words), env)
            finally:
                os._exit(127)
        self._type(f"{setup}; echo REA''DY\n")
        self._wait_for("READY\r\n")

    def __enter__(self) -> Typing:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._terminal)
        os.waitpid(self._pid, 0)

    def completes(self, line: str, rest: str) -> None:
        """Type a line and the tab key; the shell must add the rest. The line is then dropped."""
        self._type(line + "\t")
        self._wait_for(line + rest)
        self._type("\x15")

    def _type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def _wait_for(self, text: str) -> None:
        """Read until the text has come."""
        seen = ""
        end = time.monotonic() + _LONG_S
        while text not in seen:
            assert time.monotonic() < end, f"waited in vain for {text!r} in {seen!r}"
            if select.select([self._terminal], [], [], 0.1)[0]:
                seen += os.read(self._terminal, 65536).decode(errors="replace")


def path_with_evalbench(folder: Path) -> str:
    """A PATH on which ``evalbench`` is this checkout's; the command is written into the folder."""
    command = folder / "bin" / "evalbench"
    command.parent.mkdir()
    command.write_text(f"#!{sys.executable}\nfrom evalbench_tui import main\n\nmain()\n")
    command.chmod(0o755)
    return f"{command.parent}:{os.environ['PATH']}"
