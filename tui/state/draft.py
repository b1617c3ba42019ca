"""A run that is being set up: its choices, its errors and its command line."""

from __future__ import annotations

import csv
import io
import ipaddress
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evalbench.engine.calls import PARAMETERS, PLACES
from evalbench.engine.calls.options import Option, values_of
from evalbench.engine.config.roles import JUDGE, PARAMS, RoleSpec, parse_judge
from evalbench.engine.config.spec import COMMON, RunSpec, existing_data
from evalbench.engine.errors import EvalbenchError, SpecError
from evalbench.engine.keys import looks_like_key
from evalbench.tui.state.ability import obstacle
from evalbench.tui.state.cli_child import setting_of
from evalbench.tui.state.model_cache import Model
from evalbench.tui.state.plugins import Known, KnownBenchmark, KnownProvider

JUDGE_FORM = "PROVIDER/NAME,temperature=0,qps=10"
"""How to write one judge."""

FIRST = (
    "limit",
    "epochs",
    "concurrency",
    "budget",
    "temperature",
    "max_tokens",
    "effort",
    "seed",
    "data",
    "mode",
)
"""Settings that matter in most runs; the other common ones come last."""

NEEDED = "needed for this choice"
FIRST_TITLE = "settings"
MORE = "more"
"""Titles of sections that need attention, are often used, and are folded at first."""

_OWN_ADDRESS = "the address of your server's API, which mostly ends in /v1"
_A_PRICE = "$/M: 0.25/1"
_NO_ADDRESS = "Enter the server's address first: base-url, below."
_AN_ADDRESS = "http://127.0.0.1:8000/v1, for instance"

PROBED = (*PARAMS, "price")
"""Common settings that a probe accepts too, besides the key's."""


_DATA = next(option for option in COMMON if option.name == "data")


@dataclass(frozen=True, slots=True)
class Section:
    """A section of related settings.

    Attributes:
        hints: placeholders of empty fields that differ from :func:`default_words`.
    """

    title: str
    options: tuple[Option, ...]
    hints: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fix:
    """A fix for a problem of a draft.

    Attributes:
        setting: name of the setting to change.
        value: new value; empty if only the user can know it.
    """

    setting: str
    value: str = ""

    @property
    def words(self) -> str:
        """What it does: ``use family chat``, ``go to base-url``."""
        name = self.setting.replace("_", "-")
        return f"use {name} {self.value}" if self.value else f"go to {name}"


