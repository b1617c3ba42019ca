"""Numerals in text: where they stand and what they are worth, as many countries write them.

A numeral is a single definite quantity, or one whose value cannot be said: a range (``3-5``), a
time (``3:45``), a term (``2√3``, ``5x``), or ``70.000``, which is a thousand times more in half of
the world. Digits that count nothing are passed over: ordinals, ``A4``, ``5-day``.

Supported are signs, thousands (``1,234`` ``1 234`` ``1.234.567`` ``1'234`` ``12,34,567``
``9{,}500``), decimal points and commas, fractions (``1/2`` ``3½`` ``\\frac{1}{2}``), powers
(``10^3`` ``1.5 × 10^3`` ``1e3``), percent and units (ignored), currencies, ``1.5k``,
``2 million``, ``3万``, digits of other scripts, and number words of English and, up to a hundred,
other languages.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import islice, pairwise

from evalbench.engine.scoring.number_names import named_numbers

_MOST_DIGITS = 300
_FIFTEEN = Context(prec=15)


@dataclass(frozen=True, slots=True)
class Numeral:
    """A numeral in a text; ``value`` is None if it is not a single definite one."""

    value: Fraction | None
    start: int
    end: int


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


# -- notation

_CALCULATOR = re.compile(r"<<[^<>\n]{0,200}>>")
_LETTER_TIMES = re.compile(r"(?<=[\d)%] )x(?= [$€£(]?\d)")
_POWER_STARS = re.compile(r"(?<=\d)\*\*(?=[-{(]?\d)")
_FRACTION = re.compile(
    r"\\[dtc]?frac\s?\{\s?(-?\d{1,20})\s?\}\s?\{\s?(\d{1,20})\s?\}|\\[dtc]?frac(\d)(\d)"
)
_ANY_FRACTION = re.compile(r"\\[dtc]?frac(?![a-z])")
_GROUPS = re.compile(r"(?<=\d)(?:\{,\}|\\[,!; ]|~)(?=\d{3})")
_LATEX_TEXT = re.compile(
    r"\\(?:text|textbf|textrm|mathrm|mathbf|mathit|mbox|operatorname)\s?(?=\{)"
)
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
    "٪０１２３４５６７８９，．％＄＝：（）＋－／＃٫٬−﹣‒⁄∕＜＞\u00a0\u2009\u202f\u2007",
    "%0123456789,.%$=:()+-/#.,---//<>    ",
    "",
)
_ARROW = re.compile(r"(?<![-=<])(?:-{1,2}|={1,2})>(?!>)")
_OTHER_DIGIT = re.compile(r"(?=[^\x00-\x7f])\d")
_SUPERSCRIPT = re.compile(r"(?<=\d)(⁻?[⁰¹²³⁴-⁹]{1,4})")
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_VULGAR_SIGN = re.compile("[¼-¾⅐-⅞]")
_NEGATIVE_VULGAR = re.compile("-([¼-¾⅐-⅞])")
_IN_BRACES = re.compile(r"\^\s?\{\s?(-?\d+)\s?\}")
_RAISED_CIRCLE = re.compile(r"\^\s?\{?\s?°\s?\}?")
# Words of languages that write 1.234 or 1 234 for a thousand and 1,234 for little more than one.
_CONTINENTAL = re.compile(
    r"[äöüßñçãõłżźěřøåæőűğşđơưạảấầậếềệọốồộớờợụủứừựỉĩ¿¡]|\b(?:der|das|und|ist|sind|ein|eine|insgesamt|el|los|las|es|un"
    r"|una|hay|il|gli|sono|della|di|um|uma|os|een|het|zijn|van|adalah|yang|dan|bir|le|les|est"
    r"|une|du|ce|ils|elle|donc|jest|od|antwort|respuesta|risposta|antwoord|jawaban|cevap"
    r"|réponse)\b|[а-яё]",
    re.IGNORECASE,
)
_EITHER_ALONE = re.compile(
    r"(?<![\d.,$€£¥])(?<![$€£¥]\s)[1-9]\d{0,2}[.,]\d{3}"
    r"(?!\d|[.,]\d|\s?(?:[€£$]|euros?\b|eur\b|zł|kr\b))",
    re.IGNORECASE,
)
_VARIABLE_K = re.compile(r"(?<![A-Za-z\d])k(?![A-Za-z'’])")
_MANY_K = re.compile(r"(?<=\d)(?=k(?![A-Za-z]))")
_EITHER_MARK = "\ue005"
"""After a number that is one or a thousand, so that it is no definite numeral."""
_VULGAR_PLAIN = {
    sign: " " + unicodedata.normalize("NFKC", chr(sign)).replace("⁄", "/")
    for sign in (*range(0xBC, 0xBF), *range(0x2150, 0x215F))
}


def plain(text: str) -> str:
    """The text with one form for each sign: LaTeX, other scripts and widths, superscripts."""
    text = _POWER_STARS.sub("^", _ARROW.sub("→", _CALCULATOR.sub("", text)))
    text = _LETTER_TIMES.sub("×", text)
    if "\\" in text:
        text = _GROUPS.sub(",", text)
        text = _FRACTION.sub(_plain_fraction, text)
        text = _ANY_FRACTION.sub("√ ", text).replace("\\overline", "√")
        text = _LATEX_TEXT.sub(" ", text)
        text = _LATEX_MARK.sub(lambda mark: _LATEX[mark[0]], text)
    text = text.replace("{,}", ",").translate(_SIGNS).replace("。", ". ")
    text = _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)
    text = _SUPERSCRIPT.sub(lambda raised: "^" + raised[0].translate(_RAISED), text)
    if _VULGAR_SIGN.search(text):
        text = _NEGATIVE_VULGAR.sub(lambda sign: "-" + _VULGAR_PLAIN[ord(sign[1])].strip(), text)
        text = text.translate(_VULGAR_PLAIN)
    if _VARIABLE_K.search(text):
        text = _MANY_K.sub(_EITHER_MARK, text)
    if _EITHER_ALONE.search(text) and _CONTINENTAL.search(text):
        text = _EITHER_ALONE.sub(_thousand_or_either, text)
    text = _IN_BRACES.sub(r"^\1", text)
    text = _RAISED_CIRCLE.sub("°", text)
    return text.replace("{", " ").replace("}", " ")


_MONEY = re.compile(
    r"\s?(?:[€$£₫₽₺₴฿]|euros?\b|eur\b|zł|kr\b|reais\b|pesos?\b|đồng|đ\b|vnd\b|tl\b|lira|rupiah|lei\b|forint"
    r"|ft\b|kč|руб|грн|dollars?\b|dólares|dollari|dolar)",
    re.IGNORECASE,
)


def _thousand_or_either(found: re.Match[str]) -> str:
    """A number such as 1.234 as a thousand, where money or a last zero says so, else marked."""
    run = found[0]
    if "." in run and (run.endswith("0") or _MONEY.match(found.string, found.end())):
        return run.replace(".", "")
    return run + _EITHER_MARK


def _plain_fraction(found: re.Match[str]) -> str:
    signed = found.string[max(0, found.start() - 1) : found.start()] == "-"
    return f"{'' if signed else ' '}{found[1] or found[3]}/{found[2] or found[4]} "


# -- numerals

_RUN = re.compile(
    r"(?<![\d.,])\d{1,3}(?: \d{3})+(?!\d)(?:[.,]\d{1,2}(?!\d))?"
    r"|\d+(?:[.,'’_]\d+)*|(?<![\w.])\.\d+"
)
_COMMAS = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?|\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?")
_DOTS = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+,\d+|[1-9]\d{0,2}(?:\.\d{3}){2,}")
_OTHER_FORMS = re.compile(
    r"\d{1,3}(?:['’_]\d{3})+(?:\.\d+)?"
    r"|\d{1,3}(?: \d{3})+(?:[.,]\d{1,2})?"
    r"|\d*\.\d+|\d+"
    r"|\d+,\d{1,2}|\d+,\d{4,}|0,\d+"  # a decimal comma
)
_EITHER = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")


def _parsed(run: str, currency: str) -> Fraction | None:
    if len(run) > _MOST_DIGITS:
        return None
    if _EITHER.fullmatch(run):
        # One thousand or one, by country; money has no thousandths.
        if "." in run and currency == "€":
            return Fraction(run.replace(".", ""))
        if "." in run and (currency or run.endswith("00")):
            return Fraction(run.replace(".", "")) if currency and run.endswith("00") else None
    if _COMMAS.fullmatch(run):
        return Fraction(run.replace(",", ""))
    if _DOTS.fullmatch(run):
        return Fraction(run.replace(".", "").replace(",", "."))
    if _OTHER_FORMS.fullmatch(run):
        return Fraction(re.sub("['’_ ]", "", run).replace(",", "."))
    return None


_CURRENCY = "$€£¥₹₩₽₺₫฿₪₴₦₱￥"
_CODES = re.compile(
    r"(?:\b(?:rs\.?|rp\.?|idr|inr|usd|eur|gbp|cad|aud|chf|jpy|rmb|cny|hkd|php|brl|mxn|zł|us)\s?)$",
    re.IGNORECASE,
)
_COUNTRY = re.compile(r"(?<![A-Za-z])(?:USD?|R|A|AUD?|C|CA|CAD|HKD?|NZD?|S|SGD?|NT|MXN?)$")
_MONEY_AFTER = re.compile(
    r"\s?(?:[€£$₫₺]|euros?\b|eur\b|zł|kr\b|tl\b|lira\b|reais\b|pesos\b|dollars?\b)", re.IGNORECASE
)
_ORDINAL = re.compile(r"(?:st|nd|rd|th|s|er|ème|º|ª)\b", re.IGNORECASE)
_COMPOUND = re.compile(r"-[A-Za-z]")
_EXPONENT = re.compile(r"[eE]([+-]?\d{1,3})(?!\w|\.\d)")
_TEN_POWER = re.compile(r"\s?[×x*·⋅]\s?10\s?\^\s?[({]?\s?([+-]?\d{1,3})\s?[)}]?(?!\d)")
_RAISED_TO = re.compile(r"\s?\^\s?[({]?\s?(-?\d{1,4})\s?[)}]?(?![\d.]|\s?[/^])")
_OVER = re.compile(r"\s?/\s?(\d{1,20})(?![\d.,]*\d)(?!\s?/)")
_MIXED = re.compile(r"(?:\s{1,2}|\s+and\s+)(\d{1,4})\s?/\s?(\d{1,4})(?!\d|\.\d|\s?/)")
_AND_PART = re.compile(r"\s+and\s+(?:a\s|one\s)(half|quarter)\b", re.IGNORECASE)
_PERCENT = re.compile(r"\s?(?:%|percent\b|per\s?cent\b|pct\b)", re.IGNORECASE)
_SCALES = {
    **dict.fromkeys(("hundred",), 2),
    **dict.fromkeys(("thousand", "grand", "mil", "mila", "mille", "tausend", "tsd"), 3),
    **dict.fromkeys(("bin", "ribu", "tys", "тыс", "тысяч", "тысячи", "тысяча"), 3),
    **dict.fromkeys(("tysięcy", "tysiące", "tysiąc", "tisíc", "tisíce", "duizend", "tusen"), 3),
    **dict.fromkeys(("tusind", "ezer", "tuhatta", "χιλιάδες", "тисяч", "тисячі", "אלף"), 3),
    **dict.fromkeys(("พัน",), 3),
    **dict.fromkeys(("หมื่น",), 4),
    **dict.fromkeys(("แสน",), 5),
    **dict.fromkeys(("nghìn", "ngàn", "हज़ार", "हजार", "ألف", "آلاف"), 3),
    **dict.fromkeys(("lakh", "लाख"), 5),
    **dict.fromkeys(("million", "millions", "mn", "mio", "millionen", "millones", "millón"), 6),
    **dict.fromkeys(("milioni", "milione", "milhões", "milhão", "miljoen", "miljoner"), 6),
    **dict.fromkeys(("ล้าน", "miljoonaa", "millió", "εκατομμύρια", "мільйонів", "מיליון"), 6),
    **dict.fromkeys(("milionu", "milionů", "milioane", "millioner", "mln"), 6),
    **dict.fromkeys(("milyon", "milion", "miliony", "milionów", "juta", "triệu"), 6),
    **dict.fromkeys(("млн", "миллион", "миллиона", "миллионов", "مليون"), 6),
    **dict.fromkeys(("crore", "करोड़"), 7),
    **dict.fromkeys(("billion", "bn", "mrd", "milliarden", "milliards", "miliardi", "milyar"), 9),
    **dict.fromkeys(("miljard", "mld", "mil millones", "bilhões", "млрд", "миллиардов"), 9),
    **dict.fromkeys(("миллиарда", "tỷ", "مليار"), 9),
    **dict.fromkeys(("مليونا", "مليوناً", "ملايين", "میلیون", "మిలియన్", "মিলিয়ন"), 6),
    **dict.fromkeys(("مليارات", "میلیارد", "miljarder", "miljardia", "milliárd", "miliarde"), 9),
    **dict.fromkeys(("мільярдів", "мільярди", "miliar", "tỉ", "δισεκατομμύρια"), 9),
    **dict.fromkeys(("ألفا", "ألفاً", "هزار", "হাজার", "వేలు", "వేల", "mii", "ஆயிரம்"), 3),
    **dict.fromkeys(("লাখ", "লক্ষ", "లక్ష", "లక్షల", "లక్షలు", "லட்சம்", "lakhs"), 5),
    **dict.fromkeys(("কোটি", "కోట్లు", "కోట్ల", "crores"), 7),
    **dict.fromkeys(("trillion", "trilyon", "triliun", "biliona", "триллион", "триллионов"), 12),
}
_SCALE = re.compile(
    r"[ -]?("
    + "|".join(
        # No space ends a word of Thai.
        one if "\u0e00" <= one[0] <= "\u0e7f" else rf"{one}(?![^\W_])"
        for one in sorted(_SCALES, key=len, reverse=True)
    )
    + ")",
    re.IGNORECASE,
)
_CJK_SCALES = {
    "百": 2,
    "千": 3,
    "천": 3,
    "万": 4,
    "萬": 4,
    "만": 4,
    "億": 8,
    "亿": 8,
    "억": 8,
    "兆": 12,
    "조": 12,
}
_CJK_UNIT = re.compile("[百千][米克瓦卡焦赫帕]")  # 千米 is a kilometre
_LETTER_SCALES = {"k": 3, "K": 3, "m": 6, "M": 6, "B": 9, "T": 12}
_LETTER_SCALE = re.compile(r"([kKmMBT])(?![A-Za-z0-9^²³])")
_DOZEN = re.compile(
    r"\s?(?:dozens?|gross|scores|pairs|dutzend|douzaines?|dizaines?|centaines?|milliers?|docenas?"
    r"|decenas?|centenas|dozzin[ae]|decine|centinaia|migliaia|dúzias?|dezenas|dzin|tuzin\w*|düzine"
    r"|дюжин\w?|десятк\w+|сотен)\b",
    re.IGNORECASE,
)
_UNKNOWN = re.compile(
    r"\.√|\s?[*·×]?\s?(?:[√πθλ]|\\|(?:[xyznjb]|[ai](?!\s[A-Za-z])|pi|sqrt)(?![^\W\d_]|['’]))"
    r"|\s?[-+*×÷/]\s?[xyzn](?![^\W\d_])|[\u0304\u0305\ue005]"
)
_ATTACHED = re.compile(r"(?:[A-Za-z]{2,12}|[mghsLlWVACFKNJdw])(?:[/^²³]\w{1,5})?(?![A-Za-z0-9_])")
_CLOCK_OR_RANGE = re.compile(
    r"[₀-₉]|\s?:\s?\d|\s?[–—~]\s?\d|\s?-\d|\s?±|\s?(?:to|through|vs\.?)\s[$€£]?\d|\s?\.\.\.?\s?\d"
    r"|\.?\([\dA-Za-z]|!(?=\s*[=×])|\^|\s?[ap]\.?m\b|\s(?:in|out of)\s\d"
    r"|(?:\s?/\s?\d+){2}|\s?(?:['′]\s?\d|[\"″]\s?[x×])"
    r"|,?\s?(?:\(|(?:with|and|leaving)\s(?:a\s)?)?(?:remainder|rem\b|r\b|rest[eo]?\b|余り?|餘|あまり|나머지|reszt[ay]"
    r"|остат\w+|с\sостатком|kalan|dư|sisa)\.?\s?(?:of\s|de\s)?\d"
    r"|(?<=[\d.]{5})(?:…|\.\.\.)"
    r"|,?\s(?:with|and|leaving)\s\d+\s(?:left|remain|over\b)"
)
_SUBTRACTS = re.compile(r"\d\s*\w*\s*(?:minus|negative)\s?$", re.IGNORECASE)
_IN_A_WORD = re.compile("[A-Za-z_]")
_MINUS = re.compile(r"(?:minus|negative)\s?$", re.IGNORECASE)
_PART_OF_TERM = re.compile(
    r"(?:[±√/]|-\(-?|\|-?|(?:^|[=:(,\n]\s?)[-–]\s|--|(?<![A-Za-z])[A-Za-z]\("
    r"|(?<![A-Za-z])[xyzn]\s?[-+*×÷^]\s?$"
    r"|(?<![A-Za-z])(?:log|ln|sqrt|sin|cos|tan|exp)\s?\(?)\s*$"
)
_MONTH = (
    r"(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)"
    r"(?:uary|ruary|ch|il|ust|tember|ember|ober)?\.?"
)
# "Figure 2", "No. 5", "July 4"
_REFERS = re.compile(
    rf"(?:\b(?:{_MONTH}|(?:[Tt]op|[Cc]hapter|[Pp]age|[Qq]uestion|[Oo]ption|[Ff]igure|[Ff]ig\."
    r"|[Tt]able|[Ss]ection|[Ee]xercise|[Rr]oom|[Pp]roblem|[Pp]aragraph|[Pp]assage|[Ss]entence|[Aa]ppendix|[Ss]tep|[Ii]tem|[Ee]quation|[Ee]q\."
    r"|[Ee]xample|[Ll]evel|[Gg]rade|[Ll]ine|[Vv]ersion|[Pp]art|[Cc]ase|[Dd]ay|[Ww]eek|[Rr]ound"
    r"|[Ee]rror|[Cc]ode|[Cc]lass of|[Rr]oute|[Ll]esson|[Cc]hoice|[Mm]ethod|[Gg]roup"
    r"|[Tt]eam|[Pp]layer|[Tt]rial|[Ee]pisode"
    r"|[Tt]ype|[Rr]ank)"
    r"|Theorem|Volume|Windows|Apollo|Bus|Flight|Gate|ISO|RFC|IEEE|DIN|Boeing|iPhone)"
    r"|(?:^|\s)N(?:o|r)\.?|№)\s\(?$"
)
_MONTH_BEFORE = re.compile(rf"\b{_MONTH}\s$")
_OF_MANY = re.compile(r"\sof\s\d")
_IS_DATE = re.compile(rf"(?:st|nd|rd|th)?(?: of)? (?-i:{_MONTH})(?![A-Za-z])")
_OF_A_YEAR = re.compile(
    r"\s(?:study|paper|report|survey|article|census|elections?|edition|season|model)\b"
)
_IN_YEAR = re.compile(r"(?:^|[.!?\n]\s?)(?:In|Since|By|During|As of|Until)\s$")
_STATES = re.compile(r"(?:^|\b(?:is|are|was|of)\s|[:=]\s?)\(")
_LARGEST_FACTORIAL = 20
_LARGEST_POWER = 300
_PART_WORDS = re.compile(
    r"\s(?:halves|thirds|quarters|fourths|fifths|sixths|sevenths|eighths|ninths|tenths|twelfths"
    r"|hundredths|thousandths)\b|\s?‰"
)


_MOST_NUMERALS = 24


@lru_cache(maxsize=64)  # a sentence is looked at several times
def numerals(text: str) -> tuple[Numeral, ...]:
    """The numerals of a text that :func:`plain` has passed, in order; at most 24 in digits."""
    found = list(islice(_in_digits(text), _MOST_NUMERALS))
    found += [
        word
        for word in _in_words(text)
        if not any(number.start < word.end and word.start < number.end for number in found)
    ]
    return tuple(sorted(found, key=lambda number: number.start))


def has_numeral(text: str) -> bool:
    """Whether there is a numeral in a text."""
    return next(_in_digits(text), None) is not None or bool(_in_words(text))


def _in_digits(text: str) -> Iterator[Numeral]:
    at = 0
    while run := _RUN.search(text, at):
        number, at = _number_at(text, run)
        if number:
            yield number


def _number_at(text: str, found: re.Match[str]) -> tuple[Numeral | None, int]:
    begun, currency = _currency(text, *found.span())
    before = text[max(0, begun - 16) : begun]
    negative = _is_negative(text, begun)
    if _counts_nothing(text, before, found):
        return None, found.end()
    if _is_part_of_a_word(before, negative=negative) or _ORDINAL.match(text, found.end()):
        return Numeral(None, begun, found.end()), found.end()
    value = _parsed(found[0], currency)
    value, end = _scaled(text, value, found[0], found.end(), currency)
    rest = text[end : end + 24]
    unknown = _UNKNOWN.match(rest)
    in_a_word = _IN_A_WORD.match(rest) and not _ATTACHED.match(rest)
    in_year = rest[:1] == "," and _IN_YEAR.search(text, max(0, begun - 12), begun)
    if len(found[0]) == 4 and (in_year or _OF_A_YEAR.match(rest)):
        return None, end  # a 2019 study; "In 2019, ..."
    if _COMPOUND.match(rest) or (in_a_word and not unknown):
        return None, end  # 5-day, 2nd
    if (
        unknown
        or _CLOCK_OR_RANGE.match(rest)
        or _PART_OF_TERM.search(before)
        or (_REFERS.search(before) and not _is_year(before, found[0]))
        or _IS_DATE.match(rest)
        or (found[0] == "0" and rest[:1] in ("x", "b"))
        or (found[0].isdecimal() and end == found.end() and _OF_MANY.match(rest))
        or _PART_WORDS.match(rest)
        or (
            re.search(r"(?:^|\s)['’]$", before)
            and re.fullmatch(r"\d\d", found[0])
            and rest[:1] not in ("'", "’")
        )
        or (before.endswith(":") and before[-2:-1].isdigit())
        or (currency and before.endswith("(") and rest.startswith(")") and _STATES.search(before))
        or (value is not None and _is_factorial(text, value, end))
    ):
        value = None
    if negative:
        word = _MINUS.search(before)
        begun -= len(word[0]) if word else 1
        value = None if value is None else -value
    return Numeral(value, begun, end), max(end, found.end())


def _is_year(before: str, run: str) -> bool:
    """Whether a number is the year of a month: "September 2008"."""
    return len(run) == 4 and run[0] in "12" and _MONTH_BEFORE.search(before) is not None


def _is_factorial(text: str, value: Fraction, end: int) -> bool:
    """Whether a number may be the base of a factorial: ``5! = 120``, and ``It is 5!`` too."""
    if (
        text[end : end + 1] != "!"
        or "¡" in text[max(0, end - 80) : end]
        or not 0 <= value <= _LARGEST_FACTORIAL
    ):
        return False
    return value.denominator == 1


def _currency(text: str, start: int, end: int) -> tuple[int, str]:
    """Where a number with its currency starts, and the currency as ``$`` or ``€``, or empty.

    Only whether it is a currency matters, and whether it is from where ``1.000`` is a thousand.
    """
    begun = start
    if text[begun - 1 : begun] == " " and begun > 1 and text[begun - 2] in _CURRENCY:
        begun -= 1
    while begun and text[begun - 1] in _CURRENCY:
        begun -= 1
    if sign := text[begun:start].strip()[:1]:
        if country := _COUNTRY.search(text, max(0, begun - 3), begun):
            begun = country.start()
        return begun, "€" if sign == "€" or text[begun:start].strip() == "R$" else "$"
    if code := _CODES.search(text[max(0, start - 8) : start]):
        return start - len(code[0]), "€" if code[0].strip(" .").lower() in (
            "eur",
            "zł",
            "rp",
        ) else "$"
    if money := _MONEY_AFTER.match(text[end : end + 12]):
        return begun, "€" if money[0].strip()[:1] in "€eEzktTlL₺" else "$"
    return begun, ""


def _is_negative(text: str, begun: int) -> bool:
    if text[begun - 1 : begun] in ("-", "–") and begun:
        return _is_sign(text, begun)
    before = text[max(0, begun - 24) : begun]
    return bool(_MINUS.search(before)) and not _SUBTRACTS.search(before)


def _is_sign(text: str, at: int) -> bool:
    """Whether the dash right before ``at`` is a sign, not a subtraction or hyphen."""
    before = text[max(0, at - 4) : at - 1].rstrip(f" {_CURRENCY}\ue003")
    last = before[-1:]
    if last.isdigit() or last in (")", "%", "]"):
        return False
    return not (last.isascii() and last.isalpha()) or text[at - 2 : at - 1].isspace()


def _counts_nothing(text: str, before: str, found: re.Match[str]) -> bool:
    """Whether digits are an ordinal or the power of a unit: ``the 5th``, ``cm^2``, ``m2``."""
    if before.endswith("^") or (_ORDINAL.match(text, found.end()) and _THE.search(before)):
        return True
    return found[0] in ("2", "3") and _UNIT_BEFORE.search(before) is not None


_THE = re.compile(r"\b(?:the|an?|every|each|on|der|die|das|le|la|el|il|o)\s$", re.IGNORECASE)
_UNIT_BEFORE = re.compile(r"(?<![A-Za-z])[cdkm]?m$")


def _is_part_of_a_word(before: str, *, negative: bool) -> bool:
    """Whether digits belong to a term: ``A4``, ``x2``, ``#3``, ``covid-19``."""
    previous = before[-1:]
    if previous in ("_", "#") or (previous.isascii() and previous.isalpha()):
        return True
    return previous == "-" and not negative and before[-2:-1].isalpha()


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
        # "14,5/20" is a mark out of twenty.
        if not below or _DOZEN.match(window, found.end()) or not run.isdecimal():
            return None, end + found.end()
        return None if value is None else value / below, end + found.end()
    if found := _PERCENT.match(window):
        return value, end + found.end()
    if found := _SCALE.match(window):
        # "3 million five hundred thousand"; "$3 mil" can be a thousand times as much in English
        dollars = found[1].lower() == "mil" and currency == "$"
        if dollars or _WORDS.match(window[found.end() :].lstrip(" ,")):
            return None, end + found.end()
        return _shifted(value, _SCALES[found[1].lower()]), end + found.end()
    if window[:1] in _CJK_SCALES and not _CJK_UNIT.match(window):
        return _in_myriads(value, window, end)
    if (found := _LETTER_SCALE.match(window)) and (currency or found[1] != "m"):
        sure = currency or found[1] in "kKM"
        return _shifted(value, _LETTER_SCALES[found[1]]) if sure else None, end + 1
    if found := _DOZEN.match(window):
        return None, end + found.end()
    return value, end


