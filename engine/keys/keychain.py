"""Access to the operating system's keychain, through a child process that can be killed.

A missing Secret Service answers only after two minutes, and a locked keychain may wait for a
dialog that no one sees. So every query has a time limit: three seconds when unattended, a minute
when a user can answer a dialog.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from evalbench.engine.errors import KeyUnavailable
from evalbench.engine.keys.log_scrubbing import strip_environment

SERVICE = "evalbench"
_CHILD = Path(__file__).with_name("keychain_child.py")
UNATTENDED_S = 3.0
ATTENDED_S = 60.0
_STARTING_S = 30.0
"""Extra time for the helper process to start on a busy machine."""


class KeychainState(StrEnum):
    """The result of a keychain query."""

    FOUND = "found"
    ABSENT = "absent"
    LOCKED = "locked"
    NO_KEYCHAIN = "no keychain"
    TIMED_OUT = "timed out"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Answer:
    """A keychain's answer.

    Attributes:
        state: the result; also ``found`` after storing and removing.
        secret: the key, after a successful :func:`fetch`.
        backend: the keychain's own name.
        why: its message after a failure.
        limit_s: the time limit.
    """

    state: KeychainState
    secret: str = field(default="", repr=False)
    backend: str = ""
    why: str = ""
    limit_s: float = 0.0


def fetch(user: str, timeout: float) -> Answer:
    """Read a key; ``user`` is ``provider/name``."""
    return _ask({"do": "get", "service": SERVICE, "user": user}, timeout)


def probe(timeout: float = UNATTENDED_S) -> Answer:
    """Whether the keychain responds at all: ``absent`` means that it works."""
    return fetch("nobody/nothing", timeout)


def store(user: str, secret: str, timeout: float) -> Answer:
    """Store a key, replacing one of the same name."""
    return _ask({"do": "set", "service": SERVICE, "user": user, "secret": secret}, timeout)


def forget(user: str, timeout: float) -> Answer:
    """Remove a key."""
    return _ask({"do": "delete", "service": SERVICE, "user": user}, timeout)


def _ask(request: dict[str, str], timeout: float) -> Answer:
    # By path, not by module name: importing this package would cost a third of a second.
    # -P: a file called keyring.py in the current folder must not be imported.
    # In its own process group: anything the keychain's library starts dies with it.
    child = subprocess.Popen(
        [sys.executable, "-P", str(_CHILD)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=strip_environment(os.environ),
        process_group=0,
    )
    try:
        asked = json.dumps({**request, "within": timeout}).encode()
        output, _ = child.communicate(asked, timeout + _STARTING_S)
    except subprocess.TimeoutExpired:
        return Answer(KeychainState.TIMED_OUT, limit_s=timeout)
    finally:
        _end(child)
    if child.returncode == -signal.SIGALRM:
        return Answer(KeychainState.TIMED_OUT, limit_s=timeout)
    try:
        body = json.loads(output)
    except ValueError:
        why = f"its helper process ended with code {child.returncode}"
        return Answer(KeychainState.FAILED, why=why, limit_s=timeout)
    return Answer(
        KeychainState(body["state"]),
        body.get("secret", ""),
        body.get("backend", ""),
        body.get("why", ""),
        timeout,
    )


def _end(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    for pipe in (child.stdin, child.stdout):
        if pipe:
            with contextlib.suppress(OSError):
                pipe.close()


def unavailable(answer: Answer, provider: str, name: str, variable: str = "") -> KeyUnavailable:
    """The error for a keychain that returned no key.

    Args:
        answer: any state but ``found``.
        provider, name: which key.
        variable: the environment variable to use instead.
    """
    export = f"export {variable}=…" if variable else ""
    set_it = f"evalbench keys set {provider}" + (f" --name {name}" if name != "default" else "")
    match answer.state:
        case KeychainState.ABSENT:
            what = f"there is no key for {provider}"
            if name != "default":
                what = f"the keychain has no {provider} key named {name!r}"
            why, ways = "", [set_it, export]
        case KeychainState.LOCKED:
            what, why = "the keychain is locked", answer.why
            ways = [*_unlocking(), export]
        case KeychainState.NO_KEYCHAIN:
            what = f"there is no key for {provider}"
            sought = f"neither in {variable} nor" if variable else "not"
            if name != "default":
                what, sought = f"there is no {provider} key named {name!r}", "not"
            why = f"{sought} in a keychain: {answer.why}"
            ways = [
                export,
                "name a file of keys with --env-file FILE",
                "start a keychain: see docs/keychains.md, Machines without a keychain",
            ]
        case KeychainState.TIMED_OUT:
            what = f"the keychain did not answer within {answer.limit_s:g} s"
            why = "it may be locked and waiting for a dialog that is not visible, or broken"
            ways = [f"evalbench keys test {provider}, which waits for the dialog", export]
        case _:
            what, why, ways = "the keychain failed", answer.why, [export]
    hint = "; or ".join(way for way in ways if way)
    return KeyUnavailable(what, why=why, hint=hint, state=answer.state.value)


def _unlocking() -> list[str]:
    if sys.platform == "darwin":
        if os.environ.get("SSH_CONNECTION"):
            return ["security unlock-keychain (over SSH macOS shows no dialog), then again"]
        return ["answer the dialog, or run: security unlock-keychain"]
    return ["unlock it in your desktop session, or see docs/keychains.md, Over SSH"]
