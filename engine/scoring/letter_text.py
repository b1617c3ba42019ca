"""The text of a reply as the rules for letters read it: plain capitals, ticks and boxes as labels.

Letters of other scripts become the ASCII ones, crossed and ticked options an ``answer:`` before the
one that is ticked, and markup, emoji and a next question are gone.
"""

from __future__ import annotations

import re
import unicodedata

from evalbench.engine.scoring import letter_words as table
from evalbench.engine.scoring.letters import LETTERS
from evalbench.engine.scoring.reply_text import (
    FULL_WIDTH,
    answer_text,
    before_next_question,
    ends,
    without_markup,
)
from evalbench.engine.scoring.word_tables import words

CAPITAL = re.compile(r"(?<![A-Za-zÀ-ɏ])[A-G](?![A-Za-zÀ-ɏ])")

# Letterlike signs, circled, parenthesized, squared and mathematical letters.
_DRESSED_RANGES = (
    *((0x2100, 0x2150), (0x249C, 0x24EA)),
    *((0x1D400, 0x1D6A4), (0x1F110, 0x1F14A)),
)
_DRESSED = {
    code: plain
    for first, end in _DRESSED_RANGES
    for code in range(first, end)
    if (plain := unicodedata.normalize("NFKC", chr(code)).strip("()")) in {*LETTERS, *"abcdefg"}
}
_DRESSED |= {first + at: one for first in (0x1F150, 0x1F170) for at, one in enumerate(LETTERS)}
_DRESSED |= {code: plain for code, plain in FULL_WIDTH.items() if plain.isalpha()}
_EMOJI = dict.fromkeys([*range(0x2600, 0x27C0), *range(0x1F300, 0x1FB00), 0x2B50, 0x20E3], " ")
# "✅ B) Paris" among options without a tick, or with a cross.
_TICKED = re.compile(
    r"^[ \t]*[-*•]?[ \t]*[✅✔✓☑][ \t]*\**[(\[]?([A-G])(?![A-Za-z0-9])", re.MULTILINE
)
_TICKED_AFTER = re.compile(
    r"^[ \t]*[-*•]?[ \t]*\**[(\[]?([A-G])[)\].:](?![A-Za-z0-9])[^\n✅✔✓☑]{0,200}[✅✔✓☑]\**[ \t]*$",
    re.MULTILINE,
)
_CROSS = re.compile("[❌✗✘✖]")
_TICKED_BESIDE = re.compile(r"(?<![A-Za-z0-9])([A-G])[).:]?[ \t|]*[✅✔✓☑]")
_TAG = r"(?:final[_ -]?)?(?:answer|ans|result|option|choice|output|response|letter|solution)|final"
_BOXED = re.compile(rf"\\(?:boxed|fbox)\s*(?=\{{)|<(?:{_TAG})>", re.IGNORECASE)
_END_ANSWER = re.compile(rf"</(?:{_TAG})>", re.IGNORECASE)
_TICKED_BEFORE = re.compile(r"[✅✔✓☑][ \t|]*\(?([A-G])(?![A-Za-z0-9])")
_MARK_OR_LETTER = re.compile(r"([❌✗✘✖✅✔✓☑])|(?<![A-Za-z0-9])[A-G](?![A-Za-z0-9])")
_BOX_EMPTY = re.compile(r"☐|(?<!\w)(?:\[ \]|\( \))")
_BOX_TICKED = re.compile(r"(?<!\w)(?:\[[xX]\]|\([xX]\))")


def _ticked(text: str) -> str:
    """The text with an answer in place of the one ticked option among crossed ones."""
    first = _MARK_OR_LETTER.search(text)
    pattern = _TICKED_BEFORE if first and first[1] else _TICKED_BESIDE
    return pattern.sub(r"answer: \1.\n", text) if len(pattern.findall(text)) == 1 else text


