"""OpenSeeSimE's rows and media: the content of a table and the files next to it.

Rows of the public data sets come from ``hub``.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalbench.engine.benchmark import Item
from evalbench.engine.data.images import Unreadable, encode, frames, whole_video
from evalbench.engine.data.media import MediaCache
from evalbench.engine.data.reading import SUFFIXES, Row, find_table, list_in, read_rows
from evalbench.engine.errors import DataError

SETS = {
    "structural": "cmudrc/OpenSeeSimE-Structural",
    "structural-small": "cmudrc/OpenSeeSimE-Structural-Small",
    "structural-mini": "cmudrc/OpenSeeSimE-Structural-Mini",
    "fluid": "cmudrc/OpenSeeSimE-Fluid",
    "fluid-mini": "cmudrc/OpenSeeSimE-Fluid-Mini",
}
_NUMBER = re.compile(r"[_ -]?\d+$")
_OPEN: Sequence[Any] = ("", "None", "nan", [])
"""What stands where an open question has no options."""
_COLUMNS = ("question", "question_type", "answer", "answer_choices", "media_type")


def folder_rows(path: Path) -> Iterator[tuple[int, Row, Path]]:
    """Rows of a table next to its media: (row number, columns, folder).

    Raises:
        DataError: there is no table, or it is malformed.
    """
    table = find_table(
        path,
        [name + suffix for name in ("rows", "test") for suffix in SUFFIXES],
        "table of rows",
        "it should hold rows.jsonl, rows.csv or rows.parquet, with media beside it",
    )
    for number, row in read_rows(table):
        yield number, row, table.parent


class Looks:
    """How media are shown; these settings are part of the question."""

    def __init__(
        self, cache: MediaCache, *, frames: int, sampling: str, longest: int, native: bool
    ) -> None:
        self.frames = frames
        self.sampling = sampling
        self.longest = longest
        self.native = native
        self._cache = cache
        self._seen: dict[str, list[dict[str, Any]]] = {}

    def shown(self, data: bytes, *, video: bool) -> list[dict[str, Any]]:
        """The images for one image or video, stored in the cache, as JSON values.

        Raises:
            Unreadable: the media are broken.
        """
        key = hashlib.sha256(data).hexdigest() + str(video)
        if key not in self._seen:
            self._seen[key] = self._made(data, video=video)
        return self._seen[key]

    def _made(self, data: bytes, *, video: bool) -> list[dict[str, Any]]:
        if not video:
            picture = encode(data, self.longest)
            return [self._kept(picture)]
        if self.native and (whole := whole_video(data)):
            return [self._kept(whole) | {"seconds": whole.seconds}]
        return [
            self._kept(frame.picture) | {"frame": frame.place, "seconds": frame.seconds}
            for frame in frames(data, self.frames, self.sampling, self.longest)
        ]

    def _kept(self, picture: Any) -> dict[str, Any]:
        return {
            "sha256": self._cache.keep(picture.data),
            "type": picture.media_type,
            "width": picture.width,
            "height": picture.height,
        }


def item(
    row: Row,
    looks: Looks,
    folder: Path | None,
    where: tuple[str, int],
    read: Callable[[Path], bytes] = Path.read_bytes,
) -> Item:
    """A row as an item. Broken media do not end the run: the sample records the problem.

    Raises:
        DataError: a column is missing.
    """
    if missing := [name for name in _COLUMNS if row.get(name) is None]:
        raise DataError(f"the column {missing[0]} is missing", path=where[0], line=where[1])
    video = str(row["media_type"]) == "video"
    try:
        # Open questions have none.
        choices = list_in(row["answer_choices"]) if row["answer_choices"] not in _OPEN else []
    except (TypeError, ValueError) as error:
        raise DataError(
            "answer_choices is no list", path=where[0], line=where[1], why=str(error)
        ) from None
    inputs: dict[str, Any] = {
        "question": str(row["question"]),
        "choices": [str(one) for one in choices],
        "video": video,
        "file": str(row.get("file_name") or ""),
        "question_id": row.get("question_id"),
    }
    try:
        inputs["media"] = looks.shown(
            _bytes(row["video" if video else "image"], folder, read), video=video
        )
    except Unreadable as error:
        inputs["media"], inputs["broken"] = [], str(error)
    tags = {
        "type": str(row["question_type"]),
        "medium": "video" if video else "image",
        "simulation": simulation(row),
        "answer": str(row["answer"]),
    }
    return Item(inputs, str(row["answer"]), tags)


def simulation(row: Row) -> str:
    """The simulated object: the file's name without its number."""
    return _NUMBER.sub("", str(row.get("source_file") or row.get("file_name") or ""))


def _bytes(value: Any, folder: Path | None, read: Callable[[Path], bytes]) -> bytes:
    """The bytes of a cell: a path next to the table, or the Hub's {bytes, path}.

    Raises:
        Unreadable: they do not exist.
    """
    if isinstance(value, Mapping):
        if value.get("bytes"):
            return bytes(value["bytes"])
        value = value.get("path")
    if not value or folder is None:
        raise Unreadable("the row has no medium")
    # By name: the Hub's caches keep the files next to a table behind links.
    path = Path(os.path.normpath(folder / str(value)))
    if not path.is_relative_to(os.path.normpath(folder)):
        raise Unreadable(f"{path.name} is outside of the table's folder")
    try:
        return read(path)
    except OSError as error:
        raise Unreadable(f"{path.name} cannot be read: {error.strerror}") from None
