"""What traces cost: CPU of the engine with and without them, and of the process that sends.

    python -m bench.traces [--size 5000] [--rounds 3]

The engine's questions of :mod:`bench.engine_overhead` go through a provider that
answers at once; spans go to a sink of another process that takes everything. Runs
with and without alternate, so that what else the machine does falls on both.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.engine_overhead import MODEL, yardstick
from bench.figures import Figure, declare, tell
from bench.own_home import own_home
from evalbench.engine.config.spec import make_spec
from evalbench.engine.process.launch import Engine, launch_runs

_SINK = """
import http.server
class Sink(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sink)
print(server.server_address[1], flush=True)
server.serve_forever()
"""


@contextmanager
def sink() -> Iterator[str]:
    """Address of a collector that takes everything and keeps nothing."""
    child = subprocess.Popen([sys.executable, "-c", _SINK], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout
        yield f"http://127.0.0.1:{child.stdout.readline().strip()}"
    finally:
        child.kill()
        child.wait()


def cpu_of(engine: Engine) -> tuple[float, float]:
    """CPU seconds of an engine alone, and of what it started, from birth to end."""
    stat = Path(f"/proc/{engine.pid}/stat")
    alone = 0.0
    while True:
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            alone = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") or alone
        except OSError:
            pass
        pid, status, used = os.wait4(engine.pid, os.WNOHANG)
        if pid:
            break
        time.sleep(0.02)
    assert os.waitstatus_to_exitcode(status) == 0, engine.runs[0].engine_log.read_text()
    return alone, used.ru_utime + used.ru_stime - alone


def measure(size: int, otlp: str | None) -> tuple[float, float, float]:
    """CPU milliseconds a sample of engine and sender, and how much slower a fixed loop ran."""
    spec = make_spec(
        "questions",
        str(MODEL),
        options={"size": size},
        provider_options={"body": "chat"},
        otlp=otlp,
    )
    loops = [yardstick()]
    engine = launch_runs(spec)
    alone, others = cpu_of(engine)
    loops.append(yardstick())
    status = engine.runs[0].status()
    assert status.done == size
    assert not otlp or status.traces[0]["sent"] + (status.traces[0]["left"] or 0) == size
    if otlp and status.traces[0]["left"]:
        print(f"({status.traces[0]['left']} of {size} spans were not sent in time)")
    return alone / size * 1000, others / size * 1000, statistics.mean(loops)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", type=int, default=5000, help="samples of each run")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each kind")
    declare(parser)
    args = parser.parse_args()
    best = min(yardstick() for _ in range(30))
    off, on, sender, busy = [], [], [], []
    with own_home(), sink() as address:
        for _ in range(args.rounds):
            off.append(measure(args.size, None)[0])
            alone, others, loop = measure(args.size, address)
            on.append(alone)
            sender.append(others)
            busy.append(loop / best)
            print(
                f"engine {off[-1]:.3f} ms a sample without, {on[-1]:.3f} with traces;"
                f" the sender {sender[-1]:.3f}; busy {busy[-1]:.2f}",
                flush=True,
            )
    note = f"busy {statistics.median(busy):.2f}"
    tell(
        args.figures,
        [
            Figure(
                "engine with traces, CPU a one-call sample",
                statistics.median(on),
                "ms",
                beside="without",
                beside_value=statistics.median(off),
                note=note,
            ),
            Figure(
                "process that sends traces, CPU a one-call sample",
                statistics.median(sender),
                "ms",
                note=note,
            ),
        ],
    )


if __name__ == "__main__":
    main()
