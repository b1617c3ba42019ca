"""The TOML file that turns a table of questions into a benchmark, without any Python."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from typing import Any

from evalbench.engine.benchmark import hub_set
from evalbench.engine.benchmarks.custom import child_work
from evalbench.engine.benchmarks.custom.scorers import (
    NORMALIZATIONS,
    READ_BY,
    SCORERS,
    VOTABLE,
    Scoring,
    missing_package,
    setup_problem,
)
from evalbench.engine.data.reading import unreadable
from evalbench.engine.errors import DataError, SpecError, nearest
from evalbench.engine.field_checks import short
from evalbench.engine.files import parse_toml, read_text, read_toml

CHOICES_AT_MOST = 26


@dataclass(frozen=True, slots=True)
class CustomFile:
    """The content of a file. All of it is JSON, so that a journal can store it.

    Attributes:
        title: display title.
        data: the table, next to the file.
        hub, config, split, revision: a data set on the Hugging Face Hub, instead of ``data``;
            without a split, ``test`` or else its first one.
        group: the column used to group results; may be empty.
        filter: a template; rows for which it renders empty, ``False`` or ``0`` are left out.
        sort: the column to sort by; with ``-`` before it, in descending order.
        template: Jinja templates of the user messages, one per turn.
        messages: the column with a conversation; templates add further turns.
        system: Jinja template of the system message.
        max_tokens, temperature, stop: parameters of the candidate's calls.
        images: columns with image paths, relative to the table.
        shots: number of solved examples before the question.
        shots_from: the table of examples; empty for the first rows of the same table.
        shots_split: the split of the examples: of the Hub data set, or of a table next to the
            table of questions (``train.jsonl``).
        shots_by: a column: examples must have the same value in it as the question.
        shots_random: whether each question draws its examples with the run's seed.
        shots_as: ``turns`` of the conversation, or ``text`` before the question.
        shot_answer: template of an example's answer; empty for its correct answer.
        votes: how often a question is asked; the most frequent answer counts.
        target: the column with the correct answer, or a template; empty if none is needed.
        separator: separates several correct answers, or options, in one cell.
        choices: columns with the options, or one column with a list of them.
        shuffle: whether options are shown in an order drawn with the run's seed.
        scores: how replies are scored: by one scorer, or several with names.
        rubric: Jinja template of the judge's message, with ``reply`` in addition to the columns.
        low, high: the judge's scale.
    """

    title: str = ""
    data: str = ""
    hub: str = ""
    config: str = ""
    split: str = ""
    revision: str = ""
    group: str = ""
    filter: str = ""
    sort: str = ""
    template: tuple[str, ...] = ()
    messages: str = ""
    system: str = ""
    max_tokens: int = 256
    temperature: float = 0.0
    stop: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    shots: int = 0
    shots_from: str = ""
    shots_split: str = ""
    shots_by: str = ""
    shots_random: bool = False
    shots_as: str = "turns"
    shot_answer: str = ""
    votes: int = 1
    target: str = ""
    separator: str = ""
    choices: tuple[str, ...] = ()
    shuffle: bool = False
    scores: tuple[Scoring, ...] = field(default_factory=lambda: (Scoring(),))
    rubric: str = ""
    low: float = 1.0
    high: float = 10.0

    @property
    def scorers(self) -> frozenset[str]:
        """The scorers in use."""
        return frozenset(one.scorer for one in self.scores)

    @property
    def asks_judges(self) -> bool:
        """Whether a judge grades replies."""
        return not self.scorers.isdisjoint({"judge", "graded"})

    def to_json(self) -> dict[str, Any]:
        """A JSON form that :meth:`from_json` reads back."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> CustomFile:
        """Inverse of :meth:`to_json`, also for a run that predates some keys.

        Raises:
            DataError: it is not valid.
        """
        if not isinstance(value, Mapping):
            raise DataError("what the run keeps of its benchmark's file is damaged")
        where = _Place(Path("the file that the run keeps"))
        given = {
            name: _typed(where, _DEFAULTS, name, value[name])
            for name in value
            if name in _DEFAULTS and name != "scores"
        }
        scores = value.get("scores")
        if scores is None:
            scores = [{name: value[name] for name in _SCORING if name in value}]
        if not isinstance(scores, Sequence) or not all(isinstance(s, Mapping) for s in scores):
            raise DataError("what the run keeps of its benchmark's file is damaged")
        return cls(**given, scores=tuple(_stored_scoring(where, one) for one in scores))


