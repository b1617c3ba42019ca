"""OpenAI-style batches: upload a file, create a batch from it, download two result files."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import orjson

from evalbench.engine.calls import BatchJob, BatchTerms, Call, JobState, Reply
from evalbench.engine.compat import override
from evalbench.engine.errors import CallRejected, ProviderError, RunFatal, ServerFault
from evalbench.engine.paths import write_file
from evalbench.providers.chat.errors import REQUEST_ID, error_object
from evalbench.providers.chat.provider import ChatProvider
from evalbench.providers.wire.batches import (
    CLOCKS_S,
    WireBatches,
    entries,
    expired,
    without_key,
)
from evalbench.providers.wire.exchange import Answered, Prepared
from evalbench.providers.wire.failures import error_response, json_body
from evalbench.providers.wire.headers import server_time
from evalbench.providers.wire.lenient import as_object, status_number

TERMS = BatchTerms(most_requests=50_000, most_bytes=200_000_000)
PAGE = 100
"""Batches per page of a list."""
_NAME = "evalbench"
"""The metadata key under which a batch carries the engine's name for it."""
_STATES = {
    "validating": JobState.WAITING,
    "in_progress": JobState.RUNNING,
    "finalizing": JobState.RUNNING,
    "cancelling": JobState.RUNNING,
    "completed": JobState.ENDED,
    "expired": JobState.EXPIRED,
    "cancelled": JobState.CANCELLED,
    "failed": JobState.FAILED,
}
_QUEUE_FULL = "token_limit_exceeded"
_QUEUE_LIMIT = re.compile(r"[Ll]imit:\s*([\d,]+)")
_UNSERVED = {"batch_expired": False, "batch_cancelled": True}
_STATUS = {"rate_limit_exceeded": 429, "invalid_request": 400, "invalid_request_error": 400}
_NO_SUCH_PATH = frozenset({404, 405, 501})
_MOST_PROBLEMS = 3
_DAY_S = 86_400.0
_CUT = -1
_LONGEST_LINE = 1 << 24
"""The start of a file's last line is searched for in this many bytes at its end."""


