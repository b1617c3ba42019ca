"""Reading the letter of a multiple-choice answer the way a person would.

The rules, in order; the first that finds something decides:

1. The whole reply is one letter, whatever brackets, quotes or marks surround it.
2. A labelled answer: ``Answer: C``, ``the correct answer is (c)``, ``\\boxed{C}``.
   Of several the last counts, so a correction beats what it corrects.
3. The last line is one letter.
4. The reply opens with a letter set off from what follows: ``B) Paris``, ``C. because``.
   Letters that run on in order (``A) … B) …``) repeat the question and answer nothing.
5. A choice in words: ``I think it's C``, ``B is correct``, ``B remains``, ``so D``.
   The last counts.
6. The only option mentioned: ``option B``, ``(B)`` at the end of a line, ``: B`` at the very end.

Two letters joined (``A and B``, ``B or C``) are no answer. ``A`` or ``a``
before a word is the article. A letter past the last option is no answer.
Reasoning tags, control tokens, Markdown and LaTeX wrapping are taken off first.
Only the ASCII letters count: text is not NFKC-normalised, so full-width, Greek
and Cyrillic look-alikes are no answers (full-width punctuation is understood).

Of more than 300 words for an answer (``answer``, ``option``) the last 300 can be
labels, and of more than 2,000 letters the last 2,000 are looked at.
"""

from __future__ import annotations

import re
from collections import deque

from evalbench.engine.scoring.letters import LETTERS
from evalbench.engine.scoring.reply_text import answer_text, without_markup

LENIENT = "letter-lenient/2"

# What a rule answers besides a letter or None (found nothing, ask the next rule).
_NO_CHOICE = ""


def read_lenient(reply: str, options: int = 4) -> int | None:
    """Index of the option a person would read, or None. See the module's text for the rules.

    Args:
        reply: the model's answer.
        options: how many options there were, at most 7.
    """
    text = _clean(reply)
    for rule in (_bare, _labelled, _last_line, _opening, _claimed, _mentioned):
        found = rule(text)
        if found is not None:
            at = LETTERS.find(found) if found else -1
            return at if 0 <= at < options else None
    return None


_BOXED = re.compile(r"\\(?:boxed|fbox)\s*(?=\{)|<answer>", re.IGNORECASE)
_END_ANSWER = re.compile(r"</answer>", re.IGNORECASE)
_QUOTED = re.compile(r"[\"'“”‘’«»]\s*([A-Ga-g][.)]?)\s*[\"'“”‘’«»]")
_BULLET = re.compile(
    r"^[ \t]*(?:[-*•·+–—][ \t]+(?=\S)|\d{1,2}[.)][ \t]+(?=\(?[A-Ga-g]\)?[.:]?[ \t]*$))",
    re.MULTILINE,
)


# Longer than any that belongs to an answer; the patterns below would be slow on very long ones.
_RUN_OF_MARKS = re.compile(r"[\W_]{61,}")


def _clean(reply: str) -> str:
    text = _RUN_OF_MARKS.sub(lambda run: f"{run[0][:30]}\n{run[0][-30:]}", answer_text(reply))
    text = _END_ANSWER.sub("\n", _BOXED.sub(" answer: ", text))
    text = _QUOTED.sub(lambda quoted: f" {quoted[1]} ", without_markup(text))
    text = text.replace("（", "(").replace("）", ")").replace("：", ":").replace("。", ". ")
    return _BULLET.sub("", text).strip()


_OPEN = r"[(\[<«“‘\"']*[ \t]*"
# A letter by itself: not part of a word or term (B12, C++, A-frame, D.C., A's).
_ENDS_THERE = r"(?![A-Za-z0-9+#&_/]|['’][A-Za-z]|-\w|\.[A-Za-z](?![A-Za-z]))"
_LETTER = _OPEN + r"(?<![A-Za-z0-9])(?P<letter>[A-Ga-g])" + _ENDS_THERE
# The same, ignoring case, where a pattern begins with it: the letter is what is looked for.
_FIRST_LETTER = rf"(?P<letter>[A-Ga-g])(?i:(?<![A-Za-z0-9].){_ENDS_THERE})"
_CLOSE = r"[)\]>.:,;!?\"'”’»]"

_LINK = (
    r"(?:because|since|as|for|due|and|but|which|is|are|was|so|while|if|given|based|it|this|that"
    r"|remains|or|would|must|should|by|in|from|seems|looks|fits|rather|not|though|although|then|here)\b"
)
_SET_OFF = re.compile(rf"\s*(?:$|{_CLOSE}|[–—|→]|-\s|-+>|\n|{_LINK})")
_WORD_FOLLOWS = re.compile(rf"[ \t]+(?!{_LINK})[a-z]")
_DENIED = re.compile(
    rf"{_CLOSE}*[ \t]*(?:(?:is|was|are|would[ ]be|seems)[ ](?:not|wrong|incorrect|false)\b"
    r"|(?:is|was|does|can|would)n['’]t\b|cannot\b|can[ ]be[ ](?:ruled|eliminated)\b)"
)
_JOINED = re.compile(
    rf"{_CLOSE}?[ \t]*(?:[,/&+;|]|\b(?:and|or|and/or)\b|(?<=\))(?=\())[ \t]*(?:and|or)?[ \t]*"
    r"(?:option|choice|letter|answer)?[ \t]*[(\[\"'“]?"
    r"(?<![A-Za-z])(?:([A-G])(?![A-Za-z0-9'’])|([a-g])(?=[\s).]*$))"
    rf"(?!{_CLOSE}?[ ](?:is|was|isn|does|has|can|would)\b)"
)
_JOINED_BEFORE = re.compile(r"(?<![A-Za-z])([A-G])[)\]]?,?[ ](?:and|or)[ ](?:option[ ])?[(\[]?$")


