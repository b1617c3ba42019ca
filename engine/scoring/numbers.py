"""Chooses the number that a reply gives as its answer, and none where that can be doubted.

1. A marked answer: ``#### 18``, ``\\boxed{18}``, ``<answer>18</answer>``; else
   ``final answer: 18``; else ``the answer is 18``, ``{"answer": 18}``. All marks of the best kind
   must agree.
2. Without a mark: a number that is the first line, the only number in bold, and what the last
   sentence with a number concludes. Those that there are must agree. A sentence concludes if it
   says so ("so", "in total"), if it is the only one with a number, if it is a number alone, if it
   repeats the last equation's result, or if it is an equation that is the only one or uses the
   result of the one before.
3. A mark or sentence must state one value (:func:`number_statements.stated`), without any sign of
   doubt: a bound, a denial, an alternative, a condition, a range, a term still to be computed.
4. Nothing after the answer may take it back or give another number as a conclusion, and a reply
   that was cut off has none.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from evalbench.engine.scoring import number_words as table
from evalbench.engine.scoring.number_statements import (
    ANY_COPULA,
    BRACKETS,
    DANGLES,
    EQUALS,
    IF_GIVEN,
    LETTER_OR_DIGIT,
    LONGEST_SENTENCE,
    RESULT,
    SO,
    bold_values,
    operands,
    restates,
    stated,
)
from evalbench.engine.scoring.number_text import (
    BOLD,
    CLOSE,
    HASHES,
    LONGEST,
    MOST_MARKS,
    OPEN,
    OURS,
    normal_text,
)
from evalbench.engine.scoring.numerals import Numeral, has_numeral, numerals, plain_digits
from evalbench.engine.scoring.reply_text import before_next_question, ends, spoken
from evalbench.engine.scoring.word_tables import words

_MOST_DIGITS = 300


def read_number(reply: str) -> str | None:
    """The number a reply gives, as plain decimal digits: ``1,024.50`` reads as ``1024.5``.

    None if there is none, or if a careful reader could not tell which one is meant. See the module
    docstring for the rules. Non-terminating fractions have 15 digits.
    """
    head, _ = before_next_question(OURS.sub("", ends(spoken(reply), LONGEST)))
    if _FAILED.match(head):
        return None
    text = normal_text(head)
    retracted = False
    for back in reversed(list(_TAKEN_BACK.finditer(text))):
        if _SENTENCE_STARTS.search(text, max(0, back.start() - 8), back.start()):
            retracted = bool(text[: back.start()].strip())
            text = text[back.end() :]
            break
    marks = sorted(_marks(text), key=lambda mark: mark.start)
    value = _marked(text, marks) if marks else _unmarked(text, retracted=retracted)
    return None if value is None else plain_digits(value)


def parse_number(text: str) -> Fraction | None:
    """The value of a text that is only a number, such as a reference answer in a table.

    Without words around it, ``70.000`` is 70 and not ambiguous.
    """
    try:
        number = Decimal(text.strip().replace("−", "-"))
        if number.is_finite() and abs(number.adjusted()) < _MOST_DIGITS:
            return Fraction(number)
    except ArithmeticError:
        pass
    read = read_number(text)
    return None if read is None else Fraction(read)


_FAILED = re.compile(
    r"\W*+(?:error(?=\W*$|\s?:|\s(?:code|message)|\s\d{3}\b)|http(?:/[\d.]+)?\s(?:error\s)?\d{3}\b"
    r"|internal server error|(?:your )?request (?:exceed|was reject)"
    r"|(?:please )?(?:re)?try again|please retry"
    r"|rate limit|too many requests|service unavailable"
    r"|request (?:failed|timed out)|timed? ?out\b|traceback \()"
    r"|\s*>\s*[-$€£]*[\d.,]+[^\n\d]{0,20}$",  # a bound, or a quoted number
    re.IGNORECASE,
)
_SENTENCE_STARTS = re.compile("(?:^|[.!?…)\\n\ue002\ue003])\\W{0,6}$")
_TAKEN_BACK = re.compile(
    r"\b(?:(?:but |oh,? )?wait\b|hold on\b|hmm+|oops"
    r"|correction\b|scratch that"
    r"|no(?:,|\swait\b)|sorry\b|i mean\b|make that\b|apologies|i apologi[sz]e|actually,"
    r"|on second thought|i made an? (?:mistake|error)"
    r"|edit:|update:|let me (?:re|correct|fix|try again|redo)|my mistake"
    r"|that(?:['’]s| is| was) (?:wrong|incorrect|not (?:right|correct)))",
    re.IGNORECASE,
)

# -- marked answers

_ADJECTIVE = (
    r"(?:(?:final|correct|right|numerical|numeric|simplified|exact|overall|my|total)[ ]){0,3}"
)
_NOUN = (
    r"(?=[aslrocđоاउค答解正정답vjвαת])(?:answer|ans\.?|solution|result|respuesta|réponse|antwort"
    r"|lösung|resposta|risposta|odpowiedź|odpowiedz|odpověď|antwoord|svar(?:et)?|vastaus|válasz"
    r"|răspuns(?:ul)?|jawaban(?:nya)?|відповідь|απάντηση|תשובה|cevap|sonuç|đáp[ ]án|đáp[ ]số|ответ"
    r"|الإجابة|الجواب|उत्तर|คำตอบ|答え|解答|答案|正解|정답|답)"
)
_VERB = (
    r"(?:is|are|was|equals|would[ ]be|will[ ]be|should[ ]be|must[ ]be|comes[ ](?:out[ ])?to|es"
    r"|est|ist|lautet|é|è|to|là|är|er|adalah|este|je|είναι"
    r"|هو|هي|है|คือ|は|是|为|為|は、|은|는)"
)
_LABEL = re.compile(
    rf"(?<![A-Za-z-])(?P<kind>{_ADJECTIVE}){_NOUN}(?P<gap>(?:[ \t]+(?!(?:not|cannot|choice"
    rf"|option|no|non|não|nicht|nie|не|bukan|inte|niet|ikke|nu)\b)[^\s.:;!?,=<>]{{1,20}}(?<!n['’]t)"
    rf"){{0,8}}?(?:,[ ](?:then|therefore|thus|of course|in this case),)?)"
    rf"[\"'”{BOLD}*_]*\s*(?:[:=]|[-–—]+>?(?=\s)|→|⇒|(?P<verb>(?<![A-Za-z]){_VERB}(?![A-Za-z])))"
    rf"|^[ \t]*{BOLD}?A{BOLD}?:{BOLD}?(?![^\n]*\n+[ \t]*{BOLD}?B{BOLD}?:)"
    rf"|(?<![A-Za-z])(?P<heading>{_ADJECTIVE}{_NOUN})[ \t]*{BOLD}?[ \t]*(?=\n)",
    re.IGNORECASE | re.MULTILINE,
)
_ANY_NOUN = re.compile(rf"{_NOUN}|^[ \t]*{BOLD}?A{BOLD}?:", re.IGNORECASE | re.MULTILINE)
_NOT_MINE = re.compile(
    r"(?:old|prior|former|draft|suggested|proposed|candidate|wrong|incorrect|common|other|another|first|second|third|initial|previous|earlier|partial|intermediate"
    r"|tempting|intuitive|obvious|na[iï]ve|apparent|student['’]?s?|expected|given|possible|no"
    rf"|original|an|any|each|every|next)[ {BOLD}]+(?:the )?$",
    re.IGNORECASE,
)
_IF_SO = re.compile(
    r"\b(?:if|unless|had|whether|suppos\w+|assum\w+|imagine|pretend|let['’]?s\ssay|(?:might|may|could|would|people|tempt(?:ed|ing)|often|many|some|students)"
    r"\b[^.\n]{0,30}\b(?:think|say|guess|believe|assume|expect|answer|conclude))\b[^.\n]{0,80}\Z",
    re.IGNORECASE,
)
_WEAK_NOUN = re.compile("solution|result|lösung|sonuç", re.IGNORECASE)
_GAP_OF_PARTS = re.compile(r"\d|\b(?:part|step)\b")
# "The answer in dollars: 5", but not "Express the answer as a percentage: 5"
_BEGINS = re.compile(
    r"(?:^|[.\n])\W*(?:(?:so|thus|hence|therefore|then|and|the|my|our|here(?:['’]s| is))\W+)*\Z",
    re.IGNORECASE,
)
_FINAL = re.compile(r"final", re.IGNORECASE)
_FILL = re.compile(
    rf"(?:[\s:*\"'“‘(\[≈~%{BOLD}{OPEN}]|\\|(?:about|approximately|circa|roughly|around"
    r"|exactly|just|only|simply|therefore|thus|then|still|indeed|clearly|actually|a total of"
    r"|equal to|the number|it is|it['’]s|(?:the\s)?(?:correct|final)|là|la|el|le|die|das"
    r"|rund|etwa|circa|environ|unos|unas|cerca\sde|около)\b"
    r"|[A-Za-z]\s?=(?!=)|=|(?:US|R|A|CA?)?\$(?!\d)|∴|のは|approx\.?(?=\s)|ca\.)*",
    re.IGNORECASE,
)
_DENIED = re.compile(r"(?:not|never|nicht|pas|no|non|não|не|不是)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Mark:
    """An answer that is named as one; ``rank`` 2 is a box, 1 a final answer, 0 another label.

    -1 is an answer that is denied, or that others give.
    """

    start: int
    end: int
    value: Fraction | None
    rank: int


def _marks(text: str) -> Iterator[_Mark]:
    yield from _box_marks(text)
    yield from _hash_marks(text)
    yield from _label_marks(text)


_NOT_BOX = re.compile(r"\b(?:not|rather\sthan|instead\sof)[\s$]{0,5}$", re.IGNORECASE)


def _box_marks(text: str) -> Iterator[_Mark]:
    at = text.find(OPEN)
    while at >= 0:
        end = text.find(CLOSE, at)
        if end < 0:
            yield _Mark(at, len(text), None, 2)  # cut off inside it
            return
        inside = text[at + 1 : end]
        if inside.strip() and not _NOT_BOX.search(text, max(0, at - 40), at):
            reading = stated(inside)
            yield _Mark(at, end + 1, reading.value if reading else None, 2)
        at = text.find(OPEN, end)


def _hash_marks(text: str) -> Iterator[_Mark]:
    """Lines after ``####`` that are not headings: those have words, as in "2. Add them up"."""
    places = [at for at, sign in enumerate(text) if sign == HASHES] if HASHES in text else []
    for at in places[-MOST_MARKS:]:
        end = _line_end(text, at)
        line = text[at + 1 : end].replace(BOLD, " ").replace(OPEN, " ").replace(CLOSE, " ")
        if _is_bare(line):
            reading = stated(line)
            yield _Mark(at, end, reading.value if reading else None, 2)


