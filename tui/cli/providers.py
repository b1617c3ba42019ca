"""``evalbench providers``: all providers, and user-defined servers in ``providers.toml``."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evalbench.engine import preflight
from evalbench.engine.calls.own_servers import SERVER_SETTINGS
from evalbench.engine.config import registry
from evalbench.engine.config.roles import with_address
from evalbench.engine.config.servers_file import (
    read_servers,
    remove_server,
    servers_file,
    write_server,
)
from evalbench.engine.errors import SpecError, UsageError
from evalbench.engine.keys import ATTENDED_S, find_key, looks_like_key, not_here
from evalbench.engine.terminal_text import one_line
from evalbench.tui.cli.address import remember
from evalbench.tui.cli.output import Out, stdout
from evalbench.tui.cli.parser import Parser, add_options, bare_words, take
from evalbench.tui.state.provider_lines import about_words, limit_words, provider_lines

_ACTIONS = {
    "list": "all of them: keys, limits, prices, batches (the default)",
    "show": "all that is known about one",
    "add": "describe a server of your own",
    "edit": "change its description; an empty value takes a setting out",
    "rm": "remove its description; keys stay in the keychain",
    "test": "ask a server for its models, with the key if it takes one",
}


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments, with the flags of the action among ``words``."""
    lines = [f"  {name:<6}{what}" for name, what in _ACTIONS.items()]
    parser.description = "\n".join([f"{parser.description}", "", *lines])
    parser.add_argument("action", metavar="|".join(_ACTIONS), nargs="?", help="action")
    parser.add_argument("provider", metavar="NAME", nargs="?", help="name of the provider")
    action = next(iter(bare_words(parser, words)), "")
    if action in ("add", "edit", ""):
        _declare_fields(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    parser.examples(
        "evalbench providers",
        "evalbench providers add my-gateway --base-url https://gw.example.com/v1 \\",
        "  --header 'X-Auth: Bearer ${GATEWAY_TOKEN}' --price gpt-4.1-mini=0.4/1.6",
        "evalbench keys set my-gateway --name GATEWAY_TOKEN",
        "evalbench providers test my-gateway",
    )


def _declare_fields(parser: Parser) -> None:
    add_options(parser, [one.option for one in SERVER_SETTINGS.values()], "the server")


def execute(args: argparse.Namespace) -> int:
    """Run the requested action."""
    action = args.action or "list"
    if looks_like_key(action) or (args.provider and looks_like_key(args.provider)):
        raise not_here()
    act = {
        "list": _list,
        "show": _show,
        "add": _add,
        "edit": _edit,
        "rm": _remove,
        "test": _test,
    }.get(action)
    if act is None:
        known = registry.provider_names()
        hint = f"evalbench providers show {action}" if action in known else ""
        raise UsageError(
            f"providers has no action {action!r}",
            hint=hint or "one of: " + ", ".join(_ACTIONS),
        )
    if args.provider is None and action != "list":
        raise UsageError(
            f"which provider is it? evalbench providers {action} NAME",
            hint="evalbench providers lists them",
        )
    return act(args)


def _tell(args: argparse.Namespace, event: str, words: str, **more: Any) -> int:
    if args.json:
        from evalbench.tui.cli import jsonlines

        jsonlines.write(stdout(), event, **more)
    else:
        stdout().line(words)
    return 0


def _list(args: argparse.Namespace) -> int:
    lines = provider_lines(args.provider)
    out = stdout()
    if args.json:
        from evalbench.tui.cli import jsonlines

        for line in lines:
            jsonlines.write(out, "provider", **line)
        return 0
    from evalbench.tui.cli.table import print_columns

    rows = [
        (
            line["provider"] + (" *" if line["own"] else ""),
            "✗ not right" if line["problem"] else _short_key(line),
            limit_words(line),
            line["prices"],
            line["batches"],
        )
        for line in lines
    ]
    print_columns(out, ("provider", "key", "limits a minute", "prices", "batches"), rows)
    out.line()
    if any(line["own"] for line in lines):
        out.line(f"* yours, in {servers_file()}")
    for line in lines:
        if line["problem"]:
            out.line(one_line(f"✗ {line['provider']}: {line['problem']}"))
    out.line("addresses and sources: evalbench providers show NAME")
    return 0


def _short_key(line: Mapping[str, Any]) -> str:
    return ("✓ " if line["key_held"] else "") + str(line["key"])


def _show(args: argparse.Namespace) -> int:
    (line,) = provider_lines(args.provider)
    if args.json:
        from evalbench.tui.cli import jsonlines

        jsonlines.write(stdout(), "provider", **line)
        return 0
    _pairs(stdout(), about_words(line))
    return 0


def _pairs(out: Out, pairs: Sequence[tuple[str, str]]) -> None:
    from rich.text import Text

    from evalbench.tui.cli.table import plain_table, print_table

    table = plain_table("", "")
    table.show_header = False
    for name, words in pairs:
        table.add_row(Text(name, style="dim"), Text(one_line(words)))
    print_table(out, table)


# -- changing the file ------------------------------------------------------------


def _add(args: argparse.Namespace) -> int:
    changes = {name: value for name, value in _changes(args).items() if value is not None}
    write_server(args.provider, changes, new=True)
    return _written(args, "added to")


def _edit(args: argparse.Namespace) -> int:
    changes = _changes(args)
    if not changes:
        raise UsageError(
            "nothing to change was given", hint="evalbench providers edit --help lists the settings"
        )
    write_server(args.provider, changes, new=False)
    return _written(args, "changed in")


def _written(args: argparse.Namespace, how: str) -> int:
    name = args.provider
    words = f"{name} is {how} {servers_file()}\ntry it: evalbench providers test {name}"
    return _tell(args, "provider-kept", words, provider=name, file=str(servers_file()))


def _remove(args: argparse.Namespace) -> int:
    remove_server(args.provider)
    words = f"{args.provider} is gone from {servers_file()}"
    return _tell(args, "provider-gone", words, provider=args.provider, file=str(servers_file()))


def _changes(args: argparse.Namespace) -> dict[str, Any]:
    """Values by field of the file; None if an empty one removes it."""
    found: dict[str, Any] = {}
    for field, typed in SERVER_SETTINGS.items():
        value = take(args, typed.option)
        if value is None:
            continue
        if typed.sign:
            split = _split_last if field == "prices" else _split_at(typed.sign.strip())
            pairs = [text for text in value if text.strip()]
            found[field] = dict(split(typed.option.name, text) for text in pairs) or None
        else:
            found[field] = typed.value(value) if value else None
    return found


Split = Callable[[str, str], tuple[str, str]]


def _split_at(sign: str) -> Split:
    def split(flag: str, text: str) -> tuple[str, str]:
        name, found, value = text.partition(sign)
        if not found or not name.strip():
            raise SpecError(
                flag, f"--{flag} is written NAME{sign}VALUE", hint="evalbench providers add --help"
            )
        return name.strip(), value.strip()

    return split


def _split_last(flag: str, text: str) -> tuple[str, str]:
    """Model names contain equals signs and slashes."""
    name, found, value = text.rpartition("=")
    if not found or not name.strip():
        raise SpecError(
            flag,
            f"--{flag} is written MODEL=IN/OUT",
            hint="for example --price gpt-4.1-mini=0.4/1.6",
        )
    return name.strip(), value.strip()


# -- test ---------------------------------------------------------------------------


def _test(args: argparse.Namespace) -> int:
    name = args.provider
    cls = registry.provider_class(name)
    if name not in read_servers() and cls.key is None:
        raise UsageError(f"{name} is on this machine: there is nothing to test")
    secret = ""
    if cls.key is not None:
        _, secret = find_key(name, cls.key, timeout=ATTENDED_S)
    settings = with_address(name, {})
    remember(args, name, settings, secret)
    began = time.monotonic()
    verdict = one_line(preflight.check_key(name, secret, settings))
    seconds = time.monotonic() - began
    where = settings.get("base_url") or cls.address_in(settings)
    words = "\n".join(filter(None, [f"ok   {verdict}", where and f"     asked at {where}"]))
    return _tell(
        args,
        "provider-test",
        words,
        provider=name,
        ok=True,
        what=verdict,
        address=where,
        seconds=round(seconds, 2),
    )
