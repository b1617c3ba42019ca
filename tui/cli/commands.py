"""The commands there are, in the order of the overview, and the module behind each."""

from __future__ import annotations

from typing import NamedTuple


class Command(NamedTuple):
    """One command: what it is for, and the module that declares and executes it.

    The module has ``declare(parser, words)``, which adds the arguments (``words``
    are the user's, so that a benchmark's own flags can be found), and
    ``execute(args) -> exit code``.
    """

    summary: str
    module: str


COMMANDS: dict[str, Command] = {
    "run": Command("run a benchmark, or a suite of them", "run"),
    "resume": Command("go on with a run: ask only what has no answer yet", "resume"),
    "attach": Command("watch a run that an engine is driving", "attach"),
    "pause": Command("let calls in flight finish, then rest", "stop"),
    "stop": Command("end a run soon; it can be resumed", "stop"),
    "collect": Command("fetch what provider batches brought, and go on", "collect"),
    "batches": Command("list, show and cancel provider batches", "batches"),
    "estimate": Command("what a run would take and cost", "estimate"),
    "runs": Command("list runs", "runs"),
    "show": Command("scores, settings and single answers of a run", "show"),
    "compare": Command("is one run better than another? on which samples?", "compare"),
    "report": Command("write a run, or several side by side, as a page or plots", "report"),
    "score": Command("score a run anew from its stored replies, for free", "score"),
    "trace": Command("send a run's calls to Langfuse, Phoenix, Galileo and others", "trace"),
    "import": Command("take results of other systems over as runs", "importing"),
    "export": Command("write runs as files for other tools", "export"),
    "translate": Command("what a command of another system is here", "translate"),
    "benchmarks": Command("list benchmarks, or explain one", "benchmarks"),
    "new-benchmark": Command("write an example of a benchmark of your own", "new_benchmark"),
    "models": Command("list the models that providers offer", "models"),
    "probe": Command("ask a model one short question", "probe"),
    "serve": Command("serve a local model with vLLM or llama.cpp", "serve"),
    "keys": Command("set, try, list and remove providers' keys", "keys"),
    "parse": Command("try a benchmark's reply parsers on replies of your own", "parse"),
    "data": Command("fetch, verify or describe a benchmark's data", "data"),
    "gpu": Command("read graphics cards and local workers", "gpu"),
    "completion": Command("print completion for bash, zsh or fish", "completion"),
    "man": Command("print the manual page", "man"),
    "doctor": Command("check this installation", "doctor"),
}

_OVERVIEW = """\
usage: evalbench COMMAND [...]

Runs LLM benchmarks against any model. A run is its own process: close the
terminal and it goes on.

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
