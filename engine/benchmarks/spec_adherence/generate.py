"""spec-generate: a model's answers to the inputs of a specification (arXiv 2509.02464)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from evalbench.engine.benchmark import Ask, Benchmark, DataSet, DataSource, Item, Sample, Score
from evalbench.engine.benchmarks.spec_adherence import data
from evalbench.engine.calls import Outcome, generate, user
from evalbench.engine.calls.options import Option, setting_of
from evalbench.engine.calls.templates import Template, chosen_templates, prompt_option
from evalbench.engine.errors import DataError
from evalbench.engine.scoring import metrics
from evalbench.engine.scoring.tally import Metric, Tally

ANSWER_MAX_TOKENS = 4096
"""The original's cap for Anthropic's and Together's models."""

SOURCE = "none of its own; --data SPEC.jsonl gives the specification"

INPUTS = Option(
    "inputs",
    str,
    None,
    "folder with one STATEMENT.json of inputs per statement (default: the statements' "
    "own examples)",
    path="folder",
    affects_data=True,
)

RESULTS_FORMAT = "speceval"
RESULTS_DIR = Option(
    "results_dir",
    str,
    None,
    "folder that SpecEval's tree of results is written to when the run is complete",
    path="new",
)
SPEC_NAME = Option(
    "spec_name",
    str,
    None,
    "name of the specification in SpecEval's tree of results (default: that of its file)",
)

FILTERS: Mapping[str, str] = {
    "statement": "only these statements, by id",
    "type": "only statements of this type: " + ", ".join(data.KINDS),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecGenerateOptions:
    """Options of :class:`SpecGenerate`."""

    inputs: str | None = setting_of(INPUTS)
    results_dir: str | None = setting_of(RESULTS_DIR)
    spec_name: str | None = setting_of(SPEC_NAME)
    prompt: str | None = setting_of(prompt_option())


class SpecGenerate(Benchmark):
    """Answers to every input of every statement; judged by spec-comply and spec-rank."""

    name = "spec-generate"
    version = "1"
    title = "SpecEval: generate"
    data_source = SOURCE
    summary = "answers to the inputs of a behaviour specification, to be judged afterwards"
    spread_by = "statement"
    filters: ClassVar[Mapping[str, str]] = FILTERS
    opt = SpecGenerateOptions()
    results_format = RESULTS_FORMAT
    prompt_templates: ClassVar[Mapping[str, Template]] = {
        "input": Template("{input}", {"input": "what the user asks"}, ("input",))
    }

    def __init__(self, options: Mapping[str, Any], *, seed: int = 0, shared: Any = None) -> None:
        super().__init__(options, seed=seed, shared=shared)
        self._templates = chosen_templates(self.opt.prompt, self.prompt_templates)

    def prepare(self, source: DataSource) -> DataSet:
        """Read the specification and its inputs."""
        spec, path = specification(source)
        return DataSet(inputs_of(spec, self.opt.inputs), origin=path.name)

    async def solve(self, sample: Sample, ask: Ask) -> Score:
        """One user message, greedy, as in the original."""
        messages = [user(sample.inputs["input"])]
        if self._templates:
            messages = self._templates["input"].messages({"input": sample.inputs["input"]})
        prompt = generate(messages, max_tokens=ANSWER_MAX_TOKENS, temperature=0.0)
        reply = await ask("candidate", prompt)
        answered = reply.outcome in (Outcome.OK, Outcome.TRUNCATED)
        outcome = reply.outcome
        if answered and not reply.text.strip():
            outcome, answered = Outcome.UNPARSED, False
        return Score(outcome, {"answered": float(answered)})

    def metrics(self, tally: Tally) -> list[Metric]:
        """The share of inputs with an answer; judges decide whether it is good."""
        return [
            metrics.rate(tally, "answered", "answered", "Inputs with an answer"),
            *metrics.table(
                tally,
                "statement",
                "answered",
                lambda part, name, tag: metrics.rate(part, "answered", name, tag, "By statement"),
            ),
        ]


def specification(source: DataSource) -> tuple[data.Spec, Path]:
    """The specification given by ``--data``, and its path; skipped lines are reported.

    Raises:
        DataError: there is none.
    """
    if source.path is None:
        raise DataError(
            "there is no specification",
            why="SpecEval's own are not published in one place",
            hint="give one with --data SPEC.jsonl (see docs/benchmarks.md for the form)",
        )
    spec = data.read_spec(source.path)
    if spec.skipped and source.progress:
        lines = ", ".join(str(number) for number, _ in spec.skipped)
        source.progress(f"skipped lines of {source.path.name} that are not JSON: {lines}", 0, None)
    return spec, source.path


def inputs_of(spec: data.Spec, folder: str | None) -> Any:
    """One item per input of each statement."""
    found = data.read_inputs(Path(folder), spec) if folder else data.own_inputs(spec)
    for ident, place, text in found:
        statement = spec.statements[ident]
        yield Item(
            {"statement": statement, "index": place, "input": text},
            None,
            {"statement": ident, "type": statement["type"]},
        )
