"""Prepared data sets: ids, the cache, selection, verification."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalbench.engine.benchmark import Item, Sample, sample_ids
from evalbench.engine.config import registry
from evalbench.engine.config.spec import RunSpec, make_spec
from evalbench.engine.data.dataset import (
    prepare,
    prepared_path,
    read_dictionary,
    read_header,
    read_samples,
    selected_count,
    spread_over,
    verify_prepared,
)
from evalbench.engine.errors import DataError, SpecError
from tests.unit.engine.plugins import Installed
from tests.unit.engine.properties import quickly

pytestmark = pytest.mark.usefixtures("plugins")

Riddle = tuple[str, str, str]


def write_riddles(path: Path, *rows: Riddle) -> Path:
    """A data file of (question, answer, group)."""
    names = ("question", "answer", "group")
    lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
    path.write_text("\n".join(lines), "utf-8")
    return path


def spec(**given: Any) -> RunSpec:
    return make_spec("synthetic", "scripted/good", **given)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def riddles(tmp_path: Path) -> Path:
    """Ten riddles in three groups of different size, mixed."""
    groups = "abacabacaa"
    rows = [(f"question {n}", "ABCD"[n % 4], group) for n, group in enumerate(groups)]
    return write_riddles(tmp_path / "riddles.jsonl", *rows)


def chosen(file: Path, wanted: RunSpec) -> list[str]:
    """The questions that a spec selects, by their numbers."""
    bench = registry.benchmark_class(wanted.benchmark)
    samples = read_samples(file, wanted, bench)
    return [sample.inputs["question"].removeprefix("question ") for sample in samples]


# -- ids ---------------------------------------------------------------------


def test_an_id_is_a_hash_of_the_content_and_an_occurrence() -> None:
    item = Item({"question": "2+2?"}, "4", {"subject": "sums"})
    ids = [sample.id for sample in sample_ids(iter([item, item, Item({}, None), item]))]
    # Computed apart from the code: other ids would cut every run off from its answers.
    body = json.dumps([item.inputs, item.gold, item.tags], separators=(",", ":"))
    digest = hashlib.sha256(body.encode()).hexdigest()[:16]
    assert ids[0] == f"{digest}.1"
    assert ids[1] == f"{digest}.2"
    assert ids[3] == f"{digest}.3"
    assert ids[2].endswith(".1")


@pytest.mark.parametrize(
    "other",
    [
        Item({"q": "b"}, "4", {"s": "x"}),
        Item({"q": "a"}, "5", {"s": "x"}),
        Item({"q": "a"}, "4", {"s": "y"}),
        Item({"q": "a"}, "4"),
    ],
)
def test_inputs_gold_and_tags_are_content(other: Item) -> None:
    one, two = sample_ids(iter([Item({"q": "a"}, "4", {"s": "x"}), other]))
    assert one.id.partition(".")[0] != two.id.partition(".")[0]


def test_the_order_of_names_is_not_content() -> None:
    one, two = sample_ids(iter([Item({"a": 1, "b": 2}, ""), Item({"b": 2, "a": 1}, "")]))
    assert (one.id[:-2], two.id[-1]) == (two.id[:-2], "2")


items = st.builds(
    Item,
    st.dictionaries(st.text(max_size=2), st.integers(0, 3), max_size=2),
    st.none() | st.text("ab", max_size=1),
    st.dictionaries(st.sampled_from("xy"), st.sampled_from("12"), max_size=1),
)


@quickly
@given(
    st.lists(items, max_size=12).flatmap(
        lambda made: st.tuples(st.just(made), st.permutations(made))
    )
)
def test_ids_are_unique_and_do_not_depend_on_the_order(both: tuple[list[Item], list[Item]]) -> None:
    def by_id(of: list[Item]) -> dict[str, Sample]:
        samples = list(sample_ids(iter(of)))
        assert [(s.inputs, s.gold, s.tags) for s in samples] == [
            (i.inputs, i.gold, i.tags) for i in of
        ]
        return {sample.id: sample for sample in samples}

    first, second = map(by_id, both)
    assert len(first) == len(both[0])
    assert first == second


# -- spreading ------------------------------------------------------------------


def shares(total: int, sizes: Sequence[int]) -> list[int]:
    """How many places each group has among those that a limit chooses."""
    groups: dict[tuple[str, ...], list[int]] = {
        (str(n),): [1000 * n + at for at in range(size)] for n, size in enumerate(sizes)
    }
    drawn = Counter(place // 1000 for place in spread_over(groups, total))
    return [drawn[n] for n in range(len(sizes))]


def test_a_total_is_spread_over_groups() -> None:
    for total, sizes, wanted in (
        (6, [10, 10, 10], [2, 2, 2]),
        (8, [10, 10, 10], [3, 3, 2]),
        (2, [10, 10, 10], [1, 1, 0]),
        (7, [10, 1, 10], [3, 1, 3]),
        (10, [1, 1, 100], [1, 1, 8]),
        (99, [2, 1, 3], [2, 1, 3]),
        (5, [], []),
        (0, [3], [0]),
    ):
        assert shares(total, sizes) == wanted


@quickly
@given(st.integers(0, 300), st.lists(st.integers(1, 40), max_size=12))
def test_spreading_is_as_even_as_the_groups_allow(total: int, sizes: list[int]) -> None:
    found = shares(total, sizes)
    assert sum(found) == min(total, sum(sizes))
    largest = max(found, default=0)
    for index, (share, size) in enumerate(zip(found, sizes, strict=True)):
        assert 0 <= share <= size
        if share < size:
            assert share >= largest - 1, "a group with samples left is not behind by more than one"
            assert all(later <= share for later in found[index:]), "remainders go to the first"


@quickly
@given(
    st.dictionaries(
        st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.sampled_from("123")),
        st.integers(1, 9),
        max_size=12,
    ),
    st.sampled_from((None, "7")),
)
def test_every_smaller_limit_chooses_some_of_what_a_larger_one_does(
    sizes: dict[tuple[str, ...], int], seed: str | None
) -> None:
    def groups() -> dict[tuple[str, ...], list[int]]:
        return {
            key: [100 * n + at for at in range(size)] for n, (key, size) in enumerate(sizes.items())
        }

    everything = sum(sizes.values())
    order = list(spread_over(groups(), everything, seed))
    assert len(set(order)) == everything
    for limit in range(everything + 2):
        assert list(spread_over(groups(), limit, seed)) == order[:limit]


# -- preparing ---------------------------------------------------------------------


def test_a_data_set_is_prepared_as_lines_and_a_header(riddles: Path, cache: Path) -> None:
    wanted = spec(data=str(riddles))
    file = prepare(wanted, cache)
    assert file == prepared_path(wanted, cache)
    assert file.parent == cache / "data"
    assert {path.name for path in file.parent.iterdir()} == {file.name, f"{file.stem}.json"}
    ident, tags, inputs, gold = orjson.loads(file.read_bytes().splitlines()[1])
    assert (tags, inputs, gold) == ({"group": "b"}, {"question": "question 1"}, "B")
    assert ident.endswith(".1")
    header = read_header(file)
    assert (header.count, header.origin, header.revision, header.shared) == (
        10,
        "riddles.jsonl",
        "",
        None,
    )
    assert len(header.data_hash) == 32
    assert chosen(file, wanted) == [str(n) for n in range(10)]


def test_what_is_prepared_is_not_prepared_again(riddles: Path, cache: Path) -> None:
    wanted = spec(data=str(riddles))
    file = prepare(wanted, cache)
    file.write_bytes(b"marked")
    assert prepare(wanted, cache) == file
    assert file.read_bytes() == b"marked"


def test_a_run_from_before_an_option_finds_what_is_prepared(cache: Path) -> None:
    now = spec()
    assert prepared_path(replace(now, options={}), cache) == prepared_path(now, cache)


def test_a_file_that_changed_is_prepared_again(riddles: Path, cache: Path) -> None:
    wanted = spec(data=str(riddles))
    before = prepare(wanted, cache)
    write_riddles(riddles, ("question new", "A", "a"))
    after = prepare(wanted, cache)
    assert after != before
    assert chosen(after, wanted) == ["new"]
    assert read_header(before).data_hash != read_header(after).data_hash


def test_a_file_of_the_same_size_that_was_written_later_is_another(
    riddles: Path, cache: Path
) -> None:
    before = prepared_path(spec(data=str(riddles)), cache)
    stat = riddles.stat()
    os.utime(riddles, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    assert prepared_path(spec(data=str(riddles)), cache) != before


def test_an_edited_benchmark_file_counts_with_data_of_the_hub_too(
    tmp_path: Path, cache: Path
) -> None:
    file = tmp_path / "own.toml"
    paths = set()
    for question in ("one", "another"):
        file.write_text(f'[prompt]\ntemplate = "{question} {{{{ q }}}}"\n[answer]\ntarget = "a"\n')
        own = make_spec("custom", "scripted/good", options={"file": str(file)}, data="hf:me/set")
        paths.add(prepared_path(own, cache))
    assert len(paths) == 2


def test_any_file_in_a_folder_of_data_counts(tmp_path: Path, cache: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "a").write_text("1")
    wanted = spec(data=str(folder))
    paths = {prepared_path(wanted, cache)}
    (folder / "b").write_text("")
    paths.add(prepared_path(wanted, cache))
    (folder / "deep" / "a").write_text("12")
    paths.add(prepared_path(wanted, cache))
    assert len(paths) == 3


@pytest.mark.parametrize(
    ("change", "other"),
    [
        ({"options": {"size": 7}}, True),
        ({"options": {"wording": "puzzle"}}, False),
        ({"limit": 5}, False),
        ({"seed": 5}, False),
        ({"filters": {"group": "a"}}, False),
    ],
)
def test_only_what_affects_data_needs_another_file(
    cache: Path, change: dict[str, Any], other: bool
) -> None:
    assert (prepared_path(spec(**change), cache) != prepared_path(spec(), cache)) is other


def test_benchmarks_do_not_share_files(cache: Path) -> None:
    two = make_spec("two-turn", "scripted/good")
    assert prepared_path(two, cache) != prepared_path(spec(), cache)


def test_a_half_written_file_is_not_taken_for_whole(riddles: Path, cache: Path) -> None:
    wanted = spec(data=str(riddles))
    file = prepared_path(wanted, cache)
    file.parent.mkdir(parents=True)
    file.write_bytes(b'["1.1",{},{},null]\n')
    other = file.with_name(f"{file.name}.77")
    other.write_bytes(b"half a l")
    prepare(wanted, cache)
    assert verify_prepared(file) == 10
    assert other.exists(), "another process may be writing it"


def test_a_header_without_its_samples_is_not_taken_for_whole(riddles: Path, cache: Path) -> None:
    wanted = spec(data=str(riddles))
    prepare(wanted, cache).unlink()
    assert verify_prepared(prepare(wanted, cache)) == 10


def test_bad_data_names_its_row_and_leaves_nothing(tmp_path: Path, cache: Path) -> None:
    data = write_riddles(tmp_path / "riddles.jsonl", ("q", "A", "a"), ("q", "B", "a"))
    data.write_text(data.read_text() + "\nnonsense")
    with pytest.raises(DataError) as caught:
        prepare(spec(data=str(data)), cache)
    assert (caught.value.path, caught.value.line) == (str(data), 3)
    assert list((cache / "data").iterdir()) == []


def test_an_empty_data_set_is_refused_and_leaves_nothing(tmp_path: Path, cache: Path) -> None:
    data = tmp_path / "riddles.jsonl"
    data.touch()
    with pytest.raises(DataError, match="the data set is empty"):
        prepare(spec(data=str(data)), cache)
    assert list((cache / "data").iterdir()) == []


def test_a_row_that_is_no_json_is_named(installed: Installed, cache: Path) -> None:
    source = SHOTS.replace("SHARED", "0").replace('"shots"', '"odd"')
    source = source.replace('"q": n', '"q": n if n < 2 else object()')
    installed.add("odd", source, "evalbench.benchmarks", odd="Shots")
    with pytest.raises(DataError, match="cannot be written as JSON") as caught:
        prepare(make_spec("odd", "scripted/good"), cache)
    assert caught.value.line == 3
    assert list((cache / "data").iterdir()) == []


def test_a_large_set_comes_with_a_dictionary_and_a_small_one_without(cache: Path) -> None:
    small, large = (prepare(spec(options={"size": size}), cache) for size in (10, 1500))
    assert read_dictionary(small) == b""
    assert len(read_dictionary(large)) > 1000


def test_preparing_a_large_set_tells_how_far_it_is(cache: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    prepare(spec(options={"size": 20_001}), cache, lambda *progress: told.append(progress))
    assert told == [("preparing samples", 20_000, None)]


SHOTS = """
from evalbench.engine.benchmark import Benchmark, DataSet, Item
class Shots(Benchmark):
    name, version, title, summary = "shots", "1", "Shots", "few"
    def prepare(self, source):
        self.cache = source.cache
        items = [Item({"q": n}, n) for n in range(3)]
        return DataSet(iter(items), {"few": SHARED}, "hub/shots", "abc123")
    async def solve(self, sample, ask): ...
    def metrics(self, tally): return []