_SECTIONS: Mapping[str, tuple[str, ...]] = {
    "benchmark": (
        *("title", "data", "hub", "config", "split", "revision", "group", "filter", "sort"),
    ),
    "prompt": (
        *("template", "messages", "system", "max_tokens", "temperature", "stop", "images"),
        *("shots", "shots_from", "shots_split", "shots_by", "shots_random", "shots_as"),
        *("shot_answer", "votes"),
    ),
    "answer": ("target", "separator", "choices", "shuffle"),
    "judge": ("rubric", "low", "high"),
}
_DEFAULTS: Mapping[str, Any] = {
    one.name: one.default for one in fields(CustomFile) if one.name != "scores"
}
_SCORING: Mapping[str, Any] = {one.name: one.default for one in fields(Scoring)}
_LARGEST = 1e9
"""Maximum of any number in the file; judges' scales and token caps need no more."""
_LONGEST_TITLE = 200
_KINDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


class FileFault(DataError):
    """An error in a file, with its table and key."""

    section = key = ""
    at = 0


class _Place:
    """A location in a file, for errors."""

    def __init__(self, path: Path, text: str = "") -> None:
        self.path = path
        self._lines = text.splitlines()
        self.tables = set(re.findall(r"(?m)^\s*\[\[?\s*([\w-]+)\s*\]", text))
        self.keys = set(re.findall(r"(?m)^\s*[\"']?(\w+)[\"']?\s*=", text))

    def wrong(self, what: str, section: str = "", key: str = "", *, hint: str = "") -> FileFault:
        """An error that names file, line and key."""
        line = self._line(section, key)
        where = f"line {line}: " if line else ""
        name = f"[{section}] {key}: " if section and key else f"{key}: " if key else ""
        fault = FileFault(f"{where}{name}{what}", path=str(self.path), hint=hint)
        fault.section, fault.key, fault.at = section, key, line or 0
        return fault

    def _line(self, section: str, key: str) -> int | None:
        current, start = "", None
        for number, line in enumerate(self._lines, 1):
            if head := re.match(r"\s*\[\[?\s*([\w-]+)\s*\]", line):
                current = head[1]
                if current == section and start is None:
                    start = number
                    if not key:
                        break
            elif key and current == section and re.match(rf"\s*[\"']?{re.escape(key)}\b", line):
                return number
        return start


def is_custom(path: Path) -> bool:
    """Whether a TOML file describes a benchmark (not a suite). False if it cannot be read."""
    try:
        body = read_toml(path)
    except (OSError, ValueError):
        return False
    return any(isinstance(body.get(name), dict) for name in ("benchmark", "prompt", "answer"))


def read_tables(path: Path) -> tuple[dict[str, Any], str]:
    """The tables of a TOML file, and its text.

    Raises:
        DataError: the file does not exist, or is not TOML, or not UTF-8.
    """
    try:
        text = read_text(path, encoding="utf-8-sig")
        if "\0" in text:
            what = "the file is UTF-16 text, not UTF-8"
            raise DataError(what, path=str(path), hint="save it as UTF-8")
        return parse_toml(text), text
    except tomllib.TOMLDecodeError as error:
        raise DataError("this is not TOML", path=str(path), why=str(error)) from None
    except (OSError, UnicodeDecodeError) as error:
        fault = unreadable(path, error)
        if isinstance(error, UnicodeDecodeError) and fault.why:
            line = error.object.count(b"\n", 0, error.start) + 1
            what = f"line {line}: the file is not UTF-8 text"
            fault = DataError(what, path=fault.path, why=fault.why, hint=fault.hint)
        raise fault from None


MOST_FAULTS = 10
"""Maximum number of mistakes reported at once."""


def together(faults: Sequence[DataError], path: Path) -> DataError:
    """One error that lists all of them, one per line; equal rows are combined."""
    if len(faults) == 1:
        return faults[0]
    rows: dict[tuple[str, str, str], list[str]] = {}
    for fault in faults[:MOST_FAULTS]:
        row = f"row {fault.line}" if fault.line else ""
        place = f"{fault.path}, {row}: " if row else f"{fault.path}: "
        what = fault.what.removeprefix(place)
        where = "" if fault.path == str(path) else Path(fault.path).name
        rows.setdefault((where, what, "; ".join(filter(None, (fault.why, fault.hint)))), []).append(
            row
        )
    lines = [
        ": ".join(filter(None, (", ".join(filter(None, (where, *places))), what)))
        + (f" ({more})" if more else "")
        for (where, what, more), places in rows.items()
    ]
    count = f"{len(faults)} mistakes" if len(faults) < MOST_FAULTS else "10 mistakes or more"
    return DataError("\n  ".join([count, *lines]), path=str(path))


