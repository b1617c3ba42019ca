"""A run that is being set up: its settings, its faults, and the command line that equals it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from evalbench.engine.benchmarks.custom.example import files_of
from evalbench.engine.calls.options import Option
from evalbench.engine.config.spec import make_spec
from evalbench.engine.errors import SpecError
from evalbench.tui.state.cli_child import CommandFailed
from evalbench.tui.state.draft import (
    FIRST_TITLE,
    MORE,
    NEEDED,
    Draft,
    Fix,
    default_words,
    fault_words,
    help_words,
    parsed,
    split_judges,
)
from evalbench.tui.state.model_cache import Model
from evalbench.tui.state.plugins import Known, load_known


@pytest.fixture(scope="module")
def known() -> Known:
    found = load_known()
    assert not found.broken
    return found


@pytest.fixture
def draft(known: Known) -> Draft:
    return Draft(known, "mmlu", "openai", "gpt-4.1")


def test_what_is_installed_is_known_with_what_it_needs(known: Known) -> None:
    mmlu, openai, local = (
        known.benchmarks["mmlu"],
        known.providers["openai"],
        known.providers["local"],
    )
    assert mmlu.takes_data
    assert "subject" in mmlu.filters
    # Left to the model, it asks what any model answers.
    assert mmlu.needs({}) == {"generate"}
    assert mmlu.needs({"family": "original"}) == {"choose"}
    assert mmlu.needs({"family": "chat"}) == {"generate"}
    assert mmlu.needs({"family": "cot", "shots": 5}) == frozenset()
    assert (openai.takes_key, openai.local) == (True, False)
    assert (local.takes_key, local.local) == (False, True)
    assert known.providers["compatible"].needs_address
    assert not any(known.providers[name].needs_address for name in ("openai", "anthropic", "local"))
    assert "this machine" in local.about
    assert "network" in openai.about


def test_what_is_missing_is_told_in_the_order_of_choosing(known: Known) -> None:
    draft = Draft(known)
    assert "benchmark" in draft.missing
    draft.benchmark = "mmlu"
    assert "provider" in draft.missing
    draft.choose_model("openai/")
    assert "model" in draft.missing
    draft.choose_model("openrouter/meta/llama")
    assert (draft.provider, draft.model, draft.missing) == ("openrouter", "meta/llama", "")
    assert draft.full_model == "openrouter/meta/llama"


def test_settings_come_by_use_and_each_once(draft: Draft) -> None:
    sections = draft.sections()
    assert [part.title for part in sections] == ["settings", "of mmlu", "of openai", MORE]
    names = [option.name for part in sections for option in part.options]
    assert len(names) == len(set(names))
    assert names[:3] == ["limit", "epochs", "concurrency"]
    assert {"subject", "family", "base_url", "shuffle", "price"} <= set(names)


def test_data_and_judges_are_asked_for_where_they_apply(known: Known) -> None:
    def first(benchmark: str) -> set[str]:
        sections = Draft(known, benchmark, "openai").sections()
        titles = (NEEDED, FIRST_TITLE)
        return {one.name for part in sections if part.title in titles for one in part.options}

    assert "data" in first("mmlu")
    assert "judge" not in first("mmlu")
    closed = [name for name, one in known.benchmarks.items() if not one.takes_data]
    assert all("data" not in first(name) for name in closed)
    assert "judge" in first("mt-bench")
    assert "judge" in first("simpleqa")


@pytest.mark.parametrize(("template", "needed"), [("judged", True), ("text", False)])
def test_a_file_of_ones_own_needs_a_judge_if_it_scores_with_one(
    known: Known, tmp_path: Path, template: str, needed: bool
) -> None:
    for name, content in files_of(template, "mine").items():
        (tmp_path / name).write_bytes(content)
    draft = Draft(known, "custom", "openai", "gpt-4.1")
    draft.typed["file"] = str(tmp_path / "mine.toml")
    titles = {option.name: part.title for part in draft.sections() for option in part.options}
    assert (titles["judge"] == NEEDED) is needed
    assert ("judge" in draft.missing) is needed


def test_what_a_choice_makes_necessary_comes_first(known: Known) -> None:
    own = Draft(known, "quickstart", "compatible", "mine")
    needed = own.sections()[0]
    assert (needed.title, [option.name for option in needed.options]) == (NEEDED, ["base_url"])
    assert needed.hints == {"base_url": "http://127.0.0.1:8000/v1, for instance"}
    preset = Draft(known, "quickstart", "ollama", "mine")
    assert NEEDED not in [part.title for part in preset.sections()]
    hints = {name: hint for part in preset.sections() for name, hint in part.hints.items()}
    assert hints == {"base_url": "http://127.0.0.1:11434/v1"}
    own.called_for.append("price")
    assert [option.name for option in own.sections()[0].options] == ["base_url", "price"]
    own.choose_provider("ollama")
    assert NEEDED not in [part.title for part in own.sections()]


@pytest.mark.parametrize(
    ("typed", "whole"),
    [
        ("127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("localhost:11434", "http://localhost:11434"),
        ("gpu-box/v1", "http://gpu-box/v1"),
        ("10.1.2.3/v1", "http://10.1.2.3/v1"),
        ("llm.example.com/v1", "https://llm.example.com/v1"),
        ("8.8.8.8/v1", "https://8.8.8.8/v1"),
        ("http://x", ""),
        ("https://x.example/v1", ""),
        ("htt", ""),
        ("", ""),
        ("two words", ""),
    ],
)
def test_an_address_gets_the_scheme_that_it_lacks(known: Known, typed: str, whole: str) -> None:
    draft = Draft(known, "mmlu", "compatible", "mine", typed={"base_url": typed})
    fault = draft.faults().get("base_url")
    assert (fault.hint if fault else "") == (f"--base-url {whole}" if whole else "")
    if fault:
        assert draft.fix(None) == Fix("base_url", whole)
        assert draft.address_problem == "✗ base-url must begin with http:// or https://"


def test_a_key_in_place_of_an_address_is_not_made_one(known: Known) -> None:
    typed = {"base_url": "sk-proj-" + "a1B2" * 12}
    draft = Draft(known, "mmlu", "compatible", "mine", typed=typed)
    assert draft.faults()["base_url"].what == "--base-url is no place for a key"
    assert draft.fix(None) == Fix("base_url")


def test_what_would_put_an_error_right(known: Known) -> None:
    draft = Draft(known, "mmlu", "compatible", "mine")
    assert draft.fix(None) == Fix("base_url")
    assert draft.missing == "enter your server's address: base-url"
    draft.typed["base_url"] = "http://x"

    def failed(hint: str, setting: str = "") -> CommandFailed:
        error = CommandFailed("it cannot be", hint=hint)
        error.setting = setting
        return error

    assert draft.fix(None) is None
    assert draft.fix(failed("wait")) is None
    assert draft.fix(failed("give it with --base-url, for example http://x")) == Fix("base_url")
    assert draft.fix(failed("", "price")) == Fix("price")
    # A key is asked for by its own command, but a wrong name of one is in a field.
    lacking = failed("export COMPATIBLE_API_KEY=…; or name a file with --env-file FILE", "key")
    assert draft.fix(lacking) is None
    draft.typed["key"] = "work"
    assert draft.fix(lacking) == Fix("key")
    draft.typed.pop("key")
    assert draft.fix(failed("--family chat, which asks what it can")) == Fix("family", "chat")
    assert draft.fix(failed("--family nonsense")) == Fix("family")
    assert draft.fix(failed("evalbench keys set groq --force")) is None
    assert (Fix("family", "chat").words, Fix("base_url").words) == (
        "use family chat",
        "go to base-url",
    )
    only_writes = Model("compatible/mine", "compatible", "mine", able={"choose": False})
    # Left open, the family goes by what the model can answer.
    assert draft.fix(None, only_writes) is None
    draft.typed["family"] = "original"
    assert draft.fix(None, only_writes) == Fix("family", "chat")
    draft.typed["family"] = "chat"
    assert draft.fix(None, only_writes) is None
    draft.typed["limit"] = "many"
    assert draft.fix(None) == Fix("limit")


def test_the_settings_of_a_run_are_taken_over(known: Known) -> None:
    spec = make_spec(
        "mmlu",
        "compatible/mine",
        options={"family": "chat", "shots": 3},
        provider_options={"base_url": "http://127.0.0.1:8000/v1"},
        filters={"subject": ("anatomy", "astronomy")},
        limit=7,
        temperature=0.5,
        shuffle=True,
        tag=["one", 'two, "three"'],
    )
    draft = Draft(known, "quickstart", "openai", "gpt-4.1", {"limit": "3"})
    draft.take(spec)
    given = draft.given()
    again = make_spec(
        draft.benchmark,
        draft.full_model,
        options={name: given.pop(name) for name in spec.options if name in given},
        provider_options={name: given.pop(name) for name in ("base_url",)},
        filters={"subject": given.pop("subject")},
        **given,
    )
    assert again == spec
    judged = make_spec("mt-bench", "openai/gpt-4.1", judge=["openai/gpt-5-mini,temperature=0"])
    draft.take(judged)
    assert draft.given() == {"judge": judged.settings.judge}


def test_errors_speak_of_fields(known: Known) -> None:
    omit = "omit --limit for the default; --no-such stays"
    assert (
        Draft(known, "mmlu").as_fields(omit) == "leave limit empty for the default; --no-such stays"
    )
    draft = Draft(known, "mmlu", "compatible", "mine")
    assert draft.as_fields("--base-url is no address; see --help") == (
        "base-url is no address; see --help"
    )


def test_the_command_line_has_what_differs_from_the_defaults(draft: Draft) -> None:
    assert draft.command() == "evalbench run mmlu --model openai/gpt-4.1"
    draft.typed |= {
        "limit": " 50 ",
        "seed": "0",
        "temperature": "0.50",
        "shuffle": "yes",
        "subject": "anatomy, astronomy",
        "family": "original",
        "desc": "-odd one",
        "stop": 'a, "b, c"',
        "nothing-of-this-name": "x",
    }
    words = shlex.split(draft.command())
    assert words[:5] == ["evalbench", "run", "mmlu", "--model", "openai/gpt-4.1"]
    assert words[5:] == [
        *("--limit", "50", "--temperature", "0.5"),
        # Left out, the model decides: the default is given on purpose.
        *("--family", "original"),
        *("--subject", "anatomy", "--subject", "astronomy"),
        *("--shuffle", "--stop", "a", "--stop", "b, c", "--desc=-odd one"),
    ]
    draft.choose_model("openrouter/x")
    draft.typed["require_parameters"] = "no"
    assert "--no-require-parameters" in draft.words()


def test_a_key_is_refused_wherever_it_is_typed_and_never_comes_into_a_command(
    draft: Draft,
) -> None:
    secret = "sk-proj-0123456789abcdefghij"
    draft.typed |= {"key": f" {secret} ", "desc": secret, "limit": "3"}
    assert set(draft.faults()) == {"key", "desc"}
    for fault in draft.faults().values():
        assert secret not in str(fault)
    assert secret not in draft.command() + " ".join([*draft.probe_words(), *draft.asking_words()])


def test_address_and_key_of_a_provider_are_not_carried_to_another(draft: Draft) -> None:
    draft.typed |= {"base_url": "http://127.0.0.1:9", "key": "work", "limit": "3"}
    draft.choose_provider("openai")
    assert draft.typed["base_url"]
    draft.choose_provider("groq")
    assert (draft.typed, draft.model) == ({"limit": "3"}, "")


def test_the_run_after_this_one_asks_the_same_server(known: Known) -> None:
    draft = Draft(known, "mmlu", "compatible", "mine")
    draft.typed |= {"base_url": "http://127.0.0.1:8000/v1", "limit": "5", "temperature": "0"}
    after = draft.next_one()
    assert after.command() == (
        "evalbench run mmlu --model compatible/mine --base-url http://127.0.0.1:8000/v1"
    )
    assert draft.typed["limit"] == "5"


def test_a_probe_takes_the_settings_of_the_model_only(draft: Draft) -> None:
    draft.typed |= {
        "limit": "50",
        "temperature": "1",
        "family": "chat",
        "api": "chat",
        "key": "work",
        "base_url": "http://127.0.0.1:9",
    }
    assert draft.probe_words() == (
        *("openai/gpt-4.1", "--temperature", "1"),
        *("--base-url", "http://127.0.0.1:9", "--api", "chat", "--key", "work"),
    )
    asking = draft.asking_words()
    assert asking == ("--base-url", "http://127.0.0.1:9", "--key", "work")


def test_faults_name_what_is_allowed_and_stay_out_of_the_command(draft: Draft) -> None:
    draft.typed |= {"limit": "0", "temperature": "hot", "family": "chatty", "epochs": "2"}
    faults = draft.faults()
    assert set(faults) == {"limit", "temperature", "family"}
    assert faults["limit"].what == "--limit must be at least 1, not 0"
    assert "chat" in faults["family"].why
    assert draft.command().endswith("--epochs 2")
    # Needs are those of the settings that can be read.
    assert draft.needs() == {"generate"}
    draft.typed["family"] = "original"
    assert draft.needs() == {"choose"}


@pytest.mark.parametrize(
    ("option", "text", "value"),
    [
        (Option("n", int, 3, ""), "", 3),
        (Option("n", int, 3, ""), " 4 ", 4),
        (Option("t", str, None, ""), " as it is ", " as it is "),
        (Option("t", str, (), "", many=True), "a,,b ,", ("a", "b")),
        (Option("b", bool, True, ""), "no", False),
    ],
)
def test_typed_texts_become_values(option: Option, text: str, value: object) -> None:
    assert parsed(option, text) == value


def test_a_text_that_is_no_value_is_refused() -> None:
    with pytest.raises(SpecError, match="takes a whole number, not 'x'"):
        parsed(Option("n", int, None, ""), "x")


def test_defaults_and_help_are_in_words() -> None:
    assert default_words(Option("limit", int, None, "")) == "all samples"
    assert default_words(Option("timeout", float, 600.0, "")) == "600"
    assert default_words(Option("group", str, (), "", many=True)) == "any"
    shown = help_words(Option("temperature", float, None, "How warm", minimum=0, maximum=2))
    assert shown == "--temperature: how warm (0 to 2)"
    assert "several: with commas" in help_words(Option("tag", str, (), "a label", many=True))


# -- judges ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "judges"),
    [
        ("", []),
        ("openai/a", ["openai/a"]),
        ("openai/a,temperature=0,qps=10", ["openai/a,temperature=0,qps=10"]),
        (
            "openai/a, temperature=0 , compatible/b,base-url=http://x/v1?a=b,c/d",
            ["openai/a,temperature=0", "compatible/b,base-url=http://x/v1?a=b", "c/d"],
        ),
        ("openai/a,,openai/b,", ["openai/a", "openai/b"]),
        ("temperature=0", ["temperature=0"]),
    ],
)
def test_judges_in_one_field_are_told_apart(text: str, judges: list[str]) -> None:
    assert split_judges(text) == judges


def test_a_judge_comes_first_and_is_missed_until_it_is_named(known: Known) -> None:
    draft = Draft(known, "mt-bench", "openai", "gpt-4.1")
    section = draft.sections()[0]
    assert section.options[0].name == "judge"
    assert "PROVIDER/NAME,temperature=0,qps=10" in default_words(section.options[0])
    assert draft.lacks_judge
    assert draft.missing == "name a judge, as PROVIDER/NAME,temperature=0,qps=10"
    draft.typed["judge"] = "openai/gpt-5-mini,temperature=0,qps=2, anthropic/claude-haiku-4-5"
    assert (draft.missing, draft.faults()) == ("", {})
    assert draft.words()[3:] == (
        *("--judge", "openai/gpt-5-mini,temperature=0,qps=2"),
        *("--judge", "anthropic/claude-haiku-4-5"),
    )
    assert not Draft(known, "mmlu", "openai", "gpt-4.1").lacks_judge


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gpt-5-mini", "does not name a model"),
        ("opnai/gpt-5-mini", "did you mean openai"),
        ("openai/a,temprature=0", "did you mean temperature"),
        ("openai/a,temperature=9", "at most 2"),
        ("openai/a, openai/a", "named twice"),
        ("openai/a,key=sk-proj-0123456789abcdefghij", "no place for a key"),
    ],
)
def test_what_is_wrong_with_a_judge_is_told_with_its_cure(
    known: Known, text: str, said: str
) -> None:
    draft = Draft(known, "mt-bench", "openai", "gpt-4.1", {"judge": text})
    assert set(draft.faults()) == {"judge"}
    assert said in fault_words(draft.faults()["judge"])
    assert "sk-proj" not in fault_words(draft.faults()["judge"]) + draft.command()


def test_a_local_candidate_with_a_hosted_judge_is_not_free(known: Known) -> None:
    draft = Draft(known, "mt-bench", "local", "smollm2-135m-instruct")
    assert draft.free
    draft.typed["judge"] = "local/other"
    assert draft.free
    draft.typed["judge"] = "local/other, openai/gpt-5-mini"
    assert not draft.free


# -- answers that are there already, and paths ---------------------------------------------


def test_no_model_is_needed_where_answers_are_given(known: Known, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    draft = Draft(known, "spec-comply", typed={"judge": "openai/gpt-5-mini"})
    assert draft.missing == "choose a provider"
    draft.typed["answers"] = f"first={tmp_path}/one, {tmp_path}/two"
    assert (draft.missing, draft.stand_in) == ("", "answers/first+two")
    assert not draft.free
    draft.choose_model("openai/gpt-4.1")
    assert "--model" not in draft.words()
    assert "of openai" not in [part.title for part in draft.sections()]
    assert draft.words()[-4:] == (
        *("--answers", f"first={tmp_path}/one"),
        *("--answers", f"{tmp_path}/two"),
    )


def test_paths_are_looked_up_as_they_are_typed(known: Known, tmp_path: Path) -> None:
    draft = Draft(known, "spec-comply", "openai", "gpt-4.1")
    nowhere = f"{tmp_path}/nowhere"
    draft.typed |= {"answers": nowhere, "inputs": nowhere, "data": nowhere}
    faults = {name: fault_words(error) for name, error in draft.faults().items()}
    assert faults == {
        "data": f"there is no file or folder {nowhere}; try: check the path given to --data",
        "inputs": f"there is no folder {nowhere}; try: check the path given to --inputs",
        "answers": f"there is no file or folder {nowhere}; try: check the path given to --answers",
    }
    assert draft.stand_in == ""
    draft.typed = dict.fromkeys(draft.typed, str(tmp_path))
    assert draft.faults() == {}


def test_where_questions_come_from_is_told_at_data(known: Known) -> None:
    draft = Draft(known, "spec-comply", "openai", "gpt-4.1")
    data = draft.options()["data"]
    assert "none of its own; --data SPEC.jsonl" in help_words(data)
    assert default_words(data) == "none of its own"