"""


def test_the_shared_value_and_the_origin_are_kept_and_hashed(
    installed: Installed, cache: Path, tmp_path: Path
) -> None:
    hashes = set()
    for number in (1, 2):
        module = f"shots_{number}"
        source = SHOTS.replace("SHARED", str([number])).replace('"shots"', f'"{module}"')
        installed.add(module, source, "evalbench.benchmarks", **{module: "Shots"})
    for number in (1, 2):
        file = prepare(make_spec(f"shots_{number}", "scripted/good"), cache)
        header = read_header(file)
        assert (header.origin, header.revision) == ("hub/shots", "abc123")
        assert header.shared == {"few": [number]}
        hashes.add(header.data_hash)
        assert verify_prepared(file) == 3
    assert len(hashes) == 2


# -- verifying ------------------------------------------------------------------------


@pytest.fixture
def prepared(riddles: Path, cache: Path) -> Path:
    return prepare(spec(data=str(riddles)), cache)


def test_a_whole_file_is_verified(prepared: Path) -> None:
    assert verify_prepared(prepared) == 10


@pytest.mark.parametrize(
    ("row", "line", "words"),
    [
        (3, b"{half", "row 3: not a sample"),
        (3, b"5", "row 3: not a sample"),
        (3, b"[1, 2]", "row 3: not a sample"),
        (1, b'["0000000000000000.1",{},{"question":"q"},"A"]', "row 1: the sample does not belong"),
    ],
)
def test_a_changed_row_is_named(prepared: Path, row: int, line: bytes, words: str) -> None:
    lines = prepared.read_bytes().splitlines()
    lines[row - 1] = line
    prepared.write_bytes(b"\n".join(lines))
    with pytest.raises(DataError, match=words) as caught:
        verify_prepared(prepared)
    assert caught.value.line == row
    assert "fetch it again" in caught.value.hint


def test_missing_rows_are_noticed(prepared: Path) -> None:
    prepared.write_bytes(b"\n".join(prepared.read_bytes().splitlines()[:-1]))
    with pytest.raises(DataError, match="differs from its header"):
        verify_prepared(prepared)


def test_a_changed_shared_value_is_noticed(prepared: Path) -> None:
    head = prepared.with_suffix(".json")
    head.write_bytes(orjson.dumps({**orjson.loads(head.read_bytes()), "shared": ["other"]}))
    with pytest.raises(DataError, match="differs from its header"):
        verify_prepared(prepared)


# -- selecting ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "numbers"),
    [
        ({}, "0123456789"),
        ({"limit": 3}, "013"),
        ({"limit": 7}, "0123457"),
        ({"limit": 99}, "0123456789"),
        ({"filters": {"group": "b"}}, "15"),
        ({"filters": {"group": ["b", "c"]}}, "1357"),
        ({"filters": {"group": ["a", "c"]}, "limit": 3}, "023"),
        ({"shuffle": True}, "0123456789"),
    ],
)
def test_filters_come_first_and_the_limit_is_spread_from_the_top_of_each_group(
    prepared: Path, riddles: Path, given: dict[str, Any], numbers: str
) -> None:
    wanted = spec(data=str(riddles), **given)
    assert "".join(chosen(prepared, wanted)) == numbers
    bench = registry.benchmark_class("synthetic")
    assert selected_count(prepared, wanted, bench) == len(numbers)


def test_a_shuffled_choice_depends_on_the_seed_alone_and_stays_spread(cache: Path) -> None:
    file = prepare(spec(), cache)

    def draw(**given: Any) -> list[str]:
        samples = read_samples(file, spec(limit=64, **given), registry.benchmark_class("synthetic"))
        drawn = list(samples)
        assert set(Counter(sample.tags["group"] for sample in drawn).values()) == {4}
        return [sample.id for sample in drawn]

    top, one, two = draw(), draw(shuffle=True, seed=1), draw(shuffle=True, seed=2)
    assert one == draw(shuffle=True, seed=1)
    assert len({tuple(ids) for ids in (top, one, two)}) == 3
    assert draw(seed=1) == top, "without --shuffle the seed chooses nothing"


def test_a_smaller_choice_is_part_of_a_larger_one(cache: Path) -> None:
    file = prepare(spec(), cache)
    bench = registry.benchmark_class("synthetic")
    for shuffle in (False, True):
        small, large = (
            {s.id for s in read_samples(file, spec(limit=limit, shuffle=shuffle), bench)}
            for limit in (10, 50)
        )
        assert small < large


def test_a_limit_is_spread_over_every_tag_that_a_benchmark_names() -> None:
    """Few samples still show every medium, and different simulations of each."""
    groups = {
        ("Binary", medium, simulation): [100 * m + 10 * s + n for n in range(5)]
        for m, medium in enumerate(("image", "video"))
        for s, simulation in enumerate("abcde")
    }

    def drawn(limit: int, seed: str | None = None) -> list[tuple[str, str]]:
        copy: dict[tuple[str, ...], list[int]] = {k: [*held] for k, held in groups.items()}
        chosen = set(spread_over(copy, limit, seed))
        assert len(chosen) == limit
        return [key[1:] for key, members in groups.items() for at in members if at in chosen]

    for seed in (None, "7"):
        four = drawn(4, seed)
        assert Counter(medium for medium, _ in four) == {"image": 2, "video": 2}
        assert len({simulation for _, simulation in four}) == 4
        assert set(Counter(drawn(20, seed)).values()) == {2}
    assert len(drawn(50)) == 50
    for bench, tags in (("openseesime", 2), ("spec-comply", 1), ("spec-rank", 2)):
        assert len(registry.benchmark_class(bench).spread_within) == tags


def test_chosen_samples_keep_the_order_of_the_file(cache: Path) -> None:
    file = prepare(spec(), cache)
    bench = registry.benchmark_class("synthetic")
    order = [sample.id for sample in read_samples(file, spec(), bench)]
    some = [sample.id for sample in read_samples(file, spec(limit=50, shuffle=True), bench)]
    assert some == [ident for ident in order if ident in set(some)]


def test_a_filter_value_that_the_data_lacks_points_to_the_nearest(
    tmp_path: Path, cache: Path
) -> None:
    data = write_riddles(tmp_path / "riddles.jsonl", ("q", "A", "anatomy"), ("r", "A", "astronomy"))
    wanted = spec(data=str(data), filters={"group": ["anatomy", "astronmy"]})
    file = prepare(wanted, cache)
    for look in (selected_count, lambda *args: list(read_samples(*args))):
        with pytest.raises(SpecError) as caught:
            look(file, wanted, registry.benchmark_class("synthetic"))
        assert caught.value.field == "group"
        assert caught.value.what == "the data has no group 'astronmy'"
        assert caught.value.hint.startswith("did you mean astronomy")


def test_filters_that_leave_nothing_are_refused(installed: Installed, cache: Path) -> None:
    source = SHOTS.replace("SHARED", "0").replace('"shots"', '"crossed"')
    source = source.replace('Item({"q": n}, n)', "Item({}, n, {'a': 'xyz'[n], 'b': 'xyz'[-n]})")
    source = source.replace('"few"\n', '"few"\n    filters = {"a": "", "b": ""}\n')
    installed.add("crossed", source, "evalbench.benchmarks", crossed="Shots")
    wanted = make_spec("crossed", "scripted/good", filters={"a": "x", "b": "z"})
    file = prepare(wanted, cache)
    with pytest.raises(SpecError, match="no sample is left after the filters") as caught:
        selected_count(file, wanted, registry.benchmark_class("crossed"))
    assert caught.value.hint == "widen the filters"
