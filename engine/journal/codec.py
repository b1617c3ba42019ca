"""Compression of texts in the journal.

Four kinds of redundancy are removed. Text shared by many calls is stored once by content hash.
The common skeleton of prompts is interned as a *shape*. Where a prompt quotes its sample, it
refers to it. The rest is compressed with zstd, using dictionaries trained on the run's first
records.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import orjson
import zstandard

from evalbench.engine.benchmark import Sample
from evalbench.engine.calls import MediaPart, Message, Params, Prompt, Reply, TextPart
from evalbench.engine.calls.replies import reply_to_json
from evalbench.engine.errors import JournalError

_RAW, _PLAIN, _TRAINED = b"\0", b"\1", b"\2"
_LEVEL = 1
_LEAST_QUOTE = 16
_MOST_QUOTES = 16
_MARK = "\0"
_SHORT_CONTINUATION = 16
TRAIN_AFTER = 400
"""Records that a dictionary is trained on. With fewer, long answers take more in a long run; with
more, a short run takes more, as these are compressed without one."""
_DICTIONARY_BYTES = 32 * 1024
_LONGEST_EXAMPLE = 16 * 1024


class DictionaryMissing(JournalError):
    """A frame needs a dictionary that its reader does not have."""


def train(examples: Sequence[bytes]) -> bytes:
    """A dictionary for records like these; empty if they are too few or too similar for one."""
    given: list[bytes | bytearray | memoryview] = [e[:_LONGEST_EXAMPLE] for e in examples]
    try:
        # Without k and d the trainer tries many values: a few percent better, three times slower.
        return zstandard.train_dictionary(_DICTIONARY_BYTES, given, k=1000, d=8).as_bytes()
    except zstandard.ZstdError:
        return b""


class Packer:
    """Compresses one kind of record, with a dictionary once there is one.

    Attributes:
        trained: whether a dictionary is in use.
    """

    def __init__(self, dictionary: bytes = b"") -> None:
        self.trained = False
        self._plain = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=False)
        self._unplain = zstandard.ZstdDecompressor()
        self._with: zstandard.ZstdCompressor | None = None
        self._without: zstandard.ZstdDecompressor | None = None
        self._seen: list[bytes] = []
        if dictionary:
            self.use(dictionary)

    def use(self, dictionary: bytes) -> None:
        """Use this dictionary from now on; an empty one ends training without a dictionary."""
        self.trained = True
        self._seen = []
        if dictionary:
            known = zstandard.ZstdCompressionDict(dictionary)
            known.precompute_compress(level=_LEVEL)
            self._with = zstandard.ZstdCompressor(
                level=_LEVEL, dict_data=known, write_checksum=False, write_dict_id=False
            )
            self._without = zstandard.ZstdDecompressor(dict_data=known)

    def enough(self) -> list[bytes]:
        """The records compressed so far, once they are enough to train on; else empty."""
        return self._seen if len(self._seen) >= TRAIN_AFTER else []

    def pack(self, data: bytes) -> bytes:
        """A tagged frame for :meth:`unpack`."""
        if self._with is not None:
            frame = _TRAINED + self._with.compress(data)
        else:
            if not self.trained:
                self._seen.append(data[:_LONGEST_EXAMPLE])
            frame = _PLAIN + self._plain.compress(data)
        return frame if len(frame) <= len(data) else _RAW + data

    def unpack(self, frame: bytes) -> bytes:
        """Inverse of :meth:`pack`.

        Raises:
            JournalError: the frame is damaged.
        """
        tag, body = frame[:1], frame[1:]
        if tag == _RAW:
            return body
        if tag == _PLAIN:
            return _decompress(self._unplain, body)
        if self._without is None:
            raise DictionaryMissing("a record needs a dictionary that is not in the journal")
        return _decompress(self._without, body)


def _decompress(packed: zstandard.ZstdDecompressor, frame: bytes) -> bytes:
    try:
        return packed.decompress(frame)
    except zstandard.ZstdError as error:
        raise JournalError("a record in the journal is damaged", why=str(error)) from error


def quotable(sample: Sample) -> list[str]:
    """The texts of a sample that its prompts may quote, longest first."""
    found: set[str] = set()
    values: list[Any] = [sample.inputs, sample.gold]
    for value in values:  # grows during the loop
        if isinstance(value, str):
            if len(value) >= _LEAST_QUOTE and _MARK not in value:
                found.add(value)
        elif isinstance(value, dict):
            values.extend(value.values())
        elif isinstance(value, list):
            values.extend(value)
    if len(found) < 2:
        return list(found)
    return sorted(found, key=lambda text: (-len(text), text))[:_MOST_QUOTES]


def quote(texts: Sequence[str], quotes: Sequence[str]) -> bytes:
    """Texts as JSON, with references by number to every text of ``quotes``.

    A text with quotes becomes a list that alternates between literal text and numbers.
    """
    out: list[str | list[str]] = []
    for text in texts:
        marked = text
        if _MARK not in text:
            for number, quoted in enumerate(quotes):
                marked = marked.replace(quoted, f"{_MARK}{number}{_MARK}")
        out.append(text if marked == text else marked.split(_MARK))
    return orjson.dumps(out)


def unquote(body: bytes, quotes: Callable[[], Sequence[str]]) -> list[str]:
    """Inverse of :func:`quote`; ``quotes`` gives the same quotes, if a text refers to one."""
    texts: list[Any] = orjson.loads(body)
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            quoted = quotes()
            text[1::2] = [quoted[int(number)] for number in text[1::2]]
            texts[place] = "".join(text)
    return texts


def sample_body(sample: Sample) -> bytes:
    """The bytes of a sample as stored in the journal."""
    return orjson.dumps([sample.inputs, sample.gold])


def split_prompt(prompt: Prompt) -> tuple[str, list[str], dict[bytes, bytes]]:
    """Split a prompt for storage.

    Returns:
        Its shape (JSON text, the same for many prompts), its own texts, and shared texts and
        media by SHA-256, to be stored once.
    """
    texts: list[str] = []
    blobs: dict[bytes, bytes] = {}
    messages: list[Any] = []
    for message in prompt.messages:
        parts: list[Any] = []
        for part in message.parts:
            if isinstance(part, MediaPart):
                digest = bytes.fromhex(part.sha256)
                blobs[digest] = part.data
                # Different for each, so the hash goes with the texts: a shape is shared by many.
                texts.append(part.sha256)
                parts.append(part.media_type)
            elif part.shared:
                body = part.text.encode()
                digest = hashlib.sha256(body).digest()
                blobs[digest] = body
                parts.append([digest.hex()])
            else:
                texts.append(part.text)
                parts.append(0)
        messages.append([message.role, parts])
    continuations: Any = list(prompt.continuations)
    if any(len(text) > _SHORT_CONTINUATION for text in continuations):
        texts.extend(continuations)
        continuations = len(continuations)
    shape = [prompt.kind, messages, continuations, prompt.params.asked()]
    return orjson.dumps(shape, option=orjson.OPT_SORT_KEYS).decode(), texts, blobs


def join_prompt(shape: str, texts: list[str], blob: Callable[[bytes], bytes]) -> Prompt:
    """Inverse of :func:`split_prompt`; ``blob`` gives a shared text or media by its hash."""
    kind, raw_messages, continuations, params = _parsed(shape)
    own = iter(texts)
    messages = []
    for role, raw_parts in raw_messages:
        parts: list[TextPart | MediaPart] = []
        for part in raw_parts:
            if part == 0:
                parts.append(TextPart(next(own)))
                continue
            digest = next(own) if isinstance(part, str) else part[0]
            data = blob(bytes.fromhex(digest))
            parts.append(
                MediaPart(part, data, digest)
                if isinstance(part, str)
                else TextPart(data.decode(), shared=True)
            )
        messages.append(Message(role, tuple(parts)))
    if isinstance(continuations, int):
        continuations = [next(own) for _ in range(continuations)]
    return Prompt(kind, tuple(messages), tuple(continuations), params)


@lru_cache(maxsize=64)
def _parsed(shape: str) -> tuple[Any, list[Any], Any, Params]:
    """Kind, messages, continuations and parameters of a shape, which most calls of a run share."""
    kind, messages, continuations, asked = orjson.loads(shape)
    if "stop" in asked:
        asked["stop"] = tuple(asked["stop"])
    return kind, messages, continuations, Params(**asked)


def reply_body(reply: Reply) -> bytes:
    """The body column of a reply: everything that has no column of its own."""
    body = reply_to_json(reply)
    body.pop("outcome", None)
    if usage := body.get("usage"):
        usage.pop("input_tokens", None)
        usage.pop("output_tokens", None)
        if not usage:
            del body["usage"]
    return orjson.dumps(body)
