"""Chooses the number that a reply gives as its answer, and none where that can be doubted.

1. A marked answer: ``#### 18``, ``\\boxed{18}``, ``<answer>18</answer>``; else
   ``final answer: 18``; else ``the answer is 18``, ``{"answer": 18}``. All marks of the best kind
   must agree.
2. Without a mark: a number that is the first line, the only number in bold, and what the last
   sentence with a number concludes. Those that there are must agree. A sentence concludes if it
   says so ("so", "in total"), if it is the only one with a number, if it is a number alone, if it
   repeats the last equation's result, or if it is an equation that is the only one or uses the
   result of the one before.
3. A mark or sentence must state one value (:func:`_stated`), without any sign of doubt: a bound, a
   denial, an alternative, a condition, a range, a term that is still to be computed.
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
from itertools import islice

from evalbench.engine.scoring import number_words as table
from evalbench.engine.scoring.numerals import Numeral, has_numeral, numerals, plain, plain_digits
from evalbench.engine.scoring.reply_text import before_next_question, ends, spoken
from evalbench.engine.scoring.word_tables import words

_LONGEST = 8_000
_MOST_DIGITS = 300


def read_number(reply: str) -> str | None:
    """The number a reply gives, as plain decimal digits: ``1,024.50`` reads as ``1024.5``.

    None if there is none, or if a careful reader could not tell which one is meant. See the module
    docstring for the rules. Non-terminating fractions have 15 digits.
    """
    head, _ = before_next_question(_OURS.sub("", ends(spoken(reply), _LONGEST)))
    if _FAILED.match(head):
        return None
    text = _normal(head)
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
    r"|internal server error|rate limit|too many requests|service unavailable"
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

# -- text ------------------------------------------------------------------------

_OPEN, _CLOSE, _BOLD, _HASHES = "\ue001", "\ue002", "\ue003", "\ue004"
_OURS = re.compile("[\ue001-\ue005]")
_BOXED = re.compile(r"\\(?:boxed|fbox)\s?\{|<answer>|<final_answer>", re.IGNORECASE)
_MOST_MARKS = 12
"""The last so many marks of a kind count."""
_LONGEST_BOX = 400
_HASH_LINE = re.compile(r"(?<![^\s*])\\?#(?:\\?#){3}(?!#)")
_BOLD_TAG = re.compile(r"</?(?:b|strong)>")
_HTML_TAG = re.compile(r"</?(?:i|em|u|p|span|div|code|br|h[1-6])(?:\s[^<>\n]{0,100})?/?>")
_BOLD_SPAN = re.compile(r"\*\*(?=\S)([^*\n]{1,300}?)\*\*|__(?=\S)([^_\n]{1,300}?)__")
_ITALIC = re.compile(r"(?<![\w*\\])([*_])([$€£]?-?\d[\d.,]{0,30}%?)\1(?![\w*])")
_STRUCK = re.compile(r"~~(?=\S)[^~\n]{1,300}~~")
_ALIGNED = re.compile(r"&\s?([=≈])")
_ANSWER_TAG = re.compile(r"\[(/?)(?:final[ _])?answer\]", re.IGNORECASE)
_LEFTOVERS = re.compile(r"\*\*|`|~~|(?m:^[ \t]*(?:#{1,6}|>)(?=\s))")
_CODE_FENCE = re.compile(r"^[ \t]*```[\w+-]*[ \t]*$", re.MULTILINE)
_CODE = re.compile(
    r"^[ \t]*```[ \t]*(?!(?:text|txt|plaintext|output|console|markdown|md|json|latex|tex|math)\b)"
    r"[a-z][\w+#-]*[ \t]*\n.*?(?:^[ \t]*```[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
# "to 2 decimal places"
_PRECISION = re.compile(
    r"\b(?:to|with)\s(?:\d|one|two|three|four)[\s-](?:decimals?|sig\w*\.?)\b"
    r"(?:\s(?:places?|points?|figures?|digits?))?",
    re.IGNORECASE,
)


def _normal(text: str) -> str:
    """The text with one form for each sign, and private marker characters around marked parts."""
    if "```" in text:
        rest = _CODE.sub("\n", text)
        text = _CODE_FENCE.sub("", rest if re.search(r"\d", rest) else text)
    if "~~" in text:
        text = _STRUCK.sub(" ", text)
    if "&" in text:
        text = _ALIGNED.sub(r" \1", text)
    text = _boxes(_ANSWER_TAG.sub(r"<\1answer>", text) if "[" in text else text)
    if "#" in text:
        text = _HASH_LINE.sub(_HASHES, text)
    if "<" in text:
        text = _HTML_TAG.sub(" ", _BOLD_TAG.sub("**", text))
    text = plain(text.replace("***", "**"))
    text = ends(text, _LONGEST)  # a sign may have become four
    text = _PRECISION.sub(" ", _ITALIC.sub(r"\2", text))
    text = _BOLD_SPAN.sub(lambda bold: f"{_BOLD}{bold[1] or bold[2]}{_BOLD}", text)
    return _LEFTOVERS.sub("", text)


def _boxes(text: str) -> str:
    """Private markers around boxes and answer tags; one that is cut off is not closed."""
    kept: list[str] = []
    at = 0
    for found in deque(_BOXED.finditer(text), maxlen=_MOST_MARKS):
        if found.start() < at:
            continue
        if found[0].startswith("<"):
            end = text.find("</", found.end())
            stop = text.find(">", end) + 1 if end >= 0 else len(text)
            inside, closed = text[found.end() : end if end >= 0 else len(text)], True
        else:
            end = _closing_brace(text, found.end())
            inside, closed = text[found.end() : end if end >= 0 else len(text)], end >= 0
            stop = end + 1 if closed else len(text)
        kept += [text[at : found.start()], _OPEN, inside, _CLOSE if closed else ""]
        at = max(stop, found.end())
    return "".join([*kept, text[at:]])


def _closing_brace(text: str, start: int) -> int:
    depth = 1
    for at in range(start, min(len(text), start + _LONGEST_BOX)):
        if text[at] == "{":
            depth += 1
        elif text[at] == "}":
            depth -= 1
            if not depth:
                return at
    return -1


# -- statements ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a text states; ``value`` is None if it has numbers, but no single certain one."""

    value: Fraction | None


