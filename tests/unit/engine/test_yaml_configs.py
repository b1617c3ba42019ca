"""Configuration files of other systems become runs; what is not taken over is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalbench.engine.errors import EvalbenchError
from evalbench.engine.formats.yaml_configs import read_config

MODELS = """
models:
  gpt2-large:
    estimated_memory_gb: 1.5
    max_new_tokens: 512
    temperature: 0.7
    use_flash_attention: false
    quantization: false
  phi-3-mini:
    max_new_tokens: 256
    beams: 4
"""
EVALUATION = """
judge:
  model: "gpt-4.1-nano"
  temperature: 0.2
  rate_limit_requests_per_second: 10

evaluation:
  turns_per_question: 2
  generation_timeout_seconds: 120
  cleanup_between_models: true
"""


@pytest.mark.parametrize("named", ["model_config.yaml", "evaluation_config.yaml"])
def test_both_files_of_mt_bench(tmp_path: Path, named: str) -> None:
    (tmp_path / "model_config.yaml").write_text(MODELS)
    (tmp_path / "evaluation_config.yaml").write_text(EVALUATION)
    found = read_config(tmp_path / named, {"limit": 5})
    one, two = found.specs
    assert (one.benchmark, one.model, two.model) == (
        "mt-bench",
        "local/gpt2-large",
        "local/phi-3-mini",
    )
    assert (one.get("max_tokens"), one.get("temperature"), one.get("limit")) == (512, 0.7, 5)
    assert two.get("temperature") is None
    judge = one.roles()["judge/openai/gpt-4.1-nano"]
    assert (judge.get("temperature"), judge.get("qps")) == (0.2, 10)
    told = "\n".join(found.notes)
    assert "phi-3-mini: not used here: beams" in told
    assert "generation_timeout_seconds: 120" in told


def test_flags_beside_a_file_choose_its_models_or_are_refused(tmp_path: Path) -> None:
    (tmp_path / "model_config.yaml").write_text(MODELS)
    (tmp_path / "elsewhere").mkdir()
    other = tmp_path / "elsewhere" / "evaluation_config.yaml"
    other.write_text(EVALUATION)
    models = tmp_path / "model_config.yaml"
    for given in ("phi-3-mini", "local/phi-3-mini"):
        [spec] = read_config(models, models=[given], more=[other]).specs
        assert (spec.model, spec.settings.candidate.params.max_tokens) == ("local/phi-3-mini", 256)
        assert list(spec.roles()) == ["candidate", "judge/openai/gpt-4.1-nano"]
    with pytest.raises(EvalbenchError, match=r"has no model local/X[\s\S]*local/gpt2-large"):
        read_config(models, models=["X"])
    with pytest.raises(EvalbenchError, match="both say what models is"):
        read_config(models, more=[models])
    with pytest.raises(EvalbenchError, match="--model does not go with"):
        read_config(spec_eval(tmp_path, RANKING), models=["X"])


def spec_eval(tmp_path: Path, text: str) -> Path:
    (tmp_path / "spec.jsonl").write_text('{"id": "s", "text": "t"}\n')
    for name in ("model-a", "model-b"):
        folder = tmp_path / "out" / name / "20250506_115521" / "results"
        folder.mkdir(parents=True)
        (folder / "s.json").write_text(json.dumps([{"input_text": "q", "output_text": name}]))
    file = tmp_path / "config.yaml"
    file.write_text(text)
    return file


RANKING = """
spec_name: openai
spec_path: spec.jsonl
candidate_generation_dirs:
  - out/model-a/20250506_115521/results
  - out/model-b/20250506_115521/results
