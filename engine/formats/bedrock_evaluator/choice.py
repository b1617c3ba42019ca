"""Results of execution choice, as written by the Bedrock evaluator with or without prediction.

They are under ``choice`` or at the top level: ``execution_choice_summary``, ``…_counts``,
``…_config`` and ``…_results``, which has a record for each run and test case: which program was
chosen, the reply, the prediction, and what both programs return if one was chosen. Related
systems have the records under ``results``, and what the programs return only in the text that
says what was wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

import orjson

from evalbench.engine.benchmark import Item
from evalbench.engine.benchmarks.code_reasoning.common import EFFORTS
from evalbench.engine.benchmarks.code_reasoning.parsers import read_choice
from evalbench.engine.config.spec import make_spec
from evalbench.engine.data.reading import whole_of
from evalbench.engine.errors import counted
from evalbench.engine.field_checks import flag, maybe, whole
from evalbench.engine.field_checks import record as record_of
from evalbench.engine.field_checks import text as text_of
from evalbench.engine.formats.bedrock_evaluator.problems import item_of
from evalbench.engine.formats.reading import fitting, latency_of, malformed
from evalbench.engine.formats.recorded import Place, Recorded, RecordedReply, stands_for

RESULTS = "execution_choice_results"
KINDS = ("original", "mutated")

_UNKNOWN = "# what it returns is not in the imported file"
_ORDERS = ("original first", "mutant first")
_INVALID = '{"chosen_program": null}'

CONFIG = record_of(
    {},
    {
        "reasoning_effort": maybe(text_of),
        "seed": maybe(whole(-(2**63), 2**63 - 1)),
        "skip_boolean_for_reversion": maybe(flag),
        "num_generations": maybe(whole(0)),
    },
)
"""Settings with which such a file was made, as far as they are imported."""

Record = Mapping[str, Any]


@dataclass(slots=True)
class _Problem:
    """All records about one problem.

    Attributes:
        place: its index in the file's data.
        first: its first record.
        records: records by order and test case.
    """

    place: int
    first: Record
    records: dict[tuple[int, int], Record] = field(default_factory=dict)

    def add(self, record: Record) -> None:
        order = 0 if record["original_first"] else 1
        case = record.get("case_idx")
        if case is None:
            case = sum(at == order for at, _ in self.records)
        self.records[order, whole_of(case)] = record

    @property
    def cases(self) -> int:
        """Number of test cases; every order should have all."""
        counts = {order: 0 for order, _ in self.records}
        for order, _ in self.records:
            counts[order] += 1
        cases = next(iter(counts.values()))
        if len(set(counts.values())) > 1 or {case for _, case in self.records} != set(range(cases)):
            raise ValueError("its orders have different numbers of test cases")
        return cases

    def of_case(self, case: int) -> list[Record]:
        """The records about one test case, for all orders."""
        return [record for (_, at), record in self.records.items() if at == case]

    def outputs(self, case: int) -> tuple[str | None, str | None]:
        """What the original and the mutant return; None if no record says so."""
        found: dict[str, str] = {}
        for record in self.of_case(case):
            for kind in KINDS:
                if record.get(f"{kind}_output") is not None:
                    found[kind] = str(record[f"{kind}_output"])
            if (chosen := record.get("chosen_program_type")) in KINDS:
                other = KINDS[1 - KINDS.index(chosen)]
                for kind, value in zip((chosen, other), _returned(record), strict=True):
                    if value is not None:
                        found.setdefault(kind, value)
        return found.get(KINDS[0]), found.get(KINDS[1])

    def reverts(self, case: int) -> bool | None:
        """Whether the records count the test case for reversion; None if none says so."""
        verdicts = [
            one for record in self.of_case(case)
            if isinstance(one := record.get("include_reversion"), bool)
        ]  # fmt: skip
        return any(verdicts) if verdicts else None


def _returned(record: Record) -> tuple[str | None, str | None]:
    """What the chosen program and the other return, as far as the record says."""
    if record.get("expected_output") is not None:
        other = record.get("other_output")
        return str(record["expected_output"]), None if other is None else str(other)
    prediction = str(record.get("prediction") or "").strip()

    def value(equal: Any, error: Any) -> str | None:
        if equal is True:
            return prediction
        head = f"Predicted: {prediction}, Expected: "
        text = error if isinstance(error, str) else ""
        return text[len(head) :] if text.startswith(head) else None

    return (
        value(record.get("correct_for_chosen_program"), record.get("correctness_error")),
        value(record.get("reversion_for_other_program"), record.get("reversion_error")),
    )


def choices_of(whole: Any) -> Mapping[str, Any] | None:
    """The part of a file with results of execution choice; None if there is none."""
    body = whole.get("choice", whole) if isinstance(whole, dict) else None
    if not isinstance(body, dict):
        return None
    if isinstance(body.get(RESULTS), list):
        return body
    records = body.get("results")
    if not isinstance(records, list) or not any(
        isinstance(one, dict) and "chosen_program_letter" in one for one in records
    ):
        return None
    return {**body, RESULTS: records}


def stated_numbers(summary: Any) -> dict[str, Any]:
    """What a file's summary says of its data, which its records do not all contain.

    Some of the related programs count test cases where others count problems.
    """
    found = summary if isinstance(summary, dict) else {}
    counts = ("problems_evaluated", "reversion_skipped_problems")
    numbers = {name: found[name] for name in counts if type(found.get(name)) is int}
    return numbers | (
        {"dataset": found["dataset"]} if isinstance(found.get("dataset"), str) else {}
    )


def count_of(found: Any, *names: str) -> TypeGuard[Mapping[str, float]]:
    """Whether these fields of a file's counts exist and are valid."""
    return isinstance(found, dict) and all(
        isinstance(found.get(name), (int, float)) and not isinstance(found[name], bool)
        for name in names
    )


