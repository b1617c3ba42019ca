"""Parses a judge's decision: a rating of one answer, the better of two, or right and wrong.

The faithful parsers do what ``fastchat/llm_judge/common.py`` does (lm-sys/FastChat, commit
0e6d3e4b). The lenient ones read what a person would read, and nothing outside the scale given to
the judge. All take the judge's reply and return None if they find nothing; none raises.
"""

from __future__ import annotations

import ast
import re
from collections import deque
from collections.abc import Callable, Sequence
from typing import Literal

from evalbench.engine.scoring.reply_text import FULL_WIDTH, answer_text, without_markup

RATING = "fastchat-rating/1"
RATING_LENIENT = "rating-lenient/8"
WINNER = "fastchat-winner/1"
WINNER_LENIENT = "winner-lenient/7"
VERDICT = "verdict/5"

Winner = Literal["A", "B", "tie"]

_LARGEST = 2**63 - 1
# FastChat's \[\[(\d+\.?\d*)\]\], with digits first, which are found fastest. Backtracking is
# useless: fewer digits are followed by a digit, never by the bracket.
_IN_TWO = re.compile(r"\d(?<=\[\[\d)\d*+(?:\.\d*+)?+(?=\]\])")
_IN_ONE = re.compile(r"\d(?<=\[\d)\d*+(?:\.\d*+)?+(?=\])")


def read_rating(reply: str) -> float | None:
    """Faithful to FastChat: the first number in double brackets, else the first in single ones.

    Known bugs of the original, kept: no range, so ``[[11]]`` counts; a citation ``[1]`` is a rating
    if the double brackets are missing. FastChat stores -1 if it finds nothing and raises for
    ``[[08]]``, which Python does not accept as a number; both are None here. Integers are ``int``.
    """
    # Stop searching where no brackets close any more.
    found = _IN_ONE.search(reply, 0, reply.rfind("]") + 1)
    if not found:
        return None
    # A number in double brackets is in single ones too: none comes before this one.
    found = _IN_TWO.search(reply, found.start(), reply.rfind("]]") + 2) or found
    try:
        value = ast.literal_eval(found[0])
    except (ValueError, SyntaxError, MemoryError):
        return None
    if not isinstance(value, (int, float)) or abs(value) > _LARGEST:
        return None  # neither a journal nor a JSON reader could store it
    return value


_FULL_WIDTH = FULL_WIDTH | str.maketrans("［］【】：（）", "[][]:()")
_ESCAPED = re.compile(r"\\([\[\]])")
_NUMBER = (
    r"(?P<number>[+-]?[0-9]{1,3}(?:\.[0-9]{0,6}|,[0-9]{1,6})?)"
    r"(?:\s*(?:/|out\s+of)\s*(?P<of>[0-9]{1,3})(?:\.0)?)?"
)
_LABEL = r"(?:rating|score|grade|mark|评分|得分|分数)"
# "a[[3]]" takes a part of a list.
_NO_INDEX = r"(?:(?<![A-Za-z0-9_)\]])|(?<=rating)|(?<=score)|(?<=boxed))"
# What follows "/" or "out of" is the scale.
_RATED = re.compile(
    rf"(?<!/)(?<!/\s)(?<!out of ){_NO_INDEX}\[\s*\[\s*{_NUMBER}\s*\]\s*\]",
    re.IGNORECASE,
)
_LABELLED = re.compile(
    rf"{_LABEL}[\"'”]?\s{{0,9}}(?:\([^()\n]{{1,30}}\)|out\s+of\s+10)?\s{{0,9}}"
    rf"(?:[:=–—-]+|is:?|of|为|是)?\s{{0,9}}[\"'“]?\[{{1,2}}\s{{0,9}}{_NUMBER}\s{{0,9}}\]",
    re.IGNORECASE,
)
_ALONE = re.compile(rf"\[{{1,2}}\s{{0,9}}{_NUMBER}\s{{0,9}}\][.!]?")


