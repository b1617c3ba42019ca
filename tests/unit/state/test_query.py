"""The filter language of lists."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from evalbench.tui.state.query import Fields, parse_query


@dataclass(frozen=True)
class Row:
    name: str
    tags: tuple[str, ...] = ()
    score: float | None = None
    age: float = 0.0


FIELDS: Fields[Row] = Fields(
    words=lambda row: f"{row.name} {' '.join(row.tags)}".lower(),
    texts={"name": lambda row: (row.name.lower(),), "tag": lambda row: row.tags},
    numbers={"score": lambda row: row.score, "age": lambda row: row.age},
)
ROWS = (
    Row("Claude", ("paper", "two words"), 80.0, 60.0),
    Row("gpt", ("draft",), 40.0, 7200.0),
    Row("claude-mini", (), None, 3 * 86400.0),
)


def names(text: str) -> list[str]:
    query = parse_query(text, FIELDS)
    assert not query.problem
    return [row.name for row in query.among(ROWS)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ["Claude", "gpt", "claude-mini"]),
        ("claude", ["Claude", "claude-mini"]),
        ("CLAUDE paper", ["Claude"]),
        ("name:claude", ["Claude", "claude-mini"]),
        ("tag:paper", ["Claude"]),
        ('tag:"two words"', ["Claude"]),
        ("-tag:paper", ["gpt", "claude-mini"]),
        ("-claude", ["gpt"]),
        ("score<50", ["gpt"]),
        ("score>=40 score<=80", ["Claude", "gpt"]),
        ("score=80%", ["Claude"]),
        ("-score>50", ["gpt", "claude-mini"]),
        ("age<2h", ["Claude"]),
        ("age>=2h age<3d", ["gpt"]),
        ("name:claude score>10", ["Claude"]),
        # Not typed to the end yet.
        ("tag:", ["Claude", "gpt", "claude-mini"]),
        ("score<", ["Claude", "gpt", "claude-mini"]),
        ('tag:"two', ["Claude"]),
    ],
)
def test_terms_must_all_hold(text: str, found: list[str]) -> None:
    assert names(text) == found


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nam:claude", "no nam: here; did you mean name?"),
        ("scor<5", "no scor< here; did you mean score?"),
        ("score<many", "score< takes a number, not many"),
        ("name<5", "no name< here"),
    ],
)
def test_what_cannot_be_meant_is_told_and_hides_nothing(text: str, problem: str) -> None:
    query = parse_query(text, FIELDS)
    assert query.problem.startswith(problem)
    assert query.among(ROWS) == list(ROWS)


@pytest.mark.parametrize("text", ["[/x]", "\x1b[2J", ":", "<", "-", '"', "a:b:c", "=" * 1000])
def test_whatever_is_typed_is_a_filter_or_a_problem(text: str) -> None:
    query = parse_query(text, FIELDS)
    among = query.among(ROWS)
    assert [row for row in ROWS if row in among] == among
    assert among == list(ROWS) or query.terms
