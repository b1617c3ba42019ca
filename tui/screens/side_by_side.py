"""Side by side: several runs' replies to one question, with differing words marked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from textual import work
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.content import Content, Span
from textual.widgets import Static

from evalbench.engine.errors import JournalError
from evalbench.engine.runs.browse import SampleBrowser
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.terminal_text import clean, one_line
from evalbench.tui.screens.page import Page
from evalbench.tui.screens.sample import SamplePage
from evalbench.tui.state import figures
from evalbench.tui.state.compared import Compared, score_words
from evalbench.tui.state.sample_view import CANDIDATE, SampleView, sample_view, token_words
from evalbench.tui.state.sample_words import choice_words
from evalbench.tui.state.word_diff import Part, word_diff
from evalbench.tui.widgets.focus import Scroll
from evalbench.tui.widgets.footer import Footer
from evalbench.tui.widgets.lines import Line, Lines
from evalbench.tui.widgets.text import LONGEST, Plain
from evalbench.tui.widgets.topline import TopLine

_LEAST_WIDTH = 38
"""Below this many columns, replies are stacked."""

_OWN = "bold underline"
"""Marks words that the first run's reply does not have; visible without colours too."""


class _Reply(NamedTuple):
    """One run's reply to the question."""

    view: SampleView | None
    reply: str
    facts: str
    choices: str = ""


class SideBySidePage(Page):
    """One question, one column per run."""

    SCOPE: ClassVar[str] = "side"
    DEFAULT_CSS = """
    SideBySidePage #all { padding: 0 1; scrollbar-size-vertical: 1; }
    SideBySidePage #question { height: auto; max-height: 12; color: $text-muted; margin-bottom: 1; }
    SideBySidePage #replies { layout: vertical; height: auto; }
    SideBySidePage #replies.-columns { layout: horizontal; }
    SideBySidePage .reply { height: auto; width: 1fr; padding: 0 1; margin-bottom: 1; }
    SideBySidePage .-columns > .reply { border-left: outer $panel-lighten-2; }
    SideBySidePage .reply > Lines { margin-bottom: 1; }
    SideBySidePage .reply > Static { height: auto; }
    """

    def __init__(self, folders: Sequence[RunFolder], found: Compared, place: int) -> None:
        """``place``: index of the sample among those with different scores."""
        super().__init__()
        self._folders = folders
        self._found = found
        self.place = place
        metric = str(found.head["metric"])
        self._browsers = [SampleBrowser(folder.journal, metric) for folder in folders]

    def compose(self) -> ComposeResult:
        """Question above, replies below."""
        yield TopLine("Side by side")
        with Scroll(id="all"):
            yield Plain(id="question")
            with Container(id="replies"):
                for place in range(len(self._folders)):
                    with Vertical(classes="reply"):
                        yield Lines(id=f"head-{place}")
                        yield Static(markup=False, id=f"reply-{place}")
        yield Footer()

    def on_mount(self) -> None:
        """Read the first one."""
        self.set_focus(self.query_one("#all"))
        self._look()

    def on_resize(self, event: Any) -> None:
        """Use columns if there is room for them."""
        columns = self.size.width // len(self._folders) >= _LEAST_WIDTH
        self.query_one("#replies").set_class(columns, "-columns")

    @work(exclusive=True, group="look")
    async def _look(self) -> None:
        flip = self._found.flips[self.place]
        replies, marked = await asyncio.to_thread(self._read, flip["numbers"])
        question = next((one.view.question for one in replies if one.view), flip["question"])
        gold = next((one.view.gold for one in replies if one.view and one.view.gold), "")
        choices = next((one.choices for one in replies if one.choices), "")
        told_gold = f"gold: {gold}" if gold else ""
        words = "\n".join(filter(None, (question.strip(), choices, told_gold)))
        self.query_one("#question", Plain).show(words)
        for place, (one, parts) in enumerate(zip(replies, marked, strict=True)):
            self.query_one(f"#head-{place}", Lines).show(self._head(place, one))
            self.query_one(f"#reply-{place}", Static).update(_marked(parts))
        count = len(self._found.flips)
        right = f"{figures.count(self.place + 1)} of {figures.count(count)} scored differently"
        self.query_one(TopLine).tell(right=right)
        self.query_one("#all", Scroll).scroll_home(animate=False)
        self.refresh_bindings()

    def _read(self, numbers: Sequence[int]) -> tuple[list[_Reply], list[list[Part]]]:
        """The samples, and each reply in parts: the first against the second, others against it."""
        replies = [self._reply(*both) for both in zip(self._browsers, numbers, strict=True)]
        diffs = [word_diff(replies[0].reply, one.reply) for one in replies[1:]]
        return replies, [diffs[0][0], *(theirs for _, theirs in diffs)]

    def _reply(self, browser: SampleBrowser, number: int) -> _Reply:
        try:
            found = browser.sample(number)
        except JournalError as error:
            return _Reply(None, f"{error.what}\n{error.why}", "")
        if found is None:
            return _Reply(None, "This sample is no longer part of the run.", "")
        line, calls = found
        view = sample_view(line, calls, browser.headline, live=False)
        own = [call.reply for call in calls if call.reply and call.key.role == CANDIDATE]
        facts = []
        if own:
            facts = [token_words(own[-1]), figures.duration(sum(one.latency_s for one in own))]
            cost = sum(float(one.cost or 0) for one in own)
            facts += [figures.dollars(cost)] if cost else []
        detail = line.scores[0].detail if line.scores else {}
        return _Reply(
            view,
            view.reply[:LONGEST] or "(no text)",
            " · ".join(filter(None, facts)),
            choice_words(line.sample, detail),
        )

    def _head(self, place: int, reply: _Reply) -> list[Line]:
        run = self._found.head["runs"][place]
        model = next(
            (str(one["model"]) for one in self._found.contenders if one["run"] == run), run
        )
        score = score_words(self._found.flips[self.place]["scores"][place], share=self._found.share)
        tone = {"right": "good", "wrong": "bad"}.get(score, "strong")
        read = ""
        if reply.view and reply.view.scores and reply.view.scores[0].readings:
            read = f", read as {one_line(reply.view.scores[0].readings[0][1])}"
        return [
            [(f"{self._found.letter(run)}  ", "accent"), (one_line(model), "strong")],
            [(score, tone), read],
            [(reply.facts, "dim")],
        ]

    # -- acting ------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Requires another sample."""
        allowed = {
            "next": self.place + 1 < len(self._found.flips),
            "previous": self.place > 0,
        }
        return True if allowed.get(action, True) else None

    def _step(self, by: int) -> None:
        self.place = min(max(0, self.place + by), len(self._found.flips) - 1)
        self._look()

    def action_next(self) -> None:
        """See ``commands.py``."""
        self._step(1)

    def action_previous(self) -> None:
        """See ``commands.py``."""
        self._step(-1)

    async def action_open(self) -> None:
        """See ``commands.py``."""
        number = self._found.flips[self.place]["numbers"][0]
        await self.app.push_screen(SamplePage(self._folders[0], number, None))


def _marked(parts: Sequence[Part]) -> Content:
    """A reply without markup, with its differing words marked."""
    text, spans = "", []
    for part in parts:
        start = len(text)
        text += clean(part.text)
        if part.own and part.text.strip():
            spans.append(Span(start, len(text), _OWN))
    return Content(text, spans)
