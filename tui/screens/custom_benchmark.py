"""A custom benchmark: the first prompts of its file, and the score of a pasted reply."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from string import ascii_uppercase
from typing import Any, ClassVar

import orjson
from textual import on, work
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.events import Paste
from textual.widgets import Input, TextArea

from evalbench.engine.benchmarks.custom.file import read_tables
from evalbench.engine.errors import EvalbenchError
from evalbench.engine.paths import expand
from evalbench.engine.terminal_text import clean
from evalbench.tui.screens.page import Page
from evalbench.tui.state.cli_child import Line as JsonLine
from evalbench.tui.state.cli_child import run_command
from evalbench.tui.widgets.footer import Footer
from evalbench.tui.widgets.layout import LineInput
from evalbench.tui.widgets.lines import Line, Lines
from evalbench.tui.widgets.text import Plain
from evalbench.tui.widgets.topline import TopLine

_EMPTY = (
    "Enter the file of a benchmark. Its first prompts are shown here, again whenever it is saved."
    "\n\nevalbench new-benchmark NAME writes one to begin with."
)
SHOWN = 5
"""Number of samples whose prompts are shown."""
_SETTLED_S = 0.4
"""Seconds without a change before a reply is scored."""


class Reply(TextArea):
    """A reply, typed or pasted."""

    async def _on_paste(self, event: Paste) -> None:
        """Textual writes control characters to the terminal as they are."""
        event.text = clean(event.text)


class OwnPage(Page):
    """The file's name, one sample's prompt, a field for a reply, and its score.

    The file is reloaded whenever it or its table changes on disk, so an editor may stay open
    alongside.
    """

    SCOPE: ClassVar[str] = "own"
    DEFAULT_CSS = """
    OwnPage #file, OwnPage #asked, OwnPage #reply, OwnPage #score {
        border: round $panel-lighten-2; border-title-color: $text-primary; padding: 0 1;
        background: $background;
    }
    OwnPage #file:focus, OwnPage #asked:focus, OwnPage #reply:focus { border: round $primary; }
    OwnPage #file { height: 3; }
    OwnPage #asked { height: 1fr; }
    OwnPage #reply { height: 25%; min-height: 4; }
    OwnPage #score { height: 5; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._path = ""
        self._name = ""
        self._tables: list[Path] = []
        self._stamp: list[tuple[int, int]] = []
        self._samples: list[JsonLine] = []
        self._at = 0
        self._named_now = False

    def compose(self) -> ComposeResult:
        """Top line, file, prompt, reply, score, footer."""
        yield TopLine("Your own benchmark")
        yield LineInput(placeholder="such as capitals.toml", id="file")
        with VerticalScroll(id="asked"):
            yield Plain(_EMPTY, id="prompt")
        yield Reply(id="reply")
        yield Lines(id="score")
        yield Footer()

    def on_mount(self) -> None:
        """Focus the file name."""
        for name, title in (
            ("file", "file"),
            ("asked", "prompt"),
            ("reply", "reply, pasted or typed"),
            ("score", "score"),
        ):
            self.query_one(f"#{name}").border_title = title
        self.query_one("#file", Input).focus()

    @on(Input.Submitted, "#file")
    def _named(self, event: Input.Submitted) -> None:
        self._path, self._at = event.value.strip(), 0
        if self._path:
            # At once, so that a reply pasted while the file is read does not land in its name.
            self.query_one("#reply", TextArea).focus()
            self._named_now = True
            self._reload()

    def _reload(self) -> None:
        self._name, self._tables = own_file(expand(self._path))
        self._stamp = self._changed()
        self._read()

    def _changed(self) -> list[tuple[int, int]]:
        """Time and size of the file and its tables, as far as they exist."""
        found = []
        for path in (expand(self._path), *self._tables):
            with suppress(OSError):
                stat = path.stat()
                found.append((stat.st_mtime_ns, stat.st_size))
        return found

    def tick(self) -> None:
        """Reload the file after it or its table was saved."""
        if self._path and (stamp := self._changed()) and stamp != self._stamp:
            self._reload()

    @work(exclusive=True, group="read")
    async def _read(self) -> None:
        prompt = self.query_one("#prompt", Plain)
        self.query_one(TopLine).tell(right="reading…")
        try:
            found = await run_command("benchmarks", self._file, "--prompts", str(SHOWN))
        except EvalbenchError as error:
            self._samples = []
            if self._named_now:
                self.query_one("#file", Input).focus()
            self._named_now = False
            prompt.show("\n".join(_words(error)))
            prompt.add_class("bad")
            self.query_one("#score", Lines).show([])
            self.query_one(TopLine).tell(right=self._name)
            self.refresh_bindings()
            return
        self._samples = [line for line in found if line.get("event") == "prompts"]
        self._at = min(self._at, max(0, len(self._samples) - 1))
        self._named_now = False
        self._show()

    @property
    def _file(self) -> str:
        return str(expand(self._path))

    def _show(self) -> None:
        if self._samples:
            prompt = self.query_one("#prompt", Plain)
            prompt.remove_class("bad")
            prompt.show(_prompt(self._samples[self._at]))
            # The question; examples and the system message are above it.
            self.query_one("#asked", VerticalScroll).scroll_end(animate=False)
            place = f"sample {self._at + 1} of the first {len(self._samples)}"
            self.query_one(TopLine).tell(right=f"{self._name} · {place}")
            self._score()
        self.refresh_bindings()

    @on(TextArea.Changed, "#reply")
    def _edited(self) -> None:
        self._score()

    @work(exclusive=True, group="score")
    async def _score(self) -> None:
        """Score the reply once it stops changing."""
        reply = self.query_one("#reply", TextArea).text
        score = self.query_one("#score", Lines)
        if not self._samples or not reply.strip():
            score.show([])
            return
        await asyncio.sleep(_SETTLED_S)
        score.show([[("scoring ...", "dim")]])
        case = orjson.dumps({"sample": self._at + 1, "reply": reply}).decode()
        try:
            (scored,) = await run_command("parse", self._file, secret=case)
        except EvalbenchError as error:
            score.show([[(words, "bad")] for words in _words(error)])
            return
        score.show(_score_lines(scored))

    # -- acting ------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Requires another sample to go to."""
        match action:
            case "next":
                return True if self._at + 1 < len(self._samples) else None
            case "previous":
                return True if self._at else None
        return True

    def action_next(self) -> None:
        """See ``commands.py``."""
        self._at += 1
        self._show()

    def action_previous(self) -> None:
        """See ``commands.py``."""
        self._at -= 1
        self._show()


