"""The specification of a run: every field's error in plain words, suites, identity."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalbench.engine.calls import ModelRef
from evalbench.engine.calls.options import Option, record_of, values_of
from evalbench.engine.config.spec import (
    COMMON,
    RunSettings,
    RunSpec,
    build_benchmark,
    check_spec,
    load_suite,
    make_spec,
    parse_model,
)
from evalbench.engine.errors import NoSuchModel, SpecError
from evalbench.engine.runs.record import differences
from tests.unit.engine.plugins import Installed
from tests.unit.engine.properties import quickly

pytestmark = pytest.mark.usefixtures("plugins")

PROVIDERS = "evalbench.providers"


def spec(**given: Any) -> RunSpec:
    return make_spec("synthetic", "scripted/good", **given)


def refused(**given: Any) -> SpecError:
    with pytest.raises(SpecError) as caught:
        spec(**given)
    return caught.value


# -- making ---------------------------------------------------------------------


def test_what_is_not_given_has_its_default() -> None:
    made = spec()
    assert made.candidate == ModelRef("scripted", "good")
    assert values_of(made.settings) == {option.name: option.default for option in COMMON}
    assert (made.get("limit"), made.get("epochs"), made.get("tag")) == (None, 1, ())
    assert dict(made.options) == {"size": 500, "wording": "riddle"}
    assert dict(made.provider_options) == {"mood": "plain"}
    assert made.filters == {}
    assert made.get("attempts") == 8


def test_raw_values_become_typed_ones() -> None:
    made = spec(
        options={"size": "7"},
        provider_options={"mood": "mumbling"},
        filters={"group": "a"},
        limit="5",
        shuffle="yes",
        tag=["x", "y"],
        temperature="0",
    )
    assert made.options["size"] == 7
    assert made.provider_options["mood"] == "mumbling"
    assert made.filters == {"group": ("a",)}
    assert [made.get(name) for name in ("limit", "shuffle", "tag", "temperature")] == [
        5,
        True,
        ("x", "y"),
        0.0,
    ]


def test_an_empty_filter_is_none() -> None:
    assert spec(filters={"group": []}).filters == {}


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("limit", 0, "--limit must be at least 1, not 0"),
        ("limit", "all", "--limit takes a whole number, not 'all'"),
        ("shuffle", "maybe", "--shuffle takes yes or no, not 'maybe'"),
        ("seed", "x", "--seed takes a whole number, not 'x'"),
        ("epochs", 0, "--epochs must be at least 1, not 0"),
        ("epochs", 1001, "--epochs must be at most 1000, not 1001"),
        ("concurrency", 0, "--concurrency must be at least 1, not 0"),
        ("concurrency", 10_001, "--concurrency must be at most 10000, not 10001"),
        ("qps", 0, "--qps must be at least 0.001, not 0"),
        ("attempts", 0, "--attempts must be at least 1, not 0"),
        ("attempts", 101, "--attempts must be at most 100, not 101"),
        ("temperature", 2.5, "--temperature must be at most 2, not 2.5"),
        ("temperature", -1, "--temperature must be at least 0, not -1"),
        ("top_p", 1.5, "--top-p must be at most 1, not 1.5"),
        ("max_tokens", 0, "--max-tokens must be at least 1, not 0"),
        ("key", 5, "--key takes a text, not 5"),
        ("env_file", [], "--env-file takes a text, not []"),
        ("desc", 5, "--desc takes a text, not 5"),
        ("tag", [5], "--tag takes a text, not 5"),
        ("data", 5, "--data takes a text, not 5"),
    ],
)
def test_every_common_setting_is_checked(field: str, value: Any, words: str) -> None:
    error = refused(**{field: value})
    assert (error.field, error.what) == (field, words)


@pytest.mark.parametrize(
    ("given", "field", "words", "hint"),
    [
        ({"limt": 5}, "limt", "run has no option 'limt'", "did you mean limit?"),
        (
            {"options": {"sise": 5}},
            "sise",
            "benchmark synthetic has no option 'sise'",
            "did you mean size?",
        ),
        (
            {"options": {"size": 0}},
            "size",
            "--size must be at least 1, not 0",
            "omit --size for the default, 500",
        ),
        (
            {"provider_options": {"temper": "x"}},
            "temper",
            "provider scripted has no option 'temper'",
            "known: mood",
        ),
        (
            {"provider_options": {"mood": "plane"}},
            "mood",
            "--mood cannot be 'plane'",
            "did you mean plain?",
        ),
        (
            {"filters": {"grp": "a"}},
            "grp",
            "synthetic cannot be filtered by 'grp'",
            "did you mean group?",
        ),
        ({"filters": {"group": 5}}, "group", "--group takes a text, not 5", ""),
        ({"filters": {"group": ["a", 5]}}, "group", "--group takes a text, not 5", ""),
    ],
)
def test_every_other_setting_is_checked(
    given: dict[str, Any], field: str, words: str, hint: str
) -> None:
    error = refused(**given)
    assert (error.field, error.what, error.hint) == (field, words, hint)


def test_an_unknown_benchmark_is_told() -> None:
    with pytest.raises(SpecError) as caught:
        make_spec("sinthetic", "scripted/good")
    assert caught.value.field == "benchmark"
    assert caught.value.hint == "did you mean synthetic?"


@pytest.mark.parametrize("model", ["", "good", "scripted/", "/good", "scripted/caf\udce9"])
def test_what_names_no_model_is_told_with_the_form_and_the_providers(model: str) -> None:
    with pytest.raises(SpecError) as caught:
        make_spec("synthetic", model)
    assert caught.value.field == "model"
    assert caught.value.what == f"{model!r} does not name a model"
    assert "provider/name" in caught.value.why
    assert "scripted" in caught.value.hint


def test_an_unknown_provider_is_told() -> None:
    with pytest.raises(SpecError) as caught:
        parse_model("scriptd/good")
    assert caught.value.field == "provider"
    assert caught.value.hint == "did you mean scripted?"


def test_data_is_stored_as_an_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "riddles.jsonl").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert spec(data="riddles.jsonl").get("data") == str(tmp_path / "riddles.jsonl")
    assert spec(data="~/riddles.jsonl").get("data") == str(tmp_path / "riddles.jsonl")
    assert spec(data=".").get("data") == str(tmp_path)


@pytest.mark.parametrize("data", ["nowhere.csv", "~no-such-user-here/a.csv", "x" * 300, "a\0b"])
def test_data_that_is_not_there_is_told(data: str) -> None:
    error = refused(data=data)
    assert error.field == "data"
    assert error.what == f"there is no file or folder {data}"
    assert error.hint == "check the path given to --data"


def test_a_benchmark_with_its_own_questions_takes_no_data(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="quickstart has its own questions") as caught:
        make_spec("quickstart", "scripted/good", data=str(tmp_path))
    assert caught.value.field == "data"


# -- written down ----------------------------------------------------------------


def test_a_spec_survives_json() -> None:
    made = spec(
        options={"size": 7},
        filters={"group": ["a", "b"]},
        limit=3,
        tag=["x"],
        temperature=0.5,
        desc="żółw",
    )
    assert RunSpec.from_json(orjson.loads(orjson.dumps(made.to_json()))) == made


words = st.text(st.characters(codec="utf-8"), max_size=5)
values = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | words
    | st.lists(words, max_size=2).map(tuple)
)
tables = st.dictionaries(words, values, max_size=3)
models = words.map("scripted/m{}".format)


def values_of_option(option: Option) -> st.SearchStrategy[Any]:
    """What a common setting can be."""
    low, high = option.minimum or 0, option.maximum or 10**6
    cents = st.integers(1 + int(low * 100), int(high * 100)).map(lambda n: Decimal(n) / 100)
    kinds: dict[type, st.SearchStrategy[Any]] = {
        bool: st.booleans(),
        int: st.integers(int(low), int(high)),
        float: cents.map(float),
        Decimal: cents,
        str: models if option.name == "judge" else words,
    }
    one = kinds[option.type]
    return st.lists(one, max_size=2).map(tuple) if option.many else one


of_every_run = st.fixed_dictionaries(
    {}, optional={option.name: values_of_option(option) for option in COMMON}
).map(partial(record_of, RunSettings))
filters = st.dictionaries(words, st.lists(words, min_size=1, max_size=2).map(tuple), max_size=2)


@settings(quickly, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.builds(RunSpec, words, models, of_every_run, tables, tables, filters))
def test_any_spec_survives_json(made: RunSpec) -> None:
    assert RunSpec.from_json(orjson.loads(orjson.dumps(made.to_json()))) == made


@pytest.mark.parametrize("given", ["0.1", 0.1, Decimal("0.1")])
def test_a_budget_is_the_decimal_that_was_given_and_a_number_in_json(given: Any) -> None:
    made = spec(budget=given)
    stored = orjson.loads(orjson.dumps(made.to_json()))
    assert stored["common"]["budget"] == 0.1
    for one in (made, RunSpec.from_json(stored)):
        assert (type(one.settings.budget), one.settings.budget) == (Decimal, Decimal("0.1"))


def test_a_spec_of_an_older_evalbench_gets_what_came_later() -> None:
    old = spec().to_json()
    del old["common"]["mode"]
    assert RunSpec.from_json(old) == spec()


# -- identity ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"limit": 5},
        {"shuffle": True},
        {"seed": 1},
        {"epochs": 2},
        {"temperature": 0},
        {"top_p": 0.5},
        {"max_tokens": 9},
        {"options": {"size": 3}},
        {"options": {"wording": "puzzle"}},
        {"filters": {"group": "a"}},
    ],
)
def test_what_decides_the_answers_is_identity(change: dict[str, Any]) -> None:
    assert spec(**change).identity() != spec().identity()


@pytest.mark.parametrize(
    "change",
    [
        {"concurrency": 3},
        {"qps": 2},
        {"attempts": 1},
        {"budget": 5},
        {"price": ["1/2"]},
        {"key": "work"},
        {"env_file": ".env"},
        {"desc": "again"},
        {"tag": ["x"]},
    ],
)
def test_how_it_is_run_is_not(change: dict[str, Any]) -> None:
    assert spec(**change).identity() == spec().identity()


@pytest.mark.parametrize(
    ("option", "decides"),
    [
        ({"dtype": "bfloat16"}, True),
        ({"quantize": "4bit"}, True),
        ({"dtype": "auto"}, False),
        ({"threads": 3}, False),
        ({"memory_limit": "6GB"}, False),
        ({"device": "cpu"}, False),
    ],
)
def test_how_a_local_model_is_loaded_is_identity_where_answers_depend_on_it(
    option: dict[str, Any], decides: bool
) -> None:
    def identity(**options: Any) -> Any:
        return make_spec(
            "synthetic", "local/smollm2-135m-instruct", provider_options=options
        ).identity()

    assert (identity(**option) != identity()) is decides


@pytest.mark.parametrize(
    ("model", "option", "decides"),
    [
        ("openai/gpt-4.1", {"image_detail": "low"}, True),
        ("openai/gpt-4.1", {"api": "responses"}, True),
        ("openai/gpt-4.1", {"service_tier": "flex"}, False),
        ("anthropic/claude-haiku-4-5", {"oversized_image": "downsize"}, True),
        ("anthropic/claude-haiku-4-5", {"legacy_sampling": "never"}, True),
        ("anthropic/claude-haiku-4-5", {"prompt_cache": "1h"}, False),
        ("google/gemini-2.5-flash", {"safety_settings": "none"}, True),
        ("google/gemini-2.5-flash", {"video_fps": 2.0}, True),
        ("ollama/llama3.2", {"num_ctx": 8192}, True),
        ("groq/openai/gpt-oss-20b", {"reasoning_format": "raw"}, True),
        ("openrouter/any/one", {"require_parameters": False}, True),
        ("openai/gpt-4.1", {"timeout": 9.0}, False),
    ],
)
def test_what_a_provider_is_told_is_identity_where_answers_depend_on_it(
    model: str, option: dict[str, Any], decides: bool
) -> None:
    told = make_spec("synthetic", model, provider_options=option).identity()
    assert (told != make_spec("synthetic", model).identity()) is decides


def test_a_run_from_before_there_was_an_option_is_the_same() -> None:
    now = make_spec("synthetic", "local/smollm2-135m-instruct").identity()
    before = {name: value for name, value in now.items() if name != "provider options"}
    assert differences(before, now) == []


def test_benchmark_and_model_are_identity_and_it_is_json() -> None:
    other_model = make_spec("synthetic", "scripted/better").identity()
    other_benchmark = make_spec("two-turn", "scripted/good").identity()
    mine = spec(filters={"group": ["a"]}, tag=["x"]).identity()
    assert orjson.loads(orjson.dumps(mine)) == mine
    assert len({str(identity) for identity in (mine, other_model, other_benchmark)}) == 3


# -- building ---------------------------------------------------------------------------


def test_a_benchmark_is_built_with_its_options_seed_and_shared_value() -> None:
    bench = build_benchmark(spec(options={"size": 3}, seed=9), shared={"few": 1})
    assert (bench.name, bench.opt.size, bench.seed, bench.shared) == (
        "synthetic",
        3,
        9,
        {"few": 1},
    )


KEYED = """
from evalbench.engine.calls import KeyNeed, Provider
class Vault(Provider):
    name, title, options, key = "vault", "Vault", (), KeyNeed(("VAULT_KEY",))
    async def answer(self, call): ...
