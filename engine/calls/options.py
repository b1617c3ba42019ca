"""Options of benchmarks and providers, declared once.

Command-line flags, TOML fields, forms and documentation are generated from these declarations,
so an option's type, default, range and help are defined in one place.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, is_dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, TypeVar

from evalbench.engine.errors import SpecError, nearest
from evalbench.engine.files import read_text

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}
_TYPES = {
    int: "a whole number",
    float: "a number",
    Decimal: "a number",
    str: "a text",
    bool: "true or false",
}
_STORED = {float: (int, float), Decimal: (int, float, Decimal)}
"""What a stored value of a type may be, if not that type alone."""


@dataclass(frozen=True, slots=True)
class Option:
    """One setting.

    Attributes:
        name: lower case with underscores; the flag is ``--`` + name with dashes.
        type: ``int``, ``float``, ``Decimal`` (for money), ``str`` or ``bool``.
        default: value if the user does not set it; may be None.
        help: one sentence without a final period.
        choices: if not empty, the only allowed values; with ``path``, names that may be given
            instead of a path.
        minimum, maximum: inclusive range for numbers.
        many: the flag may be repeated; the value is a tuple.
        affects_data: a different value needs a different sample file.
        affects_answers: for provider options: a different value may change the answers.
        path: the value names an existing ``file`` or ``folder``, or is ``named``: NAME=PATH
            of either, where the name is optional. Stored as an absolute path.
            ``text``: a file whose text is used, or the text itself. Stored as the text.
            ``new``: a folder that will be created.
        metavar: placeholder for the value in help; empty to derive it from the type or name.
        variables: environment variables that supply the value if the user does not, in
            order of precedence; their value is stored with the run.
        by_model: if unset, the model decides; giving the default explicitly pins it.
    """

    name: str
    type: type
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    many: bool = False
    affects_data: bool = False
    affects_answers: bool = False
    path: Literal["", "file", "folder", "named", "text", "new"] = ""
    metavar: str = ""
    variables: tuple[str, ...] = ()
    by_model: bool = False

    @property
    def flag(self) -> str:
        """The command-line flag, for example ``--shots``."""
        return "--" + self.name.replace("_", "-")

    def parse(self, raw: Any) -> Any:
        """Validate one raw value (text from a flag, or a TOML/Python value).

        Returns:
            The typed value; a tuple when ``many``.

        Raises:
            SpecError: naming the flag, what was given and what is allowed.
        """
        if raw is None:
            return None if not self.many else ()
        if self.many:
            items = [raw] if isinstance(raw, str) or not isinstance(raw, Sequence) else list(raw)
            return tuple(self._one(item) for item in items)
        return self._one(raw)

    def unfit(self, value: Any, *, choices: bool = False) -> str:
        """What a stored value should be instead; empty if it is valid.

        ``choices``: also check these; they may have been different when it was stored.
        """
        if value is None and self.default is None:
            return ""
        if self.many:
            parts = value if isinstance(value, list | tuple) else [None]
            why = next(filter(None, map(self._unfit, parts)), "")
            return f"a list of parts that are {why}" if why else ""
        if choices and self.choices and not self.path and value not in self.choices:
            return "one of " + ", ".join(self.choices)
        return self._unfit(value)

    def _unfit(self, value: Any) -> str:
        if type(value) not in _STORED.get(self.type, (self.type,)):
            return _TYPES[self.type]
        if self.minimum is not None and value < self.minimum:
            return f"at least {self.minimum:g}"
        if self.maximum is not None and value > self.maximum:
            return f"at most {self.maximum:g}"
        return ""

    def _one(self, raw: Any) -> Any:
        if self.type is bool:
            return self._truth(raw)
        if self.path and raw in self.choices:
            return raw
        value = self._text(raw) if self.type is str else self._number(raw)
        if self.choices and not self.path and value not in self.choices:
            raise SpecError(
                self.name,
                f"{self.flag} cannot be {raw!r}",
                why="allowed: " + ", ".join(self.choices),
                hint=nearest(str(raw), self.choices),
            )
        return value

    def _truth(self, raw: Any) -> bool:
        text = str(raw).lower()
        if text not in _TRUE | _FALSE:
            raise SpecError(self.name, f"{self.flag} takes yes or no, not {raw!r}")
        return text in _TRUE

    def _text(self, raw: Any) -> str:
        # An argument in another encoding arrives as lone surrogates, which no file can store.
        if not isinstance(raw, str) or any("\ud800" <= letter <= "\udfff" for letter in raw):
            raise SpecError(self.name, f"{self.flag} takes a text, not {raw!r}")
        if self.path == "text":
            return self._content(raw)
        return self._path(raw) if self.path else raw

    def _content(self, raw: str) -> str:
        """The text of the named file, or the value itself if it cannot be a path."""
        if "\n" in raw or "{" in raw:
            return raw
        try:
            return read_text(Path(raw).expanduser())
        except (OSError, ValueError, RuntimeError) as error:
            raise SpecError(
                self.name,
                f"the file {raw} cannot be read",
                why=getattr(error, "strerror", None) or str(error),
                hint=f"{self.flag} takes a file, or the text itself",
            ) from None

    def _path(self, raw: str) -> str:
        why = ""
        name, place = split_name(raw) if self.path == "named" else ("", raw)
        try:
            path = Path(place).expanduser().absolute()
            if self.path == "new" and not path.is_file():
                return str(path)
            if (path.is_file() and self.path != "folder") or (
                path.is_dir() and self.path != "file"
            ):
                return f"{name}={path}" if name else str(path)
        except OSError as error:
            why = error.strerror or ""
        except RuntimeError as error:
            # The home folder of a user that does not exist.
            why = str(error)
        raise SpecError(
            self.name,
            f"{place} is a file, not a folder"
            if self.path == "new"
            else f"there is no {'file or folder' if self.path == 'named' else self.path} {place}",
            why=why,
            hint=f"check the path given to {self.flag}",
        )

    def _number(self, raw: Any) -> int | float | Decimal:
        try:
            if isinstance(raw, bool):
                raise ValueError
            # The shortest text of a float is what was written.
            money = self.type is Decimal
            value: int | float | Decimal = self.type(str(raw) if money else raw)
            whole = self.type is int
            cut = whole and not isinstance(raw, str) and value != raw
            if cut or not (whole or math.isfinite(value)):
                raise ValueError
        except (TypeError, ValueError, ArithmeticError):
            kind = "a whole number" if self.type is int else "a number"
            raise SpecError(
                self.name, f"{self.flag} takes {kind}, not {raw!r}", hint=self._without()
            ) from None
        if whole and not -(2**63) <= value < 2**63:
            raise SpecError(self.name, f"{self.flag} must fit into 64 bits, not {raw}")
        if self.minimum is not None and value < self.minimum:
            raise SpecError(
                self.name,
                f"{self.flag} must be at least {self.minimum:g}, not {raw}",
                hint=self._without(),
            )
        if self.maximum is not None and value > self.maximum:
            raise SpecError(
                self.name,
                f"{self.flag} must be at most {self.maximum:g}, not {raw}",
                hint=self._without(),
            )
        return value

    def _without(self) -> str:
        """What omitting it means."""
        unset = "" if self.default in (None, ()) else f", {self.default}"
        return f"omit {self.flag} for the default{unset}"


def split_name(given: str) -> tuple[str, str]:
    """Split ``NAME=PATH``; the name is empty if there is none."""
    name, sign, path = given.partition("=")
    return (name.strip(), path) if sign and "/" not in name else ("", given)


def seconds_of(name: str, text: str | None) -> float | None:
    """Parse a duration: ``90s``, ``30m``, ``6h``, ``1d``, also ``after=6h``.

    Args:
        name: the setting's name.
        text: its value; None if it is not set.

    Raises:
        SpecError: it is not a duration.
    """
    if text is None:
        return None
    found = re.fullmatch(r"(?:after=)?(\d+(?:\.\d+)?)\s*([smhd]?)", text.strip().lower())
    if found is None:
        raise SpecError(
            name,
            f"--{name.replace('_', '-')} cannot be {text!r}",
            why="it is a length of time",
            hint="for example 6h, 30m or 1d",
        )
    return float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}[found[2]]


def parse_options(
    declared: Iterable[Option],
    given: Mapping[str, Any],
    owner: str,
    environ: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Validate the given values and fill in the defaults of all declared options.

    Args:
        declared: the options of the benchmark or provider.
        given: raw values by option name.
        owner: name used in the error, for example ``benchmark mmlu``.
        environ: where variables are looked up; None for the environment.

    Raises:
        SpecError: an unknown name or an invalid value.
    """
    by_name = {option.name: option for option in declared}
    for name in given:
        if name not in by_name:
            raise SpecError(
                name,
                f"{owner} has no option {name!r}",
                hint=nearest(name, by_name),
            )
    variables = os.environ if environ is None else environ
    values: dict[str, Any] = {}
    for name, option in by_name.items():
        raw = given.get(name)
        if raw is None:
            set_values = (variables.get(variable, "").strip() for variable in option.variables)
            raw = next(filter(None, set_values), None)
        values[name] = option.parse(raw) if raw is not None else option.default
    return values