def _chosen(found: re.Match[str], *, set_off: bool = False) -> str | None:
    """The letter of a match in capitals, ``_NO_CHOICE``, or None where it is no option's letter.

    ``set_off`` asks that a mark, a line's end or a linking word follows it.
    """
    text, start, end = found.string, found.start("letter"), found.end("letter")
    letter = text[start:end]
    followed = _SET_OFF.match(text, end)
    if _DENIED.match(text, end) or (set_off and not followed):
        return None
    if letter.islower() and not (followed or text[start - 1 : start] in "(["):
        return None
    if letter == "A":
        before = _sign_before(text, start)
        if before in ("", ":", "\n") and _WORD_FOLLOWS.match(text, end):
            return None
        if before == "\n" and _lists_options(letter, text[end:]):
            return None
    joined = _JOINED.match(text, end) or _JOINED_BEFORE.search(text, max(0, start - 20), start)
    if joined and joined[joined.lastindex or 1].upper() != letter.upper():
        return _NO_CHOICE
    return letter.upper()


_MOST_LETTERS = 2000


def _sign_before(text: str, start: int) -> str:
    """What stands before a letter, apart from spaces and opening brackets; may be nothing."""
    while start and text[start - 1] in " \t(":
        start -= 1
    return text[start - 1] if start else ""


def _last(
    text: str, *patterns: re.Pattern[str], set_off: bool = False, start: int = 0
) -> str | None:
    """The last of all matches from ``start`` on that is an option's letter."""
    found = (match for pattern in patterns for match in pattern.finditer(text, start))
    newest = sorted(found, key=lambda match: match.start("letter"), reverse=True)
    letters = (_chosen(match, set_off=set_off) for match in newest[:_MOST_LETTERS])
    return next((letter for letter in letters if letter is not None), None)


_TRIM = r"[\s.,;:!?()\[\]<>\"'“”‘’«»*_|=…–—-]*"
_BARE = re.compile(
    rf"{_TRIM}(?:(?:option|choice|letter|answer)\b{_TRIM})?(?P<letter>[A-Ga-g]){_TRIM}",
    re.IGNORECASE,
)


def _bare(text: str) -> str | None:
    if found := _BARE.fullmatch(text):
        return found["letter"].upper()
    words = set(re.split(r"[\s.,;:()\[\]]+", text)) - {""}
    return words.pop() if len(words) == 1 and words <= set(LETTERS) else None


# Here and below: a look at the first letter saves most words a try of each alternative.
_NOUN = (
    r"(?=[acolsrb答])(?:answer|ans|option|choice|letter|solution|selection|response|答案"
    r"|(?:correct|right|best)[ ]one)"
)
# Words between the noun and its verb, as in "answer to this question is"; a negation ends them.
_GAP = r"(?:[ \t]+(?!(?:not|cannot|options?|choices?)\b)[^\s.:;!?,()=]+(?<!n['’]t)){0,10}?"
_FILL = (
    r"(?:(?:the|option|choice|letter|answer|number|likely|most|probably|clearly|definitely|indeed"
    r"|therefore|thus|simply|actually|still|hence|correct|right|best)[\s:,]+){0,4}"
)
_IS = r"\b(?:is|was|(?:would|should|must|will|has[ ]to|seems[ ]to|appears[ ]to)[ ]be)\b"
_LABEL = re.compile(
    rf"(?<![A-Za-z]){_NOUN}{_GAP}[\"'”]?\s*"
    rf"(?::|=|[-–—]+>?|→|(?:{_IS}|['’]s\b|是|为)\s*[:–—-]?)\s*{_FILL}{_LETTER}",
    re.IGNORECASE,
)
_NOUNS = re.compile(rf"(?<![A-Za-z]){_NOUN}", re.IGNORECASE)
_MOST_LABELS = 300
_HEADING = re.compile(
    r"^[ \t]*(?:(?:final|correct|my)[ ])*(?:answer|ans\.?|correct:)\s+"
    rf"(?:(?:option|choice)[ ])?{_LETTER}",
    re.IGNORECASE | re.MULTILINE,
)
_ABBREVIATED = re.compile(rf"A[ \t]*:[ \t]*{_LETTER}{_CLOSE}*\s*")


def _labelled(text: str) -> str | None:
    if found := _ABBREVIATED.fullmatch(text):  # "A: B", as in question and answer
        return found["letter"].upper()
    nouns = deque((found.start() for found in _NOUNS.finditer(text)), maxlen=_MOST_LABELS)
    return _last(text, _LABEL, _HEADING, start=nouns[0] if len(nouns) == _MOST_LABELS else 0)


