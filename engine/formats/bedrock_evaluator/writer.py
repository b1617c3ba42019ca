"""The Bedrock evaluator's JSON: execution prediction, choice, or both in one file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evalbench.engine.benchmark import Sample
from evalbench.engine.benchmarks.code_reasoning.choice import CodeChoice
from evalbench.engine.benchmarks.code_reasoning.common import MAX_TOKENS, TEMPERATURE, CodeBenchmark
from evalbench.engine.benchmarks.code_reasoning.parsers import (
    is_right,
    read_choice,
    read_prediction,
)
from evalbench.engine.benchmarks.code_reasoning.prediction import CodePrediction
from evalbench.engine.calls import Outcome, Reply
from evalbench.engine.config.roles import CANDIDATE
from evalbench.engine.config.spec import build_benchmark
from evalbench.engine.errors import UsageError
from evalbench.engine.formats.files import Files
from evalbench.engine.runs.reader import RunReader, SampleRecord, role_of

_PARTS = {"code-prediction": "prediction", "code-choice": "choice"}
_DECLINED = (Outcome.REFUSED, Outcome.FILTERED)

Said = Callable[[str, int], Reply | None]
"""The reply of a step and repeat."""


def write_all(runs: Sequence[RunReader], files: Files) -> list[str]:
    """Add the file to ``files``; returns what it cannot contain.

    Raises:
        UsageError: there are two runs of the same kind.
    """
    kinds = [_PARTS[run.spec.benchmark] for run in runs]
    if len(set(kinds)) < len(kinds):
        raise UsageError(
            "a file of the Bedrock evaluator holds one run of prediction and one of choice",
            hint="export the others apart",
        )
    whole: dict[str, Any] = {}
    notes = [note for run in runs for note in run.notes()]
    for run, kind in zip(runs, kinds, strict=True):
        benchmark = build_benchmark(run.spec, run.meta.get("shared"))
        if isinstance(benchmark, CodePrediction):
            whole[kind] = _prediction(run, benchmark, notes)
        else:
            assert isinstance(benchmark, CodeChoice)
            whole[kind] = _choice(run, benchmark, notes)
        if benchmark.comparing:
            notes.append(f"of the efforts that were compared, {benchmark.efforts[0]} was written")
    files.json(f"evalbench_bedrock_{runs[-1].stamp}.json", whole)
    return notes


def _about(run: RunReader) -> dict[str, Any]:
    """The model of the results."""
    return {
        "model": run.candidate,
        "bedrock_model_id": run.spec.candidate.name,
        "aws_region": run.spec.provider_options.get("region"),
    }


def _config(run: RunReader, benchmark: CodeBenchmark, problems: int) -> dict[str, Any]:
    """The settings of the run, under the original's names."""
    asked = run.spec.settings.candidate.params
    return {
        "num_problems": problems,
        "start_index": benchmark.opt.start_index,
        "reasoning_effort": benchmark.efforts[0],
        "max_new_tokens": asked.max_tokens or MAX_TOKENS,
        "temperature": _first(asked.temperature, TEMPERATURE),
        "top_p": asked.top_p,
        "skip_boolean_for_reversion": benchmark.opt.skip_booleans,
        "seed": run.spec.settings.seed,
        "enable_thinking": bool(asked.thinking_budget),
        "thinking_budget_tokens": asked.thinking_budget,
        "latency": run.spec.provider_options.get("latency"),
    }


def _first(given: Any, other: Any) -> Any:
    return other if given is None else given


def _said(record: SampleRecord, benchmark: CodeBenchmark) -> Said:
    effort = benchmark.efforts[0]
    found = {
        (call.key.step, call.key.repeat): call.reply
        for call in record.answers(0)
        if role_of(call) == CANDIDATE
    }
    return lambda step, repeat: found.get((benchmark.value_name(step, effort), repeat))


def _problem(benchmark: CodeBenchmark, sample: Sample) -> dict[str, Any]:
    place = benchmark.shared["index"][sample.inputs["id"]]
    calls = sample.inputs["calls"]
    return {
        "problem_index": place,
        "problem_id": sample.inputs["id"],
        "function_name": str(calls[0]).partition("(")[0] if calls else "",
    }


def _counts(run: RunReader, name: str) -> dict[str, float]:
    """Numerator and denominator of a metric."""
    metric: Mapping[str, Any] = run.metrics.get(name) or {"k": 0, "n": 0}
    return {"success": _whole_number(metric["k"]), "total": _whole_number(metric["n"])}


