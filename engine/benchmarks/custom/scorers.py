"""How replies are scored: what each scorer parses, and the score it gives."""

from __future__ import annotations

import json
import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from importlib.metadata import entry_points
from string import ascii_uppercase
from typing import Any

from evalbench.engine.benchmarks.code_generation.parsers import PROGRAM
from evalbench.engine.benchmarks.custom import drop
from evalbench.engine.benchmarks.mt_bench.ratings import VERDICT
from evalbench.engine.installed import install_command, missing_modules
from evalbench.engine.scoring import letters, number_words, short_answers
from evalbench.engine.scoring.choices import read_choice
from evalbench.engine.scoring.reply_text import answer_text, without_markup

FUNCTIONS = "evalbench.scorers"
"""The entry point group of functions that ``scorer = "python"`` may refer to."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """One scorer and its settings.

    Attributes:
        scorer: one of :data:`SCORERS`.
        name: the name of its results (default: the scorer's).
        weight: its weight in the mean of several.
        pattern: for ``regex``: the answer is the match of its first group.
        tolerance: for ``numeric``: the allowed relative error.
        normalize: for ``exact`` and ``regex``: what to ignore, see :data:`NORMALIZATIONS`.
        read: for ``exact``: ``first line``, ``last line`` or ``all``.
        schema: for ``json``: a JSON schema, as text.
        function: for ``python``: the name of an entry point in :data:`FUNCTIONS`.
        variant: for ``rouge``: ``rouge1``, ``rouge2`` or ``rougeL``.
        by: for ``loglikelihood``: ``letter`` or ``text`` of the options.
        seconds: for ``program``: how long it and its tests may run.
        strict: a pattern: the exact reading is the match of its first group, instead of the whole
            reply. For the scorers in :data:`STRICT_READING`.
    """

    scorer: str = "exact"
    name: str = ""
    weight: float = 1.0
    pattern: str = ""
    tolerance: float = 0.0
    normalize: tuple[str, ...] = ()
    read: str = "first line"
    schema: str = ""
    function: str = ""
    variant: str = "rougeL"
    by: str = "letter"
    seconds: float = 10.0
    strict: str = ""


@dataclass(frozen=True, slots=True)
class Read:
    """A scorer's result.

    Attributes:
        answer: the parsed answer, None if there was none.
        score: from 0 to 1.
        strict: 1 if the reply is exactly the correct answer; None if not determined.
        note: what is worth knowing about it.
    """

    answer: Any
    score: float
    strict: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Scorer:
    """A kind of scoring.

    Attributes:
        reads: the parser it uses, with its version.
        needs_target: whether each row must have a correct answer.
        graded: whether scores are between 0 and 1 rather than one of them.
        package: a library that it needs, from the extra ``scorers``.
    """

    reads: str
    needs_target: bool = True
    graded: bool = False
    package: str = ""


SCORERS: Mapping[str, Scorer] = {
    "choice": Scorer(letters.LENIENT),
    "exact": Scorer(short_answers.LENIENT),
    "contains": Scorer("contains/1"),
    "numeric": Scorer(number_words.LENIENT),
    "regex": Scorer("regex/1"),
    "math": Scorer("math-verify/1", package="math_verify"),
    "f1": Scorer("token-f1/1", graded=True),
    "drop": Scorer("drop-f1/1", graded=True),
    "rouge": Scorer("rouge/1", graded=True, package="rouge_score"),
    "bleu": Scorer("bleu/1", graded=True, package="sacrebleu"),
    "similarity": Scorer("edit-similarity/1", graded=True, package="rapidfuzz"),
    "json": Scorer("json/1", needs_target=False, package="jsonschema"),
    "tool": Scorer("tool-call/1"),
    "loglikelihood": Scorer(letters.LOGLIKELIHOOD),
    "program": Scorer(PROGRAM),
    "python": Scorer("python/1", needs_target=False, graded=True),
    "graded": Scorer(VERDICT, needs_target=False),
    "judge": Scorer("", needs_target=False, graded=True),
}
NORMALIZATIONS = ("case", "punctuation", "articles", "accents", "space", "numbers")
VOTABLE = frozenset({"choice", "exact", "numeric", "regex"})
STRICT_READING = frozenset({"choice", "exact", "numeric", "math"})
READ_BY: Mapping[str, frozenset[str]] = {
    "pattern": frozenset({"regex"}),
    "tolerance": frozenset({"numeric"}),
    "normalize": frozenset({"exact", "regex"}),
    "read": frozenset({"exact"}),
    "schema": frozenset({"json"}),
    "function": frozenset({"python"}),
    "variant": frozenset({"rouge"}),
    "by": frozenset({"loglikelihood"}),
    "strict": STRICT_READING,
}
"""The scorers that read a setting."""
_READS = ("first line", "last line", "all")
_VARIANTS = ("rouge1", "rouge2", "rougeL")


def target_problem(one: Scoring, target: str) -> str:
    """Why no reply could be right by a target; empty if one could."""
    if one.scorer == "numeric":
        return "" if _number(target) is not None else "is no number"
    if one.scorer not in ("json", "tool"):
        return ""
    value = _loaded(target)
    if value is target and target.lstrip()[:1] in ("{", "["):
        return "is no valid JSON"
    if one.scorer == "tool" and _call_of(value) is None:
        named = isinstance(value, str) and re.fullmatch(r"[^\W\d][\w.:/-]*", value.strip())
        return "" if named else "names no function"
    return ""


def missing_package(one: Scoring) -> tuple[str, str] | None:
    """What a scorer lacks, and the command that installs it; None: nothing."""
    kind = SCORERS[one.scorer]
    if kind.package and (one.scorer != "json" or one.schema) and missing_modules([kind.package]):
        package = kind.package.replace("_", "-")
        return f"{one.scorer} needs the package {package}", install_command("scorers")
    return None


def setup_problem(one: Scoring) -> tuple[str, str] | None:
    """The invalid key in a scorer's settings and what is wrong with it; None if they are valid."""
    if one.scorer == "regex":
        return _pattern_problem(one.pattern)
    if one.strict and (problem := _pattern_problem(one.strict)):
        return "strict", problem[1]
    if one.read not in _READS:
        return "read", "is one of: " + ", ".join(_READS)
    if one.variant not in _VARIANTS:
        return "variant", "is one of: " + ", ".join(_VARIANTS)
    if one.by not in ("letter", "text"):
        return "by", 'is "letter" or "text"'
    if not 0 <= one.tolerance <= 1:
        return "tolerance", "is out of range: 0 to 1"
    if not 0.1 <= one.seconds <= 3600:
        return "seconds", "is out of range: 0.1 to 3600"
    if one.scorer == "python":
        return _function_problem(one.function)
    wanted = one.schema and not missing_modules(["jsonschema"])
    return _schema_problem(one.schema) if wanted else None


def _pattern_problem(pattern: str) -> tuple[str, str] | None:
    try:
        groups = re.compile(pattern).groups if pattern else 0
    except (re.error, OverflowError, RecursionError) as error:
        return "pattern", f"the pattern is no regular expression: {error}"
    if groups:
        return None
    return "pattern", r"the pattern has no group for the answer, such as in 'Answer: (\d+)'"


def _function_problem(name: str) -> tuple[str, str] | None:
    if not name:
        return "function", f"names no entry point of the group {FUNCTIONS}"
    known = entry_points(group=FUNCTIONS).names
    if name in known:
        return None
    there = f"; there are: {', '.join(sorted(known))}" if known else "; none is installed"
    return "function", f"there is no entry point {name!r} in the group {FUNCTIONS}{there}"


def _schema_problem(schema: str) -> tuple[str, str] | None:
    from jsonschema import SchemaError
    from jsonschema.validators import validator_for

    try:
        validator_for(value := json.loads(schema)).check_schema(value)
    except (ValueError, RecursionError) as error:
        return "schema", f"is not JSON: {error}"
    except SchemaError as error:
        return "schema", f"is no JSON schema: {error.message}"
    return None


def read_reply(
    one: Scoring, reply: str, gold: Any, row: Mapping[str, Any], choices: Sequence[str] = ()
) -> Read:
    """Score a reply with any scorer that does not ask a model or match a pattern.

    Args:
        one: the scorer.
        reply: the model's text.
        gold: the correct answers; for ``choice`` the index of the correct option.
        row: the table row.
        choices: the options.
    """
    if one.scorer == "choice":
        place = read_choice(reply, choices)
        answer = None if place is None else ascii_uppercase[place]
        strict = reply.strip() == ascii_uppercase[gold]
        return Read(answer, float(place == gold), float(strict))
    accepted: list[str] = list(gold or ())
    if one.scorer == "python":
        return Read(reply.strip()[:200] or None, _called(one.function, reply, accepted, row))
    return _READERS[one.scorer](one, reply, accepted)


def strictly_right(one: Scoring, found: str | None, gold: Any) -> bool:
    """Whether the match of the ``strict`` pattern is the correct answer; None: no match."""
    if found is None:
        return False
    if one.scorer == "choice":
        return found.upper() == ascii_uppercase[gold]
    if one.scorer == "numeric":
        value = _number(found.rstrip("."))
        return value is not None and value in map(_number, gold)
    return found in gold


def vote_for(one: Scoring, answer: str) -> str:
    """What counts as the same vote: answers that the scorer does not tell apart."""
    if one.scorer in ("choice", "numeric"):
        return answer
    ignored = one.normalize or (NORMALIZATIONS if one.scorer == "exact" else ("numbers",))
    return normalized(answer, ignored)


def said_right(answer: str, accepted: Sequence[str], one: Scoring) -> bool:
    """Whether an answer is an accepted one, ignoring what ``normalize`` lists."""
    if not one.normalize:
        return answer in accepted or _same_number(answer, accepted)
    given = normalized(answer, one.normalize)
    return any(given == normalized(right, one.normalize) for right in accepted)


def normalized(text: str, names: Sequence[str]) -> str:
    """A text without what is to be ignored."""
    if "accents" in names:
        text = short_answers.without_accents(text)
    if "case" in names:
        text = text.casefold()
    if "numbers" in names and (value := _number(text)) is not None:
        from evalbench.engine.scoring.numerals import plain_digits

        return plain_digits(value)
    if "punctuation" in names:
        text = "".join(c for c in text if c not in string.punctuation + "“”‘’«»…–—")
    if "articles" in names:
        text = re.sub(r"\b(?:a|an|the)\b", " ", text, flags=re.IGNORECASE)
    if "space" in names or "articles" in names:
        text = " ".join(text.split())
    return text.strip()


def _number(text: str) -> Fraction | None:
    """The value of a text that is only a number."""
    from evalbench.engine.scoring.numbers import parse_number

    return parse_number(text)


def _same_number(answer: str, accepted: Sequence[str]) -> bool:
    """Whether both are the same number: ``70,000`` is 70000."""
    if not any(c.isdigit() for c in answer) or len(answer) > 40:
        return False
    value = _number(answer)
    return value is not None and any(
        _is_number(right) and _number(right) == value for right in accepted
    )


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-+−$€£\d.,'’\s%/]+", text) is not None


def _exact(one: Scoring, reply: str, accepted: list[str]) -> Read:
    strict = float(reply.strip() in accepted)
    if one.read == "first line":
        answer = short_answers.read_phrase(reply)
    else:
        lines = [line.strip() for line in without_markup(answer_text(reply)).splitlines()]
        lines = [line for line in lines if line]
        answer = (lines[-1] if one.read == "last line" else "\n".join(lines)) if lines else None
        answer = short_answers.read_phrase(answer) if answer and one.read == "last line" else answer
    if answer is None:
        return Read(None, 0.0, strict)
    if one.normalize:
        right = said_right(answer, accepted, one)
    else:
        right = short_answers.says(answer, accepted) or _same_number(answer, accepted)
    return Read(answer, float(right), strict)


def _contains(_: Scoring, reply: str, accepted: list[str]) -> Read:
    text = answer_text(reply)
    contained = any(short_answers.occurs(text, right) for right in accepted)
    return Read(text[:200] or None, float(contained), float(reply.strip() in accepted))


def _numeric(one: Scoring, reply: str, accepted: list[str]) -> Read:
    from evalbench.engine.scoring.numbers import read_number

    read = read_number(reply)
    strict = float(reply.strip() in accepted)
    if read is None:
        return Read(None, 0.0, strict)
    value = float(read)
    right = any(
        abs(value - float(gold)) <= max(one.tolerance, 1e-9) * abs(float(gold))
        for gold in map(_number, accepted)
        if gold is not None
    )
    return Read(read, float(right), strict)


def _f1(_: Scoring, reply: str, accepted: list[str]) -> Read:
    """The best F1 over shared words, as in SQuAD's evaluation (Rajpurkar et al. 2016)."""
    given = _words(reply)
    best = max((_overlap(given, _words(right)) for right in accepted), default=0.0)
    return Read(answer_text(reply)[:200] or None, best)


def _drop(_: Scoring, reply: str, accepted: list[str]) -> Read:
    """The best F1 by DROP's rule; the exact reading is its exact match."""
    text = drop.read_answer(answer_text(reply))
    scores = [drop.score(text, _spans(right)) for right in accepted]
    exact, f1 = max(one for one, _ in scores), max(one for _, one in scores)
    return Read(text[:200] or None, f1, exact)


def _spans(right: str) -> list[str]:
    """The parts of a correct answer: a JSON list of them, or the answer itself."""
    value = _loaded(right)
    return [str(one) for one in value] if isinstance(value, list) and value else [right]


def _words(text: str) -> list[str]:
    return normalized(answer_text(text), ("case", "punctuation", "articles", "space")).split()


def _overlap(given: list[str], right: list[str]) -> float:
    if not given or not right:
        return float(given == right)
    shared = sum((Counter(given) & Counter(right)).values())
    return 2 * shared / (len(given) + len(right))


@lru_cache
def _rouge_of(variant: str) -> Any:
    from rouge_score import rouge_scorer

    return rouge_scorer.RougeScorer([variant], use_stemmer=True)


_LONGEST = 20_000
"""Maximum words of a text that is compared by words, in time proportional to both lengths."""


def _rouge(one: Scoring, reply: str, accepted: list[str]) -> Read:
    """The best F-measure of a ROUGE variant (Lin 2004), with stemming."""
    text = answer_text(reply)[:_LONGEST]
    scorer = _rouge_of(one.variant)
    best = max(scorer.score(right, text)[one.variant].fmeasure for right in accepted)
    return Read(text[:200] or None, min(1.0, float(best)))


def _bleu(_: Scoring, reply: str, accepted: list[str]) -> Read:
    """Sentence BLEU with all right answers as references (Papineni et al. 2002), from 0 to 1."""
    import sacrebleu

    text = answer_text(reply)[:_LONGEST]
    score = sacrebleu.sentence_bleu(text, accepted).score / 100 if text else 0.0
    return Read(text[:200] or None, min(1.0, float(score)))


def _similarity(_: Scoring, reply: str, accepted: list[str]) -> Read:
    """1 minus the edit distance relative to both lengths (rapidfuzz ``ratio``), ignoring case."""
    from rapidfuzz import fuzz

    text = answer_text(reply)[:_LONGEST]
    best = max(fuzz.ratio(text.casefold(), right.casefold()) for right in accepted)
    return Read(text[:200] or None, best / 100)


def _json_of(reply: str) -> Any:
    """The JSON value in a reply: all of it, the last fenced block, or its outer braces."""
    text = answer_text(reply)
    # Every other part between fences is a block, whose first line names the language.
    blocks = [part.partition("\n")[2] for part in text.split("```")[1::2]]
    inner = text[text.find("{") : text.rfind("}") + 1]
    for part in (text, *blocks[-1:], inner):
        try:
            return json.loads(part)
        except (ValueError, RecursionError):
            continue
    return _NO_JSON


_NO_JSON = object()


def _json(one: Scoring, reply: str, accepted: list[str]) -> Read:
    """Valid JSON that conforms to the schema and equals the target, if there is one."""
    value = _json_of(reply)
    if value is _NO_JSON:
        return Read(None, 0.0)
    right = True
    if one.schema:
        from jsonschema.validators import validator_for

        schema = json.loads(one.schema)
        right = validator_for(schema)(schema).is_valid(value)
    if right and accepted:
        right = any(value == _loaded(gold) for gold in accepted)
    return Read(json.dumps(value)[:200], float(right))


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _tool(_scoring: Scoring, reply: str, accepted: list[str]) -> Read:
    """A call of the expected function; arguments must match if the target has any."""
    text = answer_text(reply)
    _before, tag, tagged = text.rpartition("<tool_call>")
    call = _call_of(_loaded(tagged.partition("</tool_call>")[0]) if tag else _json_of(reply))
    if call is None:
        return Read(None, 0.0)
    right = any(
        _same_call(call, _call_of(_loaded(gold)) or (gold.strip(), None)) for gold in accepted
    )
    return Read(f"{call[0]}({json.dumps(call[1])})"[:200], float(right))


def _call_of(value: Any) -> tuple[str, Any] | None:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return None
    value = value.get("function", value) if isinstance(value.get("function"), dict) else value
    name = value.get("name", value.get("tool"))
    arguments = value.get("arguments", value.get("parameters", value.get("args")))
    if isinstance(arguments, str):
        arguments = _loaded(arguments)
    return (name, arguments) if isinstance(name, str) else None


def _same_call(call: tuple[str, Any], right: tuple[str, Any]) -> bool:
    return call[0] == right[0] and (right[1] is None or call[1] == right[1])


_READERS: Mapping[str, Callable[[Scoring, str, list[str]], Read]] = {
    "exact": _exact,
    "contains": _contains,
    "numeric": _numeric,
    "f1": _f1,
    "drop": _drop,
    "rouge": _rouge,
    "bleu": _bleu,
    "similarity": _similarity,
    "json": _json,
    "tool": _tool,
}


@lru_cache
def _function(name: str) -> Callable[..., Any]:
    (found,) = entry_points(group=FUNCTIONS, name=name)
    function: Callable[..., Any] = found.load()
    return function


def _called(name: str, reply: str, accepted: list[str], row: Mapping[str, Any]) -> float:
    score = float(_function(name)(reply, accepted, dict(row)))
    if not 0 <= score <= 1:
        raise ValueError(f"the function {name} gave {score}, which is not from 0 to 1")
    return score
