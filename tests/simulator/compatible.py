"""Servers that copy OpenAI's chat completions, each with its own quirks."""

from __future__ import annotations

from collections.abc import Iterable

from tests.simulator import compatible_lists
from tests.simulator.compatible_access import Access
from tests.simulator.compatible_chat import Chat
from tests.simulator.exchange import Answer, Exchange, Route
from tests.simulator.flavour_errors import word
from tests.simulator.flavours import Flavour
from tests.simulator.ollama import Native
from tests.simulator.openai_batches import OpenAIBatches
from tests.simulator.text_completions import TextCompletions
from tests.simulator.world import World

_SITUATIONS = {400: "bad", 401: "wrong", 402: "nocredit", 403: "noaccess", 404: "model"}


class Compatible:
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
                lambda exchange: access.admit(exchange, "", money=False),
                self.error,
            )
        self._native = Native(access, self._chat, self._text)
        self._hosted = flavour.needs_key
        self.name = flavour.name
        self.base_path = flavour.base_path

    def routes(self) -> Iterable[Route]:
        """Under the flavour's base path; a server's own endpoints beside it."""
        base, chat, lists, text = self.base_path, self._chat, self._lists, self._text
        yield Route("POST", f"{base}/chat/completions", chat.complete)
        yield Route("GET", f"{base}/models", lists.models)
        yield Route("GET", f"{base}/models/*", lists.model)
        if self._batches:
            yield from self._batches.routes()
        if not self._hosted:
            yield Route("POST", f"{base}/completions", text.complete)
        own: dict[str, tuple[Route, ...]] = {
            "deepseek": (
                Route("POST", f"{base}/v1/chat/completions", chat.complete),
                Route("GET", f"{base}/v1/models", lists.models),
            ),
            "openrouter": (Route("GET", f"{base}/key", lists.key),),
            "vllm": (Route("POST", "/vllm/tokenize", text.tokenize),),
            "ollama": (
                Route("GET", "/ollama/api/tags", lists.tags),
                Route("GET", "/ollama/api/ps", lists.loaded),
                Route("POST", "/ollama/api/chat", self._native.chat),
                Route("POST", "/ollama/api/generate", self._native.generate),
                Route("GET", "/ollama/api/version", compatible_lists.version),
            ),
            "llamacpp": (
                Route("GET", "/llamacpp/health", compatible_lists.health),
                Route("GET", "/llamacpp/props", lists.props),
            ),
        }
        yield from own.get(self.name, ())

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
            raise ValueError(f"{self.name} reports no error inside a 200")
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
            answer.headers["x-request-id"] = exchange.request_id