_WORDS_AFTER = re.compile(r"[^\W\d_]{2,}")


def _is_bare(line: str, most: int = 3) -> bool:
    """Whether a line is a number with at most a unit: no list item, no sentence."""
    line = BRACKETS.sub(" ", line)
    found = numerals(line)
    if (
        len({number.value for number in found}) != 1
        or line.rstrip().endswith(":")
        or re.match(r"\s*\(?\d{1,2}[.)]\s+\S", line)
    ):
        return False
    filled = _FILL.match(line)
    start = filled.end() if filled else 0
    if RESULT.search(line, found[0].start):
        return False
    if re.search(r"[^\x00-\x7f]", line[found[-1].end :]):
        most = min(most, 1)
    words = _WORDS_AFTER.findall(_without_numerals(line, found), found[0].start)
    return found[0].start <= start + 1 and len(words) <= most


def _without_numerals(text: str, found: Sequence[Numeral]) -> str:
    for number in reversed(found):
        text = text[: number.start] + " " * (number.end - number.start) + text[number.end :]
    return text


def _label_marks(text: str) -> Iterator[_Mark]:
    nouns = deque((found.start() for found in _ANY_NOUN.finditer(text)), maxlen=MOST_MARKS)
    if not nouns:
        return
    start, stop = max(0, nouns[0] - 60), nouns[-1] + _WINDOW
    for label in deque(_LABEL.finditer(text, start, stop), maxlen=MOST_MARKS):
        before = text[max(0, label.start() - 90) : label.start()]
        kind = (label["kind"] or label["heading"] or "").strip()
        if _WEAK_NOUN.search(label[0]) and not (label["kind"] or "").strip():
            continue
        if (gap := label["gap"]) and (
            _GAP_OF_PARTS.search(gap) or not (label["verb"] or _BEGINS.search(before))
        ):
            continue
        start = _next_text(text, label.end())
        stop = _sentence_end(text, start)
        content = text[start:stop]
        reading = stated(content)
        filled = _FILL.match(content)
        if reading is None:
            continue
        if (
            _NOT_MINE.search(before[-24:])
            or _IF_SO.search(before)
            or _DENIED.match(content, filled.end() if filled else 0)
        ):
            yield _Mark(label.start(), stop, None, -1)
            continue
        bare = numerals(content)[0].start <= (filled.end() if filled else 0) + 1
        if bare or label["verb"] or _is_sentence(text, label, stop):
            rank = 1 if _FINAL.search(kind) else 0
            yield _Mark(label.start(), stop, reading.value, rank)


