"""A Hugging Face hub on the loopback interface that serves one data set or space, read-only.

It answers what the hub's clients ask before and while they download: the
repository's description, folder listings, and files or ranges of them, at one
commit, which ``main`` names too. Point ``HF_ENDPOINT`` at :attr:`DatasetHub.url`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.simulator.loopback import serving

_RANGE = re.compile(r"bytes=(\d+)-(\d*)")

Answer = tuple[int, bytes, Mapping[str, str]]


class DatasetHub:
    """The server, as a context manager; ``requests`` holds every ``METHOD path`` it saw.

    Args:
        name: ``organisation/data-set``.
        revision: the only commit there is.
        files: content by path.
        kind: ``datasets`` or ``spaces``.
        token: without it nothing seems to exist; empty: it is public.

    Attributes:
        broken: paths that are answered with an error of the server.
        sent: bytes of content sent, by path.
    """

    def __init__(
        self,
        name: str,
        revision: str,
        files: Mapping[str, bytes],
        kind: str = "datasets",
        token: str = "",
    ) -> None:
        self.broken: set[str] = set()
        self.sent: Counter[str] = Counter()
        self.kind = kind
        self.token = token
        self.name = name
        self.revision = revision
        self.files = files
        self.requests: list[str] = []

    def __enter__(self) -> DatasetHub:
        self._serving = serving(_handler(self))
        self._port = self._serving.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._serving.__exit__(None, None, None)

    @property
    def url(self) -> str:
        """What ``HF_ENDPOINT`` must be."""
        return f"http://127.0.0.1:{self._port}"

    def answer(self, path: str) -> Answer:
        """Status, body and headers for a path."""
        api = f"/api/{self.kind}/{self.name}"
        known = (self.revision, "main")
        if path.startswith(f"/{self.kind}/{self.name}/resolve/"):
            revision, _, rest = path.partition("/resolve/")[2].partition("/")
            return self._file(rest) if revision in known else _missing("RevisionNotFound")
        if path.startswith(f"{api}/tree/"):
            revision, _, rest = path.removeprefix(f"{api}/tree/").partition("/")
            return self._folder(rest) if revision in known else _missing("RevisionNotFound")
        if path in (api, *(f"{api}/revision/{revision}" for revision in known)):
            return _json(self._description())
        if path.startswith(f"{api}/revision/"):
            return _missing("RevisionNotFound")
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
        if path in self.broken:
            return 404, b"{}", {"X-Error-Message": "out of order"}
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
            if hub.token and self.headers.get("Authorization") != f"Bearer {hub.token}":
                status, body, headers = 401, b"{}", {"X-Error-Code": "RepoNotFound"}
            if status == 200 and (wanted := _RANGE.fullmatch(self.headers.get("Range", ""))):
                start, end = int(wanted[1]), min(len(body), int(wanted[2] or len(body)) + 1)
                headers = {**headers, "Content-Range": f"bytes {start}-{end - 1}/{len(body)}"}
                status, body = 206, body[start:end]
            if self.command == "GET":
                hub.sent[path.partition(f"/{hub.revision}/")[2]] += len(body)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    return Handler
