"""The prompts of code-prediction and code-choice.

They have the structure of the originals (akshsgaur/code-reasoning-repro, which reproduces arXiv
2504.05518): a system message with a persona and the reasoning effort in words, and one user message
with the task and the programs between tags. The words are our own. Programs are inserted by
concatenation, never by a format string: they contain braces.
"""

from __future__ import annotations

from collections.abc import Mapping

from evalbench.engine.calls import Message, TextPart, system, user
from evalbench.engine.calls.templates import Template

PERSONA = "You are an expert in Python who works out by hand what programs return."
EFFORT = "Reasoning effort: "
_RULES = (
    "as a literal: no unsimplified expression and no function call. Follow the program exactly"
    " as it is written, even where it looks wrong or unfinished."
)
PREDICTION = (
    "Here are a Python program and an assertion in which ?? stands for what a function returns."
    " Replace the ?? by that value, " + _RULES + " End your reply with the whole assertion between"
    " [ANSWER] and [/ANSWER].\n\n"
)
CHOICE = (
    "Here are two Python programs, A and B, and an assertion in which ?? stands for what a"
    " function returns. First choose the program of which you are surer what it returns for this"
    " input. Then replace the ?? by the value that the program you chose returns, "
    + _RULES
    + " Reply"
    " with a JSON object of this form and nothing else:\n\n"
    '{"chosen_program": "A or B", "assertion": "the whole assertion"}\n\n'
)


_SYSTEM = f"{PERSONA}\n{EFFORT}{{effort}}"
_EFFORT_FIELD = {"effort": "the reasoning effort: low, medium or high"}
PREDICTION_TEMPLATES: Mapping[str, Template] = {
    "prediction": Template(
        PREDICTION + "[PYTHON]\n{program}\nassert {call} == ??\n[/PYTHON]",
        {"program": "the program", "call": "the call, f(x=1)", **_EFFORT_FIELD},
        ("program", "call"),
        _SYSTEM,
    )
}
CHOICE_TEMPLATES: Mapping[str, Template] = {
    "choice": Template(
        CHOICE.replace("{", "{{").replace("}", "}}")
        + "[PROGRAM_A]\n{program_a}\n[/PROGRAM_A]\n[PROGRAM_B]\n{program_b}\n[/PROGRAM_B]\n"
        "[ASSERTION]\nassert {call} == ??\n[/ASSERTION]",
        {
            "program_a": "the program that is shown first",
            "program_b": "the other",
            "call": "the call, f(x=1)",
            **_EFFORT_FIELD,
        },
        ("program_a", "program_b", "call"),
        _SYSTEM,
    )
}
"""Our own prompts; :func:`predict` and :func:`choose` produce the same text."""


def by_template(template: Template, values: Mapping[str, str]) -> list[Message]:
    """The messages from a template."""
    return template.messages(values, ("effort",))


def templates() -> list[str]:
    """Every fixed text of the prompts."""
    return [PERSONA, EFFORT, PREDICTION, CHOICE]


def predict(effort: str, program: str, call: str) -> list[Message]:
    """Ask what ``call`` returns."""
    body = f"[PYTHON]\n{program}\n{_assertion(call)}\n[/PYTHON]"
    return _ask(effort, PREDICTION, body)


def choose(effort: str, a: str, b: str, call: str) -> list[Message]:
    """Ask to choose one of two programs and to predict what ``call`` returns in it."""
    body = (
        f"[PROGRAM_A]\n{a}\n[/PROGRAM_A]\n[PROGRAM_B]\n{b}\n[/PROGRAM_B]\n"
        f"[ASSERTION]\n{_assertion(call)}\n[/ASSERTION]"
    )
    return _ask(effort, CHOICE, body)


def _ask(effort: str, task: str, body: str) -> list[Message]:
    return [
        system(f"{PERSONA}\n{EFFORT}{effort}"),
        user([TextPart(task, shared=True), TextPart(body)]),
    ]


def _assertion(call: str) -> str:
    return f"assert {call} == ??"
