"""Benchmarks defined by the files in this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

from evalbench.engine.benchmark import DataSet, DataSource, Sample
from evalbench.engine.benchmarks.custom.benchmark import Custom, CustomOptions
from evalbench.engine.benchmarks.custom.file import (
    CustomFile,
    file_of,
    read_tables,
    template_names,
    templates_of,
)
from evalbench.engine.benchmarks.custom.rows import (
    Numbered,
    Tables,
    hub_rows,
    read_items,
    split_beside,
)
from evalbench.engine.benchmarks.custom.scorers import Read, Scoring, missing_package
from evalbench.engine.benchmarks.sets import bbh
from evalbench.engine.benchmarks.sets import rows as set_rows
from evalbench.engine.calls.options import Option, options_of, setting, setting_of
from evalbench.engine.calls.templates import (
    OWN,
    prompt_option,
    prompt_tables,
    text_line,
    wrong_prompt,
)
from evalbench.engine.compat import override
from evalbench.engine.data.reading import converted, find_table, read_rows
from evalbench.engine.errors import UsageError, nearest

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class About:
    """The table ``[set]`` of a file.

    Attributes:
        summary: a one-line description. licence: of the data. source: the address of the published
        rule for prompt and scoring. version: increased whenever prompts or scoring change their
        meaning. rows: the function in :mod:`rows` that converts rows with the published columns.
        rule: the function in :mod:`rules` that scores; empty for the file's scorer. examples:
        whether its solved examples are those of :mod:`bbh`. configs: the data set's configurations,
        all of which are asked; rows have theirs in ``config``. tables:
        names of the table in a folder given by ``--data``. subsets: further data locations by the
        value of ``--subset``; the first is the default. group: the meaning of ``--group`` and of
        the groups in the result.
    """

    summary: str
    licence: str
    source: str
    rows: str
    version: str = "1"
    rule: str = ""
    examples: bool = False
    configs: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    subsets: Mapping[str, Mapping[str, str]] | None = None
    group: str = ""


@cache
def _read(name: str) -> tuple[CustomFile, About]:
    path = _FOLDER / f"{name}.toml"
    body, text = read_tables(path)
    given = body.pop("set").items()
    about: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in given}
    return file_of(path, body, text, ours=True), About(**about)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSetOptions(CustomOptions):
    """Options of a :class:`KnownSet`: those that its file has a use for."""

    subset: str = setting("", "which part", affects_data=True)
    shots: int | None = setting(
        None, "solved examples before each question", minimum=0, affects_data=True
    )
    # Prompts are rendered when the data is prepared.
    prompt: str | None = setting_of(replace(prompt_option(), affects_data=True))


class KnownSet(Custom):
    """One of the well-known data sets.

    Attributes:
        about: the table ``[set]`` of its file.
    """

    about: ClassVar[About]
    opt = KnownSetOptions()
    takes_data = True

    def __init__(self, options: Mapping[str, Any], *, seed: int = 0, shared: Any = None) -> None:
        super().__init__(options, seed=seed, shared=shared)
        self._replaced = _prompts_in(self.opt.prompt, self.name)

    @override
    @classmethod
    def prompt_file(cls) -> str:
        file, _ = _read(cls.name)
        names = frozenset().union(*(_names(one) for _, _, one in templates_of(file)))
        lines = [
            f"# Jinja templates; what ours name: {', '.join(sorted(names - {'reply', 'row'}))}"
        ]
        for table, keys in _own_prompts(file).items():
            lines += ["", f"[{table}]", *(text_line(key, text) for key, text in keys.items())]
        return "\n".join(lines) + "\n"

    def _file(self) -> CustomFile:
        """The data set's file, with the changes made by this run's options."""
        if self.shared:
            return self._kept_file
        file, about = _read(self.name)
        changed: dict[str, Any] = dict((about.subsets or {}).get(self.opt.subset, {}))
        if self.opt.shots is not None:
            changed["shots"] = self.opt.shots
        return replace(file, **changed, **self._replaced)

    @override
    async def check(self) -> None:
        """Require the libraries that its scorers need."""
        for scoring in self._file().scores:
            if missing := missing_package(scoring):
                what, command = missing
                raise UsageError(f"{self.name} cannot be scored: {what}", hint=command)

    @override
    def prepare(self, source: DataSource) -> DataSet:
        """Read the published rows, and render every prompt."""
        file = self._file()
        tables, origin, revision = self.tables(file, source)
        if self.about.examples and file.shots:
            tables = bbh.with_examples(tables, self.about.configs, source)
        # For errors, which are in the templates.
        named = Path("the file of --prompt") if self._replaced else _FOLDER / f"{self.name}.toml"
        items = read_items(named, file, source, self.seed, tables)
        return DataSet(items, shared=file.to_json(), origin=origin, revision=revision)

    def tables(self, file: CustomFile, source: DataSource) -> tuple[Tables, str, str]:
        """The published rows, and the name and revision of the data set."""
        examples: Callable[[], Iterator[Numbered]] | None = None
        if source.path is None:
            if file.shots_split:
                examples = partial(self._hub, replace(file, split=file.shots_split), source)
            tables = Tables(file.hub, None, self._hub(file, source), self._own(file, examples))
            return tables, file.hub, file.revision
        if places := self._configs_in(source.path):
            every = chain.from_iterable(
                self.flat(partial(self._rows_in, place), config, str(place))
                for config, place in places
            )
            return Tables(str(source.path), source.path, every), source.path.name, ""
        table = self._table_in(source.path)
        if file.shots and file.shots_split:
            examples = partial(self.flat, partial(read_rows, split_beside(table, file.shots_split)))
        rows = self.flat(partial(read_rows, table), name=str(table))
        folder = table if table.is_dir() else table.parent
        return Tables(str(table), folder, rows, self._own(file, examples)), table.name, ""

    def _configs_in(self, path: Path) -> list[tuple[str, Path]]:
        """The configurations that a downloaded data set has in folders, and these folders.

        Those of the authors of :mod:`bbh` are JSON files.
        """
        end = ".json" if self.about.examples else ""
        if end and path.suffix == end:
            return [(path.stem, path)]
        places = [(one, path / f"{one}{end}") for one in self.about.configs] if end else []
        places += [(one, path / one) for one in self.about.configs]
        return [(config, place) for config, place in places if place.exists()]

    def _rows_in(self, place: Path) -> Iterator[Numbered]:
        return bbh.authors_rows(place) if place.is_file() else read_rows(self._table_in(place))

    def _table_in(self, path: Path) -> Path:
        return find_table(path, self.about.tables, "table of the set", "--data FILE")

    def _own(
        self, file: CustomFile, examples: Callable[[], Iterator[Numbered]] | None
    ) -> Callable[[], Iterator[Numbered]] | None:
        """The data set's own examples, if its file refers to them."""
        return partial(read_rows, _FOLDER / file.shots_from) if file.shots_from else examples

    def _hub(self, file: CustomFile, source: DataSource) -> Iterator[Numbered]:
        for config in self.about.configs or (file.config,):
            one = replace(file, config=config)
            if file.split == "{config}":
                one = replace(one, split=config)
            yield from self.flat(partial(hub_rows, one, source), config)

    def flat(
        self, rows: Callable[[], Iterator[Numbered]], config: str = "", name: str = ""
    ) -> Iterator[Numbered]:
        """The rows with the columns used by the data set's file."""
        flat = getattr(set_rows, self.about.rows)
        found = converted(
            rows(),
            lambda row: flat({"config": config, **row} if config else row),
            f"row of {self.title}",
            name or self.name,
            f"the columns are those of {_read(self.name)[0].hub}",
        )
        return ((number, row) for number, row in found if row is not None)

    @override
    def own_title(self) -> str:
        return ""

    @override
    def further_files(self) -> list[Path]:
        return []

    @override
    def data_files(self, path: Path) -> list[Path]:
        """The table, and that of the solved examples."""
        found, file = super().data_files(path), self._file()
        if file.shots and file.shots_split and not path.is_dir():
            found.append(split_beside(path, file.shots_split))
        return found

    @property
    def _known(self) -> bool:
        return True

    @cached_property
    def _rule(self) -> Callable[[str, Sample], Read] | None:
        if not self.about.rule:
            return None
        from evalbench.engine.benchmarks.sets import rules

        rule: Callable[[str, Sample], Read] = getattr(rules, self.about.rule)
        return rule

    @override
    async def _read(self, one: Scoring, sample: Sample, reply: str) -> Read:
        if self._rule:
            return self._rule(reply, sample)
        return await super()._read(one, sample, reply)

    @override
    def _reads(self, one: Scoring, sample: Sample) -> str:
        return (
            f"{self.about.rule}/{self.version}" if self.about.rule else super()._reads(one, sample)
        )


