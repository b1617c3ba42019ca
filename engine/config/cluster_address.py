"""Cluster addresses, as given by users."""

from __future__ import annotations

import os

from evalbench.engine.errors import SpecError

_CLIENT = "ray://"


def check_address(address: str) -> None:
    """Reject anything but the address of a cluster that this process can join.

    Raises:
        SpecError: with the alternative.
    """
    told = os.environ.get("RAY_ADDRESS", "") if address == "auto" else address
    if told.startswith(_CLIENT):
        raise SpecError(
            "address",
            f"{told} is an address of Ray Client",
            why="every call would go through its proxy, and a lost connection ends all workers",
            hint="start evalbench on a node of the cluster with --address auto, for example"
            " by ssh, sbatch or ray job submit; evalbench attach follows it from elsewhere",
        )
    host, colon, port = address.rpartition(":")
    if address != "auto" and not (host and colon and port.isdecimal()):
        raise SpecError(
            "address",
            f"--address cannot be {address!r}",
            why="it is auto, or HOST:PORT of the cluster's head",
            hint="--address auto, on a node of the cluster",
        )
