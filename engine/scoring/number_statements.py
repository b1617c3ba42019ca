"""The one value that a sentence or another piece of text states, if it states one without doubt."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

from evalbench.engine.scoring import number_words as table
from evalbench.engine.scoring.number_text import BOLD, CLOSE, OPEN
from evalbench.engine.scoring.numerals import Numeral, has_numeral, numerals
from evalbench.engine.scoring.word_tables import words

LETTER_OR_DIGIT = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text states; ``value`` is None if it has numbers, but no single certain one."""

    value: Fraction | None


_UNCLEAR = Reading(None)

_DOUBT = re.compile(
    r"\b(?:or|nor|either|neither|maybe|perhaps|possibly|probably|might|could|unless|if|whether"
    r"|(?<!difference\s)(?<!distance\s)between|not|never|cannot|almost|nearly|unsure|uncertain|unclear|unknown|depend(?:s|ing)"
    r"|doubt\w*|wrong|incorrect|false|mistaken?|mistakes|error|instead|rather|vs|versus|assum(?:e|es|ing)"
    r"|suppos(?:e|ing)|guess(?:ing)?|such\sas|for\s(?:example|instance)|at\s(?:the\s)?(?:\w+\s)?(?:least"
    r"|most|earliest|latest)|(?<!add\s)(?<!adds\s)(?<!added\s)(?<!round\s)(?<!rounds\s)"
    r"(?<!rounded\s)(?<!rounding\s)up\sto|somewhere|except|bounds?|(?:exit|status)\scode"
    r"|give\sor\stake|and\scounting|out\sof|tempt\w+|(?-i:may)|na[iï]ve|intuitive(?:ly)?"
    r"|obvious|used\sto|too|although|though|however|despite|until|otherwise|at\sfirst|earlier"
    r"|previous(?:ly)?|formerly|thought|seems?|seemed|appears?|appeared|claims?|claimed|says?|said"
    r"|alone|same\sas|suggests?|expect(?:s|ed)?|typical(?:ly)?|usually|often|sometimes|hypothetical(?:ly)?"
    r"|supposedly|allegedly"
    r"|(?:twice|half|double|triple|times)\sas|(?:quarter|half)\s(?:to|past))\b|[-+*/×÷]\s?\["
    r"|(?<!hundred\s)(?<!thousand\s)\band\s(?:an?|one|another)\s(?!half|quarter|third|hundred)"
    r"|^\W*\d[\d.]*\s(?:\w+\s)?by\s\d|n['’]t\b|\be\.g\.|[<>≤≥≠?]|!=|∈|\b(?:minimum|maximum)\sof"
    r"|\b(?:rating|scored?|grade)\b\D{0,20}\d[\d.]*\s?/\s?\d|\d\s?/\s?\d+\s(?:points|stars|marks)\b"
    r"|±|\b\w+\s(?:minimum|maximum|max|tops)\W*$"
    r"|\b(?:ways|steps?)\s(?:to|of)\s(?:\w+\s)?(?:read|interpret|solv|see|look|do|approach|tackl|answer|think)"
    r"|\bhere\sare\b|\bthings\sto\s(?:note|keep|consider|remember|check)\b|\bpossible\s(?:answers|interpretations|readings)|\b(?:questions|information)\b.*\b(?:before|first)\b"
    r"|\b(?:confident|confidence|certainty|difficulty|rating|credits|tokens|word\scount|knowledge|updated|trained"
    r"|cutoff|time\staken|to\s(?:begin|start)\swith|initially|solved\sin|more\s(?:pieces\sof\s)?(?:information|details|data))\b"
    r"|%\s(?:sure|certain)\b"
    # Words that mean something else in another language: "fast 5", but "as fast as"
    r"|\b(?:fast|alle|au)\s\d|(?:^|[,;])\W*ne\b(?=\W*(?:$|[,.\d]))"
    rf"|{words(table.DOUBT)}|[ '’](?:den|dan|ten|tan)\s(?:fazla|az)(?!\w)"
    r"|半|(?<=\s)반|ครึ่ง|\b(?:rưỡi|buçuk|pół|וחצי|halv[ae]?|halb(?:e|en)?|\w+einhalb|demie?|y\smedia"
    r"|e\smezz[ao]|e\smeia|с\sполовиной|och\sen|setengah)\b",
    re.IGNORECASE,
)
# "There are no boxes with 50 pens", but "There are no pens: 0"
_NONE = re.compile(
    r"\b(?:no(?!\.|\s(?:total|fim|final|todo|dia|mês|ano)\b)|none|nobody|nothing|nowhere|without\sany|aucune?|ning[uú]n[oa]?|nessun[oa]?"
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
    r"\b(?:an?\s\w+\sand|than|over|under|above|below|beyond|least|most|past|close\sto|shy\sof|short\sof|nearer|several|few|many|no"
    r"|every|each|per|(?:several|few|many|tens|hundreds|dozens|one)\sof)"
    rf"\s(?:the\s|exactly\s|just\s|about\s)?[$€£(\s{BOLD}]*$",
    re.IGNORECASE,
)
_BOUND_AFTER = re.compile(
    r"-?ish\b|['’]s\b|\+(?!\s?(?:[\d($€£]|[a-z]\b))|-odd\b|\s(?:minimum|maximum|tops)\b"
    r"|\s?(?:plus|minus)\s[a-z]|\s?[:?]\s(?:no|nope|wrong|incorrect|too)\b"
    r"|(?:\s?°[CF]?|\s[a-z]+)?\sbelow\b|\s(?:and|,)\s(?:up|over|more|above|change|(?:then\s)?(?:one|another)\smore)\b"
    r"|\s\w+,?\sand\s(?:then\s)?(?:one|another|some)\smore\b",
    re.IGNORECASE,
)
SO = re.compile(
    r"\b(?:so(?!\s(?:that|far|many|much|called))|therefore|thus|hence|consequently"
    r"|also(?=\s(?:insgesamt|sind|hat|ist|gibt|bleib|beträgt|kostet|\d)))\b[,:]?"
    rf"|∴|(?:{words(table.SO)})[,:]?",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"[,\s](?:because|since)\b|,\s(?:as\s(?:he|she|they|it|the|we|there)|(?:as|for)(?=\s\S+\s?[-+*/×÷]))\b"
    r"|,\s(?:car|da|want|för|ty|siden|do)\s(?=\w)"
    rf"|[\s,，、;(](?:{words(table.BECAUSE)})",
    re.IGNORECASE,
)
# "Since there are 4 boxes, ..."
_GROUND = re.compile(
    r"\W*(?:since|because|as|given(?:\sthat)?|knowing\sthat|seeing\sthat|now\sthat)\b(?:[^,]|,(?=\d))*(?:,\s|$)",
    re.IGNORECASE,
)
RESULT = re.compile(
    r"(?<![<>≤≥!=])=(?!=)|[≈→⇒⟹]"
    r"|\b(?:equals|is\sequal\sto|(?<!her\s)totals|totall?ing|(?<!\bto\s\w{3}\s)(?<!\bto\s\w{4}\s)(?<!\bto\s\w{5}\s)(?:for\s)?a\s(?:grand\s)?total\sof"
    r"|(?:comes|works|worked)\s(?:out\s)?to|adds?\sup\sto|sums?\sto|amounts?\sto|leaving"
    r"|which\sleaves|(?<=,\s)(?:for\s)?an?\s(?:increase|decrease|difference|drop|gain|rise|reduction|change|saving|savings"
    r"|profit|loss)\sof|(?<=,\s)(?:making|covering|giving|earning|costing|spending|paying)(?=\s[$€£]?\d)|(?:together|altogether|in\s(?:total|all)),?\s(?:that|it|this)"
    r"(?:['’]s|\s(?:is|makes))|yields|results\sin|rounds?\s(?:up\s|down\s)?to|(?<=\d,\s)rounded\s(?:up\s|down\s)?to(?=\s[$€£]?\d)"
    r"|(?:we|i|you)\s(?:get|obtain)|(?<=\d)\s(?:gives|leaves|makes|yields)"
    r"|\b(?:add|subtract|multiply|divide)\b[^.;=\d]{0,20}\d[^.;=]{0,40}?\s(?:to|and)\sget|ergibt|ergeben|égale(?:nt)?)\b|等于",
    re.IGNORECASE,
)
EQUALS = re.compile(r"[=≈]")
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
# "If each costs $3, 20 cost 20 × 3 = $60": what is known, and no other case
IF_GIVEN = re.compile(
    r"\W*if\s(?!(?:we|you|i|one)\b)(?:(?!\b(?:had|were|instead|also|add\w*|count\w*|includ\w+|would|could|not|only)\b"
    r"|n['’]t|['’]d\b)[^,.]|,(?=\d)|\.(?=\d))*,\s(?:then,?\s)?(?=[^,]*\d[^,]*=)(?!.*\b(?:had|were|instead)\b|.*['’]d\b)",
    re.IGNORECASE,
)
# "$45, up from $40", "96, which is less than 100"
_COMPARISON = re.compile(
    r"(?<=[\w%°)\ue003])(?:,\s|\s\()(?:(?:up|down)(?:\s\d+%)?\sfrom|(?:as\s)?(?:compared|opposed)\s(?:to|with)|versus|vs\.?"
    r"|which\sis\s(?:(?:much|far|still|just|well|also|slightly|exactly|\$?\d[\d.,]*%?(?:\s[a-z]+)?)\s)?(?:less|more|fewer|greater|higher|lower"
    r"|larger|smaller|bigger|longer|shorter|older|younger|taller|heavier|lighter|faster|slower|cheaper|above|below|under|over)\b)[^=:;(),]*\)?(?=\W*$)",
    re.IGNORECASE,
)
_CHECK_INSIDE = re.compile(
    r"[;,(–—]\s*(?:(?:and\s)?(?:(?:we|you|i|one)\s(?:can\s|could\s|may\s)?|let['’]?s\s|to\s))?"
    r"(?:double[- ])?(?:check(?:ing)?|verif(?:y|ication|ying)|proof)\b.*",
    re.IGNORECASE | re.DOTALL,
)
# "5 hours to read 120 pages"
_QUALIFIES = re.compile(
    r"[^,;()+*×÷=]*\b(?:to|for|in|over|during|with)\s(?:(?!and\b)\w+\s){0,3}[$€£]?$"
)
_AFTER_SIGN = re.compile(
    rf"[\s:{BOLD}{OPEN}(]*(?:(?:about|approximately|roughly|exactly|only|just|him|her|them|us"
    r"|you|with|a\stotal\sof|[a-z]\s?)\s)?[\s(]*",
    re.IGNORECASE,
)
_OPERATOR = re.compile(
    rf"[\s{BOLD}]{{0,3}}(?:[-+*/×÷·^](?!\s?[A-Za-z])|[√π%]\s?of\b|(?:\w{{1,12}}\s+)?(?:plus|minus"
    rf"|times|divided\sby|multiplied\sby|percent\sof|[×÷])(?!\w))[\s{BOLD}]*[-\d($€£(√π]"
)
_SHARE_OF = re.compile(
    r"(?:\d+\s?/\s?\d+|(?:\w+[ -])?(?:half|halves|thirds?|quarters?|fourths?|fifths?))\sof\b",
    re.IGNORECASE,
)
_SHARE = re.compile(r"\b(?:fraction|portion|proportion|share)\b", re.IGNORECASE)
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
    r"\W*(?:with|after|for|in(?!\s(?:total|all|sum|short|conclusion|summary|fact|the\send)\b)|at|on"
    r"|over|during|once|when)\s(?:[^,:;=]|,(?=\d)){1,80},\s"
    r"(?=[a-z])",
    re.IGNORECASE,
)
_TIMES = r"(?:second|minute|hour|day|week|month|quarter|year|decade)s?"
# "After 3 years he has 24", "3 years from now, he will be 24"
_WHEN = re.compile(
    rf"\W*(?:(?i:after|in|within|over)\s(?:\S+\s){{1,2}}{_TIMES}"
    rf"|\S+\s(?:more\s)?{_TIMES}\s(?:from\snow|later|ago))"
    r",?\s(?=(?:he|she|it|they|there|we|you|i|the|[A-Z][a-z]+)\b)(?!.*\b(?:in|after|within|ago|later)\b)",
)
# "He will be 24 in 3 years"
_IN_TIME = re.compile(
    rf"(?<=\d)(?P<what>(?:\s\w+){{0,3}}?)\s(?:in|after)\s(?:\S+\s){{1,2}}{_TIMES}(?=\W*$)",
    re.IGNORECASE,
)
_CLAUSE_BREAK = re.compile(r"[,;]\s|\s(?:and|while|but|or)\s|\.\s", re.IGNORECASE)
BRACKETS = re.compile(rf"(?<=[\w%°²³€$£¥₹{BOLD}])\s\(([^()]{{0,200}})\)(?!\s*[-+*/×÷^=])")
_COPULA = re.compile(
    rf"(?:\b(?:is|are|was|were|will\sbe|would\sbe|ist|sind|beträgt|gleich|est|sont|font|es|son|è"
    rf"|sono|é|são|jest|wynosi|равна|равно|равен|составляет|là|adalah|är|er|είναι)\s|[是为為]|[はが은는]\s?)"
    rf"(?:(?:about|approximately|roughly|exactly|only|just|now|therefore)\s)?[$€£\s{BOLD}]*$",
    re.IGNORECASE,
)
ANY_COPULA = re.compile(
    r"\b(?:is|are|was|were|be|ist|sind|est|sont|es|son|è|sono|é|são|jest|beträgt|kostet|coûte|cuesta|costa|and\s\w+\s(?:has|have))\b"
    r"|[是为為]|です|입니다",
    re.IGNORECASE,
)
DANGLES = re.compile(
    r"(?:\b(?:and|then|so|the|an?|of|to|is|are|by|with|for|or|at|in|on|from|as|if|when|which|because"
    r"|we|i|he|she|they|has|have|had|will|would|can|must|need|needs|(?:and|then)\s(?:it|you|this))|[,+*/×÷=–(-]"
    rf"|(?<!\d\s)(?:{words(table.ENDS_OPEN)}))\s*$",
    re.IGNORECASE,
)
LONGEST_SENTENCE = 600
_MOST_NUMBERS = 20


