"""Checks before a run that its parameters are compatible for its providers.

A thinking budget above the cap, for example, fails every call of a run in the same way. The first
sample's parameters are translated for the providers, with a one-word question, so that only what
the user set can be at fault.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson

from evalbench.engine.benchmark import Asked, Sample
from evalbench.engine.calls import BaseProvider, Params, Prompt, Reply, user
from evalbench.engine.config.roles import CANDIDATE, JUDGE, RoleSpec
from evalbench.engine.config.spec import RunSpec
from evalbench.engine.errors import CallRejected, SpecError
from evalbench.engine.execution.ask import bind
from evalbench.engine.preflight.rehearsal import rehearsed


async def check_parameters(spec: RunSpec, file: Path) -> None:
    """Check the parameters of the first sample's calls.

    Args:
        spec: the run.
        file: its prepared samples.

    Raises:
        SpecError: a provider could not send a call with these parameters.
    """
    benchmark = rehearsed(spec, file)
    with file.open("rb") as lines:
        ident, tags, inputs, gold = orjson.loads(lines.readline())
    ask = _ParameterCheck(spec.roles())
    # The benchmark may be unable to continue with such replies.
    with contextlib.suppress(Exception):
        await benchmark.solve(Sample(ident, inputs, gold, tags), ask)
    if ask.fault:
        raise ask.fault


@dataclass(slots=True)
class _ParameterCheck:
    """An ``ask`` that sends nothing; ``fault`` is the first rejection."""

    roles: Mapping[str, RoleSpec]
    fault: SpecError | None = None
    providers: dict[str, BaseProvider] = field(default_factory=dict)
    tried: set[tuple[str, Params]] = field(default_factory=set)

    async def __call__(
        self, role: str, prompt: Prompt, *, step: str = "answer", repeat: int = 0
    ) -> Reply:
        unseeded = replace(prompt.params, seed=None)
        if prompt.kind == "generate" and (role, unseeded) not in self.tried:
            self.tried.add((role, unseeded))
            self._try(role, replace(prompt, messages=(user("Hello"),)))
        # Empty replies are not passed to judges.
        return Reply("Hello")

    async def many(self, asks: Sequence[Asked]) -> list[Reply]:
        """Check all of them."""
        return [await self(named[0], named[1]) for named in asks]

    def _try(self, role: str, prompt: Prompt) -> None:
        part = self.roles[role]
        if role not in self.providers:
            self.providers[role] = part.provider()
        try:
            self.providers[role].param_notes(bind(prompt, part.ref, part.overrides()))
        except CallRejected as error:
            budget = part.settings.params.thinking_budget is not None
            name = ("thinking_budget" if budget else "model") if role == CANDIDATE else JUDGE
            self.fault = self.fault or SpecError(
                name, f"{part.model}: {error.what}", why=error.why, hint=error.hint
            )
