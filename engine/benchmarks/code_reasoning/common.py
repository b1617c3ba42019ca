"""Shared by code-prediction and code-choice: options, seeds and parsers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from evalbench.engine.benchmark import (
    Benchmark,
    DataSet,
    DataSource,
    Sample,
)
from evalbench.engine.benchmarks.code_reasoning import prompts as code_prompts
from evalbench.engine.benchmarks.code_reasoning.data import Selection, read_problems
from evalbench.engine.calls import Message, Outcome, Prompt, Reply, generate
from evalbench.engine.calls.options import setting, setting_of
from evalbench.engine.calls.templates import chosen_templates, prompt_option
from evalbench.engine.errors import SpecError, nearest
from evalbench.engine.scoring.literals import NotALiteral, equal, literal, strictly_equal
from evalbench.engine.scoring.pooled import Counts, pooled
from evalbench.engine.scoring.tally import Metric, Tally

EFFORTS = ("low", "medium", "high")
MAX_TOKENS = 1000
TEMPERATURE = 0.6
PROBLEMS = "Problems"
_SHOWN = 200
"""Characters of a prediction kept for display; the reply is stored anyway."""


class Way(NamedTuple):
    """A way to parse and compare answers.

    Attributes:
        ending: suffix of the names of its values and metrics.
        lenient: whether it uses the lenient parser rather than the faithful one.
        same: whether two values are equal.
        title: title of its section in the score table; empty for the main one.
    """

    ending: str
    lenient: bool
    same: Callable[[str, str], bool]
    title: str


WAYS = (
    Way("", True, strictly_equal, ""),
    Way("_loose", True, equal, "Read leniently, types not compared (True is 1, 3.0 is 3)"),
    Way("_faithful", False, equal, "Read and compared as the original does"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeOptions:
    """Options of every :class:`CodeBenchmark`."""

    dataset: str = setting(
        "", "Hugging Face data set, OWNER/NAME[@REVISION], used without --data", affects_data=True
    )
    split: str = setting("train", "split of --dataset", affects_data=True)
    start_index: int = setting(
        0,
        "number of problems to skip, after those without a mutant are removed",
        minimum=0,
        affects_data=True,
    )
    reasoning: str = setting(
        "medium",
        "reasoning effort named in the system prompt (--effort sets the provider's own)",
        choices=EFFORTS,
    )
    compare_effort: tuple[str, ...] = setting(
        (), "efforts to compare, e.g. low,medium,high; replaces --reasoning"
    )
    skip_booleans: bool = setting(
        False, "exclude problems with a boolean output from the reversion metrics"
    )
    prompt: str | None = setting_of(prompt_option())


class CodeBenchmark(Benchmark):
    """A benchmark over programs and their mutants.

    Attributes:
        efforts: the reasoning efforts to ask with, in order.
        comparing: whether efforts are compared: values and metrics then include the effort.
        own_templates: templates that replace the benchmark's; None if there are none.
    """

    opt = CodeOptions()
    data_source = "none of its own; --data FILE or --dataset OWNER/NAME@REVISION gives problems"
    filters: ClassVar[Mapping[str, str]] = {
        "difficulty": "only problems of this difficulty, for example easy",
        "mutation": "only mutants of this kind, for example relational",
    }

    def __init__(self, options: Mapping[str, Any], *, seed: int = 0, shared: Any = None) -> None:
        super().__init__(options, seed=seed, shared=shared)
        compared = _efforts(self.opt.compare_effort)
        self.comparing = bool(compared)
        self.efforts: tuple[str, ...] = compared or (self.opt.reasoning,)
        self.own_templates = chosen_templates(self.opt.prompt, self.prompt_templates)

    def prepare(self, source: DataSource) -> DataSet:
        """Read the problems; nothing in them is executed."""
        return read_problems(
            source,
            Selection(
                self.opt.dataset,
                self.opt.split,
                self.opt.start_index,
                self.without_mutants,
            ),
        )

    @property
    def without_mutants(self) -> bool:
        """Whether problems without a mutant are included."""
        return False

    def templates(self) -> Any:
        """The prompts' fixed texts, the parameters and the parsers' versions."""
        return [code_prompts.templates(), MAX_TOKENS, TEMPERATURE, *self.parsers()]

    @abstractmethod
    def parsers(self) -> tuple[str, str]:
        """The names of the lenient and the faithful parser."""

    def prompt(self, sample: Sample, messages: Sequence[Message], offset: int) -> Prompt:
        """A prompt with the original's parameters.

        Its sampling seed is the run's + 1000 · the problem's index among those not left out +
        ``offset``, within the 31 bits that every API accepts.
        """
        place = self.shared["index"][sample.inputs["id"]]
        return generate(
            messages,
            max_tokens=MAX_TOKENS,
            temperature=TEMPERATURE,
            seed=(self.seed + 1000 * place + offset) % 2**31,
        )

    def value_name(self, value: str, effort: str) -> str:
        """The name of a value or metric; includes the effort if efforts are compared."""
        return f"{value}/effort={effort}" if self.comparing else value

    def titled(self, title: str, effort: str) -> str:
        """The same for titles."""
        return f"{title}, {effort} effort" if self.comparing else title

    def reverts(self, sample: Sample, case: int | None = None) -> bool:
        """Whether reversion is counted: there is a mutant, and no boolean output to be skipped.

        Imported results specify this themselves, per test case: ``shared`` has their values under
        ``reversion``, by problem id.

        Args:
            sample: the problem.
            case: one of its test cases; None for any.
        """
        if sample.inputs["mutant"] is None:
            return False
        recorded: Sequence[bool | None] = (
            (self.shared or {}).get("reversion", {}).get(sample.inputs["id"], ())
        )
        asked = recorded if case is None else recorded[case : case + 1]
        if known := [one for one in asked if one is not None]:
            return any(known)
        outputs = [*sample.gold["original"], *sample.gold["mutated"]]
        return not (self.opt.skip_booleans and any(map(is_boolean, outputs)))

    # -- statistics of replies --------------------------------------------------------

    def reply_values(
        self, effort: str, replies: Sequence[Reply], outcomes: Sequence[Outcome]
    ) -> dict[str, float]:
        """Counts of replies by outcome, and their total latency in seconds."""
        counts = {outcome.value: float(outcomes.count(outcome)) for outcome in _UNREAD}
        counts["replies"] = float(len(replies))
        counts["seconds"] = round(sum(reply.latency_s for reply in replies), 3)
        return {self.value_name(name, effort): count for name, count in counts.items()}

    def reply_metrics(self, tally: Tally, effort: str) -> list[Metric]:
        """Shares of replies by outcome, and the mean latency."""

        group = self.titled("Replies", effort)
        out = [
            pooled(
                tally,
                self.share_of(outcome.value, "replies", effort),
                self.value_name(outcome.value, effort),
                _UNREAD_TITLES[outcome],
                group,
            )
            for outcome in _UNREAD
        ]
        times = [row for row in tally if row.outcome is not Outcome.ERROR]
        n = sum(row.values[self.value_name("replies", effort)] * row.count for row in times)
        total = sum(row.values[self.value_name("seconds", effort)] * row.count for row in times)
        out.append(
            Metric(
                self.value_name("seconds", effort),
                # Latency means nothing for a reply from a batch.
                total / n if n and total else None,
                k=total,
                n=round(n),
                title="Seconds that a reply took",
                group=group,
                share=False,
            )
        )
        return out

    def share_of(self, value: str, of: str, effort: str) -> Counts:
        """Two counts among a sample's values, as numerator and denominator."""
        right, every = self.value_name(value, effort), self.value_name(of, effort)
        return lambda values: (values.get(right, 0), values.get(every, 0))

    def problem_metrics(self, tally: Tally) -> list[Metric]:
        """Number of rows of the data left out, and of problems in the reversion metrics."""
        out = [
            pooled(
                tally,
                lambda values: (1 - values["reverts"], 1.0),
                "outside_reversion",
                "Problems that reversion is not counted for",
                PROBLEMS,
            )
        ]
        if self.shared:
            k, n = self.shared["left_out"], self.shared["rows"]
            title = "Rows of the data without a mutant, left out"
            out.append(Metric("left_out", k / n, k=k, n=n, title=title, group=PROBLEMS, share=True))
        return out


