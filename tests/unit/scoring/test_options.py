"""Options of OpenSeeSimE: the first line exactly, and as a person would read it."""

from __future__ import annotations

import pytest

from evalbench.engine.scoring.chosen_option import (
    explanation,
    is_right,
    read_option,
    read_option_lenient,
)

YES_NO = ("Yes", "No")
AXES = ("X axis", "Y axis", "Z axis")
LEVELS = ("Low", "Medium", "High", "Very High", "None")
NUMBERS = ("-5 MPa", "5 MPa", "0.5 MPa", "< 0.1 MPa")
LETTERS = ("A", "B", "C", "D")
PARTS = ("Fixed end", "Free end", "Bolt hole (left)", "Inner radius")

READ: list[tuple[tuple[str, ...], str | None, list[str]]] = [
    (
        YES_NO,
        "Yes",
        [
            "Yes",
            "yes.",
            "YES\nThe stress peaks at the fillet.",
            "**Yes**",
            "*Yes*",
            "`Yes`",
            "'Yes'",
            "“Yes”",
            "(Yes)",
            "[Yes]",
            "<Yes>",
            "- Yes",
            "* Yes",
            "• Yes",
            "1. Yes",
            "A) Yes",
            "# Yes",
            "Yes!",
            "\n\n  Yes  \nText",
            "Yes, because the load is symmetric.",
            "Yes. The deformation stays elastic.",
            "Yes - the peak is at the root.",
            "Yes – clearly",
            "Yes: the colours show it.",
            "Yes (high confidence)",
            "Yes; there is one.",
            "Yes because the load is symmetric.",
            "Yes The stress peaks at the fillet.",
            "Yes, no doubt about it.",
            "Answer: Yes",
            "**Answer:** Yes\nSummary: it does.",
            "Answer: **Yes**",
            "Answer - Yes",
            "Answer:\nYes",
            "**Answer:**\n\nYes\nBecause.",
            "Final answer: yes",
            "The answer is yes.",
            "The correct answer is: Yes",
            "The answer to this question is Yes.",
            'My answer is "Yes".',
            "Option: Yes",
            "First line: Yes",
            "So the answer is yes",
            "I would say yes.",
            "Based on the image, yes.",
            "Option 1: Yes",
            "Yes indeed",
            "It is Yes.",
            "Therefore, the answer is **Yes**.",
            r"\boxed{Yes}",
            r"$\boxed{\text{Yes}}$",
            "<answer>Yes</answer>",
            '{"answer": "Yes"}',
            "```\nYes\n```",
            "---\nYes",
            "<think>No stress? There is.</think>\nYes",
            "Yes<|eot_id|>",
            "Yes。",
            "Answer：Yes",
            "答案：Yes",
        ],
    ),
    (
        YES_NO,
        "No",
        ["No", "no, it does not.", "No.", "NO\nIt stays below yield.", "Answer: No.", "No – none."],
    ),
    (
        YES_NO,
        None,
        [
            "",
            "  \n ",
            "Yes or No",
            "Yes/No",
            "Yes, No",
            "Answer: Yes or No",
            "Maybe",
            "No stress concentration is visible.",
            "There is no clear peak.",
            "The plot shows high stress, so it fails.",
            "The picture shows a beam.\nNo",
            "Let me look at the image first.\n\nYes",
            "Yesterday's run differs.",
            "Nothing exceeds the limit.",
            "I cannot see the image.",
            "Error code: 429",
            "<think>Yes",
            "A",
        ],
    ),
    (
        AXES,
        "Y axis",
        [
            "Y axis",
            "Y",
            "Answer: **y**",
            "y axis",
            "Y-axis",
            "Y‑axis",
            "y  axis.",
            "**Y axis** - the largest gradient",
            "Y axis, not X axis",
            "Y axis rather than X axis",
            "The Y axis",
            "the y-axis.",
            "Along the Y axis",
            "The largest displacement is along the Y axis.",
            "It is the Y axis.",
            "Option B: Y axis",
            "B) Y axis",
            "Answer: Y-axis (vertical)",
        ],
    ),
    (
        AXES,
        None,
        [
            "X axis or Y axis",
            "Not the X axis.",
            "X axis and Z axis",
            "X and Z axis",
            "The X axis and the Z axis look alike.",
            "W axis",
            "Y-axisymmetric",
            "axis",
        ],
    ),
    (LEVELS, "Very High", ["Very High", "very high.", "**Very high**", "Answer: Very High"]),
    (LEVELS, "High", ["High", "High, near yield", "high\nVery high in places"]),
    (LEVELS, "None", ["None", "none.", "**None**\nNo part yields.", "Answer: None"]),
    (LEVELS, None, ["Low to medium", "Low or Medium", "Highly loaded", "None of these fit"]),
    (NUMBERS, "-5 MPa", ["-5 MPa", "-5 mpa.", "Answer: -5 MPa"]),
    (NUMBERS, "5 MPa", ["5 MPa", "**5 MPa**", "The answer is 5 MPa."]),
    (NUMBERS, "0.5 MPa", ["0.5 MPa", "0.5 MPa, at the tip"]),
    (NUMBERS, "< 0.1 MPa", ["< 0.1 MPa"]),
    (NUMBERS, "5 MPa", ["5", "5MPa"]),
    (("0-10 MPa", "10-20 MPa"), "10-20 MPa", ["10-20 MPa", "10–20 MPa", "10 - 20 MPa."]),
    (NUMBERS, None, ["15 MPa", "MPa", "0.1"]),
    (
        LETTERS,
        "C",
        [
            "C",
            "c",
            "(C)",
            "C.",
            "Answer: C",
            "**C**\nWhy: ...",
            "Option C",
            "C) 4 mm",
            "C is correct.",
        ],
    ),
    (LETTERS, None, ["A or B", "A beam bends.", "E", "Cantilever"]),
    (PARTS, "Bolt hole (left)", ["Bolt hole (left)", "bolt hole (left).", "- Bolt hole (left)"]),
    (PARTS, "Free end", ["Free end", "At the free end.", "Free-end"]),
    ((), "Yes", ["Yes", "Yes.\nBecause.", "**Yes**", "Answer: Yes"]),
    ((), None, ["", "\n"]),
]


