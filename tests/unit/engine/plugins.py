"""Where the test plug-ins lie, and how a test adds its own."""

from __future__ import annotations

from pathlib import Path

PLUGINS = Path(__file__).parents[2] / "plugins"


class Installed:
    """Packages of one module, installed into a folder on the path of this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, module: str, source: str, group: str, **points: str) -> None:
        """A package with a module and entry points ``name=object`` of one group."""
        (self.folder / f"{module}.py").write_text(source)
        info = self.folder / f"{module}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1\n")
        lines = [f"{name} = {module}:{found}" for name, found in points.items()]
        (info / "entry_points.txt").write_text(f"[{group}]\n" + "\n".join(lines) + "\n")
