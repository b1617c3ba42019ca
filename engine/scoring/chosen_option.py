"""Parses which of the given options a reply selects, in OpenSeeSimE's answer format.

The model is told to write the option on the first line, exactly as given, and its reasons from the
second line on. The faithful parser does what ``parse_model_response`` of Jezemba/ModelInference
does (commit 22e438cc); the lenient one reads what a person would read on that first line.
Neither raises.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from evalbench.engine.scoring.reply_text import answer_text, without_markup

OPTION = "openseesime-option/1"
OPTION_LENIENT = "option-lenient/3"


def read_option(reply: str, choices: Sequence[str] = ()) -> str | None:
    """Faithful to the original: the first line is one of the options, ignoring case.

    Returns the option as it is given. Without options, the first line unchanged.
    """
    line = _first_line(reply)
    if not choices:
        return line
    lower = _lower(line, max(len(choice.lower()) for choice in choices))
    return next((c.strip() for c in choices if c.strip().lower() == lower), None)


def _lower(line: str, longest: int) -> str | None:
    """A line in lower case, which is never shorter; None if it is too long to be an option."""
    return line.lower() if len(line) <= longest else None


def explanation(reply: str) -> str:
    """What follows the first line."""
    return reply.strip().partition("\n")[2].strip()


def is_right(option: str | None, answer: str) -> bool:
    """Whether an option is the right one: the same text, ignoring case."""
    return option is not None and option.strip().lower() == answer.strip().lower()


def _first_line(reply: str) -> str:
    return reply.strip().partition("\n")[0].strip()


_FULL_WIDTH = str.maketrans("：，。！（）", ":,.!()")
_BOXED = re.compile(r"\\(?:boxed|fbox|text)\s?(?=\{)")
_TAGS = re.compile(r"</?answer>", re.IGNORECASE)
_PREFACE = (
    r"(?:(?:so|thus|therefore|hence|ok|okay|sure|certainly"
    r"|(?:based on|according to|looking at|judging by|from|in) [^,.:]{1,60})[,!.:]?\s+)?"
)
_PREFACED = re.compile(
    r"(?:based on|according to|looking at|judging by) [^,.:]{1,60}, ", re.IGNORECASE
)
_LABEL = re.compile(
    rf"{_PREFACE}"
    r"(?:(?:my|the|this|your)\s+)?(?:(?:final|correct|best|right|most likely|first)\s+){0,2}"
    r"(?:(?:option|choice)\s+(?:(?=\S+$)|\w{1,2}\s?[:.)]\s+)|"
    r"(?:(?:answer|ans|option|choice|line|selection|response|result|conclusion|verdict)\b|答案)"
    r"(?:\s+(?:to|for)\s+(?:this|the|your)\s+(?:\w+\s+)?question)?[\"'”]?\s?"
    r"(?::|=|-+>?|–|—|(?:is|would be|should be|must be)\b\s?:?|是)\s{0,9})"
    r"(?:(?:clearly|definitely|most likely|likely|probably|option|choice|that)\s+){0,2}",
    re.IGNORECASE,
)
_CLAIM = re.compile(
    r"(?:(?:so|thus|therefore|hence)[,:]?\s+)?"
    r"(?:i(?:['’]d| would| will)?\s+(?:choose|pick|select|say|answer|go with|believe|think)"
    r"|(?:it|this|that)(?:['’]s| is| would be| must be))"
    r"\s*(?:it is\s+|it['’]s\s+)?:?\s*(?:the\s+)?",
    re.IGNORECASE,
)
_MARKS = "-*•·+–—>→"
_ENUMERATED = re.compile(
    rf"(?:(?<![{_MARKS}])[{_MARKS}]++|\(?(?:[a-z]|\d{{1,2}})[.):])\s+", re.IGNORECASE
)
# Signs that belong to an option ("-5", "< 1 MPa", ".5") are not stripped from its start.
_BEFORE = " \t\"'“”‘’«»`*_([{:,;!?…✓✔✅|\\"
_AFTER = " \t\"'“”‘’«»`*_)]}.,;:!?…✓✔✅|\\-–—"
_IN_ANGLES = re.compile(r"<([^<>]*)>")
_ONLY_LABEL = re.compile(
    r"(?:(?:the|my|final|correct)\s+){0,2}(?:answer|option|choice)(?:\s+is)?[\s:*]*|```\w*|[-*_=#\s]*",
    re.IGNORECASE,
)


def read_option_lenient(reply: str, choices: Sequence[str] = ()) -> str | None:
    """The option that a person would read on the first line, as it is given, or None.

    1. The line is an option, apart from case, marks, quotes, a bullet or a
       number before it, hyphens for spaces, and words like "Answer:" or "The
       answer is"; the words that all options share may be missing ("X" for
       "X axis").
    2. It begins with an option that a mark sets off from what follows: "Yes,
       because …", "No. The …".
    3. It mentions one option of several words and no other.

    A line that names another option as an alternative ("Yes or No") is no answer. Lines with only
    "Answer:" or a code fence are skipped; an answer after a line of reasoning does not count.
    Without options, returns the line without marks and label.
    """
    line = _line(answer_text(reply))
    if not choices:
        label = _LABEL.match(line)
        return (line[label.end() :] if label else line).lstrip(_BEFORE).rstrip(_AFTER) or None
    named = {_flat(choice): choice.strip() for choice in reversed(choices)}
    parts = _distinct_parts(named)
    whole = {**parts, **named}
    leads = (_LABEL, _CLAIM, _PREFACED)
    after = [line[found.end() :] for lead in leads if (found := lead.match(line))]
    for reading in (line, *after):
        for text in (reading, _ENUMERATED.sub("", reading, count=1)):
            option = whole.get(_flat(text)) or _close(text, named) or _leading(text, named)
            if option is not None:
                return option or None
    if len([part for part in parts if _pattern(part).search(line)]) > 1:
        return None
    return _mentioned(line, named)


def _line(text: str) -> str:
    text = _TAGS.sub(" ", _BOXED.sub("", text)).translate(_FULL_WIDTH)
    for line in text.splitlines():
        plain = without_markup(line).strip()
        if plain and not _ONLY_LABEL.fullmatch(plain):
            return plain.strip("\"'“”‘’«» \t")[:_LONGEST_LINE]
    return ""


_LONGEST_LINE = 2000
_AMBIGUOUS = ""


def _flat(text: str) -> str:
    """The normal form in which options and lines are compared."""
    text = text.strip().translate(_FULL_WIDTH)
    if enclosed := _IN_ANGLES.fullmatch(text):
        text = enclosed[1]
    text = text.lstrip(_BEFORE).rstrip(_AFTER).casefold()
    return " ".join(_HYPHEN.sub(" ", text).split())


def _close(text: str, named: Mapping[str, str]) -> str | None:
    """The only option that differs just in spaces and hyphens: 5MPa for "5 MPa"."""
    close = _flat(text).replace(" ", "")
    found = [option for flat, option in named.items() if close and flat.replace(" ", "") == close]
    return found[0] if len(found) == 1 else None


def _distinct_parts(named: Mapping[str, str]) -> dict[str, str]:
    """The options without the words that all of them start or end with: x for "X axis"."""
    words = [flat.split() for flat in named]
    if len(words) < 2:
        return {}
    shortest = min(map(len, words))
    front = next((n for n in range(shortest) if len({w[n] for w in words}) > 1), shortest)
    back = next((n for n in range(shortest) if len({w[-1 - n] for w in words}) > 1), shortest)
    parts = [" ".join(w[front : len(w) - back]) for w in words]
    if front + back == 0 or not all(parts) or len(set(parts)) < len(parts):
        return {}
    return dict(zip(parts, named.values(), strict=True))


_HYPHEN = re.compile(r"(?<=\w)(?:[‐‑–—-]| [–-] (?=\d))(?=\w)")
_SET_OFF = re.compile(
    r"[)\]](?=\s)|[\"'”’)\]]*\s*(?:[.,;:!?…]+(?=\s|$|[\"'”’)\]])|\s[-–—]+\s|[–—]|\(|$"
    r"|(?:because|since|as|not|rather than|instead of|indeed|definitely|clearly|of course"
    r"|is (?:the )?(?:correct|right|best)"
    r"|[Tt]here|The|This|It|Because|Since|In|Based|From)\b)"
)
_OR = re.compile(
    r"[\"'”’)\]]*\s*(?:[,/|&+]|\bor\b|\band\b|,\s*or\b|,\s*and\b)\s*[\"'“‘(\[]*", re.IGNORECASE
)


def _leading(text: str, named: dict[str, str]) -> str | None:
    """The option at the start of ``text``; ``_AMBIGUOUS``; or None."""
    start = text.lstrip(_BEFORE)
    for flat in sorted(named, key=len, reverse=True):
        option = _pattern(flat).match(start)
        if not option:
            continue
        rest = start[option.end() :]
        if other := _OR.match(rest):
            after = rest[other.end() :]
            if any(_is_alone(after, name) for name in named if name != flat):
                return _AMBIGUOUS
        return named[flat] if _SET_OFF.match(rest) else None
    return None


def _is_alone(text: str, flat: str) -> bool:
    """Whether ``text`` starts with an option and the sentence or line ends there."""
    found = _pattern(flat).match(text)
    return found is not None and not re.match(r"\s*[^\W\d_]", text[found.end() :])


def _pattern(flat: str) -> re.Pattern[str]:
    words = r"[\s‐‑-]+".join(re.escape(word) for word in flat.split(" "))
    return re.compile(rf"(?<![\w-]){words}(?![\w%])", re.IGNORECASE)


def _mentioned(line: str, named: dict[str, str]) -> str | None:
    rest, found = line, set()
    for flat in sorted(named, key=len, reverse=True):
        rest, times = _pattern(flat).subn(" ", rest)
        if times:
            found.add(flat)
    only = found.pop() if len(found) == 1 else ""
    return named[only] if " " in only and not _DENIES.search(line) else None


_DENIES = re.compile(
    r"\b(?:not|no|never|neither|nor|cannot|except|unlike|than)\b|n['’]t\b", re.IGNORECASE
)
