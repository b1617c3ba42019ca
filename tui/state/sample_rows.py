"""The samples of a run as rows of a list, read a page at a time."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence

from evalbench.engine.errors import JournalError
from evalbench.engine.runs.browse import VALUE, SampleBrowser, SampleLine, Took
from evalbench.engine.runs.headline import Headline
from evalbench.engine.runs.rows import gold_text, read_text
from evalbench.tui.state import figures
from evalbench.tui.state.sample_words import outcome_word, question_words, value_word, verdict

Cells = tuple[str | tuple[str, str], ...]
"""The cells of a row: texts, some with a tone."""

_PAGE = 64
_PAGES = 64
_LONGEST = 400
"""Maximum characters of a text in one cell."""


def _ratings(line: SampleLine, headline: Headline) -> str:
    """All values of the first score, such as those of several judges."""
    values = line.scores[0].values if line.scores else {}
    return ", ".join(
        f"{name} {value_word(value, name, headline)}" for name, value in values.items()
    )


EXTRAS: Mapping[str, tuple[int, Callable[[SampleLine, Took, int, Headline], str]]] = {
    "latency": (9, lambda _, took, *__: figures.duration(took.seconds) if took.seconds else ""),
    "tokens in": (11, lambda _, took, *__: figures.count(took.input_tokens)),
    "out": (7, lambda _, took, *__: figures.count(took.output_tokens)),
    "cost": (10, lambda _, took, *__: figures.dollars(took.cost) if took.cost else ""),
    "epochs": (7, lambda line, _, epochs, __: f"{len(line.scores)} of {epochs}"),
    "values": (26, lambda line, _, __, headline: _ratings(line, headline)),
}
"""Optional columns: width, and the content of a cell. Those of one value each are further ones,
called :data:`VALUE` and the value's name."""

VALUE_WIDTH = 14
"""Width of a column that shows one value."""


def _extra(name: str, line: SampleLine, took: Took, epochs: int, headline: Headline) -> str:
    """The content of an optional column's cell; of a value, that of every epoch."""
    if not name.startswith(VALUE):
        return EXTRAS[name][1](line, took, epochs, headline)
    value = name.removeprefix(VALUE)
    values = (score.values[value] for score in line.scores if value in score.values)
    return ", ".join(value_word(number, value, headline) for number in values)


class SampleRows:
    """Rows of some samples, in order. Only recently viewed pages are kept in memory.

    Attributes:
        numbers: the samples, by their number in the run.
        live: whether an engine is working on the run.
    """

    def __init__(
        self,
        samples: SampleBrowser,
        numbers: Sequence[int],
        tags: Sequence[str] = (),
        *,
        extras: Sequence[str] = (),
        epochs: int = 1,
        gold: bool = True,
        live: bool = False,
    ) -> None:
        """``tags``, ``extras`` and ``gold`` get a column each; a finished sample has ``epochs``
        scores."""
        self._samples = samples
        self.numbers = numbers
        self.live = live
        self._tags = tags
        self._extras = extras
        self._epochs = epochs
        self._gold = gold
        self._held: OrderedDict[int, list[Cells]] = OrderedDict()
        self._open: set[int] = set()

    def __len__(self) -> int:
        return len(self.numbers)

    def row(self, index: int) -> Cells:
        """The cells of one row; one long cell if the journal cannot be read."""
        page, place = divmod(index, _PAGE)
        cells = self._held.get(page)
        if cells is None:
            try:
                cells = self._read(page)
            except JournalError as error:
                return ((error.summary, "bad"),)
        else:
            self._held.move_to_end(page)
        return cells[place]

    def _read(self, page: int) -> list[Cells]:
        numbers = self.numbers[page * _PAGE : (page + 1) * _PAGE]
        lines = self._samples.lines(numbers)
        took = self._samples.took(numbers) if self._extras else {}
        cells = [
            self._cells(number, lines.get(number), took.get(number, Took())) for number in numbers
        ]
        self._held[page] = cells
        if any(len(line.scores) < self._epochs for line in lines.values()):
            self._open.add(page)
        else:
            self._open.discard(page)
        while len(self._held) > _PAGES:
            oldest, _ = self._held.popitem(last=False)
            self._open.discard(oldest)
        return cells

    def forget_unfinished(self) -> bool:
        """Reload pages that contain unfinished samples; True if there are any."""
        for page in self._open:
            self._held.pop(page, None)
        forgotten = bool(self._open)
        self._open.clear()
        return forgotten

    def forget(self) -> None:
        """Reload every page: an engine that resumes a run retries failed samples."""
        self._held.clear()
        self._open.clear()

    def grow(self, numbers: Sequence[int]) -> None:
        """Show these samples, which begin like the current ones."""
        last = (len(self.numbers) - 1) // _PAGE
        self.numbers = numbers
        self._held.pop(last, None)
        self._open.discard(last)

    def _cells(self, number: int, line: SampleLine | None, took: Took) -> Cells:
        if line is None:
            return ((f"{figures.count(number):>8}   no longer part of the run", "dim"),)
        detail = line.scores[0].detail if line.scores else {}
        headline = self._samples.headline
        found = verdict(line.scores, headline)
        return (
            (figures.count(number), "dim"),
            (found.glyph, found.tone),
            (outcome_word(line, live=self.live), "" if line.scores else "dim"),
            (found.word, found.tone),
            read_text(detail)[:_LONGEST],
            *([gold_text(line.sample, detail, short=True)[:_LONGEST]] if self._gold else []),
            *((_extra(name, line, took, self._epochs, headline), "") for name in self._extras),
            *((line.sample.tags.get(tag, "")[:_LONGEST], "dim") for tag in self._tags),
            question_words(line.sample.inputs).lstrip()[:_LONGEST],
        )


def place_of(numbers: Sequence[int], number: int) -> int:
    """A sample's index in a list in any order; if absent, its index in one sorted by number."""
    place = bisect_left(numbers, number)
    if place < len(numbers) and numbers[place] == number:
        return place
    try:
        return numbers.index(number)
    except ValueError:
        return place


def next_among(found: Sequence[int], listed: Sequence[int], number: int) -> int | None:
    """The first sample after ``number`` in the list that is among the found ones; or None."""
    wanted = set(found)
    place = place_of(listed, number)
    after = place + 1 if place < len(listed) and listed[place] == number else place
    return next((listed[at] for at in range(after, len(listed)) if listed[at] in wanted), None)
