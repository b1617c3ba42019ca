"""A Hugging Face hub on the loopback interface that serves one data set, read-only.

It answers what ``datasets`` asks before and while it downloads: the data set's
description, folder listings, and files, at one pinned revision. Point
``HF_ENDPOINT`` at :attr:`DatasetHub.url`.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import unquote, urlsplit

Answer = tuple[int, bytes, Mapping[str, str]]


class DatasetHub:
    """The server, as a context manager; ``requests`` holds every ``METHOD path`` it saw.

    Args:
        name: ``organisation/data-set``.
        revision: the only commit there is.
        files: content by path.
    """

    def __init__(self, name: str, revision: str, files: Mapping[str, bytes]) -> None:
        self.name = name
        self.revision = revision
        self.files = files
        self.requests: list[str] = []

    def __enter__(self) -> DatasetHub:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """What ``HF_ENDPOINT`` must be."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def answer(self, path: str) -> Answer:
        """Status, body and headers for a path."""
        api = f"/api/datasets/{self.name}"
        if path.startswith(f"/datasets/{self.name}/resolve/"):
            revision, _, rest = path.partition("/resolve/")[2].partition("/")
            return self._file(rest) if revision == self.revision else _missing("RevisionNotFound")
        if path.startswith(f"{api}/tree/"):
            revision, _, rest = path.removeprefix(f"{api}/tree/").partition("/")
            return self._folder(rest) if revision == self.revision else _missing("RevisionNotFound")
        if path in (api, f"{api}/revision/{self.revision}"):
            return _json(self._description())
        return _missing("RepoNotFound")

    def _description(self) -> dict[str, Any]:
        return {
            "id": self.name,
            "sha": self.revision,
            "private": False,
            "gated": False,
            "disabled": False,
            "downloads": 0,
            "likes": 0,
            "tags": [],
            "cardData": {},
            "siblings": [{"rfilename": path} for path in self.files],
        }

    def _folder(self, folder: str) -> Answer:
        prefix = f"{folder}/" if folder else ""
        inside = [path for path in self.files if path.startswith(prefix)]
        names = {path.removeprefix(prefix).partition("/")[0] for path in inside}
        entries = [self._entry(prefix + name) for name in sorted(names)]
        return _json(entries) if entries else _missing("EntryNotFound")

    def _entry(self, path: str) -> dict[str, Any]:
        data = self.files.get(path)
        if data is None:
            return {"type": "directory", "path": path, "size": 0, "oid": "0" * 40}
        return {"type": "file", "path": path, "size": len(data), "oid": _digest(data)}

    def _file(self, path: str) -> Answer:
        data = self.files.get(path)
        if data is None:
            return _missing("EntryNotFound")
        return 200, data, {"ETag": f'"{_digest(data)}"', "X-Repo-Commit": self.revision}


def _digest(data: bytes) -> str:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


def _json(value: object) -> Answer:
    return 200, json.dumps(value).encode(), {"Content-Type": "application/json"}


def _missing(code: str) -> Answer:
    return 404, b"{}", {"X-Error-Code": code, "X-Error-Message": "not found"}


def _handler(hub: DatasetHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._answer()

        def do_GET(self) -> None:
            self._answer()

        def log_message(self, *args: object) -> None:
            pass

        def _answer(self) -> None:
            path = unquote(urlsplit(self.path).path)
            hub.requests.append(f"{self.command} {path}")
            status, body, headers = hub.answer(path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    return Handler
