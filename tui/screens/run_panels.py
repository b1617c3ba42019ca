"""The text of the run page's panels, line by line."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Container

from evalbench.engine.record_schemas import Gauges
from evalbench.engine.terminal_text import one_line
from evalbench.tui.state import figures
from evalbench.tui.state.agreement import AgreementLine, agreement_lines
from evalbench.tui.state.batch_words import count_words, is_open, saved, stage_words
from evalbench.tui.state.cells import cell
from evalbench.tui.state.event_words import activity_words, holdup_words, limit_words
from evalbench.tui.state.heatmap import heatmaps
from evalbench.tui.state.machine import card_facts
from evalbench.tui.state.names import apart
from evalbench.tui.state.run_list import STATE_MARKS
from evalbench.tui.state.run_view import Gpu, RunView
from evalbench.tui.state.scores import Metrics, ScoreLine, metric_lines
from evalbench.tui.state.speed_words import speed_words
from evalbench.tui.state.spending import forecast, is_free, spent_words
from evalbench.tui.state.worker_words import workers_words
from evalbench.tui.widgets.bar import Bar
from evalbench.tui.widgets.gauge import Gauge
from evalbench.tui.widgets.heatmap import HeatmapView
from evalbench.tui.widgets.lines import Line, Lines, Piece
from evalbench.tui.widgets.sparkline import Sparkline

SCORE_TITLE = "score and outcomes"

_OUTCOME_TONES = {"parsed": "good", "failed": "bad"}
_MOST_METRICS = 4
_MOST_ERRORS = 3
_MOST_WAITS = 3
_MOST_WORKERS = 8
_SPARK_COLUMNS = 60
_OUTCOME_BAR = 24
_NEARLY = 0.9


def head_lines(view: RunView) -> list[Line]:
    """State, clocks and progress."""
    status = view.status
    glyph, tone = STATE_MARKS.get(view.state, ("–", "warn"))
    named = "budget reached" if view.state == "budget" else view.state
    words: list[Piece] = [(f"{glyph} {named}", tone)]
    if view.live:
        if view.elapsed:
            words.append(f"  {figures.duration(view.elapsed)}")
        if left := view.left:
            words.append((f"  {left_words(left.seconds, left.low, left.high)}", ""))
    elif view.elapsed:
        after = "in" if view.state == "complete" else "after"
        words.append(f" {after} {figures.duration(view.elapsed)}")
    if status.mixed:
        words.append(("  mixed: settings or data changed during the run", "warn"))
    share = status.done / status.total if status.total else 0.0
    done = f"{figures.count(status.done)}/{figures.count(status.total)}"
    counts: list[Piece] = [f"  {figures.percent(share):>5}  {done} samples"]
    if status.failed:
        counts.append((f", {figures.count(status.failed)} failed", "bad"))
    return [words, [Bar(share, "accent" if view.live else tone), *counts]]


def left_words(seconds: float, low: float | None, high: float | None) -> str:
    """``4:10 left (3:40–5:02)``; the range only if it adds information."""
    middle = figures.duration(seconds)
    if low is None or high is None:
        return f"{middle} left"
    ends = figures.duration(low), figures.duration(high)
    return f"{middle} left" + (f" ({ends[0]}–{ends[1]})" if ends != (middle, middle) else "")


def trouble_words(view: RunView) -> str:
    """Why an incomplete run is not progressing, and what to do; whether its end hook failed."""
    hook = view.status.hook_problem
    if view.live or view.state == "complete":
        return hook
    way = "press r to resume: only calls without a reply are sent"
    if view.state == "budget":
        way = "press b to raise the budget and continue"
    return "\n".join(filter(None, [view.problem, way, hook]))


def score_lines(
    view: RunView, *, compact: bool, hint: str = "", width: int | None = None
) -> list[Line]:
    """The score with its basis, then the outcomes: how far it can be trusted.

    ``hint`` is shown next to the first error. If the headline's name does not fit next to its
    value in ``width`` cells, it has a line of its own, or if ``compact`` is left to
    :func:`score_title`.
    """
    status = view.status
    lines: list[Line] = []
    shown = _shown_metrics(view, compact=compact)
    values, intervals = _figure_widths(shown)
    for words in shown:
        interval = f"  {words.interval:<{intervals}}" if intervals else ""
        line: list[Piece] = [(f"{words.value:>{values}}", "strong"), interval]
        if lines:
            lines.append([*line, "  ", words.title])
            continue
        if width is None or _beside(shown) <= width:
            line += ["  ", words.title]
            lines.append(line)
        else:
            lines += [line] if compact else [line, [words.title]]
        lines += _footing(words, compact=compact)
    if not lines:
        lines.append([("no score yet", "dim")])
    if status.done:
        for word, number, share in figures.shares(status.outcomes):
            tone = _OUTCOME_TONES.get(word, "warn") if number else "dim"
            count = f"{word:<9}{figures.percent(share, 1):>7} {figures.count(number):>7} "
            lines.append([(count, tone), Bar(share, tone, _OUTCOME_BAR)])
    worst = sorted(status.errors.items(), key=lambda error: -error[1])
    lines += [
        [
            (f"{figures.count(n)} × {one_line(what)}", "bad"),
            (f" {hint}" if hint and not at else "", "dim"),
        ]
        for at, (what, n) in enumerate(worst[:_MOST_ERRORS])
    ]
    return lines


def score_title(view: RunView, *, compact: bool, width: int) -> str:
    """The title above :func:`score_lines`: the headline's name where they have no room for it."""
    shown = _shown_metrics(view, compact=compact)
    return shown[0].title if compact and shown and _beside(shown) > width else SCORE_TITLE


