"""Anthropic: Messages, token counts, batches and the model list."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.simulator import anthropic_checks as checks
from tests.simulator.anthropic_batches import AnthropicBatches
from tests.simulator.anthropic_prompt import Prompt, Reader
from tests.simulator.brain import Ask, Completion
from tests.simulator.exchange import Answer, Api, Bill, Exchange, Refused, Route
from tests.simulator.limits import Buckets, anthropic_headers, whole_seconds, written
from tests.simulator.models import Model
from tests.simulator.refusals import admit
from tests.simulator.statuses import usual
from tests.simulator.world import World, price

_MOST_BYTES = 32 * 1024 * 1024
_ORGANIZATION = "00000000-5111-4000-8000-000000000000"


class Anthropic(Api):
    """``/v1/messages`` and its neighbours, in API versions 2023-06-01 and 2026-10-21."""

    name = "anthropic"
    base_path = "/anthropic"

    def __init__(self, world: World, *, batches: bool = True) -> None:
        self._world = world
        self._batches: AnthropicBatches | None = None
        if batches:
            worker = Anthropic(world.without_limits(), batches=False)
            self._batches = AnthropicBatches(world, worker.messages, self.error)

    def routes(self) -> Iterable[Route]:
        """Under ``/anthropic``."""
        return (
            *(self._batches.routes() if self._batches else ()),
            Route("POST", "/anthropic/v1/messages", self.messages, open=True),
            Route("POST", "/anthropic/v1/messages/count_tokens", self.count_tokens),
            Route("GET", "/anthropic/v1/models", self.models),
            Route("GET", "/anthropic/v1/models/*", self.model),
        )

    def admit(self, exchange: Exchange) -> None:
        """Refuse a key that may do nothing, and a version that there is not."""
        admit(self._world, self.name, exchange)
        checks.version(exchange.headers)

    def error(self, status: int, message: str = "") -> Answer:
        """An error object of the type that goes with the status."""
        kind, text, _ = usual(self.name, status)
        return checks.error(status, kind, message or text)

    def dress(self, exchange: Exchange, answer: Answer) -> None:
        """``request-id`` in the header, and in the body of an error."""
        answer.headers["request-id"] = exchange.request_id
        answer.headers["anthropic-organization-id"] = _ORGANIZATION
        if answer.status >= 400 and isinstance(answer.body, dict):
            answer.body["request_id"] = exchange.request_id

    def messages(self, exchange: Exchange) -> Answer:
        """One answer of a model."""
        admit(self._world, self.name, exchange, asks=True)
        self._weigh(exchange)
        value, asked = checks.body(exchange, counting=False)
        model = self._model(value["model"])
        checks.for_model(value, asked, model)
        prompt = Reader(model, asked).read(value)
        now = exchange.now
        buckets = self._world.limits.buckets(self.name, exchange.key, model.id, now)
        self._limit(buckets, now, prompt.tokens)
        if prompt.tokens > model.context:
            checks.refuse(f"prompt is too long: {prompt.tokens} tokens > {model.context} maximum")
        cap: int = value["max_tokens"]
        effort = _effort(value, model)
        completion = self._world.brain.complete(
            Ask(
                exchange.content,
                model.id,
                prompt.last,
                "\n".join(prompt.everything),
                min(cap, model.context - prompt.tokens),
                model.chars_per_token,
                tuple(value.get("stop_sequences", ())),
                effort,
                (value.get("thinking") or {}).get("budget_tokens"),
                ((value.get("output_config") or {}).get("format") or {}).get("schema"),
            )
        )
        out = 0 if cap == 0 else completion.output_tokens
        bill = self._bill(exchange, model, prompt, out, completion.reasoning_tokens)
        fresh = bill.input_tokens - bill.cache_read_tokens
        buckets.take(now, tokens=fresh + out, input_tokens=fresh, output_tokens=out)
        crowded = model.context - prompt.tokens < cap
        body = self._message(exchange, value, model, completion, bill, crowded=crowded)
        return Answer(body, headers=written(anthropic_headers, buckets, now), bill=bill)

    def _message(
        self,
        exchange: Exchange,
        value: dict[str, Any],
        model: Model,
        completion: Completion,
        bill: Bill,
        *,
        crowded: bool,
    ) -> dict[str, Any]:
        content: list[dict[str, Any]] = []
        display = (value.get("thinking") or {}).get("display") or "summarized"
        if completion.reasoning_tokens:
            shown = completion.reasoning if display == "summarized" else ""
            signature = f"sig{exchange.content:016x}"
            content.append({"type": "thinking", "thinking": shown, "signature": signature})
        refused = completion.kind in ("refusal", "filtered")
        if completion.text and not refused and value["max_tokens"]:
            content.append({"type": "text", "text": completion.text, "citations": None})
        details = None
        if refused:
            stop = "refusal"
            details = {
                "type": "refusal",
                "category": completion.category,
                "explanation": completion.text or None,
            }
        elif completion.truncated or not value["max_tokens"]:
            stop = "model_context_window_exceeded" if crowded else "max_tokens"
        else:
            stop = "stop_sequence" if completion.stopped_by is not None else "end_turn"
        written_1h = bill.cache_write_1h_tokens
        return {
            "id": f"msg_{exchange.number:024d}",
            "type": "message",
            "role": "assistant",
            "model": model.id,
            "content": content,
            "stop_reason": stop,
            "stop_sequence": completion.stopped_by if stop == "stop_sequence" else None,
            "stop_details": details,
            "container": None,
            "usage": {
                "input_tokens": bill.input_tokens
                - bill.cache_read_tokens
                - bill.cache_write_tokens,
                "cache_creation_input_tokens": bill.cache_write_tokens,
                "cache_read_input_tokens": bill.cache_read_tokens,
                "cache_creation": {
                    "ephemeral_5m_input_tokens": bill.cache_write_tokens - written_1h,
                    "ephemeral_1h_input_tokens": written_1h,
                },
                "output_tokens": bill.output_tokens,
                "output_tokens_details": {"thinking_tokens": bill.reasoning_tokens},
                "server_tool_use": None,
                "service_tier": "standard",
                "inference_geo": "global",
            },
        }

    def _bill(
        self, exchange: Exchange, model: Model, prompt: Prompt, out: int, reasoning: int
    ) -> Bill:
        bill = Bill(model.id, prompt.tokens, out, reasoning_tokens=min(reasoning, out))
        self._world.cache_as_marked(bill, exchange, self.name, prompt.breakpoints)
        return price(bill, model)

    def count_tokens(self, exchange: Exchange) -> Answer:
        """Input tokens of a message; free."""
        self._weigh(exchange)
        value, asked = checks.body(exchange, counting=True)
        model = self._model(value["model"])
        checks.for_model(value, asked, model)
        prompt = Reader(model, asked).read(value)
        who = "anthropic/count_tokens"
        buckets = self._world.limits.buckets(who, exchange.key, model.id, exchange.now)
        self._limit(buckets, exchange.now, 0)
        buckets.take(exchange.now, tokens=0)
        return Answer({"input_tokens": prompt.tokens})

    def models(self, exchange: Exchange) -> Answer:
        """A page of the model list, newest first; retired ones only when asked for."""
        query = exchange.query
        try:
            limit = int(query.get("limit", ["20"])[0])
        except ValueError:
            checks.refuse("limit: Input should be a valid integer")
        if not 1 <= limit <= 1000:
            checks.refuse("limit: Input should be between 1 and 1000")
        stages = query.get("lifecycle", ["active", "deprecated"])
        for stage in stages:
            if stage not in ("active", "deprecated", "retired"):
                checks.refuse("lifecycle: Input should be 'active', 'deprecated' or 'retired'")
        known = [m for m in self._world.catalogue.list(self.name) if m.lifecycle in stages]
        names = [model.id for model in known]
        if "after_id" in query:
            known = known[_index(names, query["after_id"][0], "after_id") + 1 :]
            page = known[:limit]
        elif "before_id" in query:
            known = known[: _index(names, query["before_id"][0], "before_id")]
            page = known[-limit:]
        else:
            page = known[:limit]
        return Answer(
            {
                "data": [_model_info(model) for model in page],
                "has_more": len(known) > len(page),
                "first_id": page[0].id if page else None,
                "last_id": page[-1].id if page else None,
            }
        )

    def model(self, exchange: Exchange) -> Answer:
        """One model, retired or not."""
        model = self._world.catalogue.find(self.name, exchange.tail)
        if model is None:
            raise Refused(checks.error(404, "not_found_error", f"model: {exchange.tail}"))
        return Answer(_model_info(model))

    def _weigh(self, exchange: Exchange) -> None:
        if len(exchange.raw) > _MOST_BYTES:
            raise Refused(self.error(413, "Request exceeds the maximum size"))

    def _model(self, name: str) -> Model:
        model = self._world.catalogue.find(self.name, name)
        if model is None or model.lifecycle == "retired":
            raise Refused(checks.error(404, "not_found_error", f"model: {name}"))
        return model

    def _limit(self, buckets: Buckets, now: float, input_tokens: int) -> None:
        denial = self._world.limits.check(buckets, now, input_tokens=input_tokens)
        if denial is None:
            return
        message = (
            f"This request would exceed the rate limit for your organization ({_ORGANIZATION}) "
            f"of {denial.limit:,} {denial.what} per minute."
        )
        answer = self.error(429, message)
        answer.headers.update(written(anthropic_headers, buckets, now))
        if denial.wait is not None:
            answer.headers["retry-after"] = whole_seconds(denial.wait)
        raise Refused(answer)


def _effort(value: dict[str, Any], model: Model) -> str:
    """The effort the model thinks with, or empty when it does not think."""
    kind = (value.get("thinking") or {}).get("type")
    thinks = kind in ("adaptive", "enabled") if kind else model.thinks_unasked
    if not thinks:
        return ""
    asked = (value.get("output_config") or {}).get("effort")
    return asked or model.default_effort or "medium"


def _index(names: list[str], name: str, what: str) -> int:
    if name not in names:
        checks.refuse(f"{what}: no such model: {name}")
    return names.index(name)


def _stamp(date: str | None) -> str | None:
    return f"{date}T00:00:00Z" if date else None


def _supported(value: bool) -> dict[str, bool]:
    return {"supported": value}


def _model_info(model: Model) -> dict[str, Any]:
    efforts = {level: _supported(level in model.efforts) for level in ("low", "medium", "high")}
    return {
        "type": "model",
        "id": model.id,
        "display_name": model.title,
        "created_at": _stamp(model.released),
        "lifecycle": model.lifecycle,
        "deprecated_at": _stamp(model.deprecated_at),
        "retires_at": _stamp(model.retires_at),
        "line": model.line,
        "max_input_tokens": model.context,
        "max_tokens": model.max_output,
        "capabilities": {
            "batch": _supported(True),
            "citations": _supported(True),
            "code_execution": _supported(True),
            "context_management": {
                "supported": True,
                "clear_thinking_20251015": _supported(True),
                "clear_tool_uses_20250919": _supported(True),
                "compact_20260112": _supported(not model.prefill),
            },
            "effort": {
                "supported": model.reasons,
                **efforts,
                "xhigh": _supported("xhigh" in model.efforts),
                "max": _supported("max" in model.efforts),
            },
            "image_input": _supported(model.images),
            "pdf_input": _supported(True),
            "server_tools": {
                "supported": True,
                "code_execution": _supported(True),
                "web_search": _supported(True),
            },
            "structured_outputs": _supported(True),
            "thinking": {
                "supported": bool(model.thinking - {"disabled"}),
                "types": {
                    kind: _supported(kind in model.thinking)
                    for kind in ("adaptive", "between_tools", "disabled", "enabled")
                },
            },
        },
    }
