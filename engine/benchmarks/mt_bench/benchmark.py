"""MT-bench: two-turn questions whose answers judges rate or compare (arXiv 2306.05685)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

from evalbench.engine.benchmark import (
    Ask,
    Asked,
    Benchmark,
    DataSet,
    DataSource,
    Sample,
    Score,
    ask_judges,
    failed_judgements,
    judge_name,
    unread_judgements,
)
from evalbench.engine.benchmarks.mt_bench import data
from evalbench.engine.benchmarks.mt_bench import metrics as mt_bench_metrics
from evalbench.engine.benchmarks.mt_bench.prompts import OWN, JudgePrompt, judgement
from evalbench.engine.benchmarks.mt_bench.ratings import (
    RATING,
    RATING_LENIENT,
    WINNER,
    WINNER_LENIENT,
    rating_problem,
    read_rating,
    read_rating_lenient,
    read_winner,
    read_winner_lenient,
    winner_problem,
)
from evalbench.engine.calls import Outcome, Prompt, Reply, assistant, generate, user
from evalbench.engine.calls.options import setting
from evalbench.engine.calls.templates import ORIGINAL
from evalbench.engine.errors import SpecError, counted
from evalbench.engine.scoring.tally import Metric, Tally

TEMPERATURES = {
    "writing": 0.7,
    "roleplay": 0.7,
    "stem": 0.1,
    "humanities": 0.1,
    "extraction": 0.0,
    "math": 0.0,
    "coding": 0.0,
    "reasoning": 0.0,
}
"""The original's sampling temperature by category; others: 0.7."""

ANSWER_MAX_TOKENS = 1024

