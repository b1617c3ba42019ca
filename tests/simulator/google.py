"""Google: the Gemini API: answers, counts, batches, models and files; Vertex's first two."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from tests.simulator import chat_reply
from tests.simulator import google_checks as checks
from tests.simulator.brain import Ask, Completion
from tests.simulator.exchange import Answer, Api, Bill, Exchange, Refused, Route
from tests.simulator.google_batches import GoogleBatches
from tests.simulator.google_errors import (
    error,
    no_such_model,
    quota,
    refuse,
    retry_info,
)
from tests.simulator.google_files import Files
from tests.simulator.google_prompt import Prompt, Reader
from tests.simulator.limits import Buckets
from tests.simulator.models import Model
from tests.simulator.promptcache import implicit_prefixes
from tests.simulator.refusals import admit
from tests.simulator.world import World, price

_VERSIONS = ("v1", "v1beta")
_DAY_S = 86_400.0


class Google(Api):
    """``/v1/models/NAME:generateContent`` and its neighbours."""

    name = "google"
    base_path = "/google"

    def __init__(self, world: World, files: Files | None = None) -> None:
        self._world = world
        self.files = Files() if files is None else files

    @cached_property
    def _batches(self) -> GoogleBatches:
        # Batches meet no rate limits.
        later = Google(self._world.without_limits(), self.files)

        def answer(exchange: Exchange, name: str, version: str) -> Answer:
            return later._asked(exchange, name, "generateContent", version)

        return GoogleBatches(self._world, self.files, answer)

    def routes(self) -> Iterable[Route]:
        """Under ``/google``, for both versions; Vertex's under ``projects``."""
        for version in _VERSIONS:
            root = f"/google/{version}"
            yield Route("POST", f"{root}/models/*", self.ask, open=True)
            yield Route("GET", f"{root}/models", self.models)
            yield Route("GET", f"{root}/models/*", self.model)
            yield Route("GET", f"{root}/files", self.files.listed)
            yield Route("GET", f"{root}/files/*", self.files.get_or_download)
            yield Route("DELETE", f"{root}/files/*", self.files.delete)
            yield Route("POST", f"/google/upload/{version}/files", self.upload, open=True)
            yield from self._batches.routes(version)
            yield Route("POST", f"{root}/projects/*", self.vertex, open=True)
        yield Route("GET", "/google/v1/publishers/google/models", self.vertex_models, open=True)
        yield Route("POST", "/google/v1/publishers/google/models/*", self.vertex_express, open=True)
        yield Route("POST", "/google/token", self.token, open=True)

    def admit(self, exchange: Exchange) -> None:
        """Refuse a key that may do nothing."""
        admit(self._world, self.name, exchange)

    def error(self, status: int, message: str = "") -> Answer:
        """An error body with the canonical status that goes with the HTTP status."""
        return error(status, message)

    def dress(self, exchange: Exchange, answer: Answer) -> None:
        """Delays stand in the body: Google sends no header for them."""
        wait = answer.headers.pop("retry-after", None)
        if wait is not None and answer.status >= 400 and isinstance(answer.body, dict):
            told = answer.body.setdefault("error", {})
            told.setdefault("details", []).append(retry_info(float(wait)))
        answer.headers.setdefault("server-timing", "gfet4t7; dur=1")

    def token(self, exchange: Exchange) -> Answer:
        """OAuth: an access token for whoever asks."""
        token = {"access_token": "ya29.simulated", "expires_in": 3600, "token_type": "Bearer"}
        return Answer(token)

    def ask(self, exchange: Exchange) -> Answer:
        """``models/NAME:METHOD``."""
        name, _, method = exchange.tail.partition(":")
        version = exchange.path.split("/")[2]
        if method not in ("generateContent", "countTokens", "batchGenerateContent"):
            raise Refused(error(404, f"Method {method} is not found."))
        admit(self._world, self.name, exchange, asks=True)
        if method == "batchGenerateContent":
            return self._batches.create(exchange, name, version)
        return self._asked(exchange, name, method, version)

    def vertex(self, exchange: Exchange) -> Answer:
        """``projects/P/locations/L/publishers/google/models/NAME:METHOD``."""
        where, _, last = exchange.tail.partition("/publishers/google/models/")
        name, _, method = last.partition(":")
        self._account(exchange)
        if "elsewhere" in where:
            message = (
                "Permission 'aiplatform.endpoints.predict' denied on resource "
                f"'//aiplatform.googleapis.com/projects/{where}/publishers/google/models/{name}' "
                "(or it may not exist)."
            )
            raise Refused(error(403, message))
        return self._asked(exchange, name, method, "v1", counted="vertex count")

    def vertex_express(self, exchange: Exchange) -> Answer:
        """The same with a key, which stands for a project."""
        admit(self._world, self.name, exchange, asks=True)
        name, _, method = exchange.tail.partition(":")
        return self._asked(exchange, name, method, "v1", counted="vertex count")

    def vertex_models(self, exchange: Exchange) -> Answer:
        """The models of Vertex AI, by name only."""
        self._account(exchange)
        known = [m for m in self._world.catalogue.list(self.name) if m.lifecycle != "retired"]
        names = [{"name": f"publishers/google/models/{model.id}"} for model in known]
        return Answer({"publisherModels": names})

    @staticmethod
    def _account(exchange: Exchange) -> None:
        if not exchange.headers.get("Authorization", "").startswith("Bearer ya29."):
            raise Refused(error(401, "Request had invalid authentication credentials."))

    def _asked(
        self, exchange: Exchange, name: str, method: str, version: str, counted: str = "count"
    ) -> Answer:
        exchange.model = name
        model = self._world.catalogue.find(self.name, name)
        if model is None or model.lifecycle == "retired":
            no_such_model(name, version, method)
        if method == "countTokens":
            return self._count(exchange, model, counted)
        return self._generate(exchange, model)

    def _generate(self, exchange: Exchange, model: Model) -> Answer:
        value = checks.body(exchange)
        checks.for_model(value, model)
        prompt = self._reader(exchange, model).read(value)
        now = exchange.now
        buckets = self._world.limits.buckets(self.name, exchange.key, model.id, now)
        self._limit(buckets, now, model, prompt.tokens)
        if prompt.tokens > model.context:
            refuse(
                f"The input token count ({prompt.tokens}) exceeds the maximum number of tokens "
                f"allowed ({model.context})."
            )
        config = value.get("generationConfig", {})
        effort, budget = _effort(config.get("thinkingConfig", {}), model)
        completion = self._world.brain.complete(
            Ask(
                exchange.content,
                model.id,
                prompt.last,
                "\n".join(prompt.everything),
                config.get("maxOutputTokens", model.max_output),
                model.chars_per_token,
                tuple(config.get("stopSequences", ())),
                effort,
                budget,
                config.get("responseJsonSchema") or config.get("responseSchema"),
            )
        )
        bill = self._bill(exchange, model, prompt, completion)
        buckets.take(now, tokens=prompt.tokens, input_tokens=prompt.tokens)
        return Answer(_answer(exchange, config, model, prompt, completion, bill), bill=bill)

    def _count(self, exchange: Exchange, model: Model, schema: str) -> Answer:
        value = checks.body(exchange, schema)
        inner = value.get("generateContentRequest")
        if inner is not None:
            if value.get("contents"):
                refuse("Only one of contents and generate_content_request can be set.")
            if inner.get("model") != f"models/{model.id}":
                refuse("generate_content_request.model must match the model of the request.")
            checks.for_model(inner, model)
            value = inner
        prompt = self._reader(exchange, model).read(value)
        details = _modalities(prompt)
        return Answer({"totalTokens": prompt.tokens, "promptTokensDetails": details})

    def _reader(self, exchange: Exchange, model: Model) -> Reader:
        def bytes_of(uri: str) -> tuple[str, bytes]:
            file = self.files.used(exchange, uri)
            return file.media_type, file.data

        return Reader(model, bytes_of)

    def _bill(
        self, exchange: Exchange, model: Model, prompt: Prompt, completion: Completion
    ) -> Bill:
        bill = Bill(model.id, prompt.tokens)
        if not _blocked(completion):
            bill.output_tokens = completion.output_tokens
            bill.reasoning_tokens = completion.reasoning_tokens
            text = "\n".join(prompt.everything)
            if prompt.text_tokens >= model.cache_minimum:
                prefixes = implicit_prefixes(text, model.chars_per_token)
                bill.cache_read_tokens = self._world.read_cache(
                    exchange, self.name, model.id, prefixes
                )
        return price(bill, model)

    def upload(self, exchange: Exchange) -> Answer:
        """Both steps of an upload; the address of the second is all the right it needs."""
        if "upload_id" in exchange.query:
            return self.files.finish(exchange)
        admit(self._world, self.name, exchange, asks=True)
        return self.files.start(exchange)

    def models(self, exchange: Exchange) -> Answer:
        """A page of the model list."""
        known = [m for m in self._world.catalogue.list(self.name) if m.lifecycle != "retired"]
        size = min(1000, int(exchange.query.get("pageSize", ["50"])[0]))
        start = int(exchange.query.get("pageToken", ["0"])[0])
        page = known[start : start + size]
        body: dict[str, Any] = {"models": [_model_info(model) for model in page]}
        if start + size < len(known):
            body["nextPageToken"] = str(start + size)
        return Answer(body)

    def model(self, exchange: Exchange) -> Answer:
        """One model."""
        model = self._world.catalogue.find(self.name, exchange.tail)
        if model is None or model.lifecycle == "retired":
            no_such_model(exchange.tail, exchange.path.split("/")[2])
        return Answer(_model_info(model))

    def _limit(self, buckets: Buckets, now: float, model: Model, tokens: int) -> None:
        denial = self._world.limits.check(buckets, now, tokens=tokens, input_tokens=tokens)
        if denial is None:
            return
        period = "Day" if buckets.requests.window >= _DAY_S else "Minute"
        quota_id = f"GenerateRequestsPer{period}PerProjectPerModel"
        if denial.what != "requests":
            quota_id = "GenerateContentInputTokensPerModelPerMinute"
        wait = round(denial.wait or 60.0, 3)
        raise Refused(quota(quota_id, str(denial.limit), wait, model.id))