def _is_sentence(text: str, label: re.Match[str], stop: int) -> bool:
    """Whether a label and the sentence after it are a line: "Answer: they have 62 in all"."""
    line = text[: label.start()].rpartition("\n")[2]
    rest = text[stop : _line_end(text, stop)]
    content = text[label.end() : stop]
    return (
        not re.search(r"\w", line)
        and not re.search(r"\w", rest)
        and not _GOES_ON.match(content)
        and not EQUALS.search(content)
    )


_GAP_BEFORE = re.compile(rf"[\s{BOLD}*]*")


def _next_text(text: str, at: int) -> int:
    found = _GAP_BEFORE.match(text, at)
    return found.end() if found else at


_WINDOW = 300


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return min(len(text) if end < 0 else end, at + _WINDOW)


def _sentence_end(text: str, at: int) -> int:
    stop = _line_end(text, at)
    end = _STOP.search(text, at, stop)
    return end.start() + (text[end.start()] in "?!") if end else stop


_STOP = re.compile(
    r"(?<!\bRs)(?<!approx)(?<!\bca)[.!?](?=\s|$|[\"'”*])|,(?=\s?[\"'][a-z_]+[\"']\s?:)", re.I
)


def _marked(text: str, marks: Sequence[_Mark]) -> Fraction | None:
    """What all marks of the best kind say, if nothing after them says something else."""
    best = max(mark.rank for mark in marks)
    chosen = [mark for mark in marks if mark.rank == best]
    value = chosen[0].value
    if value is None or any(mark.value != value for mark in chosen):
        return None
    if any(mark.value != value for mark in marks if mark.start > chosen[-1].end and mark.rank >= 0):
        return None
    end = max(mark.end for mark in marks)
    return None if _is_doubted(text[end:], value, equations=not best) else value


