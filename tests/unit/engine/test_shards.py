"""Which calls go to which worker: what begins alike stays together, nobody waits at the end."""

from __future__ import annotations

import random

import pytest

from evalbench.engine.dispatch.local.shards import Shards, portion


def filled(*calls: tuple[str, str, int]) -> Shards:
    shards = Shards()
    for number, (key, beginning, size) in enumerate(calls):
        shards.add(key, number, beginning, size)
    return shards


def test_a_lone_worker_gets_calls_in_the_order_of_asking() -> None:
    shards = filled(*((name, "", 0) for name in "abcd"))
    assert shards.take("w", 3) == ["a", "b", "c"]
    assert shards.take("w") == ["d"]
    assert (shards.take("w"), len(shards)) == ([], 0)


def test_what_begins_alike_goes_to_the_worker_that_knows_the_beginning() -> None:
    calls = [(f"{p}{n}", p, 1) for n in range(4) for p in ("law", "art")]
    shards = filled(*calls)
    assert shards.take("one", 2) == ["law0", "law1"]
    assert shards.take("two", 2) == ["art0", "art1"], "a beginning that nobody has comes first"
    assert shards.take("one", 2) == ["law2", "law3"]
    assert shards.take("one", 1) == ["art2"], "rather than nothing, what another has begun"
    assert shards.take("two", 9) == ["art3"]


def test_a_beginning_returns_to_its_worker_later() -> None:
    shards = filled(("a", "law", 1), ("b", "art", 1))
    assert (shards.take("one", 1), shards.take("two", 1)) == (["a"], ["b"])
    shards.add("c", 3, "art", 1)
    shards.add("d", 4, "law", 1)
    assert shards.take("one", 1) == ["d"]
    shards.forget("two")
    shards.add("e", 5, "art", 1)
    assert shards.take("three", 2) == ["c", "e"], "nobody's, once its worker is gone"


def test_the_longest_go_first_and_about_equal_ones_together() -> None:
    shards = filled(("a", "", 5), ("b", "", 90), ("c", "", 7), ("d", "", 88), ("e", "", 5))
    assert shards.take("w", 2) == ["b", "d"]
    assert shards.take("w", 3) == ["c", "a", "e"]


def test_a_call_can_be_withdrawn_and_come_back() -> None:
    shards = filled(("a", "", 0), ("b", "", 0), ("c", "", 0))
    shards.discard("b")
    shards.discard("unknown")
    assert ("b" in shards, len(shards)) == (False, 2)
    assert shards.take("w") == ["a", "c"]
    shards.add("c", 2)
    shards.add("a", 0)
    shards.add("a", 0)
    assert shards.take("w") == ["a", "c"], "in its old place, and once"


@pytest.mark.parametrize(
    ("waiting", "inside", "workers", "most", "holds"),
    [
        (10_000, 0, 2, 768, 768),
        (1000, 0, 2, 768, 250),
        (1000, 0, 8, 768, 63),
        (300, 0, 8, 768, 32),
        (80, 0, 8, 768, 10),
        (80, 10, 8, 768, 12),
        (40, 0, 2, 32, 10),
        (3, 0, 4, 32, 1),
        (0, 0, 0, 1, 1),
    ],
)
def test_a_worker_holds_a_share_of_what_is_left(
    waiting: int, inside: int, workers: int, most: int, holds: int
) -> None:
    assert portion(waiting, inside, workers, most) == holds


@pytest.mark.parametrize("seed", range(30))
def test_workers_that_come_and_die_answer_every_call_once(seed: int) -> None:
    draw = random.Random(seed)
    calls = [(draw.randrange(5), draw.randrange(100)) for _ in range(draw.randrange(1, 120))]
    workers = draw.randrange(1, 6)
    shards = filled(*((f"c{n}", f"p{p}" * (p > 0), s) for n, (p, s) in enumerate(calls)))
    held: dict[int, list[str]] = {worker: [] for worker in range(workers)}
    answered: list[str] = []
    while len(answered) < len(calls):
        worker = draw.choice(list(held))
        match draw.random():
            case chance if chance < 0.1:
                for key in held.pop(worker):
                    number = int(key[1:])
                    prefix, size = calls[number]
                    shards.add(key, number, f"p{prefix}" * (prefix > 0), size)
                shards.forget(worker)
                held[max(held, default=0) + 1] = []
            case chance if chance < 0.6 and held[worker]:
                answered.append(held[worker].pop())
            case _:
                inside = sum(map(len, held.values()))
                most = portion(len(shards), inside, len(held), 24)
                held[worker] += shards.take(worker, max(0, most - len(held[worker])))
    assert sorted(answered) == sorted(f"c{n}" for n in range(len(calls)))
    assert len(shards) == 0