class FileBatches(WireBatches):
    """Batches by ``/files`` and ``/batches``."""

    provider: ChatProvider
    root: ClassVar[str] = ""
    """The path prefix of ``/files`` and ``/batches``."""
    line_statuses: ClassVar[Mapping[str, int]] = _STATUS
    """HTTP statuses equivalent to the codes of line errors; all others are server errors."""

    def __init__(self, provider: ChatProvider, *, taken: bool = True) -> None:
        """Set up; ``taken`` is whether the server supports batches, as far as known."""
        super().__init__(provider)
        self._taken = taken
        self._queues: dict[str, int] = {}

    @override
    def terms(self, model: str) -> BatchTerms | None:
        """The limit on enqueued work is unpublished; it is learned from the refusal of a batch."""
        if not self._taken:
            return None
        return replace(TERMS, most_tokens=self._queues.get(model))

    @override
    def write_line(self, prepared: Prepared, item: str) -> bytes:
        return b'{"custom_id":"%s","method":"POST","url":"/v1%s","body":%s}' % (
            item.encode(),
            prepared.path.encode(),
            orjson.dumps(prepared.body),
        )

    @override
    async def upload(self, file: Path, name: str, model: str) -> dict[str, Any]:
        self.provider.check_secret()
        answered = await self.provider.carrier.upload(
            "/files", file, f"{name}.jsonl", {"purpose": "batch"}, self.provider.timeout
        )
        self.unless_none_taken(answered)
        stored = self._object(answered)
        if not isinstance(stored.get("id"), str):
            raise self._unclear()
        return {"file": stored["id"], "at": _number(stored.get("created_at"))}

    def unless_none_taken(self, answered: Answered) -> None:
        """Stop if the answer to an upload means that batches are not available.

        Raises:
            RunFatal: if so.
        """
        if answered.status not in _NO_SUCH_PATH or self.provider.address.official:
            return
        self._taken = False
        raise RunFatal(
            f"{self.title} takes no batches",
            why=f"{self.provider.address.url}{self.root}/files answered {answered.status}",
            hint="run with --mode realtime",
            status=answered.status,
        )

    @override
    async def create(
        self, file: Path, name: str, model: str, uploaded: Mapping[str, Any]
    ) -> BatchJob:
        self.provider.check_secret()
        body = {
            "input_file_id": uploaded["file"],
            "endpoint": _endpoint(file),
            "completion_window": "24h",
            "metadata": {_NAME: name},
        }
        answered = await self.within(self.provider.send(Prepared(model, "/batches", body)))
        return self._job(self._object(answered, model), model)

    @override
    async def find(
        self, name: str, model: str, uploaded: Mapping[str, Any], *, requests: int, since: float
    ) -> Sequence[BatchJob]:
        """Searched by name, and by file where a server keeps no names. The time only bounds the
        search: that of the upload by the server's clock, or else ours with a day's margin.
        """
        self.provider.check_secret()
        at = _number(uploaded.get("at"))
        path, last = f"/batches?limit={PAGE}", ""
        while True:
            answered = await self.within(self.provider.get(path))
            page = self._object(answered)
            now = server_time(answered.headers)
            oldest = since + now - time.time() - _DAY_S
            if at is not None and at < now + CLOCKS_S:
                oldest = at - CLOCKS_S
            before, last = last, ""
            for entry in entries(page, self._unclear):
                job = self._job(entry, model)
                ours = not job.name and entry.get("input_file_id") == uploaded["file"]
                if ours or job.name == name:
                    return [replace(job, name=name)]
                if (_number(entry.get("created_at")) or oldest) < oldest:
                    return []
                last = job.id
            # Some servers list the first page again and again.
            if not page.get("has_more") or last in ("", before):
                return []
            path = f"/batches?limit={PAGE}&after={quote(last, safe='')}"

    @override
    async def poll(self, job: str, model: str) -> BatchJob:
        self.provider.check_secret()
        answered = await self.within(
            self.provider.get(f"{self.root}/batches/{quote(job, safe='')}")
        )
        return self.as_of(self._job(self._object(answered, what="this batch"), model), answered)

    @without_key
    @override
    async def fetch(self, job: BatchJob, into: Path) -> None:
        """Answers and errors come in two files; either may be missing."""
        self.provider.check_secret()
        await asyncio.to_thread(write_file, into, b"")
        have = 0
        for kind in ("output", "error"):
            if not (name := job.results.get(kind)):
                continue
            answered = await self.provider.carrier.download(
                f"{self.root}/files/{quote(name, safe='')}/content", into, self.provider.timeout
            )
            if answered.status != 200:
                trouble = self._trouble(answered, "", "the results of this batch")
                if have and isinstance(trouble, CallRejected):
                    return
                raise trouble
            have += 1
            size = await asyncio.to_thread(_end_line, into)
            if size == _CUT or (not size and job.succeeded):
                how = "end in the middle of a line" if size else "came empty"
                raise ServerFault(f"the results that {self.title} sent {how}")

    @override
    async def cancel(self, job: str, model: str) -> None:
        """A batch that has ended stays as it is."""
        self.provider.check_secret()
        path = f"{self.root}/batches/{quote(job, safe='')}/cancel"
        answered = await self.within(self.provider.send(Prepared(model, path, {})))
        if answered.status not in (200, 400, 409):
            raise self._trouble(answered, "", "this batch")

    @override
    def read_result(self, result: dict[str, Any], call: Call) -> Reply:
        response, error = as_object(result.get("response")), result.get("error")
        body = as_object(response.get("body"))
        if isinstance(error, dict) and error and not body.keys() & {"choices", "output"}:
            code = str(error.get("code") or "")
            if code in _UNSERVED:
                raise expired(self.title, cancelled=_UNSERVED[code])
            return self.read_error_line(
                self.line_statuses.get(code, 500), {"error": error}, call, {}
            )
        if not body:
            raise self.broken_line(result)
        request_id = response.get("request_id") or ""
        status = self.true_status(response.get("status_code"), body)
        if status != 200:
            return self.read_error_line(status, body, call, {REQUEST_ID: str(request_id)})
        return self.read_body(
            body, request_id or body.get("id") or "", call, self.provider.read_answer
        )

    def true_status(self, status: object, body: Mapping[str, Any]) -> int:
        """The status of an answer in a line, or the one that an error inside a good one implies.

        If a line has no status, its body decides.
        """
        code = status_number(status)
        if 300 <= code < 600:
            return code
        hidden = self.provider.failed_status(body)
        return 200 if hidden is None else hidden

    def _job(self, entry: Mapping[str, Any], model: str) -> BatchJob:
        """Parse a batch object.

        Raises:
            ServerFault: it is not a batch object.
        """
        status, name = entry.get("status"), entry.get("id")
        if not isinstance(status, str) or not isinstance(name, str):
            raise self._unclear()
        state, results = with_results(entry, _STATES.get(status, JobState.RUNNING))
        counts = as_object(entry.get("request_counts"))
        listed = as_object(entry.get("errors")).get("data")
        problems = [one for one in listed or () if isinstance(one, dict)]
        self._learn_queue(problems, model)
        return BatchJob(
            id=name,
            state=state,
            name=str(as_object(entry.get("metadata")).get(_NAME) or ""),
            total=counts.get("total") or None,
            succeeded=counts.get("completed"),
            failed=counts.get("failed"),
            why=self._why(problems) if status in _STATES else f"its state is {status!r}",
            again=any(problem.get("code") == _QUEUE_FULL for problem in problems),
            expires=_number(entry.get("expires_at")),
            results=results,
            created=_number(entry.get("created_at")),
        )

    def _why(self, problems: Sequence[Mapping[str, Any]]) -> str:
        """The errors of a batch, in a few sentences."""
        texts = []
        for problem in problems[:_MOST_PROBLEMS]:
            line = f"line {problem['line']}: " if problem.get("line") else ""
            texts.append(line + str(problem.get("message") or problem.get("code") or "refused"))
        if (more := len(problems) - _MOST_PROBLEMS) > 0:
            texts.append(f"and {more} more")
        return self.scrub.text("; ".join(texts), 600)

    def _learn_queue(self, problems: Sequence[Mapping[str, Any]], model: str) -> None:
        """Remember the limit on enqueued tokens, which only a refusal reveals."""
        for problem in problems:
            found = _QUEUE_LIMIT.search(str(problem.get("message")))
            if problem.get("code") == _QUEUE_FULL and found:
                self._queues[model] = int(found[1].replace(",", ""))

    def _trouble(self, answered: Answered, model: str, what: str) -> ProviderError:
        if what and answered.status in (404, 410):
            error = error_object(json_body(answered))
            request_id = self.provider.request_id(answered)
            return self.gone(error_response(answered, self.scrub, error, request_id), what)
        return self.provider.error_of(answered, model, "the batch was refused")


def with_results(entry: Mapping[str, Any], state: JobState) -> tuple[JobState, dict[str, str]]:
    """A batch's state and its result files; one that failed with results counts as ended."""
    files = {
        kind: file
        for kind in ("output", "error")
        if isinstance(file := entry.get(f"{kind}_file_id"), str) and file
    }
    return (JobState.ENDED if files and state is JobState.FAILED else state), files


def _endpoint(file: Path) -> str:
    """The endpoint that the lines of a file are for, taken from the first line."""
    with file.open("rb") as lines:
        endpoint: str = orjson.loads(lines.readline())["url"]
    return endpoint


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) else None


def _end_line(file: Path) -> int:
    """Ensure that data appended to a file starts on a new line.

    Returns:
        The file's size; ``_CUT`` if its last line is incomplete.
    """
    with file.open("rb+") as target:
        size = target.seek(0, 2)
        target.seek(max(0, size - _LONGEST_LINE))
        tail = target.read()
        if not tail or tail.endswith(b"\n"):
            return size
        try:
            orjson.loads(tail[tail.rfind(b"\n") + 1 :])
        except orjson.JSONDecodeError:
            return _CUT
        target.write(b"\n")
        return size + 1
