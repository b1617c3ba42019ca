"""Keys and values: the only module that touches the cache classes of transformers.

There are two layouts. A :class:`Prefix` holds one computed prefix; any number of forward passes can
continue from it without changing it. :class:`Slots` holds many sequences of different lengths in
parallel and grows by one token each per decoding step.

Tensors have the shape ``[batch, key/value heads, tokens, head size]``, one pair
per layer.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin

_GROW = 128


def cache_argument(model: Any) -> str:
    """The parameter name with which ``model`` takes a cache; it changed within transformers 5."""
    return "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"


@dataclass(frozen=True, slots=True)
class Prefix:
    """A computed prefix: its token ids and, per layer, its keys and values."""

    tokens: tuple[int, ...]
    layers: tuple[tuple[Tensor, Tensor], ...] = ()

    def cut(self, length: int) -> Prefix:
        """The first ``length`` tokens; shares memory with the original."""
        return Prefix(
            self.tokens[:length],
            tuple((keys[:, :, :length], values[:, :, :length]) for keys, values in self.layers),
        )

    @property
    def nbytes(self) -> int:
        """Memory of the keys and values, in bytes."""
        return sum(keys.nbytes + values.nbytes for keys, values in self.layers)


class _Layer(CacheLayerMixin):  # type: ignore[misc]
    """Common to all layouts: a length known from outside, and no bookkeeping of its own."""

    is_sliding = False

    def __init__(self, length: int) -> None:
        super().__init__()
        self.length = length
        self.is_initialized = True

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Nothing to prepare."""

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Number of keys that a query of ``query_length`` tokens sees, and their offset."""
        return self.length + query_length, 0

    def get_seq_length(self) -> int:
        """Tokens before the current forward pass."""
        return self.length

    def get_max_length(self) -> int:
        """No limit of its own."""
        return -1


class _BehindPrefix(_Layer):
    """Returns the prefix and the pass's own keys; stores the concatenation only if asked to."""

    def __init__(self, pair: tuple[Tensor, Tensor] | None, length: int, remember: bool) -> None:
        super().__init__(length)
        self._pair = pair
        self._remember = remember
        self.seen: tuple[Tensor, Tensor] | None = None

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """All keys and values visible to the pass."""
        if self._pair is not None:
            keys, values = (one.expand(len(key_states), -1, -1, -1) for one in self._pair)
            key_states = torch.cat((keys, key_states), dim=2)
            value_states = torch.cat((values, value_states), dim=2)
        if self._remember:
            self.seen = key_states, value_states
        return key_states, value_states


def behind(prefix: Prefix, layers: int, *, remember: bool = False) -> Cache:
    """A cache for one pass of a ``layers``-deep model after ``prefix``, which is not changed."""
    pairs = prefix.layers or (None,) * layers
    return Cache(layers=[_BehindPrefix(pair, len(prefix.tokens), remember) for pair in pairs])


def remembered(cache: Cache, tokens: tuple[int, ...], row: int = 0) -> Prefix:
    """The prefix computed by a pass with ``remember=True``; ``tokens`` is all of it.

    In a batch it is the one in ``row``, without its padding.
    """
    seen = ((keys[row : row + 1], values[row : row + 1]) for keys, values in _seen(cache))
    return Prefix(tokens, tuple(seen)).cut(len(tokens))


def _seen(cache: Any) -> Iterator[tuple[Tensor, Tensor]]:
    return (layer.seen for layer in cache.layers)


