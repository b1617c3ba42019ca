"""Tasks of lm-evaluation-harness whose engine is killed: nothing is asked a second time."""

from __future__ import annotations

import asyncio
import json
import random
import signal
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from evalbench.engine.benchmarks.lm_eval.index import index_path
from evalbench.engine.config.spec import RunSpec, make_spec
from evalbench.engine.execution.rescoring import rescore
from evalbench.engine.formats import export_runs
from evalbench.engine.formats.full.reader import import_whole
from evalbench.engine.journal import JournalReader
from tests.faults.engines import Engines, replied, scores, wait_until
from tests.faults.kills import kill_at
from tests.simulator.handle import Handle

pytestmark = pytest.mark.slow

DOCS = 20
AT_ONCE = 4
KILLS = 2
LATENCY_S = 0.1
CHOICE = """
output_type: multiple_choice
doc_to_text: "What is {{a}} + {{b}}?"
doc_to_choice: "{{[a|string, (a + b)|string, b|string]}}"
doc_to_target: 1
"""
TEXT = """
output_type: generate_until
doc_to_text: "{{a}} and {{b}}: A, B, C or D?"
doc_to_target: "{{'ABCD'[a % 4]}}"
generation_kwargs: {until: ["\\n"], max_gen_toks: 4}
metric_list: [{metric: exact_match}]
"""


LIKELIHOOD = """
output_type: loglikelihood
doc_to_text: "{{a}} and {{b}} is"
doc_to_target: " {{a + b}}"
metric_list: [{metric: acc}]
"""
ROLLING = """
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{a}} and {{b}} is {{a + b}}."
metric_list: [{metric: word_perplexity}]
"""
KINDS = {"choice": CHOICE, "text": TEXT, "likelihood": LIKELIHOOD, "rolling": ROLLING}
F1 = """
output_type: multiple_choice
doc_to_text: "Is {{a}} odd?"
doc_to_choice: ["No", "Yes"]
doc_to_target: "{{a % 2}}"
metric_list: [{metric: f1}]
"""


@pytest.fixture
def sums(engines: Engines, tmp_path: Path) -> None:
    """A task of each kind and a group of all, as if the library came with them."""
    rows = [json.dumps({"a": number, "b": number * number + 100}) for number in range(DOCS)]
    data = tmp_path / "rows.jsonl"
    data.write_text("\n".join(rows))
    index = {"sums": ["GROUP", str(tmp_path / "sums.yaml"), "", "", "", list(KINDS)]}
    for name, body in (*KINDS.items(), ("f1", F1)):
        file = tmp_path / f"{name}.yaml"
        file.write_text(
            f"task: {name}\ndataset_path: json\ndataset_kwargs: {{data_files: {{test: {data}}}}}\n"
            f"test_split: test\n{body}"
        )
        kind = body.split()[1]
        index[name] = ["TASK", str(file), kind, "", "", []]
    (tmp_path / "sums.yaml").write_text(f"group: sums\ntask: [{', '.join(KINDS)}]\n")
    index_path().parent.mkdir(parents=True)
    index_path().write_text(json.dumps(index))


