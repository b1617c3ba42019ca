"""custom: a user-defined benchmark from a TOML file and a table of questions."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from math import comb
from pathlib import Path
from string import ascii_uppercase
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
    ask_judges,
    failed_judgements,
    judge_name,
)
from evalbench.engine.benchmarks.code_generation.parsers import called_function, read_program
from evalbench.engine.benchmarks.custom import child_work, scorers
from evalbench.engine.benchmarks.custom.file import CustomFile, read_file
from evalbench.engine.benchmarks.custom.rows import read_items, split_beside
from evalbench.engine.benchmarks.custom.scorers import (
    SCORERS,
    STRICT_READING,
    Read,
    Scoring,
    read_reply,
)
from evalbench.engine.benchmarks.mt_bench.ratings import (
    RATING_LENIENT,
    rating_problem,
    read_rating_lenient,
    read_verdict,
)
from evalbench.engine.calls import (
    MediaPart,
    Message,
    Outcome,
    Prompt,
    Reply,
    assistant,
    choose,
    generate,
    system,
    user,
)
from evalbench.engine.calls.options import setting
from evalbench.engine.errors import SpecError
from evalbench.engine.limited_process import LimitedProcess, LimitExceeded
from evalbench.engine.sandbox import UNSAFE, Limits, SandboxOfRun
from evalbench.engine.scoring import letters, metrics
from evalbench.engine.scoring.reply_text import answer_text
from evalbench.engine.scoring.statistics import pass_at_k
from evalbench.engine.scoring.tally import Metric, Tally

_JUDGE_MAX_TOKENS = 2048
_JUDGE_FORM = (
    "\n\nExplain your judgement briefly first. Then end with your rating from {low:g} (worst) to"
    " {high:g} (best) in double square brackets, in exactly this form: Rating: [[{high:g}]]"
)
_VERDICT_RUBRIC = """\
Is the answer below right? Compare it with the reference; wording does not matter.

[Question]
{{ prompt }}

[Reference]
{{ target }}