def _is_doubted(text: str, value: Fraction, *, equations: bool) -> bool:
    """Whether what follows an answer gives another: as a conclusion, or as an alternative."""
    sentences = _sentences(text, least=0)
    for at, sentence in enumerate(sentences):
        if at == 0 and _WHY.match(sentence):
            continue
        if _UNSURE.search(sentence):
            return True
        reading = stated(sentence) if _HEDGE.search(sentence) else None
        if reading is not None and (at == 0 or reading.value != value):
            return True
    with_numerals = [sentence for sentence in sentences if has_numeral(sentence[:LONGEST_SENTENCE])]
    if not with_numerals:
        return False
    last = with_numerals[-1]
    if not _CONCLUDES.search(last) and not (equations and _ENDS_EQUATION.search(last)):
        return False
    if re.match(r"\W*(?:because|since)\b", last, re.IGNORECASE):
        return False
    reading = stated(last)
    if reading is not None and not SO.search(last) and value in _results(last):
        return False  # "Indeed, 3 + 7 = 10 and 10 - 3 = 7."
    return reading is not None and reading.value not in (None, value)


_WHY = re.compile(r"\W*(?:why|how(?:\sso)?)\s?\?", re.IGNORECASE)


def _results(text: str) -> set[Fraction | None]:
    """The numbers right after signs of equality."""
    found = numerals(text)
    signs = [sign.end() for sign in EQUALS.finditer(text)]
    return {next((n.value for n in found if n.start >= end), None) for end in signs} - {None}


# -- conclusions

