"""Going to the next wrong or failed sample of a list."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from textual import work

from evalbench.engine.errors import JournalError
from evalbench.engine.runs.browse import Filter, SampleBrowser
from evalbench.tui.screens.page import Page
from evalbench.tui.state.sample_rows import next_among


class SeekingPage(Page):
    """A page positioned on one sample of a list."""

    def browsed(self) -> SampleBrowser:
        """The samples of the run."""
        raise NotImplementedError

    def listed(self) -> tuple[Sequence[int], int]:
        """Numbers of the samples in the list, in its order, and the current one."""
        raise NotImplementedError

    async def go_to(self, number: int) -> None:
        """Move to another sample of the list."""
        raise NotImplementedError

    @work(exclusive=True, group="seek")
    async def action_next_wrong(self) -> None:
        """See ``commands.py``."""
        await self._seek(Filter(right=False), "wrong answer")

    @work(exclusive=True, group="seek")
    async def action_next_error(self) -> None:
        """See ``commands.py``."""
        await self._seek(Filter(outcome="error"), "failed sample")

    async def _seek(self, wanted: Filter, what: str) -> None:
        try:
            found = await asyncio.to_thread(self.browsed().matching, wanted)
        except JournalError as error:
            self.the_app.tell_trouble(error)
            return
        number = next_among(found, *self.listed())
        if number is None:
            self.notify(f"no {what} after this one", markup=False)
        else:
            await self.go_to(number)
