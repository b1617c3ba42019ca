"""Parses the letter of a multiple-choice answer as a person would.

The rules, in order; the first that finds something decides:

1. The whole reply is one letter, whatever brackets, quotes or marks surround it. A reply that
   takes its answer back ("B. Wait, …") is read from there on, if it comes to a letter again.
2. A labelled answer: ``Answer: C``, ``the correct answer is (c)``, ``\\boxed{C}``.
   Of several the last counts, so a correction beats what it corrects ("Actually, C").
3. The last line is one letter.
4. The one option called right where each line says of one option whether it is.
5. The reply opens with a letter set off from what follows: ``B) Paris``, ``C. because``.
   Letters that run on in order (``A) … B) …``) repeat the question and answer nothing.
6. The option whose text the last sentence repeats, if the reply lists the options.
7. The option that the reply speaks for (:mod:`evalbench.engine.scoring.letter_evidence`): ``I
   think it's C``, ``B remains``, ``not A, not B, not C``.

What other languages than English name as the answer belongs to rule 2
(:mod:`evalbench.engine.scoring.letters_abroad`). An option named by its place (``the fourth
option``) counts as its letter.

Two letters joined (``A and B``, ``B or C``) are no answer. ``A`` or ``a`` before a word is the
article. A letter past the last option is no answer. Reasoning tags, control tokens, Markdown and
LaTeX wrapping are removed first. Full-width, circled, squared and mathematical letters count as
the ASCII ones, and so do the first letters of other alphabets where they cannot be words or typing
errors. Zero-width marks and emoji are ignored.

Text that begins a new question ends the reply. A reply that only weighs options one by
one, or was cut while it did or before the letter, chooses none; nor does one that says it
depends, cannot decide, or only asks. A letter that was only thought of ("I was going to say A"),
that holds under a condition, or is taken back without another is none.

Of a reply of more than 10,000 characters the first and the last 5,000 are read. Of more than
300 words for an answer (``answer``, ``option``) the last 300 can be labels, and of more than
2,000 letters the last 2,000 are looked at.
"""

from __future__ import annotations

import re
from collections import deque
from itertools import islice

from evalbench.engine.scoring.letter_cues import LEADS_ON
from evalbench.engine.scoring.letter_evidence import settled
from evalbench.engine.scoring.letter_text import ASKS_LATER, CAPITAL, clean
from evalbench.engine.scoring.letters import LETTERS
from evalbench.engine.scoring.letters_abroad import (
    claims,
    denies,
    is_abroad,
)

# What a rule returns besides a letter or None (found nothing, try the next rule).
_NO_CHOICE = ""


def read_lenient(reply: str, options: int = 4) -> int | None:
    """Index of the option a person would read, or None. See the module docstring for the rules.

    Args:
        reply: the model's answer.
        options: the number of options, at most 7.
    """
    text = clean(reply)
    if (anew := ASKS_LATER.search(text)) and text[: anew.start()].strip():
        before = read_lenient(text[: anew.start()], options)
        if before is not None:
            return before
    for rule in _RULES:
        found = rule(text)
        if found is not None:
            at = LETTERS.find(found) if found else -1
            return at if 0 <= at < options else None
    return LETTERS.find(letter) if (letter := settled(text, options)) else None


_OPEN = r"[(\[<«“‘\"']*[ \t]*"
# A letter on its own: not part of a word or term (B12, C++, A-frame, D.C., A's).
_ENDS_THERE = (
    r"(?![A-Za-z\u00c0-\u024f\u0300-\u036f\u1e00-\u1eff0-9+#&_/]|['’][A-Za-z]|-\w"
    r"|\.[A-Za-z](?![A-Za-z]))"
)
_LETTER = _OPEN + r"(?<![A-Za-z0-9])(?P<letter>[A-Ga-g])" + _ENDS_THERE
_CLOSE = r"[)\]>.:,;!?\"'”’»]"

