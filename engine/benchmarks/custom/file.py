"""The TOML file that makes a benchmark out of a table of questions, without any Python."""

from __future__ import annotations

import base64
import mimetypes
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Any

from evalbench.engine.benchmark import DataSource, Item
from evalbench.engine.benchmarks.custom import work as custom_work
from evalbench.engine.data.image_size import image_size
from evalbench.engine.data.pictures import MOST_PIXELS
from evalbench.engine.data.reading import Row, read_rows, unreadable
from evalbench.engine.errors import DataError, nearest
from evalbench.engine.files import read_toml
from evalbench.engine.limited import LimitedProcess, LimitExceeded, WorkFailed
from evalbench.engine.shapes import short

SCORERS = ("choice", "exact", "contains", "numeric", "regex", "judge")


@dataclass(frozen=True, slots=True)
class CustomFile:
    """What a file says. All of it is JSON, so that a journal can keep it.

    Attributes:
        title: for people.
        data: the table, beside the file.
        template, system: Jinja templates of the user's and the system message.
        max_tokens, temperature, stop: parameters of the candidate's calls.
        target: the column with the right answer; empty for a judge without one.
        choices: columns of the options, or one column with a list of them.
        group: the column that results are grouped by; may be empty.
        images: columns with paths of images, relative to the table.
        scorer: one of :data:`SCORERS`.
        pattern: what the scorer ``regex`` reads the answer with, by its first group.
        tolerance: how far a number may be off, in parts of the right one.
        rubric: Jinja template of the judge's message, with ``reply`` besides the columns.
        low, high: the judge's scale.
    """

    title: str = ""
    data: str = ""
    template: str = ""
    system: str = ""
    max_tokens: int = 256
    temperature: float = 0.0
    stop: tuple[str, ...] = ()
    target: str = ""
    choices: tuple[str, ...] = ()
    group: str = ""
    images: tuple[str, ...] = ()
    scorer: str = "exact"
    pattern: str = ""
    tolerance: float = 0.0
    rubric: str = ""
    low: float = 1.0
    high: float = 10.0

    def to_json(self) -> dict[str, Any]:
        """A JSON form that :meth:`from_json` reads back."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> CustomFile:
        """Read a stored file.

        Raises:
            DataError: it is none.
        """
        if not isinstance(value, Mapping):
            raise DataError("what the run keeps of its benchmark's file is damaged")
        where = Path("the file that the run keeps")
        known = (name for name in value if name in _DEFAULTS)
        return cls(**{name: _typed(where, name, value[name]) for name in known})


_SECTIONS: Mapping[str, Mapping[str, str]] = {
    "benchmark": {"title": "title", "data": "data", "group": "group"},
    "prompt": {
        "template": "template",
        "system": "system",
        "max_tokens": "max_tokens",
        "temperature": "temperature",
        "stop": "stop",
        "images": "images",
    },
    "answer": {
        "target": "target",
        "choices": "choices",
        "scorer": "scorer",
        "pattern": "pattern",
        "tolerance": "tolerance",
    },
    "judge": {"rubric": "rubric", "low": "low", "high": "high"},
}
_LISTS = ("stop", "choices", "images")


def is_custom(path: Path) -> bool:
    """Whether a TOML file describes a benchmark (and is no suite). False if it cannot be read."""
    try:
        return "benchmark" in read_toml(path)
    except (OSError, ValueError):
        return False


def read_file(path: Path) -> CustomFile:
    """Read and check a file.

    Raises:
        DataError: saying what is wrong in it and what would be right.
    """
    try:
        body = read_toml(path)
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from None
    except ValueError as error:
        raise DataError("this is not TOML", path=str(path), why=str(error)) from None
    given: dict[str, Any] = {}
    for section, table in body.items():
        known = _SECTIONS.get(section)
        if known is None or not isinstance(table, dict):
            raise DataError(
                f"there is no table [{section}] in such a file",
                path=str(path),
                cure=nearest(section, _SECTIONS) or "tables: " + ", ".join(_SECTIONS),
            )
        for name, value in table.items():
            if name not in known:
                raise DataError(
                    f"[{section}] has no {name!r}", path=str(path), cure=nearest(name, known)
                )
            given[known[name]] = _typed(path, known[name], value)
    return _checked(path, CustomFile(**given))


_LARGEST = 1e9
"""Of any number in the file; a judge's scale and a cap of tokens need no more."""

