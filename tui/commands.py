"""All commands of the app, each declared once.

Bindings, footer, palette, help and the user's keymap are made from this list. A command belongs to
a *scope*: ``app`` applies everywhere, any other name is the page that implements it with its
``action_<action>`` method.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the app.

    Attributes:
        id: ``scope.name``, as used in keymaps.
        title: two or three words, for footer and palette.
        help: one sentence without a final full stop.
        keys: default keys by their Textual names, separated by commas; may be empty.
        footer: whether it is shown in the footer, which has room for six or seven.
    """

    id: str
    title: str
    help: str
    keys: str = ""
    footer: bool = False

    @property
    def scope(self) -> str:
        """The page it belongs to, or ``app``."""
        return self.id.partition(".")[0]

    @property
    def action(self) -> str:
        """Name of the action method, without ``action_``."""
        return self.id.partition(".")[2].replace("-", "_")


SCOPES: Mapping[str, str] = {
    "app": "Everywhere",
    "list": "In every list",
    "home": "Home",
    "compare": "Compare",
    "side": "Side by side",
    "leaderboard": "Leaderboard",
    "new": "New run",
    "run": "Run",
    "charts": "Charts",
    "samples": "Samples",
    "sample": "One sample",
    "raw": "Raw sample",
    "batches": "Batches",
    "machine": "Machine",
    "models": "Models",
    "keys": "Keys",
    "providers": "Providers",
    "server": "One server",
    "own": "Your own benchmark",
    "settings": "Settings",
    "help": "Help",
}
"""Scopes in the order of the help, and their titles there."""

