"""What a video counts as, by the head of its file."""

from __future__ import annotations

import struct
from decimal import Decimal
from pathlib import Path

import pytest

from evalbench.engine.calls import MediaPart, ModelRef, generate, user
from evalbench.engine.cost.budget import Budget
from evalbench.engine.cost.meter import CostMeter
from evalbench.engine.cost.tokens import input_tokens
from evalbench.engine.cost.unit_prices import Rates, UnitPrices
from evalbench.engine.data.media_headers import video_length
from evalbench.engine.execution.ask import bind
from evalbench.providers.modelfacts.token_rules import token_rules


def box(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I4s", 8 + len(content), kind) + content


def film(seconds: float, *, sound: bool = False, wide: bool = False) -> bytes:
    """An MP4 without pictures, its head behind its data."""
    if wide:
        head = b"\1" + bytes(19) + struct.pack(">IQ", 600, round(seconds * 600))
    else:
        head = bytes(12) + struct.pack(">II", 600, round(seconds * 600))
    track = box(b"trak", box(b"hdlr", bytes(8) + (b"soun" if sound else b"vide")))
    data = struct.pack(">I4sQ", 1, b"mdat", 16 + 50) + b"mvhd" * 12 + b".."
    return box(b"ftyp", b"isom") + data + box(b"moov", box(b"mvhd", head) + track)


@pytest.mark.parametrize("wide", [False, True])
def test_the_length_stands_in_the_head(wide: bool) -> None:
    assert video_length(film(12.5, wide=wide)) == (12.5, False)
    assert video_length(film(3, sound=True, wide=wide)) == (3, True)


@pytest.mark.parametrize(
    "data",
    [b"", b"GIF89a", b"\x1a\x45\xdf\xa3webm", film(4)[:60], box(b"moov", box(b"mvhd", bytes(40)))],
)
def test_files_that_do_not_say(data: bytes) -> None:
    assert video_length(data) == (None, True)
    assert token_rules("gemini-2.5-flash").video(*video_length(data), 1.0).most > 3600 * 258


def test_a_real_video(shared_data: Path) -> None:
    data = (shared_data / "openseesime" / "media" / "fluid_File_4.mp4").read_bytes()
    seconds, _ = video_length(data)
    assert seconds
    assert 0 < seconds < 600


@pytest.mark.parametrize(
    ("model", "fps", "sound", "tokens"),
    [
        ("gemini-2.5-flash", 1.0, False, 10 * 258),
        ("gemini-2.5-flash", 1.0, True, 10 * (258 + 32)),
        ("gemini-3.8-flash", 1.0, False, 10 * 70),
        ("google/gemini-4-argon", 2.0, True, 20 * 70 + 320),
        ("gemini-2.5-pro", 0.25, False, 3 * 258),
    ],
)
def test_frames_and_sound(model: str, fps: float, sound: bool, tokens: int) -> None:
    counted = token_rules(model).video(10, sound, fps)
    assert counted.tokens == tokens
    assert tokens < counted.most < 10 * tokens + 6000


def test_a_prompt_with_a_video() -> None:
    part = MediaPart("video/mp4", film(10))
    prompt = generate([user([part, "What happens?"])])
    counted = input_tokens(prompt, token_rules("gemini-3.8-flash"), fps=3.0)
    assert (counted.images, counted.image_tokens) == (1, 30 * 70)
    assert (
        input_tokens(prompt, token_rules("gemini-3.8-flash")).likely < counted.likely < counted.most
    )


def test_the_sound_of_a_video_is_estimated_and_reserved_at_its_own_price() -> None:
    part = MediaPart("video/mp4", film(10, sound=True))
    prompt = generate([user([part, "What happens?"])])
    counted = input_tokens(prompt, token_rules("gemini-2.5-flash"))
    assert (counted.audio_tokens, counted.most_audio) == (320, 320)
    prices = UnitPrices(Rates(Decimal("0.3"), Decimal("2.5"), audio=Decimal(1)))
    call = bind(prompt, ModelRef("google", "gemini-2.5-flash"), {"max_tokens": 100})
    silent = UnitPrices(Rates(Decimal("0.3"), Decimal("2.5")))
    worst, without = (CostMeter(Budget(), one).worst_case(call) for one in (prices, silent))
    assert worst - without == 320 * Decimal("0.7") / 1_000_000
