"""OpenSeeSimE: media are scaled and kept, broken ones cost one sample, replies are read twice."""

from __future__ import annotations

import asyncio
import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from evalbench.engine.benchmark import DataSource, Sample, Score, sample_ids
from evalbench.engine.benchmarks.openseesime.benchmark import BrokenMedia, OpenSeeSimE
from evalbench.engine.calls import MediaPart, Outcome, Prompt, Reply, TextPart
from evalbench.engine.calls.options import parse_options
from evalbench.engine.config.spec import make_spec
from evalbench.engine.data import images
from evalbench.engine.data.dataset import is_prepared, prepare, read_header
from evalbench.engine.data.media import MediaCache
from evalbench.engine.errors import DataError
from evalbench.engine.scoring.tally import Tally

ROW = {
    "file_name": "structural_File_1.png",
    "source_file": "structural_File_1",
    "question": "Is it bent?",
    "question_type": "Binary",
    "question_id": 1,
    "answer": "Yes",
    "answer_choices": ["Yes", "No"],
    "correct_choice_idx": 0,
    "image": "dot.png",
    "video": None,
    "media_type": "image",
}


@pytest.fixture(autouse=True)
def _home(home: Path) -> None:
    """Pictures are kept in a home of the test's own."""


@pytest.fixture
def media(shared_data: Path) -> Path:
    return shared_data / "openseesime" / "media"


def made(**options: Any) -> OpenSeeSimE:
    return OpenSeeSimE(parse_options(OpenSeeSimE.options, options, "openseesime"))


def prepared(path: Path, **options: Any) -> list[Sample]:
    return list(sample_ids(made(**options).prepare(DataSource(path, path)).items))


def dot(size: tuple[int, int] = (40, 20), mode: str = "RGB") -> bytes:
    out = io.BytesIO()
    Image.new(mode, size).save(out, "PNG")
    return out.getvalue()


def write(folder: Path, *rows: dict[str, Any], **files: bytes) -> Path:
    (folder / "rows.jsonl").write_text("".join(json.dumps(ROW | row) + "\n" for row in rows))
    (folder / "dot.png").write_bytes(dot())
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


class Asking:
    def __init__(self, said: str) -> None:
        self.said = said
        self.prompt: Prompt | None = None

    async def __call__(self, role: str, prompt: Prompt, **_: Any) -> Reply:
        self.prompt = prompt
        return Reply(self.said, stop_reason="stop")

    async def many(self, asks: Sequence[Any]) -> list[Reply]:
        raise NotImplementedError


def solved(sample: Sample, said: str = "Yes\nIt is.") -> tuple[Score, Prompt]:
    ask = Asking(said)
    score = asyncio.run(made().solve(sample, ask))
    assert ask.prompt is not None
    return score, ask.prompt


# -- pictures ----------------------------------------------------------------------


def test_a_large_picture_is_scaled_and_stays_small(media: Path) -> None:
    data = (media / "structural_File_1.png").read_bytes()
    with Image.open(io.BytesIO(data)) as image:
        width, height = image.size
    assert max(width, height) > 6000
    made = images.encode(data, 1568)
    assert max(made.width, made.height) == 1568
    assert made.width / made.height == pytest.approx(width / height, rel=0.01)
    assert len(made.data) <= images.MOST_BYTES


@pytest.mark.parametrize("longest", [768, 1568, 2000, 8000])
def test_every_picture_fits_every_provider(media: Path, longest: int) -> None:
    for file in ("structural_File_5.png", "fluid_File_1.png"):
        made = images.encode((media / file).read_bytes(), longest)
        assert max(made.width, made.height) <= longest
        assert 4 * len(made.data) / 3 < 5_000_000


def test_a_small_picture_is_not_made_larger() -> None:
    made = images.encode(dot((40, 20)), 1568)
    assert (made.width, made.height, made.media_type) == (40, 20, "image/png")


def test_a_picture_too_large_as_png_becomes_a_jpeg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "MOST_BYTES", 40_000)
    noise = Image.effect_noise((260, 260), 90).convert("RGB")
    out = io.BytesIO()
    noise.save(out, "PNG")
    assert len(out.getvalue()) > 40_000
    made = images.encode(out.getvalue(), 2600)
    assert made.media_type == "image/jpeg"
    assert len(made.data) <= 40_000


