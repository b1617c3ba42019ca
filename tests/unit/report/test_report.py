"""What a report says of runs, and that nothing in them can do any harm to who reads it."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from evalbench.engine.benchmark import Sample
from evalbench.engine.calls import MediaPart, Outcome, Reply, generate, user
from evalbench.engine.config import registry
from evalbench.engine.errors import SpecError, UsageError
from evalbench.engine.journal import Journal
from evalbench.engine.runs.status import State
from evalbench.tui.report.charts import Bins, Dots, Paces, Shares
from evalbench.tui.report.content import Report, report_on
from evalbench.tui.report.samples import SampleList, cut, spread
from evalbench.tui.report.tables import Table
from evalbench.tui.report.writing import html, markdown, write_report
from tests.nasty import nasty_run, store
from tests.pretending import pretend
from tests.reported import HOSTILE, KEY, mmlu_run, mt_bench_run

SAID = ("B", "A", "The answer is (B)", "no idea", "refused", None, "C", "B")


def section(report: Report, title: str) -> tuple[object, ...]:
    return next(part.items for part in report.sections if part.title == title)


def lists(report: Report, title: str) -> dict[str, SampleList]:
    found = section(report, title)
    return {one.title: one for one in found if isinstance(one, SampleList)}


def table(report: Report, section_title: str, title: str = "") -> Table:
    found = [one for one in section(report, section_title) if isinstance(one, Table)]
    return next(one for one in found if not title or one.title == title)


def cells(found: Table, name: str) -> list[str]:
    return next([cell.text for cell in row.cells] for row in found.rows if row.name == name)


# -- one run -----------------------------------------------------------------------


def test_a_score_stands_with_all_that_it_rests_on(home: Path) -> None:
    report = report_on([mmlu_run(SAID)])
    (run,) = report.runs
    assert run.label == ""
    assert run.score[1:] == ("42.9 %", "15.8–75.0", "3 / 7", "37.5–50.0")
    shown = table(report, "Scores")
    assert shown.head == ("", "score", "95 %", "k / n", "if failed were wrong–right")
    assert cells(shown, run.score[0]) == list(run.score[1:])
    assert "Wilson 95 %" in shown.note


def test_outcomes_groups_and_charts(home: Path) -> None:
    report = report_on([mmlu_run(SAID)])
    outcomes = table(report, "Outcomes")
    assert cells(outcomes, "refused") == ["12.5 %"]
    assert cells(outcomes, "failed") == ["12.5 %"]
    assert [row.name for row in table(report, "By subject").rows] == ["anatomy", "law"]
    kinds = {type(chart) for chart in report.charts}
    assert kinds >= {Dots, Shares}
    assert Bins not in kinds


def test_samples_to_look_at_are_of_every_kind(home: Path) -> None:
    held = lists(report_on([mmlu_run(SAID)]), "Samples to look at")
    assert {name: [s.name for s in one.samples] for name, one in held.items()} == {
        "Failed": ["sample 6"],
        "Cut off, refused, filtered or unread": ["sample 4", "sample 5"],
        "Wrong": ["sample 2", "sample 7"],
    }
    wrong = held["Wrong"].samples[0]
    assert wrong.question == "How much is 1?\nA) zero\nB) one\nC) two\nD) three"
    assert wrong.gold == "B) one"
    (answer,) = wrong.answers
    assert (answer.verdict, answer.outcome, answer.read) == ("✗ wrong", "parsed", "A")
    assert answer.texts == (("reply", "A"),)
    assert re.fullmatch(r"evalbench show \S+ --sample 2", answer.see)


def test_of_many_samples_some_from_everywhere_are_shown(home: Path) -> None:
    report = report_on([mmlu_run(["A"] * 40)], samples=4)
    wrong = lists(report, "Samples to look at")["Wrong"]
    assert wrong.total == 40
    assert [s.name for s in wrong.samples] == [f"sample {n}" for n in (6, 16, 26, 36)]
    assert "Samples to look at" not in [
        p.title for p in report_on([mmlu_run(["A"])], samples=0).sections
    ]


def test_spread_and_cut() -> None:
    assert spread(range(3), 5) == [0, 1, 2]
    assert spread(range(100), 2) == [25, 75]
    assert cut("a\nb") == "a\nb"
    assert cut("x" * 1_500) == "x" * 1_200 + " … (300 more characters)"
    assert cut("a\n" * 100).count("\n") == 39


def test_judged_runs_have_matrices_agreement_and_grades(home: Path) -> None:
    report = report_on([mt_bench_run()])
    matrix = table(report, "By category")
    assert matrix.head[1:] == ("both turns", "first turn", "second turn")
    assert len({cell.step for row in matrix.rows for cell in row.cells} - {None}) > 1
    assert "alpha" in " ".join(row.name for row in table(report, "Judges").rows)
    grades = next(chart for chart in report.charts if isinstance(chart, Bins))
    assert sum(share for (share,) in grades.shares) == pytest.approx(1)
    lowest = lists(report, "Samples to look at")["Lowest scores"]
    assert lowest.total == 6
    titles = [title for title, _ in lowest.samples[0].answers[0].texts]
    assert len(titles) == 6
    assert sum("judge" in title for title in titles) == 4


def test_parameters_settings_and_record(home: Path) -> None:
    folder = mmlu_run(SAID, temperature=0.5)
    dropped = {"temperature": {"fate": "dropped", "reason": "the model takes none"}}
    folder.write_status(replace(folder.status(), params=dropped, spend_usd=0.25, seconds=61.0))
    report = report_on([folder])
    assert cells(table(report, "Parameters"), "temperature") == ["dropped: the model takes none"]
    assert cells(table(report, "Settings", "Settings"), "temperature") == ["0.5"]
    assert cells(table(report, "Record"), "data hash") == ["0" * 16]
    assert cells(table(report, "Record"), "benchmark templates")
    assert cells(table(report, "Cost and time"), "spent") == ["$0.2500"]
    assert cells(table(report, "Cost and time"), "time") == ["1:01"]


def test_no_login_of_an_address_is_told(home: Path) -> None:
    folder = pretend(
        "mmlu", "compatible/m", provider_options={"base_url": "https://anna:secret@host.example/v1"}
    ).folder
    address = cells(table(report_on([folder]), "Settings", "Settings"), "base-url")
    assert address == ["https://[key removed]@host.example/v1"]


def test_a_run_that_has_not_begun_and_one_that_goes_on(home: Path) -> None:
    engine = pretend("mmlu", "openai/gpt-4.1", total=40)
    report = report_on([engine.folder])
    assert report.runs[0].score == ()
    assert report.runs[0].notes == ("not complete: 0 of 40 samples are done",)
    assert "no score yet" in html(report)
    engine.status(State.RUNNING, done=3, mixed=True, problem="odd")
    notes = report_on([engine.folder]).runs[0].notes
    assert "problem: odd" in notes
    assert any(note.startswith("mixed") for note in notes)
    engine.status(State.RUNNING, done=3, pid=2**22 + 1)
    gone = report_on([engine.folder]).runs[0].notes[0]
    assert gone == "not complete: 3 of 40 samples are done; its engine is gone"


def test_a_run_without_a_journal_is_told_of_too(home: Path) -> None:
    begun, empty = mmlu_run(SAID), pretend("mmlu", "openai/gpt-4.1", total=40).folder
    empty.journal.unlink()
    assert "no score yet" in html(report_on([empty]))
    assert report_on([begun, empty]).warnings == (
        "not compared sample by sample: nothing was asked yet",
    )


# -- several runs ------------------------------------------------------------------


def test_runs_stand_side_by_side_and_what_differs_is_marked(home: Path) -> None:
    runs = [mmlu_run(SAID), mmlu_run(("B", "B", "B", "A", "B", "B", "C", "A"), "openai/gpt-5")]
    report = report_on(runs)
    assert [run.label for run in report.runs] == ["A gpt-4.1", "B gpt-5"]
    scores = table(report, "Scores")
    assert scores.head == ("", "A gpt-4.1", "B gpt-5")
    assert [cell.text for cell in scores.rows[0].cells] == ["42.9 %", "62.5 %"]
    assert "3 / 7" in scores.rows[0].cells[0].small
    assert "bounds 37.5–50.0" in scores.rows[0].cells[0].small
    roles = table(report, "Settings", "Who was asked")
    assert [row.differs for row in roles.rows] == [True]
    assert not any(row.differs for row in table(report, "Record").rows)
    assert report.warnings == ("only 7 of 8 scored samples are in every run; the rest is left out",)


def test_differences_and_flips(home: Path) -> None:
    runs = [mmlu_run(SAID), mmlu_run(("B", "B", "B", "A", "B", "B", "C", "A"), "openai/gpt-5")]
    report = report_on(runs)
    shown = table(report, "Differences")
    # Seven samples are in both: two turned to right, one to wrong.
    assert shown.rows[0].name == "B gpt-5 − A gpt-4.1"
    gap, p, counts, _ = shown.rows[0].cells
    assert (gap.text, p.text, counts.text, counts.small) == ("+14.3 pts", "1.000", "2, 1", "of 7")
    assert "McNemar's exact test" in shown.note
    intro = next(part.intro for part in report.sections if part.title == "Differences")
    assert intro.startswith("Compared: model, over the samples")
    flipped = lists(report, "Samples on which runs differ")
    assert {name: [s.name for s in one.samples] for name, one in flipped.items()} == {
        "Right in A gpt-4.1, wrong in B gpt-5": ["sample 8"],
        "Wrong in A gpt-4.1, right in B gpt-5": ["sample 2", "sample 5"],
    }
    answers = flipped["Right in A gpt-4.1, wrong in B gpt-5"].samples[0].answers
    assert [(a.label, a.verdict) for a in answers] == [
        ("A gpt-4.1", "✓ right"), ("B gpt-5", "✗ wrong"),
    ]  # fmt: skip


def test_judged_runs_differ_most_first(home: Path) -> None:
    report = report_on([mt_bench_run(), mt_bench_run(up=3)])
    held = lists(report, "Samples on which runs differ")
    assert held
    assert all("A gpt-4.1-nano" in title for title in held)
    assert not table(report, "Differences").rows[0].cells[0].text.endswith("pts")


def test_runs_that_differ_in_more_than_the_model_are_warned_of(home: Path) -> None:
    report = report_on([mmlu_run(SAID), mmlu_run(SAID, "openai/gpt-5", temperature=1.0)])
    assert any("temperature is not the same" in warning for warning in report.warnings)
    assert "Warning:" in html(report)
    assert "Warning:" in markdown(report)


def test_runs_of_different_benchmarks_stand_side_by_side_unpaired(home: Path) -> None:
    report = report_on([mmlu_run(SAID), mt_bench_run()])
    assert (
        "not compared sample by sample: these are runs of different benchmarks"
        in (report.warnings[0])
    )
    assert "Differences" not in [part.title for part in report.sections]
    assert {one for one in lists(report, "Samples to look at") if "B gpt-4.1-nano" in one}


def test_a_run_named_twice_and_too_many_are_refused(home: Path) -> None:
    run = mmlu_run(SAID)
    with pytest.raises(UsageError, match="named twice"):
        report_on([run, run])
    with pytest.raises(UsageError, match="13 runs do not fit"):
        report_on([pretend().folder for _ in range(13)])


# -- files -------------------------------------------------------------------------


class _Page(HTMLParser):
    """Collects what a page would do."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