_LINK = (
    r"(?:(?:more|better)[ ]than|because|since|as|for|due|and|but|which|is|are|was|so|while|if"
    r"|given|based|it|this|that|comes[ ]closest|stands[ ]out|remains"
    r"|over|or|would|must|should|by|in|from|seems|appears|looks|fits|rather|not|though|although|then"
    r"|here|on[ ](?:the|my)|to[ ]me|exactly|perfectly|precisely|the[ ](?:correct|right|best"
    r"|only))\b"
    r"|(?:porque|pues|ya[ ]que|parce|puisque|weil|denn|da|pois|perché|poiché|ponieważ|bo|çünkü|vì"
    r"|потому|так[ ]как)\b|لأن|क्योंकि|है|เพราะ|です|だ|で|が|입니다|이다|번|이|가|是|为|因|，"
    r"|、|项|項|seçene\w*|şıkkı\w*|svarer|vaihtoehto"
)
_SET_OFF = re.compile(rf"\s*(?:$|{_CLOSE}|(?<=[ ])\(|[–—|→]|-\s|-+>|\n|{_LINK})")
_WORD_FOLLOWS = re.compile(rf"[ \t]+(?!{_LINK})[a-z]")
_WRONG_ABROAD = (
    r"नहीं|(?:では|じゃ)(?:あり|な)|(?:是|是[ ])?(?:错|錯|不对|不對|不正确|不正確|不是)|(?:は"
    r"|が)(?:間違|誤|不正解|違)|(?:은|는|이"
    r"|가)[ ]?(?:틀|오답|아)"
    r"|(?:es|est|ist|é|è|jest|là)[ ]+(?:la[ ]+)?(?:incorrect|falsch|fals|nicht|pas|errad"
    r"|sbagliat|błędn|nieprawid|sai)"
    r"|(?:no|non|não|nie|ne|не)[ ](?:es|è|é|est|jest|это)|n['’]est|yanlış|değil|sai\b|không"
    r"|неверн|неправ|—[ ]невер|خاط|خطأ|गलत|ผิด|ไม่"
)
_DENIED = re.compile(
    rf"{_CLOSE}*[ \t]*(?:[选選项項][项項]?|şıkkı|seçeneği|선택지)?[ \t]*(?:{_WRONG_ABROAD}|"
    rf"(?:is|was|are"
    rf"|would[ ]be|seems)[ ](?:not|wrong|incorrect|false|out|off|eliminated|excluded|impossible"
    r"|invalid|inaccurate|unlikely)\b|(?:fails|contradicts)\b"
    r"|(?:is|was|does|can|would)n['’]t\b|cannot\b"
    r"|,?[ ](?:but|and)[ ](?:that|this|it)(?:['’]s|[ ]is)[ ]"
    r"(?:wrong|incorrect|not|false|a[ ]mistake)\b"
    r"|can[ ]be[ ](?:ruled|eliminated)\b)"
)
_AND_ABROAD = (
    r"(?:(?<=[ ])(?:y|o|e|et|ou|und|oder|i|lub|oraz|ve|veya|ya[ ]da|và|hoặc|и|или|أو|और"
    r"|या)(?=[ ])|(?<=[ ])و(?=[ A-G])"
    r"|และ|หรือ|と|か|や|または|와|과|및|또는|和|或|与|與|及)"
)
_JOINED = re.compile(
    rf"{_CLOSE}?[ \t]*(?:[,/&+;|、]|\b(?:and|or|and/or|as[ ]well[ ]as)\b|{_AND_ABROAD}"
    rf"|(?<=\))(?=\())[ \t]*(?:and|or|as[ ]well[ ]as)?[ \t]*(?:(?:possibly|maybe|perhaps|even)[ ])?"
    r"(?:option|choice|letter|answer|la|el|l['’])?[ \t]*[(\[\"'“]?"
    r"(?<![A-Za-z])(?:([A-G])(?![A-Za-z0-9'’])|([a-g])(?=[\s).]*$))"
    rf"(?!{_CLOSE}?[ ](?:is|was|isn|does|has|can|would)\b)"
)
_JOINED_BEFORE = re.compile(
    r"(?<![A-Za-z])([A-G])[)\]]?,?[ ](?:and|or)[ ]"
    r"(?:(?:possibly|maybe|perhaps|even)[ ])?(?:option[ ])?[(\[]?$"
)


def _chosen(found: re.Match[str], *, set_off: bool = False) -> str | None:
    """The letter of a match in upper case, ``_NO_CHOICE``, or None if no option has it.

    ``set_off`` requires a mark, a line end or a linking word after it.
    """
    text, start, end = found.string, found.start("letter"), found.end("letter")
    letter = text[start:end]
    if _NEITHER.search(text, max(0, start - 9), start):
        return None
    followed = _SET_OFF.match(text, end)
    if _DENIED.match(text, end) or (set_off and not followed):
        return None
    if letter.islower() and not (followed or text[start - 1 : start] in "(["):
        return None
    if letter == "A":
        before = _sign_before(text, start)
        if before in ("", ":", "\n") and _WORD_FOLLOWS.match(text, end):
            return None
        if before == "\n" and _lists_options(letter, text[end:]):
            return None
    joined = _JOINED.match(text, end) or _JOINED_BEFORE.search(text, max(0, start - 20), start)
    if joined and joined[joined.lastindex or 1].upper() != letter.upper():
        return _NO_CHOICE
    return letter.upper()


