"""The simulator, API by API, from tables, over plain HTTP: what of its own tests always runs.

``tests/contract/simulator`` asks at length, with the vendors' SDKs and documents.
"""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.simulator.accounts import WORDS
from tests.simulator.handle import Handle

GOOD = "planted-0123456789"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """How one API is asked a question.

    Attributes:
        path: after the simulator's address.
        body: a question of the model ``MODEL``; ``path`` may hold the name instead.
        model: a model that answers.
        says: where in an answer the text is.
        free: a path that money has no part in; empty: there is none.
        header: how a key is sent, the key being ``{}``.
        needs_key: whether it takes no anonymous question.
    """

    path: str
    body: dict[str, Any]
    model: str
    says: tuple[str | int, ...]
    free: str = ""
    header: tuple[str, str] = ("authorization", "Bearer {}")
    needs_key: bool = True
    more: dict[str, str] = field(default_factory=dict)


_TURNS = [{"role": "user", "content": "What is asked?"}]
_CHAT = {"model": "MODEL", "messages": _TURNS}
_CHOICE = ("choices", 0, "message", "content")


def _chat(base: str, model: str, free: str = "", *, needs_key: bool = True) -> Endpoint:
    path = f"{base}/chat/completions"
    return Endpoint(path, _CHAT, model, _CHOICE, free or f"{base}/models", needs_key=needs_key)


ENDPOINTS: dict[str, Endpoint] = {
    "anthropic": Endpoint(
        "/anthropic/v1/messages",
        {**_CHAT, "max_tokens": 50},
        "claude-opus-4-8",
        ("content", 0, "text"),
        "/anthropic/v1/models",
        more={"anthropic-version": "2026-10-21"},
    ),
    "bedrock": Endpoint(
        "/bedrock/model/MODEL/converse",
        {"messages": [{"role": "user", "content": [{"text": "What is asked?"}]}]},
        "us.amazon.nova-lite-v1:0",
        ("output", "message", "content", 0, "text"),
        "/bedrock/foundation-models",
    ),
    "openai": _chat("/openai/v1", "gpt-4.1"),
    "openai responses": Endpoint(
        "/openai/v1/responses",
        {"model": "MODEL", "input": "What is asked?"},
        "gpt-4.1",
        ("output", 0, "content", 0, "text"),
    ),
    "together": _chat(
        "/together/v1", "meta-llama/Llama-3.3-70B-Instruct-Turbo", "/together/v3/whoami"
    ),
    "google": Endpoint(
        "/google/v1/models/MODEL:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "What is asked?"}]}]},
        "gemini-2.5-flash",
        ("candidates", 0, "content", "parts", 0, "text"),
        "/google/v1/models",
        ("x-goog-api-key", "{}"),
    ),
    "groq": _chat("/groq/openai/v1", "llama-3.3-70b-versatile"),
    "openrouter": _chat("/openrouter/api/v1", "openai/gpt-4o-mini", "/openrouter/api/v1/key"),
    "vllm": _chat("/vllm/v1", "Qwen/Qwen2.5-7B-Instruct", needs_key=False),
    "ollama": _chat("/ollama/v1", "llama3.2:3b", needs_key=False),
    "lmstudio": _chat("/lmstudio/v1", "qwen2.5-7b-instruct", needs_key=False),
    "llamacpp": _chat("/llamacpp/v1", "gemma-3-4b-it-Q4_K_M.gguf", needs_key=False),
    "deepseek": _chat("/deepseek", "deepseek-chat"),
    "mistral": _chat("/mistral/v1", "mistral-large-latest"),
    "xai": _chat("/xai/v1", "grok-4.20"),
    "fireworks": _chat(
        "/fireworks/inference/v1", "accounts/fireworks/models/llama-v3p1-8b-instruct"
    ),
    "custom": _chat("/custom/v1", "any-model", needs_key=False),
}

