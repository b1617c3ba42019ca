"""Images out of a real worker: what is seen decides the answer, and is counted."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.calls import MediaPart, Outcome, Prompt, choose, generate, user
from evalbench.engine.calls.options import parse_options
from evalbench.providers.local import Local
from tests.contract.local import tiny
from tests.contract.local.driver import Worker

pytestmark = [pytest.mark.local, pytest.mark.timeout(300)]

PATCHES = 16


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.make_llava(tmp_path_factory.mktemp("models") / "llava")


@pytest.fixture(scope="module")
def seeing(folder: Path) -> Iterator[Worker]:
    with Worker(str(folder)) as worker:
        yield worker


def picture(colour: str, size: tuple[int, int] = (90, 60)) -> MediaPart:
    from PIL import Image

    out = io.BytesIO()
    image = Image.new("RGB", size, colour)
    image.paste("black", (0, 0, size[0] // 2, size[1] // 2))
    image.save(out, "PNG")
    return MediaPart("image/png", out.getvalue())


def about(*parts: Any, **params: Any) -> Prompt:
    return generate([user(parts)], **{"max_tokens": 12, **params})


def plainly(folder: Path, prompt_text: str, images: list[MediaPart], most: int) -> str:
    """What transformers itself answers."""
    from PIL import Image
    from transformers import AutoModelForImageTextToText, AutoProcessor

    processor = AutoProcessor.from_pretrained(folder)
    model = AutoModelForImageTextToText.from_pretrained(folder).eval()
    opened = [Image.open(io.BytesIO(one.data)).convert("RGB") for one in images]
    inputs = processor(text=[prompt_text], images=opened, return_tensors="pt")
    out = model.generate(**inputs, max_new_tokens=most, do_sample=False, pad_token_id=1)
    answer = out[0, inputs["input_ids"].shape[1] :]
    text: str = processor.tokenizer.decode(answer, skip_special_tokens=True)
    return text


def test_answers_are_those_of_transformers(folder: Path, seeing: Worker) -> None:
    red, blue = picture("red"), picture("blue", (40, 200))
    one, two = seeing.replies(
        [about(red, "which colour"), about("frames in order: ", red, blue, "what moves")]
    )
    assert one.text == plainly(folder, "<s>user: <image>which colour<s>assistant:", [red], 12)
    text = "<s>user: frames in order: <image><image>what moves<s>assistant:"
    assert two.text == plainly(folder, text, [red, blue], 12)
    assert one.usage.input_tokens is not None
    assert two.usage.input_tokens is not None
    assert two.usage.input_tokens - one.usage.input_tokens > PATCHES


def test_what_is_seen_matters_and_text_alone_is_answered_too(seeing: Worker) -> None:
    red, blue, alone, drawn, again = seeing.replies(
        [
            about(picture("red"), "which colour"),
            about(picture("blue"), "which colour"),
            about("which colour"),
            about(picture("red"), "which", temperature=1.0, seed=3),
            about(picture("red"), "which", temperature=1.0, seed=3),
        ]
    )
    assert red.text != blue.text
    assert red.usage.input_tokens == (alone.usage.input_tokens or 0) + PATCHES
    assert drawn.text == again.text
    (scored,) = seeing.replies([choose("the quick brown", [" fox", " dog"])])
    assert len(scored.logprobs) == 2


def test_a_broken_image_fails_by_itself(seeing: Worker) -> None:
    good, broken = picture("green"), MediaPart("image/png", b"\x89PNG and no more")
    gone = MediaPart("image/png", b"", "ab" * 32)
    seeing.ask({f"broken {n}": about(part, "what") for n, part in enumerate((broken, gone))})
    frames = seeing.answers(["broken 0", "broken 1"])
    assert frames["broken 0"]["error"] == frames["broken 1"]["error"] == "CallRejected"
    assert "cannot be read" in frames["broken 0"]["what"]
    assert "missing" in frames["broken 1"]["what"]
    (reply,) = seeing.replies([about(good, "what")])
    assert reply.outcome in (Outcome.OK, Outcome.TRUNCATED)


def test_more_than_the_context_holds_is_an_error(seeing: Worker) -> None:
    many = [picture("red")] * 200
    seeing.ask({"many": about(*many, "what")})
    assert seeing.answers(["many"])["many"]["error"] == "ContextTooLong"


def test_a_model_without_eyes_says_so(worker: Worker) -> None:
    worker.ask({"seen": about(picture("red"), "what")})
    assert "text only" in worker.answers(["seen"])["seen"]["what"]


def test_what_a_model_can_is_read_from_its_configuration(folder: Path, llama: Path) -> None:
    local = Local(parse_options(Local.options, {}, "local"))
    able = local.capabilities(str(folder))
    assert (able.images, able.image_tokens, able.reason) == (True, PATCHES, "")
    blind = local.capabilities(str(llama))
    assert not blind.images
    assert "text only" in blind.reason


def test_what_the_model_does_not_take_fails_that_call(folder: Path, tmp_path: Path) -> None:
    odd = tmp_path / "odd"
    shutil.copytree(folder, odd)
    settings = json.loads((odd / "processor_config.json").read_text())
    # Images of another size than the model's: its vision layers refuse them.
    settings["image_processor"] |= {
        "size": {"shortest_edge": 28},
        "crop_size": {"height": 28, "width": 28},
    }
    (odd / "processor_config.json").write_text(json.dumps(settings))
    with Worker(str(odd)) as worker:
        worker.ask({"seen": about(picture("red"), "what"), "text": about("what")})
        frames = worker.answers(["seen", "text"])
    assert "cannot answer this prompt with images" in frames["seen"]["what"]
    assert frames["text"]["type"] == "reply"
