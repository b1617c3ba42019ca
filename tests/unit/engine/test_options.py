"""Options: what each type takes, and what a wrong value is answered with."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalbench.engine.calls import Call, GatewayOptions, Provider, Reply
from evalbench.engine.calls.options import Option, options_of, parse_options, setting
from evalbench.engine.errors import SpecError
from tests.unit.engine.properties import quickly

SHOTS = Option("few_shots", int, 5, "examples", minimum=0, maximum=10)
HEAT = Option("heat", float, None, "temperature", minimum=0, maximum=2)
STYLE = Option("style", str, "plain", "style", choices=("plain", "fancy"))
NAME = Option("name", str, None, "a name")
CHAT = Option("chat", bool, False, "chat or not")
LABEL = Option("label", str, (), "labels", many=True)
NUMBERS = Option("number", int, (), "numbers", many=True, minimum=1)


def refusal(option: Option, raw: Any) -> SpecError:
    with pytest.raises(SpecError) as caught:
        option.parse(raw)
    assert caught.value.field == option.name
    assert option.flag in caught.value.what
    return caught.value


def test_a_flag_is_the_name_with_dashes() -> None:
    assert SHOTS.flag == "--few-shots"


@pytest.mark.parametrize(
    ("option", "raw", "value"),
    [
        (SHOTS, "3", 3),
        (SHOTS, 3, 3),
        (SHOTS, 3.0, 3),
        (SHOTS, " 3 ", 3),
        (SHOTS, "0", 0),
        (SHOTS, 10, 10),
        (HEAT, "0.7", 0.7),
        (HEAT, 1, 1.0),
        (HEAT, "2e-1", 0.2),
        (STYLE, "fancy", "fancy"),
        (NAME, "", ""),
        (NAME, "żółw 🐢", "żółw 🐢"),
        (LABEL, "one", ("one",)),
        (LABEL, ["one", "two"], ("one", "two")),
        (LABEL, (), ()),
        (NUMBERS, ["1", 2], (1, 2)),
        (NUMBERS, 3, (3,)),
    ],
)
def test_a_good_value_becomes_one_of_its_type(option: Option, raw: Any, value: Any) -> None:
    parsed = option.parse(raw)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize("raw", ["yes", "TRUE", "on", "1", True, 1])
def test_many_words_mean_yes(raw: Any) -> None:
    assert CHAT.parse(raw) is True


@pytest.mark.parametrize("raw", ["no", "False", "OFF", "0", False, 0])
def test_many_words_mean_no(raw: Any) -> None:
    assert CHAT.parse(raw) is False


def test_nothing_given_is_nothing() -> None:
    assert SHOTS.parse(None) is None
    assert LABEL.parse(None) == ()


@pytest.mark.parametrize(
    "raw",
    ["three", "3.5", 3.5, "", True, [3], {}, "nan", float("nan"), float("inf"), "1e400"],
)
def test_what_is_no_whole_number_is_refused(raw: Any) -> None:
    assert "takes a whole number" in refusal(SHOTS, raw).what


@pytest.mark.parametrize("raw", ["hot", "", False, None.__class__, [], "nan", float("nan"), "inf"])
def test_what_is_no_number_is_refused(raw: Any) -> None:
    assert "takes a number" in refusal(HEAT, raw).what


@pytest.mark.parametrize("raw", ["maybe", 2, "", None.__class__, 1.5])
def test_what_is_neither_yes_nor_no_is_refused(raw: Any) -> None:
    assert "takes yes or no" in refusal(CHAT, raw).what


@pytest.mark.parametrize("raw", [5, True, 1.5, {"a": 1}, ["x"], b"raw"])
def test_what_is_no_text_is_refused(raw: Any) -> None:
    assert "takes a text" in refusal(NAME, raw).what


def test_text_that_is_no_unicode_is_refused() -> None:
    # What Python makes of an argument in another encoding; it could never be stored.
    assert "takes a text" in refusal(NAME, "caf\udce9").what


@pytest.mark.parametrize(
    ("option", "raw", "words"),
    [
        (SHOTS, -1, "must be at least 0, not -1"),
        (SHOTS, "11", "must be at most 10, not 11"),
        (HEAT, "2.01", "must be at most 2, not 2.01"),
        (HEAT, -0.1, "must be at least 0, not -0.1"),
        (NUMBERS, ["4", "0"], "must be at least 1, not 0"),
    ],
)
def test_a_number_out_of_range_names_the_bound(option: Option, raw: Any, words: str) -> None:
    assert words in refusal(option, raw).what


def test_a_wrong_choice_names_the_right_ones() -> None:
    error = refusal(STYLE, "fanci")
    assert error.why == "allowed: plain, fancy"
    assert error.hint == "did you mean fancy?"


def test_large_whole_numbers_stay_exact() -> None:
    free = Option("seed", int, 0, "seed")
    assert free.parse("9007199254740993") == 2**53 + 1
    assert free.parse(-(2**63)) == -(2**63)


@pytest.mark.parametrize(
    "raw",
    [2**63, 10**400, "1" + "0" * 30, -(2**64), 1e30],
    ids=["just", "far", "text", "negative", "float"],
)
def test_a_number_too_large_to_store_is_refused(raw: Any) -> None:
    error = refusal(Option("seed", int, 0, "seed"), raw)
    assert "64 bits" in error.what
    assert len(error.what) < 600


@quickly
@given(st.integers(-(2**63), 2**63 - 1))
def test_every_storable_number_is_read_as_itself(number: int) -> None:
    free = Option("seed", int, 0, "seed")
    assert free.parse(number) == free.parse(str(number)) == number


@quickly
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists))
def test_any_toml_value_is_parsed_or_plainly_refused(raw: Any) -> None:
    for option in (SHOTS, HEAT, STYLE, NAME, CHAT, LABEL, NUMBERS):
        with contextlib.suppress(SpecError):
            option.parse(raw)


def test_defaults_fill_in_what_is_not_given() -> None:
    declared = (SHOTS, STYLE, LABEL)
    given = {"few_shots": "2", "style": None}
    assert parse_options(declared, given, "run") == {
        "few_shots": 2,
        "style": "plain",
        "label": (),
    }


def test_an_unknown_name_points_to_the_nearest() -> None:
    with pytest.raises(SpecError) as caught:
        parse_options((SHOTS, STYLE), {"few_shot": 1}, "benchmark mmlu")
    assert caught.value.field == "few_shot"
    assert caught.value.what == "benchmark mmlu has no option 'few_shot'"
    assert caught.value.hint == "did you mean few_shots?"


def test_a_variable_gives_what_the_user_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    option = Option("region", str, None, "where", variables=("ACME_REGION", "ACME_DEFAULT_REGION"))
    monkeypatch.delenv("ACME_REGION", raising=False)
    monkeypatch.delenv("ACME_DEFAULT_REGION", raising=False)
    assert parse_options([option], {}, "acme") == {"region": None}
    monkeypatch.setenv("ACME_DEFAULT_REGION", " south ")
    assert parse_options([option], {}, "acme") == {"region": "south"}
    monkeypatch.setenv("ACME_REGION", "north")
    assert parse_options([option], {}, "acme") == {"region": "north"}
    assert parse_options([option], {"region": "east"}, "acme") == {"region": "east"}


def test_a_text_may_stand_in_a_file(tmp_path: Path) -> None:
    option = Option("chat_template", str, None, "what", path="text")
    file = tmp_path / "template.jinja"
    file.write_text("{{ messages }}", "utf-8")
    assert option.parse(str(file)) == option.parse("{{ messages }}") == "{{ messages }}"
    assert option.parse("two\nlines") == "two\nlines"
    with pytest.raises(SpecError, match=r"the file .*missing\.jinja cannot be read"):
        option.parse(str(tmp_path / "missing.jinja"))
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(SpecError, match="cannot be read"):
        option.parse(str(file))


@dataclass(frozen=True, kw_only=True)
class Tuned(GatewayOptions):
    tone: str = setting("dry", "how it answers", choices=("dry", "warm"))
    words: tuple[str, ...] = setting((), "what it says")


class Echo(Provider):
    name = "echo"
    title = "Echo"
    settings: Any = Tuned()

    async def answer(self, call: Call) -> Reply:
        raise NotImplementedError


class Shouting(Echo):
    options = (Option("volume", int, 3, "how loud"),)


def test_options_are_a_record_or_if_only_the_table_is_declared_a_mapping() -> None:
    assert Echo.options == options_of(Tuned)
    assert [option.many for option in Echo.options[-2:]] == [False, True]
    assert Echo({"tone": "warm"}).settings == Tuned(tone="warm")
    assert Shouting({"volume": 5}).settings["volume"] == 5