@dataclass(slots=True)
class Draft:
    """The run as currently set up on the page.

    Attributes:
        known: what is installed.
        benchmark, provider, model: chosen names; the model's without its provider.
        typed: raw text by setting name; missing or empty means the default.
        called_for: names of settings that an error was about.
    """

    known: Known = field(default_factory=Known)
    benchmark: str = ""
    provider: str = ""
    model: str = ""
    typed: dict[str, str] = field(default_factory=dict)
    called_for: list[str] = field(default_factory=list)

    # -- what was chosen -----------------------------------------------------------

    @property
    def known_benchmark(self) -> KnownBenchmark | None:
        """The benchmark; None before one is chosen."""
        return self.known.benchmark(self.benchmark)

    @property
    def known_provider(self) -> KnownProvider | None:
        """The provider; None before one is chosen."""
        return self.known.providers.get(self.provider)

    @property
    def full_model(self) -> str:
        """The model in ``--model`` form; empty before one is chosen."""
        return f"{self.provider}/{self.model}" if self.provider and self.model else ""

    @property
    def title(self) -> str:
        """Benchmark and model, as far as they are chosen."""
        return " × ".join(filter(None, [self.benchmark, self.stand_in or self.full_model]))

    def take(self, spec: RunSpec) -> None:
        """Load the choices and settings of a run; unknown settings are dropped."""
        self.benchmark = spec.benchmark
        self.choose_model(spec.model)
        self.typed.clear()
        self.called_for.clear()
        given = {
            **values_of(spec.settings),
            **spec.options,
            **spec.provider_options,
            **spec.filters,
        }
        for option in self.options().values():
            value = given.get(option.name)
            if value not in (None, ()) and (value != option.default or option.by_model):
                self.typed[option.name] = _as_typed(option, value)
                self.called_for += [option.name] if option.name == "base_url" else []

    def next_one(self) -> Draft:
        """A draft for the run after this one: the same choices, and where the provider is."""
        typed = {name: text for name in PLACES if (text := self.typed.get(name))}
        return Draft(self.known, self.benchmark, self.provider, self.model, typed)

    def choose_model(self, full: str) -> None:
        """Set provider and model from ``provider/name``."""
        self.provider, _, self.model = full.partition("/")

    def choose_provider(self, name: str) -> None:
        """Switch the provider, clearing the previous one's address and key."""
        if name == self.provider:
            return
        own = [option.name for option in self.known_provider.options] if self.known_provider else []
        for setting in (*own, "key"):
            self.typed.pop(setting, None)
        self.called_for.clear()
        self.provider, self.model = name, ""

    @property
    def missing(self) -> str:
        """What is still to be chosen, in words; empty if nothing."""
        if not self.known_benchmark:
            return "choose a benchmark"
        if not self.stand_in:
            if not self.known_provider:
                return "choose a provider"
            if self.lacks_address:
                return "enter your server's address: base-url"
            if not self.model:
                return "choose a model, or type its name"
        return f"name a judge, as {JUDGE_FORM}" if self.lacks_judge else ""

    @property
    def lacks_address(self) -> bool:
        """Whether the provider is a server of the user's own, and its address is not given yet."""
        return self._needs_address and not self.typed.get("base_url", "").strip()

    @property
    def address_problem(self) -> str:
        """Why there is no address yet to ask for models; empty if nothing is wrong with it."""
        if self.lacks_address:
            return _NO_ADDRESS
        option = self.options().get("base_url")
        fault = self.fault(option) if option else None
        return f"✗ {self.as_fields(fault.what)}" if fault else ""

    @property
    def _needs_address(self) -> bool:
        provider = self.known_provider
        return bool(provider and provider.needs_address and not self.stand_in)

    @property
    def lacks_judge(self) -> bool:
        """Whether a judge is required and none is named."""
        bench = self.known_benchmark
        typed = self.typed.get(JUDGE, "").strip()
        return bool(bench and not typed and bench.needs_judge(self._own()))

    @property
    def stand_in(self) -> str:
        """What replaces the model if answers are given; empty if a model is called."""
        return self.known_benchmark.stand_in(self._own()) if self.known_benchmark else ""

    @property
    def free(self) -> bool:
        """Whether all models involved run on this machine."""
        names = [] if self.stand_in else [self.provider]
        names += [one.partition("/")[0] for one in self.given().get(JUDGE, ())]
        asked = [self.known.providers.get(name) for name in names]
        return all(one and one.local for one in asked)

    # -- settings ------------------------------------------------------------------

    def sections(self) -> list[Section]:
        """All settings that apply to what was chosen, the most used first.

        A name that occurs twice applies to both owners, as on the command line.
        """
        bench, provider = self.known_benchmark, self.known_provider
        common = {option.name: option for option in COMMON}
        if bench and not bench.takes_data:
            common.pop("data")
        elif bench and bench.data_source:
            common["data"] = replace(common["data"], help=bench.data_source)
        own = bench.options if bench else ()
        asked = provider.options if provider and not self.stand_in else ()
        every = {option.name: option for option in (*asked, *own)} | common
        if provider and provider.needs_address and "base_url" in every:
            every["base_url"] = replace(every["base_url"], help=_OWN_ADDRESS)
        first = [common.pop(name) for name in FIRST if name in common]
        found = [
            Section(NEEDED, tuple(every[name] for name in self._needed() if name in every)),
            Section(FIRST_TITLE, tuple(first)),
        ]
        if bench:
            filters = [Option(tag, str, (), text, many=True) for tag, text in bench.filters.items()]
            found.append(Section(f"of {bench.name}", (*own, *filters)))
        if provider:
            found.append(Section(f"of {provider.name}", asked))
        found.append(Section(MORE, tuple(common.values())))
        hints = {"price": _A_PRICE} if "price" in self.called_for else {}
        hints |= {"base_url": (provider.address if provider else "") or _AN_ADDRESS}
        return list(_without_repeats(found, hints))

    def _needed(self) -> list[str]:
        """Settings that the current choices require, or that an error was about."""
        bench = self.known_benchmark
        needed = [JUDGE] if bench and bench.needs_judge(self._own()) else []
        if self._needs_address:
            needed.append("base_url")
        return [*needed, *(name for name in self.called_for if name not in needed)]

    def options(self) -> dict[str, Option]:
        """All settings by name."""
        return {option.name: option for part in self.sections() for option in part.options}

    @property
    def deciding(self) -> set[str]:
        """Settings that decide which models can be used."""
        bench, provider = self.known_benchmark, self.known_provider
        names = {option.name for option in bench.options} if bench else set()
        if provider and provider.local:
            names |= {option.name for option in provider.options}
        return names

    def fault(self, option: Option) -> SpecError | None:
        """What is wrong with the value of a setting."""
        text = self.typed.get(option.name, "")
        if option.type is str and text and looks_like_key(text.strip()):
            what = f"{option.flag} is no place for a key"
            return SpecError(option.name, what, hint="put it into the keychain")
        if fault := address_fault(option, text):
            return fault
        try:
            value = parsed(option, text)
            if option.name == JUDGE:
                read_judges(text)
            elif option.name == "data" and value is not None:
                existing_data(value)
        except SpecError as error:
            return error
        return None

    def faults(self) -> dict[str, SpecError]:
        """Errors by setting name."""
        return {name: fault for name, one in self.options().items() if (fault := self.fault(one))}

    def fix(self, error: EvalbenchError | None, model: Model | None = None) -> Fix | None:
        """The fix for an error of this draft, or for a limitation of the model; or None.

        ``model`` is the chosen one, if it is listed.
        """
        if self.lacks_address:
            return Fix("base_url")
        if self.lacks_judge and (self.stand_in or self.full_model):
            return Fix(JUDGE)
        if faults := self.faults():
            name = next(iter(faults))
            return Fix(name, with_scheme(self.typed[name]) if name == "base_url" else "")
        if model and obstacle(model, self.needs()) and (other := self._asks_otherwise(model)):
            return other
        if error is None or self.lacks_key(error):
            return None
        options = self.options()
        for flag, value in re.findall(r"--([a-z][a-z-]*)[ =]([\w./-]+)", error.hint):
            option = options.get(flag.replace("-", "_"))
            if option and value in option.choices:
                return Fix(option.name, value)
        named = [setting_of(error), *re.findall(r"--([a-z][a-z-]*)", error.hint)]
        names = [name.replace("-", "_") for name in named]
        return next((Fix(name) for name in names if name in options), None)

    def lacks_key(self, error: EvalbenchError) -> bool:
        """Whether an error says that there is no key, and none was named."""
        return setting_of(error) == "key" and not self.typed.get("key", "").strip()

    def _asks_otherwise(self, model: Model) -> Fix | None:
        """The setting that makes the benchmark use calls that a model can answer."""
        bench = self.known_benchmark
        for option in bench.options if bench else ():
            for choice in option.choices:
                needs = bench.needs(self._own() | {option.name: choice}) if bench else ()
                if needs and not obstacle(model, needs):
                    return Fix(option.name, choice)
        return None

    def as_fields(self, text: str) -> str:
        """A text about flags, reworded to name the corresponding fields."""
        flags = {option.flag for option in self.options().values()}

        def named(found: re.Match[str]) -> str:
            if found["flag"] not in flags:
                return found[0]
            name = found["flag"][2:]
            return f"leave {name} empty" if found["omit"] else name

        return re.sub(r"(?P<omit>\bomit )?(?P<flag>--[a-z][a-z-]*)", named, text)

    def needs(self) -> frozenset[str]:
        """Kinds of calls that the benchmark makes with its settings."""
        return self.known_benchmark.needs(self._own()) if self.known_benchmark else frozenset()

    def _own(self) -> dict[str, str]:
        """The benchmark's own settings as typed, without invalid ones."""
        options = self.known_benchmark.options if self.known_benchmark else ()
        return {
            option.name: parsed(option, text)
            for option in options
            if (text := self.typed.get(option.name, "")) and not self.fault(option)
        }

    def given(self) -> dict[str, Any]:
        """Values that differ from the defaults, by name; invalid ones are omitted."""
        values = {}
        for name, option in self.options().items():
            text = self.typed.get(name, "")
            if text and not self.fault(option):
                value = parsed(option, text)
                if value != option.default or option.by_model:
                    values[name] = value
        return values

    # -- words ---------------------------------------------------------------------

    def words(self) -> tuple[str, ...]:
        """The command line after ``evalbench run``."""
        asked = self.full_model and not self.stand_in
        model = ("--model", self.full_model) if asked else ()
        return (self.benchmark, *model, *self._flags(self.given()))

    def probe_words(self) -> tuple[str, ...]:
        """The command line after ``evalbench probe``."""
        own = {option.name for option in self.known_provider.options} if self.known_provider else ()
        taken = {*PROBED, "key", "env_file", *own}
        given = {name: value for name, value in self.given().items() if name in taken}
        return (self.full_model, *self._flags(given))

    def asking_words(self) -> tuple[str, ...]:
        """Flags for querying the provider: its address, and which key to use."""
        given = self.given()
        kept = (*PLACES, "key", "env_file")
        return self._flags({name: given[name] for name in kept if name in given})

    def command(self) -> str:
        """The equivalent command line, ready for a shell."""
        return shlex.join(["evalbench", "run", *(word for word in self.words() if word)])

    def _flags(self, given: Mapping[str, Any]) -> tuple[str, ...]:
        options = self.options()
        words: list[str] = []
        for name, value in given.items():
            flag = options[name].flag
            if options[name].type is bool:
                words.append(flag if value else f"--no-{flag[2:]}")
                continue
            for one in value if options[name].many else (value,):
                text = f"{one:g}" if isinstance(one, float) else str(one)
                words += [f"{flag}={text}"] if text.startswith("-") else [flag, text]
        return tuple(words)


