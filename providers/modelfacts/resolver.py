"""One provider's facts about its models, from tables, its API and the user."""

from __future__ import annotations

import contextlib
import re
import time
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import orjson

from evalbench.engine.errors import UsageError
from evalbench.engine.paths import cache_dir, config_dir, make_private, write_file
from evalbench.providers.modelfacts.facts import ModelFacts
from evalbench.providers.modelfacts.table import table_facts

_FRESH_S = 7 * 86_400.0


class FactsResolver:
    """Facts of one provider's models at one address.

    Args:
        provider: the provider's name.
        host: host of its address.
        known: initial facts by model; None: the shipped tables.
    """

    def __init__(
        self, provider: str, host: str, known: Callable[[str], ModelFacts] | None = None
    ) -> None:
        self._provider = provider
        self._known = known or partial(table_facts, provider)
        self._file = cache_dir() / "models" / f"{provider}-{host_file(host)}.json"
        self._listed: dict[str, tuple[float, Mapping[str, Any]]] | None = None
        self._facts: dict[str, ModelFacts] = {}

    def of(self, model: str) -> ModelFacts:
        """All known facts about a model.

        Raises:
            UsageError: the user's ``models.toml`` cannot be read.
        """
        facts = self._facts.get(model)
        if facts is None:
            facts = self._known(model)
            if model in (listed := self._heard()):
                facts = facts.with_known(listed[model][1])
            facts = facts.with_known(_users_own(f"{self._provider}/{model}"))
            self._facts[model] = facts
        return facts

    def fresh(self, model: str) -> bool:
        """Whether the API reported on a model within the last week."""
        listed = self._heard().get(model)
        return listed is not None and time.time() - listed[0] < _FRESH_S

    def tell(self, models: Mapping[str, Mapping[str, Any]]) -> None:
        """Store what the API reports about models, for this engine and later ones."""
        now = time.time()
        heard = self._heard()
        for model, known in models.items():
            heard[model] = (now, known)
            self._facts.pop(model, None)
        # Losing the copy costs one small request in a later run, and nothing in this one.
        with contextlib.suppress(OSError):
            make_private(self._file.parent)
            write_file(self._file, orjson.dumps(heard, option=orjson.OPT_INDENT_2))

    def _heard(self) -> dict[str, tuple[float, Mapping[str, Any]]]:
        if self._listed is None:
            self._listed = {}
            # A damaged or newer file counts as a cache miss.
            with contextlib.suppress(OSError, TypeError, ValueError, AttributeError):
                for model, (when, known) in orjson.loads(self._file.read_bytes()).items():
                    ModelFacts().with_known(known)
                    self._listed[model] = (float(when), known)
        return self._listed


def host_file(host: str) -> str:
    """A host name as part of a file name."""
    return re.sub(r"[^A-Za-z0-9.-]", "_", host)


def _users_own(model: str) -> Mapping[str, Any]:
    file = config_dir() / "models.toml"
    try:
        tables = tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{file} cannot be read", why=str(error)) from None
    own = tables.get(model, {})
    try:
        ModelFacts().with_known(own)
    except (ValueError, AttributeError) as error:
        raise UsageError(
            f"{file}, [{model!r}]: {error}", hint="see docs/providers.md for the fields"
        ) from None
    return own if isinstance(own, Mapping) else {}
