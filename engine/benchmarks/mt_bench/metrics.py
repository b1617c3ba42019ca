"""MT-bench's metrics: mean ratings, win rates, failures, and judges' agreement.

Values of a sample are named ``KIND/TURN/JUDGE``, for example ``rating/1/openai/gpt-4.1``; a rating
that could not be parsed is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations

from evalbench.engine.calls import Outcome
from evalbench.engine.scoring import metrics
from evalbench.engine.scoring.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha
from evalbench.engine.scoring.pooled import pooled
from evalbench.engine.scoring.tally import Metric, Tally

TURNS = (1, 2)
LOWEST, HIGHEST = 1.0, 10.0

_AGREEMENT = "Agreement of the judges"


def ratings(tally: Tally, judges: Sequence[str], prompts: str = "evalbench") -> list[Metric]:
    """All metrics of single grading; the headline is the mean of all ratings of both turns.

    Its title names judge prompts other than evalbench's own: such ratings are not comparable.
    """
    headline = "Mean rating, both turns pooled"
    if prompts != "evalbench":
        headline += f" (judge prompts: {prompts})"
    out = [
        _mean_rating(tally, judges, TURNS, "score", headline),
        _mean_rating(tally, judges, (1,), "turn_1", "Mean rating, first turn"),
        _mean_rating(tally, judges, (2,), "turn_2", "Mean rating, second turn"),
    ]
    if len(judges) > 1:
        out += [
            _mean_rating(tally, [judge], TURNS, f"score/judge={judge}", judge, "By judge")
            for judge in judges
        ]
    groups = tally.groups("category")
    for name, turns, group in (
        ("score", TURNS, "By category, both turns"),
        ("turn_1", (1,), "By category, first turn"),
        ("turn_2", (2,), "By category, second turn"),
    ):
        out += [
            _mean_rating(part, judges, turns, f"{name}/category={category}", category, group)
            for category, part in groups.items()
        ]
    out.append(_unread(tally, judges))
    out.append(
        _mean_rating(
            tally,
            judges,
            TURNS,
            "score_lenient",
            "Mean rating as a person reads the judges",
            "By parser",
            kind="lenient",
        )
    )
    out += _rating_agreement(tally, judges)
    return out + _cut_prompts(tally)


def _mean_rating(
    tally: Tally,
    judges: Sequence[str],
    turns: Sequence[int],
    name: str,
    title: str,
    group: str = "",
    *,
    kind: str = "rating",
) -> Metric:
    """The mean of all ratings, pooled over turns and judges: k their sum, n their number."""
    names = {f"{kind}/{turn}/{judge}" for turn in turns for judge in judges}
    sums = [
        (sum(values.values()), len(values), count)
        for values, count in _held(tally, names.__contains__)
    ]
    failed = metrics.missing(tally, names)
    return metrics.pooled_mean(sums, failed, (LOWEST, HIGHEST), name, title, group)


def _unread(tally: Tally, judges: Sequence[str]) -> Metric:
    """Share of judgements without a readable rating."""

    def counts(values: Mapping[str, float]) -> tuple[float, float]:
        unread, judged = (
            sum(values.get(f"{kind}/{judge}", 0) for judge in judges)
            for kind in ("unread", "judged")
        )
        return unread, judged

    title = "Judgements that could not be read; in no mean"
    return pooled(tally, counts, "unread_judgements", title, "Judgements")


def _rating_agreement(tally: Tally, judges: Sequence[str]) -> list[Metric]:
    out = []
    spreads = [
        value
        for values, count in _held(tally, lambda name: name.startswith("spread/"))
        for value in values.values()
        for _ in range(count)
    ]
    if spreads:
        out.append(
            Metric(
                "repeat_spread",
                sum(spreads) / len(spreads),
                k=sum(spreads),
                n=len(spreads),
                title="Mean range of a judge's repeated ratings",
                group=_AGREEMENT,
                share=False,
            )
        )
    if len(judges) < 2:
        return out
    items = list(_items(tally, "rating", judges))
    out.append(_agreement("alpha", krippendorff_alpha(items), items, "Krippendorff's alpha"))
    for one, other in combinations(range(len(judges)), 2):
        pairs = [
            (item[one], item[other])
            for item in items
            if item[one] is not None and item[other] is not None
        ]
        out.append(
            _agreement(
                f"kappa/{judges[one]}/{judges[other]}",
                cohen_kappa(pairs, quadratic=True),  # type: ignore[arg-type]
                pairs,
                f"Cohen's kappa, quadratic: {judges[one]} and {judges[other]}",
            )
        )
    return out


def _agreement(name: str, value: float | None, items: Sequence[object], title: str) -> Metric:
    return Metric(name, value, n=len(items), title=title, group=_AGREEMENT, share=False)


def _items(tally: Tally, kind: str, judges: Sequence[str]) -> Iterator[list[float | None]]:
    """The value given by every judge, for each question and turn."""
    for row in tally:
        for turn in TURNS:
            given = [row.values.get(f"{kind}/{turn}/{judge}") for judge in judges]
            if any(one is not None for one in given):
                for _ in range(row.count):
                    yield given


# -- pairwise grading --------------------------------------------------------------


def comparisons(tally: Tally, judges: Sequence[str]) -> list[Metric]:
    """All metrics of pairwise grading; the headline counts a tie as half a win."""
    out = [
        _rate(tally, judges, _ADJUSTED, "win_rate_adjusted", "Wins, ties counted as half"),
        _rate(tally, judges, {"win": 1.0}, "win_rate", "Wins"),
        _rate(tally, judges, {"loss": 1.0}, "loss_rate", "Losses"),
        _rate(tally, judges, {"tie": 1.0}, "tie_rate", "Ties, differing verdicts included"),
    ]
    if len(judges) > 1:
        out += [
            _rate(tally, [judge], _ADJUSTED, f"win_rate_adjusted/judge={judge}", judge, "By judge")
            for judge in judges
        ]
    out += [
        _rate(
            part,
            judges,
            _ADJUSTED,
            f"win_rate_adjusted/category={category}",
            category,
            "By category",
        )
        for category, part in tally.groups("category").items()
    ]
    out.append(
        _rate(
            tally,
            judges,
            {"flip": 1.0},
            "position_flips",
            "Comparisons decided by the order of the answers",
            _AGREEMENT,
        )
    )
    out.append(_unread(tally, judges))
    if len(judges) > 1:
        items = [item for item in _items(tally, "verdict", judges) if None not in item]
        out.append(_agreement("fleiss_kappa", fleiss_kappa(items), items, "Fleiss' kappa"))
    return out + _cut_prompts(tally)


_ADJUSTED = {"win": 1.0, "tie": 0.5}


def _rate(
    tally: Tally,
    judges: Sequence[str],
    weights: Mapping[str, float],
    name: str,
    title: str,
    group: str = "",
) -> Metric:
    """The weighted results of comparisons, over all comparisons with two readable verdicts."""
    places = [f"{turn}/{judge}" for turn in TURNS for judge in judges]

    def counts(values: Mapping[str, float]) -> tuple[float, float]:
        right = sum(
            weight * values.get(f"{kind}/{place}", 0)
            for kind, weight in weights.items()
            for place in places
        )
        return right, sum(f"verdict/{place}" in values for place in places)

    return pooled(tally, counts, name, title, group)


def _cut_prompts(tally: Tally) -> list[Metric]:
    """Number of conversations that exceeded the model's context, if any did."""
    rows = [row for row in tally if row.outcome is not Outcome.ERROR]
    if not (cut := sum(row.count for row in rows if row.values.get("cut_prompt"))):
        return []
    n = sum(row.count for row in rows)
    title = "Talks that outgrew the model's context; their beginning was cut"
    return [Metric("cut_prompts", cut / n, k=cut, n=n, title=title, group="Answers", share=True)]


def _held(tally: Tally, wanted: Callable[[str], bool]) -> Iterator[tuple[dict[str, float], int]]:
    """The wanted values of every row, with the number of samples that have exactly these."""
    for row in tally:
        if row.values or row.outcome is not Outcome.ERROR:
            yield {name: value for name, value in row.values.items() if wanted(name)}, row.count