# The first letters of alphabets in which options are named as well.
_NATIVE = str.maketrans(
    "أبجدهאבגדהกขคงจकखगघअबसदকখগঘΑΒΓΔΕアイウエ가나다라",
    "ABCDEABCDEABCDEABCDABCDABCDABCDEABCDABCD",
)
_NATIVE_MARKS = "\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0981-\u0983\u09bc-\u09cd\u0e31-\u0e4e"
_NATIVE_LETTER = re.compile(
    rf"(?<![\w{_NATIVE_MARKS}])(?:(?:ال)?([أبجدهאבגדהกขคงจकखगघअबसदকখগঘ])|([ΑΒΓΔΕ]))ـ?"
    rf"(?![\w{_NATIVE_MARKS}]|['’׳]\w)['’׳]?"
)
# "答えはウ", "정답은 '나'입니다"
_NATIVE_ANSWER = re.compile(
    r"((?:答え|正解|解答|正答)[はが:]\s?[「『(\"']?|(?:정답|답)[은:]\s{0,3}[「(\"']?\s?)([アイウエ가나다라])"
    r"(?=[」』)\"'\s.。]|です|である|입니다|이다|번|$)"
)
# А is the first letter, whether Cyrillic or Latin is meant; В could be the second or the third.
_CYRILLIC = re.compile(
    r"(?:(?i:ответ|вариант|букв|пункт|відповідь|варіант|літер|отговор)\w*[\s:—–*(«\"-]{1,5}"
    r"|^[(«\"]?(?=.\)))([АБГС])(?!\w)",
    re.MULTILINE,
)
_CYRILLIC_PLAIN = str.maketrans("АБГС", "ABDC")
_CYRILLIC_LIST = re.compile(r"^[ \t]*[(]?[БГ][).]", re.MULTILINE)
_CYRILLIC_OPTION = re.compile(r"(?<!\w)([АБВГД])(?=[).](?:\s|$))")
_CYRILLIC_ORDER = str.maketrans("АБВГД", "ABCDE")
# The first letter, as Persian calls it
_ALEF = re.compile(r"(?:(?<=گزینه)|(?<=گزینهٔ)|(?<=پاسخ)|(?<=جواب)|^)([\s:(]{0,3})الف(?=\W|$)")


def _in_latin(text: str) -> str:
    """The text with Latin letters for those of other alphabets that stand alone.

    A reply that is only a Greek letter, which may be a typing error, stays as it is.
    """
    if text.isascii() or CAPITAL.search(text):
        return text
    if len(text) > 1 or not "Α" <= text <= "Ω":
        text = _NATIVE_LETTER.sub(lambda found: (found[1] or found[2]).translate(_NATIVE), text)
    text = _ALEF.sub(r"\1A", text)
    text = _NATIVE_ANSWER.sub(lambda found: f"{found[1]} {found[2].translate(_NATIVE)} ", text)
    if _CYRILLIC_LIST.search(text):
        return _CYRILLIC_OPTION.sub(lambda found: found[1].translate(_CYRILLIC_ORDER), text)
    return _CYRILLIC.sub(lambda found: found[0][:-1] + found[1].translate(_CYRILLIC_PLAIN), text)


_STRUCK = re.compile(r"~~(?=\S)[^~\n]{1,300}~~")
_QUOTED = re.compile(r"[\"'“”‘’«»]\s*([A-Ga-g][.)]?)\s*[\"'“”‘’«»]")
_BULLET = re.compile(
    r"^[ \t]*(?:[-*•·+–—][ \t]+(?=\S)|\d{1,2}(?:[.)][ \t]+|[ \t]?-[ \t]?)"
    r"(?=\(?[A-Ga-g]\)?[.:]?[ \t]*$))",
    re.MULTILINE,
)


# Longer than any that belongs to an answer; the patterns below would be slow on very long ones.
_LONGEST = 8_000
_RUN_OF_MARKS = re.compile(r"[\W_]{61,}")


def _undressed(text: str) -> str:
    """The text with ASCII letters for circled, squared and full-width ones."""
    return text.translate(_DRESSED)


def _one_turn(text: str) -> str:
    """The text without marks of chat templates such as ``[/INST]``, up to a next user's turn."""
    text = text.removeprefix("<bos>").lstrip()
    if text.startswith(("[INST]", "[/INST]")):
        text = text.partition("[/INST]")[2]
    return text.partition("[INST]")[0].strip()


