"""Imports inspect_ai logs, ``.eval`` and ``.json``, as runs."""

from __future__ import annotations

import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import zstandard

from evalbench.engine.benchmark import Item
from evalbench.engine.data.reading import read_json, unreadable
from evalbench.engine.errors import DataError, counted
from evalbench.engine.field_checks import (
    anything,
    either,
    list_of,
    maybe,
    number,
    record,
    table_of,
    text,
    whole,
)
from evalbench.engine.files import RECORD, check_plain, check_unpacked, parse_json
from evalbench.engine.formats.reading import fitting, malformed
from evalbench.engine.formats.recorded import Place, Recorded, RecordedReply, known_as
from evalbench.engine.formats.scored import (
    LARGEST_SCORE,
    Items,
    given,
    labels,
    mmlu_item,
    mmlu_run,
    none_in,
    scored_run,
    scorer_name,
)
from evalbench.engine.scoring.letters import LETTERS

_ZSTD = 93
_LOCAL_HEADER = 30
_ATTACHED = "attachment://"
_WORDS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0}
"""The values that inspect's own ``value_to_float`` assigns to words."""

Json = Mapping[str, Any]

_MESSAGE = record(
    {}, {"role": text, "content": maybe(either(text, list_of(record({}, {"type": text}))))}
)
_HEAD = record(
    {"eval": record({"task": text}, {"model": maybe(text)})},
    {
        "status": maybe(text),
        "results": maybe(
            record(
                {},
                {
                    "scores": maybe(
                        list_of(record({}, {"name": text, "metrics": table_of(table_of(anything))}))
                    )
                },
            )
        ),
        "samples": maybe(list_of(anything)),
    },
)
_SAMPLE = record(
    {"id": either(text, whole()), "input": either(text, list_of(_MESSAGE))},
    {
        "epoch": whole(0),
        "target": maybe(either(text, list_of(text))),
        "choices": maybe(list_of(text)),
        "messages": maybe(list_of(_MESSAGE)),
        "output": maybe(
            record(
                {},
                {
                    "choices": maybe(list_of(record({"message": _MESSAGE}))),
                    "completion": maybe(text),
                    "time": maybe(number(0, 1e9)),
                },
            )
        ),
        "scores": maybe(table_of(record({"value": anything}, {"explanation": maybe(text)}))),
        "metadata": maybe(table_of(anything)),
    },
)


def read_log(path: Path, benchmark: str = "recorded") -> Recorded:
    """The run for one log.

    Raises:
        DataError: the file is not a log, or a sample is malformed.
    """
    try:
        check_plain(path)
    except OSError as error:
        raise unreadable(path, error) from None
    head, samples = _zipped(path) if zipfile.is_zipfile(path) else _plain(path)
    spec = head.get("eval")
    if not isinstance(spec, dict) or not spec.get("task"):
        raise DataError("this is no log of inspect", path=str(path), why="it names no task")
    fitting(head, _HEAD, "this is no log of inspect", path)
    items: Items = []
    judges: dict[str, None] = {}
    later: list[list[Mapping[Place, RecordedReply]]] = []
    unread = failed = 0
    for place, epochs in enumerate(_by_sample(path, samples), 1):
        try:
            first: list[Mapping[Place, RecordedReply]] = []
            for sample in epochs:
                if benchmark == "mmlu":
                    item, replies = _mmlu(sample)
                else:
                    item, replies, odd = _scored(sample, judges)
                    unread += odd
                if not first:
                    items.append((item, replies))
                first.append(replies)
                failed += bool(sample.get("error"))
            later.append(first[1:])
        except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
            raise malformed("this is no sample of a log", path, place, error) from None
    if not items:
        raise none_in(path)
    notes = _notes(head, unread, failed)
    if (most := max(map(len, later))) > 0:
        notes.append(counted(most + 1, "epoch"))
    model = str(spec.get("model") or "unnamed")
    if benchmark == "mmlu":
        notes.insert(0, "the replies are read by mmlu's parsers, not by the log's scorer")
        return mmlu_run(model, items, path, notes, later)
    return scored_run(str(spec["task"]), model, list(judges), items, path, notes, later)