def _effort(config: dict[str, Any], model: Model) -> tuple[str, int | None]:
    """The effort that the brain thinks with, empty for none, and its budget."""
    if "level" in model.thinking:
        return str(config.get("thinkingLevel") or model.default_effort).lower(), None
    if "budget" not in model.thinking:
        return "", None
    budget = config.get("thinkingBudget", -1 if model.thinks_unasked else 0)
    if budget == 0:
        return "", None
    return ("medium", None) if budget == -1 else ("high", budget)


def _blocked(completion: Completion) -> str:
    """Why the prompt was blocked before any model saw it; empty when it was not."""
    category = completion.category or ""
    if completion.kind != "filtered" or not category.startswith("blocked "):
        return ""
    return category.removeprefix("blocked ")


def _answer(
    exchange: Exchange,
    config: dict[str, Any],
    model: Model,
    prompt: Prompt,
    completion: Completion,
    bill: Bill,
) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if reason := _blocked(completion):
        body["promptFeedback"] = {"blockReason": reason}
    elif (completion.category or "") != "nothing":
        body["candidates"] = [_candidate(exchange, config, model, completion)]
    usage: dict[str, Any] = {
        "promptTokenCount": bill.input_tokens,
        "cachedContentTokenCount": bill.cache_read_tokens,
        "candidatesTokenCount": bill.output_tokens - bill.reasoning_tokens,
        "thoughtsTokenCount": bill.reasoning_tokens,
        "totalTokenCount": bill.input_tokens + bill.output_tokens,
    }
    # Numbers that are zero are left out, as protocol buffers do.
    body["usageMetadata"] = {name: count for name, count in usage.items() if count}
    body["usageMetadata"]["promptTokensDetails"] = _modalities(prompt)
    return {**body, "modelVersion": model.id, "responseId": f"sim{exchange.number:019d}"}