# "weder A noch B"
_NEITHER = re.compile(r"\b(?:weder|noch|ni|né|nem|ani|ни|neither|nor)[ ]$", re.IGNORECASE)
_MOST_LETTERS = 2000


_SUPPOSES = re.compile(
    r"[)\].]*[ ](?:if|unless|were|had|would[ ]be[ ](?:\w+[ ]){1,3}(?:if|unless|had|were))\b"
)


_OTHERS_SAY = re.compile(
    r"\b(?:people|students|others|many|some|you|one)\b[ ](?:might|may|could|often|commonly"
    r"|would)?[ ]?"
    r"(?:think|choose|say|pick|believe|answer|assume|guess|select)\b[^.,;\n]{0,20}$",
    re.IGNORECASE,
)
# "I was going to say A", "at first I thought it was A"
_ONCE_THOUGHT = re.compile(
    r"\b(?:was[ ](?:going|about|tempted|inclined)[ ]to|(?:would|could|might)[ ]have"
    r"|(?:first|initially|originally|almost|nearly)[ ](?:I[ ])?)[ ]?"
    r"(?:thought|think|said|say|chose|chosen|choose|picked?|gone|go|went|guess(?:ed)?|believed?"
    r"|answer(?:ed)?|select(?:ed)?)\b[^.,;\n]{0,20}$",
    re.IGNORECASE,
)
# "The option that can be eliminated first is A"
_SET_ASIDE = re.compile(
    r"\b(?:eliminated?|excluded?|discard(?:ed)?|dismiss(?:ed)?|reject(?:ed)?|rule[ds]?[ ]out)\b"
    r"[^.,;:\n]{0,20}[ ]is[ ][(]?$",
    re.IGNORECASE,
)
# "If the gas were ideal, the answer would be C"
_UNDER_CONDITION = re.compile(
    r"(?:^|[.!?;\n][ ]*)(?:but[ ]|however,?[ ])?(?:if|were|had)\b[^.;\n]{3,160}"
    r"\b(?:would|could|might)(?:[ ]have)?[ ](?:be|been)\b[^.,;\n]{0,30}$",
    re.IGNORECASE,
)
_BUT_IS_NOT = re.compile(
    r"[^.\n]{0,40},?[ ]but[ ](?:it|that|this)(?:[ ]is[ ]not|['’]s[ ]not|[ ]isn['’]t)\b"
)


def _is_supposed(found: re.Match[str]) -> bool:
    """Whether a letter is right only under a condition, or for others: "would be A if …"."""
    text, end = found.string, found.end("letter")
    start = found.start("letter")
    before = text[max(0, start - 40) : start]
    if _SUPPOSES.match(text, end):
        return "would" in text[max(0, end - 40) : end + 10]
    if _UNDER_CONDITION.search(text, max(0, start - 240), start):
        return True
    if any(said.search(before) for said in (_OTHERS_SAY, _ONCE_THOUGHT, _SET_ASIDE)):
        return True
    return _BUT_IS_NOT.match(text, end) is not None


def _sign_before(text: str, start: int) -> str:
    """What precedes a letter, apart from spaces and opening brackets; may be empty."""
    while start and text[start - 1] in " \t(":
        start -= 1
    return text[start - 1] if start else ""


def _newest(
    text: str, *patterns: re.Pattern[str], set_off: bool = False, start: int = 0
) -> tuple[str, int] | None:
    """The last of all matches from ``start`` on that is an option's letter, and where it is."""
    found = (match for pattern in patterns for match in pattern.finditer(text, start))
    newest = sorted(found, key=lambda match: match.start("letter"), reverse=True)
    asked: tuple[str, int] | None = None
    for match in newest[:_MOST_LETTERS]:
        letter = None if _is_supposed(match) else _chosen(match, set_off=set_off)
        if letter is None:
            continue
        start, end = match.span("letter")
        if not _ASKS.match(text, end):
            return letter, start
        if not _ASKS_WHETHER.search(text, max(0, start - 120), start):
            asked = asked or (letter, start)
    return asked


