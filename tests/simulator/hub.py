"""A Hugging Face hub on the loopback interface, as far as its client needs one to download.

It serves repositories that a test describes, with commits, metadata, redirects
of large files, range requests and the error codes of the real hub, and it can
cut a transfer. Point ``HF_ENDPOINT`` at :attr:`Hub.url`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from urllib.parse import unquote, urlsplit

from tests.simulator.loopback import serving

MAIN = "main"


@dataclass
class Repository:
    """One model repository.

    Attributes:
        files: content by path.
        readers: tokens that may read a gated or private repository.
        gated: files need a reader's token; the listing does not.
        private: without a reader's token the repository does not seem to exist.
        tags: further names of the one commit.
        commit: made of the content unless given.
    """

    files: Mapping[str, bytes]
    readers: frozenset[str] = frozenset()
    gated: bool = False
    private: bool = False
    tags: frozenset[str] = frozenset()
    commit: str = ""

    def __post_init__(self) -> None:
        if not self.commit:
            digest = hashlib.sha1(usedforsecurity=False)
            for path, data in sorted(self.files.items()):
                digest.update(path.encode() + b"\0" + data)
            self.commit = digest.hexdigest()

    def has(self, revision: str) -> bool:
        """Whether a branch, tag or commit of that name exists."""
        return revision in {MAIN, self.commit, *self.tags}


@dataclass
class Hub:
    """The server. Use it as a context manager.

    Attributes:
        repositories: by ``org/name``.
        cuts: by path: after how many bytes each of the next transfers is cut.
        status: a status that every request is answered with, when set.
        transfers: by path: the ``Range`` header of every content request, or empty.
        requests: every request seen, as ``METHOD path``.
    """

    repositories: dict[str, Repository]
    cuts: dict[str, list[int]] = field(default_factory=dict)
    status: int = 0
    transfers: dict[str, list[str]] = field(default_factory=dict)
    requests: Counter[str] = field(default_factory=Counter)

    def __enter__(self) -> Hub:
        self._serving = serving(type("_", (_Handler,), {"hub": self}))
        self._port = self._serving.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._serving.__exit__(None, None, None)

    @property
    def url(self) -> str:
        """What ``HF_ENDPOINT`` must be."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def storage_url(self) -> str:
        """Where large files are: another host, which the client treats differently."""
        return f"http://localhost:{self._port}"


