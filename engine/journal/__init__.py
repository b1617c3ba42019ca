"""The run's SQLite file: one writer, any number of readers.

``schema`` defines its contents, ``codec`` the compression of texts; ``writer`` is the engine's
side (in transactions of ``file``) and ``reader`` is for everything else.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalbench.engine.journal.reader import JournalReader
    from evalbench.engine.journal.records import CallKey, CallRow, Event, SampleRow, ScoreRow
    from evalbench.engine.journal.writer import Journal

_LATER = {
    "Journal": "writer",
    "JournalReader": "reader",
    **dict.fromkeys(("CallKey", "CallRow", "Event", "SampleRow", "ScoreRow"), "records"),
}
"""Names not needed for listing runs, and the modules that define them."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)


__all__ = ["CallKey", "CallRow", "Event", "Journal", "JournalReader", "SampleRow", "ScoreRow"]
