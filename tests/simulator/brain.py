"""What the simulated models say.

An answer depends on the seed and on the request's content alone: asking again
gives the same answer, in any order, from any number of clients. In order of
precedence: a scripted rule, a share of refusals, filtered and empty answers,
the gold table with its accuracy, and else whatever the prompt seems to ask
for: JSON of a schema, a judge's rating or verdict, a letter, some words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from hashlib import blake2b
from struct import unpack
from typing import Any, Literal

import orjson

from tests.simulator import tokens

Kind = Literal["ok", "refusal", "filtered", "failed"]

_WORDS = [
    *("the", "model", "weighs", "each", "option", "in", "turn", "and", "finds", "that", "one"),
    *("of", "them", "fits", "the", "facts", "given", "above", "better", "than", "the", "others"),
    *("because", "it", "follows", "from", "what", "was", "asked"),
]
_LETTER_LINE = re.compile(r"^\s*\(?([A-J])[.):]\s", re.MULTILINE)
_RATING = re.compile(r"\[\[(?:rating|\d+)\]\]", re.IGNORECASE)
_REASONING_TOKENS = {
    "none": 0,
    "minimal": 32,
    "low": 64,
    "medium": 192,
    "high": 512,
    "xhigh": 1024,
    "max": 2048,
}


@dataclass(frozen=True, slots=True)
class Ask:
    """A request as the brain sees it, whatever the protocol.

    Attributes:
        content: fingerprint of the request.
        last: text of the last user turn.
        everything: system text and all turns.
        cap: most output tokens, reasoning included; None: no cap was set.
        effort: reasoning effort; ``none`` or empty: no reasoning.
        budget: most reasoning tokens; None: no budget was set.
        schema: a JSON schema the answer must follow.
        choice: ordinal among several answers to one request.
    """

    content: int
    model: str
    last: str
    everything: str
    cap: int | None
    chars_per_token: float
    stops: tuple[str, ...] = ()
    effort: str = ""
    budget: int | None = None
    schema: dict[str, Any] | None = None
    choice: int = 0


@dataclass(frozen=True, slots=True)
class Completion:
    """What was generated.

    ``output_tokens`` includes ``reasoning_tokens``. ``stopped_by`` is the stop
    text that ended the answer, which is not part of ``text``.
    """

    kind: Kind
    text: str
    reasoning: str
    output_tokens: int
    reasoning_tokens: int
    truncated: bool
    stopped_by: str | None = None
    category: str | None = None


@dataclass(slots=True)
class Rule:
    """A scripted answer: the first rule whose pattern is found decides.

    Attributes:
        match: regular expression.
        where: ``last`` user turn, ``all`` text, or the ``model`` name.
        text: the answer; ``\\1`` and the like refer to groups of the pattern.
        kind: ok, refusal, filtered or failed (Responses only).
        reasoning: reasoning text.
        reasoning_tokens: reasoning tokens, where the model reasons.
        category: Anthropic's refusal category.
    """

    match: str
    where: Literal["last", "all", "model"] = "last"
    text: str = ""
    kind: Kind = "ok"
    reasoning: str = ""
    reasoning_tokens: int | None = None
    category: str | None = "general_harms"
    pattern: re.Pattern[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.pattern = re.compile(self.match, re.DOTALL)


@dataclass(slots=True)
class Brain:
    """Settings, all shares between 0 and 1.

    Attributes:
        gold: the right answer by a line of the prompt; the lowest such line decides.
        accuracy: share of gold questions answered rightly.
        answer: how a short answer is worded, with ``{}`` in its place.
        verbosity: words of filler before the answer (or instead of it).
    """

    seed: int = 0
    gold: dict[str, str] = field(default_factory=dict)
    accuracy: float = 1.0
    answer: str = "{}"
    verbosity: int = 0
    refusals: float = 0.0
    filtered: float = 0.0
    empty: float = 0.0
    rules: list[Rule] = field(default_factory=list)

    def configure(self, **settings: Any) -> None:
        """Change settings; ``gold`` and ``rules`` are added to.

        Raises:
            TypeError: for a setting that does not exist.
        """
        known = {f.name for f in fields(self)}
        for name, value in settings.items():
            if name not in known:
                raise TypeError(f"the brain has no setting {name!r}")
            if name == "gold":
                self.gold.update({k.strip(): v for k, v in value.items()})
            elif name == "rules":
                self.rules.extend(Rule(**rule) for rule in value)
            else:
                setattr(self, name, value)

    def reset(self) -> None:
        """Back to the defaults."""
        fresh = Brain()
        for f in fields(self):
            setattr(self, f.name, getattr(fresh, f.name))

    def complete(self, ask: Ask) -> Completion:
        """Generate: decide, then reason, then write until a stop text or the cap."""
        dice = _Dice(self.seed, ask.content, ask.choice)
        kind, text, reasoning, thought, category = self._decide(ask, dice)
        reasoning_tokens = self._reasoning_tokens(ask, dice) if thought is None else thought
        if not ask.effort or ask.effort == "none":
            reasoning_tokens, reasoning = 0, ""
        elif not reasoning and reasoning_tokens:
            reasoning = _filler(dice, min(reasoning_tokens // 2, 40) + 1)
        if ask.cap is not None and reasoning_tokens >= ask.cap > 0:
            return Completion(kind, "", reasoning, ask.cap, ask.cap, truncated=True)
        stopped_by = None
        for stop in ask.stops:
            at = text.find(stop)
            if at >= 0:
                text, stopped_by = text[:at], stop
        written = max(1, tokens.count(text, ask.chars_per_token))
        truncated = False
        if ask.cap is not None and reasoning_tokens + written > ask.cap:
            written = ask.cap - reasoning_tokens
            text, stopped_by = tokens.cut(text, written, ask.chars_per_token), None
            truncated = True
        return Completion(
            kind,
            text,
            reasoning,
            reasoning_tokens + written,
            reasoning_tokens,
            truncated,
            stopped_by,
            category,
        )

    def _reasoning_tokens(self, ask: Ask, dice: _Dice) -> int:
        usual = _REASONING_TOKENS.get(ask.effort, 192)
        wanted = int(usual * (0.5 + dice.share(6)))
        return wanted if ask.budget is None else min(wanted, ask.budget)

    def _decide(self, ask: Ask, dice: _Dice) -> tuple[Kind, str, str, int | None, str | None]:
        for rule in self.rules:
            field_text = {"last": ask.last, "all": ask.everything, "model": ask.model}[rule.where]
            found = rule.pattern.search(field_text)
            if found:
                text = found.expand(rule.text) if "\\" in rule.text else rule.text
                return rule.kind, text, rule.reasoning, rule.reasoning_tokens, rule.category
        if dice.share(0) < self.refusals:
            return "refusal", "I can't help with that request.", "", None, "general_harms"
        if dice.share(1) < self.filtered:
            return "filtered", "", "", None, None
        if dice.share(2) < self.empty:
            return "ok", "", "", None, None
        return "ok", self._answer(ask, dice), "", None, None

    def _answer(self, ask: Ask, dice: _Dice) -> str:
        if ask.schema is not None:
            return _instance_text(ask.schema, dice)
        short = self._short_answer(ask, dice)
        if short is None:
            return _filler(dice, self.verbosity or 12)
        judged = short.startswith(("Rating", "Verdict", "[["))
        worded = short if judged else self.answer.replace("{}", short)
        return f"{_filler(dice, self.verbosity)} {worded}" if self.verbosity else worded

    def _short_answer(self, ask: Ask, dice: _Dice) -> str | None:
        gold = self._gold(ask.last) if self.gold else None
        letters = _letters(ask.last)
        if gold is not None:
            if dice.share(3) < self.accuracy:
                return gold
            others = sorted({*letters} - {gold}) or sorted({*"ABCD"} - {gold})
            return others[dice.number(4) % len(others)] if len(gold) == 1 else f"not {gold}"
        if "[[A]]" in ask.everything and "[[B]]" in ask.everything:
            verdicts = "AB" if "[[C]]" not in ask.everything else "ABC"
            return f"[[{verdicts[dice.number(4) % len(verdicts)]}]]"
        if "[[right]]" in ask.everything and "[[wrong]]" in ask.everything:
            return f"Verdict: [[{('right', 'wrong')[dice.number(4) % 2]}]]"
        if _RATING.search(ask.everything):
            return f"Rating: [[{dice.number(4) % 10 + 1}]]"
        if len(letters) > 1:
            return letters[-1 - dice.number(4) % min(4, len(letters))]
        return None

    def _gold(self, text: str) -> str | None:
        for line in reversed(text.splitlines()):
            answer = self.gold.get(line.strip())
            if answer is not None:
                return answer
        return None


def _letters(text: str) -> list[str]:
    """The letters that the options of a multiple-choice question begin with."""
    marked = any(mark in text for mark in ("\nB.", "\nB)", "\nB:", "\n(B)"))
    return _LETTER_LINE.findall(text) if marked else []


class _Dice:
    """Eight numbers that depend on seed, content and choice alone."""

    __slots__ = ("_numbers",)

    def __init__(self, seed: int, content: int, choice: int) -> None:
        digest = blake2b(b"%d|%d|%d" % (seed, content, choice)).digest()
        self._numbers: tuple[int, ...] = unpack(">8Q", digest)

    def number(self, which: int) -> int:
        return self._numbers[which]

    def share(self, which: int) -> float:
        return self._numbers[which] / 2**64


def _filler(dice: _Dice, words: int) -> str:
    start = dice.number(5) % len(_WORDS)
    reel = _WORDS * (1 + (start + words) // len(_WORDS))
    return " ".join(reel[start : start + words]).capitalize() + "."


def _instance_text(schema: dict[str, Any], dice: _Dice) -> str:
    return orjson.dumps(_instance(schema, dice)).decode()


def _instance(schema: dict[str, Any], dice: _Dice) -> Any:
    """A small value that a JSON schema accepts."""
    if "enum" in schema:
        return schema["enum"][dice.number(4) % len(schema["enum"])]
    if "const" in schema:
        return schema["const"]
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return _instance(schema[union][0], dice)
    kind = schema.get("type", "object")
    if isinstance(kind, list):
        kind = kind[0]
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: _instance(properties[name], dice) for name in properties}
    if kind == "array":
        return [_instance(schema.get("items", {"type": "string"}), dice)]
    if kind in ("integer", "number"):
        least = schema.get("minimum", 1)
        span = int(schema.get("maximum", least + 9) - least) + 1
        return least + dice.number(4) % span
    return {"boolean": bool(dice.number(4) % 2), "null": None}.get(kind, _filler(dice, 4))
