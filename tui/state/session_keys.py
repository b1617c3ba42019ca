"""Keys kept only in this process, for machines without a keychain.

They are not in the environment, which every child process would inherit: our own commands receive
them through a pipe, and pass them on like any other key.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_held: dict[str, str] = {}
_MOST = 12_000
"""Total characters of all keys; a pipe holds this much without a reader."""


def hold(provider: str, typed: str, variable: str = "") -> list[str]:
    """Keep a key for the commands started from now on.

    A key of several parts is one text, joined by colons (see ``KeyNeed.parts``). ``variable`` names
    another secret of the provider, such as one in a header.

    Returns:
        The variables that represent it.

    Raises:
        UsageError: it does not look like a key.
    """
    from evalbench.engine.errors import UsageError
    from evalbench.engine.keys import clean_key, key_needs

    secret = clean_key(typed)
    if variable:
        keys = {variable: secret}
    else:
        need = key_needs()[provider]
        variable = need.variables[0]
        names = (variable, *need.parts.get(variable, ()))
        keys = dict(zip(names, secret.split(":", len(names) - 1), strict=False))
    if len(str({**_held, **keys})) > _MOST:
        raise UsageError("that is too long for a key")
    _held.update(keys)
    return list(keys)


def holds(variable: str) -> bool:
    """Whether a key is kept for a variable."""
    return variable in _held


def drop(variables: Sequence[str]) -> None:
    """Forget a key that turned out to be invalid."""
    for name in variables:
        _held.pop(name, None)


@contextmanager
def handing() -> Iterator[tuple[dict[str, str], tuple[int, ...]]]:
    """What our commands are started with to receive the keys: variables, and a pipe's end."""
    if not _held:
        yield {}, ()
        return
    from json import dumps

    from evalbench.engine.keys.inherited import NAMED_BY

    end, ours = os.pipe()
    try:
        with os.fdopen(ours, "wb") as pipe:
            pipe.write(dumps(_held).encode())
        yield {NAMED_BY: str(end)}, (end,)
    finally:
        os.close(end)