_UNCLEAR = _Reading(None)

_DOUBT = re.compile(
    r"\b(?:or|nor|either|neither|maybe|perhaps|possibly|probably|might|could|unless|if|whether"
    r"|(?<!difference\s)(?<!distance\s)between|not|never|cannot|almost|nearly|unsure|uncertain|unclear|unknown|depend(?:s|ing)"
    r"|doubt\w*|wrong|incorrect|false|mistaken?|mistakes|error|instead|rather|vs|versus|assum(?:e|es|ing)"
    r"|suppos(?:e|ing)|guess(?:ing)?|such\sas|for\s(?:example|instance)|at\s(?:the\s)?(?:\w+\s)?(?:least"
    r"|most|earliest|latest)|(?<!add\s)(?<!adds\s)(?<!added\s)up\sto|somewhere|except|bounds?|(?:exit|status)\scode"
    r"|give\sor\stake|and\scounting|out\sof|tempt\w+|may(?!\s\d)|na[iï]ve|intuitive(?:ly)?"
    r"|obvious|used\sto|too|although|though|however|despite|until|otherwise|at\sfirst|earlier"
    r"|previous(?:ly)?|formerly|thought|seems?|seemed|appears?|appeared|claims?|claimed|says?|said"
    r"|alone|same\sas|suggests?|expect(?:s|ed)?|typical(?:ly)?|usually|often|sometimes|hypothetical(?:ly)?"
    r"|supposedly|allegedly"
    r"|(?:twice|half|double|triple|times)\sas|(?:quarter|half)\s(?:to|past))\b|[-+*/×÷]\s?\["
    r"|(?<!hundred\s)(?<!thousand\s)\band\s(?:an?|one|another)\s(?!half|quarter|third|hundred)"
    r"|^\W*\d[\d.]*\s(?:\w+\s)?by\s\d|n['’]t\b|\be\.g\.|[<>≤≥≠?]|!=|∈|\b(?:minimum|maximum)\sof"
    r"|\b(?:rating|scored?|grade)\b\D{0,20}\d[\d.]*\s?/\s?\d|\d\s?/\s?\d+\s(?:points|stars|marks)\b"
    r"|±|\b\w+\s(?:minimum|maximum|max|tops)\W*$"
    rf"|{words(table.DOUBT)}|[ '’](?:den|dan|ten|tan)\s(?:fazla|az)(?!\w)"
    r"|半|(?<=\s)반|ครึ่ง|\b(?:rưỡi|buçuk|pół|וחצי|halv[ae]?|halb(?:e|en)?|\w+einhalb|demie?|y\smedia"
    r"|e\smezz[ao]|e\smeia|с\sполовиной|och\sen|setengah)\b",
    re.IGNORECASE,
)
# "There are no boxes with 50 pens", but "There are no pens: 0"
_NONE = re.compile(
    r"\b(?:no(?!\.)|none|nobody|nothing|nowhere|without\sany|aucune?|ning[uú]n[oa]?|nessun[oa]?"
    r"|nenhum[a]?|geen|ingen|żaden|brak|нет|hiç)\b|没有|沒有",
    re.IGNORECASE,
)
# "It can be calculated", "Find the row with 25 boxes": what is still to be done
_TO_COME = re.compile(
    r"\b(?:can|could|may|must|should|will|has\sto|have\sto|needs?\sto)\s(?:\w+\s)?be\s(?:calculated|computed"
    r"|found|determined|obtained|solved|derived|estimated|used|converted|expressed|written)\b"
    r"|^\W*(?:\w+ly,?\s|(?:then|now|next),?\s)?(?:find|look|read|count|use|solve|simplify|convert|compute|calculate"
    r"|determine|plug|substitute|consider|recall|remember|compare|divide|multiply|subtract|add|apply"
    r"|set|draw|list|write|choose|select|arrange|order)\s(?!up\b)",
    re.IGNORECASE,
)
_BOUND_BEFORE = re.compile(
    r"\b(?:an?\s\w+\sand|than|over|under|above|below|beyond|least|most|past|close\sto|nearer|several|few|many|no"
    r"|every|each|per|(?:several|few|many|tens|hundreds|dozens|one)\sof)"
    rf"\s(?:the\s|exactly\s|just\s|about\s)?[$€£(\s{_BOLD}]*$",
    re.IGNORECASE,
)
_BOUND_AFTER = re.compile(
    r"-?ish\b|['’]s\b|\+(?!\s?(?:[\d($€£]|[a-z]\b))|-odd\b|\s(?:minimum|maximum|tops)\b"
    r"|\s?(?:plus|minus)\s[a-z]|\s?[:?]\s(?:no|nope|wrong|incorrect|too)\b"
    r"|(?:\s?°[CF]?|\s[a-z]+)?\sbelow\b|\s(?:and|,)\s(?:up|over|more|above)\b",
    re.IGNORECASE,
)
_SO = re.compile(
    r"\b(?:so(?!\s(?:that|far|many|much|called))|therefore|thus|hence|consequently"
    r"|also(?=\s(?:insgesamt|sind|hat|ist|gibt|bleib|beträgt|kostet|\d)))\b[,:]?"
    rf"|∴|(?:{words(table.SO)})[,:]?",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"[,\s](?:because|since)\b|,\sas\s(?:he|she|they|it|the|we|there)\b", re.IGNORECASE
)
# "Since there are 4 boxes, ..."
_GROUND = re.compile(
    r"\W*(?:since|because|as|given(?:\sthat)?|knowing\sthat|seeing\sthat|now\sthat)\b(?:[^,]|,(?=\d))*(?:,\s|$)",
    re.IGNORECASE,
)
_RESULT = re.compile(
    r"(?<![<>≤≥!=])=(?!=)|[≈→⇒⟹]"
    r"|\b(?:equals|is\sequal\sto|(?<!her\s)totals|totall?ing|(?<!\bto\s\w{3}\s)(?<!\bto\s\w{4}\s)(?<!\bto\s\w{5}\s)(?:for\s)?a\s(?:grand\s)?total\sof"
    r"|(?:comes|works|worked)\s(?:out\s)?to|adds?\sup\sto|sums?\sto|amounts?\sto|leaving"
    r"|which\sleaves|yields|results\sin|rounds?\s(?:up\s|down\s)?to"
    r"|(?:we|i|you)\s(?:get|obtain)|(?<=\d)\s(?:gives|leaves|makes|yields)"
    r"|\b(?:add|subtract|multiply|divide)\b[^.;=\d]{0,20}\d[^.;=]{0,40}?\s(?:to|and)\sget|ergibt|ergeben|égale(?:nt)?)\b|等于",
    re.IGNORECASE,
)
_EQUALS = re.compile(r"[=≈]")
# "at x = 2"
_GIVEN = re.compile(
    r"\b(?:when|for|at|with|where|substituting|setting|taking)\s\$?[a-z]\s?=\s?-?\d[\d.]*(?<!\.)"
    r"\$?(?:,?\s?(?=\S)|(?=\W*$))",
    re.IGNORECASE,
)
# "The maximum is 100, attained when a = b = 10"
_ATTAINED = re.compile(
    r"(?<=\d)[^\w\n]{0,3}\s(?:and\s(?:is\s|it\sis\s)?|which\sis\s)?(?:attained|achieved|reached|obtained"
    r"|occurring|occurs)\s(?:only\s)?(?:when|for|at|if|where)\b.*",
    re.IGNORECASE | re.DOTALL,
)
# "68, not 60"
_CONTRAST = re.compile(
    r"(?:(?:,|\s\(|\s[—–-])\s?(?:and\s)?not|,?\s(?:instead\sof|rather\sthan|invece\sdi|au\slieu\sde"
    r"|statt|anstatt|en\s(?:lugar|vez)\sde|em\svez\sde|вместо))\s(?:the\s)?[$€£]?-?\d[\d.,]*(?:%|\s?€)?"
    r"(?:\s\w+)?\)?(?=\W*$)"
)
_CHECK_INSIDE = re.compile(
    r"[;,(–—]\s*(?:double[- ])?(?:check(?:ing)?|verif(?:y|ication|ying)|proof)\b.*",
    re.IGNORECASE | re.DOTALL,
)
# "5 hours to read 120 pages"
_QUALIFIES = re.compile(r"^[^,;()+*×÷=]*\b(?:to|for|in|over|during|with)\s(?:\w+\s){0,3}[$€£]?$")
_AFTER_SIGN = re.compile(
    rf"[\s:{_BOLD}{_OPEN}(]*(?:(?:about|approximately|roughly|exactly|only|just|him|her|them|us"
    r"|you|with|a\stotal\sof|[a-z]\s?)\s)?[\s(]*",
    re.IGNORECASE,
)
_OPERATOR = re.compile(
    rf"[\s{_BOLD}]{{0,3}}(?:[-+*/×÷·^](?!\s?[A-Za-z])|[√π%]\s?of\b|(?:\w{{1,12}}\s+)?(?:plus|minus"
    rf"|times|divided\sby|multiplied\sby|percent\sof|[×÷])(?!\w))[\s{_BOLD}]*[-\d($€£(√π]"
)
_SHARE_OF = re.compile(
    r"(?:\d+\s?/\s?\d+|(?:\w+[ -])?(?:half|halves|thirds?|quarters?|fourths?|fifths?))\sof\b",
    re.IGNORECASE,
)
_OPERATOR_BEFORE = re.compile(
    r"(?:[\d)%]\s*[-+]|[*/×÷·^√]|\b(?:(?:half|third|quarter|fraction|multiple|root"
    r"|square|cube|sum|average|mean|product|difference|quotient)\sof"
    r"|(?:add|subtract|deduct|divid|multipl)\w*\s(?:(?!up\b|together\b|to\b)\w+\s)?|twice|double"
    r"|triple))\s*[$€£(]?$",
    re.IGNORECASE,
)
# "k + 200 = 360" is still to be solved.
_UNSOLVED = re.compile(
    r"(?<![A-Za-z])[abcfiknpqruvxyz]%?\s?[-+*/×÷^]\s?\d"
    r"|\d%?\s?[-+*/×÷]\s?[abcfiknpqruvxyz](?![A-Za-z])"
    r"|\d[abcfiknpqruvxyz](?![A-Za-z])"
)
# "With 5 boxes of 3 pens each, there are 15 pens."
_CIRCUMSTANCES = re.compile(
    r"\W*(?:with|after|for|in|at|on|over|during|once|when)\s(?:[^,:;=]|,(?=\d)){1,80},\s"
    r"(?=[a-z])",
    re.IGNORECASE,
)
_CLAUSE_BREAK = re.compile(r"[,;]\s|\s(?:and|while|but|or)\s|\.\s", re.IGNORECASE)
_BRACKETS = re.compile(rf"(?<=[\w%°²³{_BOLD}])\s\(([^()]{{0,200}})\)(?!\s*[-+*/×÷^=])")
_COPULA = re.compile(
    rf"(?:\b(?:is|are|was|were|will\sbe|would\sbe|ist|sind|beträgt|gleich|est|sont|font|es|son|è"
    rf"|sono|é|são|jest|wynosi|равна|равно|равен|составляет|là|adalah|är|er|είναι)\s|[是为為]|[はが은는]\s?)"
    rf"(?:(?:about|approximately|roughly|exactly|only|just|now|therefore)\s)?[$€£\s{_BOLD}]*$",
    re.IGNORECASE,
)
_ANY_COPULA = re.compile(
    r"\b(?:is|are|was|were|be|ist|sind|est|sont|es|son|è|sono|é|são|jest|beträgt|kostet|coûte|cuesta|costa|and\s\w+\s(?:has|have))\b"
    r"|[是为為]|です|입니다",
    re.IGNORECASE,
)
_DANGLES = re.compile(
    r"(?:\b(?:and|then|so|the|an?|of|to|is|are|by|with|for|or|at|in|on|from|as|if|when|which|because"
    r"|we|i|he|she|they|has|have|had|will|would|can|must|need|needs|(?:and|then)\s(?:it|you|this))|[,+*/×÷=–(-])\s*$",
    re.IGNORECASE,
)
_LONGEST_SENTENCE = 600
_MOST_NUMBERS = 20


