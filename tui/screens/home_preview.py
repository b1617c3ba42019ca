"""A summary of the run under Home's cursor: state, scores, outcomes, cost, latest events."""

from __future__ import annotations

from textwrap import wrap

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.terminal_text import one_line
from evalbench.tui.screens import run_panels, run_tables
from evalbench.tui.state.run_view import RunView
from evalbench.tui.widgets.lines import Line, Lines

_MOST_EVENTS, _MORE_EVENTS = 5, 20
_HIGH = 30
"""Rows from which there is room for more events."""


class Preview(Vertical):
    """Reads the status and the newest events of one run; nothing is scanned."""

    DEFAULT_CSS = """
    Preview { height: auto; padding: 0 1; }
    Preview .section { border-top: solid $panel-lighten-2; border-title-color: $text-primary; }
    Preview { border-title-style: bold; }
    """

    def __init__(self) -> None:
        super().__init__(id="preview")
        self._view: RunView | None = None

    def compose(self) -> ComposeResult:
        """Sections, one below the other."""
        yield Lines(id="preview-head")
        for name, title in (("score", "score and outcomes"), ("log", "last events")):
            section = Lines(id=f"preview-{name}", classes="section")
            section.border_title = f" {title} "
            yield section

    def show(self, folder: RunFolder | None) -> None:
        """Show a run, or the new state of the one that is shown."""
        if not self.query(Lines):
            # The app is closing, and this is partly gone.
            return
        if folder is None:
            self._view = None
            self.remove_class("-on")
            return
        self.add_class("-on")
        new = self._view is None or self._view.folder.path != folder.path
        if new:
            self._view = RunView(folder)
        if self._view and (self._view.glance() or new):
            self._draw(self._view)

    def _draw(self, view: RunView) -> None:
        status = view.status
        head = self.query_one("#preview-head", Lines)
        # A plain string here would be parsed as markup.
        self.border_title = Content(f"{one_line(status.name)} × {one_line(status.model)}")
        head.show([*run_panels.head_lines(view), *self._facts(view)])
        self.query_one("#preview-score", Lines).show(run_panels.score_lines(view, compact=False))
        most = _MORE_EVENTS if self.size.height >= _HIGH else _MOST_EVENTS
        rows = run_tables.log_rows(view)[-most:]
        self.query_one("#preview-log", Lines).show([[when, " ", what] for when, what in rows])

    def _facts(self, view: RunView) -> list[Line]:
        status = view.status
        lines = run_panels.money_lines(view)
        if view.problem and not view.live:
            width = max(20, self.size.width)
            for part in view.problem.splitlines():
                lines += [[(text, "warn")] for text in wrap(one_line(part), width)]
        if status.desc or status.tags:
            description = " ".join(
                [one_line(status.desc), *(f"#{one_line(tag)}" for tag in status.tags)]
            )
            lines.append([(description.strip(), "dim")])
        return lines
