"""Chat completions of OpenAI-compatible servers."""

from __future__ import annotations

from typing import Any

from tests.simulator import chat_prompt, chat_reply
from tests.simulator.brain import Completion
from tests.simulator.compatible_access import Access
from tests.simulator.exchange import Answer, Bill, Exchange, Refused
from tests.simulator.flavours import Flavour, routable
from tests.simulator.images import Image
from tests.simulator.limits import written
from tests.simulator.models import Model
from tests.simulator.refusals import word

_IMAGE_TOKENS = 576
_UNROUTED = frozenset({"model", "messages", "provider", "models", "route", "transforms", "usage"})
_CACHING = frozenset({"groq", "openrouter", "deepseek", "xai", "fireworks", "mistral"})


class Chat:
    """Checks a request, has it answered, and words the answer."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._world = access.world
        self._flavour = access.flavour
        self.name = access.name

    def complete(self, exchange: Exchange, *, loaded: int | None = None) -> Answer:
        """``POST /chat/completions``; ``loaded``: a context for this call."""
        flavour = self._flavour
        value = self._access.body(exchange)
        self._access.admit(exchange, value["model"])
        model = self._access.model(value["model"])
        self._fields(exchange, value, model)
        prompt = read(self._access, value, model)
        cap = _cap(value, flavour)
        context = min(model.context, loaded or flavour.loaded_context or model.context)
        self._overflow(exchange, prompt, cap, context, model)
        now = exchange.now
        buckets = self._world.limits.buckets(self.name, exchange.key, model.id, now)
        self._access.limit(buckets, now, prompt.tokens + (cap or 0), model)
        said = chat_reply.completions(
            self._world,
            exchange,
            model,
            prompt,
            value,
            cap=min(cap or model.max_output, max(1, context - prompt.tokens)),
            effort=_effort(value, model),
            count=value.get("n") or 1 if "n" in flavour.known else 1,
        )
        bill = chat_reply.bill(
            self._world, exchange, self.name, model, prompt, said, cached=self.name in _CACHING
        )
        body = self._reply(exchange, value, model, said, bill)
        return Answer(body, headers=written(flavour.headers, buckets, now), bill=bill)

    def _fields(self, exchange: Exchange, value: dict[str, Any], model: Model) -> None:
        """Refuse or note what this server does not take."""
        flavour = self._flavour
        ignored = []
        for name in value:
            given = value[name]
            if name in flavour.refused and given not in (None, False):
                raise Refused(word(self.name, "refused", field=name, model=model.id))
            if name not in flavour.known:
                if flavour.unknown == "refuse":
                    raise Refused(word(self.name, "unknown", field=name, given=given))
                ignored.append(name)
        if ignored:
            exchange.notes["ignored"] = ignored
        self._routes(value, model)
        if value.get("stream"):
            self._access.refuse("the simulator answers whole messages only", param="stream")
        if "n" in flavour.known and (value.get("n") or 1) > flavour.max_n:
            self._access.refuse(f"'n' : number must be at most {flavour.max_n}", param="n")
        if not flavour.schema and (value.get("response_format") or {}).get("type") == "json_schema":
            self._access.refuse("This response_format type is unavailable now")
        if not model.stop and value.get("stop"):
            raise Refused(word(self.name, "refused", field="stop", model=model.id))
        if not model.logprobs and value.get("logprobs"):
            raise Refused(word(self.name, "refused", field="logprobs", model=model.id))
        self._numbers(value, model)

    def _routes(self, value: dict[str, Any], model: Model) -> None:
        batch_settings = value.get("provider")
        if isinstance(batch_settings, dict) and batch_settings.get("require_parameters"):
            honoured = {*routable(model), *_UNROUTED}
            if not value.keys() <= honoured:
                raise Refused(word(self.name, "unrouted"))

    def _numbers(self, value: dict[str, Any], model: Model) -> None:
        effort = value.get("reasoning_effort")
        if effort is not None and model.reasons and effort not in (*model.efforts, "none"):
            allowed = ", ".join(f"`{level}`" for level in model.efforts)
            self._access.refuse(
                f"`reasoning_effort` must be one of {allowed}", param="reasoning_effort"
            )
        for name in ("max_tokens", "max_completion_tokens"):
            given = value.get(name)
            if given is not None and (not isinstance(given, int) or isinstance(given, bool)):
                self._access.refuse(f"'{name}' must be an integer", param=name)
            if isinstance(given, int) and given < 1 and self.name != "lmstudio":
                self._access.refuse(f"{name} must be at least 1, got {given}.", param=name)

    def _overflow(
        self,
        exchange: Exchange,
        prompt: chat_prompt.ChatPrompt,
        cap: int | None,
        context: int,
        model: Model,
    ) -> None:
        flavour = self._flavour
        asked = prompt.tokens + (cap or 0)
        if (asked if flavour.cap_counts else prompt.tokens) <= context:
            return
        if flavour.overflow == "truncate":
            exchange.notes["context_truncated_from"] = prompt.tokens
            prompt.tokens = context // 2 + 2
            return
        raise Refused(
            word(
                self.name,
                "overflow",
                tokens=prompt.tokens,
                cap=cap or 0,
                asked=asked,
                most=context,
                model=model.id,
            )
        )

    def _reply(
        self,
        exchange: Exchange,
        value: dict[str, Any],
        model: Model,
        completions: list[Completion],
        bill: Bill,
    ) -> dict[str, Any]:
        wanted = bool(value.get("logprobs")) and self._flavour.logprobs == "yes"
        top = value.get("top_logprobs") or 0
        choices = []
        for index, completion in enumerate(completions):
            reason = chat_reply.finish_reason(completion)
            choice = {
                "index": index,
                "message": self._message(completion),
                "logprobs": {"content": chat_reply.logprobs(completion.text, exchange.content, top)}
                if wanted
                else None,
                "finish_reason": reason,
            }
            if self.name == "openrouter":
                choice["native_finish_reason"] = reason
            choices.append(choice)
        prefix = "gen-" if self.name == "openrouter" else "chatcmpl-"
        body = {
            "id": f"{prefix}{exchange.number:024d}",
            "object": "chat.completion",
            "created": int(exchange.now),
            "model": model.id,
            "choices": choices,
            "usage": self._usage(bill),
        }
        if self.name == "openrouter":
            body["provider"] = "Simulated"
        if self.name == "groq":
            body["x_groq"] = {"id": exchange.request_id}
        return body

    def _message(self, completion: Completion) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": completion.text}
        if not completion.reasoning:
            return message
        place = self._flavour.reasoning
        if place == "chunks":
            thoughts = [{"type": "text", "text": completion.reasoning}]
            message["content"] = [
                {"type": "thinking", "thinking": thoughts},
                {"type": "text", "text": completion.text},
            ]
        elif place:
            message[place] = completion.reasoning
        return message

    def _usage(self, bill: Bill) -> dict[str, Any]:
        spoken = bill.output_tokens
        if self._flavour.reasoning_apart:
            spoken -= bill.reasoning_tokens
        usage: dict[str, Any] = {
            "prompt_tokens": bill.input_tokens,
            "completion_tokens": spoken,
            "total_tokens": bill.input_tokens + bill.output_tokens,
        }
        if self.name in _CACHING:
            usage["prompt_tokens_details"] = {"cached_tokens": bill.cache_read_tokens}
            usage["completion_tokens_details"] = {"reasoning_tokens": bill.reasoning_tokens}
        if self.name == "groq":
            usage.update(queue_time=0.001, prompt_time=0.001, completion_time=0.01)
            usage["total_time"] = 0.011
        elif self.name == "openrouter":
            usage["cost"] = bill.nanodollars / 1e9
            usage["is_byok"] = False
        elif self.name == "deepseek":
            usage["prompt_cache_hit_tokens"] = bill.cache_read_tokens
            usage["prompt_cache_miss_tokens"] = bill.input_tokens - bill.cache_read_tokens
        return usage


def read(access: Access, value: dict[str, Any], model: Model) -> chat_prompt.ChatPrompt:
    """Check and measure the messages of a request."""
    for at, message in enumerate(value.get("messages") or ()):
        role = message.get("role") if isinstance(message, dict) else None
        if role == "developer" and "developer" not in access.flavour.roles:
            where = f"messages[{at}].role"
            text = f"'{where}' must be one of {', '.join(access.flavour.roles)}"
            raise Refused(word(access.name, "role", given=role, param=where, message=text))
    prompt = chat_prompt.read(
        value.get("messages"),
        model,
        roles=access.flavour.roles,
        refuse=access.refuse,
        image_tokens=_image_tokens,
    )
    if prompt.images > model.max_images:
        access.refuse(
            f"Too many images provided. This model supports up to {model.max_images} images"
        )
    return prompt


def _cap(value: dict[str, Any], flavour: Flavour) -> int | None:
    """The cap on output that this server understands; None for none."""
    for name in ("max_completion_tokens", "max_tokens"):
        cap = value.get(name)
        if name in flavour.known and cap is not None and cap > 0:
            return int(cap)
    return None


def _effort(value: dict[str, Any], model: Model) -> str:
    if not model.thinks_unasked:
        return ""
    nested = value.get("reasoning") if isinstance(value.get("reasoning"), dict) else None
    return value.get("reasoning_effort") or (nested or {}).get("effort") or model.default_effort


def _image_tokens(model: Model, image: Image | None, detail: str) -> int:
    return _IMAGE_TOKENS