def _stated(text: str) -> _Reading | None:
    """The one value that a text states, an unclear reading if it has others, None without numbers.

    What follows "because" and precedes "so" does not count. The value is the only one, the only
    one in bold, the one after the last equals sign of a chain, or the one that a single "is" leads
    to. Remarks in brackets may repeat it or show how it comes about.
    """
    text = _CHECK_INSIDE.sub("", text[: _LONGEST_SENTENCE + 1])
    text = _CONTRAST.sub("", _ATTAINED.sub("", text))
    found = numerals(text)
    if not found:
        return None
    cues = [cue for cue in _SO.finditer(text) if text[: cue.start()].strip()]
    if cues:
        concluded = text[cues[-1].end() :]
        if cues[-1].end() <= found[-1].start:
            return _stated(concluded)
        if cues[-1].start() >= found[0].end and _LETTER_OR_DIGIT.search(concluded):
            return _UNCLEAR
    if (given := _GIVEN.sub("", text)) != text:
        text, found = given, numerals(given)
        if not found:
            return None
        if not has_numeral(_BRACKETS.sub("", text)):
            return _UNCLEAR  # "at t = 2 (height: 81)"
    if reason := _REASON.search(text, found[0].end):
        return _claimed(text[: reason.start()].rstrip(" ,;"), text[reason.end() :])
    if (ground := _GROUND.match(text)) and ground.end() <= found[-1].start:
        return _stated(text[ground.end() :]) or _UNCLEAR
    if (proof := _PROOF.search(text, found[0].end)) and "=" not in text[: proof.start()]:
        return _claimed(text[: proof.start()], text[proof.end() :])
    if (lead := _CIRCUMSTANCES.match(text)) and found[0].start < lead.end() <= found[-1].start:
        return _UNCLEAR if _DOUBT.search(lead[0]) else _stated(text[lead.end() :])
    return _clause(text, found)


