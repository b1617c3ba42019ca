"""The exact text of MMLU's prompts."""

from __future__ import annotations

from evalbench.engine.benchmarks.mmlu.prompts import chat, cot, original
from evalbench.engine.benchmarks.mmlu.styles import Shown
from evalbench.engine.calls import TextPart

EXAMPLES = [
    {"question": "  What is 1 + 1?\n", "choices": ["1", "2", "3", "4"], "answer": 1},
    {"question": "What is 2 - 2?", "choices": ["0", "1", " 2", "3 "], "answer": 0},
]
SHOWN = Shown("What is 2 * 3? ", ("5", "None", "6", "{7}"), (0, 1, 2, 3))
SEVEN = Shown("Which?", tuple("pqrstuv"), (0, 1, 2, 3, 0, 1, 2))


def test_original_is_the_harness_layout_with_a_shared_prefix() -> None:
    prompt = original("high_school_mathematics", EXAMPLES, SHOWN)
    (message,) = prompt.messages
    assert prompt.kind == "choose"
    assert prompt.continuations == (" A", " B", " C", " D")
    assert message.role == "context"
    assert message.parts == (
        TextPart(
            "The following are multiple choice questions (with answers) about"
            " high school mathematics.\n\n"
            "What is 1 + 1?\nA. 1\nB. 2\nC. 3\nD. 4\nAnswer: B\n\n"
            "What is 2 - 2?\nA. 0\nB. 1\nC.  2\nD. 3 \nAnswer: A\n\n",
            shared=True,
        ),
        TextPart("What is 2 * 3?\nA. 5\nB. None\nC. 6\nD. {7}\nAnswer:"),
    )


def test_original_without_examples_keeps_the_header() -> None:
    (message,) = original("anatomy", [], SHOWN).messages
    assert message.parts[0] == TextPart(
        "The following are multiple choice questions (with answers) about anatomy.\n\n", shared=True
    )


def test_original_offers_as_many_letters_as_options() -> None:
    assert original("anatomy", [], SEVEN).continuations == (
        " A",
        " B",
        " C",
        " D",
        " E",
        " F",
        " G",
    )


def test_chat_asks_for_the_letter_alone() -> None:
    prompt = chat([], SHOWN)
    (message,) = prompt.messages
    assert message.role == "user"
    assert message.text == (
        "Question: What is 2 * 3?\n\nOptions:\nA) 5\nB) None\nC) 6\nD) {7}\n\n"
        "Reply with the letter of the right option (A-D) and nothing else."
    )
    assert prompt.params.asked() == {"max_tokens": 16, "temperature": 0.0}


def test_chat_examples_stand_before_the_question_in_the_same_message() -> None:
    (message,) = chat(EXAMPLES[:1], SHOWN).messages
    assert message.parts[0] == TextPart(
        "Question: What is 1 + 1?\n\nOptions:\nA) 1\nB) 2\nC) 3\nD) 4\n\nAnswer: B\n\n\n",
        shared=True,
    )
    assert message.parts[1:] == chat([], SHOWN).messages[0].parts


def test_cot_asks_for_reasoning_and_a_last_line() -> None:
    prompt = cot(SEVEN)
    assert prompt.messages[0].text == (
        "Solve the multiple-choice question below. Reason step by step, then end your reply with"
        " a line of its own that reads 'Answer: X', where X is the letter of the option you"
        " choose (A-G).\n\n"
        "Question: Which?\n\nOptions:\nA) p\nB) q\nC) r\nD) s\nE) t\nF) u\nG) v"
    )
    assert prompt.params.asked() == {"max_tokens": 1024, "temperature": 0.0}