_Record = TypeVar("_Record")

_FIELD_TYPES: dict[str, tuple[type, bool]] = {
    "int": (int, False),
    "float": (float, False),
    "Decimal": (Decimal, False),
    "str": (str, False),
    "bool": (bool, False),
    "tuple[str, ...]": (str, True),
}


def setting(default: Any, help: str, **limits: Any) -> Any:  # noqa: A002
    """A field of a settings record: an :class:`Option` with the field's name and type.

    The record is a dataclass in a module with postponed annotations. A field may also be another
    settings record, as a group; option names are flat regardless.

    Args:
        default: see :attr:`Option.default`.
        help: see :attr:`Option.help`.
        **limits: other arguments of :class:`Option`.
    """
    return field(default=default, metadata={"setting": {"help": help, **limits}})


def setting_of(option: Option) -> Any:
    """A field of a settings record for an option that several records share.

    The field must have the option's name.
    """
    return field(default=option.default, metadata={"setting": option})


def options_of(record: type) -> tuple[Option, ...]:
    """The options declared by a settings record, in order."""
    found: list[Option] = []
    for one in fields(record):
        if option := _option(one):
            found.append(option)
        elif group := _group(one):
            found += options_of(group)
    return tuple(found)


def record_of(record: type[_Record], values: Mapping[str, Any]) -> _Record:
    """A settings record from values by option name; missing ones get their defaults.

    Names that the record does not have are ignored.
    """
    given: dict[str, Any] = {}
    for one in fields(record):  # type: ignore[arg-type]
        if group := _group(one):
            given[one.name] = record_of(group, values)
        elif one.name in values and _option(one):
            given[one.name] = values[one.name]
    return record(**given)