def _shown_metrics(view: RunView, *, compact: bool) -> list[ScoreLine]:
    metrics = view.status.metrics.items()
    scored = {name: one for name, one in metrics if one.get("value") is not None}
    return metric_lines(scored)[: 1 if compact else _MOST_METRICS]


def _figure_widths(shown: Sequence[ScoreLine]) -> tuple[int, int]:
    """Widths of the values and of the intervals."""
    values = max((len(words.value) for words in shown), default=0)
    return values, max((len(words.interval) for words in shown), default=0)


def _beside(shown: Sequence[ScoreLine]) -> int:
    """The width of the first line with its name."""
    values, intervals = _figure_widths(shown)
    return values + (2 + intervals if intervals else 0) + 2 + cell_len(shown[0].title)


def _footing(words: ScoreLine, *, compact: bool) -> list[Line]:
    """The basis of a score: numerator and denominator, and the uncertainty from failed samples."""
    if compact and words.bounds:
        return [[(words.counts, "dim"), (f" · bounds {words.bounds}", "warn")]]
    sure = " · 95 % interval" if words.interval else ""
    lines: list[Line] = [[(words.counts + sure, "dim")]]
    if words.bounds:
        lines.append([(f"{words.bounds} if failed wrong–right", "warn")])
    return lines


def work_lines(view: RunView, *, compact: bool, plain: bool) -> list[Line]:
    """Calls by role, throughput and its history, tokens, current work of workers."""
    status = view.status
    gauges = view.gauges
    lines: list[Line] = []
    roles = view.roles
    widest = max((len(figures.count(role.sent)) for role in roles), default=0)
    for role, name in zip(roles, apart([role.role for role in roles]), strict=True):
        sent = f"{figures.count(role.sent):>{widest}} sent"
        sent += " since resuming" if view.resumed else ""
        if len(roles) > 1:
            # Numbers first: names of judges may be longer than the line. For a lone candidate,
            # calls in flight are shown next to its limit.
            flying = f", {figures.count(role.in_flight)} in flight" if view.live else ""
            lines.append([f"{sent}{flying}  ", name])
        else:
            lines.append([f"{name}  {sent}"])
        if role.from_journal and not compact:
            lines.append([(f"{figures.count(role.from_journal)} taken from the journal", "dim")])
        if role.reused:
            lines.append([f"{figures.count(role.reused)} reused from earlier runs, free"])
    progress = gauges.get("progress") or {}
    if activity := activity_words(progress):
        lines.append([(activity, "warn")])
        if progress.get("total"):
            lines.append([Bar((progress.get("done") or 0) / progress["total"], "warn")])
    elif view.live:
        history = view.pace.history(_SPARK_COLUMNS)
        rate: list[Piece] = [(f"{figures.rate(status.rate)} ", "strong")]
        if len(history) > 1:
            rate.append(Sparkline(history, "" if plain else "accent"))
        lines.append(rate)
    if not compact:
        lines += _token_lines(view)
    lines += _worker_lines(gauges)
    if not compact:
        lines += _speed_lines(view)
    return lines


