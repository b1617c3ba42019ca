"""``evalbench parse``: JSON lines in, JSON lines out, and what is said about mistakes."""

from __future__ import annotations

import json
import os
import pty
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.benchmarks.parsers import KINDS
from tests.e2e.commandline import CommandLine


def _lines(*cases: dict[str, Any]) -> str:
    return "".join(json.dumps(case) + "\n" for case in cases)


def test_each_reply_is_read_twice_in_the_order_given(cli: CommandLine) -> None:
    text = _lines(
        {"id": "b", "reply": "Rating: [[ 7 ]]"},
        {"id": 2, "reply": "Rating: [[9]]", "expected": 9, "why": "unknown fields do no harm"},
        {"id": "a", "reply": "none", "expected": 3},
        {"id": "a", "reply": "", "expected": None},
    )
    done = cli.feed(text, "parse", "mt-bench-single")
    assert (done.code, done.err) == (0, "")
    assert done.lines == [
        {"id": "b", "faithful": None, "lenient": 7},
        {
            "id": 2,
            "faithful": 9,
            "lenient": 9,
            "faithful_correct": True,
            "lenient_correct": True,
        },
        {
            "id": "a",
            "faithful": None,
            "lenient": None,
            "faithful_correct": False,
            "lenient_correct": False,
        },
        {"id": "a", "faithful": None, "lenient": None},
    ]
    assert list(done.lines[1]) == [
        *("id", "faithful", "lenient", "faithful_correct", "lenient_correct")
    ]


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("name", "case", "faithful", "lenient"),
    [
        ("mmlu-letter", {"reply": "(C)"}, None, 2),
        ("mmlu-letter", {"reply": "E", "choices": ["t"] * 5}, 4, 4),
        ("mmlu-letter", {"reply": "E"}, None, None),
        ("mt-bench-pair", {"reply": "[[c]]"}, None, "tie"),
        ("speceval-ranking", {"reply": "Model: (B)"}, 0, "b"),
        ("speceval-ranking", {"reply": ""}, 0, None),
        (
            "speceval-compliance",
            {"reply": '{"compliant": "no"}'},
            {"compliant": None, "confidence": None},
            {"compliant": False, "confidence": None},
        ),
        ("execution-prediction", {"reply": "[ANSWER]assert f((1)) == 2[/ANSWER]"}, None, "2"),
        (
            "execution-choice",
            {"reply": '{"chosen_program": "A", "outputs": [2]}'},
            *[["A", "2"]] * 2,
        ),
        ("openseesime", {"reply": "*No*", "choices": ["Yes", "No"]}, None, "No"),
    ],
)
def test_values_have_the_form_that_each_benchmark_uses(
    cli: CommandLine, name: str, case: dict[str, Any], faithful: Any, lenient: Any
) -> None:
    done = cli.feed(_lines({"id": 1, **case}), "parse", name, "--json")
    assert done.code == 0
    if name == "execution-prediction":
        faithful = "assert f((1)) == 2"
    assert done.lines == [{"id": 1, "faithful": faithful, "lenient": lenient}]


def test_text_of_every_kind_survives(cli: CommandLine) -> None:
    text = '\ufeff\n  \n{"id": "é\\ud800", "reply": "[[8]] \\u0000 \\ud800 ☃"}\n\n'
    done = cli.feed(text, "parse", "mt-bench-single")
    assert done.code == 0
    assert done.lines == [{"id": "é\ud800", "faithful": 8, "lenient": 8}]
    assert cli.feed("", "parse", "mt-bench-single").out == ""


def test_a_terminal_without_a_character_gets_its_escape(cli: CommandLine) -> None:
    cli.env["PYTHONIOENCODING"] = "ascii"
    done = cli.feed('{"id": "\\u2603", "reply": "7"}', "parse", "openseesime")
    assert done.lines == [{"id": "☃", "faithful": "7", "lenient": "7"}]


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("oops", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[1]", "is not a JSON object"),
        ('{"reply": "A"}', 'has no "id"'),
        ('{"id": 1}', 'has no "reply"'),
        ('{"id": 1, "reply": null}', 'has no "reply"'),
        ('{"id": 1, "reply": "A", "choices": "Yes"}', 'has "choices" that are no list of texts'),
        ('{"id": 1, "reply": "A", "expected": "x"}', "is not an index or a capital letter"),
        ('{"id": 1, "reply": "A", "expected": NaN}', "is not an index or a capital letter"),
    ],
)
def test_a_bad_line_is_named_after_the_good_ones_before_it(
    cli: CommandLine, line: str, said: str
) -> None:
    done = cli.feed(f'{{"id": 1, "reply": "A"}}\n\n{line}\n', "parse", "mmlu-letter")
    assert done.code == 1
    assert done.lines == [{"id": 1, "faithful": 0, "lenient": 0}]
    assert "line 3 of standard input" in done.err
    assert said in done.err
    assert "Traceback" not in done.err


def test_an_unknown_name_and_none_are_told_what_there_is(cli: CommandLine) -> None:
    done = cli.feed("", "parse", "mtbench-single")
    assert (done.code, done.out) == (1, "")
    assert "did you mean mt-bench-single" in done.err
    done = cli.feed("", "parse")
    assert (done.code, done.out) == (1, "")
    assert all(name in done.err for name in KINDS)


def test_on_a_terminal_it_says_what_it_reads(cli: CommandLine) -> None:
    here, there = pty.openpty()
    try:
        child = cli.start_python(
            "-m", "evalbench.tui.cli.main", "parse", "mt-bench-pair", stdin=there
        )
        os.write(here, b'{"id": 1, "reply": "[[B]]"}\n\x04')
        done = cli.finish(child)
    finally:
        os.close(here)
        os.close(there)
    assert done.code == 0
    assert done.lines == [{"id": 1, "faithful": "B", "lenient": "B"}]
    assert "Ctrl-D" in done.err
    assert '"reply"' in done.err


def test_a_file_scores_replies_but_asks_no_judge(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"q": "2 + 2?", "a": "4"}\n')
    file = tmp_path / "sums.toml"
    text = (
        '[benchmark]\ntitle = "Sums"\ndata = "rows.jsonl"\n'
        '[prompt]\ntemplate = "{{ q }}"\n[answer]\ntarget = "a"\nscorer = "numeric"\n'
    )
    file.write_text(text)
    done = cli.feed('{"sample": 1, "reply": "It is 4."}', "parse", str(file))
    assert (done.code, done.err) == (0, "")
    [told] = done.lines
    assert (told["outcome"], told["gold"]) == ("ok", ["4"])
    assert told["values"]["accuracy"] == 1.0
    absent = cli.feed('{"sample": 2, "reply": "4"}', "parse", str(file))
    assert (absent.code, "there is no sample 2" in absent.err) == (1, True)
    file.write_text(text.replace("numeric", "graded"))
    judged = cli.feed('{"sample": 1, "reply": "4"}', "parse", str(file))
    assert (judged.code, judged.out) == (1, "")
    assert "only a judge can score this reply" in judged.err
