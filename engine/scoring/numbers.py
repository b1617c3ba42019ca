"""Parses the number that a reply gives as its answer, as a careful person would.

The rules, in order; the first that finds something decides:

1. A marked answer: ``#### 18``, ``\\boxed{18}``, ``<answer>18</answer>``, ``final answer: 18``,
   ``the answer is 18``, ``{"answer": 18}``. Of several the last counts. One that is taken back
   ("Wait, that is wrong") no longer counts.
2. The last sentence with a number, if it concludes: it has a word such as "so" or "in total",
   ends an equation or repeats its result, is a number alone, or is the only one. Its number is the
   one in bold, the one after the last equals sign, the one that a single statement ends with, or
   the only one. Dates do not count beside another number.
3. The only number in bold, or a number at the start of the reply.

If the second and the third contradict each other, if a mark contains several numbers, a range or
something still to be computed, or if the reply was cut off before its conclusion, there is no
number: a wrong one is worse than none.

Supported are signs, thousands (``1,234`` ``1 234`` ``1.234.567`` ``1'234`` ``12,34,567``
``9{,}500``), decimal points and commas, fractions (``1/2`` ``3½`` ``\\frac{1}{2}``), powers
(``10^3`` ``1.5 × 10^3`` ``1e3``), percent and units (ignored), currencies, ``1.5k``,
``2 million``, ``3万``, digits of other scripts, and English number words.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

from evalbench.engine.scoring.reply_text import before_next_question, ends, spoken

LENIENT = "number-lenient/4"

_OPEN_MARK, _CLOSE_MARK, _BOLD, _HASHES = "\ue001", "\ue002", "\ue003", "\ue004"
_OURS = re.compile("[\ue001-\ue004]")


def read_number(reply: str) -> str | None:
    """The number a reply gives, as plain decimal digits: ``1,024.50`` reads as ``1024.5``.

    None if there is none, or if a careful reader could not tell which one is meant. See the module
    docstring for the rules. Non-terminating fractions have 15 digits.
    """
    head, _ = before_next_question(_OURS.sub("", ends(spoken(reply), _LONGEST)))
    if _BOUND_ALONE.fullmatch(head) or _FAILED.match(head):
        return None  # "> 7" may be a bound or a quoted 7
    text = _normal(head)
    found = _marked(text)
    if found is None:
        found = _concluded(text)
        if found is not None and _is_also_a_percentage(text, found.value):
            return None
    return None if found is None or found.value is None else plain_digits(found.value)


_LONGEST = 10_000


def _is_also_a_percentage(text: str, value: Fraction | None) -> bool:
    """Whether the reply gives a share in two ways, as in "0.375 = 37.5%"."""
    if value is None or "%" not in text:
        return False
    last = text.rstrip().rsplit("\n", 1)[-1][-_MOST_READ:]
    shares = {n.value for n in _numbers(last) if n.value is not None}
    in_percent = {n.value for n in _numbers(last) if last[: n.end].endswith("%")}
    return any(
        percent is not None
        and other != percent
        and abs(100 * other - percent) < Fraction(percent) / 100
        for percent in in_percent
        for other in shares - in_percent
        if value in (percent, other)
    )


_FAILED = re.compile(
    r"\W*+(?:error(?=\W*$|\s?:|\s(?:code|message)|\s\d{3}\b)|http(?:/[\d.]+)?\s(?:error\s)?\d{3}\b"
    r"|internal server error"
    r"|rate limit|too many requests|service unavailable|request (?:failed|timed out)|timed? ?out"
    r"\b|traceback \()",
    re.IGNORECASE,
)
_BOUND_ALONE = re.compile(r"\s*>\s*-?[\d.,]+\s*")


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


_MOST_DIGITS = 300
_FIFTEEN = Context(prec=15)


def plain_digits(value: Fraction) -> str:
    """A value as decimal digits without an exponent; 15 of them if it does not terminate."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest == 1:
        exact = Context(prec=4 * _MOST_DIGITS)
        digits = format(exact.divide(Decimal(value.numerator), Decimal(value.denominator)), "f")
    else:
        digits = format(_FIFTEEN.divide(Decimal(value.numerator), Decimal(value.denominator)), "f")
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
    return "0" if digits in ("-0", "") else digits


# -- text ------------------------------------------------------------------------

_CALCULATOR = re.compile(r"<<[^<>\n]{0,200}>>")
_POWER_STARS = re.compile(r"(?<=\d)\*\*(?=[-{(]?\d)")
_FRACTION = re.compile(
    r"\\[dtc]?frac\s?\{\s?(-?\d{1,20})\s?\}\s?\{\s?(\d{1,20})\s?\}|\\[dtc]?frac(\d)(\d)"
)
_ANY_FRACTION = re.compile(r"\\[dtc]?frac(?![a-z])")
_GROUPS = re.compile(r"(?<=\d)(?:\{,\}|\\[,!; ]|~)(?=\d{3})")
_LATEX_TEXT = re.compile(
    r"\\(?:text|textbf|textrm|mathrm|mathbf|mathit|mbox|operatorname)\s?(?=\{)"
)
_HTML_TAG = re.compile(r"</?(?:b|strong|i|em|u|p|span|div|code|br|h[1-6])(?:\s[^<>\n]{0,100})?/?>")
_LATEX = {
    "\\times": "×",
    "\\cdot": "·",
    "\\div": "÷",
    "\\approx": "≈",
    "\\sqrt": "√",
    "\\pi": "π",
    "\\pm": "±",
    "\\circ": "°",
    "\\%": "%",
    "\\$": "$",
    "\\#": "#",
    "\\quad": " ",
    "\\left": "",
    "\\right": "",
    "\\displaystyle": "",
    "\\implies": "→",
    "\\Rightarrow": "→",
    "\\rightarrow": "→",
    "\\to": "→",
    "\\therefore": "∴",
    "\\euro": "€",
    "\\pounds": "£",
    "\\ ": " ",
    "\\,": " ",
    "\\;": " ",
    "\\!": "",
    "\\(": " ",
    "\\)": " ",
    "\\[": " ",
    "\\]": " ",
    "\\\\": "\n",
    "\\le": "≤",
    "\\leq": "≤",
    "\\geq": "≥",
    "\\lt": "<",
    "\\gt": ">",
    "\\ne": "≠",
    "\\neq": "≠",
    "\\ge": "≥",
}
_LATEX_MARK = re.compile(
    "|".join(
        re.escape(mark) + (r"(?![A-Za-z])" if mark[-1].isalpha() else "")
        for mark in sorted(_LATEX, key=len, reverse=True)
    )
)
_SIGNS = str.maketrans(
    "０１２３４５６７８９，．％＄＝：（）＋－／＃٫٬−﹣‒⁄∕＜＞\u00a0\u2009\u202f\u2007",
    "0123456789,.%$=:()+-/#.,---//<>    ",
    "",
)
_NOT_X_BUT = re.compile(
    r"\b(?:is\s?n['’]t|(?:is\s)?not)\s[$€£]?-?\d[\d,.]{0,20}(?<![,.])%?[,;]?\s"
    r"(?:but(?:\srather)?|it['’]s|it\s(?:is|was))\s",
    re.IGNORECASE,
)
# "60 ... no, 68"
_MENDED = re.compile(
    r"(?<![\d.,])[$€£]?-?\d[\d,.]{0,20}(?<![,.])%?\s*(?:\.{2,3}|…|—|–|-|,|;|\.)\s*(?:(?:oh|hmm"
    r"|oops),?\s)?"
    r"(?:wait|no|sorry|i mean|make that|or rather|correction|actually)(?:,?\s(?:no|wait|sorry"
    r"|actually|i mean|make that))?"
    r"[,:;.—–]?\s+(?:it['’]s\s|that['’]s\s|it is\s)?(?=[$€£]?-?\d[\d,.]{0,20}%?"
    r"(?:\s\w+)?[.!]?\s*$)",
    re.IGNORECASE | re.MULTILINE,
)
# "2.718, rounded to 3 decimals"
# "15 years old, 3 years older than Bob", "24, three times as many as 8"
_COMPARED = re.compile(
    r"(?<=[\w%])(?:,\s|\s\()(?:which\sis\s|exactly\s|just\s)?(?:[$€£]?\d[\d.,]*\s(?:\w+\s)?"
    r"(?:older|younger|more|less|fewer|taller|shorter|longer|higher|lower|heavier|lighter|cheaper"
    r"|faster|slower|bigger|smaller|greater|larger)\sthan"
    r"|(?:up|down)\sfrom(?=\s[$€£]?\d)"
    r"|(?:(?:\w+\stimes|twice|half|double|triple)\s(?:as\s(?:many|much)\sas|the|of"
    r"|what)))\s"
    r"(?:(?!\b(?:is|are|was|were|equals)\b)[^,.()\n=]){1,40}\)?"
    r"(?=[.,;]?\s*$|\.\s)",
    re.IGNORECASE | re.MULTILINE,
)
_ARROW = re.compile(r"(?<![-=<])(?:-{1,2}|={1,2})>(?!>)")
_PRECISION = re.compile(
    r",?\s?\(?(?:(?:rounded|correct|accurate|given|exact|expressed)\s)?(?:\b(?:to|with|at)\s|"
    r"(?<=\())(?:\d|one|two|three|four|five)[\s-]"
    r"(?:decimals?(?:\s(?:places?|points?))?|d\.?\s?p\.?|sig(?:nificant|\.)?\s(?:figures?|digits?"
    r"|figs?\.?)|s\.?\s?f\.?)(?!\w)\)?",
    re.IGNORECASE,
)
_CITED = re.compile(
    r"((?:\b(?:is|are|was|equals|of)|=)\s[^\n\[\]]{0,30}\d\.?)\s?\[\d{1,2}\](?=\W*$|\s)"
)
# "68, not 60"
_INSTEAD = re.compile(
    r"(?<=[\w%*])(?:(?:,|;|\s[—–-])\s|\s\()(?:and\s)?(?:not|rather than|instead of)\s"
    r"(?:the\s)?[$€£]?-?\d[\d,.]{0,20}"
    r"(?<![,.])%?\)?(?=[.!;]?\s*$|\)|[.!;]\s)",
    re.IGNORECASE | re.MULTILINE,
)
_OTHER_DIGIT = re.compile(r"(?=[^\x00-\x7f])\d")
_SUPERSCRIPT = re.compile(r"(?<=\d)(⁻?[⁰¹²³⁴-⁹]{1,4})")
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_VULGAR = re.compile(r"(\d?)\s?([¼-¾⅐-⅞])")
_VULGAR_PLAIN = {
    sign: unicodedata.normalize("NFKC", sign).replace("⁄", "/")
    for sign in map(chr, (*range(0xBC, 0xBF), *range(0x2150, 0x215F)))
}
_BOLD_SPAN = re.compile(r"\*\*(?=\S)([^*\n]{1,300}?)\*\*|__(?=\S)([^_\n]{1,300}?)__")
_ITALIC = re.compile(r"(?<![\w*\\])([*_])([$€£]?-?\d[\d.,]{0,30}%?)\1(?![\w*])")
_BOXED = re.compile(r"\\(?:boxed|fbox)\s?\{|<answer>|<final_answer>", re.IGNORECASE)
_HASH_LINE = re.compile(r"(?<!\S)\\?#(?:\\?#){3}(?!#)")
_LEFTOVERS = re.compile(r"`|~~|(?m:^[ \t]*(?:#{1,6}|>)(?=\s))")
_CODE_FENCE = re.compile(r"^[ \t]*```[\w+-]*[ \t]*$", re.MULTILINE)
_MOST_BOXES = 200


