"""Amazon Bedrock: Converse and CountTokens, lists of the control plane, STS's identity, S3."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn
from urllib.parse import unquote

from tests.simulator import bedrock_checks as checks
from tests.simulator import bedrock_lists as lists
from tests.simulator.bedrock_checks import Caller, refuse
from tests.simulator.bedrock_jobs import Jobs
from tests.simulator.bedrock_models import Offer, offer_of, profiles_in
from tests.simulator.bedrock_prompt import Prompt, Reader
from tests.simulator.bedrock_s3 import ObjectStore, in_s3s_words
from tests.simulator.bedrock_terms import Asked, read_terms
from tests.simulator.brain import Ask, Completion
from tests.simulator.exchange import Answer, Api, Bill, Exchange, Handler, Refused, Route
from tests.simulator.limits import Buckets
from tests.simulator.models import Model
from tests.simulator.refusals import admit
from tests.simulator.statuses import usual
from tests.simulator.world import World, price

ACCOUNT = "123456789012"
_INVALID = "The provided model identifier is invalid."
_DAY_S = 86_400.0


class Bedrock(Api):
    """The runtime, the control plane and STS behind one address, as ``--base-url`` has them."""

    name = "bedrock"
    base_path = "/bedrock"

    def __init__(self, world: World, *, jobs: bool = True) -> None:
        self._world = world
        self._store = ObjectStore(world)
        self._jobs: Jobs | None = None
        if jobs:
            worker = Bedrock(world.without_limits(), jobs=False)
            self._jobs = Jobs(world, self._store, lambda path: worker.asked_in_a_job)

    def routes(self) -> Iterable[Route]:
        """Under ``/bedrock``."""
        return (
            Route("POST", "/bedrock/model/*", self.runtime),
            Route("GET", "/bedrock/foundation-models", self.foundation_models),
            Route("GET", "/bedrock/inference-profiles", self.inference_profiles),
            Route("GET", "/bedrock/foundation-model-availability/*", self.availability),
            Route("POST", "/bedrock", self.identity),
            Route("POST", "/bedrock/", self.identity),
            *(self._job_routes(self._jobs) if self._jobs else ()),
            # What is left is a bucket and a key.
            *(Route(verb, "/bedrock/*", self.objects) for verb in ("PUT", "GET", "HEAD", "DELETE")),
        )

    def _job_routes(self, jobs: Jobs) -> Iterable[Route]:
        def admitted(serve: Callable[[Exchange, Caller], Answer]) -> Handler:
            return lambda exchange: serve(exchange, self._admit(exchange, "bedrock"))

        yield Route("POST", "/bedrock/model-invocation-job", admitted(jobs.create))
        yield Route("POST", "/bedrock/model-invocation-job/*", admitted(jobs.stop))
        yield Route("GET", "/bedrock/model-invocation-job/*", admitted(jobs.get))
        yield Route("GET", "/bedrock/model-invocation-jobs", admitted(jobs.listed))

    def admit(self, exchange: Exchange) -> None:
        """Who asks decides what may be asked, so handlers look at keys themselves."""

    def error(self, status: int, message: str = "") -> Answer:
        """An error of the name that goes with the status."""
        return checks.error(status, message)

    def dress(self, exchange: Exchange, answer: Answer) -> None:
        """The id of the request."""
        answer.headers.setdefault(
            "x-amzn-requestid", f"00000000-0000-4000-8000-{exchange.number:012d}"
        )

    # -- runtime -----------------------------------------------------------------

    def runtime(self, exchange: Exchange) -> Answer:
        """``/model/{id}/converse`` and ``/model/{id}/count-tokens``."""
        quoted, _, operation = exchange.tail.rpartition("/")
        name = unquote(quoted)
        exchange.model = name
        caller = self._admit(exchange, "bedrock")
        if operation == "converse":
            return self._converse(exchange, caller, name)
        if operation == "count-tokens":
            return self._count_tokens(exchange, caller, name)
        raise Refused(Answer({"Output": {"__type": "UnknownOperationException"}}, 404))

    def asked_in_a_job(self, exchange: Exchange) -> Answer:
        """One request of a job, with the signature of the job's creation, hours ago by now."""
        quoted = exchange.path.removeprefix("/bedrock/model/").rpartition("/")[0]
        exchange.model = unquote(quoted)
        caller = checks.caller(exchange, "bedrock", timed=False)
        return self._converse(exchange, caller, exchange.model)

    def _converse(self, exchange: Exchange, caller: Caller, name: str) -> Answer:
        value = checks.body(exchange, "Converse", name)
        model, offer = self._model(name, caller)
        prompt = Reader(model, offer).read(value)
        asked = read_terms(value, model, offer)
        now = exchange.now
        buckets = self._world.limits.buckets(self.name, caller.key, model.id, now)
        self._limit(buckets, now, prompt.tokens)
        if prompt.tokens > model.context:
            if model.id.startswith("anthropic."):
                refuse(
                    f"prompt is too long: {prompt.tokens} tokens > {model.context} maximum",
                    model=True,
                )
            refuse("Input is too long for requested model.")
        completion = self._world.brain.complete(
            Ask(
                exchange.content,
                model.id,
                prompt.last,
                "\n".join(prompt.everything),
                min(asked.cap, model.context - prompt.tokens),
                model.chars_per_token,
                asked.stops,
                asked.effort,
                asked.budget,
                asked.schema,
            )
        )
        bill = self._bill(exchange, model, prompt, completion)
        fresh = bill.input_tokens - bill.cache_read_tokens
        out = bill.output_tokens
        buckets.take(now, tokens=fresh + out, input_tokens=fresh, output_tokens=out)
        crowded = model.context - prompt.tokens < asked.cap
        return Answer(_reply(value, asked, completion, bill, crowded=crowded), bill=bill)

    def _count_tokens(self, exchange: Exchange, caller: Caller, name: str) -> Answer:
        value = checks.body(exchange, "CountTokens", name)
        model, offer = self._model(name, caller, counting=True)
        if not model.id.startswith("anthropic."):
            refuse("The provided model doesn't support counting tokens.")
        if "converse" not in value["input"]:
            refuse("The simulator counts for Converse only.")
        prompt = Reader(model, offer).read(value["input"]["converse"])
        return Answer({"inputTokens": prompt.tokens})

    def _model(self, name: str, caller: Caller, *, counting: bool = False) -> tuple[Model, Offer]:
        """The model behind an id, a profile or an ARN, in the caller's region."""
        region = caller.region
        if name.startswith("arn:"):
            _, _, _, where, _, rest = name.split(":", 5)
            if where != region:
                refuse(_INVALID)
            name = rest.partition("/")[2]
        for model in self._world.catalogue.list(self.name):
            offer = offer_of(model.id)
            if name == model.id:
                if model.lifecycle == "retired":
                    message = (
                        "This model version has reached the end of its life. Please refer to "
                        "the AWS documentation for more details."
                    )
                    raise Refused(checks.error(404, message))
                if region in offer.on_demand:
                    return model, offer
                if profiles_in(model.id, region):
                    if counting:
                        return model, offer
                    refuse(
                        f"Invocation of model ID {name} with on-demand throughput isn’t "
                        "supported. Retry your request with the ID or ARN of an inference "
                        "profile that contains this model."
                    )
            if name in profiles_in(model.id, region) and model.lifecycle != "retired":
                return model, offer
        return refuse(_INVALID)

    def _limit(self, buckets: Buckets, now: float, input_tokens: int) -> None:
        denial = self._world.limits.check(buckets, now, input_tokens=input_tokens)
        if denial is None:
            return
        what = "requests" if denial.what == "requests" else "tokens"
        day = what == "requests" and buckets.requests.window >= _DAY_S
        _throttle("Too many tokens per day" if day else f"Too many {what}")

    def _bill(
        self,
        exchange: Exchange,
        model: Model,
        prompt: Prompt,
        completion: Completion,
    ) -> Bill:
        out = completion.output_tokens
        bill = Bill(
            model.id, prompt.tokens, out, reasoning_tokens=min(completion.reasoning_tokens, out)
        )
        self._world.cache_as_marked(bill, exchange, self.name, prompt.breakpoints)
        return price(bill, model)

    # -- control plane and identity --------------------------------------------------

    def foundation_models(self, exchange: Exchange) -> Answer:
        """ListFoundationModels."""
        caller = self._admit(exchange, "bedrock")
        return lists.foundation_models(self._world, exchange.query, caller.region)

    def inference_profiles(self, exchange: Exchange) -> Answer:
        """ListInferenceProfiles."""
        caller = self._admit(exchange, "bedrock")
        return lists.inference_profiles(self._world, exchange.query, caller.region)

    def availability(self, exchange: Exchange) -> Answer:
        """GetFoundationModelAvailability."""
        caller = self._admit(exchange, "bedrock")
        return lists.availability(self._world, unquote(exchange.tail), caller.region)

    def identity(self, exchange: Exchange) -> Answer:
        """STS's GetCallerIdentity; its errors are XML."""
        try:
            self._admit(exchange, "sts")
            return lists.identity(exchange)
        except Refused as refused:
            return lists.in_xml(refused.answer, exchange.request_id)

    def objects(self, exchange: Exchange) -> Answer:
        """S3; its errors are XML of another kind."""
        try:
            return self._store.serve(exchange, self._admit(exchange, "s3").key)
        except Refused as refused:
            return in_s3s_words(refused.answer)

    def _admit(self, exchange: Exchange, service: str) -> Caller:
        """The caller, unless its key may not do this."""
        caller = checks.caller(exchange, service)
        exchange.key = caller.key
        exchange.notes["region"] = caller.region
        state = self._world.accounts.state(caller.key)
        if state == "wrong":
            if caller.bearer:
                message = "Authentication failed: Please make sure your API Key is valid."
                raise Refused(checks.error(403, message))
            raise Refused(
                checks.error(403, usual("bedrock", 401).message, "UnrecognizedClientException")
            )
        if service == "bedrock" and exchange.method != "GET":
            admit(self._world, self.name, exchange, asks=True)
        return caller


