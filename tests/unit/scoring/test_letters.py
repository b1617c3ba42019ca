"""Reading letters: what each parser does with replies as models really write them."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalbench.engine.scoring.letters import (
    LETTERS,
    greatest,
    read_first,
    read_simple_evals,
    read_strict,
)
from evalbench.engine.scoring.letters_lenient import read_lenient
from evalbench.engine.scoring.letters_many import read_many

PARSERS = (read_strict, read_first, read_simple_evals, read_lenient)

# Replies by what a person would read in them; "-" means no answer.
READ = {
    "A": [
        "A",
        "A.",
        "(A)",
        "a",
        "a.",
        "a)",
        "(a) Paris",
        "a) Paris",
        "A: Paris",
        "A is correct",
        "A) True, True",
        "A - the first one",
        "A because of friction",
        "A\nThis is because the force is zero.",
        "A) Paris\n\nExplanation: B) London is in the UK.",
        "The answer is A.",
        "the answer is a",
        "The answer is A because of this.",
        "The answer is (a) Paris.",
        "Answer: A Paris",
        "Answer: A, because of friction",
        "Answer: A\n\nThis is because...",
    ],
    "B": [
        "**B**",
        "Ⓑ",
        "答え：Ｂ",
        "*B*",
        "__B__",
        "_B_",
        "`B`",
        '"B"',
        "“B”",
        "> B",
        "- B",
        "Ｂ",
        "ｂ",
        "Ｂ。",
        "（Ｂ）",
        "答案：Ｂ",
        "1. B",
        "$B$",
        r"\text{B}",
        r"$\mathbf{(B)}$",
        "<b>B</b>",
        "[B]",
        "[[B]]",
        "B!",
        "B\n\n",
        "B\nB\nB",
        "B <|im_end|>",
        "B</s>",
        "A: B",
        "b) paris",
        "b. Paris",
        "(b)",
        "(B) Paris",
        '"B) Paris"',
        "B.Paris",
        "B Paris",
        "B 42",
        "B: Paris",
        "B - Paris",
        "B – Paris",
        "B, because it is the capital",
        "B because it is",
        "B\n\nExplanation: the answer is clear.",
        "B) Paris\n\nA) London is the capital of the UK. C) Berlin is not.",
        "B. The mitochondria. A is incorrect because it is the nucleus.",
        "Option B",
        "Option B: Paris",
        "option (b)",
        "Letter B",
        "Sure! B",
        "Paris (B)",
        "Let me think... B",
        "Answer:B",
        "answer: b",
        "ANSWER: B",
        "Answer - B",
        "Answer—B",
        "Answer = B",
        "Answer -> B",
        "Answer is: B",
        "Answer (B)",
        "Ans. B",
        "Answer: [B]",
        "Answer: <B>",
        "<answer>B</answer>",
        '{"answer": "B"}',
        "**Answer:** B",
        "### Answer\nB",
        "Answer:\n\nB",
        "Answer:\nB) Paris",
        "Final Answer: **(B)**",
        "final answer B",
        "答案：B",
        "答案是B",
        "Selected option: B",
        "Correct: B",
        "The correct answer is: B) Paris",
        "The answer is: **B) Paris**",
        "The answer is most likely B",
        "The answer is option B",
        "The answer would be B",
        "The answer is B, not A.",
        "The answer is B. A is wrong.",
        "Answer: B, C is incorrect",
        "The answer is B since A and C are wrong.",
        "The correct answer to this question is (B).",
        "The statement that best fits is B.",
        "Among the options, the correct one is B.",
        "A) x B) y C) z D) w The answer is B",
        "A) x\nB) y\nC) z\nD) w\n\nThe answer is B",
        "Question: foo\nA) x\nB) y\n\nAnswer: B",
        "A, C and D are wrong, so the answer is B.",
        "Option A is incorrect. Option B is correct.",
        "Based on this, option B fits best.",
        "Hence, option B is the answer.",
        "I am confident that B is the correct choice.",
        "I'm going with B.",
        "After eliminating A, C and D, B remains.",
        "That leaves B.",
        "I'd say B",
        "I choose option B.",
        "It must be B.",
        "A is wrong. C is wrong. So B.",
        "A\n\nWait, that is wrong.\n\nB",
        r"\boxed{\textbf{(B)}\ 42}",
    ],
    "C": [
        "c",
        "  c ",
        "C\n",
        "'C'",
        "C?",
        "C. because it is the only one",
        "**C) 24**",
        "I think it's (C)",
        "answer is (c)",
        "Answer – C",
        "Answer: **C**",
        "Step 1: we do this.\nStep 2: that.\n\nC",
        "Some reasoning. Final answer: C",
        "The answer is A... no, the answer is C.",
        "The answer could be A, but I think the answer is C.",
        "A is true. B is false. C is true.\nAnswer: C",
        "Answer: $C$",
        "C\nExplanation: foo",
        "**Answer: C**",
        "The best option is C",
        "Option C is the best choice",
        "It's definitely C",
        "My answer would be C",
        "C is correct because of X",
        "It has to be C",
        "Definitely C",
        "I'm not sure, but C",
        "I am not sure but I would guess C",
        "Probably (C)",
        "C probably",
        "Answer choice C",
        "The answer to the question is letter C.",
        "{C}",
        "<C>",
        "C → 42",
        r"\textbf{Answer: C}",
        r"Answer: \textbf{C}",
        "**Answer**: C",
        "Answer: ***C***",
        "***C***",
        "Answer: `C`",
        'Answer: "C"',
        "Answer: 'C'",
        "Answer is 'C'",
        "answer is C!",
        "Correct answer - C",
        "The correct answer is C, 42.",
        "I believe that the correct answer is C) 42 because",
        "Of the given options, C is the most appropriate.",
        "the most accurate answer is C",
        "Solution: C",
        "So, the answer's C",
        "Answer : C",
        "Final: C",
        "Conclusion: C",
        "Result: C",
        "Therefore, the correct answer is:\n\n**C**",
        "Therefore, the correct answer is:\n\nC) 42",
        r"Thus the answer is $\boxed{C}$",
        "A. 41\nB. 42\nC. 43\nD. 44\n\nC",
        "A) 41\nB) 42\nC) 43\nD) 44\n\nThe correct option is C) 43.",
        "C, not D",
        "C (42)",
        "Not A but C",
        "The answer is clearly not A, so it is C.",
        "Looking at the options, only C is correct.",
        "Only C.",
        "Only option C is correct",
        "option c",
        "Option c is correct",
        "The correct statement is C.",
        "Choice (C) is correct.",
        "Choose C",
        "Go with C.",
        "We can conclude that C is right.",
        "We conclude the answer is C.",
        "This corresponds to option C.",
        "This is option C.",
        "which corresponds to choice (C).",
        "Hence the correct choice is option C) 43",
        "C.\n",
        "C,",
        "C - because",
        "(C) because",
        "( C )",
        "Answer\n\nC",
        "ANSWER\nC",
        "answer c",
        "the answer is c",
        "the answer is c because of x",
        "Final answer is (C)",
        "FINAL ANSWER: C",
        "**Final Answer: C) 43**",
        "The final answer is (C) 43. I hope it is correct.",
        "The answer is C\n\nA: wrong\nB: wrong",
        "C is the best answer. A is a common mistake.",
        "C would be correct. A would be wrong.",
        "I'd pick option C here.",
        "I select (C).",
        "My pick: C",
        "You should choose C.",
        "Selected: C",
        "Letter: C",
        "Correct option: C",
        "Correct choice: (C)",
        "The correct letter is C",
        "Answer letter: C",
        "Answer Choice: C",
        "Answer (letter): C",
        "Answer [A-D]: C",
        "A/B/C/D: C",
        "Response: (C)",
        "C <eos>",
        "C<|endoftext|>",
        "<thinking>A or B...</thinking>\nAnswer: C",
        "<think></think>\n\nC",
        "assistant\n\nC",
        "The answer is:C",
        "The answer is :C",
        "The answer is (C",
        "C)42",
        "C.42",
        "(C)42",
    ],
    "D": [
        "D. All of the above",
        "D) None of the above",
        r"$\boxed{\text{D}}$",
        r"The final answer is: $\boxed{\text{(D)}}$",
        r"$$\boxed{D) 5}$$",
        r"\fbox{D}",
        "Both B and C are correct, so D.",
        "The answer may be D.",
        "<think>\nA? B?\n</think>\n\nD",
        "first A, then\n</think>\nD",
    ],
    "-": [
        "",
        "...",
        "42",
        "Paris",
        "I",
        "E",
        "F",
        "Answer: E",
        "None of the above",
        "Answer: None of the above",
        "Answer: Because",
        "I don't know",
        "I'm sorry, but I cannot answer that question.",
        "As an AI language model, I can't choose.",
        "I refuse to answer: A bomb is dangerous",
        "A definitive answer cannot be given",
        "A car stops.",
        "Answer: A car stops.",
        "The answer is a car",
        "It is a car.",
        "A German scientist",
        "D is a vitamin",
        "C is a programming language",
        "Vitamin C",
        "The answer is hepatitis B",
        "D'accord",
        "Dr. Smith",
        "C++",
        "A+",
        "B12",
        "B-cells",
        "A.D. 70",
        "D.C. is the capital",
        "А",  # Cyrillic
        "В",  # Cyrillic
        "A and B",
        "A, B",
        "A/B",
        "A? B?",
        "B or C",
        "Both (A) and (C)",
        "A, B, C, and D",
        "Answer: A and B",
        "Answer: (A) or (B)",
        "The answer is either A or B",
        "The answer is B and C.",
        "Neither A nor B",
        "Not A",
        "It is not B.",
        "The answer is not A",
        "Option B is incorrect.",
        "A) x B) y C) z D) w",
        "A) x\nB) y\nC) z\nD) w",
        "A\nB\nC\nD",
        "Answer:\nA) x\nB) y\nC) z\nD) w",
        "Answer options: A) x B) y",
        "Option A: x\nOption B: y\nOption C: z",
        "All options A, B, C, and D are wrong.",
        "There is no right option among A, B, C and D",
        "<think>maybe A",
        "<think>\n[1] ◁ The answer is A",
        r"\boxed{4}",
        "A or B",
        "Both A and C are correct",
        "None",
        "Yes",
        "True",
        "It's between B and C",
        "Answer: 42",
        "The answer is 42",
        "The correct answer is Paris",
        "B and C",
        "B & C",
        "B, C",
        "b, c",
        "a and b",
        "(A), (B)",
        "AB",
        "A B",
        "A B C D",
        "ABCD",
        "(A)(B)",
        "A|B",
        "A B or C",
        "AorB",
        "N/A",
        "unknown",
        "I",
        "II",
        "a car stops",
        "A man, a plan",
        "As an AI",
        "Absolutely",
        "Correct",
        "Dunno",
        "Can't say",
        "Don't know",
        "d'oh",
        "A's are wrong",
        "C'est la vie",
        "C# is a language",
        "A-level",
        "B vitamins",
        "B cells produce antibodies",
        "D minor",
        "A4",
        "The answer is A4",
        "The capital is Paris",
        "The answer depends on A",
        "Sorry, I cannot help with that.",
        "I can't determine whether A or B is correct.",
        "Either A or B is correct",
        "A and B are both correct",
        "Options A and B",
        "Answers A and C are correct",
        "A, B and C are all correct",
        "Both B and D",
        "All of A, B and C",
    ],
}


@pytest.mark.parametrize(
    ("reply", "letter"), [(reply, letter) for letter, replies in READ.items() for reply in replies]
)
def test_lenient_reads_what_a_person_would(reply: str, letter: str) -> None:
    expected = None if letter == "-" else LETTERS.index(letter)
    assert read_lenient(reply) == expected


def test_replies_in_many_languages_and_wrappers() -> None:
    lines = Path(__file__).with_name("letter_replies.jsonl").read_text().splitlines()
    cases = [{"options": 4, **json.loads(line)} for line in lines]
    read = {
        case["reply"]: (read_lenient if case["options"] <= len(LETTERS) else read_many)(
            case["reply"], case["options"]
        )
        for case in cases
    }
    assert read == {case["reply"]: case["option"] for case in cases}


SENTENCES = json.loads(Path(__file__).with_name("letter_sentences.json").read_text())
"""By language: sentences that choose the letter in braces (or that after a tab), sentences that
choose none, and reasoning about two other options, in braces, that may precede them."""


@pytest.mark.parametrize("language", SENTENCES)
def test_conclusions_of_many_languages_alone_and_after_reasoning(language: str) -> None:
    said = SENTENCES[language]
    expected: dict[str, int | None] = dict.fromkeys(said["choose_none"])
    for number, line in enumerate(said["choose"]):
        sentence, _, letter = line.partition("\t")
        letter = letter or "BCDA"[number % 4]
        p, q = [other for other in "DABC" if other != letter][:2]
        before = said["before"].format(p=p, q=q)
        for reply in (sentence, before + sentence, f"{before}\n\n{sentence}"):
            expected[reply.format(letter)] = LETTERS.index(letter)
    assert {reply: read_lenient(reply) for reply in expected} == expected


def test_the_cases_from_outside(shared_data: Path) -> None:
    lines = (shared_data / "outside" / "letters.jsonl").read_text().splitlines()
    for case in map(json.loads, lines):
        assert read_lenient(case["reply"], case["options"]) == case["expected"], case["reply"]


def test_letters_of_more_than_seven_options() -> None:
    read = {
        "J": ["J", "**J**", "The answer is (J).", "Answer: J", "J) 42", r"\boxed{\text{J}}"],
        "H": [
            "<answer>H</answer>",
            "H is correct.",
            "I'd go with H",
            "Option H is the best choice.",
        ],
        "I": ["The answer is I", r"\boxed{I}", "Answer: H\n\nWait, that is wrong. Answer: I"],
        "-": [
            "H or I",
            "I cannot answer",
            "The answer is not H.",
            "I would not pick H",
            "A. x\nB. y",
        ],
    }
    for letter, replies in read.items():
        for reply in replies:
            place = read_many(reply, 10)
            assert ("-" if place is None else "ABCDEFGHIJ"[place]) == letter, reply


@pytest.mark.parametrize("reply", ["Ｊ", "ｊ", "答案：Ｊ", "（Ｊ）"])
def test_full_width_letters_of_many_options(reply: str) -> None:
    assert read_many(reply, 10) == 9


@pytest.mark.parametrize("reply", ["E", "Answer: E", "(e)", "E) something", "The answer is E."])
def test_more_options_make_more_letters(reply: str) -> None:
    assert read_lenient(reply, 7) == 4
    assert read_lenient(reply, 4) is None


@pytest.mark.parametrize(
    ("reply", "place"),
    [("A", 0), (" D\n", 3), ("E", None), ("d", None), ("B.", None), ("", None), ("AB", None)],
)
def test_strict_takes_one_capital_letter(reply: str, place: int | None) -> None:
    assert read_strict(reply) == place


def test_strict_knows_how_many_options_there_are() -> None:
    assert read_strict("G", 7) == 6


@pytest.mark.parametrize(
    ("reply", "place"),
    [
        ("b", 1),
        ("A car stops", 0),
        ("Because", 1),
        (" C) x ", 2),
        ("Friday", 5),
        ("The answer is A", None),
        ("A\nB", None),
    ],
)
def test_first_takes_any_first_letter_of_one_line(reply: str, place: int | None) -> None:
    assert read_first(reply) == place


@pytest.mark.parametrize(
    ("reply", "place"),
    [
        ("Answer: B", 1),
        ("answer : $c$", 2),
        (r"Answer: $\boxed{D}$", 3),
        (r"**Answer:** \text{A}", 0),
        ("Answer: A\nAnswer: B", 0),
        ("Answer: because", 1),
        ("Answer: E", None),
        ("The answer is B", None),
        ("Answer:\nB", None),
    ],
)
def test_simple_evals_takes_the_first_label(reply: str, place: int | None) -> None:
    assert read_simple_evals(reply) == place


@pytest.mark.parametrize(
    ("logprobs", "place"),
    [
        ((-3.0, -1.0, -2.0), 1),
        ((-1.0, -1.0), 0),
        ((math.nan, -5.0), 1),
        ((-math.inf, -math.inf), 0),
        ((), None),
    ],
)
def test_greatest_log_likelihood_wins_and_ties_go_to_the_first(
    logprobs: tuple[float, ...], place: int | None
) -> None:
    assert greatest(logprobs) == place


REPLIES = st.one_of(
    st.text(),
    st.lists(
        st.sampled_from(
            [
                *("A", "B", "C", "D", "a", "d", "E", "I", "Answer", "answer is", "Option", "the"),
                *("so", "and", "or", "not", "is correct", "because", ":", ".", ")", "(", ",", "*"),
                *(
                    "\n",
                    " ",
                    "$",
                    "\\boxed{",
                    "}",
                    "<think>",
                    "</think>",
                    "**",
                    "'",
                    '"',
                    "-",
                    "\\",
                ),
            ]
        ),
        max_size=12,
    ).map("".join),
)
WHITE_SPACE = st.text(" \t\n\r", max_size=4)


@given(REPLIES, st.integers(2, 7))
def test_parsers_return_a_place_or_none_and_never_raise(reply: str, options: int) -> None:
    for parser in PARSERS:
        place = parser(reply, options)
        assert place is None or 0 <= place < (7 if parser is read_first else options)


@given(REPLIES, WHITE_SPACE, WHITE_SPACE)
def test_surrounding_white_space_changes_nothing(reply: str, before: str, after: str) -> None:
    for parser in PARSERS:
        assert parser(before + reply + after) == parser(reply)


@given(REPLIES)
def test_what_strict_reads_lenient_reads_too(reply: str) -> None:
    place = read_strict(reply)
    assert place is None or read_lenient(reply) == place


@pytest.mark.parametrize("piece", ["<think>", "</think>", "answer ", "A) ", "the ", "(A", "\n"])
def test_a_very_long_reply_is_read_in_little_time(piece: str) -> None:
    # A quadratic pattern would need minutes here; the suite's time limit would end it.
    assert read_lenient(piece * 30_000 + "\nAnswer: C") in (2, None)


def test_their_patterns_are_compiled_only_when_a_reply_is_read() -> None:
    slow = "letters_", "numbers", "numerals"
    code = (
        "import sys\n"
        "import evalbench.engine.benchmarks.custom.benchmark\n"
        "import evalbench.engine.benchmarks.mmlu.benchmark\n"
        "import evalbench.engine.benchmarks.quickstart\n"
        "import evalbench.engine.benchmarks.sets.toml_sets\n"
        f"print([name for name in sys.modules if name.partition('scoring.')[2].startswith({slow})])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
