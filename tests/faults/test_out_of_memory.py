"""Memory runs out in a local worker at random moments, and the system kills it once.

The run completes all the same, with the same answers, and its journal tells.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.config.spec import RunSpec, make_spec
from evalbench.engine.journal import JournalReader
from evalbench.engine.runs.folder import RunFolder
from tests.faults.engines import Engines, wait_until

PATIENCE_S = 250.0

SQUEEZE = """
import os, random, resource, signal, sys, threading, time

def held():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()

def squeeze(answering):
    draw = random.Random(8)
    moments, killed_at, steps = set(draw.sample(range(20), 8)), 14, 0
    life = os.path.join(os.path.dirname(__file__), "killed")
    before = answering.ActiveCalls.step
    nothing = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)

    def step(self, *args):
        nonlocal steps
        steps += 1
        if steps == killed_at and not os.path.exists(life):
            open(life, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        if steps - 1 not in moments:
            return before(self, *args)
        # The limit of the address space: the allocator gets nothing more from the system.
        resource.setrlimit(resource.RLIMIT_AS, (held() + draw.randrange(1 << 16), -1))
        try:
            return before(self, *args)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, nothing)

    answering.ActiveCalls.step = step

def wait():
    while not hasattr(sys.modules.get("evalbench.providers.local.active_calls"), "ActiveCalls"):
        time.sleep(0.005)
    squeeze(sys.modules["evalbench.providers.local.active_calls"])

if "evalbench.providers.local.worker" in sys.orig_argv:
    threading.Thread(target=wait, daemon=True).start()
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of one layer so wide that every piece of a pass is asked of the system anew."""
    from tests.contract.local import tiny

    return tiny.make_llama(
        tmp_path_factory.mktemp("models") / "wide",
        hidden_size=16,
        head_dim=4,
        intermediate_size=2**18,
        num_hidden_layers=1,
    )


def spec_of(model: Path) -> RunSpec:
    options = {"threads": 1, "dtype": "float32", "slots": 8, "memory_limit": "64GB"}
    return make_spec(
        "quickstart", f"local/{model}", max_tokens=5, limit=10, provider_options=options
    )


def finished(engines: Engines, run: RunFolder) -> tuple[str, str, int]:
    """State, problem and failed samples once the run has come to rest."""
    wait_until(lambda: run.status().at_rest, "the end of the run", PATIENCE_S)
    status = engines.finish(run)
    return status.state, status.problem, status.failed


def answers(run: RunFolder) -> dict[str, str]:
    """The text of every reply by its call's hash."""
    with JournalReader(run.journal) as reader:
        return {
            call.content_hash.hex(): call.reply.text
            for item in reader.samples()
            for call in reader.calls(item.row)
            if call.reply is not None
        }


def events(run: RunFolder) -> dict[str, dict[str, Any]]:
    with JournalReader(run.journal) as reader:
        return {event.kind: dict(event.body) for event in reader.events()}


@pytest.mark.local
@pytest.mark.timeout(600)
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps to the limit")
def test_a_run_completes_with_the_same_answers(
    engines: Engines, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = engines.start(spec_of(model))
    assert finished(engines, undisturbed) == ("complete", "", 0)

    (tmp_path / "hook").mkdir()
    (tmp_path / "hook" / "sitecustomize.py").write_text(SQUEEZE)
    path = os.pathsep.join([str(tmp_path / "hook"), os.environ["PYTHONPATH"]])
    monkeypatch.setenv("PYTHONPATH", path)
    run = engines.start(spec_of(model))
    assert finished(engines, run) == ("complete", "", 0)

    assert len(answers(run)) == 10
    assert answers(run) == answers(undisturbed)
    told = events(run)
    assert told["out-of-memory"]["budget"] < 512
    assert told["worker-restarted"]["exit"] == -9
    assert told["worker-restarted"]["halved"] > 1
    assert "out-of-memory" not in events(undisturbed)
