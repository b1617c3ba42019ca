"""A key that is kept by nobody but this process: for machines without a keychain."""

from __future__ import annotations

import os

from evalbench.engine.keys import clean_key, key_needs


def hold(provider: str, typed: str) -> list[str]:
    """Put a key where ``export`` would: what is started from now on finds it.

    A key of several parts is one text, joined by colons (see ``KeyNeed.parts``).

    Returns:
        The environment variables that hold it.

    Raises:
        UsageError: no key looks like that.
    """
    secret = clean_key(typed)
    need = key_needs()[provider]
    variable = need.variables[0]
    names = (variable, *need.parts.get(variable, ()))
    held = dict(zip(names, secret.split(":", len(names) - 1), strict=False))
    os.environ.update(held)
    return list(held)


def drop(variables: list[str]) -> None:
    """Forget a key that turned out to be none."""
    for name in variables:
        os.environ.pop(name, None)