_ITEM = re.compile(
    rf"^[ \t]*(?:[-*•+–][ \t]+)?{BOLD}?\(?(\d{{1,2}})[.)](?:[ \t]+(?=\S)|[ \t]*$)", re.MULTILINE
)
_BULLET = re.compile(
    r"^[ \t]*(?:[-*•+][ \t]+|\(?[a-h][.)][ \t]+)(?=\S)", re.IGNORECASE | re.MULTILINE
)
# From the first of several blanks only: a long run would take the square of its length.
_OPERATOR_LINE = re.compile(r"(?:(?<![ \t])[ \t]++)?\n[ \t]*+([-+*/=×÷–])[ \t]*+\n[ \t]*+")
_EQUALS_LINE = re.compile(r"(?<=[^\s:.])[ \t]*\n\s*(?==(?!=))")
_STEP = re.compile(
    r"\b(step|part|case|day|week|round)[ ]\d{1,2}\b(?=[ \t]?[:.)(\ue003–—-]|[ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)


def _without_list_marks(text: str) -> str:
    """The text without bullets and list numbers.

    A number at the start of a reply, followed by a full stop, may also be its answer: a list starts
    with 1. A lone "1." or "- 5" can be either, and is changed so that it is not a number.
    """
    text = _EQUALS_LINE.sub(" ", text)
    text = _OPERATOR_LINE.sub(r" \1 ", _STEP.sub(r"\1", text))
    bullets = len(_BULLET.findall(text))
    if bullets == 1:
        text = re.sub(r"^[ \t]*[-–][ \t]+(?=[$€£]?\d)", "±", text, flags=re.MULTILINE)
    text = _BULLET.sub("• " if bullets > 1 else "", text)
    items = [int(found[1]) for found in _ITEM.finditer(text)]
    if items and items[0] == 1 and text.strip("1.) \n"):
        return _ITEM.sub("• " if len(items) > 1 else "1-1 ", text)
    return text


_SPLIT = re.compile(
    r"\n+|(?<=[.?。！？])(?<!\bNo\.(?=\s\d))(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\bca\.)"
    r"(?<!\bp\.)(?<!\bpp\.)"
    r"(?<!\bRs\.)(?<![ap]\.m\.(?=\s[a-z]))[\ue003\"'”’)]*\s+(?=\S)"
    r"|(?<=!)[\ue003\"'”’)]*\s+(?=[^\s=×*/+a-z])"
)
_CONCLUDES = re.compile(
    SO.pattern
    + r"|\b(?:in\s(?:total|all|conclusion)|altogether|together|overall|finally|conclusion"
    r"|the\s(?:total|answer|result|sum|difference|product|quotient)|as\sa\sresult"
    r"|also(?=:))\b"
    rf"|\b(?:total|sum|result|answer)(?:\s[^\W\d]+){{0,2}}\s?[:=]|{words(table.CONCLUDES)}",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"[\W_]*(?:(?:the\s)?first(?:ly)?|to\s(?:start|begin|find|solve|calculate|determine|get)"
    r"|initially|which\sis\salso|next|let|if|suppose|assum(?:e|ing)|however|but|given|we\s(?:also\s)?know|after\sthat"
    r"|for\sexample|e\.g\.|note|remark|ps|p\.s\.|alternatively|otherwise|(?:a|one)\scommon"
    r"|(?:(?:so\s)?(?:we|i|you)(?:['’]re|['’]d|\sare)?|the\s(?:question|problem|task))\s"
    r"(?:\w+\s){0,2}(?:need|want|have|told|asked|asks|like|trying|try|must|going|gives|states|says)"
    r"(?:\sus)?(?:\sto\s(?:find|know|determine|compute|calculate|work|figure|solve)"
    r"|\s(?:how|what|that)|(?<=gives)\s\d))\b"
    rf"|[\W_]*(?:{words(table.BEGINS)})",
    re.IGNORECASE,
)
_A_STEP = re.compile(r"[\W_]*(?:step|part|case)\b", re.IGNORECASE)
_STILL_TO_COME = re.compile(r"[\W_]*(?:now|then|second|third)\b", re.IGNORECASE)
_ASIDE = re.compile(
    r"[\W_]*(?:let\sme\sknow|i\shope|hope\sth|feel\sfree|please\slet|if\syou\s(?:(?:need|want)\s(?:me|any|more|help"
    r"|further)|have\s(?:any|more|other|further|questions|another|\d\s(?:more|questions))|would\slike)|would\syou\slike|do\syou|does\sth(?:is|at)\b|is\sthere|happy\sto|glad\sto|thank"
    r"|good\sluck|that['’]s\s(?:it|all|how)\b|note\sthat\b(?=[^\d]*$)|well\sdone|(?:great|nice|neat|easy|done|cool|ta-?da)\W*$)",
    re.IGNORECASE,
)
_CHECKS = re.compile(
    r"[\W_]*(?:(?:step|part)\W{1,3}(?:\([^()]*\)\W*)?)?(?:(?:let['’]?s|we\scan|i['’]?ll|to)\s)?"
    r"(?:double[- ]?)?(?:check(?:ing)?|verif(?:y|ication|ying)|sanity|confirm(?:ing|ation)?|proof"
    r"|look(?:ing)?\sback|(?:plug|substitut)\w*(?:\s\w+)?\s(?:back|in)\b|work(?:ing)?\sback(?:wards?)?"
    r"|in\sreverse|conversely|(?:th(?:is|at)|it)\s(?:works|fits|makes\ssense|is\scorrect|checks\sout)"
    rf"|{words(table.CHECKS)})(?!\w)",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    r"\b(?:as an ai|i(?:['’]m| am) (?:not (?:\w+ )?(?:sure|certain)|unsure|unable|sorry)"
    r"|i (?:can(?:['’]t|not)|could ?n['’]t|do ?n['’]t know)|sorry,(?! (?:that|it|i meant|my|the))"
    r"|(?:can(?:['’]t|not)|can not|could not|couldn['’]t) be (?:determined|answered|computed"
    r"|calculated|sure|solved)"
    r"|(?:not|n['’]t) enough (?:information|data)|insufficient (?:information|data))"
    r"|n['’]t enough (?:information|data)|\b(?:it|the answer|that) depends\b|^\W*(?:unknown|n/a)\b"
    r"|\bneed more (?:information|details|data)|\b(?:is|looks|seems|was) (?:wrong|incorrect)\b"
    rf"|\bcould be (?:wrong|mistaken|off)|{words(table.REFUSES)}",
    re.IGNORECASE,
)
_HEDGE = re.compile(
    r"\b(?:or|maybe|perhaps|possibly|might|(?-i:may)|could|however|but|although|though|unless|actually"
    r"|alternatively|otherwise|instead|wait|correction|if|should be|mis(?:read|take|counted)"
    r"|corrected|revised|wrong|incorrect)\b|\?",
    re.IGNORECASE,
)
_ENGLISH = re.compile(
    r"\b(?:the|she|he|they|it|there|has|have|will|would|makes|total|left|of|and|is|are|you|each"
    r"|cost|costs|that|this|needs?|takes?|earns?|on|for|with|were|was|be|should|can|must|his|her"
    r"|their|its|in|i|we|us|me|which|got|get|gets|by|after|from|to|at|does|did|remain|per|all)\b",
    re.IGNORECASE,
)
# A word with a letter that English does not have, or a common word of another language
_FOREIGN = re.compile(
    r"(?=[^\W\d_])(?-i:[\u00c0-\uffff])|\b(?:ne|rimangono|miaka|asilimia|sasa|el|los|las|es|son|hay|una?|del|le|les|est|une|des|du|il"
    r"|elle|ils|der|die|das|ist|sind|hat|haben|ein|eine|sie|er|im|os|um|uma|tem|ao|gli|della|sono|ha|nel|per"
    r"|het|een|heeft|zijn|van|och|har|att|det|og|ma|jest|na|bir|var|yang|adalah|dan|tahun|ni|ya|wa|kwa|ana|di"
    r"|que|para|cada|por|quedan|sobraram|restam|restano|restent|toplam|kaldı|bleiben|kosten)\b",
    re.IGNORECASE,
)
_ENDS_EQUATION = re.compile(r"[=≈→]\s*[-$€£\d(\ue003]")
_MOST_SENTENCES = 30


def _sentences(text: str, *, least: int = 1) -> list[str]:
    """The sentences of a text before it checks itself, and without pleasantries at its end.

    ``least``: how many are sentences anyhow.
    """
    parts = [s for s in _SPLIT.split(text) if LETTER_OR_DIGIT.search(s)]
    for at in range(len(parts) - 1, 0, -1):
        if _opened(parts[at - 1]) > 0 > _opened(parts[at]):
            parts[at - 1 : at + 1] = [f"{parts[at - 1]} {parts[at]}"]
    if len(parts) > _MOST_SENTENCES:
        parts = [parts[0], *parts[1 - _MOST_SENTENCES :]]
    for at, sentence in enumerate(parts):
        if at >= least and _CHECKS.match(sentence):
            if any(SO.search(later) and has_numeral(later) for later in parts[at + 1 :]):
                continue
            parts = parts[:at]
            break
    for at in range(max(least, len(parts) - 4), len(parts)):
        if _ASIDE.match(parts[at]):
            parts = parts[:at]
            break
    while len(parts) > max(least, 1) and _is_remark(parts[-1]):
        parts = parts[:-1]
    return parts


_IN_BRACKETS = re.compile(r"[\W_]*\([^()]*(?:\([^()]*\)[^()]*)*\)?[\W_]*")
_REMARK = re.compile(
    rf"[\W_]*(?:(?:{words(table.REMARKS)})\s?[:：,，、)]|(?:this|that|which)(?:['’]s|\sis)\s\S+\s(?:\w+\s)?"
    r"(?:more|less|fewer|higher|lower|greater|fewer)\sthan\b|if\b(?=[^=]*$)(?=.{1,100}\b(?:had|were|also|instead)\b).{1,100}\bwould\b"
    r"|(?:c['’]est|soit)\s\S+\s(?:\w+\s)?de\s(?:plus|moins)\sque\b"
    r"|(?:das\ssind|das\sist)\s\S+\s(?:\w+\s)?(?:mehr|weniger)\sals\b"
    r"|(?:son|es|eso\ses)\s\S+\s(?:\w+\s)?(?:más|menos)\sque\b"
    r"|(?:são|é)\s\S+\s(?:\w+\s)?(?:a\s)?(?:mais|menos)\s(?:do\s)?que\b"
    r"|(?:sono|è)\s\S+\s(?:\w+\s)?in\s(?:più|meno)\b|这?比.{1,12}[多少高低])",
    re.IGNORECASE,
)


def _is_remark(sentence: str) -> bool:
    """Whether a sentence only adds something to an answer: in brackets, "Note:", "if … would".

    What says that the answer could be another is more than that.
    """
    if _RECONSIDERS.search(sentence):
        return False
    return bool(
        _IN_BRACKETS.fullmatch(sentence) or _REMARK.match(sentence) or _TICKED.search(sentence)
    )


# "150 ÷ 3 = 50 ✓", "7 × 4 = 28, as required"
_TICKED = re.compile(
    r"=[^=\n]{1,40}(?:[✓✔☑]"
    r"|,?\s(?:as\s(?:required|expected|given|stated|desired|needed|it\sshould)|which\s(?:matches|checks|is\s(?:correct"
    r"|right|what))|so\s(?:it|that|this)(?:['’]s|\sis)\s(?:right|correct))\b[^=\d]*)\W*$",
    re.IGNORECASE,
)


_RECONSIDERS = re.compile(
    r"\b(?:could|might|may(?!\s(?:apply|vary|differ))|maybe|perhaps|or|alternatively|actually|correct\w*|wrong|mistake|wait|final)\b",
    re.IGNORECASE,
)


def _opened(text: str) -> int:
    """How many brackets a text opens and does not close."""
    return text.count("(") - text.count(")")


def _unmarked(text: str, *, retracted: bool) -> Fraction | None:
    """What an unmarked reply comes to, where all that says so agrees."""
    sentences = _sentences(_without_list_marks(re.sub("[\ue001\ue002\ue004]", " ", text)))
    if any(_UNSURE.search(sentence[:300]) for sentence in sentences[-12:]):
        return None
    with_numerals = [at for at, s in enumerate(sentences) if has_numeral(s[:LONGEST_SENTENCE])]
    if not with_numerals or DANGLES.search(sentences[-1]) or _breaks_off(sentences):
        return None
    last = sentences[with_numerals[-1]]
    closing = _closing(sentences, with_numerals, retracted=retracted)
    values = {closing} - {None}
    if retracted:
        values |= {_bold(sentences, with_numerals[-1:])} - {None}
    else:
        values |= {_opening(sentences, text), _bold(sentences, with_numerals)} - {None}
    bare = stated(last) if _is_bare(last) else None
    if bare is not None and values:
        values.add(bare.value)
    if len(values) != 1:
        return None
    value = values.pop()
    rest = "\n".join(sentences[1:])
    if value is None or (closing is None and _is_doubted(rest, value, equations=True)):
        return None
    return value


_ENDS_SENTENCE = re.compile(r"[.!?:;。！？…।)\]}\"'”’»✅\U0001f300-\U0001faff]\W*$")
_WORD = re.compile(r"[^\W\d_]{2,}")


def _breaks_off(sentences: Sequence[str]) -> bool:
    """Whether a reply ends without a full stop, and all sentences before have one."""
    prose = [one for one in sentences if len(_WORD.findall(one)) > 2]
    if not prose or prose[-1] is not sentences[-1]:
        return False
    *before, last = prose
    return (
        len(before) > 1
        and not _ENDS_SENTENCE.search(last)
        and all(_ENDS_SENTENCE.search(one) for one in before)
    )


def _opening(sentences: Sequence[str], text: str) -> Fraction | None:
    """The number that is the first line, or a first sentence without even a unit."""
    first = sentences[0]
    line = text.strip().partition("\n")[0]
    own_line = first.strip(f" .!{BOLD}") == line.strip(f" .!{BOLD}")
    if first.startswith("•") or "=" in first or not _is_bare(first, 3 if own_line else 2):
        return None
    if len(sentences) > 1 and _IS_OR_DOES.search(first):
        return None  # "120 melons were grown", and then what became of them
    reading = stated(first)
    return reading.value if reading else None


_IS_OR_DOES = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|will|would|can|do|does|did|costs?|equals?|makes?"
    r"|gives?|per|each|every)\b|/",
    re.IGNORECASE,
)


