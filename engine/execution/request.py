"""The request an engine process reads from standard input: one line of JSON, read once.

Light to import, because whatever starts an engine needs it too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evalbench.engine.calls import Outcome
from evalbench.engine.calls.secrets import singly
from evalbench.engine.config.registry import Found
from evalbench.engine.config.traces import OTLP
from evalbench.engine.cost.unit_prices import Prices, prices_from_json, prices_to_json
from evalbench.engine.keys import KeyRef, header_secrets


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Options of one engine process, not of its runs, so they are not stored.

    Attributes:
        accept_changes: continue even if settings, data or templates changed; marks the run
            as mixed.
        accept_loss: continue although paid replies are missing from the journal; they are
            asked, and paid for, again.
        retry: outcomes of stored replies to ask again, besides errors.
        foreground: stop cleanly when the caller exits.
        pilot: work on this many samples of each run, drawn at random, then pause.
        leave: do not wait for batches: exit once everything that can be sent has been sent.
        cancel: batches to cancel first.
        resend_unfetched: resend calls of batches whose results were given up on, if they still
            cannot be fetched. They may be paid for twice.
        on_end: program and arguments, run whenever a run is at rest.
    """

    accept_changes: bool = False
    accept_loss: bool = False
    retry: tuple[Outcome, ...] = ()
    foreground: bool = False
    pilot: int | None = None
    leave: bool = False
    cancel: tuple[str, ...] = ()
    resend_unfetched: bool = False
    on_end: tuple[str, ...] = ()

    @property
    def ask_again(self) -> frozenset[Outcome]:
        """Outcomes of stored replies that are asked again."""
        return frozenset({Outcome.ERROR, *self.retry})

    def to_json(self) -> dict[str, Any]:
        """A JSON form that :meth:`from_json` reads back."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> EngineOptions:
        """Inverse of :meth:`to_json`."""
        retry = tuple(Outcome(name) for name in value["retry"])
        words = {name: tuple(value[name]) for name in ("cancel", "on_end")}
        return cls(**{**value, **words, "retry": retry})


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One run to drive. For a resumed run most of this may be missing.

    Attributes:
        folder: the run's folder.
        samples: the prepared samples, if they still have to be loaded.
        keys: where the key of each role came from.
        secrets: the key of each role.
        prices: unit prices by role.
        fits: estimated memory of local models by role, see :meth:`.fit.Fit.to_json`.
    """

    folder: Path
    samples: Path | None
    keys: Mapping[str, KeyRef]
    secrets: Mapping[str, str]
    prices: Prices
    fits: Mapping[str, Any]

    def private_texts(self) -> list[str]:
        """What must never appear in logs or errors: the keys and the secrets passed with them."""
        return [
            text
            for role, secret in self.secrets.items()
            for text in (header_secrets(secret) if role == OTLP else singly(secret))
        ]

    def to_json(self) -> dict[str, Any]:
        """A JSON form that :meth:`from_json` reads back."""
        return {
            "folder": str(self.folder),
            "samples": str(self.samples) if self.samples else None,
            "keys": {role: ref.to_json() for role, ref in self.keys.items()},
            "secrets": dict(self.secrets),
            "prices": prices_to_json(self.prices),
            "fits": dict(self.fits),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RunRequest:
        """Inverse of :meth:`to_json`."""
        return cls(
            Path(value["folder"]),
            Path(value["samples"]) if value["samples"] else None,
            {role: KeyRef.from_json(ref) for role, ref in value["keys"].items()},
            value["secrets"],
            prices_from_json(value["prices"]),
            value["fits"],
        )


@dataclass(frozen=True, slots=True)
class EngineRequest:
    """What one engine has to do.

    Attributes:
        runs: all runs it drives.
        options: how it drives them.
        installed: the plug-ins found by the process that starts it.
    """

    runs: Sequence[RunRequest]
    options: EngineOptions
    installed: Found

    def to_json(self) -> dict[str, Any]:
        """A JSON form that :meth:`from_json` reads back."""
        return {
            "runs": [run.to_json() for run in self.runs],
            "options": self.options.to_json(),
            "installed": self.installed,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> EngineRequest:
        """Inverse of :meth:`to_json`."""
        runs = [RunRequest.from_json(run) for run in value["runs"]]
        return cls(runs, EngineOptions.from_json(value["options"]), value["installed"])
