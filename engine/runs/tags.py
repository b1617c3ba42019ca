"""The tags of a run, which can change after it was started."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from evalbench.engine.runs.folder import Lock, RunFolder


def change_tags(folder: RunFolder, add: Iterable[str], remove: Iterable[str] = ()) -> list[str]:
    """Add tags to a run and remove others; returns its tags.

    They are in its status, which its settings only begin: a resume keeps them.

    Raises:
        RunBusy: an engine is driving the run, and writes its status.
        UsageError: nothing can be written to its folder.
    """
    lock = Lock(folder)
    try:
        status = folder.status()
        removed = set(remove)
        tags = [tag for tag in dict.fromkeys([*status.tags, *add]) if tag not in removed]
        if tags != status.tags:
            folder.write_status(replace(status, tags=tags))
        return tags
    finally:
        lock.release()