def address_fault(option: Option, text: str) -> SpecError | None:
    """What is wrong with the typed address of a server, if the option is one."""
    if option.name == "base_url" and (whole := with_scheme(text)):
        what = f"{option.flag} must begin with http:// or https://"
        return SpecError(option.name, what, hint=f"{option.flag} {whole}")
    return None


def with_scheme(address: str) -> str:
    """An address that was typed without ``http://`` or ``https://``, with it; else empty.

    Servers on this machine and in private networks rarely have a certificate.
    """
    text = address.strip()
    begun = any(scheme.startswith(text) for scheme in ("http://", "https://"))
    if "://" in text or begun or text.split() != [text] or looks_like_key(text):
        return ""
    host = re.split(r"[:/]", text, maxsplit=1)[0]
    try:
        private = ipaddress.ip_address(host).is_private
    except ValueError:
        private = "." not in host or host.endswith(".local")
    return f"{'http' if private else 'https'}://{text}"


def parsed(option: Option, text: str) -> Any:
    """Parse the typed text of a setting; several values are separated by commas.

    A value that contains a comma is put in double quotes.

    Raises:
        SpecError: the value is invalid; names what is allowed.
    """
    if not text.strip():
        return option.default
    if option.name == JUDGE:
        return option.parse(split_judges(text))
    if option.many:
        parts = next(csv.reader([text], skipinitialspace=True))
        return option.parse([part.strip() for part in parts if part.strip()])
    return option.parse(text if option.type is str else text.strip())


