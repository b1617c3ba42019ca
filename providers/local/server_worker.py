"""The worker of a model that runs in a server.

It speaks :mod:`evalbench.engine.calls.frames` with the engine like the worker of transformers, and
answers calls by a server (vLLM, SGLang, llama.cpp) that it starts on a free port of this machine,
with a key made for the occasion. The server ends with this process; this process ends with the
engine, because its connection closes then, unless both are kept for the next engine.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import math
import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback
from base64 import b64decode
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NoReturn, cast

import orjson

from evalbench.engine.calls import Call, ModelRef, Reply, frames
from evalbench.engine.calls.messages import call_from_json
from evalbench.engine.calls.options import record_of
from evalbench.engine.calls.replies import reply_to_json
from evalbench.engine.errors import (
    EvalbenchError,
    ProviderError,
    RunFatal,
    TransientError,
    WorkerFailed,
)
from evalbench.engine.hardware.devices import device_memory
from evalbench.engine.hardware.fit import parse_bytes
from evalbench.engine.hardware.gpu import Gpus
from evalbench.engine.inference_servers import (
    HOST,
    InferenceServer,
    ServerProgram,
    served_name,
    wait_a_moment,
)
from evalbench.providers.compatible.presets import LlamaCpp
from evalbench.providers.compatible.programs import LLAMA_CPP, SGLANG, VLLM
from evalbench.providers.compatible.provider import Compatible
from evalbench.providers.compatible.quirks import Quirks
from evalbench.providers.compatible.servers import server_class
from evalbench.providers.compatible.vllm import Vllm
from evalbench.providers.local import backends, footprints, weights
from evalbench.providers.local.catalogue import FolderModel, resolve
from evalbench.providers.local.chat import ChatTemplate, template_of
from evalbench.providers.local.options import TRANSFORMERS, LocalOptions
from evalbench.providers.local.threads import choose_threads
from evalbench.providers.local.worker import (
    Wire,
    print_to,
    take_over_pipes,
    wait_for_engine,
)

_MEMORY_EVERY_S = 2.0
_ATTEMPTS = 4
_PAUSE_S = 0.5
_BYTES_A_TOKEN = 2
"""Fewer than in any usual text: a count of tokens by bytes is then too high, never too low."""
_TIMEOUT_S = 6 * 3600.0
"""A call may wait long in a server that has many."""
_ENDING_S = 3.0
"""Less than the engine gives this process."""
_REMEMBERED = 20_000


class _Neutral(LlamaCpp):
    """A llama.cpp that does not narrow the choice of tokens unless asked."""

    quirks: ClassVar[Quirks] = Quirks(raw_text=True, extra={"top_k": 0, "top_p": 1.0, "min_p": 0.0})


_PROVIDERS: Mapping[str, type[Compatible]] = {
    VLLM.name: Vllm,
    LLAMA_CPP.name: _Neutral,
    SGLANG.name: server_class(SGLANG.provider),
}


class ServedModel:
    """A server with one model, and the provider that calls it.

    Attributes:
        info: what a run records about the model.
        room: tokens of all calls together that the server has room for; None for no known limit.
        many: answers at the same time.
    """

    def __init__(
        self,
        kind: ServerProgram,
        load: frames.Load,
        settings: LocalOptions,
        wire: Wire,
    ) -> None:
        """Set up; nothing is started."""
        self.kind = kind
        self.info: dict[str, Any] = {}
        self.room: int | None = None
        self.many = 1
        self._load = load
        self._settings = settings
        self._wire = wire
        self._scratch: Path | None = None
        self._key = secrets.token_urlsafe(24)
        self._server: InferenceServer | None = None
        self._gpus: Gpus | None = None
        self._total = self._peak = 0

    def start(self) -> None:
        """Find the weights, start the server and wait until it is ready.

        Raises:
            ProviderError: it cannot be loaded.
            UsageError: the server cannot be started.
        """
        kind, settings = self.kind, self._settings
        find = weights.find_gguf if kind is LLAMA_CPP else weights.find
        found = find(resolve(self._load["model"]), self._wire.progress)
        gguf = found.folder if kind is LLAMA_CPP else None
        size = footprints.footprint(FolderModel(found.folder, gguf))
        if gguf:
            size = replace(size, packed=gguf.stat().st_size)
        memory = device_memory(settings.device)
        sharing = self._load.get("sharing", 1)
        if memory.device != "cuda":
            memory = memory.shared_out(sharing)
        self._total = memory.total
        self._gpus = Gpus() if memory.device == "cuda" else None
        threads = max(1, (settings.threads or choose_threads()) // sharing)
        form = backends.number_format(settings, kind, memory)
        self.many = backends.slots(settings, memory, self._load.get("smaller", 0))
        if kind is LLAMA_CPP:
            limit = parse_bytes(settings.memory_limit)
            self.room = backends.context_tokens(size, form, memory, limit, self.many)
        own = template_of(found.folder)
        chat = ChatTemplate.choose(settings.chat_template, own, in_parts=False)
        # Also removed if this process is killed, see :mod:`evalbench.engine.server_guard`.
        self._scratch = scratch = Path(tempfile.mkdtemp(prefix="evalbench-server-"))
        words, env = backends.options(
            kind,
            settings,
            size,
            memory,
            many=self.many,
            threads=threads,
            chat=chat,
            scratch=scratch,
        )
        name = served_name(str(found.folder))
        server = self._start(str(found.folder), name, words, env, scratch)
        self.model = ModelRef(kind.provider, name)
        self._base_url = server.base_url
        version = _version(server)
        self.info = {
            "origin": found.origin,
            "revision": found.revision,
            "backend": kind.name,
            "backend_options": [word for word in words if str(scratch) not in word],
            "device": memory.device,
            "device_name": memory.name,
            "dtype": form,
            "quantize": "none",
            "layout": "together",
            "threads": threads,
            "slots": self.many,
            "parameters": size.parameters,
            "context_tokens": size.context_tokens,
            **chat.info,
            "server_pid": server.pid,
            "versions": {kind.name: version} if version else {},
        }

    def _start(
        self,
        path: str,
        name: str,
        words: Sequence[str],
        env: Mapping[str, str],
        scratch: Path,
    ) -> InferenceServer:
        kind = self.kind
        if kind is SGLANG:
            # Its key can be given in a file; every user of the machine can read arguments.
            config = scratch / "sglang.yaml"
            config.write_text(f"api-key: {self._key}\n")
            words = [*words, "--config", str(config)]
        whole = {**os.environ, "HF_HUB_OFFLINE": "1", **env}
        if kind.server_key:
            whole[kind.server_key] = self._key
        port = _free_port()
        command = [*kind.command(path, name, port), *words]
        server = InferenceServer(
            kind, command, port, _log, env=whole, key=self._key, scratch=scratch
        )
        self._server = server
        self._wire.progress(f"starting {kind.title}", 0, None, "")
        while not server.healthy():
            try:
                server.check()
            except WorkerFailed as error:
                error.hint = f"--backend {TRANSFORMERS} runs the model without {kind.title}"
                raise
            wait_a_moment()
        return server

    def connect(self) -> Compatible:
        """What calls the server, for one event loop."""
        settings = {"base_url": self._base_url, "timeout": _TIMEOUT_S}
        return _PROVIDERS[self.kind.name](settings, self._key)

    @property
    def code(self) -> int | None:
        """The server's exit code; None while it runs."""
        return self._server.code if self._server else None

    def end(self) -> None:
        """End the server and remove its files."""
        if self._server:
            self._server.end(_ENDING_S)
        if self._scratch:
            shutil.rmtree(self._scratch, ignore_errors=True)

    def readings(self) -> dict[str, Any]:
        """Memory of the server's processes in bytes, and what its gauges say."""
        assert self._server is not None
        found: dict[str, Any] = {"total": self._total}
        family = _family(self._server.pid)
        if resident := _resident(family):
            found["rss"] = resident
        used = _on_cards(self._gpus, family) if self._gpus else resident
        if used:
            self._peak = max(self._peak, used)
            found |= {"used": used, "peak": self._peak}
        metrics = (self._server.get("/metrics") or b"").decode("utf-8", "replace")
        seen = backends.gauges(self.kind, metrics)
        for name in ("running", "waiting"):
            if name in seen:
                found[name] = int(seen[name])
        if "kv_cache" in seen:
            found["kv_cache"] = round(seen["kv_cache"], 4)
        if "computed_tokens" in seen:
            found["tokens_computed"] = int(seen["computed_tokens"])
        elif "prompt_tokens" in seen:
            found["tokens_computed"] = int(seen["prompt_tokens"] - seen.get("cached_tokens", 0))
        return found


