"""Small files of the web: kept once they are whole, and never otherwise."""

from __future__ import annotations

import hashlib
import socketserver
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evalbench.engine.data.fetching import fetch_once
from evalbench.engine.errors import DataError

SAID = hashlib.sha256(b"said").hexdigest()

Serve = Callable[[bytes], str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts servers that send the same bytes whatever they are asked; gives their address."""
    servers: list[socketserver.TCPServer] = []

    def start(response: bytes) -> str:
        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                while self.rfile.readline().strip():
                    pass
                self.wfile.write(response)

        servers.append(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler))
        threading.Thread(target=servers[-1].serve_forever, args=(0.01,)).start()
        return f"http://127.0.0.1:{servers[-1].server_address[1]}/file"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_file_is_fetched_once(serve: Serve, tmp_path: Path) -> None:
    address = serve(b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nsaid")
    kept = tmp_path / "folder" / "file"
    assert fetch_once(address, SAID, kept, "a file", "").read_bytes() == b"said"
    assert fetch_once("http://127.0.0.1:1/", SAID, kept, "a file", "").read_bytes() == b"said"


@pytest.mark.parametrize(
    "response",
    [
        b"HTTP/1.0 200 OK\r\nContent-Length: 400\r\n\r\ncut",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ncut",
        b"HTTP/1.0 200 OK\r\n\r\nanother file",
        b"HTTP/1.0 404 Not Found\r\n\r\n",
        b"no HTTP\r\n\r\n",
    ],
)
def test_a_file_that_did_not_come_whole_is_not_kept(
    response: bytes, serve: Serve, tmp_path: Path
) -> None:
    kept = tmp_path / "file"
    with pytest.raises(DataError, match="a file could not be fetched") as caught:
        fetch_once(serve(response), SAID, kept, "a file", "do without")
    assert caught.value.hint == "do without"
    assert not kept.exists()
