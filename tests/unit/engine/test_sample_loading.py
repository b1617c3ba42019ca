"""Samples on their way from the prepared file into a journal, at first and after a change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.calls import Outcome, Reply, generate
from evalbench.engine.config.spec import build_benchmark, make_spec
from evalbench.engine.data.dataset import prepare
from evalbench.engine.execution.sample_loading import load_samples
from evalbench.engine.journal import JournalReader
from tests.unit.engine.journals import ask, journal

pytestmark = pytest.mark.usefixtures("plugins")


class Loaded:
    """A journal that is brought in line with one choice of samples after the other."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "journal.db"
        self.cache = folder / "cache"

    async def load(self, total: int = 0, **given: Any) -> dict[str, int]:
        """Load what these settings choose; row numbers by sample id, in order."""
        spec = make_spec("synthetic", "scripted/good", **given)
        file = prepare(spec, self.cache)
        async with journal(self.path) as opened:
            await load_samples(opened, file, spec, build_benchmark(spec), total)
        with JournalReader(self.path) as reader:
            assert reader.meta("loaded") is True
            return {held.sample.id: held.row for held in reader.samples()}

    async def finish(self) -> None:
        """Ask and score every sample there is."""
        with JournalReader(self.path) as reader:
            held = list(reader.samples())
        async with journal(self.path) as opened:
            for one in held:
                prompt = generate(one.sample.inputs["question"])
                await ask(opened, one.row, one.sample, prompt, Reply(one.sample.id))
                opened.store_score(one.row, 0, one.sample.tags, Outcome.OK, {}, {})


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    return Loaded(tmp_path)


async def test_samples_get_rows_in_the_order_of_the_data(loaded: Loaded) -> None:
    rows = await loaded.load(options={"size": 450})
    assert list(rows.values()) == list(range(1, 451))


async def test_loading_again_changes_nothing(loaded: Loaded) -> None:
    before = await loaded.load(limit=20)
    await loaded.finish()
    assert await loaded.load(limit=20) == before
    with JournalReader(loaded.path) as reader:
        assert len(list(reader.scores())) == 20


async def test_more_samples_are_added_at_the_end(loaded: Loaded) -> None:
    before = await loaded.load(limit=20)
    after = await loaded.load(limit=30)
    assert {ident: after[ident] for ident in before} == before
    assert sorted(set(after.values()) - set(before.values())) == list(range(21, 31))


async def test_samples_that_are_not_chosen_any_more_go_with_their_scores(loaded: Loaded) -> None:
    await loaded.load(limit=20)
    await loaded.finish()
    after = await loaded.load(limit=8)
    assert len(after) == 8
    with JournalReader(loaded.path) as reader:
        assert {score.row for score in reader.scores()} == set(after.values())


async def test_the_row_of_a_sample_that_went_is_given_to_no_other(loaded: Loaded) -> None:
    first = await loaded.load(limit=20)
    await loaded.finish()
    await loaded.load(limit=8)
    third = await loaded.load(limit=20, shuffle=True)
    assert set(third) - set(first)
    with JournalReader(loaded.path) as reader:
        for ident, row in third.items():
            replies = [call.reply.text for call in reader.calls(row) if call.reply]
            assert replies == ([ident] if first.get(ident) == row else [])


async def test_a_large_set_is_packed_with_its_dictionary_from_the_start(loaded: Loaded) -> None:
    sizes = []
    for total in (0, 1500):
        await loaded.load(total, options={"size": 1500})
        sizes.append(loaded.path.stat().st_size)
        loaded.path.unlink()
    assert sizes[1] < sizes[0] * 0.95
