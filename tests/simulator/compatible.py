"""Servers that copy OpenAI's chat completions, each with its own quirks."""

from __future__ import annotations

from collections.abc import Iterable

from tests.simulator import compatible_lists
from tests.simulator.compatible_access import Access
from tests.simulator.compatible_chat import Chat
from tests.simulator.exchange import Answer, Api, Exchange, Route
from tests.simulator.flavours import Flavour
from tests.simulator.ollama import Native
from tests.simulator.openai_batches import OpenAIBatches
from tests.simulator.refusals import admit, word
from tests.simulator.text_completions import TextCompletions
from tests.simulator.world import World

_SITUATIONS = {400: "bad", 401: "wrong", 402: "nocredit", 403: "noaccess", 404: "model"}


class Compatible(Api):
    """One flavour: chat completions, a model list, and what else this server has."""

    def __init__(self, world: World, flavour: Flavour) -> None:
        access = Access(world, flavour)
        self._chat = Chat(access)
        self._lists = compatible_lists.Lists(access)
        self._text = TextCompletions(access)
        self._batches: OpenAIBatches | None = None
        if flavour.batches:
            worker = Chat(Access(world.without_limits(), flavour))
            self._batches = OpenAIBatches(
                world,
                flavour.name,
                flavour.base_path,
                {"/v1/chat/completions": worker.complete},
                self.error,
            )
        self._native = Native(access, self._chat, self._text)
        self._hosted = flavour.hosted
        self._public = flavour.public_models
        self._world = world
        self.name = flavour.name
        self.base_path = flavour.base_path

    def routes(self) -> Iterable[Route]:
        """Under the flavour's base path; a server's own endpoints beside it."""
        base, chat, lists, text = self.base_path, self._chat, self._lists, self._text
        yield Route("POST", f"{base}/chat/completions", chat.complete, open=True)
        yield Route("GET", f"{base}/models", lists.models, open=self._public)
        if self._batches:
            yield from self._batches.routes()
        if not self._hosted:
            yield Route("POST", f"{base}/completions", text.complete, open=True)
        own: dict[str, tuple[Route, ...]] = {
            "deepseek": (
                Route("POST", f"{base}/v1/chat/completions", chat.complete, open=True),
                Route("GET", f"{base}/v1/models", lists.models),
            ),
            "openrouter": (Route("GET", f"{base}/key", lists.key),),
            "vllm": (Route("POST", "/vllm/tokenize", text.tokenize),),
            "ollama": (
                Route("GET", "/ollama/api/tags", lists.tags, open=True),
                Route("GET", "/ollama/api/ps", lists.loaded, open=True),
                Route("POST", "/ollama/api/chat", self._native.chat, open=True),
                Route("POST", "/ollama/api/generate", self._native.generate, open=True),
                Route("GET", "/ollama/api/version", compatible_lists.version, open=True),
            ),
            "llamacpp": (
                Route("GET", "/llamacpp/health", compatible_lists.health, open=True),
                Route("GET", "/llamacpp/props", lists.props, open=True),
            ),
        }
        yield from own.get(self.name, ())

    def admit(self, exchange: Exchange) -> None:
        """Refuse a key that may do nothing."""
        admit(self._world, self.name, exchange)

    def error(self, status: int, message: str = "") -> Answer:
        """A failure as this server words it."""
        if status == 429:
            return word(self.name, "limit", 429, unit="requests", model="", wait="1s", limit=1,
                        used=1, requested=1, window="minute (RPM)")  # fmt: skip
        situation = _SITUATIONS.get(status, "failure")
        text = message or "simulated failure"
        return word(self.name, situation, status, message=text, model="", masked="", tail="")

    def error_within_200(self, exchange: Exchange, code: str) -> Answer:
        """OpenRouter: an error object, or (code ``choice``) a choice that ended in one."""
        if self.name == "lmstudio":
            return word(self.name, "failure", 200, message="The model has crashed.")
        if self.name != "openrouter":
            return super().error_within_200(exchange, code)
        trouble = {
            "message": "Provider returned error",
            "code": 502,
            "metadata": {"raw": "upstream connect error", "provider_name": "Simulated"},
        }
        if code != "choice":
            return Answer({"error": trouble, "user_id": "user_simulated"})
        choice = {
            "index": 0,
            "finish_reason": "error",
            "native_finish_reason": "error",
            "logprobs": None,
            "error": trouble,
            "message": {"role": "assistant", "content": "", "refusal": None},
        }
        return Answer(
            {
                "id": f"gen-{exchange.number:024d}",
                "object": "chat.completion",
                "created": int(exchange.now),
                "model": exchange.body["model"],
                "provider": "Simulated",
                "choices": [choice],
            }
        )

    def dress(self, exchange: Exchange, answer: Answer) -> None:
        """A request id, where the server gives one."""
        if self.name not in ("ollama", "lmstudio", "llamacpp"):
            super().dress(exchange, answer)
