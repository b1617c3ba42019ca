"""The rows of a user-defined benchmark: reading, selecting, and rendering their prompts."""

from __future__ import annotations

import base64
import json
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from evalbench.engine.benchmark import DataSource, HubSet, Item
from evalbench.engine.benchmarks.custom import child_work
from evalbench.engine.benchmarks.custom.file import (
    CHOICES_AT_MOST,
    MOST_FAULTS,
    CustomFile,
    is_template,
    problem_at,
    template_names,
    templates_of,
    together,
)
from evalbench.engine.benchmarks.custom.scorers import target_problem
from evalbench.engine.data.hub_set import load_splits
from evalbench.engine.data.images import MOST_PIXELS
from evalbench.engine.data.media_headers import image_size, image_type, is_whole
from evalbench.engine.data.reading import SUFFIXES, Row, read_rows, shards
from evalbench.engine.errors import DataError, counted, nearest
from evalbench.engine.limited_process import LimitedProcess, LimitExceeded, WorkFailed

Numbered = tuple[int, Row]
_ROWS_AT_ONCE = 64
_MOST_LIMITS = 2
"""Rows with a template that takes too long: each takes seconds to fail."""
_OURS = frozenset({"row", "choices", "loop"})


def _known_in(key: str) -> frozenset[str]:
    """The names in a template that are no columns."""
    return frozenset({"prompt", "reply", "target"} if key == "rubric" else ())


class OptionNumber(int):
    """A correct answer given as the index of an option, from 0, whatever the options' texts."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The rows of a benchmark.

    Attributes:
        name: the table's name, for errors.
        folder: where files that rows refer to are; None for nowhere.
        rows: the questions.
        examples: returns the solved examples; None if they are among the questions.
        examples_name: their table's name, for errors.
    """

    name: str
    folder: Path | None
    rows: Iterator[Numbered]
    examples: Callable[[], Iterator[Numbered]] | None = None
    examples_name: str = ""

    def wrong(self, what: str, number: int, why: str = "", hint: str = "") -> DataError:
        """An error about a row."""
        return DataError(what, path=self.name, line=number, why=why, hint=hint)


def read_items(
    path: Path,
    file: CustomFile,
    source: DataSource,
    seed: int = 0,
    tables: Tables | None = None,
) -> Iterator[Item]:
    """One item for each row of the table, with its prompts rendered.

    Args:
        path: the file's path.
        file: its content.
        source: the table, if it is not the file's own; reads the images.
        seed: for the order of options, and for examples.
        tables: the rows, if they are not those that the file refers to.

    Raises:
        DataError: names the invalid rows, up to ten of them.
    """
    tables = tables or _tables(path, file, source)
    child = child_work.process()
    try:
        yield from _Reader(path, file, source, tables, child, seed).items(tables.rows)
    finally:
        child.close()


def _tables(path: Path, file: CustomFile, source: DataSource) -> Tables:
    examples: Callable[[], Iterator[Numbered]] | None = None
    if source.path is None and file.hub:
        name = ", ".join(filter(None, (file.hub, file.config, file.split)))
        if file.shots_split:
            examples = partial(hub_rows, replace(file, split=file.shots_split), source)
        return Tables(name, None, hub_rows(file, source), examples, file.shots_split)
    table = source.path or _beside(path, "data", file.data)
    apart: Path | None = None
    if file.shots_from:
        apart = _beside(path, "shots_from", file.shots_from)
    elif file.shots and file.shots_split:
        apart = split_beside(table, file.shots_split)
    if apart:
        examples = partial(read_rows, apart)
    return Tables(str(table), table.parent, read_rows(table), examples, apart.name if apart else "")