class ServerWorker:
    """Answers the engine's frames by a server."""

    def __init__(self, wire: Wire, served: ServedModel | None = None) -> None:
        """Set up.

        Args:
            wire: the connection to the engine.
            served: the model, if it was kept.
        """
        self._wire = wire
        self._served = served
        self._keep: frames.Keep | None = None
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._answered: OrderedDict[str, frames.Replied] = OrderedDict()
        self._inbox: asyncio.Queue[frames.EngineFrame | ProviderError] = asyncio.Queue()
        self._freed = asyncio.Condition()
        self._provider: Compatible | None = None
        self._running = self._held = 0
        self._asked = 0
        self._busy = self._since = 0.0

    def run(self) -> int:
        """Work until ``bye`` or a fatal error; returns the exit status."""
        try:
            asyncio.run(self._serve())
        except ProviderError as error:
            self._wire.fatal(error)
        except EvalbenchError as error:
            self._wire.fatal(WorkerFailed(error.what, why=error.why, hint=error.hint))
        else:
            return 0
        return 1

    async def _serve(self) -> None:
        self._wire.send({"type": "hello", "protocol": frames.PROTOCOL, "pid": os.getpid()})
        loop = asyncio.get_running_loop()
        self._wire.read_by(lambda: self._read(loop))
        telling: asyncio.Task[None] | None = None
        stays = False
        try:
            load = await self._inbox.get()
            if not isinstance(load, ProviderError) and load["type"] == "keep":
                self._keep = load
                print_to(load["log"])
                load = await self._inbox.get()
            if not isinstance(load, ProviderError) and load["type"] == "bye":
                return
            if isinstance(load, ProviderError) or load["type"] != "load":
                raise WorkerFailed("the engine asked before it named a model")
            served = self._load(load)
            self._provider = served.connect()
            telling = asyncio.create_task(self._keep_telling())
            while True:
                frame = await self._inbox.get()
                if isinstance(frame, ProviderError):
                    raise frame
                if frame["type"] == "bye":
                    break
                self._take(frame)
            await self._tell_memory()
            stays = self._keep is not None
        finally:
            if telling:
                telling.cancel()
            if self._provider:
                await self._provider.close()
            if self._served and not stays:
                self._served.end()

    def _load(self, load: frames.Load) -> ServedModel:
        if self._served is not None:
            self._wire.send({"type": "loaded", "info": {**self._served.info, "kept": True}})
            return self._served
        settings = record_of(LocalOptions, load["settings"])
        kind = backends.choose(settings, resolve(load["model"]))
        if kind is None:
            raise WorkerFailed("this worker runs models in servers only")
        self._served = served = ServedModel(kind, load, settings, self._wire)
        served.start()
        self._wire.send({"type": "loaded", "info": served.info})
        return served

    def next(self) -> ServerWorker | None:
        """After :meth:`run`: the same for the next engine; None if the model is not kept."""
        served = self._served
        if self._keep is None or served is None:
            return None
        if served.code is not None:
            served.end()
            return None
        where = {name: served.info[name] for name in ("backend", "device")}
        memory = {"used": 0, **served.readings(), **where}
        wire = wait_for_engine(self._wire, self._keep, memory, lambda: served.code is None)
        if wire is None:
            served.end()
            return None
        return ServerWorker(wire, served)

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            while (frame := frames.read_blocking(self._wire.source)) is not None:
                self._wire.leaving |= frame["type"] == "bye"
                loop.call_soon_threadsafe(self._inbox.put_nowait, frame)
        except ConnectionResetError:
            # It left without reading everything.
            pass
        except Exception:
            traceback.print_exc()
        if not self._wire.leaving:
            _leave(self._served, 0)

    def _take(self, frame: frames.EngineFrame) -> None:
        match frame["type"]:
            case "answer":
                media = {name: b64decode(data) for name, data in frame.get("media", {}).items()}
                for entry in frame["calls"]:
                    key = entry["key"]
                    if key in self._answered:
                        self._wire.send(self._answered[key])
                    elif key not in self._tasks:
                        call = call_from_json(entry["call"], media)
                        self._tasks[key] = asyncio.create_task(self._answer(key, call))
            case "cancel":
                cancelled = [
                    key for key in frame["keys"] or list(self._tasks) if key in self._tasks
                ]
                for key in cancelled:
                    self._tasks[key].cancel()
                self._wire.send({"type": "cancelled", "keys": cancelled})

    async def _answer(self, key: str, call: Call) -> None:
        assert self._served is not None
        try:
            async with self._place(call):
                reply = await self._ask(self._served, _neutral(call, key))
        except asyncio.CancelledError:
            pass
        except RunFatal as error:
            self._inbox.put_nowait(error)
        except ProviderError as error:
            self._wire.failed(key, error)
        else:
            self._asked += reply.usage.input_tokens or 0
            frame: frames.Replied = {"type": "reply", "key": key, "reply": reply_to_json(reply)}
            self._answered[key] = frame
            if len(self._answered) > _REMEMBERED:
                self._answered.popitem(last=False)
            self._wire.send(frame)
        finally:
            del self._tasks[key]

    async def _ask(self, served: ServedModel, call: Call) -> Reply:
        """One call, again after errors that may pass; with a server that died, all ends."""
        provider = self._provider
        assert provider is not None
        call = replace(call, model=served.model)
        await provider.get_ready(call)
        for attempt in range(1, _ATTEMPTS):
            try:
                return await provider.answer(call)
            except TransientError:
                # A server that has crashed refuses connections a moment before it is gone.
                await asyncio.sleep(_PAUSE_S * attempt)
                if served.code is not None:
                    _leave(served, served.code)
        return await provider.answer(call)

    @contextlib.asynccontextmanager
    async def _place(self, call: Call) -> AsyncIterator[None]:
        """Wait for a slot, and for room for the call's tokens where the server does not."""
        assert self._served is not None
        many, room = self._served.many, self._served.room
        tokens = min(_most_tokens(call), room) if room else 0

        def fits() -> bool:
            return self._running < many and (not room or self._held + tokens <= room)

        async with self._freed:
            await self._freed.wait_for(fits)
            if not self._running:
                self._since = time.monotonic()
            self._running += 1
            self._held += tokens
        try:
            yield
        finally:
            self._running -= 1
            self._held -= tokens
            if not self._running:
                self._busy += time.monotonic() - self._since
            async with self._freed:
                self._freed.notify_all()

    async def _keep_telling(self) -> None:
        while True:
            await self._tell_memory()
            await asyncio.sleep(_MEMORY_EVERY_S)
            if self._served and (code := self._served.code) is not None:
                _leave(self._served, code)

    async def _tell_memory(self) -> None:
        if self._served is None:
            return
        readings = await asyncio.to_thread(self._served.readings)
        busy = self._busy + (time.monotonic() - self._since if self._running else 0.0)
        readings |= {"tokens_asked": self._asked, "busy_s": round(busy, 3)}
        self._wire.send(cast("frames.Memory", {"type": "memory", **readings}))


