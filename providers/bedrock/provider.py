"""The provider ``bedrock``."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from evalbench.engine.calls import (
    Call,
    Capabilities,
    KeyNeed,
    ModelInfo,
    NetworkOptions,
    Reply,
)
from evalbench.engine.calls.options import record_of, setting
from evalbench.engine.compat import override
from evalbench.engine.errors import (
    AccessDenied,
    BadKey,
    CallRejected,
    NoSuchModel,
    ProviderError,
    ServerFault,
    SpecError,
    counted,
    nearest,
)
from evalbench.providers.bedrock.batches import InvocationJobs, read_place
from evalbench.providers.bedrock.boto import CONTROL, IDENTITY, RUNTIME, Account, Boto
from evalbench.providers.bedrock.catalogue import listed_models
from evalbench.providers.bedrock.credentials import PATTERN, Credentials, read_credentials
from evalbench.providers.bedrock.errors import explain, hidden_status, read_error
from evalbench.providers.bedrock.facts import bedrock_facts, is_claude, least_cached, takes_video
from evalbench.providers.bedrock.names import model_name
from evalbench.providers.bedrock.prepare import BodySettings, prepare, terms
from evalbench.providers.bedrock.read import read_converse
from evalbench.providers.modelfacts import FactsResolver, ModelFacts, Refused
from evalbench.providers.wire.address import api_address
from evalbench.providers.wire.body import Opened, open_good, parsed, read_reply
from evalbench.providers.wire.exchange import Answered, Prepared
from evalbench.providers.wire.negotiated import Agreed
from evalbench.providers.wire.negotiation import Terms
from evalbench.providers.wire.per_loop import OnePerLoop
from evalbench.providers.wire.provider import NetworkProvider, wire_name
from evalbench.providers.wire.reply_scrubbing import SecretScrubber

REGION_VARIABLES = ("AWS_REGION", "AWS_DEFAULT_REGION")
_IDENTITY = re.compile(rb"<Arn>([^<]*)</Arn>")


@dataclass(frozen=True, slots=True, kw_only=True)
class BedrockOptions(NetworkOptions):
    """Options of :class:`Bedrock`."""

    region: str | None = setting(
        None, "AWS region (default: AWS_REGION, or the profile's)", variables=REGION_VARIABLES
    )
    profile: str | None = setting(None, "AWS profile whose credentials to use")
    latency: str | None = setting(
        None,
        "latency optimization; few models offer more than standard",
        choices=("standard", "optimized"),
    )
    service_tier: str | None = setting(
        None,
        "service tier; flex is cheaper and slower, priority is more expensive",
        choices=("default", "priority", "flex", "reserved"),
    )
    prompt_cache: str = setting(
        "5m", "lifetime of cached shared prefixes", choices=("5m", "1h", "off")
    )
    batch_bucket: str | None = setting(None, "s3://BUCKET/FOLDER for batch files")
    batch_role: str | None = setting(
        None, "ARN of the role Bedrock uses to read and write batch files"
    )


class Bedrock(NetworkProvider):
    """Calls models on Amazon Bedrock through its Converse API."""

    name: ClassVar[str] = "bedrock"
    title: ClassVar[str] = "Amazon Bedrock"
    price_table: ClassVar[str] = "aws"
    trace_name: ClassVar[str] = "aws.bedrock"
    extra: ClassVar[str] = "bedrock"
    # As boto3: that of the service before that of all.
    address_variables: ClassVar[tuple[str, ...]] = (
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
        "AWS_ENDPOINT_URL",
    )
    modules: ClassVar[tuple[str, ...]] = ("boto3",)
    takes_batches: ClassVar[bool] = True
    batch_lacks: ClassVar[str] = (
        "batches need a bucket and a role, --batch-bucket and --batch-role, and no API key"
    )
    settings = BedrockOptions()
    key: ClassVar[KeyNeed | None] = KeyNeed(
        variables=("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID"),
        page="https://console.aws.amazon.com/iam/home#/security_credentials",
        pattern=PATTERN,
        required=False,
        parts={"AWS_ACCESS_KEY_ID": ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")},
        profile="AWS_PROFILE",
    )

    def __init__(self, settings: Mapping[str, Any], secret: str = "") -> None:
        own = record_of(BedrockOptions, settings)
        self._profile = own.profile or ""
        self._half_a_key = ""
        try:
            # An explicit profile takes precedence over a key that happens to be set.
            given = Credentials() if self._profile else read_credentials(secret)
        except ValueError as error:
            given, self._half_a_key = Credentials(), str(error)
        self._given = given
        self._region: str = _region(own.region or "")
        address = api_address(
            own.base_url,
            ".".join(filter(None, ("https://bedrock-runtime", self.region, "amazonaws.com"))),
            version="",
            versioned=False,
        )
        super().__init__(settings, secret, address)
        self.scrub = SecretScrubber(*given.secrets)
        if not (given.access_key or given.bearer):
            profile = self._profile or os.environ.get("AWS_PROFILE", "")
            self.account = f"AWS profile {profile or 'default'} in {self.region or 'its region'}"
        self.facts = FactsResolver(self.name, address.host, bedrock_facts)
        cache = own.prompt_cache
        self._habits = BodySettings(
            prompt_cache="" if cache == "off" else cache,
            service_tier=own.service_tier or "",
        )
        self._latency = own.latency or ""
        account = Account(
            given,
            self._profile,
            self.region,
            "" if address.official else address.url,
            self.timeout,
        )
        self._agreed = Agreed()
        self.boto = Boto(account, self._explain, self.scrub.learn)
        place = read_place(bucket) if (bucket := own.batch_bucket) else None
        # Files are in a bucket, which accepts only signed requests.
        role = "" if given.bearer else own.batch_role or ""
        self.batch_api = InvocationJobs(self, self.boto, place, role, self._error)

    @property
    def region(self) -> str:
        """The requested region, from the option or environment; empty: the profile's."""
        if self._region:
            return self._region
        named = (os.environ.get(name, "") for name in REGION_VARIABLES)
        return next(filter(None, map(str.strip, named)), "")

    @property
    def _here(self) -> str:
        """The region in use, even if a profile decides it."""
        clients = self.clients.here()
        return clients.region if clients else self.region

    @property
    def _source(self) -> str:
        """Where the credentials came from, for hints."""
        if self._given.bearer:
            return "AWS_BEARER_TOKEN_BEDROCK, or evalbench keys set bedrock"
        if self._given.access_key:
            return "AWS_ACCESS_KEY_ID and its companions, or evalbench keys set bedrock"
        profile = self._profile or os.environ.get("AWS_PROFILE", "")
        return (
            f"aws sso login --profile {profile}" if profile else "aws sso login, or aws configure"
        )

    def _explain(self, error: BaseException) -> ProviderError:
        return explain(error, self.who, self.scrub, self._source)

    def _error(self, answered: Answered, model: str = "") -> ProviderError:
        return read_error(
            answered, self.who, model, self.scrub, region=self._here, source=self._source
        )

    @classmethod
    @override
    def batch_discount(cls, model: str) -> Literal["", "all", "uncached"]:
        return "all"  # from AWS's price page

    @override
    def capabilities(self, model: str) -> Capabilities:
        facts = self.facts.of(model)
        caches = least_cached(model, facts) if self._habits.prompt_cache else 0
        return Capabilities(
            images=facts.images is not False,
            video=bool(takes_video(model)),
            cached_from=caches,
            cached_for_s=3600.0 if self._habits.prompt_cache == "1h" else 300.0,
            schema=facts.schema is not False,
            thinks=bool(facts.thinks),
            batch=self.batched(model),
            reason="Bedrock gives no log-probabilities",
        )

    def check_model(self, model: str) -> None:
        """Reject impossible model names, and describe the valid form."""
        self.check_name(model)
        if not self.address.official:
            return
        if model.startswith("claude-"):
            raise NoSuchModel(
                f"{self.title} has no model {model!r}",
                why="names begin with the maker, and mostly with where the model may run",
                hint=f"did you mean {self.name}/us.anthropic.{model}?"
                f" See evalbench models {self.name}",
            )
        super().check_model(model)

    def check_secret(self) -> None:
        """Fail before anything is sent if the key cannot work."""
        if self._half_a_key:
            raise BadKey(
                "there is no whole key for Amazon Bedrock",
                why=self._half_a_key,
                hint="set AWS_SECRET_ACCESS_KEY too, or store ACCESS_KEY:SECRET_KEY with"
                f" evalbench keys set {self.name}",
            )
        if self._given.bearer and not self.address.url.startswith("https://"):
            raise BadKey(
                "a Bedrock API key goes over https only",
                why=f"{self.address.url} would show it to everybody on the way",
                hint="use an https address, or a pair of AWS keys, which is only signed with",
            )

    @override
    def prepared(self, call: Call, refused: Refused) -> Prepared:
        if call.prompt.kind != "generate":
            raise CallRejected("Bedrock gives no likelihoods of given texts")
        facts = self.facts.of(wire_name(call))
        return prepare(call, facts, self.agreed(call, facts, refused), self._habits)

    @override
    def agreed(self, call: Call, facts: ModelFacts, refused: Refused) -> Terms:
        model, params = wire_name(call), call.prompt.params
        claude = model_name(model).plain if is_claude(model) else ""
        return self._agreed.of(
            call,
            facts,
            refused,
            lambda: terms(params, facts, refused, claude=claude, latency=self._latency),
        )

    @property
    @override
    def clients(self) -> OnePerLoop[Any]:
        return self.boto.clients

    @override
    async def send(self, prepared: Prepared) -> Answered:
        return await self.boto.call(RUNTIME, "converse", modelId=prepared.model, **prepared.body)

    async def get(self, path: str) -> Answered:
        """Call the control plane; ``path`` is the operation's boto3 name."""
        return await self.boto.call(CONTROL, path)

    @override
    def read(self, answered: Answered, prepared: Prepared) -> Reply:
        opened = open_good(answered, self.who, self.scrub, hidden_status)
        if not isinstance(opened, Opened):
            raise self._error(opened, prepared.model)
        return read_reply(
            opened,
            prepared,
            self.who,
            self.scrub,
            lambda body, arrival: read_converse(body, arrival, prepared.model),
            None,
            "x-amzn-requestid",
        )

    @override
    async def key_report(self) -> str:
        """Ask AWS whose key it is; then list what it can access, if permitted."""
        whose = ""
        if not self._given.bearer:
            answered = await self.boto.call(IDENTITY, "get_caller_identity")
            if answered.status != 200:
                raise self._error(answered)
            if found := _IDENTITY.search(answered.body):
                whose = f" of {self.scrub.identity(found[1].decode('utf-8', 'replace'))}"
        try:
            sees = f"it sees {counted(len(await self.fetch_models()), 'model')} in {self._here}"
        except AccessDenied:
            if not whose:
                raise
            sees = f"it may not list models in {self._here}, which runs do not need"
        return f"{self.title} accepts the key{whose}; {sees}"

    @override
    async def fetch_models(self) -> list[ModelInfo]:
        foundations = await self._listed("list_foundation_models", "modelSummaries")
        profiles = await self._listed(
            "list_inference_profiles",
            "inferenceProfileSummaries",
            typeEquals="SYSTEM_DEFINED",
            maxResults=1000,
        )
        try:
            return listed_models(
                foundations, profiles, lambda name: self.facts.of(name).context_tokens
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ServerFault("Bedrock's model list cannot be read", why=str(error)) from None

    async def _listed(self, operation: str, field: str, **query: Any) -> list[Any]:
        """All pages of a control plane list."""
        listed: list[Any] = []
        while True:
            answered = await self.boto.call(CONTROL, operation, **query)
            if answered.status != 200:
                raise self._error(answered)
            body = parsed(answered, self.who, self.scrub)
            listed += body.get(field) or []
            following = body.get("nextToken")
            if not following or following == query.get("nextToken"):
                return listed
            query["nextToken"] = following

    async def _with_nearest(self, error: NoSuchModel, model: str) -> NoSuchModel:
        """The error with the model's names in the region, or similar ones."""
        if model_name(model).region not in ("", self._here):
            return error
        await self._aside("names", self._learn_names)
        base = model_name(model).base
        bases = [(name, model_name(name).base) for name in self._names if base]
        same = [name for name, other in bases if other == base]
        same = same or [name for name, other in bases if other.startswith(f"{base}-")]
        if same and model not in same:
            error.hint = "did you mean " + " or ".join(f"{self.name}/{name}" for name in same) + "?"
        elif not same and (hint := nearest(model, self._names)):
            error.hint = f"{hint} Or another --region"
        return error


def _region(name: str) -> str:
    """A region; it becomes part of the host that requests are signed for.

    Raises:
        SpecError: it is invalid.
    """
    if name and not re.fullmatch(r"[A-Za-z0-9-]{1,63}", name):
        raise SpecError(
            "region", f"{name!r} is no AWS region", hint="for example --region us-east-1"
        )
    return name
