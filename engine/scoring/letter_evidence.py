"""The option that a reply speaks for, where it states no answer.

Each letter of a sentence is weighed by the words of its clause. It is

- *rejected* if they deny it, rule it out or put another above it ("not A", "A fails", "than A");
- *open* if they only look at it, suppose it, ask, or tell what it says or what others think of it;
- *hedged* if they grant or guess it ("perhaps A", "though A is close");
- *affirmed* otherwise, and *concluded* if they say that it follows, is chosen, or is right.

The last sentence that names options decides: the last letter of the highest standing there; if
that is not concluded, no other option may be affirmed in the reply. If it only rejects letters or
leaves them open, the first sentence decides in the same way. If one option alone is not rejected,
it is that. Letters joined on equal terms ("B and C fit") leave the choice open. The heads of a list
of options, points and variables (``P(A)``) are no options, and a reply that breaks off settles
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import islice, pairwise
from string import ascii_uppercase

from evalbench.engine.scoring import letter_cues as cues
from evalbench.engine.scoring.letters_abroad import (
    CAPITAL,
    OPTION_NOUN,
    TERM,
    ands,
    asked_for,
    excepted,
    is_abroad,
    is_article,
    is_below,
    is_little,
    joint,
    leads,
    leaves_open,
    names_option,
    rejects,
    says_more,
    turns,
    weighs,
)


class Standing(IntEnum):
    """What a sentence says of a letter."""

    REJECTED = 0
    OPEN = 1
    HEDGED = 2
    AFFIRMED = 3
    CONCLUDED = 4


@dataclass(frozen=True, slots=True)
class _Mention:
    """A letter, or several joined ones, and where they are."""

    letters: frozenset[str]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Said:
    """What a sentence says of letters in a clause that starts at ``clause``."""

    letters: frozenset[str]
    clause: int
    standing: Standing


_MOST_SENTENCES = 20
_MOST_MENTIONS = 12
_LONGEST_SENTENCE = 400


def settled(text: str, options: int) -> str | None:
    """The letter of the option that a cleaned reply speaks for, or None."""
    if _breaks_off(text):
        return None
    names = set(ascii_uppercase[:options])
    abroad = is_abroad(text)
    points = any(sign.search(text) for sign in (_IN_FORMULA, _POINTS, cues.THINGS))
    plain = _QUOTED.sub(_unless_lettered, _without_lists(_OPENING_QUOTE.sub(" ", text)))
    plain = _SAYS_YES.sub(" is right.", _SAYS_NO.sub(" is wrong.", plain))
    sentences = [s for s in _SENTENCE.split(plain) if s.strip()]
    sentences = [s for s in sentences if not _IN_BRACKETS.fullmatch(s)] or sentences
    sentences = [s for s in (*sentences[:1], *sentences[1:][-_MOST_SENTENCES:]) if _few(s)]
    reader = _Reader(names, abroad=abroad, points=points)
    said = [found for s in sentences if (found := reader.read(s[-_LONGEST_SENTENCE:]))]
    if not said or (_ASKS.search(text) and not _ONE.search(sentences[-1])):
        return None
    every = [one for found in said for one in found]
    places = [at for at, found in enumerate(said) if _best(found) is Standing.CONCLUDED]
    if places:
        letter = _chosen(said[places[-1]])
        later = (one for found in said[places[-1] + 1 :] for one in found)
        back = any(letter in o.letters and o.standing is Standing.REJECTED for o in later)
        return None if back else letter
    if not (cues.ANNOUNCES.search(text) or (abroad and weighs(text))):
        for found in (said[-1], said[0]):
            if (best := _best(found)) >= Standing.HEDGED:
                letter = _chosen(found)
                of_others = [one.standing for one in every if one.letters != {letter}]
                unlike = Standing.REJECTED not in (o.standing for o in every if letter in o.letters)
                return letter if max(of_others, default=-1) < best and unlike else None
    rejected = {name for one in every if one.standing is Standing.REJECTED for name in one.letters}
    left = names - rejected
    return left.pop() if len(left) == 1 and len(names) > 2 else None


def _few(sentence: str) -> bool:
    """Whether a sentence does not name letters again and again, as none that decides does."""
    found = islice(_ONE.finditer(sentence[-_LONGEST_SENTENCE:]), _MOST_MENTIONS + 1)
    return sum(1 for _ in found) <= _MOST_MENTIONS


def _best(said: list[_Said]) -> Standing:
    return max(one.standing for one in said)


def _chosen(said: list[_Said]) -> str | None:
    """The last letter of the highest standing, if its clause sets no other beside it."""
    best = _best(said)
    last = next(one for one in reversed(said) if one.standing is best)
    beside = [
        one
        for one in said
        if one.standing is best or (one.standing is Standing.AFFIRMED and len(one.letters) == 1)
    ]
    equals = {name for one in beside if one.clause == last.clause for name in one.letters}
    return equals.pop() if len(equals) == 1 else None


def _unless_lettered(quoted: re.Match[str]) -> str:
    return quoted[0] if _ONE.search(quoted[0]) else " "


_SENTENCE = re.compile(
    r"(?:(?<=[.!?…。！？।])(?<![^A-Za-z][A-Z]\.)|(?<=[^A-Za-z][A-Z]\.)(?=\s+[^a-z\s]))[)\"”»]*\s+"
    r"|\n+|(?<=[。！？])"
)
# What is quoted, apart from the keys of JSON, is not said; nor does "none of these" deny a letter.
_QUOTED = re.compile(
    r"\"(?=\w)[^\"\n]{3,120}(?<=[\w.!?…])\"(?!\s?:)|[“«„][^”»“\n]{3,120}[”»“]"
    r"|\b(?:none|all|both)[ ]of[ ](?:the|these)[ ]\w+",
    re.IGNORECASE,
)
_OPENING_QUOTE = re.compile(r"(?<=\s)['‘](?=[A-Z][.):])")
_ASKS = re.compile(r"[?？]\W*$")
_SAYS_YES = re.compile(
    r"\?\s+(?:Yes|Yep|Indeed|Exactly|Correct|(?:Just )?[Rr]ight|I (?:believe|think) so)\b[.,!]?"
)  # "Is it B? Yes."
_SAYS_NO = re.compile(r"\?\s+(?:No|Nope|Wrong|Too \w+)\b[.,!]?")
_IN_BRACKETS = re.compile(r"\((?![A-Z]\))[^()]*\)\W*")
# "P(A)", "A = 5", "A ∩ B": letters that name something else
_IN_FORMULA = re.compile(
    r"[A-Za-z]\([A-Z][)|,]|(?<![A-Za-z])[A-Z](?!\+\+)\s?[=<>+∩∪≥≤×^]"
    r"|(?<![=-])[<>+∩∪≥≤×^]\s?[A-Z](?![A-Za-z])|(?<![A-Za-z])[A-Z]\("
    r"|\b[Ll]et [A-Z] (?:be|denote)\b"
)
_POINTS = re.compile(r"(?<![A-Za-z])\(?[A-D]{2,3}\)?(?![A-Za-z])")
_ENDS = re.compile(r"(?:[.!?。！？।…)\]\"”’»」』\u0e00-\u0e7f]|(?<!\w)[A-Za-z])\W*$")
_STOP = re.compile(r"(?<![^A-Za-z][A-Z])[.!?。！？।]\s")
_WORDS_AFTER = 4
_UNSPACED = re.compile(r"[^\s!-~]{8}")


def _breaks_off(text: str) -> bool:
    """Whether a text ends with a word that leads on, or without a mark where others have one."""
    if cues.LEADS_ON.search(text[-40:]):
        return True
    if _ENDS.search(text[-20:]):
        return False
    last = max((found.end() for found in _ONE.finditer(text)), default=0)
    after = text[last:][:_LONGEST_SENTENCE]
    much = len(after.split()) > _WORDS_AFTER or _UNSPACED.search(after) is not None
    return much or _STOP.search(text) is not None


_HEAD = re.compile(
    r"(?:(?:^|(?<=[,;:.：、(]\s)|(?<=[:：、;]))[ \t]*+[-*]?[ \t]*+\(?(?=[A-Z])|(?<=\s)(?=[B-Z]))"
    rf"(?:(?i:{OPTION_NOUN})[ ]?)?([A-Z])[).:](?=\s|[^\s!-~])",
    re.MULTILINE,
)


def _without_lists(text: str) -> str:
    """The text without the letters that head the options of a list."""
    runs: list[list[re.Match[str]]] = []
    for head in _HEAD.finditer(text):
        if runs and ord(head[1]) == ord(runs[-1][-1][1]) + 1:
            runs[-1].append(head)
        elif head[1] == "A":
            runs.append([head])
    kept = list(text)
    for run in runs:
        if len(run) > 1 and not _tells_one(text, run):
            for head in run:
                kept[head.start(1)] = " "
    return "".join(kept)


def _tells_one(text: str, run: list[re.Match[str]]) -> bool:
    """Whether all but one of the options of a list are called wrong right there."""
    ends = [head.start() for head in run[1:]] + [len(text)]
    told = [
        text[head.end() : min(end, head.end() + _VERDICT)].partition("\n")[0]
        for head, end in zip(run, ends, strict=True)
    ]
    return sum(rejects(one) or cues.NO.search(one) is not None for one in told) == len(run) - 1 > 1


_VERDICT = 25
# A capital, or a small letter in brackets, before one, alone, or after a noun for an option
_ONE = re.compile(
    rf"(?:(?<![A-Z]/){CAPITAL}(?!\()|(?<=\()[a-j](?=\))|(?<![\w(.'’-])[a-j](?=\))"
    r"|(?<![\w.'’-])[bcdfg](?![\w'’]|[.-]\w|\s?[=<>+*/^])"
    r"|(?:(?<=option )|(?<=choice )|(?<=answer )|(?<=letter )|(?i:(?<=it's )|(?<=it’s )))"
    r"[a-j](?!\w| \w|'))"
)
_LETTER = re.compile(r"(?<![A-Za-z])[A-Z](?![A-Za-z])")
_RANGE = re.compile(r"(?<![A-Za-z])[A-Z][ ]?(?:through|to|[–-])[ ]?[A-Z](?![A-Za-z])")
_WORD = re.compile(r"[ ][A-Za-z][a-z]")
_STARTS = re.compile(r"(?:^|[\"“.:;!?—(\n]\s{0,3})\W*$")
_NUMERAL = re.compile(r"(?<![A-Za-z])(?:II|III|IV)(?![A-Za-z])")
_SET_OFF = re.compile(r"[).:,!]|\s*$|[ ](?:is|has|fits|seems|best|works)\b")
# "Ruling out B (wrong sign), C (wrong units) and D"
_EXPLAINED = re.compile(
    r"(?<=(?<![A-Za-z])[A-Z])[ ]\([^()]{2,80}\)(?=,?[ ](?:and[ ]|or[ ])?[A-Z]\b)"
)
_SO_COMMA = re.compile(
    r"\b(so|thus|hence|therefore|finally|overall|yes|conclusion|best|verdict|pick"
    r"|(?:ruled out|eliminated|excluded|discarded|rejected|wrong|incorrect|false)(?=:))[,:]",
    re.IGNORECASE,
)
_TOLD = re.compile(r"[ ]?\(([^()]{2,80})\)|[)]?\s?[:—–-]{1,2}\s?([^,.;()]{2,60})")


@dataclass(frozen=True, slots=True)
class _Words:
    """The words around a letter.

    Attributes:
        so_far: the sentence up to the letter.
        sooner: the words of its clause up to an earlier letter in it.
        before: those between that and the letter.
        after: those from it to the end of the clause, or the next letter.
        rest: all that follows it, up to the next letter.
    """

    so_far: str
    sooner: str
    before: str
    after: str
    rest: str

    @property
    def told(self) -> str:
        """What is said of the letter in brackets or after a dash or colon."""
        found = _TOLD.match(self.rest)
        return (found[1] or found[2]) if found else ""


def _standing(words: _Words, *, abroad: bool) -> Standing:
    """What the words around a letter say of it."""
    if afterwards := cues.AFTERWARDS.search(words.after, 1):
        words = replace(words, after=words.after[: afterwards.start()])
    before = words.before
    denied = cues.NO.search(before) and not cues.SET_ASIDE.search(before)
    if asked_for(before) or (denied and cues.ASKED_FOR.search(before)):
        return Standing.CONCLUDED
    if excepted(words.so_far, words.rest) or cues.NOTHING_BUT.search(words.so_far):
        return Standing.CONCLUDED
    if any(map(rejects, (before, words.after, words.told))) or is_below(words.after):
        return Standing.REJECTED
    return _standing_abroad(words) if abroad else _standing_in_english(words)


def _parted(sentence: str, start: int, end: int) -> tuple[int, int]:
    """Where the words after a letter end, and those before the next begin: at an "and"."""
    joined = [(start + found.start(), start + found.end()) for found in ands(sentence[start:end])]
    return joined[-1] if joined else (end, start)


def _standing_abroad(words: _Words) -> Standing:
    before, after, so_far = words.before, words.after, words.so_far
    if leaves_open(before, after):
        return Standing.OPEN
    alone = so_far == before and is_little(before, words.rest) and not says_more(words.rest)
    lead = before if _ONE.search(so_far) or rejects(so_far) else so_far
    concluded = leads(lead) or leads(after) or leads(words.told) or alone
    return Standing.CONCLUDED if concluded else Standing.AFFIRMED


def _standing_in_english(words: _Words) -> Standing:
    before, after, rest = words.before, words.after, words.rest
    supposed = cues.WOULD.search(before) and cues.IF.search(words.so_far)
    if supposed or cues.BUT_NOT.match(rest):
        return Standing.OPEN
    if cues.ALL_BUT.search(before) and cues.NO.search(rest):
        return Standing.CONCLUDED
    if cues.IS_ONLY.search(after) or (cues.ONLY.search(before) and not cues.NO.search(before)):
        return Standing.CONCLUDED
    if any(cues.NO.search(part) for part in (words.sooner, before, after, words.told)):
        return Standing.REJECTED
    if cues.BELOW.search(before) or cues.PREFERS.search(words.so_far):
        return Standing.REJECTED
    tells = cues.OPEN_AFTER.match(rest) and not cues.WHAT.search(before)
    if tells or cues.OPEN_BEFORE.search(before) or cues.REASON.match(words.sooner + before):
        return Standing.OPEN
    if cues.HEDGES.search(before) or cues.HEDGES.search(after):
        return Standing.HEDGED
    concluded = cues.CONCLUDES.search(before) or cues.CONCLUDES.search(after)
    return Standing.CONCLUDED if concluded else Standing.AFFIRMED


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads sentences of a reply.

    ``abroad``: it may be in another language than English. ``points``: its letters name points,
    where they are not called options.
    """

    names: set[str]
    abroad: bool
    points: bool

    def read(self, sentence: str) -> list[_Said]:
        """What a sentence says of the letters in it, in order."""
        sentence = _SO_COMMA.sub(r"\1 ", _EXPLAINED.sub("", sentence))
        mentions = sorted(self._mentions(sentence), key=lambda one: one.start)
        if not mentions:
            return []
        cuts = {0, *(place for found in cues.CLAUSE.finditer(sentence) for place in found.span())}
        if self.abroad:
            cuts |= set(turns(sentence))
        doubt = cues.UNDECIDED.search(sentence)
        most = self._most(sentence)
        said: list[_Said] = []
        earlier = 0
        for place, one in enumerate(mentions):
            following, later = len(sentence), len(sentence)
            if place + 1 < len(mentions):
                following, later = _parted(sentence, one.end, mentions[place + 1].start)
            begins = max(cut for cut in cuts if cut <= one.start)
            ends = min((cut for cut in cuts if one.end < cut < following), default=following)
            words = _Words(
                sentence[: one.start],
                sentence[begins : max(begins, earlier)],
                sentence[max(begins, earlier) : one.start],
                sentence[one.end : ends],
                sentence[one.end : following],
            )
            standing = _standing(words, abroad=self.abroad)
            others = len(one.letters) > 1 and len(one.letters) >= len(self.names) - 1
            if others and standing is Standing.AFFIRMED:
                standing = Standing.OPEN
            if doubt and doubt.start() > one.end:
                standing = min(standing, Standing.OPEN)
            if said and cues.LIKEWISE.search(sentence, earlier, one.start):
                before = said.pop()
                said.append(_Said(before.letters | one.letters, begins, before.standing))
            else:
                said.append(_Said(one.letters, begins, min(standing, most)))
            earlier = later
        return said

    def _most(self, sentence: str) -> Standing:
        """The highest standing that a letter can have in a sentence."""
        if _ASKS.search(sentence):
            return Standing.OPEN if self.abroad or cues.WHETHER.match(sentence) else Standing.HEDGED
        return Standing.CONCLUDED

    def _mentions(self, sentence: str) -> Iterator[_Mention]:
        joined: list[tuple[int, int]] = []
        for found in joint(sentence):
            start, end = found.start(), _joint_end(found)
            letters = self.names & set(_LETTER.findall(sentence, start, end))
            if len(letters) != 1:
                joined.append((start, end))
                yield _Mention(frozenset(letters), start, end)
        joined += [found.span() for found in _RANGE.finditer(sentence)]
        for one in _ONE.finditer(sentence):
            letter = one[0].upper()
            if letter not in self.names or any(s <= one.start() < end for s, end in joined):
                continue
            if not self._is_other(sentence, one.start()):
                yield _Mention(frozenset(letter), *one.span())

    def _is_other(self, sentence: str, at: int) -> bool:
        """Whether a letter is a word, a point, or the name of something else than an option."""
        letter, before = sentence[at], sentence[max(0, at - 24) : at]
        if self.abroad and letter.islower() and sentence[at + 1 : at + 2] != ")":
            return True
        if self.abroad and is_article(sentence, at):
            return True
        if letter == "A" and at == 0 and sentence[1:2] == ":":
            return True  # as in question and answer
        if (
            not self.abroad
            and letter == "A"
            and _WORD.match(sentence, at + 1)
            and _STARTS.search(before)
        ):
            return not cues.VERB.match(sentence, at + 1)
        if cues.LONE_NOUN.match(sentence, at + 1):
            return not cues.VERB.match(sentence, at + 1)
        if letter == "I" and _NUMERAL.search(sentence):
            return True
        if cues.OPTION.search(before):
            return False
        if cues.IS_ONE.match(sentence, at + 1) or (
            letter == "I" and not _SET_OFF.match(sentence, at + 1) and not before.endswith("nly ")
        ):
            return True
        if self.points and before[-1:] + sentence[at + 1 : at + 2] != "()":
            return not (names_option(before) or cues.IS_RIGHT.match(sentence, at + 1))
        if not self.abroad and cues.AN.search(before):
            return True
        return bool(TERM.search(before) or cues.NOT_OPTION.search(before))


def _joint_end(found: re.Match[str]) -> int:
    """Where joined letters end: "B and C, C is better" joins two."""
    places = list(_LETTER.finditer(found[0]))
    between = [found[0][one.end() : two.start()] for one, two in pairwise(places)]
    if len(between) > 1 and between[-1].strip() == "," and re.search(r"\w", "".join(between)):
        return found.start() + places[-2].end()
    return found.end()
