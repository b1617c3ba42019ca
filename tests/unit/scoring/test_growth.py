"""How the time of every reading grows with the reply: by its length, not by its square.

Square growth that a bound stops before the shorter reply shows in the time itself.
"""

from __future__ import annotations

import time

import pytest

from bench.parsers import readers

N = 10_000  # four times as much is read whole by all parsers
# In four times as long linear work takes four times the time, quadratic work sixteen times.
MOST = 9.0
FLOOR_S = 0.004  # what is quicker says nothing
CEILING_S = 1.0  # some twenty times what the worst takes on a machine with nothing else to do

SHAPES = {
    "escaped quotes in an object": ('{"compliant": ', '\\"', " is Z"),
    "escaped quotes in objects": ('"', '{a \\"}', ""),
    "objects without end": ("", '{"', "[/ANSWER]"),
    "objects in objects": ("", "{a:", "}"),
    "objects that are none": ("", "{a: 1, 'b': x} ", ""),
    "apostrophes": ("", "'s ", "!"),
    "quotes": ("", '"a "', "!"),
    "spaces": ("a", " ", "b"),
    "lines": ("a", "\n", "b"),
    "labels": ("", "answer is ", "Z"),
    "articles": ("", "A ", "z"),
    "verdicts": ("", "not [[A]] ", "Z"),
    "brackets": ("", "[A]", "!"),
    "open brackets": ("assert f(", "[", ""),
    "assertions": ("", "assert f(1) == ", "Z"),
    "equations": ("assert f(", "x == ", "Z"),
    "open equations": ("assert f(", "==(", ""),
    "open equations in an object": ('{"chosen_program": "A", "assertion": "assert f(', "==(", '"}'),
    "dashes": ("", "–", "!"),
    "tags": ("", "</", "think>"),
    "reasoning": ("", "<think></think>", "x"),
    "digits": ("[[", "7", "x"),
    "thousands": ("", "1,000,", "x"),
    "marks": ("", "\\[", "!"),
    "ligatures": ("", "ﷺ", "!"),
    "choice": ('{"chosen_program": "A", "assertion": x', " ", "x"),
    "fences": ("```json", " ", "x"),
}


def took(name: str, shape: str, size: int) -> float:
    """Seconds of CPU that a reading takes."""
    read = readers()[name]
    head, piece, tail = SHAPES[shape]
    text = head + (piece * (size // len(piece) + 1))[:size] + tail
    begun = time.process_time()
    read(text)
    return time.process_time() - begun


@pytest.mark.share(3)
@pytest.mark.parametrize("name", list(readers()))
def test_a_reply_four_times_as_long_takes_no_more_than_a_few_times_as_long(name: str) -> None:
    for shape in SHAPES:
        for attempt in range(4):
            short, long = took(name, shape, N), took(name, shape, 4 * N)
            grows = long / max(short, FLOOR_S / 4)
            if long < FLOOR_S or (grows < MOST and long < CEILING_S):
                break
            assert attempt < 3, f"{shape}: {short * 1000:.1f} ms, then {long * 1000:.1f} ms"
