"""HumanEval and MBPP: reading programs out of replies, and what their tests say."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine import sandbox
from evalbench.engine.benchmark import Asked, DataSource, Item, Sample, Score
from evalbench.engine.benchmarks.code_generation.benchmark import HumanEval, Mbpp, ProgramBenchmark
from evalbench.engine.benchmarks.code_generation.parsers import read_program
from evalbench.engine.calls import Outcome, Reply
from evalbench.engine.config.spec import make_spec
from evalbench.engine.cost.prices import PriceBook
from evalbench.engine.data.dataset import prepare
from evalbench.engine.errors import DataError
from evalbench.engine.preflight.estimate import estimate
from evalbench.engine.preflight.prompts import render
from evalbench.engine.sandbox import Unconfined
from evalbench.engine.scoring.tally import Tally

ADD = "def add(a, b):\n    return a + b\n"
HUMAN = {
    "task_id": "HumanEval/0",
    "prompt": 'def half(n):\n    return n // 2\n\n\ndef add(a, b):\n    """Sum."""\n',
    "entry_point": "add",
    "test": "def check(candidate):\n    assert candidate(2, 3) == 5\n    assert half(4) == 2\n",
}
BASIC = {
    "task_id": 11,
    "text": "Write a function to add.",
    "test_setup_code": "seven = 7",
    "test_list": ["assert add(3, 4) == seven", "assert add(0, 0) == 0"],
}


@pytest.mark.parametrize(
    ("reply", "program"),
    [
        (f"Here it is:\n```python\n{ADD}```\nDone.", ADD),
        (f"```\n{ADD}```", ADD),
        (f"```Python\r\n{ADD}```", ADD),
        (f"~~~py\n{ADD}~~~", ADD),
        (f"First\n```python\ndef old(): pass\n```\nthen\n```python\n{ADD}```", ADD),
        (f"```python\n{ADD}```\nExample:\n```python\nadd(1, 2)\n```", ADD),
        (f"```bash\npip install x\n```\n```python\n{ADD}```", ADD),
        (f"```python\n{ADD}", ADD),
        (f"<think>```python\ndef add(): wrong\n```</think>\n```python\n{ADD}```", ADD),
        (f"Sure!\n\n{ADD}", ADD),
        (ADD, ADD),
        ("    return a + b\n", "    return a + b"),
        ("\treturn a + b", "\treturn a + b"),
        ("```python\n    return a + b\n```", "    return a + b\n"),
        ("````python\n```\n````", "```\n"),
        ("I cannot do that.", None),
        ("```json\n{}\n```", None),
        ("```python\n```", None),
        ("", None),
    ],
)
def test_the_program_in_a_reply(reply: str, program: str | None) -> None:
    assert read_program(reply, "add") == program


class Says:
    """An ``ask`` that gives these texts, one after the other."""

    def __init__(self, *texts: str | Reply) -> None:
        self.texts = list(texts)
        self.asked: list[Asked] = []

    async def many(self, asks: Sequence[Asked]) -> list[Reply]:
        self.asked += asks
        given = [self.texts[n % len(self.texts)] for n in range(len(asks))]
        return [one if isinstance(one, Reply) else Reply(text=one) for one in given]


def made(kind: type[ProgramBenchmark], **options: Any) -> ProgramBenchmark:
    given = {option.name: option.default for option in kind.options}
    return kind({**given, "unsafe_run_code": True, **options})


async def solved(bench: ProgramBenchmark, item: Item, *texts: str | Reply) -> Score:
    sample = Sample("s", item.inputs, item.gold, item.tags)
    return await bench.solve(sample, Says(*texts))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reply", "passed", "note"),
    [
        (f"```python\n{ADD}```", 1, "passed"),
        ("    return a + b", 1, "passed"),
        ("```python\n    return a + b\n```", 1, "passed"),
        ("from __future__ import annotations\n" + ADD, 1, "passed"),
        ("def add(a, b):\n    return half(a) * 2 + b\n", 1, "passed"),
        ("def add(a, b):\n    return a - b\n", 0, "failed: AssertionError"),
        ("def add(a, b):\n    exit(0)\n", 0, "failed: it ended itself early"),
        ("import os\nos.write(2, b'passed')\nos._exit(0)\ndef add(): 0", 0, "failed: passed"),
        ("import sys\nsys.exit('stopped: too much time')", 0, "failed: stopped: too much time"),
        ("def add(a, b)\n    return 1\n", 0, "failed: SyntaxError: expected ':'"),
        ("I will not.", 0, "no program"),
    ],
)
async def test_humaneval(reply: str, passed: int, note: str) -> None:
    bench = made(HumanEval)
    score = await solved(bench, bench.item(HUMAN), reply)
    assert (score.values["passed"], score.note) == (passed, note)
    assert score.values["stopped"] == 0
    assert score.outcome is (Outcome.UNPARSED if note == "no program" else Outcome.OK)


async def test_mbpp_shows_its_tests_and_runs_them() -> None:
    bench = made(Mbpp)
    item = bench.item(BASIC)
    assert item.inputs["function"] == "add"
    values = bench.shown(Sample("s", item.inputs, item.gold))
    question = bench.prompt_templates["program"].messages(values)[0].text
    assert "assert add(3, 4) == seven" in question
    assert (await solved(bench, item, ADD)).values["passed"] == 1
    wrong = await solved(bench, item, "def add(a, b):\n    return 7\n")
    assert wrong.note == "failed: AssertionError"


@pytest.mark.parametrize(
    ("test", "name"),
    [
        ("assert f1(2)==3", "f1"),
        ("assert set(f2((1,2))) == set((1,2))", "f2"),
        ("assert not f3(1)", "f3"),
        ("assert (f4(1)) == 1", "f4"),
        ("assert math.isclose(f5(1), 1.0, rel_tol=0.001)", "f5"),
    ],
)
def test_which_function_mbpp_tests(test: str, name: str) -> None:
    assert made(Mbpp).item({**BASIC, "test_list": [test]}).inputs["function"] == name


async def test_pass_at_k_is_estimated_from_all_programs() -> None:
    bench = made(HumanEval, generations=5)
    wrong = "def add(a, b):\n    return 0\n"
    score = await solved(bench, bench.item(HUMAN), ADD, wrong, wrong, wrong, wrong)
    assert score.values["passed"] == pytest.approx(0.2)
    tally = Tally()
    tally.add({}, score.outcome, score.values)
    found = {metric.name: metric.value for metric in bench.metrics(tally)}
    assert found["pass@1"] == pytest.approx(0.2)
    assert found["pass@5"] == 1


async def test_all_samples_share_one_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Unconfined] = []

    async def find(*, unsafe: bool) -> Unconfined:
        await asyncio.sleep(0)
        found.append(Unconfined())
        return found[-1]

    monkeypatch.setattr(sandbox, "find_sandbox", find)
    bench = made(HumanEval)
    await asyncio.gather(*(solved(bench, bench.item(HUMAN), ADD) for _ in range(3)))
    assert len(found) == 1


async def test_refusals_and_cut_replies_run_nothing() -> None:
    bench = made(HumanEval)
    for outcome in (Outcome.REFUSED, Outcome.FILTERED):
        score = await solved(bench, bench.item(HUMAN), Reply(text=ADD, outcome=outcome))
        assert (score.outcome, score.values["passed"]) == (outcome, 0)
    cut = await solved(bench, bench.item(HUMAN), Reply(text="Well,", outcome=Outcome.TRUNCATED))
    assert cut.outcome is Outcome.TRUNCATED


async def test_looking_ahead_runs_nothing(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "HumanEval.jsonl"
    file.write_text(json.dumps(HUMAN) + "\n")
    spec = make_spec("humaneval", "openai/gpt-5-mini", data=str(file))
    prepared = prepare(spec, home)

    async def find(*, unsafe: bool) -> Unconfined:
        raise AssertionError("a program was to be run")

    monkeypatch.setattr(sandbox, "find_sandbox", find)
    [shown] = await render(spec, prepared, 1)
    assert shown["unfinished"] == ""
    assert [call["role"] for call in shown["calls"]] == ["candidate"]
    assert (await estimate(spec, prepared, PriceBook())).unfinished == 0


def test_a_file_of_problems(tmp_path: Path) -> None:
    file = tmp_path / "HumanEval.jsonl.gz"
    file.write_bytes(gzip.compress(json.dumps(HUMAN).encode() + b"\n"))
    for path in (file, tmp_path):
        data = made(HumanEval).prepare(DataSource(path, tmp_path))
        assert [item.tags["task"] for item in data.items] == ["HumanEval/0"]
    basic = tmp_path / "mbpp.jsonl"
    rows = [{**BASIC, "task_id": n} for n in (10, 11, 510, 511)]
    basic.write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = made(Mbpp).prepare(DataSource(basic, tmp_path))
    assert [item.tags["task"] for item in data.items] == ["11", "510"]
    file.write_bytes(gzip.compress(b'{"task_id": 1}\n'))
    with pytest.raises(DataError, match=r"row 1: this is no problem of HumanEval"):
        list(made(HumanEval).prepare(DataSource(file, tmp_path)).items)
    file.write_bytes(gzip.compress(json.dumps(HUMAN).encode())[:-9])
    with pytest.raises(DataError, match=r"HumanEval.jsonl.gz"):
        list(made(HumanEval).prepare(DataSource(file, tmp_path)).items)


@pytest.mark.sandbox
async def test_the_data_sets_own_solutions_pass(shared_data: Path) -> None:
    file = shared_data / "humaneval" / "HumanEval.jsonl.gz"
    bench = made(HumanEval, unsafe_run_code=False, program_seconds=60.0)
    rows = list(map(json.loads, gzip.decompress(file.read_bytes()).splitlines()))
    assert len(rows) == 164
    for row in rows[::8]:
        whole = f"```python\n{row['prompt']}{row['canonical_solution']}```"
        score = await solved(bench, bench.item(row), whole)
        assert score.note == "passed", row["task_id"]