def _throttle(what: str) -> NoReturn:
    raise Refused(checks.error(429, f"{what}, {checks.WAIT}"))


def _reply(
    value: dict[str, Any], asked: Asked, completion: Completion, bill: Bill, *, crowded: bool
) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if completion.reasoning_tokens:
        thought = {"text": completion.reasoning, "signature": "c2lnbmF0dXJl"}
        content.append({"reasoningContent": {"reasoningText": thought}})
    if completion.text:
        content.append({"text": completion.text})
    if completion.kind == "filtered":
        stop = "guardrail_intervened" if "guardrailConfig" in value else "content_filtered"
        content = []
    elif completion.kind == "refusal":
        # Converse has no word of its own for it.
        stop = "content_filtered" if asked.claude else "end_turn"
    elif completion.kind == "failed":
        stop = "malformed_model_output"
    elif completion.truncated:
        stop = "model_context_window_exceeded" if crowded else "max_tokens"
    else:
        stop = "stop_sequence" if completion.stopped_by is not None else "end_turn"
    usage: dict[str, Any] = {
        "inputTokens": bill.input_tokens - bill.cache_read_tokens - bill.cache_write_tokens,
        "outputTokens": bill.output_tokens,
        "totalTokens": bill.input_tokens + bill.output_tokens,
        "cacheReadInputTokens": bill.cache_read_tokens,
        "cacheWriteInputTokens": bill.cache_write_tokens,
    }
    if bill.cache_write_tokens:
        ttl = "1h" if bill.cache_write_1h_tokens else "5m"
        usage["cacheDetails"] = [{"ttl": ttl, "inputTokens": bill.cache_write_tokens}]
    body: dict[str, Any] = {
        "metrics": {"latencyMs": 7},
        "output": {"message": {"content": content, "role": "assistant"}},
        "stopReason": stop,
        "usage": usage,
    }
    for echoed in ("performanceConfig", "serviceTier"):
        if echoed in value:
            body[echoed] = value[echoed]
    return body
