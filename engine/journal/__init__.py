"""The run's SQLite file: one writer, any number of readers.

``schema`` says what is in it, ``codec`` how texts are packed, ``writer`` is
the engine's side and ``reader`` everybody else's.
"""

from evalbench.engine.journal.reader import JournalReader
from evalbench.engine.journal.records import CallKey, CallRow, Event, SampleRow, ScoreRow
from evalbench.engine.journal.writer import Journal

__all__ = ["CallKey", "CallRow", "Event", "Journal", "JournalReader", "SampleRow", "ScoreRow"]
