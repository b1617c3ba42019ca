"""Log-likelihoods of given texts, from a server that reports prompt log-probabilities (vLLM).

The server's own tokenizer encodes the context alone, and the context with each continuation; the
tokens after the context belong to the continuation, as evaluation harnesses have always counted.
A text without a context follows the token that begins texts, or else the one that ends them; if it
is longer than the model's context, it is scored in windows, as lm-evaluation-harness does with
vLLM. One completion request scores all continuations: the prompt is echoed with the log-probability
of each of its tokens, and of the likeliest one in its place. Where each continuation is one token,
as letters are, the context alone is sent and the log-probabilities of these tokens after it are
asked for: vLLM computes it once, and reads what it has in common with others from its prefix cache,
which it cannot do for prompts that are echoed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalbench.engine.calls import Call, MediaPart, Reply
from evalbench.engine.errors import CallRejected
from evalbench.providers.chat.reply import read_usage
from evalbench.providers.compatible.prepare import TEXT
from evalbench.providers.wire.exchange import Arrival, Prepared
from evalbench.providers.wire.lenient import as_list, as_text

_MOST_NEXT = 128
_PLACEHOLDER = "token_id:{}"


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts to tokenize for one call: the context, alone and with each continuation."""

    context: str
    wholes: tuple[str, ...]