def test_all_kinds_of_requests(
    engines: Engines, sums: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPTED_CHOOSES", "1")
    spec = make_spec("lm-eval/sums", "scripted/good", concurrency=AT_ONCE)
    ledger, calls = engines.ledger, len(KINDS) * DOCS
    run = engines.start(spec)
    wait_until(lambda: ledger.asked().total() >= calls / 2, "half of the calls")
    engines.end(signal.SIGKILL)
    seen, done = len(ledger.lines()), replied(run)
    assert 0 < done.total() < calls

    engines.resume(run)
    wait_until(lambda: run.status().done or run.status().at_rest, "a score")
    engines.end(signal.SIGKILL)
    assert not ledger.asked(seen) & done
    seen, done, before = len(ledger.lines()), replied(run), scores(run)

    engines.resume(run)
    status = engines.finish(run)
    assert (status.state, status.done, status.failed) == ("complete", calls, 0)
    assert not ledger.asked(seen) & done
    assert replied(run).total() == calls
    assert ledger.asked().total() <= calls + 2 * AT_ONCE
    after = scores(run)
    assert before.items() <= after.items()
    assert {name for _, values, _ in after.values() for name in values} == {
        "acc,none",
        "acc_norm,none",
        "exact_match,none",
        "word_perplexity,none#0",
        "word_perplexity,none#1",
    }


def asked(sim: Handle, after: int = 0) -> Counter[int]:
    """How often the server was asked to continue or score each text."""
    entries = sim.entries(after)
    return Counter(one["content"] for one in entries if one["path"].endswith("/completions"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_that_a_server_answers(
    engines: Engines, sums: None, sim: Handle, dice: random.Random, kind: str
) -> None:
    sim.latency(LATENCY_S)
    spec = make_spec(
        f"lm-eval/{kind}",
        "vllm/Qwen/Qwen2.5-7B-Instruct",
        provider_options={"base_url": sim.base_url("vllm")},
        concurrency=AT_ONCE,
    )
    run = engines.start(spec)

    def reached(moment: int) -> bool:
        return len(asked(sim)) >= moment

    known = 0
    before: Counter[int] = Counter()
    for moment in sorted(dice.sample(range(AT_ONCE, DOCS - AT_ONCE), KILLS)):
        wait_until(partial(reached, moment), "a moment")
        engines.end(signal.SIGKILL)
        found, now = asked(sim), replied(run).total()
        again = found - before
        # Each once by one engine, and of what an earlier one had asked only what has no reply.
        assert set(again.values()) <= {1}
        assert len(again.keys() & before.keys()) <= len(before) - known
        assert len(found) - now <= KILLS * AT_ONCE
        before, known = found, now
        engines.resume(run)
    status = engines.finish(run)
    assert (status.state, status.done, status.failed) == ("complete", DOCS, 0)
    last = asked(sim) - before
    assert set(last.values()) <= {1}
    assert last.total() == DOCS - known
    assert len(asked(sim)) == replied(run).total() == DOCS


def test_what_the_library_estimates_survives_new_scores_and_a_copy(
    engines: Engines, sums: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPTED_CHOOSES", "1")
    run = engines.start(make_spec("lm-eval/f1", "scripted/good"))
    assert engines.finish(run).state == "complete"
    anew = asyncio.run(rescore(run))
    assert (anew.scored, anew.changed, anew.kept) == (DOCS, 0, 0)
    assert anew.after["f1_stderr,none"]["value"] > 0
    assert anew.before == anew.after

    [file] = export_runs([run], "json", tmp_path / "out").files
    copy = asyncio.run(import_whole(file))
    with JournalReader(copy.journal) as journal:
        assert journal.meta("metrics") == anew.after


def in_batches(sim: Handle) -> RunSpec:
    """A task of generated texts, in two batches."""
    return make_spec(
        "lm-eval/text",
        "groq/llama-3.3-70b-versatile",
        provider_options={"base_url": sim.base_url("groq")},
        mode="batch",
        batch_size=DOCS // 2,
        batch_poll=0.05,
    )


def test_a_batch(
    engines: Engines, sums: None, sim: Handle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "gsk_" + "z" * 48)
    sim.batch(running=3600.0)
    run = engines.start(in_batches(sim))
    wait_until(lambda: sum(len(one["items"]) for one in sim.batches()) == DOCS, "the batches")
    engines.end(signal.SIGKILL)
    sim.batch(running=0.1)
    sim.advance(3600.0)
    engines.resume(run)
    status = engines.finish(run)
    assert (status.state, status.done, status.failed) == ("complete", DOCS, 0)
    assert sim.summary()["answered"] == {"1": DOCS}
    assert len(sim.batches()) == 2


def test_batches_and_kills_at_random_moments(
    engines: Engines,
    sums: None,
    sim: Handle,
    dice: random.Random,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "gsk_" + "z" * 48)
    sim.batch(running=0.5)
    run = engines.start(in_batches(sim))

    # Requests to make, watch and fetch two batches: at least two each.
    moments = sorted(dice.sample(range(1, 9), KILLS))
    kill_at(engines, run, moments, lambda: int(sim.summary()["requests"]))
    status = run.status()
    assert (status.state, status.done, status.failed) == ("complete", DOCS, 0)
    assert sim.summary()["answered"] == {"1": DOCS}
