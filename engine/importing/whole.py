"""Runs out of the JSON files that ``evalbench export --format json`` writes.

Nothing is asked, read or scored again: samples, calls, replies and scores go
into a new journal as they stand in the file, so the run is what it was, and is
scored anew, browsed, compared and (where it was not complete) resumed like it.
"""

from __future__ import annotations

import asyncio
import base64
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

import orjson

from evalbench.engine.benchmark import Sample
from evalbench.engine.benchmarks.reading import unreadable
from evalbench.engine.calls import Call, ModelRef, Outcome
from evalbench.engine.calls.messages import prompt_from_json
from evalbench.engine.calls.replies import reply_from_json
from evalbench.engine.errors import DataError
from evalbench.engine.importing.reading import malformed
from evalbench.engine.journal import CallKey, Journal
from evalbench.engine.journal.codec import quotable
from evalbench.engine.journal.schema import create
from evalbench.engine.results.exporting.whole import END, FORMAT, SAMPLES, VERSION
from evalbench.engine.runfolder import RunFolder, make_run
from evalbench.engine.settings import RunSpec
from evalbench.engine.status import AT_REST, State, Status, exit_code

_WRONG = (AttributeError, KeyError, TypeError, ValueError, ArithmeticError)
_KEPT = 4096
"""Pictures that are remembered by content; a later sample may show one again."""


async def import_whole(path: Path, parent: Path | None = None) -> RunFolder:
    """Make a run of an exported one; none is left when that fails.

    Raises:
        DataError: the file is none, or of a newer version, or damaged.
        UsageError: the folder cannot be written to.
    """
    try:
        with path.open("rb") as file:
            head = _head(path, file)
            spec = RunSpec.from_json(head["spec"])
            status = _status(head)
            folder = make_run(spec, parent, total=status.total)
            try:
                await _write(folder, head, status, _samples(path, file, head), path)
            except BaseException:
                shutil.rmtree(folder.path, ignore_errors=True)
                raise
            return folder
    except OSError as error:
        raise unreadable(path, error) from None
    except _WRONG as error:
        raise malformed("this is no exported run", path, 1, error) from None


def _head(path: Path, file: IO[bytes]) -> dict[str, Any]:
    """What stands before the samples; the whole of a file that was laid out anew."""
    lines = []
    while line := file.readline():
        if line.startswith(SAMPLES):
            lines.append(SAMPLES + b"]}")
            break
        lines.append(line)
    try:
        head = orjson.loads(b"".join(lines))
    except orjson.JSONDecodeError as error:
        raise DataError("this is not JSON", path=str(path), why=str(error)) from None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise DataError("this is no exported run", path=str(path), cure="see docs/exporting.md")
    if head["version"] > VERSION:
        raise DataError(
            "it was written by a newer evalbench",
            path=str(path),
            why=f"its form is version {head['version']}; this one reads up to {VERSION}",
            cure="upgrade evalbench",
        )
    return head


def _samples(path: Path, file: IO[bytes], head: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield from head["samples"]
    while line := file.readline():
        if line.rstrip() == END:
            return
        try:
            yield orjson.loads(line.rstrip().removesuffix(b","))
        except orjson.JSONDecodeError as error:
            raise DataError("a sample is damaged", path=str(path), why=str(error)) from None
    if not head["samples"]:
        raise DataError("it is cut off", path=str(path), why="the list of samples has no end")


def _status(head: Mapping[str, Any]) -> Status:
    known = {f.name for f in fields(Status)}
    status = Status(**{name: value for name, value in head["status"].items() if name in known})
    status.state = State(status.state)
    if status.state not in AT_REST or status.state is State.WAITING:
        # Whoever drove it, or had its batches, does so elsewhere.
        status.state = State.STOPPED
    return replace(status, host="", pid=None, pid_started="", batches=[], gauges={})


async def _write(
    folder: RunFolder,
    head: Mapping[str, Any],
    status: Status,
    samples: Iterator[dict[str, Any]],
    path: Path,
) -> None:
    facts = {**head["facts"], "metrics": head["metrics"], "state": status.state}
    create(folder.journal)
    journal = _AsItWas(folder.journal)
    try:
        journal.set(created=facts.get("created") or status.created)
        media: dict[str, bytes] = {}
        for number, held in enumerate(samples, 1):
            try:
                _put(journal, held, media)
            except _WRONG as error:
                raise malformed("this is no sample of a run", path, number, error) from None
            if number % 256 == 0:
                journal.flush()
                await asyncio.sleep(0)
        journal.event("restored", run=head["run"], source=str(path))
        journal.set(**facts)
    finally:
        await journal.close()
    status.run = folder.id
    if status.exit_code is None:
        status.exit_code = exit_code(status, None)
    folder.write_status(status)


class _AsItWas(Journal):
    """A journal whose records have the times that they had.

    Attributes:
        at_ms: what the time is.
    """

    at_ms = 0

    def now_ms(self) -> int:
        """The time of the record that is being written."""
        return self.at_ms


def _put(journal: _AsItWas, held: Mapping[str, Any], media: dict[str, bytes]) -> None:
    """One sample with all it has."""
    for digest, body in held.get("media", {}).items():
        if len(media) >= _KEPT:
            media.clear()
        media[digest] = base64.b64decode(body)
    row = held["row"]
    sample = Sample(held["id"], held["inputs"], held["gold"], held["tags"])
    journal.add_samples([(row, sample)])
    quotes = quotable(sample)
    for given in held["calls"]:
        if given["reply"] is None:
            continue  # whoever waits for it is elsewhere; a resume asks it
        key = CallKey(**{name: given[name] for name in CallKey._fields})
        call = Call(ModelRef.parse(key.model), prompt_from_json(given["prompt"], media))
        journal.at_ms = given["sent_ms"]
        digest = bytes.fromhex(given["hash"])
        journal.intend(row, key, given["reask"], call, digest, quotes)
        told = dict(given["reply"])
        cost, possible = told.pop("cost_usd", None), told.pop("possible_cost_usd", "0")
        reply = replace(
            reply_from_json(told),
            cost=None if cost is None else Decimal(cost),
            possible_cost=Decimal(possible),
        )
        journal.at_ms += int(reply.latency_s * 1000)
        journal.store_reply(row, key, given["reask"], reply)
    for score in held["scores"]:
        outcome = Outcome(score["outcome"])
        journal.store_score(
            row, score["epoch"], sample.tags, outcome, score["values"], score["detail"]
        )
