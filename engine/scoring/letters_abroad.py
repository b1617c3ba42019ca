"""Which option's letter a reply in another language than English chooses.

A reply is read clause by clause, by the words that say which option is meant in some thirty
languages (:mod:`letter_words`). A letter is named as the answer where a word for the answer, for
right or a verb of choosing leads to it ("La correcta es la B"), where one follows that names it
("Bを選びます"), by "only B", and by "so B" if little else is said of it; not if the clause denies
it, asks or gives it as a reason. Two joined letters ("B oder C") are no choice. The last letter
that is named counts. Without one, :mod:`letter_evidence` weighs the letters, by the same words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from evalbench.engine.scoring import letter_words as table
from evalbench.engine.scoring.word_tables import UNSPACED, words


@dataclass(frozen=True, slots=True)
class Claim:
    """A letter that is named as the answer, and where; empty for two joined letters."""

    letter: str
    at: int


_FOREIGN_SCRIPT = re.compile("[\u0370-\u1dff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_ENGLISH = re.compile(
    r"\b(?:the|of|is|are|which|that|this|because|with|not|and|it|would|has|does|by|from|my|we|you|your|here|just|than)\b"
)
_FOREIGN = re.compile(
    r"\b(?:la|el|los|las|es|del|que|por|para|una|le|les|est|une|des|du|et|der|die|das|ist|und|nicht"
    r"|den|ein|eine|ich|zu|auf|os|um|uma|da|di|il|gli|che|lo|un|het|een|en|van|niet|dus|ik|ett|och"
    r"|att|det|som|og|ikke|til|jeg|jest|nie|na|je|se|este|nu|az|egy|nem|ei|ja|bu|ve|bir|yang"
    r"|adalah|dan|ini|tidak|jadi|saya|do|ganz|klar|aber|wir|sie|mit|von|im|wird)\b"
)
_UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u9fff\uac00-\ud7af]")
_BEYOND_ASCII = re.compile(r"[^\W\d_a-z¹²³⁰-₉]")
_ENOUGH = 3
_LOOKED_AT = 2000
_SPACED = [lang for lang in table.ANSWER if lang not in UNSPACED]


@lru_cache(maxsize=4)
def is_abroad(text: str) -> bool:
    """Whether a text may be in another language than English."""
    part = text[-_LOOKED_AT:].lower()
    if len(_FOREIGN_SCRIPT.findall(part)) >= _ENOUGH:
        return True
    foreign = len(_FOREIGN.findall(part)) + len(_BEYOND_ASCII.findall(part)) / 2
    foreign += 2 * len(_FOREIGN_CUE.findall(part))
    return foreign > len(_ENGLISH.findall(part))


# Entries that are English too, or too short to tell
_ALSO_ENGLISH = re.compile(
    r"(?:correct|exact|valid|preci|pertinent|vote|solution|fals|incorrect|best|irrelevant|bon|proposition"
    r"|option|alternativ-?$|no$|men$|sem$|ma$|but|fel$|not|item|la$|le$|el$|.$|..$|die$|que$|che$)"
)
_CUES = (table.ANSWER, table.CHOOSE, table.SO, table.RIGHT, table.ONLY, table.MOST)
_FOREIGN_CUE = re.compile(
    "|".join(
        words(
            {
                language: " ".join(e for e in one[language].split() if not _ALSO_ENGLISH.match(e))
                for language in _SPACED
                if language in one
            }
        )
        for one in (*_CUES, table.NOT, table.WRONG, table.BUT, table.OPTION, table.WEIGH)
    )
)
_LATIN = r"A-Za-z\u00c0-\u024f\u0300-\u036f\u1e00-\u1eff"
_FOLLOWED = (
    rf"(?![{_LATIN}0-9+#&_]|[.-][A-Za-z]"
    r"|['’](?!(?:[dt][ıiuüae]|y[ıiuüae]|n[ıiuü]n|[ıiuüea]\b))[A-Za-z])"
)
CAPITAL = rf"(?<![{_LATIN}0-9_+#&.'’])(?<![A-Za-z0-9]-)[A-Z]{_FOLLOWED}"
_ONE = re.compile(
    rf"{CAPITAL}|(?<=[(\[\"“])[a-z](?=[)\]\"”])|(?<![\w(])[a-z](?=\))|(?<=[ ])[bcdfg](?=[.!]?$)"
)
_AND = words(table.AND)
OPTION_NOUN = words(table.OPTION)
_OPTION = f"{OPTION_NOUN}|{words(table.ARTICLE)}"
_JOINT = re.compile(
    rf"{CAPITAL}[)\].\"”]{{0,2}}(?:(?:\s?[,、/&+|]\s?(?:(?i:{_AND})\s?)?|\s?(?i:{_AND})\s?)"
    rf"(?:(?i:{_OPTION})[ ]?){{0,2}}[(\[\"“]?(?<![{_LATIN}0-9])[A-Z]{_FOLLOWED}"
    r"[)\].\"”]{0,2}){1,6}"
)
_ARTICLE = re.compile(
    r"[AEIOUY][ ](?=[a-zà-ÿ])(?!(?:es|está|é|è|est|ist|is|jest|to|är|er|je|este|on|adalah|trifft"
    r"|stimmt|passt|convient|klopt|doğru|benar|là|đúng|och|und|og|et|e|y|o|ou|és|seçen\w*|şık\w*)\b)"
)
_BEFORE_LETTER = re.compile(r"[AEOY][ ][(\"“]?[A-Z]\b")
# "Vitamin C", "plan B": letters that name no option
TERM = re.compile(
    r"\b(?:[vw]itamin\w*|hepatit\w*|plan\w*|ti?yp\w*|tipo|clase|klass?e?\w*|gr[uo]u?p\w*"
    r"|p[uo]i?n[tk]\w*|serie|teil|parte?|note|витамин\w*|гепатит\w*|план\w*|точк\w*|групп\w*"
    r"|\w+型)[ ]?$",
    re.IGNORECASE,
)

_ANSWER = re.compile(words(table.ANSWER))
_RIGHT = re.compile(words(table.RIGHT))
_CHOOSE = re.compile(words(table.CHOOSE))
_SO = re.compile(words(table.SO))
_ONLY = re.compile(words(table.ONLY))
_MOST = re.compile(words(table.MOST))
_NOT = re.compile(words(table.NOT))
_WRONG = re.compile(words(table.WRONG))
_BECAUSE = re.compile(words(table.BECAUSE))
_BUT = re.compile(words(table.BUT))
_WEIGH = re.compile(words(table.WEIGH))
_AT_FIRST = re.compile(words(table.AT_FIRST))
_TELLS = re.compile(rf"[)\].]?\s?(?:{words(table.TELLS)})")
_EXCEPT = re.compile(words(table.EXCEPT))
_LITTLE = re.compile(
    "|".join(words(one) for one in (table.OPTION, table.ARTICLE, table.IS, table.SO, table.ONLY))
)
# "La alternativa que lo recoge es la C"
_AND_WORD = re.compile(rf"(?<=\s)(?!n?or\b)(?:{_AND})\s")
_OPTION_NOUN = re.compile(OPTION_NOUN)
_IS_IT = (
    rf"(?:{words(table.IS)})[\s:—–-]*(?:(?:la|el|le|die|der|das|a|o|il|l['’]|de)\s)?"
    r"[(\[\"“«*\s]*$"
)
_IS_END = re.compile(_IS_IT)
_IS_THAT = re.compile(rf"\w\W[^\x01]*?{_IS_IT}")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_CLEFT = re.compile(r"(?:のは|ものは|것은|的是)\s*[「『(（\"“]?$")
_AFTER_NOT = words(table.AFTER_NOT)
_DENIAL = re.compile(_AFTER_NOT)
_ENDS_DENIED = re.compile(rf"(?:{_AFTER_NOT})\s*$")
_CLAUSE = re.compile(
    rf"(?:[;；，、,](?=\s)|[；，、])\s*|(?={words(table.BUT)})|(?:{_AFTER_NOT})"
    rf"|(?=(?:{words(table.AND_NOT)}))"
)
# Words that contain others of the tables.
_MASKED = re.compile(
    r"选项|選項|選択肢|선택지|排除法|per esclusione|ตัวเลือก|不同|不变|不變|无关|無關"
    r"|하지만|만약|만일|แต่ละ"
)
# By elimination: the only one.
_INSTEAD = {"排除法": "唯一 ", "per esclusione": "solo          "}
# Not the keys of JSON
_QUOTATION = re.compile(
    r"\"(?=\w)[^\"\x01\n]{2,80}(?<=[\w.!?…])\"(?!\s?:)|“[^”\x01\n]{2,80}”|«[^»\x01\n]{2,80}»"
    r"|„[^“”\x01\n]{2,80}[“”]"
)
# "Nothing remains but B"
_NOTHING_BUT = re.compile(
    r"(?:non (?:resta|rimane)|(?:il )?ne reste|no queda|não resta|nie pozostaje)"
    r"(?: más| altro| plus| nic)?(?: che| que)?|[فو]?لا يبقى (?:سوى|إلا)|[فو]?لم يبق (?:سوى|إلا)"
)
# "yang tidak efektif", "la que no es correcta": what was asked for
_RELATIVE = re.compile(
    r"\byang (?:tidak|bukan) \w+|\bque (?:no|não) (?:(?:es|son|é|está|se) )?\w+"
    r"|\bche non (?:è )?\w+|\bqui n['’](?:est|a) pas \w*|\bdie nicht \w+"
    r"|, котор\w+ не \w+|, któr\w+ nie \w+"
)
# "no doubt", "no other than": denials that deny nothing
_NOT_DENIED = re.compile(
    r"sin (?:ninguna )?duda|sans (?:aucun )?doute|ohne zweifel|zweifellos|senza (?:alcun )?dubbio"
    r"|sem (?:nenhuma )?dúvida|bez wątpienia|без сомнени\w|zonder twijfel|utan tvekan|uden tvivl"
    r"|n['’]y a (?:pas de|aucun) doute|no (?:hay|cabe) duda|kein(?:en)? zweifel|non c['’]è dubbio"
    r"|não há dúvida|nie ma wątpliwości|нет сомнений|немає сумнів\w+|nur noch"
    r"|(?:immer|auch) noch|毫不犹豫|毫不猶豫"
    r"|لا شك|بلا شك|毫?无疑问?|毫?無疑問?|没错|沒錯|間違いな[くい]|間違いありません|しかな[いく]"
    r"|しかありません|틀림없|수밖에 없|ไม่ต้องสงสัย|निस्संदेह|şüphesiz"
)
# Spaces end clauses in Thai.
_SENTENCE = re.compile(
    r"(?<=[.!?…।])[)\"”»]*\s+|(?<=[。！？])\s*|\n+|(?<=[\u0e00-\u0e4e])\s+(?=[\u0e00-\u0e4e])"
)
_QUESTION = re.compile(r"[?？]\W*$")
_HEADING = re.compile(
    rf"^([ \t]*(?:(?:{_OPTION})[ ]?)?[(]?[A-G])\.(?=\s+\S)", re.MULTILINE | re.IGNORECASE
)
_COLON = re.compile(r"([:：])\s*\n\s*")
_HAS_TEXT = re.compile(r"[)\]]?\s?[(\"“:).]+\s*[^\W_]|\s?[–—-]\s?[^\W_]")
_ADJACENT = re.compile(r"[\s(\[\"“«*]*$")
_MARK = "\x01"
_MOST_SENTENCES = 80
_LONGEST_SENTENCE = 500
_NEAR = 14
_FAR = 70
_LITTLE_ELSE = 2


@lru_cache(maxsize=4)
def claims(text: str, last: str = "G") -> tuple[Claim, ...]:
    """The letters that a text names as the answer, in order; see the module docstring.

    ``last``: the last letter that can be an option.
    """
    if any(_ends_early(text, word) for word in (_BUT, _BECAUSE)):
        text = text[: max(text.rfind(mark) for mark in ".!?。！？\n") + 1]
    text = _COLON.sub(r"\1 ", _HEADING.sub(r"\1)", text))
    found: list[Claim] = []
    for at, end in list(_pieces(text, _SENTENCE))[-_MOST_SENTENCES:]:
        sentence = text[at : min(end, at + _LONGEST_SENTENCE)]
        if _ONE.search(sentence) and not _QUESTION.search(sentence):
            found += _of_sentence(sentence, at)
    return tuple(one for one in found if one.letter <= last)


def _ends_early(text: str, word: re.Pattern[str]) -> bool:
    """Whether a text breaks off after a word that leads on."""
    tail = _lower(text[-30:])
    return any(found.end() == len(tail) for found in word.finditer(tail))


def _pieces(text: str, split: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    at = 0
    for found in split.finditer(text):
        if text[at : found.start()].strip():
            yield at, found.end()
        at = found.end()
    if text[at:].strip():
        yield at, len(text)


def _lower(text: str) -> str:
    """The text in lower case, of the same length."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