def _normal(text: str) -> str:
    """The text with one form for each sign, and private marker characters around marked parts."""
    text = _without_code(_CALCULATOR.sub("", text))
    text = _boxes(text)
    text = _ARROW.sub("→", text)
    text = _HASH_LINE.sub(_HASHES, text)
    text = _POWER_STARS.sub("^", text)
    text = re.sub(r"</?(?:b|strong)>", "**", text)
    text = _HTML_TAG.sub(" ", text)
    text = _CODE_FENCE.sub("", text)
    if "\\" in text:
        text = _GROUPS.sub(",", text)
        text = _FRACTION.sub(_plain_fraction, text)
        text = _ANY_FRACTION.sub("√ ", text).replace("\\overline", "√")
        text = _LATEX_TEXT.sub(" ", text)
        text = _LATEX_MARK.sub(lambda mark: _LATEX[mark[0]], text)
    text = re.sub(r"(?<=\d)\{,\}(?=\d)", ",", text)
    text = text.translate(_SIGNS).replace("。", ". ")
    text = _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)
    text = _SUPERSCRIPT.sub(lambda raised: "^" + raised[0].translate(_RAISED), text)
    text = _VULGAR.sub(_ascii_fraction, text)
    text = ends(text, _LONGEST + 2_000)  # a sign has become four
    text = re.sub(r"\^\s?\{\s?(-?\d+)\s?\}", r"^\1", text)
    text = re.sub(r"\^\s?\{?\s?°\s?\}?", "°", text)
    text = _NOT_X_BUT.sub("is ", text)
    text = _ITALIC.sub(r"\2", text)
    text = _CITED.sub(r"\1", _PRECISION.sub(" ", text))
    text = _INSTEAD.sub("", _MENDED.sub("", text))
    text = _COMPARED.sub("", text)
    text = _BOLD_SPAN.sub(lambda bold: f"{_BOLD}{bold[1] or bold[2]}{_BOLD}", text)
    return _LEFTOVERS.sub("", text).replace("{", " ").replace("}", " ").replace("**", "")


