"""What a run holds, sample by sample, and the files that are made of it."""

from __future__ import annotations

import csv
import io
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from evalbench.engine.benchmark import Sample
from evalbench.engine.calls import Outcome
from evalbench.engine.errors import DataError, UsageError
from evalbench.engine.journal import CallRow, JournalReader, ScoreRow
from evalbench.engine.roles import ANSWERS, CANDIDATE, JUDGE
from evalbench.engine.runfolder import RunFolder, write_file

Place = tuple[str, str, int]
"""Role, step and repeat of a call."""

_UNSAFE = re.compile(r"[^\w.+@=-]")
_LONGEST_NAME = 150


@dataclass(frozen=True, slots=True)
class HeldSample:
    """A sample in its first epoch.

    Attributes:
        row: its number in the run.
        said: the newest call with an answer, by place; failed ones are left out.
        score: None while it has none.
    """

    row: int
    sample: Sample
    said: Mapping[Place, CallRow]
    score: ScoreRow | None

    def text(self, role: str, step: str, repeat: int = 0) -> str | None:
        """What was answered; None where nothing was."""
        call = self.said.get((role, step, repeat))
        return call.reply.text if call and call.reply else None


class HeldRun:
    """A run opened for reading."""

    def __init__(self, folder: RunFolder) -> None:
        self.id = folder.id
        self.spec = folder.spec()
        self.created = folder.status().created
        self._journal = JournalReader(folder.journal)

    def __enter__(self) -> HeldRun:
        return self

    def __exit__(self, *_: object) -> None:
        self._journal.close()

    @property
    def candidate(self) -> str:
        """The model's name, as users give it; of answers that were given, their model's."""
        return model_name(self.spec.model)

    @property
    def judges(self) -> list[str]:
        """The judges' roles."""
        return [role for role in self.spec.cast() if role.startswith(f"{JUDGE}/")]

    @property
    def origin(self) -> str:
        """The name of the data, without its ending."""
        record = self._journal.meta("record") or {}
        return Path(str(record.get("data", {}).get("origin") or "data")).stem

    @property
    def stamp(self) -> str:
        """When the run was made, as a folder's name."""
        return time.strftime("%Y%m%d_%H%M%S", time.gmtime(self.created))

    def notes(self) -> list[str]:
        """What is not written of a run that was asked more often than once."""
        epochs = self.spec.get("epochs")
        return [f"of {epochs} epochs the first was written"] if epochs > 1 else []

    def samples(self) -> Iterator[HeldSample]:
        """All of them, in order."""
        scores = {s.row: s for s in self._journal.scores() if s.epoch == 0}
        for held in self._journal.samples():
            said = {
                (_role(call), call.key.step, call.key.repeat): call
                for call in self._journal.calls(held.row)
                if call.key.epoch == 0 and call.reply and call.reply.outcome is not Outcome.ERROR
            }
            yield HeldSample(held.row, held.sample, said, scores.get(held.row))


def _role(call: CallRow) -> str:
    key = call.key
    return key.role if key.role == CANDIDATE else f"{key.role}/{key.model}"


def model_name(model: str) -> str:
    """A model as other systems name it: without what marks answers that were given."""
    return model.removeprefix(f"{ANSWERS}/")


def file_name(name: str) -> str:
    """A name as that of a file or folder: what would not do becomes a dash."""
    safe = _UNSAFE.sub("-", name).lstrip(".")[:_LONGEST_NAME]
    return safe or "unnamed"


def same_name(name: str) -> str:
    """A name that must stay as it is in that of a file.

    Raises:
        DataError: no file can have it.
    """
    if file_name(name) != name:
        raise DataError(f"{name!r} cannot be the name of a file", why="this format needs it to be")
    return name


class Files:
    """Files to be written together, once all of them are known."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._held: dict[Path, bytes] = {}

    def json(self, path: str, value: Any) -> None:
        """A JSON file; ``path`` is below the folder."""
        self._held[self._place / path] = orjson.dumps(value, option=orjson.OPT_INDENT_2)

    def lines(self, path: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """A file of JSON lines."""
        self._held[self._place / path] = b"".join(orjson.dumps(row) + b"\n" for row in rows)

    def table(self, path: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """A CSV file with the columns of the first row."""
        out = io.StringIO()
        writer = csv.DictWriter(out, list(rows[0]) if rows else [])
        writer.writeheader()
        writer.writerows(rows)
        self._held[self._place / path] = out.getvalue().encode()

    def raw(self, path: str, data: bytes) -> None:
        """A file of any other kind."""
        self._held[self._place / path] = data

    def write(self) -> list[Path]:
        """Write them all.

        Raises:
            UsageError: one is there already, or the folder cannot be written.
        """
        for path in self._held:
            if path.exists():
                raise UsageError(f"{path} is there already", cure="name another folder with -o")
        try:
            for path, data in self._held.items():
                path.parent.mkdir(parents=True, exist_ok=True)
                write_file(path, data)
        except OSError as error:
            raise UsageError(
                f"{self._place} cannot be written", why=error.strerror or str(error)
            ) from None
        return list(self._held)