@dataclass(frozen=True, slots=True)
class _Token:
    """A letter of a sentence, or several joined ones as one without a letter."""

    letter: str
    start: int
    end: int


def _tokens(sentence: str) -> list[_Token]:
    found: list[_Token] = []
    for joint in _JOINT.finditer(sentence):
        found.append(_Token("", *joint.span()))
    spans = [(one.start, one.end) for one in found]
    for one in _ONE.finditer(sentence):
        inside = any(start <= one.start() < end for start, end in spans)
        term = TERM.search(sentence, max(0, one.start() - 16), one.start())
        if not inside and not term and not is_article(sentence, one.start()):
            found.append(_Token(one[0].upper(), *one.span()))
    return sorted(found, key=lambda one: one.start)


def is_article(sentence: str, at: int) -> bool:
    """Whether the capital there starts a clause and may be a word, as in "A resposta"."""
    if _LETTER_OR_DIGIT.search(sentence, max(0, at - 2), at):
        return False
    word = _ARTICLE.match(sentence, at) or _BEFORE_LETTER.match(sentence, at)
    return word is not None and _starts(sentence, at)


def _starts(sentence: str, at: int) -> bool:
    """Whether a clause starts there, where a capital A may be an article."""
    return re.search(r"(?:^|[.,;:!?\n(\"“])\s*$", sentence[:at]) is not None


