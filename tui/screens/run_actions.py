"""What can be done with several runs at once: tag them, export them."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from evalbench.engine.errors import EvalbenchError
from evalbench.tui.screens.choose import Choose
from evalbench.tui.screens.dialogs import Enter
from evalbench.tui.state.cli_child import run_command
from evalbench.tui.state.figures import counted
from evalbench.tui.state.run_choices import Choice
from evalbench.tui.state.run_list import RunLine
from evalbench.tui.widgets.table import Column

if TYPE_CHECKING:
    from evalbench.engine.formats import Format
    from evalbench.tui.app_interface import AppInterface


async def tag_runs(app: AppInterface, lines: Sequence[RunLine]) -> None:
    """Ask for tags, and add them to runs or remove them. Call it from a worker."""
    named = _named(lines)
    present = sorted({tag for line in lines for tag in line.tags})
    now = f"Now: {', '.join(present)}. " if present else ""
    note = f"{now}Several with commas; a - before a tag removes it."
    typed = await app.push_screen_wait(Enter(f"Tag {named}", note=note))
    # A tag may have spaces in it, but "draft -paper" means two.
    tags = [word.strip() for word in re.split(r",|\s(?=-)", typed or "") if word.strip(" -")]
    if not tags:
        return
    words = [f"--remove={tag[1:].strip()}" if tag[0] == "-" else f"--add={tag}" for tag in tags]
    try:
        await run_command("tag", *(line.folder.id for line in lines), *words)
    except EvalbenchError as error:
        app.tell_trouble(error)
    else:
        app.notify(f"{named}: {', '.join(tags)}", markup=False)


async def export_runs(app: AppInterface, lines: Sequence[RunLine]) -> None:
    """Ask for a format and a place, and export runs there. Call it from a worker."""
    formats = await asyncio.to_thread(_formats)
    benchmarks = {line.benchmark for line in lines}
    choices = [
        Choice(name, (name, one.summary), f"{name} {one.summary}")
        for name, one in formats.items()
        if not one.benchmarks or benchmarks <= {*one.benchmarks}
    ]
    named = _named(lines)
    chosen = await app.push_screen_wait(
        Choose(f"Export {named}", (Column("format", 18), Column("for")), choices)
    )
    if not chosen:
        return
    kind = formats[chosen]
    one_file = kind.suffix and (kind.together or len(lines) == 1)
    place = await app.push_screen_wait(
        Enter(
            f"Export {named} to",
            value=(lines[0].folder.id if len(lines) == 1 else "exported-runs")
            + (kind.suffix if one_file else ""),
            note=f"A {'file or a folder' if one_file else 'folder'}, from {os.getcwd()}.",
        )
    )
    if not place or not place.strip():
        return
    app.notify(f"exporting {named}…", markup=False)
    words = (*(line.folder.id for line in lines), "--format", chosen, "--output", place.strip())
    try:
        events = await run_command("export", *words)
    except EvalbenchError as error:
        app.tell_trouble(error)
        return
    done = next(line for line in events if line["event"] == "exported")
    app.notify(f"{counted(len(done['files']), 'file')} written: {done['files'][0]}", markup=False)
    for one in done["notes"]:
        app.notify(one, severity="warning", timeout=10, markup=False)


def _named(lines: Sequence[RunLine]) -> str:
    return lines[0].folder.id if len(lines) == 1 else counted(len(lines), "run")


def _formats() -> Mapping[str, Format]:
    """Imported only when needed, away from the UI thread."""
    from evalbench.engine.formats import FORMATS

    return FORMATS