COMMANDS: tuple[Command, ...] = (
    Command("app.help", "Help", "commands and keys of this page", "f1,question_mark", True),
    Command("app.home", "Home", "the list of runs", "f2"),
    Command("app.new", "New run", "choose a benchmark, a provider and a model", "f3"),
    Command("app.models", "Models", "providers' models, prices, retirement dates", "f4"),
    Command("app.keys", "Keys", "set, test and remove API keys", "f5"),
    Command("app.settings", "Settings", "theme, bandwidth, mouse and key bindings", "f6"),
    Command("app.batches", "Batches", "provider batches of all runs", "f12"),
    Command("app.machine", "Machine", "GPUs, processors, memory, and their use"),
    Command("app.providers", "Providers", "addresses, limits, prices; your own servers"),
    Command("app.own", "Your own", "try your own benchmark file as you edit it"),
    Command("app.command-palette", "Commands", "search all commands", "ctrl+p"),
    Command("app.jump", "Jump", "to a part of the page, by a letter", "ctrl+o"),
    Command("app.redraw", "Redraw", "write the whole screen again", "ctrl+l"),
    Command("app.back", "Back", "go to the previous page", "escape,q", True),
    Command("app.leave", "Quit", "quit the app; runs keep going", "ctrl+q"),
    Command("list.down", "Down", "next line", "down,j"),
    Command("list.up", "Up", "previous line", "up,k"),
    Command("list.page-down", "Page down", "next page", "pagedown,ctrl+d"),
    Command("list.page-up", "Page up", "previous page", "pageup,ctrl+u"),
    Command("list.first", "First", "first line", "home,g"),
    Command("list.last", "Last", "last line", "end,G"),
    Command("list.open", "Open", "open the selected line", "enter"),
    Command("home.new", "New run", "choose a benchmark, a provider and a model", "n", True),
    Command("home.open", "Open", "watch the run or see its results", "o"),
    Command("home.filter", "Filter", "filter runs", "slash", True),
    Command("home.undo", "Undo", "bring back what was just deleted", "u", True),
    Command("home.sort", "Sort", "by the next column, or click on its head", "S"),
    Command("home.reverse", "Reverse", "the order of the list", "R"),
    Command("home.resume", "Resume", "send only the calls without a reply", "r", True),
    Command("home.mark", "Mark", "mark the run, to act on several", "space", True),
    Command("home.compare", "Compare", "the marked runs, or the marked one and this", "c", True),
    Command("home.edit", "Edit and run", "a new run with this one's settings", "e", True),
    Command("home.tag", "Tag", "the marked runs, or this one", "t", True),
    Command("home.export", "Export", "the marked runs, or this, for other tools", "x", True),
    Command("home.leaderboard", "Leaderboard", "models against benchmarks", "l", True),
    Command("home.machine", "Machine", "GPUs, processors, memory, and their use", "m"),
    Command("home.stop", "Stop", "stop the run; it can be resumed", "s", True),
    Command("home.delete", "Delete", "the marked runs, or this one", "d,delete", True),
    Command("home.providers", "Providers", "addresses, limits, prices; your own servers", "p"),
    Command("home.leave", "Quit", "quit the app; runs keep going", "q", True),
    Command("compare.side", "Side by side", "the replies, with what differs marked", "b", True),
    Command("compare.open", "Open", "all of the sample in one run", "o", True),
    Command("compare.scatter", "Scatter", "scores against each other, shown or hidden", "s", True),
    Command("compare.whose", "Other run", "choose which run's sample o opens", "w", True),
    Command("side.next", "Next", "the next sample", "n,right_square_bracket", True),
    Command("side.previous", "Previous", "previous sample", "p,left_square_bracket", True),
    Command("side.open", "Open", "all of the sample in the first run", "o", True),
    Command("leaderboard.filter", "Filter", "filter the runs that count", "slash", True),
    Command("leaderboard.sort", "Sort", "by the next benchmark", "S,s", True),
    Command(
        "leaderboard.export", "Export", "what is shown, to HTML, Markdown, CSV, JSON", "x", True
    ),
    Command("leaderboard.open", "Open", "the run of the score in the first column", "o"),
    Command("new.start", "Start", "start the run", "f9", True),
    Command("new.estimate", "Estimate", "update the estimate", "f8", True),
    Command("new.probe", "Probe", "ask the model one short question", "f7", True),
    Command("new.key", "Key", "store the provider's key in the keychain", "ctrl+t", True),
    Command("new.fix", "Fix", "use what would put right what is wrong", "ctrl+g", True),
    Command("new.setups", "Set-ups", "save this set-up under a name, or take one", "ctrl+y", True),
    Command("new.clear", "Start over", "every setting at its default again", "ctrl+n"),
    Command("new.reload", "Reload", "refresh the model list", "ctrl+r"),
    Command("new.copy", "Copy command", "copy the equivalent command", "f10"),
    Command("run.samples", "Samples", "browse the samples", "a", True),
    Command("run.charts", "Charts", "score, speed, latency and spend over time", "v", True),
    Command("run.pause", "Pause", "finish calls in flight, then pause", "p", True),
    Command("run.stop", "Stop", "stop the run; it can be resumed", "s", True),
    Command("run.resume", "Resume", "send only the calls without a reply", "r", True),
    Command("run.concurrency", "Concurrency", "change the number of concurrent calls", "c"),
    Command("run.budget", "Budget", "change the budget", "b", True),
    Command("run.failures", "Failures", "the samples that failed, by error", "f", True),
    Command("run.edit", "Edit and run", "a new run with this one's settings", "e", True),
    Command("run.batches", "Batches", "provider batches of this run", "t"),
    Command("run.machine", "Machine", "GPUs, processors, memory, and their use", "m"),
    Command("run.report", "Report", "write a report to the run's folder", "w", True),
    Command("run.copy", "Copy command", "copy the command that watches this run", "y"),
    Command("samples.filter", "Filter", "by words and fields, as you type", "slash", True),
    Command("samples.outcome", "Outcome", "cycle through the outcomes", "o", True),
    Command("samples.score", "Score", "cycle through all, wrong, right", "w", True),
    Command("samples.group", "Group", "filter by subject, category or language", "c", True),
    Command("samples.next-wrong", "Next wrong", "to the next wrong answer", "n", True),
    Command("samples.next-error", "Next error", "to the next failed sample", "e", True),
    Command("samples.go-to", "Go to", "the sample with a number", "number_sign,colon", True),
    Command("samples.sort", "Sort", "by the next column; or click its head", "S", True),
    Command("samples.reverse", "Reverse", "the order of the list", "R"),
    Command("samples.columns", "Columns", "latency, tokens, cost, ratings of judges", "v", True),
    Command("samples.export", "Export", "the listed samples, as CSV or JSON lines", "E", True),
    Command("samples.copy", "Copy", "the question", "y"),
    Command("samples.retry", "Retry", "ask failed, refused or cut samples again", "r", True),
    Command("samples.clear", "Clear", "clear the filter", "x"),
    Command("sample.next", "Next", "next sample", "n,right_square_bracket", True),
    Command("sample.previous", "Previous", "previous sample", "p,left_square_bracket", True),
    Command("sample.copy", "Copy", "copy the reply", "y", True),
    Command("sample.next-wrong", "Next wrong", "the next wrong answer of the list", "w", True),
    Command("sample.raw", "Raw", "requests and replies as JSON", "r", True),
    Command("raw.copy", "Copy", "the text, to the clipboard", "y", True),
    Command("raw.pager", "Pager", "the text in $PAGER", "v", True),
    Command("raw.editor", "Editor", "the text in $EDITOR, as a copy", "E", True),
    Command("sample.batch", "Batch lines", "batch lines of this sample", "b"),
    Command("sample.unfold", "Expand", "expand or collapse all sections", "f", True),
    Command("sample.next-error", "Next error", "the next failed sample of the list", "e", True),
    Command("sample.pager", "Pager", "all of it in $PAGER", "v", True),
    Command("sample.editor", "Editor", "all of it in $EDITOR, as a copy", "E"),
    Command("batches.fetch", "Fetch now", "fetch finished batches and continue the run", "f", True),
    Command("batches.cancel", "Cancel", "at the provider; finished results are kept", "d", True),
    Command("batches.over", "Finished", "show or hide finished batches", "x", True),
    Command("batches.open", "Open", "open the batch's run", "o"),
    Command("own.previous", "Previous", "previous sample", "f7", True),
    Command("own.next", "Next", "the next sample", "f8", True),
    Command("machine.open", "Open", "the run of the process", "o", True),
    Command("machine.unload", "Unload", "free a model that an earlier run has left", "u", True),
    Command("models.filter", "Filter", "filter models", "slash", True),
    Command("models.reload", "Reload", "refresh all model lists", "r", True),
    Command("models.use", "Use", "start a new run with this model", "u", True),
    Command("keys.filter", "Filter", "filter keys", "slash", True),
    Command("keys.set", "Set", "store a key in the keychain", "s", True),
    Command("keys.add", "Add", "store another key under its own name", "a", True),
    Command("keys.test", "Test", "test a key with the cheapest real request", "t", True),
    Command("keys.remove", "Remove", "remove a key from the keychain", "d,delete", True),
    Command("providers.filter", "Filter", "filter providers", "slash", True),
    Command("providers.add", "Add", "describe a server of your own", "a", True),
    Command("providers.edit", "Edit", "change your server", "e", True),
    Command("providers.test", "Test", "ask the server for its models, with its key", "t", True),
    Command("providers.key", "Set key", "store the provider's key in the keychain", "s", True),
    Command("providers.remove", "Remove", "remove your server", "d,delete", True),
    Command("server.fix", "Fix", "use what would put right what is wrong", "ctrl+g", True),
    Command("server.save", "Save", "write the server to providers.toml", "f9", True),
    Command("settings.change", "Change", "change the selected setting", "c", True),
    Command("settings.add-key", "Add key", "add another key to a command", "a", True),
    Command("settings.no-key", "No key", "remove all keys from a command", "x", True),
    Command("settings.reset", "Reset", "reset a command's keys to the default", "r", True),
    Command("settings.reset-all", "Reset all", "reset all keys to the defaults"),
    Command("help.filter", "Filter", "filter commands", "slash", True),
)


def commands(scope: str) -> Iterator[Command]:
    """The commands of one scope, in order."""
    return (command for command in COMMANDS if command.scope == scope)


def keys_of(command: Command, keymap: Mapping[str, str]) -> tuple[str, ...]:
    """The keys that trigger a command for this user; may be empty."""
    keys = keymap.get(command.id, command.keys)
    return tuple(filter(None, (key.strip() for key in keys.split(","))))
