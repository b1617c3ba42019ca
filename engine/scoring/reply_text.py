"""Reply text without what is not the answer: reasoning blocks, control tokens, markup."""

from __future__ import annotations

import re

_NAMES = ("think", "thinking", "thought", "reasoning", "reflection", "scratchpad")
_TAGS = tuple((f"<{slash}{name}>".encode(), slash == "/") for name in _NAMES for slash in ("", "/"))
_MOST_TAGS = 1000
_CONTROL = re.compile(r"<\|[^|<>\n]{1,40}\|>|</?s>|<eos>|<(?:start|end)_of_turn>", re.IGNORECASE)


def without_reasoning(text: str) -> str:
    """The text outside reasoning tags such as ``<think>…</think>``.

    A closing tag without an opening one (chat templates often swallow it) ends
    reasoning that began with the reply. An opening tag that is never closed
    means the reply was cut while thinking: nothing after it is an answer. Of
    more than 1,000 tags of one kind the last 1,000 count.
    """
    if "<" not in text:
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


def _tags(text: str) -> list[tuple[int, int, bool]]:
    """Where tags begin and end, and whether they close, in order."""
    # One byte a character, searched in a millisecond a megabyte; a pattern takes a hundred.
    raw = text.encode("ascii", "replace").lower()
    found: list[tuple[int, int, bool]] = []
    for tag, closes in _TAGS:
        at, times = raw.rfind(tag), 0
        while at >= 0 and times < _MOST_TAGS:
            found.append((at, at + len(tag), closes))
            at, times = raw.rfind(tag, 0, at), times + 1
    return sorted(found)


def without_control_tokens(text: str) -> str:
    """The text without end-of-turn tokens that some servers leave in replies."""
    return _CONTROL.sub("", text)


_LONGEST = 40_000


def ends(text: str, longest: int = _LONGEST) -> str:
    """The text, or the first and the last half of ``longest`` characters of a longer one.

    A person who looks for an answer looks there, and no reply, whatever is in
    it, can keep a parser busy.
    """
    if len(text) <= longest:
        return text
    return f"{text[: longest // 2]}\n\n{text[-(longest // 2) :]}"


def spoken(reply: str) -> str:
    """The reply without reasoning and control tokens, and no more of it than :func:`ends`."""
    return without_control_tokens(ends(without_reasoning(reply)))


def answer_text(reply: str) -> str:
    """What a lenient parser reads: :func:`spoken`, without white space around it."""
    return spoken(reply).strip()


_LATEX_WORD = re.compile(
    r"\\(?:text|textbf|textrm|textit|mathrm|mathbf|mathit|mathsf|operatorname|bf|rm|displaystyle)"
    r"(?![A-Za-z])"
)
_LATEX_MARKS = re.compile(r"\\[()\[\]]|\\[,;! ]|[{}$]")
_EMPHASIS = re.compile(
    # An asterisk between numbers is a product. The marks stand before what is asked of their
    # surroundings, so that most places are passed at once.
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
