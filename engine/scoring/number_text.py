"""The text of a reply as the rules for numbers read it: with one form for each sign.

Boxes, answer tags, ``####`` and bold parts are marked by private characters.
"""

from __future__ import annotations

import re
from collections import deque

from evalbench.engine.scoring.numerals import plain
from evalbench.engine.scoring.reply_text import ends

LONGEST = 8_000

OPEN, CLOSE, BOLD, HASHES = "\ue001", "\ue002", "\ue003", "\ue004"
OURS = re.compile("[\ue001-\ue005]")
_BOXED = re.compile(r"\\(?:boxed|fbox)\s?\{|<answer>|<final_answer>", re.IGNORECASE)
MOST_MARKS = 12
"""The last so many marks of a kind count."""
_LONGEST_BOX = 400
_HASH_LINE = re.compile(r"(?<![^\s*])\\?#(?:\\?#){3}(?!#)")
_BOLD_TAG = re.compile(r"</?(?:b|strong)>")
_HTML_TAG = re.compile(r"</?(?:i|em|u|p|span|div|code|br|h[1-6])(?:\s[^<>\n]{0,100})?/?>")
_BOLD_SPAN = re.compile(r"\*\*(?=\S)([^*\n]{1,300}?)\*\*|__(?=\S)([^_\n]{1,300}?)__")
_ITALIC = re.compile(r"(?<![\w*\\])([*_])([$€£]?-?\d[\d.,]{0,30}%?)\1(?![\w*])")
_STRUCK = re.compile(r"~~(?=\S)[^~\n]{1,300}~~")
_ALIGNED = re.compile(r"&\s?([=≈])")
_ENVIRONMENT = re.compile(
    r"\\(?:begin|end)\s?\{(?:align|aligned|equation|gather|gathered|split|eqnarray)\*?\}"
)
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


def normal_text(text: str) -> str:
    """The text with one form for each sign, and private marker characters around marked parts."""
    if "```" in text:
        rest = _CODE.sub("\n", text)
        text = _CODE_FENCE.sub("", rest if re.search(r"\d", rest) else text)
    if "~~" in text:
        text = _STRUCK.sub(" ", text)
    if "&" in text:
        text = _ALIGNED.sub(r" \1", text)
    if "\\begin" in text:
        text = _ENVIRONMENT.sub(" ", text)
    text = _boxes(_ANSWER_TAG.sub(r"<\1answer>", text) if "[" in text else text)
    if "#" in text:
        text = _HASH_LINE.sub(HASHES, text)
    if "<" in text:
        text = _HTML_TAG.sub(" ", _BOLD_TAG.sub("**", text))
    text = plain(text.replace("***", "**"))
    text = ends(text, LONGEST)  # a sign may have become four
    text = _PRECISION.sub(" ", _ITALIC.sub(r"\2", text))
    text = _BOLD_SPAN.sub(lambda bold: f"{BOLD}{bold[1] or bold[2]}{BOLD}", text)
    return _LEFTOVERS.sub("", text)


def _boxes(text: str) -> str:
    """Private markers around boxes and answer tags; one that is cut off is not closed."""
    kept: list[str] = []
    at = 0
    for found in deque(_BOXED.finditer(text), maxlen=MOST_MARKS):
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
        kept += [text[at : found.start()], OPEN, inside, CLOSE if closed else ""]
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
