"""Log-likelihoods of given texts, from a server that echoes a prompt's log-probabilities."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from evalbench.engine import errors as e
from evalbench.engine.calls import Call, ModelRef, choose
from evalbench.providers.compatible.vllm import Vllm
from tests.contract.providers.conftest import Make
from tests.simulator.handle import Handle
from tests.unit.providers.calls import IMAGE, pick

START = 1
LIKELIEST = -0.3
LIKELY = {" A": -2.0, " B": -0.25, " C": -3.0, " D": -1.5}


class Server:
    """Cuts texts into words and echoes them, as vLLM does with its tokenizer."""

    def __init__(self) -> None:
        self.words = {"<s>": START}
        self.start = [START]
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.url = ""
        self.lists_tokens = True
        self.strict = False
        self.context: int | None = None
        self.ending: str | None = None

    def tokens(self, text: str) -> list[int]:
        pieces = text.replace(" ", "\0 ").replace("\n", "\0\n").split("\0")
        known = self.words
        return [*self.start, *(known.setdefault(p, len(known) + 1) for p in pieces if p)]

    async def tokenize(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.requests.append((request.path, body))
        tokens = self.tokens(body["prompt"])
        if not body["add_special_tokens"]:
            tokens = tokens[len(self.start) :]
        return web.json_response({"tokens": tokens, "count": 0, "max_model_len": self.context})

    async def tokenizer_info(self, request: web.Request) -> web.Response:
        """vLLM has it only with ``--enable-tokenizer-info-endpoint``."""
        if self.ending is None:
            raise web.HTTPNotFound
        return web.json_response({"tokenizer_class": "T", "eos_token": self.ending})

    async def completions(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.requests.append((request.path, body))
        assert body["max_tokens"] == 1
        names = {number: word for word, number in self.words.items()}
        choices = []
        if not body.get("echo"):
            if self.strict:
                refused = {"error": {"message": "no extra input: logprob_token_ids"}}
                return web.json_response(refused, status=400)
            return web.json_response(self.next_token(body, names))
        for index, prompt in enumerate(body["prompt"]):
            assert self.context is None or len(prompt) + body["max_tokens"] <= self.context
            shown = [names[token] for token in prompt] + ["!"]
            values = [None, *(LIKELY.get(word, -10.0) for word in shown[1:-1]), -0.1]
            top = [{"likeliest": LIKELIEST}] * len(shown)
            logprobs = {"tokens": shown, "token_logprobs": values, "top_logprobs": top}
            choices.append({"index": index, "text": "", "logprobs": logprobs})
        usage = {"prompt_tokens": sum(map(len, body["prompt"])), "completion_tokens": 4}
        return web.json_response({"id": "c", "model": "m", "choices": choices, "usage": usage})

    def next_token(self, body: dict[str, Any], names: dict[int, str]) -> dict[str, Any]:
        """The listed tokens' log-probabilities after a prompt, as vLLM 0.32 answers."""
        asked = body["logprob_token_ids"] if self.lists_tokens else []
        assert (body["logprobs"], body["return_tokens_as_token_ids"]) == (
            len(body["logprob_token_ids"]),
            True,
        )
        # The chosen token is listed too, whether it was asked for or not.
        top = {"token_id:77": LIKELIEST} | {f"token_id:{n}": LIKELY[names[n]] for n in asked}
        best = max(top, key=lambda name: top[name])
        logprobs = {"tokens": [best], "token_logprobs": [top[best]], "top_logprobs": [top]}
        choice = {"index": 0, "text": "!", "logprobs": logprobs}
        usage = {"prompt_tokens": len(body["prompt"]), "completion_tokens": 1}
        return {"id": "c", "model": "m", "choices": [choice], "usage": usage}


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    app = web.Application()
    app.router.add_post("/tokenize", made.tokenize)
    app.router.add_get("/tokenizer_info", made.tokenizer_info)
    app.router.add_post("/v1/completions", made.completions)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0]
    made.url = f"http://{host}:{port}"
    yield made
    await runner.cleanup()


@pytest_asyncio.fixture
async def vllm(server: Server) -> AsyncIterator[Vllm]:
    provider = Vllm({"base_url": server.url})
    yield provider
    await provider.close()


async def test_four_letters(server: Server, vllm: Vllm) -> None:
    reply = await vllm.answer(pick("vllm/m"))
    assert reply.logprobs == (-2.0, -0.25, -3.0, -1.5)
    assert reply.usage.input_tokens
    paths = [path for path, _ in server.requests]
    assert paths.count("/v1/completions") == 1
    assert paths.count("/tokenize") == 5
    # The context once, not with each letter.
    (asked,) = (body for path, body in server.requests if path == "/v1/completions")
    assert asked["prompt"] == server.tokens(pick("vllm/m").prompt.messages[0].text)
    assert reply.usage.input_tokens == len(asked["prompt"])
    assert reply.raw["continuations"][1] == {"tokens": [" B"], "logprobs": [-0.25]}