def stated(text: str) -> Reading | None:
    """The one value that a text states, an unclear reading if it has others, None without numbers.

    What follows "because" and precedes "so" does not count. The value is the only one, the only
    one in bold, the one after the last equals sign of a chain, or the one that a single "is" leads
    to. Remarks in brackets may repeat it or show how it comes about.
    """
    text = _CHECK_INSIDE.sub("", text[: LONGEST_SENTENCE + 1])
    text = _COMPARISON.sub("", _CONTRAST.sub("", _ATTAINED.sub("", text)))
    found = numerals(text)
    if not found:
        return None
    cues = [cue for cue in SO.finditer(text) if text[: cue.start()].strip()]
    if cues:
        concluded = text[cues[-1].end() :]
        if cues[-1].end() <= found[-1].start:
            return stated(concluded)
        if cues[-1].start() >= found[0].end and LETTER_OR_DIGIT.search(concluded):
            return _UNCLEAR
    if (given := _GIVEN.sub("", text)) != text:
        text, found = given, numerals(given)
        if not found:
            return None
        if not has_numeral(BRACKETS.sub("", text)):
            return _UNCLEAR  # "at t = 2 (height: 81)"
    if reason := _REASON.search(text, found[0].end):
        return _claimed(text[: reason.start()].rstrip(" ,;"), text[reason.end() :])
    if (ground := _GROUND.match(text) or IF_GIVEN.match(text)) and ground.end() <= found[-1].start:
        return stated(text[ground.end() :]) or _UNCLEAR
    if (proof := _PROOF.search(text, found[0].end)) and "=" not in text[: proof.start()]:
        return _claimed(text[: proof.start()], text[proof.end() :])
    return _within(text, found) or _clause(text, found)