# "He was 6; 1756 + 6 = 1762"
_PROOF = re.compile(r";\s(?=[-$€£\d(][^;=]{0,60}=)")


def _clause(text: str, found: Sequence[Numeral]) -> _Reading | None:
    """What a text with these numbers states that has no reasons, conclusions and circumstances."""
    if len(text) > _LONGEST_SENTENCE or len(found) > _MOST_NUMBERS:
        return _UNCLEAR
    if _DOUBT.search(_DESCRIBED.sub(" ", text)) or _DANGLES.search(text):
        return _UNCLEAR
    if chosen := _whole(text, found) or _subject(text, found):
        return _Reading(chosen.value)
    if _NONE.search(text) and any(number.value != 0 for number in found):
        return _UNCLEAR
    if _TO_COME.search(text) and not _RESULT.search(text):
        return _UNCLEAR
    if remark := _BRACKETS.search(text, found[0].end):
        return _beside(text, remark)
    left = max((sign.end() for sign in _EQUALS.finditer(text, 0, found[-1].start)), default=0)
    if any(n.start >= left and (n.value is None or _is_bound(text, n)) for n in found):
        return _UNCLEAR
    chosen = None if re.search("[√π]", text[left:]) else _chosen(text, found)
    if chosen is None or not _stands_alone(text, chosen):
        return _UNCLEAR
    return _UNCLEAR if _is_told_twice(text, found, chosen.value) else _Reading(chosen.value)


_MADE_UP = re.compile(
    r"[:：(]|\s?[—–]\s?|,?\s(?:made\sup\sof|consisting\sof|namely|that\sis|i\.e\.|of\swhich|of\swhom"
    r"|including|di\scui|dont|davon|de\sl[oa]s\scuales|d[oa]s\squais|w\stym|из\sних|trong\sđó)\s|منه[ما]|其中|うち|그중",
    re.IGNORECASE,
)


def _whole(text: str, found: Sequence[Numeral]) -> Numeral | None:
    """The first number, if its parts follow: "6 left: 4 red and 2 green"."""
    first, *parts = found
    if len(parts) < 2 or any(part.value is None or part.value <= 0 for part in parts):
        return None
    if sum(part.value for part in parts if part.value is not None) != first.value:
        return None
    if not _MADE_UP.search(text, first.end, parts[0].start) or not _stands_alone(text, first):
        return None
    return None if _is_bound(text, first) else first


_IS_THE = re.compile(
    rf"[\s{_BOLD}]*(?:is|was|are)\s(?:the|our|indeed\sthe|therefore\sthe|thus\sthe)\s",
    re.IGNORECASE,
)


def _subject(text: str, found: Sequence[Numeral]) -> Numeral | None:
    """A number of which something is said: "23 is the smallest prime above 20"."""
    first = found[0]
    said = _IS_THE.match(text, first.end)
    if not said or re.search(r"\w", text[: first.start]) or _ANY_COPULA.search(text, said.end()):
        return None
    return first