def split_beside(table: Path, split: str) -> Path:
    """The table of another split next to a table, or in the same folder.

    Raises:
        DataError: it does not exist.
    """
    folder = table if table.is_dir() else table.parent
    found = [file for suffix in SUFFIXES if (file := folder / f"{split}{suffix}").is_file()]
    found += sorted(folder.glob(f"{split}-*.parquet"))
    if found:
        return found[0]
    raise DataError(
        f"the solved examples come from the split {split}, and there is no table of it",
        path=str(folder),
        hint=f"put {split}.jsonl there, or ask without examples: shots = 0 (--shots 0)",
    )


def _beside(path: Path, key: str, name: str) -> Path:
    if not name:
        raise problem_at(
            path,
            "benchmark",
            "",
            "the table of questions is not named",
            hint='[benchmark] data = "questions.csv", or --data FILE',
        )
    section = "benchmark" if key == "data" else "prompt"
    try:
        table = _inside(path.parent, name)
    except ValueError as error:
        raise problem_at(
            path,
            section,
            key,
            f"the table lies elsewhere than beside the file: {error}",
            hint=f"if you want it read: --data {name}" if key == "data" else "",
        ) from None
    if not table.exists():
        hint = "download it, or name a data set of the hub: hf:OWNER/NAME" if "://" in name else ""
        raise problem_at(path, section, key, f"there is no file {name} beside it", hint=hint)
    if not (table.is_dir() and shards(table)) and not table.name.lower().endswith(SUFFIXES):
        what = "a folder without tables" if table.is_dir() else "no table"
        raise problem_at(
            path, section, key, f"{name} is {what}", hint="files end in " + ", ".join(SUFFIXES)
        )
    return table


def hub_rows(file: CustomFile, source: DataSource) -> Iterator[Numbered]:
    """The rows of a data set on the Hugging Face Hub."""
    hint = (
        "check name, config and split, and the network (evalbench keys set huggingface for a"
        " private one), or give a copy with --data FILE"
    )
    hub = HubSet(file.hub, file.revision, file.config, file.split)
    splits, _ = load_splits(hub, source.cache, hint, source.progress)
    (rows,) = splits.values()
    import datasets

    for name, feature in rows.features.items():
        if isinstance(feature, datasets.Image):
            rows = rows.cast_column(name, datasets.Image(decode=False))
    for number, row in enumerate(rows, 1):
        yield number, dict(row)


