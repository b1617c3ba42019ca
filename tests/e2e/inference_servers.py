"""Small programs that behave as ``vllm`` and ``llama-server`` do."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil

PROGRAM = """#!{python}
import json, os, signal, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

words = sys.argv[1:]
how = os.environ.get("STAND_IN", "")

def value(*flags):
    return [after for word, after in zip(words, words[1:]) if word in flags][-1]

print("\\x1b[31mstarting\\x1b[0m", json.dumps(words), flush=True)
print(json.dumps(sorted(name for name in os.environ if "KEY" in name or "TOKEN" in name)))
if how == "dies":
    # As vLLM does: the cause, its long consequences, and what the user sees last.
    said = ["(Worker) ERROR [a.py:9] ValueError: no such \\x1b]0;title\\x07architecture"]
    said += ["(Server) WARNING [b.py:5] may cause errors like `OSError: [Errno 24]`"]
    said += [f"  File server.py, line {{number}}" for number in range(40)]
    said += ["RuntimeError: Engine core initialization failed."]
    print(*said, sep="\\n", file=sys.stderr, flush=True)
    sys.exit(3)
if how == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("I stay", flush=True)

begun = time.monotonic()
name = value("--served-model-name", "--alias")
asked = []
key = os.environ.get("VLLM_API_KEY") or os.environ.get("LLAMA_API_KEY")

class Door(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        asked.append(self.path)
        if self.path == "/health":
            # As llama-server while it loads.
            loading = len(asked) < 3 or how == "loads"
            self.answer(503 if loading else 200, {{"status": "loading" if loading else "ok"}})
        elif self.path == "/metrics":
            told = "vllm:kv_cache_usage_perc 0.25\\nvllm:num_requests_running 1\\n"
            told += "vllm:prompt_tokens_total 36\\nvllm:prefix_cache_hits_total 6\\n"
            self.send_response(200)
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told.encode())
        elif key and self.headers.get("Authorization") != "Bearer " + key:
            self.answer(401, {{"error": "no key"}})
        else:
            self.answer(200, {{"object": "list", "data": [{{"id": name, "object": "model"}}]}})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if body.get("model") != name:
            self.answer(404, {{"error": {{"message": "no such model", "code": 404}}}})
            return
        message = {{"role": "assistant", "content": "A"}}
        self.answer(200, {{
            "id": "1", "object": "chat.completion", "created": 1, "model": name,
            "choices": [{{"index": 0, "message": message, "finish_reason": "stop"}}],
            "usage": {{"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}},
        }})
        if how == "dies later":
            print("CUDA error", flush=True)
            threading.Timer(0.1, os._exit, (1,)).start()

    def log_message(self, *_):
        pass

if how == "mute":
    while True:
        time.sleep(60)
ThreadingHTTPServer((value("--host"), int(value("--port"))), Door).serve_forever()
"""


def install(folder: Path, *names: str) -> Path:
    """Put stand-ins called so into a folder for PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        program = folder / name
        program.write_text(PROGRAM.format(python=sys.executable))
        program.chmod(0o755)
    return folder


def gone(pid: int) -> bool:
    """Whether a process has ended, waited for or not."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
