"""Predicted outputs: assertions as the original reads them, and as Python and people do."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalbench.engine.benchmarks.code_reasoning import parsers as executions
from evalbench.engine.benchmarks.code_reasoning.lenient import (
    read_choice_lenient,
    read_prediction_lenient,
)
from evalbench.engine.benchmarks.code_reasoning.parsers import Choice, read_choice, read_prediction
from evalbench.engine.scoring.literals import equal, strictly_equal

PREDICTIONS: dict[str | None, list[str]] = {
    "7": [
        "[ANSWER]assert count(x=3) == 7[/ANSWER]",
        "[ANSWER]\nassert count(3) == 7\n[/ANSWER]",
        "[answer] assert count(3)==7 [/answer]",
        "[ANSWER]7[/ANSWER]",
        "[ANSWER] `7` [/ANSWER]",
        "[ANSWER]count(3) == 7[/ANSWER]",
        "[ANSWER]```python\nassert count(3) == 7\n```[/ANSWER]",
        "[ANSWER]\n```\nassert count(3) == 7\n```\n[/ANSWER]",
        "[ANSWER]assert count(3) == 7  # four and three[/ANSWER]",
        '[ANSWER]assert count(3) == 7, "wrong"[/ANSWER]',
        "[ANSWER]assert count((1, 2)) == 7[/ANSWER]",
        "[ANSWER]assert count(len([1, 2]), (3,)) == 7[/ANSWER]",
        "[ANSWER]assert count('a) == 9') == 7[/ANSWER]",
        "[ANSWER]assert Solution().count(3) == 7[/ANSWER]",
        "[ANSWER]assert (count(3) == 7)[/ANSWER]",
        "[ANSWER]assert(count(3) == 7)[/ANSWER]",
        "[ANSWER]assert count(3) == (7)[/ANSWER]",
        "[ANSWER]assert count(3) == 7;[/ANSWER]",
        "[ANSWER]assert count(3) == 7.[/ANSWER]",
        "[ANSWER]assert count(3) == 7,[/ANSWER]",
        "[ANSWER]assert count(3) == 7[ANSWER]",
        "[ANSWER]assert count(3) == 7",
        "<answer>assert count(3) == 7</answer>",
        "**[ANSWER]**\nassert count(3) == 7\n**[/ANSWER]**",
        "[ANSWER]assert count(3) == ??[/ANSWER]\n[ANSWER]assert count(3) == 7[/ANSWER]",
        "[ANSWER]assert count(3) == 7[/ANSWER] (I kept the [ANSWER][/ANSWER] tags.)",
        "[ANSWER]assert count(3) == 6[/ANSWER] No: [ANSWER]assert count(3) == 7[/ANSWER]",
        "[ANSWER]assert count(3) == 6\nassert count(3) == 7[/ANSWER]",
        "[ANSWER]assert 7 == count(3)[/ANSWER]",
        "<think>[ANSWER]assert count(3) == 5[/ANSWER]</think>[ANSWER]assert count(3) == 7[/ANSWER]",
        "assert count(3) == 7",
        "So the program returns 7:\n\nassert count(3) == 7",
        "```python\nassert count(3) == 7\n```",
        "The loop runs twice, therefore assert count(3) == 7.",
        "`assert count(3) == 7`",
        "Final: **assert count(3) == 7**",
        "The task was `assert count(3) == ??`, and `assert count(3) == 7` holds.",
        "[PYTHON]\nassert count(3) == 7\n[/PYTHON]",
        "[ANSWER]assert count(3) == 7 because it adds up[/ANSWER]",
        "[ANSWER]assert count(<input>) == 7[/ANSWER]",
        "7",
        "count(3) == 7",
        "[ANSWER]assert count(\n    3,\n) == 7[/ANSWER]",
        "[ANSWER]assert count(3) == \\\n    7[/ANSWER]",
        "[ANSWER]assert count(3) == 7\n\nHere x == y holds, so I assert that it is right.[/ANSWER]",
    ],
    "[(1, 'a'), (2, 'b')]": [
        "[ANSWER]assert pairs([1, 2], ('a', 'b')) == [(1, 'a'), (2, 'b')][/ANSWER]",
        "[ANSWER]\nassert pairs([1, 2], 'ab') == [(1, 'a'), (2, 'b')]\n[/ANSWER]\nExplained below.",
        "[ANSWER][(1, 'a'), (2, 'b')][/ANSWER]",
        "So: assert pairs('ab') == [(1, 'a'), (2, 'b')]. Done.",
    ],
    "[1,\n 2]": ["[ANSWER]assert f() == [1,\n 2]\n[/ANSWER]"],
    "'a == b'": [
        "[ANSWER]assert f('x') == 'a == b'[/ANSWER]",
        "[ANSWER]assert f('x' == 'y') == 'a == b'[/ANSWER]",
        "[ANSWER]'a == b'[/ANSWER]",
    ],
    "'it\\'s (1'": ["[ANSWER]assert f(\"it's (1\") == 'it\\'s (1'[/ANSWER]"],
    "{'k': {1, 2}}": ["[ANSWER]assert f() == {'k': {1, 2}}[/ANSWER]"],
    "(1, 2)": ["[ANSWER]assert f() == (1, 2)[/ANSWER]", "[ANSWER]assert f() == 1, 2[/ANSWER]"],
    "-3": ["[ANSWER]assert f() == -3[/ANSWER]", "[ANSWER]-3[/ANSWER]"],
    "3.5": ["[ANSWER]assert f() == 3.5[/ANSWER]"],
    "True": ["[ANSWER]assert f() == True[/ANSWER]", "[ANSWER]assert f() is True[/ANSWER]"],
    "None": ["[ANSWER]assert f() == None[/ANSWER]", "[ANSWER]assert f() is None[/ANSWER]"],
    "float('inf')": ["[ANSWER]assert f() == float('inf')[/ANSWER]"],
    "''": ["[ANSWER]assert f() == ''[/ANSWER]"],
    None: [
        "",
        "[ANSWER][/ANSWER]",
        "[ANSWER]??[/ANSWER]",
        "[ANSWER]assert f(3) == ??[/ANSWER]",
        "[ANSWER]assert f(3) == ...[/ANSWER]",
        "[ANSWER]assert f(3) == [1, 2[/ANSWER]",
        "[ANSWER]assert f(3) == 'abc[/ANSWER]",
        "[ANSWER]assert f(3) ==[/ANSWER]",
        "[ANSWER]assert f(3) != 7[/ANSWER]",
        "[ANSWER][1, 2[/ANSWER]",
        "[ANSWER]hello[/ANSWER]",
        "[ANSWER]assert f(3) == result[/ANSWER]",
        "[ANSWER]assert f(3)[/ANSWER]",
        "assert f(3) == 1 at first; later assert f(3) == [1, 2",
        "The function returns 7.",
        "I assert that this cannot be answered.",
        "ERROR: timeout",
        "<think>[ANSWER]assert f(3) == 7[/ANSWER]",
    ],
}


@pytest.mark.parametrize(
    ("value", "reply"), [(v, text) for v, texts in PREDICTIONS.items() for text in texts]
)
def test_an_output_is_read_as_a_person_would(value: str | None, reply: str) -> None:
    assert read_prediction_lenient(reply) == value


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("[ANSWER]assert f(1) == 2[/ANSWER] [ANSWER]assert f(1) == 3[/ANSWER]", "2"),
        ("[ANSWER]assert f((1, 2)) == 3[/ANSWER]", "assert f((1, 2)) == 3"),
        ("[ANSWER]assert f(g()) == 3[/ANSWER]", "assert f(g()) == 3"),
        ("[ANSWER]assert f((1)) == 3 or assert f(1) == 4[/ANSWER]", "4"),
        ("[answer]\n 3 \n[/Answer]", "3"),
        ("[ANSWER]assert f(1) == 3, 'no'[/ANSWER]", "3, 'no'"),
        ("[ANSWER]assert f(1) == [1,\n 2][/ANSWER]", "[1,"),
        ("[ANSWER]assert s.f(1) == 3[/ANSWER]", "assert s.f(1) == 3"),
        ("[ANSWER]assert f(1) == 3", "3"),
        ("x assert f(1) == 3 y\nassert f(1) == 4", "3 y"),
        ("  It is 3. ", "It is 3."),
        ("[ANSWER][/ANSWER]", ""),
        ("", ""),
    ],
)
def test_the_faithful_prediction_has_the_faults_of_the_original(reply: str, value: str) -> None:
    assert read_prediction(reply) == value


@pytest.mark.parametrize(
    ("one", "other", "loosely", "strictly"),
    [
        ("3", " 3 ", True, True),
        ("[1,2]", "[1, 2]", True, True),
        ('"a"', "'a'", True, True),
        ("(1,)", "[1]", False, False),
        ("True", "1", True, False),
        ("3.0", "3", True, False),
        ("[1, True]", "[1, 1]", True, False),
        ("{'a': 1.0}", "{'a': 1}", True, False),
        ("{1: 'a', 2: 'b'}", "{2: 'b', 1: 'a'}", True, True),
        ("{1, 2}", "{2, 1}", True, True),
        ("{True}", "{1}", True, False),
        ("set()", "set()", True, True),
        ("float('inf')", 'float("inf")', False, True),
        ("Counter({'a': 1})", "Counter({'a':1})", False, True),
        ("float('inf')", "float('nan')", False, False),
        ("1 + 2", "3", False, False),
        ("1e3", "1000.0", True, True),
        ("None", "None", True, True),
        ("", "''", False, False),
        ("x", "x", True, True),
        ("[1, 2", "[1, 2]", False, False),
        ("{[]: 1}", "{}", False, False),
        ("'\\d'", "'\\\\d'", True, True),
    ],
)
def test_values_are_compared_by_value_and_strictly_by_type(
    one: str, other: str, loosely: bool, strictly: bool
) -> None:
    assert equal(one, other) is executions.is_right(one, other) is loosely
    assert strictly_equal(one, other) is strictly


CHOICES: dict[tuple[str, str] | None, list[str]] = {
    ("A", "7"): [
        '{"chosen_program": "A", "assertion": "assert f(3) == 7"}',
        '```json\n{\n  "chosen_program": "A",\n  "assertion": "assert f(3) == 7"\n}\n```',
        'I am surer of A.\n{"chosen_program": "A", "assertion": "assert f(3) == 7"}\nDone.',
        '{"assertion": "assert f(3) == 7", "chosen_program": "A"}',
        '{"reason": "simple", "chosen_program": "A", "assertion": "assert f(3) == 7"}',
        '{"chosen_program": "a", "assertion": "assert f(3) == 7"}',
        '{"chosen_program": "Program A", "assertion": "assert f(3) == 7"}',
        '{"chosen_program": "PROGRAM_A", "assertion": "assert f(3) == 7"}',
        '{"chosen_program": "(A)", "assertion": "assert f(3) == 7"}',
        '{"chosen_program": "[PROGRAM_A]", "assertion": "assert f(3) == 7"}',
        '{"chosen_program": "A", "assertion": ["assert f(3) == 7"]}',
        '{"answer": {"chosen_program": "A", "assertion": "assert f(3) == 7"}}',
        '{"Chosen_Program": "A", "Assertion": "assert f(3) == 7"}',
        '{"chosen_program": "A", "assertion": "assert f(3) == 7",}',
        '{"chosen_program": "A", "assertion": "f(3) == 7"}',
        '{"chosen_program": "A", "assertion": "7"}',
        '{"chosen_program": "A", "assertion": 7}',
        '{"chosen_program": "A", "outputs": [7]}',
        '{"chosen_program": "A", "outputs": "7"}',
        '{"chosen_program": "A", "assertion": "[ASSERTION]assert f(3) == 7[/ASSERTION]"}',
        '{"chosen_program": "A", "assertion": "assert f((1, 2), {1: 2}) == 7"}',
        "{'chosen_program': 'A', 'assertion': 'assert f(3) == 7'}",
        '{chosen_program: "A", assertion: "assert f(3) == 7"}',
        '{"chosen_program": A, "assertion": "assert f(3) == 7"}',
        '{"chosen_program": "A", "assertion": "assert f("x") == 7"}',
        '{"chosen_program": "A",\n "assertion": "assert f(3) == 7"',
        '{"chosen_program": "A", "assertion": "assert f(3) == 7", "confidence": 0.9}',
        '{"chosen_program": "B", "assertion": "assert f(3) == 6"}\nNo:\n'
        '{"chosen_program": "A", "assertion": "assert f(3) == 7"}',
        '<think>{"chosen_program": "B", "assertion": "assert f(3) == 1"}</think>'
        '{"chosen_program": "A", "assertion": "assert f(3) == 7"}',
        'The form is {"chosen_program": "A or B", "assertion": "full_assertion"}, so\n'
        '{"chosen_program": "A", "assertion": "assert f(3) == 7"}',
        '{"chosen_program": "A", "assertion": "assert f(3) == 7"} '
        'in the form {"chosen_program": "A or B", "assertion": "full_assertion"}',
        'def f(x): return {x for x in y}\n{"chosen_program": "A", "assertion": "assert f(3) == 7"}',
    ],
    ("B", "{'a': [1, 2]}"): [
        '{"chosen_program": "B", "assertion": "assert f(3) == {\'a\': [1, 2]}"}',
        '{"chosen_program": "B", "assertion": "assert f(\\"x\\") == {\'a\': [1, 2]}"}',
    ],
    ("B", '"it"'): [
        '{"chosen_program": "B", "assertion": "assert f(3) == \\"it\\""}',
        '{"chosen_program": "B", "assertion": "assert f(3) == "it""}',
    ],
    ("B", "[1, 2]"): ['{"chosen_program": "B", "outputs": [1, 2]}'],
    None: [
        "",
        "A",
        "Program A. assert f(3) == 7",
        '{"chosen_program": "A or B", "assertion": "assert f(3) == 7"}',
        '{"chosen_program": "C", "assertion": "assert f(3) == 7"}',
        '{"chosen_program": "both", "assertion": "assert f(3) == 7"}',
        '{"chosen_program": null, "assertion": "assert f(3) == 7"}',
        '{"chosen_program": "A"}',
        '{"chosen_program": "A", "assertion": null}',
        '{"chosen_program": "A", "assertion": "  "}',
        '{"chosen_program": "A", "assertion": "assert f(3) == ??"}',
        '{"chosen_program": "A", "assertion": "full_assertion"}',
        '{"chosen_program": "A", "assertion": "assert f(3) == [1, 2"}',
        '{"assertion": "assert f(3) == 7"}',
        "{}",
        "ERROR: overloaded",
    ],
}


@pytest.mark.parametrize(
    ("choice", "reply"), [(c, text) for c, texts in CHOICES.items() for text in texts]
)
def test_a_choice_is_read_as_a_person_would(choice: tuple[str, str] | None, reply: str) -> None:
    assert read_choice_lenient(reply) == choice


@pytest.mark.parametrize(
    ("reply", "choice"),
    [
        ('x {"chosen_program": "B", "assertion": "assert f(3) == 7"} y', ("B", "7")),
        ('{"chosen_program": "B", "assertion": "assert s.f(3) == 7"}', ("B", "7")),
        ('{"chosen_program": "B", "assertion": "f(3) == 7"}', ("B", "f(3) == 7")),
        ('{"chosen_program": "B", "assertion": "[assertion] 7 [/ASSERTION]"}', ("B", "7")),
        ('{"chosen_program": "B", "assertion": ""}', ("B", "")),
        ('{"chosen_program": "B", "assertion": null}', ("B", "")),
        ('{"chosen_program": "B"}', ("B", "")),
        ('{"chosen_program": "B", "assertion": 7}', None),
        ('{"chosen_program": "B", "outputs": [7]}', ("B", "7")),
        ('{"chosen_program": "B", "outputs": [7, 8]}', ("B", "[7, 8]")),
        ('{"chosen_program": "B", "outputs": "[7]"}', ("B", "7")),
        ('{"chosen_program": "B", "outputs": "abc"}', ("B", "'abc'")),
        ('{"chosen_program": "B", "outputs": {"a": 1}', None),
        ('{"chosen_program": "B", "outputs": [true, "x"]}', ("B", "[True, 'x']")),
        ('{"assertion": "assert f(3) == 7", "chosen_program": "B"}', None),
        ('{"chosen_program": "B", "assertion": "assert f(3) == {}"}', None),
        ('{"chosen_program": "b", "assertion": "assert f(3) == 7"}', None),
        ('{"chosen_program": "A or B", "assertion": "assert f(3) == 7"}', None),
        ('{"chosen_program": "A or B", "assertion": "assert f(3) == 7",}', ("A", "7")),
        ('{"chosen_program": B, "assertion": "assert f(3) == 7"}', ("B", "7")),
        ('{"chosen_program": "B", "outputs": [(1, 2)]}', ("B", "(1, 2)")),
        ('{"chosen_program": "B", "outputs": [x]}', None),
        ('{"chosen_program": ["B"], "assertion": "assert f(3) == 7"}', None),
        ('{"chosen_program": "A", "assertion": "1"} {"chosen_program": "B"}', ("A", "1")),
        ('{"chosen_program": "A"', None),
        ("", None),
    ],
)
def test_the_faithful_choice_has_the_faults_of_the_original(
    reply: str, choice: tuple[str, str] | None
) -> None:
    assert read_choice(reply) == choice


PIECES = [
    *("[ANSWER]", "[/ANSWER]", "[answer]", "assert ", "assert", "f(", "g(", "(", ")", " == ", "=="),
    *("3", "x", "\n", " ", ",", "'a'", "  \n "),
]
SOUP = st.lists(st.sampled_from(PIECES), max_size=16).map("".join)


@given(SOUP)
def test_the_faithful_prediction_agrees_with_the_documented_patterns(reply: str) -> None:
    pattern = r"assert\s+\w+\([^)]*\)\s*==\s*(.+)"
    block = re.search(r"(?is)\[ANSWER\](.*?)\[/ANSWER\]", reply)
    if block:
        text = block[1].strip()
        found = re.search(pattern, text)
        expected = found[1].strip() if found else text
    else:
        found = re.search(pattern + r"?(?:\n|$)", reply, re.MULTILINE)
        expected = (found[1] if found else reply).strip()
    assert read_prediction(reply) == expected


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(VALUES, VALUES)
def test_what_python_prints_is_read_back_whatever_the_arguments(value: object, arg: object) -> None:
    text = f"[ANSWER]\nassert f({arg!r}, key={arg!r}) == {value!r}\n[/ANSWER]"
    found = read_prediction_lenient(text)
    assert found is not None
    assert strictly_equal(found, repr(value))


@given(VALUES, VALUES)
def test_choices_are_read_back_whatever_the_value(value: object, arg: object) -> None:
    assertion = f"assert f({arg!r}) == {value!r}"
    text = f"I take B.\n{json.dumps({'chosen_program': 'B', 'assertion': assertion})}"
    found = read_choice_lenient(text)
    assert found is not None
    assert found.program == "B"
    assert strictly_equal(found.value, repr(value))


def test_a_choice_is_a_pair() -> None:
    assert Choice("A", "3") == ("A", "3")
