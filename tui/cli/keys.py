"""``evalbench keys``: set, test, list and remove providers' keys. No key is ever printed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any, NamedTuple

from evalbench.engine import preflight
from evalbench.engine.calls import KeyNeed
from evalbench.engine.errors import (
    BadKey,
    EvalbenchError,
    KeyUnavailable,
    SpecError,
    UsageError,
    nearest,
)
from evalbench.engine.keys import (
    ATTENDED_S,
    DEFAULT_NAME,
    KeychainState,
    KeyRef,
    KeySource,
    clean_key,
    find_key,
    implausible,
    is_variable,
    key_in,
    key_needs,
    list_keys,
    looks_like_key,
    masked,
    not_here,
    remove_key,
    set_key,
)
from evalbench.engine.terminal_text import clean, one_line
from evalbench.tui.cli.address import declare_place, place, remember
from evalbench.tui.cli.output import Out, stderr, stdout
from evalbench.tui.cli.parser import Parser, bare_words

_SAY_SO_AFTER_S = 2.0

_ACTIONS = {
    "list": "where keys are; shows none of them",
    "set": "store a key in the keychain; asks for it, or reads one line from a pipe",
    "test": "test a key with the cheapest real request; without PROVIDER, all of them",
    "rm": "remove a key from the keychain",
}


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments, with the flags of the action among ``words``."""
    lines = [f"  {name:<5}{what}" for name, what in _ACTIONS.items()]
    parser.description = "\n".join([f"{parser.description}", "", *lines])
    parser.add_argument("action", metavar="|".join(_ACTIONS), help="action")
    parser.add_argument(
        "provider",
        metavar="PROVIDER",
        nargs="?",
        help=f"provider: {', '.join(key_needs())}",
    )
    action = next(iter(bare_words(parser, words)), "")
    if action in ("set", "test", "rm", ""):
        parser.add_argument(
            "--name",
            metavar="NAME",
            help=f"name of the key in the keychain (default: {DEFAULT_NAME})",
        )
    if action in ("set", "test", ""):
        declare_place(parser, words)
    if action in ("set", ""):
        parser.add_argument(
            "--no-check", action="store_true", help="store the key without testing it"
        )
    if action in ("test", ""):
        parser.add_argument(
            "--env-file", type=Path, metavar="FILE", help="read the key from this .env file first"
        )
    if action in ("list", ""):
        parser.add_argument("--all", action="store_true", help="include providers without a key")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    if len(bare_words(parser, words)) > 2:
        # Reported before argparse would quote the word.
        raise not_here()
    parser.examples(
        "evalbench keys set anthropic",
        "pass show openai | evalbench keys set openai --name work",
        "evalbench run mmlu --model openai/NAME --key work",
        "evalbench keys test",
    )


def execute(args: argparse.Namespace) -> int:
    """Run the requested action."""
    act = {"list": _list, "set": _set, "test": _test, "rm": _remove}.get(args.action)
    if act is None:
        raise (
            not_here()
            if looks_like_key(args.action)
            else UsageError("keys has no such action", hint="one of: " + ", ".join(_ACTIONS))
        )
    if args.provider is None and args.action in ("set", "rm"):
        raise UsageError(
            f"whose key is it? evalbench keys {args.action} PROVIDER",
            hint="one of: " + ", ".join(key_needs()),
        )
    return act(args)


def _need(provider: str) -> KeyNeed:
    """The kind of key a provider takes. An unknown name is not quoted: it may be a key."""
    needs = key_needs()
    if provider not in needs:
        if looks_like_key(provider):
            raise not_here()
        raise SpecError(
            "provider",
            "there is no provider of that name that takes a key",
            hint=nearest(provider, needs) or "one of: " + ", ".join(needs),
        )
    return needs[provider]