def _whole_number(count: float) -> float:
    """A count as an integer."""
    near = round(count)
    return near if abs(count - near) < 1e-6 else count


def _whole(record: SampleRecord) -> bool:
    """Whether every question of the problem has an answer."""
    score = record.scores.get(0)
    return score is not None and score.outcome is not Outcome.ERROR


def _stored_summary(benchmark: CodeBenchmark) -> Mapping[str, Any]:
    """What the summary of an imported file says of its data."""
    summary: Mapping[str, Any] = (benchmark.shared or {}).get("told", {})
    return summary


def _missing(notes: list[str], number: int) -> None:
    if number:
        notes.append(f"{number} problems without all answers stand as skipped")


# -- prediction ---------------------------------------------------------------------


def _prediction(run: RunReader, benchmark: CodePrediction, notes: list[str]) -> dict[str, Any]:
    generations = benchmark.opt.generations
    results = []
    skipped = unreverted = 0
    for record in run.walk():
        sample = record.sample
        result = _problem(benchmark, sample)
        if sample.inputs["mutant"] is None or not _whole(record):
            skipped += 1
            results.append(result | {"skipped": True, "skip_reason": "not all answers are there"})
            continue
        unreverted += not benchmark.reverts(sample)
        results.append(result | _generations(record, benchmark, generations))
    _missing(notes, skipped)
    effort = benchmark.efforts[0]
    counts = {
        name: _counts(run, benchmark.value_name(f"{name.lower()}_faithful", effort))
        for name in ("OC", "OR", "MC", "MR")
    }
    rates = {name: _rate(one["success"], one["total"]) for name, one in counts.items()}
    return {
        **_about(run),
        "config": {**_config(run, benchmark, len(results)), "num_generations": generations},
        "metrics_summary": rates,
        "metrics_counts": counts,
        "benchmark_summary": {
            "dataset": run.origin,
            "problems_evaluated": len(results) - skipped,
            "generations_per_problem": generations,
            **{f"{name.lower()}_pass_at_1": rate for name, rate in rates.items()},
            "avg_latency_s": _latency(run, benchmark),
            "reversion_skipped_problems": unreverted,
            **_stored_summary(benchmark),
        },
        "results": results,
    }


def _rate(part: float, whole: float) -> float | None:
    """As in the original: None if the denominator is zero."""
    return part / whole if whole else None


def _latency(run: RunReader, benchmark: CodeBenchmark) -> float | None:
    seconds = run.metrics.get(benchmark.value_name("seconds", benchmark.efforts[0])) or {}
    return seconds.get("value")


def _generations(record: SampleRecord, benchmark: CodeBenchmark, count: int) -> dict[str, Any]:
    sample, reply_to = record.sample, _said(record, benchmark)
    calls, gold = sample.inputs["calls"], sample.gold
    reverts = benchmark.reverts(sample)
    successes: Counter[str] = Counter()

    def generation(program: str, number: int) -> dict[str, Any]:
        other = "mutated" if program == "original" else "original"
        cases = []
        for case, call in enumerate(calls, 1):
            step = f"{program}, case {case}" if len(calls) > 1 else program
            cases.append(
                {
                    "test_input": call,
                    "expected_output": gold[program][case - 1],
                    f"{other}_expected_output": gold[other][case - 1],
                    **_predicted(reply_to(step, number)),
                }
            )
        right, reverted = (_all_are(cases, gold[name]) for name in (program, other))
        successes[f"{program[0]}c"] += right
        successes[f"{program[0]}r"] += reverted
        return {
            "generation_index": number,
            "testcases": cases,
            "all_correct": right,
            "all_reversion": reverted if reverts else None,
        }

    predictions = {
        f"{program}_predictions": [generation(program, number) for number in range(count)]
        for program in ("original", "mutated")
    }
    return {
        "difficulty": sample.tags.get("difficulty"),
        "has_mutation": True,
        "include_reversion": reverts,
        "original_output": list(gold["original"]),
        "mutated_output": list(gold["mutated"]),
        "test_inputs": list(calls),
        **{
            f"{name}_successes": successes[name] if reverts or name[1] == "c" else None
            for name in ("oc", "or", "mc", "mr")
        },
        **predictions,
    }


def _all_are(cases: Sequence[Mapping[str, Any]], outputs: Sequence[str]) -> bool:
    """Whether all predictions match these outputs, by the original's comparison."""
    return all(
        case["prediction"] is not None and is_right(case["prediction"], output)
        for case, output in zip(cases, outputs, strict=True)
    )