HARMFUL = ("\x1b", "\x07", "\x9b", "\u202e", "PLANTED")


def check_page(text: str) -> None:
    """No script, no handler, no address outside, no control characters."""
    page = _Page(text)
    assert not page.tags & {"script", "img", "iframe", "object", "embed", "form", "base"}
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    places = [value for name, value in page.attributes if name in ("href", "src", "action")]
    assert {value[:5] for value in places} <= {"#part", "data:"}
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style
    assert "url(" not in style[1]
    assert "@import" not in style[1]
    assert not [harm for harm in HARMFUL if harm in text]


def check_markdown(text: str) -> None:
    """Nothing that a model said is markup, an address or a control character."""
    first, _, rest = text.partition("\n")
    assert first == "<!-- evalbench report -->"
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(rest)
    inner = [child for token in tokens for child in token.children or ()]
    kinds = {token.type for token in (*tokens, *inner)}
    assert not kinds & {"html_block", "html_inline", "link_open", "image", "code_inline", "em_open"}
    assert not kinds & {"s_open", "code_block", "hr", "ordered_list_open"}
    assert [token.info for token in tokens if token.type == "fence" and token.info != "text"] == []
    told = " ".join(token.content for token in inner if token.type == "text")
    assert "{{" not in "".join(line for line in rest.splitlines() if line.startswith("|"))
    assert not re.search(
        r"(?<!\\):(?=//)", "\n".join(t.content for t in tokens if t.type == "inline")
    )
    assert not [harm for harm in HARMFUL if harm in text]
    assert told