# "The probability that at least one is red is": what is sought, not how sure it is
_DESCRIBED = re.compile(
    r"\bP\([^()\n]{1,60}\)|\b(?:probability|chance|odds|number|percentage|proportion|fraction|amount|total)\s(?:of|that|for)\s"
    r"[^.,;:=?\d]{1,120}?(?=\s(?:is|are|was|were|equals)\s[^a-z]|\s?[=≈])",
    re.IGNORECASE,
)


def _claimed(claim: str, ground: str) -> _Reading | None:
    """What a claim states, unless the equation that it is based on says otherwise."""
    reading = _stated(claim)
    based = _stated(ground) if "=" in ground else None
    if reading and based and based.value is not None and reading.value not in _operands(ground):
        return _UNCLEAR
    return reading


# "4 h 48 min"
_IN_TWO_UNITS = re.compile(
    r"\d\s?(?:h|hrs?|hours?|ft|feet|lbs?|kg|m|days?|weeks?|years?|dollars?|euros?)\b[^()]{0,6}\d"
    r"|\d['’]\s?\d"
)


def _beside(text: str, remark: re.Match[str]) -> _Reading | None:
    """What a text states without a remark in brackets, if that is no other value."""
    reading = _stated(text[: remark.start()] + " " + text[remark.end() :])
    if _REFERENCE.match(remark[1]):
        return reading
    inside = numerals(remark[1])
    if _DOUBT.search(remark[1]) or _IN_TWO_UNITS.search(remark[1]):
        return _UNCLEAR
    if len(inside) == 1 and reading and inside[0].value != reading.value:
        return _UNCLEAR
    return reading


_REFERENCE = re.compile(
    r"\s*(?:see|source|cf|step|paragraph|page|p\.|line|passage|eq|fig|table|section|question|option)\b",
    re.IGNORECASE,
)
_AND = re.compile(r"\b(?:and|while|but)\b", re.IGNORECASE)


def _chosen(text: str, found: Sequence[Numeral]) -> Numeral | None:
    values = {number.value for number in found}
    last = found[-1]
    signs = [
        sign
        for sign in _RESULT.finditer(text, 0, last.start + 1)
        if any(number.start >= sign.end() - 1 for number in found)
    ]
    bold = _bold_values(text[signs[-1].end() - 1 if signs else 0 :])
    if len(bold) == 1 and len(values) > 1:
        return next((number for number in reversed(found) if number.value == bold[0]), None)
    if signs:
        return _result(text, found, signs)
    if len(values) == 1:
        if _AND.search(text, found[0].end, last.start):
            return None  # "Ann needs 10 days and Bob needs 10 days"
        return None if any(_is_operand(text, number) for number in found) else last
    before = text[: last.start]
    copula = _COPULA.search(before)
    if (
        copula is None
        or _ANY_COPULA.search(before, 0, copula.start())
        or _is_operand(text, last)
        or re.search(r"\bwhich\b", before)
        or re.search(r"\b(?:than|short|of)\b", text[last.end :])
        or found[-2].end > copula.start()
        or _CLAUSE_BREAK.search(text, found[-2].end, copula.start())
    ):
        return None
    return last


# Vowel signs and marks of scripts that write them apart from letters
_SIGNS = "\u064b-\u065f\u0900-\u0963\u0980-\u09e3\u0b80-\u0bd7\u0c00-\u0c63\u0e30-\u0e4e"
# What may stand right beside a number that is not part of something else.
_BEFORE_IT = re.compile(
    rf"(?:^|[\w.,:;=≈~→⇒⟹∴•…!?)\]/|]\s+|[=:≈~→⇒⟹∴(\[\"'“‘„«{_BOLD}{_OPEN}$]|[–—]\s"
    rf"|(?:^|[\s=:])\+|(?![A-Za-z])[^\W\d_]|[{_SIGNS}]|\\)\s*$"
)
_AFTER_IT = re.compile(
    rf"['’](?!s\b)[a-zçğıöşü]{{1,6}}(?!\w)"  # "1923'te"
    rf"|\s*(?:$|[.,;:!()\]\"'”’»“°%‰$€£¥₹₽¢₫₱₩₺₪₴₦฿|=≈→{_BOLD}{_CLOSE}…।{_SIGNS}]|[–—-]\s|[^\W\d_]|\[\s?[^\W\d]"
    r"|/\s?[A-Za-z]|[✓✅\U0001f300-\U0001faff])"
)
_CIRCUMSTANCE = re.compile(
    r"\b(?:from|until|before|since|during|within|against|without|besides|except|plus|minus)\s$",
    re.IGNORECASE,
)


_AFTER_A_YEAR = re.compile(r"\b(?:after|by)\s$", re.IGNORECASE)
_YEAR = re.compile(r"(?:1[5-9]|20|21)\d\d(?![\d.,]*\d)")
_MORE_COMES = re.compile(r"[=≈→]\s*[$€£]?\d")


def _stands_alone(text: str, number: Numeral) -> bool:
    """Whether a number is no part of a larger term, by the signs beside it."""
    window = text[max(0, number.start - 12) : number.start]
    return bool(
        _BEFORE_IT.search(window)
        and _AFTER_IT.match(text, number.end)
        and not _CIRCUMSTANCE.search(window)
        and not (_AFTER_A_YEAR.search(window) and _YEAR.match(text, number.start))
        and not _MORE_COMES.search(text, number.end)
    )


def _is_operand(text: str, number: Numeral) -> bool:
    return bool(
        _OPERATOR.match(text, number.end)
        or _SHARE_OF.match(text, number.start)
        or _OPERATOR_BEFORE.search(text, max(0, number.start - 24), number.start)
    )