_DEFAULTS = {f.name: f.default for f in fields(CustomFile)}


def _typed(path: Path, name: str, value: Any) -> Any:
    if name in _LISTS:
        items = [value] if isinstance(value, str) else value
        if isinstance(items, list) and all(isinstance(item, str) for item in items):
            return tuple(items)
        raise DataError(f"{name} is a text or a list of texts", path=str(path))
    default = _DEFAULTS[name]
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not type(default):
        kinds = {str: "a text", int: "a whole number", float: "a number"}
        raise DataError(f"{name} is {kinds[type(default)]}, not {short(value)}", path=str(path))
    if isinstance(value, int | float) and not abs(value) <= _LARGEST:
        raise DataError(f"{name} cannot be {short(value)}", path=str(path))
    return value


def _checked(path: Path, file: CustomFile) -> CustomFile:
    def wrong(what: str, cure: str = "") -> DataError:
        return DataError(what, path=str(path), cure=cure)

    if not file.template:
        raise wrong("there is no prompt", 'write one: [prompt] template = "{{ question }}"')
    if file.scorer not in SCORERS:
        raise wrong(
            f"there is no scorer {file.scorer!r}",
            nearest(file.scorer, SCORERS) or "one of: " + ", ".join(SCORERS),
        )
    if file.scorer != "judge" and not file.target:
        raise wrong("the column with the right answer is not named", '[answer] target = "answer"')
    if file.scorer == "choice" and not file.choices:
        raise wrong(
            "the options of a choice are not named", '[answer] choices = ["A", "B", "C", "D"]'
        )
    if file.scorer == "judge" and not file.rubric:
        raise wrong("a judge needs a rubric", "[judge] rubric = ... with {{ reply }} in it")
    if file.scorer == "regex":
        try:
            groups = re.compile(file.pattern).groups if file.pattern else 0
        except re.error as error:
            raise wrong(f"the pattern is no regular expression: {error}") from None
        if not groups:
            raise wrong(
                "the pattern has no group for the answer", r"for example pattern = 'Answer: (\d+)'"
            )
    if file.max_tokens < 1 or not 0 <= file.temperature <= 2 or not file.low < file.high:
        raise wrong("max_tokens, temperature or the judge's scale is out of range")
    for template in (file.template, file.system, file.rubric):
        _check_template(path, template)
    return file


def _check_template(path: Path, template: str) -> None:
    """Read a template without compiling it, which would work out what is constant in it.

    It is compiled and rendered within limits, see ``custom_work``.
    """
    from jinja2 import TemplateSyntaxError
    from jinja2.nodes import Filter, Test

    jinja = custom_work.environment()
    try:
        read = jinja.parse(template)
        for node in read.find_all((Filter, Test)):
            kind, known = (
                ("filter", jinja.filters) if isinstance(node, Filter) else ("test", jinja.tests)
            )
            if node.name not in known:
                raise TemplateSyntaxError(f"there is no {kind} {node.name!r}", node.lineno)
    except TemplateSyntaxError as error:
        raise DataError(
            "a template cannot be understood", path=str(path), line=error.lineno, why=str(error)
        ) from None
    except RecursionError:
        raise _too_deep(path) from None


def _too_deep(path: Path) -> DataError:
    return DataError(
        "a template cannot be understood",
        path=str(path),
        why=custom_work.TOO_DEEP,
        cure="put parts of it into {% set name = … %}",
    )


def read_items(path: Path, file: CustomFile, source: DataSource) -> Iterator[Item]:
    """One item for each row of the table, its prompt rendered.

    Args:
        path: of the file.
        file: what it says.
        source: the table, where another than the file's is wanted; reads the images.

    Raises:
        DataError: naming the row that does not fit.
    """
    table = source.path
    if table is None:
        if not file.data:
            raise DataError(
                "the table of questions is not named",
                path=str(path),
                cure='[benchmark] data = "questions.csv", or --data FILE',
            )
        try:
            table = _inside(path.parent, file.data)
        except ValueError as error:
            raise DataError(
                "the table lies elsewhere than beside the file",
                path=str(path),
                why=str(error),
                cure=f"if you want it read: --data {file.data}",
            ) from None
    yield from _rendered(path, file, table, source)


_ROWS_AT_ONCE = 64


