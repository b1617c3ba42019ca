"""Keys that are kept by nobody but this process: for machines without a keychain.

They are in no environment, which everything that is started would inherit: a command of ours
gets them by a pipe, and hands them on as it does with every key.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_held: dict[str, str] = {}
_MOST = 12_000
"""Characters of all keys; a pipe takes so much without anybody who reads."""


def hold(provider: str, typed: str) -> list[str]:
    """Keep a key for the commands that are started from now on.

    A key of several parts is one text, joined by colons (see ``KeyNeed.parts``).

    Returns:
        The variables that stand for it.

    Raises:
        UsageError: no key looks like that.
    """
    from evalbench.engine.errors import UsageError
    from evalbench.engine.keys import clean_key, key_needs

    secret = clean_key(typed)
    need = key_needs()[provider]
    variable = need.variables[0]
    names = (variable, *need.parts.get(variable, ()))
    held = dict(zip(names, secret.split(":", len(names) - 1), strict=False))
    if len(str({**_held, **held})) > _MOST:
        raise UsageError("that is too long for a key")
    _held.update(held)
    return list(held)


def drop(variables: Sequence[str]) -> None:
    """Forget a key that turned out to be none."""
    for name in variables:
        _held.pop(name, None)


@contextmanager
def handing() -> Iterator[tuple[dict[str, str], tuple[int, ...]]]:
    """What a command of ours is started with to get the keys: variables, and a pipe's end."""
    if not _held:
        yield {}, ()
        return
    from json import dumps

    from evalbench.engine.keys.handed import NAMED_BY

    end, ours = os.pipe()
    try:
        with os.fdopen(ours, "wb") as pipe:
            pipe.write(dumps(_held).encode())
        yield {NAMED_BY: str(end)}, (end,)
    finally:
        os.close(end)