def test_hostile_replies_and_a_planted_key_come_out_harmless(home: Path) -> None:
    hostile = mmlu_run((HOSTILE, "B", f"B {HOSTILE}"), tag=HOSTILE, desc=HOSTILE)
    params = {HOSTILE: {"fate": "refused", "reason": HOSTILE}}
    status = replace(hostile.status(), errors={HOSTILE: 3}, problem=HOSTILE, params=params)
    hostile.write_status(status)
    other = mmlu_run(("B", "B", "B"), "openai/gpt-5", tag=HOSTILE)
    for runs in ([hostile], [hostile, other], [mt_bench_run(HOSTILE)]):
        report = report_on(runs)
        page, text = html(report), markdown(report)
        check_page(page)
        check_markdown(text)
        assert "&lt;script src=http://evil.example/x.js&gt;" in page
        assert "{{ 7*7 }}" in page
        assert "[key removed]" in page
        assert "[key removed]" in text


async def test_a_run_full_of_nasty_texts(home: Path) -> None:
    made = await nasty_run()
    report = report_on([made.folder])
    check_page(html(report))
    check_markdown(markdown(report))


def test_the_check_of_pages_can_fail() -> None:
    for harm in ("<script>", "<a href='http://x'>", "<p onclick=x>", "\x1b", KEY):
        with pytest.raises(AssertionError):
            check_page(f"<style></style>{harm}")
    for harm in ("<b>", "[x](http://x)", "```\n", "a http://x", "`x`", "*x*", "~~x~~", "1. x", KEY):
        with pytest.raises(AssertionError):
            check_markdown(f"<!-- evalbench report -->\nbefore\n\n{harm}")
    check_markdown("<!-- evalbench report -->\nbefore")


