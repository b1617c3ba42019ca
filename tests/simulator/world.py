"""Everything that the APIs of one simulator share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from tests.simulator.accounts import Accounts
from tests.simulator.batch_files import Files
from tests.simulator.batches import Batches
from tests.simulator.brain import Brain
from tests.simulator.clock import Clock
from tests.simulator.exchange import Bill, Exchange
from tests.simulator.limits import Limits
from tests.simulator.model_tables import TABLES
from tests.simulator.models import Catalogue, Model
from tests.simulator.promptcache import Prefix, PromptCache


@dataclass(slots=True)
class Latency:
    """How long an answer takes, in simulated seconds.

    Attributes:
        base: of every answer, errors included.
        per_token: for each output token.
        jitter: share by which it varies; the same request always takes the same time.
    """

    base: float = 0.0
    per_token: float = 0.0
    jitter: float = 0.0

    def of(self, content: int, output_tokens: int) -> float:
        """Seconds for a request of this content."""
        if not (self.base or self.per_token):
            return 0.0
        usual = self.base + self.per_token * output_tokens
        if not self.jitter:
            return usual
        spin = blake2b(b"%d" % content, digest_size=4).digest()
        return usual * (1 + self.jitter * (int.from_bytes(spin) / 2**31 - 1))


@dataclass(slots=True)
class World:
    """The shared state: time, models, minds, keys, limits, caches, batches and files."""

    clock: Clock = field(default_factory=Clock)
    brain: Brain = field(default_factory=Brain)
    catalogue: Catalogue = field(default_factory=lambda: Catalogue(TABLES))
    accounts: Accounts = field(default_factory=Accounts)
    limits: Limits = field(default_factory=Limits)
    cache: PromptCache = field(default_factory=PromptCache)
    latency: Latency = field(default_factory=Latency)
    batches: Batches = field(default_factory=Batches)
    files: Files = field(default_factory=Files)

    def read_cache(
        self, exchange: Exchange, api: str, model: str, prefixes: Sequence[Prefix]
    ) -> int:
        """Tokens of a prompt that were cached before; what was not is, once its answer begins."""
        begins = exchange.now + self.latency.of(exchange.content, 0)
        return self.cache.use((api, exchange.key, model), prefixes, exchange.now, begins)

    def cache_as_marked(
        self, bill: Bill, exchange: Exchange, api: str, marks: Sequence[Prefix]
    ) -> None:
        """Put on a bill what a prompt with marks of its own reads from the cache and writes."""
        if not marks:
            return
        bill.cache_read_tokens = self.read_cache(exchange, api, bill.model, marks)
        last = marks[-1]
        bill.cache_write_tokens = last.tokens - bill.cache_read_tokens
        if last.life > 300:
            bill.cache_write_1h_tokens = bill.cache_write_tokens

    def without_limits(self) -> World:
        """The same world for the requests of batches, which meet no rate limits."""
        return replace(self, limits=Limits(), latency=Latency())

    def reset(self) -> None:
        """Everything back to its beginning."""
        self.clock.reset()
        self.brain.reset()
        self.catalogue.reset()
        self.accounts.reset()
        self.limits.reset()
        self.cache.clear()
        self.latency = Latency()
        self.batches.reset()
        self.files.reset()


def price(bill: Bill, model: Model, factor: float = 1.0) -> Bill:
    """Put the money on a bill: nanodollars by the model's price list, times ``factor``."""
    prices = model.price
    if prices is None:
        return bill
    written = bill.cache_write_tokens - bill.cache_write_1h_tokens
    plain = bill.input_tokens - bill.cache_read_tokens - bill.cache_write_tokens
    dollars_per_million = (
        plain * prices.input
        + bill.cache_read_tokens * prices.cache_read
        + written * prices.cache_write
        + bill.cache_write_1h_tokens * prices.cache_write_1h
        + bill.output_tokens * prices.output
    )
    bill.nanodollars = round(dollars_per_million * 1000 * factor)
    return bill