def read_file(path: Path) -> CustomFile:
    """Read and check a file.

    Raises:
        DataError: says what is wrong, in which lines, and what would be right.
    """
    body, text = read_tables(path)
    file = file_of(path, body, text)
    for scoring in file.scores:
        if missing := missing_package(scoring):
            section = "answer" if len(file.scores) == 1 else "score"
            raise together([_Place(path, text).wrong(": ".join(missing), section, "scorer")], path)
    return file


def file_of(path: Path, body: Mapping[str, Any], text: str, *, ours: bool = False) -> CustomFile:
    """Check the tables of a file; see :func:`read_file`.

    The templates of files of ours are not parsed: a list of benchmarks would load Jinja for them.
    """
    place = _Place(path, text)
    faults: list[FileFault] = []
    values = _values(place, body, faults)
    try:
        values |= _of_the_hub(values)
    except SpecError as error:
        faults.append(place.wrong(error.what, "benchmark", "data", hint=error.why))
    file = CustomFile(**values)
    # A missing key may only follow from a mistake that is already reported.
    spoilt = {fault.section for fault in faults}
    if spoilt & {"answer", "score"}:
        spoilt |= {"answer", "score", "judge"}
    wrong = {fault.key for fault in faults}
    faults += [
        fault
        for fault in chain(_problems(place, file), () if ours else _template_problems(place, file))
        if fault.section not in spoilt or (fault.key in place.keys and fault.key not in wrong)
    ]
    if faults:
        faults.sort(key=lambda fault: fault.at)
        raise together(faults, path)
    return file


def _of_the_hub(values: Mapping[str, Any]) -> dict[str, str]:
    """The parts of ``data = "hf:OWNER/NAME@REVISION?config=NAME&split=NAME"``, by key.

    Raises:
        SpecError: it starts like a Hub name but is invalid.
    """
    hub = hub_set(values.get("data"))
    if hub is None or values.get("hub"):
        return {}
    origin = {"config": hub.config, "split": hub.split, "revision": hub.revision}
    return {"data": "", "hub": hub.name, **{key: value for key, value in origin.items() if value}}


def _values(place: _Place, body: Mapping[str, Any], faults: list[FileFault]) -> dict[str, Any]:
    """The values of all valid keys; errors in the others are added to ``faults``."""
    given: dict[str, Any] = {}
    scoring: dict[str, Any] = {}
    for section, table in body.items():
        if section == "score":
            continue
        known = _SECTIONS.get(section)
        if known is None or not isinstance(table, dict):
            tables = (*_SECTIONS, "score")
            hint = nearest(section, tables)
            what = f"there is no table [{section}] in such a file"
            if owner := _owner(section):
                what, hint = (
                    f"{section} belongs to [{owner}]",
                    f"write [{owner}] in a line above it",
                )
            fault = place.wrong(what, section, hint=hint or "tables: " + ", ".join(tables))
            fault.section = next((name for name in tables if name in hint), "prompt")
            faults.append(fault)
            continue
        for name, value in table.items():
            try:
                if section == "answer" and name in _SCORING and name not in known:
                    scoring[name] = _typed(place, _SCORING, name, value, section)
                elif name in known:
                    given[name] = _typed(place, _DEFAULTS, name, value, section)
                else:
                    also = tuple(_SCORING) if section == "answer" else ()
                    owner = _owner(name)
                    fault = place.wrong(
                        f"[{section}] has no {name!r}",
                        section,
                        name,
                        hint=f"it belongs to [{owner}]"
                        if owner
                        else nearest(name, (*known, *also)) or "keys: " + ", ".join(known),
                    )
                    fault.section = owner or section
                    raise fault
            except FileFault as fault:
                faults.append(fault)
    return {**given, "scores": _scorings(place, body.get("score"), scoring, faults)}


def _owner(key: str) -> str:
    """The table that has a key of this name; empty if none has."""
    if key in _SCORING:
        return "answer"
    return next((section for section, keys in _SECTIONS.items() if key in keys), "")


