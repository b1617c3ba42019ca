"""Reuses replies of earlier runs for identical calls.

A reply matches a call when everything that decides it is the same: the content hash of the
call (model with revision, every requested parameter, prompt, bytes of media), the provider's
options (including the endpoint) and the mode. For a local model, also its weights, number
format, quantisation, layout and device, which are known only once it is loaded.

No reply is used twice: it belongs to one epoch, one repeat and one sample, across any chain
of runs, so several answers to one question remain several. Failures are not reused, nor are
answers that were cut off before their cap. Refusals are: asking again until the model
complies would change the score.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson

from evalbench.engine.calls import Outcome, Reply, Reused, WorkerProvider
from evalbench.engine.config import registry
from evalbench.engine.config.roles import RoleSpec
from evalbench.engine.config.spec import RunSpec, deciding_options
from evalbench.engine.errors import EvalbenchError, JournalError
from evalbench.engine.execution.model_identity import loadings
from evalbench.engine.journal import CallKey, Journal
from evalbench.engine.journal.reader import RowDecoder
from evalbench.engine.journal.schema import SLOT_BITS, connect, has_batches, has_reused
from evalbench.engine.runs.folder import RunFolder, all_runs

_INDIFFERENT = ("timeout", "profile", "prompt_cache", "batches", "batch_bucket", "batch_role")
"""Options of network providers that change neither the request nor who answers it."""

_GOOD = (Outcome.OK, Outcome.TRUNCATED, Outcome.REFUSED, Outcome.FILTERED)

_TABLES = """
CREATE TABLE held (
    maker TEXT, hash BLOB, epoch INTEGER, repeat INTEGER, batch INTEGER,
    run INTEGER, call INTEGER, origin TEXT, source INTEGER
);
CREATE INDEX by_hash ON held (hash);
CREATE INDEX by_origin ON held (source, origin);
"""


def maker(part: RoleSpec) -> str:
    """Who answers, as text; equal for two roles if replies to equal calls are interchangeable."""
    cls = registry.provider_class(part.ref.provider)
    given = part.provider_options
    if isinstance(part.provider(), WorkerProvider):
        # What the other settings resolve to on this machine is known once the model is loaded.
        options = deciding_options(part.model, given)
    else:
        options = {
            option.name: value
            for option in cls.options
            if option.name not in _INDIFFERENT
            and (value := given.get(option.name, option.default)) != option.default
        }
    return orjson.dumps([part.model, options], option=orjson.OPT_SORT_KEYS).decode()


@dataclass(slots=True)
class _Earlier:
    """One earlier run: its file, its start time, and how it loaded local models."""

    id: str
    decoder: RowDecoder
    created: float
    meta: Mapping[str, Any]


class EarlierReplies:
    """Replies of earlier runs, ready for reuse. Close it when the run stops.

    Attributes:
        found: replies by the models of this run; the ones that match its calls are reused.
    """

    def __init__(
        self,
        roles: Mapping[str, RoleSpec],
        journal: Journal | None = None,
        *,
        across_modes: bool = False,
    ) -> None:
        """Create an empty collection; :meth:`collect` fills it.

        Args:
            roles: the run's models by role.
            journal: the run's journal.
            across_modes: reuse batch replies for realtime calls, and vice versa.
        """
        self.found = 0
        self._journal = journal
        self._parts = dict(roles)
        self._makers = {role: maker(part) for role, part in roles.items()}
        self._across = across_modes
        self._local = {
            role for role, part in roles.items() if isinstance(part.provider(), WorkerProvider)
        }
        self._runs: list[_Earlier] = []
        # On disk, deleted with its connection: memory must not grow with the number of runs.
        self._db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._db.executescript(_TABLES)
        self._loading: dict[str, asyncio.Event] = {}
        self._reported: set[tuple[str, str]] = set()
        self._loadings: dict[str, list[dict[str, Any]]] = {}

    def collect(self, parent: Path, own: str, taken: Sequence[tuple[str, int]] = ()) -> None:
        """Scan the runs in a folder.

        Args:
            parent: the folder.
            own: id of this run.
            taken: replies that this run has already reused, as (run, call).
        """
        for folder in all_runs(parent):
            if folder.id == own:
                continue
            try:
                self._collect(folder)
            except EvalbenchError:
                # Newer version, damaged, or no journal: nothing to reuse.
                continue
        self._db.executemany(
            "DELETE FROM held WHERE origin = ? AND source = ?", ((run, call) for run, call in taken)
        )
        (self.found,) = self._db.execute("SELECT count(*) FROM held").fetchone()

    def _collect(self, folder: RunFolder) -> None:
        wanted = set(self._makers.values())
        models = {
            part.model: made
            for part in folder.spec().roles().values()
            if (made := maker(part)) in wanted
        }
        if not models or not folder.journal.exists():
            return
        decoder = RowDecoder(connect(folder.journal, readonly=True))
        meta = decoder.meta()
        if meta.get("imported"):
            decoder.db.close()
            return
        number = len(self._runs)
        self._runs.append(_Earlier(folder.id, decoder, float(meta.get("created") or 0), meta))
        rows = (
            (models[key.model], digest, key.epoch, key.repeat, batch, number, ident, origin, source)
            for key, ident, digest, batch, origin, source in _standing(decoder, folder.id)
            if key.model in models
        )
        try:
            self._db.execute("BEGIN")
            self._db.executemany(
                "INSERT INTO held SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?"
                " WHERE NOT EXISTS (SELECT 1 FROM held WHERE source = ?9 AND origin = ?8)",
                rows,
            )
        finally:
            self._db.execute("COMMIT")

    async def take(self, role: str, key: CallKey, digest: bytes) -> Reply | None:
        """The reply to reuse for a call, which is then used up; None to ask the model.

        The first call to a local model is always sent, so that the model is loaded; the others
        wait for it. Report every call that was sent with :meth:`asked`.
        """
        if not self._candidates(role, key, digest):
            return None
        if role in self._local:
            model = self._parts[role].model
            while not self._loaded(model):
                if model not in self._loading:
                    self._loading[model] = asyncio.Event()
                    return None
                await self._loading[model].wait()
        for run, call, origin, source in self._candidates(role, key, digest):
            if self._same_model(role, self._runs[run]) and (reply := self._read(run, call)):
                self._db.execute(
                    "DELETE FROM held WHERE origin = ? AND source = ?", (origin, source)
                )
                return reply
        return None

    def holds(self, role: str, key: CallKey, digest: bytes) -> Reply | None:
        """The reply that would be reused, without using it up; for estimates.

        Local models are not covered: only loading one shows whether it is the same.
        """
        if role in self._local:
            return None
        for run, call, _, _ in self._candidates(role, key, digest):
            if reply := self._read(run, call):
                return reply
        return None

    def asked(self, role: str) -> None:
        """Report that a call of this role was sent or failed; waiting calls check again."""
        if (part := self._parts.get(role)) and (event := self._loading.pop(part.model, None)):
            event.set()

    def _candidates(
        self, role: str, key: CallKey, digest: bytes
    ) -> list[tuple[int, int, str, int]]:
        """(run, call, first run, call there) of possible matches, newest run first."""
        made = self._makers.get(role)
        batch = int(self._parts[role].batched) if made else 0
        return self._db.execute(
            "SELECT run, call, origin, source FROM held WHERE hash = ? AND maker = ?"
            " AND epoch = ? AND repeat = ? AND (batch = ? OR ?) ORDER BY run, call",
            (digest, made, key.epoch, key.repeat, batch, self._across),
        ).fetchall()

    def _loaded(self, model: str) -> list[dict[str, Any]]:
        """How a local model is loaded; empty before it is loaded."""
        if not self._loadings.get(model) and self._journal:
            self._loadings[model] = loadings(self._journal.query(RowDecoder.meta), model)
        return self._loadings.get(model, [])

    def _same_model(self, role: str, run: _Earlier) -> bool:
        """Whether a local model is loaded as it was then; others are compared by :func:`maker`."""
        if role not in self._local:
            return True
        model = self._parts[role].model
        now, then = self._loaded(model), loadings(run.meta, model)
        known = len(now) == 1 and bool(now[0].get("revision"))
        same = known and now == then
        if not same and self._journal and (model, run.id) not in self._reported:
            self._reported.add((model, run.id))
            self._journal.event("reuse-refused", model=model, run=run.id, now=now, then=then)
        return same

    def _read(self, run: int, call: int) -> Reply | None:
        earlier = self._runs[run]
        try:
            at, *columns = earlier.decoder.db.execute(
                "SELECT at, outcome, input, output, cost, possible, body FROM reply WHERE id = ?",
                (call,),
            ).fetchone()
            reply = earlier.decoder.reply(*columns)
        except (sqlite3.Error, JournalError, TypeError):
            return None  # deleted or damaged in the meantime
        when = datetime.fromtimestamp(earlier.created + at / 1000, UTC)
        first = Reused(earlier.id, call, when.isoformat(timespec="seconds"))
        return replace(
            reply,
            reused=reply.reused or first,
            cost=Decimal(0),
            possible_cost=Decimal(0),
            possibly_billed=False,
            attempts=0,
        )

    def close(self) -> None:
        """Close all files."""
        for run in self._runs:
            run.decoder.db.close()
        self._db.close()


@contextmanager
def replies_at_hand(spec: RunSpec, parent: Path) -> Iterator[EarlierReplies | None]:
    """What a planned run may reuse from the runs in a folder; None if nothing.

    Not for several epochs: an estimate covers only the first.
    """
    if not spec.settings.reuse or spec.settings.epochs > 1:
        yield None
        return
    earlier = EarlierReplies(spec.roles(), across_modes=spec.settings.reuse_across_modes)
    try:
        earlier.collect(parent, "")
        yield earlier
    finally:
        earlier.close()


_Standing = tuple[CallKey, int, bytes, int, str, int]
"""Key, number, content hash, whether from a batch, first run, number there."""


def _standing(decoder: RowDecoder, run: str) -> Iterator[_Standing]:
    """The calls of a journal with a reusable reply: the newest per key, if it is good."""
    batch = "EXISTS (SELECT 1 FROM batched b WHERE b.call = c.id)"
    origin = "LEFT JOIN reused u ON u.call = c.id"
    columns = "u.run, u.source"
    if not has_batches(decoder.db):
        batch = "0"
    if not has_reused(decoder.db):
        origin, columns = "", "NULL, NULL"
    sql = (
        f"SELECT c.id, c.hash, c.shape, {batch}, r.outcome, r.output, {columns}"  # noqa: S608
        f" FROM call c JOIN reply r ON r.id = c.id {origin} ORDER BY c.id"
    )
    row, newest = 0, dict[CallKey, tuple[int, _Standing | None]]()
    for ident, digest, shape, batched, outcome, output, first, source in decoder.db.execute(sql):
        if ident >> SLOT_BITS != row:
            yield from (standing for _, standing in newest.values() if standing)
            row, newest = ident >> SLOT_BITS, {}
        key, reask = decoder.slot(ident & ((1 << SLOT_BITS) - 1))
        if reask < newest.get(key, (0, None))[0]:
            continue
        origin_run = run if first is None else decoder.origin(first)
        standing = (key, ident, digest, batched, origin_run, ident if source is None else source)
        newest[key] = (
            reask,
            standing if _good(decoder, decoder.outcome(outcome), shape, output) else None,
        )
    yield from (standing for _, standing in newest.values() if standing)


def _good(decoder: RowDecoder, outcome: Outcome, shape: int, output: int | None) -> bool:
    """Whether asking again could only repeat this reply."""
    if outcome is not Outcome.TRUNCATED:
        return outcome in _GOOD
    asked = orjson.loads(decoder.name(shape))[3]
    cap = asked.get("max_tokens")
    return bool(cap and output is not None and output >= cap)


def taken(decoder: RowDecoder) -> list[tuple[str, int]]:
    """What a run has reused from earlier ones, as (run, call number there)."""
    if not has_reused(decoder.db):
        return []
    rows = decoder.db.execute("SELECT run, source FROM reused").fetchall()
    return [(decoder.origin(run), source) for run, source in rows]