def test_what_shines_through_is_white() -> None:
    made = images.encode(dot((4, 4), "RGBA"), 100)
    with Image.open(io.BytesIO(made.data)) as image:
        assert image.convert("RGB").getpixel((0, 0)) == (255, 255, 255)


@pytest.mark.parametrize(
    ("total", "wanted", "sampling", "chosen"),
    [
        (100, 8, "uniform", [0, 14, 28, 42, 56, 70, 84, 99]),
        (100, 4, "segment", [12, 37, 62, 87]),
        (3, 8, "uniform", [0, 1, 2]),
        (3, 8, "segment", [0, 1, 2]),
        (10, 1, "uniform", [0]),
        (0, 8, "uniform", []),
    ],
)
def test_which_frames(total: int, wanted: int, sampling: str, chosen: list[int]) -> None:
    assert images.places(total, wanted, sampling) == chosen


@pytest.mark.parametrize("name", ["fluid_File_1.mp4", "structural_File_1.gif"])
def test_frames_of_a_video(media: Path, name: str) -> None:
    found = images.frames((media / name).read_bytes(), 8, "uniform", 512)
    assert len(found) == 8
    assert [frame.place for frame in found] == sorted({frame.place for frame in found})
    times = [frame.seconds for frame in found]
    assert times == sorted(times)
    assert times[0] == 0
    assert times[-1] > 0


@pytest.mark.parametrize("data", [b"", b"not a picture", dot()[:60]])
def test_broken_media_are_explained(data: bytes) -> None:
    with pytest.raises(images.Unreadable):
        images.encode(data, 100)
    with pytest.raises(images.Unreadable):
        images.frames(data, 8, "uniform", 100)


# -- rows --------------------------------------------------------------------------


def test_the_stand_in_is_read(shared_data: Path, tmp_path: Path) -> None:
    rows = (shared_data / "openseesime" / "rows.jsonl").read_text().splitlines()
    folder = tmp_path / "few"
    folder.mkdir()
    (folder / "rows.jsonl").write_text("\n".join(rows[::40]))
    (folder / "media").symlink_to(shared_data / "openseesime" / "media")
    found = prepared(folder, max_side=256, frames=4)
    assert len(found) == 8
    assert {sample.tags["medium"] for sample in found} == {"image", "video"}
    assert {sample.tags["simulation"] for sample in found} == {"structural_File", "fluid_File"}
    video = next(sample for sample in found if sample.inputs["video"])
    assert len(video.inputs["media"]) == 4
    assert all("broken" not in sample.inputs for sample in found)


def test_broken_media_cost_their_sample_only(tmp_path: Path) -> None:
    folder = write(
        tmp_path, {}, {"image": "none.png"}, {"image": "empty.png"},
        {"media_type": "video", "video": "bad.mp4"}, **{"empty.png": b"", "bad.mp4": b"mp4?"},
    )  # fmt: skip
    good, *broken = prepared(folder)
    assert solved(good)[0].values["accuracy"] == 1
    assert len(broken) == 3
    for sample in broken:
        with pytest.raises(BrokenMedia):
            asyncio.run(made().solve(sample, Asking("Yes")))


def test_a_missing_column_ends_it_with_its_row(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="row 2: the column answer is missing"):
        prepared(write(tmp_path, {}, {"answer": None}))


def test_equal_media_are_kept_once(tmp_path: Path) -> None:
    one, two = prepared(write(tmp_path, {}, {"question": "Is it straight?"}))
    assert one.inputs["media"] == two.inputs["media"]
    assert len(list((MediaCache().folder).glob("*/*"))) == 1


# -- asking and scoring --------------------------------------------------------------


def test_a_picture_comes_before_the_text_and_frames_after(media: Path, tmp_path: Path) -> None:
    folder = write(tmp_path, {}, {"media_type": "video", "video": "v.gif"})
    (folder / "v.gif").write_bytes((media / "structural_File_1.gif").read_bytes())
    image, video = prepared(folder, frames=3)
    kinds = [type(part) for part in solved(image)[1].messages[0].parts]
    assert kinds == [MediaPart, TextPart]
    _, prompt = solved(video)
    assert [type(part) for part in prompt.messages[0].parts] == [TextPart, *[MediaPart] * 3]
    assert "3 frames" in prompt.messages[0].text
    assert "- Yes\n- No" in prompt.messages[0].text


