"""Whether load is to blame for a model's refusals: what came of sending less."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

TOLERATED = 0.03
"""Share of refusals that means nothing: probing the limit causes that many."""
_SURE = 3.0
"""Logarithm of how much likelier one cause must be than the other."""
_ENOUGH = 60
"""After this many outcomes, the likelier one will do."""


@dataclass(slots=True)
class Trial:
    """A cut, and what came after it: is load to blame for the refusals?

    Attributes:
        requests, were: requests before the cut, and how many of them were refused.
        sent, rate: requests and answers a second before the cut.
        size: the concurrency before the cut.
        floor: the share of refusals that is not doubted.
        again: an earlier cut did not lower that share either. Once is not enough: what a limit
            had saved up may have been answered before the first.
        answered, refused, took: outcomes since, and the seconds that they took.
    """

    requests: float
    were: float
    sent: float
    rate: float
    size: int
    floor: float
    again: bool = False
    answered: int = 0
    refused: int = 0
    took: float = 0.0

    @property
    def share(self) -> float:
        """Share of the requests since the cut that were refused."""
        return self.refused / (self.answered + self.refused)

    def verdict(self) -> bool | None:
        """Whether load is to blame; None while that is not known.

        If it is, fewer are refused when fewer are sent; if not, as many as before, and answers
        become fewer, as they do not where they were limited. (A likelihood ratio test of the two.)
        """
        count = self.answered + self.refused
        sent, rate = count / self.took, self.answered / self.took
        before = self.were / self.requests
        same = (self.were + self.refused) / (self.requests + count)
        if_load = max(self.floor, 1 - (1 - before) * self.sent / sent, TOLERATED / 2)
        if sent > 0.9 * self.sent or if_load > 0.8 * before:
            return None
        sure = _likelihood(self.requests, self.were, same) + _likelihood(count, self.refused, same)
        sure -= _likelihood(self.requests, self.were, before)
        sure -= _likelihood(count, self.refused, if_load)
        least = 0.0 if count >= _ENOUGH else _SURE
        if sure < -least:
            return True
        cost = rate < self.rate * (1 + sent / self.sent) / 2
        if sure > least and cost and self.share > 2 * TOLERATED:
            return False
        return True if count >= 2 * _ENOUGH else None


def _likelihood(count: float, refused: float, share: float) -> float:
    """Logarithm of how likely so many refusals are, if that share is refused."""
    share = min(max(share, 0.001), 0.999)
    return refused * log(share) + (count - refused) * log(1 - share)
