"""A provider whose model runs in scripted worker processes, without weights."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evalbench.engine.config import registry
from tests.faults.engines import Ledger
from tests.unit.engine.plugins import Installed

WORKER = """
import hashlib, json, os, re, struct, sys, time

folder = os.path.dirname(os.path.abspath(__file__))

def say(**frame):
    body = json.dumps(frame).encode()
    sys.stdout.buffer.write(struct.pack(">I", len(body)) + body)
    sys.stdout.buffer.flush()

def note(what):
    with open(os.path.join(folder, "noted"), "a") as file:
        file.write(what + "\\n")

def answer(key, text):
    global answers
    while answers == HOLD and not os.path.exists(os.path.join(folder, "go")):
        time.sleep(0.01)
    answers += 1
    tell("asked", text)
    time.sleep(LATENCY)
    letter = "ABCD"[hashlib.sha256(text.encode()).digest()[0] % 4]
    tell("answered", text)
    say(type="reply", key=key, reply={"text": letter, "latency_s": 0.005})

def tell(what, text):
    if LEDGER is not None:
        number = re.search("Riddle ([0-9]+)", text)[1]
        os.write(LEDGER, f"{what} {number} {time.time()}\\n".encode())

LATENCY = float(os.environ.get("HOMELY_LATENCY", "0"))
path = os.environ.get("HOMELY_LEDGER")
LEDGER = os.open(path, os.O_APPEND | os.O_WRONLY) if path else None
HOLD = int(os.environ.get("HOMELY_HOLD", "-1"))
answers = 0
say(type="hello", protocol=1, pid=os.getpid())
while len(head := sys.stdin.buffer.read(4)) == 4:
    frame = json.loads(sys.stdin.buffer.read(struct.unpack(">I", head)[0]))
    if frame["type"] == "load":
        say(type="loaded", info={"device": "none", "sharing": frame.get("sharing", 1)})
        note(f"loaded {os.getpid()} {frame.get('smaller', 0)}")
    if frame["type"] == "bye":
        break
    for call in frame.get("calls", []):
        answer(call["key"], str(call["call"]["prompt"]["messages"]))
"""

PROVIDER = """
import os, sys
from pathlib import Path
from evalbench.engine.calls import Capabilities, WorkerCommand, WorkerProvider

class Homely(WorkerProvider):
    name, title, options = "homely", "On this machine", ()

    def __init__(self, settings, secret=""):
        super().__init__(settings, secret)

    def capabilities(self, model):
        return Capabilities(generate=True)

    def check_model(self, model):
        pass

    async def models(self):
        return []

    def worker_command(self, model):
        env = {k: v for k, v in os.environ.items() if k.startswith("HOMELY_")}
        return WorkerCommand((sys.executable, str(Path(__file__).with_name("worker.py"))), env)

    def load_request(self, model):
        return {}
"""


class Homely:
    """The provider ``homely``, installed for this process and for its children."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, worker: str = WORKER) -> None:
        """``worker``: the program of its workers."""
        self.folder = folder
        self._monkeypatch = monkeypatch
        folder.mkdir()
        Installed(folder).add("homely", PROVIDER, "evalbench.providers", homely="Homely")
        (folder / "worker.py").write_text(worker)
        path = os.pathsep.join([str(folder), os.environ["PYTHONPATH"]])
        monkeypatch.setenv("PYTHONPATH", path)
        monkeypatch.syspath_prepend(str(folder))
        registry._found.cache_clear()

    def hold(self, answers: int) -> None:
        """Workers that start from now on stop after so many answers, until :meth:`go_on`."""
        self._monkeypatch.setenv("HOMELY_HOLD", str(answers))

    def keep_ledger(self, ledger: Ledger, latency_s: float) -> None:
        """Workers that start from now on note the riddles they are asked, and take their time."""
        self._monkeypatch.setenv("HOMELY_LEDGER", str(ledger.path))
        self._monkeypatch.setenv("HOMELY_LATENCY", str(latency_s))

    def go_on(self) -> None:
        """Nobody is held any longer."""
        (self.folder / "go").touch()

    @property
    def lives(self) -> list[tuple[int, int]]:
        """Process id of every worker that loaded its model, and how often its batch is halved."""
        file = self.folder / "noted"
        lines = file.read_text().splitlines() if file.exists() else []
        return [(int(pid), int(smaller)) for _, pid, smaller in map(str.split, lines)]
