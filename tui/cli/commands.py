"""All commands, in the order of the overview, and the module behind each."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from evalbench.tui.cli.parser import Parser


class Command(NamedTuple):
    """One command: its purpose, and the module that declares and executes it.

    The module has ``declare(parser, words)``, which adds the arguments (``words`` are the user's,
    so that a benchmark's own flags can be found), and ``execute(args) -> exit code``.
    """

    summary: str
    module: str


COMMANDS: dict[str, Command] = {
    "run": Command("run a benchmark, or a suite of them", "run"),
    "resume": Command("resume a run: send only calls that have no reply yet", "resume"),
    "attach": Command("watch a live run", "attach"),
    "pause": Command("finish calls in flight, then pause", "stop"),
    "stop": Command("stop a run; it can be resumed", "stop"),
    "collect": Command("fetch finished provider batches and continue their runs", "collect"),
    "batches": Command("list, show and cancel provider batches", "batches"),
    "estimate": Command("estimate the calls, tokens and cost of a run", "estimate"),
    "runs": Command("list runs", "runs"),
    "show": Command("show a run's scores, settings and samples", "show"),
    "compare": Command("compare runs: differences, significance, samples that flip", "compare"),
    "leaderboard": Command("models against benchmarks, over all runs", "leaderboard"),
    "report": Command("write an HTML or Markdown report of one or more runs", "report"),
    "score": Command("re-score a run from its stored replies, for free", "score"),
    "trace": Command("export a run's traces (OpenTelemetry, Langfuse, Galileo)", "trace"),
    "import": Command("import results from other tools", "importing"),
    "tag": Command("tag runs, to find and compare them together", "tag"),
    "export": Command("export runs to other tools' formats", "export"),
    "translate": Command("show the evalbench equivalent of another tool's command", "translate"),
    "benchmarks": Command("list benchmarks, or describe one", "benchmarks"),
    "new-benchmark": Command("create an example custom benchmark", "new_benchmark"),
    "models": Command("list providers' models and prices", "models"),
    "providers": Command("list providers; add, change and test servers of your own", "providers"),
    "probe": Command("send one short prompt to a model", "probe"),
    "serve": Command("serve a local model with vLLM, SGLang or llama.cpp", "serve"),
    "keys": Command("set, test, list and remove API keys", "keys"),
    "parse": Command("run a benchmark's reply parsers on your own text", "parse"),
    "data": Command("download, verify or summarize a benchmark's data", "data"),
    "gpu": Command("show GPUs and local workers", "gpu"),
    "completion": Command("print a shell completion script", "completion"),
    "man": Command("print the manual page", "man"),
    "doctor": Command("check this installation", "doctor"),
}


def parser_of(name: str, words: Sequence[str]) -> Parser:
    """The parser of a command whose arguments begin with ``words``; without a name, of the app."""
    from evalbench.tui.cli.parser import Parser

    summary, module = COMMANDS[name] if name else ("open the full-screen app", "app")
    parser = Parser(name, summary)
    import_module(f"evalbench.tui.cli.{module}").declare(parser, words)
    return parser


_OVERVIEW = """\
usage: evalbench COMMAND [...]

Runs LLM benchmarks against any model. A run is its own process: it keeps going
when the terminal closes.

commands:
{commands}

try it, no key needed:
  evalbench run quickstart
  evalbench run mmlu --subject anatomy --limit 50
  evalbench show last

more:
  evalbench                    the full-screen app; with --web, in a browser
  evalbench COMMAND --help     what a command takes, with examples
  evalbench run mmlu --help    includes the benchmark's own settings
  evalbench --version
"""


def overview() -> str:
    """The text of ``evalbench --help``."""
    lines = [f"  {name:<15}{command.summary}" for name, command in COMMANDS.items()]
    return _OVERVIEW.format(commands="\n".join(lines))