[Answer]
{{ reply }}"""
_VERDICT_FORM = (
    "\n\nExplain your judgement briefly first. Then end with your verdict in double square"
    " brackets, in exactly this form: Verdict: [[right]] or Verdict: [[wrong]]"
)
_LIMITED = {
    "search": "the pattern of the file on this reply",
    "template": "the rubric of the file on this reply",
    "math": "reading the mathematics of this reply",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomOptions:
    """Options of :class:`Custom`."""

    file: str | None = setting(
        None,
        "TOML file of the benchmark; evalbench new-benchmark creates one",
        path="file",
        affects_data=True,
    )
    unsafe_run_code: bool = setting(False, UNSAFE)


class Custom(Benchmark):
    """Questions, prompts, correct answers and scoring as defined in a TOML file."""

    name = "custom"
    version = "1"
    title = "Your own"
    summary = "questions of your own from a table or the Hugging Face hub; no Python needed"
    data_source = "the table or data set that the file names; --data reads another"
    seeded_data = True
    roles = ("candidate", "judge")
    spread_by = "group"
    filters: ClassVar[Mapping[str, str]] = {"group": "only these groups"}
    opt = CustomOptions()

    async def check(self) -> None:
        """Require a sandbox if programs are run, unless the user has opted out."""
        if self._known and "program" in self._file().scorers:
            await self._sandbox.get()

    def _file(self) -> CustomFile:
        """The file's content when the data was prepared, or its current content."""
        if self.shared:
            return self._kept_file
        return read_file(self._path())

    @cached_property
    def _kept_file(self) -> CustomFile:
        return CustomFile.from_json(self.shared)

    def _path(self) -> Path:
        if self.opt.file is None:
            raise SpecError(
                "file",
                "custom needs the file that describes it",
                hint="evalbench run FILE.toml; evalbench new-benchmark NAME writes an example",
            )
        return Path(self.opt.file)

    def prepare(self, source: DataSource) -> DataSet:
        """Read the table and render every prompt."""
        file, path = self._file(), self._path()
        items = read_items(path, file, source, self.seed)
        return DataSet(
            items,
            shared=file.to_json(),
            origin=path.name,
            revision=file.revision if file.hub else "",
        )

    def own_title(self) -> str:
        """The title in the file."""
        return self._file().title if self._known else ""

    def further_files(self) -> list[Path]:
        """The tables that the file refers to."""
        file, folder = self._file(), self._path().parent
        found = [folder / name for name in (file.data, file.shots_from) if name]
        if file.data and file.shots and file.shots_split:
            found.append(split_beside(folder / file.data, file.shots_split))
        return found

    @property
    def _known(self) -> bool:
        return bool(self.shared) or self.opt.file is not None

    def needs(self) -> frozenset[str]:
        """Log-likelihoods or text, and images if the file has image columns."""
        if not self._known:
            return frozenset({"generate"})
        file = self._file()
        kind = "choose" if "loglikelihood" in file.scorers else "generate"
        return frozenset({kind, "images"} if file.images else {kind})

    def needs_judge(self) -> bool:
        """Whether the file uses a judge for scoring."""
        return self._known and self._file().asks_judges

    def templates(self) -> Any:
        """The whole file, and the versions of the parsers used."""
        if not self._known:
            return None
        file = self._file()
        parsers = {
            RATING_LENIENT if name == "judge" else SCORERS[name].reads for name in file.scorers
        }
        return [file.to_json(), *sorted(parsers)]

    async def solve(self, sample: Sample, ask: Ask) -> Score:
        """Ask, and score as defined in the file."""
        file = self._file()
        if "loglikelihood" in file.scorers:
            return await _likelihoods(file, sample, ask)
        talk = _talk(sample)
        for number, turn in enumerate(sample.inputs.get("turns", ()), 1):
            talk.append(user(turn))
            earlier = await ask("candidate", _asked(file, talk), step=f"turn-{number}")
            if earlier.outcome.declined or not earlier.text.strip():
                return Score(
                    answer_outcome(earlier, None),
                    {},
                    note=f"turn {number} has no answer to go on from",
                )
            talk.append(assistant(earlier.text))
        prompt = _asked(file, [*talk, _last_turn(sample)])
        if file.votes > 1:
            return await self._voted(file, sample, prompt, ask)
        reply = await ask("candidate", prompt)
        if file.asks_judges and (reply.outcome.declined or not reply.text.strip()):
            return Score(answer_outcome(reply, None), {}, note="this answer cannot be judged")
        return await self._scored(file, sample, reply, ask)

    async def _scored(self, file: CustomFile, sample: Sample, reply: Reply, ask: Ask) -> Score:
        values: dict[str, float] = {}
        parsed: dict[str, Any] = {}
        notes: list[str] = []
        found: list[tuple[Scoring, float | None]] = []
        answers: list[Any] = []
        outcome = reply.outcome
        for one in file.scores:
            if one.scorer in ("judge", "graded"):
                mean, cut = await self._judged(file, one, sample, reply, ask, values, parsed, notes)
                if Outcome.ERROR in (outcome, cut):
                    outcome = Outcome.ERROR
                elif mean is None or cut is not Outcome.OK:
                    outcome = cut
            else:
                unrun = one.scorer == "program" and reply.outcome.declined
                read = await self._read(one, sample, "" if unrun else reply.text)
                mean = read.score if not reply.outcome.declined else 0.0
                notes += [read.note] if read.note else []
                parsed[self._reads(one, sample)] = read.answer
                answers.append(read.answer)
                if len(file.scores) == 1:
                    name = "score" if SCORERS[one.scorer].graded else "accuracy"
                    values[name] = mean
                    if read.strict is not None:
                        strict = read.strict if not reply.outcome.declined else 0.0
                        values["accuracy_strict"] = strict
            found.append((one, mean))
        if answers:  # what one scorer can read is an answer
            answer = next((one for one in answers if one is not None), None)
            outcome = _worse(outcome, answer_outcome(reply, answer))
        if len(file.scores) > 1:
            values |= {one.name: mean for one, mean in found if mean is not None}
            if all(mean is not None for _, mean in found):
                values["score"] = _weighted(found)
        return Score(outcome, values, parsed, "; ".join(dict.fromkeys(notes)))

    async def _read(self, one: Scoring, sample: Sample, reply: str) -> Read:
        if one.scorer == "regex":
            accepted: list[str] = sample.gold
            answer = await self._worked(child_work.search(one.pattern, reply))
            right = answer is not None and scorers.said_right(answer, accepted, one)
            return Read(answer, float(right), float(reply.strip() in accepted))
        if one.scorer == "math":
            return await self._read_math(one, sample, reply)
        if one.scorer == "program":
            return await self._read_program(one, sample, reply)
        inputs = sample.inputs
        read = read_reply(one, reply, sample.gold, inputs["row"], inputs.get("choices", ()))
        if not one.strict:
            return read
        found = await self._worked(child_work.search(one.strict, answer_text(reply)))
        strict = scorers.strictly_right(one, found, sample.gold)
        return Read(read.answer, read.score, float(strict))

    def _reads(self, one: Scoring, sample: Sample) -> str:
        """The parser of the answer, with its version."""
        many = one.scorer == "choice" and len(sample.inputs["choices"]) > len(letters.LETTERS)
        return letters.MANY if many else SCORERS[one.scorer].reads

    async def _read_math(self, one: Scoring, sample: Sample, reply: str) -> Read:
        """The answer by math-verify; the exact reading is the pattern's match, or the reply."""
        text = answer_text(reply)
        answer, right = None, False
        for gold in sample.gold:
            answer, same = await self._worked(child_work.same_math(gold, text))
            right = right or same
        if not one.strict:
            return Read(answer, float(right), float(reply.strip() in sample.gold))
        found = await self._worked(child_work.search(one.strict, text))
        math = f"${found.strip('$ ')}$" if found else ""
        strict = [
            math and (await self._worked(child_work.same_math(gold, math)))[1]
            for gold in sample.gold
        ]
        return Read(answer, float(right), float(any(strict)))

    async def _read_program(self, one: Scoring, sample: Sample, reply: str) -> Read:
        """The program in the reply, run with the tests that are the right answers."""
        tests = "\n".join(sample.gold)
        program = read_program(reply, called_function(tests))
        if program is None or self.rehearsal:
            return Read(program, 0.0)
        sandbox = await self._sandbox.get()
        ran = await sandbox.run(f"{program}\n\n{tests}\n", Limits(seconds=one.seconds))
        return Read(program, float(ran.finished), note=ran.result)

    @cached_property
    def _sandbox(self) -> SandboxOfRun:
        return SandboxOfRun(unsafe=self.opt.unsafe_run_code)

    async def _voted(self, file: CustomFile, sample: Sample, prompt: Prompt, ask: Ask) -> Score:
        """Score the answer that most of several replies give; in a tie, the first."""
        asks = [("candidate", prompt, "answer", number) for number in range(file.votes)]
        replies = await ask.many(asks)
        read = [
            Read(None, 0.0)
            if reply.outcome.declined
            else await self._read(file.scores[0], sample, reply.text)
            for reply in replies
        ]
        answers = [one for one in read if one.answer is not None]
        if not answers:
            return Score(answer_outcome(replies[0], None), {"accuracy": 0.0})
        votes = [scorers.vote_for(file.scores[0], one.answer) for one in answers]
        place = votes.index(max(votes, key=votes.count))
        most = votes.count(votes[place])
        return Score(
            Outcome.OK,
            {"accuracy": answers[place].score, "agreement": most / file.votes},
            {self._reads(file.scores[0], sample): answers[place].answer},
            f"{most} of {file.votes} replies say so",
        )

    @cached_property
    def _child(self) -> LimitedProcess:
        return child_work.process()

    async def _worked(self, piece: child_work.Piece) -> Any:
        """The match of the file's pattern, or its rendered rubric."""
        try:
            return await self._child.result(piece)
        except LimitExceeded as error:
            raise ScoringTimeout(f"scoring {error}: {_LIMITED[piece[0]]}") from None

    async def _judged(
        self,
        file: CustomFile,
        one: Scoring,
        sample: Sample,
        reply: Reply,
        ask: Ask,
        values: dict[str, float],
        parsed: dict[str, Any],
        notes: list[str],
    ) -> tuple[float | None, Outcome]:
        """The mean of the judges' scores, from 0 to 1, and the resulting outcome."""
        graded = one.scorer == "graded"
        fields = {
            **sample.inputs["row"],
            "prompt": sample.inputs["prompt"],
            "reply": reply.text,
            "target": "\n".join(sample.gold) if isinstance(sample.gold, list) else sample.gold,
        }
        rubric = file.rubric or _VERDICT_RUBRIC
        form = _VERDICT_FORM if graded else _JUDGE_FORM.format(low=file.low, high=file.high)
        instruction = await self._worked(child_work.template(rubric, fields))
        prompt = generate(instruction + form, max_tokens=_JUDGE_MAX_TOKENS, temperature=0.0)
        step = "grade" if graded else "rate"
        asks = [(judge, prompt, step) for judge in self.judges]
        # Other scorers' results count even if no judge can be reached.
        replies = await ask_judges(ask, asks, at_least_one=len(file.scores) == 1)
        notes += failed_judgements(asks, replies)
        readings: dict[str, Any] = {}
        outcome, marks = Outcome.OK, []
        for role, judgement in zip(self.judges, replies, strict=True):
            judge = judge_name(role)
            if judgement.outcome is Outcome.ERROR:
                outcome = Outcome.ERROR
                continue
            mark = _mark(file, judgement.text, graded=graded)
            readings[judge] = mark
            if mark is None:
                cut = judgement.outcome is Outcome.TRUNCATED
                outcome = _worse(outcome, Outcome.TRUNCATED if cut else Outcome.UNPARSED)
                notes.append(f"{judge}: {_why_unread(file, judgement, graded=graded)}")
            else:
                values[f"{'verdict' if graded else 'rating'}/{judge}"] = float(mark)
                marks.append(float(mark) if graded else (mark - file.low) / (file.high - file.low))
        parsed[SCORERS["graded"].reads if graded else RATING_LENIENT] = readings
        mean = sum(marks) / len(marks) if marks else None
        if graded and mean is not None and len(file.scores) == 1:
            values["accuracy"] = mean
        return mean, reply.outcome if outcome is Outcome.OK else outcome

    def metrics(self, tally: Tally) -> list[Metric]:
        """Accuracy, mean score or mean rating, each scorer's own, and all by group."""
        file = self._file()
        if len(file.scores) > 1:
            out = self._several(file, tally)
        elif file.scorers == {"judge"}:
            return self._ratings(tally)
        else:
            out = _single(file, tally)
        out.append(
            metrics.share(tally, (Outcome.UNPARSED,), "unparsed", "Replies that could not be read")
        )
        name = out[0].name
        measure = _mean if name == "score" or "graded" in file.scorers else metrics.rate
        if any(row.tags.get("group") for row in tally):
            out += metrics.table(
                tally,
                "group",
                name,
                lambda part, named, tag: measure(part, name, named, tag, "By group"),
            )
        return out

    def _several(self, file: CustomFile, tally: Tally) -> list[Metric]:
        weights = ", ".join(f"{one.name} {one.weight:g}" for one in file.scores)
        out = [_mean(tally, "score", "score", f"Score, weighted mean of {weights}")]
        for one in file.scores:
            kind = SCORERS[one.scorer]
            measure = _mean if kind.graded or one.scorer == "graded" else metrics.rate
            out.append(measure(tally, one.name, one.name, one.name, "By scorer"))
        return out

    def _ratings(self, tally: Tally) -> list[Metric]:
        file = self._file()
        judges = [judge_name(judge) for judge in self.judges]

        def mean(part: Tally, of: list[str], name: str, title: str, group: str = "") -> Metric:
            names = [f"rating/{judge}" for judge in of]
            sums = [
                (
                    sum(row.values.get(name, 0) for name in names),
                    sum(name in row.values for name in names),
                    row.count,
                )
                for row in part
            ]
            failed = metrics.missing(part, names)
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