def _by_sample(path: Path, samples: Iterator[Json]) -> list[list[Json]]:
    """The epochs of every sample, in order."""
    found: dict[Any, list[Json]] = {}
    for place, sample in enumerate(samples, 1):
        fitting(sample, _SAMPLE, "this is no sample of a log", path, place)
        found.setdefault(sample["id"], []).append(sample)
    return [sorted(epochs, key=lambda one: one.get("epoch") or 0) for epochs in found.values()]


def _notes(head: Json, unread: int, failed: int) -> list[str]:
    notes = []
    for score in (head.get("results") or {}).get("scores") or []:
        stated = ", ".join(
            f"{known_as(name)} {metric['value']:.6g}"
            for name, metric in score.get("metrics", {}).items()
            if isinstance(metric.get("value"), (int, float))
        )
        notes.append(f"the log says of {score.get('name')}: {stated}")
    if head.get("status") not in (None, "success"):
        notes.append(f"the log's status is {head['status']}: it may lack samples")
    if unread:
        which = "that is no number was" if unread == 1 else "that are no number were"
        notes.append(f"{counted(unread, 'score')} {which} left out")
    if failed:
        notes.append(f"{counted(failed, 'sample')} with an error: failed, not wrong")
    return notes


# -- the file ----------------------------------------------------------------------


def _plain(path: Path) -> tuple[Json, Iterator[Json]]:
    whole = read_json(path)
    if not isinstance(whole, dict):
        raise DataError("this is no log of inspect", path=str(path))
    return whole, iter(whole.get("samples") or [])


def _zipped(path: Path) -> tuple[Json, Iterator[Json]]:
    try:
        with zipfile.ZipFile(path) as packed:
            names = packed.namelist()
            # Of an interrupted run there is only the start.
            heads = [name for name in ("header.json", "_journal/start.json") if name in names]
            if not heads:
                raise DataError("this is no log of inspect", path=str(path))
            head = _member(path, packed, heads[0])
    except _BROKEN as error:
        raise _damaged(path, error) from None
    if not isinstance(head, dict):
        raise DataError("this is no log of inspect", path=str(path))
    return head, _zipped_samples(path)


def _zipped_samples(path: Path) -> Iterator[Json]:
    try:
        with zipfile.ZipFile(path) as packed:
            # A sample that was logged again has the same name; the newest comes last.
            names = dict.fromkeys(n for n in packed.namelist() if n.startswith("samples/"))
            sizes = (packed.getinfo(name).file_size for name in names)
            check_unpacked(sum(sizes), path.stat().st_size)
            for name in names:
                yield _member(path, packed, name)
    except (*_BROKEN, ValueError) as error:
        raise _damaged(path, error) from None


def _damaged(path: Path, error: Exception) -> DataError:
    if isinstance(error, OSError):
        return unreadable(path, error)
    return DataError("this is no whole .eval log", path=str(path), why=str(error))


def _member(path: Path, packed: zipfile.ZipFile, name: str) -> Any:
    """A JSON file in a log; inspect compresses with zstd, which the standard library lacks."""
    try:
        return parse_json(_bytes(packed, packed.getinfo(name)))
    except (*_BROKEN, ValueError) as error:
        raise DataError(f"{name} in it is damaged", path=str(path), why=str(error)) from None


_BROKEN = (
    OSError,
    EOFError,
    RuntimeError,  # also if it is encrypted, or the compression is unknown
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    zstandard.ZstdError,
)