_MYRIAD = re.compile(r"(\d{1,4})([万萬만億亿억千천百])?(?![\d.,万萬만億亿억千천百])")


def _in_myriads(value: Fraction | None, window: str, end: int) -> tuple[Fraction | None, int]:
    """A value with the scale that follows it, and with what follows that: 1万2000, 1億3000万."""
    exponent, at = _CJK_SCALES[window[:1]], 1
    total = _shifted(value, exponent)
    while exponent >= 4 and (more := _MYRIAD.match(window, at)):
        lower = _CJK_SCALES[more[2]] if more[2] else 0
        if total is None or lower >= exponent:
            return None, end + more.end()
        total += int(more[1]) * 10**lower
        exponent, at = lower, more.end()
    return total, end + at


def _mixed(value: Fraction | None, window: str) -> tuple[Fraction, int] | None:
    """A whole number and the fraction after it, and where that ends."""
    if value is None:
        return None
    if found := _MIXED.match(window):
        above, below = int(found[1]), int(found[2])
        return (value + Fraction(above, below), found.end()) if 0 < above < below else None
    if found := _AND_PART.match(window):
        if _SCALE.match(window, found.end()):
            return None
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
_BELOW = {"hal": 2, "thi": 3, "qua": 4, "fou": 4, "fif": 5}
_WORD = "|".join(sorted((*_UNITS, *_TENS, *_WORD_SCALES), key=len, reverse=True))
_WORDS = re.compile(
    r"(?<![\w-])(?:"
    r"(?:(?P<count>an?|one|two|three|four|five)[ -])?"
    r"(?P<share>half|halves|thirds?|quarters?|fourths?|fifths?)"
    r"(?:[ ](?:an?[ ])?(?P<scale>hundred|thousand|million|billion|dozen))?"
    r"|(?P<dozen>(?:an?|one)[ ]dozen)"
    r"|(?:(?P<sign>minus|negative)[ ])?"
    rf"(?P<words>(?:a[ ](?=hundred|thousand|million|billion))?(?:{_WORD})"
    rf"(?:(?:[ -]|,?[ ]and[ ])(?:{_WORD}))*)"
    r"(?:[ ]and[ ](?:(?P<many>a|one|two|three)[ -])?(?P<part>half|quarters?|thirds?))?"
    r")(?![\w-])",
    re.IGNORECASE,
)
_ANY_WORD = re.compile(
    rf"\b(?:{_WORD}|half|halves|third|quarter|fourth|fifth|dozen)", re.IGNORECASE
)
_KNOWN_MANY = re.compile(
    r"\b(?:the|these|those|all|both|its|his|(?<!take\s)(?<!takes\s)(?<!took\s)(?<!cost\s)"
    r"(?<!costs\s)(?<!give\s)(?<!gives\s)(?<!leave\s)(?<!leaves\s)(?<!leaving\s)her|their|our"
    r"|my|your|of|per|every|other|first|last|next"
    r"|several|few"
    r"|many|some|tens of)\s$",
    re.IGNORECASE,
)
_PART_OF = re.compile(r"\bof\s(?:the|these|those|his|her|their)\s$", re.IGNORECASE)
_JUST_ONE = re.compile(
    r"(?:^[\W_]*|\b(?:is|are|has|have|leaves|only|just|exactly|equals|makes|get|gets|remains)\s"
    r"|[=:]\s?)$",
    re.IGNORECASE,
)
_ONE_MORE = re.compile(
    r"\s+(?:of|can|by|could|should|would|more|another|way|is|thing|must|who|that)\b", re.IGNORECASE
)
_MORE_WORDS = re.compile(
    r"[ ](?:and[ ]a[ ]half|point\b)"
    r"|[ -](?:sixth|seventh|eighth|ninth|tenth|\w{2,6}(?:teenth|tieth)|hundredth|thousandth)s?\b"
    r"|\s?dozens?\b|-[a-z]",
    re.IGNORECASE,
)


