"""JUnit XML for CI: a test case per sample and epoch, a failure for each wrong answer."""

from __future__ import annotations

import time
from collections import Counter
from xml.sax.saxutils import escape, quoteattr

from evalbench.engine.benchmark import Sample
from evalbench.engine.calls import Outcome
from evalbench.engine.formats.files import Files
from evalbench.engine.journal import ScoreRow
from evalbench.engine.runs.reader import RunReader, SampleRecord
from evalbench.engine.runs.rows import as_text, gold_text, question, read_text
from evalbench.engine.terminal_text import visible

_LONGEST = 2000
_NOT_XML = dict.fromkeys((*range(0xD800, 0xE000), 0xFFFE, 0xFFFF), "\ufffd")
"""Characters that XML 1.0 does not allow and ``visible`` keeps."""


def write(run: RunReader, files: Files) -> list[str]:
    """Add the report to ``files``.

    A case fails if its value is below 1, or a grade could not be parsed; it is an error with
    no answer, and skipped while it is waiting.
    """
    counts = _counts(run)
    name = f"{run.status.title or run.spec.label} {run.candidate}"
    with files.open(f"{run.id}.xml") as file:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(run.created))
        file.write(
            b'<?xml version="1.0" encoding="utf-8"?>\n'
            + (
                f'<testsuites name="evalbench" {_numbers(counts, run)}>\n'
                f"<testsuite name={_attribute(name)} {_numbers(counts, run)}"
                f' timestamp="{stamp}">\n<properties>\n{_properties(run)}</properties>\n'
            ).encode()
        )
        headline = run.headline
        for record in run.walk():
            for epoch in range(run.spec.settings.epochs):
                file.write(_case(run, record, epoch, headline).encode())
        file.write(b"</testsuite>\n</testsuites>\n")
    return []


def _counts(run: RunReader) -> Counter[str]:
    found = Counter(_kind(run, score, run.headline) for score in run.scores())
    found["tests"] = run.size * run.spec.settings.epochs
    found["skipped"] += found["tests"] - sum(found[k] for k in _KINDS)
    return found


_KINDS = ("passed", "failures", "errors", "skipped")


def _kind(run: RunReader, score: ScoreRow | None, headline: str) -> str:
    if score is None:
        return "skipped"
    if score.outcome is Outcome.ERROR:
        return "errors"
    value = run.grade(score, headline)
    if value is None:
        return "passed" if score.outcome is Outcome.OK else "failures"
    return "passed" if value >= 1 else "failures"


def _numbers(counts: Counter[str], run: RunReader) -> str:
    numbers = {name: counts[name] for name in ("tests", "failures", "errors", "skipped")}
    given = " ".join(f'{name}="{number}"' for name, number in numbers.items())
    return f'{given} time="{run.status.seconds:.3f}"'


def _properties(run: RunReader) -> str:
    properties = {"run": run.id, "evalbench.benchmark": run.spec.benchmark}
    properties |= {
        f"metric.{name}": as_text(metric["value"])
        for name, metric in run.metrics.items()
        if not metric["group"]
    }
    return "".join(
        f"<property name={_attribute(name)} value={_attribute(value)}/>\n"
        for name, value in properties.items()
    )


def _case(run: RunReader, record: SampleRecord, epoch: int, headline: str) -> str:
    score = record.scores.get(epoch)
    calls = record.answers(epoch)
    seconds = sum(call.reply.latency_s for call in calls if call.reply)
    group = next(iter(record.sample.tags.values()), "") or run.spec.label
    name = f"{record.row}: {_short(question(record))}"
    name += f" (epoch {epoch + 1})" if run.spec.settings.epochs > 1 else ""
    head = f"<testcase classname={_attribute(group)} name={_attribute(name)}"
    texts = "\n\n".join(call.reply.text for call in calls if call.reply)
    body = "<system-out>" + _text(f"{question(record)}\n\n{texts}") + "</system-out>"
    kind = _kind(run, score, headline)
    what = ""
    if kind == "skipped":
        what = '<skipped message="it has no score yet"/>'
    elif score is not None and kind == "errors":
        what = f"<error message={_attribute(as_text(score.detail.get('error')))}/>"
    elif score is not None and kind == "failures":
        message = _message(score, record.sample, run.grade(score, headline))
        what = f"<failure message={_attribute(message)} type={_attribute(score.outcome.value)}/>"
    return f'{head} time="{seconds:.3f}">{what}{body}</testcase>\n'


_IN_NAME, _IN_MESSAGE = 80, 200
"""Characters of a question and of an answer shown in a list of cases."""
_UNREAD = {
    Outcome.UNPARSED: "no answer could be read in the reply",
    Outcome.REFUSED: "the model refused to answer",
    Outcome.FILTERED: "the answer was filtered",
    Outcome.TRUNCATED: "the answer was cut off",
}


def _message(score: ScoreRow, sample: Sample, value: float | None) -> str:
    """Why a case failed, as text."""
    wanted = gold_text(sample, score.detail)
    right = f"; right is {_short(wanted, _IN_MESSAGE)}" if wanted else ""
    if why := _UNREAD.get(score.outcome):
        return why + right
    if not wanted:
        return f"the score is {value:g}" if value is not None else "no score"
    read = read_text(score.detail)
    return (f"answered {_short(read, _IN_MESSAGE)}" if read else "a wrong answer") + right


def _short(text: str, most: int = _IN_NAME) -> str:
    """The start of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def _text(text: str) -> str:
    shown = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    return escape(visible(shown).translate(_NOT_XML))


def _attribute(text: str) -> str:
    shown = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    return quoteattr(visible(shown).translate(_NOT_XML))
