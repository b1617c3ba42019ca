"""Schemas of stored data: for each kind of record, what its fields are.

Status files, journals and exported runs may come from someone else, or have been edited. Each
record is checked against its table here once, when it is read, so that no other code has to
expect anything invalid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Required, TypedDict

from evalbench.engine.field_checks import (
    LAST_SECOND,
    Check,
    anything,
    decimal,
    either,
    flag,
    grade,
    list_of,
    matching,
    maybe,
    number,
    numeral,
    one_of,
    pair_of,
    record,
    table_of,
    text,
    whole,
)

MOST_ROWS = 100_000_000
"""Maximum samples of a run; they are numbered from 1, and some lists use a byte per number."""

MOST_DOLLARS = 1_000_000
"""Maximum for one call, and for a whole run: sums are in picodollars, in 64 bits."""


class WorkerGauges(TypedDict, total=False):
    """One of several workers of a local model, for display; ``idle`` is a fraction."""

    worker: str
    node: str
    pid: int | None
    in_flight: int
    answers: int
    tokens_per_second: float | None
    memory: Mapping[str, Any]
    progress: Mapping[str, Any]
    idle: float | None


class LongScoring(TypedDict):
    """The sample whose scoring takes long, and its duration in seconds."""

    row: int
    seconds: int


class Gauges(TypedDict, total=False):
    """What a run's candidate is doing now, for display.

    ``in_flight``, ``waiting`` (for a retry), ``unfunded`` (waiting for money), ``retries`` and
    ``in_batches`` count calls; ``concurrency`` is the maximum in flight, ``fixed`` whether the user
    set it; ``limited_by`` is what keeps more calls from being in flight: ``concurrency``, the
    ``rate`` that was found, ``headroom``, ``qps``, ``tpm``, ``budget`` or nothing, and
    ``rate_limit`` calls a second if it is a rate; ``down`` says that the provider does not respond;
    ``paused_s`` is how much longer nothing is sent, and ``paused_why`` why, also while a single
    call probes a provider that is down;
    ``short_of_budget`` says that all waits for the runs that share the budget, or for a higher one.
    ``headroom`` is what the provider said is left of its limits on ``requests`` and
    ``tokens``, each with the limit, which may be None. The others are for local models: a worker's
    ``memory`` (bytes), ``progress`` and process, or all ``workers``, and the GPUs that they run on.
    """

    in_flight: int
    concurrency: int
    fixed: bool
    limited_by: str
    rate_limit: float | None
    unfunded: int
    waiting: int
    retries: int
    down: bool
    paused_s: float
    paused_why: str
    short_of_budget: bool
    headroom: Mapping[str, Sequence[int | None]]
    in_batches: int
    memory: Mapping[str, Any]
    progress: Mapping[str, Any]
    measures: Mapping[str, Any]
    worker_pid: int | None
    idle: float
    workers: list[WorkerGauges]
    gpus: list[dict[str, Any]]
    scoring: LongScoring


class BatchStatus(TypedDict, total=False):
    """A batch of a run, for display.

    ``requests``, ``answered``, ``failed`` and ``again`` count calls; ``succeeded`` and
    ``failed_there`` are reported by the provider; ``since`` and ``expires`` are Unix times; amounts
    are decimal dollars as text.
    """

    name: Required[str]
    role: str
    model: str
    stage: Required[str]
    requests: int
    bytes: int
    id: str
    job: str
    succeeded: int | None
    failed_there: int | None
    answered: int
    failed: int
    again: int
    since: float
    expires: float | None
    cancelling: bool
    cost: str
    saved: str
    resend_cost: str
    why: str


class TraceStatus(TypedDict, total=False):
    """Progress of a traces destination: ``sent`` and ``left`` count calls, ``refused`` spans."""

    to: Required[str]
    service: Required[str]
    content: bool
    sent: Required[int]
    left: Required[int | None]
    refused: Required[int]
    why: str
    project: str
    log_stream: str
    links: dict[str, str]


_TOKENS = 10**9
_EPOCHS = 1000
_OUTCOMES = ("ok", "truncated", "refused", "filtered", "unparsed", "error")
_STATES = (
    *("created", "running", "pausing", "stopping", "paused", "stopped", "waiting"),
    *("complete", "failed", "budget"),
)

_count = whole()
_seconds = number(0, LAST_SECOND)
_dollars = number(0, 1e12)
_object = table_of(anything)
_counts = table_of(_count)
_measure = number(0)

METRIC = record(
    {"value": maybe(number())},
    {
        **dict.fromkeys(("low", "high", "bound_low", "bound_high"), maybe(number())),
        **dict.fromkeys(("k", "n"), maybe(number())),
        **dict.fromkeys(("name", "interval", "title", "group"), text),
        "share": maybe(flag),
    },
)
METRICS = table_of(METRIC)

_PARAMS = table_of(record({"fate": text}, {"reason": text}))
_BATCH = record(
    {"name": text, "stage": text},
    {
        **dict.fromkeys(("role", "model", "id", "job", "why"), text),
        **dict.fromkeys(("requests", "bytes", "answered", "failed", "again"), maybe(_count)),
        **dict.fromkeys(("succeeded", "failed_there"), maybe(_count)),
        **dict.fromkeys(("since", "expires"), maybe(_seconds)),
        **dict.fromkeys(("cost", "saved"), decimal(MOST_DOLLARS)),
        "resend_cost": either(one_of(("",)), decimal(MOST_DOLLARS)),
        "cancelling": flag,
    },
)
_TRACES = record(
    {"service": text, "to": text, "sent": _count, "left": maybe(_count), "refused": _count},
    {"why": text, "project": text, "log_stream": text, "links": table_of(text)},
)
_MEASURED = {
    **dict.fromkeys(("answers", "input_tokens", "output_tokens"), _count),
    **dict.fromkeys(("seconds", "slowest", "busy_s"), _measure),
    **dict.fromkeys(("peak", "total", "expected"), number(0, 1e18)),
    **dict.fromkeys(("seconds_per_answer", "tokens_per_second"), maybe(_measure)),
    **dict.fromkeys(("device", "numbers", "layout"), text),
}
_MEASURES = record({}, _MEASURED)
_PROGRESS = maybe(
    record(
        {},
        {
            **dict.fromkeys(("what", "unit"), maybe(text)),
            **dict.fromkeys(("done", "total"), maybe(number())),
        },
    )
)
_MEMORY = maybe(table_of(maybe(either(number(0, 1e18), text))))
_WORKER = record(
    {},
    {
        "worker": text,
        **dict.fromkeys(("in_flight", "answers"), maybe(_count)),
        **dict.fromkeys(("tokens_per_second", "idle"), maybe(_measure)),
        "memory": _MEMORY,
        "progress": _PROGRESS,
        "measures": maybe(_MEASURES),
    },
)
_GAUGES = record(
    {},
    {
        **dict.fromkeys(("in_flight", "unfunded", "waiting", "retries"), maybe(_count)),
        "concurrency": maybe(number()),
        "limited_by": maybe(text),
        **dict.fromkeys(("rate_limit", "paused_s", "idle"), maybe(_measure)),
        "paused_why": maybe(text),
        **dict.fromkeys(("down", "fixed", "short_of_budget"), maybe(flag)),
        "headroom": maybe(table_of(list_of(maybe(_count), 2, 2))),
        "progress": _PROGRESS,
        "memory": _MEMORY,
        "measures": maybe(_MEASURES),
        "workers": maybe(list_of(_WORKER)),
        "gpus": maybe(list_of(_object)),
        "worker_pid": maybe(_count),
    },
)

STATUS = record(
    {"run": text, "state": one_of(_STATES)},
    {
        **dict.fromkeys(("benchmark", "title", "source", "model", "host"), text),
        **dict.fromkeys(("pid_started", "problem"), text),
        "desc": maybe(text),
        "tags": list_of(text),
        "hook_problem": text,
        "exit_code": maybe(whole(0, 255)),
        "pid": maybe(whole(1, 2**31)),
        **dict.fromkeys(("created", "updated", "seconds"), _seconds),
        **dict.fromkeys(("total", "done", "failed", "sent", "from_journal", "reused"), _count),
        **dict.fromkeys(("input_tokens", "output_tokens"), _count),
        "rate": _measure,
        **dict.fromkeys(("spend_usd", "budget_usd"), maybe(_dollars)),
        "possible_usd": _dollars,
        **dict.fromkeys(("mixed", "tracing", "hook_running"), flag),
        "replies": maybe(_count),
        "outcomes": _counts,
        "metrics": METRICS,
        "errors": _counts,
        "params": _PARAMS,
        "gauges": _GAUGES,
        "roles": table_of(_counts),
        "latest": list_of(list_of(_count, 2, 2)),
        "batches": list_of(_BATCH),
        "traces": list_of(_TRACES),
    },
)
"""The status file: see :class:`evalbench.engine.runs.status.Status`."""

COMMAND = record({"do": text}, {"value": maybe(either(text, number(0)))})
"""A request to an engine."""

_setting = maybe(either(text, flag, number(-(2.0**63), 2.0**64), list_of(anything)))
SPEC = record(
    {
        **dict.fromkeys(("benchmark", "model"), text),
        "common": _object,
        **dict.fromkeys(("options", "provider_options"), table_of(_setting)),
        "filters": table_of(list_of(text)),
    }
)
"""The spec. What its common settings are is declared with their options."""

_RATE = decimal(10**9)
_RATES = record(
    {"input": _RATE, "output": _RATE},
    dict.fromkeys(("cache_read", "cache_write", "cache_write_1h", "audio"), _RATE),
    closed=True,
)
_ABOVE = list_of(pair_of(whole(), _RATES))
PRICES = record(
    {"rates": _RATES},
    {
        "above": _ABOVE,
        "tiers": table_of(record({"rates": _RATES}, {"above": _ABOVE}, closed=True)),
        **dict.fromkeys(("source", "model", "mode", "service_tier", "note"), text),
    },
    closed=True,
)
_KEY = record(
    {
        "provider": text,
        "source": one_of(("none", "environment", "keychain", "file", "profile")),
    },
    {"name": text, "variable": text},
    closed=True,
)
_RECORD = record({}, {"benchmark": _object, "data": _object, "packages": _object, "count": _count})
_IDENTITY = record(
    {},
    {
        "settings": record(
            {}, dict.fromkeys(("judges", "options", "provider options", "filters"), maybe(_object))
        )
    },
)

FACTS = {
    "created": maybe(_seconds),
    "loaded": flag,
    "mixed": flag,
    "samples": whole(0, MOST_ROWS),
    "spec": SPEC,
    "identity": maybe(_IDENTITY),
    "record": maybe(_RECORD),
    "imported": maybe(record({"source": text, "notes": list_of(text)}, {"at": _seconds})),
    "metrics": maybe(METRICS),
    "outcomes": _counts,
    "state": one_of(_STATES),
    "exit_code": maybe(whole(0, 255)),
    "seconds": _seconds,
    "params": _PARAMS,
    "prices": maybe(table_of(maybe(PRICES))),
    "keys": maybe(table_of(_KEY)),
    "traces": list_of(_TRACES),
    "models": maybe(table_of(_object)),
    "loadings": maybe(table_of(list_of(_object))),
    "reused": _counts,
}
"""The facts about a whole run in its journal, by name; others are unknown here."""

EVENTS = {
    "model-unloaded": record(
        {}, {**_MEASURED, "model": text, "workers": maybe(table_of(_MEASURES))}
    )
}
"""The fields of events that are used, by kind; others are objects with any fields."""

TAGS = table_of(text)
VALUES = table_of(grade())
DETAIL = _object
STORED_SAMPLE = _object
"""The inputs of a sample."""

_SAMPLE_ID = matching(r"([0-9a-f]{2})+\.\d{1,12}", "a hash and the number of its occurrence")
SAMPLE = record(
    {
        "row": whole(1, MOST_ROWS),
        "id": _SAMPLE_ID,
        "inputs": _object,
        "gold": anything,
        "tags": TAGS,
        "calls": list_of(_object),
        "scores": list_of(
            record(
                {
                    "epoch": whole(0, _EPOCHS),
                    "outcome": one_of(_OUTCOMES),
                    "values": table_of(grade(1e15)),
                    "detail": DETAIL,
                }
            )
        ),
    },
    {"media": table_of(text)},
)
"""A sample of an exported run."""

_REUSED = record({"run": text, "call": whole(0, 2**63 - 1), "at": text}, closed=True)
_USAGE = record(
    {},
    dict.fromkeys(
        (
            *("input_tokens", "output_tokens"),
            *("cache_read_tokens", "cache_write_tokens", "reasoning_tokens"),
            *("cache_write_1h_tokens", "audio_tokens"),
        ),
        maybe(whole(0, _TOKENS)),
    ),
    closed=True,
)
REPLY = record(
    {},
    {
        **dict.fromkeys(("text", "reasoning", "stop_reason", "provider_model"), text),
        **dict.fromkeys(("request_id", "error", "service_tier"), text),
        "outcome": one_of(_OUTCOMES),
        "logprobs": list_of(numeral),
        "usage": _USAGE,
        "latency_s": number(0, 1e9),
        "attempts": whole(0, 10**6),
        "cut_tokens": whole(0, _TOKENS),
        "possibly_billed": flag,
        "params": list_of(list_of(text, 2, 3)),
        "reused": maybe(_REUSED),
        **dict.fromkeys(("cost_usd", "possible_cost_usd"), maybe(decimal(MOST_DOLLARS))),
    },
)
"""A reply, see ``calls.replies.reply_to_json``; in exports also with its cost."""

_PART = either(
    record({"text": text}, {"shared": flag}),
    record({"media_type": text, "sha256": matching("[0-9a-f]{64}", "64 hexadecimal digits")}),
)


def call_record(asked: Check) -> Check:
    """A call of an exported run; ``asked``: its possible parameters."""
    prompt = record(
        {
            "kind": one_of(("generate", "choose")),
            "messages": list_of(
                record(
                    {
                        "role": one_of(("system", "user", "assistant", "context")),
                        "parts": list_of(_PART),
                    }
                )
            ),
        },
        {"continuations": list_of(text), "params": asked},
    )
    return record(
        {
            "epoch": whole(0, _EPOCHS),
            **dict.fromkeys(("role", "model", "step"), text),
            "repeat": whole(0, 10**6),
            "reask": whole(0, 10**6),
            "hash": matching("[0-9a-f]{32}", "32 hexadecimal digits"),
            "sent_ms": whole(0, 2**52),
            "prompt": prompt,
            "reply": maybe(REPLY),
        }
    )


EXPORT = record(
    {
        "version": whole(1, 10**6),
        "run": text,
        "spec": SPEC,
        "status": STATUS,
        "metrics": METRICS,
        "facts": _object,
        "samples": list_of(anything),
    }
)
"""The header of an exported run, before its samples."""