def _neutral(call: Call, key: str) -> Call:
    """The call with what transformers would assume: greedy unless asked, and a seed of its own.

    Servers sample by default, with a random seed.
    """
    if call.prompt.kind != "generate":
        return call
    params = call.prompt.params
    params = replace(params, temperature=params.temperature or 0.0)
    if params.temperature and params.seed is None:
        digest = hashlib.sha256(key.encode()).digest()
        params = replace(params, seed=int.from_bytes(digest[:4]) >> 1)
    return replace(call, prompt=replace(call.prompt, params=params))


def _family(pid: int) -> list[Any]:
    """A process and its children; empty if unknown."""
    with contextlib.suppress(ImportError):
        import psutil

        with contextlib.suppress(psutil.Error):
            whole = psutil.Process(pid)
            return [whole, *whole.children(recursive=True)]
    return []


def _resident(family: Sequence[Any]) -> int:
    """Resident bytes of processes; what they share is counted once, as far as it is known."""
    own = shared = 0
    for one in family:
        with contextlib.suppress(Exception):  # it has just ended
            memory = one.memory_info()
            together = int(getattr(memory, "shared", 0))
            own += int(memory.rss) - together
            shared = max(shared, together)
    return own + shared


def _on_cards(gpus: Gpus, family: Sequence[Any]) -> int:
    """Bytes that processes use on the GPUs; 0 if unknown."""
    pids = {str(one.pid) for one in family}
    used = (card["processes"].items() for card in gpus.read())
    return sum(amount or 0 for card in used for pid, amount in card if pid in pids)


