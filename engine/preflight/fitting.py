"""Checks whether the local models of a run fit, before anything is downloaded or loaded."""

from __future__ import annotations

import contextlib
import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evalbench.engine.benchmark import Asked, Sample
from evalbench.engine.calls import Prompt, Reply, WorkerProvider
from evalbench.engine.calls.options import parse_options
from evalbench.engine.calls.token_rules import TokenRules
from evalbench.engine.config import registry
from evalbench.engine.config.roles import CANDIDATE, RoleSpec, make_provider
from evalbench.engine.config.spec import RunSpec
from evalbench.engine.cost.tokens import input_tokens, rules_of
from evalbench.engine.data.dataset import ProgressCallback, prepare, read_samples
from evalbench.engine.errors import ProviderError, SpecError, counted
from evalbench.engine.execution.ask import bind
from evalbench.engine.hardware.devices import DeviceMemory, device_memory
from evalbench.engine.hardware.fit import Fit, Loading, Verdict, Work, fit, flag
from evalbench.engine.kept_workers import kept_workers
from evalbench.engine.paths import cache_dir
from evalbench.engine.preflight.rehearsal import rehearsed

_LONGEST = 16
"""How many of the longest samples are checked, in addition to the longest of each group."""

_GROUPS = 64
_TOKENS_HIGH = 1.1
"""Maximum of actual text tokens relative to the estimate by characters; see ``estimate``."""

_MADE_UP_TOKENS = 1024
_WHOLE_CONTEXT = 1 << 40
_KEPT_PREFIXES = 8
"""If there are no answers to write, memory beyond the prompt is used for other prefixes."""


async def fits(spec: RunSpec, file: Path) -> dict[str, Fit]:
    """Whether the run's local models fit, by role; roles that share a worker are listed once.

    Models about which nothing can be known yet are left out: loading them will show.

    Args:
        spec: the run.
        file: its prepared samples.
    """
    # What a cluster's nodes have is known only there.
    parts = [part for part in _workers(spec) if not part.clustered]
    if not parts:
        return {}
    work = await longest(spec, file)
    found: dict[str, Fit] = {}
    taken: dict[str, int] = {}
    for part in parts:
        provider = part.provider()
        assert isinstance(provider, WorkerProvider)
        try:
            footprint = provider.footprint(part.ref.name)
        except ProviderError:
            continue
        if footprint is None:
            continue
        memory = with_kept(device_memory(str(part.provider_options.get("device") or "auto")))
        memory = memory.shared_out(part.settings.workers or 1)
        memory = replace(memory, free=max(0, memory.free - taken.get(memory.device, 0)))
        loading = Loading.chosen(part.provider_options, memory, footprint)
        found[part.role] = one = fit(footprint, memory, loading, work.get(part.role))
        taken[memory.device] = taken.get(memory.device, 0) + one.need.total
    return found


async def fit_models(
    provider: str,
    names: Sequence[str],
    settings: Mapping[str, Any],
    asked: RunSpec | None = None,
    progress: ProgressCallback | None = None,
) -> list[dict[str, Any]]:
    """Whether models fit on this machine.

    Args:
        provider: the models' provider.
        names: the models' names.
        settings: the provider's raw options.
        asked: a run whose longest prompt is assumed, with each model in place of its own
            (default: a prompt of typical length).
        progress: called with the progress of preparation.

    Returns:
        For each ``model``: its ``footprint``, ``device``, ``fit`` and ``error``, a text; None for
        anything unknown. ``hint``: what to do about the error, or an empty text.

    Raises:
        SpecError: the provider runs no models here, or a setting is invalid.
        EvalbenchError: the benchmark's data is not available.
    """
    cls = registry.provider_class(provider)
    values = parse_options(cls.options, settings, f"provider {provider}")
    made = make_provider(cls, values)
    if not isinstance(made, WorkerProvider):
        raise SpecError("model", f"{provider} runs no models on this machine")
    memory = with_kept(device_memory(str(values.get("device") or "auto")))
    found = []
    for name in names:
        facts: dict[str, Any] = {
            "model": name,
            "device": memory.name,
            "footprint": None,
            "fit": None,
            "error": None,
            "hint": "",
        }
        try:
            size = made.footprint(name)
        except ProviderError as error:
            found.append(facts | {"error": error.summary, "hint": error.hint})
            continue
        if size is None:
            found.append(facts | {"error": f"{provider} does not tell the size of its models"})
            continue
        work = await _work(asked, f"{provider}/{name}", progress)
        one = fit(size, memory, Loading.chosen(values, memory, size), work)
        found.append(facts | {"footprint": size.to_json(), "fit": one.to_json()})
    return found


async def _work(
    asked: RunSpec | None, model: str, progress: ProgressCallback | None
) -> Work | None:
    """The largest work that a run asks of a model."""
    if asked is None:
        return None
    spec = replace(asked, model=model)
    return (await longest(spec, prepare(spec, cache_dir(), progress))).get(CANDIDATE)