class _Reader:
    """Turns rows into items, a few dozen at a time, as the child renders them."""

    def __init__(
        self,
        path: Path,
        file: CustomFile,
        source: DataSource,
        table: Tables,
        child: LimitedProcess,
        seed: int,
    ) -> None:
        self._path, self._file, self._source = path, file, source
        self._table, self._child, self._seed = table, child, seed
        self._names = [
            (section, key, names)
            for section, key, template in templates_of(file)
            if not isinstance(names := template_names(template), str)
        ]
        self._examples: list[Numbered] = []
        self._faults: list[DataError] = []
        self._limits = 0

    def items(self, rows: Iterator[Numbered]) -> Iterator[Item]:
        file = self._file
        if file.rubric:
            # It is rendered only when answers are judged, which is too late to find an error.
            self._check_rubric()
        rows = self._selected(rows)
        if file.shots:
            rows = self._with_examples(rows)
        none = True
        try:
            while some := list(islice(rows, _ROWS_AT_ONCE)):
                none = False
                yield from self._made(some)
        except DataError as fault:
            if fault not in self._faults:
                self._faults.append(fault)
        if self._faults:
            raise together(self._faults, self._path)
        if none and self._examples and not self._table.examples:
            raise problem_at(
                self._path,
                "prompt",
                "shots",
                f"no row is left to ask: the table has {counted(len(self._examples), 'row')}, and"
                f" {counted(file.shots, 'example')} come from it",
                hint="name another table of examples: shots_from",
            )
        if none:
            raise DataError(
                "no row is left to ask",
                path=self._table.name,
                hint="see [benchmark] filter" if file.filter else "a table needs one row or more",
            )

    def _note(self, fault: DataError) -> None:
        """Collect an error in a row, to report it together with others.

        Raises:
            DataError: there are enough to report; or examples are used, which would fail again for
                every row.
        """
        self._faults.append(fault)
        enough = len(self._faults) >= MOST_FAULTS or self._limits >= _MOST_LIMITS
        if enough or self._file.shots:
            raise fault

    def _check_rubric(self) -> None:
        try:
            next(self._child.results([child_work.check(self._file.rubric)]))
        except WorkFailed as error:
            raise problem_at(
                self._path, "judge", "rubric", f"it cannot be used: reading it {error}"
            ) from None

    # -- which rows --------------------------------------------------------------

    def _selected(self, rows: Iterator[Numbered]) -> Iterator[Numbered]:
        """The rows in order, checked to have every column that the file refers to."""
        file = self._file
        checked = self._checked(rows)
        if file.filter:
            checked = self._filtered(checked)
        if not file.sort:
            return checked
        from evalbench.engine.scoring.numbers import parse_number

        column = file.sort.removeprefix("-")
        found = list(checked)
        values = [row[column] for _, row in found]
        numeric = [parse_number(str(value)) for value in values]
        keys: list[Any] = [str(v) for v in values] if None in numeric else numeric
        order = sorted(range(len(found)), key=lambda at: keys[at], reverse=file.sort[:1] == "-")
        return iter([found[at] for at in order])

    def _checked(self, rows: Iterator[Numbered]) -> Iterator[Numbered]:
        first = True
        for number, row in rows:
            there = set(map(str, row))
            missing = self._missing(there)
            if first and missing:
                alone = next(iter(there)) if len(there) == 1 else ""
                faults = [
                    problem_at(
                        self._path,
                        section,
                        key,
                        f"the table has no column {name!r} ({self._table.name}, row {number})",
                        hint="separate its cells with commas"
                        if ";" in alone or "\t" in alone
                        else nearest(name, there | _known_in(key))
                        or "columns: " + ", ".join(sorted(there)),
                    )
                    for section, key, name in missing
                ]
                faults.sort(key=lambda fault: fault.at)
                raise together(faults, self._path)
            first = False
            for section, key, name in missing[:1]:
                self._note(
                    self._table.wrong(
                        f"the row has no column {name!r}, which [{section}] {key} needs",
                        number,
                        hint=nearest(name, there) or "columns: " + ", ".join(sorted(there)),
                    )
                )
            if not missing:
                yield number, row

    def _missing(self, there: set[str]) -> list[tuple[str, str, str]]:
        """Names that are not columns, each with the file's table and key that need it."""
        return [
            (section, key, name)
            for section, key, names in (*self._columns(), *self._names)
            for name in sorted(names - there - _OURS - _known_in(key))
        ]

    def _columns(self) -> list[tuple[str, str, frozenset[str]]]:
        file = self._file
        named = [
            ("benchmark", "group", [file.group]),
            ("prompt", "shots_by", [file.shots_by]),
            ("benchmark", "sort", [file.sort.removeprefix("-")]),
            ("prompt", "messages", [file.messages]),
            ("prompt", "images", list(file.images)),
            ("answer", "target", [] if is_template(file.target) else [file.target]),
            ("answer", "choices", list(file.choices)),
        ]
        return [(s, k, frozenset(filter(None, names))) for s, k, names in named]

    def _filtered(self, rows: Iterator[Numbered]) -> Iterator[Numbered]:
        while some := list(islice(rows, _ROWS_AT_ONCE)):
            pieces = [child_work.template(self._file.filter, _named(row)) for _, row in some]
            results = self._child.results(pieces)
            for number, row in some:
                try:
                    result = _rendered(results, "benchmark", "filter")
                except _TemplateFailed as error:
                    raise self._unfit(error, number, row) from None
                if result.strip() not in ("", "False", "false", "0", "None"):
                    yield number, row

    def _with_examples(self, rows: Iterator[Numbered]) -> Iterator[Numbered]:
        """Set the examples aside; from the same table, the first rows, which are then not asked."""
        file = self._file
        apart = self._table.examples
        if apart:
            few = None if file.shots_random or file.shots_by else file.shots
            self._examples = list(islice(apart(), few))
            for number, row in self._examples:
                self._check_example(number, row)
        elif file.shots_random or file.shots_by:
            self._examples = list(rows)
            rows = iter(self._examples)
        else:
            self._examples = list(islice(rows, file.shots))
        if len(self._examples) < file.shots + (file.shots_random and not apart):
            raise problem_at(
                self._path,
                "prompt",
                "shots",
                f"{counted(len(self._examples), 'row')} for {counted(file.shots, 'example')}",
            )
        return rows

    def _check_example(self, number: int, row: Row) -> None:
        """Reject an example without a column that it is rendered with."""
        there = set(map(str, row))
        for section, key, name in self._missing(there):
            if key in ("template", "system", "shot_answer", "shots_by", "target", "choices"):
                place = f"{self._table.examples_name}, " if self._table.examples_name else ""
                raise problem_at(
                    self._path,
                    "prompt",
                    "shots_from" if self._file.shots_from else "shots_split",
                    f"the examples have no column {name!r}, which [{section}] {key} needs"
                    f" ({place}row {number})",
                    hint=nearest(name, there) or "columns: " + ", ".join(sorted(there)),
                )

    def _shots_of(self, number: int, row: Row) -> list[Numbered]:
        file = self._file
        if not file.shots:
            return []
        if file.shots_by:
            wanted = row[file.shots_by]
            same = [
                one
                for one in self._examples
                if one[1][file.shots_by] == wanted and one[1] is not row
            ]
            if len(same) < file.shots:
                raise ValueError(
                    f"there are {len(same)} examples with {file.shots_by} {str(wanted)[:60]!r}"
                    f" for the {file.shots} that are wanted"
                )
            return same[: file.shots]
        if not file.shots_random:
            return self._examples[: file.shots]
        draw = random.Random(f"{self._seed}/shots/{number}")  # noqa: S311
        others = [example for example in self._examples if example[1] is not row]
        return draw.sample(others, file.shots)

    # -- rendering ---------------------------------------------------------------

    def _made(self, some: Sequence[Numbered]) -> Iterator[Item]:
        """Items for these rows; errors are collected, and the other rows are still checked."""
        at = 0
        try:
            for item in self._page(some):
                yield item
                at += 1
            return
        except DataError as fault:
            self._child.close()  # it may have results that no one will read
            self._note(fault)
        for one in some[at + 1 :]:
            try:
                yield from self._page([one])
            except DataError as fault:
                self._child.close()
                self._note(fault)

    def _page(self, some: Sequence[Numbered]) -> Iterator[Item]:
        plans: list[list[Any]] = []
        for number, row in some:
            try:
                shots = [
                    self._of_example(n, self._plan, n, r) for n, r in self._shots_of(number, row)
                ]
                plans.append([*shots, self._plan(number, row)])
            except DataError:
                raise
            except Exception as error:
                plans.append([error])
                break  # reported when it is the row's turn, after those before it
        pieces = [
            piece
            for plan in plans
            for part in plan
            if isinstance(part, _Plan)
            for piece in part.pieces
        ]
        results = self._child.results(pieces)
        for (number, row), plan in zip(some, plans, strict=False):
            try:
                yield self._item(row, plan, results)
            except DataError:
                raise
            except Exception as error:
                raise self._unfit(error, number, row) from None

    def _plan(self, number: int, row: Row) -> _Plan:
        file = self._file
        choices, order = self._choices(number, row)
        known = _named(row)
        if choices:
            known["choices"] = choices
        pieces = [child_work.template(one, known) for one in file.template]
        pieces += [child_work.template(file.system, known)] if file.system else []
        pieces += [child_work.template(file.target, known)] if is_template(file.target) else []
        pieces += [child_work.template(file.shot_answer, known)] if file.shot_answer else []
        return _Plan(number, row, choices, order, pieces)

    def _choices(self, number: int, row: Row) -> tuple[list[str], list[int]]:
        """The options as shown, and the original index of each."""
        file = self._file
        if not file.choices:
            return [], []
        found: list[str] = []
        for name in file.choices:
            cell = row[name]
            if isinstance(cell, str) and len(file.choices) == 1 and cell.lstrip()[:1] == "[":
                with suppress(ValueError, RecursionError):
                    cell = json.loads(cell)
            cells = list(cell) if isinstance(cell, list | tuple) else _split(cell, file.separator)
            if any(_is_empty(one) for one in cells) or not cells:
                raise ValueError(f"an option in {name!r} is empty")
            found += [str(one) for one in cells]
        if not 2 <= len(found) <= CHOICES_AT_MOST:
            are = "is 1 option" if len(found) == 1 else f"are {len(found)} options"
            more = "" if file.separator else "; separator = ';' would split a cell"
            more = more if len(found) == 1 else ""
            raise ValueError(f"there {are}; a question has 2 to {CHOICES_AT_MOST}{more}")
        order = list(range(len(found)))
        if file.shuffle:
            random.Random(f"{self._seed}/{number}/{found}").shuffle(order)  # noqa: S311
        return [found[at] for at in order], order

    def _item(self, row: Row, plan: Sequence[Any], results: Iterator[str]) -> Item:
        file = self._file
        if isinstance(plan[0], Exception):
            raise plan[0]
        *shots, asked = plan
        examples = [self._of_example(one.number, self._read, one, results) for one in shots]
        rendered = self._read(asked, results)
        inputs: dict[str, Any] = {
            "prompt": rendered.turns[-1] if rendered.turns else "",
            "row": {str(n): _plain(v) for n, v in row.items() if str(n) not in file.images},
        }
        if file.system:
            inputs["system"] = rendered.system
        messages = [
            message
            for example in examples
            for message in (
                {"role": "user", "content": example.turns[0]},
                {"role": "assistant", "content": example.answer},
            )
        ]
        if examples and file.shots_as == "text":
            blocks = [_joined(example.turns[0], example.answer) for example in examples]
            inputs["prompt"] = "\n\n".join([*blocks, rendered.turns[0]])
            messages = []
        if file.messages:
            messages += _conversation(row[file.messages], last_asks=not rendered.turns)
            if not rendered.turns:
                inputs["prompt"] = messages.pop()["content"]
        if messages:
            inputs["before"] = messages
        if len(rendered.turns) > 1:
            inputs["turns"] = rendered.turns[:-1]
        if any(not text.strip() for text in (inputs["prompt"], *rendered.turns)):
            raise ValueError("its prompt is empty")
        if asked.choices:
            inputs["choices"] = asked.choices
        images = [self._image(name, one) for name in file.images for one in _listed(row[name])]
        if images:
            inputs["images"] = images
        group = {"group": str(row[file.group])} if file.group else {}
        return Item(inputs, rendered.gold, group)

    def _of_example(self, number: int, work: Callable[..., Any], *args: Any) -> Any:
        """The result of work on an example; its errors name the example's row.

        Raises:
            ValueError: the example is invalid.
        """
        try:
            return work(*args)
        except ValueError as error:
            table = f" of {self._table.examples_name}" if self._table.examples_name else ""
            raise ValueError(f"the example in row {number}{table}: {error}") from None

    def _read(self, plan: _Plan, results: Iterator[str]) -> _Said:
        """The child's results for a plan's pieces, in order."""
        file = self._file
        turns = [_rendered(results, "prompt", "template") for _ in file.template]
        system = _rendered(results, "prompt", "system") if file.system else ""
        target: Any = (
            plan.row[file.target] if file.target and not is_template(file.target) else None
        )
        if is_template(file.target):
            target = _rendered(results, "answer", "target")
        shown = _rendered(results, "prompt", "shot_answer") if file.shot_answer else ""
        gold = self._gold(target, plan) if file.target else None
        if not shown and gold is not None:
            shown = ascii_uppercase[gold] if isinstance(gold, int) else gold[0]
        return _Said(turns, system, gold, shown)

    def _gold(self, value: Any, plan: _Plan) -> Any:
        """The correct answer: an option's index, or the accepted texts.

        Raises:
            ValueError: there is none, so that no scorer could tell it from a wrong one.
        """
        file = self._file
        if _is_empty(value):
            raise ValueError("its right answer is empty")
        if not file.scorers.isdisjoint({"choice", "loglikelihood"}):
            return _index(value, plan)
        found = list(value) if isinstance(value, list | tuple) else _split(value, file.separator)
        if not found or any(_is_empty(one) for one in found):
            raise ValueError("one of its right answers is empty")
        texts = [_text(one) for one in found]
        for scoring in file.scores:
            # Beside other scorers, one may be for some of the rows.
            if len(file.scores) > 1 and scoring.scorer != "numeric":
                continue
            for text in texts:
                if problem := target_problem(scoring, text):
                    raise ValueError(f"its right answer {problem}: {text[:60]!r}")
        return texts

    def _image(self, column: str, value: Any) -> dict[str, str]:
        """The picture in a cell: its bytes, or its path beside the table.

        Raises:
            ValueError: it does not exist, or is not a picture that models take.
        """
        if isinstance(value, Mapping):
            value = value.get("bytes") or value.get("path")
        if isinstance(value, bytes):
            data, name = value, "its content"
        else:
            if self._table.folder is None or _is_empty(value):
                raise ValueError(f"there is no picture in {column!r}")
            name = str(value)
            if "://" in name:
                raise ValueError(f"{column!r}: {name[:60]} is an address; pictures are files")
            path = _inside(self._table.folder, name)
            try:
                data = self._source.read(path)
            except FileNotFoundError:
                raise ValueError(f"{column!r}: there is no file {name} beside the table") from None
            except OSError as error:
                why = error.strerror or str(error)
                raise ValueError(f"{column!r}: {name} cannot be read: {why}") from None
        kind = image_type(data)
        if not kind:
            raise ValueError(f"{column!r}: {name} is no picture (PNG, JPEG, GIF or WebP)")
        size = image_size(data)
        if size is None or not is_whole(data):
            raise ValueError(f"{column!r}: {name} is damaged: a part of the picture is missing")
        width, height = size
        if width * height > MOST_PIXELS:
            raise ValueError(
                f"{column!r}: {name} has {width:,} × {height:,} pixels, over {MOST_PIXELS:,}"
            )
        return {"type": kind, "data": base64.b64encode(data).decode()}

    def _unfit(self, error: Exception, number: int, row: Row) -> DataError:
        if not isinstance(error, _TemplateFailed):
            why = (
                str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
            )
            return self._table.wrong("the row does not fit the prompt", number, why)
        if child_work.TOO_DEEP in str(error):
            return DataError(
                "a template cannot be understood",
                path=str(self._path),
                why=child_work.TOO_DEEP,
                hint="put parts of it into {% set name = … %}",
            )
        self._limits += error.limited
        line = problem_at(self._path, error.section, error.key, "").at
        return self._table.wrong(
            f"the row does not fit [{error.section}] {error.key} ({self._path.name}, line {line})",
            number,
            str(error),
            "columns: " + ", ".join(map(str, row)) if error.undefined else "",
        )