@pytest.mark.parametrize(
    ("choices", "option", "reply"), [(c, o, text) for c, o, texts in READ for text in texts]
)
def test_an_option_is_read_as_a_person_would(
    choices: tuple[str, ...], option: str | None, reply: str
) -> None:
    assert read_option_lenient(reply, choices) == option


@pytest.mark.parametrize(
    ("choices", "reply", "option"),
    [
        (YES_NO, "YES\nwhy", "Yes"),
        (YES_NO, "\n yes \nwhy", "Yes"),
        (YES_NO, "Yes.", None),
        (YES_NO, "**Yes**", None),
        (YES_NO, "Yes because", None),
        (YES_NO, "Well\nYes", None),
        (YES_NO, "", None),
        ((" Yes ", "No"), "yes", "Yes"),
        (("None", "Low"), "none", "None"),
        ((), " free text \nrest", "free text"),
        ((), "", ""),
    ],
)
def test_the_faithful_option_is_the_first_line(
    choices: tuple[str, ...], reply: str, option: str | None
) -> None:
    assert read_option(reply, choices) == option


def test_what_follows_the_first_line_is_the_explanation() -> None:
    assert explanation("\nYes\n\n Two\nlines \n") == "Two\nlines"
    assert explanation("Yes") == ""


def test_an_option_is_right_whatever_its_case() -> None:
    assert is_right("yes ", "Yes")
    assert not is_right(None, "None")


def test_options_that_look_alike_are_told_apart_by_the_exact_text() -> None:
    assert read_option_lenient("a.b", ("a.b", "a b", "A-B")) == "a.b"
    assert read_option_lenient("-1", ("1", "-1")) == "-1"
    assert read_option_lenient("1", ("1", "-1")) == "1"