@pytest.mark.parametrize(
    ("said", "lenient", "strict"),
    [("Yes\nbecause", 1, 1), ("**Yes**.", 1, 0), ("no", 0, 0), ("I cannot tell", 0, 0)],
)
def test_replies_are_read_twice(tmp_path: Path, said: str, lenient: int, strict: int) -> None:
    [sample] = prepared(write(tmp_path, {}))
    score, _ = solved(sample, said)
    assert (score.values["accuracy"], score.values["accuracy_strict"]) == (lenient, strict)


def test_the_same_question_keeps_its_identity_when_its_picture_is_gone(tmp_path: Path) -> None:
    [sample] = prepared(write(tmp_path, {}))
    _, before = solved(sample)
    MediaCache().trim(0)
    _, after = solved(sample)
    assert [m.canonical() for m in before.messages] == [m.canonical() for m in after.messages]
    assert after.messages[0].parts[0].data == b""  # type: ignore[union-attr]


def test_accuracy_stands_beside_the_most_common_answer() -> None:
    bench, tally = made(), Tally()
    for gold, right, count in (("Yes", 1.0, 5), ("No", 0.0, 3)):
        tags = {"type": "Binary", "medium": "image", "simulation": "s", "answer": gold}
        tally.add(tags, Outcome.OK, {"accuracy": right, "accuracy_strict": right}, count)
    found = {metric.name: metric for metric in bench.metrics(tally)}
    assert (found["accuracy"].k, found["accuracy"].n) == (5, 8)
    assert (found["majority"].k, found["majority"].n) == (5, 8)
    assert found["majority/type=Binary"].value == 0.625
    assert found["accuracy/medium=image"].n == 8


def test_the_cache_lets_go_of_what_is_oldest(tmp_path: Path) -> None:
    cache = MediaCache(tmp_path)
    digests = [cache.keep(bytes([n]) * 1000) for n in range(3)]
    for age, digest in zip((30, 10, 20), digests, strict=True):
        path = tmp_path / digest[:2] / digest
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    assert cache.trim(2000) == 1000
    assert [bool(cache.part("image/png", d).data) for d in digests] == [False, True, True]


# -- media that change ---------------------------------------------------------------


def _paint(path: Path, colour: str) -> None:
    Image.new("RGB", (8, 8), colour).save(path)


@pytest.mark.parametrize("name", ["../secret.png", "/etc/hostname", "x/../../secret.png"])
def test_a_table_names_no_medium_outside_of_its_folder(tmp_path: Path, name: str) -> None:
    _paint(tmp_path / "secret.png", "red")
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "rows.jsonl").write_text(json.dumps(ROW | {"image": name}))
    (sample,) = prepared(folder)
    assert sample.inputs["media"] == []
    assert "outside of the table's folder" in sample.inputs["broken"]


def test_a_picture_that_changed_is_seen_though_its_table_did_not(
    tmp_path: Path,
) -> None:
    rows = [ROW | {"image": name} for name in ("seen.png", "missing.png")]
    table, seen, cache = tmp_path / "rows.jsonl", tmp_path / "seen.png", tmp_path / "cache"
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    _paint(seen, "red")
    spec = make_spec("openseesime", "anthropic/claude-haiku-4-5", data=str(table))
    file = prepare(spec, cache)
    before, made = read_header(file), file.stat().st_ino
    os.utime(seen, ns=(1, 1))
    assert is_prepared(spec, cache)
    assert prepare(spec, cache).stat().st_ino == made
    _paint(seen, "blue")
    assert not is_prepared(spec, cache)
    assert prepare(spec, cache) == file
    assert read_header(file).data_hash != before.data_hash
    _paint(tmp_path / "missing.png", "green")
    assert not is_prepared(spec, cache)
    prepare(spec, cache)
    assert is_prepared(spec, cache)
    seen.unlink()
    assert not is_prepared(spec, cache)