def _as_typed(option: Option, value: Any) -> str:
    """The text to type for a value; :func:`parsed` reads it back."""
    if option.type is bool:
        return "yes" if value else "no"
    if option.name == JUDGE:
        return ", ".join(map(str, value))
    if option.many:
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow(value)
        return line.getvalue()
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def default_words(option: Option) -> str:
    """The effective default, for an empty field."""
    if option.by_model:
        return f"{option.default}, or by the model"
    if option.default not in (None, "", ()):
        return f"{option.default:g}" if option.type is float else str(option.default)
    if option.name == "data" and option.help != _DATA.help:
        # The benchmark's own description of its source; how to read another is in the help.
        return option.help.partition(";")[0]
    return _UNSET.get(option.name, "any" if option.many else "not set")


_UNSET = {name: parameter.unset for name, parameter in PARAMETERS.items()} | {
    "limit": "all samples",
    "concurrency": "adaptive",
    "budget": "no limit",
    "data": "its own",
    "mode": "realtime",
    "batch_size": "the provider's",
    "workers": "one",
    "batch_fallback": "never",
    "wait_for_server": "some seconds",
    "qps": "no limit",
    "tpm": "no limit",
    "thinking_room": "as needed",
    "price": "as known",
    "key": "found automatically",
    "env_file": "none",
    "header": "none",
    "query": "none",
    "judge": JUDGE_FORM,
    "desc": "none",
    "tag": "none",
}


