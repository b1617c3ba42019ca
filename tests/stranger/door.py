"""``evalbench`` as a tutorial's reader has it, but for where models are.

``DOOR_URLS`` (JSON) gives providers a base URL; ``DOOR_LOCAL`` is asked in place of models of
this machine; ``DOOR_DATA`` (JSON) has copies of benchmarks' data.
"""

from __future__ import annotations

import json
import os
import sys

from evalbench.engine.keys import keychain
from evalbench.tui.cli.main import main

RUNS = ("run", "estimate")
PATIENCE_S = 60.0


def redirected(words: list[str]) -> list[str]:
    """The words that reach the simulator."""
    urls: dict[str, str] = json.loads(os.environ.get("DOOR_URLS", "{}"))
    data: dict[str, str] = json.loads(os.environ.get("DOOR_DATA", "{}"))
    local = os.environ.get("DOOR_LOCAL", "")
    made: list[str] = []
    if local and "--quantize" in words:
        at = words.index("--quantize")
        words = words[:at] + words[at + 2 :]
    for before, word in zip(["", *words], words, strict=False):
        provider = word.partition("/")[0]
        if before == "--judge" and provider in urls:
            word += f",base-url={urls[provider]}"
        if before == "--model" and provider == "local" and local:
            made += [local, "--price", f"{local}=0/0"]
            continue
        made.append(word)
        if before == "--model" and provider in urls:
            made += ["--base-url", urls[provider]]
        elif words[0] == "keys" and before in ("set", "test") and word in urls:
            made += ["--base-url", urls[word]]
        elif words[0] in RUNS and before in RUNS and word in data:
            made += ["--data", data[word]]
    return made


def wait_for_keychain() -> None:
    """A busy machine may take longer to start its helper than a reader is made to wait."""
    ask = keychain._ask
    keychain._ask = lambda request, timeout: ask(request, max(timeout, PATIENCE_S))


if __name__ == "__main__":
    wait_for_keychain()
    sys.exit(main(redirected(sys.argv[1:])))