_ASKS = re.compile(r"[)\]*]*[ ]?[?？]")
_ASKS_WHETHER = re.compile(
    r"(?:^|[.!?\n])\s{0,3}(?:(?:so|but|or|and),?[ ])?(?:could|might|is|would|can|should)\b"
    r"[^.!?\n]*$",
    re.IGNORECASE,
)


_TRIM = r"[\s.,;:!?()\[\]<>\"'“”‘’«»*_|=…–—∴⇒→➜▶-]*"
_BARE = re.compile(
    rf"{_TRIM}(?:(?:option|choice|letter|answer|letra|lettera|lettre|odpowiedź|respuesta"
    rf"|resposta|risposta"
    rf"|réponse|antwort|cevap|opción|opção|opzione)\b{_TRIM})?(?P<letter>[A-Ga-g]){_TRIM}",
    re.IGNORECASE,
)


def _bare(text: str) -> str | None:
    if found := _BARE.fullmatch(text):
        return found["letter"].upper()
    words = set(re.split(r"[\s.,;:()\[\]]+", text)) - {""}
    return words.pop() if len(words) == 1 and words <= set(LETTERS) else None


# Here and below: checking the first letter spares most words a try of each alternative.
_NOUN = (
    r"(?=[acolsrbvg答])(?:answer|ans|option|choice|letter|solution|selection|response|verdict|guess"
    r"|答案|(?:correct|right|best)[ ]one)"
)
# Words between the noun and its verb, as in "answer to this question is"; a negation ends them.
_GAP = (
    r"(?:[ \t]+(?!(?:not|cannot|options?|choices?|eliminated|excluded|discarded|dismissed|rejected"
    r"|ruled)\b)[^\s.:;!?,()=]+(?<!n['’]t)){0,10}?"
)
_FILL = (
    r"(?:(?:the|option|choice|letter|answer|number|likely|most|probably|clearly|definitely|indeed"
    r"|therefore|thus|simply|actually|still|hence|correct|right|best|statement|conclusion|response"
    r"|that|description|last|first|second|third|fourth|one|of[ ]course|certainly|undoubtedly"
    r"|surely|exactly|precisely)"
    r"(?:[ \t,#]+|:\s+)|\#){0,4}"
)
_IS = r"\b(?:is|was|(?:would|should|must|will|has[ ]to|seems[ ]to|appears[ ]to)[ ]be)\b"
_LABEL = re.compile(
    rf"(?<![A-Za-z])(?<!each[ ])(?<!every[ ])(?<!jede[ ])(?<!jeder[ ])(?<!chaque[ ])(?<!elke[ ])"
    rf"(?<!first[ ])(?<!this[ ])"
    rf"(?<!with[ ]){_NOUN}{_GAP}[\"'”]?\s*"
    rf"(?::|=|[-–—]+>?|→|/|(?<=ns)\.|(?:{_IS}|['’]s\b|是|为)\s*[:–—-]?)\s*{_FILL}{_LETTER}",
    re.IGNORECASE,
)
_NOUNS = re.compile(rf"(?<![A-Za-z]){_NOUN}", re.IGNORECASE)
_MOST_LABELS = 300
_HEADING = re.compile(
    r"^[ \t]*(?:(?:(?:final|correct|my)[ ])*(?:answer|ans\.?)"
    r"|(?:correct|final|tl;?dr|verdict|pick|selection|decision|result)(?::|[ ]=))"
    r"(?:\s+|\s*(?=[#(]))"
    rf"(?:(?:option|choice)[ ]|\#)?{_LETTER}",
    re.IGNORECASE | re.MULTILINE,
)
_CORRECTS = re.compile(
    r"(?<=[\s.,;:!?…—–(])(?=[acehimnorsw])(?:actually|no[ ]?wait|wait|sorry|oops|correction|hmm"
    r"|scratch[ ]that|on[ ](?:second[ ]thought|reflection)|edit|make[ ]that|i[ ](?:meant|mean)"
    r"|no(?=[,:])"
    r"|it[ ]should[ ](?:have[ ]been|be)|rather)[\s,:.…!—–-]{1,5}"
    r"(?:(?=[amnihwost])(?:actually|no|wait|sorry|hmm|on[ ]second[ ]thought|i[ ]meant?|it[ ]is"
    r"|it['’]?s"
    r"|should[ ]be"
    rf"|make[ ]that|to|not[ ][A-G][ ]but)[\s,:.…!—–-]{{1,5}}){{0,2}}{_FILL}{_LETTER}"
    r"(?=[)\]\"'”*]{0,3}(?:[.!,;]|\s*$|\n|[ ](?:because|since|as|instead|not)\b))",
    re.IGNORECASE,
)
_ABBREVIATED = re.compile(rf"A[ \t]*:[ \t]*{_LETTER}{_CLOSE}*\s*")


