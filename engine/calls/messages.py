"""What is asked: parts, messages, parameters, prompts and calls.

A ``Prompt`` is written by a benchmark and names no model. Bound to a model it is a ``Call``,
the durable unit of the journal. ``Call.content_hash`` covers the model, the messages (media by
hash) and the requested parameters, and nothing else: not the mode, base URL, time-outs or
parameters dropped by a provider, so the same question keeps its answer wherever it was asked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

from evalbench.engine.calls.params import Params
from evalbench.engine.calls.values import value_object

Role = Literal["system", "user", "assistant", "context"]
"""``context`` is raw text for the model to continue: no chat template is applied."""

Kind = Literal["generate", "choose"]


@value_object
class TextPart:
    """Text. ``shared`` marks a prefix that many calls repeat (few-shot block, rubric).

    The journal stores shared text once, a local model computes it once, and providers may
    cache it. The mark is not part of a call's identity.
    """

    text: str
    shared: bool = False


@dataclass(frozen=True, slots=True)
class MediaPart:
    """An image or other binary input, identified by the SHA-256 of its bytes."""

    media_type: str
    data: bytes = field(repr=False)
    sha256: str = ""

    def __post_init__(self) -> None:
        if not self.sha256:
            object.__setattr__(self, "sha256", hashlib.sha256(self.data).hexdigest())


Part = TextPart | MediaPart


@value_object
class Message:
    """One turn: a role and its parts, in order."""

    role: Role
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """All text parts joined without a separator."""
        return "".join(p.text for p in self.parts if isinstance(p, TextPart))

    def canonical(self) -> list[Any]:
        """The identity of this message: adjacent texts merged, media by hash."""
        out: list[Any] = [self.role]
        run: list[str] = []
        for part in self.parts:
            if isinstance(part, TextPart):
                run.append(part.text)
                continue
            if run:
                out.append("".join(run))
                run = []
            out.append([part.media_type, part.sha256])
        if run:
            out.append("".join(run))
        return out


def _parts(content: str | Part | Iterable[str | Part]) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (TextPart(content),)
    items = [content] if isinstance(content, TextPart | MediaPart) else list(content)
    return tuple(TextPart(item) if isinstance(item, str) else item for item in items)


def system(content: str | Part | Iterable[str | Part]) -> Message:
    """A system message."""
    return Message("system", _parts(content))


def user(content: str | Part | Iterable[str | Part]) -> Message:
    """A user message."""
    return Message("user", _parts(content))


def assistant(content: str | Part | Iterable[str | Part]) -> Message:
    """An earlier (or few-shot) answer by the assistant."""
    return Message("assistant", _parts(content))


@dataclass(frozen=True, slots=True)
class ModelRef:
    """A model as named by the user: ``provider/name``, with an optional pinned revision."""

    provider: str
    name: str
    revision: str = ""

    @classmethod
    def parse(cls, text: str) -> ModelRef:
        """Parse ``provider/name`` or ``provider/name@revision``. The name may contain slashes.

        Raises:
            ValueError: the provider or the name is missing.
        """
        provider, slash, rest = text.partition("/")
        name, _, revision = rest.partition("@")
        if not slash or not provider or not name:
            raise ValueError(text)
        return cls(provider, name, revision)

    def __str__(self) -> str:
        return f"{self.provider}/{self.name}" + (f"@{self.revision}" if self.revision else "")


_NOTHING_ASKED = Params()


@value_object
class Prompt:
    """A question without a model.

    Attributes:
        kind: ``generate`` asks for text; ``choose`` asks for the log-likelihood of each
            continuation after the messages.
        messages: the conversation; for raw text a single message of role ``context``.
        continuations: the texts to score, for ``choose`` only.
        params: requested parameters, for ``generate`` only.
    """

    kind: Kind
    messages: tuple[Message, ...]
    continuations: tuple[str, ...] = ()
    params: Params = _NOTHING_ASKED


def generate(messages: Iterable[Message] | str, **params: Any) -> Prompt:
    """Ask for text. ``messages`` may be a plain string: one user turn.

    Keyword arguments are the fields of :class:`Params`; ``schema`` may be a mapping. Its key
    order is kept, because models write an object's fields in that order.
    """
    turns = (user(messages),) if isinstance(messages, str) else tuple(messages)
    params.setdefault("max_tokens", 1024)
    schema = params.get("schema")
    if schema is not None and isinstance(schema, Mapping):
        params["schema"] = orjson.dumps(schema).decode()
    return Prompt("generate", turns, params=Params(**params))


def choose(context: str | Part | Iterable[str | Part], continuations: Iterable[str]) -> Prompt:
    """Ask for the log-likelihood (natural log) of each continuation of a raw context."""
    return Prompt("choose", (Message("context", _parts(context)),), tuple(continuations))


@value_object
class Call:
    """One request to one model: a prompt bound to a model."""

    model: ModelRef
    prompt: Prompt

    @property
    def content_hash(self) -> bytes:
        """SHA-256 (first 16 bytes) of the canonical call."""
        prompt = self.prompt
        canonical = [
            str(self.model),
            prompt.kind,
            [message.canonical() for message in prompt.messages],
            prompt.continuations,
            prompt.params.asked(),
        ]
        return hashlib.sha256(orjson.dumps(canonical, option=orjson.OPT_SORT_KEYS)).digest()[:16]


def prompt_to_json(prompt: Prompt) -> dict[str, Any]:
    """The JSON form read by :func:`prompt_from_json`; media bytes are left out."""
    return {
        "kind": prompt.kind,
        "messages": [
            {
                "role": message.role,
                "parts": [
                    {"text": part.text, **({"shared": True} if part.shared else {})}
                    if isinstance(part, TextPart)
                    else {"media_type": part.media_type, "sha256": part.sha256}
                    for part in message.parts
                ],
            }
            for message in prompt.messages
        ],
        **({"continuations": list(prompt.continuations)} if prompt.continuations else {}),
        **({"params": asked} if (asked := prompt.params.asked()) else {}),
    }


def prompt_from_json(value: Mapping[str, Any], media: Mapping[str, bytes] | None = None) -> Prompt:
    """Inverse of :func:`prompt_to_json`; ``media`` maps SHA-256 to bytes."""
    known = media or {}
    messages = tuple(
        Message(
            message["role"],
            tuple(
                TextPart(part["text"], bool(part.get("shared")))
                if "text" in part
                else MediaPart(part["media_type"], known.get(part["sha256"], b""), part["sha256"])
                for part in message["parts"]
            ),
        )
        for message in value["messages"]
    )
    params = dict(value.get("params", {}))
    if "stop" in params:
        params["stop"] = tuple(params["stop"])
    return Prompt(value["kind"], messages, tuple(value.get("continuations", ())), Params(**params))


def call_to_json(call: Call) -> dict[str, Any]:
    """The JSON form read by :func:`call_from_json`."""
    model = {"provider": call.model.provider, "name": call.model.name}
    if call.model.revision:
        model["revision"] = call.model.revision
    return {"model": model, "prompt": prompt_to_json(call.prompt)}


def call_from_json(value: Mapping[str, Any], media: Mapping[str, bytes] | None = None) -> Call:
    """Inverse of :func:`call_to_json`."""
    return Call(ModelRef(**value["model"]), prompt_from_json(value["prompt"], media))


def system_in_first_turn(messages: Sequence[Message]) -> tuple[Message, ...] | None:
    """Move system text to the start of the first user turn.

    For models whose chat template has no system role. None if there is no system message, or
    no user turn to put it into.
    """
    above = [message for message in messages if message.role == "system"]
    turns = [message for message in messages if message.role != "system"]
    if not above or not turns or turns[0].role != "user":
        return None
    text = "\n\n".join(message.text for message in above)
    first = Message("user", (TextPart(f"{text}\n\n"), *turns[0].parts))
    if all(isinstance(part, TextPart) for part in first.parts):
        first = Message("user", (TextPart(first.text),))
    return (first, *turns[1:])