def _within(text: str, found: Sequence[Numeral]) -> Reading | None:
    """What a text states beside circumstances with numbers of their own, None without any."""
    if (lead := _CIRCUMSTANCES.match(text)) and found[0].start < lead.end() <= found[-1].start:
        if _DOUBT.search(lead[0]) or _WHEN.match(lead[0]):
            return _UNCLEAR
        return stated(text[lead.end() :])
    if (lead := _WHEN.match(text)) and found[0].start < lead.end() <= found[-1].start:
        counted = any(_COUNTS_EACH.match(text, number.end) for number in found)
        return _UNCLEAR if counted else stated(text[lead.end() :])
    if (tail := _IN_TIME.search(text)) and _WILL_BE.search(text, 0, tail.start()):
        return stated(text[: tail.end("what")])
    return None


_WILL_BE = re.compile(r"\b(?:be|is|are|have|has|['’]ll)\b[^,;]*$", re.IGNORECASE)


# "He was 6; 1756 + 6 = 1762"
_PROOF = re.compile(r";\s(?=[-$€£\d(][^;=]{0,60}=)")


def _clause(text: str, found: Sequence[Numeral]) -> Reading | None:
    """What a text with these numbers states that has no reasons, conclusions and circumstances."""
    if len(text) > LONGEST_SENTENCE or len(found) > _MOST_NUMBERS:
        return _UNCLEAR
    if _DOUBT.search(_DESCRIBED.sub(" ", text)) or DANGLES.search(text):
        return _UNCLEAR
    if chosen := _whole(text, found) or _subject(text, found):
        return Reading(chosen.value)
    if _NONE.search(text) and any(number.value != 0 for number in found):
        return _UNCLEAR
    if _TO_COME.search(text) and not RESULT.search(text):
        return _UNCLEAR
    if remark := BRACKETS.search(text, found[0].end):
        return _beside(text, remark)
    left = max((sign.end() for sign in RESULT.finditer(text, 0, found[-1].start)), default=0)
    if any(n.start >= left and (n.value is None or _is_bound(text, n)) for n in found):
        return _UNCLEAR
    chosen = None if re.search("[√π]", text[left:]) else _chosen(text, found)
    if chosen is None or not _stands_alone(text, chosen):
        return _UNCLEAR
    return _UNCLEAR if _is_told_twice(text, found, chosen.value) else Reading(chosen.value)


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
    rf"[\s{BOLD}]*(?:is|was|are)\s(?:the|our|indeed\sthe|therefore\sthe|thus\sthe)\s",
    re.IGNORECASE,
)