def _talk(sample: Sample) -> list[Message]:
    """The messages before the sample's own turns."""
    talk = [system(text)] if (text := sample.inputs.get("system")) else []
    makers = {"system": system, "user": user, "assistant": assistant}
    talk += [makers[one["role"]](one["content"]) for one in sample.inputs.get("before", ())]
    return talk


def _last_turn(sample: Sample) -> Message:
    parts: list[Any] = [
        MediaPart(image["type"], base64.b64decode(image["data"]))
        for image in sample.inputs.get("images", ())
    ]
    return user([*parts, sample.inputs["prompt"]])


def _asked(file: CustomFile, talk: list[Message]) -> Prompt:
    return generate(talk, max_tokens=file.max_tokens, temperature=file.temperature, stop=file.stop)


async def _likelihoods(file: CustomFile, sample: Sample, ask: Ask) -> Score:
    """The option of greatest log-likelihood; for texts also per byte, as lm-evaluation-harness."""
    choices: list[str] = sample.inputs["choices"]
    by_text = file.scores[0].by == "text"
    named = choices if by_text else ascii_uppercase[: len(choices)]
    context = "\n\n".join(filter(None, [sample.inputs.get("system"), sample.inputs["prompt"]]))
    reply = await ask("candidate", choose(context, [f" {one}" for one in named]))
    place = letters.greatest(reply.logprobs)
    values = {"accuracy": float(place == sample.gold)}
    parsed = {letters.LOGLIKELIHOOD: None if place is None else ascii_uppercase[place]}
    if by_text:
        sizes = [len(one.encode()) for one in choices]
        norm = letters.greatest([p / n for p, n in zip(reply.logprobs, sizes, strict=True)])
        values["accuracy_norm"] = float(norm == sample.gold)
    return Score(answer_outcome(reply, place), values, parsed)