_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+")


def _last_line(text: str) -> str | None:
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return None
    letters = [found["letter"].upper() for line in lines if (found := _BARE.fullmatch(line))]
    if _BARE.fullmatch(lines[-1]):
        # Two different ones are a correction; more repeat the options.
        return letters[-1] if len(set(letters)) <= 2 else _NO_CHOICE
    sentences = [part for part in _SENTENCE_END.split(lines[-1]) if _BARE.fullmatch(part)]
    alone = len(sentences) == 1 and lines[-1].endswith(sentences[0])
    return _bare(sentences[0]) if alone else None


_STARTS = re.compile(
    r"(?:(?:sure|ok|okay|certainly|yes)[!,.:]?\s+)?"
    rf"(?P<named>(?:option|choice|letter)[ ])?{_LETTER}",
    re.IGNORECASE,
)
_TEXT_FOLLOWS = re.compile(r"[ \t]+(?:[A-Z$€£\d\"“]|-?\d)")
_MARKED = re.compile(
    r"[)\]>.:,;!\"'”’»](?=\W|[A-Z\d]|$)|[ \t]*(?:[–—|→:]|-\s|-+>)|[ \t]*(?:\n|$)"
    r"|[ \t]+(?:\(|(?:because|probably|definitely|likely)\b)"
)
_MARKER = re.compile(
    r"(?:(?<=\s)|^)\(?([A-G])[).:](?=\s|$)(?!\s+(?:is|was|are|isn|would|does|can)\b)"
)
_EXPLAINS = re.compile(
    r"explanation|explain|because|reason|incorrect|wrong|other options|not correct|whereas|however",
    re.IGNORECASE,
)


def _opening(text: str) -> str | None:
    found = _STARTS.match(text)
    if not found:
        return None
    rest = text[found.end() :]
    letter = _chosen(found)
    if not letter or not (
        found["named"]
        or _MARKED.match(rest)
        or (found["letter"] in "BCDEFG" and _TEXT_FOLLOWS.match(rest))
    ):
        return None
    return None if _lists_options(letter, rest) else letter


def _lists_options(first: str, rest: str) -> bool:
    """Whether ``rest`` goes on with the next option's letter, as a repeated question does."""
    for marker in _MARKER.finditer(rest):
        if marker[1] != first:
            in_order = ord(marker[1]) == ord(first) + 1
            return in_order and not _EXPLAINS.search(rest[: marker.start()])
    return False


_RIGHT = (
    r"(?:(?:the|most|likely|probably|clearly|definitely|indeed|therefore|only|also)[ ]){0,4}"
    r"(?:correct|right|best|appropriate|answer)\b"
)
_IS_RIGHT = re.compile(
    rf"{_FIRST_LETTER}(?i:{_CLOSE}*[ \t]*(?=[aimswh])(?:{_IS}|seems|appears)[ ]{_RIGHT})"
)
_REMAINS = re.compile(rf"{_FIRST_LETTER}(?i:{_CLOSE}?(?=[ ](?:remains|is[ ]left)\b))")
_CHOOSES = re.compile(
    rf"\b(?=[bcdghilmopstw])(?:(?:I|I['’](?:d|ll|m)|would|will|to|going)[ ](?:to[ ])?"
    r"(?:choose|pick|select|say|guess|think|believe|answer|answer[ ]with|go[ ]for)"
    r"|leaves|leaving|go[ ]with|going[ ]with|choose|select|pick|only|but"
    r"|it['’]s|that['’]s|is|be|so|thus|therefore|hence|probably|most[ ]likely|definitely)"
    rf"[,:]?\s+{_FILL}{_LETTER}",
    re.IGNORECASE,
)


_RIGHT_WORDS = ("correct", "right", "best", "appropriate", "answer")


def _claimed(text: str) -> str | None:
    lower = text.lower()
    patterns = [_CHOOSES]
    # Patterns that try every letter take their time, and most texts do not have the words.
    if any(word in lower for word in _RIGHT_WORDS):
        patterns.append(_IS_RIGHT)
    if "remains" in lower or "is left" in lower:
        patterns.append(_REMAINS)
    return _last(text, *patterns, set_off=True)


_MENTION = re.compile(rf"\b(?=[oc])(?:option|choice)[ ]{_LETTER}", re.IGNORECASE)
_BRACKETED = re.compile(r"\(([A-G])\)")
_ENDS_A_LINE = re.compile(r"\([A-G]\)[.!]?[ \t]*$", re.MULTILINE)

_END_OF_LINE = re.compile(r":[ \t]*([A-G])[.!]?$")


def _mentioned(text: str) -> str | None:
    letters = {_chosen(found) for found in _MENTION.finditer(text)}
    if _ENDS_A_LINE.search(text):
        letters |= set(_BRACKETED.findall(text))
    if labelled := _END_OF_LINE.search(text):
        letters.add(labelled[1])
    letters.discard(None)
    return letters.pop() if len(letters) == 1 else None
