"""Batches with a key: upload a file of requests, create a batch from it, fetch its results.

Lines hold the API's own JSON, ``{"key": …, "request": {…}}``, with the body that the call would
have as a realtime request. A batch is an operation of the API and carries a display name, which is
used to find one whose creation got no response.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import orjson

from evalbench.engine.calls import BatchJob, BatchTerms, Call, JobState, Reply
from evalbench.engine.compat import override
from evalbench.engine.errors import CallRejected, NoSuchModel, ProviderError
from evalbench.engine.paths import write_file
from evalbench.providers.google.errors import read_error
from evalbench.providers.google.media import too_large_inline
from evalbench.providers.google.prepare import bare_name
from evalbench.providers.google.read import read_content
from evalbench.providers.google.sdk import GeminiClient
from evalbench.providers.wire.batches import WireBatches, expired, without_key
from evalbench.providers.wire.exchange import Answered, Prepared
from evalbench.providers.wire.failures import error_fields, error_response
from evalbench.providers.wire.headers import moment
from evalbench.providers.wire.lenient import as_object
from evalbench.providers.wire.provider import NetworkProvider

LIFE_S = 172_800.0
"""Seconds after which the API expires a batch, and deletes a file."""
TERMS = BatchTerms(
    # Google publishes no limit on the number of requests.
    most_requests=50_000, most_bytes=2_000_000_000, window_s=LIFE_S,
)  # fmt: skip
PAGE = 100
"""Batches per page of a list."""
_STATES = {
    "PENDING": JobState.WAITING,
    "QUEUED": JobState.WAITING,
    "RUNNING": JobState.RUNNING,
    "SUCCEEDED": JobState.ENDED,
    "PARTIALLY_SUCCEEDED": JobState.ENDED,
    "FAILED": JobState.FAILED,
    "CANCELLING": JobState.RUNNING,
    "CANCELLED": JobState.CANCELLED,
    "EXPIRED": JobState.EXPIRED,
}
_CANCELLED, _EXHAUSTED = 1, 8
_HTTP = {
    2: 500, 3: 400, 4: 504, 5: 404, 6: 409, 7: 403, 8: 429, 9: 400, 10: 409, 11: 400, 12: 501,
    13: 500, 14: 503, 15: 500, 16: 401,
}  # fmt: skip
"""HTTP statuses of canonical codes, which lines and operations use instead."""


class GeminiBatches(WireBatches):
    """The batches of the Gemini API."""

    item_field = "key"

    def __init__(self, provider: NetworkProvider, client: GeminiClient, version: str) -> None:
        super().__init__(provider)
        self._client = client
        self._version = version

    @override
    def terms(self, model: str) -> BatchTerms | None:
        return TERMS

    @override
    def line(self, call: Call, item: str) -> bytes:
        """Media too large for a request would need uploaded files, which may expire before the
        batch ends.
        """
        if too_large_inline(call.prompt.messages):
            raise CallRejected(
                f"the media of this call are larger than {self.title} takes in a request",
                hint="run with --mode realtime, or send fewer or smaller ones",
            )
        return super().line(call, item)

    @override
    def write_line(self, prepared: Prepared, item: str) -> bytes:
        """Batches are a service tier of their own."""
        body = {name: value for name, value in prepared.body.items() if name != "serviceTier"}
        return b'{"key":"%s","request":%s}' % (item.encode(), orjson.dumps(body))

    @override
    async def upload(self, file: Path, name: str, model: str) -> dict[str, Any]:
        self.provider.check_secret()
        answered = await self._client.upload_lines(file, name, self.provider.timeout)
        record = self._object(answered).get("file")
        stored = record.get("name") if isinstance(record, dict) else None
        if not isinstance(stored, str):
            raise self._unclear()
        return {"file": stored}

    @override
    async def create(
        self, file: Path, name: str, model: str, uploaded: Mapping[str, Any]
    ) -> BatchJob:
        self.provider.check_secret()
        batch = {"displayName": name, "inputConfig": {"fileName": uploaded["file"]}}
        path = f"/models/{bare_name(model)}:batchGenerateContent"
        answered = await self.within(self._client.ask("POST", path, {"batch": batch}))
        return self._job(self._object(answered, model, "the file of this batch"))

    @override
    async def find(
        self, name: str, model: str, uploaded: Mapping[str, Any], *, requests: int, since: float
    ) -> Sequence[BatchJob]:
        """Reads all pages: the order in which batches are listed is undocumented."""
        self.provider.check_secret()
        query = {"pageSize": str(PAGE)}
        while True:
            answered = await self.within(self._client.ask("GET", f"/batches?{urlencode(query)}"))
            page = self._object(answered)
            # Empty lists are omitted, as usual in protocol buffers.
            listed = page.get("operations", [] if not page else None)
            if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
                raise self._unclear()
            for job in map(self._job, listed):
                if job.name == name:
                    return [job]
            following = page.get("nextPageToken")
            if not following or following == query.get("pageToken"):
                return []
            query["pageToken"] = str(following)

    @override
    async def poll(self, job: str, model: str) -> BatchJob:
        self.provider.check_secret()
        answered = await self.within(self._client.ask("GET", f"/batches/{quote(job, safe='')}"))
        return self.as_of(self._job(self._object(answered, what="this batch")), answered)

    @without_key
    @override
    async def fetch(self, job: BatchJob, into: Path) -> None:
        """An expired batch has no results."""
        self.provider.check_secret()
        await asyncio.to_thread(write_file, into, b"")
        if not (name := job.results.get("file")):
            return
        path = f"/{quote(name)}:download?alt=media"
        answered = await self._client.download(path, into, self.provider.timeout)
        if answered.status != 200:
            raise self._trouble(answered, "", "the results of this batch")

    @override
    async def cancel(self, job: str, model: str) -> None:
        """A batch that has ended stays as it is."""
        self.provider.check_secret()
        path = f"/batches/{quote(job, safe='')}:cancel"
        answered = await self.within(self._client.ask("POST", path, {}))
        if answered.status == 200:
            return
        error = self._trouble(answered, "", "this batch")
        # An invalid key is a 400 here, too.
        if answered.status not in (400, 409) or not isinstance(error, CallRejected):
            raise error

    @override
    def read_result(self, result: dict[str, Any], call: Call) -> Reply:
        if body := as_object(result.get("response")):
            return self.read_body(body, body.get("responseId") or "", call, read_content)
        if isinstance(error := result.get("error"), dict):
            code = error.get("code")
            code = code if isinstance(code, int) else 13
            if code in (_CANCELLED, 499):
                raise expired(self.title, cancelled=True)
            status = _HTTP.get(code, code if 400 <= code < 600 else 500)
            return self.read_error_line(status, {"error": {**error, "code": status}}, call, {})
        raise self.broken_line(result)

    def _job(self, operation: Mapping[str, Any]) -> BatchJob:
        """Parse an operation as a batch.

        Raises:
            ServerFault: it is not a batch.
        """
        name, about = operation.get("name"), operation.get("metadata")
        if not isinstance(name, str) or not isinstance(about, dict):
            raise self._unclear()
        told_state, error = about.get("state"), as_object(operation.get("error"))
        if not isinstance(told_state, str):
            raise self._unclear()
        # An unknown state counts as running.
        known = _STATES.get(told_state.rpartition("STATE_")[2])
        file = as_object(about.get("output")).get("responsesFile")
        results = {"file": file} if isinstance(file, str) and file else {}
        state = known or JobState.RUNNING
        if state is JobState.FAILED and results:
            state = JobState.ENDED
        # A batch that ended early delivers no results, whatever its counts say.
        lost = state in (JobState.EXPIRED, JobState.CANCELLED) and not results
        told_stats = as_object(about.get("batchStats"))
        stats = {} if lost else told_stats
        created = moment(about.get("createTime"))
        why = self.scrub.text(str(error.get("message") or ""), 600)
        return BatchJob(
            id=name.removeprefix("batches/"),
            state=state,
            name=str(about.get("displayName") or ""),
            total=_count(stats, "requestCount") or None,
            succeeded=_count(stats, "successfulRequestCount"),
            failed=_count(stats, "failedRequestCount"),
            withheld=(_count(told_stats, "successfulRequestCount") or 0) if lost else 0,
            why=why if known else f"its state is {told_state!r}",
            again=state is JobState.FAILED and error.get("code") in (_EXHAUSTED, 429),
            expires=created + LIFE_S if created else None,
            results=results,
            created=created,
        )

    def _trouble(self, answered: Answered, model: str, what: str) -> ProviderError:
        error = read_error(answered, self.provider.who, model, self.scrub)
        if isinstance(error, NoSuchModel) and model:
            if self._version == "v1":
                error.hint = (
                    f"{error.hint}; if the name is right, this key may have batches only in the"
                    " other version of the API: --api-version v1beta"
                )
            return error
        # The response is the same for missing items and those of other accounts.
        missing = answered.status == 403 and "may not exist" in error.why
        if what and (missing or answered.status in (404, 410)):
            return self.gone(error_response(answered, self.scrub, error_fields(answered), ""), what)
        return error


def _count(stats: Mapping[str, Any], name: str) -> int | None:
    """A count, which is sent as text and omitted if zero; None if there are no counts."""
    value = stats.get(name, 0)
    if not stats or isinstance(value, bool) or not str(value).isdecimal():
        return None
    return int(value)