def _rendered(path: Path, file: CustomFile, table: Path, source: DataSource) -> Iterator[Item]:
    """The items of the table's rows; a template may fail in any way on a row."""
    child = custom_work.process()
    rows = read_rows(table)
    try:
        if file.rubric:
            # It is rendered only when answers are judged, which is late to learn that it cannot be.
            _check_rubric(path, file.rubric, child)
        while some := list(islice(rows, _ROWS_AT_ONCE)):
            texts = child.results([piece for _, row in some for piece in _pieces(file, row)])
            for number, row in some:
                try:
                    images = [
                        _image(source, _inside(table.parent, str(row[name])))
                        for name in file.images
                    ]
                    yield _item(file, row, images, texts)
                except DataError:
                    raise
                except Exception as error:
                    raise _unfit(error, path, table, number, row) from None
    finally:
        child.close()


def _check_rubric(path: Path, rubric: str, child: LimitedProcess) -> None:
    try:
        next(child.results([custom_work.check(rubric)]))
    except WorkFailed as error:
        if custom_work.TOO_DEEP in str(error):
            raise _too_deep(path) from None
        raise DataError(
            "the rubric cannot be used", path=str(path), why=f"reading it {error}"
        ) from None


def _unfit(error: Exception, path: Path, table: Path, number: int, row: Row) -> DataError:
    why = f"{type(error).__name__}: {error}"
    if isinstance(error, WorkFailed):
        if custom_work.TOO_DEEP in str(error):
            return _too_deep(path)
        why = f"rendering it {error}" if isinstance(error, LimitExceeded) else str(error)
    return DataError(
        "the row does not fit the prompt",
        path=str(table),
        line=number,
        why=why,
        cure="columns: " + ", ".join(map(str, row)),
    )


def _pieces(file: CustomFile, row: Row) -> Iterator[Any]:
    """What is to be rendered for a row; nothing where its choices are not there."""
    known = {str(name): value for name, value in row.items()}
    try:
        choices = _choices(file, row)
    except Exception:  # told when it is the row's turn
        return
    yield custom_work.template(file.template, {**known, "choices": choices} if choices else known)
    if file.system:
        yield custom_work.template(file.system, known)


def _item(file: CustomFile, row: Row, images: list[dict[str, str]], texts: Iterator[str]) -> Item:
    choices = _choices(file, row)
    inputs: dict[str, Any] = {
        "prompt": next(texts),
        "row": {str(name): value for name, value in row.items() if str(name) not in file.images},
    }
    if file.system:
        inputs["system"] = next(texts)
    if choices:
        inputs["choices"] = choices
    if images:
        inputs["images"] = images
    gold = _gold(file, row, choices) if file.target else None
    return Item(inputs, gold, {"group": str(row[file.group])} if file.group else {})


def _choices(file: CustomFile, row: Row) -> list[str]:
    if len(file.choices) == 1 and isinstance(row[file.choices[0]], list):
        return [str(choice) for choice in row[file.choices[0]]]
    return [str(row[name]) for name in file.choices]


def _gold(file: CustomFile, row: Row, choices: list[str]) -> Any:
    """The right answer: an option's index, a list of accepted texts, or a text."""
    value = row[file.target]
    if file.scorer == "choice":
        return _index(value, choices)
    if isinstance(value, list):
        return [str(one) for one in value]
    return [str(value)]


def _index(value: Any, choices: list[str]) -> int:
    """Which option a cell means: its text, its letter, or its number from 0."""
    text = str(value).strip()
    if text in choices:
        return choices.index(text)
    if len(text) == 1 and 0 <= ord(text.upper()) - ord("A") < len(choices):
        return ord(text.upper()) - ord("A")
    if text.isdecimal() and int(text) < len(choices):
        return int(text)
    raise ValueError(f"{text!r} is none of the options, no letter and no number of one")


def _inside(folder: Path, name: str) -> Path:
    """A file that somebody's file or table names, which may come from anywhere.

    Raises:
        ValueError: it is outside of ``folder``, by its name or behind a link.
    """
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"{name} is outside of {folder}")
    return path


def _image(source: DataSource, path: Path) -> dict[str, str]:
    kind = mimetypes.guess_type(path.name)[0] or ""
    if not kind.startswith("image/"):
        raise ValueError(f"{path.name} is no image")
    data = source.read(path)
    width, height = image_size(data) or (0, 0)
    if width * height > MOST_PIXELS:
        raise ValueError(f"{path.name} has {width:,} × {height:,} pixels, over {MOST_PIXELS:,}")
    return {"type": kind, "data": base64.b64encode(data).decode()}
