"""custom: a benchmark of one's own, made of a TOML file and a table of questions."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from evalbench.engine.benchmark import (
    Ask,
    Benchmark,
    DataSet,
    DataSource,
    Sample,
    Score,
    ScoringTimeout,
    answer_outcome,
)
from evalbench.engine.benchmarks.custom import work as custom_work
from evalbench.engine.benchmarks.custom.file import CustomFile, read_file, read_items
from evalbench.engine.benchmarks.mt_bench.ratings import RATING_LENIENT, read_rating_lenient
from evalbench.engine.calls import MediaPart, Outcome, Prompt, Reply, generate, system, user
from evalbench.engine.calls.options import Option
from evalbench.engine.errors import SpecError
from evalbench.engine.limited import LimitedProcess, LimitExceeded
from evalbench.engine.scoring import letters, metrics, numbers, short_answers
from evalbench.engine.scoring.letters_lenient import LENIENT, read_lenient
from evalbench.engine.scoring.tally import Metric, Tally

_JUDGE_MAX_TOKENS = 2048
_JUDGE_FORM = (
    "\n\nExplain your judgement briefly first. Then end with your rating from {low:g} (worst) to"
    " {high:g} (best) in double square brackets, in exactly this form: Rating: [[{high:g}]]"
)

_LIMITED = {"search": "pattern", "template": "rubric"}
_PARSERS = {
    "choice": LENIENT,
    "exact": short_answers.LENIENT,
    "contains": "contains/1",
    "numeric": short_answers.LENIENT,
    "regex": "regex/1",
}


class Custom(Benchmark):
    """Questions, prompt, right answers and scoring as a TOML file says."""

    name = "custom"
    version = "1"
    title = "Your own"
    summary = "questions of your own from CSV, JSON lines or Parquet; no Python needed"
    data_source = "the table that the file names; --data reads another"
    roles = ("candidate", "judge")
    spread_by = "group"
    filters: ClassVar[Mapping[str, str]] = {"group": "only these groups"}
    options = (
        Option(
            "file",
            str,
            None,
            "the TOML file that describes it; evalbench new-benchmark writes one",
            path="file",
            affects_data=True,
        ),
    )

    def _file(self) -> CustomFile:
        """What the file said when the data was prepared, or says now."""
        if self.shared:
            return CustomFile.from_json(self.shared)
        if self.opt["file"] is None:
            raise SpecError(
                "file",
                "custom needs the file that describes it",
                cure="evalbench run FILE.toml; evalbench new-benchmark NAME writes an example",
            )
        return read_file(Path(self.opt["file"]))

    def prepare(self, source: DataSource) -> DataSet:
        """Read the table and render every prompt."""
        file, path = self._file(), Path(self.opt["file"])
        items = read_items(path, file, source)
        return DataSet(items, shared=file.to_json(), origin=path.name)

    def further_files(self) -> list[Path]:
        """The table that the file names."""
        file = self._file()
        return [Path(self.opt["file"]).parent / file.data] if file.data else []

    def needs(self) -> frozenset[str]:
        """Models that write text, and that see where the file names columns of images."""
        known = self.shared or self.opt["file"] is not None
        return frozenset({"generate", "images"} if known and self._file().images else {"generate"})

    def needs_judge(self) -> bool:
        """Whether the file leaves the scoring to a judge."""
        return (self.shared or self.opt["file"] is not None) and self._file().scorer == "judge"

    def templates(self) -> Any:
        """The whole file."""
        known = self.shared or self.opt["file"] is not None
        return self._file().to_json() if known else None

    async def solve(self, sample: Sample, ask: Ask) -> Score:
        """Ask, and score as the file says."""
        file = self._file()
        reply = await ask("candidate", _prompt(file, sample))
        if file.scorer == "judge":
            return await self._judged(file, sample, reply, ask)
        if file.scorer == "regex":
            read = await self._worked(custom_work.search(file.pattern, reply.text))
            right, strict = read in sample.gold, reply.text.strip() in sample.gold
        else:
            read, right, strict = _read(file, sample, reply.text)
        outcome = answer_outcome(reply, read)
        answered = outcome not in (Outcome.REFUSED, Outcome.FILTERED)
        return Score(
            outcome,
            {
                "accuracy": float(right and answered),
                "accuracy_strict": float(strict and answered),
            },
            {_PARSERS[file.scorer]: read},
        )

    @cached_property
    def _child(self) -> LimitedProcess:
        return custom_work.process()

    async def _worked(self, piece: custom_work.Piece) -> Any:
        """What the file's pattern finds, or its rubric says."""
        try:
            return await self._child.result(piece)
        except LimitExceeded as error:
            raise ScoringTimeout(
                f"scoring {error}: the {_LIMITED[piece[0]]} of the file on this reply"
            ) from None

    async def _judged(self, file: CustomFile, sample: Sample, reply: Reply, ask: Ask) -> Score:
        if reply.outcome in (Outcome.REFUSED, Outcome.FILTERED) or not reply.text.strip():
            outcome = Outcome.UNPARSED if reply.outcome is Outcome.OK else reply.outcome
            return Score(outcome, {}, note="this answer cannot be judged")
        fields = {**sample.inputs["row"], "prompt": sample.inputs["prompt"], "reply": reply.text}
        rubric = await self._worked(custom_work.template(file.rubric, fields))
        asked = generate(
            rubric + _JUDGE_FORM.format(low=file.low, high=file.high),
            max_tokens=_JUDGE_MAX_TOKENS,
            temperature=0.0,
        )
        replies = await ask.many([(judge, asked, "rate") for judge in self.judges])
        values: dict[str, float] = {}
        parsed: dict[str, Any] = {}
        for role, said in zip(self.judges, replies, strict=True):
            judge = role.partition("/")[2] or role
            rating = read_rating_lenient(said.text, file.low, file.high)
            parsed[judge] = rating
            if rating is not None:
                values[f"rating/{judge}"] = float(rating)
        whole = len(values) == len(self.judges)
        return Score(reply.outcome if whole else Outcome.UNPARSED, values, {RATING_LENIENT: parsed})

    def metrics(self, tally: Tally) -> list[Metric]:
        """Accuracy or mean rating, and both by group."""
        if self.needs_judge():
            return self._ratings(tally)
        out = [
            metrics.rate(tally, "accuracy", "accuracy", "Accuracy"),
            metrics.rate(
                tally, "accuracy_strict", "accuracy_strict", "Accuracy, exact replies only"
            ),
            metrics.share(tally, (Outcome.UNPARSED,), "unparsed", "Replies that could not be read"),
        ]
        if any(row.tags.get("group") for row in tally):
            out += metrics.table(
                tally,
                "group",
                "accuracy",
                lambda part, name, tag: metrics.rate(part, "accuracy", name, tag, "By group"),
            )
        return out

    def _ratings(self, tally: Tally) -> list[Metric]:
        file = self._file()
        judges = [judge.partition("/")[2] or judge for judge in self.judges]

        def mean(part: Tally, of: list[str], name: str, title: str, group: str = "") -> Metric:
            names = [f"rating/{judge}" for judge in of]
            sums = [
                (
                    sum(row.values.get(name, 0) for name in names),
                    sum(name in row.values for name in names),
                    row.count,
                )
                for row in part
                if row.outcome is not Outcome.ERROR
            ]
            failed = part.outcomes()[Outcome.ERROR.value] * len(names)
            scale = file.low, file.high
            return metrics.pooled_mean(sums, failed, scale, name, title, group)

        out = [mean(tally, judges, "rating", "Mean rating")]
        if len(judges) > 1:
            out += [mean(tally, [j], f"rating/judge={j}", j, "By judge") for j in judges]
        groups = tally.groups("group")
        if any(groups):
            out += [
                mean(part, judges, f"rating/group={group}", group, "By group")
                for group, part in groups.items()
            ]
        return out