_SCALE = re.compile(
    r"\b(?:scale|range|from|between)\b[^\[\n]{0,20}\[\[\d+\]\]\s{0,9}(?:to|and|-"
    r"|–)\s{0,9}\[\[\d+\]\]",
    re.IGNORECASE,
)
_RATING_BEFORE = re.compile(
    rf"(?:{_LABEL}|verdict|\bgive (?:it|this)(?: a)?|final(?: answer)?|\boverall|\btotal|总体|综合)"
    r"[^\[\]\n]{0,40}$",
    re.IGNORECASE,
)
_CORRECTED = re.compile(
    r"\b(?:actually|rather|wait|correction|on reflection|on second thought|instead|i meant"
    r"|revised?|no)\b",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(r"\b(?:if|were|would|could|might|had)\b[^.!?\n\[]*$", re.IGNORECASE)
# The instructions' own example, quoted: ``for example: "Rating: [[5]]"``.
_QUOTED_EXAMPLE = re.compile(
    r"(?:\b(?:for example|e\.g\.|for instance|such as|like)[:,]?\s{0,9}"
    r"|\b(?:use|using|uses|used|follow|following|follows|asked for|asks for)\s[^.!?\n\[]{0,30}"
    r"\bformat[:,]?\s{0,9})[\"'“‘]?(?:rating:?\s{0,9})?[\"'“‘]?$",
    re.IGNORECASE,
)
_MOST_RATINGS = 500


def read_rating_lenient(reply: str, low: float = 1, high: float = 10) -> float | None:
    """The rating from ``low`` to ``high`` that a person would read.

    1. The number in double brackets, with any spaces, marks or ``/10``. Of several that differ the
       last counts, if it is called the rating or corrects the others; if it is not, or is only
       hypothetical ("If I were strict: [[5]]"), there is none. The instructions' example, quoted
       (``for example: "Rating: [[5]]"``), does not count.
    2. Without one, the last number in single brackets right after a word for rating ("Rating:
       [9]"), or alone on the last line. Others are citations.

    A number without brackets does not count, as the judge was asked for brackets. Outside the scale
    there is no rating. ``08`` is 8, and ``8,5`` is 8.5. Full-width brackets and digits count.
    """
    number = _rated(reply, high)
    if number is None or not low <= number <= high:
        return None
    return int(number) if number.is_integer() else number


def rating_problem(reply: str, low: float = 1, high: float = 10) -> str:
    """Why :func:`read_rating_lenient` finds nothing, as text; empty if it finds a rating."""
    number = _rated(reply, high)
    if number is None:
        return "no rating in the form that was asked for"
    if low <= number <= high:
        return ""
    return f"the rating {number:g} is outside of the scale, {low:g} to {high:g}"


def _rated(reply: str, high: float) -> float | None:
    """The number given as the rating, whatever the scale."""
    text = _plain(reply)
    stated = _given(_RATED, _SCALE.sub(" ", text))
    if stated:
        found = stated[-1]
        before = _before(found, 120)
        if len({_number(one) for one in stated}) > 1 and (
            _SUPPOSED.search(before)
            or not (_RATING_BEFORE.search(before) or _CORRECTED.search(before))
        ):
            return None
        return _number(found, high)
    labelled = _given(_LABELLED, text)
    last = labelled[-1] if labelled else _ALONE.fullmatch(_last_line(text))
    return _number(last, high) if last else None


def _given(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    """The last ratings of a form, without quoted examples of it."""
    found = deque(pattern.finditer(text), maxlen=_MOST_RATINGS)
    return [one for one in found if not _QUOTED_EXAMPLE.search(_before(one, 80))]


def _before(found: re.Match[str], most: int) -> str:
    return found.string[max(0, found.start() - most) : found.start()]


def _number(found: re.Match[str], high: float | None = None) -> float | None:
    """The number; None if it is stated on a scale other than that up to ``high``."""
    if high is not None and found["of"] and float(found["of"]) != high:
        return None
    return float(found["number"].replace(",", "."))


def read_winner(reply: str) -> Winner | None:
    """Faithful to FastChat: ``[[A]]`` anywhere, else ``[[B]]``, else ``[[C]]``, which is a tie.

    Known bug of the original, kept: the order of these checks decides between two verdicts, not
    their order in the reply. FastChat stores ``error`` where this is None.
    """
    if "[[A]]" in reply:
        return "A"
    if "[[B]]" in reply:
        return "B"
    return "tie" if "[[C]]" in reply else None


_WHO = r"(?:(?:the\s+)?(?:assistant|model|response|answer|option|ai)[\s_]+)?"
_SIDE = rf"{_WHO}(?P<said>A|B|C|tie|draw)(?:\s+(?:is|wins)(?:\s+better)?)?"
_RIGHT = r"(?P<said>right|wrong|correct|incorrect)"


def _stated_forms(rating: str) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """A decision in double brackets, in any brackets after its label, and alone on a line."""
    return (
        re.compile(rf"\[\s*\[\s*{rating}\s*\]\s*\]", re.IGNORECASE),
        re.compile(
            r"\b(?:verdict|winner|decision|judge?ment|choice|answer|conclusion|preference)[\"'”]?"
            rf"\s{{0,9}}(?:[:=–—-]+|is:?)?\s{{0,9}}[\"'“]?\[{{1,2}}\s{{0,9}}{rating}\s{{0,9}}\]",
            re.IGNORECASE,
        ),
        re.compile(rf"\[{{1,2}}\s{{0,9}}{rating}\s{{0,9}}\][.!]?", re.IGNORECASE),
    )


_WINNERS = _stated_forms(_SIDE)
_VERDICTS = _stated_forms(_RIGHT)
_DENIED = re.compile(
    r"(?:\bnot|\bneither|\bnor|n['’]t|\brather than|\binstead of|\bover|\bthan|\bbeats|>)"
    r"(?:\s+(?:be|give|choose|a|an|the))?\s*[\"'“(]?$",
    re.IGNORECASE,
)
_TAGS_BEFORE = re.compile(r"(?:</?[A-Za-z][^<>]*>\s*)+$")
_DENIED_AFTER = re.compile(
    r"[\"'”)]?\s+(?:is|was|came|comes|would be|seemed|seems)\s+(?:\w+\s+)?"
    r"(?:close|weaker|worse|wrong|tempting|not)\b",
    re.IGNORECASE,
)
# What follows a verdict that only explains the format, as the judge's instructions do.
_EXPLAINED = re.compile(
    r"[\"'”)]?\s*(?:(?:if|when|means|=)\s+(?:the\s+)?(?:assistant|model|response|answer|it|both"
    r"|A|B)\b"
    r"|(?:if|for|means|in case of|=)\s+(?:(?:it(?:['’]s| is)|there is)\s+)?a?\s*(?:tie|draw)\b)",
    re.IGNORECASE,
)
_OR = re.compile(r"[\"'”)]?\s*(?:/|,|\||or|and|and/or|,\s*or)\s*[\"'“(]?", re.IGNORECASE)


def read_winner_lenient(reply: str) -> Winner | None:
    """The verdict that a person would read.

    The last ``[[A]]``, ``[[B]]`` or ``[[C]]`` in any case counts, also as ``[[tie]]`` or
    ``[[Assistant A]]``; one in single brackets only after a word like "verdict" or alone on the
    last line. Verdicts that are denied ("not [[A]]", "[[B]] over [[A]]"), that explain the format
    ("[[A]] if assistant A is better") or leave the choice open ("[[A]] or [[B]]") do not count.
    Only the last 500 verdicts are considered.
    """
    found = _decision(reply, _WINNERS, _side)
    return _side(found) if found else None


def read_verdict(reply: str) -> float | None:
    """1 for ``[[right]]`` or ``[[correct]]``, 0 for ``[[wrong]]`` or ``[[incorrect]]``.

    The last one counts, as in :func:`read_winner_lenient`; None if there is none.
    """
    found = _decision(reply, _VERDICTS, _is_right)
    return float(_is_right(found)) if found else None


def winner_problem(reply: str) -> str:
    """Why :func:`read_winner_lenient` finds nothing, as text; empty if it finds a verdict."""
    return "" if read_winner_lenient(reply) else "no verdict in the form that was asked for"


def _decision(
    reply: str, forms: Sequence[re.Pattern[str]], means: Callable[[re.Match[str]], object]
) -> re.Match[str] | None:
    """The last decision that is stated; None also if the choice is left open."""
    text = _plain(reply)
    *patterns, alone = forms
    for pattern in patterns:
        decisions = deque(pattern.finditer(text), maxlen=_MOST_VERDICTS)
        stated = [found for found in decisions if _is_stated(found)]
        if stated:
            return None if _is_open(text, stated, means) else stated[-1]
    return alone.fullmatch(_last_line(text))


_MOST_VERDICTS = 500


def _is_stated(found: re.Match[str]) -> bool:
    before = _TAGS_BEFORE.sub("", _before(found, 40))
    after = (_DENIED_AFTER, _EXPLAINED)
    return not (
        _DENIED.search(before) or any(pattern.match(found.string, found.end()) for pattern in after)
    )


def _is_open(
    text: str, stated: list[re.Match[str]], means: Callable[[re.Match[str]], object]
) -> bool:
    """Whether the last verdict is joined to a different one before it."""
    if len(stated) < 2 or means(stated[-2]) == means(stated[-1]):
        return False
    between = text[stated[-2].end() : stated[-1].start()]
    return len(between) < 20 and (not between.strip() or _OR.fullmatch(between) is not None)


def _side(found: re.Match[str]) -> Winner:
    side = found["said"].upper()
    return "A" if side == "A" else "B" if side == "B" else "tie"


def _is_right(found: re.Match[str]) -> bool:
    return found["said"].lower() in ("right", "correct")


def _plain(reply: str) -> str:
    text = _ESCAPED.sub(lambda mark: mark[1], answer_text(reply)).translate(_FULL_WIDTH)
    head, again, _ = text.partition("\n[Question]")
    if again and "[[" in head:  # another task of the judge's own begins
        text = head
    return without_markup(text).strip()


def _last_line(text: str) -> str:
    return text[text.rfind("\n") + 1 :].strip()
