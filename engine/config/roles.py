"""The roles of a run: the candidate, and judges with their own settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from evalbench.engine.calls import (
    PARAM_OPTIONS,
    BaseProvider,
    BatchTerms,
    Capabilities,
    KeyNeed,
    ModelRef,
    Params,
    WorkerProvider,
)
from evalbench.engine.calls.options import (
    Option,
    options_of,
    parse_options,
    record_of,
    setting,
    values_of,
)
from evalbench.engine.config import registry
from evalbench.engine.errors import SpecError, nearest
from evalbench.engine.installed import install_command, require

CANDIDATE = "candidate"
JUDGE = "judge"

ANSWERS = "answers"
"""The provider of answers that already exist; it makes no calls."""


def answers_model(names: Sequence[str]) -> str:
    """The model of a run whose answers come from these contestants; empty for none."""
    return f"{ANSWERS}/{'+'.join(names)}" if names else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleSettings:
    """Settings of one model in a run. The run's own are the candidate's; judges have theirs."""

    concurrency: int | None = setting(
        None, "maximum concurrent calls (default: adaptive)", minimum=1, maximum=10_000
    )
    qps: float | None = setting(None, "maximum calls per second", minimum=0.001)
    tpm: int | None = setting(None, "maximum tokens per minute, prompts and replies", minimum=1)
    attempts: int = setting(
        8, "attempts per call before it counts as failed", minimum=1, maximum=100
    )
    params: Params = field(default_factory=Params)
    thinking_room: int | None = setting(
        None,
        "extra tokens for reasoning on top of the benchmark's limit (default: "
        "--thinking-budget if given, 8192 for models that always reason, otherwise 0)",
        minimum=0,
    )
    key: str | None = setting(None, "name of the keychain key to use", metavar="NAME")
    mode: str | None = setting(
        None,
        "how to send calls: realtime (the default); batch, the provider's batch API, cheaper and"
        " done within hours; auto, batch if it saves enough; cluster, local models on a Ray cluster"
        " (--address); also applies to judges that support it",
        choices=("realtime", "batch", "auto", "cluster"),
    )
    batch_size: int | None = setting(
        None,
        "maximum calls per batch; also applies to judges without their own",
        minimum=1,
    )
    workers: int | None = setting(
        None,
        "worker processes for a local model, each with its own GPU or share of the CPU "
        "(default: one over all GPUs; on a cluster, one per GPU or node)",
        minimum=1,
        maximum=1024,
    )


ROLE_OPTIONS = options_of(RoleSettings)
"""The settings of one model as options."""

PARAMS = tuple(option.name for option in PARAM_OPTIONS)
"""The settings of one model that are call parameters."""

THINKING_ROOM = 8192
"""Benchmarks cap the answer; a reasoning model would be cut off before it answers."""


@dataclass(frozen=True, slots=True)
class RoleSpec:
    """One model in a run.

    Attributes:
        role: ``candidate``, or ``judge/`` and the model.
        model: ``provider/name[@revision]``.
        settings: the model's settings.
        provider_options: the provider's own options by name.
        seed: sampling seed; 0, the default of every run, requests none.
    """

    role: str
    model: str
    settings: RoleSettings = field(default_factory=RoleSettings)
    provider_options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0

    @property
    def ref(self) -> ModelRef:
        """The model as a reference."""
        return ModelRef.parse(self.model)

    @property
    def wire_name(self) -> str:
        """The model's name at its provider, including its revision."""
        ref = self.ref
        return f"{ref.name}@{ref.revision}" if ref.revision else ref.name

    def get(self, name: str) -> Any:
        """The value of a setting, by option name."""
        return values_of(self.settings)[name]

    @property
    def key_need(self) -> KeyNeed | None:
        """The key that the provider needs; None if it needs none."""
        return registry.provider_class(self.ref.provider).key

    @property
    def batched(self) -> bool:
        """Whether its calls are sent in batches."""
        return self.settings.mode == "batch"

    @property
    def clustered(self) -> bool:
        """Whether it runs on the nodes of a cluster."""
        return self.settings.mode == "cluster"

    def batch_terms(self) -> BatchTerms | None:
        """What its provider accepts in one batch; None if there are no batches."""
        api = self.provider().batch_api
        return api.terms(self.wire_name) if api else None

    @property
    def service_tier(self) -> str:
        """The service tier used for prices; empty for standard."""
        return str(self.provider_options.get("service_tier") or "")

    @property
    def video_fps(self) -> float:
        """Frames that the model samples per second of video."""
        return float(self.provider_options.get("video_fps") or 1.0)

    def provider(self, secret: str = "") -> BaseProvider:
        """The provider, built with its options and key."""
        cls = registry.provider_class(self.ref.provider)
        return make_provider(cls, self.provider_options, secret)

    def overrides(self) -> dict[str, object]:
        """The parameters that override the benchmark's, see ``ask.bind``."""
        chosen: dict[str, object] = self.settings.params.asked()
        if self.seed:
            # Every API accepts these; a run's seed may be any integer.
            chosen["seed"] = self.seed % 2**31
        if room := self._thinking_room():
            chosen["thinking_room"] = room
        return chosen

    def _thinking_room(self) -> int:
        params = self.settings.params
        if self.settings.thinking_room is not None:
            return self.settings.thinking_room
        if params.thinking_budget is not None:
            return params.thinking_budget
        if params.effort == "none":
            return 0
        thinks = self.provider().capabilities(self.ref.name).thinks
        return THINKING_ROOM if thinks or params.effort else 0

    def require_packages(self) -> None:
        """Fail if the provider needs packages for this model that are not installed.

        Raises:
            UsageError: that, with the command that installs them.
        """
        provider = self.provider()
        require(provider.extra, self.model, *provider.modules_for(self.ref.name))

    def check(
        self,
        needs: Iterable[str],
        who: str,
        otherwise: Callable[[Capabilities], str] | None = None,
    ) -> None:
        """Checks that need the provider: does it know the model, and can it answer these calls?

        Args:
            needs: kinds of calls.
            who: what asks them, for the error message.
            otherwise: returns settings that restrict the benchmark to calls the model can
                answer; empty if there are none.

        Raises:
            SpecError: the model does not support what is asked.
            NoSuchModel: the provider has no such model.
            UsageError: packages that it needs are not installed.
        """
        self.require_packages()
        provider, name = self.provider(), self.ref.name
        provider.check_model(name)
        able = provider.capabilities(name)
        if self.batched and self.batch_terms() is None:
            raise SpecError(
                "mode",
                f"{self.ref.provider} takes no batches of {name}",
                why=provider.batch_lacks or "it has no batch API that evalbench knows",
                hint="leave --mode batch out",
            )
        self._check_workers(provider)
        for need in sorted(needs):
            if not getattr(able, need):
                other = otherwise(able) if otherwise else ""
                raise SpecError(
                    "model" if self.role == CANDIDATE else JUDGE,
                    f"{self.model} cannot answer the {need!r} calls that {who} makes",
                    why="" if need == "video" else able.reason,
                    hint=other or f"see evalbench benchmarks {who} for options that ask otherwise",
                )

    def _check_workers(self, provider: BaseProvider) -> None:
        if self.clustered and not isinstance(provider, WorkerProvider):
            raise SpecError(
                "mode",
                f"{self.ref.provider} is asked over the network, not on a cluster",
                why="--mode cluster is for models that run in workers of ours; limits of a"
                " provider hold for a key, however many machines use it",
                hint="leave --mode cluster out",
            )
        if self.clustered and find_spec("ray") is None:
            raise SpecError(
                "mode",
                "--mode cluster needs Ray, which is not installed",
                hint=f"on every node: {install_command('cluster')}",
            )
        if self.settings.workers and not isinstance(provider, WorkerProvider):
            raise SpecError(
                "workers",
                f"{self.model} does not run in a worker of evalbench",
                why="--workers is for models on this machine",
                hint="for calls in flight at once there is --concurrency",
            )