def texts_of(call: Call) -> Texts:
    """The texts of a ``choose`` call; the context's trailing white space goes to the continuations.

    Raises:
        CallRejected: the call has turns or images.
    """
    messages = call.prompt.messages
    raw = len(messages) == 1 and messages[0].role == "context"
    if not raw or any(isinstance(part, MediaPart) for part in messages[0].parts):
        raise CallRejected("only continuations of one raw text can be scored here")
    text = messages[0].text
    context = text.rstrip()
    moved = text[len(context) :]
    return Texts(context, tuple(context + moved + end for end in call.prompt.continuations))


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens that the model reads at once, of which the last ``scored`` are scored."""

    tokens: Sequence[int]
    scored: int


Windows = Sequence[Window]
"""All of a continuation; their log-likelihoods add up to its own."""


def after_context(context: Sequence[int], wholes: Sequence[Sequence[int]]) -> list[Windows]:
    """Each continuation after its context.

    Args:
        context: tokens of the context alone.
        wholes: tokens of the context with each continuation.
    """
    return [[Window(whole, len(whole) - len(context))] for whole in wholes]


def after_nothing(start: int, text: Sequence[int], limit: int | None) -> Windows:
    """A text without a context, of which each window scores at most ``limit`` tokens.

    Each begins where the last ended; the last one has as many tokens before its own as fit.
    Source: ``get_rolling_token_windows`` of lm-evaluation-harness, with ``context_len=1``.

    Args:
        start: the token before the text, which the tokenizer may have put there already.
        text: the text's tokens.
        limit: None if there is none.
    """
    text = text[1:] if text[:1] == [start] else text
    limit = limit or len(text) or 1
    found = [Window([start, *text[:limit]], len(text[:limit]))]
    for begin in range(limit, len(text), limit):
        end = min(begin + limit, len(text))
        found.append(Window(text[end - limit - 1 : end], end - begin))
    return found


def scoring_request(model: str, continuations: Sequence[Windows]) -> Prepared:
    """The request that scores all continuations at once.

    Raises:
        CallRejected: a continuation has no tokens.
    """
    if not continuations:
        raise CallRejected("the call has no continuations to choose from")
    windows = [window for windows in continuations for window in windows]
    if any(window.scored < 1 for window in windows):
        raise CallRejected("a continuation adds no token to its context")
    body: dict[str, Any] = {
        "model": model,
        "prompt": [list(window.tokens) for window in windows],
        "max_tokens": 1,
        "temperature": 0,
        "logprobs": 1,
        "echo": True,
    }
    return Prepared(model, TEXT, body)


def next_tokens(context: Sequence[int], wholes: Sequence[Sequence[int]]) -> list[int]:
    """The token that each continuation adds to the context; empty if one adds more, or changes it.

    Also if they are more than vLLM takes.
    """
    if len(wholes) > _MOST_NEXT or any([*context, *whole[-1:]] != [*whole] for whole in wholes):
        return []
    return [whole[-1] for whole in wholes]


def next_token_request(model: str, context: Sequence[int], ends: Sequence[int]) -> Prepared:
    """The request for the log-probabilities of single tokens after a context; vLLM alone knows it.

    Args:
        model: the model's name.
        context: tokens of the context.
        ends: from :func:`next_tokens`.
    """
    wanted = list(dict.fromkeys(ends))
    body: dict[str, Any] = {
        "model": model,
        "prompt": list(context),
        "max_tokens": 1,
        "temperature": 0,
        "logprobs": len(wanted),
        "logprob_token_ids": wanted,
        "return_tokens_as_token_ids": True,
    }
    return Prepared(model, TEXT, body)


def lists_tokens(body: Mapping[str, Any], ends: Sequence[int]) -> bool:
    """Whether a response has what was asked for; older versions list the likeliest tokens."""
    try:
        listed = _listed(body)
    except (KeyError, IndexError, TypeError):
        return False
    return all(_PLACEHOLDER.format(end) in listed for end in ends)


def read_next_tokens(
    body: Mapping[str, Any], arrival: Arrival, ends: Sequence[int], texts: Sequence[str]
) -> Reply:
    """The same as :func:`read_scores`, from the response to :func:`next_token_request`.

    Args:
        body: the completion response.
        arrival: response metadata.
        ends: the continuations' tokens.
        texts: the continuations.

    Raises:
        KeyError, IndexError, TypeError: the response lacks requested data.
    """
    listed = _listed(body)
    scores = [listed[_PLACEHOLDER.format(end)] for end in ends]
    # At temperature 0 the token that the server chose is the likeliest, and it is listed too.
    kept = [
        {"tokens": [text], "logprobs": [score]} for text, score in zip(texts, scores, strict=True)
    ]
    greedy = [_likeliest(score, listed) for score in scores]
    return _reply(body, arrival, tuple(map(_likelihood, scores)), kept, {"greedy": greedy})


def _listed(body: Mapping[str, Any]) -> Mapping[str, object]:
    listed: Mapping[str, object] = body["choices"][0]["logprobs"]["top_logprobs"][0]
    return listed


def read_scores(
    body: Mapping[str, Any], arrival: Arrival, continuations: Sequence[Windows]
) -> Reply:
    """Summed natural-log likelihoods of the continuations, in the order asked.

    ``raw`` keeps only the continuations' tokens (the echo of a few-shot prompt, repeated per
    continuation, would be a hundred times the size of the answer) and whether each continuation is
    greedy: no other token is likelier in any place. A likelihood that JSON cannot
    express (minus infinity, for what a model considers impossible) arrives as null.

    Args:
        body: the completion response.
        arrival: response metadata.
        continuations: what :func:`scoring_request` was made of.

    Raises:
        KeyError, IndexError, TypeError, ValueError: the response lacks requested data.
    """
    choices = _in_order(body["choices"])
    if len(choices) != sum(map(len, continuations)):
        raise ValueError(f"{len(choices)} choices for {sum(map(len, continuations))} prompts")
    unread = iter(choices)
    sums = []
    kept = []
    greedy: list[bool] = []
    for windows in continuations:
        scores: list[object] = []
        tokens: list[object] = []
        tops: list[Any] = []
        for window, choice in zip(windows, unread, strict=False):
            end = len(window.tokens)
            own = slice(end - window.scored, end)
            values = choice["logprobs"]["token_logprobs"]
            if len(values) < end:
                raise IndexError(f"{len(values)} log-probabilities for {end} tokens")
            scores += values[own]
            tokens += as_list(choice["logprobs"].get("tokens"))[own]
            tops += as_list(choice["logprobs"].get("top_logprobs"))[own]
        sums.append(math.fsum(map(_likelihood, scores)))
        kept.append({"tokens": tokens, "logprobs": scores})
        if len(tops) == len(scores):
            greedy.append(all(map(_likeliest, scores, tops)))
    flags = {"greedy": greedy} if len(greedy) == len(sums) else {}
    return _reply(body, arrival, tuple(sums), kept, flags)


def _reply(
    body: Mapping[str, Any],
    arrival: Arrival,
    sums: tuple[float, ...],
    kept: Sequence[Mapping[str, Any]],
    flags: Mapping[str, Any],
) -> Reply:
    return Reply(
        stop_reason="scored",
        logprobs=sums,
        usage=read_usage(body.get("usage")),
        provider_model=as_text(body.get("model")),
        raw={"id": body.get("id"), "usage": body.get("usage"), "continuations": kept, **flags},
        request_id=arrival.request_id,
        limits=arrival.limits,
        latency_s=arrival.latency_s,
    )


def _in_order(choices: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Choices sorted by index, or in the received order if they have none."""
    numbers = [choice.get("index") for choice in choices]
    if set(numbers) != set(range(len(choices))):
        return choices
    return sorted(choices, key=lambda choice: choice["index"])


def _likeliest(score: object, top: Mapping[str, object] | None) -> bool:
    return _likelihood(score) >= max(map(_likelihood, (top or {}).values()), default=-math.inf)


def _likelihood(score: object) -> float:
    return score if isinstance(score, int | float) else -math.inf