def _bold(sentences: Sequence[str], with_numerals: Sequence[int]) -> Fraction | None:
    """The only number in bold, if it is in the first or the last sentence with numbers."""
    values: set[Fraction | None] = set()
    for at in with_numerals:
        if BOLD not in sentences[at] or not (found := bold_values(sentences[at])):
            continue
        values.update(found)
        reading = stated(sentences[at])
        asked = sentences[at].rpartition(":")[2]
        step = _is_step(sentences[at]) and BOLD not in asked
        if at not in (with_numerals[0], with_numerals[-1]) or step or reading is None:
            values.add(None)
        else:
            values.add(reading.value)
    return values.pop() if len(values) == 1 else None


def _closing(
    sentences: Sequence[str], with_numerals: Sequence[int], *, retracted: bool
) -> Fraction | None:
    """What the last sentence with numbers states, if it concludes the reply."""
    at = with_numerals[-1]
    sentence = sentences[at]
    if at != len(sentences) - 1 or sentence.rstrip(f" {BOLD}").endswith((":", ",")):
        return None
    if _TASK.search(sentence) and _is_bare(tail := sentence.rpartition(":")[2], 1):
        asked = stated(tail)
        return asked.value if asked else None
    if _GOES_ON.match(sentence) and not IF_GIVEN.match(sentence):
        return None
    before = [sentences[one] for one in with_numerals[:-1]]
    reading = stated(sentence)
    if reading is None or reading.value is None:
        return _restated(sentence, before)
    if before and _CONVERSION.match(sentence):
        return None
    if _CONCLUDES.search(sentence):
        plans = not before and any(map(_is_step, sentences[:at]))
        return None if plans and not SO.search(sentence) else reading.value
    if retracted or _TASK.search(sentence) or _looks_back(sentence, reading.value, before):
        return None
    if _A_STEP.match(sentence) and not before:
        return None
    stepwise = any(_A_STEP.match(one) for one in sentences[: at + 1])
    restated = stepwise or any(_RESTATED.search(one) for one in sentences[:at])
    sure = (
        _is_only(sentence, first=not before and not restated)
        or (_is_bare(sentence, 0) and not sentence.startswith("•") and not _lists(before))
        or _follows(sentence, reading.value, before, stepwise=stepwise)
    )
    return reading.value if sure else None


