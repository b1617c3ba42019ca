"""What our pages say can be typed: commands, flags and choices are there, links lead somewhere."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

import pytest

from evalbench.engine.benchmarks.lm_eval import benchmark as lm_eval
from evalbench.engine.config import registry
from evalbench.engine.config.spec import COMMON
from evalbench.engine.errors import EvalbenchError
from evalbench.tui.cli.commands import COMMANDS, parser_of
from evalbench.tui.cli.completing import with_values
from evalbench.tui.cli.main import APP_FLAGS
from evalbench.tui.cli.parser import Parser, add_options, filter_options
from evalbench.tui.cli.target import wanted_specs
from tests.lm_eval_tasks import INDEX
from tests.stranger.documented import PAGES, ROOT, Command, commands, spoken_flags

NAMES = {
    "RUN": "last",
    "RUN…": "last",
    "BENCHMARK": "mmlu",
    "COMMAND": "run",
    "PROVIDER": "openai",
    "PROVIDER/NAME": "openai/gpt-4.1",
    "MODEL": "Qwen/Qwen3-0.6B",
    "KIND": "json",
    "N": "3",
}
"""What stands for names in capitals; others are taken as they are."""

OF_NAME = {"run": "mmlu", "benchmarks": "mmlu", "parse": "mt-bench-single"}
"""What NAME stands for, alone."""

SUITE = "[[run]]\nbenchmark = 'quickstart'\nmodel = 'openai/gpt-4.1'\n"
FILES = {
    **dict.fromkeys(("capitals.toml", "sums.toml"), "[benchmark]\n"),
    "FILE.toml": SUITE,
    "SUITE.toml": SUITE,
    "FILE.yaml": "models: {gpt2: {}}\njudge: {model: gpt-4.1}\n",
    **dict.fromkeys(("problems.jsonl", "SPEC.jsonl", "FILE"), "{}\n"),
}
FOLDERS = ("FOLDER", "INPUTS", "RUN", "RUN_FOLDER")
"""What examples take as there."""


@pytest.fixture
def _readers_folder(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # The library is not part of what `make test` installs.
    monkeypatch.setattr(lm_eval, "all_tasks", lambda: INDEX)
    for name, text in FILES.items():
        Path(name).write_text(text)
    for name in FOLDERS:
        Path(name).mkdir()


def typed(command: Command) -> list[str]:
    """The words of an example, with names in place of those in capitals."""
    words = list(command.words)
    own = OF_NAME.get(words[0], "NAME") if words else ""
    if words[:1] == ["…"]:
        words[:1] = ["run", "quickstart"]
    known = NAMES | {"NAME": own, "…": "quickstart" if words[1:2] == ["…"] else ""}
    named = (known.get(word, word) for word in words)
    return [word for word in named if word]


def refused(words: Sequence[str], *, mention: bool) -> str:
    """Why a command line would not be taken; empty if it would.

    ``mention``: it stands in a sentence, and may leave out what is meant.
    """
    name, rest = (words[0], list(words[1:])) if words else ("", [])
    if name.startswith("--"):
        if name.partition("=")[0] not in (*APP_FLAGS, "--help", "--version"):
            return f"no flag {name}"
        name, rest = "", [word for word in words if word not in ("--help", "--version")]
    elif name and name not in COMMANDS:
        return f"no command {name}"
    if name:
        module = import_module(f"evalbench.tui.cli.{COMMANDS[name].module}")
    else:
        module = import_module("evalbench.tui.cli.app")
    parser = Parser(name or "app", "test")
    helped = "--help" in rest
    try:
        module.declare(parser, rest)
        args = parser.read([word for word in rest if word != "--help"])
        if name in ("run", "estimate") and not helped:
            wanted_specs(args)
        elif not helped:
            return _no_such_word(name, rest)
    except EvalbenchError as error:
        left_out = "are required" in error.what or "needs a judge" in error.what
        return "" if (mention or helped) and left_out else f"{error.what} {error.why}".strip()
    return ""


def _no_such_word(name: str, words: Sequence[str]) -> str:
    """Why the first word after a command that takes one of a few is none of them."""
    places = [action for action in _actions(name) if not action.option_strings]
    if not words or not places or re.search(r"\b(?!BENCHMARK|PROVIDER)[A-Z]", _metavar(places[0])):
        return ""
    values = _values(places[0])
    if not values or words[0] in values or words[0].startswith("-") or words[0].endswith(".toml"):
        return ""
    return f"no {words[0]} of {name}"


def _actions(name: str, words: Sequence[str] = ()) -> list[argparse.Action]:
    """The arguments of a command."""
    parser = with_values(name, [name, *words])
    return [action for _, actions in parser.sections() for action in actions]


def _metavar(action: argparse.Action) -> str:
    return action.metavar if isinstance(action.metavar, str) else ""


def _values(action: argparse.Action) -> set[str]:
    """What the tab key offers for an argument."""
    completer = getattr(action, "completer", None)
    return set(completer(prefix="")) if completer else set()


def of_synopsis(command: Command) -> Iterator[str]:
    """What of a form the command does not have."""
    name, *rest = [word.strip("[].…") or "…" for word in command.words]
    names = NAMES | {"NAME": OF_NAME.get(name, "NAME")}
    known = _actions(name, [names.get(word.split("|")[0], word) for word in rest])
    flags = {flag for action in known for flag in action.option_strings}
    values = {value for action in known for value in _values(action)}
    for word in rest:
        if word == "--":
            break
        if word.startswith("-") and word not in flags:
            yield f"no flag {word}"
        for choice in word.split("|") if "|" in word else ():
            if choice.islower() and choice not in values:
                yield f"no choice {choice}"


@pytest.mark.usefixtures("_readers_folder")
@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_every_command_of_a_page_is_taken(page: Path) -> None:
    wrong: list[str] = []
    for command in commands(page):
        if command.synopsis:
            wrong += [f"{command}: {why}" for why in of_synopsis(command)]
        elif why := refused(typed(command), mention=command.mention):
            wrong.append(f"{command}: {why}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("runn quickstart", "no command runn"),
        ("run quickstart --limitt 3", "no flag --limitt"),
        ("run quickstart --limit none", "limit"),
        ("run quickstart --mode never", "mode"),
        ("run mmlu --family other --model openai/gpt-4.1", "family"),
        ("run mmlu --model nobody/gpt", "nobody"),
        ("keys lost", "lost"),
        ("resume", "required"),
        ("--webb", "no flag --webb"),
    ],
)
@pytest.mark.usefixtures("_readers_folder")
def test_a_command_that_is_not_taken_is_found(words: str, why: str) -> None:
    assert why in refused(words.split(), mention=False)


def known_flags() -> set[str]:
    """Every flag of every command, benchmark and provider."""
    known = {*APP_FLAGS, "--help", "--version"}
    everything = Parser("", "everything")
    add_options(everything, COMMON, "common")
    for name in registry.benchmark_names():
        benchmark = registry.benchmark_class(name)
        add_options(everything, [*benchmark.options, *filter_options(benchmark.filters)], name)
    for name in registry.provider_names():
        add_options(everything, registry.provider_class(name).options, name)
    parsers = [everything, *(parser_of(name, ()) for name in ("", *COMMANDS))]
    parsers.append(parser_of("models", ["fit"]))
    parsers.append(parser_of("run", ["code-prediction", "--model", "bedrock/any"]))
    for parser in parsers:
        known |= set(parser.flags())
    return known


def test_every_flag_that_is_spoken_of_is_there() -> None:
    known = known_flags()
    unknown = [
        f"{page.relative_to(ROOT)}:{line}: {flag}"
        for page in PAGES
        for line, flag in spoken_flags(page)
        if flag not in known
    ]
    assert not unknown, "\n".join(unknown)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as code hosts make them."""
    heads = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        file, _, anchor = target.partition("#")
        if "://" in file:
            continue
        there = page.parent / file if file else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            broken.append(target)
    assert not broken, "\n".join(broken)


def test_the_map_of_the_rooms_is_that_of_the_code() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    shown = page.partition("## The rooms")[2].partition("The four folders stand")[0]
    named: dict[Path, set[str]] = {}
    room: list[str] = []
    for line in shown.splitlines():
        lead = len(line) - len(line.lstrip())
        if lead <= 8:  # else it continues the line above
            folder = re.match(r"\s+(\w+)/ ", line)
            room = room[: (lead - 4) // 2] + ([folder[1]] if folder else [])
        named.setdefault(ROOT.joinpath(*room), set()).update(re.findall(r"\b\w+\.py\b", line))
    gone = [
        place / name for place in named for name in named[place] if not (place / name).is_file()
    ]
    assert gone == []
    for place in (ROOT / "evalbench", ROOT / "engine", ROOT / "tui"):
        assert {path.name for path in place.glob("*.py")} - named[place] <= {"__init__.py"}
    assert {init.parent for init in (ROOT / "engine").glob("*/__init__.py")} - set(named) == set()
