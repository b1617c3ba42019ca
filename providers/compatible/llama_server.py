"""llama.cpp's server from the package ``xllamacpp``, for machines without ``llama-server``.

It accepts the few of that program's options that evalbench gives, and reads the key from
``LLAMA_API_KEY`` as it does.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path


def main(words: list[str]) -> int:
    """Serve until a signal ends it."""
    parser = argparse.ArgumentParser(prog="llama_server")
    parser.add_argument("-m", dest="model", required=True)
    parser.add_argument("--alias", required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("-c", dest="context", type=int, default=0)
    parser.add_argument("-np", dest="parallel", type=int, default=4)
    parser.add_argument("-t", dest="threads", type=int, default=0)
    parser.add_argument("-b", dest="batch", type=int, default=0)
    parser.add_argument("-ngl", dest="layers", type=int, default=-1)
    parser.add_argument("--chat-template-file")
    parser.add_argument("--no-cache-prompt", action="store_true")
    parser.add_argument("-kvu", action="store_true")
    parser.add_argument("--metrics", action="store_true")
    given = parser.parse_args(words)

    import xllamacpp  # pyright: ignore[reportMissingImports]  # in no extra

    params = xllamacpp.CommonParams()
    params.model.path = given.model
    params.model_alias = {given.alias}
    params.hostnames = [given.host]
    params.port = given.port
    params.n_ctx = given.context
    params.n_parallel = given.parallel
    params.kv_unified = given.kvu
    params.n_gpu_layers = given.layers
    params.endpoint_metrics = given.metrics
    params.cache_prompt = not given.no_cache_prompt
    params.ui = False
    if given.threads:
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = given.threads
    if given.batch:
        params.n_batch = given.batch
        params.n_ubatch = min(params.n_ubatch, given.batch)
    if given.chat_template_file:
        params.chat_template = Path(given.chat_template_file).read_text()
    if key := os.environ.get("LLAMA_API_KEY"):
        params.api_keys = [key]
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    server = xllamacpp.Server(params)
    while server:
        signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