def _of_sentence(sentence: str, offset: int) -> Iterator[Claim]:
    tokens = _tokens(sentence)
    plain = _lower(sentence)
    for one in tokens:
        plain = plain[: one.start] + _MARK * (one.end - one.start) + plain[one.end :]
    plain = _QUOTATION.sub(lambda found: "_" * len(found[0]), plain)
    plain = _NOTHING_BUT.sub(lambda found: "solo".ljust(len(found[0])), plain)
    plain = _RELATIVE.sub(lambda found: "_" * len(found[0]), plain)
    plain = _NOT_DENIED.sub(lambda found: "_" * len(found[0]), plain)
    plain = _MASKED.sub(lambda found: _INSTEAD.get(found[0], "_" * len(found[0])), plain)
    led = ground = contrary = denied = False
    for start, end in _clauses(plain, tokens):
        clause = plain[start:end]
        so = _SO.search(clause)
        because = _BECAUSE.search(_SO.sub(lambda found: "_" * len(found[0]), clause))
        stop = start + because.start() if because else end
        mine = [one for one in tokens if start <= one.start < stop]
        ground = ground and not so
        if not ground:
            turned = denied and _BUT.match(clause.lstrip()) is not None
            context = _Context(plain, start, stop, led=led or contrary or turned)
            for one in _named(mine, context):
                yield Claim(one.letter, one.start + offset)
        ground = ground or because is not None
        if _LETTER_OR_DIGIT.search(clause):
            contrary = _ENDS_DENIED.search(clause) is not None
        denied = denied or _NOT.search(clause) is not None
        leads = so or _CHOOSE.search(clause) or _ONLY.search(clause)
        led = not any(one.letter for one in mine) and (led or leads is not None)


