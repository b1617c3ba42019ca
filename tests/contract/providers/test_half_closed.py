"""Connections of which one half is shut: the call ends, in time, as what it is, and leaks none."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from decimal import Decimal
from typing import Any

import psutil
import pytest
import pytest_asyncio

from evalbench.engine import errors as e
from evalbench.engine.calls import Outcome
from evalbench.engine.cost.budget import Budget
from evalbench.engine.cost.meter import CostMeter
from evalbench.engine.cost.unit_prices import Rates, UnitPrices
from evalbench.engine.dispatch.base import SendLog
from evalbench.engine.dispatch.limiter import Limiter
from evalbench.engine.dispatch.realtime import RealtimeDispatcher
from tests.contract.providers.conftest import Make
from tests.contract.providers.crossing import Crossing, Trouble
from tests.contract.providers.test_answers import ASKED, LANES
from tests.contract.providers.test_failures import CARRIED, failure
from tests.simulator.handle import Handle
from tests.unit.providers.calls import ask

LONG_S = 60.0
SHORT_S = 0.5

Over = Callable[..., tuple[Any, str]]


@pytest_asyncio.fixture
async def way(sim: Handle) -> AsyncIterator[Crossing]:
    async with Crossing(sim.url) as crossing:
        yield crossing


@pytest.fixture
def over(sim: Handle, make: Make, way: Crossing) -> Over:
    """Makes a provider that reaches the simulator by the crossing."""

    def build(name: str) -> tuple[Any, str]:
        api, model, settings = LANES[name]
        way.part = ASKED.get(name, "")
        url = way.to(sim.base_url({"compatible": "custom"}.get(api, api)))
        return make(api, base_url=url, timeout=LONG_S, **settings), f"{api}/{model}"

    return build


@pytest.mark.parametrize("name", CARRIED)
async def test_silent_connections_are_probed(
    make: Make, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a router forgets them while a model thinks, and the answer never arrives."""
    seen: set[tuple[Any, ...]] = set()
    really = socket.socket.setsockopt

    def noted(self: socket.socket, *option: Any) -> None:
        really(self, *option)
        seen.add(option)

    monkeypatch.setattr(socket.socket, "setsockopt", noted)
    api, model, settings = LANES[name]
    provider = make(api, **settings)
    assert (await provider.answer(ask(f"{api}/{model}", max_tokens=2000))).outcome is Outcome.OK
    assert (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1) in seen
    idle = getattr(socket, "TCP_KEEPIDLE", None) or getattr(socket, "TCP_KEEPALIVE", None)
    assert (socket.IPPROTO_TCP, idle, 60) in seen


async def all_let_go(way: Crossing) -> None:
    """Wait until the client holds no connection any more."""
    async with asyncio.timeout(LONG_S):
        while way.held():
            await asyncio.sleep(0.01)


async def is_cut(
    provider: Any, model: str, way: Crossing, kind: type[e.ProviderError], *, asked: int
) -> None:
    """The next question fails in this way, may have been billed, and was sent once."""
    error = await failure(provider, ask(model))
    assert type(error) is kind
    assert error.possibly_billed
    assert len(way.questions) == asked


async def is_given_up(provider: Any, model: str) -> None:
    """The next question ends at its deadline, and may have been billed."""
    provider.timeout = SHORT_S
    error = await failure(provider, ask(model))
    assert type(error) is e.DeadlineExceeded
    assert error.possibly_billed
    provider.timeout = LONG_S


@pytest.mark.share(3)
@pytest.mark.parametrize("name", CARRIED)
@pytest.mark.parametrize("trouble", ["half", "head"])
async def test_an_answer_that_stops_in_the_middle(
    over: Over, way: Crossing, name: str, trouble: Trouble
) -> None:
    provider, model = over(name)
    way.troubles = [trouble]
    # The HTTP client of botocore takes half a head for a whole one, of an answer without a body.
    nothing = (name, trouble) == ("bedrock", "head")
    kind = e.ServerFault if nothing else e.ConnectionFailed
    await is_cut(provider, model, way, kind, asked=1)
    assert (await provider.answer(ask(model))).outcome is Outcome.OK
    assert way.questions[0] != way.questions[1]
    await provider.close()
    await all_let_go(way)