def _prompt(file: CustomFile, sample: Sample) -> Prompt:
    parts: list[Any] = [
        MediaPart(image["type"], base64.b64decode(image["data"]))
        for image in sample.inputs.get("images", ())
    ]
    messages = [user([*parts, sample.inputs["prompt"]])]
    if said := sample.inputs.get("system"):
        messages.insert(0, system(said))
    return generate(
        messages, max_tokens=file.max_tokens, temperature=file.temperature, stop=file.stop
    )


def _read(file: CustomFile, sample: Sample, reply: str) -> tuple[Any, bool, bool]:
    """What is read in a reply, whether that is right, and whether the reply is exactly so."""
    gold = sample.gold
    if file.scorer == "choice":
        count = len(sample.inputs["choices"])
        place = read_lenient(reply, count)
        read = None if place is None else letters.LETTERS[place]
        return read, place == gold, letters.read_strict(reply, count) == gold
    strict = reply.strip() in gold
    match file.scorer:
        case "exact":
            phrase = short_answers.read_phrase(reply)
            return phrase, phrase is not None and short_answers.says(phrase, gold), strict
        case "contains":
            held = any(short_answers.occurs(reply, one) for one in gold)
            return reply.strip()[:200] or None, held, strict
        case _:
            number = numbers.read_number(reply)
            return number, number is not None and _close(number, gold, file.tolerance), strict


def _close(number: str, gold: list[str], tolerance: float) -> bool:
    for one in gold:
        right = numbers.read_number(one)
        if right is not None:
            off = abs(float(number) - float(right))
            if off <= tolerance * abs(float(right)):
                return True
    return False