def _clauses(plain: str, tokens: Sequence[_Token]) -> Iterator[tuple[int, int]]:
    at = 0
    for found in _CLAUSE.finditer(plain):
        end = found.end()
        if end <= at or any(one.start < end < one.end for one in tokens):
            continue
        yield at, end
        at = end
    if at < len(plain):
        yield at, len(plain)


@dataclass(frozen=True, slots=True)
class _Context:
    """A clause of a sentence; ``led``: something before leads to it, as "so" does."""

    plain: str
    start: int
    stop: int
    led: bool


def _named(tokens: Sequence[_Token], context: _Context) -> Iterator[_Token]:
    several = sum(bool(one.letter) for one in tokens) > 1
    for place, one in enumerate(tokens):
        begins = tokens[place - 1].end if place else context.start
        ends = tokens[place + 1].start if place + 1 < len(tokens) else context.stop
        before, after = context.plain[begins : one.start], context.plain[one.end : ends]
        if _is_named(before, after, led=context.led, several=several):
            yield one


def _is_named(before: str, after: str, *, led: bool, several: bool) -> bool:
    """Whether the texts around a letter name it as the answer."""
    before, so, only = _concluding(before)
    if _REMAINS.match(after) and not several:
        return True
    has_text = _HAS_TEXT.match(after) is not None
    denied = _first(_NOT, after, _WRONG)
    near = before if has_text else before[-_NEAR:]
    weighed = _WEIGH.search(near) or _AT_FIRST.search(near)
    if weighed or _NOT.search(_WRONG.sub("_", before)):
        return False
    if denied is not None and not (has_text or denied > _NEAR):
        return False
    if _leads(before, after, has_text=has_text):
        return True
    if several:
        return False
    led = led or so
    if denied is None:
        right = _first(_RIGHT, after)
        if right is not None and right <= _FAR:
            return led or only or any(word.search(after) for word in (_ONLY, _MOST, _ANSWER))
        chosen = _first(_CHOOSE, after, _ANSWER)
        if only or (chosen is not None and chosen <= _NEAR):
            return True
    return led and is_little(before, after)