def _labelled(text: str) -> str | None:
    # "A: B", as in question and answer
    last = text[text.rfind("\n") + 1 :] if text.startswith("Q:") else text
    if found := _ABBREVIATED.fullmatch(last):
        return found["letter"].upper()
    start = _last_labels(_NOUNS, text)
    english = _newest(text, _LABEL, _HEADING, _CORRECTS, start=start)
    named = claims(text) if is_abroad(text) else ()
    if named and (english is None or named[-1].at > english[1]):
        return named[-1].letter
    return english[0] if english else None


def _last_labels(nouns: re.Pattern[str], text: str) -> int:
    """Where the words for an answer that can be labels start; 0 if there are not too many."""
    starts = deque((found.start() for found in nouns.finditer(text)), maxlen=_MOST_LABELS)
    return starts[0] if len(starts) == _MOST_LABELS else 0


_DEPENDS = re.compile(
    r"\bif\b[^.\n]{1,160}\b(?:otherwise|else)\b[^.\n]{0,60}?(?<![A-Za-z])[A-G](?![A-Za-z])",
    re.IGNORECASE,
)


def _conditional(text: str) -> str | None:
    """No choice where the last sentence names one letter for each of two cases."""
    start = max(text.rfind("\n"), text.rfind(". ", 0, -1), len(text) - 400) + 1
    sentence = text[start:]
    letters = set(CAPITAL.findall(sentence))
    return _NO_CHOICE if len(letters) > 1 and _DEPENDS.search(sentence) else None


_TAKES_BACK = re.compile(
    r"(?:^|[.!?…,)\n])\s{0,3}(?=[bchilmostw])(?:but[ ])?(?:hmm{0,3},?[ .…]{0,3})?"
    r"(?:wait|hold[ ]on|oops|scratch[ ]that|correction|my[ ]mistake|on[ ]second[ ]thought|sorry"
    r"|let[ ]me[ ](?:re|double|try[ ]again|correct|fix)|i[ ]made[ ]an?[ ](?:mistake|error)"
    r"|that(?:['’]s|[ ]is|[ ]was)[ ](?:wrong|incorrect|not[ ]right|a[ ]mistake))\b",
    re.IGNORECASE,
)
_MOST_TAKEN_BACK = 20
# "Hmm, that can't be right either." at the end, with no other letter
_WITHDRAWN = re.compile(
    r"(?:^|[.!?…\n])\s{0,3}(?=[hwnao])(?:hmm+|wait|no|actually|oops|hold[ ]on)\b[^.!?\n]{0,30}\b"
    r"(?:that|this|it)(?:['’]s|[ ](?:is|was|cannot[ ]be|can['’]t[ ]be))[ ]"
    r"(?:not[ ](?:right|correct)|wrong|incorrect|right(?<=be[ ]right)|correct(?<=be[ ]correct))"
    r"(?:[ ]either)?[.!]*\s*$",
    re.IGNORECASE,
)


def _taken_back(text: str) -> str | None:
    """What a reply comes to after it took back what it had said, as in "B. Wait, … So A"."""
    if (back := _WITHDRAWN.search(text)) and CAPITAL.search(text, 0, back.start()):
        return _NO_CHOICE
    backs = deque((found.end() for found in _TAKES_BACK.finditer(text)), maxlen=_MOST_TAKEN_BACK)
    if not backs or not CAPITAL.search(text, 0, backs[-1]):
        return None
    rest = text[backs[-1] :].strip()
    if not CAPITAL.search(rest):
        return None
    for rule in (_labelled, _last_line):
        if found := rule(rest):
            return found
    return settled(rest, len(LETTERS))


_CUT = re.compile(
    rf"(?:answer|choice|option)[\"'”]?[ ]?(?::|=|{_IS}:?)[\s*\"'“(\[]*$", re.IGNORECASE
)


def _cut(text: str) -> str | None:
    """No choice, where the reply breaks off before the letter that it is about to name."""
    return _NO_CHOICE if _CUT.search(text, max(0, len(text) - 40)) else None


