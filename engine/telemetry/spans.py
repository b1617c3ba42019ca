"""Builds spans from the journal's content; plain data, no OpenTelemetry.

One trace is one sample in one epoch: a root span with the score, and below it one span for every
call to candidate and judges. The alternative, one trace for the whole run, would have a hundred
thousand spans and end with the run, which no viewer of Langfuse, Phoenix or Galileo can show;
they list small traces, filtered by their roots and grouped by ``session.id``. So the run is the
session, and has a small trace of its own that the samples link to.

A call is one span however often it was tried: "If a transient issue happened and the request was
retried automatically, the corresponding span SHOULD cover the duration of the logical operation
with all retries" (OpenTelemetry semantic conventions for generative AI, which also define the
names of ``gen_ai`` attributes).

Ids are hashes of what a span represents, so that anything sent twice has the same ids.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from evalbench.engine.benchmark import Sample
from evalbench.engine.calls import PARAMETERS, ModelRef, Outcome, Prompt, Reply
from evalbench.engine.config import registry
from evalbench.engine.config.roles import CANDIDATE
from evalbench.engine.errors import SpecError
from evalbench.engine.journal import CallRow
from evalbench.engine.journal.records import ScoreRow
from evalbench.engine.telemetry.content import content

_LONGEST = 200
_MS = 1_000_000

_USAGE = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_tokens": "cache_read.input_tokens",
    "cache_write_tokens": "cache_write.input_tokens",
    "reasoning_tokens": "reasoning.output_tokens",
}

Value = str | bool | int | float | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """One span. Times are nanoseconds since the epoch.

    ``call`` is the number of the call represented, ``engine`` that of the engine that finished the
    sample it represents; 0 for none.
    """

    trace: int
    id: int
    name: str
    start: int
    end: int
    attributes: Mapping[str, Value]
    parent: int = 0
    client: bool = False
    error: str = ""
    links: tuple[tuple[int, int], ...] = ()
    events: tuple[tuple[str, Mapping[str, Value]], ...] = ()
    call: int = 0
    engine: int = 0


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What spans say about the run.

    Attributes:
        id, benchmark: those of the run.
        created: seconds since the epoch.
        servers: model addresses by model, if the run sets them.
        engines: (event number, milliseconds since creation) of every engine's start.
    """

    id: str
    benchmark: str
    created: float
    servers: Mapping[str, str] = field(default_factory=dict)
    engines: Sequence[tuple[int, int]] = ()

    def ns(self, ms: int) -> int:
        """A time of the journal as nanoseconds since the epoch."""
        return int(self.created * 1000) * _MS + ms * _MS

    def engine_at(self, ms: int) -> int:
        """The number of the engine that was running at a time of the journal."""
        before = [number for number, at in self.engines if at <= ms]
        return before[-1] if before else 0

    def shared(self) -> dict[str, Value]:
        """The attributes of every span of the run."""
        return {
            "session.id": self.id,
            "evalbench.run.id": self.id,
            "evalbench.benchmark": self.benchmark,
        }


@dataclass(frozen=True, slots=True)
class Answered:
    """A call with its reply, the time that arrived, and whether it was sent in a batch."""

    row: CallRow
    at_ms: int
    batched: bool = False

    @property
    def reply(self) -> Reply:
        """The reply, which exists."""
        assert self.row.reply is not None
        return self.row.reply


def run_place(run: str, engine: int) -> tuple[int, int]:
    """Trace and span of one engine's work on a run."""
    return _number(16, run), _number(8, run, "engine", engine)


def sample_spans(
    run: RunFacts,
    sample: Sample,
    epoch: int,
    calls: Sequence[Answered],
    score: ScoreRow | None,
    scored_ms: int,
    *,
    with_content: bool,
    flat: bool = False,
) -> list[Span]:
    """The spans of one sample in one epoch, the root last.

    Args:
        run: facts about the run.
        sample: the sample.
        epoch: zero-based.
        calls: those to send, at least one. A sample that is asked again later gets another
            root in the same trace, with only what is new below it.
        score: its score, if it has one.
        scored_ms: when it was stored, in milliseconds since the run's creation.
        with_content: include prompts and answers.
        flat: content in the form that Galileo reads, with placeholders where there is none.
    """
    row = calls[0].row.row
    trace = _number(16, run.id, row, epoch)
    root = _number(8, run.id, row, epoch, calls[0].row.id)
    own: dict[str, Value] = {
        **run.shared(),
        "evalbench.sample.id": sample.id,
        "evalbench.sample.number": row,
        "evalbench.epoch": epoch,
    }
    if score:
        own["evalbench.sample.outcome"] = score.outcome.value
        own |= {f"evalbench.score.{name}": float(value) for name, value in score.values.items()}
    tags: dict[str, Value] = {
        f"evalbench.tag.{name}": _short(text) for name, text in sample.tags.items()
    }
    spans = [
        Span(
            trace,
            _number(8, run.id, "call", one.row.id),
            f"{_operation(one.row.prompt)} {_short(ModelRef.parse(one.row.key.model).name)}",
            run.ns(one.row.sent_ms),
            run.ns(max(one.at_ms, one.row.sent_ms)),
            {**own, **_call_attributes(run, one), **content(one.row, with_content, flat)},
            parent=root,
            client=True,
            error=_error_type(one.reply),
            call=one.row.id,
        )
        for one in calls
    ]
    first = min(one.row.sent_ms for one in calls)
    last = max(scored_ms, *(one.at_ms for one in calls)) if score else max(o.at_ms for o in calls)
    engine = run.engine_at(last)
    spans.append(
        Span(
            trace,
            root,
            f"evaluate {run.benchmark}",
            run.ns(first),
            run.ns(last),
            {**own, **tags, "openinference.span.kind": "CHAIN"},
            error="sample failed" if score and score.outcome is Outcome.ERROR else "",
            links=(run_place(run.id, engine),) if engine else (),
            events=_evaluations(score),
            engine=engine,
        )
    )
    return spans


