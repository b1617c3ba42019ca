"""``evalbench parse``: what a benchmark's parsers read in the user's own replies."""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from evalbench.engine.benchmarks.parsers import KINDS, ReplyKind, kind
from evalbench.engine.errors import DataError, UsageError
from evalbench.engine.paths import expand
from evalbench.engine.terminal_text import one_line
from evalbench.tui.cli.output import stderr, stdout
from evalbench.tui.cli.parser import Parser

_LINE = '{"id": "1", "reply": "…"}, where it matters with "choices", at will with "expected"'

_SCORED = '{"sample": 1, "reply": "…"}'


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments."""
    width = max(map(len, KINDS))
    lines = [f"  {name:<{width}}  {entry.reads}" for name, entry in KINDS.items()]
    parser.description = "\n".join(
        [
            f"{parser.description}",
            "Reads JSON lines from standard input: id, reply, and where needed choices and",
            "expected. Prints a line for each: id, faithful (as the original system reads",
            "it), lenient (as a person would), faithful_correct, lenient_correct.",
            "",
            *lines,
        ]
    )
    parser.add_argument(
        "name",
        metavar="NAME|FILE.toml",
        nargs="?",
        help="parser name, from the list above; or a benchmark of your own, whose lines have reply"
        " and sample (its number, from 1), and which prints outcome, values and what was read",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    parser.examples(
        "evalbench parse mt-bench-single < replies.jsonl",
        'echo \'{"sample": 1, "reply": "B"}\' | evalbench parse capitals.toml',
        'echo \'{"id": 1, "reply": "(B) Paris"}\' | evalbench parse mmlu-letter',
    )


def execute(args: argparse.Namespace) -> int:
    """Read every line and print the results of both parsers."""
    if args.name is None:
        raise UsageError(
            "say whose parsers to try",
            why=f"there are {', '.join(KINDS)}",
            hint="evalbench parse NAME < replies.jsonl",
        )
    if args.name.endswith(".toml"):
        return _score(expand(args.name))
    chosen = kind(args.name)
    _notice(_LINE)
    out = stdout()
    for case in _cases(sys.stdin.buffer, chosen):
        if out.gone:
            break
        out.line(_as_json(_parsed(chosen, case), out.encoding))
    return 0


def _notice(form: str) -> None:
    """Say what is expected if nothing is piped in."""
    if sys.stdin.isatty():
        stderr().line(f"reading JSON lines from the terminal: {form}; end with Ctrl-D")


def _score(file: Path) -> int:
    """Score every reply with a custom benchmark."""
    from evalbench.engine.benchmarks.custom.trial import Trial

    trial = Trial(file)
    _notice(_SCORED)
    out = stdout()
    for number, line in enumerate(sys.stdin.buffer, start=1):
        if out.gone:
            break
        if not line.strip():
            continue
        try:
            case = json.loads(line)
            place, reply = case["sample"], case["reply"]
            if type(place) is not int or not isinstance(reply, str):
                raise TypeError
        except (ValueError, TypeError, KeyError, RecursionError):
            raise DataError(
                f"line {number} of standard input names no sample and reply",
                hint=f"write lines such as {_SCORED}",
            ) from None
        score = asyncio.run(trial.score(place, reply))
        fields = {
            "sample": place,
            "outcome": score.outcome.value,
            "values": dict(score.values),
            "parsed": dict(score.parsed),
            "gold": trial.samples[place - 1].gold,
        }
        out.line(_as_json(fields, out.encoding))
    return 0


class _Case(NamedTuple):
    id: str | int
    reply: str
    choices: Sequence[str]
    expected: Any


def _parsed(chosen: ReplyKind, case: _Case) -> dict[str, Any]:
    faithful = chosen.faithful.read(case.reply, case.choices)
    lenient = chosen.lenient.read(case.reply, case.choices)
    line = {"id": case.id, "faithful": faithful, "lenient": lenient}
    if case.expected is not None:
        line["faithful_correct"] = chosen.faithful.is_right(faithful, case.expected)
        line["lenient_correct"] = chosen.lenient.is_right(lenient, case.expected)
    return line


def _as_json(line: dict[str, Any], encoding: str) -> str:
    text = json.dumps(line, ensure_ascii=False)
    try:
        text.encode(encoding)
    except UnicodeEncodeError:  # such as a lone surrogate, which only an escape can express
        text = json.dumps(line)
    return text


def _cases(stream: IO[bytes], chosen: ReplyKind) -> Iterator[_Case]:
    for number, line in enumerate(stream, start=1):
        text = line.removeprefix(b"\xef\xbb\xbf").strip() if number == 1 else line.strip()
        if text:
            yield _case(text, number, chosen)


def _case(text: bytes, number: int, chosen: ReplyKind) -> _Case:
    def refuse(what: str, why: str = "") -> DataError:
        return DataError(
            f"line {number} of standard input {what}", why=why, hint=f"write lines such as {_LINE}"
        )

    try:
        case = json.loads(text)
    except UnicodeDecodeError:
        raise refuse("is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise refuse("is not JSON", why=one_line(str(error))) from None
    if not isinstance(case, dict):
        raise refuse("is not a JSON object")
    ident, reply = case.get("id"), case.get("reply")
    if not isinstance(ident, (str, int)):
        raise refuse('has no "id" that is a text or a whole number')
    if not isinstance(reply, str):
        raise refuse('has no "reply" that is a text')
    choices, expected = case.get("choices"), case.get("expected")
    if choices is None:
        choices = []
    if not isinstance(choices, list) or not all(isinstance(one, str) for one in choices):
        raise refuse('has "choices" that are no list of texts')
    if expected is not None and not (_is_finite(expected) and chosen.accepts(expected)):
        raise refuse(f'has an "expected" that is not {chosen.expects}')
    return _Case(ident, reply, choices, expected)


def _is_finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)
