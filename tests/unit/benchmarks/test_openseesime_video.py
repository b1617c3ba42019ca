"""OpenSeeSimE with videos as they are, for the models that take them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.benchmark import DataSource, Sample, sample_ids
from evalbench.engine.benchmarks.openseesime.benchmark import OpenSeeSimE
from evalbench.engine.calls import MediaPart, Message, Prompt, Reply, TextPart
from evalbench.engine.calls.options import parse_options
from evalbench.engine.config.spec import check_spec, make_spec
from evalbench.engine.data import images
from evalbench.engine.errors import SpecError


@pytest.fixture(autouse=True)
def _home(home: Path) -> None:
    """Media are kept in a cache of their own."""


@pytest.fixture
def media(shared_data: Path) -> Path:
    return shared_data / "openseesime" / "media"


def made(**options: Any) -> OpenSeeSimE:
    return OpenSeeSimE(parse_options(OpenSeeSimE.options, options, "openseesime"))


def prepared(folder: Path, files: dict[str, bytes], **options: Any) -> list[Sample]:
    lines = []
    for name, data in files.items():
        (folder / name).write_bytes(data)
        row = {
            "file_name": name, "question": "Is it bent?", "question_type": "Binary",
            "answer": "Yes", "answer_choices": ["Yes", "No"], "media_type": "video",
            "video": name,
        }  # fmt: skip
        lines.append(json.dumps(row) + "\n")
    (folder / "rows.jsonl").write_text("".join(lines))
    return list(sample_ids(made(**options).prepare(DataSource(folder, folder)).items))


def asked(sample: Sample) -> Message:
    prompts: list[Prompt] = []

    async def ask(role: str, prompt: Prompt, **_: Any) -> Reply:
        prompts.append(prompt)
        return Reply("Yes\nIt is.")

    asyncio.run(made().solve(sample, ask))  # type: ignore[arg-type]
    return prompts[0].messages[0]


def test_a_whole_video_comes_before_the_text(media: Path, tmp_path: Path) -> None:
    data = (media / "fluid_File_4.mp4").read_bytes()
    (sample,) = prepared(tmp_path, {"v.mp4": data}, video="native")
    (shown,) = sample.inputs["media"]
    assert (shown["type"], shown["seconds"] > 0) == ("video/mp4", True)
    message = asked(sample)
    assert [type(part) for part in message.parts] == [MediaPart, TextPart]
    first = message.parts[0]
    assert isinstance(first, MediaPart)
    assert first.data == data
    assert "frames" not in message.text


def test_an_animated_gif_is_shown_in_frames_all_the_same(media: Path, tmp_path: Path) -> None:
    gif = (media / "structural_File_1.gif").read_bytes()
    (sample,) = prepared(tmp_path, {"v.gif": gif}, video="native", frames=3, max_side=128)
    assert [shown["type"] for shown in sample.inputs["media"]] == ["image/png"] * 3
    assert "3 frames" in asked(sample).text


def test_frames_are_what_is_shown_unasked(media: Path, tmp_path: Path) -> None:
    data = (media / "fluid_File_4.mp4").read_bytes()
    (sample,) = prepared(tmp_path, {"v.mp4": data}, frames=2, max_side=128)
    assert [shown["type"] for shown in sample.inputs["media"]] == ["image/png"] * 2


def test_a_broken_video_costs_its_sample_only(media: Path, tmp_path: Path) -> None:
    whole = (media / "fluid_File_4.mp4").read_bytes()
    cut = whole[:40] + bytes(400)
    good, bad = prepared(tmp_path, {"v.mp4": whole, "cut.mp4": cut}, video="native")
    assert "broken" not in good.inputs
    assert "cannot be read" in bad.inputs["broken"]


@pytest.mark.parametrize(
    ("head", "media_type"),
    [
        (b"\0\0\0\x18ftypmp42", "video/mp4"),
        (b"\0\0\0\x14ftypqt  ", "video/quicktime"),
        (b"\x1a\x45\xdf\xa3\x01\0\0\0\0\0\0\x1fB\x82\x84webm", "video/webm"),
        (b"RIFF\0\0\0\0AVI LIST", "video/avi"),
        (b"\0\0\1\xba!", "video/mpeg"),
        (b"GIF89a", ""),
        (b"", ""),
    ],
)
def test_kinds_of_videos(head: bytes, media_type: str) -> None:
    if media_type:
        with pytest.raises(images.Unreadable):
            images.whole_video(head)
    else:
        assert images.whole_video(head) is None


def test_only_models_that_take_videos_are_asked() -> None:
    assert made().needs() == {"generate", "images"}
    assert made(video="native").needs() == {"generate", "images", "video"}
    options = {"video": "native"}
    check_spec(make_spec("openseesime", "google/gemini-2.5-flash", options=options))
    with pytest.raises(SpecError, match="'video' calls") as caught:
        check_spec(make_spec("openseesime", "anthropic/claude-haiku-4-5", options=options))
    assert "log-probabilities" not in str(caught.value)