def _without_table_edges(text: str) -> str:
    if "|" not in text:
        return text
    return "\n".join(
        line.strip(" \t|") if line.lstrip().startswith("|") else line for line in text.split("\n")
    )


# A letter, and below it another question with its options.
_ASKS_ANEW = re.compile(
    r"\s*([(*]{0,3}[A-G][).:*]{0,3}(?:"
    r"[ ][^\n]{1,200})?)\n[^\n]{0,300}\n?[^\n]{10,400}\?\s*\n\s*\(?A[).:][ ]"
)


# A question with options after an answer.
ASKS_LATER = re.compile(
    r"\n[^\n]{10,400}\n\s*\(?A[).:][^\n]{1,200}\n\s*\(?B[).:][^\n]{1,200}\n\s*\(?C[).:]"
)


_NAME = re.compile(r"\b(option|choice|answer|opt)_([A-Ga-g])(?!\w)", re.IGNORECASE)  # "option_b"


_WIDE = re.compile("[Ａ-Ｚａ-ｚ]{3,}")
_SPACED = re.compile(r"(?<!\S)(?:[A-Za-z] ){4,}(?:[A-Za-z](?!\S))?")  # "A n s w e r : B"


_NAMES_ONE = re.compile(r"(?<![A-Za-z])(?:[B-G]|A(?![ ][a-zà-ÿ]))(?![A-Za-z])")
_ORDINALS = {language: entries.split() for language, entries in table.ORDINAL.items()}
_CHOICE = words(table.CHOICE)
_PLACED = [
    re.compile(f"(?:{one})[ ]?(?:{_CHOICE})|(?:{_CHOICE})[ ]?(?:{one})")
    for place in range(5)
    for one in [words({language: entries[place] for language, entries in _ORDINALS.items()})]
]
"""The first to the fifth option, named by their places."""


def _by_place(text: str) -> str:
    """The text with a letter for "the fourth option", if that is the only one it names."""
    if _NAMES_ONE.search(text):
        return text
    lower = text.lower()
    if len(lower) != len(text):
        return text
    found = [(LETTERS[n], one) for n, place in enumerate(_PLACED) for one in place.finditer(lower)]
    for letter, one in sorted(found, key=lambda pair: pair[1].start(), reverse=True):
        text = f"{text[: one.start()]}option {letter}{text[one.end() :]}"
    return text


def clean(reply: str) -> str:
    """The text of a reply in which the rules look for a letter; see the module docstring."""
    head, _ = before_next_question(_one_turn(ends(answer_text(reply), _LONGEST)))
    text = _RUN_OF_MARKS.sub(lambda run: f"{run[0][:30]}\n{run[0][-30:]}", head)
    if anew := _ASKS_ANEW.match(text):
        text = anew[1]
    text = _WIDE.sub(lambda wide: unicodedata.normalize("NFKC", wide[0]), text)
    text = _SPACED.sub(lambda spaced: spaced[0].replace(" ", ""), _undressed(text))
    if _BOX_EMPTY.search(text):
        text = _BOX_TICKED.sub("✅", _BOX_EMPTY.sub("❌", text))
    text = _TICKED.sub(r"answer: \1", text)
    if len(_TICKED_AFTER.findall(text)) == 1:
        text = _TICKED_AFTER.sub(r"answer: \1", text)
    elif _CROSS.search(text):
        text = _ticked(text)
    text = text.translate(_EMOJI)
    if "_" in text:
        text = _NAME.sub(r"\1 \2", text)
    text = _END_ANSWER.sub("\n", _BOXED.sub(" answer: ", text))
    text = _QUOTED.sub(lambda quoted: f" {quoted[1]} ", without_markup(_STRUCK.sub(" ", text)))
    text = (
        text.lstrip(":： ")
        .replace("（", "(")
        .replace("）", ")")
        .replace("：", ":")
        .replace("【", " ")
        .replace("】", ": ")
        .replace("。", ". ")
        .replace("．", ". ")
        .replace("，", ", ")
    )
    return _by_place(_in_latin(_BULLET.sub("", _without_table_edges(text)).strip()))
