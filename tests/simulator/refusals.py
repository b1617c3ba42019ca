"""How each API words its refusals.

A situation maps to a status and a body in which ``{names}`` are filled in. The
situations: ``missing`` and ``wrong`` key, ``noaccess``, ``nocredit``, unknown
``model``, ``unrouted`` parameters, ``overflow`` of the context, ``limit``,
``unknown`` or ``refused`` field, wrong ``role``, ``bad`` request otherwise, and
``failure`` for scripted statuses. What an API has no row for among the first four,
it does not mind; ``nocredit`` stands for the two other ways to have no money, too.
"""

from __future__ import annotations

import re
from typing import Any

from tests.simulator import anthropic_checks, bedrock_checks, google_errors, openai_errors
from tests.simulator.accounts import MONEY
from tests.simulator.exchange import Answer, Exchange, Refused
from tests.simulator.together_errors import SETTINGS
from tests.simulator.together_errors import error as together
from tests.simulator.world import World

Wording = dict[str, tuple[int, Any]]


def _error(text: str, kind: str = "invalid_request_error", **more: Any) -> dict[str, Any]:
    return {"error": {"message": text, "type": kind, **more}}


_FULL = (
    "This model's maximum context length is {most} tokens. However, you requested {asked} tokens "
    "({tokens} in the messages, {cap} in the completion). Please reduce the length of the "
    "messages or completion."
)
_NO_MODEL = "The model `{model}` does not exist or you do not have access to it."

