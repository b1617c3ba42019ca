"""What a score counts as in the headline metric, wherever it is shown."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from evalbench.engine.benchmark import Sample
from evalbench.engine.calls import Outcome
from evalbench.engine.journal import Journal
from evalbench.engine.runs.browse import Filter, SampleBrowser
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.runs.headline import Headline
from evalbench.engine.runs.history import read_history
from evalbench.engine.runs.reader import RunReader
from evalbench.engine.runs.status import State
from tests.pretending import pretend

pytestmark = pytest.mark.usefixtures("home")

JUDGE = "openai/gpt-5-mini"
"""A judge's role in values."""


def rated(first: float, second: float) -> dict[str, float]:
    """The values of a question of MT-bench, both of whose turns were rated."""
    return {
        f"judged/{JUDGE}": 2.0,
        f"lenient/1/{JUDGE}": first,
        f"lenient/2/{JUDGE}": second,
        f"rating/1/{JUDGE}": first,
        f"rating/2/{JUDGE}": second,
        f"unread/{JUDGE}": 0.0,
    }


UNREAD = {f"judged/{JUDGE}": 2.0, f"unread/{JUDGE}": 2.0}
SCORES = (rated(4.0, 8.0), UNREAD, rated(1.0, 1.0), rated(9.0, 10.0))
RATINGS = (6.0, None, 1.0, 9.5)


@pytest.fixture
async def judged() -> RunFolder:
    """A run of MT-bench with these scores; the second one's judge wrote no rating."""
    engine = pretend("mt-bench", "openai/gpt-4.1", total=len(SCORES), judge=[JUDGE])
    journal = Journal(engine.folder.journal)
    for row, values in enumerate(SCORES, 1):
        tags = {"category": "ab"[row % 2]}
        await journal.add_samples([(row, Sample(f"{row:016x}.1", {"question": "?"}, 0, tags))])
        journal.store_score(row, 0, tags, Outcome.OK, values, {})
    await journal.close()
    engine.status(State.COMPLETE, alive=False, done=len(SCORES), metrics={})
    return engine.folder


async def test_a_mean_of_ratings_counts_as_that_mean_and_not_as_its_first_value(
    judged: RunFolder,
) -> None:
    browser = SampleBrowser(judged.journal, "score")
    assert [browser.headline(values) for values in SCORES] == list(RATINGS)
    assert list(browser.ordered([1, 2, 3, 4], "score", descending=True)) == [4, 1, 3, 2]
    assert [one.score for one in browser.records(took=False)] == list(RATINGS)
    assert browser.facets().graded
    assert list(browser.matching(Filter(right=True))) == [1, 3, 4]
    history = read_history(judged.journal, "score")
    assert sum(stretch.total for stretch in history.stretches.values()) == 16.5
    assert sum(stretch.scored for stretch in history.stretches.values()) == 3
    assert history.groups == {("category", "a"): (1, 9.5), ("category", "b"): (2, 3.5)}
    with RunReader(judged) as run:
        assert [run.grade(score, "score") for score in run.scores()] == list(RATINGS)


@pytest.mark.parametrize(
    ("values", "value"),
    [({"b": 1.0, "a": 0.0}, 1.0), ({"a": 0.5}, 0.5), ({}, None)],
)
def test_a_named_value_counts_and_without_a_benchmark_the_first(
    values: Mapping[str, float], value: float | None
) -> None:
    folder = pretend().folder
    spec = (folder.path / "spec.json").read_text().replace("quickstart", "uninstalled")
    (folder.path / "spec.json").write_text(spec)
    assert Headline.of_journal(folder.journal, "b")(values) == value


def test_what_a_status_file_says_of_it() -> None:
    headline = Headline.of_journal(pretend().folder.journal, "")
    headline.follow({})
    assert (headline.name, headline({"a": 0.5})) == ("", 0.5)
    headline.follow({"accuracy": {"value": 1.0, "share": True}, "other": {"value": 3.0}})
    assert (headline.name, headline.graded) == ("accuracy", False)
    headline.follow({"score": {"value": 5.8}})
    assert (headline.name, headline.graded) == ("score", True)