def read_choices(
    path: Path, body: Mapping[str, Any], model: str, problems: Mapping[str, Item]
) -> Recorded:
    """The run for a file's results of execution choice.

    Args:
        path: the file, for notes and errors.
        body: its part, from :func:`choices_of`.
        model: the model of these results.
        problems: programs and inputs by id, which the file does not contain.

    Raises:
        DataError: names the malformed record.
    """
    found: dict[int, _Problem] = {}
    for number, record in enumerate(body[RESULTS], 1):
        try:
            place = whole_of(record["problem_index"])
            found.setdefault(place, _Problem(place, record)).add(record)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise malformed("this is no run's result", path, number, error) from None
    notes: list[str] = []
    items = []
    index: dict[str, int] = {}
    reversion: dict[str, list[bool | None]] = {}
    unlike = unknown = 0
    for number, problem in enumerate(found.values(), 1):
        try:
            pairs = [problem.outputs(case) for case in range(problem.cases)]
            reverts = [problem.reverts(case) for case in range(problem.cases)]
            item = item_of(_as_problem(problem, pairs), problem.place, index, problems)
            replies, differing = _replies_of(problem)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise malformed("this is no problem's result", path, number, error) from None
        unknown += sum(None in pair for pair in pairs)
        unlike += differing
        index[item.inputs["id"]] = problem.place
        reversion[item.inputs["id"]] = reverts
        items.append((item, replies))
    if not problems:
        notes.append("programs and inputs are not in the file and were not given (--data)")
    if unknown:
        notes.append(
            f"what both programs return is not known of {counted(unknown, 'test case')}:"
            " no run says so"
        )
    if unlike:
        notes.append(f"{counted(unlike, 'choice')} other than what is read in the reply: it counts")
    notes.append("why a reply ended is not in the file: those that were cut off count as whole")
    shared = {
        "index": index,
        "rows": len(found),
        "left_out": 0,
        "reversion": reversion,
        "told": stated_numbers(body.get("execution_choice_summary")),
    }
    spec = _spec(path, body, found, model)
    return Recorded(spec, items, str(path), notes, shared=shared, expected=_expected(body))


