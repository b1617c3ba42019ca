"""Plans of forward passes: every row is read rightly, and nothing shared is run twice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evalbench.providers.local.packing import (
    SHORTEST_PREFIX,
    Group,
    Pack,
    Row,
    common,
    group_rows,
    pack_rows,
)

PREFIX = tuple(range(1000, 1300))


def question(number: int, length: int = 60) -> tuple[int, ...]:
    return tuple(number * 1000 + n for n in range(2000, 2000 + length))


def visible(pack: Pack) -> list[list[int]]:
    """For every token of a pack, the pack positions it may look at, itself included."""
    seen: list[list[int]] = [[] for _ in pack.tokens]
    for start, end, before in pack.blocks:
        for at in range(start, end):
            seen[at] = [*before, *range(start, at + 1)]
    return seen


def check_pack(pack: Pack) -> None:
    """Every row, followed through what its last token sees, spells the row itself."""
    seen = visible(pack)
    for row, positions in pack.reads:
        path = seen[positions[-1]]
        assert (*pack.prefix, *(pack.tokens[at] for at in path)) == row.tokens
        assert [pack.depths[at] for at in path] == list(range(len(path)))
        assert list(positions) == path[-row.take :]
        assert len(positions) == row.take


def run(rows: list[Row], size: int) -> tuple[list[Pack], int]:
    """All packs, and the tokens that they and their prefixes cost when each prefix is run once."""
    groups = group_rows(rows, size)
    packs = [pack for group in groups for pack in pack_rows(group, size)]
    prefixes = {pack.prefix for pack in packs}
    return packs, sum(map(len, prefixes)) + sum(len(pack.tokens) for pack in packs)


def test_the_beginning_that_all_share_is_run_once() -> None:
    rows = [Row((*PREFIX, *question(n)), take=1) for n in range(40)]
    packs, cost = run(rows, 512)
    assert cost == len(PREFIX) + 40 * 60
    assert {pack.prefix for pack in packs} == {PREFIX}
    assert max(len(pack.tokens) for pack in packs) <= 512
    assert len(packs) == 5


def test_subjects_get_a_prefix_each() -> None:
    prefixes = [(1, 2, 3, *(s * 100_000 + n for n in range(400))) for s in range(3)]
    rows = [Row((*prefix, *question(n)), take=1) for prefix in prefixes for n in range(20)]
    packs, cost = run(rows, 512)
    assert {pack.prefix for pack in packs} == set(prefixes)
    assert cost == sum(map(len, prefixes)) + 3 * 20 * 60


def test_endings_of_one_question_share_it() -> None:
    ending = [tuple(9000 + 10 * e + n for n in range(4)) for e in range(4)]
    rows = [Row((*question(q), *end[:-1]), take=4) for q in range(10) for end in ending]
    packs, cost = run(rows, 512)
    assert cost == 10 * (60 + 4 * 3)
    for pack in packs:
        check_pack(pack)


def test_a_hint_makes_a_prefix_even_for_a_single_row() -> None:
    (group,) = group_rows([Row((*PREFIX, *question(1)), take=1, hint=len(PREFIX))], 512)
    assert group.prefix == len(PREFIX)
    (alone,) = group_rows([Row((*PREFIX, *question(1)), take=1)], 512)
    assert alone.prefix == 0


def test_hinted_rows_of_two_subjects_are_kept_apart_though_they_would_fit_one_pack() -> None:
    first, second = PREFIX[:100], tuple(n + 5000 for n in PREFIX[:100])
    rows = [Row((*p, *question(n)), take=1, hint=100) for p in (first, second) for n in range(2)]
    groups = group_rows(rows, 2048)
    assert [(group.prefix, len(group.rows)) for group in groups] == [(100, 2), (100, 2)]


def test_what_fits_one_pack_needs_no_prefix() -> None:
    rows = [Row((*PREFIX, *question(n)), take=1) for n in range(3)]
    (group,) = group_rows(rows, 512)
    assert group.prefix == 0
    (pack,) = pack_rows(group, 512)
    assert len(pack.tokens) == len(PREFIX) + 3 * 60
    check_pack(pack)


def test_a_prefix_never_swallows_a_position_that_is_read() -> None:
    rows = [Row(PREFIX, take=50), Row((*PREFIX, *question(1, 900)), take=1)]
    packs, _ = run(rows, 512)
    for pack in packs:
        check_pack(pack)


def test_a_row_longer_than_a_pack_stands_alone() -> None:
    group = Group(0, (Row(question(1), 1), Row(question(2, 700), 1), Row(question(3), 1)))
    assert [len(pack.tokens) for pack in pack_rows(group, 512)] == [60, 700, 60]


def test_nothing_gives_no_groups() -> None:
    assert group_rows([], 512) == []


@given(st.lists(st.integers(0, 3), max_size=20), st.lists(st.integers(0, 3), max_size=20))
def test_common_counts_the_equal_beginning(a: list[int], b: list[int]) -> None:
    length = common(a, b)
    assert a[:length] == b[:length]
    assert length == min(len(a), len(b)) or a[length] != b[length]


rows_strategy = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.lists(st.integers(0, 2), min_size=1, max_size=12),
        st.integers(1, 4),
        st.booleans(),
    ),
    min_size=1,
    max_size=25,
)


@given(rows_strategy, st.integers(4, 120))
def test_any_rows_are_all_read_once_and_rightly(
    drawn: list[tuple[int, list[int], int, bool]], size: int
) -> None:
    shared = [tuple(range(s * 100, s * 100 + s * 40)) for s in range(3)]
    rows = [
        Row((*shared[s], *rest), min(take, len(rest)), len(shared[s]) if hinted else 0)
        for s, rest, take, hinted in drawn
    ]
    unique = list(dict.fromkeys(rows))
    packs, cost = run(unique, size)
    for pack in packs:
        check_pack(pack)
        assert len(pack.prefix) == 0 or len(pack.prefix) >= SHORTEST_PREFIX
    read = [row for pack in packs for row, _ in pack.reads]
    assert sorted(read, key=repr) == sorted(unique, key=repr)
    assert cost <= sum(len(row.tokens) for row in unique)