class _TemplateFailed(ValueError):
    """A template fails on a row; the message says why."""

    def __init__(self, section: str, key: str, error: WorkFailed) -> None:
        kind, _, what = str(error).partition(": ")
        self.section, self.key = section, key
        self.limited = isinstance(error, LimitExceeded)
        self.undefined = kind == "UndefinedError"
        # A sentence says more than the class of an exception; a single word less.
        plain = what if " " in what else str(error)
        super().__init__(f"rendering it {error}" if self.limited else plain)


def _rendered(results: Iterator[str], section: str, key: str) -> str:
    """The next result, which is a template's.

    Raises:
        _TemplateFailed: the template fails.
    """
    try:
        return next(results)
    except WorkFailed as error:
        raise _TemplateFailed(section, key, error) from None


@dataclass(frozen=True, slots=True)
class _Plan:
    number: int
    row: Row
    choices: list[str]
    order: list[int]
    pieces: list[child_work.Piece]


@dataclass(frozen=True, slots=True)
class _Said:
    turns: list[str]
    system: str
    gold: Any
    answer: str


def _named(row: Row) -> dict[str, Any]:
    return {str(name): _plain(value) for name, value in row.items()}


def _plain(value: Any) -> Any:
    """A cell as a JSON value; NaN, which tables use for missing values, becomes null."""
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


