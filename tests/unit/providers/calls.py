"""Calls that the provider tests share."""

from __future__ import annotations

from typing import Any

from evalbench.engine.calls import (
    Call,
    MediaPart,
    ModelRef,
    TextPart,
    assistant,
    choose,
    generate,
    system,
    user,
)

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63f8cfc000000301010018dd8db00000000049454e44ae426082"
)
"""A whole image of one pixel."""

IMAGE = MediaPart("image/png", PNG)
FEW_SHOT = "Question: what is two and two?\nAnswer: four\n\n" * 150


def ask(model: str, **params: Any) -> Call:
    """One short question to ``provider/model``."""
    return Call(ModelRef.parse(model), generate("Which letter comes first?", **params))


def talk(model: str, **params: Any) -> Call:
    """A system message and three turns."""
    turns = [
        system("Be brief."),
        user("Name a colour."),
        assistant("Blue."),
        user("Another one."),
    ]
    return Call(ModelRef.parse(model), generate(turns, **params))


def look(model: str, **params: Any) -> Call:
    """A question about an image, in the middle of its text."""
    turns = [user(["What is in ", IMAGE, " this picture?"])]
    return Call(ModelRef.parse(model), generate(turns, **params))


def few_shot(model: str, **params: Any) -> Call:
    """A question behind a long block that many calls share."""
    turns = [system("Be brief."), user([TextPart(FEW_SHOT, shared=True), "Question: and three?"])]
    return Call(ModelRef.parse(model), generate(turns, **params))


def pick(model: str) -> Call:
    """Log-likelihoods of four letters."""
    return Call(ModelRef.parse(model), choose("Which letter?\nAnswer:", [" A", " B", " C", " D"]))
