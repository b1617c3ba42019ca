"""spec-rank: whose answers follow a specification better? (arXiv 2509.02464)"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

from evalbench.engine.benchmark import (
    Ask,
    Benchmark,
    DataSet,
    DataSource,
    Item,
    Sample,
    Score,
    ask_judges,
    failed_judgements,
    judge_name,
    unread_judgements,
)
from evalbench.engine.benchmarks.spec_adherence import data, prompts
from evalbench.engine.benchmarks.spec_adherence.comply import ANSWERS, NoAnswer
from evalbench.engine.benchmarks.spec_adherence.generate import (
    FILTERS,
    RESULTS_DIR,
    RESULTS_FORMAT,
    SOURCE,
    SPEC_NAME,
    specification,
)
from evalbench.engine.benchmarks.spec_adherence.ranking_parsers import (
    RANKING,
    RANKING_LENIENT,
    read_rank,
    read_verdict,
)
from evalbench.engine.calls import Outcome, Prompt
from evalbench.engine.calls.options import setting, setting_of
from evalbench.engine.calls.templates import chosen_templates, prompt_option
from evalbench.engine.config.roles import answers_model
from evalbench.engine.errors import DataError
from evalbench.engine.scoring.agreement import fleiss_kappa
from evalbench.engine.scoring.pooled import pooled
from evalbench.engine.scoring.tally import Metric, Tally

ORDERS = ("first", "second")
"""The answers in pair order, and swapped."""

Counts = Callable[[Mapping[str, float]], tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecRankOptions:
    """Options of :class:`SpecRank`."""

    answers: tuple[str, ...] = setting_of(ANSWERS)
    undecided: str = setting(
        "tie",
        "count N/A and unsure as ties, like the original, or drop them",
        choices=("tie", "drop"),
    )
    results_dir: str | None = setting_of(RESULTS_DIR)
    spec_name: str | None = setting_of(SPEC_NAME)
    prompt: str | None = setting_of(prompt_option())


class SpecRank(Benchmark):
    """Every pair of models, in both orders, on the inputs that both have answered."""

    name = "spec-rank"
    version = "1"
    title = "SpecEval: rank"
    data_source = SOURCE
    summary = "pairs of answers, which of them follows a behaviour specification better"
    spread_by = "statement"
    spread_within = ("a", "b")
    filters: ClassVar[Mapping[str, str]] = FILTERS
    roles = ("candidate", "judge")
    opt = SpecRankOptions()
    results_format = RESULTS_FORMAT
    prompt_templates = prompts.RANK_TEMPLATES

    def __init__(self, options: Mapping[str, Any], *, seed: int = 0, shared: Any = None) -> None:
        super().__init__(options, seed=seed, shared=shared)
        self._templates = chosen_templates(self.opt.prompt, self.prompt_templates)

    @classmethod
    def default_model(cls, options: SpecRankOptions) -> str:
        """The contestants' names."""
        return answers_model([data.contestant(one)[0] for one in options.answers])

    def prepare(self, source: DataSource) -> DataSet:
        """Read the specification and the answers of every contestant."""
        spec, path = specification(source)
        given = [data.contestant(one) for one in self.opt.answers]
        names = [name for name, _ in given]
        if len(given) < 2 or len(set(names)) < len(names):
            raise DataError(
                "at least two models of different names are needed",
                why="given: " + (", ".join(names) or "none"),
                hint="--answers NAME=FOLDER --answers NAME=FOLDER",
            )
        answers = {name: data.read_answers(Path(place)) for name, place in given}
        return DataSet(_pairs(spec, answers), origin=path.name)

    def needs(self) -> frozenset[str]:
        """No candidate is asked."""
        return frozenset()

    def templates(self) -> Any:
        """The judges' fixed texts and the parsers' versions."""
        return [prompts.templates()["rank"], RANKING, RANKING_LENIENT]

    async def solve(self, sample: Sample, ask: Ask) -> Score:
        """Both orders by every judge; a verdict must hold in both."""
        given, (one, two) = sample.inputs, sample.inputs["answers"]
        if one is None or two is None:
            who = sample.tags["a" if one is None else "b"]
            raise NoAnswer(f"there is an error in the place of {who}'s answer")
        asked = [self._prompt(given, a, b) for a, b in ((one, two), (two, one))]
        asks = [
            (judge, prompt, order)
            for judge in self.judges
            for order, prompt in zip(ORDERS, asked, strict=True)
        ]
        judgements = await ask_judges(ask, asks)
        failed = failed_judgements(asks, judgements)
        replies = iter(judgements)
        values: dict[str, float] = {}
        parsed: dict[str, Any] = {RANKING: {}, RANKING_LENIENT: {}}
        for role in self.judges:
            judge = judge_name(role)
            came = next(replies), next(replies)
            if Outcome.ERROR in (came[0].outcome, came[1].outcome):
                continue  # a ranking needs both orders
            texts = came[0].text, came[1].text
            ranks = read_rank(texts[0]), read_rank(texts[1])
            verdicts = [read_verdict(text) for text in texts]
            final = ranks[0] if ranks[0] == -ranks[1] else 0
            values |= {
                f"final/{judge}": float(final),
                f"plain/{judge}": float(ranks[0]),
                f"flip/{judge}": float(ranks[0] * ranks[1] == 1),
                f"na/{judge}": float(verdicts.count("n/a")),
                f"unsure/{judge}": float(verdicts.count("unsure")),
                f"unread/{judge}": float(verdicts.count(None)),
            }
            parsed[RANKING][judge] = list(ranks)
            parsed[RANKING_LENIENT][judge] = verdicts
        outcome, unread = unread_judgements(asks, judgements, _problem)
        notes = "; ".join([*failed, *unread])
        return Score(Outcome.ERROR if failed else outcome, values, parsed, notes)

    def _prompt(self, given: Mapping[str, Any], a: str, b: str) -> Prompt:
        if not self._templates:
            return prompts.rank(given["statement"], given["input"], a, b)
        values = {"input": given["input"], "response_a": a, "response_b": b}
        return prompts.by_template(self._templates["rank"], given["statement"], **values)

    def metrics(self, tally: Tally) -> list[Metric]:
        """Every model's win rates, and the judges' consistency and unanimity."""
        judges = [judge_name(judge) for judge in self.judges]
        names = sorted({row.tags[side] for row in tally for side in "ab" if side in row.tags})
        out: list[Metric] = []
        for name in names:
            part = _of(tally, name)
            for metric, title, group, weights in _RESULTS:
                out.append(
                    pooled(
                        part,
                        self._results(judges, weights),
                        f"{metric}/contestant={name}",
                        title.format(name) if not group else name,
                        group,
                    )
                )
        out.sort(key=lambda metric: bool(metric.group))
        for kind, metric, title in _CARE:
            out.append(pooled(tally, _care(judges, kind), metric, title, "Care of the judges"))
        if len(judges) > 1:
            wanted = [f"final/{judge}" for judge in judges]
            items = [
                [row.values[name] for name in wanted]
                for row in tally
                for _ in range(row.count)
                if all(name in row.values for name in wanted)
            ]
            out.append(
                Metric(
                    "fleiss_kappa",
                    fleiss_kappa(items),
                    n=len(items),
                    title="Fleiss' kappa",
                    group="Agreement of the judges",
                    share=False,
                )
            )
        return out

    def _results(self, judges: list[str], weights: Mapping[int, float]) -> Counts:
        drop = self.opt.undecided == "drop"

        def counts(values: Mapping[str, float]) -> tuple[float, float]:
            total = n = 0.0
            for judge in judges:
                if f"final/{judge}" not in values:
                    continue
                undecided = values[f"na/{judge}"] + values[f"unsure/{judge}"]
                if drop and undecided:
                    continue
                n += 1
                total += weights.get(int(values[f"final/{judge}"]), 0.0)
            return total, n

        return counts