def _own_prompts(file: CustomFile) -> dict[str, dict[str, str]]:
    """The texts that ``--prompt FILE`` may replace, by table and key."""
    texts = {"system": file.system, "template": file.template[0], "shot_answer": file.shot_answer}
    found = {"prompt": {key: text for key, text in texts.items() if text}}
    return found | ({"judge": {"rubric": file.rubric}} if file.rubric else {})


def _names(template: str) -> frozenset[str]:
    """The columns in a template.

    Raises:
        SpecError: it is none.
    """
    found = template_names(template)
    if isinstance(found, str):
        raise wrong_prompt("a template cannot be understood", f"Jinja says: {found}")
    return found


def _prompts_in(chosen: str | None, name: str) -> dict[str, Any]:
    """The fields of a set's file that a file for ``--prompt`` replaces.

    Raises:
        SpecError: it is no such file, one of its templates cannot be understood, or the prompt
            names no column of the question.
    """
    if chosen in (None, OWN):
        return {}
    assert chosen
    file, _ = _read(name)
    own = _own_prompts(file)
    ours = _names(file.template[0])
    must = {"template": ours & {"question"} or ours, "rubric": {"reply"}}
    found: dict[str, Any] = {}
    for table, texts in prompt_tables(chosen, own).items():
        known = set(own[table])
        if table == "prompt":
            known |= {"system", "shot_answer"} if file.shots else {"system"}
        for key, text in texts.items():
            if key not in known:
                why = "it may have " + ", ".join(sorted(known))
                raise wrong_prompt(f"[{table}] has {key!r}", why, nearest(key, known))
            names = _names(text)
            if key in must and not names & must[key]:
                why = "it needs {{ " + " }} or {{ ".join(sorted(must[key])) + " }}"
                raise wrong_prompt(f"[{table}] {key} shows nothing of the question", why)
            found[key] = (text,) if key == "template" else text
    return found


