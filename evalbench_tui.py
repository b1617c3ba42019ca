# PYTHON_ARGCOMPLETE_OK
"""The command ``evalbench``, from outside the package that it opens.

Another distribution has the name ``evalbench`` and a package called the same. Where both are
installed its files may stand in place of ours, and only a module beside the package can say so.
"""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Run the command line; returns its exit code."""
    if other := _other():
        return _beside(other)
    from evalbench.tui.cli.main import main

    return main()


def _other() -> str:
    """The version of the other distribution, if it is installed; looks at names of files only."""
    for place in sys.path:
        if os.path.basename(place) not in ("site-packages", "dist-packages"):
            continue
        try:
            names = os.listdir(place)
        except OSError:
            continue
        for name in names:
            if not (name.startswith("evalbench-") and name.endswith(".dist-info")):
                continue
            # This project used to be called evalbench too; it has a command, the other has none.
            if not os.path.exists(os.path.join(place, name, "entry_points.txt")):
                return name.removeprefix("evalbench-").removesuffix(".dist-info")
    return ""


def _beside(other: str) -> int:
    """Say that both are installed, and run the command if the package is still ours."""
    import importlib.util
    import shlex

    if importlib.util.find_spec("pip"):
        remove = [sys.executable, "-m", "pip", "uninstall", "--yes", "evalbench"]
    else:
        remove = ["uv", "pip", "uninstall", "--python", sys.executable, "evalbench"]
    text = (
        f"the package evalbench {other} is installed here too; it is another project, whose files"
        f" have the same names\n  try: {shlex.join(remove)}\n  then install evalbench-tui again,"
        " with pip's --force-reinstall: what is removed may take files of it along\n"
    )
    theirs = _package_is_theirs()
    sys.stderr.write(("error: " if theirs else "warning: ") + text)
    if theirs:
        return 1
    from evalbench.tui.cli.main import main

    return main()


def _package_is_theirs() -> bool:
    """Whether importing ``evalbench`` would run the other project's code."""
    import base64
    import hashlib
    import importlib.util
    from importlib.metadata import distribution

    spec = importlib.util.find_spec("evalbench")
    if spec is None or not spec.origin:
        return True
    for file in distribution("evalbench").files or ():
        if file.as_posix() == "evalbench/__init__.py" and file.hash:
            if not os.path.samefile(str(file.locate()), spec.origin):
                return False
            with open(spec.origin, "rb") as source:
                digest = hashlib.new(file.hash.mode, source.read()).digest()
            return base64.urlsafe_b64encode(digest).decode().rstrip("=") == file.hash.value
    return False
