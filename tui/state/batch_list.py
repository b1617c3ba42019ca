"""The provider batches of every run, for a list, read from status files alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalbench.engine.runs.folder import RunFolder
from evalbench.tui.state import figures
from evalbench.tui.state.batch_words import (
    age_words,
    count_words,
    end_words,
    is_open,
    resend_words,
    stage_words,
)
from evalbench.tui.state.run_folders import RunFolders, stamp_of


@dataclass(frozen=True, slots=True)
class BatchLine:
    """One batch of a run."""

    folder: RunFolder
    batch: Mapping[str, Any]
    live: bool

    @property
    def name(self) -> str:
        """Our name for the batch."""
        return str(self.batch.get("name", ""))

    @property
    def open(self) -> bool:
        """Whether results are still expected."""
        return is_open(self.batch)

    @property
    def mark(self) -> tuple[str, str]:
        """Glyph and tone of its state."""
        stage = self.batch.get("stage")
        if stage == "done":
            return "✓", "good"
        if stage == "unfetched":
            return ("▸", "good") if self.live else ("!", "warn")
        if stage in ("failed", "cancelled", "expired"):
            return ("✗", "bad") if stage == "failed" else ("–", "warn")
        return ("▸", "good") if self.live else ("·", "dim")

    def cells(self, now: float) -> tuple[str, str, str, str, str, str]:
        """Name, model, state, progress, age and expiry; ``now`` is in Unix seconds."""
        batch = self.batch
        return (
            self.name,
            str(batch.get("model", "")),
            stage_words(batch),
            count_words(batch),
            age_words(batch, now),
            end_words(batch, now),
        )

    def about(self) -> list[str]:
        """Further details, in lines."""
        batch = self.batch
        cost = float(batch.get("cost") or 0)
        provider = batch.get("id") or "no provider ID yet"
        lines = [
            f"{batch.get('role')} of {self.folder.id}",
            f"{provider} · {figures.amount(batch.get('bytes') or 0, 'B')} of requests"
            + (f" · {figures.dollars(cost)} so far" if cost else ""),
            f"in the run's folder: {self.folder.batches.name}/{self.name}.requests.jsonl",
        ]
        if words := resend_words([batch]):
            lines[-1] = f"{words}: evalbench resume {self.folder.id} --resend-unfetched"
        if why := batch.get("why"):
            lines.append(str(why))
        return lines


class BatchList:
    """All batches below a folder of runs, or of one run. :meth:`look` reads what changed."""

    def __init__(self, run: RunFolder | None) -> None:
        self._run = run
        self._folders = RunFolders()
        self._seen: dict[Path, tuple[tuple[int, int], list[BatchLine]]] = {}

    def look(self, *, over: bool) -> list[BatchLine]:
        """The batches, those of the newest run first; with ``over``, also those that have ended."""
        folders = [self._run] if self._run else self._folders.look()
        lines = [line for folder in folders for line in self._of(folder)]
        return [line for line in lines if over or line.open]

    def _of(self, folder: RunFolder) -> list[BatchLine]:
        stamp = stamp_of(folder.path / "status.json")
        seen = self._seen.get(folder.path)
        if seen and seen[0] == stamp and not any(line.live for line in seen[1]):
            return seen[1]
        status = folder.status()
        live = bool(status.batches) and folder.live_pid(status) is not None
        lines = [BatchLine(folder, batch, live) for batch in reversed(status.batches)]
        self._seen[folder.path] = stamp, lines
        return lines
