"""``evalbench compare``: is one run better than another, and on which samples do they differ?"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from evalbench.engine.errors import UsageError
from evalbench.engine.runs.folder import RunFolder, all_runs, find_run, short_ids
from evalbench.engine.terminal_text import one_line
from evalbench.tui.cli.output import Out, stdout
from evalbench.tui.cli.parser import Parser
from evalbench.tui.state import figures
from evalbench.tui.state.compared import Compared, score_words

if TYPE_CHECKING:
    from evalbench.engine.compare import Comparison, Contender
    from evalbench.engine.compare.pairs import Pair

_FLIPS = 10
_DIGITS, _MOST_POINTS = 3, 2_000
"""Digits to which samples' scores are grouped into points, and the maximum number of points."""
_WIDE = 120
"""From this many columns on, runs are shown by their whole ids."""
_LONGEST = 72
"""Maximum characters of a question in the list of flips."""


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments."""
    parser.add_argument(
        "runs", metavar="RUN", nargs="*", help="run ID, part of an ID, folder, or last; two or more"
    )
    parser.add_argument("--tag", metavar="TAG", help="also compare all runs with this tag")
    parser.add_argument(
        "--metric",
        metavar="NAME",
        default="",
        help="metric to compare (default: the first run's headline metric)",
    )
    parser.add_argument(
        "--cluster",
        metavar="TAG",
        help="tag to cluster samples by, or none (default: the benchmark's own groups, if "
        "there are ten or more)",
    )
    parser.add_argument(
        "--flips",
        metavar="N",
        default=str(_FLIPS),
        help=f"number of differing samples to list, or all (default: {_FLIPS})",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    parser.examples(
        "evalbench compare 7854 last",
        "evalbench compare --tag nightly --flips 0",
        "evalbench compare 7854 91ab --metric accuracy_lenient --cluster none",
        "evalbench compare 7854 last --json | jq 'select(.event == \"comparison\")'",
    )


def execute(args: argparse.Namespace) -> int:
    """Compare and print."""
    folders = _folders(args.runs, args.tag)
    most = _most(args.flips)
    from evalbench.engine.compare import compare

    cluster = "" if args.cluster == "none" else args.cluster
    lines = list(_lines(compare(folders, args.metric, cluster), most))
    out = stdout()
    if args.json:
        from evalbench.tui.cli import jsonlines

        for line in lines:
            jsonlines.write(out, **line)
    else:
        _print(out, Compared.of(lines))
    return 0


def _folders(names: Sequence[str], tag: str | None) -> list[RunFolder]:
    """The named runs, then those with the tag, oldest first."""
    found = [find_run(name) for name in names]
    if tag is not None:
        known = {folder.path.resolve() for folder in found}
        tagged = [
            folder
            for folder in reversed(all_runs())
            if folder.path.resolve() not in known and tag in folder.status().tags
        ]
        if not tagged:
            raise UsageError(f"no run has the tag {tag!r}", hint="list them: evalbench runs")
        found += tagged
    return found


def _most(text: str) -> int | None:
    """How many flips to list; None for all."""
    if text == "all":
        return None
    if not text.isdecimal():
        raise UsageError(f"--flips cannot be {text!r}", hint="give a whole number, or: all")
    return int(text)


def _lines(found: Comparison, most: int | None) -> Iterator[dict[str, Any]]:
    """The comparison as JSON lines (docs/json-lines.md), ``event`` first."""
    metric = found.contenders[0].scores.metric
    status = found.contenders[0].scores.folder.status()
    runs = [one.scores.folder.id for one in found.contenders]
    yield {
        "event": "comparing",
        "benchmark": status.benchmark,
        "name": status.name,
        "metric": metric.name,
        "title": metric.title,
        "share": found.share,
        "runs": runs,
        "samples": found.contenders[0].n,
        "compared": found.sameness.compared,
        "values": list(found.sameness.values),
        "differences": [asdict(one) for one in found.sameness.others],
        "warnings": list(found.warnings),
        "flips": len(found.flips),
    }
    for one in found.ranked:
        yield {"event": "contender", **_contender(one, len(runs))}
    for pair in found.pairs:
        yield {"event": "comparison", **_pair(pair, runs), **_points(found, pair)}
    flips = found.flips[:most]
    questions = _questions(found, [flip.numbers[0] for flip in flips])
    for flip in flips:
        yield {
            "event": "flip",
            "id": flip.id,
            "numbers": list(flip.numbers),
            "tags": dict(flip.tags),
            "scores": list(flip.scores),
            "question": questions.get(flip.numbers[0], ""),
        }


def _contender(one: Contender, runs: int) -> dict[str, Any]:
    return {
        "run": one.scores.folder.id,
        "model": one.scores.spec.model,
        "score": one.score,
        "low": one.low,
        "high": one.high,
        "interval": one.interval,
        "n": one.n,
        "place_best": 1 + one.behind,
        "place_worst": runs - one.ahead_of,
        "failed": one.failed,
        "missing": one.missing,
        **_effort(one.scores.folder),
    }


def _effort(folder: RunFolder) -> dict[str, Any]:
    """A run's usage: cost, tokens, and reply latency in seconds."""
    from evalbench.engine.runs.history import read_latency

    status = folder.status()
    median, most = read_latency(folder.journal, (0.5, 0.95))
    return {
        "cost": status.spend_usd,
        "input_tokens": status.input_tokens,
        "output_tokens": status.output_tokens,
        "latency_s": median,
        "latency_95_s": most,
    }


