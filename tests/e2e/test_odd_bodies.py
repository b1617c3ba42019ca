"""A server whose bodies are odd: a run keeps all that it answered, and can be looked at."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import orjson
import pytest

from evalbench.engine.journal import JournalReader
from tests.e2e.commandline import CommandLine

KEYS = {"OPENAI_API_KEY": "sk-" + "x" * 40}


def chat(stop: str = "stop", **usage: object) -> bytes:
    return orjson.dumps(
        {
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": "B"},
                    "finish_reason": stop,
                }
            ],
            "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12, **usage},
        }
    ).replace(b'"%huge%"', b"1000000000000000000")


BODIES = [
    [chat(prompt_tokens="%huge%")],
    [chat(completion_tokens="ten", total_tokens=None)],
    [chat(prompt_tokens=-(10**6))],
    [b"\xef\xbb\xbf" + chat()],
    [chat().replace(b'"B"', b'"\\ud83d B"')],
    [chat(prompt_tokens=1.5), chat(prompt_tokens=1.5)],
    [chat(), chat()],
    [chat("abort"), chat()],
    [orjson.dumps({"error": {"code": 502, "message": "upstream"}, "choices": None}), chat()],
]
"""What each question is answered, one after the other; the last again and again."""


class Scripted(ThreadingHTTPServer):
    """Answers question number N with ``BODIES[N]``; ``asked`` counts."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: Counter[int] = Counter()
        self.turn = threading.Lock()

    def answer(self, question: int) -> bytes:
        with self.turn:
            self.asked[question] += 1
            steps = BODIES[question]
            return steps[min(self.asked[question], len(steps)) - 1]


class Handler(BaseHTTPRequestHandler):
    server: Scripted

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        found = re.search(r"Riddle (\d+)", text)
        assert found
        body = self.server.answer(int(found[1]))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.send_error(404)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def odd() -> Iterator[Scripted]:
    server = Scripted()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.share(2)
@pytest.mark.parametrize("provider", ["openai", "compatible"])
def test_odd_replies_are_kept_and_end_no_run(
    cli: CommandLine, odd: Scripted, tmp_path: Path, provider: str
) -> None:
    data = tmp_path / "riddles.jsonl"
    rows = [
        {"question": f"Riddle {n}: which?", "answer": "B", "group": "g"} for n in range(len(BODIES))
    ]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = cli(
        "run", "synthetic", "--model", f"{provider}/m", "--data", str(data), "--json",
        "--base-url", f"http://127.0.0.1:{odd.server_port}/v1", "--price", "1/5",
        "--budget", "2",
        **KEYS,
    )  # fmt: skip
    assert done.code == 0, done.err
    again = {7, 8}
    assert odd.asked == {n: 1 + (n in again) for n in range(len(BODIES))}
    ended = done.lines[-1]
    assert 0 < ended["spend_usd"] < 0.02

    with JournalReader(cli.only_run().journal) as journal:
        for number in range(1, len(BODIES) + 1):
            (call,) = journal.calls(number)
            assert call.reply
            assert call.reply.text.endswith("B")
            assert bool(call.reply.notes) == (number <= 6)
    assert "odd: prompt_tokens is no number" in cli("show", "last", "--sample", "1").out
    assert "\ufffd B" in cli("show", "last", "--sample", "5").out
    exported = cli("export", "last", "-o", str(tmp_path / "out"))
    assert exported.code == 0, exported.err
    assert cli("resume", "last", "--json", **KEYS).code == 0
    assert odd.asked.total() == len(BODIES) + len(again)
