"""spec-comply: do a model's answers comply with a specification? (arXiv 2509.02464)"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from evalbench.engine.benchmarks.spec_adherence.compliance_parsers import (
    COMPLIANCE,
    COMPLIANCE_LENIENT,
    read_compliance,
    read_compliance_lenient,
)
from evalbench.engine.benchmarks.spec_adherence.generate import (
    ANSWER_MAX_TOKENS,
    FILTERS,
    INPUTS,
    RESULTS_DIR,
    RESULTS_FORMAT,
    SOURCE,
    SPEC_NAME,
    inputs_of,
    specification,
)
from evalbench.engine.calls import Outcome, generate
from evalbench.engine.calls.options import Option, setting_of
from evalbench.engine.calls.templates import chosen_templates, prompt_option
from evalbench.engine.config.roles import answers_model
from evalbench.engine.scoring.agreement import fleiss_kappa
from evalbench.engine.scoring.pooled import pooled
from evalbench.engine.scoring.tally import Metric, Tally

ANSWERS = Option(
    "answers",
    str,
    (),
    "existing answers, as NAME=FOLDER of a generation run or a spec-generate run; no "
    "candidate is called",
    many=True,
    path="named",
    affects_data=True,
)


class NoAnswer(Exception):
    """There is an error instead of an answer. Errors are never judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecComplyOptions:
    """Options of :class:`SpecComply`."""

    inputs: str | None = setting_of(INPUTS)
    answers: tuple[str, ...] = setting_of(ANSWERS)
    results_dir: str | None = setting_of(RESULTS_DIR)
    spec_name: str | None = setting_of(SPEC_NAME)
    prompt: str | None = setting_of(prompt_option())


class SpecComply(Benchmark):
    """Judges decide whether each answer complies with its statement."""

    name = "spec-comply"
    version = "1"
    title = "SpecEval: comply"
    data_source = SOURCE
    summary = "the share of answers that comply with a behaviour specification, by judges"
    spread_by = "statement"
    spread_within = ("contestant",)
    filters: ClassVar[Mapping[str, str]] = FILTERS
    roles = ("candidate", "judge")
    opt = SpecComplyOptions()
    results_format = RESULTS_FORMAT
    prompt_templates = prompts.COMPLY_TEMPLATES

    def __init__(self, options: Mapping[str, Any], *, seed: int = 0, shared: Any = None) -> None:
        super().__init__(options, seed=seed, shared=shared)
        self._templates = chosen_templates(self.opt.prompt, self.prompt_templates)

    @classmethod
    def default_model(cls, options: SpecComplyOptions) -> str:
        """The contestants' names, if answers are given."""
        return answers_model([data.contestant(one)[0] for one in options.answers])

    def prepare(self, source: DataSource) -> DataSet:
        """Read the specification, and inputs or answers."""
        spec, path = specification(source)
        if not self.opt.answers:
            return DataSet(inputs_of(spec, self.opt.inputs), origin=path.name)
        return DataSet(answered(spec, self.opt.answers), origin=path.name)

    def needs(self) -> frozenset[str]:
        """No model calls if answers are given."""
        return frozenset() if self.opt.answers else frozenset({"generate"})

    def templates(self) -> Any:
        """The judges' fixed texts and the parsers' versions."""
        return [prompts.templates()["comply"], COMPLIANCE, COMPLIANCE_LENIENT]

    async def solve(self, sample: Sample, ask: Ask) -> Score:
        """The answer, requested or given; then every judge."""
        given = sample.inputs
        outcome = Outcome.OK
        if "answer" in given:
            text = given["answer"]
            if text is None:
                raise NoAnswer(f"there is an error in the place of {sample.tags['contestant']}'s")
        else:
            prompt = generate(given["input"], max_tokens=ANSWER_MAX_TOKENS, temperature=0.0)
            reply = await ask("candidate", prompt)
            text, outcome = reply.text, reply.outcome
            if outcome is Outcome.FILTERED:
                return Score(outcome, {}, note="a withheld answer cannot be judged")
        asked = prompts.comply(given["statement"], given["input"], text)
        if self._templates:
            asked = prompts.by_template(
                self._templates["comply"], given["statement"], input=given["input"], response=text
            )
        asks = [(judge, asked, "comply") for judge in self.judges]
        replies = await ask_judges(ask, asks)
        values: dict[str, float] = {}
        parsed: dict[str, Any] = {COMPLIANCE: {}, COMPLIANCE_LENIENT: {}}
        for role, reply in zip(self.judges, replies, strict=True):
            if reply.outcome is Outcome.ERROR:
                continue
            judge = judge_name(role)
            faithful, lenient = read_compliance(reply.text), read_compliance_lenient(reply.text)
            values[f"compliant/{judge}"] = float(faithful.compliant is True)
            values[f"lenient/{judge}"] = float(lenient.compliant is True)
            values[f"unread/{judge}"] = float(faithful.compliant is None)
            parsed[COMPLIANCE][judge] = faithful._asdict()
            parsed[COMPLIANCE_LENIENT][judge] = lenient._asdict()
        judged, unread = unread_judgements(asks, replies, _problem)
        if failed := failed_judgements(asks, replies):
            outcome = Outcome.ERROR
        elif outcome is Outcome.OK:
            outcome = judged
        return Score(outcome, values, parsed, "; ".join([*failed, *unread]))

    def metrics(self, tally: Tally) -> list[Metric]:
        """Compliance pooled, by contestant, judge and statement; judges' bias and agreement."""
        judges = [judge_name(judge) for judge in self.judges]
        every = _share("compliant", judges)
        out = [pooled(tally, every, "compliance", "Answers that comply, pooled over judges")]
        contestants = tally.groups("contestant")
        if len(contestants) > 1:
            out += _table(contestants, every, "compliance/contestant", "By model")
        if len(judges) > 1:
            for judge in judges:
                own = _share("compliant", [judge])
                out.append(pooled(tally, own, f"compliance/judge={judge}", judge, "By judge"))
                if len(contestants) > 1:
                    group = f"By model, judged by {judge}"
                    out += _table(contestants, own, f"compliance/judge={judge}/contestant", group)
            out += _bias(tally, judges)
            items = list(_decisions(tally, judges))
            kappa = fleiss_kappa(items)
            out.append(
                Metric(
                    "fleiss_kappa",
                    kappa,
                    n=len(items),
                    title="Fleiss' kappa",
                    group="Agreement of the judges",
                    share=False,
                )
            )
        out += _table(tally.groups("statement"), every, "compliance/statement", "By statement")
        out += [
            pooled(
                tally,
                _share("unread", judges),
                "unread_judgements",
                "Judgements that could not be read; count as not complying",
                "Judgements",
            ),
            pooled(
                tally,
                _share("lenient", judges),
                "compliance_lenient",
                "Answers that comply, as a person reads the judges",
                "By parser",
            ),
        ]
        return out