@pytest.mark.parametrize("strict", [False, True])
async def test_a_server_that_lists_no_tokens_is_asked_the_other_way_from_then_on(
    strict: bool, server: Server, vllm: Vllm
) -> None:
    server.lists_tokens, server.strict = False, strict
    for _ in range(2):
        reply = await vllm.answer(pick("vllm/m"))
        assert reply.logprobs == (-2.0, -0.25, -3.0, -1.5)
        assert reply.raw["greedy"] == [False, True, False, False]
    asked = [body for path, body in server.requests if path == "/v1/completions"]
    assert ["echo" in body for body in asked] == [False, True, True]


async def test_longer_continuations_are_summed(server: Server, vllm: Vllm) -> None:
    call = Call(ModelRef("vllm", "m"), choose("Which?", [" A B", " C"]))
    assert (await vllm.answer(call)).logprobs == (-2.25, -3.0)


async def test_a_space_at_the_end_goes_to_the_continuation(server: Server, vllm: Vllm) -> None:
    call = Call(ModelRef("vllm", "m"), choose("Which? ", ["A", "B"]))
    assert (await vllm.answer(call)).logprobs == (-2.0, -0.25)


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        (choose("Which?", [""]), "adds no token"),
        (choose("Which?", []), "no continuations"),
        (choose(["Which?", IMAGE], [" A"]), "raw text"),
    ],
)
async def test_what_cannot_be_scored(server: Server, vllm: Vllm, prompt: Any, words: str) -> None:
    with pytest.raises(e.CallRejected, match=words):
        await vllm.answer(Call(ModelRef("vllm", "m"), prompt))


async def test_a_continuation_is_greedy_where_no_token_is_likelier(
    server: Server, vllm: Vllm
) -> None:
    call = Call(ModelRef("vllm", "m"), choose("Which?", [" A", " B", " B B", " B A"]))
    assert (await vllm.answer(call)).raw["greedy"] == [False, True, True, False]
    call = Call(ModelRef("vllm", "m"), choose("Which?", [" A", " B", " B"]))
    assert (await vllm.answer(call)).raw["greedy"] == [False, True, True]
    assert "echo" not in server.requests[-1][1]


async def test_a_text_without_context_follows_the_first_token(server: Server, vllm: Vllm) -> None:
    call = Call(ModelRef("vllm", "m"), choose("", [" A B", "<s> C"]))
    assert (await vllm.answer(call)).logprobs == (-2.25, -3.0)
    assert server.requests[-1][1]["prompt"][0] == server.tokens(" A B")


async def test_a_text_follows_the_token_that_ends_texts_where_none_begins_them(
    server: Server, vllm: Vllm
) -> None:
    server.start = []
    server.ending = "</s>"
    call = Call(ModelRef("vllm", "m"), choose("", [" A B"]))
    assert (await vllm.answer(call)).logprobs == (-2.25,)
    assert server.requests[-1][1]["prompt"] == [server.tokens("</s> A B")]
    await vllm.answer(call)
    # That token once, and each text.
    assert [path for path, _ in server.requests].count("/tokenize") == 2 + 2


@pytest.mark.parametrize(("ending", "words"), [(None, "does not tell"), ("", "none that ends one")])
async def test_a_text_without_context_cannot_be_scored_after_nothing(
    ending: str | None, words: str, server: Server, vllm: Vllm
) -> None:
    server.start = []
    server.ending = ending
    with pytest.raises(e.CallRejected, match=words):
        await vllm.answer(Call(ModelRef("vllm", "m"), choose("", [" A B"])))


async def test_a_text_longer_than_the_context_is_scored_in_windows(
    server: Server, vllm: Vllm
) -> None:
    server.context = 5
    text = " A B C D A B C D"
    (reply, short) = [
        await vllm.answer(Call(ModelRef("vllm", "m"), choose("", texts)))
        for texts in ([text, " B"], [" A B C"])
    ]
    # Each token once, whatever window it is in.
    assert reply.logprobs == (2 * sum(LIKELY.values()), -0.25)
    assert reply.raw["continuations"][0]["tokens"] == [" A", " B", " C", " D"] * 2
    assert reply.raw["greedy"] == [False, True]
    asked, alone = (body["prompt"] for path, body in server.requests if "completions" in path)
    start, a, b, c, d, *_ = server.tokens(text)
    # As lm-evaluation-harness cuts it: the last window is full too.
    assert asked[:3] == [[start, a, b, c], [c, d, a, b], [a, b, c, d]]
    assert alone == [[start, a, b, c]]
    assert short.logprobs == (-5.25,)


async def test_the_right_letter_is_the_likeliest(sim: Handle, make: Make) -> None:
    question = "Which one?\nA. one\nB. two\nC. three\nD. four\nAnswer:"
    sim.brain(gold={"Which one?": "C"})
    call = Call(
        ModelRef.parse("vllm/Qwen/Qwen2.5-7B-Instruct"),
        choose(question, [f" {letter}" for letter in "ABCD"]),
    )
    reply = await make("vllm").answer(call)
    assert reply.logprobs.index(max(reply.logprobs)) == 2
    assert all(value < 0 for value in reply.logprobs)
    assert len(reply.raw["continuations"]) == 4


async def test_a_context_that_is_too_long_to_score(sim: Handle, make: Make) -> None:
    call = Call(ModelRef.parse("vllm/Qwen/Qwen2.5-7B-Instruct"), choose("word " * 40_000, [" A"]))
    with pytest.raises(e.ContextTooLong):
        await make("vllm").answer(call)
