"""Replies that cost more than their worst case, failed attempts and kills: the sums still hold."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalbench.engine.benchmark import Ask, Sample, Score
from evalbench.engine.calls import Reply, Usage, generate
from evalbench.engine.cost.budget import Budget
from evalbench.engine.cost.unit_prices import Rates, UnitPrices
from evalbench.engine.dispatch.limiter import Limiter
from evalbench.engine.dispatch.realtime import RealtimeDispatcher
from evalbench.engine.errors import (
    CallRejected,
    ConnectionFailed,
    DeadlineExceeded,
    RateLimited,
    ServerFault,
)
from evalbench.engine.execution.ask import BoundModel
from evalbench.engine.execution.driver import Driver
from evalbench.engine.execution.meters import CostMeters
from evalbench.engine.journal import Journal
from evalbench.engine.journal.schema import create
from evalbench.engine.runs.status import State
from tests.examples import examples
from tests.unit.engine.driving import Solving, right
from tests.unit.engine.journals import MODEL, sample
from tests.unit.engine.test_realtime import Acted
from tests.unit.engine.virtual_time import VirtualTimeLoop

CAP = 16
PRICES = UnitPrices(Rates(Decimal(10), Decimal(32)))
A_TOKEN = Decimal("0.000032")
STUCK_S = 30.0


async def solve(of: Sample, ask: Ask) -> Score:
    return right(await ask("candidate", generate(of.inputs["question"], max_tokens=CAP)))


@dataclass
class Ledger:
    """What a provider really did and charged, over all engines of one run.

    Attributes:
        seen: tokens of the answers that were sent.
        unseen: of those that were written and never arrived.
        flying: of those being written, by the number of the attempt.
        most_flying: how many of these there were at once, at most.
    """

    seen: list[int] = field(default_factory=list)
    unseen: list[int] = field(default_factory=list)
    flying: dict[int, int] = field(default_factory=dict)
    most_flying: int = 0
    number: int = 0


class Writer:
    """A provider whose attempts go as a list says, again and again."""

    def __init__(self, ledger: Ledger, script: Sequence[tuple[str, int, float]]) -> None:
        self._ledger = ledger
        self._script = script
        self.provider = Acted({"answer": self._answer})

    async def _answer(self, text: str, number: int) -> Reply:
        ledger = self._ledger
        ledger.number += 1
        mine = ledger.number
        how, tokens, seconds = self._script[mine % len(self._script)]
        if error := _REFUSALS.get(how):
            raise error()
        ledger.flying[mine] = tokens
        ledger.most_flying = max(ledger.most_flying, len(ledger.flying))
        await asyncio.sleep(seconds)
        if how == "stuck":
            await asyncio.sleep(STUCK_S)
        del ledger.flying[mine]
        if how in _CUTS:
            ledger.unseen.append(tokens)
            raise _CUTS[how]()
        ledger.seen.append(tokens)
        return Reply("A", usage=Usage(5, tokens))


_REFUSALS: dict[str, Any] = {
    "429": lambda: RateLimited("slow down", retry_after=2.0),
    "unreachable": lambda: ConnectionFailed("cannot reach it"),
    "400": lambda: CallRejected("no", status=400),
}
_CUTS: dict[str, Any] = {
    "500": lambda: ServerFault("failed", status=500, possibly_billed=True),
    "reset": lambda: ConnectionFailed("cut", possibly_billed=True),
    "stuck": lambda: DeadlineExceeded("no answer", possibly_billed=True),
}


class Engine:
    """One engine's life on a run."""

    def __init__(
        self, path: Path, writer: Writer, ceiling: Decimal | None, concurrency: int | None
    ) -> None:
        self.journal = Journal(path)
        self.budget = Budget()
        models = {"candidate": (str(MODEL), 1.0)}
        self.meters = CostMeters(models, {"candidate": PRICES}, self.budget, self.journal)
        self.realtime = RealtimeDispatcher(
            writer.provider,
            Limiter(concurrency=concurrency),
            self.meters.by_role["candidate"],
            attempts=3,
            report=self.journal.event,
        )
        self.driver = Driver(
            self.journal, Solving(solve), {"candidate": BoundModel(MODEL, self.realtime, {})}
        )  # fmt: skip
        self.journal.close_cut_calls(self.meters.uncertain)
        self.driver.open()
        before = self.driver.progress.before
        self.budget.spent = before.cost
        self.budget.possible = before.possible + self.meters.added
        self.budget.ceiling = ceiling

    @property
    def reported(self) -> Decimal:
        return self.budget.spent + self.budget.possible


def new_run(path: Path, samples: int) -> None:
    async def make() -> None:
        create(path)
        opened = Journal(path)
        await opened.add_samples((n, sample(n, f"q{n}")) for n in range(1, samples + 1))
        await opened.close()

    asyncio.run(make())