def _is_empty(value: Any) -> bool:
    return _plain(value) is None or (isinstance(value, str) and not value.strip())


def _text(value: Any) -> str:
    return json.dumps(value) if isinstance(value, dict | list) else str(value)


def _split(cell: Any, separator: str) -> list[Any]:
    if separator and isinstance(cell, str):
        return [part.strip() for part in cell.split(separator) if part.strip()]
    return [cell]


def _listed(cell: Any) -> list[Any]:
    return cell if isinstance(cell, list) else [cell]


def _joined(question: str, answer: str) -> str:
    gap = "" if question[-1:].isspace() else " "
    return f"{question}{gap}{answer}"


def _index(value: Any, plan: _Plan) -> int:
    """Which option a cell refers to: by its text, letter, or index from 0."""
    text, count = str(value).strip(), len(plan.choices)
    if isinstance(value, OptionNumber) and 0 <= value < count:
        return plan.order.index(value)
    if plan.choices.count(text) > 1:
        raise ValueError(f"its right answer {text[:60]!r} is the text of two options")
    if text in plan.choices:
        return plan.choices.index(text)
    if len(text) == 1 and 0 <= ord(text.upper()) - ord("A") < count:
        return plan.order.index(ord(text.upper()) - ord("A"))
    if text.isdecimal() and int(text) < count:
        return plan.order.index(int(text))
    raise ValueError(f"{text[:60]!r} is none of the options, no letter and no number of one")