_ENGLISH_TEXT = re.compile(
    r"\b(?:the|is|are|of|and|has|have|for|with|he|she|it|they|there|that|was|so|each|per|total)\b",
    re.IGNORECASE,
)


def _in_words(text: str) -> list[Numeral]:
    """The numbers written in words, without those that only name a group: "the two"."""
    found = [] if _ENGLISH_TEXT.search(text) else _in_other_words(text)
    return found + _in_english(text)


def _in_other_words(text: str) -> list[Numeral]:
    """The numbers in words of other languages; two words beside each other have no value."""
    found = [
        # "zwei Dutzend", "deux millions"
        Numeral(None if _SCALE.match(text, end) or _DOZEN.match(text, end) else value, start, end)
        for value, start, end in named_numbers(text)
    ]
    joined = {
        one
        for one, other in pairwise(found)
        if not re.search(r"[^\s-]", text[one.end : other.start])
    }
    return [replace(one, value=None) if one in joined else one for one in found]


def _in_english(text: str) -> list[Numeral]:
    if not _ANY_WORD.search(text):
        return []
    found = []
    for words in _WORDS.finditer(text):
        before = text[max(0, words.start() - 16) : words.start()]
        value: Fraction | None
        if words["share"]:
            # A third of something, but not the third of several.
            plain_part = words["share"].lower() in ("half", "halves")
            if not words["count"] and (not plain_part or _KNOWN_MANY.search(before)):
                continue
            value = Fraction(_count(words["count"]), _BELOW[words["share"][:3].lower()])
            if words["scale"]:
                value *= _WORD_SCALES.get(words["scale"].lower(), 12)
        elif words["dozen"]:
            value = Fraction(12)
        else:
            if (_KNOWN_MANY.search(before) and not _PART_OF.search(before)) or (
                words["words"].lower() == "one"
                and not words["part"]
                and (not _JUST_ONE.search(before) or _ONE_MORE.match(text, words.end()))
            ):
                continue
            value = _of_words(words["words"].lower())
            if value is not None and words["part"] and value >= 1000:
                value = None  # "a million and a half"
            elif value is not None and words["part"]:
                value += Fraction(_count(words["many"]), _BELOW[words["part"][:3].lower()])
            if value is not None and words["sign"]:
                value = -value
        if _MORE_WORDS.match(text, words.end()):
            value = None
        found.append(Numeral(value, words.start(), words.end()))
    return found


def _count(word: str | None) -> int:
    return _UNITS.get((word or "one").lower(), 1)


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
