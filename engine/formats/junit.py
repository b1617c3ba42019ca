"""JUnit's XML for CI: a case for each sample and epoch, a failure for each wrong answer."""

from __future__ import annotations

import time
from collections import Counter
from xml.sax.saxutils import escape, quoteattr

from evalbench.engine.calls import Outcome
from evalbench.engine.formats.files import Files
from evalbench.engine.journal import ScoreRow
from evalbench.engine.runs.harmless import visible
from evalbench.engine.runs.held import HeldRun, WholeSample
from evalbench.engine.runs.rows import as_text, question

_LONGEST = 2000
_NOT_XML = dict.fromkeys((*range(0xD800, 0xE000), 0xFFFE, 0xFFFF), "\ufffd")
"""What no XML 1.0 document may hold and ``visible`` leaves."""


def write(run: HeldRun, files: Files) -> list[str]:
    """Put the report into ``files``.

    A case fails where its value is below 1, or a grade could not be read; it is
    an error where there was no answer, and skipped while it waits.
    """
    counts = _counts(run)
    name = f"{run.spec.label} {run.spec.model}"
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
        for held in run.walk():
            for epoch in range(run.spec.get("epochs")):
                file.write(_case(run, held, epoch, headline).encode())
        file.write(b"</testsuite>\n</testsuites>\n")
    return []


def _counts(run: HeldRun) -> Counter[str]:
    found = Counter(_kind(run, score, run.headline) for score in run.scores())
    found["tests"] = run.size * run.spec.get("epochs")
    found["skipped"] += found["tests"] - sum(found[k] for k in _KINDS)
    return found


_KINDS = ("passed", "failures", "errors", "skipped")


def _kind(run: HeldRun, score: ScoreRow | None, headline: str) -> str:
    if score is None:
        return "skipped"
    if score.outcome is Outcome.ERROR:
        return "errors"
    value = run.grade(score, headline)
    if value is None:
        return "passed" if score.outcome is Outcome.OK else "failures"
    return "passed" if value >= 1 else "failures"


def _numbers(counts: Counter[str], run: HeldRun) -> str:
    numbers = {name: counts[name] for name in ("tests", "failures", "errors", "skipped")}
    given = " ".join(f'{name}="{number}"' for name, number in numbers.items())
    return f'{given} time="{run.status.seconds:.3f}"'


def _properties(run: HeldRun) -> str:
    told = {"run": run.id, "evalbench.benchmark": run.spec.benchmark}
    told |= {
        f"metric.{name}": as_text(held["value"])
        for name, held in run.metrics.items()
        if not held["group"]
    }
    return "".join(
        f"<property name={_attribute(name)} value={_attribute(value)}/>\n"
        for name, value in told.items()
    )


def _case(run: HeldRun, held: WholeSample, epoch: int, headline: str) -> str:
    score = held.scores.get(epoch)
    calls = held.answers(epoch)
    took = sum(call.reply.latency_s for call in calls if call.reply)
    group = next(iter(held.sample.tags.values()), "") or run.spec.label
    name = held.sample.id + (f" epoch {epoch + 1}" if run.spec.get("epochs") > 1 else "")
    head = f"<testcase classname={_attribute(group)} name={_attribute(name)}"
    said = "\n\n".join(call.reply.text for call in calls if call.reply)
    body = "<system-out>" + _text(f"{question(held)}\n\n{said}") + "</system-out>"
    kind = _kind(run, score, headline)
    what = ""
    if kind == "skipped":
        what = '<skipped message="it has no score yet"/>'
    elif score is not None and kind == "errors":
        what = f"<error message={_attribute(as_text(score.detail.get('error')))}/>"
    elif score is not None and kind == "failures":
        read = as_text(score.detail.get("parsed"))
        message = f"{score.outcome.value}; right is {as_text(held.sample.gold)}; read {read}"
        what = f"<failure message={_attribute(message)} type={_attribute(score.outcome.value)}/>"
    return f'{head} time="{took:.3f}">{what}{body}</testcase>\n'


def _text(text: str) -> str:
    shown = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    return escape(visible(shown).translate(_NOT_XML))


def _attribute(text: str) -> str:
    shown = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    return quoteattr(visible(shown).translate(_NOT_XML))
