"""A provider that refuses a fifth of all requests and fails another twentieth.

    python -m bench.storm [--calls 2000] [--rounds 1] [--lanes openai,together]

2,000 calls, 64 at once, 20 ms each; 20 % are refused (429, ``retry-after: 1``)
and 5 % fail (500). The server is ``tests/stranger``, in a process of its own,
new for each lane. In one run, one after the other: a bare loop over the SDK with
its own retries (``max_retries=8``), and the whole ``evalbench run``. For both:
seconds from the first request to the last answer as the server saw them, requests
sent per call, requests before their retry-after; for ours the command's whole
wall time and CPU seconds too. ``ideal`` is what the refusals alone make the
unluckiest call wait.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.figures import Figure, declare, median, tell
from bench.whole_cost import measure

_ROOT = Path(__file__).resolve().parents[1]
CONCURRENCY = 64
KEY = "sk-ant-bench-0123456789abcdef"
MODELS = {
    "compatible": "compatible/mine",
    "openai": "openai/gpt-4.1",
    "anthropic": "anthropic/claude-haiku-4-5",
    "together": "together/meta-llama/Llama-3.3-70B-Instruct-Turbo",
    "google": "google/gemini-2.0-flash",
}
OWN_VERSION = ("anthropic", "together", "google")
"""Lanes whose clients add the version to the address themselves."""

Ask = Callable[[int], Awaitable[object]]


@dataclass(frozen=True)
class Server:
    """The stranger in a process of its own."""

    url: str

    def seen(self) -> dict[str, Any]:
        """What it counted."""
        with urllib.request.urlopen(f"{self.url}/stats") as answer:
            counted: dict[str, Any] = json.load(answer)
        return counted


@contextmanager
def server(seed: int) -> Iterator[Server]:
    """A fresh server."""
    words = ("--latency", "0.02", "--refuse", "0.2", "--fail", "0.05", "--seed", str(seed))
    with subprocess.Popen(
        [sys.executable, "-m", "tests.stranger.server", *words],
        stdout=subprocess.PIPE,
        text=True,
        cwd=_ROOT,
    ) as process:
        assert process.stdout
        try:
            yield Server(f"http://127.0.0.1:{int(process.stdout.readline())}")
        finally:
            process.terminate()


def asker(lane: str, url: str) -> tuple[Ask, Callable[[], Awaitable[None]]]:
    """How the bare SDK asks one question, and how it is closed."""
    if lane == "anthropic":
        import anthropic

        claude = anthropic.AsyncAnthropic(
            api_key=KEY, base_url=url, max_retries=8, http_client=anthropic.DefaultAioHttpClient()
        )
        return (
            lambda n: claude.messages.create(
                model="claude-haiku-4-5",
                max_tokens=4,
                messages=[{"role": "user", "content": question(n)}],
            ),
            claude.close,
        )
    if lane == "together":
        import together

        model = MODELS[lane].partition("/")[2]
        open_models = together.AsyncTogether(
            api_key=KEY, base_url=url, max_retries=8, http_client=together.DefaultAioHttpClient()
        )
        return (
            lambda n: open_models.chat.completions.create(
                model=model, max_tokens=4, messages=[{"role": "user", "content": question(n)}]
            ),
            open_models.close,
        )
    if lane == "google":
        return gemini(url)
    import openai

    client = openai.AsyncOpenAI(
        api_key=KEY, base_url=f"{url}/v1", max_retries=8, http_client=openai.DefaultAioHttpClient()
    )
    return (
        lambda n: client.chat.completions.create(
            model="gpt-4.1", max_tokens=4, messages=[{"role": "user", "content": question(n)}]
        ),
        client.close,
    )


def gemini(url: str) -> tuple[Ask, Callable[[], Awaitable[None]]]:
    """Google's SDK, which takes no notice of how long it is told to wait."""
    from google import genai
    from google.genai import types

    options = types.HttpOptions(
        base_url=url, api_version="v1", retry_options=types.HttpRetryOptions(attempts=9)
    )
    client = genai.Client(vertexai=False, api_key=KEY, http_options=options)
    model = MODELS["google"].partition("/")[2]
    config = types.GenerateContentConfig(max_output_tokens=4)
    return (
        lambda n: client.aio.models.generate_content(
            model=model, contents=question(n), config=config
        ),
        client.aio.aclose,
    )