def make_provider(
    cls: type[BaseProvider], settings: Mapping[str, Any], secret: str = ""
) -> BaseProvider:
    """A provider built from its class; if it takes no key, none is passed."""
    return cls(settings, secret if cls.key else "")


def environment_address(provider: str) -> tuple[str, str] | None:
    """The variable that overrides a provider's address, as its SDK reads it, and the address."""
    cls = registry.provider_class(provider)
    for variable in cls.address_variables:
        if address := os.environ.get(variable, "").strip():
            return variable, address
    return None


def with_address(provider: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """A provider's settings, with the address from the environment unless one is given.

    It is stored with the run's settings, so that the record shows where its calls were sent.
    """
    if settings.get("base_url"):
        return dict(settings)
    if found := environment_address(provider):
        return {**settings, "base_url": found[1]}
    cls = registry.provider_class(provider)
    own = cls.own_address or ""
    # Defined by the user: their own server, or an address with parts to fill in.
    if cls.configured or "{" in own:
        return {**settings, "base_url": cls.address_in(settings)}
    return dict(settings)


def standing(
    cls: type[BaseProvider], options: Iterable[Option], base_url: str | None = None
) -> dict[str, Any]:
    """Raw option values of the user's own server, and the vendor's limits, where none is given.

    ``base_url``: a different address, to which the vendor's limits do not apply.
    """
    known = dict(cls.defaults)
    if not base_url and (most := cls.published.requests_per_minute):
        known.setdefault("qps", most / 60)
    if not base_url and (most := cls.published.tokens_per_minute):
        known.setdefault("tpm", most)
    return {option.name: known[option.name] for option in options if option.name in known}


def texts_of(provider: str, settings: Mapping[str, Any]) -> list[str]:
    """The headers and query parameters of a provider's requests, which may name variables."""
    cls = registry.provider_class(provider)
    own = [*cls.own_headers.values(), *cls.own_query.values()]
    return [*own, *(settings.get("header") or ()), *(settings.get("query") or ())]


def parse_model(text: str) -> ModelRef:
    """Parse a model as entered by the user.

    Raises:
        SpecError: with the expected form and the available providers.
    """
    try:
        text.encode()  # fails for text that no file could store
        ref = ModelRef.parse(text)
    except ValueError:
        raise SpecError(
            "model",
            f"{text!r} does not name a model",
            why="a model is written provider/name, for example local/smollm2-135m-instruct",
            hint="providers: " + ", ".join(registry.provider_names()),
        ) from None
    registry.provider_class(ref.provider)
    return ref


def parse_judge(text: str) -> RoleSpec:
    """Parse a judge as entered by the user: ``PROVIDER/NAME[,setting=value…]``.

    Settings are those of :data:`ROLE_OPTIONS` and of the model's provider, with dashes or
    underscores.

    Raises:
        SpecError: unknown setting or invalid value.
    """
    model, *rest = (part.strip() for part in text.split(","))
    provider = registry.provider_class(parse_model(model).provider)
    owners = {option.name: "role" for option in ROLE_OPTIONS}
    owners |= {option.name: "provider" for option in provider.options}
    given: dict[str, dict[str, Any]] = {"role": {}, "provider": {}}
    for part in rest:
        name, sign, value = part.partition("=")
        name = name.strip().replace("-", "_")
        if name not in owners or not sign:
            raise SpecError(
                JUDGE,
                f"--judge cannot be {text!r}",
                why=f"{part!r} is no setting of a judge",
                hint=nearest(name, owners) or "--judge PROVIDER/NAME,temperature=0,qps=10",
            )
        many = next(o.many for o in (*ROLE_OPTIONS, *provider.options) if o.name == name)
        values = given[owners[name]]
        values[name] = [*values.get(name, []), value.strip()] if many else value.strip()
    role, theirs = given["role"], given["provider"]
    own = {**standing(provider, ROLE_OPTIONS, theirs.get("base_url")), **role}
    return RoleSpec(
        f"{JUDGE}/{model}",
        model,
        record_of(RoleSettings, parse_options(ROLE_OPTIONS, own, f"judge {model}")),
        parse_options(
            provider.options,
            {**standing(provider, provider.options), **theirs},
            f"provider {provider.name}",
        ),
    )
