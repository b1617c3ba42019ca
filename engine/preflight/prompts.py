"""Previews the prompts of a benchmark's first samples, without a model.

``solve`` runs with an ``ask`` that records the prompts and answers immediately with a short
made-up text, so that later turns and judges are included.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from evalbench.engine.benchmark import SequentialAsk
from evalbench.engine.calls import MediaPart, Prompt, Reply
from evalbench.engine.calls.messages import prompt_to_json
from evalbench.engine.config.roles import RoleSpec
from evalbench.engine.config.spec import RunSpec
from evalbench.engine.data.dataset import read_samples
from evalbench.engine.data.media_headers import image_size
from evalbench.engine.execution.ask import bind
from evalbench.engine.preflight.rehearsal import rehearsed


async def render(spec: RunSpec, file: Path, count: int) -> list[dict[str, Any]]:
    """The prompts of the first samples selected by a run.

    A benchmark that needs a judge but has none yet asks one called ``judge``.

    Args:
        spec: the run.
        file: its prepared samples.
        count: number of samples.

    Returns:
        For each sample its ``id``, ``tags``, ``calls`` in the order asked, and ``unfinished``:
        why it could not be followed to its end, or empty. A call has ``role``, ``step``,
        ``repeat``, ``prompt`` and the made-up ``reply``.
    """
    benchmark = rehearsed(spec, file)
    rendered = []
    for sample in islice(read_samples(file, spec, type(benchmark)), count):
        ask = _Keeping(spec.roles())
        unfinished = ""
        try:
            await benchmark.solve(sample, ask)
        except Exception as error:
            # The benchmark may be unable to handle a made-up reply.
            unfinished = f"{type(error).__name__}: {error}"
        body = {"id": sample.id, "tags": dict(sample.tags)}
        rendered.append({**body, "calls": ask.calls, "unfinished": unfinished})
    return rendered


@dataclass(slots=True)
class _Keeping(SequentialAsk):
    """An ``ask`` that sends nothing and records what it would have sent."""

    roles: Mapping[str, RoleSpec]
    calls: list[dict[str, Any]] = field(default_factory=list)

    async def __call__(
        self, role: str, prompt: Prompt, *, step: str = "answer", repeat: int = 0
    ) -> Reply:
        """Record the prompt as it would be sent; the reply says that it is made up."""
        if part := self.roles.get(role):
            prompt = bind(prompt, part.ref, part.overrides(), repeat=repeat).prompt
        text = f"(made-up reply to {step})" if prompt.kind == "generate" else ""
        asked = {"role": role, "step": step, "repeat": repeat}
        self.calls.append({**asked, "prompt": _to_json(prompt), "reply": text})
        return Reply(text, logprobs=(0.0,) * len(prompt.continuations))


def _to_json(prompt: Prompt) -> dict[str, Any]:
    """The prompt, with the sizes of its media instead of their bytes."""
    body = prompt_to_json(prompt)
    for message, encoded in zip(prompt.messages, body["messages"], strict=True):
        for part, encoded_part in zip(message.parts, encoded["parts"], strict=True):
            if isinstance(part, MediaPart):
                encoded_part["bytes"] = len(part.data)
                if size := image_size(part.data):
                    encoded_part["width"], encoded_part["height"] = size
    return body