def own_file(path: Path) -> tuple[str, list[Path]]:
    """The name of a benchmark's file for display, with its title, and the tables it names."""
    try:
        tables, _ = read_tables(path)
    except EvalbenchError:
        return path.name, []
    benchmark, prompt = (tables.get(name) for name in ("benchmark", "prompt"))
    about = benchmark if isinstance(benchmark, dict) else {}
    names = [about.get("data"), prompt.get("shots_from") if isinstance(prompt, dict) else ""]
    title = about.get("title")
    shown = f"{title} ({path.name})" if title and isinstance(title, str) else path.name
    return shown, [path.parent / name for name in names if name and isinstance(name, str)]


def _words(error: EvalbenchError) -> list[str]:
    return [words for words in (error.what, error.why, error.hint) if words]


def _prompt(sample: JsonLine) -> str:
    """All messages sent for a sample."""
    lines: list[str] = []
    for call in sample["calls"]:
        lines.append(f"to {call['role']}, {call['step']}")
        for message in call["prompt"]["messages"]:
            lines += [f"[{message['role']}]", *map(_part, message["parts"])]
    return "\n".join(lines)


def _part(part: Any) -> str:
    if "text" in part:
        return str(part["text"])
    return f"<{part.get('media_type')}, {part.get('width')} × {part.get('height')}>"


def _score_lines(scored: JsonLine) -> list[Line]:
    values = ", ".join(f"{name} {value:g}" for name, value in scored["values"].items())
    read = ", ".join(f"{value}" for value in scored["parsed"].values())
    good = scored["values"].get("accuracy", scored["values"].get("score", 0.0)) > 0
    gold = scored["gold"]
    right = " or ".join(map(str, gold)) if isinstance(gold, list) else gold
    if isinstance(gold, int):
        right = ascii_uppercase[gold]  # of the options
    return [
        [(f"{scored['outcome']}: {values or 'no score'}", "good" if good else "bad")],
        [f"read: {read}"],
        [(f"right: {right}", "dim")],
    ]
