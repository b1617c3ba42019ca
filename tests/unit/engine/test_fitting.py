"""Before a run loads a model: what its benchmark asks at most, and whether that fits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalbench.engine import preflight
from evalbench.engine.config.spec import RunSpec, make_spec
from evalbench.engine.data.dataset import prepare
from evalbench.engine.errors import SpecError
from evalbench.engine.hardware.devices import DeviceMemory
from evalbench.engine.hardware.fit import Fit, Verdict
from evalbench.engine.preflight import fitting
from evalbench.engine.preflight.fitting import fit_models, fits, longest

GB = 1_000_000_000
CUDA = DeviceMemory("cuda", "Pretend 9000", 80 * GB, 80 * GB)


@pytest.fixture(autouse=True)
def card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "device_memory", lambda device="auto": CUDA)


def spec_of(model: str, benchmark: str = "quickstart", **more: Any) -> RunSpec:
    return make_spec(benchmark, model, **more)


async def test_prompts_and_answers_are_measured(home: Path) -> None:
    spec = spec_of("local/llama-3.2-1b", max_tokens=100)
    (work,) = (await longest(spec, prepare(spec, home))).values()
    assert 100 < work.tokens < 300
    assert work.calls == 72
    twice = spec_of("local/llama-3.2-1b", max_tokens=200, epochs=2)
    (more,) = (await longest(twice, prepare(twice, home))).values()
    assert (more.tokens, more.calls) == (work.tokens + 100, 144)


async def test_second_turns_carry_the_longest_first_answer(home: Path, shared_data: Path) -> None:
    data = {"data": str(shared_data / "mt_bench"), "judge": ["local/gpt2-large"]}
    spec = spec_of("local/llama-3.2-1b", "mt-bench", **data)
    work = await longest(spec, prepare(spec, home))
    candidate, judge = work["candidate"], work["judge/local/gpt2-large"]
    assert candidate.tokens > 2 * 1024
    assert judge.tokens > candidate.tokens
    assert candidate.calls == 80


async def test_a_choice_is_one_prompt_and_not_one_for_each_answer(
    home: Path, shared_data: Path
) -> None:
    data = {"data": str(shared_data / "mmlu"), "limit": 57}
    spec = spec_of("local/llama-3.2-1b", "mmlu", **data)
    (work,) = (await longest(spec, prepare(spec, home))).values()
    # The longest of all, by the tokenizer of SmolLM2, has 3,146.
    assert 1000 < work.tokens < 6000


async def test_models_over_the_network_need_no_room_here(home: Path) -> None:
    spec = spec_of("openai/gpt-5-mini")
    assert await fits(spec, prepare(spec, home)) == {}


async def test_what_does_not_fit_is_refused_with_figures_and_a_cure(home: Path) -> None:
    spec = spec_of("local/llama-3.2-3b", provider_options={"memory_limit": "6GB"})
    found = await fits(spec, prepare(spec, home))
    assert found["candidate"].verdict is Verdict.OTHER_FORM
    with pytest.raises(SpecError) as caught:
        fitting.refuse_what_does_not_fit(spec, found)
    assert caught.value.what == "local/llama-3.2-3b does not fit into memory"
    assert "in bfloat16 it takes 7.3 GB at the least" in caught.value.why
    assert "6.0 GB are free" in caught.value.why
    assert caught.value.hint == "--quantize 8bit (4.5 GB) or --quantize 4bit (3.1 GB)"


async def test_what_fits_nowhere_says_so(home: Path) -> None:
    spec = spec_of("local/phi-3-mini", provider_options={"memory_limit": "1GB"})
    with pytest.raises(SpecError, match="does not fit") as caught:
        fitting.refuse_what_does_not_fit(spec, await fits(spec, prepare(spec, home)))
    assert "smaller model" in caught.value.hint


async def test_a_quantised_model_is_not_refused(home: Path) -> None:
    options = {"memory_limit": "6GB", "quantize": "4bit"}
    spec = spec_of("local/llama-3.2-3b", provider_options=options)
    found = await fits(spec, prepare(spec, home))
    fitting.refuse_what_does_not_fit(spec, found)
    assert found["candidate"].form == "4bit"


async def test_a_judge_gets_what_the_candidate_leaves(
    home: Path, shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = 30 * GB
    monkeypatch.setattr(
        fitting,
        "device_memory",
        lambda device="auto": DeviceMemory("cuda", "Pretend 9000", free, free),
    )
    data = str(shared_data / "mt_bench")
    both = spec_of("local/llama-3.2-1b", "mt-bench", data=data, judge=["local/gpt2-large"])
    found = await fits(both, prepare(both, home))
    candidate, judge = found["candidate"], found["judge/local/gpt2-large"]
    assert judge.free == free - candidate.need.total
    same = spec_of("local/llama-3.2-1b", "mt-bench", data=data, judge=["local/llama-3.2-1b"])
    assert list(await fits(same, prepare(same, home))) == ["candidate"]


async def test_a_model_that_cannot_be_known_yet_is_left_to_its_loading(
    home: Path, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"")
    spec = spec_of(f"local/{tmp_path}")
    assert await fits(spec, prepare(spec, home)) == {}


@pytest.mark.local
def test_a_run_is_checked_before_it_starts(home: Path) -> None:
    with pytest.raises(SpecError, match="does not fit into memory"):
        preflight.check([spec_of("local/phi-3-mini", provider_options={"memory_limit": "1GB"})])
    (checked,) = preflight.check([spec_of("local/smollm2-135m-instruct")])
    assert Fit.from_json(checked.fits["candidate"]).verdict is Verdict.FITS


async def test_models_are_asked_about_by_name() -> None:
    small, none = await fit_models(
        "local", ["gpt2-large", "no-such"], {"memory_limit": "6GB"}, spec_of("local/any")
    )
    assert Fit.from_json(small["fit"]).tokens < 300
    assert (small["device"], small["error"]) == ("Pretend 9000", None)
    assert none["fit"] is None
    assert "there is no local model named 'no-such'" in none["error"]
    with pytest.raises(SpecError, match="runs no models on this machine"):
        await fit_models("openai", ["gpt-5-mini"], {})