def fault_words(error: SpecError) -> str:
    """What is wrong with a setting, and how to fix it."""
    hint = f"try: {error.hint}" if error.hint else ""
    return "; ".join(filter(None, [error.what, error.why, hint]))


def help_words(option: Option) -> str:
    """What a setting does, with its range and how to enter several values."""
    notes = []
    if option.minimum is not None and option.maximum is not None:
        notes.append(f"{option.minimum:g} to {option.maximum:g}")
    elif option.minimum is not None:
        notes.append(f"at least {option.minimum:g}")
    if option.many:
        notes.append("several: with commas")
    text = option.help
    if not text[1:2].isupper():  # TOML
        text = text[:1].lower() + text[1:]
    return f"{option.flag}: {text}" + (f" ({'; '.join(notes)})" if notes else "")


def _without_repeats(sections: Sequence[Section], hints: Mapping[str, str]) -> Iterator[Section]:
    seen: set[str] = set()
    for section in sections:
        kept = tuple(option for option in section.options if option.name not in seen)
        seen |= {option.name for option in kept}
        if kept:
            kept_hints = {
                option.name: hints[option.name] for option in kept if option.name in hints
            }
            yield Section(section.title, kept, kept_hints)


def split_judges(text: str) -> list[str]:
    """Split a text into judges; after a comma comes a setting of the last one, or the next one."""
    judges: list[str] = []
    for part in text.split(","):
        if judges and re.match(r"\s*[\w-]+\s*=", part):
            judges[-1] += f",{part.strip()}"
        elif part.strip():
            judges.append(part.strip())
    return judges


def read_judges(text: str) -> list[RoleSpec]:
    """All judges in a text, validated.

    Raises:
        SpecError: one is malformed, named twice, or contains a key.
    """
    judges: list[RoleSpec] = []
    for one in split_judges(text):
        if any(looks_like_key(word) for word in re.split(r"[,=\s]", one)):
            what = "--judge is no place for a key"
            raise SpecError(JUDGE, what, hint="put it into the keychain")
        judge = parse_judge(one)
        if judge.model in (other.model for other in judges):
            raise SpecError(JUDGE, f"the judge {judge.model} is named twice")
        judges.append(judge)
    return judges