def _worker_lines(gauges: Gauges) -> list[Line]:
    """A local worker's memory, on a card as its allocator reports it, and its idle share.

    One line each if there are several workers.
    """
    if workers := gauges.get("workers"):
        return [[(words, "dim")] for words in workers_words(workers, _MOST_WORKERS)]
    memory = gauges.get("memory") or {}
    parts = []
    if resident := memory.get("rss"):
        parts.append(f"worker memory {figures.amount(resident, 'B')}")
    if (idle := gauges.get("idle")) is not None:
        parts.append(f"{100 * idle:.0f} % idle")
    lines: list[Line] = [[(" · ".join(parts), "dim")]] if parts else []
    if (cache := memory.get("kv_cache")) is not None:
        lines.append([(f"key/value cache {100 * cache:.0f} % full", "dim")])
    if reserved := memory.get("reserved"):
        used = figures.amount(memory.get("used") or 0, "B")
        words = f"on the card {used}, {figures.amount(reserved, 'B')} reserved"
        lines.append([(words, "dim")])
    return lines


def _speed_lines(view: RunView) -> list[Line]:
    lines: list[Line] = []
    for name, measures in view.measures.items():
        if len(view.measures) > 1:
            lines.append([one_line(name)])
        lines += [[(words, "dim")] for words in speed_words(measures)]
    return lines


def _token_lines(view: RunView) -> list[Line]:
    given, made = view.status.input_tokens, view.status.output_tokens
    if not given and not made:
        return []
    lines: list[Line] = [
        [(f"{figures.counted(given, 'token')} in, {figures.count(made)} out", "dim")]
    ]
    if view.resumed and view.status.replies is not None:
        lines[0] = [*lines[0], (" in all", "dim")]
        lines.insert(0, [(figures.counted(view.status.replies, "call") + " in all", "dim")])
    return lines


def money_lines(view: RunView) -> list[Line]:
    """Spent, budget, forecast; empty if nothing costs anything."""
    status = view.status
    if is_free(status):
        return []
    spent: list[Piece] = ["spent ", (spent_words(status), "strong")]
    used = (status.spend_usd or 0) + status.possible_usd
    if status.budget_usd:
        share = used / status.budget_usd
        spent += [
            "  ",
            Bar(share, "warn" if share >= _NEARLY else "good"),
            f" {figures.percent(share):>5}",
        ]
    lines: list[Line] = [spent]
    if view.live and status.done < status.total and (whole := forecast(status)) is not None:
        over = status.budget_usd is not None and whole > status.budget_usd
        words = f"about {figures.dollars(whole)} in all"
        lines.append([(f"{words}: over budget", "warn") if over else words])
    if less := saved(status.batches):
        lines.append([f"{figures.dollars(less)} saved by batches"])
    if status.possible_usd:
        lines.append(
            [(f"{figures.dollars(status.possible_usd)} possibly billed in addition", "warn")]
        )
    return lines


def limit_lines(view: RunView, *, compact: bool) -> list[Line]:
    """How many calls are in flight, what limits them, and why the waiting ones wait."""
    gauges = view.gauges
    lines: list[Line] = []
    flying = figures.count(gauges.get("in_flight") or 0)
    if limited := limit_words(gauges):
        lines += [[f"{flying} in flight"], [(limited, "dim")]]
    elif (most := gauges.get("concurrency")) is not None:
        level = ", adaptive" if gauges.get("fixed") is False else ""
        if (gauges.get("in_flight") or 0) > most:
            # The limit was lowered; calls sent before are still in flight.
            lines.append([f"{flying} in flight, limit lowered to {figures.count(most)}"])
        else:
            lines.append([f"{flying} of {figures.count(most)} in flight{level}"])
    elif view.live and gauges:
        lines.append([f"{flying} in flight"])
    for what, (left, limit) in (gauges.get("headroom") or {}).items():
        if left is None:
            continue
        name = one_line(what)
        if limit:
            share = left / limit
            words = f"{figures.short(left)} of {figures.short(limit)} {name} left "
            lines.append([words, Bar(share, _left_tone(share))])
        else:
            name = name.removesuffix("s") if left == 1 else name
            lines.append([f"{figures.short(left)} {name} left"])
    if holdup := holdup_words(gauges):
        lines.append([(holdup, "warn")])
    if (again := gauges.get("retries")) and not compact:
        lines.append([(f"{figures.count(again)} sent again so far", "dim")])
    for wait in view.waits[: 1 if compact else _MOST_WAITS]:
        often = f"{figures.count(wait.times)} × {wait.reason}"
        lines.append([(often, "warn"), f" {wait.what}"])
    return lines