ranking_judge_model_name: gpt-4o-mini-2024-07-18
ranking_judge_org: openai
output_dir_base: data/batched_rankings
batch_size: 25
temperature: 0.0
verbose: true
openai_api_key: nothing-secret
"""


def test_a_ranking_file_of_speceval(tmp_path: Path) -> None:
    found = read_config(spec_eval(tmp_path, RANKING))
    [spec] = found.specs
    assert (spec.benchmark, spec.model) == ("spec-rank", "answers/model-a+model-b")
    assert list(spec.roles())[1:] == ["judge/openai/gpt-4o-mini-2024-07-18"]
    assert spec.settings.data
    assert Path(spec.settings.data).is_file()
    assert "model-a: answers in" in found.notes[0]
    assert spec.options["results_dir"] == str(Path("data/batched_rankings").absolute())
    assert spec.options["spec_name"] == "openai"
    told = "\n".join(found.notes)
    assert "openai_api_key: keys come from" in told
    assert "nothing-secret" not in told + json.dumps(spec.to_json())


def test_files_that_ask_for_batches_get_them(tmp_path: Path) -> None:
    text = RANKING + "qps: 4\ntimeout: 30\nmax_tokens: 99\nkey: nothing-secret\nodd: 1\n"
    file = spec_eval(tmp_path, text)
    found = read_config(file)
    candidate, judge = found.specs[0].roles().values()
    assert (candidate.get("mode"), judge.get("mode"), judge.get("batch_size")) == (
        "realtime", "batch", 25,
    )  # fmt: skip
    assert (judge.get("qps"), judge.get("max_tokens"), judge.get("key")) == (4, 99, None)
    assert judge.provider_options["timeout"] == 30
    assert [note for note in found.notes if note.endswith("not used here")] == [
        "key: not used here", "odd: not used here",
    ]  # fmt: skip
    assert "nothing-secret" not in json.dumps(found.specs[0].to_json())
    [at_once] = read_config(file, {"mode": "realtime"}).specs
    assert [part.get("mode") for part in at_once.roles().values()] == ["realtime"] * 2
    file.write_text(RANKING.replace("batch_size: 25\n", ""))
    assert read_config(file).specs[0].get("mode") is None
    file.write_text(RANKING.replace("_org: openai", "_org: local"))
    told = read_config(file)
    assert told.specs[0].get("mode") is None
    assert any("takes no batches" in note for note in told.notes)
    file.write_text(RANKING.replace("batch_size: 25", "batch_size: many"))
    with pytest.raises(EvalbenchError, match="batch_size"):
        read_config(file)


def test_buckets_of_vertex_mean_gemini_by_key(tmp_path: Path) -> None:
    text = RANKING.replace("openai\n", "google\n").replace(
        "gpt-4o-mini-2024-07-18", "gemini-2.5-pro"
    )
    text += "input_bucket: gs://ours/in\noutput_bucket: gs://ours/out\n"
    found = read_config(spec_eval(tmp_path, text))
    assert list(found.specs[0].roles())[1:] == ["judge/google/gemini-2.5-pro"]
    [given, put] = [note for note in found.notes if "bucket: " in note]
    assert given.startswith("input_bucket: Gemini is asked by its Developer API, with a key")
    assert put.startswith("output_bucket: ")
    assert "gs://" not in given + put


def test_a_compliance_file_of_speceval(tmp_path: Path) -> None:
    text = RANKING.replace("ranking_judge", "judge").replace(
        ": openai\noutput", ": anthropic\noutput"
    )
    [spec] = read_config(spec_eval(tmp_path, text)).specs
    assert spec.benchmark == "spec-comply"
    assert "judge/anthropic/gpt-4o-mini-2024-07-18" in spec.roles()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: [", "not YAML"),
        ("- 1", "no keys and values"),
        ("steps: 3", "no configuration that is known"),
        ("judge: {model: x}", "names no models"),
        ("candidate_generation_dirs: []", "is not complete"),
        ("models: {a: {temperature: 9}}", "at most 2"),
    ],
)
def test_what_cannot_be_read_is_explained(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(text)
    with pytest.raises(EvalbenchError, match=told):
        read_config(file)
