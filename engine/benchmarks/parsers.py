"""All reply parsers by name: the faithful and the lenient one for each kind of reply.

A faithful parser does what the original system's code does, bugs included; a lenient one reads
what a person would read. docs/parsers.md explains the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from evalbench.engine.benchmarks.code_reasoning import lenient as executions_lenient
from evalbench.engine.benchmarks.code_reasoning import parsers as executions
from evalbench.engine.benchmarks.mt_bench import ratings as judge_ratings
from evalbench.engine.benchmarks.spec_adherence import compliance_parsers as spec_compliance
from evalbench.engine.benchmarks.spec_adherence import ranking_parsers as spec_ranking
from evalbench.engine.errors import UsageError, nearest
from evalbench.engine.scoring import chosen_option as options
from evalbench.engine.scoring import letters, letters_lenient
from evalbench.engine.scoring.literals import equal, strictly_equal

Read = Callable[[str, Sequence[str]], Any]
"""From a reply and its options (maybe none) to a JSON value."""
Agrees = Callable[[Any, Any], bool]
"""Whether the parsed value matches the expected one; neither is None."""


@dataclass(frozen=True, slots=True)
class Parser:
    """One of the two parsers for a kind of reply.

    Attributes:
        version: its name with a number that changes whenever a reply could be parsed differently.
        read: parses a reply; None if there is nothing to parse. Never raises.
        agrees: compares the parsed value with the expected one.
    """

    version: str
    read: Read
    agrees: Agrees

    def is_right(self, value: Any, expected: Any) -> bool:
        """Whether a value was parsed and matches the expected one (not None)."""
        return value is not None and self.agrees(value, expected)


@dataclass(frozen=True, slots=True)
class ReplyKind:
    """A kind of reply and its two parsers.

    Attributes:
        name: as given to ``evalbench parse``.
        reads: what is parsed, for display.
        expects: possible expected values, for display.
        accepts: whether a value is a valid expected value.
    """

    name: str
    reads: str
    expects: str
    accepts: Callable[[Any], bool]
    faithful: Parser
    lenient: Parser


def kind(name: str) -> ReplyKind:
    """The kind with this name.

    Raises:
        UsageError: there is none.
    """
    try:
        return KINDS[name]
    except KeyError:
        raise UsageError(
            f"there is no parser {name!r}", hint=nearest(name, KINDS) or "evalbench parse --help"
        ) from None


def _letter(read: Callable[[str, int], int | None]) -> Read:
    return lambda reply, choices: read(reply, len(choices) or 4)


def _is_letter(value: Any) -> bool:
    return _is_whole(value) or (
        isinstance(value, str) and len(value) == 1 and value in letters.LETTERS
    )


def _same_letter(index: int, expected: Any) -> bool:
    return index == (letters.LETTERS.index(expected) if isinstance(expected, str) else expected)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return _is_whole(value) or isinstance(value, float)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _same(value: Any, expected: Any) -> bool:
    return bool(value == expected)


def _plain(read: Callable[[str], Any]) -> Read:
    return lambda reply, _: read(reply)


def _is_verdict(value: Any) -> bool:
    return value in spec_ranking.SCORES if isinstance(value, str) else value in (1, 0, -1)


def _same_rank(rank: int, expected: Any) -> bool:
    return rank == (spec_ranking.SCORES[expected] if isinstance(expected, str) else expected)


def _same_verdict(verdict: str, expected: Any) -> bool:
    if isinstance(expected, str):
        return verdict == expected
    return bool(spec_ranking.SCORES[verdict] == expected)


def _compliance(read: Callable[[str], spec_compliance.Compliance]) -> Read:
    def as_json(reply: str, _: Sequence[str]) -> dict[str, Any]:
        found = read(reply)
        return {"compliant": found.compliant, "confidence": found.confidence}

    return as_json


def _is_compliance(value: Any) -> bool:
    if isinstance(value, dict):
        return "compliant" in value and (
            value["compliant"] is None or _is_compliance(value["compliant"])
        )
    return isinstance(value, bool)


def _same_compliance(found: dict[str, Any], expected: Any) -> bool:
    wanted = expected["compliant"] if isinstance(expected, dict) else expected
    return bool(found["compliant"] is wanted)


def _choice(read: Callable[[str], executions.Choice | None]) -> Read:
    def as_json(reply: str, _: Sequence[str]) -> list[str] | None:
        found = read(reply)
        return None if found is None else list(found)

    return as_json


def _is_choice(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_text, value))


def _same_choice(same_value: Callable[[str, str], bool]) -> Agrees:
    return lambda found, expected: found[0] == expected[0] and same_value(found[1], expected[1])


KINDS: dict[str, ReplyKind] = {
    entry.name: entry
    for entry in (
        ReplyKind(
            "mmlu-letter",
            "the index of an option, 0 for A",
            "an index or a capital letter",
            _is_letter,
            Parser(letters.STRICT, _letter(letters.read_strict), _same_letter),
            Parser(letters.LENIENT, _letter(letters_lenient.read_lenient), _same_letter),
        ),
        ReplyKind(
            "mt-bench-single",
            "a judge's rating",
            "a number",
            _is_number,
            Parser(judge_ratings.RATING, _plain(judge_ratings.read_rating), _same),
            Parser(judge_ratings.RATING_LENIENT, _plain(judge_ratings.read_rating_lenient), _same),
        ),
        ReplyKind(
            "mt-bench-pair",
            "a judge's verdict on two answers: A, B or tie",
            "A, B or tie",
            lambda value: value in ("A", "B", "tie"),
            Parser(judge_ratings.WINNER, _plain(judge_ratings.read_winner), _same),
            Parser(judge_ratings.WINNER_LENIENT, _plain(judge_ratings.read_winner_lenient), _same),
        ),
        ReplyKind(
            "speceval-ranking",
            "a judge's ranking: 1, -1 or 0; lenient a, b, equal, n/a or unsure",
            "1, -1, 0, a, b, equal, n/a or unsure",
            _is_verdict,
            Parser(spec_ranking.RANKING, _plain(spec_ranking.read_rank), _same_rank),
            Parser(spec_ranking.RANKING_LENIENT, _plain(spec_ranking.read_verdict), _same_verdict),
        ),
        ReplyKind(
            "speceval-compliance",
            "a judge's decision: compliant and confidence",
            "true or false, or an object with compliant",
            _is_compliance,
            Parser(
                spec_compliance.COMPLIANCE,
                _compliance(spec_compliance.read_compliance),
                _same_compliance,
            ),
            Parser(
                spec_compliance.COMPLIANCE_LENIENT,
                _compliance(spec_compliance.read_compliance_lenient),
                _same_compliance,
            ),
        ),
        ReplyKind(
            "execution-prediction",
            "the predicted output of a program, as source text",
            "the right output, as source text",
            _is_text,
            Parser(executions.PREDICTION, _plain(executions.read_prediction), equal),
            Parser(
                executions_lenient.PREDICTION_LENIENT,
                _plain(executions_lenient.read_prediction_lenient),
                strictly_equal,
            ),
        ),
        ReplyKind(
            "execution-choice",
            "the chosen program and its predicted output",
            'a list such as ["A", "3"]',
            _is_choice,
            Parser(executions.CHOICE, _choice(executions.read_choice), _same_choice(equal)),
            Parser(
                executions_lenient.CHOICE_LENIENT,
                _choice(executions_lenient.read_choice_lenient),
                _same_choice(strictly_equal),
            ),
        ),
        ReplyKind(
            "openseesime",
            "the chosen option",
            "the right option",
            _is_text,
            Parser(options.OPTION, options.read_option, options.is_right),
            Parser(options.OPTION_LENIENT, options.read_option_lenient, options.is_right),
        ),
    )
}