def _result(text: str, found: Sequence[Numeral], signs: Sequence[re.Match[str]]) -> Numeral | None:
    """The result of an equation, or of the last of a chain in which one uses that before."""
    sign = signs[-1]
    after = [number for number in found if number.start >= sign.end() - 1]
    first = after[0]
    filled = _AFTER_SIGN.match(text, sign.end())
    if filled is None or filled.end() < first.start - 1 or _OPERATOR.match(text, first.end):
        return None
    if any(
        number.value != first.value and not _QUALIFIES.search(text, first.end, number.start)
        for number in after
    ):
        return None
    left = text[signs[-2].end() if len(signs) > 1 else 0 : sign.start()]
    if sign[0] in "=≈" and _UNSOLVED.search(left):
        return None
    before = [number for number in found if number.end <= sign.start()]
    if len(signs) > 1 and _converts(text, before, sign, first):
        return None
    if sign[0] in "→⇒⟹" and len(before) == 1 and not re.search(r"[^\W\d]", text[: sign.start()]):
        return None  # 7 → 9
    if len(signs) > 1:
        breaks = list(_CLAUSE_BREAK.finditer(text, signs[0].end(), sign.start()))
        if breaks:
            start = breaks[-1].end()
            results = {
                next((n.value for n in before if n.start >= one.end() - 1), None)
                for one in signs[:-1]
                if one.end() <= breaks[-1].start()
            }
            if results and results.isdisjoint(_operands(text[start : sign.start()])):
                return None
    return first


_UNIT = re.compile(r"\s?(?!(?:x|times)\b)[a-zA-Z]+")


def _converts(text: str, before: Sequence[Numeral], sign: re.Match[str], result: Numeral) -> bool:
    """Whether a number is said again in another unit: "75 km/h ≈ 46.6 mph"."""
    if not before or sign[0] != "≈" or before[-1].value == result.value:
        return False
    units = [_UNIT.match(text, number.end) for number in (before[-1], result)]
    return bool(units[0] and units[1] and units[0][0].strip() != units[1][0].strip())


def _operands(text: str) -> set[Fraction | None]:
    return {number.value for number in numerals(re.sub("[-–/]", "÷", text))} - {None}


def _is_bound(text: str, number: Numeral) -> bool:
    return bool(
        _BOUND_BEFORE.search(text, max(0, number.start - 24), number.start)
        or _BOUND_AFTER.match(text, number.end)
    )


def _is_told_twice(text: str, found: Sequence[Numeral], value: Fraction | None) -> bool:
    """Whether a value is given as a share and as a percentage, as in "0.375 = 37.5%"."""
    shares = {n.value for n in found if n.value is not None}
    if "%" not in text or 100 in shares:  # 3/4 × 100% = 75%
        return False
    in_percent = {n.value for n in found if n.value and text[: n.end].endswith("%")}
    return any(
        percent and other != percent and abs(100 * other - percent) < abs(percent) / 100
        for percent in in_percent
        for other in shares - in_percent
        if value in (percent, other)
    )


_BOLD_PART = re.compile(f"{_BOLD}([^{_BOLD}]*){_BOLD}")
_HEADING = re.compile(r"(?:step|part|case|option)\s*\d|\d{1,2}[.)]\s|.*:$", re.IGNORECASE)


def _bold_values(text: str) -> list[Fraction | None]:
    """The distinct values of the numbers in bold, except in headings such as "Step 2"."""
    values: list[Fraction | None] = []
    for part in islice(_BOLD_PART.finditer(text), 50):
        inside = part[1].strip()
        if _HEADING.match(inside):
            continue
        reading = _stated(inside)
        if reading is not None and reading.value not in values:
            values.append(reading.value)
    return values


# -- marked answers --------------------------------------------------------------

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
    rf"[\"'”{_BOLD}*_]*\s*(?:[:=]|[-–—]+>?(?=\s)|→|⇒|(?P<verb>(?<![A-Za-z]){_VERB}(?![A-Za-z])))"
    rf"|^[ \t]*{_BOLD}?A{_BOLD}?:{_BOLD}?(?![^\n]*\n+[ \t]*{_BOLD}?B{_BOLD}?:)"
    rf"|(?<![A-Za-z])(?P<heading>{_ADJECTIVE}{_NOUN})[ \t]*{_BOLD}?[ \t]*(?=\n)",
    re.IGNORECASE | re.MULTILINE,
)
_ANY_NOUN = re.compile(rf"{_NOUN}|^[ \t]*{_BOLD}?A{_BOLD}?:", re.IGNORECASE | re.MULTILINE)
_NOT_MINE = re.compile(
    r"(?:old|prior|former|draft|suggested|proposed|candidate|wrong|incorrect|common|other|another|first|second|third|initial|previous|earlier|partial|intermediate"
    r"|tempting|intuitive|obvious|na[iï]ve|apparent|student['’]?s?|expected|given|possible|no"
    rf"|original|an|any|each|every|next)[ {_BOLD}]+(?:the )?$",
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
    rf"(?:[\s:*\"'“‘(\[≈~{_BOLD}{_OPEN}]|\\|(?:about|approximately|circa|roughly|around"
    r"|exactly|just|only|simply|therefore|thus|then|still|indeed|clearly|actually|a total of"
    r"|equal to|the number|it is|it['’]s|(?:the\s)?(?:correct|final)|là|la|el|le|die|das)\b"
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
    at = text.find(_OPEN)
    while at >= 0:
        end = text.find(_CLOSE, at)
        if end < 0:
            yield _Mark(at, len(text), None, 2)  # cut off inside it
            return
        inside = text[at + 1 : end]
        if inside.strip() and not _NOT_BOX.search(text, max(0, at - 40), at):
            reading = _stated(inside)
            yield _Mark(at, end + 1, reading.value if reading else None, 2)
        at = text.find(_OPEN, end)


def _hash_marks(text: str) -> Iterator[_Mark]:
    """Lines after ``####`` that are not headings: those have words, as in "2. Add them up"."""
    places = [at for at, sign in enumerate(text) if sign == _HASHES] if _HASHES in text else []
    for at in places[-_MOST_MARKS:]:
        end = _line_end(text, at)
        line = text[at + 1 : end].replace(_BOLD, " ").replace(_OPEN, " ").replace(_CLOSE, " ")
        if _is_bare(line):
            reading = _stated(line)
            yield _Mark(at, end, reading.value if reading else None, 2)


_WORDS_AFTER = re.compile(r"[^\W\d_]{2,}")


def _is_bare(line: str, most: int = 3) -> bool:
    """Whether a line is a number with at most a unit: no list item, no sentence."""
    line = _BRACKETS.sub(" ", line)
    found = numerals(line)
    if (
        len({number.value for number in found}) != 1
        or line.rstrip().endswith(":")
        or re.match(r"\s*\(?\d{1,2}[.)]\s+\S", line)
    ):
        return False
    filled = _FILL.match(line)
    start = filled.end() if filled else 0
    if _RESULT.search(line, found[0].start):
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
    nouns = deque((found.start() for found in _ANY_NOUN.finditer(text)), maxlen=_MOST_MARKS)
    if not nouns:
        return
    start, stop = max(0, nouns[0] - 60), nouns[-1] + _WINDOW
    for label in deque(_LABEL.finditer(text, start, stop), maxlen=_MOST_MARKS):
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
        reading = _stated(content)
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
        and not _EQUALS.search(content)
    )