def _subject(text: str, found: Sequence[Numeral]) -> Numeral | None:
    """A number of which something is said: "23 is the smallest prime above 20"."""
    first = found[0]
    said = _IS_THE.match(text, first.end)
    if not said or re.search(r"\w", text[: first.start]) or ANY_COPULA.search(text, said.end()):
        return None
    return first


# "The probability that at least one is red is": what is sought, not how sure it is
_DESCRIBED = re.compile(
    r"\bP\([^()\n]{1,60}\)|\bentre\s(?:l[oae]s|tod[oa]s|amb[oa]s|ell[oa]s|eux|elles|[oa]s)\b|\b(?:probability|chance|odds|number|percentage|proportion|fraction|amount|total)\s(?:of|that|for)\s"
    r"[^.,;:=?\d]{1,120}?(?=\s(?:is|are|was|were|equals)\s[^a-z]|\s?[=≈])",
    re.IGNORECASE,
)


def _claimed(claim: str, ground: str) -> Reading | None:
    """What a claim states, unless the equation that it is based on says otherwise."""
    reading = stated(claim)
    based = stated(ground) if "=" in ground else None
    if reading and based and based.value is not None and reading.value not in operands(ground):
        return _UNCLEAR
    return reading


# "4 h 48 min"
_IN_TWO_UNITS = re.compile(
    r"\d\s?(?:h|hrs?|hours?|ft|feet|lbs?|kg|m|days?|weeks?|years?|dollars?|euros?)\b[^()]{0,6}\d"
    r"|\d['’]\s?\d"
)


