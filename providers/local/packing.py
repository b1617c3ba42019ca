"""Which token rows run together: shared prefixes, then packs of the remainders.

A *row* is one token sequence whose last positions are to be read (their logits predict the
continuation). Many rows begin alike: the few-shot block of a subject, the question with four
different endings. This module only plans; it uses no tensors, so a plan can be tested by counting
tokens.

A *group* shares a prefix that is computed once and kept. The rest of its rows is arranged in
*packs*: flat lists of tokens in which rows with a common beginning share it (a trie), and every
token knows which earlier tokens of the pack it may see. Nothing is padded.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

SHORTEST_PREFIX = 32
"""A prefix with fewer tokens is not worth a forward pass of its own."""


@dataclass(frozen=True, slots=True)
class Row:
    """One sequence to run.

    Attributes:
        tokens: the whole sequence, in model order.
        take: how many of the last positions to read, at least 1.
        hint: length of the beginning that later rows will repeat, or 0.
        owner: for a row that must not run with other calls' rows, the key of its call.
    """

    tokens: tuple[int, ...]
    take: int
    hint: int = 0
    owner: str = ""

    def sort_key(self) -> bytes:
        """Bytes that sort like ``tokens``; comparing them is far faster for long common starts."""
        words = array("I", self.tokens)
        if sys.byteorder == "little":
            words.byteswap()
        return words.tobytes()


@dataclass(slots=True)
class Pack:
    """One forward pass after a prefix.

    Attributes:
        prefix: the tokens before every token of the pack.
        tokens: flat token ids.
        depths: position of each token after the prefix, from 0.
        blocks: ``(start, end, seen)``: tokens ``start..end`` are one causal run that also sees the
            earlier pack positions ``seen``.
        reads: per row, the pack positions whose logits it needs, in order.
    """

    prefix: tuple[int, ...]
    tokens: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    blocks: list[tuple[int, int, tuple[int, ...]]] = field(default_factory=list)
    reads: list[tuple[Row, tuple[int, ...]]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Group:
    """Rows, sorted by tokens, that begin with the same ``prefix`` tokens."""

    prefix: int
    rows: tuple[Row, ...]


def common(a: Sequence[int], b: Sequence[int], start: int = 0) -> int:
    """Length of the common prefix of ``a`` and ``b``, known to be at least ``start``."""
    low, high = start, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def group_rows(rows: Sequence[Row], pack: int) -> list[Group]:
    """Split rows into groups that share a prefix worth computing once.

    Groups are split only where it saves work: rows that fit into one pack of ``pack`` tokens need
    no prefix, unless a hint says that more rows will come.
    """
    return _Grouping(rows, pack).groups


class _Grouping:
    """One run of the recursive split over sorted rows."""

    def __init__(self, rows: Sequence[Row], pack: int) -> None:
        self.groups: list[Group] = []
        self._rows = sorted(rows, key=Row.sort_key)
        self._pack = pack
        pairs = zip(self._rows, self._rows[1:], strict=False)
        self._shared = [0, *(common(a.tokens, b.tokens) for a, b in pairs)]
        if rows:
            self._split(0, len(rows))

    def _split(self, begin: int, end: int) -> None:
        depth = self._depth(begin, end)
        if end - begin == 1 or not self._worth(begin, end, depth):
            self._close(self._rows[begin:end], depth)
            return
        rest: list[Row] = []
        start = begin
        for at in range(begin + 1, end + 1):
            if at < end and self._shared[at] > depth:
                continue
            longer = self._depth(start, at) - depth >= SHORTEST_PREFIX
            if longer and self._worth(start, at, depth):
                self._split(start, at)
            else:
                rest += self._rows[start:at]
            start = at
        if rest:
            self._close(rest, depth)

    def _depth(self, begin: int, end: int) -> int:
        """How many tokens ``rows[begin:end]`` have in common."""
        return min(self._shared[begin + 1 : end], default=len(self._rows[begin].tokens))

    def _worth(self, begin: int, end: int, depth: int) -> bool:
        """Whether what is below ``depth`` overflows one pack, or will be repeated."""
        size = len(self._rows[begin].tokens) - depth
        for at in range(begin + 1, end):
            size += len(self._rows[at].tokens) - self._shared[at]
        hint = max(row.hint for row in self._rows[begin:end])
        return size > self._pack or hint - depth >= SHORTEST_PREFIX

    def _close(self, rows: Sequence[Row], depth: int) -> None:
        """Make ``rows``, which share ``depth`` tokens, a group with the best prefix."""
        hint = min(row.hint for row in rows)
        prefix = min(depth, *(len(row.tokens) - row.take for row in rows))
        if hint:
            prefix = min(prefix, hint)
        elif len(rows) == 1 or sum(len(row.tokens) - prefix for row in rows) + prefix <= self._pack:
            prefix = 0
        self.groups.append(Group(prefix if prefix >= SHORTEST_PREFIX else 0, tuple(rows)))


def pack_rows(group: Group, pack: int) -> list[Pack]:
    """Arrange a group's rows in packs of at most ``pack`` tokens after its prefix.

    A single row longer than ``pack`` gets a pack of its own.
    """
    packs: list[Pack] = []
    path: list[int] = []
    last: tuple[int, ...] = ()
    for row in group.rows:
        known = common(last, row.tokens, group.prefix) - group.prefix if packs else 0
        room = pack - len(packs[-1].tokens) if packs else 0
        if len(row.tokens) - group.prefix - known > room:
            packs.append(Pack(row.tokens[: group.prefix]))
            known = 0
        current = packs[-1]
        start = len(current.tokens)
        suffix = row.tokens[group.prefix + known :]
        if suffix:
            current.blocks.append((start, start + len(suffix), tuple(path[:known])))
            current.tokens.extend(suffix)
            current.depths.extend(range(known, known + len(suffix)))
        path = path[:known] + list(range(start, start + len(suffix)))
        current.reads.append((row, tuple(path[-row.take :])))
        last = row.tokens
    return packs
