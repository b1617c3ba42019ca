"""Compared runs in words, from the JSON lines of ``evalbench compare``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import Any

from evalbench.tui.state import figures

Line = Mapping[str, Any]

LEVEL = 0.05
"""Below this p-value a difference counts as significant."""


@dataclass(slots=True)
class Compared:
    """The output of ``evalbench compare --json``, by kind of line.

    Attributes:
        head: the ``comparing`` line.
        contenders: highest score first.
        pairs: every pair of runs.
        flips: samples whose scores differ, as far as they were requested.
    """

    head: Line
    contenders: list[Line] = field(default_factory=list)
    pairs: list[Line] = field(default_factory=list)
    flips: list[Line] = field(default_factory=list)

    @classmethod
    def of(cls, lines: Sequence[Line]) -> Compared:
        """Group lines by kind."""
        kinds: dict[str, list[Line]] = {}
        for line in lines:
            kinds.setdefault(str(line["event"]), []).append(line)
        head = kinds["comparing"][0]
        return cls(
            head, kinds.get("contender", []), kinds.get("comparison", []), kinds.get("flip", [])
        )

    @property
    def share(self) -> bool:
        """Whether scores are proportions, shown in percent."""
        return bool(self.head["share"])

    def letter(self, run: str) -> str:
        """A run's short name on this page: A, B and so on, in the order given."""
        return letter_of(self.head["runs"].index(run))

    def title(self) -> str:
        """``mmlu · Accuracy · 14,042 samples scored in every run``."""
        metric = self.head["title"] or self.head["metric"]
        return (
            f"{self.head['name']} · {metric}"
            f" · {figures.counted(self.head['samples'], 'sample')} scored in every run"
        )

    def subject(self) -> str:
        """The compared dimension."""
        what = self.head["compared"]
        if what == "model":
            return "compared: the model"
        if what == "nothing":
            same = not self.head["differences"]
            return (
                "compared: the same configuration twice; differences are noise"
                if same
                else "one model, and several things differ"
            )
        return f"compared: {what}, with one model"

    def differences(self) -> list[tuple[str, list[str]]]:
        """The settings that differ, and their values in each run; includes the compared one."""
        found = [(one["what"], list(one["values"])) for one in self.head["differences"]]
        if self.head["compared"] not in ("model", "nothing"):
            found.insert(0, (self.head["compared"], list(self.head["values"])))
        return found

    def alarm(self) -> str:
        """The warning above the differences; empty if only the compared thing differs."""
        count = len(self.head["differences"])
        if not count:
            return ""
        things = "one thing differs" if count == 1 else f"{count} things differ"
        more = " besides" if self.head["compared"] != "nothing" else ""
        return f"WARNING: {things}{more}; differences may come from that"

    def standings(self) -> list[tuple[str, ...]]:
        """Rows of the ranking: letter, model, score, interval, places, failed, run."""
        rows: list[tuple[str, ...]] = []
        for one in self.contenders:
            low, high = one["place_best"], one["place_worst"]
            places = f"{low}" if low == high else f"{low}–{high}"
            failed = figures.count(one["failed"]) if one["failed"] else ""
            shown = {**one, "value": one["score"], "share": self.share}
            rows.append(
                (
                    self.letter(one["run"]),
                    one["model"],
                    figures.value(shown),
                    figures.interval(shown),
                    places,
                    failed,
                    one["run"],
                )
            )
        return rows

    def efforts(self) -> list[tuple[str, ...]]:
        """Rows of each run's usage: letter, model, cost, tokens in and out, median and 95 %
        latency; empty if no run has the data."""
        rows: list[tuple[str, ...]] = [
            (
                self.letter(one["run"]),
                one["model"],
                "" if one["cost"] is None else figures.dollars(one["cost"]),
                figures.count(one["input_tokens"]) if one["input_tokens"] else "",
                figures.count(one["output_tokens"]) if one["output_tokens"] else "",
                "" if one["latency_s"] is None else figures.duration(one["latency_s"]),
                "" if one["latency_95_s"] is None else figures.duration(one["latency_95_s"]),
            )
            for one in self.contenders
            if "cost" in one
        ]
        return rows if any(any(row[2:]) for row in rows) else []

    def scatters(self, pair: Line) -> list[tuple[str, list[tuple[float, float, int]]]]:
        """The plot of a pair's scores: title and (first, second, count) for each point.

        Right-or-wrong scores are informative only in groups.
        """
        found = []
        if _has_points(pair):
            found.append(("samples", [(x, y, n) for x, y, n in pair["points"]]))
        if groups := pair.get("groups"):
            points = [(x, y, 1) for _, x, y, _ in groups]
            found.append((f"groups by {pair['grouped_by']}", points))
        return found

    @staticmethod
    def has_scatter(pair: Line) -> bool:
        """Whether :meth:`scatters` gives any plot."""
        return _has_points(pair) or bool(pair.get("groups"))

    def gap(self, number: float | None) -> str:
        """A score difference: ``+1.9 points``, or a plain number."""
        if number is None:
            return ""
        return self._signed(number) + (" points" if self.share else "")

    def between(self, low: float | None, high: float | None) -> str:
        """The interval of a difference, in the unit of :meth:`gap`."""
        if low is None or high is None:
            return ""
        return f"{self._signed(low)} to {self._signed(high)}"

    def _signed(self, number: float) -> str:
        return figures.signed(100 * number, 2) if self.share else figures.signed(number, 3)

    def pair_row(self, pair: Line) -> tuple[str, ...]:
        """A row of the pairs table: who, difference, interval, three p, verdict, detectable."""
        return (
            f"{self.letter(pair['second'])} − {self.letter(pair['first'])}",
            self.gap(pair["difference"]),
            self.between(pair["low"], pair["high"]),
            p_words(pair["p"]),
            p_words(pair["p_holm"]),
            p_words(pair["p_bh"]),
            self.verdict(pair),
            self.gap(pair["detectable"]).lstrip("+"),
        )

    def verdict(self, pair: Line) -> str:
        """Which run is higher, by the p-value corrected for all pairs."""
        if pair["p_holm"] is None or pair["p_holm"] >= LEVEL:
            return "not significant"
        higher = pair["second"] if pair["difference"] > 0 else pair["first"]
        return f"{self.letter(higher)} higher"

    def pair_facts(self, pair: Line) -> list[tuple[str, str]]:
        """All details of one pair, as (name, words)."""
        first, second = self.letter(pair["first"]), self.letter(pair["second"])
        gap = f"{second} − {first} = {self.gap(pair['difference'])}"
        found = [("difference", f"{gap}: {self.verdict(pair)}")]
        if between := self.between(pair["low"], pair["high"]):
            found.append(("95 %", f"{between}, {pair['interval'].removesuffix(', 95 %')}"))
        if pair["bootstrap"]:
            found.append(("", f"{self.between(*pair['bootstrap'])}, paired bootstrap"))
        if clustered := pair["clustered"]:
            between = self.between(clustered["low"], clustered["high"])
            words = f"{between}, clustered by {clustered['tag']} ({clustered['clusters']})"
            found.append(("", words))
        if pair["p"] is not None:
            words = f"{p_words(pair['p'])}, {pair['test']}"
            if clustered and clustered["p"] is not None:
                words += f"; clustered {p_words(clustered['p'])}"
            found.append(("p", words))
        found.append(("higher on", self._who(pair, first, second)))
        if pair["detectable"] is not None:
            least = self.gap(pair["detectable"]).lstrip("+")
            found.append(("detectable", f"{least} at least, with this many samples (80 % power)"))
        if pair["bounds"] and pair["bounds"][0] != pair["bounds"][1]:
            found.append(("with failed", f"{self.between(*pair['bounds'])} if wrong or right"))
        if doubt := self.doubt(pair):
            found.append(("but", doubt))
        return found

    def _who(self, pair: Line, first: str, second: str) -> str:
        words = (
            f"{first} {figures.count(pair['first_higher'])},"
            f" {second} {figures.count(pair['second_higher'])}"
        )
        if pair["both_right"] is None:
            return f"{words}, neither {figures.count(pair['equal'])}"
        return (
            f"{words}; both right {figures.count(pair['both_right'])},"
            f" both wrong {figures.count(pair['both_wrong'])}"
        )

    def doubt(self, pair: Line) -> str:
        """A note if clustered samples tell less than independent ones would; otherwise empty."""
        clustered = pair["clustered"]
        if not clustered or pair["p"] is None or clustered["p"] is None:
            return ""
        if pair["p"] < LEVEL <= clustered["p"]:
            return (
                f"so for these {clustered['clusters']} of {clustered['tag']};"
                " for others like them not shown"
            )
        return ""


def letter_of(place: int) -> str:
    """The short name of the run at a place: A, B … Z, AA, AB …"""
    rest, last = divmod(place, len(ascii_uppercase))
    return (ascii_uppercase[rest - 1] if rest else "") + ascii_uppercase[last]


def p_words(p: float | None) -> str:
    """A p-value: three significant digits, very small ones as a bound."""
    if p is None:
        return ""
    if p < 0.0001:
        return "< 0.0001"
    return f"{p:.4f}" if p < 0.1 else f"{p:.2f}"


def score_words(score: float, *, share: bool) -> str:
    """One sample's score: ``right``, ``wrong``, or the number."""
    if share and score in (0, 1):
        return "right" if score else "wrong"
    return f"{score:g}" if score == round(score, 3) else f"{score:.3f}"


def _has_points(pair: Line) -> bool:
    """Whether a pair's scores are grades, which can be plotted one by one."""
    return pair["both_right"] is None and len(pair.get("points") or ()) > 1