_CODE = re.compile(
    r"^[ \t]*```[ \t]*(?!(?:text|txt|plaintext|output|console|markdown|md|json|latex|tex|math)\b)"
    r"[a-z][\w+#-]*[ \t]*\n.*?(?:^[ \t]*```[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)


def _without_code(text: str) -> str:
    """The text without blocks of program code, if a number is left."""
    if "```" not in text:
        return text
    rest = _CODE.sub("\n", text)
    return rest if re.search(r"\d", rest) else text


def _plain_fraction(found: re.Match[str]) -> str:
    signed = found.string[max(0, found.start() - 1) : found.start()] == "-"
    return f"{'' if signed else ' '}{found[1] or found[3]}/{found[2] or found[4]} "


def _ascii_fraction(found: re.Match[str]) -> str:
    fraction = _VULGAR_PLAIN[found[2]]
    if found[1]:
        return f"{found[1]} {fraction}"
    start = found.start()
    return fraction if start and found.string[start - 1] == "-" else f" {fraction}"


def _boxes(text: str) -> str:
    """Private markers around boxes and answer tags; one that is cut off is not closed."""
    kept: list[str] = []
    at = 0
    starts = deque(_BOXED.finditer(text), maxlen=_MOST_BOXES)
    for found in starts:
        if found.start() < at:
            continue
        if found[0].startswith("<"):
            end = text.find("</", found.end())
            close = text.find(">", end) + 1 if end >= 0 else len(text)
            inside, stop = text[found.end() : end if end >= 0 else len(text)], close
            done = True
        else:
            end = _closing(text, found.end())
            done = end >= 0
            inside = text[found.end() : end if done else len(text)]
            stop = end + 1 if done else len(text)
        kept += [text[at : found.start()], _OPEN_MARK, inside, _CLOSE_MARK if done else ""]
        at = max(stop, found.end())
    return "".join([*kept, text[at:]])


_LONGEST_BOX = 400


def _closing(text: str, start: int) -> int:
    depth = 1
    for at in range(start, min(len(text), start + _LONGEST_BOX)):
        if text[at] == "{":
            depth += 1
        elif text[at] == "}":
            depth -= 1
            if not depth:
                return at
    return -1


# -- numbers ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Number:
    """A number in a text; ``value`` is None if it is not a single definite one."""

    value: Fraction | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a rule found; ``value`` is None if clearly no single number is meant."""

    value: Fraction | None


_RUN = re.compile(
    r"(?<![\d.,])\d{1,3}(?: \d{3})+(?!\d)(?:[.,]\d{1,2}(?!\d))?"
    r"|\d+(?:[.,'’_]\d+)*|(?<![\w.])\.\d+"
)
_FORMS = tuple(
    re.compile(form)
    for form in (
        r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?|\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?",  # 1,234.5
        r"[1-9]\d{0,2}(?:\.\d{3})+,\d+|[1-9]\d{0,2}(?:\.\d{3}){2,}",  # 1.234,5
        r"\d{1,3}(?:['’_]\d{3})+(?:\.\d+)?",
        r"\d{1,3}(?: \d{3})+(?:[.,]\d{1,2})?",
        r"\d*\.\d+|\d+",
        r"\d+,\d{1,2}|\d+,\d{4,}|0,\d+",  # a decimal comma
    )
)
_ROUND = re.compile(r"[1-9]\d{0,2}\.\d{3}")


def _parsed(run: str, currency: str) -> Fraction | None:
    if len(run) > _MOST_DIGITS:
        return None
    if _ROUND.fullmatch(run) and (currency == "€" or run.endswith("00")):
        # One thousand in most of Europe, one elsewhere.
        return Fraction(run.replace(".", "")) if currency else None
    for at, form in enumerate(_FORMS):
        if form.fullmatch(run):
            if at == 0:
                run = run.replace(",", "")
            elif at == 1:
                run = run.replace(".", "").replace(",", ".")
            else:
                run = re.sub("['’_ ]", "", run).replace(",", ".")
            return Fraction(run)
    return None


_CURRENCY = "$€£¥₹₩₽₺₫฿₪₴₦￥"
_CODES = re.compile(
    r"(?:\b(?:rs\.?|inr|usd|eur|gbp|cad|aud|chf|jpy|rmb|cny|hkd|php|brl|mxn|zł|us)\s?)$",
    re.IGNORECASE,
)
_COUNTRY = re.compile(r"(?<![A-Za-z])(?:US|R|A|AU|C|CA|HK|NZ|S|NT|MX)$")
_MONEY_AFTER = re.compile(
    r"\s?(?:[€£$]|euros?\b|eur\b|zł|kr\b|reais\b|pesos\b|dollars?\b)", re.IGNORECASE
)
_ORDINAL = re.compile(r"(?:st|nd|rd|th|s|er|ème|º|ª)\b", re.IGNORECASE)
_COMPOUND = re.compile(r"-[A-Za-z]")
_EXPONENT = re.compile(r"[eE]([+-]?\d{1,3})(?![\w.])")
_TEN_POWER = re.compile(r"\s?[×x*·⋅]\s?10\s?\^\s?[({]?\s?([+-]?\d{1,3})\s?[)}]?(?!\d)")
_RAISED_TO = re.compile(r"\s?\^\s?[({]?\s?(-?\d{1,4})\s?[)}]?(?![\d.]|\s?[/^])")
_OVER = re.compile(r"\s?/\s?(\d{1,20})(?![\d.,]*\d)(?!\s?/)")
_MIXED = re.compile(r"(?:\s{1,2}|\s+and\s+)(\d{1,4})\s?/\s?(\d{1,4})(?!\d|\.\d|\s?/)")
_AND_PART = re.compile(r"\s+and\s+(?:a\s|one\s)(half|quarter)\b", re.IGNORECASE)
_PERCENT = re.compile(r"\s?(?:%|percent\b|per\s?cent\b|pct\b)", re.IGNORECASE)
_SCALES = {
    "hundred": 2,
    "thousand": 3,
    "million": 6,
    "millions": 6,
    "mn": 6,
    "mio": 6,
    "billion": 9,
    "bn": 9,
    "trillion": 12,
    "lakh": 5,
    "crore": 7,
    "grand": 3,
    **dict.fromkeys(
        ("mil", "mila", "mille", "tausend", "tsd", "bin", "ribu", "tys", "тыс", "тысяч"), 3
    ),
    **dict.fromkeys(("тысячи", "тысяча", "nghìn", "ngàn", "हज़ार", "हजार", "ألف", "آلاف"), 3),
    **dict.fromkeys(
        ("millionen", "millones", "millón", "milioni", "milione", "milhões", "milhão"), 6
    ),
    **dict.fromkeys(("miljoen", "miljoner", "milyon", "milion", "miliony", "milionów", "juta"), 6),
    **dict.fromkeys(("triệu", "млн", "миллион", "миллиона", "миллионов", "مليون"), 6),
    **dict.fromkeys(("mrd", "milliarden", "milliards", "miliardi", "milyar", "miljard", "mld"), 9),
    **dict.fromkeys(
        ("mil millones", "bilhões", "млрд", "миллиардов", "миллиарда", "tỷ", "مليار"), 9
    ),
    **dict.fromkeys(("लाख",), 5),
    **dict.fromkeys(("करोड़",), 7),
}
_SCALE = re.compile(
    r"[ -]?(" + "|".join(sorted(_SCALES, key=len, reverse=True)) + r")(?![^\W_])", re.IGNORECASE
)
_CJK_SCALES = {"百": 2, "千": 3, "천": 3, "万": 4, "萬": 4, "만": 4, "億": 8, "亿": 8, "억": 8}
_LETTER_SCALES = {"k": 3, "K": 3, "m": 6, "M": 6, "B": 9, "T": 12}
_LETTER_SCALE = re.compile(r"([kKmMBT])(?![A-Za-z0-9])")
_DOZEN = re.compile(r"\s?dozens?\b", re.IGNORECASE)
_UNKNOWN = re.compile(
    r"\.√|\s?[*·×]?\s?(?:[√πθλ]|\\|(?:[xyznjb]|[ai](?!\s[A-Za-z])|pi|sqrt)(?![A-Za-z'’]))"
)
_ATTACHED = re.compile(r"(?:[A-Za-z]{2,12}|[mghsLlWVACFKNJdw])(?:[/^²³]\w{1,5})?(?![A-Za-z0-9_])")
_CLOCK_OR_RANGE = re.compile(
    r"\s:\s?\d|:\d|\s?[–—]\s?\d|\s?-\d|\s?±|\s?to\s\d|\s?\.\.\.?\s?\d|\.?\([\dA-Za-z]|!"
    r"(?=\s*[=×])|\^"
)
_AND_UNKNOWN = re.compile(r"\s?[-+*×÷/]\s?[xyzn](?![A-Za-z])")
_SUBTRACTS = re.compile(r"\d\s*\w*\s*(?:minus|negative)\s?$", re.IGNORECASE)
_IN_A_WORD = re.compile("[A-Za-z_]")
_MINUS = re.compile(r"(?:minus|negative)\s?$", re.IGNORECASE)
_PART_OF_TERM = re.compile(
    r"(?:[±√/]|(?<![A-Za-z])[A-Za-z]\(|(?<![A-Za-z])[xyzn]\s?[-+*×÷^]\s?$|(?<![A-Za-z])(?:log|ln"
    r"|sqrt|sin|cos|tan|exp)\s?\(?)\s*$"
)
_LARGEST_POWER = 300


_MOST_READ = 600


def _numbers(text: str, start: int = 0, end: int | None = None) -> Iterator[_Number]:
    """The numbers of a text in order; ordinals, list markers and parts of terms are skipped."""
    at = start
    end = len(text) if end is None else end
    if end - at > _MOST_READ:
        end = at + _MOST_READ
    while found := _RUN.search(text, at, end):
        number, at = _number_at(text, found, end)
        if number:
            yield number


def _number_at(text: str, found: re.Match[str], stop: int) -> tuple[_Number | None, int]:
    begun, currency = _currency(text, *found.span())
    before = text[max(0, begun - 16) : begun]
    negative = _is_negative(text, begun)
    if _is_part_of_a_word(text, before, found.end(), currency, negative):
        return None, found.end()
    value = _parsed(found[0], currency)
    value, end = _scaled(text, value, found[0], found.end(), currency)
    rest = text[end : end + 24]
    unknown = _UNKNOWN.match(rest)
    in_a_word = _IN_A_WORD.match(rest) and not _ATTACHED.match(rest)
    if _OF_A_YEAR.match(rest) and re.fullmatch(_YEAR, found[0]):
        return None, end  # a 2019 study
    if _COMPOUND.match(rest) or (in_a_word and not unknown):
        return None, end  # 5-day, 2nd
    if (
        unknown
        or _CLOCK_OR_RANGE.match(rest)
        or _PART_OF_TERM.search(before)
        or _REFERS.search(before)
        or _AND_UNKNOWN.match(rest)
        or rest.startswith(("\u0304", "\u0305"))
        or (
            re.search(r"(?:^|\s)['’]$", before)
            and re.fullmatch(r"\d\d", found[0])
            and rest[:1] not in ("'", "’")
        )
        or (before.endswith(":") and before[-2:-1].isdigit())
    ):
        value = None
    if currency and before.endswith("(") and rest.startswith(")") and _STATES.search(before):
        value = None  # "the balance is ($45)": a loss for an accountant
    if value is not None and (
        _is_factorial(text, value, begun, end) or _is_vague(text, value, end)
    ):
        value = None
    if negative:
        begun = begun - 1 if before[-1:] in "-–" else begun
        value = None if value is None else -value
    return _Number(value, begun, min(end, stop)), max(end, found.end())


_OF_A_YEAR = re.compile(
    r"\s(?:study|paper|report|survey|article|census|elections?|edition|season|model|olympics"
    r"|world cup|law|act|film|movie|book|season|budget)\b",
    re.IGNORECASE,
)
_STATES = re.compile(r"(?:^|\b(?:is|are|was|of)\s|[:=]\s?)\(")
_FACTORIAL = re.compile(r"!(?:\s*(?:[=×*/+)}$]|\ue002)|\s+[a-z])")
_LARGEST_FACTORIAL = 20


def _is_factorial(text: str, value: Fraction, begun: int, end: int) -> bool:
    """Whether a number is the base of a factorial: ``5! = 120``, ``120 = 5!``, ``5!`` alone."""
    if text[end : end + 1] != "!" or not 0 <= value <= _LARGEST_FACTORIAL:
        return False
    before = text[max(0, begun - 4) : begun].rstrip()
    alone = not before and end < 8 and not text[end + 1 :].strip()
    return alone or before.endswith(("=", "\ue001")) or _FACTORIAL.match(text, end) is not None


_VAGUE = re.compile(
    r"-?ish\b|\+(?!\s?[\d(a-z])|\s(?:[a-z]+\s)?at\s(?:the\s)?(?:very\s)?(?:most|least|earliest|latest)\b"
    r"|\s(?:at\s)?(?:minimum|maximum|tops)\b|,?\sgive\sor\stake\b|\sand\scounting\b|\s(?:vs"
    r"|versus)\b|\s(?:plus|minus)\s[a-z]"
    r"|\s(?:is|was)(?:\snot|n['’]t|\swrong|\sincorrect|\sfalse)\b|\s\((?:wrong|incorrect|false)\)"
    r"|\s?‰|\s?[:?]\s(?:no|nope|wrong|incorrect|too)\b"
    r"|\s?[^\W\d]{0,3}\s?(?:以上|以下|未満|以内|이상|이하|미만|초과)|(?:\s\w+)?\s(?:oder|o|ou|или|lub|veya)\s"
    r"(?:mehr|weniger|más|menos|plus|moins|più|meno"
    r"|mais|больше|меньше|więcej|mniej|daha)\b"
    r"|\s(?:ist|es|est|è|é|n['’]est|no|non|não)\s(?:es\s|è\s|é\s)?(?:falsch|nicht|incorrect[oa]"
    r"|faux|pas|incorrecte?|sbagliat[oa]|errad[oa]|incorret[oa])\b"
    r"|\s(?:no|non|não|n['’]est)\s(?:es|è|é|pas)\b"
    r"|\sневерно\b|\sне\sверн|(?:是|が|は)?(?:错|錯|不对|不對|間違)|[^\W\d]?では(?:な|あり)|[이가]\s아"
    r"|\s(?:halves|thirds|quarters\sof|fourths|fifths|sixths|sevenths|eighths|ninths|tenths"
    r"|twelfths|hundredths|thousandths)\b"
    r"|(?:\s?°[CF]?|\sdegrees(?:\s\w+)?)?\sbelow\b(?!\sthe\b)"
    r"|\s(?:(?-i:January|February|March|April|May|June|July|August|September|October|November"
    r"|December|(?:Jan|Feb|Mar|Apr|Aug|Sept?|Oct|Nov|Dec)\b))"
    r"|\s(?:or|and)\s(?:so|more|less|fewer|above|over|up|higher|lower|below)\b"
)
_OTHERWISE = re.compile(
    r"(?:\s|(?:\s?cents?|\s?¢)\s?|(?=\((?!\d)))\(\s*(?:(?:or|maybe|perhaps|possibly|alternatively"
    r"|if|could|might|may)\b[^()\d]{0,40})?[~$€£]{0,2}"
    r"(\d[\d.,]{0,20})(?<![.,])(?![\d.,]|\s?%)[^()\d+*/×÷=^-]{0,40}\)"
)


_DOUBTED = re.compile(
    r"\s?\((?:unsure|not\ssure|uncertain|(?:just\s)?a\sguess|guess|\?)", re.IGNORECASE
)


def _is_vague(text: str, value: Fraction, end: int) -> bool:
    """Whether a number is a bound, or another one stands in brackets: ``20ish``, ``5 (or 6)``."""
    if _VAGUE.match(text, end):
        return True
    if _DOUBTED.match(text, end):
        return True
    other = _OTHERWISE.match(text, end)
    return other is not None and _parsed(other[1], "") not in (None, value)


def _currency(text: str, start: int, end: int) -> tuple[int, str]:
    """Where a number with its currency starts, and the currency as ``$`` or ``€``, or empty.

    Only whether it is a currency matters, and whether it is from where ``1.000`` is a thousand.
    """
    begun = start
    while begun and text[begun - 1] in _CURRENCY:
        begun -= 1
    if sign := text[begun:start][:1]:
        if country := _COUNTRY.search(text, max(0, begun - 3), begun):
            begun = country.start()
        return begun, "€" if sign == "€" or text[begun:start] == "R$" else "$"
    if code := _CODES.search(text[max(0, start - 8) : start]):
        return start - len(code[0]), "€" if code[0].strip().lower() in ("eur", "zł") else "$"
    if money := _MONEY_AFTER.match(text[end : end + 12]):
        return begun, "€" if money[0].strip()[:1] in "€eEzk" else "$"
    return begun, ""


def _is_negative(text: str, begun: int) -> bool:
    if text[begun - 1 : begun] in ("-", "–") and begun:
        return _is_sign(text, begun)
    before = text[max(0, begun - 24) : begun]
    return bool(_MINUS.search(before)) and not _SUBTRACTS.search(before)


# "Figure 2", "No. 5", "July 4"
_REFERS = re.compile(
    r"(?:\b(?:Top|Chapter|Page|Question|Option|Figure|Fig\.|Table|Section|Exercise|Room|Problem"
    r"|Step"
    r"|Item|Equation|Eq\.|Example|Theorem|Lesson|Volume|Version|Windows|Apollo|Bus|Flight|Route"
    r"|Gate"
    r"|January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan\.?|Feb\.?|Mar\.?|Apr\.?|Aug\.?|Sept?\.?|Oct\.?|Nov\.?|Dec\.?)|(?:^|\s)N(?:o|r)\.?|№"
    r"|\b(?:[Ss]ee|[Oo]n|[Ii]n|[Ff]rom|[Tt]o|[Bb]y|[Uu]se|[Uu]sing)\s(?:page|chapter|figure|table"
    r"|section|step|example|line|appendix"
    r"|equation|question|problem)|\b(?:ISO|RFC|IEEE|DIN|Boeing))\s\(?$"
)


def _is_part_of_a_word(text: str, before: str, end: int, currency: str, negative: bool) -> bool:
    """Whether digits belong to a term: ``A4``, ``x2``, ``#3``, ``cm^2``, ``covid-19``, ``5th``."""
    previous = before[-1:]
    if previous in ("_", "#", "^") or (previous.isascii() and previous.isalpha()):
        return True
    if previous == "-" and not negative and before[-2:-1].isalpha():
        return True
    return _ORDINAL.match(text, end) is not None


def _is_sign(text: str, at: int) -> bool:
    """Whether the dash right before ``at`` is a sign, not a subtraction or hyphen."""
    before = text[max(0, at - 4) : at - 1].rstrip(" " + _CURRENCY + _BOLD)
    last = before[-1:]
    if last.isdigit() or last in (")", "%", "]"):
        return False
    return not last.isalpha() or text[at - 2 : at - 1].isspace()


def _scaled(
    text: str, value: Fraction | None, run: str, end: int, currency: str
) -> tuple[Fraction | None, int]:
    """A value with the fraction, power or scale that follows it; and where that ends."""
    window = text[end : end + 32]
    if found := _EXPONENT.match(window) or _TEN_POWER.match(window):
        return _shifted(value, int(found[1])), end + found.end()
    if found := _RAISED_TO.match(window):
        return _raised(value, int(found[1]), len(run)), end + found.end()
    if run.isdecimal() and (mixed := _mixed(value, window)):
        return mixed[0], end + mixed[1]
    if found := _OVER.match(window):
        below = int(found[1])
        if not below or _DOZEN.match(window, found.end()):
            return None, end + found.end()
        return None if value is None else value / below, end + found.end()
    if found := _PERCENT.match(window):
        return value, end + found.end()
    if found := _SCALE.match(window):
        if _WORDS.match(window[found.end() :].lstrip(" ,")):
            return None, end + found.end()  # "3 million five hundred thousand"
        return _shifted(value, _SCALES[found[1].lower()]), end + found.end()
    if window[:1] in _CJK_SCALES:
        return _shifted(value, _CJK_SCALES[window[:1]]), end + 1
    if (found := _LETTER_SCALE.match(window)) and (currency or found[1] != "m"):
        sure = currency or found[1] in "kKM"
        return _shifted(value, _LETTER_SCALES[found[1]]) if sure else None, end + 1
    if found := _DOZEN.match(window):
        return None, end + found.end()
    return value, end


def _mixed(value: Fraction | None, window: str) -> tuple[Fraction, int] | None:
    """A whole number and the fraction after it, and where that ends."""
    if value is None:
        return None
    if found := _MIXED.match(window):
        above, below = int(found[1]), int(found[2])
        return (value + Fraction(above, below), found.end()) if 0 < above < below else None
    if found := _AND_PART.match(window):
        return value + _PARTS[found[1].lower()], found.end()
    return None


def _shifted(value: Fraction | None, exponent: int) -> Fraction | None:
    """A value times a power of ten."""
    if value is None or abs(exponent) > _LARGEST_POWER:
        return None
    return value * Fraction(10) ** exponent


def _raised(value: Fraction | None, exponent: int, digits: int) -> Fraction | None:
    if value is None or abs(exponent) * digits > _LARGEST_POWER or (not value and exponent < 0):
        return None
    return value**exponent


_TEENS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    "nineteen",
)
_DECADES = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_UNITS = {word: at for at, word in enumerate(_TEENS)}
_TENS = {word: 10 * at for at, word in enumerate(_DECADES, start=2)}
_WORD_SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9}
_PARTS = {"half": Fraction(1, 2), "quarter": Fraction(1, 4)}
_WORD = "|".join(sorted((*_UNITS, *_TENS, *_WORD_SCALES), key=len, reverse=True))
_WORDS = re.compile(
    rf"(?<![\w-])(?:(?P<sign>minus|negative)[ ])?(?P<words>(?:a[ ](?=hundred|thousand|million"
    rf"|billion))?"
    rf"(?:{_WORD})(?:(?:[ -]|,?[ ]and[ ])(?:{_WORD}))*)(?![\w-])"
    r"(?:[ ]and[ ](?:(?P<many>a|one|two|three)[ -])?(?P<part>half|quarters?|thirds?)\b)?",
    re.IGNORECASE,
)
_A_PART = re.compile(
    r"\b(?:(?P<many>one|two|three|four|five)[ -])?"
    r"(?P<part>half|halves|thirds?|quarters?|fourths?|fifths?)\b",
    re.IGNORECASE,
)
_BELOW = {"hal": 2, "thi": 3, "qua": 4, "fou": 4, "fif": 5}
_A_DOZEN = re.compile(r"\b(?P<half>half[ ])?(?:an?|one)[ ]dozen\b(?![ ]and\b)", re.IGNORECASE)
_HALF_A_SCALE = re.compile(
    r"\bhalf[ ](?:an?[ ])?(?P<scale>hundred|thousand|million|billion)\b", re.IGNORECASE
)
_JUST_ONE = re.compile(
    r"(?:^[\W_]*|\b(?:is|are|has|have|leaves|only|just|exactly|equals|makes|get|gets|remains)\s"
    r"|[=:]\s?)one$",
    re.IGNORECASE,
)
_ONE_MORE = re.compile(
    r"\s+(?:of|can|by|could|should|would|more|another|way|is|thing|must|who"
    r"|that)\b",
    re.IGNORECASE,
)


