"""What error responses mean, by provider."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from evalbench.engine import errors as e
from evalbench.engine.calls import Outcome
from evalbench.engine.config import registry
from evalbench.providers.anthropic import Anthropic
from evalbench.providers.chat.errors import error_object
from evalbench.providers.openai import OpenAI
from evalbench.providers.wire.exchange import Answered, Prepared

KEY = "sk-planted-0123456789abcdef"
PAGE = b"<html><body>502 Bad Gateway</body></html>"


def anthropic(kind: str, message: str = "", **more: Any) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message, **more}}


def chat(message: str, kind: str = "invalid_request_error", **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, **more}}


PLACES: dict[str, dict[str, str]] = {
    "azure": {"endpoint": "mine"},
    "cloudflare": {"account": "mine"},
    "dashscope": {"workspace": "mine", "region": "r"},
    "databricks": {"host": "mine"},
}


def built(name: str) -> Any:
    provider: Any = registry.provider_class(name)
    return provider(PLACES.get(name, {}), KEY)


def meaning(provider: Any, status: int, body: Any, **headers: str) -> e.ProviderError:
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with pytest.raises(e.ProviderError) as caught:
        provider.read(Answered(status, named, raw), Prepared("model-x", "/chat/completions", {}))
    return caught.value


ANTHROPIC: list[tuple[int, Any, type[e.ProviderError]]] = [
    (400, anthropic("invalid_request_error", "messages: at least one message"), e.CallRejected),
    (400, anthropic("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
     e.ContextTooLong),
    (400, anthropic("invalid_request_error",
                    "input length and `max_tokens` exceed context limit: 9 > 8"),
     e.ContextTooLong),
    (400, anthropic("invalid_request_error", "Your credit balance is too low to access the API"),
     e.NoCredit),
    (400, anthropic("invalid_request_error",
                    "messages.0.content.0.image: image dimensions 9000x9000 exceed 2576"),
     e.CallRejected),
    (400, anthropic("invalid_request_error", "You have reached your specified API usage limits."
                    " You will regain access on 2026-04-01 at 00:00 UTC."), e.QuotaExhausted),
    (400, anthropic("invalid_request_error", "This organization has been disabled."),
     e.AccessDenied),
    (400, anthropic("invalid_request_error", "no", details={"error_code": "organization_on_hold"}),
     e.AccessDenied),
    (401, anthropic("authentication_error", "invalid bearer token"), e.BadKey),
    (402, anthropic("billing_error", "pay"), e.NoCredit),
    (403, anthropic("permission_error", "no"), e.AccessDenied),
    (404, anthropic("not_found_error", "model: claude-nope"), e.NoSuchModel),
    (404, anthropic("not_found_error", "Not found"), e.RunFatal),
    (413, anthropic("request_too_large", "too large"), e.CallRejected),
    (429, anthropic("rate_limit_error", "slow down"), e.RateLimited),
    (429, anthropic("rate_limit_error", "monthly usage threshold",
                    details={"error_code": "enforced_spend_limit_reached"}), e.QuotaExhausted),
    (500, anthropic("api_error", "oops"), e.ServerFault),
    (504, anthropic("timeout_error", "late"), e.ServerFault),
    (529, anthropic("overloaded_error", "full"), e.Overloaded),
    (529, b"", e.Overloaded),
    # Some gateways give every error one status, and keep its type.
    (500, anthropic("overloaded_error", "full"), e.Overloaded),
    (500, anthropic("authentication_error", "no"), e.BadKey),
    (500, anthropic("billing_error", "pay"), e.NoCredit),
    (500, anthropic("permission_error", "no"), e.AccessDenied),
    (502, PAGE, e.ServerFault),
    (404, PAGE, e.RunFatal),
    (302, b"", e.RunFatal),
    (405, b"", e.RunFatal),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "kind"), ANTHROPIC)
def test_anthropic(status: int, body: Any, kind: type[e.ProviderError]) -> None:
    assert type(meaning(Anthropic({}, KEY), status, body)) is kind


OPENAI: list[tuple[int, Any, type[e.ProviderError]]] = [
    (400, chat("bad", param="messages"), e.CallRejected),
    (400, chat("maximum context length is 8", code="context_length_exceeded"), e.ContextTooLong),
    (400, chat("does not exist", code="model_not_found", param="model"), e.NoSuchModel),
    (400, chat("unsupported image", code="invalid_image_format"), e.CallRejected),
    (401, chat("Incorrect API key provided", code="invalid_api_key"), e.BadKey),
    (401, chat("You didn't provide an API key."), e.BadKey),
    (403, chat("insufficient permissions"), e.AccessDenied),
    (404, chat("The model `x` does not exist", code="model_not_found"), e.NoSuchModel),
    (404, chat("Invalid URL (POST /v1/nope)"), e.RunFatal),
    (409, chat("lock"), e.ServerFault),
    (422, chat("bad"), e.CallRejected),
    (429, chat("Rate limit reached", "requests", code="rate_limit_exceeded"), e.RateLimited),
    (429, chat("exceeded your current quota", "insufficient_quota", code="insufficient_quota"),
     e.NoCredit),
    (429, chat("Rate limit reached on requests per day (RPD): Limit 200"), e.QuotaExhausted),
    (429, chat("Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 30601",
               "tokens", code="rate_limit_exceeded"), e.CallRejected),
    (500, chat("oops", "server_error"), e.ServerFault),
    (503, chat("overloaded"), e.Overloaded),
    (200, PAGE, e.RunFatal),
    (403, PAGE, e.RunFatal),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "kind"), OPENAI)
def test_openai(status: int, body: Any, kind: type[e.ProviderError]) -> None:
    assert type(meaning(OpenAI({}, KEY), status, body)) is kind


def minimax(code: int, message: str) -> dict[str, Any]:
    """An error of MiniMax, whose HTTP status is 200."""
    return {"id": "1", "choices": None, "base_resp": {"status_code": code, "status_msg": message}}


ELSEWHERE: list[tuple[str, int, Any, type[e.ProviderError]]] = [
    ("groq", 400, chat("Organization has been restricted", code="organization_restricted"),
     e.NoCredit),
    ("groq", 400, chat("The model `x` has been decommissioned", code="model_decommissioned"),
     e.NoSuchModel),
    ("groq", 429, chat("on tokens per day (TPD): Limit 100000. Please try again in 2m"),
     e.QuotaExhausted),
    ("groq", 413, chat("Request too large for model `x` on tokens per minute (TPM)"),
     e.CallRejected),
    ("openrouter", 402, {"error": {"message": "Insufficient credits", "code": 402}}, e.NoCredit),
    ("openrouter", 400, {"error": {"message": "x is not a valid model ID", "code": 400}},
     e.NoSuchModel),
    ("openrouter", 404, {"error": {"message": "No endpoints found that can handle the requested "
                                   "parameters.", "code": 404}}, e.AccessDenied),
    ("openrouter", 404, {"error": {"message": "No endpoints found for a/b.", "code": 404}},
     e.NoSuchModel),
    ("vllm", 401, {"error": "Unauthorized"}, e.BadKey),
    ("vllm", 404, {"detail": "Not Found"}, e.RunFatal),
    ("vllm", 404, chat("The model `x` does not exist.", "NotFoundError", code=404),
     e.NoSuchModel),
    ("ollama", 404, chat("model 'x' not found"), e.NoSuchModel),
    ("ollama", 503, chat("server busy"), e.Overloaded),
    ("lmstudio", 404, {"error": 'Model "x" not found.'}, e.NoSuchModel),
    ("llamacpp", 400, chat("the request exceeds", "exceed_context_size_error", code=400),
     e.ContextTooLong),
    ("llamacpp", 503, chat("Loading model", "unavailable_error", code=503), e.Overloaded),
    ("deepseek", 402, chat("Insufficient Balance", "unknown_error"), e.NoCredit),
    ("deepseek", 400, chat("Model Not Exist"), e.NoSuchModel),
    ("mistral", 401, {"detail": "Unauthorized"}, e.BadKey),
    ("mistral", 400, {"object": "error", "message": "Invalid model: x", "code": "1500"},
     e.NoSuchModel),
    ("mistral", 400, {"message": "Prompt contains 9 tokens, too large for model with 8 maximum "
                      "context length", "code": "3051"}, e.ContextTooLong),
    ("mistral", 429, {"object": "error", "message": "Rate limit exceeded"}, e.RateLimited),
    ("xai", 400, {"code": "Client specified an invalid argument",
                  "error": "Incorrect API key provided: xa***45."}, e.BadKey),
    ("xai", 403, {"code": "no", "error": "Your team has used all available credits"}, e.NoCredit),
    ("xai", 403, {"code": "no", "error": "Your API key is not allowed to use this"},
     e.AccessDenied),
    ("xai", 400, {"code": "no", "error": "maximum prompt length is 8 but the request has 9"},
     e.ContextTooLong),
    ("fireworks", 412, chat("Account x is suspended, possibly due to failure to pay past invoices"),
     e.NoCredit),
    ("fireworks", 404, chat("Model not found, inaccessible, and/or not deployed"), e.NoSuchModel),
    ("azure", 404, chat("The API deployment for this resource does not exist.",
                        code="DeploymentNotFound"), e.NoSuchModel),
    ("azure", 404, chat("Resource not found", code="404"), e.RunFatal),
    ("azure", 404, chat("It is not there.", code="ModelNotFound"), e.NoSuchModel),
    ("cloudflare", 404, {"success": False, "errors": [{"message": "The model name is invalid",
                                                       "code": 3042}]}, e.NoSuchModel),
    ("cloudflare", 429, {"success": False, "errors": [{
        "message": "you have used up your daily free allocation of 10,000 neurons", "code": 3036,
    }]}, e.QuotaExhausted),
    ("cloudflare", 429, {"success": False, "errors": [{"message": "Capacity temporarily exceeded",
                                                       "code": 3040}]}, e.RateLimited),
    ("cohere", 429, {"message": "You are using a Trial key, which is limited to 1000 API calls / "
                     "month."}, e.QuotaExhausted),
    ("xai", 403, {"code": "no", "error": "Your newly created team doesn't have any credits yet."},
     e.NoCredit),
    ("moonshot", 403, chat("Your account is not active, organization exceeded current quota",
                           "exceeded_current_quota_error"), e.NoCredit),
    ("moonshot", 400, chat("Your request exceeded model token limit: 8192"), e.ContextTooLong),
    ("dashscope", 400, chat("Access denied, please make sure your account is in good standing.",
                            "Arrearage", code="Arrearage"), e.NoCredit),
    ("dashscope", 403, chat("The free tier of the model has been exhausted.",
                            code="AllocationQuota.FreeTierOnly"), e.NoCredit),
    ("dashscope", 400, chat("Range of input length should be [1, 30720]"), e.ContextTooLong),
    ("databricks", 404, {"error_code": "RESOURCE_DOES_NOT_EXIST",
                         "message": "Endpoint with name 'x' does not exist."}, e.NoSuchModel),
    ("databricks", 499, {"error_code": "CANCELLED", "message": ""}, e.ServerFault),
    ("zai", 400, chat("Prompt exceeds max length", code="1261"), e.ContextTooLong),
    ("groq", 498, chat("Flex tier capacity exceeded", code="capacity_exceeded"), e.Overloaded),
    ("tgi", 424, {"error": "Request failed during generation", "error_type": "generation"},
     e.ServerFault),
    ("hf-inference", 400, chat("The requested model 'x' is not supported by any provider you have "
                               "enabled.", code="model_not_supported"), e.NoSuchModel),
    ("nvidia", 404, {"status": 404, "title": "Not Found",
                     "detail": "Function 'abc': Not found for account 'x'"}, e.NoSuchModel),
    ("litellm", 400, chat("Budget has been exceeded! Current cost: 10.1, Max budget: 10.0",
                          "budget_exceeded"), e.NoCredit),
    ("vllm", 400, chat("The decoder prompt (length 5000) is longer than the maximum model length "
                       "of 4096."), e.ContextTooLong),
    ("minimax", 200, minimax(1008, "insufficient balance"), e.NoCredit),
    ("minimax", 200, minimax(1002, "rate limit"), e.RateLimited),
    ("minimax", 200, minimax(1004, "login fail: Please carry the API secret key"), e.BadKey),
    ("minimax", 200, minimax(1033, "system error"), e.ServerFault),
]  # fmt: skip


@pytest.mark.parametrize(("name", "status", "body", "kind"), ELSEWHERE)
def test_compatible(name: str, status: int, body: Any, kind: type[e.ProviderError]) -> None:
    provider = built(name)
    assert type(meaning(provider, status, body)) is kind


def test_a_daily_limit_in_groqs_headers() -> None:
    groq = built("groq")
    body = chat("Rate limit reached", code="rate_limit_exceeded")
    used_up = meaning(groq, 429, body, x_ratelimit_remaining_requests="0")
    busy = meaning(groq, 429, body, x_ratelimit_remaining_requests="5")
    assert (type(used_up), type(busy)) == (e.QuotaExhausted, e.RateLimited)


@pytest.mark.parametrize("code", ["content_filter", "content_policy_violation", "invalid_prompt"])
def test_a_filtered_prompt_is_an_outcome(code: str) -> None:
    answered = Answered(400, {}, orjson.dumps(chat("flagged", code=code)))
    reply = OpenAI({}, KEY).read(answered, Prepared("m", "/chat/completions", {}))
    assert (reply.outcome, reply.stop_reason) == (Outcome.FILTERED, code)


@pytest.mark.parametrize(
    ("name", "status", "body"),
    [
        ("deepseek", 400, chat("Content Exists Risk")),
        ("dashscope", 400, chat("Input data may contain inappropriate content.",
                                code="data_inspection_failed")),
        ("minimax", 200, minimax(1026, "input new_sensitive")),
        ("minimax", 422, chat("input new_sensitive (1026)", "bad_request_error")),
        ("portkey", 446, chat("The guardrail checks failed.", "hooks_failed")),
        ("zai", 400, chat("System detected potentially unsafe or sensitive content in input",
                          code="1301")),
    ],
)  # fmt: skip
def test_filters_with_words_of_their_own(name: str, status: int, body: Any) -> None:
    answered = Answered(status, {}, orjson.dumps(body))
    reply = built(name).read(answered, Prepared("m", "/chat/completions", {}))
    assert reply.outcome is Outcome.FILTERED


def test_a_request_over_the_limit_by_itself_says_what_to_do() -> None:
    """No wait would help, whichever status a provider gives it."""
    body = chat("Request too large for model `x` on tokens per minute (TPM): Limit 6000")
    for provider, status in ((OpenAI({}, KEY), 429), (built("groq"), 413)):
        error = meaning(provider, status, body)
        assert "tokens per minute" in error.what
        assert "--max-tokens" in error.hint


def test_a_model_of_the_other_endpoint_exists() -> None:
    body = chat(
        "This model is only supported in v1/responses and not in v1/chat/completions.",
        param="model",
    )
    error = meaning(OpenAI({}, KEY), 404, body)
    assert error.what == "OpenAI serves 'model-x' at its Responses endpoint only"
    assert "--api responses" in error.hint


def test_a_page_at_the_providers_own_address_is_not_blamed_on_the_key() -> None:
    """A firewall sends these, also in the middle of a run: then it passes."""
    provider = OpenAI({}, KEY)
    error = meaning(provider, 403, PAGE)
    assert error.what == "https://api.openai.com/v1 answered 403 with a web page"
    assert "in between" in error.hint
    provider.spoke = True
    assert type(provider.if_it_spoke(error)) is e.ServerFault


def test_azure_speaks_of_deployments() -> None:
    body = chat("The API deployment for this resource does not exist.", code="DeploymentNotFound")
    error = meaning(built("azure"), 404, body)
    assert error.what == "this Azure OpenAI resource has no deployment 'model-x'"
    assert "deployment" in error.hint


def test_only_a_lack_of_parameters_is_blamed_on_parameters() -> None:
    router = built("openrouter")
    lacking = "No endpoints found that can handle the requested parameters."
    private = "No endpoints found matching your data policy. Configure: https://openrouter.ai/x"
    error = meaning(router, 404, {"error": {"message": lacking, "code": 404}})
    assert "--require-parameters no" in error.hint
    error = meaning(router, 404, {"error": {"message": private, "code": 404}})
    assert (type(error), error.hint) == (e.AccessDenied, "")
    assert "parameters" not in error.what
    assert error.why == private


def test_moderation_by_a_router_is_an_outcome() -> None:
    error = {"code": 403, "message": "flagged", "metadata": {"reasons": ["violence"]}}
    router = built("openrouter")
    answered = Answered(403, {}, orjson.dumps({"error": error}))
    assert router.read(answered, Prepared("m", "/x", {})).outcome is Outcome.FILTERED


def test_everything_said_comes_along() -> None:
    error = meaning(
        Anthropic({}, KEY), 429, anthropic("rate_limit_error", f"slow down {KEY}"),
        retry_after="7", request_id="req_9", anthropic_ratelimit_requests_remaining="0",
    )  # fmt: skip
    assert (error.status, error.retry_after, error.request_id) == (429, 7, "req_9")
    assert not error.possibly_billed
    assert error.limits is not None
    assert KEY not in f"{error}{error.body}{error!r}"
    assert "slow down" in error.why


BILLED = (408, 424, 499, 500, 502, 504, 520, 522, 524)
NOT_BILLED = (
    400,
    401,
    402,
    403,
    404,
    409,
    413,
    422,
    425,
    429,
    498,
    501,
    503,
    521,
    523,
    525,
    526,
    529,
)


@pytest.mark.parametrize(
    ("status", "billed"),
    [(status, status in BILLED) for status in (*BILLED, *NOT_BILLED)],
)
def test_work_that_may_have_been_begun_may_be_charged(status: int, billed: bool) -> None:
    assert meaning(OpenAI({}, KEY), status, chat("x")).possibly_billed is billed


def test_a_bad_key_says_what_to_do() -> None:
    error = meaning(OpenAI({}, KEY), 401, chat("no"))
    assert "OpenAI does not accept the key" in str(error)
    assert "https://platform.openai.com/api-keys" in error.hint
    assert "evalbench keys set openai" in error.hint


def test_param_names_the_field_at_fault() -> None:
    assert meaning(OpenAI({}, KEY), 400, chat("bad", param="messages")).param == "messages"


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "why"}},
        {"error": "why"},
        {"message": "why"},
        {"detail": "why"},
        {"detail": [{"loc": ["body"], "msg": "why"}]},
        {"message": {"detail": [{"loc": ["body"], "msg": "why"}]}},
        [{"error": {"message": "why"}}],
    ],
)
def test_errors_are_found_in_whatever_they_are_wrapped(body: Any) -> None:
    found = error_object(body)
    assert found
    assert found["message"] == "why"


@pytest.mark.parametrize("body", [None, [], "x", 1, {}, {"choices": [], "message": "no"}])
def test_no_error_is_found_where_there_is_none(body: Any) -> None:
    assert error_object(body) is None


def test_a_field_named_by_its_place() -> None:
    body = {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}
    found = error_object(body)
    assert found
    assert (found["message"], found["param"]) == ("seed: Extra inputs are not permitted", "seed")