def _scorings(
    place: _Place, tables: Any, in_answer: Mapping[str, Any], faults: list[FileFault]
) -> tuple[Scoring, ...]:
    """The scoring settings in [answer], or in each [[score]] table."""
    if tables is None:
        return (_named(Scoring(**in_answer)),)
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        faults.append(place.wrong("write each scorer as a table [[score]]", "score"))
        return (Scoring(),)
    if in_answer:
        what = "with [[score]] tables, scorers are named in them only"
        faults.append(place.wrong(what, "answer", next(iter(in_answer))))
    found = []
    for table in tables:
        values = {}
        for name, value in table.items():
            try:
                if name not in _SCORING:
                    raise place.wrong(
                        f"[[score]] has no {name!r}",
                        "score",
                        name,
                        hint=nearest(name, _SCORING) or "keys: " + ", ".join(_SCORING),
                    )
                values[name] = _typed(place, _SCORING, name, value, "score")
            except FileFault as fault:
                faults.append(fault)
        found.append(_named(Scoring(**values)))
    names = [one.name for one in found]
    for twice in dict.fromkeys(name for name in names if names.count(name) > 1):
        what = f"two scorers are called {twice!r}"
        faults.append(place.wrong(what, "score", hint='name = "…"'))
    return tuple(found) or (Scoring(),)


def _named(scoring: Scoring) -> Scoring:
    return scoring if scoring.name else replace(scoring, name=scoring.scorer)


def _stored_scoring(place: _Place, value: Mapping[str, Any]) -> Scoring:
    return _named(
        Scoring(**{n: _typed(place, _SCORING, n, v) for n, v in value.items() if n in _SCORING})
    )


def _typed(
    place: _Place, defaults: Mapping[str, Any], name: str, value: Any, section: str = ""
) -> Any:
    default = defaults[name]
    if isinstance(default, tuple):
        items = [value] if isinstance(value, str) else value
        if isinstance(items, Sequence) and all(isinstance(item, str) for item in items):
            return tuple(items)
        raise place.wrong("is a text or a list of texts", section, name)
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not type(default):
        raise place.wrong(f"{name} is {_KINDS[type(default)]}, not {short(value)}", section, name)
    if isinstance(value, int | float) and not abs(value) <= _LARGEST:
        raise place.wrong(f"{name} cannot be {short(value)}", section, name)
    return value


def _problems(place: _Place, file: CustomFile) -> Iterator[FileFault]:
    """Errors in a file whose keys and types are valid, each with its location."""
    if not file.template and not file.messages:
        yield place.wrong(
            "there is no prompt", "prompt", hint='write one: [prompt] template = "{{ question }}"'
        )
    if len(file.title) > _LONGEST_TITLE:
        yield place.wrong(f"has more than {_LONGEST_TITLE} characters", "benchmark", "title")
    if file.filter and not is_template(file.filter):
        hint = "filter = \"{{ column == 'value' }}\""
        yield place.wrong(
            "is no template, so that it keeps all rows", "benchmark", "filter", hint=hint
        )
    if file.data and file.hub:
        yield place.wrong("give data or hub, not both", "benchmark", "hub")
    if (file.config or file.revision) and not file.hub:
        key = "config" if file.config else "revision"
        yield place.wrong("is for a data set of the hub", "benchmark", key)
    yield from _prompt_problems(place, file)
    if all(scoring.weight == 0 for scoring in file.scores):
        section = "answer" if len(file.scores) == 1 else "score"
        yield place.wrong("no scorer has a weight above 0", section, "weight")
    for scoring in file.scores:
        yield from _scoring_problems(place, file, scoring)
    if file.asks_judges and not file.low < file.high:
        yield place.wrong("low has to be less than high: the scale is out of range", "judge", "low")
    if "judge" in file.scorers and not file.rubric:
        yield place.wrong(
            "a judge needs a rubric",
            "judge" if "judge" in place.tables else "score" if len(file.scores) > 1 else "answer",
            "" if "judge" in place.tables else "scorer",
            hint='[judge] rubric = "…" with {{ reply }} in it',
        )
    if not file.target and file.asks_judges:
        yield from _reference_problems(place, file)
    if file.rubric and not file.asks_judges:
        yield place.wrong('is read by scorer = "judge" or "graded" only', "judge", "rubric")


