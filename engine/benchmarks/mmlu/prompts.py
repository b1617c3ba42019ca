"""The prompts of MMLU's three families.

- ``original``: raw text to be continued, the layout of the data set's authors
  as lm-evaluation-harness 0.4.13 writes it (one space before the subject's
  name; the authors' own code has two). Scored by the letters' log-likelihoods.
- ``chat``: one user message asking for the letter alone.
- ``cot``: one user message asking to think first and end with ``Answer: X``.

Whitespace around questions is stripped; options are kept as they are.

``--prompt original`` asks the chat family in the words of the Claude MMLU Experimenter
(galvsk/mmlu-eval, ``mmlu_eval/formatter.py`` and ``model_api.py``, commit 01482f69): the question
unchanged, and as many tokens as it allows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalbench.engine.benchmarks.mmlu.styles import Shown
from evalbench.engine.calls import Prompt, TextPart, choose, generate, user
from evalbench.engine.calls.templates import Template
from evalbench.engine.scoring.letters import LETTERS

HEADER = "The following are multiple choice questions (with answers) about "
CHAT_ORDER = "Reply with the letter of the right option ({letters}) and nothing else."
COT_ORDER = (
    "Solve the multiple-choice question below. Reason step by step, then end your reply with a"
    " line of its own that reads 'Answer: X', where X is the letter of the option you"
    " choose ({letters})."
)
CHAT_TOKENS = 16
COT_TOKENS = 1024

ORIGINAL_TOKENS = 1000

_MAY = {
    "subject": "the subject, with spaces",
    "examples": "the solved examples, each with an empty line after it; empty without --shots",
    "question": "the question",
    "options": "the options, a line each with its letter",
    "letters": "the letters that there are, for example A-D",
}
TEMPLATES: Mapping[str, Template] = {
    "original": Template(
        f"{HEADER}{{subject}}.\n\n{{examples}}{{question}}\n{{options}}\nAnswer:",
        {name: what for name, what in _MAY.items() if name != "letters"},
        ("question", "options"),
        takes_system=False,
    ),
    "chat": Template(
        f"{{examples}}Question: {{question}}\n\nOptions:\n{{options}}\n\n{CHAT_ORDER}",
        _MAY,
        ("question", "options"),
    ),
    "cot": Template(
        f"{COT_ORDER}\n\nQuestion: {{question}}\n\nOptions:\n{{options}}",
        {name: what for name, what in _MAY.items() if name != "examples"},
        ("question", "options"),
    ),
}
"""Our own prompts by family; :func:`original`, :func:`chat`, :func:`cot` produce the same text."""

EXPERIMENTER = Template(
    "{examples}Question: {question}\n\nOptions:\n{options}\n\nPlease respond with ONLY the letter"
    " ({letters}) corresponding to what you believe is the correct answer.",
    _MAY,
    ("question", "options"),
)
"""The prompts of the Claude MMLU Experimenter, for every style of options."""

Example = Mapping[str, Any]
"""A solved question: ``question``, ``choices`` and ``answer`` (index)."""


def templates() -> dict[str, Any]:
    """Every fixed text and limit of the prompts."""
    return {
        "original": HEADER,
        "chat": [CHAT_ORDER, CHAT_TOKENS],
        "cot": [COT_ORDER, COT_TOKENS],
    }


def original(subject: str, examples: Sequence[Example], shown: Shown) -> Prompt:
    """Choose between `` A``, `` B`` … after the header, the solved examples and the question."""
    solved = _solved("original", examples)
    header = f"{HEADER}{subject.replace('_', ' ')}.\n\n"
    letters = LETTERS[: len(shown.options)]
    return choose(
        [TextPart(header + solved, shared=True), TextPart(_lines(shown.question, shown.options))],
        [f" {letter}" for letter in letters],
    )


def chat(examples: Sequence[Example], shown: Shown) -> Prompt:
    """Ask for the letter alone; solved examples precede the question in the same message."""
    solved = _solved("chat", examples)
    order = CHAT_ORDER.format(letters=_range(shown))
    parts = [TextPart(solved, shared=True)] if solved else []
    parts.append(TextPart(f"{_block(shown.question, shown.options)}\n\n{order}"))
    return generate([user(parts)], max_tokens=CHAT_TOKENS, temperature=0.0)


def cot(shown: Shown) -> Prompt:
    """Ask for reasoning that ends with ``Answer: X``."""
    order = COT_ORDER.format(letters=_range(shown))
    message = f"{order}\n\n{_block(shown.question, shown.options)}"
    return generate(message, max_tokens=COT_TOKENS, temperature=0.0)


def by_template(
    family: str,
    template: Template,
    subject: str,
    examples: Sequence[Example],
    shown: Shown,
    tokens: int | None = None,
) -> Prompt:
    """A prompt from a template; solved examples look as in our own prompts."""
    lettered = "{}. {}" if family == "original" else "{}) {}"
    options = zip(LETTERS, shown.options, strict=False)
    values = {
        "subject": subject.replace("_", " "),
        "examples": _solved(family, examples),
        "question": shown.question if tokens else shown.question.strip(),
        "options": "\n".join(lettered.format(*option) for option in options),
        "letters": _range(shown),
    }
    messages = template.messages(values, ("subject", "examples"))
    if family == "original":
        letters = [f" {letter}" for letter in LETTERS[: len(shown.options)]]
        return choose(messages[0].parts, letters)
    cap = tokens or (CHAT_TOKENS if family == "chat" else COT_TOKENS)
    return generate(messages, max_tokens=cap, temperature=0.0)


def _solved(family: str, examples: Sequence[Example]) -> str:
    if family == "original":
        return "".join(
            f"{_lines(e['question'], e['choices'])} {LETTERS[e['answer']]}\n\n" for e in examples
        )
    return "".join(
        f"{_block(e['question'], e['choices'])}\n\nAnswer: {LETTERS[e['answer']]}\n\n\n"
        for e in examples
    )


def _lines(question: str, options: Sequence[str]) -> str:
    lines = [question.strip()]
    lines += [f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=False)]
    return "\n".join(lines) + "\nAnswer:"


def _block(question: str, options: Sequence[str]) -> str:
    lines = [f"{letter}) {option}" for letter, option in zip(LETTERS, options, strict=False)]
    return f"Question: {question.strip()}\n\nOptions:\n" + "\n".join(lines)


def _range(shown: Shown) -> str:
    return f"A-{LETTERS[len(shown.options) - 1]}"