_ROLES = {"human": "user", "gpt": "assistant", "bot": "assistant", "model": "assistant"}


def _conversation(cell: Any, *, last_asks: bool) -> list[dict[str, str]]:
    """The messages in a cell: a list of objects with role and content, or its JSON text.

    Raises:
        ValueError: it is not a conversation that a model could continue.
    """
    if isinstance(cell, str):
        try:
            cell = json.loads(cell)
        except ValueError:
            raise ValueError("its conversation is no JSON list of messages") from None
    if not isinstance(cell, list) or not cell:
        raise ValueError("its conversation is no list of messages")
    found = []
    for at, message in enumerate(cell, 1):
        if not isinstance(message, Mapping):
            raise ValueError(f"message {at} is no object with role and content")
        role = message.get("role", message.get("from"))
        content = message.get("content", message.get("value"))
        role = _ROLES.get(str(role), role)
        if isinstance(content, list):
            content = "".join(
                str(part.get("text", "")) for part in content if isinstance(part, Mapping)
            )
        if role not in ("system", "user", "assistant"):
            raise ValueError(
                f"message {at} has the role {role!r}; there are system, user, assistant"
            )
        if not isinstance(content, str) or not content.strip():
            raise ValueError(f"message {at} has no text")
        found.append({"role": role, "content": content})
    if last_asks and found[-1]["role"] != "user":
        raise ValueError("its conversation does not end with the user's message")
    if not last_asks and found[-1]["role"] == "user":
        raise ValueError("its conversation ends with the user's message, and a template follows")
    return found


def _inside(folder: Path, name: str) -> Path:
    """A file named in a user's file or table, which may come from anyone.

    Raises:
        ValueError: it is outside ``folder``, by its name or through a link.
    """
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"{name} is outside of {folder}")
    return path