def _expected(body: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """The counts in the file, by the metrics that they should match."""
    found: dict[str, tuple[float, float]] = {}
    counts = body.get("execution_choice_counts")
    if not isinstance(counts, dict):
        counts = body.get("metrics_counts")
    if not isinstance(counts, dict):
        return found
    chosen = counts.get("preference")
    if count_of(chosen, *KINDS, "total"):
        for kind in KINDS:
            found[f"preference_{kind}"] = (chosen[kind], chosen["total"])
    for name, sisters, right, reverted in (
        ("OC", "OR", "oc_correct", "or_reversion"),
        ("MC", "MR", "mc_correct", "mr_reversion"),
    ):
        one, sister = counts.get(name), counts.get(sisters)
        if count_of(one, "correct", "total"):
            found[right] = (one["correct"], one["total"])
        if count_of(one, "reversion_correct", "reversion_total"):
            found[reverted] = (one["reversion_correct"], one["reversion_total"])
        if count_of(one, "success", "total"):
            found[right] = (one["success"], one["total"])
        if count_of(sister, "success", "total"):
            found[reverted] = (sister["success"], sister["total"])
    return {f"{name}_faithful": fraction for name, fraction in found.items()}


def _spec(path: Path, body: Mapping[str, Any], found: Mapping[int, _Problem], model: str) -> Any:
    config = body.get("execution_choice_config")
    config = config if isinstance(config, dict) else body
    fitting(config, CONFIG, "the configuration is none of execution choice", path)
    swapped = any(order for problem in found.values() for order, _ in problem.records)
    left_out = any(record.get("include_reversion") is False for record in body[RESULTS])
    effort = config.get("reasoning_effort")
    return make_spec(
        "code-choice",
        stands_for(model),
        seed=config.get("seed") or 0,
        options={
            "runs": 2 if swapped else 1,
            "skip_booleans": bool(config.get("skip_boolean_for_reversion", left_out)),
            **({"reasoning": effort} if effort in EFFORTS else {}),
        },
    )


def _as_problem(
    problem: _Problem, pairs: Sequence[tuple[str | None, str | None]]
) -> dict[str, Any]:
    """The problem in the form used by execution prediction's files."""
    whole = [[_UNKNOWN if one is None else one for one in pair] for pair in pairs]
    order = next(iter(problem.records))[0]
    first = problem.first
    return {
        "problem_id": first.get("problem_id", problem.place),
        "function_name": first.get("function_name"),
        "original_output": [original for original, _ in whole],
        "mutated_output": [mutated for _, mutated in whole],
        "test_inputs": [
            str(problem.records[order, case].get("test_input")) for case in range(len(pairs))
        ],
    }


def _replies_of(problem: _Problem) -> tuple[Mapping[Place, RecordedReply], int]:
    """Every reply by its place, and how many are parsed differently than in the file."""
    replies: dict[Place, RecordedReply] = {}
    unlike = 0
    for (order, case), record in problem.records.items():
        step = _ORDERS[order] if problem.cases == 1 else f"{_ORDERS[order]}, case {case + 1}"
        text, differs = _reply(record)
        unlike += differs
        seconds = latency_of(record.get("latency_s"))
        replies["candidate", step, 0] = RecordedReply(text, latency_s=seconds)
    return replies, unlike


def _reply(record: Record) -> tuple[str, bool]:
    """A reply that is parsed as in the file, and whether that required prepending a choice."""
    letter = record["chosen_program_letter"]
    chosen = None if letter is None else (str(letter), str(record["prediction"]).strip())
    response = record.get("response")
    text = response if isinstance(response, str) else ""
    if read_choice(text) == chosen and (text or chosen is None):
        return text, False
    answer = _INVALID
    if chosen is not None:
        values = {"chosen_program": chosen[0], "assertion": chosen[1]}
        # A brace would end the object in the original's parser.
        answer = "{" + orjson.dumps(values).decode()[1:-1].replace("}", "\\u007d") + "}"
    if not text:
        return answer, False
    return f"{answer}\n\n(So it is in the file. The reply:)\n\n{text}", True
