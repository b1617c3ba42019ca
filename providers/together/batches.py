"""Together's batches: similar to OpenAI's in outline, different in every detail."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import orjson

from evalbench.engine.calls import BatchJob, BatchTerms, JobState
from evalbench.engine.compat import override
from evalbench.providers.chat.batches import FileBatches, with_results
from evalbench.providers.chat.provider import ChatProvider
from evalbench.providers.together.prepare import CHAT
from evalbench.providers.together.upload import FILE_ID, described, is_fit, not_taken, put
from evalbench.providers.wire.exchange import Answered, Prepared
from evalbench.providers.wire.failures import json_body
from evalbench.providers.wire.headers import moment
from evalbench.providers.wire.sdk import SdkClient

TERMS = BatchTerms(most_requests=50_000, most_bytes=100_000_000, most_tokens=30_000_000_000)
_STATES = {
    "VALIDATING": JobState.WAITING,
    "IN_PROGRESS": JobState.RUNNING,
    "COMPLETED": JobState.ENDED,
    "EXPIRED": JobState.EXPIRED,
    "CANCELLED": JobState.CANCELLED,
    "FAILED": JobState.FAILED,
}
_QUEUE_FULL = re.compile(r"\benqueued\b", re.IGNORECASE)
_STATUS = {
    "invalid_request": 400,
    "invalid_request_error": 400,
    "invalid_api_key": 401,
    "credit_limit": 402,
    "invalid_model": 404,
    "model_not_available": 404,
    "rate_limit_exceeded": 429,
    "dynamic_request_limited": 429,
    "dynamic_token_limited": 429,
    "service_unavailable": 503,
}


class TogetherBatches(FileBatches):
    """Batches by Together's ``/v1/files`` and ``/v1/batches``."""

    root = "/v1"
    line_statuses: ClassVar[Mapping[str, int]] = _STATUS

    def __init__(self, provider: ChatProvider, client: SdkClient) -> None:
        super().__init__(provider)
        self._client = client

    @override
    def terms(self, model: str) -> BatchTerms | None:
        return TERMS if self._taken else None

    @override
    def write_line(self, prepared: Prepared, item: str) -> bytes:
        return b'{"custom_id":"%s","body":%s}' % (item.encode(), orjson.dumps(prepared.body))

    @override
    async def upload(self, file: Path, name: str, model: str) -> dict[str, Any]:
        """Together identifies files by checksum and reports one that already exists. A file whose
        upload was cut off is replaced.
        """
        self.provider.check_secret()
        form = await asyncio.to_thread(described, file, name)
        answered = await self.within(self._client.form("/v1/files", form))
        self.unless_none_taken(answered)
        if answered.status == 409:
            known = await self._known(answered)
            if known.get("bytes") == (await asyncio.to_thread(file.stat)).st_size:
                return {"file": known["id"]}
            await self.within(self._client.delete(f"/v1/files/{quote(known['id'], safe='')}"))
            answered = await self.within(self._client.form("/v1/files", form))
        stored = answered.headers.get(FILE_ID)
        place = answered.headers.get("location") or ""
        if answered.status != 302 or not stored or not is_fit(place, self.provider.address):
            if answered.status < 400:
                raise self._unclear()
            raise self._trouble(answered, "", "")
        taken = await put(place, file, self.provider.timeout, self.title, self.provider.address)
        if taken.status not in (200, 201):
            raise not_taken(taken, self.title)
        path = f"/v1/files/{quote(stored, safe='')}/preprocess"
        self._object(await self.within(self._client.form(path, {})))
        return {"file": stored}

    async def _known(self, answered: Answered) -> dict[str, Any]:
        """The existing file that an upload was matched to."""
        body = json_body(answered)
        name = body.get("file_id") if isinstance(body, dict) else None
        if not isinstance(name, str):
            raise self._unclear()
        found = await self.within(self.provider.get(f"/v1/files/{quote(name, safe='')}"))
        return {**self._object(found), "id": name}

    @override
    async def create(
        self, file: Path, name: str, model: str, uploaded: Mapping[str, Any]
    ) -> BatchJob:
        self.provider.check_secret()
        body = {
            "input_file_id": uploaded["file"],
            "endpoint": CHAT,
            "completion_window": "24h",
        }
        answered = await self.within(self.provider.send(Prepared(model, "/v1/batches", body)))
        made = self._object(answered, what="the file of this batch")
        job = made.get("job")
        return self._job(job if isinstance(job, dict) else made, model)

    @override
    async def find(
        self, name: str, model: str, uploaded: Mapping[str, Any], *, requests: int, since: float
    ) -> Sequence[BatchJob]:
        """Batches have no names, but files do, and the file contains the names of its lines, so the
        file's newest batch is the right one. All batches come in a single list.
        """
        self.provider.check_secret()
        answered = await self.within(self.provider.get("/v1/batches"))
        if answered.status != 200:
            raise self._trouble(answered, model, "")
        listed = self.scrub.value(json_body(answered))
        if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
            raise self._unclear()
        ours = [one for one in listed if one.get("input_file_id") == uploaded["file"]]
        youngest = max(ours, key=lambda one: moment(one.get("created_at")) or 0.0, default=None)
        return [replace(self._job(youngest, model), name=name)] if youngest else []

    def _job(self, entry: Mapping[str, Any], model: str) -> BatchJob:
        """A job object; raises as :meth:`FileBatches._job`."""
        status, name = entry.get("status"), entry.get("id")
        if not isinstance(status, str) or not isinstance(name, str):
            raise self._unclear()
        state, results = with_results(entry, _STATES.get(status, JobState.RUNNING))
        why = self.scrub.text(str(entry.get("error") or ""), 600)
        return BatchJob(
            id=name,
            state=state,
            progress=_share(entry.get("progress")),
            why=why if status in _STATES else f"its state is {status!r}",
            again=state is JobState.FAILED and bool(_QUEUE_FULL.search(why)),
            expires=moment(entry.get("job_deadline")),
            results=results,
            created=moment(entry.get("created_at")),
        )


def _share(percent: object) -> float | None:
    """A fraction of 1; None if there is none."""
    if not isinstance(percent, int | float) or not 0 <= percent <= 100:
        return None
    return percent / 100
