"""The summary printed when a run has ended: reason, scores, outcomes, next steps."""

from __future__ import annotations

from evalbench.engine.runs.folder import INTERRUPTED
from evalbench.engine.terminal_text import clean, one_line
from evalbench.tui.cli.output import Out
from evalbench.tui.cli.table import print_scores
from evalbench.tui.state import figures
from evalbench.tui.state.batch_words import saved
from evalbench.tui.state.reuse_words import reused_words
from evalbench.tui.state.run_follower import RunFollower
from evalbench.tui.state.scores import final_metrics
from evalbench.tui.state.spending import is_free, spent_words
from evalbench.tui.state.trace_words import trace_pairs


def print_closing(out: Out, watch: RunFollower) -> None:
    """Print how a run ended."""
    status = watch.status
    time_taken = f" in {figures.duration(status.seconds)}" if status.seconds else ""
    out.line()
    out.line(
        f"{watch.state}: {one_line(status.name)} × {one_line(status.model)},"
        f" {figures.count(status.done)} of {figures.counted(status.total, 'sample')}{time_taken}"
    )
    if problem := watch.problem():
        out.line(f"problem: {clean(problem)}")
    out.line()
    print_scores(out, final_metrics(watch.folder, status.metrics), all_groups=False)
    out.paragraph(f"outcomes  {figures.outcome_line(status.outcomes)}", 10)
    if not is_free(status):
        out.line(f"spent     {spent_words(status)}")
    if status.reused:
        out.line(f"reused    {reused_words(status.reused)}")
    if less := saved(status.batches):
        out.line(f"saved     {figures.dollars(less)} by batches")
    if status.possible_usd:
        possible = figures.dollars(status.possible_usd)
        out.line(
            f"{'':<10}{possible} possibly billed in addition, for calls that were cut or failed"
        )
    if status.mixed:
        out.line("mixed     settings or data changed along the way: the scores mix two things")
    for name, text in trace_pairs(watch.id, status.traces):
        out.line(f"{name:<10}{text}")
    if status.hook_problem:
        out.line(f"on-end    {one_line(status.hook_problem)}")
    out.line(f"run       {watch.folder.path}")
    for number, command in enumerate(_next(watch)):
        out.line(f"{'next' if not number else '':<10}{command}")


def _next(watch: RunFollower) -> list[str]:
    if watch.lost:
        return []
    commands = [f"evalbench show {watch.id}"]
    if watch.state == "waiting":
        return [f"evalbench collect {watch.id}", "evalbench batches"]
    if watch.state in (INTERRUPTED, "paused", "stopped", "failed", "budget"):
        commands.insert(0, f"evalbench resume {watch.id}")
    elif watch.status.failed:
        commands.insert(0, f"evalbench resume {watch.id}    asks the failed samples again")
    return commands
