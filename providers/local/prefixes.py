"""Computed prefixes, kept for calls that reuse them."""

from __future__ import annotations

from evalbench.providers.local.cache import Prefix
from evalbench.providers.local.model import LoadedModel
from evalbench.providers.local.packing import SHORTEST_PREFIX, common
from evalbench.providers.local.passes import extend

_MOST = 8


class Prefixes:
    """A few prefixes of one model; the least recently used goes first.

    With ``whole``, each is computed separately from its first token, and is used only by calls that
    share all of it: a part of another one may differ in the last bits.
    """

    def __init__(self, model: LoadedModel, *, whole: bool = False) -> None:
        self._model = model
        self._whole = whole
        self._kept: list[Prefix] = []

    def get(self, tokens: tuple[int, ...], *, chunk: int, most_tokens: int) -> Prefix:
        """The keys and values of ``tokens``, computing only what no kept prefix covers.

        Args:
            tokens: the requested prefix; empty gives an empty prefix.
            chunk: maximum tokens in one forward pass.
            most_tokens: maximum tokens to keep in all prefixes together.
        """
        if not tokens:
            return Prefix(())
        nearest, covered = self._nearest(tokens)
        if nearest is not None and covered == len(tokens):
            self._use(nearest)
            return nearest.cut(len(tokens))
        base = Prefix(())
        if nearest is not None and covered >= SHORTEST_PREFIX:
            self._use(nearest)
            base = nearest.cut(covered)
        computed = extend(self._model, base, tokens[len(base.tokens) :], chunk)
        self._kept.append(computed)
        while self._kept[1:] and (
            len(self._kept) > _MOST or sum(len(p.tokens) for p in self._kept) > most_tokens
        ):
            self._kept.pop(0)
        return computed

    def covered(self, tokens: tuple[int, ...]) -> int:
        """How many of the first ``tokens`` need no computation."""
        return self._nearest(tokens)[1]

    def clear(self) -> None:
        """Drop everything, to free its memory."""
        self._kept.clear()

    def _nearest(self, tokens: tuple[int, ...]) -> tuple[Prefix | None, int]:
        best, covered = None, 0
        for prefix in self._kept:
            if self._whole and prefix.tokens != tokens:
                continue
            length = common(prefix.tokens, tokens)
            if length > covered:
                best, covered = prefix, length
        return best, covered

    def _use(self, prefix: Prefix) -> None:
        self._kept.remove(prefix)
        self._kept.append(prefix)