def _beside(text: str, remark: re.Match[str]) -> Reading | None:
    """What a text states without a remark in brackets, if that is no other value."""
    reading = stated(text[: remark.start()] + " " + text[remark.end() :])
    if _REFERENCE.match(remark[1]) or _LEFT_OVER.match(remark[1]):
        return reading
    inside = numerals(remark[1])
    if _DOUBT.search(remark[1]) or _IN_TWO_UNITS.search(remark[1]):
        return _UNCLEAR
    if len(inside) == 1 and reading and inside[0].value != reading.value:
        return _UNCLEAR
    return reading


_LEFT_OVER = re.compile(
    r"\s*(?:with|leaving|and)\s\d+\s(?:\w+\s){0,3}(?:left|remaining|over|extra|spare)\b",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"\s*(?:see|source|cf|step|paragraph|page|p\.|line|passage|eq|fig|table|section|question|option)\b",
    re.IGNORECASE,
)
_AND = re.compile(r"\b(?:and|while|but|with|leaving)\b", re.IGNORECASE)


def _chosen(text: str, found: Sequence[Numeral]) -> Numeral | None:
    values = {number.value for number in found}
    last = found[-1]
    signs = [
        sign
        for sign in RESULT.finditer(text, 0, last.start + 1)
        if any(number.start >= sign.end() - 1 for number in found)
    ]
    bold = bold_values(text[signs[-1].end() - 1 if signs else 0 :])
    if len(bold) == 1 and len(values) > 1:
        return next((number for number in reversed(found) if number.value == bold[0]), None)
    if signs:
        return _result(text, found, signs)
    if len(values) == 1:
        if _AND.search(text, found[0].end, last.start):
            return None  # "Ann needs 10 days and Bob needs 10 days"
        return None if any(_is_operand(text, number) for number in found) else last
    if new := _beside_known(text, found):
        return new
    before = text[: last.start]
    copula = _COPULA.search(before)
    if (
        copula is None
        or ANY_COPULA.search(before, 0, copula.start())
        or _is_operand(text, last)
        or re.search(r"\bwhich\b|[はが은는]\s?\d", before[: last.start - 2])
        or re.search(r"\b(?:than|short|of)\b", text[last.end :])
        or found[-2].end > copula.start()
        or _CLAUSE_BREAK.search(text, found[-2].end, copula.start())
    ):
        return None
    return last