"""


def test_a_provider_gets_its_options_and_its_key(installed: Installed) -> None:
    installed.add("vault_provider", KEYED, PROVIDERS, vault="Vault")
    made = make_spec("synthetic", "vault/m").roles()["candidate"]
    need = made.key_need
    assert need is not None
    assert need.variables == ("VAULT_KEY",)
    assert vars(made.provider("s3cret")) == {"settings": {}, "secret": "s3cret"}


def test_a_provider_without_keys_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SCRIPTED_LEDGER", raising=False)
    made = spec().roles()["candidate"]
    assert made.key_need is None
    assert make_spec("synthetic", "local/m").roles()["candidate"].key_need is None
    assert made.provider("s3cret").name == "scripted"


def test_a_model_that_can_do_it_passes() -> None:
    check_spec(spec())


def test_a_model_that_does_not_exist_is_refused() -> None:
    with pytest.raises(NoSuchModel, match="did you mean good"):
        check_spec(make_spec("synthetic", "scripted/goood"))


def test_a_model_that_cannot_answer_such_calls_is_refused() -> None:
    with pytest.raises(SpecError) as caught:
        check_spec(make_spec("mmlu", "scripted/good", options={"family": "original"}))
    assert caught.value.field == "model"
    assert caught.value.what == "scripted/good cannot answer the 'choose' calls that mmlu makes"
    assert caught.value.why == "it only writes"
    assert caught.value.hint.startswith("--family chat")
    check_spec(make_spec("mmlu", "scripted/good", options={"family": "chat"}))


# -- suites ----------------------------------------------------------------------------------


@pytest.fixture
def suite(tmp_path: Path) -> Any:
    """Writes a suite file and reads it."""

    def read(text: str) -> list[RunSpec]:
        path = tmp_path / "suite.toml"
        path.write_text(text, "utf-8")
        return load_suite(path)

    return read


def test_a_suite_is_defaults_and_runs_over_them(suite: Any) -> None:
    specs = suite(
        """
        [defaults]
        model = "scripted/good"
        limit = 50
        tag = ["nightly"]
        options = {size = 9, wording = "puzzle"}
        filters = {group = ["a", "b"]}
        [defaults.provider_options]
        mood = "mumbling"

        [[run]]
        benchmark = "synthetic"

        [[run]]
        benchmark = "two-turn"
        model = ["scripted/good", "scripted/better"]
        limit = 5
        options = {size = 3}
        filters = {group = []}
        """
    )
    assert [(one.benchmark, one.model) for one in specs] == [
        ("synthetic", "scripted/good"),
        ("two-turn", "scripted/good"),
        ("two-turn", "scripted/better"),
    ]
    first, second, third = specs
    assert (first.get("limit"), first.get("tag")) == (50, ("nightly",))
    assert first.options == {"size": 9, "wording": "puzzle"}
    assert first.filters == {"group": ("a", "b")}
    assert (second.get("limit"), second.get("tag")) == (5, ("nightly",))
    assert second.options == {"size": 3, "wording": "puzzle"}
    assert second.provider_options == {"mood": "mumbling"}
    assert second.filters == {}
    assert third.settings == second.settings


RUN = '[[run]]\nbenchmark = "synthetic"\nmodel = "scripted/good"\n'


@pytest.mark.parametrize(
    ("text", "field", "words"),
    [
        ("", "suite", "names no run"),
        ('run = "synthetic"', "suite", "names no run"),
        ('[run]\nbenchmark = "synthetic"', "suite", "names no run"),
        (RUN + "[default]\nlimit = 5", "suite", "unknown table 'default'"),
        ("defaults = 5\n" + RUN, "suite", "defaults is not a table"),
        ("run = [5]", "run", "run 1: 5 is not a table"),
        ('[[run]]\nmodel = "scripted/good"', "suite", "run 1: benchmark and model are needed"),
        (RUN + '[[run]]\nbenchmark = "synthetic"', "suite", "run 2: benchmark and model"),
        (
            '[[run]]\nbenchmark = "synthetic"\nmodel = []',
            "suite",
            "run 1: benchmark and model are needed",
        ),
        ("[[run]]\nbenchmark = 5\nmodel = 'a/b'", "benchmark", "run 1: --benchmark takes a text"),
        ("[[run]]\nbenchmark = 'synthetic'\nmodel = 5", "model", "run 1: --model takes a text"),
        ("[[run]]\nbenchmark = 'synthetic'\nmodel = [5]", "model", "run 1: --model takes a text"),
        (RUN + RUN + "limt = 5", "limt", "run 2: run has no option 'limt'"),
        (RUN + RUN + RUN + "limit = 0", "limit", "run 3: --limit must be at least 1"),
        (RUN + "limit = inf", "limit", "run 1: --limit takes a whole number"),
        (RUN + "options = 5", "options", "run 1: options is not a table"),
        (RUN + "filters = {group = 5}", "group", "run 1: --group takes a text, not 5"),
        ("[defaults]\nfilters = 1\n" + RUN, "filters", "run 1: filters is not a table"),
        (RUN + "data = 'gone.csv'", "data", "run 1: there is no file"),
        (RUN.replace("scripted", "scriptd"), "provider", "run 1: there is no provider"),
    ],
)
def test_a_fault_in_a_suite_names_the_table(suite: Any, text: str, field: str, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        suite(text)
    assert caught.value.field == field
    assert words in caught.value.what
    assert "suite.toml" in caught.value.what


def test_the_cure_of_a_fault_in_a_suite_is_kept(suite: Any) -> None:
    with pytest.raises(SpecError) as caught:
        suite(RUN + "limt = 5")
    assert caught.value.hint == "did you mean limit?"


def test_a_suite_that_is_no_toml_says_where(suite: Any) -> None:
    with pytest.raises(SpecError, match="is not a TOML file") as caught:
        suite("[[run]\n")
    assert "line 1" in caught.value.why


def test_a_suite_in_another_encoding_is_no_toml(tmp_path: Path) -> None:
    path = tmp_path / "suite.toml"
    path.write_bytes(b'desc = "caf\xe9"')
    with pytest.raises(SpecError, match="is not a TOML file"):
        load_suite(path)


def test_a_suite_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot read") as caught:
        load_suite(tmp_path / "none.toml")
    assert caught.value.why == "No such file or directory"
    with pytest.raises(SpecError, match="cannot read"):
        load_suite(tmp_path)


@pytest.mark.parametrize(("seed", "sent"), [(7, 7), (-1, 2**31 - 1), (2**40 + 5, 5)])
def test_the_runs_seed_is_the_candidates_own(seed: int, sent: int) -> None:
    assert spec(seed=seed).roles()["candidate"].overrides()["seed"] == sent


def test_without_a_seed_none_is_asked_for() -> None:
    for one in (spec(), spec(seed=0)):
        assert "seed" not in one.roles()["candidate"].overrides()