_UNJUDGED = (Outcome.FILTERED, Outcome.REFUSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class MtBenchOptions:
    """Options of :class:`MtBench`."""

    references: str = setting(
        "original",
        "reference answers for math, reasoning and coding: all, without the 13 disputed "
        "ones, or none",
        choices=("original", "undisputed", "none"),
        affects_data=True,
    )
    revision: str | None = setting(
        None,
        "commit, tag or branch of the Hugging Face space (default: newest commit)",
        affects_data=True,
    )
    judge_prompts: str | None = setting(
        None,
        "original: the wording of FastChat, for scores to compare with published ones; or a"
        " file in the form of its judge_prompts.jsonl (default: evalbench's own)",
        choices=(ORIGINAL,),
        path="file",
        affects_data=True,
    )
    judge_repeats: int = setting(
        1, "how often to ask each judge about an answer; the median counts", minimum=1, maximum=25
    )
    against: str | None = setting(
        None,
        "compare in pairs with the answers in this FastChat file, instead of rating",
        path="file",
        affects_data=True,
    )


class MtBench(Benchmark):
    """80 questions of two turns in eight categories, rated 1 to 10 or compared in pairs."""

    name = "mt-bench"
    version = "1"
    title = "MT-bench"
    summary = "80 two-turn questions in eight categories, graded by one or several judges"
    licence = "Apache-2.0"
    spread_by = "category"
    filters: ClassVar[Mapping[str, str]] = {
        "category": "only these categories: " + ", ".join(data.CATEGORIES)
    }
    filter_values: ClassVar[Mapping[str, tuple[str, ...]]] = {"category": tuple(data.CATEGORIES)}
    roles = ("candidate", "judge")
    data_source = "lmsys/mt-bench of the Hugging Face hub; --data FOLDER: FastChat's data/mt_bench"
    opt = MtBenchOptions()

    def __init__(self, options: Mapping[str, Any], *, seed: int = 0, shared: Any = None) -> None:
        super().__init__(options, seed=seed, shared=shared)
        self.repeats = self.opt.judge_repeats
        self.pairwise = self.opt.against is not None
        if self.pairwise and self.repeats > 1:
            raise SpecError(
                "judge_repeats",
                "--judge-repeats does not go with --against",
                why="a comparison is repeated already, with the answers swapped",
                hint="leave one of them out",
            )

    def prepare(self, source: DataSource) -> DataSet:
        """Read questions, references, judge prompts and the answers to compare with."""
        origin, revision = data.SPACE, ""
        if source.path is None:
            files, revision = data.fetch(source, self.opt.revision)
        else:
            files, origin = data.question_files(source.path), source.path.name
        against, judge_prompts = self.opt.against, self.opt.judge_prompts
        baseline = data.read_answers(Path(against)) if against else None
        items = data.read_questions(files, self.opt.references, baseline)
        shared: dict[str, Any] = {}
        if against:
            shared["against"] = data.answers_of(Path(against))
        if judge_prompts:
            name, prompts = data.find_prompts(judge_prompts, source)
            shared["prompts"] = {n: list(p) for n, p in prompts.items()}
            shared["prompts_name"] = name
        return DataSet(items, shared=shared or None, origin=origin, revision=revision)

    def data_files(self, path: Path) -> list[Path]:
        """The questions, the references next to them, and the judge prompts if they are used."""
        beside = data.prompts_beside(path) if self.opt.judge_prompts == ORIGINAL else None
        return [*data.question_files(path), *([beside] if beside else [])]

    def templates(self) -> Any:
        """The judges' prompts and the parsers' versions."""
        parsers = [WINNER, WINNER_LENIENT] if self.pairwise else [RATING, RATING_LENIENT]
        return [{name: list(prompt) for name, prompt in self._prompts().items()}, parsers]

    def prompt_set(self) -> str:
        """``original``, the name and hash of a file, or ``evalbench``."""
        return str((self.shared or {}).get("prompts_name") or super().prompt_set())

    def remarks(self, path: Path | None) -> list[str]:
        """Notes if the original's judge prompts are available and not used."""
        if self.opt.judge_prompts or path is None or data.prompts_beside(path) is None:
            return []
        return [
            f"judges get evalbench's own prompts; the {data.PROMPTS} in --data is not used: for"
            " scores to compare with published ones add --judge-prompts original"
        ]

    def _prompts(self) -> Mapping[str, JudgePrompt]:
        stored = (self.shared or {}).get("prompts")
        return {name: JudgePrompt(*prompt) for name, prompt in stored.items()} if stored else OWN

    async def solve(self, sample: Sample, ask: Ask) -> Score:
        """Both turns from the candidate, then every judge on each."""
        first, second = sample.inputs["turns"]
        category = sample.tags["category"]
        temperature = sample.inputs.get("temperature", TEMPERATURES.get(category, 0.7))
        params = {"max_tokens": ANSWER_MAX_TOKENS, "temperature": temperature}
        one = await ask("candidate", generate([user(first)], **params), step="turn-1")
        if _unjudged(one):
            return Score(_why(one), {}, note="the first answer cannot be judged")
        talk = [user(first), assistant(one.text), user(second)]
        two = await ask("candidate", generate(talk, **params), step="turn-2")
        if _unjudged(two):
            return Score(_why(two), {}, note="the second answer cannot be judged")
        fields = _fields(sample.inputs, one.text, two.text)
        grade = self._compare if self.pairwise else self._rate
        values, parsed, asks, judgements = await grade(sample, fields, ask)
        left_out = _left_out(one, two)
        if left_out:
            values["cut_prompt"] = 1.0
        read = read_winner if self.pairwise else read_rating
        outcome, _ = unread_judgements(
            asks, judgements, lambda text: "" if read(text) is not None else "unread"
        )
        if left_out or Outcome.TRUNCATED in (one.outcome, two.outcome):
            outcome = Outcome.TRUNCATED
        if failed := failed_judgements(asks, judgements):
            outcome = Outcome.ERROR
        _, unread = unread_judgements(
            asks, judgements, winner_problem if self.pairwise else rating_problem
        )
        return Score(outcome, values, parsed, "; ".join(filter(None, [left_out, *failed, *unread])))

    # -- single grading ----------------------------------------------------------

    async def _rate(self, sample: Sample, fields: Mapping[str, str], ask: Ask) -> _Graded:
        asks: list[Asked] = [
            (judge, self._judgement("single", turn, fields), f"rate-{turn}", repeat)
            for judge in self.judges
            for turn in _judged_turns(sample, judge)
            for repeat in range(self.repeats)
        ]
        judgements = await ask_judges(ask, asks)
        replies = iter(judgements)
        values: dict[str, float] = {}
        parsed: dict[str, Any] = {RATING: {}, RATING_LENIENT: {}}
        for role in self.judges:
            judge, turns, unread, judged = judge_name(role), _judged_turns(sample, role), 0, 0
            for turn in turns:
                came = [next(replies) for _ in range(self.repeats)]
                texts = [reply.text for reply in came if reply.outcome is not Outcome.ERROR]
                judged += len(texts)
                faithful, lenient = map(read_rating, texts), map(read_rating_lenient, texts)
                read = [rating for rating in faithful if rating is not None]
                unread += len(texts) - len(read)
                if read:
                    values[f"rating/{turn}/{judge}"] = float(median(read))
                if len(read) > 1:
                    values[f"spread/{turn}/{judge}"] = float(max(read) - min(read))
                parsed[RATING][f"{judge}, turn {turn}"] = median(read) if read else None
                seen = [rating for rating in lenient if rating is not None]
                if seen:
                    values[f"lenient/{turn}/{judge}"] = float(median(seen))
                parsed[RATING_LENIENT][f"{judge}, turn {turn}"] = median(seen) if seen else None
            values[f"judged/{judge}"] = float(judged)
            values[f"unread/{judge}"] = float(unread)
        return values, parsed, asks, judgements

    def _judgement(self, kind: str, turn: int, fields: Mapping[str, str]) -> Prompt:
        base = "single" if kind == "single" else "pair"
        version = "v1" if kind == "single" or "ref_answer_1" in fields else "v2"
        math = "-math" if "ref_answer_1" in fields else ""
        name = f"{base}{math}-{version}" + ("-multi-turn" if turn == 2 else "")
        return judgement(self._prompts()[name], fields)

    # -- pairwise grading --------------------------------------------------------

    async def _compare(self, sample: Sample, fields: Mapping[str, str], ask: Ask) -> _Graded:
        theirs: Sequence[str] = sample.inputs["baseline"]
        ours = (fields["answer_1"], fields["answer_2"])
        asks: list[Asked] = [
            (judge, self._judgement("pair", turn, {**fields, **seats}), f"compare-{turn}-{order}")
            for judge in self.judges
            for turn in _judged_turns(sample, judge)
            for order, seats in (("first", _seats(ours, theirs)), ("second", _seats(theirs, ours)))
        ]
        judgements = await ask_judges(ask, asks)
        replies = iter(judgements)
        values: dict[str, float] = {}
        parsed: dict[str, Any] = {WINNER: {}, WINNER_LENIENT: {}}
        for role in self.judges:
            judge, turns, unread, judged = judge_name(role), _judged_turns(sample, role), 0, 0
            for turn in turns:
                came = next(replies), next(replies)
                if Outcome.ERROR in (came[0].outcome, came[1].outcome):
                    continue  # a comparison needs both orders
                judged += 2
                texts = came[0].text, came[1].text
                verdicts = [read_winner(text) for text in texts]
                parsed[WINNER][f"{judge}, turn {turn}"] = verdicts
                parsed[WINNER_LENIENT][f"{judge}, turn {turn}"] = [
                    read_winner_lenient(text) for text in texts
                ]
                unread += verdicts.count(None)
                if None not in verdicts:
                    values |= _verdict(verdicts, f"{turn}/{judge}")
            values[f"judged/{judge}"] = float(judged)
            values[f"unread/{judge}"] = float(unread)
        return values, parsed, asks, judgements

    def metrics(self, tally: Tally) -> list[Metric]:
        """Mean ratings or win rates, by judge, category and turn, and judges' agreement."""
        judges = [judge_name(judge) for judge in self.judges]
        if self.pairwise:
            return mt_bench_metrics.comparisons(tally, judges)
        return mt_bench_metrics.ratings(tally, judges, self.prompt_set())


_Graded = tuple[dict[str, float], dict[str, Any], list[Asked], list[Reply]]
"""Values, parsed results, questions to the judges and their replies."""


def _judged_turns(sample: Sample, role: str) -> Sequence[int]:
    """The turns on which a judge is asked: both, unless imported results have only one."""
    given: Mapping[str, Sequence[int]] = sample.inputs.get("judged", {})
    return given.get(judge_name(role), mt_bench_metrics.TURNS)


def _unjudged(reply: Reply) -> bool:
    return reply.outcome in _UNJUDGED or not reply.text.strip()


def _why(reply: Reply) -> Outcome:
    return Outcome.UNPARSED if reply.outcome is Outcome.OK else reply.outcome


def _left_out(*turns: Reply) -> str:
    """What did not fit in the model's context, as text; empty if everything did."""
    return "; ".join(
        f"the prompt of turn {number} lost its first {counted(turn.cut_tokens, 'token')}:"
        " the model's context had no room for them"
        for number, turn in enumerate(turns, 1)
        if turn.cut_tokens
    )


def _fields(inputs: Mapping[str, Any], one: str, two: str) -> dict[str, str]:
    """The fields available in judge prompts."""
    first, second = inputs["turns"]
    fields = {
        "question": first,
        "answer": one,
        "question_1": first,
        "question_2": second,
        "answer_1": one,
        "answer_2": two,
    }
    if references := inputs.get("references"):
        fields["ref_answer_1"], fields["ref_answer_2"] = references
    return fields


def _seats(a: Sequence[str], b: Sequence[str]) -> dict[str, str]:
    return {
        "answer_a": a[0],
        "answer_b": b[0],
        "answer_a_1": a[0],
        "answer_a_2": a[1],
        "answer_b_1": b[0],
        "answer_b_2": b[1],
    }


def _verdict(verdicts: Sequence[str | None], place: str) -> dict[str, float]:
    """The result of two games with swapped seats: the same winner in both, or a tie.

    ``verdict`` is 1 for a win, -1 for a loss and 0 for a tie; ``flip`` means that both games were
    decided, each for a different side.
    """
    won = [1 if verdicts[0] == "A" else -1 if verdicts[0] == "B" else 0]
    won.append(1 if verdicts[1] == "B" else -1 if verdicts[1] == "A" else 0)
    verdict = won[0] if won[0] == won[1] else 0
    return {
        f"verdict/{place}": float(verdict),
        f"win/{place}": float(verdict == 1),
        f"loss/{place}": float(verdict == -1),
        f"tie/{place}": float(verdict == 0),
        f"flip/{place}": float(won[0] * won[1] == -1),
    }
