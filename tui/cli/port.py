"""Local ports, for commands that serve something."""

from __future__ import annotations

import errno
import socket

from evalbench.engine.errors import UsageError

HOST = "127.0.0.1"


def listen(port: int, again: str) -> socket.socket:
    """A socket that listens on a port of 127.0.0.1; 0: any free one.

    Args:
        port: port number.
        again: beginning of the command line to suggest with another port.

    Raises:
        UsageError: the port is not available.
    """
    if not 0 <= port <= 65535:
        raise UsageError(f"--port cannot be {port}", hint="a number from 1024 to 65535")
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # A server that has just ended does not block the next one.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()
    except OSError as error:
        listener.close()
        taken = error.errno == errno.EADDRINUSE
        raise UsageError(
            f"port {port} on {HOST} cannot be used",
            why="something else listens there" if taken else error.strerror or str(error),
            hint=f"{again} --port {port + 1 if 1024 <= port < 65535 else 8765}",
        ) from None
    return listener


def free_port(usual: int, again: str) -> int:
    """The usual port if it is free, else any free one."""
    try:
        listener = listen(usual, again)
    except UsageError:
        listener = listen(0, again)
    with listener:
        port: int = listener.getsockname()[1]
    return port
