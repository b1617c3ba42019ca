"""Parses the letter of an answer among more than seven options, up to 26.

``I`` and ``A`` are words as well, so fewer forms are recognised than in :mod:`letters_lenient` for
seven options. The first of these rules that finds something decides:

1. The whole reply is one letter, whatever brackets or marks surround it.
2. A labelled answer: ``the answer is (J)``, ``Answer: J``, ``\\boxed{J}``. The last counts.
3. The last line is one letter.
4. The reply opens with a letter set off by a bracket, a dot or a colon: ``H) …``.
5. The only letter called right (``H is correct``) or chosen (``I would go with J``).
6. The only letter that stands in round brackets: ``so it must be (H)``.

Two letters joined (``H or I``) are no answer.
"""

from __future__ import annotations

import re
from string import ascii_uppercase

from evalbench.engine.scoring.letters_abroad import Strength, claims, is_abroad
from evalbench.engine.scoring.reply_text import (
    answer_text,
    before_next_question,
    ends,
    without_markup,
)

_LONGEST = 8_000

_TRIM = r"[\s.,;:!?()\[\]{}<>\"'“”‘’*_$-]*+"
_BARE = re.compile(rf"{_TRIM}(?:option|answer|choice)?{_TRIM}([A-Za-z]){_TRIM}", re.IGNORECASE)
_BOXED = re.compile(r"\\(?:boxed|fbox)\s*\{\s*(?:\\text\s*\{)?|<(?:final_)?answer>", re.IGNORECASE)
_END_ANSWER = re.compile(r"</(?:final_)?answer>", re.IGNORECASE)
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
_RIGHT = re.compile(
    r"(?<!whether[ ])(?<!if[ ])\b([A-Z])\)?[ ]is[ ](?:the[ ])?(?:correct|right|best)\b"
)
_CHOSEN = re.compile(
    r"(?i:(?<!not[ ])(?<!n['’]t[ ])\b(?:choose|select|pick|go[ ]with"
    r"|(?:(?:think|believe|guess)[ ](?:that[ ])?)?(?:it|that|this)(?:['’]s|[ ]is)"
    r"|(?:it|that|this)[ ](?:must|should|has[ ]to|would)[ ]be|is(?=[ ](?:option|choice)[ ])"
    r"|so|thus|hence|therefore|corresponds?[ ]to|matches|leaves),?[ ](?:answer[ ])?)"
    r"(?:(?i:(?:(?:the|option|choice|answer|letter)[ ]){0,2}))"
    r"[(\[]?((?<=option[ ])[A-Z]|(?<=choice[ ])[A-Z]|[B-HJ-Z])(?![\w'’])"
    r"(?![ \t]+(?:or|and|if|unless)\b)"
)
_BRACKETED = re.compile(r"\(([A-Z])\)")


def read_many(reply: str, options: int) -> int | None:
    """Index of the option that a reply names, or None. See the module docstring for the rules."""
    head, _ = before_next_question(ends(answer_text(reply), _LONGEST))
    text = without_markup(_END_ANSWER.sub("\n", _BOXED.sub(" answer: ", head))).strip()
    letter = _letter(text)
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
    for pattern in (_RIGHT, _CHOSEN):
        named: set[str] = set(pattern.findall(text))
        if len(named) == 1:
            return named.pop()
    if is_abroad(text):
        claimed = claims(text, "Z")
        for strength in reversed(Strength):
            letters = [one.letter for one in claimed if one.strength is strength]
            if letters and (strength is Strength.NAMED or len(set(letters)) == 1):
                return letters[-1]
    bracketed = set(_BRACKETED.findall(text))
    return bracketed.pop() if len(bracketed) == 1 else ""