def _worded(text: str) -> list[_Number]:
    """The numbers written in English words."""
    found = [
        _Number(Fraction(6 if dozen["half"] else 12), dozen.start(), dozen.end())
        for dozen in _A_DOZEN.finditer(text)
    ]
    found += [
        _Number(Fraction(_WORD_SCALES[half["scale"].lower()], 2), half.start(), half.end())
        for half in _HALF_A_SCALE.finditer(text)
    ]
    known = [number.end for number in found]
    for words in _WORDS.finditer(text):
        if _A_PART.match(text, words.start()) or _A_DOZEN.match(text, words.start()):
            continue
        if words.end() in known:
            continue
        if words["words"].lower() == "one" and not words["part"] and not _is_just_one(text, words):
            continue
        value = _of_words(words["words"].lower())
        if value is not None:
            if words["part"]:
                many = _UNITS.get((words["many"] or "one").lower(), 1)
                value += Fraction(many, _BELOW[words["part"][:3].lower()])
            if words["sign"]:
                value = -value
        after = text[words.end() : words.end() + 24]
        if _VAGUE.match(after):
            value = None
        if _DOZEN.match(after) or re.match(
            r"(?:[ -](?:point|thirds?|halves|quarters?|fifths?)\b)", after
        ):
            value = None
        if re.match(r"-[a-z]", after) or _SOME.search(
            text[max(0, words.start() - 10) : words.start()]
        ):
            continue
        found.append(_Number(value, words.start(), words.end()))
    return found


_KNOWN_MANY = re.compile(
    r"\b(?:the|these|those|all|its|his|her|their|our|my|your|of|per|every)\s$", re.IGNORECASE
)


def _is_just_one(text: str, words: re.Match[str]) -> bool:
    """Whether "one" is a number, and not as in "one of them"."""
    counted = _JUST_ONE.search(text[max(0, words.start() - 12) : words.end()])
    return counted is not None and not _ONE_MORE.match(text, words.end())


_SOME = re.compile(r"\b(?:several|few|many|some|tens of)\s$", re.IGNORECASE)


def _of_words(words: str) -> Fraction | None:
    total = current = 0
    last = 10**12
    for word in re.split(r"[ -]|,", words):
        if word in ("and", "a", ""):
            continue
        if word in _UNITS or word in _TENS:
            value = _UNITS.get(word, _TENS.get(word, 0))
            if current % 100 and not (current % 100 >= 20 and current % 10 == 0 and value < 10):
                return None  # "five six"
            if word in _TENS and current % 100:
                return None
            current += value
        elif word == "hundred":
            if current > 99:
                return None
            current = (current or 1) * 100
        else:
            scale = _WORD_SCALES[word]
            if scale >= last:
                return None
            last = scale
            total += (current or 1) * scale
            current = 0
    return Fraction(total + current)


# -- marked answers --------------------------------------------------------------

_ADJECTIVE = (
    r"(?:(?:final|correct|right|numerical|numeric|simplified|exact|overall|my|total)[ ]){0,3}"
)
_NOUN = (
    r"(?=[aslrocđоاउค答解正정답vjвαת])(?:answer|ans\.?|solution|result|respuesta|réponse|antwort"
    r"|lösung"
    r"|resposta|risposta|odpowiedź"
    r"|odpowiedz|odpověď|antwoord|svar(?:et)?|vastaus|válasz|răspuns(?:ul)?|jawaban(?:nya)?"
    r"|відповідь"
    r"|απάντηση|תשובה|cevap|sonuç|đáp[ ]án|đáp[ ]số|ответ|الإجابة|الجواب|उत्तर|คำตอบ"
    r"|答え|解答|答案|正解|정답|답)"
)
_VERB = (
    r"(?:is|are|was|equals|would[ ]be|will[ ]be|should[ ]be|must[ ]be|comes[ ](?:out[ ])?to|es"
    r"|est|ist|é|è|to|là|är|er|adalah|este|je|είναι"
    r"|هو|هي|है|คือ|は|是|为|為|は、|은|는)"
)
_LABEL = re.compile(
    rf"(?<![A-Za-z])(?P<kind>{_ADJECTIVE}){_NOUN}(?P<gap>(?:[ \t]+(?!(?:not|cannot|choice"
    rf"|option)\b)[^\s.:;!?,=<>]{{1,20}}(?<!n['’]t)"
    rf"){{0,8}}?(?:,[ ](?:then|therefore|thus|of course|in this case),)?)"
    rf"[\"'”{_BOLD}]*\s*(?:[:=]|[-–—]+>?(?=\s)|→|⇒|(?<![A-Za-z]){_VERB}(?![A-Za-z]))"
    rf"|^[ \t]*{_BOLD}?A{_BOLD}?:{_BOLD}?(?![^\n]*\n+[ \t]*{_BOLD}?B{_BOLD}?:)"
    rf"|(?<![A-Za-z])(?P<heading>{_ADJECTIVE}{_NOUN})[ \t]*{_BOLD}?[ \t]*(?=\n)",
    re.IGNORECASE | re.MULTILINE,
)
_ANY_NOUN = re.compile(rf"{_NOUN}|^[ \t]*{_BOLD}?A{_BOLD}?:", re.IGNORECASE | re.MULTILINE)
_MOST_LABELS = 60
_NOT_MINE = re.compile(
    r"(?:wrong|incorrect|common|other|another|first|initial|previous|earlier|partial|intermediate"
    r"|tempting|intuitive|obvious|na[iï]ve|apparent|student['’]?s?|expected|if|whether|given"
    r"|intermediate|possible|no|original)"
    rf"[\s{_BOLD}]+(?:the\s+)?$",
    re.IGNORECASE,
)
_WEAK_NOUN = re.compile("solution|result|lösung|sonuç", re.IGNORECASE)
_GAP_OF_PARTS = re.compile(r"\d|\b(?:part|step)\b")
_IF_SO = re.compile(
    r"\b(?:if|(?:might|may|could|would|people|tempt(?:ed|ing)|often|many|some|students)"
    r"\b[^.\n]{0,30}"
    r"\b(?:think|say|guess|believe|assume|expect|answer|conclude))\b[^.\n]{0,80}$",
    re.IGNORECASE,
)
_FILL = re.compile(
    rf"(?:[\s:*\"'“‘(\[≈~{_BOLD}{_OPEN_MARK}]|\\|about\b|approximately\b|approx\.?|roughly\b"
    rf"|around\b|exactly\b"
    r"|just\b|only\b|simply\b|therefore\b|thus\b|then\b|still\b|indeed\b|clearly\b|actually\b"
    r"|indeed\b"
    r"|a total of\b|equal to\b|the number\b|[A-Za-z]\s?=(?!=)|(?:the\s)?(?:correct|final)\b|="
    r"|\$(?!\d)|∴|là\b|la\b|el\b|le\b|die\b|das\b|のは)*",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"(?:not|never|less|more|fewer|greater|at\s(?:least|most)|below|above|between|under|over"
    r"|up\sto|either|neither|no\b"
    r"|one\sof|unknown|unclear)\b|[<>≤≥]",
    re.IGNORECASE,
)
_NOT_BUT = re.compile(
    r"not\s[^.;\n]{1,30}?[,;]?\s(?:but|it['’]s|it is)\s(?:rather\s)?", re.IGNORECASE
)
# Bounds and denials in other languages.
_BOUND = (
    r"mindestens|höchstens|maximal|minimal|mehr\sals|weniger\sals|über|unter|fast|knapp|nicht"
    r"|keine?"
    r"|au\s(?:moins|plus|maximum|minimum)|(?:plus|moins)\sde|presque|pas"
    r"|(?:al|por\slo|como|a\slo)\s(?:menos|mínimo|máximo|sumo|más)|(?:más|menos)\sde|casi|no\s"
    r"(?:es|son)"
    r"|almeno|al\smassimo|(?:più|meno)\sdi|quasi|non|pelo\smenos|no\s(?:máximo|mínimo)|mais\sde"
    r"|quase|não(?:\s(?:é|são))?"
    r"|(?:не\s)?(?:менее|более|меньше|больше)|почти|минимум|максимум|не|co\snajmniej|najwyżej"
    r"|ponad|prawie|nie"
    r"|en\s(?:az|fazla)|ít\snhất|nhiều\snhất|hơn|gần|không\sphải|minstens|hoogstens|(?:meer"
    r"|minder)\sdan|niet|bijna"
    r"|minst|högst|(?:mer|mindre)\sän|inte|kurang\sdari|lebih\sdari|minimal|maksimal"
    r"|على\sالأقل|أكثر\sمن|أقل\sمن|ليس|कम\sसे\sकम|अधिकतम|z\.\s?B\.|par\sexemple,?|por\sejemplo,?"
    r"|e\.g\.,?|for\s(?:example|instance),?|such\sas"
)
_BOUND_IN_CJK = (
    "至少|最多|超过|超過|不到|少于|少於|多于|多於|将近|將近|接近|不超过|不是|例如|比如|少なくとも|多くとも|最大で?|最低でも?|ほぼ"
    "|최소|최대|적어도|많아야|거의|อย่างน้อย|ไม่เกิน|มากกว่า|น้อยกว่า|ไม่ใช่"
)
_NOT_BEFORE = re.compile(
    rf"(?:\b(?:{_BOUND})|{_BOUND_IN_CJK}|"
    r"n['’]t|\b(?:not|never|than|at\s(?:least|most)|below|above|between|under|over|up\sto"
    r"|neither|nor|least|most|(?:half|third|quarter|fraction|multiple)\sof|(?:half|quarter)\s"
    r"(?:to|past)"
    r"|twice|double|triple|nearly|almost|(?:not|never)\squite|nearer"
    r"|(?:just|a little|slightly|well)\s(?:over|under|above|below)"
    r"|close\sto|out\sof|than\sor\sequal\sto|beyond|minimum\sof|maximum\sof|several|few|many"
    r"|tens\sof|hundreds\sof|dozens\sof)"
    r"|[<>≤≥≠]=?|!=)"
    rf"\s*(?:the\s|exactly\s|just\s)?[$€£(\s{_BOLD}]*$",
    re.IGNORECASE,
)
_BREAKS = re.compile(
    r"[(\[:;!?\n\"“→]|\.(?=\s|$)|,(?!\s?\d)|\s[–—-]\s|\b(?:because|since|as|when|after|for|per"
    r"|every|each|in|at|on|from|with|by"
    r"|given|if|where|which|who|so|but|not|rather|instead|where|that|while|he|she|they|it|we)\b",
    re.IGNORECASE,
)
_OPERATOR = re.compile(
    rf"[\s{_BOLD}]{{0,3}}(?:[-+*/×÷·^](?!\s?[A-Za-z])|[√π]|(?:\w{{1,12}}\s+)?(?:plus|minus|times"
    rf"|divided\sby|multiplied\sby)\b)[\s{_BOLD}]*[-\d($€£(√π]"
)
_EQUALS = re.compile(
    r"(?<![<>≤≥!])=|[≈→⇒]"
    r"|(?<!to )(?<!\bor )\b(?:equals?|(?:makes?|gives?|gets)(?! (?:away|up|back|off)\b)|totals"
    r"|is equal to|(?:comes|works) (?:out )?(?:to|at)|adds? up to|sums? to|amounts? to|ends up with"
    r"|round(?:s|ed) (?:up |down |off )?to(?=\s[$€£]?\d)"
    r"|ergibt|ergeben|beträgt|égale(?:nt)?|macht|font|等于|donnent?|равн[оаы]?|равен|равняется|wynosi"
    r"|results in|leaves|leaving|totall?ing|giving(?! away\b)|yields|for a (?:grand )?total of|a "
    r"(?:grand )?total of"
    r"|which is|that is|that['’]s)\b"
    r"|(?<!need )(?<!needs )(?<!needed )(?<!required )(?<!more )(?<!enough )(?<!have )(?<!has )"
    r"(?<!wants )\bto (?:get|obtain|arrive at)\b",
    re.IGNORECASE,
)
_WINDOW = 300