def _options(file: CustomFile, about: About) -> tuple[Option, ...]:
    declared = {option.name: option for option in options_of(KnownSetOptions)}
    found = [declared["prompt"]]
    if about.subsets:
        names = tuple(about.subsets)
        found.append(replace(declared["subset"], default=names[0], choices=names))
    if file.shots:
        most = 100 if file.shots_split else file.shots
        found.append(replace(declared["shots"], default=file.shots, maximum=most))
    return tuple(found)


@cache
def known_set(name: str) -> type[KnownSet]:
    """The benchmark for a file in this folder.

    Args:
        name: the file's name, without its extension.
    """
    file, about = _read(name)
    filters = {"group": f"only this {about.group}"} if about.group else {}
    where = f"{file.hub} on the Hugging Face hub"
    body = {
        "__doc__": about.summary,
        "__module__": __name__,
        "name": name,
        "version": about.version,
        "title": file.title,
        "summary": about.summary,
        "licence": about.licence,
        "about": about,
        "opt": KnownSetOptions(),
        "options": _options(file, about),
        "roles": ("candidate", "judge") if file.asks_judges else ("candidate",),
        "spread_by": "group" if file.group else "",
        "filters": filters,
        "data_source": f"{where}, or --data FILE with its columns; prompt and scoring after"
        f" {about.source}",
    }
    return type(f"KnownSet_{name.replace('-', '_')}", (KnownSet,), body)


class _Sets:
    """Data sets as attributes, for entry points: ``sets.math_500`` is the file math-500.toml."""

    def __getattr__(self, name: str) -> type[KnownSet]:
        if name.startswith("_"):
            raise AttributeError(name)
        return known_set(name.replace("_", "-"))


sets = _Sets()
