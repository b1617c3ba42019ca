"""Files of the Gemini API: resumable upload, states, life of 48 hours."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.simulator.clock import rfc3339
from tests.simulator.exchange import Answer, Exchange, Refused
from tests.simulator.google_checks import read
from tests.simulator.google_errors import error, refuse

LIFE_S = 48 * 3600.0
_HOST = "https://generativelanguage.googleapis.com"


@dataclass(slots=True)
class File:
    """One file. A video is processed until it is looked at for the first time.

    Attributes:
        wanted: bytes that were announced.
        made: by the API, not uploaded.
    """

    name: str
    owner: str
    media_type: str
    created: float
    data: bytes = b""
    state: str = "PROCESSING"
    wanted: int = 0
    made: bool = False


class Files:
    """What keys have uploaded."""

    def __init__(self) -> None:
        self._files: dict[str, File] = {}
        self._uploads: dict[str, File] = {}

    def start(self, exchange: Exchange) -> Answer:
        """``POST /upload/v1/files``: announces a file and gets the address for its bytes."""
        headers = exchange.headers
        if headers.get("x-goog-upload-protocol") != "resumable":
            refuse("Upload protocol must be resumable.")
        if headers.get("x-goog-upload-command") != "start":
            refuse("Upload command must be start.")
        given = exchange.body if exchange.raw else {}
        read(given, "upload", "")
        size = headers.get("x-goog-upload-header-content-length", "")
        media_type = headers.get("x-goog-upload-header-content-type", "")
        if not size.isdigit() or not media_type:
            refuse("Upload headers for length and type are required.")
        number = f"{exchange.number:012d}"
        file = File(f"files/{number}", exchange.key, media_type, exchange.now, wanted=int(size))
        self._uploads[number] = file
        host = headers.get("host", "")
        version = exchange.path.split("/")[-2]
        where = f"http://{host}/google/upload/{version}/files?upload_id={number}"
        sent = {"X-Goog-Upload-URL": where, "X-Goog-Upload-Status": "active"}
        return Answer({}, headers=sent)

    def finish(self, exchange: Exchange) -> Answer:
        """The bytes of an announced file, in one piece."""
        file = self._uploads.pop(exchange.query.get("upload_id", [""])[0], None)
        if file is None:
            raise Refused(error(404, "Upload has already been terminated."))
        command = exchange.headers.get("x-goog-upload-command", "")
        if {part.strip() for part in command.split(",")} != {"upload", "finalize"}:
            refuse("The simulator takes uploads in one piece.")
        if exchange.headers.get("x-goog-upload-offset") != "0" or len(exchange.raw) != file.wanted:
            refuse(f"Expected {file.wanted} bytes, got {len(exchange.raw)}.")
        file.data = exchange.raw
        if not file.media_type.startswith("video/"):
            file.state = "ACTIVE"
        self._files[file.name] = file
        return Answer({"file": self.shown(file)}, headers={"X-Goog-Upload-Status": "final"})

    def get(self, exchange: Exchange) -> Answer:
        """``GET /v1/files/NAME``."""
        file = self._of(exchange, f"files/{exchange.tail}")
        answer = Answer(self.shown(file))
        file.state = "ACTIVE"
        if b"broken" in file.data[:64]:
            file.state = "FAILED"
        return answer

    def get_or_download(self, exchange: Exchange) -> Answer:
        """``GET /v1/files/NAME``, or ``NAME:download?alt=media`` of what the API has made."""
        name, _, method = exchange.tail.partition(":")
        if not method:
            return self.get(exchange)
        file = self._of(exchange, f"files/{name}")
        if method != "download" or exchange.query.get("alt") != ["media"]:
            raise Refused(error(404, f"Method {method} is not found."))
        if not file.made:
            refuse("Only generated files can be downloaded.")
        return Answer(file.data, content_type="application/octet-stream")

    def put(self, name: str, owner: str, data: bytes, now: float, *, gone: bool) -> None:
        """A file that the API has made: results of a batch. ``gone``: it was deleted since."""
        if not gone:
            file = File(name, owner, "application/jsonl", now, data, "ACTIVE", made=True)
            self._files[name] = file

    def delete(self, exchange: Exchange) -> Answer:
        """``DELETE /v1/files/NAME``."""
        del self._files[self._of(exchange, f"files/{exchange.tail}").name]
        return Answer({})

    def listed(self, exchange: Exchange) -> Answer:
        """``GET /v1/files``."""
        return Answer({"files": [self.shown(f) for f in self._mine(exchange)]})

    def used(self, exchange: Exchange, uri: str) -> File:
        """A file that a prompt refers to."""
        file = self._of(exchange, "files/" + uri.rpartition("/files/")[2])
        if file.state != "ACTIVE":
            name = file.name.removeprefix("files/")
            message = f"The File {name} is not in an ACTIVE state and usage is not allowed."
            raise Refused(error(400, message, name="FAILED_PRECONDITION"))
        return file

    def _mine(self, exchange: Exchange) -> Iterator[File]:
        for file in self._files.values():
            if file.owner == exchange.key and exchange.now < file.created + LIFE_S:
                yield file

    def _of(self, exchange: Exchange, name: str) -> File:
        for file in self._mine(exchange):
            if file.name == name:
                return file
        plain = name.removeprefix("files/")
        message = f"You do not have permission to access the File {plain} or it may not exist."
        raise Refused(error(403, message))

    @staticmethod
    def shown(file: File) -> dict[str, Any]:
        """A file's record."""
        digest = hashlib.sha256(file.data).hexdigest().encode()
        return {
            "name": file.name,
            "mimeType": file.media_type,
            "sizeBytes": str(len(file.data)),
            "createTime": rfc3339(file.created),
            "updateTime": rfc3339(file.created),
            "expirationTime": rfc3339(file.created + LIFE_S),
            "sha256Hash": base64.b64encode(digest).decode(),
            "uri": f"{_HOST}/v1/{file.name}",
            "state": file.state,
            "source": "GENERATED" if file.made else "UPLOADED",
        }