def test_the_page_needs_nothing_and_allows_nothing(home: Path) -> None:
    page = html(report_on([mmlu_run(SAID)]))
    assert page.startswith("<!DOCTYPE html><!-- evalbench report -->\n")
    assert "default-src 'none'" in page
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page
    for part in ("By subject", "Samples to look at", "How much is 1?", "svg", "42.9 %"):
        assert part in page


def test_markdown_has_the_same_tables(home: Path) -> None:
    text = markdown(report_on([mmlu_run(SAID)]))
    assert text.startswith("<!-- evalbench report -->\n# mmlu × openai/gpt-4.1\n")
    rows = [line for line in text.splitlines() if line.startswith("| Accuracy, over questions")]
    assert rows[0].endswith("| 42.9 % | 15.8–75.0 | 3 / 7 | 37.5–50.0 |")
    assert "\n| --- | ---: |" in text.replace("\n|  |", "\n|")
    assert "\n\n\n\n" not in text


async def test_of_pictures_kind_and_size_are_told(home: Path) -> None:
    engine = pretend("mmlu", "openai/gpt-4.1", total=1)
    sample = Sample("0" * 16 + ".1", {"question": "What is this?"}, "B", {})
    picture = MediaPart("image/png", b"x" * 2_000)
    prompt = generate([user([picture, "What is this?"])])
    journal = Journal(engine.folder.journal)
    journal.add_samples([(1, sample)])
    model = engine.folder.spec().candidate
    store(journal, 1, sample, prompt, Reply("no", Outcome.UNPARSED), model)
    journal.store_score(1, 0, {}, Outcome.UNPARSED, {"accuracy": 0.0}, {})
    await journal.close()
    engine.status(State.RUNNING, done=1, outcomes={"unparsed": 1})
    (held,) = lists(report_on([engine.folder]), "Samples to look at").values()
    assert held.samples[0].question == "What is this?\n(image/png, 2.0 kB)"


