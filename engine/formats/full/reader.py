"""Imports runs from the JSON files that ``evalbench export --format json`` writes.

Nothing is asked, parsed or scored again: samples, calls, replies and scores go into a new journal
unchanged, so the run is what it was, and can be re-scored, browsed, compared and (if it was not
complete) resumed like it.
"""

from __future__ import annotations

import asyncio
import base64
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson

from evalbench.engine.benchmark import Sample
from evalbench.engine.calls import Call, ModelRef, Outcome
from evalbench.engine.calls.messages import prompt_from_json
from evalbench.engine.calls.params import ASKED
from evalbench.engine.calls.replies import reply_from_json
from evalbench.engine.config.spec import RunSpec
from evalbench.engine.data.reading import unreadable
from evalbench.engine.errors import DataError
from evalbench.engine.field_checks import Misfit, anything
from evalbench.engine.files import WHOLE, lines_of, open_plain, parse_json
from evalbench.engine.formats.full.writer import END, FORMAT, SAMPLES, VERSION
from evalbench.engine.formats.reading import malformed
from evalbench.engine.journal import CallKey, Journal
from evalbench.engine.journal.codec import quotable
from evalbench.engine.journal.schema import create
from evalbench.engine.journal.sums import KEY as SUMS
from evalbench.engine.record_schemas import EXPORT, FACTS, MOST_DOLLARS, SAMPLE, call_record
from evalbench.engine.runs.folder import RunFolder, make_run
from evalbench.engine.runs.status import AT_REST, State, Status, exit_code

_CALL = call_record(ASKED)
_KEPT = 4096
"""Number of images kept by content; a later sample may show one again."""


async def import_whole(path: Path, parent: Path | None = None) -> RunFolder:
    """Create a run from an exported one; nothing is left behind on failure.

    Raises:
        DataError: the file is not an export, is from a newer version, or is damaged.
        UsageError: the folder is not writable.
    """
    try:
        with open_plain(path) as file:
            lines = lines_of(file, path)
            head = _head(path, lines)
            spec = RunSpec.from_json(head["spec"])
            status = _status(head)
            folder = make_run(spec, parent, total=status.total)
            try:
                await _write(folder, head, status, _samples(path, lines, head), path)
            except BaseException:
                shutil.rmtree(folder.path, ignore_errors=True)
                raise
            return folder
    except OSError as error:
        raise unreadable(path, error) from None
    except Misfit as error:
        raise _damaged(path, str(error)) from None


def _head(path: Path, lines: Iterator[bytes]) -> dict[str, Any]:
    """The part before the samples; the whole of a file that was reformatted."""
    pieces, size = [], 0
    for line in lines:
        if line.startswith(SAMPLES):
            pieces.append(SAMPLES + b"]}")
            break
        pieces.append(line)
        if (size := size + len(line)) > WHOLE:
            raise DataError("it is too large", path=str(path), why="what stands before the samples")
    try:
        head = parse_json(b"".join(pieces))
    except orjson.JSONDecodeError as error:
        raise DataError("this is not JSON", path=str(path), why=str(error)) from None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise DataError("this is no exported run", path=str(path), hint="see docs/exporting.md")
    if isinstance(head.get("version"), int) and head["version"] > VERSION:
        raise DataError(
            "it was written by a newer evalbench",
            path=str(path),
            why=f"its form is version {head['version']}; this one reads up to {VERSION}",
            hint="upgrade evalbench",
        )
    EXPORT(head)
    for name, value in head["facts"].items():
        try:
            FACTS.get(name, anything)(value)
        except Misfit as error:
            raise error.inside(name).inside("facts") from None
    return head


def _damaged(path: Path, why: str) -> DataError:
    return DataError("this is no exported run, or was damaged since", path=str(path), why=why)


def _samples(path: Path, lines: Iterator[bytes], head: Mapping[str, Any]) -> Iterator[Any]:
    yield from head["samples"]
    for number, line in enumerate(lines, 1):
        if line.rstrip() == END:
            return
        try:
            yield parse_json(line.rstrip().removesuffix(b","))
        except orjson.JSONDecodeError as error:
            what = "a sample is damaged"
            raise DataError(what, path=str(path), line=number, why=str(error)) from None
    if not head["samples"]:
        raise DataError("it is cut off", path=str(path), why="the list of samples has no end")


