"""Detects replies missing from a journal before anything is asked again.

The status file counts the replies that the journal held when it was last written. A journal
with fewer was replaced by an older copy, truncated, or has lost its write-ahead log, which
holds the newest rows of a run that was killed.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from evalbench.engine.errors import JournalError, counted
from evalbench.engine.journal import JournalReader
from evalbench.engine.journal.reader import RowDecoder, totals
from evalbench.engine.journal.schema import needs_its_log
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.runs.status import Status

ACCEPT = "--accept-loss"


@dataclass(frozen=True, slots=True)
class LostReplies:
    """What is missing from a journal.

    Attributes:
        replies: how many; None if unknown.
        usd: what they cost, plus what may have been billed, as far as known.
        what, why, hint: for display.
    """

    replies: int | None
    usd: Decimal
    what: str
    why: str
    hint: str

    def refusal(self, run: str) -> JournalError:
        """The error for a resume that would pay for them again."""
        calls = "an unknown number" if self.replies is None else f"{self.replies:,}"
        return JournalError(
            self.what,
            why=f"{self.why}; resuming would ask calls that were paid for again: {calls}",
            hint=f"{self.hint}; or accept the loss and pay again: evalbench resume {run} {ACCEPT}",
        )


def lost_replies(folder: RunFolder, status: Status) -> LostReplies | None:
    """What is missing from the journal of a run that no engine drives; None if nothing.

    Read-only, so that what is missing can still be restored.

    Raises:
        JournalError: the journal cannot be read.
    """
    path = folder.journal
    if not path.exists():
        return _all_of_it(folder, status)
    with JournalReader(path) as journal:
        if journal.meta("imported"):
            return None
        created, there = journal.meta("created"), journal.query(_counted)
    if of_another_run(status, created):
        # The status says nothing about this journal.
        return _unknown(folder) if needs_its_log(path) else None
    missing, expected = there.missing(status)
    if missing <= 0:
        return None
    log = f"{path.name}-wal"
    why = f"{path} holds {expected - missing:,} of {counted(expected, 'reply')}"
    if needs_its_log(path):
        what, hint = f"{log} is missing", f"put {log} back beside {path.name}"
        why = f"the engine was killed, and {log} held the newest rows; {why}"
    else:
        what = f"the journal of run {folder.id} lacks replies"
        why += ": it was cut off, or is an older copy"
        hint = f"put the newest {path.name}, and {log} if there is one, back"
    return LostReplies(missing, max(_usd(status) - there.usd, Decimal(0)), what, why, hint)


def of_another_run(status: Status, created: Any) -> bool:
    """Whether a status belongs to a different run than the journal created at ``created``."""
    return created is not None and created != status.created


class _Counted(NamedTuple):
    """Counts of what a journal holds."""

    replies: int
    scores: int
    usd: Decimal

    def missing(self, status: Status) -> tuple[int, int]:
        """How many replies are missing, and how many there were."""
        if status.replies is not None:
            return status.replies - self.replies, status.replies
        # Earlier versions did not count replies. Failed samples may have been deleted since.
        expected = status.done - status.failed
        return expected - self.scores, expected


def _counted(decoder: RowDecoder, path: Path) -> _Counted:
    spent = totals(decoder, path)
    known = decoder.sums()
    if known:
        replies, scores = known.replies, sum(known.scores.values())
    else:
        replies, scores = decoder.db.execute(
            "SELECT (SELECT count(*) FROM reply), (SELECT count(*) FROM score)"
        ).fetchone()
    return _Counted(replies, scores, spent.cost + spent.possible)


def _usd(status: Status) -> Decimal:
    return Decimal(str(status.spend_usd or 0)) + Decimal(str(status.possible_usd))


def _all_of_it(folder: RunFolder, status: Status) -> LostReplies | None:
    if not (status.replies or status.done or status.sent):
        return None
    expected = max(status.replies or 0, status.done, status.sent)
    return LostReplies(
        expected,
        _usd(status),
        f"the journal of run {folder.id} is gone",
        f"{folder.journal} held {counted(expected, 'reply')}",
        "put it back",
    )


def _unknown(folder: RunFolder) -> LostReplies:
    log = f"{folder.journal.name}-wal"
    return LostReplies(
        None,
        Decimal(0),
        f"{log} is missing",
        f"the engine was killed, and {log} held the newest rows; the run's status.json, which"
        " counts its replies, is missing or another run's",
        f"put {log} back beside {folder.journal.name}",
    )