@pytest.mark.share(3)
@pytest.mark.parametrize("name", CARRIED)
@pytest.mark.parametrize("trouble", ["deaf", "endless"])
async def test_a_server_that_leaves_its_half_open_is_waited_for_no_longer_than_agreed(
    over: Over, way: Crossing, name: str, trouble: Trouble
) -> None:
    provider, model = over(name)
    way.troubles = [trouble]
    await is_given_up(provider, model)
    way.troubles = []
    assert (await provider.answer(ask(model))).outcome is Outcome.OK
    assert len({*way.questions}) == len(way.questions)
    await provider.close()
    await all_let_go(way)


@pytest.mark.share(3)
@pytest.mark.parametrize("name", CARRIED)
async def test_a_kept_connection_that_is_closed_as_the_next_question_leaves(
    over: Over, way: Crossing, name: str
) -> None:
    provider, model = over(name)
    assert (await provider.answer(ask(model))).outcome is Outcome.OK
    way.troubles = ["gone"]
    # The server may have read it: to send it again without a word could pay twice.
    await is_cut(provider, model, way, e.ConnectionFailed, asked=2)
    assert way.questions[0] == way.questions[1]
    assert (await provider.answer(ask(model))).outcome is Outcome.OK


@pytest.mark.share(3)
@pytest.mark.parametrize("name", CARRIED)
async def test_a_connection_that_was_half_shut_after_an_answer_is_not_used_again(
    over: Over, way: Crossing, name: str
) -> None:
    provider, model = over(name)
    way.troubles = ["shut-after"]
    assert (await provider.answer(ask(model))).outcome is Outcome.OK
    async with asyncio.timeout(LONG_S):
        # Most clients see it at once, the others before they use the connection again.
        while {*way.held()} - {psutil.CONN_CLOSE_WAIT}:
            await asyncio.sleep(0.01)
    await asyncio.sleep(0)
    assert (await provider.answer(ask(model))).outcome is Outcome.OK
    assert way.questions[0] != way.questions[1]


@pytest.mark.share(3)
@pytest.mark.parametrize("name", CARRIED)
async def test_a_server_that_went_deaf_after_an_answer(
    over: Over, way: Crossing, name: str
) -> None:
    provider, model = over(name)
    way.troubles = ["deaf-after"]
    assert (await provider.answer(ask(model))).outcome is Outcome.OK
    await is_given_up(provider, model)
    assert (await provider.answer(ask(model))).outcome is Outcome.OK


A_DOLLAR_A_TOKEN = UnitPrices(Rates(Decimal(0), Decimal(1_000_000)))


@pytest.mark.share(3)
@pytest.mark.parametrize("name", CARRIED)
async def test_a_cut_answer_is_asked_again_and_counts_as_possibly_billed(
    over: Over, way: Crossing, name: str
) -> None:
    provider, model = over(name)
    way.troubles = ["half"]
    budget = Budget()
    meter = CostMeter(budget, A_DOLLAR_A_TOKEN)
    realtime = RealtimeDispatcher(
        provider, Limiter(concurrency=1), meter, attempts=3, report=lambda kind, **body: None
    )
    left: list[str] = []

    class Leaving(SendLog):
        async def __call__(self) -> None:
            left.append(model)

    question = ask(model, max_tokens=2000)
    reply = await realtime.answer(question, "q", Leaving())
    assert (reply.outcome, reply.attempts, reply.possibly_billed) == (Outcome.OK, 2, True)
    assert reply.possible_cost == meter.worst_case(question) == budget.possible > 0
    assert reply.cost == budget.spent > 0
    assert (len(way.questions), len(left)) == (2, 1)
