"""How chat turns become one text: with a given template, the model's own, or a default."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from evalbench.engine.calls import Message, TextPart, system, user
from evalbench.engine.calls.messages import system_in_first_turn
from evalbench.engine.errors import CallRejected, SpecError
from evalbench.providers.local.weight_headers import read_gguf

DEFAULT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|' + message['role'] + '|>\n' + message['content'] + '\n\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}"
)
"""Used for chat messages if the model has no template of its own."""


_GENERATION = re.compile(r"\{%-?\s*(end)?generation\s*-?%\}")


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """A Jinja template of chat turns.

    Attributes:
        text: the template.
        origin: where it comes from: the user, the model, or nowhere.
        in_parts: whether turns are passed as lists of parts, as templates of vision models expect,
            instead of strings.
    """

    text: str
    origin: Literal["given", "own", "default"]
    in_parts: bool = False
    merges: bool = False
    """Whether it rejects the system role: the system text then goes into the first user turn."""

    @classmethod
    def choose(cls, given: str | None, own: str | None, *, in_parts: bool) -> ChatTemplate:
        """The template to use: the user's takes precedence over the model's."""
        if given:
            return cls(given, "given", in_parts)
        return cls(own, "own", in_parts) if own else cls(DEFAULT_TEMPLATE, "default")

    @property
    def info(self) -> dict[str, str]:
        """What a run records about it."""
        digest = hashlib.sha256(self.text.encode()).hexdigest()
        facts = {"chat_template": self.origin, "chat_template_sha256": digest}
        return {**facts, "system_text": "in the first user turn"} if self.merges else facts

    def for_model(self, tokenizer: Any) -> ChatTemplate:
        """This template, after testing whether it accepts the system role."""
        turns = (system("-"), user("-"))
        try:
            self.render(tokenizer, turns)
        except CallRejected:
            merging = replace(self, merges=True)
            with contextlib.suppress(CallRejected):
                merging.render(tokenizer, turns)
                return merging
        return self

    def render(self, tokenizer: Any, messages: Sequence[Message], image: str = "") -> str:
        """The turns as one text that ends where the model's answer begins.

        Args:
            tokenizer: the model's.
            messages: the turns.
            image: placeholder for an image where turns are strings.

        Raises:
            CallRejected: the template does not accept these turns.
        """
        if self.merges:
            messages = system_in_first_turn(messages) or messages
        turns = [
            {"role": turn.role, "content": _parts(turn) if self.in_parts else _text(turn, image)}
            for turn in messages
        ]
        try:
            text: str = tokenizer.apply_chat_template(
                turns, chat_template=self.text, tokenize=False, add_generation_prompt=True
            )
        except Exception as error:
            # A template is a program that comes with the model: any exception means that it does
            # not accept these turns.
            raise CallRejected(
                "the model's chat template does not take these messages", why=str(error)
            ) from error
        return text


def _parts(turn: Message) -> list[dict[str, str]]:
    return [
        {"type": "text", "text": part.text} if isinstance(part, TextPart) else {"type": "image"}
        for part in turn.parts
    ]


def _text(turn: Message, image: str) -> str:
    return "".join(part.text if isinstance(part, TextPart) else image for part in turn.parts)


def template_of(path: Path) -> str | None:
    """The template in a model's files: a GGUF file, or a folder saved by transformers."""
    if path.suffix == ".gguf":
        found = read_gguf(path)[0].get("tokenizer.chat_template")
        return found if isinstance(found, str) else None
    if (file := path / "chat_template.jinja").is_file():
        return file.read_text()
    for name in ("chat_template.json", "tokenizer_config.json"):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            found = json.loads((path / name).read_bytes()).get("chat_template")
            if isinstance(found, list):
                # Several with names, as transformers once saved them.
                found = {one["name"]: one["template"] for one in found}.get("default")
            if isinstance(found, str):
                return found
    return None


def check_template(text: str) -> None:
    """Reject a template that is not valid Jinja, before a model is loaded for it.

    Raises:
        SpecError: with the line number of the error.
    """
    from jinja2 import TemplateSyntaxError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    try:
        # The tags that transformers adds to Jinja.
        environment = ImmutableSandboxedEnvironment(extensions=["jinja2.ext.loopcontrols"])
        environment.parse(_GENERATION.sub("", text))
    except TemplateSyntaxError as error:
        raise SpecError(
            "chat_template",
            "--chat-template is no Jinja template",
            why=f"{error.message} (line {error.lineno})",
            hint="give a file or text as it stands in a model's chat_template.jinja",
        ) from None
