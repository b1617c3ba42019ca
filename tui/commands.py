"""Every command of the app, declared once.

Bindings, footer, palette, help and the user's keymap are made from this list.
A command belongs to a *scope*: ``app`` is everywhere, any other name is the
page that carries it out with its ``action_<action>`` method.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """One thing a person can make the app do.

    Attributes:
        id: ``scope.name``; what a keymap names.
        title: two or three words, for footer and palette.
        help: one sentence without a final full stop.
        keys: default keys as Textual names them, separated by commas; may be empty.
        footer: shown in the footer, where there is room for six or seven.
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
    "leaderboard": "Leaderboard",
    "new": "New run",
    "run": "Run",
    "charts": "Charts",
    "samples": "Samples",
    "sample": "One sample",
    "raw": "Raw sample",
    "batches": "Batches",
    "models": "Models",
    "keys": "Keys",
    "own": "Your own benchmark",
    "settings": "Settings",
    "help": "Help",
}
"""Scopes in the order of the help, and what they are called there."""

COMMANDS: tuple[Command, ...] = (
    Command("app.help", "Help", "what can be done here, and every key", "f1,question_mark", True),
    Command("app.home", "Home", "the list of runs", "f2"),
    Command("app.new", "New run", "choose a benchmark, a provider and a model", "f3"),
    Command("app.models", "Models", "what providers offer, with prices and retirement", "f4"),
    Command("app.keys", "Keys", "where providers' keys are; set and try them", "f5"),
    Command("app.settings", "Settings", "theme, bandwidth, mouse and every key", "f6"),
    Command("app.batches", "Batches", "what providers work off, over all runs", "f12"),
    Command("app.own", "Your own", "prompts and scores of a benchmark file as you edit it"),
    Command("app.command-palette", "Commands", "find any command by its name", "ctrl+p"),
    Command("app.redraw", "Redraw", "write the whole screen again", "ctrl+l"),
    Command("app.back", "Back", "to where you came from", "escape,q", True),
    Command("app.leave", "Leave", "close the app from anywhere; runs go on", "ctrl+q"),
    Command("list.down", "Down", "the next line", "down,j"),
    Command("list.up", "Up", "the line before", "up,k"),
    Command("list.page-down", "Page down", "a page further", "pagedown,ctrl+d"),
    Command("list.page-up", "Page up", "a page back", "pageup,ctrl+u"),
    Command("list.first", "First", "the first line", "home,g"),
    Command("list.last", "Last", "the last line", "end,G"),
    Command("list.open", "Open", "what the line stands for", "enter"),
    Command("home.new", "New run", "choose a benchmark, a provider and a model", "n", True),
    Command("home.open", "Open", "watch the run, or read what came out", "o"),
    Command("home.filter", "Filter", "show only runs with these words", "slash", True),
    Command("home.sort", "Sort", "by the next column; a click on its head does the same", "S"),
    Command("home.reverse", "Reverse", "the order of the list the other way round", "R"),
    Command("home.resume", "Resume", "go on with the run: ask what has no answer yet", "r", True),
    Command("home.mark", "Mark", "mark the run for comparing, or not", "space", True),
    Command("home.compare", "Compare", "the marked runs, or one and this", "c", True),
    Command("home.edit", "Edit and run", "a new run with this one's settings", "e"),
    Command("home.leaderboard", "Leaderboard", "models against benchmarks", "l"),
    Command("home.stop", "Stop", "end the run soon; it can be resumed", "s"),
    Command("home.delete", "Delete", "the marked runs, or this one", "d,delete"),
    Command("home.undo", "Undo", "bring back what was just deleted", "u", True),
    Command("home.leave", "Leave", "close the app; runs go on", "q", True),
    Command("compare.open", "Open", "the sample as one of the runs has it", "o"),
    Command("compare.whose", "Other run", "let enter show the next run's answer", "w", True),
    Command("leaderboard.sort", "Sort", "by the next benchmark", "S,s", True),
    Command("leaderboard.open", "Open", "the run of the score that models are ordered by", "o"),
    Command("new.start", "Start", "start the run as it is set up", "f9", True),
    Command("new.estimate", "Estimate", "what it takes and costs, anew", "f8", True),
    Command("new.probe", "Probe", "ask the model one short question", "f7", True),
    Command("new.key", "Set key", "put the provider's key into the keychain", "ctrl+t", True),
    Command("new.fix", "Fix", "use what would put right what is wrong", "ctrl+g", True),
    Command("new.clear", "Start over", "every setting at its default again", "ctrl+n"),
    Command("new.reload", "Reload", "ask the provider for its models again", "ctrl+r"),
    Command("new.copy", "Copy command", "the equal command line, to the clipboard", "f10"),
    Command("run.samples", "Samples", "browse every answer", "a", True),
    Command("run.charts", "Charts", "score, speed, latency and spend over time", "v", True),
    Command("run.pause", "Pause", "let calls in flight finish, then rest", "p", True),
    Command("run.stop", "Stop", "end the run soon; it can be resumed", "s", True),
    Command("run.resume", "Resume", "go on: ask what has no answer yet", "r", True),
    Command("run.edit", "Edit and run", "a new run with this one's settings", "e"),
    Command("run.concurrency", "Calls", "change how many calls are in flight", "c"),
    Command("run.budget", "Budget", "change how much may be spent", "b", True),
    Command("run.batches", "Batches", "the provider batches of this run", "t"),
    Command("run.report", "Report", "write a report into the run's folder", "w"),
    Command("run.copy", "Copy command", "the command that watches this run", "y"),
    Command("samples.filter", "Find text", "samples with this text in them", "slash", True),
    Command("samples.outcome", "Outcome", "go through the outcomes that there are", "o", True),
    Command("samples.score", "Score", "all, wrong ones, right ones", "w", True),
    Command("samples.group", "Group", "show one subject, category or language", "c", True),
    Command("samples.next-wrong", "Next wrong", "to the next wrong answer", "n", True),
    Command("samples.next-error", "Next error", "to the next failed sample", "e"),
    Command("samples.clear", "Clear", "show all samples again", "x"),
    Command("sample.next", "Next", "the next sample of the list", "n,right_square_bracket", True),
    Command("sample.previous", "Previous", "the sample before", "p,left_square_bracket", True),
    Command("sample.copy", "Copy", "the reply, to the clipboard", "y", True),
    Command("sample.next-wrong", "Next wrong", "the next wrong answer of the list", "w", True),
    Command("sample.next-error", "Next error", "the next failed sample of the list", "e"),
    Command("sample.raw", "Raw", "requests and replies as JSON", "r", True),
    Command("sample.pager", "Pager", "all of it in $PAGER", "v"),
    Command("raw.copy", "Copy", "the text, to the clipboard", "y", True),
    Command("raw.pager", "Pager", "the text in $PAGER", "v", True),
    Command("sample.batch", "Batch lines", "what stood in batches about this sample", "b"),
    Command("sample.unfold", "Unfold", "open all folded texts, or close them", "f", True),
    Command("batches.fetch", "Fetch now", "look at the run's batches and go on", "f", True),
    Command("batches.cancel", "Cancel", "let the provider stop; what is done is kept", "d", True),
    Command("batches.over", "Over", "show also those that are over, or not", "x", True),
    Command("batches.open", "Open", "the run that it belongs to", "o"),
    Command("own.previous", "Previous", "the sample before", "f7", True),
    Command("own.next", "Next", "the next sample", "f8", True),
    Command("models.filter", "Filter", "show only models with these words", "slash", True),
    Command("models.reload", "Reload", "ask the providers again", "r", True),
    Command("models.use", "Use", "set up a run with this model", "u", True),
    Command("keys.set", "Set", "put a key into the keychain", "s", True),
    Command("keys.add", "Add", "put a second key, under a name of its own", "a", True),
    Command("keys.test", "Test", "try a key by the cheapest real request", "t", True),
    Command("keys.remove", "Remove", "take a key out of the keychain", "d,delete", True),
    Command("settings.change", "Change", "take the theme, the next value or a new key", "c", True),
    Command("settings.add-key", "Add key", "one more key for a command", "a", True),
    Command("settings.no-key", "No key", "take all keys from a command", "x", True),
    Command("settings.reset", "Reset", "a command's default keys again", "r", True),
    Command("settings.reset-all", "Reset all", "every command's default keys again"),
    Command("help.filter", "Filter", "show only commands with these words", "slash", True),
)


def commands(scope: str) -> Iterator[Command]:
    """The commands of one scope, in order."""
    return (command for command in COMMANDS if command.scope == scope)


def keys_of(command: Command, keymap: Mapping[str, str]) -> tuple[str, ...]:
    """The keys that trigger a command for this user; none when it has none."""
    keys = keymap.get(command.id, command.keys)
    return tuple(filter(None, (key.strip() for key in keys.split(","))))
