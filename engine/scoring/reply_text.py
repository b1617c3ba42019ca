"""Removes from reply text what is not the answer: reasoning, control tokens, markup and so on."""

from __future__ import annotations

import re
from string import ascii_letters

_NAMES = {
    **dict.fromkeys(("think", "thinking", "seed:think"), "think"),
    **dict.fromkeys(("thought", "thoughts"), "thought"),
    **{name: name for name in ("reasoning", "reflection", "scratchpad", "analysis")},
    "inner_monologue": "monologue",
}
_PAIRS = tuple(
    (tuple(tag.encode("ascii", "replace") for tag in pair), word.encode())
    for *pair, word in (
        *((f"<{name}>", f"</{name}>", word) for name, word in _NAMES.items()),
        ("[think]", "[/think]", "think"),
        ("<|begin_of_thought|>", "<|end_of_thought|>", "thought"),
        ("<|start_thinking|>", "<|end_thinking|>", "think"),
        ("<|think|>", "<|/think|>", "think"),
        ("<unused94>", "<unused95>", "unused9"),
        # Kimi's ◁think▷; non-ASCII characters are matched as question marks.
        ("◁think▷", "◁/think▷", "think"),
    )
)
"""The two tags of a pair, and a word contained in both."""
_WORDS = {word for _, word in _PAIRS}
_MOST_TAGS = 1000
_SPECIAL = r"<\|[^|<>\n]{1,40}\|>|</?s>|<eos>|<(?:start|end)_of_turn>|<｜[^｜<>\n]{1,40}｜>"
_CONTROL = re.compile(_SPECIAL, re.IGNORECASE)
_BEFORE_ANY_TEXT = re.compile(rf"(?:\s|{_SPECIAL})*", re.IGNORECASE)


def without_reasoning(text: str) -> str:
    """The text outside reasoning, whether in tags such as ``<think>…</think>`` or a channel.

    A closing tag without an opening one (chat templates often swallow it) ends reasoning begun
    with the reply. An opening tag that is never closed means the reply was cut off while thinking:
    nothing after it is an answer. At most the last 1,000 tags of one kind count. In a reply
    with channels (OpenAI's harmony format) only the last ``final`` one is the answer.
    """
    text = _final_channel(text)
    if not any(sign in text for sign in "<[◁"):
        return text
    kept: list[str] = []
    at = 0
    thinking = False
    for start, end, closes in _tags(text):
        if closes:
            if not thinking:
                kept.clear()
            thinking = False
            at = end
        elif not thinking:
            kept.append(text[at:start])
            thinking = True
    if not thinking:
        kept.append(text[at:])
    return "".join(kept)


_CHANNEL = "<|channel|>"
_MESSAGE = "<|message|>"
_BARE_FINAL = "assistantfinal"
_BARE_ANALYSIS = re.compile(
    r"\s*+(?:assistant)?(?:analysis|commentary)(?=[^\sa-z\d,.:;!?)(*_'’\"-])"
)


def _final_channel(text: str) -> str:
    """The text of the last final channel; the whole text if there are no channels.

    A decoder that drops control tokens leaves ``analysis…assistantfinal…``, all in one word with
    the text around it.
    """
    if _CHANNEL not in text:
        if _BARE_FINAL in text:
            return text[text.rindex(_BARE_FINAL) + len(_BARE_FINAL) :]
        return "" if _BARE_ANALYSIS.match(text) else text
    at = text.rfind(f"{_CHANNEL}final")
    if at < 0:
        return ""
    body = text.find(_MESSAGE, at)
    if body < 0:
        return ""
    body += len(_MESSAGE)
    end = min((e for e in (text.find(t, body) for t in _ENDS_OF_MESSAGE) if e >= 0), default=None)
    return text[body:end]


_ENDS_OF_MESSAGE = ("<|end|>", "<|return|>", "<|start|>", "<|call|>", _CHANNEL)


def _tags(text: str) -> list[tuple[int, int, bool]]:
    """Where tags start and end, and whether they close, in order."""
    # One byte per character, searched at a megabyte per millisecond; a regex takes a hundred.
    raw = text.encode("ascii", "replace").lower()
    found: list[tuple[int, int, bool]] = []
    # Words are found ten times as fast from the start, and most texts have none.
    there = {word for word in _WORDS if word in raw}
    for pair, word in _PAIRS:
        if word in there:
            for tag in pair:
                found += _places(raw, tag, closes=tag is pair[1])
    return sorted(found)


def _places(raw: bytes, tag: bytes, *, closes: bool) -> list[tuple[int, int, bool]]:
    found: list[tuple[int, int, bool]] = []
    at = raw.rfind(tag)
    while at >= 0 and len(found) < _MOST_TAGS:
        found.append((at, at + len(tag), closes))
        at = raw.rfind(tag, 0, at)
    return found


_END_OF_TURN = re.compile(
    r"</s>|<\|(?:im_end|eot_id|eom_id|endoftext|end_of_text|end|return)\|>|<eos>|<end_of_turn>"
    r"|<｜end▁of▁sentence｜>",
    re.IGNORECASE,
)


def without_control_tokens(text: str) -> str:
    """The text without tokens that some servers leave in replies, and without a next turn."""
    if "<" not in text:
        return text
    begun = _BEFORE_ANY_TEXT.match(text)
    end = _END_OF_TURN.search(text, begun.end() if begun else 0)
    return _CONTROL.sub("", text[: end.start()] if end else text)