def _version(server: InferenceServer) -> str:
    """The server's version; empty if it does not tell."""
    for path in ("/version", "/props", "/server_info", "/get_server_info"):
        with contextlib.suppress(ValueError, AttributeError):
            answer = orjson.loads(server.get(path) or b"{}")
            if version := answer.get("version") or answer.get("build_info"):
                return str(version)
    return ""


def _most_tokens(call: Call) -> int:
    size = sum(len(turn.text.encode()) for turn in call.prompt.messages)
    return math.ceil(size / _BYTES_A_TOKEN) + (call.prompt.params.max_tokens or 0)


def _log(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        port: int = listener.getsockname()[1]
        return port


def _leave(served: ServedModel | None, code: int) -> NoReturn:
    """End the server, and this process the way the server ended; from any thread.

    The engine tries a smaller batch after SIGKILL, which the system sends if memory is short.
    """
    failed = served is not None and served.code is not None
    if served is not None:
        served.end()
    if code == -signal.SIGKILL:
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(1 if failed else 0)


def main() -> int:
    """Run a worker on this process's standard input and output, then for those who connect."""
    worker: ServerWorker | None = ServerWorker(take_over_pipes())
    while worker:
        if status := worker.run():
            return status
        worker = worker.next()
    return 0


if __name__ == "__main__":
    os._exit(main())