_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+")


def _last_line(text: str) -> str | None:
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return None
    letters = [found["letter"].upper() for line in lines if (found := _BARE.fullmatch(line))]
    if _BARE.fullmatch(lines[-1]):
        # Two different ones are a correction; more repeat the options.
        if _goes_on_from(text.rstrip().splitlines()[-2:], letters[-1]):
            return _NO_CHOICE
        only = len(letters) == len(lines)
        return letters[-1] if len(set(letters)) <= (1 if only else 2) else _NO_CHOICE
    if again := _repeated(lines) or _cell(lines):
        return again
    if found := _ARROW.search(lines[-1], max(1, len(lines[-1]) - 12)):
        return found[1]
    sentences = [part for part in _SENTENCE_END.split(lines[-1]) if _BARE.fullmatch(part)]
    alone = len(sentences) == 1 and re.search(rf"{re.escape(sentences[0])}(?<![-–—:])$", lines[-1])
    return _bare(sentences[0]) if alone else None


def _repeated(lines: list[str]) -> str | None:
    """The letter of the last line, where it says again one of the options listed above it."""
    found = _LEADING.match(lines[-1])
    if found is None or len(lines) > _MOST_LETTERS:
        return None
    listed = [lead[1].upper() for line in lines[:-1] if (lead := _LEADING.match(line))]
    letter = found[1].upper()
    same = any(line.strip() == lines[-1].strip() for line in lines[:-1])
    return letter if same and listed.count(letter) == 1 and len(listed) > 2 else None


# "So it is dominant → D."
_ARROW = re.compile(r"(?<=[\w)] )[→⇒∴➜]\s?\(?([A-G])\)?[.!]?\s*$")
_ANSWERS = re.compile(
    r"\W*(?:(?:your|my|final|correct)[ ])?(?:answer|ans|choice)\W*", re.IGNORECASE
)


def _cell(lines: list[str]) -> str | None:
    """The letter below "Answer" in a table of one row."""
    if len(lines) < 3 or not re.fullmatch(r"[\s|:-]*-[\s|:-]*", lines[-2]):
        return None
    for head, cell in zip(lines[-3].split("|"), lines[-1].split("|"), strict=False):
        if _ANSWERS.fullmatch(head) and (found := _BARE.fullmatch(cell)):
            return found["letter"].upper()
    return None


_LEADING = re.compile(r"[ \t]*(?:option[ ])?[(\[]?([A-G])[)\].:]", re.IGNORECASE)


def _goes_on_from(lines: list[str], letter: str) -> bool:
    """Whether the last of two lines is only the next letter of a list that was cut off."""
    found = _LEADING.match(lines[0]) if len(lines) == 2 and not _BARE.fullmatch(lines[0]) else None
    return found is not None and ord(found[1].upper()) + 1 == ord(letter)


_STARTS = re.compile(
    r"(?:(?:sure|ok|okay|certainly|yes)[!,.:]?\s+(?:[–—-]\s+)?)?(?:(?:la|el|le|die)[ ])?"
    rf"(?P<named>(?:option|choice|letter|letra|lettre|lettera)[ ])?{_LETTER}",
    re.IGNORECASE,
)
_TEXT_FOLLOWS = re.compile(r"[ \t]+(?:[A-Z$€£\d\"“]|-?\d)")
_MARKED = re.compile(
    r"[)\]>.:,;!\"'”’»](?=\W|[A-Z\d]|$)|[ \t]*(?:[–—|→:]|-{1,2}\s|-+>|/\s)|[ \t]*(?:\n|$)"
    r"|[ \t]+(?:\(|(?:because|probably|definitely|likely|for[ ]sure|certainly|obviously"
    r"|clearly|rather[ ]than|instead[ ]of)\b"
    r"|over[ ][A-G]\b)"
)
_MARKER = re.compile(
    r"(?:(?<=\s)(?<!not[ ])|^)\(?(?<!not[ ]\()([A-G])(?:[).]|[ ]?:)(?=\s|$)"
    r"(?!\s+(?:is|was|are|isn|would|does|can)\b)"
)
_EXPLAINS = re.compile(
    r"explanation|explain|because|reason|incorrect|wrong|other options|not correct|whereas"
    r"|however",
    re.IGNORECASE,
)


_ITEM = re.compile(r"\d{1,2}[.)][ \t]+")