_KNOWN_BEFORE = re.compile(r"\b(?:the|these|those|all|his|her|their|its)\s$", re.IGNORECASE)
_NOUN_AFTER = re.compile(r"\s[A-Za-z]{3,}")
_COMPARED = re.compile(
    r"\b(?:than|times|per|of|each|another|plus|minus|and|counting|including|which|who|that|where"
    r"|when)\b",
    re.IGNORECASE,
)
_COUNTS_EACH = re.compile(
    r"\s(?:\w+\s){0,2}(?:each|apiece|per|every|more|less|fewer|times|short|extra|than|an?)\b",
    re.IGNORECASE,
)


def _beside_known(text: str, found: Sequence[Numeral]) -> Numeral | None:
    """The one number, if all others name what is known: "350 dollars from the 27 lamps"."""
    new = [
        one
        for one in found
        if not (
            _KNOWN_BEFORE.search(text, max(0, one.start - 12), one.start)
            and _NOUN_AFTER.match(text, one.end)
        )
    ]
    if len(new) != 1 or _is_operand(text, new[0]):
        return None
    between = text[found[0].end : found[-1].start]
    if _COMPARED.search(between) or _CLAUSE_BREAK.search(between):
        return None
    return None if _COUNTS_EACH.match(text, new[0].end) else new[0]