REFUSED_KEYS: dict[str, dict[str, tuple[int, str]]] = {
    "anthropic": {
        "missing": (401, "authentication_error.*authentication is required"),
        "wrong": (401, "authentication_error.*invalid bearer token"),
        "noaccess": (403, "permission_error"),
        "nocredit": (400, "invalid_request_error.*credit balance is too low"),
        "nobilling": (402, "billing_error"),
        "spent": (429, "rate_limit_error.*enforced_spend_limit_reached"),
    },
    "bedrock": {
        "missing": (403, "MissingAuthenticationTokenException"),
        "wrong": (403, "AccessDeniedException.*Authentication failed"),
        "noaccess": (403, "AccessDeniedException.*don't have access to the model"),
        "nocredit": (403, "AccessDeniedException.*INVALID_PAYMENT_INSTRUMENT"),
        "nobilling": (403, "AccessDeniedException.*INVALID_PAYMENT_INSTRUMENT"),
        "spent": (429, "ThrottlingException.*tokens per day"),
    },
    "openai": {
        "missing": (401, "You didn't provide an API key"),
        "wrong": (401, "Incorrect API key provided: planted-.*invalid_api_key"),
        "noaccess": (403, "insufficient permissions"),
        "nocredit": (429, "insufficient_quota"),
        "nobilling": (429, "insufficient_quota"),
        "spent": (429, "insufficient_quota"),
    },
    "together": {
        "missing": (401, "missing_api_key"),
        "wrong": (401, "invalid_api_key"),
        "noaccess": (403, "permission_error"),
        "nocredit": (402, "credit_limit"),
        "spent": (402, "credit_limit"),
    },
    "google": {
        "missing": (403, "unregistered callers.*PERMISSION_DENIED"),
        "wrong": (400, "INVALID_ARGUMENT.*API_KEY_INVALID"),
        "noaccess": (403, "PERMISSION_DENIED.*SERVICE_DISABLED"),
        "nocredit": (429, "prepayment credits are depleted.*RESOURCE_EXHAUSTED"),
        "nobilling": (400, "FAILED_PRECONDITION"),
        "spent": (429, "RESOURCE_EXHAUSTED.*PerDay.*RetryInfo"),
    },
    "groq": {
        "missing": (401, "Invalid API Key"),
        "wrong": (401, "Invalid API Key"),
        "noaccess": (403, "blocked at the project level"),
        "nocredit": (400, "organization_restricted"),
    },
    "openrouter": {
        "missing": (401, "No auth credentials found"),
        "wrong": (401, "User not found."),
        "noaccess": (403, "Key limit exceeded"),
        "nocredit": (402, "Insufficient credits"),
    },
    "deepseek": {
        "missing": (401, "Authentication Fails"),
        "wrong": (401, r"Your api key: \*\*\*\*6789 is invalid"),
        "nocredit": (402, "Insufficient Balance"),
    },
    "mistral": {
        "missing": (401, "Unauthorized"),
        "wrong": (401, "Unauthorized"),
        "noaccess": (403, "Forbidden"),
        "nocredit": (402, "Payment required"),
    },
    "xai": {
        "missing": (401, "Unauthenticated"),
        "wrong": (400, "Incorrect API key provided: planted-"),
        "noaccess": (403, "not allowed to use this model"),
        "nocredit": (403, "all available credits"),
    },
    "fireworks": {
        "missing": (401, "The API key you provided is invalid"),
        "wrong": (401, "The API key you provided is invalid"),
        "noaccess": (403, "Forbidden"),
        "nocredit": (412, "suspended"),
    },
    "vllm": {"wrong": (401, "Unauthorized")},
    "ollama": {"wrong": (401, "unauthorized")},
    "lmstudio": {"wrong": (401, "Unauthorized")},
    "llamacpp": {"wrong": (401, "Invalid API Key")},
    "custom": {"wrong": (401, "invalid_api_key")},
}
REFUSED_KEYS["openai responses"] = REFUSED_KEYS["openai"]

