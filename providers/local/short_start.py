"""Loading the libraries and a model with less than they would do by themselves.

The start of a worker is mostly imports.
"""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_UNNEEDED = ("boto3", "scipy", "sklearn")
"""Packages that transformers and accelerate import where they are there, for training only."""


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """Load libraries and a model, all of which stays, without searching it for garbage.

    That takes a fifth of their import otherwise.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@contextlib.contextmanager
def short_imports() -> Iterator[None]:
    """Import transformers in here, for the first time."""
    if "transformers" in sys.modules:
        yield
        return
    hidden = [name for name in _UNNEEDED if name not in sys.modules]
    # To Python, such a package is not installed.
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        with _models_listed_once():
            yield
    finally:
        for name in hidden:
            del sys.modules[name]
            _ask_again(name)


def _ask_again(package: str) -> None:
    """Have transformers look for a package again when a model needs it."""
    utils = sys.modules.get("transformers.utils.import_utils")
    known: Any = getattr(utils, f"is_{package}_available", None)
    if hasattr(known, "cache_clear"):
        known.cache_clear()


@contextlib.contextmanager
def _models_listed_once() -> Iterator[None]:
    """Keep transformers from reading the source of all its models twice, to know their names.

    It does so when it is imported, and again for its package ``models``.
    """
    import transformers
    from transformers.utils import import_utils

    define = import_utils.define_import_structure
    models = Path(transformers.__file__).parent / "models"

    def defined(path: Any, prefix: str | None = None) -> Any:
        if Path(path) != models / "__init__.py" or prefix is not None:
            return define(path, prefix)
        # It remembers this since it was imported.
        return without_prefix(define(models, prefix="models"), "models.")

    import_utils.define_import_structure = defined
    try:
        yield
    finally:
        import_utils.define_import_structure = define


def without_prefix(structure: dict[Any, dict[str, Any]], prefix: str) -> dict[Any, dict[str, Any]]:
    """Of what transformers knows of its modules, those under a prefix, as if without it."""
    return {
        needs: {
            name.removeprefix(prefix): names
            for name, names in modules.items()
            if name.startswith(prefix)
        }
        for needs, modules in structure.items()
    }
