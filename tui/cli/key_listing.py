"""Where keys are stored, as a table or as JSON lines: names and places, never a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evalbench.engine.calls import KeyNeed
from evalbench.engine.keys import KeyRef, KeySource, key_needs, list_keys
from evalbench.engine.terminal_text import one_line
from evalbench.tui.cli.output import Out, stdout


def tell_keys(provider: str | None, *, missing: bool, json: bool) -> None:
    """Print where the keys of one provider, or of all, are stored.

    Args:
        provider: a provider that takes a key.
        missing: also list those without a key.
        json: print JSON lines.
    """
    found = [ref for ref in list_keys() if provider in (None, ref.provider)]
    if missing:
        found = _with_missing(found, provider)
    out = stdout()
    if json:
        from evalbench.tui.cli import jsonlines

        needs = key_needs()
        for ref in found:
            need = needs.get(ref.provider, KeyNeed(()))
            jsonlines.write(out, "key", **ref_json(ref), page=need.page, required=need.required)
    elif found:
        _print_table(out, found)
    else:
        out.line("no key is set" + (f" for {provider}" if provider else ""))
        out.line(f"set one: evalbench keys set {provider or 'PROVIDER'}")


def _with_missing(found: Sequence[KeyRef], provider: str | None) -> list[KeyRef]:
    """The existing keys, plus an empty reference, with its variable, for providers without one."""
    held = {ref.provider for ref in found}
    missing = [
        KeyRef(name, KeySource.NONE, variable=next(iter(need.variables), ""))
        for name, need in key_needs().items()
        if name not in held and provider in (None, name)
    ]
    return sorted([*found, *missing], key=lambda ref: ref.provider)


def ref_json(ref: KeyRef) -> dict[str, Any]:
    """A key's provider and place, for programs."""
    return {
        "provider": ref.provider,
        "source": ref.source.value,
        "name": ref.name,
        "variable": ref.variable,
    }


def _print_table(out: Out, found: Sequence[KeyRef]) -> None:
    from rich.text import Text

    from evalbench.tui.cli.table import plain_table, print_table

    table = plain_table("provider", "name", "where")
    for ref in found:
        where = f"environment, {ref.variable}" if ref.variable else ref.source.value
        if ref.source is KeySource.NONE:
            where = f"no key; {ref.variable} is looked at too" if ref.variable else "no key"
        table.add_row(Text(ref.provider), Text(one_line(ref.name)), Text(where))
    print_table(out, table)
    sources: dict[str, set[KeySource]] = {}
    for ref in found:
        sources.setdefault(ref.provider, set()).add(ref.source)
    if twice := [name for name, places in sources.items() if len(places) > 1]:
        out.line()
        out.line(f"{', '.join(twice)}: the environment comes before the keychain's default key")