UNKNOWN_MODELS: dict[str, tuple[int, str]] = {
    "anthropic": (404, "not_found_error.*model: MODEL"),
    "bedrock": (400, "ValidationException.*model identifier is invalid"),
    "openai": (404, "`MODEL`.*model_not_found"),
    "openai responses": (400, "MODEL.*model_not_found"),
    "together": (404, "Unable to access model MODEL.*model_not_available"),
    "google": (404, "models/MODEL is not found for API version v1.*NOT_FOUND"),
    "groq": (404, "`MODEL`.*model_not_found"),
    "openrouter": (400, "MODEL is not a valid model ID"),
    "vllm": (404, "`MODEL`.*NotFoundError"),
    "ollama": (404, "'MODEL' not found"),
    "deepseek": (400, "Model Not Exist"),
    "mistral": (400, "Invalid model: MODEL"),
    "xai": (404, "MODEL does not exist"),
    "fireworks": (404, "Model not found"),
}
STATUSES: dict[str, dict[int, str]] = {
    "anthropic": {
        400: "invalid_request_error",
        401: "authentication_error",
        402: "billing_error",
        403: "permission_error",
        404: "not_found_error",
        409: "conflict_error",
        413: "request_too_large",
        429: "rate_limit_error",
        500: "api_error.*Internal server error",
        504: "timeout_error",
        529: "overloaded_error.*Overloaded",
    },
    "bedrock": {
        400: "ValidationException",
        403: "AccessDeniedException",
        404: "ResourceNotFoundException",
        408: "ModelTimeoutException",
        424: "ModelErrorException",
        429: "ThrottlingException.*Too many requests",
        500: "InternalServerException",
        503: "ServiceUnavailableException",
    },
    "openai": {
        401: "invalid_api_key",
        403: "insufficient permissions",
        404: "invalid_request_error",
        409: "invalid_request_error",
        422: "invalid_request_error",
        429: "rate_limit_exceeded",
        500: "server_error",
        503: "service_unavailable_error",
    },
    "openai responses": {429: "rate_limit_exceeded", 500: "server_error"},
    "together": {
        404: "invalid_request_error",
        429: "dynamic_request_limited.*error_type",
        500: "server_error",
        503: "service_unavailable",
    },
    "google": {
        400: "INVALID_ARGUMENT",
        401: "UNAUTHENTICATED",
        403: "PERMISSION_DENIED",
        404: "NOT_FOUND",
        409: "ABORTED",
        429: "Resource has been exhausted.*RESOURCE_EXHAUSTED",
        499: "CANCELLED",
        500: "INTERNAL",
        501: "UNIMPLEMENTED",
        503: "UNAVAILABLE",
        504: "DEADLINE_EXCEEDED",
    },
    "groq": {429: "rate_limit_exceeded", 500: "internal_server_error"},
    "openrouter": {429: "rate-limited upstream", 503: '"code":503'},
    "vllm": {429: "TooManyRequests", 500: "InternalServerError"},
    "ollama": {429: "server busy", 500: "api_error"},
    "lmstudio": {500: '"error":"simulated failure"'},
    "llamacpp": {429: "unavailable_error", 500: "server_error"},
    "deepseek": {429: "Rate limit reached", 503: "server_error"},
    "mistral": {429: "rate_limited", 500: '"raw_status_code":500'},
    "xai": {429: "resource has been exhausted", 503: "Internal error"},
    "fireworks": {429: "RATE_LIMIT_EXCEEDED", 500: "internal_server_error"},
    "custom": {429: "rate_limit_exceeded", 503: "server_error"},
}

KINDS: dict[str, tuple[type[Exception] | None, bool]] = {
    # kind: what the client meets, and whether the work is charged.
    "reset_before_headers": (ConnectionResetError, False),
    "close_before_headers": (http.client.RemoteDisconnected, False),
    "reset_after_headers": (ConnectionResetError, True),
    "truncated_body": (http.client.IncompleteRead, True),
    "hang": (TimeoutError, True),
    "malformed_json": (ValueError, True),
    "empty_body": (ValueError, True),
    "wrong_content_type": (ValueError, True),
    "slow_body": (None, True),
}


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def message(self) -> str:
        """Headers and body, for patterns that do not care where a match is."""
        return f"{dict(self.headers)} {self.text}"


def call(
    sim: Handle,
    api: str,
    *,
    path: str = "",
    model: str = "",
    method: str = "POST",
    key: str = GOOD,
    data: bytes = b"",
    wait_s: float = 10,
) -> Reply:
    """Ask an API; without ``path`` and ``data`` its usual question."""
    endpoint = ENDPOINTS[api]
    name, form = endpoint.header
    headers = {name: form.format(key)} if key else {}
    if method == "POST":
        headers["content-type"] = "application/json"
        body = json.dumps(endpoint.body).replace("MODEL", model or endpoint.model)
        data = data or body.encode()
    target = (path or endpoint.path).replace("MODEL", model or endpoint.model)
    where = urlsplit(sim.url)
    connection = http.client.HTTPConnection(str(where.hostname), where.port, timeout=wait_s)
    try:
        connection.request(method, target, data or None, headers | endpoint.more)
        reply = connection.getresponse()
        return Reply(reply.status, dict(reply.headers), reply.read().decode())
    finally:
        connection.close()


def cases(table: Mapping[str, Mapping[Any, Any]]) -> list[tuple[str, Any]]:
    """The two keys of every cell of a table."""
    return [(api, key) for api, row in table.items() for key in row]


@pytest.mark.parametrize("api", ENDPOINTS)
def test_an_answer(sim: Handle, api: str) -> None:
    sim.rule("What is asked", text="Forty-two.")
    reply = call(sim, api)
    assert reply.status == 200, reply.text
    found = json.loads(reply.text)
    for step in ENDPOINTS[api].says:
        found = found[step]
    assert found == "Forty-two."
    (entry,) = sim.entries()
    assert entry["api"] == api.split()[0]
    assert entry["model"] == ENDPOINTS[api].model
    assert entry["bill"]["output_tokens"] >= 3
    assert GOOD not in json.dumps(entry)


