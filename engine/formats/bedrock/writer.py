"""The Bedrock evaluator's JSON: execution prediction, choice, or both in one file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evalbench.engine.benchmark import Sample
from evalbench.engine.benchmarks.code.common import MAX_TOKENS, TEMPERATURE, CodeBenchmark
from evalbench.engine.benchmarks.code.parsers import read_choice, read_prediction
from evalbench.engine.calls import Outcome, Reply
from evalbench.engine.config.roles import CANDIDATE
from evalbench.engine.config.spec import build_benchmark
from evalbench.engine.errors import UsageError
from evalbench.engine.formats.files import Files
from evalbench.engine.runs.held import HeldRun, WholeSample, role_of

_PARTS = {"code-prediction": "prediction", "code-choice": "choice"}
_DECLINED = (Outcome.REFUSED, Outcome.FILTERED)

Said = Callable[[str, int], Reply | None]
"""The reply of a step and repeat."""


def write_all(runs: Sequence[HeldRun], files: Files) -> list[str]:
    """Put the file into ``files``; returns what it cannot hold.

    Raises:
        UsageError: there are two runs of a kind.
    """
    kinds = [_PARTS[run.spec.benchmark] for run in runs]
    if len(set(kinds)) < len(kinds):
        raise UsageError(
            "a file of the Bedrock evaluator holds one run of prediction and one of choice",
            cure="export the others apart",
        )
    whole: dict[str, Any] = {}
    notes = [note for run in runs for note in run.notes()]
    for run, kind in zip(runs, kinds, strict=True):
        benchmark = build_benchmark(run.spec, run.meta.get("shared"))
        assert isinstance(benchmark, CodeBenchmark)
        whole[kind] = (_prediction if kind == "prediction" else _choice)(run, benchmark, notes)
        if benchmark.comparing:
            notes.append(f"of the efforts that were compared, {benchmark.efforts[0]} was written")
    files.json(f"evalbench_bedrock_{runs[-1].stamp}.json", whole)
    return notes


def _about(run: HeldRun, benchmark: CodeBenchmark) -> dict[str, Any]:
    """What the parts have in common."""
    region = run.spec.provider_options.get("region")
    return {
        "model": run.candidate,
        "bedrock_model_id": run.spec.candidate.name,
        "aws_region": region,
        "config": {
            "reasoning_effort": benchmark.efforts[0],
            "skip_boolean_for_reversion": benchmark.opt["skip_booleans"],
            "seed": run.spec.get("seed"),
            "max_tokens": run.spec.get("max_tokens") or MAX_TOKENS,
            "temperature": _first(run.spec.get("temperature"), TEMPERATURE),
        },
    }


def _first(given: Any, other: Any) -> Any:
    return other if given is None else given


def _said(held: WholeSample, benchmark: CodeBenchmark) -> Said:
    effort = benchmark.efforts[0]
    found = {
        (call.key.step, call.key.repeat): call.reply
        for call in held.answers(0)
        if role_of(call) == CANDIDATE
    }
    return lambda step, repeat: found.get((benchmark.named(step, effort), repeat))


def _problem(benchmark: CodeBenchmark, sample: Sample) -> dict[str, Any]:
    place = benchmark.shared["index"][sample.inputs["id"]]
    calls = sample.inputs["calls"]
    return {
        "problem_index": place,
        "problem_id": sample.inputs["id"],
        "function_name": str(calls[0]).partition("(")[0] if calls else "",
    }


def _counts(run: HeldRun, name: str) -> dict[str, float]:
    metric: Mapping[str, Any] = run.metrics.get(name) or {"k": 0, "n": 0}
    return {"success": round(metric["k"], 6), "total": metric["n"]}


def _whole(held: WholeSample) -> bool:
    """Whether every question of the problem has an answer."""
    score = held.scores.get(0)
    return score is not None and score.outcome is not Outcome.ERROR


def _missing(notes: list[str], number: int) -> None:
    if number:
        notes.append(f"{number} problems without all answers stand as skipped")


# -- prediction ---------------------------------------------------------------------


def _prediction(run: HeldRun, benchmark: CodeBenchmark, notes: list[str]) -> dict[str, Any]:
    generations = benchmark.opt["generations"]
    results = []
    skipped = 0
    for held in run.walk():
        sample = held.sample
        result = _problem(benchmark, sample)
        if sample.inputs["mutant"] is None or not _whole(held):
            skipped += 1
            results.append(result | {"skipped": True, "skip_reason": "not all answers are there"})
            continue
        results.append(result | _generations(held, benchmark, generations))
    _missing(notes, skipped)
    effort = benchmark.efforts[0]
    counts = {
        name: _counts(run, benchmark.named(f"{name.lower()}_faithful", effort))
        for name in ("OC", "OR", "MC", "MR")
    }
    rates = {name: _rate(one["success"], one["total"]) for name, one in counts.items()}
    seconds = run.metrics.get(benchmark.named("seconds", effort)) or {}
    about = _about(run, benchmark)
    about["config"] |= {"num_generations": generations, "num_problems": len(results)}
    return {
        **about,
        "metrics_summary": rates,
        "metrics_counts": counts,
        "benchmark_summary": {
            **{f"{name.lower()}_pass_at_1": rate for name, rate in rates.items()},
            "problems_evaluated": len(results) - skipped,
            "generations_per_problem": generations,
            "avg_latency_s": seconds.get("value"),
        },
        "results": results,
    }


def _rate(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _generations(held: WholeSample, benchmark: CodeBenchmark, count: int) -> dict[str, Any]:
    sample, said = held.sample, _said(held, benchmark)
    calls = sample.inputs["calls"]
    several = len(calls) > 1
    values = held.scores[0].values
    effort = benchmark.efforts[0]

    def successes(name: str) -> int | None:
        value = values.get(benchmark.named(f"{name}_faithful", effort))
        return None if value is None else round(value * count)

    def generation(program: str, number: int) -> dict[str, Any]:
        cases = []
        for case, call in enumerate(calls, 1):
            step = f"{program}, case {case}" if several else program
            cases.append({"test_input": call, **_predicted(said(step, number))})
        return {"generation_index": number, **({"testcases": cases} if several else cases[0])}

    return {
        "difficulty": sample.tags.get("difficulty"),
        "has_mutation": True,
        "include_reversion": benchmark.reverts(sample),
        "original_output": _one_or_all(sample.gold["original"]),
        "mutated_output": _one_or_all(sample.gold["mutated"]),
        "test_inputs": list(calls),
        **{f"{name}_successes": successes(name) for name in ("oc", "or", "mc", "mr")},
        "original_predictions": [generation("original", number) for number in range(count)],
        "mutated_predictions": [generation("mutated", number) for number in range(count)],
    }


def _one_or_all(outputs: Sequence[str]) -> Any:
    return list(outputs) if len(outputs) > 1 else outputs[0]


def _predicted(reply: Reply | None) -> dict[str, Any]:
    if reply is None or reply.outcome in _DECLINED:
        return {"prediction": None, "response": None, "latency_s": reply.latency_s if reply else 0}
    return {
        "prediction": read_prediction(reply.text),
        "response": reply.text,
        "latency_s": reply.latency_s,
    }


# -- choice -------------------------------------------------------------------------


def _choice(run: HeldRun, benchmark: CodeBenchmark, notes: list[str]) -> dict[str, Any]:
    records: list[dict[str, Any]] = []
    skipped = 0
    for held in run.walk():
        if _whole(held):
            records += _records(held, benchmark)
        else:
            skipped += 1
    _missing(notes, skipped)

    def count(name: str) -> dict[str, float]:
        return _counts(run, benchmark.named(f"{name}_faithful", benchmark.efforts[0]))

    chosen = {kind: count(f"preference_{kind}") for kind in ("original", "mutated")}
    counts: dict[str, Any] = {
        "preference": {
            **{kind: one["success"] for kind, one in chosen.items()},
            "total": chosen["original"]["total"],
        },
        "invalid_runs": count("invalid_runs")["success"],
    }
    summary = {f"preference_{k}": _rate(o["success"], o["total"]) for k, o in chosen.items()}
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
        summary[correct] = _rate(right["success"], right["total"])
        summary[reversion] = _rate(reverted["success"], reverted["total"])
    about = _about(run, benchmark)
    config = about.pop("config") | {"runs_per_problem": benchmark.opt["runs"]}
    return {
        **about,
        "execution_choice_config": config,
        "execution_choice_summary": summary,
        "execution_choice_counts": counts,
        "execution_choice_results": records,
    }


def _records(held: WholeSample, benchmark: CodeBenchmark) -> list[dict[str, Any]]:
    sample, said = held.sample, _said(held, benchmark)
    calls = sample.inputs["calls"]
    records = []
    for order, name in enumerate(("original first", "mutant first")[: benchmark.opt["runs"]]):
        for case, call in enumerate(calls):
            step = f"{name}, case {case + 1}" if len(calls) > 1 else name
            reply = said(step, 0)
            record = {
                **_problem(benchmark, sample),
                "run_index": order,
                "original_first": order == 0,
                "test_input": call,
                "include_reversion": benchmark.reverts(sample),
                "latency_s": reply.latency_s if reply else 0,
                **_chosen(sample, order, case, reply),
            }
            records.append(record)
    return records


def _chosen(sample: Sample, order: int, case: int, reply: Reply | None) -> dict[str, Any]:
    declined = reply is None or reply.outcome in _DECLINED
    text = "" if reply is None or declined else reply.text
    choice = read_choice(text)
    told = {"response": text, "chosen_program_letter": None, "chosen_program_type": None}
    if choice is None:
        return told | {"prediction": None}
    original = (choice.program == "A") == (order == 0)
    kinds = ("original", "mutated") if original else ("mutated", "original")
    return told | {
        "chosen_program_letter": choice.program,
        "chosen_program_type": kinds[0],
        "prediction": choice.value,
        "expected_output": sample.gold[kinds[0]][case],
        "other_output": sample.gold[kinds[1]][case],
    }
