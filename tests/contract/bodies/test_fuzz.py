"""Whatever a server sends: no crash, no answer lost or asked again, no key kept, no money wrong.

Half of the cases allow a second attempt, which gets an answer.

``EVALBENCH_FUZZ_CASES`` says how many responses are tried in all, over all protocols and by
real clients; they are dealt out to tests of at most 500, which pytest-xdist runs side by side.
Each of these has cases of its own, also from a fixed seed (``--hypothesis-seed``, ``--share``).
"""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from evalbench.engine.calls import Outcome, Reply
from evalbench.engine.calls.replies import reply_to_json
from evalbench.engine.errors import ProviderError, RunFatal
from evalbench.engine.journal import JournalReader
from evalbench.tui.state.sample_view import reply_facts
from tests.contract.bodies.bench import Bench, bench
from tests.contract.bodies.cases import ANSWER, KEY, Case, answers, cases
from tests.contract.bodies.lanes import LANES
from tests.contract.bodies.server import Response
from tests.examples import examples
from tests.spellings import remains

# In a share of the cases there are enough other tests of single responses.
CASES = int(os.environ.get("EVALBENCH_FUZZ_CASES", 2000 if examples(100) == 100 else 200))
_A_LANE = math.ceil(CASES / len(LANES))
_SHARDS = math.ceil(_A_LANE / 500)
_ENOUGH = 40
"""Of so many cases with a second attempt, some need it."""
_LONGEST = 90
"""Seconds: a call that hangs is a failed case. Without it, pytest's own limit would be taken for
one, and the case be tried again and again in search of a smaller one."""


@dataclass
class Watch:
    """Checks what becomes of each response, and in the end what was kept."""

    on: Bench
    spent: Decimal = Decimal(0)
    seen: int = 0
    asked_again: int = 0

    async def check(self, case: Case) -> None:
        """One response, as it comes at once."""
        async with asyncio.timeout(_LONGEST):
            got = await self.on.ask(case.response)
        budget = self.on.budget
        assert budget.reserved == budget.in_flight == 0
        assert budget.spent + budget.possible >= self.spent
        assert min(budget.spent, budget.possible) >= 0
        self.spent = budget.spent + budget.possible
        self.on.journal.flush()
        if isinstance(got, RunFatal):
            assert not case.answered
            assert ends_the_run(case.response)
            assert not remains(KEY, f"{got}\n{got.body}\n{got.request_id}")
            return
        self.is_sound(got, case)
        if case.answered:
            assert self.on.server.asked == 1

    async def check_again(self, case: Case, answer: Case) -> None:
        """One response, and an answer if that makes the call be asked again."""
        async with asyncio.timeout(_LONGEST):
            got = await self.on.ask(case.response, attempts=2, later=answer.response)
        asked, budget = self.on.server.asked, self.on.budget
        assert asked == 1 if case.answered else asked in (1, 2)
        assert budget.reserved == budget.in_flight == 0
        assert budget.spent + budget.possible >= self.spent
        self.spent = budget.spent + budget.possible
        self.seen += 1
        if asked == 2:
            self.asked_again += 1
            # What came the second time is an answer: it is kept, and nothing is asked a third time.
            assert isinstance(got, Reply)
            assert got.attempts == 2
            self.is_sound(got, answer)
        elif isinstance(got, Reply):
            self.is_sound(got, case)

    def check_line(self, body: bytes, case: Case) -> None:
        """The same body in a line of a batch's results."""
        reply, refused = None, ""
        try:
            reply = self.on.read_line(body)
        except ProviderError as error:
            refused = f"{error}\n{error.body}"
        if reply is not None:
            self.is_sound(reply, case)
        assert not (refused and case.answered), refused
        assert not remains(KEY, refused)

    def is_sound(self, reply: Reply, case: Case) -> None:
        """A reply can be kept and shown, and is an answer if there was one."""
        assert not remains(KEY, orjson.dumps(reply_to_json(reply)).decode())
        assert isinstance(reply.text + reply.reasoning + reply.stop_reason, str)
        if case.answered:
            assert reply.outcome in (Outcome.OK, Outcome.REFUSED), reply.error
            assert ANSWER in reply.text
            assert (reply.usage.output_tokens or 1) > 0


def ends_the_run(response: Response) -> bool:
    """Whether a response may say that no call can succeed: by its status, or by an error in it."""
    hints = (b"error", b"detail", b"message", b"__type", b"code")
    return not 200 <= response.status < 300 or any(hint in response.body for hint in hints)


def fixed_seed(config: pytest.Config) -> object:
    """What cases are drawn from; None for fresh ones each time."""
    given_seed = config.getoption("--hypothesis-seed")
    return 0 if given_seed is None and settings().derandomize else given_seed


def seeded(test: Callable[[], None], base: object, name: str, shard: int) -> Callable[[], None]:
    """A test whose cases are no other shard's.

    Left alone, Hypothesis draws every shard's from the seed, or from the source of the test.
    """
    return test if base is None else seed(f"{base} {name} {shard}")(test)


def test_shards_have_cases_of_their_own() -> None:
    def tried(shard: int) -> list[int]:
        drawn: list[int] = []

        @settings(max_examples=20, derandomize=True, database=None)
        @given(st.integers())
        def one(case: int) -> None:
            drawn.append(case)

        seeded(one, 0, "compatible", shard)()
        return drawn

    assert tried(0) == tried(0)
    assert tried(0) != tried(1)


@pytest.mark.parametrize("shard", range(_SHARDS))
@pytest.mark.parametrize("name", LANES)
def test_whatever_a_server_sends(
    name: str, shard: int, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    lane = LANES[name]
    with asyncio.Runner() as runner:
        context = bench(lane, tmp_path, KEY)
        watch = Watch(runner.run(context.__aenter__()))
        # An address that never answered well may be no API: what it sends may end a run.
        watch.on.provider.spoke = True

        @settings(
            max_examples=math.ceil(_A_LANE / _SHARDS),
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate, Phase.shrink),  # to explain a failure takes minutes
        )
        @given(cases(lane), st.none() | answers(lane))
        def one(case: Case, answer: Case | None) -> None:
            runner.run(watch.check_again(case, answer) if answer else watch.check(case))
            if lane.line and case.body is not None and b"\n" not in case.body:
                watch.check_line(case.body, case)

        try:
            seeded(one, fixed_seed(pytestconfig), name, shard)()
        finally:
            runner.run(context.__aexit__(None, None, None))
    assert watch.asked_again or watch.seen < _ENOUGH
    with JournalReader(tmp_path / "journal.db") as journal:
        kept = [call.reply for row in (1, 2) for call in journal.calls(row) if call.reply]
    assert kept
    for reply in kept:
        assert reply_facts(reply) is not None
    held = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert not remains(KEY, held.decode("utf-8", "replace"))
