"""FastChat's MT-bench files: models' answers and judges' verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalbench.engine.benchmark import Item
from evalbench.engine.benchmarks.mt_bench.data import (
    Turns,
    answers_of,
    question_files,
    read_answers,
    read_questions,
)
from evalbench.engine.benchmarks.mt_bench.metrics import TURNS
from evalbench.engine.benchmarks.mt_bench.ratings import read_rating, read_winner
from evalbench.engine.config.roles import JUDGE
from evalbench.engine.config.spec import make_spec
from evalbench.engine.data.reading import Row, read_rows, whole_of
from evalbench.engine.errors import DataError, counted
from evalbench.engine.field_checks import (
    either,
    list_of,
    maybe,
    number,
    one_of,
    record,
    text,
    whole,
)
from evalbench.engine.formats.reading import fitting, malformed
from evalbench.engine.formats.recorded import (
    NOT_RECORDED,
    Place,
    Recorded,
    RecordedReply,
    known_as,
    stands_for,
)
from evalbench.engine.runs.reader import file_name

GAMES = (("g1", "first", ("A", "B")), ("g2", "second", ("B", "A")))
"""The two games of a comparison: their columns, our name, the places of model_1 and model_2."""

_NO_RATING = -1

_JUDGMENT = {
    "judge": either(text, list_of(text, 1)),
    "turn": whole(),
    "question_id": either(whole(), text),
}
_TEXTS = {
    **dict.fromkeys(("judgment", "user_prompt"), maybe(text)),
    **dict.fromkeys(("g1_judgment", "g2_judgment"), maybe(text)),
    **dict.fromkeys(("g1_user_prompt", "g2_user_prompt"), maybe(text)),
}
_WINNER = one_of(("model_1", "model_2", "tie", "error"))
_RATED = record({**_JUDGMENT, "model": text}, {**_TEXTS, "score": maybe(number(-1000, 1000))})
_COMPARED = record(
    {
        **_JUDGMENT,
        **dict.fromkeys(("model_1", "model_2"), text),
        **dict.fromkeys(("g1_winner", "g2_winner"), _WINNER),
    },
    _TEXTS,
)
_ANSWERED = record({"question_id": either(whole(), text)}, {"model_id": maybe(text)})

Said = list[Mapping[Place, RecordedReply]]
"""What one judge said about one turn, one entry per row."""


@dataclass(slots=True)
class Judged:
    """All rows about one model, or one pair.

    Attributes:
        judges: their names as in a spec.
        judgements: judgments by question, then by judge and turn.
        again: number of rows about something already judged.
        unlike: number of rows whose result differs from their judgment; the result counts.
        silent: number of rows without a judgment, replaced by their result.
    """

    judges: dict[str, None] = field(default_factory=dict)
    judgements: dict[int, dict[tuple[str, int], Said]] = field(default_factory=dict)
    again: int = 0
    unlike: int = 0
    silent: int = 0

    def notes(self) -> Iterator[str]:
        """Oddities in the rows."""
        if self.again:
            yield f"{counted(self.again, 'judgment')} of what had been judged; all count"
        if self.silent:
            yield f"{counted(self.silent, 'judgment')} without a text; the row's result stands in"
        if self.unlike:
            yield f"{counted(self.unlike, 'judgment')} read otherwise than the row; the row counts"


def read_results(path: Path, questions: Path, answers: Path | None) -> list[Recorded]:
    """Runs for a file of judgments, or the run for a file of unjudged answers.

    Raises:
        DataError: a file is missing or malformed.
    """
    _, first = next(read_rows(path), (0, {}))
    if "choices" in first:
        return [_unjudged(path, questions)]
    return read_judgments(path, questions, answers)


def _unjudged(path: Path, questions: Path) -> Recorded:
    rows = [
        fitting(row, _ANSWERED, "this is no answer of FastChat's", path, number)
        for number, row in read_rows(path)
    ]
    answers = read_answers(path)
    wanted = {whole_of(row["question_id"]) for row in rows}
    items = [
        (item, _turns(answers[ident]) if ident in answers else {})
        for item in read_questions(question_files(questions), "original", None)
        if (ident := item.inputs["question_id"]) in wanted
    ]
    notes = ["these answers have no judgments, so there is no score"]
    if lost := len(wanted - answers.keys()):
        notes.append(f"{counted(lost, 'answer')} with an error in its place: failed")
    if strange := len(wanted) - len(items):
        notes.append(f"{counted(strange, 'answer')} to questions that are not in --data, left out")
    spec = make_spec("mt-bench", stands_for(rows[0].get("model_id") or path.stem))
    return Recorded(spec, items, str(path), notes)


def _turns(answers: Turns) -> dict[Place, RecordedReply]:
    return {
        ("candidate", f"turn-{turn}", 0): RecordedReply(text)
        for turn, text in zip(TURNS, answers, strict=True)
    }


def read_judgments(path: Path, questions: Path, answers: Path | None) -> list[Recorded]:
    """Runs for a judgment file: one per model or pair, with every judge that judged it.

    Args:
        path: ``model_judgment/JUDGE_single.jsonl`` or ``…_pair.jsonl``.
        questions: FastChat's ``data/mt_bench`` folder, or the question file.
        answers: ``model_answer``: a folder of answer files, or a single file.

    Raises:
        DataError: a file is missing or malformed.
    """
    files = question_files(questions)
    asked = {item.inputs["question_id"] for item in read_questions(files, "none", None)}
    found: dict[tuple[str, ...], Judged] = {}
    for line, row in read_rows(path):
        try:
            names, ident = _add(found, row)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise malformed("this is no judgment of FastChat's", path, line, error) from None
        if ident not in asked:
            why = f"no question {ident} is in {files[0]}"
            raise DataError("the question is unknown", path=str(path), line=line, why=why)
        if len(names) != len(next(iter(found))):
            what = "ratings and comparisons do not go together"
            raise DataError(what, path=str(path), line=line)
    texts = _Answers(answers, sole=len(found) == 1)
    return [_run(path, names, judged, files, texts) for names, judged in found.items()]


def _add(found: dict[tuple[str, ...], Judged], row: Row) -> tuple[tuple[str, ...], int]:
    """Add a row to its group. Returns its model, or pair, and its question."""
    pair = "model_1" in row
    (_COMPARED if pair else _RATED)(row)
    names = (row["model_1"], row["model_2"]) if pair else (row["model"],)
    named = row["judge"]
    judge = stands_for(named if isinstance(named, str) else named[0])
    ident, turn = whole_of(row["question_id"]), row["turn"]
    if turn not in TURNS:
        raise ValueError(f"its turn is {turn}")
    # Built completely before it is stored, so that a bad row leaves nothing behind.
    read = _compared if pair else _rated
    judged = found.get(names) or Judged()
    replies = read(row, f"{JUDGE}/{judge}", turn, judged)
    found[names] = judged
    judged.judges[judge] = None
    rows = judged.judgements.setdefault(ident, {}).setdefault((judge, turn), [])
    judged.again += bool(rows)
    rows.append(replies)
    return names, ident


def _rated(row: Row, role: str, turn: int, judged: Judged) -> Mapping[Place, RecordedReply]:
    score = row.get("score")
    given = None if score is None or float(score) == _NO_RATING else float(score)
    text = row.get("judgment")
    if not isinstance(text, str):
        row["score"]
        judged.silent += 1
        text = ""
    elif score is not None and read_rating(text) != given:
        judged.unlike += 1
    if score is not None:
        text = _agreeing(text, read_rating(text), given, f"[[{score}]]")
        if given is not None and read_rating(text) != given:
            raise ValueError(f"its score is {score}")
    return {(role, f"rate-{turn}", 0): RecordedReply(text, str(row.get("user_prompt") or ""))}


def _compared(row: Row, role: str, turn: int, judged: Judged) -> Mapping[Place, RecordedReply]:
    replies: dict[Place, RecordedReply] = {}
    silent = unlike = False
    for game, order, (one, two) in GAMES:
        given = {"model_1": one, "model_2": two, "tie": "tie", "error": None}[row[f"{game}_winner"]]
        text = row.get(f"{game}_judgment")
        if not isinstance(text, str):
            silent, text = True, ""
        elif read_winner(text) != given:
            unlike = True
        mark = f"[[{'C' if given == 'tie' else given}]]"
        text = _agreeing(text, read_winner(text), given, mark)
        prompt = str(row.get(f"{game}_user_prompt") or "")
        replies[role, f"compare-{turn}-{order}", 0] = RecordedReply(text, prompt)
    judged.silent += silent
    judged.unlike += unlike
    return replies


def _agreeing(text: str, read: object, given: object, mark: str) -> str:
    """The judgment, or one that parses to the row's result, which is what the original counts."""
    if read == given:
        return text
    if read is None:
        return f"{text}\n\n{mark}".strip()
    return mark if given is not None else "(the row has no result; its judgment was left out)"


