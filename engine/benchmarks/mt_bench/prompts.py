"""The prompts for MT-bench judges.

Our own words in the structure of the original's eight prompts: an impartial judge, an explanation
first, then a rating in double square brackets (or a verdict), with a reference answer if there is
one. The original's file (``judge_prompts.jsonl``) can be used instead for scores that will be
compared with published ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from evalbench.engine.calls import Prompt, generate, system, user
from evalbench.engine.calls.templates import fill


class JudgePrompt(NamedTuple):
    """A system text and a template with ``{names}`` to fill in."""

    system: str
    template: str


_IMPARTIAL = "You are an impartial judge of the answers that AI assistants give to users."
_RATE = (
    "Explain your judgement in a few sentences first. Then end with your rating from 1 (worst)"
    " to 10 (best) in double square brackets, in exactly this form: Rating: [[7]]"
)
_GENERAL = (
    "Weigh how helpful, relevant, correct, thorough, original and fittingly detailed the answer is."
)
_CHECKED = (
    "Weigh whether the answer is right and how helpful it is. A reference answer is given:"
    " compare with it, and name every mistake that you find."
)
_SECOND = "Rate the answer to the second question only; the first exchange is its context."
_COMPARE = (
    "Two assistants, A and B, answered the same user. Decide whose answer is better. The order"
    " in which they are shown, their length and their names must not matter."
)
_COMPARE_SECOND = "Look at the answers to the second question; the first exchange is their context."
_VERDICT = (
    "Explain the comparison in a few sentences first. Then end with your verdict in exactly one"
    " of these forms: [[A]] if A is better, [[B]] if B is better, [[C]] for a tie"
)

_QUESTION = "[Question]\n{question}"
_REFERENCE = "[Reference answer]\n{ref_answer_1}\n[End of the reference answer]"
_ANSWER = "[Answer of the assistant]\n{answer}\n[End of the answer]"
_REFERENCES = (
    "<|Reference conversation|>\nUser: {question_1}\nReference: {ref_answer_1}\n"
    "User: {question_2}\nReference: {ref_answer_2}\n<|End of the reference|>"
)
_TALK = (
    "<|Conversation|>\nUser: {question_1}\nAssistant: {answer_1}\n"
    "User: {question_2}\nAssistant: {answer_2}\n<|End of the conversation|>"
)
_PAIR = (
    "[Answer of assistant A]\n{answer_a}\n[End of answer A]\n\n"
    "[Answer of assistant B]\n{answer_b}\n[End of answer B]"
)
_PAIR_TALKS = (
    "<|Conversation with assistant A|>\nUser: {question_1}\nA: {answer_a_1}\n"
    "User: {question_2}\nA: {answer_a_2}\n<|End of conversation A|>\n\n"
    "<|Conversation with assistant B|>\nUser: {question_1}\nB: {answer_b_1}\n"
    "User: {question_2}\nB: {answer_b_2}\n<|End of conversation B|>"
)


def _joined(*parts: str) -> str:
    return "\n\n".join(parts)


OWN: Mapping[str, JudgePrompt] = {
    "single-v1": JudgePrompt(f"{_IMPARTIAL} {_GENERAL} {_RATE}", _joined(_QUESTION, _ANSWER)),
    "single-math-v1": JudgePrompt(
        f"{_IMPARTIAL} {_CHECKED} {_RATE}", _joined(_QUESTION, _REFERENCE, _ANSWER)
    ),
    "single-v1-multi-turn": JudgePrompt(f"{_IMPARTIAL} {_GENERAL} {_SECOND} {_RATE}", _TALK),
    "single-math-v1-multi-turn": JudgePrompt(
        f"{_IMPARTIAL} {_CHECKED} {_SECOND} {_RATE}", _joined(_REFERENCES, _TALK)
    ),
    "pair-v2": JudgePrompt(
        f"{_IMPARTIAL} {_COMPARE} {_GENERAL} {_VERDICT}", _joined(_QUESTION, _PAIR)
    ),
    "pair-math-v1": JudgePrompt(
        f"{_IMPARTIAL} {_COMPARE} {_CHECKED} {_VERDICT}", _joined(_QUESTION, _REFERENCE, _PAIR)
    ),
    "pair-v2-multi-turn": JudgePrompt(
        f"{_IMPARTIAL} {_COMPARE} {_COMPARE_SECOND} {_GENERAL} {_VERDICT}", _PAIR_TALKS
    ),
    "pair-math-v1-multi-turn": JudgePrompt(
        f"{_IMPARTIAL} {_COMPARE} {_COMPARE_SECOND} {_CHECKED} {_VERDICT}",
        _joined(_REFERENCES, _PAIR_TALKS),
    ),
}
"""The judge prompts, under the original's names."""

JUDGE_MAX_TOKENS = 2048
"""The original's cap for a judgement."""


def judgement(prompt: JudgePrompt, values: Mapping[str, str]) -> Prompt:
    """The prompt for a judge: greedy, with the original's cap."""
    messages = [user(fill(prompt.template, values))]
    if prompt.system:
        messages.insert(0, system(prompt.system))
    return generate(messages, max_tokens=JUDGE_MAX_TOKENS, temperature=0.0)