def _candidate(
    exchange: Exchange, config: dict[str, Any], model: Model, completion: Completion
) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    thinking = config.get("thinkingConfig", {})
    if thinking.get("includeThoughts") and completion.reasoning:
        parts.append({"text": completion.reasoning, "thought": True})
    finish = "MAX_TOKENS" if completion.truncated else "STOP"
    named = completion.category or ""
    if completion.kind in ("filtered", "failed"):
        finish = named if named.isupper() else "SAFETY"
    if completion.text and completion.kind != "filtered":
        signed = {"thoughtSignature": "c2ln"} if "level" in model.thinking else {}
        parts.append({"text": completion.text, **signed})
    candidate: dict[str, Any] = {"finishReason": finish, "index": 0}
    if completion.kind == "filtered":
        rating = {"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH"}
        candidate["safetyRatings"] = [{**rating, "blocked": True}]
    else:
        # Without parts when all tokens went into thinking.
        candidate["content"] = {"role": "model", **({"parts": parts} if parts else {})}
    if config.get("responseLogprobs"):
        candidate |= _logprobs(completion.text, exchange.content, config.get("logprobs", 0))
    return candidate


def _logprobs(text: str, content: int, top: int) -> dict[str, Any]:
    found = chat_reply.logprobs(text, content, max(1, top))
    chosen = [_token(one) for one in found]
    total = sum(one["logProbability"] for one in chosen)
    result: dict[str, Any] = {"chosenCandidates": chosen, "logProbabilitySum": total}
    if top:
        result["topCandidates"] = [
            {"candidates": [_token(rival) for rival in one["top_logprobs"]]} for one in found
        ]
    return {"avgLogprobs": total / max(1, len(chosen)), "logprobsResult": result}


def _token(one: dict[str, Any]) -> dict[str, Any]:
    token = one["token"]
    number = sum(token.encode()) + 1
    return {"token": token, "tokenId": number, "logProbability": one["logprob"]}


def _modalities(prompt: Prompt) -> list[dict[str, Any]]:
    counts = {"TEXT": prompt.text_tokens, **prompt.media}
    return [{"modality": kind, "tokenCount": n} for kind, n in counts.items() if n]


def _model_info(model: Model) -> dict[str, Any]:
    methods = ["generateContent", "countTokens", "createCachedContent", "batchGenerateContent"]
    if model.id.startswith("gemini-embedding"):
        methods = ["embedContent", "countTokens"]
    return {
        "name": f"models/{model.id}",
        "version": "001",
        "displayName": model.title,
        "description": f"Stable version of {model.title}",
        "inputTokenLimit": model.context,
        "outputTokenLimit": model.max_output,
        "supportedGenerationMethods": methods,
        "temperature": 1,
        "topP": 0.95,
        "topK": 64,
        "maxTemperature": 2,
        **({"thinking": True} if model.thinking & {"budget", "level"} else {}),
    }