@dataclass(frozen=True, slots=True)
class _Mark:
    start: int
    end: int
    reading: _Reading
    named: bool = False


_TAKEN_BACK = re.compile(
    r"(?:^|[.!?…)\n\ue002\ue003]\s*)(?:\W{0,3})(?:wait|hold on|hmm+|oops|correction|scratch that"
    r"|no,|sorry|apologies|i apologi[sz]e"
    r"|actually,|on second thought|let me (?:re|correct|fix|try again|redo)"
    r"|i made an? (?:mistake|error)"
    r"|(?:but )?(?:wait|that(?:['’]s| is| was) (?:wrong|incorrect|not (?:right|correct)))"
    r"|my mistake)",
    re.IGNORECASE,
)


def _marked(text: str) -> _Reading | None:
    marks = [mark for mark in (_boxed(text), _hashed(text), _labelled(text)) if mark]
    if not marks:
        return None
    last = max(marks, key=lambda mark: (mark.start, mark.end))
    if back := _TAKEN_BACK.search(text, last.end):
        rest = text[back.end() :]
        return _concluded(rest, cut_matters=False) or _Reading(None)
    if last.reading.value is None and last.named:
        later = _concluded(text[_line_end(text, last.end) :])
        if later and later.value is not None:
            return later
    return last.reading


def _boxed(text: str) -> _Mark | None:
    """The last box or answer tag that is not empty."""
    at = text.rfind(_OPEN_MARK)
    while at >= 0:
        end = text.find(_CLOSE_MARK, at)
        if end < 0:
            return _Mark(at, len(text), _Reading(None))  # cut off inside it
        if text[at + 1 : end].strip():
            if _NOT_BOX.search(text, max(0, at - 40), at):
                at = text.rfind(_OPEN_MARK, 0, at)
                continue
            reading = _alone(text[at + 1 : end][:_LONGEST_BOX])
            if _OR_BOX.search(text, max(0, at - 40), at) or (
                (beside := _BOX_BESIDE.search(text, max(0, at - 200), at))
                and _alone(beside[1]).value != reading.value
            ):
                return _Mark(at, end + 1, _Reading(None))
            return _Mark(at, end + 1, reading)
        at = text.rfind(_OPEN_MARK, 0, at)
    return None


_NOT_BOX = re.compile(r"\b(?:not|rather\sthan|instead\sof)[\s$]{0,5}$", re.IGNORECASE)
_BOX_BESIDE = re.compile(
    "\ue001([^\ue001\ue002]*)\ue002[^\n.!?\ue001]{0,40}\\b(?:or|and)\\b[^\n.!?\ue001]{0,60}$"
)
_OR_BOX = re.compile("\ue002[\\s$.]{0,5}(?:or|and|,|;)[\\s$]{0,5}$")


def _hashed(text: str) -> _Mark | None:
    """The last ``####`` that is not a heading: those have words, as in "#### 2. Add them up"."""
    at = text.rfind(_HASHES)
    for _ in range(_MOST_LABELS):
        if at < 0:
            break
        end = _line_end(text, at)
        if (reading := _short(text[at + 1 : end])) is not None:
            return _Mark(at, end, reading)
        at = text.rfind(_HASHES, 0, at)
    return None


_WORDS_BESIDE = re.compile(r"[^\W\d_]{2,}")


def _short(line: str) -> _Reading | None:
    """The value of a line that is a number, a unit and little else."""
    bare = line.replace(_BOLD, " ").strip()
    if bare.endswith(":") or re.match(r"\(?\d{1,2}[.)]\s+\S", bare):
        return None
    if len(_WORDS_BESIDE.findall(bare)) > 3 or not re.search(r"\d|\w", bare):
        return None
    reading = _alone(bare)
    first = next(_numbers(bare), None)
    if first is None and reading.value is None:
        return None
    if first is not None and _WORDS_BESIDE.search(bare[: first.start]) and "=" not in bare:
        return None
    return reading


def _alone(inside: str) -> _Reading:
    """The value of a text that should hold one number only."""
    text = inside.replace(_BOLD, " ").strip()
    if text.count("=") or "≈" in text:
        parts = re.split("[=≈]", text)
        text = parts[-1].strip()
        # "x = 3, y = 4"
        if (
            len(parts) > 2
            and len({n.value for part in parts for n in _numbers(part)}) > 1
            and re.search(r"[,;]|\b(?:and|or)\b", inside)
        ):
            return _Reading(None)
        if len(parts) == 2 and re.search(r"[,;]\s|\b(?:and|or)\b", parts[0]):
            return _Reading(None)
    numbers = list(_numbers(text)) or _worded(text) or _parts(text)
    values = {number.value for number in numbers}
    if len(values) != 1 or None in values:
        return _Reading(None)
    if any(_NOT_BEFORE.search(text, max(0, n.start - 20), n.start) for n in numbers):
        return _Reading(None)
    if any(_OPERATOR.match(text, n.end) for n in numbers) or re.search(r"[√π]", text):
        return _Reading(None)
    before = text[: numbers[0].start].rstrip(" (≈~“" + _CURRENCY)
    if re.search(r"[-+*/×÷^√]$", before) and before != "+":
        return _Reading(None)
    return _Reading(numbers[0].value)


def _parts(text: str) -> list[_Number]:
    found = []
    for part in _A_PART.finditer(text):
        below = _BELOW[part["part"][:3].lower()]
        found.append(
            _Number(
                Fraction(_UNITS[part["many"].lower()] if part["many"] else 1, below),
                part.start(),
                part.end(),
            )
        )
    return found


def _labelled(text: str) -> _Mark | None:
    """The last label with a number."""
    nouns = deque((found.start() for found in _ANY_NOUN.finditer(text)), maxlen=_MOST_LABELS)
    if not nouns:
        return None
    at = max(0, nouns[0] - 60) if len(nouns) == _MOST_LABELS else 0
    for label in reversed(deque(_LABEL.finditer(text, at), maxlen=_MOST_LABELS)):
        before = text[max(0, label.start() - 90) : label.start()]
        if _NOT_MINE.search(before[-24:]) or _IF_SO.search(before):
            continue
        if _WEAK_NOUN.search(label[0]) and not (label["kind"] or "").strip():
            continue
        if label["gap"] and _GAP_OF_PARTS.search(label["gap"]):
            continue
        reading, end = _after_label(text, label.end())
        if reading is not None:
            return _Mark(label.start(), end, reading, named=True)
    return None


def _after_label(text: str, at: int) -> tuple[_Reading | None, int]:
    """What a label refers to: the number right after it, or the result of its equation."""
    filled = _FILL.match(text, at)
    start = filled.end() if filled else at
    while start > at and (text[start - 1] in _CURRENCY or text[start - 1] in "-–"):
        start -= 1
    stop = _line_end(text, start)
    if instead := _NOT_BUT.match(text, start):
        start = instead.end()
    if _NOT.match(text, start):
        return None, start
    # A second label on the way, as in "Answer: the final answer is", decides on its own.
    first = next(_numbers(text, start, stop), None)
    worded = _worded(text[start : min(stop, start + 80)])
    if first is None or first.start > start + 1:
        if (
            worded
            and worded[0].start <= 1
            and (first is None or worded[0].start < first.start - start)
        ):
            number = _Number(worded[0].value, start + worded[0].start, start + worded[0].end)
            return _unless_more(text, number, stop), number.end
        if worded and worded[0].start <= 1:
            return _Reading(worded[0].value), start + worded[0].end
        parts = _parts(text[start : min(stop, start + 40)])
        if parts and parts[0].start <= 4 and first is None:
            return _Reading(parts[0].value), start + parts[0].end
        sentence_end = _sentence_end(text, start, stop)
        if text[sentence_end : sentence_end + 1] == "?":
            return _Reading(None), sentence_end
        if re.match(
            r"\s?(?:let|we|first|to|below|as follows|step)\b", text[start:stop], re.IGNORECASE
        ):
            return None, start
        if first is not None and first.start < sentence_end:
            read = _in_sentence(text[start:sentence_end], strict=True)
            return (read if read is not None and read.value is not None else None), sentence_end
        return None, start
    return _unless_more(text, first, stop), first.end


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return min(len(text) if end < 0 else end, at + _WINDOW)


def _sentence_end(text: str, at: int, stop: int) -> int:
    for found in re.finditer(r"[.!?](?=\s|$)", text[at:stop]):
        return at + found.start()
    return stop


def _unless_more(text: str, number: _Number, stop: int) -> _Reading:
    """A number right after a label, unless the clause continues with others or an equation."""
    rest = text[number.end : stop]
    if _OPERATOR.match(rest) or re.match(rf"[\s{_BOLD}]*(?:=|≈|→)", rest):
        sentence = text[number.start : _sentence_end(text, number.end, stop)]
        equals = list(re.finditer("[=≈→]", sentence))
        if equals and (after := next(_numbers(sentence, equals[-1].end()), None)):
            between = sentence[equals[-1].end() : after.start].strip(f" ≈~{_BOLD}")
            if not between and not _OPERATOR.match(sentence, after.end):
                return _Reading(after.value)
        return _Reading(None)
    if re.match(r"\s*\?", rest) or _is_revised(rest):
        return _Reading(None)
    clause = rest[: (found.start() if (found := _BREAKS.search(rest)) else len(rest))]
    others = [n for n in _numbers(clause) if n.value != number.value]
    if others:
        return _Reading(None)
    if re.match(
        rf"[\s{_BOLD}]*(?:\w+[\s{_BOLD}]+)?(?:or|and|to|out\sof|of)\s+(?:\w+\s+)?[$€£]?\d", rest
    ):
        other = next(_numbers(rest), None)
        if other and other.value != number.value:
            return _Reading(None)
    if found and re.match(r",?\s?(?:or|and)\s[$€£]?\d", rest[found.start() :]):
        other = next(_numbers(rest, found.start()), None)
        if other and other.value != number.value:
            return _Reading(None)
    if re.match(r"\s*(?:,|;)\s*(?:[a-z]\s?=\s?)?-?[$€£]?\d", rest) and number.value is not None:
        other = next(_numbers(rest), None)
        if other and other.value != number.value:
            return _Reading(None)
    return _Reading(number.value)


_REVISED = re.compile(
    r"[\s,;]{1,3}(?:but|however|though|yet)\s(?:I|now|it|maybe|perhaps|then|later|actually|could"
    r"|might)\b",
    re.IGNORECASE,
)


def _is_revised(rest: str) -> bool:
    """Whether what follows a number gives another: "was 15, but I now get 17"."""
    found = _REVISED.match(rest)
    return found is not None and next(_numbers(rest, found.end()), None) is not None


# -- conclusions -----------------------------------------------------------------

_ITEM = re.compile(
    rf"^[ \t]*(?:[-*•+–][ \t]+)?{_BOLD}?\(?(\d{{1,2}})[.)][ \t]+(?=\S)", re.MULTILINE
)
_BULLET = re.compile(
    r"^[ \t]*(?:[-*•+][ \t]+|\(?[a-z][.)][ \t]+)(?=\S)",
    re.IGNORECASE | re.MULTILINE,
)