def values_of(record: Any) -> dict[str, Any]:
    """The values of a settings record by option name; a copy of what is a mapping already."""
    if isinstance(record, Mapping):
        return dict(record)
    found: dict[str, Any] = {}
    for one in fields(record):
        value = getattr(record, one.name)
        if _group(one):
            found |= values_of(value)
        elif _option(one):
            found[one.name] = value
    return found


def _group(one: Field[Any]) -> Any:
    """The settings record that a field groups, if it is a group."""
    return one.default_factory if is_dataclass(one.default_factory) else None


def _option(one: Field[Any]) -> Option | None:
    known = one.metadata.get("setting")
    if known is None or isinstance(known, Option):
        return known
    written = one.type.__name__ if isinstance(one.type, type) else str(one.type)
    kind, many = _FIELD_TYPES[written.removesuffix(" | None")]
    return Option(one.name, kind, one.default, many=many, **known)


def declare_options(owner: Any, attribute: str) -> None:
    """Set ``owner.options`` to the options of the record that a class has in ``attribute``.

    A class may declare the options alone, as a tuple; its values are then a mapping.
    """
    declared = vars(owner)
    if attribute not in declared:
        if "options" in declared:
            setattr(owner, attribute, None)
    elif "options" not in declared:
        owner.options = options_of(type(declared[attribute]))


def with_defaults(options: Sequence[Option], values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by option name, complete: a run of an older evalbench lacks later options."""
    return {option.name: option.default for option in options} | dict(values)


def option_values(declared: Any, values: Mapping[str, Any]) -> Any:
    """Validated values by option name in the form in which a class declares them."""
    return record_of(type(declared), values) if is_dataclass(declared) else values