def _reference_problems(place: _Place, file: CustomFile) -> Iterator[FileFault]:
    """Without a target there is no reference for judges, and a rubric must not show one."""
    names = template_names(file.rubric)
    if file.rubric and (isinstance(names, str) or "target" not in names):
        return
    if file.rubric:
        what, key = "it shows {{ target }}, and no right answer is named", "rubric"
        yield place.wrong(what, "judge", key, hint='[answer] target = "answer"')
    elif "graded" in file.scorers:
        hint = '[answer] target = "answer", or a [judge] rubric without {{ target }}'
        yield place.wrong("graded needs a right answer to compare with", "answer", hint=hint)


def _prompt_problems(place: _Place, file: CustomFile) -> Iterator[FileFault]:
    if file.max_tokens < 1:
        yield place.wrong("max_tokens is out of range: 1 or more", "prompt", "max_tokens")
    if not 0 <= file.temperature <= 2:
        yield place.wrong("temperature is out of range: 0 to 2", "prompt", "temperature")
    yield from _shots_problems(place, file)
    if not 1 <= file.votes <= 100:
        yield place.wrong("votes is out of range: 1 to 100", "prompt", "votes")
    if file.votes > 1 and len(file.scores) > 1:
        yield place.wrong("votes go with one scorer only", "prompt", "votes")
    if file.votes > 1 and not file.scorers <= VOTABLE:
        yield place.wrong("votes need scorers of: " + ", ".join(sorted(VOTABLE)), "prompt", "votes")
    if file.votes > 1 and file.temperature == 0:
        yield place.wrong(
            "at temperature 0 all votes are the same", "prompt", "votes", hint="temperature = 0.7"
        )


def _shots_problems(place: _Place, file: CustomFile) -> Iterator[FileFault]:
    if not 0 <= file.shots <= 100:
        yield place.wrong("shots is out of range: 0 to 100", "prompt", "shots")
    if file.shots_as not in ("turns", "text"):
        yield place.wrong('is "turns" or "text"', "prompt", "shots_as")
    if file.shots and not (file.target or file.shot_answer):
        yield place.wrong("examples need an answer", "prompt", "shots", hint='shot_answer = "…"')
    if file.shots_from and file.shots_split:
        yield place.wrong("give shots_from or shots_split, not both", "prompt", "shots_split")
    if file.shots_by and file.shots_random:
        yield place.wrong("give shots_by or shots_random, not both", "prompt", "shots_by")
    if file.shots and (file.messages or len(file.template) > 1):
        yield place.wrong("examples are for one template", "prompt", "shots")


def _scoring_problems(place: _Place, file: CustomFile, one: Scoring) -> Iterator[FileFault]:
    section = "answer" if len(file.scores) == 1 and one == file.scores[0] else "score"
    if one.scorer not in SCORERS:
        yield place.wrong(
            f"there is no scorer {one.scorer!r}",
            section,
            "scorer",
            hint=nearest(one.scorer, SCORERS) or "one of: " + ", ".join(SCORERS),
        )
        return
    if SCORERS[one.scorer].needs_target and not file.target:
        yield place.wrong(
            "the column with the right answer is not named",
            "answer",
            hint='[answer] target = "answer"',
        )
    if one.scorer in ("choice", "loglikelihood") and not file.choices:
        yield place.wrong(
            "the options of a choice are not named",
            "answer",
            hint='[answer] choices = ["A", "B", "C", "D"]',
        )
    if one.scorer == "loglikelihood" and (
        len(file.scores) > 1 or file.messages or len(file.template) > 1 or file.images
    ):
        yield place.wrong(
            "log-likelihoods are the only scorer, of one template and text", section, "scorer"
        )
    if one.weight < 0:
        yield place.wrong("weight is out of range: 0 or more", section, "weight")
    for name in one.normalize:
        if name not in NORMALIZATIONS:
            yield place.wrong(
                f"there is no {name!r}",
                section,
                "normalize",
                hint=nearest(name, NORMALIZATIONS) or "one of: " + ", ".join(NORMALIZATIONS),
            )
    for key, scorers in READ_BY.items():
        if getattr(one, key) != _SCORING[key] and one.scorer not in scorers:
            yield place.wrong("is for: " + ", ".join(sorted(scorers)), section, key)
    if problem := setup_problem(one):
        key, what = problem
        yield place.wrong(what, section, key)


