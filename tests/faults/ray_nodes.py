"""Small Ray clusters whose nodes are processes of this machine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

_TRIES = 5
_SMALL = {"num_cpus": 1, "num_gpus": 0, "object_store_memory": 80 << 20}


class Nodes:
    """A cluster; its head is a node."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self._cluster: Any = Cluster()
        self.add(include_dashboard=False)

    @property
    def address(self) -> str:
        """HOST:PORT of the head."""
        return str(self._cluster.address)

    def add(self, **more: Any) -> Any:
        """Let a node join. Ray gives it half a minute, which a busy machine may need more than."""
        for _ in range(_TRIES - 1):
            with contextlib.suppress(Exception):
                return self._cluster.add_node(**_SMALL, **more)
        return self._cluster.add_node(**_SMALL, **more)

    def kill(self, node: Any) -> None:
        """End all processes of a node at once."""
        self._cluster.remove_node(node, allow_graceful=False)

    def close(self) -> None:
        """End it."""
        self._cluster.shutdown()


@contextlib.contextmanager
def small_cluster() -> Iterator[Nodes]:
    """A cluster of one node; nothing of it stays, whatever happens."""
    before = set(_children())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.delenv("RAY_ADDRESS", raising=False)
        try:
            nodes = Nodes()
            yield nodes
            nodes.close()
        finally:
            left = set(_children()) - before
            for process in left:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(left, timeout=30)


def _children() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)
