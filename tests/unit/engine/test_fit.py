"""Whether a model fits: by its footprint, the device's free memory and what it is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalbench.engine.calls.footprint import Footprint
from evalbench.engine.errors import SpecError
from evalbench.engine.hardware.devices import DeviceMemory, named_cards, system_memory, visible
from evalbench.engine.hardware.fit import Loading, Verdict, Work, fit, parse_bytes

GB = 1_000_000_000
MODEL = Footprint(
    parameters=3 * GB,
    linear=2_700_000_000,
    kept=57_344,
    passing=50_000,
    vocabulary=128_256,
    context_tokens=8192,
)


def cuda(free: float, cards: int = 1, *, bf16: bool = True) -> DeviceMemory:
    return DeviceMemory("cuda", "Pretend 9000", round(free * GB), 80 * GB, cards, bf16)


def cpu(free: float) -> DeviceMemory:
    return DeviceMemory("cpu", "CPU", round(free * GB), 64 * GB)


def test_weights_by_number_format() -> None:
    assert MODEL.weights("float32") == 12 * GB
    assert MODEL.weights("bfloat16") == MODEL.weights("float16") == 6 * GB
    assert MODEL.weights("8bit") == 3_300_000_000
    assert MODEL.weights("4bit") == round(2_700_000_000 * 0.516 + 600_000_000)


@pytest.mark.parametrize(
    ("free", "verdict", "form"),
    [
        (40, Verdict.FITS, "bfloat16"),
        (8, Verdict.SMALLER_BATCH, "bfloat16"),
        (6, Verdict.OTHER_FORM, "8bit"),
        (4, Verdict.OTHER_FORM, "4bit"),
        (2, Verdict.DOES_NOT, "bfloat16"),
    ],
)
def test_from_a_large_card_to_a_small_one(free: float, verdict: Verdict, form: str) -> None:
    room = cuda(free)
    found = fit(MODEL, room, Loading.chosen({}, room))
    assert (found.verdict, found.form) == (verdict, form)
    if verdict is not Verdict.DOES_NOT:
        assert found.need.total <= found.free == room.free
    else:
        assert min(found.least.values()) > room.free


def test_a_smaller_batch_is_the_largest_that_fits() -> None:
    room = cuda(8)
    loading = Loading.chosen({}, room)
    found = fit(MODEL, room, loading)
    twice = fit(
        MODEL, room, Loading("bfloat16", batch=found.batch * 2, slots=found.slots * 2), Work()
    )
    assert found.slots < 64
    assert twice.slots == found.slots


def test_on_a_cpu_16_bits_come_before_quantising() -> None:
    room = cpu(10)
    found = fit(MODEL, room, Loading.chosen({}, room))
    assert (found.verdict, found.form) == (Verdict.OTHER_FORM, "bfloat16")
    assert list(found.least) == ["float32", "bfloat16", "8bit", "4bit"]


def test_apples_gpus_are_not_quantised_for() -> None:
    room = DeviceMemory("mps", "Apple GPU", 4 * GB, 8 * GB)
    found = fit(MODEL, room, Loading.chosen({}, room))
    assert found.verdict is Verdict.DOES_NOT
    assert list(found.least) == ["bfloat16"]


def test_a_limit_counts_and_not_what_is_free() -> None:
    room = cuda(80)
    found = fit(MODEL, room, Loading.chosen({"memory_limit": "6GB"}, room))
    assert found.free == 6 * GB
    assert found.verdict is Verdict.OTHER_FORM


def test_longer_prompts_and_more_of_them_take_more() -> None:
    room = cuda(80)
    loading = Loading.chosen({}, room)
    few = fit(MODEL, room, loading, Work(100, 1)).need
    long = fit(MODEL, room, loading, Work(4000, 1)).need
    many = fit(MODEL, room, loading, Work(4000, 10)).need
    beyond = fit(MODEL, room, loading, Work(10**9, 10)).need
    whole = fit(MODEL, room, loading, Work(MODEL.context_tokens, 10)).need
    assert few.cache < long.cache < many.cache < beyond.cache == whole.cache
    assert few.weights == many.weights
    assert long.cache == 4000 * MODEL.kept * 2


def test_options_decide_the_number_format() -> None:
    old = cuda(80, bf16=False)
    assert Loading.chosen({}, cpu(8)).form == "float32"
    assert Loading.chosen({}, cuda(8)).form == "bfloat16"
    assert Loading.chosen({"dtype": "auto"}, old).form == "float16"
    assert Loading.chosen({"dtype": "float32"}, old).form == "float32"
    assert Loading.chosen({"dtype": "float32", "quantize": "4bit"}, old).form == "4bit"
    assert Loading.chosen({"dtype": "float32", "quantize": "none"}, old).form == "float32"


def test_every_card_has_a_context_of_its_own() -> None:
    one, two = (
        fit(MODEL, room, Loading.chosen({}, room)).need.process for room in (cuda(80), cuda(80, 2))
    )
    assert two == 2 * one


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("6GB", 6 * GB),
        ("6 gb", 6 * GB),
        ("6GiB", 6 * 1024**3),
        ("512MiB", 512 * 1024**2),
        ("8.5", 8_500_000_000),
        ("100k", 100_000),
        ("2T", 2000 * GB),
        ("", None),
    ],
)
def test_amounts_of_memory(text: str, number: int | None) -> None:
    assert parse_bytes(text) == number


@pytest.mark.parametrize("text", ["much", "-1GB", "6GBB", "0GB", "GB", "1e9"])
def test_what_is_no_amount_of_memory(text: str) -> None:
    with pytest.raises(SpecError, match="--memory-limit cannot be"):
        parse_bytes(text)


def test_a_container_has_less_than_its_machine(tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text(str(GB // 2))
    (tmp_path / "memory.current").write_text(str(GB // 10))
    free, total = system_memory(tmp_path)
    assert total == GB // 2
    assert free <= GB // 2 - GB // 10
    (tmp_path / "memory.max").write_text("max")
    assert system_memory(tmp_path)[1] > GB // 2


@pytest.mark.parametrize(
    ("named", "seen"),
    [
        (None, "abc"),
        ("", ""),
        ("-1", ""),
        ("1", "b"),
        ("2,0", "ca"),
        ("GPU-b", "b"),
        ("1,7,0", "b"),
        ("1,1", "b"),
    ],
)
def test_only_visible_cards_count(named: str | None, seen: str) -> None:
    cards = [{"uuid": f"GPU-{letter}", "name": letter} for letter in "abc"]
    assert "".join(card["name"] for card in visible(cards, named)) == seen


def test_of_the_parts_of_a_card_a_program_uses_one() -> None:
    parts = [{"uuid": f"MIG-{n}", "name": str(n)} for n in range(3)]
    assert [card["name"] for card in visible(parts, None)] == ["0"]
    assert [card["name"] for card in visible(parts, "MIG-2")] == ["2"]


def test_several_programs_use_all_the_parts() -> None:
    parts = [{"uuid": f"MIG-{n}", "name": str(n)} for n in range(3)]
    assert [card["name"] for card in named_cards(parts, None)] == ["0", "1", "2"]


def test_a_worker_has_a_card_or_a_part_of_main_memory() -> None:
    cards, cpu = DeviceMemory("cuda", "4 × A", 80, 120, 4), DeviceMemory("cpu", "CPU", 80, 120)
    assert cards.shared_out(1) == cards
    assert cards.shared_out(2) == DeviceMemory("cuda", "4 × A", 20, 30, 1)
    assert cpu.shared_out(2) == DeviceMemory("cpu", "CPU", 40, 60)


def test_a_footprint_crosses_a_pipe() -> None:
    assert Footprint.from_json(MODEL.to_json()) == MODEL
