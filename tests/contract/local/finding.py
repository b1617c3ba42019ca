"""Run as a script: finds the weights of a made-up known model and writes what came of it.

Arguments: a JSON object with the fields of its packaged weights, and the hub's
repository and commit. A process of its own, because the hub's client reads its
environment once, and because locks are between processes.
"""

from __future__ import annotations

import json
import sys

from evalbench.engine.errors import ProviderError
from evalbench.providers.local.catalogue import HubModel, KnownModel, PackagedWeights
from evalbench.providers.local.weights import find


def main() -> None:
    """Report progress on standard error; write the weights or the error as one JSON object."""
    packaged = PackagedWeights(**json.loads(sys.argv[1]))
    hub = HubModel(*sys.argv[2:4])
    model = KnownModel("made-up", "Made up", "MIT", 64, hub, packaged)
    seen: list[str] = []

    def progress(what: str, done: int, total: int | None, unit: str) -> None:
        seen.append(what)
        sys.stderr.write(what + "\n")
        sys.stderr.flush()

    try:
        found = find(model, progress)
        result = {
            "folder": str(found.folder),
            "origin": found.origin,
            "revision": found.revision,
        }
    except ProviderError as error:
        result = {"error": type(error).__name__, "text": str(error)}
    sys.stdout.write(json.dumps({**result, "progress": list(dict.fromkeys(seen))}))


if __name__ == "__main__":
    main()
