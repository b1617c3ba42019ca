"""Result files of execution prediction and choice, from the Bedrock evaluator and related systems.

Those of prediction are one JSON object, or contain it under ``prediction``: ``metrics_counts``,
``benchmark_summary`` and ``results``, where every problem has both programs' outputs and, for
both, the list of generations with prediction and reply. Those of choice, alone or in the same
file, are read by ``choice``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalbench.engine.benchmark import Item
from evalbench.engine.benchmarks.code_reasoning.common import EFFORTS
from evalbench.engine.benchmarks.code_reasoning.parsers import read_prediction
from evalbench.engine.config.spec import make_spec
from evalbench.engine.data.reading import read_json, whole_of
from evalbench.engine.errors import DataError, counted
from evalbench.engine.formats.bedrock_evaluator.choice import (
    CONFIG,
    RESULTS,
    choices_of,
    count_of,
    read_choices,
    stated_numbers,
)
from evalbench.engine.formats.bedrock_evaluator.problems import PROGRAMS, item_of, read_programs
from evalbench.engine.formats.reading import fitting, latency_of, malformed
from evalbench.engine.formats.recorded import Place, Recorded, RecordedReply, stands_for

MOST_GENERATIONS = 10_000


def read_results(path: Path, data: Path | None) -> list[Recorded]:
    """The runs in one result file: of prediction, of choice, or one of each.

    Args:
        path: the file.
        data: the problems, which the file does not contain: their programs and calls are shown
            with the answers, but not used for scoring.

    Raises:
        DataError: a file is invalid, or a problem is malformed.
    """
    whole = read_json(path)
    body = whole.get("prediction", whole) if isinstance(whole, dict) else None
    choices = choices_of(whole)
    results = body.get("results") if isinstance(body, dict) else None
    if not isinstance(results, list) or (choices and choices[RESULTS] is results):
        body = None
    if body is None and choices is None:
        counts = isinstance(whole, dict) and any("counts" in name for name in whole)
        raise DataError(
            "there are no results of execution prediction or choice in it",
            path=str(path),
            why="it has counts only, and no answers"
            if counts
            else f"looked for results and {RESULTS}, alone or under prediction and choice",
        )
    problems = read_programs(data)
    runs = [_predictions(path, body, problems)] if body is not None else []
    if choices is not None:
        named = next((one for one in (choices, body, whole) if one and _named(one)), {})
        runs.append(read_choices(path, choices, _model(named, path), problems))
    return runs


def _predictions(path: Path, body: Mapping[str, Any], problems: Mapping[str, Item]) -> Recorded:
    config = body["config"] if isinstance(body.get("config"), dict) else body
    fitting(config, CONFIG, "the configuration is none of execution prediction", path)
    notes = []
    items = []
    index: dict[str, int] = {}
    reversion: dict[str, list[bool]] = {}
    generations = _generations(body, config)
    left_out = alike = unlike = 0
    for number, problem in enumerate(body["results"], 1):
        try:
            if problem.get("skipped"):
                left_out += 1
                continue
            place = whole_of(problem.get("problem_index", number - 1))
            item = item_of(problem, place, index, problems)
            replies, differing = _replies_of(problem, len(item.inputs["calls"]), generations)
        except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
            raise malformed("this is no problem's result", path, number, error) from None
        index[item.inputs["id"]] = place
        if isinstance(told_so := problem.get("include_reversion"), bool):
            reversion[item.inputs["id"]] = [told_so] * len(item.inputs["calls"])
        alike += problem.get("has_mutation") is False
        unlike += differing
        items.append((item, replies))
    if not problems:
        notes.append("programs and inputs are not in the file and were not given (--data)")
    if alike:
        notes.append(f"{counted(alike, 'problem')} without a mutant: the original was asked twice")
    if unlike:
        notes.append(
            f"{counted(unlike, 'prediction')} other than what is read in the reply: it counts"
        )
    notes.append("why a reply ended is not in the file: those that were cut off count as whole")
    effort = config.get("reasoning_effort")
    spec = make_spec(
        "code-prediction",
        stands_for(_model(body, path)),
        seed=config.get("seed") or 0,
        options={
            "generations": generations,
            "skip_booleans": bool(config.get("skip_boolean_for_reversion")),
            **({"reasoning": effort} if effort in EFFORTS else {}),
        },
    )
    rows = len(body["results"])
    shared = {
        "index": index,
        "rows": rows,
        "left_out": left_out,
        "reversion": reversion,
        "told": stated_numbers(body.get("benchmark_summary")),
    }
    return Recorded(spec, items, str(path), notes, shared=shared, expected=_expected(body))


def _expected(body: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """The counts in the file, by the metrics that they should match."""
    counts = body.get("metrics_counts")
    return {
        f"{name.lower()}_faithful": (one["success"], one["total"])
        for name, one in (counts.items() if isinstance(counts, dict) else ())
        if name in ("OC", "OR", "MC", "MR") and count_of(one, "success", "total")
    }


def _named(body: Mapping[str, Any]) -> bool:
    return bool(body.get("bedrock_model_id") or body.get("model"))


def _model(body: Mapping[str, Any], path: Path) -> str:
    """The model's id: the name next to it is a fixed text in the original."""
    ident = str(body.get("bedrock_model_id") or "")
    return ident.rpartition("/")[2] or str(body.get("model") or path.stem)


def _generations(body: Mapping[str, Any], config: Mapping[str, Any]) -> int:
    summary = body.get("benchmark_summary")
    stated = summary.get("generations_per_problem") if isinstance(summary, dict) else None
    for given in (stated, config.get("num_generations")):
        if isinstance(given, int) and 0 < given <= MOST_GENERATIONS:
            return given
    return 1


def _replies_of(
    problem: Mapping[str, Any], cases: int, generations: int
) -> tuple[Mapping[Place, RecordedReply], int]:
    """Every reply by its place, and how many are parsed differently than in the file."""
    replies: dict[Place, RecordedReply] = {}
    unlike = 0
    for program in PROGRAMS:
        given = problem[f"{program}_predictions"]
        if len(given) != generations:
            raise ValueError(f"it has {len(given)} of {generations} generations")
        for generation, one in enumerate(given):
            parts: Sequence[Any] = one.get("testcases", [one])
            if len(parts) != cases:
                raise ValueError(f"a generation has {len(parts)} of {cases} test cases")
            for case, part in enumerate(parts, 1):
                step = program if cases == 1 else f"{program}, case {case}"
                reply, differs = _reply(part)
                unlike += differs
                seconds = latency_of(part.get("latency_s"))
                replies["candidate", step, generation] = RecordedReply(reply, latency_s=seconds)
    return replies, unlike


def _reply(part: Mapping[str, Any]) -> tuple[str, bool]:
    """A reply that is parsed as in the file, and whether that required prepending a prediction."""
    prediction, response = part["prediction"], part.get("response")
    answer = None if prediction is None else str(prediction)
    if not isinstance(response, str):
        return f"[ANSWER]{answer or ''}[/ANSWER]", False
    if answer is None or read_prediction(response) == answer.strip():
        return response, False
    return f"[ANSWER]{answer}[/ANSWER]\n\n(So it is in the file. The reply:)\n\n{response}", True