_LONGEST = 40_000


def ends(text: str, longest: int = _LONGEST) -> str:
    """The text, or the first and last halves of ``longest`` characters if it is longer.

    A person looks for an answer there, and no reply, whatever it contains, can keep a parser
    busy.
    """
    if len(text) <= longest:
        return text
    return f"{text[: longest // 2]}\n\n{text[-(longest // 2) :]}"


# Byte order marks, joiners and direction marks; they have no width.
_INVISIBLE = re.compile(
    "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe0f\ufeff]"
)


def spoken(reply: str) -> str:
    """The reply without reasoning and control tokens, and no longer than :func:`ends` allows."""
    return _INVISIBLE.sub("", without_control_tokens(ends(without_reasoning(reply))))


FULL_WIDTH = {0xFEE0 + code: chr(code) for code in map(ord, "+-./0123456789" + ascii_letters)}
"""Full-width letters, digits and signs of a number as ASCII, for ``str.translate``. Punctuation
stays: a full-width comma does not separate thousands."""


def answer_text(reply: str) -> str:
    """What a lenient parser reads: :func:`spoken`, without surrounding whitespace."""
    return spoken(reply).strip()


_NEXT_QUESTION = re.compile(
    # Case is ignored only from the first word on, so that line breaks are found quickly.
    r"\n(?i:[ \t]*(?:[#>]{1,6}[ \t]*)?[*_]{0,3}(?:(?:next|new|another)[ ])?"
    r"(?:question|problem|q|human|user|instruction|input|exercise)"
    r"(?:[ \t]*\#?\d{1,4})?[ \t]*(?:[*_]{1,3}[ \t]*)?(?::|：|\.[ \t]*\n|\n)"
    r"|[ \t]*(?:[#>]{1,6}[ \t]*)?[*_]{0,3}(?:question[ ]suivante|(?:nächste|neue)[ ]frage"
    r"|(?:siguiente|nueva)[ ]pregunta|próxima[ ]pergunta|prossima[ ]domanda|następne[ ]pytanie"
    r"|(?:zadanie|aufgabe|ejercicio|exercice|exercício|esercizio|задача|задание|soal|bài|câu)[ ]"
    r"\d{1,3}|ข้อ[ ]?\d{1,3}|第\d{1,3}[题題]|문제[ ]?\d{1,3})[ \t]*[:.)：\s]"
    r"|[ \t]*the[ ]following[ ]are[ ]multiple[ ]choice[ ]questions"
    r"|[ \t]*(?:\*\*)?(?:question|q)[ \t]?\d{1,4}[.)][ \t]+(?=\S)"
    r"|[ \t]*(?:[#>]{1,6}[ \t]*)?[*_]{0,3}(?:pregunta|pergunta|domanda|frage|pytanie|soru|câu[ ]hỏi"
    r"|вопрос|питання|السؤال|سؤال|प्रश्न|सवाल|คำถาม|質問|問題|問|질문|문제|问题|题目|題目|问|vraag|fråga"
    r"|spørgsmål|spørsmål|pertanyaan|soal|otázka|întrebare|kérdés|ερώτηση|שאלה)"
    r"(?:[ \t]*\#?\d{1,4})?[ \t]*(?:[*_]{1,3}[ \t]*)?[:：])"
)
_RESTATES = re.compile(
    r"(?:sure|ok|okay|certainly|of course|alright|let['’]?s|let me|here|we"
    r"|to (?:answer|solve|find))\b",
    re.IGNORECASE,
)


def before_next_question(text: str) -> tuple[str, str]:
    """A reply up to where the model starts a new question of its own, and the rest.

    A text that starts with a question, or has only a lead-in such as "Sure!" before it, repeats the
    one it was asked: it ends before the second question.
    """
    starts = [found.start() for found in _NEXT_QUESTION.finditer("\n" + text)][:2]
    if not starts:
        return text, ""
    head = text[: starts[0]].strip()
    if head and not (_RESTATES.match(head) and len(head) < 200 and "\n" not in head):
        return head, text[starts[0] :]
    if len(starts) > 1:
        return text[: starts[1]], text[starts[1] :]
    return text, ""


_LATEX_WORD = re.compile(
    r"\\(?:text|textbf|textrm|textit|mathrm|mathbf|mathit|mathsf|operatorname|bf|rm|displaystyle)"
    r"(?![A-Za-z])"
)
_LATEX_MARKS = re.compile(r"\\[()\[\]]|\\[,;! ]|[{}$]")
_EMPHASIS = re.compile(
    # An asterisk between numbers is a product. The marks come first in the pattern, before the
    # conditions on their surroundings, so that most positions are skipped at once.
    r"\*\*|\*(?:(?<!\w\*)(?=\S)|(?<=\S\*)(?!\w))"
    r"|`|__|~~|(?m:^[ \t]*(?:#{1,6}|>)[ \t]+)"
)
# Lower case only: <B> is more likely an option in brackets than a tag.
_HTML = re.compile(r"</?(?:b|strong|i|em|u|p|span|div|code|br|h[1-6])(?:\s[^<>]*)?/?>")


def without_markup(text: str) -> str:
    """The text without Markdown emphasis, headings and quotes, LaTeX wrapping and HTML emphasis."""
    text = _HTML.sub("", text)
    text = _LATEX_WORD.sub("", text)
    text = _LATEX_MARKS.sub("", text)
    return _EMPHASIS.sub("", text)