def _points(found: Comparison, pair: Pair) -> dict[str, Any]:
    """A pair's scores against each other: of samples, unless right or wrong, and of groups."""
    one, other = (found.contenders[place].scores for place in (pair.first, pair.second))
    shared = [ident for ident in one.scores if ident in other.scores]
    points: Counter[tuple[float, float]] = Counter()
    if pair.both_right is None:
        points.update(
            (round(one.scores[ident], _DIGITS), round(other.scores[ident], _DIGITS))
            for ident in shared
        )
    tag = one.spread_by
    groups: dict[str, list[str]] = {}
    for ident in shared:
        if name := one.tags.get(ident, {}).get(tag):
            groups.setdefault(name, []).append(ident)
    return {
        "points": [[x, y, n] for (x, y), n in points.most_common(_MOST_POINTS)],
        "grouped_by": tag if len(groups) > 1 else "",
        "groups": [
            [
                name,
                *(sum(run.scores[i] for i in members) / len(members) for run in (one, other)),
                len(members),
            ]
            for name, members in (groups.items() if len(groups) > 1 else ())
        ],
    }


def _pair(pair: Pair, runs: Sequence[str]) -> dict[str, Any]:
    fields = asdict(pair)
    bounds = fields.pop("bound_low"), fields.pop("bound_high")
    return fields | {
        "first": runs[pair.first],
        "second": runs[pair.second],
        "bounds": None if None in bounds else list(bounds),
    }


def _questions(found: Comparison, numbers: Sequence[int]) -> dict[int, str]:
    """The questions of some samples of the first run, by number."""
    from evalbench.engine.runs.browse import SampleBrowser
    from evalbench.tui.state.sample_words import question_words

    lines = SampleBrowser(found.contenders[0].scores.folder.journal).lines(numbers)
    return {number: question_words(line.sample.inputs) for number, line in lines.items()}


def _print(out: Out, found: Compared) -> None:
    from evalbench.tui.cli.table import print_columns

    out.line(one_line(found.title()))
    out.line(one_line(found.subject()))
    out.line()
    letters = [found.letter(run) for run in found.head["runs"]]
    if alarm := found.alarm():
        out.line(alarm)
    if differences := found.differences():
        print_columns(out, ("", *letters), [(what, *values) for what, values in differences])
        out.line()
    for warning in found.head["warnings"]:
        out.line(f"WARNING: {one_line(warning)}")
    if found.head["warnings"]:
        out.line()
    columns = ("", "model", "score", "95 %", "place", "failed", "run")
    standings = found.standings()
    if out.console().width < _WIDE:
        short = short_ids(all_runs())
        standings = [(*row[:-1], short.get(row[-1], row[-1])) for row in standings]
    print_columns(out, columns, standings, name="model")
    out.line()
    if effort := found.efforts():
        columns = ("", "model", "cost", "tokens in", "out", "latency", "p95")
        print_columns(out, columns, effort, name="model")
        out.line()
    if len(found.pairs) == 1:
        _print_facts(out, found.pair_facts(found.pairs[0]))
    else:
        head = ("", "difference", "95 %", "p", "p Holm", "p BH", "", "detectable")
        print_columns(out, head, [found.pair_row(pair) for pair in found.pairs])
    _print_flips(out, found, letters)


def _print_facts(out: Out, facts: Sequence[tuple[str, str]]) -> None:
    width = max(len(name) for name, _ in facts)
    for name, words in facts:
        out.line(f"{name:<{width}}  {one_line(words)}")


def _print_flips(out: Out, found: Compared, letters: Sequence[str]) -> None:
    if not found.flips:
        return
    out.line()
    shown, there = len(found.flips), found.head["flips"]
    out.line(
        f"{figures.counted(there, 'sample')} {'is' if there == 1 else 'are'} scored differently"
        + (f"; the first {figures.count(shown)}:" if shown < there else ":")
    )
    from evalbench.tui.cli.table import print_columns

    rows = [
        (
            figures.count(flip["numbers"][0]),
            *(score_words(score, share=found.share) for score in flip["scores"]),
            ", ".join(flip["tags"].values()),
            flip["question"].strip()[:_LONGEST],
        )
        for flip in found.flips
    ]
    print_columns(out, (f"in {letters[0]}", *letters, "", "question"), rows, text="question")
    out.line(f"look at one: evalbench show {one_line(found.head['runs'][0])} --sample N")
