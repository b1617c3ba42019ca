"""The process that accesses the keychain, so that it can be killed if it hangs.

It reads the request from standard input, one JSON object, and writes one line of JSON back::

    {"do": "get" | "set" | "delete", "service": S, "user": U, "secret": only for set, "within": s}
    {"state": ..., "backend": NAME, "secret": only for get and found, "why": TEXT}

It alone imports ``keyring``. If the keychain has not answered ``within`` so many seconds, SIGALRM
ends the process; the time to start Python, long on a busy machine, does not count.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

from evalbench.engine.core_dumps import no_core_dumps

_INTERACTION_NOT_ALLOWED = "-25308"  # macOS: the keychain is locked and may show no dialog


def serve(request: dict[str, Any]) -> dict[str, str]:
    """Execute one request; failures are returned as answers."""
    try:
        import keyring.core
        from keyring.backends import fail, null
    except ImportError as error:
        return {"state": "no keychain", "why": str(error)}
    signal.setitimer(signal.ITIMER_REAL, float(request["within"]))
    try:
        # Without this limit, an installed plain-text backend would replace a missing keychain.
        keyring.core.init_backend(limit=keyring.core.recommended)
    except Exception as error:
        return {"state": "failed", "why": f"the store chosen for keyring cannot be had: {error}"}
    store = keyring.get_keyring()
    if isinstance(store, fail.Keyring | null.Keyring):
        return {"state": "no keychain", "why": "no Secret Service, KWallet or keychain was found"}
    try:
        answer = _carry_out(store, request)
    except Exception as error:
        answer = _failure(error, request.get("secret", ""))
    return {"backend": str(store.name), **answer}


def _carry_out(store: Any, request: dict[str, Any]) -> dict[str, str]:
    place = request["service"], request["user"]
    if request["do"] == "set":
        store.set_password(*place, request["secret"])
        if store.get_password(*place) != request["secret"]:
            return {"state": "failed", "why": "it accepted the key but does not return it"}
        return {"state": "found"}
    secret = store.get_password(*place)
    if secret is None:
        return {"state": "absent"}
    if request["do"] == "delete":
        store.delete_password(*place)
        return {"state": "found"}
    return {"state": "found", "secret": secret}


def _failure(error: Exception, secret: str) -> dict[str, str]:
    from keyring.errors import InitError, KeyringLocked, NoKeyringError

    why = str(error).partition("\n")[0] or type(error).__name__
    if secret:
        why = why.replace(secret, "[key]")
    dismissed = isinstance(error, InitError) and "dismiss" in why.lower()
    if isinstance(error, NoKeyringError):
        state = "no keychain"
    elif isinstance(error, KeyringLocked) or dismissed or _INTERACTION_NOT_ALLOWED in why:
        state = "locked"
    else:
        state = "failed"
    return {"state": state, "why": why}


def main() -> None:
    """Serve one request from standard input."""
    no_core_dumps()
    # Libraries may print anywhere; the pipe is reserved for our answer.
    pipe = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    answer = serve(json.loads(sys.stdin.buffer.read()))
    pipe.write(json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    main()