def _problem(judgement: str) -> str:
    read = read_compliance(judgement).compliant is not None
    return "" if read else "no decision in the form that was asked for"


def answered(spec: data.Spec, given: Sequence[str]) -> Iterator[Item]:
    """One item for each contestant's answer to a statement of the specification."""
    for one in given:
        name, path = data.contestant(one)
        for (ident, text), answer in data.read_answers(Path(path)).items():
            if ident in spec.statements:
                statement = spec.statements[ident]
                yield Item(
                    {"statement": statement, "input": text, "answer": answer},
                    None,
                    {"statement": ident, "type": statement["type"], "contestant": name},
                )


Counts = Callable[[Mapping[str, float]], tuple[float, float]]


def _share(kind: str, judges: Sequence[str]) -> Counts:
    names = [f"{kind}/{judge}" for judge in judges]
    present = [f"compliant/{judge}" for judge in judges]

    def counts(values: Mapping[str, float]) -> tuple[float, float]:
        return sum(values.get(name, 0) for name in names), sum(name in values for name in present)

    return counts


def _table(parts: Mapping[str, Tally], counts: Counts, name: str, group: str) -> list[Metric]:
    return [pooled(part, counts, f"{name}={tag}", tag, group) for tag, part in parts.items()]


def _bias(tally: Tally, judges: Sequence[str]) -> list[Metric]:
    """The difference between a judge's rate and the mean of all judges' rates."""
    rates = {judge: pooled(tally, _share("compliant", [judge]), "").value for judge in judges}
    known = [rate for rate in rates.values() if rate is not None]
    if len(known) < len(judges):
        return []
    mean = sum(known) / len(known)
    return [
        Metric(
            f"judge_bias/judge={judge}",
            None if rate is None else rate - mean,
            title=judge,
            group="Judge's rate over the mean of all judges",
            share=False,
        )
        for judge, rate in rates.items()
    ]


def _decisions(tally: Tally, judges: Sequence[str]) -> Iterator[list[float]]:
    names = [f"compliant/{judge}" for judge in judges]
    for row in tally:
        if all(name in row.values for name in names):
            for _ in range(row.count):
                yield [row.values[name] for name in names]
