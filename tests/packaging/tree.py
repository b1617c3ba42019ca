"""What the package is built from, copied out of a checkout."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def sources() -> list[Path]:
    """The files that get into a container's build, relative to the checkout.

    They are those that .dockerignore lets through, so an image that lacks one
    fails here too.
    """
    lines = (ROOT / ".dockerignore").read_text("utf-8").split()
    let_through = [line[1:] for line in lines if line.startswith("!")]
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", *let_through],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    paths = [Path(name.decode()) for name in listed.stdout.split(b"\0") if name]
    return [path for path in paths if (ROOT / path).is_file()]


def copy_sources(folder: Path) -> Path:
    """Copy them into a folder, without what builds have left in the checkout."""
    for path in sources():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, folder / path)
    return folder