def _predicted(reply: Reply | None) -> dict[str, Any]:
    if reply is None or reply.outcome in _DECLINED:
        return {"prediction": None, "response": None, "latency_s": reply.latency_s if reply else 0}
    return {
        "prediction": read_prediction(reply.text),
        "response": reply.text,
        "latency_s": reply.latency_s,
    }


# -- choice -------------------------------------------------------------------------


def _choice(run: RunReader, benchmark: CodeChoice, notes: list[str]) -> dict[str, Any]:
    records: list[dict[str, Any]] = []
    problems = skipped = unreverted = 0
    for record in run.walk():
        if _whole(record):
            problems += 1
            unreverted += not benchmark.reverts(record.sample)
            records += _records(record, benchmark)
        else:
            skipped += 1
    _missing(notes, skipped)

    def count(name: str) -> dict[str, float]:
        return _counts(run, benchmark.value_name(f"{name}_faithful", benchmark.efforts[0]))

    chosen = {kind: count(f"preference_{kind}") for kind in ("original", "mutated")}
    invalid = count("invalid_runs")["success"]
    counts: dict[str, Any] = {
        "preference": {
            **{kind: one["success"] for kind, one in chosen.items()},
            "total": chosen["original"]["total"],
        }
    }
    rates = {f"preference_{k}": _rate(o["success"], o["total"]) for k, o in chosen.items()}
    for name, correct, reversion in (
        ("OC", "oc_correct", "or_reversion"),
        ("MC", "mc_correct", "mr_reversion"),
    ):
        right, reverted = count(correct), count(reversion)
        counts[name] = {
            "correct": right["success"],
            "total": right["total"],
            "reversion_correct": reverted["success"],
            "reversion_total": reverted["total"],
        }
        rates[correct] = _rate(right["success"], right["total"])
        rates[reversion] = _rate(reverted["success"], reverted["total"])
    runs = benchmark.opt.runs
    return {
        **_about(run),
        "execution_choice_config": {
            **_config(run, benchmark, problems),
            "runs_per_problem": runs,
        },
        "execution_choice_summary": {
            "dataset": run.origin,
            "problems_evaluated": problems,
            "runs_per_problem": runs,
            **rates,
            "avg_latency_s": _latency(run, benchmark),
            "invalid_runs": invalid,
            "reversion_skipped_problems": unreverted,
            **_stored_summary(benchmark),
        },
        "execution_choice_counts": {**counts, "invalid_runs": invalid},
        "execution_choice_results": records,
    }


def _records(walked: SampleRecord, benchmark: CodeChoice) -> list[dict[str, Any]]:
    sample, reply_to = walked.sample, _said(walked, benchmark)
    calls = sample.inputs["calls"]
    records = []
    for order, name in enumerate(("original first", "mutant first")[: benchmark.opt.runs]):
        for case, call in enumerate(calls):
            step = f"{name}, case {case + 1}" if len(calls) > 1 else name
            reply = reply_to(step, 0)
            reverts = benchmark.reverts(sample, case)
            record = {
                **_problem(benchmark, sample),
                "run_index": order,
                "original_first": order == 0,
                "test_input": call,
                "include_reversion": reverts,
                "latency_s": reply.latency_s if reply else 0,
                # Not in the original's files, which record these only for valid runs.
                **{f"{kind}_output": outputs[case] for kind, outputs in sample.gold.items()},
                **_chosen(sample, order, case, reply, reverts=reverts),
            }
            records.append(record)
    return records


def _chosen(
    sample: Sample, order: int, case: int, reply: Reply | None, *, reverts: bool
) -> dict[str, Any]:
    declined = reply is None or reply.outcome in _DECLINED
    text = "" if reply is None or declined else reply.text
    choice = read_choice(text)
    fields = {
        "response": text,
        "chosen_program_letter": None,
        "chosen_program_type": None,
        "prediction": None,
        "correct_for_chosen_program": None,
        "reversion_for_other_program": None,
    }
    if choice is None:
        return fields
    original = (choice.program == "A") == (order == 0)
    kinds = ("original", "mutated") if original else ("mutated", "original")
    expected, other = (sample.gold[kind][case] for kind in kinds)
    return fields | {
        "chosen_program_letter": choice.program,
        "chosen_program_type": kinds[0],
        "prediction": choice.value,
        "expected_output": expected,
        "other_output": other,
        "correct_for_chosen_program": is_right(choice.value, expected),
        "reversion_for_other_program": is_right(choice.value, other) if reverts else None,
    }