def _concluding(before: str) -> tuple[str, bool, bool]:
    """What precedes a letter from the last "so" or "only" on, and whether there are these.

    What is denied before does not deny the letter: "A와 B를 제외하면 C", but "not only B".
    """
    so = only = False
    for pattern in (_SO, _ONLY):
        cues = list(pattern.finditer(before))
        if not cues:
            continue
        last = cues[-1]
        denied = list(_NOT.finditer(before, 0, last.start()))
        if denied and not before[denied[-1].end() : last.start()].strip():
            continue
        if pattern is _SO:
            so, before = True, before[last.end() :]
        else:
            only, before = True, before[last.start() :]
    return before, so, only


_REMAINS = re.compile(
    r"[\s)]*(?:만|のみ|だけ|[がはも]?残|[이가은는]?\s?남|बच|kal(?:ır|ıyor|dı)|остаётся|остается|залишається"
    r"|rimane|resta\b|queda\b|zostaje|pozostaje|reste\b|bleibt|blijft|återstår|zbývá|tersisa)"
)


def _first(pattern: re.Pattern[str], text: str, other: re.Pattern[str] | None = None) -> int | None:
    """Where the first match of one or two patterns starts."""
    starts = [found.start() for one in (pattern, other) if one and (found := one.search(text))]
    return min(starts, default=None)


def _leads(before: str, after: str, *, has_text: bool) -> bool:
    """Whether what precedes a letter says that it is the answer."""
    if _CLEFT.search(before):
        return True
    if _WRONG.search(before) and (is_little(before, after) or _IS_END.search(before)):
        return True  # what was asked for
    near = before[-_FAR:]
    if (noun := _OPTION_NOUN.search(before)) and _IS_THAT.search(before, noun.end()):
        return True
    if _CHOOSE.search(near) or _RIGHT.search(near) or _MOST.search(near):
        return True
    for noun in _ANSWER.finditer(near):
        if not _ADJACENT.match(near, noun.end()) or has_text or not says_more(after):
            return True
    return False


def says_more(after: str) -> bool:
    """Whether a letter is followed by more than a copula or a noun for an option."""
    return re.search(r"\w", _LITTLE.sub("", _lower(after))) is not None


def is_little(before: str, after: str) -> bool:
    """Whether a clause says hardly more than a letter; the text of the option may follow it."""
    clause = _lower(before if _HAS_TEXT.match(after) else f"{before} {after}")
    rest = _LITTLE.sub(" ", _CHOOSE.sub(" ", clause))
    if _UNSPACED.search(rest):
        return len(re.findall(r"\w", rest)) <= _LITTLE_ELSE
    return len(re.findall(r"\w+", rest)) < _LITTLE_ELSE


