"""Prompt templates: texts with ``{names}`` to fill in, and files that replace them."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from evalbench.engine.calls.messages import Message, TextPart, system, user
from evalbench.engine.calls.options import Option
from evalbench.engine.errors import SpecError, nearest
from evalbench.engine.files import parse_toml

OWN = "evalbench"
"""The name of evalbench's own prompts."""

ORIGINAL = "original"
"""The name of the prompts of the system that a benchmark comes from."""

_HOLE = re.compile(r"\{\{|\}\}|\{(\w+)\}")


def fill(template: str, values: Mapping[str, str]) -> str:
    """Replace the ``{names}`` of a template; doubled braces become single ones.

    Values are not treated as templates, and a name without a value is left as it is.
    """

    def put(hole: re.Match[str]) -> str:
        if hole[1] is None:
            return hole[0][0]
        return values.get(hole[1], hole[0])

    return _HOLE.sub(put, template)


def placeholders(template: str) -> set[str]:
    """The names in braces in a template."""
    return {hole[1] for hole in _HOLE.finditer(template) if hole[1]}


def filled_parts(
    template: str, values: Mapping[str, str], shared: Collection[str] = ()
) -> list[TextPart]:
    """The parts of a message; the text before the first name not in ``shared`` is one part.

    It is shared by many calls, so that providers can cache it.
    """
    own = (hole.start() for hole in _HOLE.finditer(template) if hole[1] and hole[1] not in shared)
    at = next(own, len(template))
    head, rest = fill(template[:at], values), fill(template[at:], values)
    parts = [TextPart(head, shared=True)] if head and rest else []
    return [*parts, TextPart(rest or head)]


@dataclass(frozen=True, slots=True)
class Template:
    """One prompt template of a benchmark.

    Attributes:
        user: the user message, or the text to be continued.
        may: the names it may have in braces, each with its meaning.
        must: the names without which the model would not see the question.
        system: the system message; empty for none.
        takes_system: whether a system message is allowed.
    """

    user: str
    may: Mapping[str, str]
    must: tuple[str, ...]
    system: str = ""
    takes_system: bool = True

    def messages(
        self, values: Mapping[str, str], shared: Collection[str] | None = None
    ) -> list[Message]:
        """The filled messages.

        Args:
            values: by name.
            shared: the names that have the same value in many calls, so that providers can cache
                what comes before all others (:func:`filled_parts`); None if nothing is shared.
        """
        if shared is None:
            asked = user(fill(self.user, values))
        else:
            asked = user(filled_parts(self.user, values, shared))
        return [system(fill(self.system, values)), asked] if self.system else [asked]


def prompt_option(*sets: str) -> Option:
    """``--prompt``: a named set, or a file of templates."""
    named = f"{ORIGINAL}, the exact wording of the original benchmark; or a"
    return Option(
        "prompt",
        str,
        None,
        f"{named if sets else 'a'} TOML file of templates, as evalbench benchmarks NAME --template"
        " prints it (default: evalbench's own wording)",
        choices=(OWN, *sets),
        path="text",
    )


def prompt_set_name(chosen: str | None) -> str:
    """The display name of a run's prompts: a set's name, or the hash of the file's text."""
    if chosen in (None, OWN):
        return OWN
    assert chosen
    if "\n" not in chosen and "{" not in chosen:
        return chosen
    return f"from a file (sha256 {hashlib.sha256(chosen.encode()).hexdigest()[:12]})"


def chosen_templates(
    chosen: str | None,
    own: Mapping[str, Template],
    sets: Mapping[str, Mapping[str, Template]] | None = None,
) -> Mapping[str, Template] | None:
    """The templates selected by ``--prompt``; None for the benchmark's own prompts.

    Args:
        chosen: the option's value: a set's name, or the text of a file.
        own: the benchmark's templates by name; those not in the file stay.
        sets: named sets.

    Raises:
        SpecError: it is not a template file, or one of its templates cannot be filled.
    """
    if chosen in (None, OWN):
        return None
    assert chosen
    if sets and chosen in sets:
        return {**own, **sets[chosen]}
    tables = prompt_tables(chosen, own)
    return {**own, **{name: _read(name, table, own[name]) for name, table in tables.items()}}


def prompt_tables(chosen: str, known: Collection[str]) -> Mapping[str, Mapping[str, str]]:
    """The tables of a prompt file, all of texts.

    Raises:
        SpecError: it is not such a file, or has other tables than the known ones.
    """
    try:
        tables = parse_toml(chosen)
    except tomllib.TOMLDecodeError as error:
        raise wrong_prompt("the prompt file is not TOML", str(error)) from None
    if not tables:
        raise wrong_prompt("the prompt file is empty", "it has tables " + _listed(known))
    for name, table in tables.items():
        if name not in known:
            why = _listed(known)
            raise wrong_prompt(f"there is no prompt {name!r} here", why, nearest(name, known))
        if not isinstance(table, dict) or not all(isinstance(one, str) for one in table.values()):
            raise wrong_prompt(f"[{name}] is no table of texts", 'write user = """…"""')
    return tables


def _read(name: str, table: Mapping[str, str], own: Template) -> Template:
    if strange := sorted(set(table) - {"user", "system"}):
        raise wrong_prompt(f"[{name}] has {strange[0]!r}", "it may have user and system")
    user, system = table.get("user", own.user), table.get("system", own.system)
    if system and not own.takes_system:
        raise wrong_prompt(f"[{name}] has a system message", "it is raw text to be continued")
    used = placeholders(user) | placeholders(system)
    if unknown := sorted(used - set(own.may)):
        raise wrong_prompt(
            f"[{name}] has an unknown placeholder {{{unknown[0]}}}",
            "it may name " + ", ".join(f"{{{one}}}" for one in own.may),
            "write braces that are text twice: {{ }}",
        )
    if lacking := [one for one in own.must if one not in used]:
        raise wrong_prompt(f"[{name}] lacks {{{lacking[0]}}}", own.may[lacking[0]])
    return Template(user, own.may, own.must, system, own.takes_system)


def wrong_prompt(what: str, why: str, hint: str = "") -> SpecError:
    """The error for a prompt file."""
    return SpecError(
        "prompt",
        what,
        why=why,
        hint=hint or "evalbench benchmarks NAME --template prints a file to begin with",
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def template_file(own: Mapping[str, Template]) -> str:
    """A benchmark's own templates as a file for ``--prompt``, with the names they may use."""
    blocks = []
    for name, template in own.items():
        lines = [f"[{name}]"]
        lines += [f"# {{{field}}}: {what}" for field, what in template.may.items()]
        parts = (("system", template.system), ("user", template.user))
        lines += [text_line(part, text) for part, text in parts if text]
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def text_line(key: str, text: str) -> str:
    """A key of a TOML file with a text of several lines."""
    escaped = text.replace("\\", "\\\\").replace('"""', '""\\"')
    return f'{key} = """\n{escaped}"""'
