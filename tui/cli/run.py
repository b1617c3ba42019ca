"""``evalbench run``: start one run per model, or the runs of a suite."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from evalbench.engine.config.spec import RunSpec
from evalbench.engine.errors import SpecError, UsageError
from evalbench.engine.preflight import CheckedSpec
from evalbench.engine.process.launch import PILOT, Engine, EngineOptions, launch_runs
from evalbench.engine.runs.folder import RunFolder, newest_runs
from evalbench.engine.runs.grid import Grid, grid_of
from evalbench.tui.cli import key_hosts
from evalbench.tui.cli.confirm import Declined, can_ask, confirmed
from evalbench.tui.cli.follow import View
from evalbench.tui.cli.gate import Gate, declare_gate, gate_code, gates, misspelt
from evalbench.tui.cli.launch import declare_following, declare_run_dir, end_hook, launch
from evalbench.tui.cli.output import stderr, stdout
from evalbench.tui.cli.parser import Parser, add_options, given
from evalbench.tui.cli.quote import print_estimates
from evalbench.tui.cli.target import (
    declare_target,
    declare_target_settings,
    is_suite,
    together,
    wanted_specs,
)
from evalbench.tui.state import figures
from evalbench.tui.state.money_words import at_most, question, total


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments; with a benchmark among ``words``, also its own flags."""
    declare_target(parser)
    declare_run_dir(parser)
    following = declare_following(parser)
    following.add_argument(
        "--again",
        action="store_true",
        help="with a suite, also repeat runs that are already complete",
    )
    key_hosts.declare(following)
    declare_gate(following)
    add_options(parser, [PILOT], following)
    declare_target_settings(parser, words)
    parser.examples(
        "evalbench run quickstart",
        "evalbench run mmlu --subject anatomy --subject astronomy --limit 100",
        "evalbench run mmlu --help                       settings of mmlu",
        "evalbench run mmlu --model local/NAME --help    and of the provider",
        "evalbench run mmlu --model anthropic/NAME --budget 5 --pilot 20",
        "evalbench run mmlu --data FOLDER --json | jq .  for programs",
        "evalbench run mmlu --detach                     come back with evalbench attach",
        "evalbench run mmlu gsm8k --model A --model B --budget 5    each model each benchmark",
        "evalbench run suite.toml --limit 20             try a suite on few samples",
        "evalbench run suite.toml                        again: do only what is missing",
    )


def execute(args: argparse.Namespace) -> int:
    """Start and follow."""
    wanted = gates(args.fail_under)
    if wanted and args.detach:
        raise UsageError(
            "--fail-under is for a command that waits for its runs", hint="leave --detach out"
        )
    specs, notes = wanted_specs(args)
    specs, grid = together(args, specs)
    if args.again and not is_suite(args.target):
        raise SpecError(
            "again", "--again is for suites; other runs always start anew", hint="leave it out"
        )
    begun: dict[int, RunFolder] = {}
    complete: list[RunFolder] = []
    if is_suite(args.target) and not args.again:
        specs, begun, complete, remarks = _missing(specs, args.run_dir)
        notes += remarks
        if not specs:
            out = stderr() if args.json else stdout()
            for note in notes:
                out.line(note)
            return _judged(0, wanted, complete, args)
    if grid:
        grid = _joined(grid, [*begun.values(), *complete])
    pilot: int | None = PILOT.parse(given(args, [PILOT]).get("pilot"))
    if pilot and args.detach:
        raise SpecError(
            "pilot",
            "--pilot and --detach contradict each other",
            why="the pilot asks before it continues",
            hint="leave one of them out",
        )

    key_hosts.check(args, specs)
    notes += key_hosts.remarks(args, specs)
    notes += misspelt(wanted, specs)

    begun_here: list[RunFolder] = []
    on_end = end_hook(args)

    def start(view: View) -> Engine:
        approve = None
        if can_ask(json=args.json):
            ceiling = grid.budget if grid else None
            approve = approval(view, specs, pilot=pilot, yes=args.yes, budget=ceiling)
        engine = launch_runs(
            specs,
            options=EngineOptions(
                foreground=args.foreground,
                pilot=pilot,
                leave=args.submit_only,
                on_end=() if pilot else on_end,
            ),
            run_dir=args.run_dir,
            progress=view.preparing,
            approve=approve,
            begun=begun,
            typed=key_hosts.typed(args),
            grid=grid,
        )
        begun_here.extend(engine.runs)
        return engine

    code = launch(args, start, notes=notes, pilot=pilot)
    return _judged(code, wanted, [*complete, *begun_here], args)


def _joined(grid: Grid, runs: Sequence[RunFolder]) -> Grid:
    """The grid that the suite's started and complete runs belong to, with the current budget."""
    grids = [one for run in runs if (one := grid_of(run))]
    return replace(grids[0], budget=grid.budget) if grids else grid


def _judged(
    code: int, wanted: Sequence[Gate], runs: Sequence[RunFolder], args: argparse.Namespace
) -> int:
    """The exit code, if minimum scores were requested."""
    if not wanted:
        return code
    scores = {run.id: metrics for run in runs if (metrics := run.status().metrics)}
    return gate_code(code, wanted, scores, json=args.json)


def _missing(
    specs: Sequence[RunSpec], run_dir: Path | None
) -> tuple[list[RunSpec], dict[int, RunFolder], list[RunFolder], tuple[str, ...]]:
    """What a suite still lacks: its specs, with started runs by position; the complete runs; and
    remarks."""
    wanted: list[RunSpec] = []
    begun: dict[int, RunFolder] = {}
    complete: list[RunFolder] = []
    running = 0
    for spec, run in zip(specs, newest_runs(specs, run_dir), strict=True):
        status = run.status() if run else None
        if run and status and run.live_pid(status) is not None:
            running += 1
        elif run and status and status.finished:
            complete.append(run)
        else:
            if run:
                begun[len(wanted)] = run
            wanted.append(spec)
    remarks = [
        f"{number} of the suite's {len(specs)} runs {what}"
        for number, what in (
            (len(complete), "are already complete; --again repeats them"),
            (running, "are running already"),
            (len(begun), "go on where they stopped"),
        )
        if number
    ]
    return wanted, begun, complete, tuple(remarks)


def approval(
    view: View,
    specs: Sequence[RunSpec],
    *,
    pilot: int | None,
    yes: bool,
    budget: Decimal | None = None,
) -> Callable[[Sequence[CheckedSpec]], None]:
    """A callback for the validated specs before they start: prints the estimates, may ask.

    Runs that cost nothing are not mentioned. A pilot is asked about only if it is expensive itself,
    since a question follows it. ``budget`` covers all runs together.
    """

    def approve(checked: Sequence[CheckedSpec]) -> None:
        checked_specs = [
            (spec, done)
            for spec, done in zip(specs, checked, strict=True)
            if done.estimate is not None
        ]
        if not checked_specs:
            return
        view.close()
        estimates = [done.estimate for _, done in checked_specs if done.estimate is not None]
        print_estimates(stdout(), [spec for spec, _ in checked_specs], estimates)
        costs = [
            at_most(done.estimate, spec.settings.budget, pilot)
            for spec, done in checked_specs
            if done.estimate is not None
        ]
        cost = total(costs)
        if cost is not None and budget is not None:
            limit = float(budget)
            cost = [min(end, limit) for end in cost]
            stdout().line(f"{'budget':<10}{figures.dollars(limit)} for all {len(specs)} runs")
        asked = question(cost, pilot)
        if asked and not yes and not confirmed(asked):
            raise Declined("not started; no call was made")

    return approve