def _run(
    path: Path, names: Sequence[str], judged: Judged, files: list[Path], texts: _Answers
) -> Recorded:
    notes = list(judged.notes())
    answers = [texts.of(name, judged.judgements, notes) for name in names]
    baseline = answers[1] if len(answers) > 1 else None
    options = {}
    shared = None
    if baseline:
        one, two = map(known_as, names)
        notes.append(f"these are the results of {one}; it is compared with {two}")
        # The option names a file; the answers used for comparison are in the run.
        options["against"] = str(path.absolute())
        shared = {"against": two}
    spec = make_spec("mt-bench", stands_for(names[0]), judge=list(judged.judges), options=options)
    items = [
        pair
        for item in read_questions(files, "original", baseline)
        if (ident := item.inputs["question_id"]) in judged.judgements
        for pair in _items(item, answers[0][ident], judged.judgements[ident], list(judged.judges))
    ]
    return Recorded(spec, items, str(path), notes, shared=shared)


def _items(
    item: Item,
    answers: Turns,
    judgements: Mapping[tuple[str, int], Said],
    judges: Sequence[str],
) -> Iterator[tuple[Item, Mapping[Place, RecordedReply]]]:
    """The question once, and again for anything judged repeatedly."""
    for copy in range(max(map(len, judgements.values()))):
        replies = _turns(answers)
        turns: dict[str, list[int]] = {judge: [] for judge in judges}
        for (judge, turn), rows in sorted(judgements.items()):
            if copy < len(rows):
                turns[judge].append(turn)
                replies |= rows[copy]
        whole = all(tuple(given) == TURNS for given in turns.values())
        inputs = item.inputs if whole else {**item.inputs, "judged": turns}
        yield Item(inputs, item.gold, item.tags), replies