_BACK = re.compile(
    r"\b(?:indeed|back|reverse|backwards?|substitut\w+|plug\w*|match\w*|agree\w*|consistent"
    rf"|as\s(?:required|expected|given|stated))\b|[✓✔☑✅]|^\W*(?:{words(table.BECAUSE)})",
    re.IGNORECASE,
)
_FOR_INSTANCE = re.compile(r"\W*(?:for|if)\b", re.IGNORECASE)
_FOUND = re.compile(rf"\W*[a-z]\s?=[\s{BOLD}$]*-?[$€£]?[\d.,/]+[\s{BOLD}$]*[.;]?\W*", re.IGNORECASE)
_WORDS = re.compile(r"[^\W\d_]{3}")


def _looks_back(sentence: str, value: Fraction | None, before: Sequence[str]) -> bool:
    """Whether a last equation may check what was found before, or take it further.

    It has no number that the sentence with that result lacks ("28 / 4 = 7" and "7 * 4 = 28"), or it
    follows a conclusion and has no words, or those of a check or of an example.
    """
    if not _ENDS_EQUATION.search(sentence) or _FOUND.fullmatch(sentence):
        return False
    parts = operands(sentence)
    further = bool(
        _BACK.search(sentence) or _FOR_INSTANCE.match(sentence) or not _WORDS.search(sentence)
    )
    for at, one in enumerate(before, start=1):
        known = operands(one[:LONGEST_SENTENCE])
        concludes = _CONCLUDES.search(one) or _FOUND.fullmatch(one)
        alone = at == len(before) and len(known) == 1 and ANY_COPULA.search(one)
        if not parts <= known and not (further and (concludes or alone)):
            continue
        reading = stated(one)
        if reading is not None and reading.value not in (None, value):
            return True
    return False