_mean = partial(metrics.mean, scale=(0, 1))  # all scores are from 0 to 1


def _single(file: CustomFile, tally: Tally) -> list[Metric]:
    one = file.scores[0]
    if SCORERS[one.scorer].graded:
        out = [_mean(tally, "score", "score", f"Mean {one.name}")]
        if one.scorer == "drop":
            out.append(metrics.rate(tally, "accuracy_strict", "exact_match", "Exact match"))
        return out
    measure = _mean if one.scorer == "graded" else metrics.rate
    out = [measure(tally, "accuracy", "accuracy", "Accuracy")]
    names = {name for row in tally for name in row.values}
    if one.scorer in STRICT_READING and file.votes == 1:
        names.add("accuracy_strict")
    for value, title in (
        ("accuracy_strict", "Accuracy, exact replies only"),
        ("accuracy_norm", "Accuracy, log-likelihood per byte"),
    ):
        if value in names:
            out.append(metrics.rate(tally, value, value, title))
    if "agreement" in names:
        out.append(_mean(tally, "agreement", "agreement", "Share of votes for the answer"))
    return out + _over_epochs(tally)


def _over_epochs(tally: Tally) -> list[Metric]:
    """pass@k and pass^k over repeated answers.

    With c of n answers right, the chance that at least one of k drawn ones is right is
    ``1 - C(n-c,k)/C(n,k)`` (Chen et al. 2021, arXiv 2107.03374), and that all are is
    ``C(c,k)/C(n,k)`` (Yao et al. 2024, arXiv 2406.12045). All samples have equal weight.
    """
    n, found = tally.epochs, []
    if n < 2 or tally.means is None:
        return []
    for k in sorted({2, 5, 10, n} & set(range(2, n + 1))):
        for sign, title, chance in (("@", "at least one", pass_at_k), ("^", "all", _all)):
            part = Tally()
            for row in tally.means:
                if "accuracy" in row.values:
                    right = round(row.values["accuracy"] * n)
                    part.add(row.tags, row.outcome, {"pass": chance(n, right, k)}, row.count)
            name = f"pass{sign}{k}"
            found.append(_mean(part, "pass", name, f"{title} of {k} answers right", "Epochs"))
    return found


def _all(n: int, right: int, k: int) -> float:
    return comb(right, k) / comb(n, k)


def _mark(file: CustomFile, judgement: str, *, graded: bool) -> float | None:
    if graded:
        return read_verdict(judgement)
    return read_rating_lenient(judgement, file.low, file.high)


def _why_unread(file: CustomFile, judgement: Reply, *, graded: bool) -> str:
    if judgement.outcome is Outcome.TRUNCATED:
        return "the judgement was cut off before its end"
    if graded:
        return "no verdict in the form that was asked for"
    return rating_problem(judgement.text, file.low, file.high)


def _weighted(found: list[tuple[Scoring, float | None]]) -> float:
    total = sum(one.weight for one, _ in found)
    return sum(one.weight * (mean or 0.0) for one, mean in found) / total if total else 0.0


_RANK = (
    *(Outcome.OK, Outcome.UNPARSED, Outcome.TRUNCATED, Outcome.REFUSED, Outcome.FILTERED),
    Outcome.ERROR,
)


def _worse(one: Outcome, other: Outcome) -> Outcome:
    """The more informative of two outcomes; a truncated reply that can be parsed is fine."""
    return max(one, other, key=_RANK.index)
