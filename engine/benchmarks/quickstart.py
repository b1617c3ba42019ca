"""quickstart: 72 short questions of our own that any chat model answers within seconds.

The questions are in ``quickstart.jsonl`` next to this file, in the public domain (CC0-1.0). Each
reply is parsed twice: strictly in the requested form, and as a person would read it.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    answer_outcome,
)
from evalbench.engine.calls import Outcome, Prompt, generate
from evalbench.engine.calls.options import setting_of
from evalbench.engine.calls.templates import Template, chosen_templates, prompt_option
from evalbench.engine.data.reading import read_rows
from evalbench.engine.scoring import metrics, short_answers
from evalbench.engine.scoring.choices import read_choice
from evalbench.engine.scoring.letters import LENIENT as LETTER_LENIENT
from evalbench.engine.scoring.letters import LETTERS
from evalbench.engine.scoring.number_words import LENIENT as NUMBER_LENIENT
from evalbench.engine.scoring.tally import Metric, Tally

_QUESTIONS = Path(__file__).with_name("quickstart.jsonl")
_MAX_TOKENS = 24

_ORDERS = {
    "choice": "Reply with the letter of the right option only.",
    "exact": "Reply with the answer only, in one or two words or as a number.",
    "arithmetic": "Reply with the number only.",
    "code": "Reply with the printed text only.",
    "yesno": "Reply with Yes or No only.",
}


TEMPLATES: Mapping[str, Template] = {
    "question": Template(
        "{question}\n\n{order}",
        {
            "question": "the question, with its program or its options where it has any",
            "order": "how to reply, by the kind of question",
        },
        ("question",),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class QuickstartOptions:
    """Options of :class:`Quickstart`."""

    prompt: str | None = setting_of(prompt_option())


class Quickstart(Benchmark):
    """Multiple choice, short answers, arithmetic, code reading, and yes or no."""

    name = "quickstart"
    version = "1"
    title = "Quickstart"
    summary = "72 short questions of five kinds, bundled; a first run in under a minute"
    licence = "CC0-1.0"
    spread_by = "kind"
    spread_within = ("topic",)
    filters: ClassVar[Mapping[str, str]] = {
        "kind": "only these kinds: " + ", ".join(_ORDERS),
        "topic": "only these topics, for example geography",
    }
    opt = QuickstartOptions()
    prompt_templates = TEMPLATES
    filter_values: ClassVar[Mapping[str, tuple[str, ...]]] = {"kind": tuple(_ORDERS)}
    takes_data = False
    data_source = "72 questions that come with evalbench"

    def __init__(self, options: Mapping[str, Any], *, seed: int = 0, shared: Any = None) -> None:
        super().__init__(options, seed=seed, shared=shared)
        self._template = (chosen_templates(self.opt.prompt, TEMPLATES) or TEMPLATES)["question"]

    def prepare(self, source: DataSource) -> DataSet:
        """The bundled questions; ``source`` is not used."""
        rows = [row for _, row in read_rows(_QUESTIONS) if "question" in row]
        items = (
            Item(
                inputs={key: row[key] for key in ("question", "choices", "code") if key in row},
                gold=[row["answer"], *row.get("accept", ())],
                tags={"kind": row["kind"], "topic": row["topic"]},
            )
            for row in rows
        )
        return DataSet(items, origin=_QUESTIONS.name)

    def templates(self) -> Any:
        """The instruction ending each kind of question, the token cap, the parsers' versions."""
        parsers = [short_answers.EXACT, short_answers.LENIENT, NUMBER_LENIENT, LETTER_LENIENT]
        return [_ORDERS, _MAX_TOKENS, *parsers]

    async def solve(self, sample: Sample, ask: Ask) -> Score:
        """Ask one question and parse the reply exactly and leniently."""
        reply = await ask("candidate", _prompt(sample, self._template))
        read, right = _read(sample, reply.text)
        strict = reply.text.strip() in sample.gold
        outcome = answer_outcome(reply, read)
        answered = not outcome.declined
        return Score(
            outcome,
            {
                "accuracy": float(right and answered),
                "accuracy_strict": float(strict and answered),
            },
            {short_answers.LENIENT: read},
        )

    def metrics(self, tally: Tally) -> list[Metric]:
        """Accuracy by the lenient and the exact parser, and by kind."""
        return [
            metrics.rate(tally, "accuracy", "accuracy", "Accuracy"),
            metrics.rate(
                tally, "accuracy_strict", "accuracy_strict", "Accuracy, exact replies only"
            ),
            metrics.share(tally, (Outcome.UNPARSED,), "unparsed", "Replies that could not be read"),
            *metrics.table(
                tally,
                "kind",
                "accuracy",
                lambda part, name, tag: metrics.rate(part, "accuracy", name, tag, "By kind"),
            ),
            *metrics.table(
                tally,
                "kind",
                "accuracy_strict",
                lambda part, name, tag: metrics.rate(
                    part, "accuracy_strict", name, tag, "By kind, exact replies only"
                ),
            ),
        ]


def _prompt(sample: Sample, template: Template) -> Prompt:
    lines = [sample.inputs["question"]]
    if code := sample.inputs.get("code"):
        lines += ["", "```python", code, "```"]
    for letter, option in zip(LETTERS, sample.inputs.get("choices", ()), strict=False):
        lines.append(f"{letter}) {option}")
    values = {"question": "\n".join(lines), "order": _ORDERS[sample.tags["kind"]]}
    return generate(template.messages(values), max_tokens=_MAX_TOKENS, temperature=0.0)


def _read(sample: Sample, reply: str) -> tuple[str | None, bool]:
    """What a person would read in the reply, and whether it is correct."""
    kind, gold = sample.tags["kind"], sample.gold
    if kind == "exact":
        phrase = short_answers.read_phrase(reply)
        return phrase, phrase is not None and short_answers.says(phrase, gold)
    if kind == "code":
        output = short_answers.read_output(reply)
        return output, output == short_answers.same_output(gold[0])
    if kind == "choice":
        place = read_choice(reply, sample.inputs["choices"])
        read = None if place is None else LETTERS[place]
    elif kind == "yesno":
        read = short_answers.read_yes_no(reply)
    else:
        from evalbench.engine.scoring.numbers import read_number

        read = read_number(reply)
    return read, read == gold[0]