async def test_what_a_live_run_has_so_far(home: Path) -> None:
    engine = pretend("mmlu", "openai/gpt-4.1", total=40)
    await engine.answer(1, "What is it?", gold="B", read="C", subject="law", category="x")
    await engine.answer(
        2, "What else?", gold="B", outcome=Outcome.ERROR, subject="law", category="x"
    )
    engine.status(State.RUNNING, done=2, failed=1, outcomes={"ok": 1, "error": 1})
    report = report_on([engine.folder])
    assert report.runs[0].score[1:4:2] == ("0.0 %", "0 / 1")
    assert set(lists(report, "Samples to look at")) == {"Failed", "Wrong"}


def test_a_pace_is_drawn_for_runs_that_took_their_time(home: Path) -> None:
    import sqlite3

    folder = mmlu_run(["B"] * 20)
    with sqlite3.connect(folder.journal) as journal:
        journal.execute("UPDATE score SET at = (id >> 8) % 1000 * 7000")
    journal.close()
    (paces,) = [c for c in report_on([folder]).charts if isinstance(c, Paces)]
    (line,) = paces.lines
    assert line[-1][1] == 1.0
    assert [share for _, share in line] == sorted(share for _, share in line)


# -- names of files ----------------------------------------------------------------


def test_an_older_report_is_replaced_and_nothing_else(home: Path, tmp_path: Path) -> None:
    report = report_on([mmlu_run(SAID)])
    for name in ("a/report.html", "a/report.md"):
        file = tmp_path / name
        write_report(report, file)
        before = file.read_text()
        write_report(report, file)
        assert file.read_text() == before
        assert file.stat().st_mode & 0o777 == 0o600
        file.write_text("my own notes\n")
        with pytest.raises(UsageError, match="is no report"):
            write_report(report, file)
        assert file.read_text() == "my own notes\n"


@pytest.mark.parametrize("name", ["report", "report.pdf", "report.html.gz"])
def test_the_ending_says_what_it_is_to_be(home: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"the format of .* is unknown"):
        write_report(report_on([mmlu_run(SAID)]), tmp_path / name)


def test_a_place_that_cannot_be_written_is_told(home: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.html").mkdir()
    report = report_on([mmlu_run(SAID)])
    for place in (tmp_path / "file" / "report.html", tmp_path / "folder.html"):
        with pytest.raises(UsageError, match="cannot be written"):
            write_report(report, place)


def test_of_a_benchmark_that_is_not_here_failed_and_unread_samples_are_shown(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = mmlu_run(SAID)

    def missing(name: str) -> None:
        raise SpecError("benchmark", f"there is no benchmark {name!r}")

    monkeypatch.setattr(registry, "benchmark_class", missing)
    report = report_on([run])
    assert report.runs[0].score[1] == "42.9 %"
    assert report.warnings[0].startswith("wrong samples cannot be identified: ")
    held = lists(report, "Samples to look at")
    assert list(held) == ["Failed", "Cut off, refused, filtered or unread"]