_RESULTS = (
    ("win_rate_adjusted", "{}: wins, ties counted as half", "", {1: 1.0, 0: 0.5}),
    ("win_rate", "", "Wins", {1: 1.0}),
    ("tie_rate", "", "Ties, orders that disagree included", {0: 1.0}),
    ("loss_rate", "", "Losses", {-1: 1.0}),
)
_CARE = (
    ("flip", "position_flips", "Pairs decided by the order of the answers"),
    ("na", "not_applicable", "Verdicts: the statement does not apply"),
    ("unsure", "unsure", "Verdicts: unsure"),
    ("unread", "unread_judgements", "Verdicts that could not be read; count as ties"),
)


def _problem(judgement: str) -> str:
    return "" if read_verdict(judgement) else "no ranking in the form that was asked for"


def _care(judges: list[str], kind: str) -> Counts:
    """Shares of pairs, or of the two verdicts on each."""
    each = 1 if kind == "flip" else 2

    def counts(values: Mapping[str, float]) -> tuple[float, float]:
        names = [f"{kind}/{judge}" for judge in judges if f"final/{judge}" in values]
        return sum(values[name] for name in names), each * len(names)

    return counts


def _of(tally: Tally, name: str) -> Tally:
    """The comparisons of one model, from its side."""
    part = Tally(epochs=tally.epochs)
    for row in tally:
        if name not in (row.tags.get("a"), row.tags.get("b")):
            continue
        values = dict(row.values)
        if row.tags.get("b") == name:
            values = {k: -v if k.startswith(("final/", "plain/")) else v for k, v in values.items()}
        part.add(row.tags, row.outcome, values, row.count)
    return part


def _pairs(spec: data.Spec, answers: Mapping[str, data.Answers]) -> Iterator[Item]:
    """One item for each pair of models and each input that both have an entry for."""
    for (name_a, a), (name_b, b) in combinations(answers.items(), 2):
        for (ident, text), output in a.items():
            if (ident, text) in b and ident in spec.statements:
                statement = spec.statements[ident]
                yield Item(
                    {
                        "statement": statement,
                        "input": text,
                        "answers": [output, b[ident, text]],
                    },
                    None,
                    {"statement": ident, "type": statement["type"], "a": name_a, "b": name_b},
                )