_INFO = re.compile(r"/api/models/(?P<repo>[^/]+/[^/]+?)(?:/revision/(?P<revision>[^/]+))?")
_TREE = re.compile(r"/api/models/(?P<repo>[^/]+/[^/]+)/tree/(?P<revision>[^/]+)")
_FILE = re.compile(r"/(?P<repo>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.+)")
_LARGE = re.compile(r"/large/(?P<repo>[^/]+/[^/]+)/(?P<path>.+)")


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def log_message(self, *args: object) -> None:
        pass

    def _answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.hub.requests[f"{self.command} {path}"] += 1
        if self.hub.status:
            self._error(self.hub.status, "", "out of order")
        elif path == "/api/whoami-v2":
            self._whoami()
        elif found := _TREE.fullmatch(path):
            self._listing(found["repo"], found["revision"], self._tree)
        elif found := _INFO.fullmatch(path):
            self._listing(found["repo"], found["revision"] or MAIN, self._info)
        elif found := _FILE.fullmatch(path):
            self._file(found["repo"], found["revision"], found["path"])
        elif found := _LARGE.fullmatch(path):
            self._content(found["path"], self.hub.repositories[found["repo"]].files[found["path"]])
        else:
            self._error(404, "", "no such page")

    # -- what the hub decides before it answers --------------------------

    def _token(self) -> str:
        return self.headers.get("Authorization", "").removeprefix("Bearer ")

    def _whoami(self) -> None:
        if any(self._token() in held.readers for held in self.hub.repositories.values()):
            data = json.dumps({"type": "user", "name": "a-reader"}).encode()
            self._send(200, data, {"Content-Type": "application/json"})
        else:
            self._error(401, "", "Invalid username or password.")

    def _repository(self, name: str, revision: str) -> Repository | None:
        """The repository, or None after an error was sent."""
        repository = self.hub.repositories.get(name)
        hidden = repository and repository.private and self._token() not in repository.readers
        if repository is None or hidden:
            # Strangers are told to log in: a private repository must not be recognisable.
            self._error(404 if self._token() else 401, "RepoNotFound", "Repository not found")
            return None
        if not repository.has(revision):
            self._error(404, "RevisionNotFound", f"Invalid rev id: {revision}")
            return None
        return repository

    def _listing(self, name: str, revision: str, body) -> None:  # type: ignore[no-untyped-def]
        if repository := self._repository(name, revision):
            data = json.dumps(body(name, repository)).encode()
            self._send(200, data, {"Content-Type": "application/json"})

    def _info(self, name: str, repository: Repository) -> object:
        siblings = [{"rfilename": path} for path in repository.files]
        gated = "manual" if repository.gated else False
        return {
            "id": name,
            "modelId": name,
            "sha": repository.commit,
            "private": repository.private,
            "gated": gated,
            "siblings": siblings,
        }

    def _tree(self, name: str, repository: Repository) -> object:
        entries = []
        for path, data in repository.files.items():
            entry: dict[str, object] = {
                "type": "file",
                "path": path,
                "size": len(data),
                "oid": hashlib.sha1(data, usedforsecurity=False).hexdigest(),
            }
            if _is_large(path):
                entry["lfs"] = {
                    "oid": hashlib.sha256(data).hexdigest(),
                    "size": len(data),
                    "pointerSize": 134,
                }
            entries.append(entry)
        return entries

    def _file(self, name: str, revision: str, path: str) -> None:
        repository = self._repository(name, revision)
        if repository is None:
            return
        if repository.gated and self._token() not in repository.readers:
            status = 403 if self._token() else 401
            self._error(status, "GatedRepo", f"Access to model {name} is restricted.")
            return
        data = repository.files.get(path)
        if data is None:
            self._error(404, "EntryNotFound", "Entry not found")
            return
        about = {"X-Repo-Commit": repository.commit, "Accept-Ranges": "bytes"}
        if _is_large(path):
            about["X-Linked-Size"] = str(len(data))
            about["X-Linked-Etag"] = f'"{hashlib.sha256(data).hexdigest()}"'
            about["Location"] = f"{self.hub.storage_url}/large/{name}/{path}"
            self._send(302, b"", about)
        else:
            self._content(path, data, about)

    # -- sending ----------------------------------------------------------

    def _content(self, path: str, data: bytes, about: Mapping[str, str] | None = None) -> None:
        headers = {
            "ETag": f'"{hashlib.sha1(data, usedforsecurity=False).hexdigest()}"',
            "Content-Type": "application/octet-stream",
            **(about or {}),
        }
        status, start, end = 200, 0, len(data)
        if wanted := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
            status, start = 206, int(wanted[1])
            end = min(end, int(wanted[2] or end) + 1)
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(data)}"
        if self.command == "HEAD":
            self._send(status, data[start:end], headers)
            return
        self.hub.transfers.setdefault(path, []).append(self.headers.get("Range", ""))
        cuts = self.hub.cuts.get(path)
        self._send(status, data[start:end], headers, cut=cuts.pop(0) if cuts else None)

    def _error(self, status: int, code: str, message: str) -> None:
        headers = {"X-Error-Message": message, **({"X-Error-Code": code} if code else {})}
        self._send(status, json.dumps({"error": message}).encode(), headers)

    def _send(
        self, status: int, body: bytes, headers: Mapping[str, str], cut: int | None = None
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body if cut is None else body[:cut])
        if cut is not None:
            self.close_connection = True


def _is_large(path: str) -> bool:
    """Weights live outside of git on the real hub, behind a redirect."""
    return path.endswith((".safetensors", ".gguf"))