def _evaluations(score: ScoreRow | None) -> tuple[tuple[str, Mapping[str, Value]], ...]:
    """The score as events of the conventions, one per value."""
    if score is None:
        return ()
    return tuple(
        (
            "gen_ai.evaluation.result",
            {
                "gen_ai.evaluation.name": name,
                "gen_ai.evaluation.score.value": float(value),
                "gen_ai.evaluation.score.label": score.outcome.value,
            },
        )
        for name, value in score.values.items()
    )


def engine_span(
    run: RunFacts, engine: int, ended_ms: int, facts: Mapping[str, Value], error: str = ""
) -> Span:
    """The span of one engine's work on the run, in the run's own trace."""
    began = next((at for number, at in run.engines if number == engine), 0)
    trace, ident = run_place(run.id, engine)
    return Span(
        trace,
        ident,
        f"run {run.benchmark}",
        run.ns(began),
        run.ns(max(began, ended_ms)),
        {**run.shared(), "openinference.span.kind": "CHAIN", **facts},
        error=error,
    )


@functools.cache
def _provider_name(provider: str) -> str:
    """The value of ``gen_ai.provider.name``."""
    try:
        return registry.provider_class(provider).trace_name or provider
    except SpecError:
        return provider


def _call_attributes(run: RunFacts, one: Answered) -> dict[str, Value]:
    row, reply = one.row, one.reply
    model = ModelRef.parse(row.key.model)
    attributes: dict[str, Value] = {
        "gen_ai.operation.name": _operation(row.prompt),
        "gen_ai.provider.name": _provider_name(model.provider),
        "gen_ai.request.model": _short(model.name),
        "gen_ai.output.type": "json" if row.prompt.params.schema else "text",
        "openinference.span.kind": "LLM" if row.key.role == CANDIDATE else "EVALUATOR",
        "evalbench.role": row.key.role,
        "evalbench.call.step": _short(row.key.step),
        "evalbench.call.repeat": row.key.repeat,
        "evalbench.call.reask": row.reask,
        "evalbench.call.batched": one.batched,
        "evalbench.call.attempts": reply.attempts,
        "evalbench.outcome": reply.outcome.value,
    }
    asked = row.prompt.params.asked()
    attributes |= {
        f"gen_ai.request.{one.trace}": asked[name]
        for name, one in PARAMETERS.items()
        if one.trace and name in asked
    }
    if model.revision:
        attributes["evalbench.model.revision"] = model.revision
    if reply.provider_model:
        attributes["gen_ai.response.model"] = _short(reply.provider_model)
    if reply.stop_reason:
        attributes["gen_ai.response.finish_reasons"] = (_short(reply.stop_reason),)
    if reply.request_id:
        attributes["evalbench.request_id"] = _short(reply.request_id)
    if reply.latency_s:
        attributes["evalbench.latency_s"] = reply.latency_s
    attributes |= _usage(reply)
    if error := _error_type(reply):
        attributes["error.type"] = error
    return attributes | _server(run.servers.get(row.key.model, ""))


def _usage(reply: Reply) -> dict[str, Value]:
    """Tokens and cost; for a reply reused from an earlier run, they were counted there."""
    if reply.reused:
        return {"evalbench.reused.run": _short(reply.reused.run)}
    attributes: dict[str, Value] = {
        f"gen_ai.usage.{word}": count
        for name, word in _USAGE.items()
        if (count := getattr(reply.usage, name)) is not None
    }
    if reply.cost is not None:
        # There is no convention for cost; Langfuse reads this name.
        attributes["gen_ai.usage.cost"] = float(reply.cost)
    return attributes


def _server(address: str) -> dict[str, Value]:
    try:
        parts = urlsplit(address)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return {}
    if not parts.hostname or not port:
        return {}
    return {"server.address": parts.hostname, "server.port": port}


def _operation(prompt: Prompt) -> str:
    return "chat" if prompt.kind == "generate" else "text_completion"


def _error_type(reply: Reply) -> str:
    """The class of an error; its message may quote what was sent."""
    if reply.outcome is not Outcome.ERROR:
        return ""
    kind = reply.error.partition(":")[0]
    return kind if kind.isidentifier() else "_OTHER"


def _short(text: str) -> str:
    """An external text, shortened to one line of reasonable length."""
    return "".join(letter if letter.isprintable() else " " for letter in str(text)[:_LONGEST])


def _number(size: int, *what: object) -> int:
    """An id of this many bytes that represents something; never 0, which means none."""
    digest = hashlib.sha256("/".join(map(str, what)).encode()).digest()
    return int.from_bytes(digest[:size]) or 1