def _bytes(packed: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """The content of a member, checked to be no larger than declared, and not too large.

    Raises:
        ValueError: it is.
    """
    if info.file_size > RECORD:
        raise ValueError(f"it unpacks to {info.file_size:,} bytes, over {RECORD:,}")
    if info.compress_type != _ZSTD:
        return packed.read(info)
    file = packed.fp
    assert file
    file.seek(info.header_offset)
    header = file.read(_LOCAL_HEADER)
    name, extra = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
    file.seek(name + extra, 1)
    packed_bytes = io.BytesIO(file.read(min(info.compress_size, RECORD)))
    with zstandard.ZstdDecompressor().stream_reader(packed_bytes) as body:
        unpacked: bytes = body.read(info.file_size + 1)
    if len(unpacked) > info.file_size:
        raise ValueError("it unpacks to more than it says")
    return unpacked


# -- a sample ------------------------------------------------------------------------


def _scored(
    sample: Json, judges: dict[str, None]
) -> tuple[Item, Mapping[Place, RecordedReply], int]:
    """A sample, its replies, and how many of its scores are not numbers."""
    inputs: dict[str, Any] = {"question": _question(sample)}
    if sample.get("choices"):
        inputs["choices"] = list(sample["choices"])
    item = Item(inputs, sample.get("target"), labels(sample.get("metadata")))
    replies: dict[Place, RecordedReply] = {}
    if sample.get("error"):
        return item, replies, 0
    replies["candidate", "answer", 0] = _reply(sample)
    odd = 0
    for name, score in (sample.get("scores") or {}).items():
        values = _values(name, score["value"])
        odd += not values
        judge = scorer_name(name)
        judges.setdefault(judge)
        place, reply = given(
            judge, values, score.get("answer"), _text(sample, score.get("explanation") or "")
        )
        replies[place] = reply
    return item, replies, odd


def _values(name: str, value: Any) -> dict[str, float]:
    """A score's numbers by name; a dictionary of scores gives one each."""
    if isinstance(value, Mapping):
        found: dict[str, float] = {}
        for part, part_value in value.items():
            found |= _values(f"{name}/{part}", part_value)
        return found
    if isinstance(value, str):
        word = _WORDS.get(value, _WORDS.get(value.lower()))
        try:
            value = float(value) if word is None else word
        except ValueError:
            return {}
    if isinstance(value, (bool, int, float)) and abs(value) <= LARGEST_SCORE:
        return {name: float(value)}
    return {}


def _mmlu(sample: Json) -> tuple[Item, Mapping[Place, RecordedReply]]:
    target, about = sample["target"], sample.get("metadata") or {}
    letter = target[0] if isinstance(target, list) else target
    item = mmlu_item(
        _question(sample), sample["choices"], LETTERS.index(letter), about.get("subject")
    )
    if sample.get("error"):
        return item, {}
    return item, {("candidate", "answer", 0): _reply(sample)}


def _question(sample: Json) -> str:
    """The input of the solver: a text, or the user's messages one after another."""
    given_ = sample["input"]
    if isinstance(given_, str):
        return _text(sample, given_)
    turns = [_content(sample, one) for one in given_ if one.get("role") == "user"]
    return "\n\n".join(turns or [_content(sample, one) for one in given_])


def _reply(sample: Json) -> RecordedReply:
    output = sample.get("output") or {}
    texts = [_content(sample, one["message"]) for one in (output.get("choices") or [])[:1]]
    seconds = output.get("time")
    asked = [
        _content(sample, one)
        for one in sample.get("messages") or []
        if one.get("role") in ("user", "system")
    ]
    reply = texts[0] if texts else _text(sample, str(output.get("completion") or ""))
    return RecordedReply(
        reply,
        "\n\n".join(asked) or _question(sample),
        float(seconds or 0),
    )


def _content(sample: Json, message: Json) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return _text(sample, content)
    return "".join(_part(sample, part) for part in content)


def _part(sample: Json, part: Json) -> str:
    if part.get("type") == "text":
        return _text(sample, str(part.get("text") or ""))
    return "" if part.get("type") == "reasoning" else f"[{part.get('type')}]"


def _text(sample: Json, text: str) -> str:
    """A text; long ones are stored separately and only referred to."""
    if text.startswith(_ATTACHED):
        attached: Sequence[Any] | Mapping[str, Any] = sample.get("attachments") or {}
        if isinstance(attached, Mapping):
            return str(attached.get(text.removeprefix(_ATTACHED), text))
    return text
