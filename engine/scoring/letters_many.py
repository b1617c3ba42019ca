"""Parses the letter of an answer among more than seven options, up to 26.

``I`` and ``A`` are words as well, so fewer forms are recognised than in :mod:`letters_lenient` for
seven options. The first of these rules that finds something decides:

1. The whole reply is one letter, whatever brackets or marks surround it.
2. A labelled answer: ``the answer is (J)``, ``Answer: J``, ``\\boxed{J}``. The last counts.
3. The last line is one letter.
4. The reply opens with a letter set off by a bracket, a dot or a colon: ``H) …``.
5. The last letter that a language other than English names as the answer.
6. The option that the reply speaks for (:mod:`letter_evidence`).

Two letters joined (``H or I``) are no answer.
"""

from __future__ import annotations

import re
from string import ascii_uppercase

from evalbench.engine.scoring.letter_evidence import settled
from evalbench.engine.scoring.letter_text import clean
from evalbench.engine.scoring.letters_abroad import claims, is_abroad

_TRIM = r"[\s.,;:!?()\[\]{}<>\"'“”‘’*_$-]*+"
_BARE = re.compile(rf"{_TRIM}(?:option|answer|choice)?{_TRIM}([A-Za-z]){_TRIM}", re.IGNORECASE)
_LABELLED = re.compile(
    r"(?:\b(?i:answer|choice|option|candidate|respuesta|réponse|antwort|resposta|risposta|odpowiedź|cevap"
    r"|ответ)"
    r"\b|(?i:đáp[ ]án)|الإجابة|उत्तर|คำตอบ|答案|答え|正解|정답|답)[^\n.:=()]{0,40}?"
    r"(?:\b(?:is|es|est|ist|è|é|to|là)\b|:|：|=|->|→|—|是|为|為|は|[은는]|คือ|هي)"
    r"[\s:*\"'“(\[{$]{0,8}(?i:(?:the|option|choice|letter)[ ]){0,3}[*\"'“(\[{$]{0,4}"
    r"([A-Z])(?![\w'’])(?![ \t]+(?!because\b|since\b|as\b|which\b|is\b|and\b|or\b)[a-z])"
    r"(?P<joined>[)\]*}]*[ ]*(?:or|and|,|/)[ ]*[(\[*]*[A-Z](?![\w'’]))?"
)
_OPENS = re.compile(r"\s*[(\[*]{0,3}([A-Z])\*{0,2}[).:\]]")


def read_many(reply: str, options: int) -> int | None:
    """Index of the option that a reply names, or None. See the module docstring for the rules."""
    text = clean(reply)
    letter = _letter(text) or settled(text, options) or ""
    place = ascii_uppercase.find(letter) if letter else -1
    return place if 0 <= place < options else None


def _letter(text: str) -> str:
    if found := _BARE.fullmatch(text):
        return found[1].upper()
    if labelled := list(_LABELLED.finditer(text)):
        return "" if labelled[-1]["joined"] else labelled[-1][1]
    lines = text.splitlines()
    if lines and (found := _BARE.fullmatch(lines[-1])):
        return found[1].upper()
    if (found := _OPENS.match(text)) and not re.search(r"\n\s*\(?[A-Z][).:]", text):
        return found[1]
    named = claims(text, "Z") if is_abroad(text) else ()
    return named[-1].letter if named else ""