_GAP_BEFORE = re.compile(rf"[\s{_BOLD}*]*")


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
        reading = _stated(sentence) if _HEDGE.search(sentence) else None
        if reading is not None and (at == 0 or reading.value != value):
            return True
    told = [sentence for sentence in sentences if has_numeral(sentence[:_LONGEST_SENTENCE])]
    if not told:
        return False
    last = told[-1]
    if not _CONCLUDES.search(last) and not (equations and _ENDS_EQUATION.search(last)):
        return False
    if re.match(r"\W*(?:because|since)\b", last, re.IGNORECASE):
        return False
    reading = _stated(last)
    if reading is not None and not _SO.search(last) and value in _results(last):
        return False  # "Indeed, 3 + 7 = 10 and 10 - 3 = 7."
    return reading is not None and reading.value not in (None, value)


_WHY = re.compile(r"\W*(?:why|how(?:\sso)?)\s?\?", re.IGNORECASE)


def _results(text: str) -> set[Fraction | None]:
    """The numbers right after signs of equality."""
    found = numerals(text)
    signs = [sign.end() for sign in _EQUALS.finditer(text)]
    return {next((n.value for n in found if n.start >= end), None) for end in signs} - {None}


# -- conclusions -----------------------------------------------------------------

_ITEM = re.compile(
    rf"^[ \t]*(?:[-*•+–][ \t]+)?{_BOLD}?\(?(\d{{1,2}})[.)](?:[ \t]+(?=\S)|[ \t]*$)", re.MULTILINE
)
_BULLET = re.compile(
    r"^[ \t]*(?:[-*•+][ \t]+|\(?[a-h][.)][ \t]+)(?=\S)", re.IGNORECASE | re.MULTILINE
)
_OPERATOR_LINE = re.compile(r"[ \t]*\n[ \t]*([-+*/=×÷–])[ \t]*\n[ \t]*")
_STEP = re.compile(
    r"\b(step|part|case|day|week|round)[ ]\d{1,2}\b(?=[ \t]?[:.)(\ue003–—-]|[ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)


def _without_list_marks(text: str) -> str:
    """The text without bullets and list numbers.

    A number at the start of a reply, followed by a full stop, may also be its answer: a list starts
    with 1. A lone "1." or "- 5" can be either, and is changed so that it is not a number.
    """
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
    _SO.pattern
    + r"|\b(?:in\s(?:total|all|conclusion)|altogether|together|overall|finally|conclusion"
    r"|the\s(?:total|answer|result|sum|difference|product|quotient)|as\sa\sresult"
    r"|also(?=:))\b"
    rf"|\b(?:total|sum|result|answer)(?:\s[^\W\d]+){{0,2}}\s?[:=]|{words(table.CONCLUDES)}",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"[\W_]*(?:(?:the\s)?first(?:ly)?|to\s(?:start|begin|find|solve|calculate|determine|get)"
    r"|initially|next|let|if|suppose|assum(?:e|ing)|however|but|given|we\s(?:also\s)?know|after\sthat"
    r"|for\sexample|e\.g\.|note|remark|ps|p\.s\.|alternatively|otherwise|(?:a|one)\scommon"
    r"|(?:(?:so\s)?(?:we|i|you)(?:['’]re|['’]d|\sare)?|the\s(?:question|problem|task))\s"
    r"(?:\w+\s){0,2}(?:need|want|have|asked|asks|like|trying|try|must|going|gives|states|says)"
    r"(?:\sus)?(?:\sto\s(?:find|know|determine|compute|calculate|work|figure|solve)"
    r"|\s(?:how|what|that)|(?<=gives)\s\d))\b",
    re.IGNORECASE,
)
_A_STEP = re.compile(r"[\W_]*(?:step|part|case)\b", re.IGNORECASE)
_STILL_TO_COME = re.compile(r"[\W_]*(?:now|then|second|third)\b", re.IGNORECASE)
_ASIDE = re.compile(
    r"[\W_]*(?:let\sme\sknow|i\shope|hope\sth|feel\sfree|please\slet|if\syou\s(?:(?:need|want)\s(?:me|any|more|help"
    r"|further)|have\s(?:any|more|other|further|questions|another|\d\s(?:more|questions))|would\slike)|would\syou\slike|do\syou|does\sth(?:is|at)\b|is\sthere|happy\sto|glad\sto|thank"
    r"|good\sluck)",
    re.IGNORECASE,
)
_CHECKS = re.compile(
    r"[\W_]*(?:(?:step|part)\W{1,3}(?:\([^()]*\)\W*)?)?(?:(?:let['’]?s|we\scan|i['’]?ll|to)\s)?"
    r"(?:double[- ]?)?(?:check(?:ing)?|verif(?:y|ication|ying)|sanity|confirm(?:ing|ation)?|proof"
    rf"|look(?:ing)?\sback|{words(table.CHECKS)})(?!\w)",
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
    r"\b(?:or|maybe|perhaps|possibly|might|may|could|however|but|although|though|unless|actually"
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
    r"|het|een|heeft|zijn|van|och|har|att|det|og|ma|jest|na|bir|var|yang|adalah|dan|tahun|ni|ya|wa|kwa|ana"
    r"|que|para|cada|por|quedan|sobraram|restam|restano|restent|toplam|kaldı|bleiben|kosten)\b",
    re.IGNORECASE,
)
_ENDS_EQUATION = re.compile(r"[=≈→]\s*[-$€£\d(\ue003]")
_MOST_SENTENCES = 30
_LETTER_OR_DIGIT = re.compile(r"\w")