def _status(head: Mapping[str, Any]) -> Status:
    status = Status.from_json(head["status"])
    resting = status.state in AT_REST and status.state is not State.WAITING
    # The export may contain less than the journal did: earlier attempts are left out.
    return replace(
        status,
        # Its engine, or its batches, are on another machine.
        state=status.state if resting else State.STOPPED,
        host="",
        pid=None,
        pid_started="",
        batches=[],
        gauges={},
        replies=None,
    )


async def _write(
    folder: RunFolder,
    head: Mapping[str, Any],
    status: Status,
    samples: Iterator[dict[str, Any]],
    path: Path,
) -> None:
    facts = {**head["facts"], "metrics": head["metrics"], "state": status.state}
    facts.pop(SUMS, None)  # recounted
    create(folder.journal)
    journal = _TimedJournal(folder.journal)
    try:
        journal.set(created=facts.get("created") or status.created)
        media: dict[str, bytes] = {}
        dearest = Decimal(MOST_DOLLARS)
        last = 0
        for number, sample in enumerate(samples, 1):
            try:
                SAMPLE(sample)
                if sample["row"] <= last:
                    raise Misfit(f"above {last}, the row before it", sample["row"]).inside("row")
                last = sample["row"]
                dearest -= _put(journal, sample, media)
                if dearest < 0:
                    raise Misfit(f"at most {MOST_DOLLARS} dollars", "more").inside("all costs")
            except ValueError as error:
                raise malformed("this is no sample of a run", path, number, error) from None
            if number % 256 == 0:
                journal.flush()
                await asyncio.sleep(0)
        journal.event("restored", run=head["run"], source=str(path))
        journal.set(**facts)
    finally:
        await journal.close()
    code = exit_code(status, None) if status.exit_code is None else status.exit_code
    folder.write_status(replace(status, run=folder.id, exit_code=code))


class _TimedJournal(Journal):
    """A journal that stores records with their original times.

    Attributes:
        at_ms: the time of the next record.
    """

    at_ms = 0

    def now_ms(self) -> int:
        """The time of the record being written."""
        return self.at_ms


def _put(journal: _TimedJournal, stored: Mapping[str, Any], media: dict[str, bytes]) -> Decimal:
    """Store one sample with everything it has; returns its actual or possible cost in dollars.

    Raises:
        ValueError: a field is invalid.
    """
    for digest, body in stored.get("media", {}).items():
        if len(media) >= _KEPT:
            media.clear()
        media[digest] = base64.b64decode(body)
    spent = Decimal(0)
    row = stored["row"]
    sample = Sample(stored["id"], stored["inputs"], stored["gold"], stored["tags"])
    journal.add_samples([(row, sample)])
    quotes = quotable(sample)
    for number, given in enumerate(stored["calls"], 1):
        try:
            _CALL(given)
            ref = ModelRef.parse(given["model"])
        except Misfit as error:
            raise error.inside(number).inside("calls") from None
        if given["reply"] is None:
            continue  # another engine is waiting for it; a resume asks it again
        key = CallKey(**{name: given[name] for name in CallKey._fields})
        call = Call(ref, prompt_from_json(given["prompt"], media))
        journal.at_ms = given["sent_ms"]
        digest = bytes.fromhex(given["hash"])
        journal.intend(row, key, given["reask"], call, digest, quotes)
        fields = dict(given["reply"])
        cost, possible = fields.pop("cost_usd", None), fields.pop("possible_cost_usd", None) or "0"
        reply = replace(
            reply_from_json(fields),
            cost=None if cost is None else Decimal(cost),
            possible_cost=Decimal(possible),
        )
        spent += (reply.cost or 0) + reply.possible_cost
        journal.at_ms += int(reply.latency_s * 1000)
        journal.store_reply(row, key, given["reask"], reply)
    for score in stored["scores"]:
        outcome = Outcome(score["outcome"])
        journal.store_score(
            row, score["epoch"], sample.tags, outcome, score["values"], score["detail"]
        )
    return spent