def _opening(text: str) -> str | None:
    if "\n" not in text and (item := _ITEM.match(text)):
        text = text[item.end() :]
    found = _STARTS.match(text)
    if not found:
        return None
    rest = text[found.end() :]
    letter = _chosen(found)
    if not letter or not (
        _MARKED.match(rest) or (found["letter"] in "BCDEFG" and _TEXT_FOLLOWS.match(rest))
    ):
        return None
    following = chr(ord(found["letter"]) + 1)
    small = following.islower() and re.search(rf"\n[ \t]*\(?{following}[).]", rest)
    if small or _lists_options(letter, rest):
        return None
    if _WEIGHED.match(rest) and (not found["named"] or _MENTION.search(rest)):
        return None
    if _SUPPOSES.match(rest) or _ASKS.match(rest):
        return None
    if (letter == "A" and _ANSWERS_ITSELF.match(rest)) or _RANKS.match(rest):
        return None
    return None if _is_denied_there(letter, rest) else letter


_RANKS = re.compile(r"[ \t]?[<>][ \t]?[A-G]\b")  # "A > B > C"
# "A: Because …", as in question and answer
_ANSWERS_ITSELF = re.compile(
    r":[ ](?:because|since|yes|no|it|they|he|she|we|you|i|there|this|that)\b", re.IGNORECASE
)


_WEIGHED = re.compile(
    r"[)\].:*\s–—-]*(?:(?:the|this)[ ](?:(?:first|second|third|fourth)[ ])?(?:option|choice"
    r"|statement|answer)"
    r"|it|)[ ]?(?:talks|says|said|is[ ]about|states|refers|describes|mentions|suggests|claims"
    r"|discusses|deals)\b",
    re.IGNORECASE,
)
_SAYS_WRONG = re.compile(
    r"\b(?:incorrect|wrong|false|untrue|not[ ](?:the[ ])?(?:correct|right|true|answer|best)"
    r"|can(?:not|['’]t)[ ]be[ ]right)\b",
    re.IGNORECASE,
)
_ABOUT_OTHERS = re.compile(
    r"(?<![A-Za-z'’])[A-G](?![A-Za-z'’])|\bother|\brest\b|\boptions\b|\bnot[ ]", re.IGNORECASE
)


_ONLY_WRONG = re.compile(r"\W*(?:false|incorrect|wrong|untrue|no)\W*", re.IGNORECASE)
_OTHER_HEAD = re.compile(r"^[ \t]*\(?[A-G][).:]?(?:[ \t]*[–—|:-]|[ \t]|$)", re.MULTILINE)


def _is_denied_there(letter: str, rest: str) -> bool:
    """Whether a letter heads a line that says why its option is wrong, with the next one below."""
    line, _, below = rest.partition("\n")
    if _ONLY_WRONG.fullmatch(line):  # may be the option's text: "A) True", "B) False"
        return _OTHER_HEAD.search(below) is not None
    if not _SAYS_WRONG.search(line) or _ABOUT_OTHERS.search(_SAYS_WRONG.sub("", line)):
        return False
    return not below.strip() or any(m[1] != letter for m in _MARKER.finditer(below))


def _lists_options(first: str, rest: str) -> bool:
    """Whether ``rest`` continues with the next option's letter, as a repeated question does."""
    for marker in _MARKER.finditer(rest):
        if rest[:1] == "." and marker[0].startswith("("):
            continue  # "A. Paris … Lyon (B) …"
        if marker[1] != first:
            in_order = ord(marker[1]) == ord(first) + 1
            return in_order and not _EXPLAINS.search(rest[: marker.start()])
    return False


_VERDICT = (
    r"(?:(?P<no>incorrect|not[ ](?:correct|right|true)|wrong|false|no|(?-i:F)|too[ ][a-z]{3,9}"
    r"|(?:doesn['’]t|does[ ]not)[ ](?:fit|match|work|hold)|fails)"
    r"|(?P<yes>correct|right|true|yes|(?-i:T)|matches|fits|works))"
)
_VERDICTS_INLINE = re.compile(
    r"(?:^|[.;,][ ]{1,2}|\n|(?<=[a-zTF])[ ](?=\())(?:(?:and|but)[ ])?"
    r"(?:(?:option|choice|statement)[ ])?"
    r"\(?(?P<letter>[A-G])\)?"
    rf"(?:(?:[ ]?:|[ ]is|[ ]?[–—→=-]|(?<=\)))[ ]|=)[\"']?{_VERDICT}"
    r"(?=[\"']?[.,;!]|[\"']\s*$|[ ]\(|[ ](?:because|as|since|and)\b|\s*$)",
    re.IGNORECASE,
)
_VERDICTS = re.compile(
    r"^[ \t]*(?:option[ ]|choice[ ])?\(?(?P<letter>[A-G])[).:]?[ \t]*(?:[^\n]{0,200}[ ])?"
    rf"(?:[–—:→(|-]|is|this[ ]is|that['’]s|(?<=[A-G][).:]))[ \t]*{_VERDICT}"
    r"(?=[ \t]*(?:$|[.,;:!)–—-]|[ ](?:because|as|since)\b))",
    re.IGNORECASE | re.MULTILINE,
)