_UNREAD = (Outcome.TRUNCATED, Outcome.UNPARSED, Outcome.REFUSED, Outcome.FILTERED)
_UNREAD_TITLES = {
    Outcome.TRUNCATED: "Cut off before an answer could be read",
    Outcome.UNPARSED: "Whole, but without an answer that can be read",
    Outcome.REFUSED: "Refused",
    Outcome.FILTERED: "Withheld by the provider",
}


def overall(outcomes: Sequence[Outcome]) -> Outcome:
    """The outcome of a sample with several replies: ok if all could be parsed, else the worst."""
    ranked = (Outcome.REFUSED, Outcome.FILTERED, Outcome.TRUNCATED, Outcome.UNPARSED)
    return next((outcome for outcome in ranked if outcome in outcomes), Outcome.OK)


def shown(text: str | None) -> str | None:
    """A prediction as stored with the score."""
    return text if text is None or len(text) <= _SHOWN else text[:_SHOWN] + "…"


def is_boolean(output: str) -> bool:
    """Whether an output is a boolean or a list of booleans, by the original's definition."""
    try:
        value = literal(output.strip())
    except NotALiteral:
        return output.strip().lower() in ("true", "false")
    values = value if isinstance(value, list) else [value]
    return bool(values) and all(isinstance(one, bool) for one in values)


def _efforts(given: Sequence[str]) -> tuple[str, ...]:
    """The efforts of ``--compare-effort``, which accepts commas and may be repeated."""
    named = [part.strip() for text in given for part in text.split(",") if part.strip()]
    for effort in named:
        if effort not in EFFORTS:
            raise SpecError(
                "compare_effort",
                f"--compare-effort cannot be {effort!r}",
                why="allowed: " + ", ".join(EFFORTS),
                hint=nearest(effort, EFFORTS),
            )
    return tuple(dict.fromkeys(named))
