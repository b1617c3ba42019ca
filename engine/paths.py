"""Where evalbench writes: runs, caches, configuration.

``EVALBENCH_HOME`` moves everything into one folder; otherwise the platform's
usual places are used (platformdirs).
"""

from __future__ import annotations

import os
from pathlib import Path


def _home() -> Path | None:
    value = os.environ.get("EVALBENCH_HOME")
    return Path(value).expanduser().absolute() if value else None


def runs_dir() -> Path:
    """Folder that holds one folder per run."""
    if home := _home():
        return home / "runs"
    from platformdirs import user_data_path

    return user_data_path("evalbench", appauthor=False) / "runs"


def cache_dir() -> Path:
    """Folder for downloads, converted weights and prepared data sets; safe to delete."""
    if home := _home():
        return home / "cache"
    from platformdirs import user_cache_path

    return user_cache_path("evalbench", appauthor=False)


def config_dir() -> Path:
    """Folder for the user's settings and override files."""
    if home := _home():
        return home / "config"
    from platformdirs import user_config_path

    return user_config_path("evalbench", appauthor=False)


def make_private(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for this user alone.

    What lies there may hold questions, answers and settings. A folder that is there keeps
    its mode.

    Raises:
        OSError: it cannot be made.
    """
    if not folder.parent.exists():
        make_private(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
