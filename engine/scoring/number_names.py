"""Numbers written in words of other languages than English: where they stand, and their values.

From 2 to 99, and 100 and 1,000 where the word is unmistakable. Words for one are articles, and
words that mean something else as often (Spanish "once", Vietnamese "ba") are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cache


def _joined(
    low: str, tens: str, joint: str = " ", *, ones_first: bool = False
) -> Iterator[tuple[str, int]]:
    """Names from 2 on: ``low`` counts from there, ``tens`` from twenty; ``-`` leaves one out."""
    names = {value: name for value, name in enumerate(low.split(), 2) if name != "-"}
    decades = {10 * at: name for at, name in enumerate(tens.split(), 2) if name != "-"}
    for value, name in {**names, **decades}.items():
        yield name.replace("_", " "), value
    for ten, name in decades.items():
        for one in range(2, 10):
            if one in names:
                pair = (names[one], name) if ones_first else (name, names[one])
                yield joint.join(pair).replace("_", " "), ten + one


def _teens_of_decades(names: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """French counts on to nineteen from sixty and eighty."""
    low = {name: value for name, value in names if 10 <= value < 20}
    for name, value in low.items():
        yield f"soixante {name}", 60 + value
        yield f"quatre vingt {name}", 80 + value


def _all() -> Iterator[tuple[str, int]]:
    yield from _joined(
        "dos tres cuatro cinco seis siete ocho nueve diez - doce trece catorce quince dieciséis"
        " diecisiete dieciocho diecinueve",
        "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
        " y ",
    )
    veinti = ("dós", "trés", "cuatro", "cinco", "séis", "siete", "ocho", "nueve")
    yield from ((f"veinti{name}", at) for at, name in enumerate(veinti, 22))
    french = list(
        _joined(
            "deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize"
            " dix_sept dix_huit dix_neuf",
            "vingt trente quarante cinquante soixante - quatre_vingt -",
        )
    )
    yield from (one for one in french if one[0] != "six")
    yield from _teens_of_decades(french)
    yield from (("quatre vingts", 80), ("vingt et un", 21), ("trente et un", 31))
    yield from _joined(
        "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn"
        " sechzehn siebzehn achtzehn neunzehn",
        "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
        "und",
        ones_first=True,
    )
    yield from (("einundzwanzig", 21), ("einunddreißig", 31), ("hundert", 100), ("tausend", 1000))
    yield from _joined(
        "dois três quatro cinco seis sete oito nove dez onze doze treze quatorze quinze dezesseis"
        " dezessete dezoito dezenove",
        "vinte trinta quarenta cinquenta sessenta setenta oitenta noventa",
        " e ",
    )
    yield from (("duas", 2), ("catorze", 14))
    yield from _joined(
        "- tre quattro cinque - sette otto nove dieci undici dodici tredici quattordici quindici"
        " sedici diciassette diciotto diciannove",
        "venti trenta quaranta cinquanta sessanta settanta ottanta novanta",
        "",
    )
    yield from (("mille", 1000), ("ventuno", 21), ("ventidue", 22))
    yield from _joined(
        "twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien"
        " zestien zeventien achttien negentien",
        "twintig dertig veertig vijftig zestig zeventig tachtig negentig",
        "en",
        ones_first=True,
    )
    yield from _joined(
        "två tre fyra fem - sju åtta nio tio elva tolv tretton fjorton femton sexton sjutton arton"
        " nitton",
        "tjugo trettio fyrtio femtio sextio sjuttio åttio nittio",
        "",
    )
    yield from _joined(
        "dwa trzy cztery pięć sześć siedem osiem dziewięć dziesięć jedenaście dwanaście trzynaście"
        " czternaście piętnaście szesnaście siedemnaście osiemnaście dziewiętnaście",
        "dwadzieścia trzydzieści czterdzieści pięćdziesiąt sześćdziesiąt siedemdziesiąt"
        " osiemdziesiąt dziewięćdziesiąt",
    )
    yield from _joined(
        "два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать тринадцать"
        " четырнадцать пятнадцать шестнадцать семнадцать восемнадцать девятнадцать",
        "двадцать тридцать сорок пятьдесят шестьдесят семьдесят восемьдесят девяносто",
    )
    yield from _joined(
        "iki üç dört beş altı yedi sekiz dokuz - on_bir on_iki on_üç on_dört on_beş on_altı on_yedi"
        " on_sekiz on_dokuz",
        "yirmi otuz kırk elli altmış yetmiş seksen doksan",
    )
    yield from _joined(
        "dua tiga empat lima enam tujuh delapan sembilan sepuluh sebelas dua_belas tiga_belas"
        " empat_belas lima_belas enam_belas tujuh_belas delapan_belas sembilan_belas",
        "dua_puluh tiga_puluh empat_puluh lima_puluh enam_puluh tujuh_puluh delapan_puluh"
        " sembilan_puluh",
    )
    yield from _joined(
        "- - bốn - sáu bảy tám chín - mười_một mười_hai mười_ba mười_bốn mười_lăm mười_sáu mười_bảy"
        " mười_tám mười_chín",
        "hai_mươi ba_mươi bốn_mươi năm_mươi sáu_mươi bảy_mươi tám_mươi chín_mươi",
    )
    yield from _joined(
        "اثنان ثلاثة أربعة خمسة ستة سبعة ثمانية تسعة عشرة",
        "عشرون ثلاثون أربعون خمسون ستون سبعون ثمانون تسعون",
        " و",
        ones_first=True,
    )
    yield from _joined(
        "- तीन चार पाँच छह सात आठ नौ दस ग्यारह बारह", "बीस तीस चालीस पचास साठ सत्तर अस्सी नब्बे", ""
    )


@cache
def _names() -> dict[str, int]:
    return {name.casefold(): value for name, value in _all()}


_MARKS = "\u064b-\u065f\u0900-\u0963"
_WORD = re.compile(rf"[^\W\d_][^\W\d_{_MARKS}]*(?:[{_MARKS}][^\W\d_]*)*")
_MOST_WORDS = 4
# "los dos", "alle drei": several that are known already
_KNOWN = re.compile(
    r"(?:los|las|les|der|die|den|alle|beide|os|as|gli|le|i|tutti|tutte|de|the|ces|estos|estas|эти|все"
    r"|bu|كل)$"
)
_COUNTED = (
    "个個人只隻本条條张張元块岁歳歲才天日年月小時时分秒米倍次回枚円頁页双双台辆輛匹头頭颗顆件杯瓶"
)
_CHINESE = re.compile(rf"[二两兩三四五六七八九十百千万萬]+(?=[{_COUNTED}]|\W|で|だ|$)")
_HAN = {c: at for at, c in enumerate("〇一二三四五六七八九")} | {"两": 2, "兩": 2}
_HAN_TENS = {"十": 10, "百": 100, "千": 1000}
_KOREAN = re.compile(
    r"(?<!\w)(?P<ten>열|스물|스무|서른|마흔|쉰)?(?P<one>두|세|네|다섯|여섯|일곱|여덟|아홉)?(?P<all>백|천)?"
    r"[ ]?(?:개|명|마리|살|시간|권|장|대|병|송이|자루)"
)
_KOREAN_TENS = {"열": 10, "스물": 20, "스무": 20, "서른": 30, "마흔": 40, "쉰": 50}
_KOREAN_ONES = {"두": 2, "세": 3, "네": 4, "다섯": 5, "여섯": 6, "일곱": 7, "여덟": 8, "아홉": 9}


def named_numbers(text: str) -> Iterator[tuple[Fraction, int, int]]:
    """Value, start and end of the numbers that words name, in order in each script.

    Those of Chinese, Japanese and Korean only where a text has no digits, as their characters are
    parts of many words.
    """
    names = _names()
    found = list(_WORD.finditer(text))
    at = 0
    while at < len(found):
        for count in range(min(_MOST_WORDS, len(found) - at), 0, -1):
            last = found[at + count - 1]
            start, end = found[at].start(), last.end()
            name = re.sub(r"[\s-]+", " ", text[start:end]).casefold()
            if name in names:
                before = found[at - 1][0].casefold() if at else ""
                if not _KNOWN.match(before):
                    yield Fraction(names[name]), start, end
                at += count - 1
                break
        at += 1
    if not re.search(r"\d", text):
        yield from _east_asian(text)


def _east_asian(text: str) -> Iterator[tuple[Fraction, int, int]]:
    for run in _CHINESE.finditer(text):
        value = _of_han(run[0])
        if value is not None:
            yield Fraction(value), run.start(), run.end()
    for word in _KOREAN.finditer(text):
        value = _KOREAN_TENS.get(word["ten"] or "", 0) + _KOREAN_ONES.get(word["one"] or "", 0)
        value += {"백": 100, "천": 1000}.get(word["all"] or "", 0)
        if value:
            yield Fraction(value), word.start(), word.end()


def _of_han(run: str) -> int | None:
    """The value of a number such as 十二, 两万 or 四十八."""
    total = section = 0
    digit = -1
    for sign in run:
        if sign in _HAN:
            if digit >= 0:
                return None
            digit = _HAN[sign]
        elif sign in _HAN_TENS:
            section += (digit if digit >= 0 else 1) * _HAN_TENS[sign]
            digit = -1
        else:
            section += max(digit, 0)
            total = (total + (section or 1)) * 10_000
            section, digit = 0, -1
    return total + section + max(digit, 0)
