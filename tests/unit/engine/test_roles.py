"""Judges as users name them, and what a run makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalbench.engine.config.roles import parse_judge
from evalbench.engine.config.spec import check_spec, load_suite, make_spec
from evalbench.engine.errors import SpecError

pytestmark = pytest.mark.usefixtures("plugins")


def test_a_judge_brings_settings_of_its_own() -> None:
    judge = parse_judge("openai/gpt-4.1-nano, temperature=0.2,qps=10,max-tokens=512,timeout=30")
    assert judge.role == "judge/openai/gpt-4.1-nano"
    assert judge.ref.name == "gpt-4.1-nano"
    assert (judge.get("temperature"), judge.get("qps"), judge.get("max_tokens")) == (0.2, 10, 512)
    assert judge.provider_options["timeout"] == 30
    assert judge.get("attempts") == 8


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("gpt-4", "does not name a model"),
        ("nobody/gpt-4", "no provider named"),
        ("scripted/good,temprature=0", "temperature"),
        ("scripted/good,temperature", "no setting of a judge"),
        ("scripted/good,temperature=9", "at most 2"),
        ("scripted/good,mood=angry", "allowed: plain"),
    ],
)
def test_a_judge_that_does_not_fit_is_explained(text: str, told: str) -> None:
    with pytest.raises(SpecError) as error:
        parse_judge(text)
    assert told in str(error.value)


def test_a_run_has_its_judges_beside_the_candidate() -> None:
    spec = make_spec(
        "judged", "scripted/good", temperature=0.5, judge=["scripted/better,temperature=0"]
    )
    roles = spec.roles()
    assert list(roles) == ["candidate", "judge/scripted/better"]
    assert roles["candidate"].overrides() == {"temperature": 0.5}
    assert roles["judge/scripted/better"].overrides() == {"temperature": 0.0}
    check_spec(spec)


def test_batches_are_for_every_model_that_can(tmp_path: Path) -> None:
    spec_file = tmp_path / "spec.jsonl"
    spec_file.write_text('{"id": "s", "text": "t"}\n')

    def modes(model: str, *judges: str, size: int | None = 7) -> list[tuple[str, int | None]]:
        made = make_spec(
            "spec-comply", model, judge=judges, mode="batch", batch_size=size, data=str(spec_file)
        )
        return [(part.get("mode"), part.get("batch_size")) for part in made.roles().values()]

    sized = "anthropic/claude-haiku-4-5,batch-size=3"
    assert modes("answers/a", "openai/gpt-4.1", sized, "local/gpt2-large") == [
        ("realtime", 7), ("batch", 7), ("batch", 3), ("realtime", 7),
    ]  # fmt: skip
    assert modes("local/gpt2-large", "openai/gpt-4.1") == [("realtime", 7), ("batch", 7)]
    assert modes("openai/gpt-4.1", "openai/gpt-4.1-mini,mode=realtime") == [
        ("batch", 7), ("realtime", 7),
    ]  # fmt: skip
    for model, judge in (("answers/a", "local/gpt2-large"), ("local/gpt2-large", "local/gpt2")):
        none = make_spec("spec-comply", model, judge=[judge], mode="batch", data=str(spec_file))
        with pytest.raises(SpecError, match="batches"):
            check_spec(none)


def test_workers_are_for_models_on_this_machine() -> None:
    with pytest.raises(SpecError, match="does not run in a worker of evalbench") as error:
        check_spec(make_spec("synthetic", "scripted/good", workers=2))
    assert "--concurrency" in str(error.value)


def test_what_judges_decide_is_part_of_the_identity() -> None:
    def identity(judge: str) -> object:
        return make_spec("judged", "scripted/good", judge=[judge]).identity()

    assert identity("scripted/better") == identity("scripted/better,qps=5,attempts=2")
    assert identity("scripted/better") != identity("scripted/better,temperature=1")
    assert identity("scripted/better") != identity("scripted/good")


def test_a_benchmark_with_a_judge_needs_one() -> None:
    with pytest.raises(SpecError, match="needs a judge"):
        check_spec(make_spec("judged", "scripted/good"))


def test_a_benchmark_without_a_judge_takes_none() -> None:
    with pytest.raises(SpecError, match="asks no judge"):
        make_spec("synthetic", "scripted/good", judge=["scripted/better"])


def test_one_judge_is_not_named_twice() -> None:
    with pytest.raises(SpecError, match="named twice"):
        make_spec("judged", "scripted/good", judge=["scripted/good", "scripted/good,qps=3"])


def test_the_model_of_a_judge_is_checked() -> None:
    with pytest.raises(Exception, match="no model 'bad'"):
        check_spec(make_spec("judged", "scripted/good", judge=["scripted/bad"]))


def test_a_suite_names_judges(tmp_path: Path) -> None:
    suite = tmp_path / "suite.toml"
    suite.write_text(
        '[defaults]\njudge = ["scripted/better,temperature=0", "scripted/good"]\n'
        '[[run]]\nbenchmark = "judged"\nmodel = "scripted/good"\n'
    )
    (spec,) = load_suite(suite)
    assert list(spec.roles())[1:] == ["judge/scripted/better", "judge/scripted/good"]