class _SlotLayer(_Layer):
    """One layer of :class:`Slots`."""

    def __init__(self, slots: Slots) -> None:
        super().__init__(0)
        self._slots = slots
        self.keys: Tensor | None = None
        self.values: Tensor | None = None

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Write one token per active slot and return everything up to the longest slot."""
        assert self.keys is not None
        assert self.values is not None
        slots = self._slots
        # With several cards, each layer is on its own.
        rows, at = slots.rows.to(self.keys.device), slots.at.to(self.keys.device)
        width = slots.width
        self.keys[rows, :, at] = key_states[:, :, 0]
        self.values[rows, :, at] = value_states[:, :, 0]
        active = len(key_states)
        return self.keys[:active, :, :width], self.values[:active, :, :width]

    def store(self, slot: int, keys: Tensor, values: Tensor, room: int, rows: int) -> None:
        """Copy a sequence's keys and values into ``slot``, in buffers of at least these sizes."""
        self._ensure(keys, values, room, rows)
        assert self.keys is not None
        assert self.values is not None
        length = keys.shape[2]
        self.keys[slot, :, :length] = keys[0]
        self.values[slot, :, :length] = values[0]

    def widen(self, room: int) -> None:
        """Make the buffers at least ``room`` tokens wide."""
        assert self.keys is not None
        assert self.values is not None
        self._ensure(self.keys, self.values, room, 0)

    def _ensure(self, keys: Tensor, values: Tensor, room: int, rows: int) -> None:
        if self.keys is None or self.values is None:
            self.keys = keys.new_zeros((rows, keys.shape[1], room, keys.shape[3]))
            self.values = values.new_zeros((rows, values.shape[1], room, values.shape[3]))
        elif self.keys.shape[2] < room or self.keys.shape[0] < rows:
            rows, room = max(rows, self.keys.shape[0]), max(room, self.keys.shape[2])
            self.keys = _grown(self.keys, rows, room)
            self.values = _grown(self.values, rows, room)

    def move(self, source: int, target: int, length: int) -> None:
        """Copy the first ``length`` tokens of one slot over another."""
        assert self.keys is not None
        assert self.values is not None
        self.keys[target, :, :length] = self.keys[source, :, :length]
        self.values[target, :, :length] = self.values[source, :, :length]


def _grown(buffer: Tensor, rows: int, room: int) -> Tensor:
    large = buffer.new_zeros((rows, buffer.shape[1], room, buffer.shape[3]))
    large[: buffer.shape[0], :, : buffer.shape[2]] = buffer
    return large


class Slots:
    """Keys and values of up to ``count`` sequences of different lengths.

    Active sequences always occupy the first slots, so that a decoding step reads one contiguous
    block. ``lengths`` holds the number of tokens per slot.
    """

    def __init__(self, count: int, layers: int) -> None:
        self.count = count
        self.lengths: list[int] = []
        self._layers: list[Any] = [_SlotLayer(self) for _ in range(layers)]
        self.cache = Cache(layers=self._layers)
        self.rows = self.at = torch.empty(0, dtype=torch.long)
        self.width = 0

    def add(self, prompt: Prefix) -> int:
        """Add a computed prompt; returns its slot."""
        slot = len(self.lengths)
        length = len(prompt.tokens)
        for layer, (keys, values) in zip(self._layers, prompt.layers, strict=True):
            layer.store(slot, keys, values, self._room(length + 1), self._rows(slot + 1))
        self.lengths.append(length)
        return slot

    def remove(self, slot: int) -> int:
        """Free ``slot``; the last sequence moves into it. Returns the slot that moved."""
        last = len(self.lengths) - 1
        if slot != last:
            for layer in self._layers:
                layer.move(last, slot, self.lengths[last])
            self.lengths[slot] = self.lengths[last]
        self.lengths.pop()
        return last

    def begin_step(self, device: torch.device) -> Tensor:
        """Make room for one more token in every active slot.

        Returns:
            Which keys each slot may attend to, ``[slots, 1, 1, tokens]``, bool.
        """
        longest = max(self.lengths) + 1
        room = self._room(longest)
        for layer in self._layers:
            layer.widen(room)
        self.width = longest
        self.at = torch.tensor(self.lengths, device=device)
        self.rows = torch.arange(len(self.lengths), device=device)
        return (torch.arange(longest, device=device) <= self.at[:, None])[:, None, None]

    def end_step(self) -> None:
        """Count the token that the step has written."""
        self.lengths = [length + 1 for length in self.lengths]

    def _rows(self, active: int) -> int:
        """Rows of the buffers, which grow by doubling as slots are used."""
        return min(self.count, 1 << (active - 1).bit_length())

    @staticmethod
    def _room(tokens: int) -> int:
        return -(-tokens // _GROW) * _GROW
