"""MMLU: multiple-choice questions over 57 subjects (Hendrycks et al. 2021, arXiv 2009.03300)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from evalbench.engine.benchmark import (
    Ask,
    Benchmark,
    DataSet,
    DataSource,
    Sample,
    Score,
    answer_outcome,
)
from evalbench.engine.benchmarks.mmlu import prompts
from evalbench.engine.benchmarks.mmlu.data import (
    ALL,
    GENERATED,
    TAKEN,
    dev_files,
    experiment_results,
    read_data,
)
from evalbench.engine.benchmarks.mmlu.styles import STYLES, Shown, restyle_words, show
from evalbench.engine.benchmarks.mmlu.subjects import SUBJECTS, category_tag
from evalbench.engine.calls import Capabilities, Outcome, Prompt, Reply
from evalbench.engine.calls.options import setting, setting_of
from evalbench.engine.calls.templates import ORIGINAL, Template, chosen_templates, prompt_option
from evalbench.engine.errors import SpecError
from evalbench.engine.scoring import letters, metrics
from evalbench.engine.scoring.choices import read_choice
from evalbench.engine.scoring.tally import Metric, Tally

Parser = Callable[[str, int], int | None]

# How the original system of each generated family parses replies, and the value it gives.
_FAITHFUL: Mapping[str, Mapping[str, tuple[str, Parser]]] = {
    "chat": {
        "accuracy_strict": (letters.STRICT, letters.read_strict),
        "accuracy_first": (letters.SEED_LATER, letters.read_first),
    },
    "cot": {"accuracy_strict": (letters.SIMPLE_EVALS, letters.read_simple_evals)},
}
_DEFAULT_SHOTS = {"original": 5, "chat": 0, "cot": 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class MmluOptions:
    """Options of :class:`Mmlu`."""

    family: str = setting(
        "original",
        "prompt family: log-likelihood of the letters, the letter as text, or reasoning first;"
        " models without log-likelihoods get chat unless one is chosen",
        choices=("original", "chat", "cot"),
        affects_data=True,
        by_model=True,
    )
    shots: int | None = setting(
        None,
        "few-shot examples per question (default: 5 for original, otherwise 0)",
        minimum=0,
        maximum=5,
        affects_data=True,
    )
    style: str = setting("default", "how answer options are shown", choices=STYLES)
    prompt: str | None = setting_of(prompt_option(ORIGINAL))
    split: str = setting("test", "split to use", choices=("test", "validation"), affects_data=True)
    alternatives: str | None = setting(
        None,
        "of data with generated wrong answers: only these, or the original ones as well"
        " (default: generated)",
        choices=(GENERATED, ALL),
        affects_data=True,
    )


class Mmlu(Benchmark):
    """57 subjects, four options per question; by log-likelihood, by letter, or step by step."""

    name = "mmlu"
    version = "1"
    title = "MMLU"
    summary = "57 subjects, multiple choice: 14,042 questions from school to professional level"
    licence = "MIT"
    data_source = "cais/mmlu of the Hugging Face hub; --data reads files or a folder instead"
    spread_by = "subject"
    filters: ClassVar[Mapping[str, str]] = {
        "subject": "only these subjects, for example anatomy",
        "category": "only these categories: STEM, humanities, social sciences, other",
    }
    filter_values: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "subject": tuple(SUBJECTS),
        "category": tuple(dict.fromkeys(map(category_tag, SUBJECTS))),
    }
    opt = MmluOptions()

    prompt_templates = prompts.TEMPLATES

    def __init__(self, options: Mapping[str, Any], *, seed: int = 0, shared: Any = None) -> None:
        super().__init__(options, seed=seed, shared=shared)
        self.family = self.opt.family
        given = self.opt.shots
        self.shots = _DEFAULT_SHOTS[self.family] if given is None else given
        if self.family == "cot" and self.shots:
            raise SpecError(
                "shots",
                "--family cot takes no solved examples",
                why="the data set's examples have answers but no reasoning to show",
                hint="--shots 0",
            )
        self.worded = self.opt.prompt == ORIGINAL
        if self.worded and self.family != "chat":
            raise SpecError(
                "prompt",
                f"--prompt original does not go with --family {self.family}",
                why="the Claude MMLU Experimenter asked for the letter as text",
                hint="--family chat",
            )
        sets = {ORIGINAL: {"chat": prompts.EXPERIMENTER}}
        self._templates = chosen_templates(self.opt.prompt, prompts.TEMPLATES, sets)

    @classmethod
    def adapted(
        cls, options: MmluOptions, given: Iterable[str], able: Callable[[], Capabilities]
    ) -> MmluOptions:
        """The chat family if none was requested and the model or the prompt needs it."""
        if "family" in given:
            return options
        if options.prompt == ORIGINAL or not able().choose:
            return replace(options, family="chat")
        return options

    def prepare(self, source: DataSource) -> DataSet:
        """Read the questions, and the solved examples if any are shown."""
        return read_data(source, self.opt.split, self.shots, self.opt.alternatives or GENERATED)

    def data_files(self, path: Path) -> list[Path]:
        """The files in a folder, or a single file and the solved examples next to it."""
        return super().data_files(path) + ([] if path.is_dir() else dev_files(path))

    def needs(self) -> frozenset[str]:
        """``choose`` for the original family, ``generate`` for the others."""
        return frozenset({"choose" if self.family == "original" else "generate"})

    def templates(self) -> Any:
        """The prompts' fixed texts and the parsers' versions."""
        parsers = [name for name, _ in _FAITHFUL.get(self.family, {}).values()]
        return [prompts.templates()[self.family], letters.LOGLIKELIHOOD, letters.LENIENT, *parsers]

    async def solve(self, sample: Sample, ask: Ask) -> Score:
        """Ask one question in the run's family and style."""
        taken = (self.shared or {}).get(TAKEN, {}).get(sample.id)
        if taken is not None:
            return self._score_taken(sample, taken)
        shown = self._shown(sample)
        subject = sample.tags["subject"]
        examples = self.shared[subject][: self.shots] if self.shots else []
        reply = await ask("candidate", self._prompt(sample, subject, examples, shown))
        if self.family == "original":
            return self._score_choice(sample, shown, reply)
        return self._score_text(sample, shown, reply)

    def _prompt(
        self, sample: Sample, subject: str, examples: Sequence[prompts.Example], shown: Shown
    ) -> Prompt:
        if self._templates:
            template = self._templates[self.family]
            if self.worded:
                template = self._restyled(template, sample)
            tokens = prompts.ORIGINAL_TOKENS if self.worded else None
            return prompts.by_template(self.family, template, subject, examples, shown, tokens)
        if self.family == "original":
            return prompts.original(subject, examples, shown)
        return prompts.chat(examples, shown) if self.family == "chat" else prompts.cot(shown)

    def _restyled(self, template: Template, sample: Sample) -> Template:
        """The original's prompt text in the style of the options, as in the original."""
        rng = random.Random(f"{self.seed} {sample.id} words")  # noqa: S311
        return replace(template, user=restyle_words(self.opt.style, template.user, rng))

    def _shown(self, sample: Sample) -> Shown:
        # The same seed and sample give the same order, in this run and after a resume.
        rng = random.Random(f"{self.seed} {sample.id}")  # noqa: S311
        question, choices = sample.inputs["question"], sample.inputs["choices"]
        return show(self.opt.style, question, choices, sample.gold, rng)

    def _score_taken(self, sample: Sample, place: int) -> Score:
        """Score what an experiment has parsed from a reply that it did not store."""
        read = 0 <= place < len(sample.inputs["choices"])
        names = ("accuracy", *_FAITHFUL.get(self.family, ()))
        return Score(
            Outcome.OK if read else Outcome.UNPARSED,
            dict.fromkeys(names, float(read and place == sample.gold)),
            {"option": place if read else None},
            "taken over from the experiment, which did not keep the reply",
        )

    def remarks(self, path: Path | None) -> list[str]:
        """Notes the answers that an experiment brings, and how to continue it."""
        if path is None or experiment_results(path) is None:
            return []
        remarks = [f"what the experiment in {path} has answered is taken over; the rest is asked"]
        if self.family != "chat" or not self.worded:
            remarks.append(
                "it was asked in the original's words: --prompt original goes on in them"
            )
        return remarks

    def _score_choice(self, sample: Sample, shown: Shown, reply: Reply) -> Score:
        place = letters.greatest(reply.logprobs)
        right = _is_right(place, shown, sample)
        return Score(
            answer_outcome(reply, place),
            {"accuracy": right},
            _parsed(shown, {letters.LOGLIKELIHOOD: place}, place),
        )

    def _score_text(self, sample: Sample, shown: Shown, reply: Reply) -> Score:
        count = len(shown.options)
        place = read_choice(reply.text, shown.options)
        values = {"accuracy": _is_right(place, shown, sample)}
        read = {letters.LENIENT: place}
        for value, (parser, read_letter) in _FAITHFUL[self.family].items():
            read[parser] = read_letter(reply.text, count)
            values[value] = _is_right(read[parser], shown, sample)
        outcome = answer_outcome(reply, place)
        if outcome.declined:
            values = dict.fromkeys(values, 0.0)
        return Score(outcome, values, _parsed(shown, read, place))

    def metrics(self, tally: Tally) -> list[Metric]:
        """Accuracy as micro and macro average, by parser, by category and by subject."""
        out = [
            metrics.rate(tally, "accuracy", "accuracy", "Accuracy, over questions (micro)"),
            metrics.macro(
                tally, "accuracy", "subject", "accuracy_macro", "Accuracy, mean of subjects (macro)"
            ),
        ]
        if self.family != "original":
            out += self._parser_metrics(tally)
        out += metrics.table(
            tally,
            "category",
            "accuracy",
            lambda part, name, tag: metrics.rate(
                part, "accuracy", name, tag, "By category, over questions (micro)"
            ),
        )
        out += metrics.table(
            tally,
            "category",
            "accuracy_macro",
            lambda part, name, tag: metrics.macro(
                part, "accuracy", "subject", name, tag, "By category, mean of subjects (macro)"
            ),
        )
        out += metrics.table(
            tally,
            "subject",
            "accuracy",
            lambda part, name, tag: metrics.rate(part, "accuracy", name, tag, "By subject"),
        )
        return out

    def _parser_metrics(self, tally: Tally) -> list[Metric]:
        group = "By parser"
        return [
            *(
                metrics.rate(tally, value, value, f"Accuracy as read by {parser}", group)
                for value, (parser, _) in _FAITHFUL[self.family].items()
            ),
            metrics.share(
                tally,
                (Outcome.UNPARSED,),
                "unparsed",
                f"Replies {letters.LENIENT} could not read",
                group,
            ),
            metrics.rate(
                metrics.scored_ok(tally),
                "accuracy",
                "accuracy_parsed",
                f"Accuracy among replies {letters.LENIENT} could read",
                group,
            ),
        ]


def _is_right(place: int | None, shown: Shown, sample: Sample) -> float:
    in_range = place is not None and place < len(shown.order)
    return float(in_range and shown.order[place or 0] == sample.gold)


def _parsed(shown: Shown, read: Mapping[str, int | None], place: int | None) -> dict[str, Any]:
    """Each parser's letter as shown, the option it refers to, and the order shown."""
    parsed: dict[str, Any] = {
        parser: None if at is None else letters.LETTERS[at] for parser, at in read.items()
    }
    if shown.moved:
        parsed["option"] = None if place is None else shown.order[place]
        parsed["order"] = list(shown.order)
    return parsed