def question(number: int) -> str:
    """One of the questions."""
    return f"Riddle {number}: which letter?"


async def bare(lane: str, url: str, calls: int) -> None:
    """The SDK in a loop, as one would write it."""
    ask, close = asker(lane, url)
    numbers = iter(range(calls))

    async def worker() -> None:
        for number in numbers:
            await ask(number)

    await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))
    await close()


def ours(lane: str, url: str, calls: int, *extra: str) -> tuple[float, float, int]:
    """The whole command: wall and CPU seconds, exit status."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "riddles.jsonl")
        rows = ({"question": question(n), "answer": "A", "group": str(n % 7)} for n in range(calls))
        data.write_text("".join(json.dumps(row) + "\n" for row in rows))
        env = {
            **os.environ,
            "EVALBENCH_HOME": f"{folder}/home",
            "PYTHONPATH": str(_ROOT / "tests" / "plugins"),
            "ANTHROPIC_API_KEY": KEY,
            "OPENAI_API_KEY": KEY,
            "TOGETHER_API_KEY": KEY,
            "GOOGLE_API_KEY": KEY,
        }
        command = [sys.executable, "-m", "evalbench.tui.cli.main", "run", "synthetic"]
        command += ["--model", MODELS[lane], "--data", str(data), "--json"]
        command += ["--base-url", url if lane in OWN_VERSION else f"{url}/v1", "--price", "1/5"]
        command += extra or ("--concurrency", str(CONCURRENCY))
        log = Path(folder, "log")
        cost = measure(command, env=env, log=log, cwd=Path(folder))
        if cost.status:
            raise SystemExit(log.read_text()[-2000:])
    return cost.wall_s, cost.cpu_s, cost.status


def show(lane: str, who: str, seen: dict[str, Any], calls: int, more: str) -> None:
    """One line of the table."""
    sent = seen["requests"] / calls
    print(
        f"| {lane} | {who} | {seen['seconds']:.1f} | {sent:.3f} | {seen['early']} "
        f"| {seen['twice']} | {seen['most']} | {more} |",
        flush=True,
    )


def main() -> None:
    """Measure the lanes asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--lanes", default=",".join(MODELS))
    parser.add_argument("--no-bare", action="store_true")
    parser.add_argument("--auto", action="store_true", help="let the concurrency find itself")
    declare(parser)
    given = parser.parse_args()
    print("| lane | who | first to last s | requests a call | early | twice | most at once | all |")
    print("| --- | --- | --: | --: | --: | --: | --: | --- |")
    sdk: dict[str, list[float]] = defaultdict(list)
    mine: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for seed in range(given.rounds):
        for lane in given.lanes.split(","):
            if not given.no_bare:
                with server(seed) as one:
                    asyncio.run(bare(lane, one.url, given.calls))
                    sdk[lane].append(one.seen()["seconds"])
                    show(lane, "SDK", one.seen(), given.calls, "")
            with server(seed) as one:
                extra = ("--attempts", "8") if given.auto else ()
                wall, cpu, _ = ours(lane, one.url, given.calls, *extra)
                mine[lane].append(one.seen())
                show(lane, "evalbench", one.seen(), given.calls, f"{wall:.1f} s, CPU {cpu:.1f} s")
    tell(given.figures, [figure for lane in mine for figure in figures(given, lane, sdk, mine)])


def figures(
    given: argparse.Namespace,
    lane: str,
    sdk: dict[str, list[float]],
    mine: dict[str, list[dict[str, Any]]],
) -> list[Figure]:
    """What is reported of a lane."""
    storm = f"{given.calls:,} calls, 20 % refused, 5 % failed, {lane}"
    seconds, early, twice = (
        median(one[name] for one in mine[lane]) for name in ("seconds", "early", "twice")
    )
    return [
        Figure(
            f"{storm}, first request to last answer",
            seconds,
            "s",
            beside="SDK with its own retries",
            beside_value=median(sdk[lane]) or None,
            note="by the clock",
        ),
        Figure(f"{storm}, asked before its retry-after or again after an answer", early + twice, "",
               0),
    ]  # fmt: skip


if __name__ == "__main__":
    main()