_JOINED = re.compile(
    r"[,;:(—–]|(?<!\w)(?:and|while|but|y|e|et|und|en|och|og|i|a|и|ve|và|dan)(?!\w)|和|と|와|과",
    re.I,
)


def restates(text: str, value: Fraction, known: Set[Fraction | None]) -> bool:
    """Whether a text tells a value that was found before it, beside numbers that are known too.

    "6 × 8 = 48. She buys 48 pens in 6 boxes."
    """
    found = numerals(text)
    ones = [number for number in found if number.value == value]
    if len(ones) != 1 or any(number.value not in known - {None} for number in found):
        return False
    if _DOUBT.search(text) or _NONE.search(text) or DANGLES.search(text) or RESULT.search(text):
        return False
    one = ones[0]
    if (
        _is_bound(text, one)
        or _is_operand(text, one)
        or not _stands_alone(text, one)
        or _COUNTS_EACH.match(text, one.end)
        or _KNOWN_BEFORE.search(text, max(0, one.start - 12), one.start)
    ):
        return False
    return not any(
        _JOINED.search(text, min(one.end, other.end), max(one.start, other.start))
        for other in found
        if other is not one
    )


# Vowel signs and marks of scripts that write them apart from letters
_SIGNS = "\u064b-\u065f\u0900-\u0963\u0980-\u09e3\u0b80-\u0bd7\u0c00-\u0c63\u0e30-\u0e4e"
# What may stand right beside a number that is not part of something else.
_BEFORE_IT = re.compile(
    rf"(?:^|[\w.,:;=≈~→⇒⟹∴•…!?)\]/|]\s+|[=:≈~→⇒⟹∴(\[\"'“‘„«{BOLD}{OPEN}$]|[–—]\s"
    rf"|(?:^|[\s=:])[+%]|(?![A-Za-z])[^\W\d_]|[{_SIGNS}]|\\)\s*$"
)
_AFTER_IT = re.compile(
    rf"['’](?!s\b)[a-zçğıöşü]{{1,6}}(?!\w)"  # "1923'te"
    rf"|\s*(?:$|[.,;:!()\]\"'”’»“°%‰$€£¥₹₽¢₫₱₩₺₪₴₦฿|=≈→{BOLD}{CLOSE}…।{_SIGNS}]|[–—-]\s|[^\W\d_]|\[\s?[^\W\d]"
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
        or (_SHARE_OF.match(text, number.start) and not _SHARE.search(text, 0, number.start))
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
        number.value != first.value and not _QUALIFIES.match(text, first.end, number.start)
        for number in after
    ):
        return None
    left = text[signs[-2].end() if len(signs) > 1 else 0 : sign.start()]
    if sign[0] in "=≈" and _UNSOLVED.search(left):
        return None
    before = [number for number in found if number.end <= sign.start()]
    if sign[0].lower() in _BRINGS and not _comes_to(before, first.value):
        return None  # "She works 8 hours, making $15 an hour"
    if _CHANGE.search(sign[0]):
        claim = stated(text[: sign.start()].rstrip(" ,"))
        if claim is not None and claim.value is not None:
            return None  # "The price is $12, an increase of $3"
    if _converts(text, before, sign, first) or _proves(text, sign, first.value):
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
            if results and results.isdisjoint(operands(text[start : sign.start()])):
                return None
    return first


_CHANGE = re.compile(r"^(?:for\s)?an?\s(?!(?:grand\s)?total)", re.IGNORECASE)
_BRINGS = ("making", "covering", "giving", "earning", "costing", "spending", "paying")


def _comes_to(parts: Sequence[Numeral], value: Fraction | None) -> bool:
    """Whether a value is the sum or the product of several numbers."""
    values = [part.value for part in parts if part.value is not None]
    return len(values) == len(parts) > 1 and value in (sum(values), math.prod(values))


