"""Message batches: the requests are part of the body that creates the batch.

Batches have no names, so one whose creation got no response is found by its number of requests
among those created since.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson

from evalbench.engine.calls import BatchJob, BatchTerms, Call, JobState, Reply
from evalbench.engine.compat import override
from evalbench.engine.errors import ProviderError
from evalbench.engine.paths import write_file
from evalbench.providers.anthropic.errors import STATUS, read_error
from evalbench.providers.anthropic.prepare import LEGACY_VERSION, SAMPLING
from evalbench.providers.anthropic.read import read_message
from evalbench.providers.wire.batches import (
    CLOCKS_S,
    WireBatches,
    entries,
    expired,
    without_key,
)
from evalbench.providers.wire.exchange import Answered, Prepared
from evalbench.providers.wire.failures import error_fields, error_response
from evalbench.providers.wire.headers import moment, server_time
from evalbench.providers.wire.lenient import as_object
from evalbench.providers.wire.sdk import SdkClient
from evalbench.providers.wire.single_transport import CarriedProvider
from evalbench.providers.wire.streams import ListBody

PATH = "/v1/messages/batches"
REQUEST_ID = "request-id"
TERMS = BatchTerms(most_requests=100_000, most_bytes=256_000_000)
PAGE = 100
"""Batches per page of a list."""
_HEAD, _TAIL = b'{"requests":[', b"]}"
_SAMPLING = re.compile(rb'"(?:%s)":' % "|".join(SAMPLING).encode())


class MessageBatches(WireBatches):
    """The batches of Anthropic's API."""

    provider: CarriedProvider

    def __init__(self, provider: CarriedProvider, client: SdkClient) -> None:
        super().__init__(provider)
        self._client = client

    @override
    def terms(self, model: str) -> BatchTerms | None:
        return TERMS

    @override
    def write_line(self, prepared: Prepared, item: str) -> bytes:
        return b'{"custom_id":"%s","params":%s}' % (item.encode(), orjson.dumps(prepared.body))

    @override
    async def upload(self, file: Path, name: str, model: str) -> dict[str, Any]:
        """Only looks up the newest batch: newer ones are listed before it, whatever clocks say."""
        self.provider.check_secret()
        answered = await self.within(self.provider.get(f"{PATH}?limit=1"))
        listed = entries(self._object(answered), self._unclear)
        return {"newest": self._job(listed[0]).id if listed else ""}

    @override
    async def create(
        self, file: Path, name: str, model: str, uploaded: Mapping[str, Any]
    ) -> BatchJob:
        """One API version applies to the whole batch: the old one as soon as one line sets the
        temperature, since lines that do not are the same in both.
        """
        self.provider.check_secret()
        legacy = await asyncio.to_thread(_sets_sampling, file)
        headers = {"anthropic-version": LEGACY_VERSION} if legacy else {}
        body = ListBody(file, _HEAD, _TAIL)
        answered = await self._client.post_list(PATH, body, self.provider.timeout, headers)
        return self._job(self._object(answered, model))

    @override
    async def find(
        self, name: str, model: str, uploaded: Mapping[str, Any], *, requests: int, since: float
    ) -> Sequence[BatchJob]:
        self.provider.check_secret()
        newest = uploaded.get("newest")  # older versions did not look it up
        found: list[BatchJob] = []
        path, last = f"{PATH}?limit={PAGE}", ""
        while True:
            answered = await self.within(self.provider.get(path))
            page = self._object(answered)
            oldest = since + server_time(answered.headers) - time.time() - CLOCKS_S
            before, last = last, ""
            for entry in entries(page, self._unclear):
                job = self._job(entry)
                if job.id == newest:
                    return found
                if newest is None and (moment(entry.get("created_at")) or oldest) < oldest:
                    return found
                if job.total in (None, requests) and job not in found:
                    found.append(job)
                last = job.id
            if not page.get("has_more") or last in ("", before):
                return found
            path = f"{PATH}?limit={PAGE}&after_id={quote(last, safe='')}"

    @override
    async def poll(self, job: str, model: str) -> BatchJob:
        self.provider.check_secret()
        answered = await self.within(self.provider.get(f"{PATH}/{quote(job, safe='')}"))
        return self.as_of(self._job(self._object(answered, what="this batch")), answered)

    @without_key
    @override
    async def fetch(self, job: BatchJob, into: Path) -> None:
        """From the API's own address: the key would be sent to whatever URL the batch contains."""
        self.provider.check_secret()
        await asyncio.to_thread(write_file, into, b"")
        path = f"{PATH}/{quote(job.id, safe='')}/results"
        answered = await self._client.download(path, into, self.provider.timeout)
        if answered.status != 200:
            raise self._trouble(answered, "", "the results of this batch")

    @override
    async def cancel(self, job: str, model: str) -> None:
        """A batch that has ended stays as it is."""
        self.provider.check_secret()
        path = f"{PATH}/{quote(job, safe='')}/cancel"
        answered = await self.within(self.provider.send(Prepared(model, path, {})))
        if answered.status not in (200, 400, 409):
            raise self._trouble(answered, "", "this batch")

    @override
    def read_result(self, result: dict[str, Any], call: Call) -> Reply:
        inner = as_object(result.get("result"))
        kind = inner.get("type")
        if kind == "succeeded" and isinstance(message := inner.get("message"), dict):
            return self.read_body(message, message.get("id") or "", call, read_message)
        if kind in ("expired", "canceled"):
            raise expired(self.title, cancelled=kind == "canceled")
        if kind == "errored" and isinstance(error := inner.get("error"), dict):
            told_kind = str(as_object(error.get("error")).get("type"))
            return self.read_error_line(STATUS.get(told_kind, 500), error, call, {})
        raise self.broken_line(result)

    def _job(self, entry: Mapping[str, Any]) -> BatchJob:
        """Parse a batch object.

        Raises:
            ServerFault: it is not a batch object.
        """
        counts, name = entry.get("request_counts"), entry.get("id")
        if not isinstance(counts, dict) or not isinstance(name, str):
            raise self._unclear()
        state, why = JobState.RUNNING, ""
        status = entry.get("processing_status")
        if status == "ended":
            state = JobState.ENDED
            if counts.get("expired"):
                state = JobState.EXPIRED
            elif counts.get("canceled"):
                state = JobState.CANCELLED
        elif status not in ("in_progress", "canceling"):
            why = f"its state is {status!r}"
        over = state.over
        return BatchJob(
            id=name,
            state=state,
            total=sum(value for value in counts.values() if isinstance(value, int)) or None,
            # Before the end these are 0, whatever has been done.
            succeeded=counts.get("succeeded") if over else None,
            failed=counts.get("errored") if over else None,
            why=why,
            expires=moment(entry.get("expires_at")),
            created=moment(entry.get("created_at")),
        )

    def _trouble(self, answered: Answered, model: str, what: str) -> ProviderError:
        if what and answered.status in (404, 410):
            request_id = answered.headers.get(REQUEST_ID, "")
            return self.gone(
                error_response(answered, self.scrub, error_fields(answered), request_id), what
            )
        return read_error(answered, self.provider.who, model, self.scrub)


def _sets_sampling(file: Path) -> bool:
    """Whether a line of a request file sets the temperature."""
    with file.open("rb") as lines:
        return any(
            _SAMPLING.search(line) and not orjson.loads(line)["params"].keys().isdisjoint(SAMPLING)
            for line in lines
        )
