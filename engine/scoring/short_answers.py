"""Parses short free-form answers as a person would: yes or no, phrases, printed text.

Each parser takes the reply text and returns a canonical form, or None. Reasoning tags, control
tokens and markup are removed first, and of a very long reply only both ends are read
(``reply_text.ends``).
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Iterable

from evalbench.engine.scoring.reply_text import (
    FULL_WIDTH,
    before_next_question,
    ends,
    spoken,
    without_markup,
)

LENIENT = "short-answer-lenient/9"
EXACT = "short-answer-exact/1"

_YES = r"yes|yeah|yep|yup|s[íì]|oui|ja|sim|tak|evet|có|да|نعم|हाँ|हां|ใช่|是的?|对|對|はい|네|예"
_NO = (
    r"no(?!\.\s?\d)|nope|nah|non|nein|não|nie|hayır|không|нет|لا|नहीं|ไม่ใช่|ไม่|不是|否|不|不对"
    r"|いいえ"
    r"|아니요|아니오"
)
# "No" before a noun belongs to it, as in "no doubt"; before these words it is an answer.
_ANSWERS = (
    r"(?=\W*$|[ \t]*[^\w\s'’]|[ \t]*\n|[ \t]+(?:because|since|as|it|its|the|that|this|these|there"
    r"|they|he"
    r"|she|we|i|you|not|yes|no|in|and(?![ ]no)|but|only|\d+)\b)"
)
_COPULA = r"(?:です|でした|だ|입니다|이다|예요|的|[ ]?है|ครับ|ค่ะ|คะ)?"
_ONE = rf"(?:(?P<yes>{_YES})|(?P<no>{_NO})){_COPULA}(?!\w){_ANSWERS}"
# They answer if they are a whole sentence, or marked or named as the answer.
_TRUE = (
    r"ciert[oa]|verdader[oa]|vraie?|wahr|richtig|verdadeir[oa]|ver[oa]|prawdziwe|prawda|doğru|đúng"
    r"|верно|правда|правильно|صحيحة?|सही|ถูก(?:ต้อง)?|正しい|正解|맞(?:습니다|아요|다)|正[确確]"
)
_FALSE = (
    r"fals[oa]|faux|fausse|falsch|fałsz|fałszywe|nieprawda|yanlış|sai|неверно|неправда|неправильно"
    r"|ложь|خطأ|خاطئة?|गलत|ผิด|間違い|間違っています|誤り|틀렸(?:습니다|어요|다)|틀립니다|错误|錯誤"
    r"|不正[确確]"
)
_LEADS = (
    r"(?:\W|\b(?:so|thus|hence|therefore|well|ah|oh|hmm+|ok|okay|sure|i['’]d say|i would say"
    r"|i think(?: so)?|i believe|most likely|indeed|in (?:short|summary|most cases|a word)"
    r"|tl;dr|[a-z]{3,12}ly(?: (?:speaking|put))?|for the most part|of course"
    r"|conclusion|verdict|result|response|decision|prediction|wait|now|final|it['’]s|that['’]s"
    r"|is|a|hell"
    r"|heck"
    r"|claro|por supuesto|desde luego|bien sûr|natürlich|ovviamente|certo|com certeza|oczywiście"
    r"|tabii ki|конечно|que|che|że|\d{1,2}[.)])(?!\w))*+"
)
_OPENS = re.compile(_LEADS + _ONE, re.IGNORECASE)
_LABEL = (
    r"(?:\b(?:answer|respuesta|réponse|antwort|resposta|risposta|odpowiedź|cevap|yanıt|ответ)\b"
    r"|câu trả lời|đáp án|الإجابة|الجواب|उत्तर|जवाब|คำตอบ|答え|回答|정답|답|答案)"
)
_LABELS = re.compile(_LABEL, re.IGNORECASE)
_MOST_LABELS = 300
_NAMED = re.compile(
    rf"{_LABEL}['\"]?(?P<between>"
    r"(?:[^.\n?]{0,40}?)(?:\bis\b|\b(?:must|should|would|will|has to|seems to) be\b|[:：=—]"
    r"|\b[èé]\b|\bes\b|\best\b"
    r"|\bist\b|\blautet\b|\bto\b|\bbrzmi\b|\blà\b|هي|هو|คือ|は|은|는|是|(?<=cevap)|(?<=yanıt)"
    r"|(?<=उत्तर)|(?<=जवाब))"
    r"[^\w\n]*+(?:(?:a|an|probably|clearly|definitely|simply|therefore|thus|clear|resounding"
    rf"|most likely)\W++){{0,3}})(?:(?:(?P<yes>{_YES}|true|{_TRUE})|(?P<no>{_NO}|否|ไม่|false"
    rf"|{_FALSE}))"
    rf"{_COPULA}(?!\w){_ANSWERS})",
    re.IGNORECASE,
)
_MARKED = re.compile(
    r"(?:\\boxed\s?\{(?:\\text(?:bf)?\s?\{)?|<(?:final_)?answer>)\W*+"
    rf"(?:(?P<yes>{_YES}|true|{_TRUE})|(?P<no>{_NO}|false|{_FALSE}))(?!\w)",
    re.IGNORECASE,
)
_JSON = re.compile(
    r"\"(?:(?:final_)?answer|result|verdict|response|output|prediction|decision)\"\s*:\s*\"?"
    r"(?:(?P<yes>true|yes)|(?P<no>false|no))\b(?=[\s\",}.]|$)",
    re.IGNORECASE,
)
_DENIED = re.compile(r"n['’]t\b|\b(?:not|never|cannot|neither|if|whether)\b", re.IGNORECASE)
_EITHER = re.compile(
    r"\b(?:(?:possibly|maybe|perhaps)\s)?yes\b\W{0,3}(?:or|and|/|possibly|maybe|perhaps)?\W{0,3}"
    r"(?:possibly\s|maybe\s|perhaps\s)?\bno\b",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"(?:wait|hold on|scratch that|correction|on (?:second thoughts?|reflection)|i was wrong"
    r"|that(?:['’]s| is) wrong|(?:sorry|actually|no)(?=,\s+(?:yes|no)))\b",
    re.IGNORECASE,
)
_CLAIM = (
    r"(?:(?:the|this|that|your)(?: (?:given|above))? (?:statement|claim|sentence|assertion"
    r"|proposition|conclusion|hypothesis)|this|that|it)"
)
_DOES = r"(?:is|are|was|were|do|does|did|can|could|will|would|should|has|have|had)"
_WHO = r"(?:it|this|that|they|he|she|we|you|there|i)"
_THIS = (
    r"(?:(?:es|c['’]est|das (?:ist|stimmt)|é|è|to|bu|điều (?:đó|này)(?: là)?|это|هذا|यह|それは"
    r"|그것은"
    r"|[这這](?:[个個])?(?:是|[说說]法(?:是)?)?|[说說]法)\s*)?"
)
_NOT_TRUE = (
    rf"(?:{_WHO} (?:is|was)(?: not|n['’]t) |not )(?:true|correct|right)"
    r"|(?:(?:eso|esto) )?no es (?:cierto|verdad|correcto|verdadero)"
    r"|(?:(?:isso|isto) )?não é (?:verdade|corret[oa]|cert[oa]|verdadeir[oa])"
    r"|(?:(?:ce|cela|ça) )?n['’]est pas (?:vrai|exact|correct|juste)"
    r"|(?:das|es) ist nicht (?:wahr|richtig|korrekt)|non è (?:vero|corretto|esatto|giusto)"
    r"|(?:to )?nie(?: jest)? (?:prawd[aą]|prawdziwe)|(?:это )?не (?:правда|верно|так)"
    r"|(?:det är|dat is|det er) (?:inte|niet|ikke) (?:sant|waar|sandt|rätt|juist)"
    r"|(?:bu )?doğru değil(?:dir)?|(?:điều (?:đó|này) )?không (?:đúng|chính xác)"
    r"|(?:هذا )?(?:غير|ليس) صحيح(?:ا|ً|اً|ة)?|(?:यह )?(?:सही|सच) नहीं(?: है)?|ไม่(?:ถูกต้อง|จริง)"
    r"|[这這]?(?:不是真的|不是[对對]的|是不[对對]的|[并並]不正[确確])|正しく(?:ない|ありません)(?:です)?"
    r"|(?:맞|그렇)지 않(?:습니다|아요|다)"
)
_WHOLE = re.compile(
    r"\W*(?:(?:so|thus|hence|therefore|well|yes|indeed|in conclusion),?\s|no,\s){0,2}"
    r"(?:(?:result|output|verdict|conclusion|response|judge?ment|decision)\W{1,4})?"
    r"(?:(?P<yes>true|correct|right|y|absolutely|always|affirmative"
    r"|certainly|definitely|of course|sure|indeed|i agree|das stimmt"
    rf"|{_CLAIM}(?: is|['’]s) (?:indeed )?(?:true|correct|right)|{_CLAIM} holds(?: true)?"
    rf"|{_WHO} {_DOES}|(?:correct|right|true|of course|certainly|indeed),? {_WHO} {_DOES}"
    rf"|i(?:['’]d| would) say so|i (?:think|believe|guess"
    rf"|suppose) so|{_THIS}(?:{_TRUE}){_COPULA})"
    r"|(?P<no>false|incorrect|wrong|n|not (?:at all|really|quite|exactly)"
    r"|i (?:think|believe|suppose|guess) not|no way|never"
    r"|negative|by no means|i disagree|i['’]m afraid not|i (?:don['’]t|do not|would not"
    r"|wouldn['’]t) (?:think|believe|say) so"
    r"|(?:[a-z]{3,12}ly|of course) not"
    rf"|{_CLAIM}(?: is|['’]s) (?:false|incorrect|wrong|untrue|not (?:true|correct|right))"
    rf"|{_CLAIM} (?:does not|doesn['’]t) hold|{_WHO} (?:{_DOES}(?: not|n['’]t)|can(?:not|['’]t)"
    rf"|won['’]t)|(?:wrong|false|incorrect), {_WHO} {_DOES}(?: not|n['’]t)|(?:natürlich"
    rf"|selbstverständlich|überhaupt|das stimmt) nicht|pas du tout"
    rf"|en absoluto|{_NOT_TRUE}|{_THIS}(?:{_FALSE}){_COPULA}))\W*",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")


def read_yes_no(reply: str) -> str | None:
    """``Yes`` or ``No``: the last one marked or named as the answer, else the first or last word.

    A reply that takes its answer back is read from there on. None if it gives both, only repeats
    "yes or no", or denies what it names ("the answer is not yes"). "No" before a noun ("no doubt")
    is not an answer. Understood in the languages of :mod:`letters_lenient`.
    """
    text, _ = before_next_question(ends(spoken(reply), _LONGEST_YES_NO).strip())
    text = text.translate(FULL_WIDTH)
    if marked := list(_JSON.finditer(text)) or list(_MARKED.finditer(text)):
        return _said(marked[-1])
    text = _EITHER.sub(" ", without_markup(text))
    found: str | None = None
    end = 0
    labels = deque((label.start() for label in _LABELS.finditer(text)), maxlen=_MOST_LABELS)
    for named in _NAMED.finditer(text, labels[0]) if labels else ():
        if _DENIED.search(named["between"]):
            return None
        found, end = _said(named), named.end()
    if found is None:
        sentences = [one for one in _SENTENCE_END.split(text) if one.strip()]
        if not sentences:
            return None
        found, end = _of_sentence(sentences[0]), text.find(sentences[0]) + 1
        last = _of_sentence(sentences[-1])
        if last is None and (tail := _ENDS_WITH.match(_without_long_end(sentences[-1]))):
            last = (
                None
                if _DENIED.search(re.split(r"[,;:.]", tail["before"].rstrip(" ,;:–—-"))[-1])
                else _said(tail)
            )
        found = found or last
    if back := _TAKEN_BACK.search(text, end):
        rest = [one for one in _SENTENCE_END.split(text[back.start() :]) if one.strip()]
        later = [said for one in rest if (said := _of_sentence(_TAKEN_BACK.sub("", one)))]
        return later[-1] if later else found
    return found


_LONGEST_YES_NO = 10_000
_ENDS_WITH = re.compile(
    rf"(?P<before>.{{0,2000}}(?:[,:;–—-]|\bso\b|\bbut\b|\bnot yes\b|\bis\b|\bin fact\b|\bsay\b"
    rf"|\btowards?\b"
    rf"|\banswer\b)\W{{0,20}})(?:"
    rf"(?P<yes>{_YES})|(?P<no>{_NO}))\W{{0,20}}$",
    re.IGNORECASE | re.DOTALL,
)


def _without_long_end(sentence: str) -> str:
    """All but most of what follows the last letter: a pattern would try each part of that anew."""
    end = len(sentence)
    while end and not sentence[end - 1].isalnum():
        end -= 1
    return sentence[: end + 20]


def _of_sentence(sentence: str) -> str | None:
    """The answer that a sentence opens with, or is as a whole."""
    found = _WHOLE.fullmatch(sentence) or _OPENS.match(sentence)
    return _said(found) if found else None


def _said(found: re.Match[str]) -> str:
    return "Yes" if found["yes"] else "No"


_LEAD_IN = re.compile(
    r"(?:(?:sure|certainly|of course)[!,.:]\s*)?"
    r"(?:(?:the|this)\s+)?(?:(?:python|correct|right|final|printed|following)\s+)*"
    r"(?:answer|output|result|program|code|it)"
    r"(?:\s+of\s+th(?:e|is)\s+(?:program|code))?"
    r"(?:\s*:|\s+(?:is(?!n['’]?t)|will\s+be|would\s+be|(?:will\s+|would\s+)?(?:prints?|outputs?))\s*:?)\s*"
    r"(?:the\s+following\s*:\s*)?",
    re.IGNORECASE,
)
_REASON = re.compile(r"(?<!\s)\s++(?:because|since|as)\b.*", re.IGNORECASE)
_QUOTES = "\"'“”‘’«»"


def read_phrase(reply: str) -> str | None:
    """The first line with content, without a lead-in such as "The answer is"."""
    line = _first_line(_plain(reply))
    return line.strip(" \t.!" + _QUOTES) or None if line else None


def says(phrase: str, accepted: Iterable[str]) -> bool:
    """Whether a phrase gives one of the accepted answers.

    Case, punctuation, articles and accents do not count. A sentence of at most twelve words may
    contain the answer among others, unless it hedges or denies ("not", "or"). One far longer
    than the answers gives none of them.
    """
    answers = list(accepted)
    if len(phrase) > _FAR_LONGER + 4 * max(map(len, answers), default=0):
        return False
    given = _words(phrase)
    hedged = _HEDGES.intersection(given) or _CONTRACTED.search(phrase)
    for answer in map(_words, answers):
        if given == answer:
            return True
        starts = range(len(given) - len(answer) + 1)
        if (
            len(given) <= 12
            and not hedged
            and any(given[at : at + len(answer)] == answer for at in starts)
        ):
            return True
    return False


_FAR_LONGER = 2000
_HEDGES = frozenset(("not", "no", "never", "nor", "or", "neither", "either", "isnt", "cannot"))
_CONTRACTED = re.compile(r"n['’]t\b", re.IGNORECASE)
_ARTICLES = frozenset(("a", "an", "the"))
_NAMED_OUTPUT = re.compile(r".*\b(?:output|result|which|value)\s+(?:is|will be):?\s+(.+)$")
_QUOTED = re.compile(r"(?<!\w)([\"'`])(\S|\S.*?\S)\1(?!\w)")
_LONGEST_SENTENCE = 1000
_FENCE = re.compile(r"```[\w+-]*[ \t]*\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL)


def read_output(reply: str) -> str | None:
    """The printed text that a reply gives.

    In this order: a fenced block; the end of a sentence after "the output is" or "which is"; the
    one thing quoted in a sentence; the first line without lead-in and quotes. Whitespace is
    collapsed, and dropped after commas, so ``[1,2]`` equals ``[1, 2]``; case counts, as it does in
    print.
    """
    text = spoken(reply)
    if fenced := _FENCE.search(text):
        return same_output(fenced[1]) or None
    line = _REASON.sub("", _first_line(text.strip()) or "").strip().removesuffix(".")
    quoted = {found[2] for found in _QUOTED.finditer(line[:_LONGEST_SENTENCE])}
    if named := _NAMED_OUTPUT.match(line):  # searching would take quadratic time
        line = named[1]
    elif len(quoted) == 1 and not line.startswith(("[", "(", "{")):
        line = quoted.pop()
    plain = _first_line(without_markup(line)) or ""
    return same_output(plain.strip(_QUOTES + " ")) or None


def same_output(text: str) -> str:
    """The normal form in which two printed texts are compared."""
    return re.sub(r",\s+", ",", " ".join(text.split())).replace('"', "'")


def occurs(text: str, answer: str) -> bool:
    """Whether an answer occurs in a text, ignoring case and whitespace within it."""
    words = [re.escape(word) for word in answer.casefold().split()]
    return re.search(r"\s++".join(words), text.casefold()) is not None


def _first_line(text: str) -> str | None:
    rest = _LEAD_IN.sub("", text, count=1) if _LEAD_IN.match(text) else text
    return next((line.strip() for line in rest.splitlines() if line.strip()), None)


def _plain(reply: str) -> str:
    return without_markup(spoken(reply)).strip()


def without_accents(text: str) -> str:
    """The text with plain letters instead of accented ones."""
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def is_same(phrase: str, answer: str) -> bool:
    """Whether a phrase is an answer, apart from case, punctuation, articles and accents."""
    return len(phrase) <= _FAR_LONGER + 4 * len(answer) and _words(phrase) == _words(answer)


def _words(text: str) -> list[str]:
    flat = without_accents(text.casefold()).replace("'", "").replace("’", "")
    return [word for word in re.findall(r"\w+", flat) if word not in _ARTICLES]
