"""Responses of all kinds: odd ones that hold an answer, and whatever a server may send."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.contract.bodies.lanes import Lane, Path
from tests.contract.bodies.server import Response
from tests.spellings import spellings

KEY = "sk-planted/KEY+0123456789&abcdefghijKLMNOPqrstuv-wxyz_ABCDEFGH=="
"""Has what spellings differ in, and is so long that its base64 goes over several lines."""
ANSWER = "Answer: B"
SPELLINGS = list(spellings(KEY).values())
IN_HEADERS = [one for one in SPELLINGS if one.isascii() and one.isprintable()]


@dataclass(frozen=True)
class Token:
    """What stands in JSON as it is, whether JSON allows it or not."""

    text: str

    def __deepcopy__(self, _: object) -> Token:
        return self


@dataclass(frozen=True)
class Case:
    """A response, and whether its server has answered by it.

    Attributes:
        body: of a good response, as a line of a batch's results would hold it; None where no
            line could.
    """

    response: Response
    answered: bool
    body: bytes | None = None


TOKENS = [
    *("NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e-400", "-0", "12.0", "1.5", "1e3"),
    *("1000000000000000000", "99999999999999999999", "9" * 5000, "-5", "-1000000", "1000000000"),
    *("[" * 300 + "]" * 300, "[" * 1500 + "]" * 1500, '{"a":' * 260 + "1" + "}" * 260),
    *('"\\ud83d"', '"\\udc00\\ud83d"', '"\\u0000"', "{}", "[]", '""', "true", "null"),
]
TEXTS = ["ten", "9", "", "error", "abort", "stop", "\ud83d", "STOP", "\t"]
NAMES = [
    *("error", "detail", "message", "status", "usage", "warnings", "refusal", "text", "code"),
    *("type", "choices", "output", "content", "candidates", "promptFeedback", "__type", "id"),
]
places_for_keys = st.builds(
    "<<key {} {}>>{}".format,
    st.integers(0, len(SPELLINGS) - 1),
    st.sampled_from(["escaped", "as it is"]),
    st.sampled_from(["", "", " said"]),
)
"""Where :func:`planted` puts a key: a body that is cut must not hold half of one."""
scalars = st.one_of(
    st.sampled_from(TOKENS).map(Token),
    st.sampled_from(TEXTS) | places_for_keys,
    st.none() | st.booleans() | st.integers(-10, 10**10) | st.floats(),
    st.text(max_size=6),
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=4,
)
statuses = st.sampled_from([200] * 8 + [201, 202, 203, 206]) | st.integers(205, 599)
headers = st.lists(
    st.tuples(
        st.sampled_from(
            [
                *("Retry-After", "Retry-After-Ms", "Date", "Location", "X-Should-Retry"),
                *("X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Tokens", "Server"),
                *("Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Tokens-Reset"),
                *("X-Request-Id", "Request-Id", "X-Amzn-Requestid", "X-Amzn-Errortype"),
                *("X-Ratelimit-Limit-Requests", "X-Ratelimit-Reset", "Set-Cookie"),
            ]
        ),
        st.sampled_from(["0", "-1", "1e309", "nan", "6m0s", "9" * 30, "ThrottlingException"])
        | st.sampled_from(IN_HEADERS)
        | st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=12),
    ),
    max_size=3,
)
kinds = st.sampled_from(
    [
        *("application/json", "text/plain", "text/html", "application/json; charset=latin-1"),
        *("application/json; charset=ISO-8859-1", "application/json; charset=utf-16", "x", ""),
        *("application/json; charset=no-such", "text/event-stream", "application/octet-stream"),
    ]
)


def written(value: Any, *, ascii_only: bool = True) -> str:
    """A value as JSON, in which tokens stand as they are."""
    if isinstance(value, Token):
        return value.text
    if isinstance(value, dict):
        pairs = (f"{json.dumps(k, ensure_ascii=ascii_only)}: " for k in value)
        return "{" + ", ".join(p + written(value[k], ascii_only=ascii_only)
                               for p, k in zip(pairs, value, strict=True)) + "}"  # fmt: skip
    if isinstance(value, list):
        return "[" + ", ".join(written(one, ascii_only=ascii_only) for one in value) + "]"
    return json.dumps(value, ensure_ascii=ascii_only)


_PLACE = re.compile(rb"<<key (\d+) (escaped|as it is|bare)>>")


def planted(body: bytes) -> bytes:
    """A body with keys in the places for them: in strings of JSON, or ``bare``."""

    def key(found: re.Match[bytes]) -> bytes:
        spelled = SPELLINGS[int(found[1])]
        if found[2] == b"bare":
            return spelled.encode()
        return json.dumps(spelled, ensure_ascii=found[2] == b"escaped")[1:-1].encode()

    return _PLACE.sub(key, body)


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """Every place in a body."""
    yield path
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from places(inner, (*path, name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from places(inner, (*path, number))


def put(body: Any, path: Path, value: Any) -> Any:
    """The body with another value in a place."""
    if not path:
        return value
    inner: Any = body
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return body


@st.composite
def answers(draw: st.DrawFn, lane: Lane) -> Case:
    """Responses that hold an answer, however odd the rest of them is."""
    fixed = {place[:n] for place in (lane.text, *lane.fixed) for n in range(len(place) + 1)}
    free = [place for place in places(lane.body) if place not in fixed]
    said = draw(st.sampled_from(["", "x \ud83d ", "é ", "\t", "\x00 ", "✅ ", "\udc00"])) + ANSWER
    if draw(st.booleans()):
        key = draw(places_for_keys)
        said = draw(st.sampled_from([f"{key} {said}", f"{said} {key}", f"{said}\n{key}\n"]))
    body = put(deepcopy(dict(lane.body)), lane.text, said)
    for place in draw(st.lists(st.sampled_from(free), max_size=3, unique=True)):
        if _is_there(body, place):
            put(body, place, draw(values))
    if draw(st.booleans()):
        # A name that is there already would be the answer's own.
        body.setdefault(draw(st.sampled_from(NAMES)), draw(values))
    raw = written(body, ascii_only=draw(st.booleans())).encode("utf-8", "surrogatepass")
    raw = planted(raw)
    how = draw(st.sampled_from(["", "", "", "", "mark", "blank", "tail", "utf-16", "latin", "raw"]))
    line = None if how in ("utf-16", "mark", "blank", "tail") else raw
    match how:
        case "mark":
            raw = b"\xef\xbb\xbf" + raw
        case "blank":
            raw = b"\n\n  \r\n" + raw + b"\n"
        case "tail":
            raw += draw(st.sampled_from([raw, b"\n\n{}", b"\x00", b"garbage", b"]"]))
        case "utf-16":
            raw = raw.decode("utf-8", "replace").encode("utf-16")
        case "latin":
            line = raw = raw.replace(b"Answer", b"caf\xe9 Answer", 1)
        case "raw":
            line = raw = raw.replace(b"Answer", b"\x01 Answer", 1)
    framings = ["length", "length", "chunks"] + ["gzip"] * lane.packed
    response = Response(
        raw,
        draw(st.sampled_from([200] * 8 + [201, 202, 203, 206])),
        [("Content-Type", draw(kinds)), *draw(headers)],
        draw(st.sampled_from(framings)),
    )
    return Case(response, answered=True, body=line)


def _is_there(body: Any, place: Path) -> bool:
    inner: Any = body
    for step in place:
        if isinstance(inner, str):
            return False
        try:
            inner = inner[step]
        except (KeyError, IndexError, TypeError):
            return False
    return True


@st.composite
def anything(draw: st.DrawFn, lane: Lane) -> Case:
    """Responses of any kind, most of them near to an answer."""
    body: Any = put(deepcopy(dict(lane.body)), lane.text, draw(st.sampled_from(["", ANSWER])))
    for place in draw(st.lists(st.sampled_from(list(places(lane.body))), min_size=1, max_size=3)):
        if _is_there(body, place):
            body = put(body, place, draw(values))
    if draw(st.booleans()) and isinstance(body, dict):
        body[draw(st.sampled_from(NAMES))] = draw(values)
    raw = written(body).encode("utf-8", "surrogatepass")
    line: bytes | None = raw
    match draw(st.sampled_from(["near", "near", "near", "value", "bytes", "cut", "page"])):
        case "value":
            line = raw = written(draw(values)).encode("utf-8", "surrogatepass")
        case "bytes":
            raw, line = draw(st.binary(max_size=40)), None
        case "cut":
            raw, line = raw[: draw(st.integers(0, len(raw)))], None
        case "page":
            key = f"<<key {draw(st.integers(0, len(SPELLINGS) - 1))} bare>>"
            raw, line = b"<!doctype html><title>Hi</title>" + key.encode(), None
    raw, line = planted(raw), line and planted(line)
    packed = [("Content-Encoding", "gzip")] * draw(st.sampled_from([0, 0, 0, 0, 1]))
    response = Response(
        raw,
        draw(statuses),
        [("Content-Type", draw(kinds)), *draw(headers), *packed],
        draw(st.sampled_from(["length", "length", "chunks", "cut"])),
    )
    return Case(response, answered=False, body=line)


def cases(lane: Lane) -> st.SearchStrategy[Case]:
    """Of both kinds, as many of each."""
    return answers(lane) | anything(lane)