WORDINGS: dict[str, Wording] = {
    "custom": {
        "wrong": (401, _error("Incorrect API key provided.", code="invalid_api_key")),
        "model": (404, _error(_NO_MODEL, code="model_not_found", param=None)),
        "overflow": (
            400, _error(_FULL, code="context_length_exceeded", param="messages")
        ),
        "limit": (429, _error("Rate limit reached.", "{unit}", code="rate_limit_exceeded")),
        "unknown": (
            400, _error("Unrecognized request argument supplied: {field}", code=None)
        ),
        "bad": (400, _error("{message}", param="{param}", code="{code}")),
        "failure": (0, _error("{message}", "server_error", param=None, code=None)),
    },
    "groq": {
        "missing": (401, _error("Invalid API Key", code="invalid_api_key")),
        "wrong": (401, _error("Invalid API Key", code="invalid_api_key")),
        "noaccess": (403, _error("The model `{model}` is blocked at the project level.",
                                 "permissions_error",
                                 code="model_permission_blocked_project")),
        "nocredit": (400, _error("Organization has been restricted: no active payment method.",
                                 code="organization_restricted")),
        "model": (404, _error(_NO_MODEL, code="model_not_found")),
        "overflow": (400, _error("Please reduce the length of the messages or completion.",
                                 param="messages", code="context_length_exceeded")),
        "limit": (
            429,
            _error(
                "Rate limit reached for model `{model}` in organization `org_simulated` service "
                "tier `on_demand` on {unit} per {window}: Limit {limit}, Used {used}, Requested "
                "{requested}. Please try again in {wait}.",
                "{unit}",
                code="rate_limit_exceeded",
            ),
        ),
        "unknown": (400, _error("property '{field}' is unsupported")),
        "refused": (400, _error("`{field}` is not supported with this model")),
        "bad": (400, _error("{message}")),
        "failure": (0, _error("{message}", "internal_server_error")),
    },
    "openrouter": {
        "missing": (401, {"error": {"message": "No auth credentials found", "code": 401}}),
        "wrong": (401, {"error": {"message": "User not found.", "code": 401}}),
        "noaccess": (
            403,
            {"error": {"message": "Key limit exceeded (total limit).", "code": 403}},
        ),
        "nocredit": (
            402,
            {
                "error": {
                    "message": "Insufficient credits. Add more using "
                    "https://openrouter.ai/settings/credits",
                    "code": 402,
                }
            },
        ),
        "model": (
            400,
            {
                "error": {"message": "{model} is not a valid model ID", "code": 400},
                "user_id": "user_simulated",
            },
        ),
        "unrouted": (
            404,
            {
                "error": {
                    "message": "No endpoints found that can handle the requested parameters. To "
                    "learn more about provider routing, visit: "
                    "https://openrouter.ai/docs/provider-routing",
                    "code": 404,
                }
            },
        ),
        "overflow": (
            400,
            {
                "error": {
                    "message": "This endpoint's maximum context length is {most} tokens. "
                    "However, you requested about {asked} tokens ({tokens} of text input, {cap} "
                    "in the output).",
                    "code": 400,
                    "metadata": {"provider_name": None},
                }
            },
        ),
        "limit": (
            429,
            {
                "error": {
                    "message": "Provider returned error",
                    "code": 429,
                    "metadata": {
                        "raw": "{model} is temporarily rate-limited upstream. Please retry "
                        "shortly.",
                        "provider_name": "Simulated",
                    },
                },
                "user_id": "user_simulated",
            },
        ),
        "bad": (400, {"error": {"message": "{message}", "code": 400}}),
        "failure": (0, {"error": {"message": "{message}", "code": "{status}"}}),
    },
    "vllm": {
        "wrong": (401, {"error": "Unauthorized"}),
        "model": (
            404,
            _error("The model `{model}` does not exist.", "NotFoundError", param="model",
                   code=404),
        ),
        "overflow": (400, _error(_FULL, "BadRequestError", param="input_tokens", code=400)),
        "limit": (429, _error("Too many requests.", "TooManyRequests", param=None, code=429)),
        "bad": (400, _error("{message}", "BadRequestError", param="{param}", code=400)),
        "failure": (0, _error("{message}", "InternalServerError", param=None,
                              code="{status}")),
    },
    "ollama": {
        "wrong": (401, _error("unauthorized", "authentication_error", param=None, code=None)),
        "model": (
            404,
            _error("model '{model}' not found", "not_found_error", param=None, code=None),
        ),
        "limit": (
            503,
            _error(
                "server busy, please try again.  maximum pending requests exceeded",
                "api_error",
                param=None,
                code=None,
            ),
        ),
        "bad": (400, _error("{message}", param=None, code=None)),
        "failure": (0, _error("{message}", "api_error", param=None, code=None)),
    },
    "lmstudio": {
        "wrong": (401, {"error": "Unauthorized"}),
        "model": (404, {"error": "Model \"{model}\" not found."}),
        "overflow": (
            200,
            {
                "error": "Trying to keep the first {tokens} tokens when context the overflows. "
                "However, the model is loaded with context length of only {most} tokens, which "
                "is not enough. Try to load the model with a larger context length, or provide "
                "a shorter input"
            },
        ),
        "limit": (503, {"error": "The server is busy."}),
        "bad": (400, {"error": "{message}"}),
        "failure": (0, {"error": "{message}"}),
    },
    "llamacpp": {
        "wrong": (401, _error("Invalid API Key", "authentication_error", code=401)),
        "overflow": (
            400,
            _error(
                "the request exceeds the available context size, try increasing it",
                "exceed_context_size_error",
                code=400,
                n_prompt_tokens="{tokens}",
                n_ctx="{most}",
            ),
        ),
        "limit": (503, _error("Loading model", "unavailable_error", code=503)),
        "bad": (400, _error("{message}", code=400)),
        "failure": (0, _error("{message}", "server_error", code="{status}")),
    },
    "deepseek": {
        "missing": (
            401,
            _error("Authentication Fails (governor)", "authentication_error", param=None,
                   code="invalid_request_error"),
        ),
        "wrong": (
            401,
            _error("Authentication Fails, Your api key: ****{tail} is invalid",
                   "authentication_error", param=None, code="invalid_request_error"),
        ),
        "noaccess": (403, _error("You have insufficient permissions.", param=None, code=None)),
        "nocredit": (
            402,
            _error("Insufficient Balance", "unknown_error", param=None,
                   code="invalid_request_error"),
        ),
        "model": (
            400,
            _error("Model Not Exist", param=None, code="invalid_request_error"),
        ),
        "overflow": (
            400, _error(_FULL, param=None, code="invalid_request_error")
        ),
        "limit": (
            429,
            _error("Rate limit reached for requests", "rate_limit_error", param=None,
                   code="invalid_request_error"),
        ),
        "role": (
            422,
            _error(
                "Failed to deserialize the JSON body into the target type: {param}: unknown "
                "variant `{given}`, expected one of `system`, `user`, `assistant`, `tool`",
                param=None,
                code="invalid_request_error",
            ),
        ),
        "refused": (
            400,
            _error("{model} does not support the parameter `{field}`", param=None,
                   code="invalid_request_error"),
        ),
        "bad": (400, _error("{message}", param=None, code="invalid_request_error")),
        "failure": (0, _error("{message}", "server_error", param=None,
                              code="server_error")),
    },
    "mistral": {
        "missing": (401, {"detail": "Unauthorized"}),
        "wrong": (401, {"detail": "Unauthorized"}),
        "noaccess": (403, {"detail": "Forbidden"}),
        "nocredit": (402, {"detail": "Payment required: please check your billing."}),
        "model": (
            400,
            {"object": "error", "message": "Invalid model: {model}", "type": "invalid_model",
             "param": None, "code": "1500", "raw_status_code": 400},
        ),
        "overflow": (
            400,
            {"object": "error", "message": "Prompt contains {tokens} tokens and 0 draft tokens, "
             "too large for model with {most} maximum context length",
             "type": "invalid_request_prompt", "param": None, "code": "3051",
             "raw_status_code": 400},
        ),
        "limit": (
            429,
            {"object": "error", "message": "Rate limit exceeded", "type": "rate_limited",
             "param": None, "code": "1300", "raw_status_code": 429},
        ),
        "unknown": (
            422,
            {
                "object": "error",
                "message": {
                    "detail": [
                        {"type": "extra_forbidden", "loc": ["body", "{field}"],
                         "msg": "Extra inputs are not permitted", "input": "{given}"}
                    ]
                },
                "type": "invalid_request_error",
                "param": None,
                "code": None,
                "raw_status_code": 422,
            },
        ),
        "bad": (
            400,
            {"object": "error", "message": "{message}", "type": "invalid_request_error",
             "param": None, "code": "3000", "raw_status_code": 400},
        ),
        "failure": (
            0,
            {"object": "error", "message": "{message}", "type": "internal_server_error",
             "param": None, "code": "1000", "raw_status_code": "{status}"},
        ),
    },
    "xai": {
        "missing": (
            401,
            {"code": "Unauthenticated", "error": "No API key provided."},
        ),
        "wrong": (
            400,
            {
                "code": "Client specified an invalid argument",
                "error": "Incorrect API key provided: {masked}. You can obtain an API key from "
                "https://console.x.ai.",
            },
        ),
        "noaccess": (
            403,
            {
                "code": "The caller does not have permission to execute the specified operation",
                "error": "Your API key is not allowed to use this model.",
            },
        ),
        "nocredit": (
            403,
            {
                "code": "The caller does not have permission to execute the specified operation",
                "error": "Your team has used all available credits or reached its monthly "
                "spending limit.",
            },
        ),
        "model": (
            404,
            {
                "code": "Some requested entity was not found",
                "error": "The model {model} does not exist or your team does not have access to "
                "it.",
            },
        ),
        "overflow": (
            400,
            {
                "code": "Client specified an invalid argument",
                "error": "This model's maximum prompt length is {most} but the request contains "
                "{tokens} tokens.",
            },
        ),
        "limit": (
            429,
            {
                "code": "Some resource has been exhausted",
                "error": "Too many requests for team: limit {limit} {unit} per minute.",
            },
        ),
        "refused": (
            400,
            {
                "code": "Client specified an invalid argument",
                "error": "Model {model} does not support parameter {field}.",
            },
        ),
        "bad": (
            400, {"code": "Client specified an invalid argument", "error": "{message}"}
        ),
        "failure": (0, {"code": "Internal error", "error": "{message}"}),
    },
    "fireworks": {
        "missing": (401, _error("The API key you provided is invalid.", "error",
                                code="UNAUTHORIZED")),
        "wrong": (401, _error("The API key you provided is invalid.", "error",
                              code="UNAUTHORIZED")),
        "noaccess": (403, _error("Forbidden", "error", code="FORBIDDEN")),
        "nocredit": (
            412,
            _error(
                "Account simulated is suspended, possibly due to reaching the monthly spending "
                "limit or failure to pay past invoices.",
                "error",
                code="PRECONDITION_FAILED",
            ),
        ),
        "model": (
            404,
            _error("Model not found, inaccessible, and/or not deployed", "error",
                   param="model", code="NOT_FOUND"),
        ),
        "overflow": (
            400,
            _error("The prompt is too long: {tokens}, model maximum context length: {most}",
                   object="error"),
        ),
        "limit": (
            429,
            _error("Request rate limit exceeded.", "error", code="RATE_LIMIT_EXCEEDED"),
        ),
        "unknown": (
            400,
            _error("Extra inputs are not permitted, field: '{field}', value: '{given}'",
                   object="error"),
        ),
        "bad": (400, _error("{message}", object="error")),
        "failure": (0, _error("{message}", "internal_server_error", object="error")),
    },
}  # fmt: skip