def weighs(text: str) -> bool:
    """Whether a text says that something is looked at: "let's", "first"."""
    return _WEIGH.search(_lower(text)) is not None


def leaves_open(before: str, after: str) -> bool:
    """Whether the words around a letter look at it, once thought of it, or tell what it says."""
    before, after = _lower(before), _lower(after)
    tentative = any(sign.search(part) for sign in (_WEIGH, _AT_FIRST) for part in (before, after))
    return tentative or _TELLS.match(after) is not None


def rejects(text: str) -> bool:
    """Whether a text says no, not or wrong."""
    plain = _MASKED.sub("_", _RELATIVE.sub("_", _NOT_DENIED.sub("_", _lower(text))))
    return any(pattern.search(plain) for pattern in (_NOT, _WRONG))


def turns(text: str) -> Iterator[int]:
    """Where "but", "because", "so" and the like begin clauses, and denials before them end."""
    plain = _MASKED.sub(lambda found: "_" * len(found[0]), _lower(text))
    denials = {found.start(): found.end() for found in _DENIAL.finditer(plain)}
    yield from denials.values()
    for pattern in (_BUT, _BECAUSE, _SO):
        starts = (found.start() for found in pattern.finditer(plain))
        yield from (start for start in starts if start not in denials)


def asked_for(before: str) -> bool:
    """Whether a text that leads to a letter asks for the wrong one: "la que no es cierta es la"."""
    before = _lower(before)
    if _CLEFT.search(before):
        return rejects(before)
    found = _IS_END.search(before)
    if found is None or found[0].strip() in _ARTICLES or not rejects(before[: found.start()]):
        return False
    return not any(not before[one.end() : found.start()].strip() for one in _NOT.finditer(before))


_ARTICLES = ("a", "az")  # Hungarian ones, which lead to a letter like a verb


def excepted(so_far: str, rest: str) -> bool:
    """Whether all but a letter are wrong, as the words before it and after it say."""
    so_far, rest = _lower(so_far), _lower(rest)
    cue = any(_ENDS_EXCEPT.match(so_far, found.end()) for found in _EXCEPT.finditer(so_far))
    after = _EXCEPT.search(rest)
    if not cue and (after is None or re.search(r"\s?\w{3}", rest[: after.start()])):
        return False
    return any(word.search(part) for word in (_WRONG, _NOT) for part in (so_far, rest))


_ENDS_EXCEPT = re.compile(
    r"(?:\s?(?:(?:la|el|le|die|der|das|a|o|il|ข้อ|选项|選項)\s?)?)[(\[\"“«*\s]*$"
)
# "AよりもC", "A보다 C"
_THAN = re.compile(r"より|보다")


def is_below(after: str) -> bool:
    """Whether what follows a letter sets another above it."""
    return _THAN.match(after) is not None


def names_option(before: str) -> bool:
    """Whether a text ends with a noun for an option or the answer, or a word that leads to it."""
    near = _lower(before)
    nouns = [found.end() for pattern in (_OPTION_NOUN, _ANSWER) for found in pattern.finditer(near)]
    return any(_ADJACENT.match(near, end) for end in nouns) or _CHOOSE.search(near) is not None


def leads(text: str) -> bool:
    """Whether a text concludes, chooses, or speaks of the right answer or the only one."""
    plain = _MASKED.sub(lambda found: _INSTEAD.get(found[0], "_" * len(found[0])), _lower(text))
    cues = (_SO, _ONLY, _CHOOSE, _ANSWER, _RIGHT, _MOST, _BUT)
    return any(pattern.search(plain) for pattern in cues)


def ands(text: str) -> Iterator[re.Match[str]]:
    """The words for "and" in any language, and those for "or" in others than English."""
    return _AND_WORD.finditer(_lower(text))


def joint(text: str) -> Iterator[re.Match[str]]:
    """Letters joined by "and", "or" or marks, in any language."""
    return _JOINT.finditer(text)


def denies(text: str) -> bool:
    """Whether a text denies anything, joins letters, or weighs them."""
    plain = _NOT_DENIED.sub("_", _lower(text))
    return any(pattern.search(plain) for pattern in (_NOT, _WRONG, _WEIGH)) or bool(
        _JOINT.search(text)
    )