_MINUS_OR_BULLET = re.compile(rf"^[ \t]*[-–][ \t]+(?=[{_CURRENCY}]?\d)", re.MULTILINE)
_STEP = re.compile(
    r"\b(step|part|case|day|week|round)[ ]\d{1,2}\b(?=[ \t]?[:.)(\ue003–—-]|[ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)


def _without_list_marks(text: str) -> str:
    """The text without bullets and list numbers.

    A number at the start of a reply, followed by a full stop, may also be its answer: a list starts
    with 1 and continues. A lone "1." can be either, and is changed so that it is not a number.
    """
    text = _STEP.sub(r"\1", text)
    bullets = len(_BULLET.findall(text))
    if bullets == 1:
        text = _MINUS_OR_BULLET.sub("±", text)
    text = _BULLET.sub("• " if bullets > 1 else "", text)
    items = [int(found[1]) for found in _ITEM.finditer(text)]
    if not items:
        return text
    if len(items) > 1 and items[0] == 1:
        return _ITEM.sub("• ", text)
    return _ITEM.sub("1\x2d1 ", text, count=1) if items[0] == 1 else text


_SPLIT = re.compile(
    r"\n+|(?<=[.?。！？])(?<!\bNo\.(?=\s\d))(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\bca\.)"
    r"(?<![ap]\.m\.(?=\s[a-z]))[\ue003\"'”’)]*\s+(?=\S)|(?<=!)[\ue003\"'”’)]*\s+(?=[^\s=×*/+a-z])"
)
_CUE = re.compile(
    r"\b(?:so|therefore|thus|hence|consequently|in\stotal|altogether|together|total|in\sall|finally"
    r"|overall|as\sa\sresult"
    r"|this\smeans|that\smeans|which\smeans|means\sthat|in\sconclusion|conclusion|concluded?"
    r"|answer|result|final|sum|net|left|remain(?:s|ing)?|∴|must\sbe"
    r"|will\s(?:need|take|cost|have|be|get|earn|make|pay|spend)|needs?|takes?|costs?|profit"
    r"|makes?|earns?|spends?|pays?)\b|∴",
    re.IGNORECASE,
)
# What concludes in other languages, where it is not also an English word.
_CONCLUDES = (
    r"\b(?:daher|somit|folglich|donc|así que|por lo tanto|por tanto|entonces|por eso|quindi"
    r"|dunque|perciò|pertanto"
    r"|portanto|então|więc|zatem|значит|следовательно|таким образом|поэтому|vậy|jadi|dus|alltså"
    r"|αρα|άρα"
    r"|also (?=insgesamt|sind|hat|ist|gibt|bleib|beträgt|kostet))\b"
    r"|^\W*also(?=:)"
    r"|所以|因此|ので、|だから|したがって|よって|따라서|그래서|그러므로|이므로|므로\s|إذن|لذلك|अतः|इसलिए|ดังนั้น"
)
_IN_TOTAL = (
    r"\b(?:insgesamt|zusammen|au total|en tout|en total|in totale|in tutto|no total|ao todo|razem"
    r"|łącznie|всего|итого"
    r"|в сумме|toplam|totalt|sammanlagt|in totaal|tổng cộng|yhteensä)\b"
    r"|一共|总共|總共|共计|合計|全部で|합계|모두"
)
_STRONG_CUE = re.compile(
    _CONCLUDES + "|" + _IN_TOTAL + "|"
    r"\b(?:so|therefore|thus|hence|consequently|in\stotal|altogether|in\sall|finally|overall"
    r"|as\sa\sresult"
    r"|in\sconclusion|conclusion|the\sanswer|the\sresult|the\stotal)\b|∴",
    re.IGNORECASE,
)
_NO_CONCLUSION = re.compile(
    r"[\W_]*(?:first(?:ly)?\b|step\b|part\b|case\b|to\s(?:start|begin|find|solve|calculate"
    r"|determine|get)\b|initially\b|next\b|now\b"
    r"|let\b|if\b|suppose\b|assume\b|assuming\b|however\b|but\b|given\b|we\sknow\b|then\b"
    r"|after\sthat\b|for\sexample\b|e\.g\."
    r"|(?:(?:so\s)?(?:we|i|you)(?:['’]re|['’]d|\sare)?|the\s(?:question|problem|task))\s"
    r"(?:\w+\s){0,2}(?:need|want|have|asked|asks|like|trying|try|must|going|gives|states|says)"
    r"(?:\sus)?"
    r"(?:\sto\s(?:find|know|determine|compute|calculate|work|figure|solve)|\s(?:how|what|that)|"
    r"(?<=gives)\s\d)\b)",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"[\W_]*(?:let\sme\sknow|i\shope|hope\sth|feel\sfree|please\slet|if\syou\s(?:need|have|want"
    r"|would)|would\syou\slike"
    r"|do\syou|is\sthere|happy\sto|glad\sto|thank|good\sluck)",
    re.IGNORECASE,
)
_REFUSES = re.compile(
    r"\b(?:as an ai|i(?:['’]m| am) (?:not sure|unable|sorry)|i (?:can(?:['’]t|not)|could ?n['’]t"
    r"|do ?n['’]t know)|sorry,(?! (?:that|it|i meant|my|the))"
    r"|(?:can(?:['’]t|not)|can not) be (?:determined|answered|computed|calculated)"
    r"|not enough (?:information|data)|insufficient (?:information|data))"
    r"|n['’]t enough (?:information|data)|\b(?:it|the answer|that) depends\b|^\W*(?:unknown|n/a)\b",
    re.IGNORECASE,
)
_NOTE = re.compile(r"[\W_]*(?:note|remark|ps|p\.s\.)\b", re.IGNORECASE)
# "If there were 24 instead, each would get 8."
_OTHERWISE_IF = re.compile(
    r"[\W_]*(?:if|had|with|for)\b[^.\n]{0,100}\b(?:were|had been|instead)\b[^\n]{0,100}\bwould\b",
    re.IGNORECASE,
)
_CHECKS = re.compile(
    r"[\W_]*(?:(?:let['’]?s|we\scan|i['’]?ll|to)\s)?(?:double[- ]?)?(?:check(?:ing)?|verif(?:y"
    r"|ication|ying)|sanity|confirm(?:ing|ation)?|proof)\b",
    re.IGNORECASE,
)
_CHECK_INSIDE = re.compile(
    r"[;,(–—]\s*(?:double[- ])?(?:check(?:ing)?|verif(?:y|ication|ying)|proof)\b[^\n]*",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"[\W_]*(?:next|then|now|after\sthat|let['’]?s|let\sus|we\s(?:need|must|have\sto|also|then"
    r"|now)|to\s(?:find|get)|step\s\d|finally|"
    r"the\snext|second|third|he\sthen|she\sthen|they\sthen|first)\b",
    re.IGNORECASE,
)
_TERMINAL = tuple(".!?。！？:)]}\"'”’*✓✅|" + _BOLD + _CLOSE_MARK)
_LONGEST_SENTENCE = 600
_MOST_SENTENCES = 30


def _concluded(text: str, cut_matters: bool = True) -> _Reading | None:
    """What an unmarked reply comes to; a reading of None where that cannot be said."""
    text = _CHECK_INSIDE.sub("", text)
    text = _without_list_marks(_OURS_BUT_BOLD.sub(" ", text))
    text = _TEMPTING.sub(" ", text)
    if _TRAP.match(text):
        return _Reading(None)
    sentences = [s for s in _SPLIT.split(text) if s.strip(f" \t{_BOLD}")]
    if len(sentences) > _MOST_SENTENCES:
        sentences = [sentences[0], *sentences[1 - _MOST_SENTENCES :]]
    for at, sentence in enumerate(sentences):
        if at and _CHECKS.match(sentence) and not _CHECKS.match(sentences[0]):
            sentences = sentences[:at]
            break
    asides = 0
    for at in range(max(1, len(sentences) - 4), len(sentences)):
        if _ASIDE.match(sentences[at]):
            asides = len(sentences) - at
            sentences = sentences[:at]
            break
    while len(sentences) > 1 and (_NOTE.match(sentences[-1]) or _OTHERWISE_IF.match(sentences[-1])):
        sentences.pop()
    if any(_REFUSES.search(sentence[:300]) for sentence in sentences[-12:]):
        return _Reading(None)
    if len(sentences) > 1 and _ASKS_AGAIN.match(sentences[-1]):
        return _Reading(None)
    if len(set(map(_bare_value, sentences)) - {None}) > 1:
        return _Reading(None)  # several numbers, and no word to say which
    opening = _opened(sentences)
    bold = _emboldened(sentences)
    closing = _closed(sentences, whole=not cut_matters or bool(asides))
    sure = {
        reading.value
        for reading in (closing, opening, bold)
        if reading is not None and reading.value is not None
    }
    if len(sure) == 1:
        return _Reading(sure.pop())
    return _Reading(None) if sure or closing or opening or bold else None


# "One might think it is 10 cents, but the ball costs 5"
_TEMPTED = (
    r"(?:(?:one|you|we|people|many|some|students|it)\b[^.\n,]{0,30}\b(?:might|may|could|would"
    r"|often|tempt\w+)\b[^.\n,]{0,30}"
    r"\b(?:think|say|guess|believe|assume|expect|answer|conclude|seem)"
    r"|(?:a|the|one)\s(?:common|typical|frequent|usual|classic)\s(?:mistake|error|trap"
    r"|misconception)"
    r"|(?:the|an?)\s(?:intuitive|obvious|na[iï]ve|tempting)\s(?:answer|guess|response))"
)
_TEMPTING = re.compile(
    rf"(?:^|(?<=[.!?\n]))[ \t]{{0,4}}{_TEMPTED}\b[^.\n]{{0,120}}?(?:\.\d+[^.\n]{{0,40}}?)?[,;]?\s"
    rf"(?:but"
    rf"|however|yet)\b,?",
    re.IGNORECASE,
)
_TRAP = re.compile(rf"\W*+{_TEMPTED}\b[^\n.]*\.?\s*$", re.IGNORECASE)
# "15... or is it 16?"
_ASKS_AGAIN = re.compile(
    r"[\W_]*(?:or|maybe|perhaps|hmm|wait)\b[^?\n]{0,60}\d[^?\n]{0,40}\?", re.IGNORECASE
)


def _bare_value(sentence: str) -> Fraction | None:
    """The value of a sentence that is just a number."""
    first = next(_numbers(sentence), None)
    if first is None or re.search(r"\w", sentence[: first.start] + sentence[first.end :]):
        return None
    return first.value


_OURS_BUT_BOLD = re.compile("[\ue001\ue002\ue004]")


def _has_numbers(sentence: str) -> bool:
    return next(_numbers(sentence), None) is not None


def _closed(sentences: Sequence[str], *, whole: bool) -> _Reading | None:
    with_numbers = [at for at, s in enumerate(sentences) if _has_numbers(s)]
    if not with_numbers:
        return _in_words(sentences)
    at = with_numbers[-1]
    sentence, after = sentences[at], sentences[at + 1 :]
    if len(sentence) > _LONGEST_SENTENCE or sentence.rstrip(f"{_BOLD} ").endswith("?"):
        return _Reading(None)
    if any(_GOES_ON.match(one) for one in after):
        return _Reading(None)
    if (later := _in_words(after)) and after and _closes(after):
        return later
    if (
        after
        and not whole
        and not after[-1].rstrip().endswith(_TERMINAL)
        and len(after[-1].split()) > 1
    ):
        return _Reading(None)  # cut off before any conclusion
    if at and _is_one_of_a_list(sentences[at - 1], sentence):
        return _Reading(None)
    reading = _in_sentence(sentence)
    if reading is None or reading.value is None:
        return reading
    sure = _concludes(sentences, at, reading, only=len(with_numbers) == 1)
    return reading if sure else _Reading(None)


def _concludes(sentences: Sequence[str], at: int, reading: _Reading, *, only: bool) -> bool:
    """Whether a reply's last sentence with numbers (at ``at``) is its conclusion."""
    sentence, after = sentences[at], sentences[at + 1 :]
    goes_on = sentence.rstrip(f" {_BOLD}").endswith((":", ","))
    if _STRONG_CUE.search(sentence) and not goes_on:
        return True
    steps = [one for one in sentences if _A_STEP.match(one)]
    if len(steps) > 1 and steps[-1] is sentence and not after and _ENDS_EQUATION.search(sentence):
        return True
    alone = len(sentences) == 1 and (_CONDITION.match(sentence) or _NOW.match(sentence))
    if (_NO_CONCLUSION.match(sentence) and not alone) or goes_on:
        return False
    if only or _CUE.search(sentence) or _ENDS_EQUATION.search(sentence):
        return True
    return not after and (_is_last_line(sentences) or _repeats(reading, sentences[:at]))


def _is_last_line(sentences: Sequence[str]) -> bool:
    """Whether a reply ends with a number that stands alone, and is not cut in a list or phrase."""
    return (
        _bare_value(sentences[-1]) is not None
        and not re.fullmatch(r"\s*\d{1,2}[.)]\s*", sentences[-1])
        and not re.search(
            r"\b(?:vs|approx|ca|no|nr|e\.g|i\.e|min|max|fig|eq)\.$|[-+*/×÷=]\s*$",
            sentences[-2],
            re.IGNORECASE,
        )
    )


def _repeats(reading: _Reading, before: Sequence[str]) -> bool:
    """Whether a reading is the result of the last equation before it."""
    equation = next((one for one in reversed(before) if _ENDS_EQUATION.search(one)), None)
    result = _in_sentence(equation) if equation else None
    return result is not None and result.value == reading.value


_NAMED_VALUE = re.compile(
    rf"[\s•{_BOLD}]*(?P<name>[^\W\d][^\d:=.]{{0,30}}?)[\s{_BOLD}]*:(?=[^:]*\d)"
)
_SUMS_UP = re.compile(
    r"\b(?:total|sum|answer|result|final|profit|loss|net|remain\w*|left|average|mean|difference"
    r"|overall"
    r"|altogether|conclusion|output|solution|value|therefore|so)\b",
    re.IGNORECASE,
)


def _is_one_of_a_list(before: str, sentence: str) -> bool:
    """Whether two lines name values side by side, so that neither is the answer."""
    one, other = _NAMED_VALUE.match(before), _NAMED_VALUE.match(sentence)
    return bool(one and other and not _SUMS_UP.search(other["name"]) and not _A_STEP.match(before))


_NOW = re.compile(r"[\W_]*now\b", re.IGNORECASE)
_CONDITION = re.compile(r"[\W_]*if\b[^,]{0,200},", re.IGNORECASE)
_A_STEP = re.compile(r"[\W_]*step\b", re.IGNORECASE)


def _closes(sentences: Sequence[str]) -> bool:
    """Whether a number word in these sentences is what something comes to."""
    return any(
        _worded(s) and (_STRONG_CUE.search(s) or re.search(r"\b(?:left|remain)", s))
        for s in sentences
    )


_ENDS_EQUATION = re.compile(r"[=≈→]\s*[-$€£\d(]|(?<!more )\bto (?:get|obtain) [-$€£\d]")


def _in_words(sentences: Sequence[str]) -> _Reading | None:
    """A reply without digits: its only number word, or that of the last sentence that concludes."""
    worded = [
        (s, words)
        for s in sentences[-20:]
        if (words := _worded(s[:_LONGEST_SENTENCE]) or _whole_part(s))
    ]
    if not worded:
        return None
    sentence, words = worded[-1]
    values = {number.value for number in words}
    if len(values) > 1 and len(worded) == 1 and _WORD_SUM.search(sentence, 0, words[-1].start):
        return _Reading(words[-1].value)
    if len(values) != 1 or sentence.rstrip().endswith("?"):
        return _Reading(None)
    if len(worded) == 1 or _STRONG_CUE.search(sentence):
        if _NOT_BEFORE.search(sentence, max(0, words[0].start - 20), words[0].start):
            return _Reading(None)
        return _Reading(words[0].value)
    return _Reading(None)


_WORD_SUM = re.compile(
    r"\b(?:plus|minus|times|divided by|sum|product)\b.*\b(?:is|equals|makes"
    r"|are)\s$",
    re.IGNORECASE,
)


_ORDINAL_ALONE = re.compile(r"\W*(?:the\s)?(?:third|fourth|fifth|quarter)\W*", re.IGNORECASE)


def _whole_part(sentence: str) -> list[_Number]:
    if _ORDINAL_ALONE.fullmatch(sentence):
        return []
    parts = _parts(sentence)
    short = len(sentence.split()) <= 4 or _IS_PARTS.fullmatch(sentence) or _PARTS_OF.match(sentence)
    return parts if short and len(parts) == 1 else []


_IS_PARTS = re.compile(r"\W*(?:\w+ ){1,3}(?:is|are|was) (?:an? )?(?:\w+[ -])?\w+\W*", re.IGNORECASE)
_PARTS_OF = re.compile(
    r"\W*(?:one|two|three|four)[ -]\w+ of \w+ \w+ (?:\w+ ){0,2}\w+\W*$", re.IGNORECASE
)


def _in_sentence(sentence: str, *, strict: bool = False) -> _Reading | None:
    """The result of a sentence, None if it contains no number.

    ``strict``: ignore bold.
    """
    numbers = list(_numbers(sentence))
    if not numbers:
        return None
    # "Sam had 5, so three are left": words count after the last digits, where results are.
    last = max(number.end for number in numbers)
    numbers += [
        word
        for word in _worded(sentence[:_MOST_READ])
        if word.start > last
        and not _KNOWN_MANY.search(sentence[max(0, word.start - 8) : word.start])
    ]
    if _ONE_TO_ANOTHER.fullmatch(sentence) or (
        (dated := _LEADING_DATE.match(sentence)) and numbers[-1].end <= dated.end()
    ):
        return _Reading(None)
    if (given := _GIVEN.sub("", sentence)) != sentence and _has_numbers(given):
        return _in_sentence(given, strict=strict)
    if (unknowns := _UNKNOWNS.search(sentence)) and (
        concluded := _CLAUSE_CUE.search(sentence, unknowns.end())
    ):
        return _in_sentence(sentence[concluded.end() :])
    if unknowns or _SIDE_BY_SIDE.search(sentence) or _DANGLES.search(sentence):
        return _Reading(None)
    if bracketed := _beside_brackets(sentence, numbers, strict=strict):
        return bracketed
    if not strict:
        if claim := _claimed(sentence, numbers):
            return claim
        bold = _bold_values(sentence)
        if len(bold) == 1:
            return _Reading(bold[0])
    equals = list(_EQUALS.finditer(sentence, 0, numbers[-1].start + 1))
    cues = list(_CLAUSE_CUE.finditer(sentence, 0, numbers[-1].start))
    main = _MAIN_CLAUSE.match(sentence)
    if main or (cues and equals and cues[-1].start() > equals[-1].end()):
        clause = _in_sentence(main[1] if main else sentence[cues[-1].end() :])
        if clause and clause.value is not None:
            return clause
    return _equal(sentence, numbers, equals[-1]) if equals else _plain(sentence, numbers)


def _beside_brackets(sentence: str, numbers: Sequence[_Number], *, strict: bool) -> _Reading | None:
    """The only number outside brackets, unless the one in them is another answer."""
    if "(" not in sentence:
        return None
    if any(
        n.value is None and (_OTHERWISE.match(sentence, n.end) or _DOUBTED.match(sentence, n.end))
        for n in numbers
    ):
        return _Reading(None)
    outside = _BRACKETS.sub(" ", sentence)
    if outside != sentence and len(list(_numbers(outside))) == 1:
        return _in_sentence(outside, strict=strict)
    return None


def _claimed(sentence: str, numbers: Sequence[_Number]) -> _Reading | None:
    """What is said before "because", unless what follows has a different result."""
    reason = _REASON.search(sentence, numbers[0].end)
    claim = _in_sentence(sentence[: reason.start()].rstrip(" ,;")) if reason else None
    if reason is None or claim is None or claim.value is None:
        return None
    if reason[0].lower().startswith("after"):
        return claim
    ground = _in_sentence(sentence[reason.end() :])
    return claim if ground is None or ground.value in (None, claim.value) else _Reading(None)


def _equal(sentence: str, numbers: Sequence[_Number], equals: re.Match[str]) -> _Reading:
    """The result of an equation."""
    after = [number for number in numbers if number.start >= equals.end() - 1]
    first = after[0]
    between = sentence[equals.end() : first.start]
    if _EQUATION_WITH_BLANK.search(sentence):
        return _Reading(None)
    if (
        _MULTIPLE.search(between)
        or _BY_HOW_MUCH.match(sentence, first.end)
        or _NOT_BEFORE.search(sentence, equals.end(), first.start)
    ):
        return (
            (_in_sentence(sentence[: equals.start()].rstrip(" ,")) or _Reading(None))
            if (equals[0].lower() in ("which is", "that is"))
            else _Reading(None)
        )
    direct = len(between) <= 30 and not re.search(r"[,;.]", between)
    if direct and not _OPERATOR.match(sentence, first.end) and not _NOT.search(between):
        values = {number.value for number in after}
        if len(values) == 1 or _clause_ends(sentence, first, after):
            return _Reading(first.value)
    return _Reading(None)


# "18, which is twice Amy's 9"
_MULTIPLE = re.compile(
    r"\b(?:twice|thrice|half|double|triple|times|(?:a )?(?:third|quarter) of|as many|as much"
    r"|more than|less than|fewer than)\b",
    re.IGNORECASE,
)


# "80, which is 20 short of the goal"
_BY_HOW_MUCH = re.compile(
    r"(?:\s\w+)?\s(?:short|more|less|fewer|away|off|below|above|under|over|higher|lower|better"
    r"|worse|longer|shorter)\s(?:of|than|from|the)\b",
    re.IGNORECASE,
)
_EQUATION_WITH_BLANK = re.compile(r"[-+*/×÷=]\s?\[\s?\d+\s?\]|\[\s?\d+\s?\]\s?[-+*/×÷]")


def _plain(sentence: str, numbers: Sequence[_Number]) -> _Reading:
    """The number of a sentence without an equation."""
    last = numbers[-1]
    if re.search("[√π∞]", sentence) or _OPERATOR.match(sentence, last.end):
        return _Reading(None)
    if len({number.value for number in numbers}) == 1:
        start = numbers[0].start
        denied = _NOT_BEFORE.search(sentence, max(0, start - 20), start)
        works = any(_OPERATOR.match(sentence, number.end) for number in numbers)
        return _Reading(None if denied or works else last.value)
    if _HEDGED.search(sentence):
        return _Reading(None)
    cues = list(_CLAUSE_CUE.finditer(sentence))
    if cues and cues[-1].start() > numbers[0].end:
        rest = sentence[cues[-1].end() :]
        clause = _in_sentence(rest) or _in_words([rest])
        if clause and clause.value is not None:
            return clause
    if undated := _without_dates(sentence, numbers):
        return undated
    if _IN_ALL.match(sentence, last.end) and not re.search(r"\d (?:\w+ )?each\b", sentence):
        return _Reading(last.value)
    if (
        any(form.search(sentence, 0, last.start) for form in _STATE_LAST)
        and _ends_there(sentence, last)
        and len(_CLAIM.findall(sentence)) < 2
    ):
        return _Reading(last.value)
    return _Reading(None)


def _without_dates(sentence: str, numbers: Sequence[_Number]) -> _Reading | None:
    """The only number of a sentence that is not part of a date: "In 2019 they sold 450"."""
    dates = [found.span() for found in _DATE.finditer(sentence[:_MOST_READ])]
    others = [n for n in numbers if not any(at <= n.start < end for at, end in dates)]
    if not dates or len({number.value for number in others}) != 1:
        return None
    return _in_sentence(_DATE.sub(" ", sentence))


# "After giving 4 to Ann, Carl has 6"
_MAIN_CLAUSE = re.compile(
    r"\W*(?:after|since|because|if|with|given|once|as|when|for|at|in|by|over|within|from|\w+ing)"
    r"\b[^,;:=]{1,200},\s((?:(?:the|a|his|her|their|its)\s)?(?!(?:and|or|but|\w+ing)\b)"
    r"(?:[A-Za-z]+(?:\s[A-Za-z]+){0,5}\s)?[$€£]?\d[^,;]*)$",
    re.IGNORECASE,
)
_MONTH = (
    r"(?:Jan(?:uary|\.)?|Feb(?:ruary|\.)?|Mar(?:ch|\.)?|Apr(?:il|\.)?|May|June?|July?|Aug(?:ust"
    r"|\.)?"
    r"|Sept?(?:ember|\.)?|Oct(?:ober|\.)?|Nov(?:ember|\.)?|Dec(?:ember|\.)?)"
)
_TIME = r"(?:years?|months?|weeks?|days?|hours?|minutes?)"
_YEAR = r"(?:1[5-9]|20|21)\d\d(?![\d.,]*\d)"
_DATE = re.compile(
    rf"\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? {_YEAR})?(?!\d)|\b\d{{1,2}}(?:st|nd|rd|th)?"
    rf"(?: of)? {_MONTH}\b(?:,? {_YEAR})?"
    rf"|\b{_MONTH} {_YEAR}|\b\d{{4}}-\d\d-\d\d\b|\b\d{{1,2}}[/.]\d{{1,2}}[/.]\d{{4}}\b"
    rf"|\b[Ii]n (?:\d{{1,3}}|{_WORD}) (?:more )?{_TIME}(?: from now)?(?=,|\s(?:she|he|they|it|the"
    rf"|you|we|[A-Z]))"
    rf"|\b(?:\d{{1,3}}|{_WORD}) {_TIME} (?:ago|earlier|later)\b"
    rf"|\b(?:[Bb]etween|[Ff]rom) {_YEAR} (?:and|to) {_YEAR}"
    r"|(?<!\d )\b(?:[Ww]eek|[Dd]ay|[Mm]onth|[Yy]ear|[Rr]ound|[Ss]tage|[Gg]rade|[Vv]ersion|iPhone"
    r"|[Ll]ap|[Hh]our|[Mm]inute) \d{1,3}\b"
    rf"|\bQ[1-4] {_YEAR}|\b\d{{1,2}}:\d\d(?:\s?[ap]\.?m\b\.?)?(?!\d)|\b\d{{1,2}}\s?[ap](?:m\b"
    rf"|\.m\.)"
    rf"|\b(?:[Ii]n|[Ss]ince|[Bb]y|[Uu]ntil|[Dd]uring|[Bb]efore|[Aa]fter|[Aa]s of|[Yy]ear) {_YEAR}"
    r"(?=,|\.?$|\s(?:the|an?|there|it|he|she|they|we|its|his|her|their|is|was|were|are|will|to"
    r"|and)\b)"
)
_LEADING_DATE = re.compile(rf"\W*(?:[Ii]n|[Ss]ince|[Bb]y|[Dd]uring) {_YEAR},?\s(?=\w)")
_DANGLES = re.compile(
    r"(?:\b(?:and|then|so|the|an?|of|to|is|are|by|with|for|or)|[,+*/×÷=–-])\s*$", re.IGNORECASE
)
_HEDGED = re.compile(r"\b(?:maybe|perhaps|possibly|might|could|or\sso)\b", re.IGNORECASE)
_ONE_TO_ANOTHER = re.compile(r"\W*\d[\d.,]*\s*→\s*\d[\d.,]*\W*")  # "7 → 9"
_UNKNOWNS = re.compile(
    r"(?<![A-Za-z])[A-Za-z](?:_\s?\d\s?|[₀-₉])?\s?[=≈]\s?[-\d][^=≈]{0,40}?(?:,|;|\band\b|\bor"
    r"\b)[\s$]*[A-Za-z](?:_\s?\d\s?|[₀-₉])?\s?[=≈]"
)
_A_VALUE = r"[$€£]?-?\d[\d.,]{0,20}(?<![.,])"
# "Tom gets 12 and Ann gets 15", "min = 3, max = 9", "12 (Tom) and 15 (Ann)"
_SIDE_BY_SIDE = re.compile(
    rf"[A-Za-z]\s?(?P<verb>[=:]|\b(?:gets?|has|have|is|are|was|costs?|pays?|makes?|earns?"
    rf"|receives?)\b)\s?{_A_VALUE}(?:\s\w+){{0,2}}"
    rf"(?:,?\sand|,|;|\sbut|\swhile)\s(?!(?:so|thus|then|hence|total|sum|result|answer|in total"
    rf"|which|that|this)\b)[A-Za-z]\w*(?:\s\w+){{0,2}}?\s?(?P=verb)\s?{_A_VALUE}"
    rf"(?:\s\w+){{0,2}}\W*$"
    rf"|^\W*{_A_VALUE}\s\([^()\d]{{1,40}}\)(?:,?\s(?:and|or)|,|;)\s{_A_VALUE}",
    re.IGNORECASE,
)
_GIVEN = re.compile(
    r"\b(?:when|if|for|at|with|substituting|plugging in|setting|taking)\s[a-z]\s?=\s?-?\d[\d.]*"
    r"(?<!\.)(?:,?\s?(?=\S)|(?=\W*$))",
    re.IGNORECASE,
)
_BRACKETS = re.compile(r"(?<![\d.])\([^()]{0,200}\)")
_REASON = re.compile(
    r"\b(?:because|since|after (?:the|a|an|all|he|she|they|it|we|\w+ing))\b", re.IGNORECASE
)
_CLAUSE_CUE = re.compile(
    _CONCLUDES + r"|\b(?:so|therefore|thus|hence|which\smeans|that\smeans)\b", re.IGNORECASE
)
_IS_LAST = re.compile(
    r"(?:^|\s)(?:(?:half|twice|double|triple|sum|product|difference|quotient|average|total|mean"
    r"|percent|%)\b.*|[-+*/×÷].*|(?:plus|minus|times|divided by)\b.*)"
    rf"\b(?:is|are|was)\s+(?:about\s|approximately\s|therefore\s)?[\s{_BOLD}]*$",
    re.IGNORECASE,
)


# "If each costs $3, then 8 cost $24"
_COST_LAST = re.compile(
    rf"(?:\beach\b|\bper\b|\bevery\b|\bif\b)(?:(?!\band\b).)*\b(?:cost|weigh|take|last|hold"
    rf"|contain|need|earn|make|produce)s?\s[\s{_BOLD}]*$",
    re.IGNORECASE,
)
_CORRECTS = re.compile(
    r"\b(?:wrong|incorrect|mistaken|a mistake|an error|off)\b\W+(?:so\s)?(?:it|that|the \w+"
    r"(?: \w+)?)\s"
    rf"(?:should(?: actually)? be|must be|is(?: actually)?|was(?: actually)?)\s[\s{_BOLD}]*$",
    re.IGNORECASE,
)


_CLAIM = re.compile(r"\b(?:is|are|was|were|be)\s(?:about\s|only\s)?[$€£(]?-?\d")
# "The price after the 20% discount is $64", "3 weeks have 21 days", "20 a day for 15 days: 300"
_ONE_CLAIM = re.compile(
    rf"^(?:(?!\b(?:is|are|was|were|be|not|or|if)\b|[;:?=]).)*\b(?:is|are|was|will be"
    rf"|would be)\s[\s{_BOLD}]*(?:only\s|about\s|approximately\s|now\s|therefore\s|thus\s)?$",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    rf"\W*(?:so\s|then\s)?[$€£]?\d[\d.,]*\s(?:\w+\s){{1,3}}(?:will\s|would\s|together\s)?(?:have"
    rf"|has|contain|hold|cost|weigh|make|take|need|earn|equal)s?\s(?:her\s|him\s|them\s|it\s"
    rf"|us\s)?[\s{_BOLD}]*$",
    re.IGNORECASE,
)
_COLON = re.compile(rf"[^\W\d]:\s[\s{_BOLD}]*$")
# The same in other languages: "La suma de 5 y 8 es 13", "5和8的和是13"
_COPULA = (
    r"(?:\b(?:ist|sind|gleich|est|sont|font|fait|es|son|è|sono|fa|é|são|dá|jest|będzie|wynosi"
    r"|равна|равно|равен|составляет"
    r"|là|bằng|adalah|är|er|είναι)\s|[是为為](?!不)|等于|[はが은는이가]\s?|[すくる]と|면\s)"
)
_ONE_CLAIM_ELSEWHERE = re.compile(
    rf"^(?:(?!{_COPULA}|\b(?:nicht|pas|non?|não|nie|не|không|inte|eller|oder|ou|o|lub|или)\b"
    rf"|[不没或]|또는|または|[;:?=]).)*{_COPULA}[\s{_BOLD}]*$",
    re.IGNORECASE,
)
# "There are 5 red and 8 green, 13 in all"
_IN_ALL = re.compile(
    rf"(?:\s\w+)?\s(?:in all|in total|altogether|all told|{_IN_TOTAL})\W*$", re.IGNORECASE
)
_STATE_LAST = (_ONE_CLAIM_ELSEWHERE, _IS_LAST, _COST_LAST, _CORRECTS, _ONE_CLAIM, _SUBJECT, _COLON)


def _ends_there(sentence: str, number: _Number) -> bool:
    rest = re.sub(r"\s(?:per|each|every|an?)\s\w+(?=\W*$)", "", sentence[number.end :])
    rest = rest.strip(f" .!{_BOLD})")
    return len(rest.split()) <= 2


def _clause_ends(sentence: str, first: _Number, after: Sequence[_Number]) -> bool:
    """Whether the numbers after the result are in a clause of their own, in brackets."""
    rest = sentence[first.end : after[-1].end]
    return (
        bool(re.match(rf"[\s{_BOLD}]*(?:\w+\s){{0,2}}\(", rest))
        and ")" in sentence[after[-1].end :]
    )


_BOLD_PART = re.compile(f"{_BOLD}([^{_BOLD}]*){_BOLD}")


def _bold_values(text: str) -> list[Fraction | None]:
    """The distinct values of the numbers in bold, except in headings such as "Step 2"."""
    values: list[Fraction | None] = []
    for part in _BOLD_PART.finditer(text, 0, _LONGEST_SENTENCE):
        inside = part[1].strip()
        if re.match(
            r"(?:step|part|case|option)\s*\d|\d{1,2}[.)]\s", inside, re.IGNORECASE
        ) or inside.endswith(":"):
            continue
        if not next(_numbers(inside), None):
            continue
        value = _alone(inside).value
        if value not in values:
            values.append(value)
    return values


def _emboldened(sentences: Sequence[str]) -> _Reading | None:
    """The only number in bold, if it is in the first or the last sentence with numbers."""
    values: set[Fraction | None] = set()
    told = [sentence for sentence in sentences if _has_numbers(sentence)]
    for sentence in sentences:
        if _BOLD in sentence[:_LONGEST_SENTENCE] and (found := _bold_values(sentence)):
            values.update(found)
            if sentence not in (told[0], told[-1]) or _NO_CONCLUSION.match(sentence):
                values.add(None)
    return _Reading(values.pop()) if len(values) == 1 else None


_OPENS = re.compile(rf"[\s\"'“(\[{_BOLD}≈~]*")
_SET_OFF = re.compile(
    rf"[\s\"'”)\]{_BOLD}]*(?:[.,;:!(\n–—-]|because|since|$)"
    rf"|\s?[A-Za-z°²³/]+[\"'”)]*{_BOLD}?\s?(?:[.,;:!(\n–—-](?!\d)|because|since|$)"
)


_EXPLAINS = re.compile(
    rf"[\s\"'”)\]{_BOLD}]*(?:\w+\s)?[\s{_BOLD}]*(?:[.;:!(\n–—]|,?\s?(?:because|since|as|for)\b)"
)


_ONLY_IN_BRACKETS = re.compile(r"\s*\(\s*([^()\s]{1,30})\s*\)\W*$")


def _opened(sentences: Sequence[str]) -> _Reading | None:
    """A number at the start of the reply that is set off from what follows."""
    head = sentences[0] if sentences else ""
    opening = _OPENS.match(head)
    start = opening.end() if opening else 0
    first = next(_numbers(head), None)
    if first is None or first.start > start + 1 or _SIDE_BY_SIDE.search(head):
        return None
    if _OPERATOR.match(_BRACKETS.sub(" ", head[first.end :])) or not _SET_OFF.match(
        head, first.end
    ):
        return None
    if re.match(r"\s*\?", head[first.end :]) or _NOT_BEFORE.search(head, 0, first.start):
        return None
    rest = head[first.end :]
    if next(_numbers(rest), None) and not _EXPLAINS.match(rest):
        return None
    if beside := _ONLY_IN_BRACKETS.match(rest):
        other = next(_numbers(beside[1]), None)
        if other and other.value != first.value:
            return None
    if re.match(r"\s?,\s?[$€£]?\d|\s?\w+\s?=|\s?(?:or|and|to)\s", head[first.end :]):
        return None
    return _Reading(first.value)
