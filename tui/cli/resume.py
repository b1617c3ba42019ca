"""``evalbench resume``: resume a run, optionally with changed settings."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from evalbench.engine.config import registry
from evalbench.engine.config.spec import BUDGET, COMMON
from evalbench.engine.errors import RunNotFound
from evalbench.engine.process.launch import RETRY, EngineOptions, resume_run, resume_runs
from evalbench.engine.runs.folder import RunFolder, find_run
from evalbench.engine.runs.grid import grid_of, set_budget, unfinished
from evalbench.tui.cli import key_hosts
from evalbench.tui.cli.launch import declare_following, end_hook, launch
from evalbench.tui.cli.parser import Parser, bare_words, given, take
from evalbench.tui.cli.settings import changed, declare_settings
from evalbench.tui.state.batch_words import resend_words
from evalbench.tui.state.run_follower import last_event


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments; with a run among ``words``, also the flags of its benchmark and provider."""
    parser.short_usage("RUN [--accept-changes] [--retry KIND]... [--resend-unfetched] [settings]")
    parser.add_argument("run", metavar="RUN", help="run ID, part of an ID, folder, or last")
    parser.add_argument(
        "--accept-changes",
        action="store_true",
        help="continue even if settings, data or templates changed; marks the run as mixed",
    )
    parser.add_argument(
        "--accept-loss",
        action="store_true",
        help="continue even if paid replies are missing from the journal; pays for them again",
    )
    parser.add_argument(
        "--retry",
        action="append",
        default=[],
        choices=[outcome.value for outcome in RETRY],
        help="retry samples with this outcome; repeatable (failed ones are always retried)",
    )
    parser.add_argument(
        "--resend-unfetched",
        action="store_true",
        help="resend calls whose batch ended but whose results cannot be fetched; may pay twice",
    )
    key_hosts.declare(declare_following(parser), "a run")
    declare_settings(parser, None, ())
    for word in bare_words(parser, words)[:1]:
        try:
            spec = find_run(word).spec()
        except RunNotFound:
            # Reported when the command is executed, unless only help was requested.
            continue
        declare_settings(parser, registry.benchmark_class(spec.benchmark), [spec.model])
    parser.examples(
        "evalbench resume last",
        "evalbench resume 7854 --retry refused      ask refused samples again",
        "evalbench resume 7854 --concurrency 4      with lower concurrency",
        "evalbench resume 7854 --limit 1000 --accept-changes    with more samples",
    )


def execute(args: argparse.Namespace) -> int:
    """Resume and follow."""
    folder = find_run(args.run)
    grid = grid_of(folder)
    if grid and "budget" in given(args, [BUDGET]):
        set_budget(folder, BUDGET.parse(take(args, BUDGET)))
    stored = folder.spec()
    spec = changed(stored, args)
    together = unfinished(folder) if grid and spec == stored else [folder]
    typed = given(args, [*COMMON, *registry.provider_class(spec.candidate.provider).options])
    options = EngineOptions(
        accept_changes=args.accept_changes,
        accept_loss=args.accept_loss,
        retry=tuple(outcome for outcome in RETRY if outcome.value in args.retry),
        resend_unfetched=args.resend_unfetched,
        foreground=args.foreground,
        leave=args.submit_only,
        on_end=end_hook(args),
    )
    if len(together) > 1:
        return launch(
            args,
            lambda view: resume_runs(
                together,
                options,
                progress=view.preparing,
                allow_hosts=args.allow_host,
                ask_hosts=key_hosts.asks(args, f"run {folder.id}"),
            ),
            notes=(f"{len(together)} runs that were started together go on",),
        )
    return launch(
        args,
        lambda view: resume_run(
            folder,
            options,
            progress=view.preparing,
            spec=spec,
            typed=typed,
            allow_hosts=args.allow_host,
            ask_hosts=key_hosts.asks(args, f"run {folder.id}"),
        ),
        notes=_notes(folder)
        if args.resend_unfetched
        else _over(folder, changed=spec != stored or bool(args.retry)),
        after=last_event(folder),
    )


def _over(folder: RunFolder, *, changed: bool) -> tuple[str, ...]:
    """The message for a complete run without anything to retry."""
    if changed or not folder.status().finished:
        return ()
    return ("the run is complete: nothing is left to be asked",)


def _notes(folder: RunFolder) -> tuple[str, ...]:
    """The possible cost of resending calls."""
    words = resend_words(folder.status().batches)
    return (f"results not fetched yet, trying again: {words}",) if words else ()
