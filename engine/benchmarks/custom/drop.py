"""DROP's score: F1 over the words of an answer, in which numbers must agree.

Source: D. Dua et al., "DROP: A Reading Comprehension Benchmark Requiring Discrete Reasoning Over
Paragraphs", arXiv 1903.00161 (2019), section 5; the rule as in the authors' evaluation,
https://github.com/allenai/allennlp-reading-comprehension (``eval/drop_eval.py``), for an
answer that is a single text, as in https://github.com/openai/simple-evals and
lm-evaluation-harness. F1 is rounded as in the former; the latter rounds it to hundredths.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

_LABELLED = re.compile(r"Answer\s*:\s*([^\n]+)", re.IGNORECASE)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def read_answer(reply: str) -> str:
    """What follows the last ``Answer:``, to the end of its line; without one, the whole reply."""
    found = _LABELLED.findall(reply)
    return (found[-1] if found else reply).strip(" *\t\r\n")


def score(answer: str, spans: Sequence[str]) -> tuple[float, float]:
    """Exact match (0 or 1) and F1 (0 to 1) of an answer against one right answer.

    Args:
        answer: the model's answer, as one text.
        spans: the spans of the correct answer; all of them belong to it.
    """
    given = normalized(answer)
    right = [normalized(span) for span in spans]
    exact = float({given} == set(right) and len(right) == 1)
    # One text can be aligned with one span only, so the others count as missed.
    best = max((_f1(set(given.split()), set(one.split())) for one in right), default=0.0)
    return exact, round(best / max(1, len(right)), 4)


def normalized(text: str) -> str:
    """A text in lower case without articles and punctuation; numbers in canonical form."""
    parts = [_token(token) for token in re.split(r"[ -]", text.lower())]
    return " ".join(part for part in parts if part)


def _token(token: str) -> str:
    if not _is_number(token):
        token = "".join(sign for sign in token if sign not in string.punctuation)
    if _is_number(token):
        token = str(float(token))
    return " ".join(_ARTICLES.sub(" ", token).split())


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _f1(given: set[str], right: set[str]) -> float:
    numbers = {word for word in right if _is_number(word)}
    if numbers and not numbers & given:
        return 0.0
    shared = len(given & right)
    precision = shared / len(given) if given else 1.0
    recall = shared / len(right) if right else 1.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
