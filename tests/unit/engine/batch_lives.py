"""The lives of engines over one run with batches, and what each leaves."""

from __future__ import annotations

import asyncio
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

from evalbench.engine.execution.driver import Driver
from evalbench.engine.journal import JournalReader
from evalbench.engine.journal.batches import batches
from evalbench.engine.journal.records import BatchRow
from evalbench.engine.runs.status import State
from tests.unit.engine.driving import Solve, World, one_question
from tests.unit.engine.journals import journal
from tests.unit.engine.post import Post, batching


async def world_of(folder: Path, samples: int) -> World:
    """A run that has its samples."""
    made = World(folder / "journal.db")
    await made.fill(samples)
    return made


async def drive(
    world: World,
    post: Post,
    solve: Solve = one_question,
    *,
    epochs: int = 1,
    leave: bool = False,
    **batch_settings: Any,
) -> tuple[State, Driver]:
    """One engine's life over the run."""
    async with journal(world.path) as opened:
        opened.close_cut_calls(lambda call: Decimal(1))
        dispatcher = batching(post, opened, leave=leave, **batch_settings)
        driver = world.driver(opened, dispatcher, solve, epochs=epochs, leave=leave)
        try:
            return await driver.drive(), driver
        finally:
            await dispatcher.close()


def stages(world: World) -> list[str]:
    """The stage of each batch, oldest first."""
    with JournalReader(world.path) as reader:
        return [row.state for row in reader.query(batches)]


def events(world: World, kind: str) -> list[dict[str, Any]]:
    """The bodies of all events of one kind."""
    with JournalReader(world.path) as reader:
        return [dict(event.body) for event in reader.events() if event.kind == kind]


async def dies_at(
    world: World, post: Post, solve: Solve, nth: int, *, epochs: int = 1, **batch_settings: Any
) -> bool:
    """A life that ends at the nth half step of its batches: just before it is written, or after.

    What the dead engine leaves is its folder as it was at that moment.
    """
    folder, left = world.path.parent, world.path.parent.with_name("left")
    async with journal(world.path) as opened:
        opened.close_cut_calls(lambda call: Decimal(1))
        dispatcher = batching(post, opened, **batch_settings)
        driver = world.driver(opened, dispatcher, solve, epochs=epochs)
        put, steps, dead = opened.put_batch, iter(range(1000)), asyncio.Event()

        def noting(batch: BatchRow) -> asyncio.Future[None]:
            step = next(steps)
            if step == nth // 2 and nth % 2 == 0:
                die()
            done = put(batch)
            if step == nth // 2 and nth % 2:
                die()
            return done

        def die() -> None:
            opened.flush()
            shutil.copytree(folder, left)
            post.cut_off = True
            dead.set()

        opened.put_batch = noting  # type: ignore[method-assign]
        task = asyncio.ensure_future(driver.drive())
        death = asyncio.ensure_future(dead.wait())
        await asyncio.wait({task, death}, return_when=asyncio.FIRST_COMPLETED)
        task.cancel()
        death.cancel()
        await asyncio.wait({task, death})
        await dispatcher.close()
    if not post.cut_off:
        return False
    post.cut_off = False
    shutil.rmtree(folder)
    left.rename(folder)
    return True
