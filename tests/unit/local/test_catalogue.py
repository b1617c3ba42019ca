"""Names of local models, and what the provider says without loading anything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from evalbench.engine.calls import WorkerProvider
from evalbench.engine.calls.options import parse_options
from evalbench.engine.errors import NoSuchModel
from evalbench.providers.local import Local
from evalbench.providers.local.catalogue import KNOWN, FolderModel, HubModel, resolve


def local(**settings: object) -> Local:
    return Local(parse_options(Local.options, settings, "provider local"))


@pytest.fixture
def model_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"")
    return folder


def test_a_known_name_needs_no_hub() -> None:
    assert resolve("smollm2-135m-instruct") is KNOWN["smollm2-135m-instruct"]


def test_a_known_name_with_a_revision_means_its_repository() -> None:
    repository = KNOWN["smollm2-135m-instruct"].hub.repo
    assert resolve("smollm2-135m-instruct@main") == HubModel(repository, "main")


def test_hub_names_with_and_without_revision() -> None:
    assert resolve("Qwen/Qwen3-0.6B") == HubModel("Qwen/Qwen3-0.6B", "main")
    assert resolve("Qwen/Qwen3-0.6B@c1899de") == HubModel("Qwen/Qwen3-0.6B", "c1899de")
    assert resolve("some/one-GGUF:Q4_K_M") == HubModel("some/one-GGUF", "main", "Q4_K_M")
    assert resolve("some/one:Q8_0@v1") == HubModel("some/one", "v1", "Q8_0")


def test_a_folder_by_absolute_and_by_relative_path(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert resolve(str(model_folder)) == FolderModel(model_folder)
    monkeypatch.chdir(model_folder.parent)
    assert resolve("./model") == FolderModel(model_folder)


@pytest.mark.parametrize("missing", ["config.json", "model.safetensors"])
def test_a_folder_without_a_model_is_refused_with_what_is_missing(
    model_folder: Path, missing: str
) -> None:
    (model_folder / missing).unlink()
    with pytest.raises(NoSuchModel, match=missing.replace("model", ".")):
        resolve(str(model_folder))


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoSuchModel, match="there is no folder"):
        resolve(str(tmp_path / "nowhere"))
    with pytest.raises(NoSuchModel, match="there is no file"):
        resolve(str(tmp_path / "nowhere.gguf"))


@pytest.mark.parametrize("name", ["smollm2-135m-instuct", "smollm2"])
def test_a_near_miss_names_what_was_meant(name: str) -> None:
    with pytest.raises(NoSuchModel) as caught:
        local().check_model(name)
    assert "smollm2-135m-instruct" in str(caught.value)
    assert "local/org/name" in caught.value.hint


@pytest.mark.parametrize("name", ["a/b/c", "org/", "/", "org/na..me", "org/na--me", "-org/name"])
def test_what_can_be_no_name_is_refused(name: str) -> None:
    with pytest.raises(NoSuchModel):
        resolve(name)


async def test_the_provider_lists_its_models_and_keeps_its_contract() -> None:
    provider = local()
    assert isinstance(provider, WorkerProvider)
    model, *_ = await provider.models()
    assert (model.name, model.context_tokens) == ("smollm2-135m-instruct", 8192)
    command = provider.worker_command(model.name)
    assert command.argv == (sys.executable, "-P", "-m", "evalbench.providers.local.worker")


def test_cublas_is_told_before_cuda_starts_to_give_the_same_bits() -> None:
    def told(**settings: object) -> str | None:
        return local(**settings).worker_command("gpt2-large").env.get("CUBLAS_WORKSPACE_CONFIG")

    assert told(deterministic=True) == ":4096:8"
    assert told() is None


def test_the_load_request_holds_every_setting_and_an_absolute_folder(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(model_folder.parent)
    request = local(dtype="bfloat16").load_request("./model")
    assert request["model"] == str(model_folder)
    defaults = {option.name: option.default for option in Local.options}
    # How long it stays loaded changes nothing in what is loaded.
    del defaults["keep_loaded"]
    assert request["settings"] == {**defaults, "dtype": "bfloat16"}


def test_importing_the_provider_loads_nothing_heavy() -> None:
    code = (
        "import sys, evalbench.providers.local, evalbench.providers.local.worker;"
        "print(sorted({'torch', 'transformers', 'huggingface_hub', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