def _template_problems(place: _Place, file: CustomFile) -> Iterator[FileFault]:
    for section, key, template in templates_of(file):
        if isinstance(found := template_names(template), str):
            yield place.wrong(
                "a template cannot be understood",
                section,
                key,
                hint="put parts of it into {% set name = … %}"
                if found == child_work.TOO_DEEP
                else found,
            )
    yield from _blind_problems(place, file)


_SHOWS_REPLY = re.compile(r"\{[{%](?:(?![%}]\}).)*\breply\b", re.DOTALL)


def _blind_problems(place: _Place, file: CustomFile) -> Iterator[FileFault]:
    """Templates that show nothing of what they are for."""
    blind = file.template and not any(map(is_template, file.template))
    if blind and not file.messages and not file.images:
        what = "it shows no column, so that all questions are alike"
        yield place.wrong(what, "prompt", "template", hint="a column is shown by {{ its name }}")
    if file.rubric and file.asks_judges and not _SHOWS_REPLY.search(file.rubric):
        what = "it does not show the answer that is to be judged"
        close = get_close_matches("reply", re.findall(r"\w+", file.rubric), n=1)
        hint = f"did you mean reply by {close[0]}?" if close else "write {{ reply }} into it"
        yield place.wrong(what, "judge", "rubric", hint=hint)


def is_template(text: str) -> bool:
    """Whether a value that may be a column name is a template instead."""
    return "{{" in text or "{%" in text


def templates_of(file: CustomFile) -> list[tuple[str, str, str]]:
    """All templates of a file with section and key."""
    found = [("prompt", "template", one) for one in file.template]
    found += [
        (section, key, getattr(file, key))
        for section, key in (
            ("prompt", "system"),
            ("prompt", "shot_answer"),
            ("benchmark", "filter"),
            ("judge", "rubric"),
        )
        if getattr(file, key)
    ]
    if is_template(file.target):
        found.append(("answer", "target", file.target))
    return found


def template_names(template: str) -> frozenset[str] | str:
    """The columns used by a template, or what is wrong with it.

    It is parsed without compiling, which would evaluate constant expressions in it: templates are
    compiled and rendered within limits, see ``work``.
    """
    from jinja2 import TemplateSyntaxError, nodes

    jinja = child_work.environment()
    try:
        read = jinja.parse(template)
        for node in read.find_all((nodes.Filter, nodes.Test)):
            kind, known = (
                ("filter", jinja.filters)
                if isinstance(node, nodes.Filter)
                else ("test", jinja.tests)
            )
            if node.name not in known:
                return f"there is no {kind} {node.name!r}"
        if next(read.find_all((nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)), 0):
            return "a template here cannot include, import or extend another"
        return _columns_in(read) - set(jinja.globals)
    except TemplateSyntaxError as error:
        return f"Jinja says about line {error.lineno} of it: {error.message}"
    except RecursionError:
        return child_work.TOO_DEEP


def _columns_in(read: Any) -> frozenset[str]:
    """The names that a parsed template takes from outside, excluding those it sets itself.

    ``jinja2.meta`` would evaluate constant expressions in the process.
    """
    from jinja2 import nodes

    taken: set[str] = set()
    made: set[str] = set(_JINJAS_OWN)
    for name in read.find_all(nodes.Name):
        (taken if name.ctx == "load" else made).add(name.name)
    for macro in read.find_all(nodes.Macro):
        made.add(macro.name)
    for test in read.find_all((nodes.Filter, nodes.Test)):
        if test.name in _FOR_WHAT_MAY_BE_MISSING and isinstance(test.node, nodes.Name):
            made.add(test.node.name)
    by_row = {
        item.arg.value
        for item in read.find_all(nodes.Getitem)
        if isinstance(item.node, nodes.Name)
        and item.node.name == "row"
        and isinstance(item.arg, nodes.Const)
        and isinstance(item.arg.value, str)
    }
    return frozenset(taken - made | by_row)


_JINJAS_OWN = ("loop", "caller", "varargs", "kwargs", "self", "super")
_FOR_WHAT_MAY_BE_MISSING = ("defined", "undefined", "default", "d")


def problem_at(path: Path, section: str, key: str, what: str, *, hint: str = "") -> FileFault:
    """An error about a key of a file, with its line."""
    try:
        text = read_text(path, encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        text = ""
    return _Place(path, text).wrong(what, section, key, hint=hint)