# "B) Corporation: a legal entity. This is the correct answer."
_SAID_THERE = re.compile(
    r"^[ \t]*(?:[-*•][ \t]+)?(?:option[ ]|choice[ ])?\(?(?P<letter>[A-G])[).:][^\n]{0,300}?[ ]"
    r"(?:this|that|it|which)(?:['’]s|[ ]is)[ ]the[ ](?:correct|right|best)[ ]"
    r"(?:answer|option|choice|one)\b(?![^.\n]{0,20}\b(?:if|for|when)\b)",
    re.IGNORECASE | re.MULTILINE,
)


def _verdicts(text: str) -> str | None:
    """The one option called right where each line says of one whether it is."""
    if "answer" in text or "option" in text or "choice" in text:
        there = {found["letter"].upper() for found in _SAID_THERE.finditer(text)}
        if len(there) == 1:
            return there.pop()
    for pattern in (_VERDICTS, _VERDICTS_INLINE):
        verdicts = list(pattern.finditer(text))
        by_letter = {found["letter"].upper(): bool(found["yes"]) for found in verdicts}
        right = [letter for letter, yes in by_letter.items() if yes]
        if len(by_letter) > 2 and len(right) == 1:
            return right[0]
        if len(by_letter) > 2 and right and not text[verdicts[-1].end() :].strip(" ."):
            return _NO_CHOICE
    return None


_LISTED = re.compile(
    r"(?:^|(?<=[\s,;:：、]))[(]?([A-G])[).:]\s*([^\n]{1,120}?)(?=[\s,;、]+(?:and[ ])?[(]?[A-G][).:]"
    r"|[.。;,]?[ ]?\n|[.。][ ]|$|이|을|였)",
    re.MULTILINE,
)
_MOST_LISTED = 40
_DASH = re.compile(r"\s[–—-]\s")  # "C) Jupiter – a planet"


def _by_text(text: str) -> str | None:
    """The option whose text the last sentence repeats, where the reply lists the options."""
    found = list(islice(_LISTED.finditer(text), _MOST_LISTED))
    letters = [one[1] for one in found]
    first = letters.index("A") if "A" in letters else 0
    found, letters = found[first:], letters[first:]
    count = next((n for n, one in enumerate(letters) if one != LETTERS[n : n + 1]), len(letters))
    if count < 3 or LEADS_ON.search(text[-40:]):
        return None
    rest = _SENTENCE_END.split(text[found[count - 1].end() :].strip())[-1].rpartition("\n")[2]
    if CAPITAL.search(rest) or denies(rest) or _SAYS_NOT.search(rest):
        return None
    rest = rest.casefold()
    named = {one[1]: _DASH.split(one[2])[0].strip(" .,;:*\"'").casefold() for one in found[:count]}
    matching = [letter for letter, option in named.items() if option and _says(rest, option)]
    return matching[0] if len(matching) == 1 else None


def _says(text: str, option: str) -> bool:
    """Whether a text contains the text of an option, as words where these are set apart."""
    if _UNSPACED.match(option):
        return option in text
    return re.search(rf"(?<![\w,.]){re.escape(option)}(?![a-z0-9])", text) is not None


_UNSPACED = re.compile("[\u3040-\u9fff\uac00-\ud7af]")
_SAYS_NOT = re.compile(r"\b(?:not|never|neither|nor|wrong|incorrect|false|or|if)\b|n['’]t\b|[?？]")


_MENTION = re.compile(rf"\b(?=[oc])(?:option|choice)[ ]{_LETTER}", re.IGNORECASE)


_RULES = (
    _bare,
    _conditional,
    _taken_back,
    _labelled,
    _last_line,
    _verdicts,
    _opening,
    _cut,
    _by_text,
)
