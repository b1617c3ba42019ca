"""How texts are packed in the journal.

Three sizes of repetition are taken out. Text that many calls share is stored
once by content hash. What is alike from call to call (the skeleton of a
prompt) is interned as a *shape*. What is left is compressed with zstd: a
prompt with its own sample as dictionary (it quotes it), samples and reply
bodies with dictionaries trained on the run's first ones.
"""

from __future__ import annotations

import hashlib
from typing import Any

import orjson
import zstandard

from evalbench.engine.calls import MediaPart, Message, Params, Prompt, TextPart

_RAW, _PLAIN, _TRAINED = b"\0", b"\1", b"\2"
_LEVEL = 3
_SHORT_CONTINUATION = 16
TRAIN_AFTER = 300
_DICTIONARY_BYTES = 32 * 1024


class Packer:
    """Compresses one kind of record; learns a dictionary from the first ones."""

    def __init__(self, dictionary: bytes | None = None) -> None:
        self._plain = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=False)
        self._unplain = zstandard.ZstdDecompressor()
        self._trained: zstandard.ZstdCompressor | None = None
        self._untrained: zstandard.ZstdDecompressor | None = None
        self._seen: list[bytes] | None = []
        if dictionary:
            self._use(dictionary)

    def _use(self, dictionary: bytes) -> None:
        known = zstandard.ZstdCompressionDict(dictionary)
        self._trained = zstandard.ZstdCompressor(
            level=_LEVEL, dict_data=known, write_checksum=False, write_dict_id=False
        )
        self._untrained = zstandard.ZstdDecompressor(dict_data=known)
        self._seen = None

    def learn(self) -> bytes | None:
        """Once enough records were packed: the new dictionary, to be stored; else None."""
        if self._seen is None or len(self._seen) < TRAIN_AFTER:
            return None
        examples: list[bytes | bytearray | memoryview] = list(self._seen)
        self._seen = None
        try:
            trained = zstandard.train_dictionary(_DICTIONARY_BYTES, examples).as_bytes()
        except zstandard.ZstdError:
            # Too alike or too small to train on: plain frames serve as well.
            return None
        self._use(trained)
        return trained

    def pack(self, data: bytes) -> bytes:
        """A tagged frame that :meth:`unpack` reads."""
        if self._trained is not None:
            return _smaller(data, _TRAINED + self._trained.compress(data))
        if self._seen is not None:
            self._seen.append(data)
        return _smaller(data, _PLAIN + self._plain.compress(data))

    def unpack(self, frame: bytes) -> bytes:
        """Inverse of :meth:`pack`."""
        tag, body = frame[:1], frame[1:]
        if tag == _RAW:
            return body
        if tag == _PLAIN:
            return self._unplain.decompress(body)
        if self._untrained is None:
            raise ValueError("frame needs a dictionary that is not there")
        return self._untrained.decompress(body)


def _smaller(data: bytes, frame: bytes) -> bytes:
    return frame if len(frame) <= len(data) else _RAW + data


def pack_beside(data: bytes, reference: bytes) -> bytes:
    """Compress ``data`` with ``reference`` as dictionary: cheap when it quotes it."""
    known = zstandard.ZstdCompressionDict(reference, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    packer = zstandard.ZstdCompressor(
        level=_LEVEL, dict_data=known, write_checksum=False, write_dict_id=False
    )
    return _smaller(data, _PLAIN + packer.compress(data))


def unpack_beside(frame: bytes, reference: bytes) -> bytes:
    """Inverse of :func:`pack_beside` with the same reference."""
    if frame[:1] == _RAW:
        return frame[1:]
    known = zstandard.ZstdCompressionDict(reference, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    return zstandard.ZstdDecompressor(dict_data=known).decompress(frame[1:])


def split_prompt(prompt: Prompt) -> tuple[str, list[str], dict[bytes, bytes]]:
    """Take a prompt apart.

    Returns:
        Its shape (JSON text, alike for many prompts), the texts that are its
        own, and shared texts and media by SHA-256, to be stored once.
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
                parts.append([part.media_type, part.sha256])
            elif part.shared:
                body = part.text.encode()
                digest = hashlib.sha256(body).digest()
                blobs[digest] = body
                parts.append(["", digest.hex()])
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


def join_prompt(shape: str, texts: list[str], blobs: dict[bytes, bytes]) -> Prompt:
    """Inverse of :func:`split_prompt`. A blob that is missing reads as empty."""
    kind, raw_messages, continuations, asked = orjson.loads(shape)
    own = iter(texts)
    messages = []
    for role, raw_parts in raw_messages:
        parts: list[TextPart | MediaPart] = []
        for part in raw_parts:
            if part == 0:
                parts.append(TextPart(next(own)))
                continue
            media_type, digest = part
            data = blobs.get(bytes.fromhex(digest), b"")
            parts.append(
                MediaPart(media_type, data, digest)
                if media_type
                else TextPart(data.decode(), shared=True)
            )
        messages.append(Message(role, tuple(parts)))
    if isinstance(continuations, int):
        continuations = [next(own) for _ in range(continuations)]
    if "stop" in asked:
        asked["stop"] = tuple(asked["stop"])
    return Prompt(kind, tuple(messages), tuple(continuations), Params(**asked))


def shape_blobs(shape: str) -> list[bytes]:
    """Hashes of the blobs that a shape refers to."""
    return [
        bytes.fromhex(part[1]) for _, parts in orjson.loads(shape)[1] for part in parts if part != 0
    ]