class _Answers:
    """The models' answers, if they are given."""

    def __init__(self, path: Path | None, *, sole: bool) -> None:
        """``sole``: there is only one model; a file is about that model, whatever its name."""
        files: list[Path] = []
        if path is not None:
            files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        # FastChat finds them by file name, which cannot contain a slash; the rows say more.
        self._files = {file.stem: file for file in files}
        for file in files:
            self._files.setdefault(answers_of(file), file)
        self._sole = path if sole and path and not path.is_dir() else None

    def of(self, model: str, wanted: Mapping[int, Any], notes: list[str]) -> dict[int, Turns]:
        """The answers to the wanted questions; missing ones are reported in a note."""
        file = self._files.get(model) or self._files.get(file_name(model), self._sole)
        if file is None:
            notes.append(
                f"the answers of {known_as(model)} were not given; a remark stands in their place"
            )
        known = read_answers(file) if file else {}
        # An empty answer was judged like any other.
        found = {
            ident: (one if one.strip() else NOT_RECORDED, two if two.strip() else NOT_RECORDED)
            for ident, (one, two) in known.items()
        }
        if file and (lost := sum(NOT_RECORDED in found.get(i, (NOT_RECORDED,)) for i in wanted)):
            notes.append(
                f"{counted(lost, 'answer')} of {known_as(model)} missing, empty or an error; what"
                " judges said of it counts, as in FastChat"
            )
        return {ident: found.get(ident, (NOT_RECORDED, NOT_RECORDED)) for ident in wanted}