_QUOTA = (
    "You exceeded your current quota, please check your plan and billing details.",
    "insufficient_quota",
)
_BILLING = (
    "Model access is denied due to INVALID_PAYMENT_INSTRUMENT:A valid payment instrument must be "
    "provided. Your AWS Marketplace subscription for this model cannot be completed at this time."
)

KEYS: dict[str, dict[str, Answer]] = {
    "anthropic": {
        "missing": anthropic_checks.error(
            401, "authentication_error", "authentication is required"
        ),
        "wrong": anthropic_checks.error(401, "authentication_error", "invalid bearer token"),
        "noaccess": anthropic_checks.error(
            403,
            "permission_error",
            "Your API key does not have permission to use the specified resource.",
        ),
        "nocredit": anthropic_checks.error(
            400,
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API. "
            "Please go to Plans & Billing to upgrade or purchase credits.",
        ),
        "nobilling": anthropic_checks.error(
            402, "billing_error", "There is a problem with your billing information."
        ),
        "spent": anthropic_checks.error(
            429,
            "rate_limit_error",
            "You have reached the monthly usage threshold of your API tier.",
            {"error_code": "enforced_spend_limit_reached"},
        ),
    },
    "openai": {
        "missing": openai_errors.error(
            401,
            "You didn't provide an API key. You need to provide your API key in an "
            "Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
        ),
        "wrong": openai_errors.error(
            401,
            "Incorrect API key provided: {masked}. You can find your API key at "
            "https://platform.openai.com/account/api-keys.",
            code="invalid_api_key",
        ),
        "noaccess": openai_errors.of_status(403),
        "nocredit": openai_errors.error(429, *_QUOTA, code="insufficient_quota"),
    },
    "together": {
        "missing": together(
            401,
            f"Missing API key. You can find your API key at {SETTINGS}/api-keys.",
            "invalid_request_error",
            code="missing_api_key",
        ),
        "wrong": together(
            401,
            f"Invalid API key provided. You can find your API key at {SETTINGS}/api-keys.",
            "invalid_request_error",
            code="invalid_api_key",
        ),
        "noaccess": together(403, "This API key may not use the model.", "permission_error"),
        "nocredit": together(
            402,
            f"Credit limit exceeded, please navigate to {SETTINGS}/billing to add credit or "
            "upgrade your plan.",
            "credit_limit",
        ),
    },
    "google": {
        "missing": google_errors.error(
            403,
            "Method doesn't allow unregistered callers (callers without established identity). "
            "Please use API Key or other form of API consumer identity to call this API.",
        ),
        "wrong": google_errors.error(
            400,
            "API key not valid. Please pass a valid API key.",
            google_errors.info("API_KEY_INVALID"),
        ),
        "noaccess": google_errors.wrong_project(),
        "nocredit": google_errors.error(
            429,
            "Your prepayment credits are depleted. Please go to AI Studio at "
            "https://ai.studio/projects to manage your project and billing.",
        ),
        "nobilling": google_errors.error(
            400,
            "Gemini API free tier is not available in your country. Please enable billing on "
            "your project in Google AI Studio.",
            name="FAILED_PRECONDITION",
        ),
        "spent": google_errors.quota("GenerateRequestsPerDayPerProjectPerModel", "250", 3600.0),
    },
    "bedrock": {
        "noaccess": bedrock_checks.error(403),
        "nocredit": bedrock_checks.error(403, _BILLING),
        "spent": bedrock_checks.error(429, "Too many tokens per day, " + bedrock_checks.WAIT),
    },
}
"""The same of keys alone, for vendors whose other refusals are said where they are found."""