def _restated(sentence: str, before: Sequence[str]) -> Fraction | None:
    """The last result, where a last sentence says it again beside other numbers."""
    if not before or not _ENDS_EQUATION.search(before[-1]):
        return None
    result, reading = _last_result(before[-1]), stated(before[-1])
    if result is None or reading is None or reading.value != result:
        return None
    known = {number.value for one in before for number in numerals(one[:LONGEST_SENTENCE])}
    return result if restates(sentence, result, known) else None


# "Profit: ", "Yes, "
_NAMED = re.compile(
    r"^\W*(?:[^\W\d][^:\d\n]{0,30}:|yes,?|yep,?|sure[,!]?|okay?,?)\s*", re.IGNORECASE
)


_TASK = re.compile(r"\b(?:question|problem|task|prompt|exercise|asks|asked)\b", re.IGNORECASE)
_RESTATED = re.compile(
    r"\b(?:the|this|your)\s(?:question|problem|task|prompt)|\blet(?:['’]s|\sme|\sus)\s(?:see|think|start|begin|break|read)"
    r"|\byou(?:['’]re| are)? ask|\bgiven\b",
    re.IGNORECASE,
)


def _lists(before: Sequence[str]) -> bool:
    """Whether a number alone follows another that is alone, as in a list of them."""
    return bool(before) and _is_bare(before[-1], 0) and not _NAMED.match(before[-1])


# "75 km/h ≈ 46.6 mph", after 75 has been found
_CONVERSION = re.compile(r"\W*-?\d[\d.,]*\s?[a-zA-Z][\w/]*\s?≈\s?-?\d[\d.,]*\s?[a-zA-Z][\w/]*\W*$")


def _is_step(sentence: str) -> bool:
    return bool(_GOES_ON.match(sentence) or _A_STEP.match(sentence))


def _is_only(sentence: str, *, first: bool) -> bool:
    return (
        first
        and not _STILL_TO_COME.match(sentence)
        and (
            _is_bare(_NAMED.sub("", sentence))
            or _ENGLISH.search(sentence) is not None
            or RESULT.search(sentence) is not None
            or ANY_COPULA.search(sentence) is not None
            or _FOREIGN.search(sentence) is not None
        )
    )


def _follows(
    sentence: str, value: Fraction | None, before: Sequence[str], *, stepwise: bool
) -> bool:
    """Whether a sentence repeats the last result, or is an equation that uses it."""
    equation = next((one for one in reversed(before) if _ENDS_EQUATION.search(one)), None)
    signs = list(_ENDS_EQUATION.finditer(sentence))
    if equation is None:
        return bool(signs) and not stepwise and not sentence.startswith("•")
    result = _last_result(equation)
    if not signs:
        return result == value
    return result in operands(sentence[: signs[-1].start()])


def _last_result(equation: str) -> Fraction | None:
    """The number after the last sign of equality of a sentence."""
    sign = list(_ENDS_EQUATION.finditer(equation))[-1]
    return next((n.value for n in numerals(equation) if n.end >= sign.end()), None)
