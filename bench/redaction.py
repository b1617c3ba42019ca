"""What looking for a key in every spelling costs a reply: CPU by size and by kind of text.

    python -m bench.redaction

A reply is searched three times: its bytes, its text and its reasoning. The time to parse the
same bytes is printed beside each, as a yardstick on a busy machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import orjson

from evalbench.engine.calls import Reply
from evalbench.providers.wire.reply_scrubbing import SecretScrubber

_KEY = "sk-proj-" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9f" * 3
_TEXTS = {
    "English": "The quick brown fox jumps over the lazy dog.\n",
    "German": "Die Schlüssel — „Übung“ öffnen 50 % …\n",
    "Chinese": "模型的回答是正确的。",
    "formulas": 'Let $\\frac{a}{b} = \\beta$, so 50 % of "x" remains.\n',
    "escapes": '<a href="x?a=1&amp;b=2%20c">é</a>\n',
}
_SIZES = (1_000, 100_000)
_FOR_S = 0.2


def body(text: str) -> bytes:
    """A chat completion with an answer."""
    message = {"role": "assistant", "content": text, "refusal": None}
    usage = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    return orjson.dumps({"id": "chatcmpl-1", "choices": [choice], "model": "m", "usage": usage})


def cpu_us(work: Callable[[], object]) -> float:
    """CPU microseconds of one call, the least of several rounds."""
    best = float("inf")
    for _ in range(5):
        began, count = time.thread_time(), 0
        while (spent := time.thread_time() - began) < _FOR_S / 5:
            for _ in range(20):
                work()
            count += 20
        best = min(best, spent / count)
    return best * 1e6


def main() -> None:
    """Print the table."""
    scrub = SecretScrubber(_KEY)
    print(f"{'text':10}{'characters':>12}{'scrubbing':>12}{'parsing':>12}   µs of CPU")
    for name, words in _TEXTS.items():
        for size in _SIZES:
            text = (words * (size // len(words) + 1))[:size]
            raw, reply = body(text), Reply(text=text, provider_model="m", request_id="chatcmpl-1")
            spent = cpu_us(lambda: (scrub.exact(raw), scrub.reply(reply)))  # noqa: B023
            parsing = cpu_us(lambda: orjson.loads(raw))  # noqa: B023
            print(f"{name:10}{size:>12,}{spent:>12.1f}{parsing:>12.1f}")


if __name__ == "__main__":
    main()