_FREE = {"together": MONEY | {"noaccess"}}
"""States of keys that do not matter where no model is asked, if others than lack of money."""


def admit(
    world: World, api: str, exchange: Exchange, *, asks: bool = False, model: str = ""
) -> None:
    """Refuse a key that may not do this; ``asks``: have a model answer, which takes money."""
    key = exchange.key
    state: str = world.accounts.state(key)
    if state in _FREE.get(api, MONEY) and not asks:
        return
    known = KEYS.get(api) or WORDINGS[api]
    if state not in known and state in MONEY:
        state = "nocredit"
    if state in known:
        raise Refused(word(api, state, model=model, tail=key[-4:], masked=masked(key)))


def masked(key: str) -> str:
    """A key as error messages show it."""
    return f"{key[:8]}{'*' * max(0, len(key) - 12)}{key[-4:]}"


def word(api: str, situation: str, status: int = 0, **values: Any) -> Answer:
    """The API's answer to a situation; what it has no words for, it says in OpenAI's."""
    if api in KEYS:
        told = KEYS[api][situation]
        return Answer(_filled(told.body, values), told.status, dict(told.headers))
    wording = WORDINGS[api]
    plain = wording.get(situation) or WORDINGS["custom"].get(situation) or wording["bad"]
    usual, body = plain
    known = {"message": "", "param": None, "code": None, "status": status or usual, **values}
    return Answer(_filled(body, known), status or usual)


_NAME = re.compile(r"\{(\w+)\}")


def _filled(template: Any, values: dict[str, Any]) -> Any:
    if isinstance(template, dict):
        return {name: _filled(value, values) for name, value in template.items()}
    if isinstance(template, list):
        return [_filled(value, values) for value in template]
    if not isinstance(template, str):
        return template
    whole = _NAME.fullmatch(template)
    if whole:
        return values.get(whole[1], template)
    return _NAME.sub(lambda name: str(values.get(name[1], name[0])), template)