def with_kept(memory: DeviceMemory) -> DeviceMemory:
    """Models kept from earlier runs are used again, or give way to a new one."""
    on_cpu = memory.device != "cuda"
    reclaimable = sum(one.memory for one in kept_workers() if one.on_cpu == on_cpu)
    return replace(memory, free=min(memory.total, memory.free + reclaimable))


def _workers(spec: RunSpec) -> Iterator[RoleSpec]:
    """The roles whose model needs its own worker."""
    seen: list[tuple[str, Mapping[str, Any]]] = []
    for part in spec.roles().values():
        loaded = part.model, part.provider_options
        if part.key_need is None and loaded not in seen:
            seen.append(loaded)
            if isinstance(part.provider(), WorkerProvider):
                yield part


def refuse_what_does_not_fit(spec: RunSpec, found: Mapping[str, Fit]) -> None:
    """Reject a run with models that cannot fit, before loading them.

    Raises:
        SpecError: with the numbers, and what would fit.
    """
    roles = spec.roles()
    for role, one in found.items():
        if one.verdict in (Verdict.OTHER_FORM, Verdict.DOES_NOT):
            asked = next(iter(one.least))
            hints = [
                f"{flag(form)} ({gigabytes(need)})"
                for form, need in one.least.items()
                if form != asked and need <= one.free
            ]
            raise SpecError(
                "model",
                f"{roles[role].model} does not fit into memory",
                why=f"in {asked} it takes {gigabytes(one.least[asked])} at the least"
                f" ({gigabytes(one.need.process)} of them without weights and prompts), for prompts"
                f" and answers of up to {counted(one.tokens, 'token')};"
                f" {gigabytes(one.free)} are free",
                hint=" or ".join(hints) if hints else "choose a smaller model, or free some memory",
            )


def gigabytes(number: float) -> str:
    """Bytes as text."""
    return f"{number / 1e9:.1f} GB"


async def longest(spec: RunSpec, file: Path) -> dict[str, Work]:
    """The largest work of each role at once, found by running the benchmark without a model.

    Every reply is assumed to have its maximum length, since later turns include it.
    """
    benchmark = rehearsed(spec, file)
    count, samples = _largest(read_samples(file, spec, type(benchmark)))
    roles = spec.roles()
    images = {
        role: part.provider().capabilities(part.ref.name).image_tokens
        for role, part in roles.items()
    }
    asks = _Measuring(roles, images)
    for sample in samples:
        # The benchmark may be unable to handle a made-up reply.
        with contextlib.suppress(Exception):
            await benchmark.solve(sample, asks)
    calls = count * spec.settings.epochs
    return {
        role: Work(tokens, calls if role in asks.writing else _KEPT_PREFIXES)
        for role, tokens in asks.tokens.items()
    }


def _largest(samples: Iterator[Sample]) -> tuple[int, list[Sample]]:
    """The number of samples, and those with the most text: overall, and in each group."""
    count = 0
    groups: dict[tuple[Any, ...], tuple[int, int, Sample]] = {}
    top: list[tuple[int, int, Sample]] = []
    for count, sample in enumerate(samples, 1):
        entry = len(str(sample.inputs)), -count, sample
        group = tuple(sample.tags.values())
        if group in groups or len(groups) < _GROUPS:
            groups[group] = max(groups.get(group, entry), entry, key=lambda one: one[:2])
        push = heapq.heappush if len(top) < _LONGEST else heapq.heappushpop
        push(top, entry)
    return count, list({id(one[2]): one[2] for one in [*top, *groups.values()]}.values())


@dataclass(slots=True)
class _Measuring:
    """An ``ask`` that sends nothing and records the largest request to each role.

    Attributes:
        roles: the models of the roles.
        per_image: tokens per image by role, 0 if they depend on its size.
        tokens: of the longest prompt plus its answer, by role.
        writing: roles that generate text rather than only choose.
    """

    roles: Mapping[str, RoleSpec]
    per_image: Mapping[str, int]
    tokens: dict[str, int] = field(default_factory=dict)
    writing: set[str] = field(default_factory=set)

    async def __call__(
        self, role: str, prompt: Prompt, *, step: str = "answer", repeat: int = 0
    ) -> Reply:
        """Measure the prompt; the reply has its maximum length."""
        part = self.roles.get(role)
        if part:
            prompt = bind(prompt, part.ref, part.overrides(), repeat=repeat).prompt
        rules = rules_of(part.ref) if part else TokenRules()
        alone = replace(prompt, continuations=prompt.continuations[:1])
        counted = input_tokens(alone, rules, per_image=self.per_image.get(role, 0))
        tokens = math.ceil(counted.likely * _TOKENS_HIGH)
        most = 0
        if prompt.kind != "choose":
            self.writing.add(role)
            most = prompt.params.max_tokens or _WHOLE_CONTEXT
        self.tokens[role] = max(self.tokens.get(role, 0), tokens + most)
        words = min(most, _MADE_UP_TOKENS) * rules.characters / len("word ")
        return Reply(
            ("word " * math.ceil(words)).rstrip(), logprobs=(0.0,) * len(prompt.continuations)
        )

    async def many(self, asks: Sequence[Asked]) -> list[Reply]:
        """Measure them all."""
        return [await self(named[0], named[1], step=named[2]) for named in asks]
