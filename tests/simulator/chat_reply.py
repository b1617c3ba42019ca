"""Builds chat completions: the same for OpenAI and every server that copies it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from tests.simulator import tokens
from tests.simulator.brain import Completion

_LETTER = re.compile(r"^(\s*)([A-J])$")
_RIVALS = (" the", " a", "\n", ".", " B", "A", "C", " is", "D", "1", " not", ",", " of")


def finish_reason(completion: Completion) -> str:
    """Why the text ends, in chat completions' words."""
    if completion.kind == "filtered":
        return "content_filter"
    return "length" if completion.truncated else "stop"


def logprobs(text: str, content: int, top: int) -> list[dict[str, Any]]:
    """A log-probability for each token of ``text`` with ``top`` alternatives, best first."""
    out = []
    for at, piece in enumerate(tokens.pieces(text)):
        spin = blake2b(b"%d|%d" % (content, at), digest_size=4).digest()
        best = -0.001 - int.from_bytes(spin) / 2**33
        rivals = _rivals(piece)[: max(0, top - 1)]
        alternatives = [(piece, best)] + [
            (rival, best - 1.5 - 0.75 * place) for place, rival in enumerate(rivals)
        ]
        out.append(
            {
                **_token(piece, best),
                "top_logprobs": [_token(name, value) for name, value in alternatives[:top]],
            }
        )
    return out


def _rivals(piece: str) -> Sequence[str]:
    letter = _LETTER.match(piece)
    if letter:
        others = [letter[1] + other for other in "ABCDEFGHIJ" if other != letter[2]]
        return [*others, *_RIVALS]
    return [rival for rival in _RIVALS if rival != piece]


def _token(text: str, value: float) -> dict[str, Any]:
    return {"token": text, "logprob": value, "bytes": list(text.encode())}