@contextmanager
def _waiting_notice(*, json: bool) -> Iterator[None]:
    """Shows that the keychain is being waited for, once the wait becomes noticeable."""

    def say() -> None:
        if json:
            from evalbench.tui.cli import jsonlines

            jsonlines.write(stdout(), "note", text=_UNLOCKING)
        else:
            stderr().line(_UNLOCKING)

    timer = Timer(_SAY_SO_AFTER_S, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


_UNLOCKING = (
    "waiting for the keychain: it may show a dialog to unlock it"
    f" (nothing is lost; given up after {ATTENDED_S:g} s)"
)


def _list(args: argparse.Namespace) -> int:
    """Print where keys are stored: names and places, never a key."""
    provider = args.provider
    if provider is not None:
        _need(provider)
    found = [ref for ref in list_keys() if provider in (None, ref.provider)]
    if args.all:
        found = _with_missing(found, provider)
    out = stdout()
    if args.json:
        from evalbench.tui.cli import jsonlines

        needs = key_needs()
        for ref in found:
            need = needs.get(ref.provider, KeyNeed(()))
            jsonlines.write(out, "key", **_ref_json(ref), page=need.page, required=need.required)
    elif found:
        _print_table(out, found)
    else:
        out.line("no key is set" + (f" for {provider}" if provider else ""))
        out.line(f"set one: evalbench keys set {provider or 'PROVIDER'}")
    return 0


def _with_missing(found: Sequence[KeyRef], provider: str | None) -> list[KeyRef]:
    """The existing keys, plus an empty reference, with its variable, for providers without one."""
    with_keys = {ref.provider for ref in found}
    missing = [
        KeyRef(name, KeySource.NONE, variable=next(iter(need.variables), ""))
        for name, need in key_needs().items()
        if name not in with_keys and provider in (None, name)
    ]
    return sorted([*found, *missing], key=lambda ref: ref.provider)


def _ref_json(ref: KeyRef) -> dict[str, Any]:
    """A key's provider and place, for programs."""
    return {
        "provider": ref.provider,
        "source": ref.source.value,
        "name": ref.name,
        "variable": ref.variable,
    }


def _print_table(out: Out, found: Sequence[KeyRef]) -> None:
    from evalbench.tui.cli.table import print_columns

    rows = []
    for ref in found:
        where = f"environment, {ref.variable}" if ref.variable else ref.source.value
        if ref.source is KeySource.NONE:
            where = f"no key; {ref.variable} is read too" if ref.variable else "no key"
        rows.append((ref.provider, ref.name, where))
    print_columns(out, ("provider", "name", "where"), rows)
    sources: dict[str, set[KeySource]] = {}
    for ref in found:
        sources.setdefault(ref.provider, set()).add(ref.source)
    if twice := [name for name, places in sources.items() if len(places) > 1]:
        out.line()
        out.line(f"{', '.join(twice)}: the environment comes before the keychain's default key")


# -- set -----------------------------------------------------------------------


def _set(args: argparse.Namespace) -> int:
    provider, need = args.provider, _need(args.provider)
    name = args.name or DEFAULT_NAME
    if looks_like_key(name):
        raise not_here()
    secret = _read_secret(provider, need)
    notes: list[str] = []
    for_headers = is_variable(name)
    if not for_headers and (warning := implausible(need, secret)):
        notes.append(f"warning: {warning}")
    # A secret for a header is not a key: no provider would accept it as one.
    unchecked = args.no_check or for_headers
    tried = "" if unchecked else _try_before_keeping(args, secret, notes)
    if for_headers:
        notes.append(f"note: headers of {provider} refer to it as ${{{name}}}")
    with _waiting_notice(json=args.json):
        set_key(provider, secret, name)
    for one in need.variables:
        if os.environ.get(one, "").strip() and name == DEFAULT_NAME:
            notes.append(f"note: {one} is set here, and the environment comes first")
            break
    out = stdout()
    if args.json:
        from evalbench.tui.cli import jsonlines

        jsonlines.write(out, "key-set", provider=provider, name=name, what=tried, notes=notes)
        return 0
    for note in notes:
        stderr().line(note)
    if tried:
        out.line(tried)
    out.line(f"the {provider} key {name!r} is stored in the keychain ({masked(secret)})")
    return 0


def _read_secret(provider: str, need: KeyNeed) -> str:
    """A key typed without echo, or one line from a pipe.

    Raises:
        UsageError: there is none, or the terminal cannot hide it.
    """
    if not sys.stdin.isatty():
        return clean_key(sys.stdin.readline(), "the first line of standard input")
    import getpass
    import warnings

    if need.page:
        stderr().line(f"keys are made at {need.page}")
    with warnings.catch_warnings():
        warnings.simplefilter("error", getpass.GetPassWarning)
        try:
            return clean_key(getpass.getpass(f"{provider} key (not shown as you type): "))
        except (EOFError, getpass.GetPassWarning):
            raise UsageError(
                "no key was read from the terminal",
                why="it was closed, or cannot hide what is typed",
                hint=f"pipe it: … | evalbench keys set {provider}",
            ) from None


def _try_before_keeping(args: argparse.Namespace, secret: str, notes: list[str]) -> str:
    """The provider's response to a key. Only a key that it rejects is not stored.

    Raises:
        BadKey: the provider rejects it.
    """
    try:
        return one_line(_try(args, args.provider, secret))
    except BadKey as error:
        error.hint = "; ".join(filter(None, [error.hint, "nothing was kept"]))
        raise
    except EvalbenchError as error:
        notes.append("note: the key could not be tried: " + clean(str(error)))
        return ""


def _try(args: argparse.Namespace, provider: str, secret: str) -> str:
    settings = place(args, provider)
    remember(args, provider, settings, secret)
    return preflight.check_key(provider, secret, settings)


# -- test ----------------------------------------------------------------------


class _Tried(NamedTuple):
    """The result of testing one key."""

    ref: KeyRef
    verdict: str = ""
    error: EvalbenchError | None = None


def _test(args: argparse.Namespace) -> int:
    if args.provider is None:
        if args.name or args.base_url or args.env_file:
            raise UsageError(
                "--name, --base-url and --env-file are about one provider",
                hint="evalbench keys test PROVIDER …",
            )
        refs = [ref for ref in list_keys() if not is_variable(ref.name)]
        if not refs:
            raise UsageError("no key is set", hint="evalbench keys set PROVIDER")
        tried = _try_all(args, refs)
    else:
        tried = iter([_try_one(args)])
    out, code = stdout(), 0
    for one in tried:
        _tell(out, one, json=args.json)
        code = max(code, one.error.exit_code if one.error else 0)
    return code


def _try_one(args: argparse.Namespace) -> _Tried:
    need = _need(args.provider)
    if args.name and is_variable(args.name):
        raise UsageError(
            f"{args.name} is for headers, and cannot be tried alone",
            hint=f"evalbench keys test {args.provider}",
        )
    with _waiting_notice(json=args.json):
        profile = place(args, args.provider).get("profile")
        ref, secret = find_key(args.provider, need, args.name, ATTENDED_S, args.env_file, profile)
    return _tried(args, ref, secret)


def _try_all(args: argparse.Namespace, refs: Sequence[KeyRef]) -> Iterator[_Tried]:
    """Test all keys in turn. A keychain that does not respond is queried only once."""
    broken: KeyUnavailable | None = None
    for ref in refs:
        try:
            if broken and ref.source is KeySource.KEYCHAIN:
                raise broken
            secret = _secret(ref, json=args.json)
        except EvalbenchError as error:
            if isinstance(error, KeyUnavailable) and error.state != KeychainState.ABSENT:
                broken = error
            yield _Tried(ref, error=error)
        else:
            yield _tried(args, ref, secret)


def _secret(ref: KeyRef, *, json: bool) -> str:
    if ref.source is KeySource.ENVIRONMENT:
        secret = key_in(os.environ, _need(ref.provider), ref.variable)
        return clean_key(secret, f"the environment variable {ref.variable}")
    if ref.source is KeySource.PROFILE:
        return ""
    with _waiting_notice(json=json):
        return find_key(ref.provider, _need(ref.provider), ref.name, ATTENDED_S)[1]


def _tried(args: argparse.Namespace, ref: KeyRef, secret: str) -> _Tried:
    try:
        return _Tried(ref, _try(args, ref.provider, secret))
    except EvalbenchError as error:
        return _Tried(ref, error=error)


def _tell(out: Out, tried: _Tried, *, json: bool) -> None:
    error = tried.error
    if json:
        from evalbench.tui.cli import jsonlines

        jsonlines.write(
            out,
            "key-test",
            **_ref_json(tried.ref),
            ok=error is None,
            rejected=isinstance(error, BadKey),
            what=error.what if error else tried.verdict,
            why=error.why if error else "",
            **{"try": error.hint if error else ""},
        )
        return
    outcome = str(error).replace("\n", "\n   ") if error else tried.verdict
    out.line(f"{'bad' if error else 'ok':<5}{tried.ref}: {clean(outcome)}")


# -- rm ------------------------------------------------------------------------


def _remove(args: argparse.Namespace) -> int:
    need = _need(args.provider)
    name = args.name or DEFAULT_NAME
    with _waiting_notice(json=args.json):
        existed = remove_key(args.provider, name)
    if not existed:
        raise UsageError(
            f"the keychain has no {args.provider} key of that name",
            hint=f"evalbench keys list {args.provider}",
        )
    notes = [
        f"note: {variable} is still set here"
        for variable in need.variables
        if os.environ.get(variable, "").strip()
    ]
    if args.json:
        from evalbench.tui.cli import jsonlines

        jsonlines.write(stdout(), "key-gone", provider=args.provider, name=name, notes=notes)
        return 0
    stdout().line(f"the {args.provider} key {name!r} is gone from the keychain")
    for note in notes:
        stderr().line(note)
    return 0
