"""Media too large for a request: uploaded once, referenced by URI, deleted at the end."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from evalbench.engine.calls import MediaPart
from evalbench.engine.errors import CallRejected, ProviderError, ServerFault
from evalbench.providers.google.errors import read_error
from evalbench.providers.google.sdk import GeminiClient
from evalbench.providers.wire.body import parsed
from evalbench.providers.wire.connection_made import new_attempt
from evalbench.providers.wire.failures import ProviderIdentity
from evalbench.providers.wire.reply_scrubbing import SecretScrubber

LIFE_S = 46 * 3600.0
"""Files are kept for 48 hours; leave time for the answer."""
_FIRST_LOOK_S = 0.25
_LONGEST_LOOK_S = 5.0
_DELETING_S = 5.0
_DELETED_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class _File:
    """An uploaded file: its name and URI at Google, and when it becomes too old to use."""

    name: str
    uri: str
    until: float


class Uploads:
    """The files of one key, by the SHA-256 of their bytes."""

    def __init__(self, client: GeminiClient, who: ProviderIdentity, scrub: SecretScrubber) -> None:
        self._client = client
        self._who = who
        self._scrub = scrub
        self._files: dict[str, _File] = {}
        self._going: dict[str, asyncio.Task[_File]] = {}

    @property
    def uris(self) -> Mapping[str, str]:
        """URIs of the files that can be used now."""
        now = time.time()
        return {sha: file.uri for sha, file in self._files.items() if now < file.until}

    async def ready(self, parts: Iterable[MediaPart]) -> None:
        """Upload what is missing, each file once, however many calls wait for it.

        Raises:
            ProviderError: an upload failed; the next call retries it.
        """
        for part in parts:
            file = self._files.get(part.sha256)
            if file is None or time.time() >= file.until:
                await self._one(part)

    async def _one(self, part: MediaPart) -> None:
        task = self._going.get(part.sha256)
        if task is None:
            task = self._going[part.sha256] = asyncio.ensure_future(self._unbilled(part))
            task.add_done_callback(lambda done: self._going.pop(part.sha256, None))
        # Shielded: cancelling one call must not cancel the upload for the others.
        self._files[part.sha256] = await asyncio.shield(task)

    async def _unbilled(self, part: MediaPart) -> _File:
        """Uploads are free: neither their connections nor their failures are the call's."""
        new_attempt()
        try:
            return await self._uploaded(part)
        except ProviderError as error:
            error.possibly_billed = False
            raise

    async def _uploaded(self, part: MediaPart) -> _File:
        answered = await self._client.upload(part)
        if answered.status != 200:
            raise read_error(answered, self._who, "", self._scrub)
        record = parsed(answered, self._who, self._scrub).get("file")
        if not isinstance(record, dict) or "name" not in record or "uri" not in record:
            raise ServerFault(f"{self._who.title} says nothing of an uploaded file")
        file = _File(record["name"], record["uri"], time.time() + LIFE_S)
        await self._processed(file, record.get("state"))
        return file

    async def _processed(self, file: _File, state: object) -> None:
        """Wait until a file is usable; videos are processed first."""
        pause = _FIRST_LOOK_S
        while state not in (None, "ACTIVE"):
            if state == "FAILED":
                raise CallRejected(
                    f"{self._who.title} cannot read a file of this call",
                    hint="check that it is a whole video, picture or document",
                )
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_LOOK_S)
            answered = await self._client.ask("GET", f"/{file.name}")
            if answered.status != 200:
                raise read_error(answered, self._who, "", self._scrub)
            state = parsed(answered, self._who, self._scrub).get("state")

    def forget(self, parts: Iterable[MediaPart]) -> None:
        """Forget files that Google no longer has."""
        for part in parts:
            self._files.pop(part.sha256, None)

    async def close(self) -> None:
        """Delete uploaded files if that is quick; Google deletes them after two days anyway."""
        for task in list(self._going.values()):
            task.cancel()
        names = [file.name for file in self._files.values()]
        self._files.clear()
        if not names:
            return
        gate = asyncio.Semaphore(_DELETED_AT_ONCE)

        async def delete(name: str) -> None:
            async with gate:
                with contextlib.suppress(ProviderError):
                    await self._client.ask("DELETE", f"/{name}")

        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_DELETING_S):
                await asyncio.gather(*map(delete, names))