def drive(
    path: Path,
    writer: Writer,
    ceiling: Decimal | None,
    concurrency: int | None,
    kill_at: float | None = None,
) -> tuple[Engine, State | None]:
    """One engine from its start to its rest; or until its journal is as a kill leaves it."""

    async def life() -> tuple[Engine, State | None]:
        engine = Engine(path, writer, ceiling, concurrency)
        work = asyncio.create_task(engine.driver.drive())
        if kill_at is not None:
            await asyncio.wait([work], timeout=kill_at)
        if kill_at is None or work.done():
            state = await work
            await engine.journal.close()
            return engine, state
        left = path.with_suffix(".killed")
        for suffix in ("", "-wal"):
            if Path(f"{path}{suffix}").exists():
                shutil.copy(f"{path}{suffix}", f"{left}{suffix}")
        work.cancel()
        await asyncio.wait([work])
        await engine.journal.close()
        for file in (*path.parent.glob(f"{path.name}*"),):
            file.unlink()
        for suffix in ("", "-wal"):
            if Path(f"{left}{suffix}").exists():
                shutil.move(f"{left}{suffix}", f"{path}{suffix}")
        return engine, None

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(life())


@pytest.mark.parametrize("concurrency", [None, 8, 32, 64])
def test_thinking_beyond_the_cap_stays_within_the_budget(
    tmp_path: Path, concurrency: int | None
) -> None:
    path, ledger = tmp_path / "journal.db", Ledger()
    new_run(path, 100)
    engine, state = drive(path, Writer(ledger, [("ok", 3_016, 1.0)]), Decimal(3), concurrency)
    assert state is State.BUDGET
    assert Decimal("2.8") < engine.budget.spent <= 3
    assert engine.budget.possible == 0
    # Whoever resumes the run knows it.
    before = len(ledger.seen)
    again, state = drive(path, Writer(ledger, [("ok", 3_016, 1.0)]), Decimal(4), concurrency)
    assert state is State.BUDGET
    assert Decimal("3.8") < again.budget.spent <= 4
    assert len(ledger.seen) > before


def test_a_budget_does_not_slow_a_run_whose_cap_holds(tmp_path: Path) -> None:
    took = []
    for name, ceiling in (("with", Decimal(3)), ("without", None)):
        path = tmp_path / name
        new_run(path, 200)

        async def life(path: Path = path, ceiling: Decimal | None = ceiling) -> float:
            writer = Writer(Ledger(), [("ok", CAP, 1.0)])
            engine = Engine(path, writer, ceiling, 32)
            assert await engine.driver.drive() is State.COMPLETE
            await engine.journal.close()
            return asyncio.get_running_loop().time()

        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            took.append(runner.run(life()))
    assert took[0] <= took[1] + 6


ATTEMPTS = st.tuples(
    st.sampled_from(["ok"] * 4 + ["429", "unreachable", "400", "500", "reset", "stuck"]),
    st.sampled_from([1, CAP, CAP, 3_016, 5_000]),
    st.sampled_from([0.5, 1.0, 7.0]),
)


@settings(max_examples=examples(30), deadline=None)
@given(
    st.lists(ATTEMPTS, min_size=1, max_size=12),
    st.sampled_from([None, 1, 4, 16]),
    st.lists(st.floats(0.1, 40.0), max_size=3),
    st.sampled_from(["0.05", "0.5", "2.0"]),
)
def test_nothing_is_spent_or_told_beyond_the_ceiling_but_what_was_in_flight(
    tmp_path_factory: pytest.TempPathFactory,
    script: list[tuple[str, int, float]],
    concurrency: int | None,
    kills: list[float],
    ceiling: str,
) -> None:
    path = tmp_path_factory.mktemp("run") / "journal.db"
    new_run(path, 24)
    ledger, most = Ledger(), Decimal(ceiling)
    writer = Writer(ledger, script)
    for moment in [*kills, None]:
        engine, _ = drive(path, writer, most, concurrency, moment)
        ledger.unseen += ledger.flying.values()
        ledger.flying.clear()
    known = engine.meters.by_role["candidate"].overruns
    # Of an answer that nobody saw, no more is charged than of those that somebody did.
    charged = sum(ledger.seen) + sum(min(one, CAP + known.output_tokens) for one in ledger.unseen)
    input_tokens = 5 * (len(ledger.seen) + len(ledger.unseen))
    billed = charged * A_TOKEN + input_tokens * Decimal("0.00001")
    assert billed <= engine.reported
    beyond = known.output_tokens * A_TOKEN
    assert engine.reported <= most + beyond * (ledger.most_flying + known.uncertain)
    if not known.output_tokens:
        assert engine.reported <= most
    assert engine.budget.reserved == engine.budget.in_flight == 0