def _left_tone(share: float) -> str:
    return "warn" if share <= 1 - _NEARLY else "good"


_MOST_BATCHES = 4


def batch_lines(view: RunView, *, compact: bool) -> list[Line]:
    """The pending batches, or if none is, all: their state and progress."""
    batches = view.status.batches
    shown = [batch for batch in batches if is_open(batch)] or batches
    lines: list[Line] = [
        [
            *([] if compact else [(f"{batch.get('name')} ", "dim")]),
            stage_words(batch),
            (f" {count_words(batch)}", "dim"),
        ]
        for batch in shown[: 2 if compact else _MOST_BATCHES]
    ]
    if (more := len(shown) - len(lines)) > 0:
        lines.append([(f"and {figures.count(more)} more: t", "dim")])
    return lines


def param_lines(view: RunView) -> list[Line]:
    """Parameters that were not sent as requested."""
    return [
        [(f"{one_line(name)} {fate}", "warn"), f": {reason}" if reason else ""]
        for name, fate, reason in view.changed_params
    ]


def gpu_lines(view: RunView, *, compact: bool) -> list[Line]:
    """Each GPU of the machine: memory, load, temperature and power."""
    lines: list[Line] = []
    for card in view.gpus:
        lines += [_card_line(card)] if compact else _card_lines(card)
    return lines


def _card_line(card: Gpu) -> Line:
    busy = "" if card.utilisation is None else f" {card.utilisation} %"
    where: list[Piece] = [f"{one_line(card.node)} "] if card.node else []
    return [*where, *(_memory(card) or [one_line(card.name)]), busy]


def _card_lines(card: Gpu) -> list[Line]:
    peak = "" if card.peak is None else f"  peak {figures.amount(card.peak, 'B')}"
    lines: list[Line] = [[(one_line(card.title), "strong"), (peak, "dim")]]
    if memory := _memory(card):
        lines.append(memory)
    facts = card_facts(card.temperature, card.power, card.power_limit)
    if card.utilisation is not None:
        facts.insert(0, f"{card.utilisation} % busy")
    if facts:
        line: list[Piece] = [(" · ".join(facts), "dim")]
        if card.history and len(card.history) > 1:
            line += ["  ", Sparkline(card.history[-_SPARK_COLUMNS:], top=100.0)]
        lines.append(line)
    return lines


def _memory(card: Gpu) -> list[Piece]:
    if card.used is None or not card.total:
        return []
    words = f" {figures.bytes_of(card.used, card.total)}"
    return [Gauge(card.used, card.peak, card.total), words]


class Compared(Container):
    """Takes no space while there is nothing to compare."""

    SCOPED_CSS = False
    DEFAULT_CSS = """
    Compared { height: auto; display: none; layout: horizontal; }
    Compared.-on { display: block; }
    Compared > .section { width: 6fr; }
    Compared > #heatmap { width: 5fr; }
    .-narrow Compared { layout: vertical; }
    .-narrow Compared > .section, .-narrow Compared > #heatmap { width: 1fr; }
    .-tall Compared { margin-bottom: 1; }
    """

    def compose(self) -> ComposeResult:
        """Both sections, empty."""
        yield HeatmapView(id="heatmap", classes="section")
        judges = Lines(id="agreement", classes="section")
        judges.border_title = " judges "
        yield judges

    def show(self, metrics: Metrics) -> None:
        """Show both as available; nothing for a run without such metrics."""
        matrices, judges = heatmaps(metrics), agreement_lines(metrics)
        heatmap = self.query_one("#heatmap", HeatmapView)
        heatmap.border_title = " side by side "
        heatmap.show_matrices(matrices)
        heatmap.set_class(bool(matrices), "-on")
        agreement = self.query_one("#agreement", Lines)
        agreement.show(_lines(judges))
        agreement.set_class(bool(judges), "-on")
        self.set_class(bool(matrices or judges), "-on")


def _lines(judges: list[AgreementLine]) -> list[Line]:
    values = max((len(line.value) for line in judges), default=0)
    return [
        [
            (cell(line.value, values, right=True), "strong"),
            f"  {line.short}" + (f": {line.reading}" if line.reading else ""),
            (f"  {line.counts if '/' in line.counts else f'n {line.counts}'}", "dim")
            if line.counts
            else "",
        ]
        for line in judges
    ]
