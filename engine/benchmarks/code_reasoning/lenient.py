"""Parses predicted outputs of programs as a person would.

Assertions are parsed by Python's own parser, so brackets, quotes and ``==`` in their arguments are
no problem. Values are source text; none of it is executed, and no function raises. Compare them
with :func:`evalbench.engine.scoring.literals.strictly_equal`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from evalbench.engine.benchmarks.code_reasoning.parsers import Choice, written
from evalbench.engine.scoring import loose_json
from evalbench.engine.scoring.literals import NotALiteral, PythonReader
from evalbench.engine.scoring.reply_text import answer_text

PREDICTION_LENIENT = "assertion-lenient/3"
CHOICE_LENIENT = "choice-lenient/3"

_TAG = re.compile(r"[\[<]\s?(?P<close>/?)\s?answer\s?[\]>]", re.IGNORECASE)
_FENCE = re.compile(r"```[ \t]*(?:python|py|json|text)?(?![\w])", re.IGNORECASE)
_CODE_TAG = re.compile(r"\[/?(?:PYTHON|ASSERTION)\]", re.IGNORECASE)


def read_prediction_lenient(reply: str) -> str | None:
    """The output that a person would read, as source text, or None.

    1. The last non-empty ``[ANSWER]`` block, closed or not: the right side of its last assertion,
       or its bare value.
    2. Without a block, the last assertion anywhere.
    3. Without an assertion, the whole reply, if it is a single value.

    An assertion whose right side is not a complete Python expression (cut off, unbalanced) is no
    answer and is not replaced by an earlier one; one that repeats the question's ``??`` is skipped.
    Words are not values. Only the last 20 blocks are considered.
    """
    text = answer_text(reply)
    python = PythonReader()
    for block in reversed(_blocks(text)[-_MOST_BLOCKS:]):
        found = _read(block, python)
        if found is not None:
            return found or None
    return _read(text, python) or None


def _blocks(text: str) -> list[str]:
    tags = list(_TAG.finditer(text))
    ends = [tag.start() for tag in tags[1:]] + [len(text)]
    return [text[tag.end() : end] for tag, end in zip(tags, ends, strict=False) if not tag["close"]]


_MOST_BLOCKS = 20
_BROKEN = ""
"""Marks an answer that cannot be parsed; None means that there is no answer."""
_ASSERT = re.compile(r"(?<![\w.])assert(?=[\s(])")
_PLACEHOLDER = re.compile(r"\s*(?:\?+|_{2,}|\.\.\.|…|<[^<>]*>)")
_LOOKS_LIKE_A_VALUE = re.compile(r"[\[({'\"]|-?\.?\d")
_MOST_ASSERTIONS = 20


def _read(text: str, python: PythonReader) -> str | None:
    """The value in a piece of a reply; ``_BROKEN``; None if it answers nothing."""
    text = _CODE_TAG.sub("\n", _FENCE.sub("\n", text))
    starts = [found.end() for found in _ASSERT.finditer(text)][-_MOST_ASSERTIONS:]
    for start in reversed(starts):
        found = _asserted(python.window(text, start), python)
        if found is not None:
            return found
    return _bare(text.strip(" \t\r\n`*:"), python)


def _bare(text: str, python: PythonReader) -> str | None:
    if not text or _PLACEHOLDER.match(text):
        return None
    tree = python.parse(text, "eval")
    if isinstance(tree, ast.Expression) and not isinstance(tree.body, ast.Compare):
        value = tree.body
        if _is_value(value):
            return _source(text, value)
        return _BROKEN if _LOOKS_LIKE_A_VALUE.match(text) else None
    if "==" in text and "\n" not in text:
        return _asserted(" " + python.window(text, 0), python)
    try:
        python.literal(text.rstrip("."))
    except NotALiteral:
        return _BROKEN if _LOOKS_LIKE_A_VALUE.match(text) else None
    return text.rstrip(".")


_TOKEN = re.compile(r"['\"]|[\[({]|[\])}]|==|#[^\n]*|\\\n|\n")
_STRINGS = {
    quote: re.compile(
        rf"{quote}[^{quote}\\\n]*+(?:\\.[^{quote}\\\n]*+)*+(?P<closed>{quote}?)", re.S
    )
    for quote in "'\""
}


def _tokens(text: str, python: PythonReader) -> Iterator[re.Match[str]]:
    """Strings, brackets, ``==``, comments and line breaks; unclosed quotes are skipped.

    Between such a quote and the end of its line there is no other that is closed, so the search is
    done once per line. Nothing more is returned when the limits of ``python`` are reached: many
    assertions, or many ``==``, may be followed by the same text.
    """
    at = 0
    nothing_closed = dict.fromkeys(_STRINGS, 0)
    while python.may_scan and (found := _TOKEN.search(text, at)):
        python.scanned(found.end() - at)
        quote = found[0]
        if quote in _STRINGS:
            if found.start() < nothing_closed[quote]:
                at = found.end()
                continue
            string = _STRINGS[quote].match(text, found.start())
            assert string
            if not string["closed"]:
                nothing_closed[quote] = string.end()
                at = found.end()
                continue
            python.scanned(string.end() - found.end())
            found = string
        at = found.end()
        yield found


def _asserted(text: str, python: PythonReader) -> str | None:
    """The right side of the assertion that continues with ``text``, which follows its keyword."""
    end, sides = _statement(text, python)
    statement = f"assert{text[:end]}"
    tree = python.parse(statement, "exec")
    if isinstance(tree, ast.Module) and tree.body and isinstance(tree.body[0], ast.Assert):
        found = _compared(statement, tree.body[0])
        if found is not None:
            return None if _PLACEHOLDER.match(found) else found
    if not sides:
        return None
    if all(_PLACEHOLDER.match(text, side) for side in sides):
        return None
    readings = (_leading(text[side:end].strip(), python) for side in sides)
    return next((reading for reading in readings if reading), _BROKEN)


def _statement(text: str, python: PythonReader) -> tuple[int, list[int]]:
    """Where a statement ends, and where the right sides of its ``==`` start.

    It ends at the first line break outside brackets. If the brackets never close, every ``==`` on
    the first line counts, the last one first.
    """
    depth = 0
    sides: list[int] = []
    for token in _tokens(text, python):
        mark = token[0]
        if mark in "[({":
            depth += 1
        elif mark in "])}":
            if depth == 0:
                return token.start(), sides
            depth -= 1
        elif mark == "==" and depth == 0:
            sides.append(token.end())
        elif mark == "\n" and depth == 0:
            return token.start(), sides
    if sides or depth == 0:
        return len(text), sides
    line = text.partition("\n")[0]
    return len(line), [found.end() for found in re.finditer("==", line)][::-1]


def _compared(statement: str, node: ast.Assert) -> str | None:
    test = node.test
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[-1], (ast.Eq, ast.Is)):
        return None
    right = test.comparators[-1]
    if len(test.ops) == 1 and _is_literal(test.left) and not _is_literal(right):
        right = test.left
    if not _is_value(right):
        return _BROKEN
    value = _source(statement, right)
    if node.msg is not None and _is_literal(node.msg, but_text=True):
        # To Python "== 1, 2" is a value and a message; no one writes a number as a message.
        value = f"({value}, {_source(statement, node.msg)})"
    return value


def _is_literal(node: ast.expr, *, but_text: bool = False) -> bool:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError, MemoryError):
        return False
    return not (but_text and isinstance(value, (str, bytes)))


def _is_value(node: ast.expr) -> bool:
    """Whether an expression can be an output: no bare word, except ``nan`` and ``float('inf')``."""
    if isinstance(node, ast.Name):
        return node.id in ("nan", "inf")
    return not isinstance(node, (ast.Compare, ast.Lambda, ast.NamedExpr))


def _source(text: str, node: ast.expr) -> str:
    source = ast.get_source_segment(text, node) or ""
    # "3." ends a sentence; Python would print 3.0.
    return source.removesuffix(".") if source[:-1].lstrip("-").isdecimal() else source


_QUOTED = r"'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'|\"[^\"\\\n]*+(?:\\.[^\"\\\n]*+)*+\""
_ATOM = re.compile(rf"(?:{_QUOTED})|-?\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?|True\b|False\b|None\b")
_GOES_ON = re.compile(r"\s*(?:[-+*/%<>=&|^@]|\.\w|\[|\(|(?:if|or|and|in|not|is|for)\b)")


def _leading(right: str, python: PythonReader) -> str | None:
    """The value at the start of a right side that is followed by words or marks."""
    right = right.rstrip(" \t,")
    tree = python.parse(right, "eval")
    if isinstance(tree, ast.Expression):
        return _source(right, tree.body) if _is_value(tree.body) else None
    end = _group_end(right, python) if right[:1] in ("[", "(", "{") else _atom_end(right)
    rest = right[end:].lstrip("*`")
    if not end or _GOES_ON.match(rest):
        return None
    try:
        python.literal(right[:end])
    except NotALiteral:
        return None
    return right[:end]


def _atom_end(text: str) -> int:
    found = _ATOM.match(text)
    return found.end() if found else 0


def _group_end(text: str, python: PythonReader) -> int:
    depth = 0
    for token in _tokens(text, python):
        depth += (token[0] in "[({") - (token[0] in "])}")
        if depth == 0:
            return token.end()
    return 0


_PROGRAM = re.compile(r"[\s\"'(\[]*(?:program[\s_]*)?[\"'(\[]?([AB])[)\]\"'.\s]*", re.IGNORECASE)
_CHOSEN_FIELD = re.compile(
    r"[\"'“”]?(?:chosen[ _]?)?program[\"'“”]?\s?[:=]\s?[\"'“”]?(?:program[\s_]?)?([AB])\b"
    r"(?![ _]?or\b)",
    re.IGNORECASE,
)
_ASSERTION_FIELD = re.compile(
    r"[\"'“”]?(?:assertion|outputs?)[\"'“”]?\s?[:=]\s{0,9}(?P<value>.*)", re.IGNORECASE | re.DOTALL
)
_NEXT_FIELD = re.compile(r"[\"'“”]\s*+,\s*+[\"'“”]\w++[\"'“”]\s?:")


def read_choice_lenient(reply: str) -> Choice | None:
    """The choice and value that a person would read in the last object that makes a choice.

    The object may be fenced, have its keys in any order, the letter in lower case or as "Program
    A", the value with braces or unescaped quotes in it, and be written as a Python dict. Text
    without an object, the template's "A or B" and an assertion without a value are not choices.
    """
    for found, fields in loose_json.newest(answer_text(reply)):
        choice = _picked(found) if fields is None else _decoded(fields)
        if choice is not None:
            return choice if choice.value else None
    return None


def _decoded(fields: Mapping[str, Any]) -> Choice | None:
    """A choice, with an empty value if there is none; None for any other object."""
    fields = loose_json.with_key(fields, "chosenprogram", "program", "choice") or {}
    chosen = fields.get("chosenprogram", fields.get("program", fields.get("choice")))
    found = _PROGRAM.fullmatch(chosen[:40]) if isinstance(chosen, str) else None
    if not found:
        return None
    outputs = fields.get("outputs", fields.get("output"))
    assertion = fields.get("assertion")
    if assertion in (None, "") and outputs is not None:
        assertion = outputs[0] if isinstance(outputs, list) and len(outputs) == 1 else outputs
    return Choice(found[1].upper(), _value(assertion))


def _value(assertion: Any) -> str:
    if isinstance(assertion, list) and len(assertion) == 1 and isinstance(assertion[0], str):
        assertion = assertion[0]
    if assertion is None:
        return ""
    if not isinstance(assertion, str):
        return written(assertion)
    return _read(_TAG.sub("\n", assertion), PythonReader()) or ""


def _picked(text: str) -> Choice | None:
    chosen = _CHOSEN_FIELD.search(text)
    if not chosen:
        return None
    assertion = _ASSERTION_FIELD.search(text)
    value = _field(assertion["value"]) if assertion else ""
    value = value.removeprefix('"').removeprefix("“").replace('\\"', '"').replace("\\\\", "\\")
    return Choice(chosen[1].upper(), _value(value))


def _field(text: str) -> str:
    """A field's text in almost-JSON: up to the next field, or the end of the object."""
    end = text.rstrip().removesuffix("}").rstrip().removesuffix(",").rstrip()
    end = end[:-1] if end.endswith(('"', "'", "“", "”")) else end
    following = _NEXT_FIELD.search(text)
    return text[: min(len(end), following.start())] if following else end