_UNIT = re.compile(r"\s?(?!(?:x|times|and|per)\b)[a-zA-Z]+")


def _converts(text: str, before: Sequence[Numeral], sign: re.Match[str], result: Numeral) -> bool:
    """Whether a number that is already told is said again in another unit: "it is 2 km → 2000 m".

    ``2 km = 2000 m`` is a chain of equations, of which the last result counts.
    """
    if not before or before[-1].value == result.value:
        return False
    if sign[0] not in "≈→⇒⟹" and sign[0].lower() not in ("equals", "is equal to"):
        return False
    if len(before) == 1 and not re.search(r"[^\W\d]", text[: before[-1].start]):
        return False
    units = [_UNIT.match(text, number.end) for number in (before[-1], result)]
    if not (units[0] and units[1]) or units[0][0].strip().lower() == units[1][0].strip().lower():
        return False
    return not re.search(r"[-+*/×÷–\d]", text[units[0].end() : sign.start()]) and not _is_operand(
        text, before[-1]
    )


_PART_ENDS = re.compile(
    r"[,;:\[]\s?(?=\D|\d[^,]*=)|\s(?:and|while|but|as)\s|\s?[–—→⇒]\s", re.IGNORECASE
)
_LONG_WORD = re.compile(r"[^\W\d_]{3}")


def _proves(text: str, sign: re.Match[str], value: Fraction | None) -> bool:
    """Whether an equation is about what is said before it: "28 ÷ 4 = 7, and indeed 7 × 4 = 28".

    It has no new number, or no words and the only number before.
    """
    breaks = list(_PART_ENDS.finditer(text, 0, sign.start()))
    if not breaks:
        return False
    claim, term = text[: breaks[-1].start()], text[breaks[-1].end() :]
    parts, known = operands(term), operands(claim)
    if not parts <= known and (len(known) > 1 or not known <= parts or _LONG_WORD.search(term)):
        return False
    reading = stated(claim)
    return reading is not None and reading.value not in (None, value)


def operands(text: str) -> set[Fraction | None]:
    """The numbers of a term; a dash or slash between two is no sign and no fraction."""
    return {number.value for number in numerals(re.sub("[-–/]", "÷", text))} - {None}


def _is_bound(text: str, number: Numeral) -> bool:
    return bool(
        _BOUND_BEFORE.search(text, max(0, number.start - 24), number.start)
        or _BOUND_AFTER.match(text, number.end)
    )


def _is_told_twice(text: str, found: Sequence[Numeral], value: Fraction | None) -> bool:
    """Whether a value is given as a share and as a percentage, as in "0.375 = 37.5%"."""
    shares = {n.value for n in found if n.value is not None}
    if 100 in shares:  # 3/4 × 100% = 75%
        return False
    in_percent = {n.value for n in found if n.value and _IN_PERCENT.search(text, n.start, n.end)}
    return any(
        percent and other != percent and abs(100 * other - percent) < abs(percent) / 100
        for percent in in_percent
        for other in shares - in_percent
        if value in (percent, other)
    )


_IN_PERCENT = re.compile(r"(?:%|percent|per\s?cent|pct)$", re.IGNORECASE)
_BOLD_PART = re.compile(f"{BOLD}([^{BOLD}]*){BOLD}")
_HEADING = re.compile(r"(?:step|part|case|option)\s*\d|\d{1,2}[.)]\s|.*:$", re.IGNORECASE)


def bold_values(text: str) -> list[Fraction | None]:
    """The distinct values of the numbers in bold, except in headings such as "Step 2"."""
    values: list[Fraction | None] = []
    for part in islice(_BOLD_PART.finditer(text), 50):
        inside = part[1].strip()
        if _HEADING.match(inside):
            continue
        reading = stated(inside)
        if reading is not None and reading.value not in values:
            values.append(reading.value)
    return values