@pytest.mark.parametrize(("api", "state"), cases(REFUSED_KEYS))
def test_a_key_that_may_not(sim: Handle, api: str, state: str) -> None:
    status, words = REFUSED_KEYS[api][state]
    key = "" if state == "missing" else f"planted-{state}-0123456789"
    reply = call(sim, api, key=key)
    assert reply.status == status
    assert re.search(words, reply.message)
    assert not key or key not in reply.text
    assert sim.summary()["billed_requests"] == 0
    # Looking around costs nothing, so only the key itself matters there.
    if (free := ENDPOINTS[api].free) and state != "noaccess":
        looked = call(sim, api, path=free, method="GET", key=key)
        assert (looked.status == 200) == (state not in ("missing", "wrong"))


@pytest.mark.parametrize("api", [api for api in ENDPOINTS if not ENDPOINTS[api].needs_key])
@pytest.mark.parametrize("state", ["", *(word for word in WORDS if word != "wrong")])
def test_servers_of_ones_own_ask_for_no_key(sim: Handle, api: str, state: str) -> None:
    assert call(sim, api, key=state).status == 200


@pytest.mark.parametrize("api", UNKNOWN_MODELS)
def test_an_unknown_model_and_a_retired_one(sim: Handle, api: str) -> None:
    status, words = UNKNOWN_MODELS[api]
    reply = call(sim, api, model="no-such-model")
    assert reply.status == status
    assert re.search(words.replace("MODEL", "no-such-model"), reply.message)
    name = ENDPOINTS[api].model.removeprefix("us.")
    sim.model(api.split()[0], name, lifecycle="retired")
    # Amazon and OpenAI's Responses say of a retired model that it has been there.
    assert call(sim, api, model=name).status in (status, 404)


@pytest.mark.parametrize("api", [api for api in ENDPOINTS if api not in UNKNOWN_MODELS])
def test_a_server_of_one_model_takes_any_name(sim: Handle, api: str) -> None:
    assert call(sim, api, model="no-such-model").status == 200


@pytest.mark.parametrize("api", ENDPOINTS)
def test_what_no_client_should_send(sim: Handle, api: str) -> None:
    for nonsense in (b"{nope", b"[]"):
        assert call(sim, api, data=nonsense).status == 400
    path = ENDPOINTS[api].path
    assert call(sim, api, path=path, method="PATCH").status == 404
    assert call(sim, api, path=f"/nowhere{path}").status == 404


@pytest.mark.parametrize(("api", "status"), cases(STATUSES))
def test_a_scripted_status(sim: Handle, api: str, status: int) -> None:
    sim.fault(status=status, retry_after=2)
    reply = call(sim, api)
    assert reply.status == status
    assert re.search(STATUSES[api][status], reply.message)
    # Google tells delays in the body.
    assert reply.headers.get("retry-after") == (None if api == "google" else "2")
    assert ('"retryDelay":"2s"' in reply.text) == (api == "google")
    assert sim.entries()[0]["retry_after"] == 2
    assert sim.summary()["billed_requests"] == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("api", ENDPOINTS)
@pytest.mark.share(3)
def test_a_fault(sim: Handle, api: str, kind: str) -> None:
    raised, billed = KINDS[kind]
    sim.fault(kind, seconds=0.05)

    def ask() -> Any:
        return json.loads(call(sim, api, wait_s=0.1 if kind == "hang" else 10).text)

    if raised is None:
        assert ask()
    else:
        with pytest.raises(raised):
            ask()
    summary = sim.wait(finished=1)
    assert summary["billed_requests"] == billed
    assert summary["faults"] == {kind: 1}
    (entry,) = sim.entries()
    assert entry["client_gone"] == (kind == "hang")
    assert (entry["status"] == 0) == (kind == "hang" or kind.endswith("before_headers"))


@pytest.mark.parametrize(
    ("api", "code", "words"),
    [
        ("openai responses", "rate_limit_exceeded", '"status":"failed".*rate_limit_exceeded'),
        ("openrouter", "", '"error":.*"code":502'),
        ("openrouter", "choice", '"finish_reason":"error".*"code":502'),
        ("lmstudio", "", '"error":"The model has crashed."'),
    ],
)
def test_an_error_inside_a_success(sim: Handle, api: str, code: str, words: str) -> None:
    sim.fault("error_in_200", code=code)
    reply = call(sim, api)
    assert reply.status == 200
    assert re.search(words, reply.text)
    assert sim.summary()["dollars"] == 0
