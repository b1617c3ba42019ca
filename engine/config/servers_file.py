"""The user's servers file, ``providers.toml``: changes its tables and preserves the rest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalbench.engine.config import registry
from evalbench.engine.errors import SpecError, UsageError, nearest
from evalbench.engine.files import edited_toml, own_toml
from evalbench.engine.paths import config_dir


def servers_file() -> Path:
    """Its path, whether or not it exists."""
    return config_dir() / registry.SERVERS_FILE


def read_servers() -> dict[str, dict[str, Any]]:
    """The tables of the file by name; empty if there is no file.

    Raises:
        SpecError: it cannot be read.
    """
    path = servers_file()
    try:
        tables = own_toml(path)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise SpecError(path.name, f"{path} cannot be read", why=str(error)) from None
    return {name: table for name, table in tables.items() if isinstance(table, dict)}


def write_server(name: str, changes: Mapping[str, Any], *, new: bool) -> None:
    """Add a server, or change its description.

    Args:
        name: becomes the name of the provider.
        changes: values by field; None removes a field. Others stay unchanged.
        new: True if the name must not exist yet; otherwise it must exist.

    Raises:
        SpecError: the description would be invalid. Nothing was written.
        UsageError: the server already exists, or does not exist.
    """
    servers = read_servers()
    if new and name in servers:
        raise UsageError(
            f"there is a server named {name} already",
            hint=f"evalbench providers edit {name} …, or another name",
        )
    if not new and name not in servers:
        raise _none(name, servers)
    table = {**servers.get(name, {}), **changes}
    registry.check_server(name, {field: v for field, v in table.items() if v is not None})
    import tomlkit

    with edited_toml(servers_file()) as document:
        if name not in document:
            document.add(name, tomlkit.table())
        described: Any = document[name]
        for field, value in changes.items():
            if value is None:
                described.pop(field, None)
            elif isinstance(value, Mapping):
                inline = tomlkit.inline_table()
                inline.update(value)
                described[field] = inline
            else:
                described[field] = value


def remove_server(name: str) -> None:
    """Remove a server from the file.

    Raises:
        UsageError: no server has this name.
    """
    servers = read_servers()
    if name not in servers:
        raise _none(name, servers)
    with edited_toml(servers_file()) as document:
        document.remove(name)


def _none(name: str, servers: Mapping[str, Any]) -> UsageError:
    if name in registry.installed()["evalbench.providers"] and name not in servers:
        return UsageError(
            f"{name} is built in, and cannot be changed",
            hint=f"describe one like it: evalbench providers add NAME --like {name}",
        )
    return UsageError(
        f"there is no server of yours named {name}",
        why=f"{servers_file()} has: {', '.join(servers)}"
        if servers
        else f"{servers_file()} has none",
        hint=nearest(name, servers) or "evalbench providers add NAME --base-url ADDRESS",
    )