def _sentences(text: str, *, least: int = 1) -> list[str]:
    """The sentences of a text before it checks itself, and without pleasantries at its end.

    ``least``: how many are sentences anyhow.
    """
    parts = [s for s in _SPLIT.split(text) if _LETTER_OR_DIGIT.search(s)]
    for at in range(len(parts) - 1, 0, -1):
        if _opened(parts[at - 1]) > 0 > _opened(parts[at]):
            parts[at - 1 : at + 1] = [f"{parts[at - 1]} {parts[at]}"]
    if len(parts) > _MOST_SENTENCES:
        parts = [parts[0], *parts[1 - _MOST_SENTENCES :]]
    for at, sentence in enumerate(parts):
        if at >= least and _CHECKS.match(sentence):
            if any(_SO.search(later) and has_numeral(later) for later in parts[at + 1 :]):
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


# "150 ÷ 3 = 50 ✓"
_TICKED = re.compile(r"=[^=\n]{1,40}[✓✔☑]\W*$")


_RECONSIDERS = re.compile(
    r"\b(?:could|might|may|maybe|perhaps|or|alternatively|actually|correct\w*|wrong|mistake|wait|final)\b",
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
    told = [at for at, s in enumerate(sentences) if has_numeral(s[:_LONGEST_SENTENCE])]
    if not told or _DANGLES.search(sentences[-1]) or _breaks_off(sentences):
        return None
    last = sentences[told[-1]]
    closing = _closing(sentences, told, retracted=retracted)
    values = {closing} - {None}
    if retracted:
        values |= {_bold(sentences, told[-1:])} - {None}
    else:
        values |= {_opening(sentences, text), _bold(sentences, told)} - {None}
    bare = _stated(last) if _is_bare(last) else None
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
    own_line = first.strip(f" .!{_BOLD}") == line.strip(f" .!{_BOLD}")
    if first.startswith("•") or "=" in first or not _is_bare(first, 3 if own_line else 2):
        return None
    if len(sentences) > 1 and _IS_OR_DOES.search(first):
        return None  # "120 melons were grown", and then what became of them
    reading = _stated(first)
    return reading.value if reading else None


_IS_OR_DOES = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|will|would|can|do|does|did|costs?|equals?|makes?"
    r"|gives?|per|each|every)\b|/",
    re.IGNORECASE,
)


def _bold(sentences: Sequence[str], told: Sequence[int]) -> Fraction | None:
    """The only number in bold, if it is in the first or the last sentence with numbers."""
    values: set[Fraction | None] = set()
    for at in told:
        if _BOLD not in sentences[at] or not (found := _bold_values(sentences[at])):
            continue
        values.update(found)
        reading = _stated(sentences[at])
        asked = sentences[at].rpartition(":")[2]
        step = _is_step(sentences[at]) and _BOLD not in asked
        if at not in (told[0], told[-1]) or step or reading is None:
            values.add(None)
        else:
            values.add(reading.value)
    return values.pop() if len(values) == 1 else None


def _closing(sentences: Sequence[str], told: Sequence[int], *, retracted: bool) -> Fraction | None:
    """What the last sentence with numbers states, if it concludes the reply."""
    at = told[-1]
    sentence = sentences[at]
    if at != len(sentences) - 1 or sentence.rstrip(f" {_BOLD}").endswith((":", ",")):
        return None
    if _TASK.search(sentence) and _is_bare(tail := sentence.rpartition(":")[2], 1):
        asked = _stated(tail)
        return asked.value if asked else None
    if _GOES_ON.match(sentence):
        return None
    reading = _stated(sentence)
    if reading is None or reading.value is None:
        return None
    before = [sentences[one] for one in told[:-1]]
    if before and _CONVERSION.match(sentence):
        return None
    if _CONCLUDES.search(sentence):
        plans = not before and any(map(_is_step, sentences[:at]))
        return None if plans and not _SO.search(sentence) else reading.value
    if retracted or _TASK.search(sentence):
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


_NAMED = re.compile(r"^\W*[^\W\d][^:\d\n]{0,30}:\s*")  # "Profit: "


_TASK = re.compile(r"\b(?:question|problem|task|prompt|exercise|asks|asked)\b", re.IGNORECASE)
_RESTATED = re.compile(
    r"\b(?:the|this|your)\s(?:question|problem|task|prompt)|\byou(?:['’]re| are)? ask|\bgiven\b",
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
            or _RESULT.search(sentence) is not None
            or _ANY_COPULA.search(sentence) is not None
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
    return result in _operands(sentence[: signs[-1].start()])


def _last_result(equation: str) -> Fraction | None:
    """The number after the last sign of equality of a sentence."""
    sign = list(_ENDS_EQUATION.finditer(equation))[-1]
    return next((n.value for n in numerals(equation) if n.end >= sign.end()), None)
