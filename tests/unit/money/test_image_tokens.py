"""Images against the tables and examples that providers publish."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalbench.engine.data.media_headers import image_size, image_type
from evalbench.providers.modelfacts.token_rules import claude_version, token_rules

STANDARD = ("claude-sonnet-4-5-20250929", "claude-haiku-4-5", "claude-3-5-sonnet-20241022")
HIGH = ("claude-opus-4-7", "claude-sonnet-5", "us.anthropic.claude-haiku-5-5", "claude-fable-5-1")
SIZES = st.tuples(st.integers(1, 8000), st.integers(1, 8000))


@pytest.mark.parametrize(
    ("size", "standard", "high"),
    [
        # Anthropic's own table of sizes and visual tokens.
        ((200, 200), 64, 64),
        ((1000, 1000), 1296, 1296),
        ((1092, 1092), 1521, 1521),
        ((1920, 1080), 1560, 2691),
        ((2000, 1500), 1564, 3888),
        ((3840, 2160), 1560, 4784),
    ],
)
def test_claude_counts_as_its_published_table(
    size: tuple[int, int], standard: int, high: int
) -> None:
    for model in STANDARD:
        assert token_rules(model).image(size).tokens == standard
        assert token_rules(model).image(size[::-1]).tokens == standard
    for model in HIGH:
        assert token_rules(model).image(size).tokens == high


def test_claude_shrinks_a_page_that_is_within_the_edges_but_over_the_tokens() -> None:
    # The published example: 1075 × 1520 is seen as 924 × 1307: 33 × 47 patches.
    assert token_rules("claude-sonnet-4-6").image((1075, 1520)).tokens == 33 * 47
    assert token_rules("claude-opus-4-8").image((1075, 1520)).tokens == 39 * 55


@settings(deadline=None)
@given(SIZES)
def test_claude_never_counts_more_than_its_limit(size: tuple[int, int]) -> None:
    assert 1 <= token_rules("claude-sonnet-4-5").image(size).tokens <= 1568
    assert 1 <= token_rules("claude-sonnet-5").image(size).tokens <= 4784


@pytest.mark.parametrize(
    ("model", "size", "tokens"),
    [
        # OpenAI's own examples.
        ("gpt-4o", (1024, 1024), 765),
        ("gpt-4o", (2048, 4096), 1105),
        ("gpt-4.1-2025-04-14", (1024, 1024), 765),
        ("gpt-4o-mini-2024-07-18", (1024, 1024), 2833 + 4 * 5667),
        ("gpt-5", (1024, 1024), 70 + 4 * 140),
        ("o3", (512, 512), 75 + 150),
        ("gpt-4.1-mini", (1024, 1024), 1659),
        ("gpt-4.1-mini", (1800, 2400), 2353),
        ("o4-mini", (1024, 1024), 1762),
        ("gpt-5-nano", (1024, 1024), 2520),
        ("gpt-5.4-mini", (1024, 1024), 1659),
        ("gpt-5.4", (1024, 1024), 1229),
        # Others' measurement: about 11,850 of 11,930 tokens of one request.
        ("gpt-5.6-sol", (4000, 2500), 11_850),
        ("gpt-6-astra", (1024, 1024), 1229),
    ],
)
def test_openai_counts_as_its_published_examples(
    model: str, size: tuple[int, int], tokens: int
) -> None:
    assert token_rules(model).image(size).tokens == tokens


@pytest.mark.parametrize(
    ("model", "detail", "tokens"),
    [
        # 4000 × 2500 within 2048 pixels is 64 × 40 patches; within 2,500 patches, 63 × 39.
        ("gpt-4o", "low", 85),
        ("gpt-5-mini", "low", 260),
        ("gpt-5.4", "", 2949),
        ("gpt-5.4", "auto", 2949),
        ("gpt-5.4", "original", 11_850),
        ("gpt-5.5", "", 11_850),
        ("gpt-5.5", "high", 2949),
        ("gpt-6-astra", "low", 192),
        ("gpt-6-astra", "high", 2949),
    ],
)
def test_the_detail_that_is_asked_for_decides_what_openai_keeps(
    model: str, detail: str, tokens: int
) -> None:
    assert token_rules(model).image((4000, 2500), detail).tokens == tokens


@settings(deadline=None)
@given(SIZES)
def test_openai_patches_stay_within_their_budget(size: tuple[int, int]) -> None:
    assert token_rules("gpt-5-mini").image(size).tokens <= 2489
    assert token_rules("gpt-5.4").image(size).tokens <= 3000


@pytest.mark.parametrize(
    ("model", "size", "tokens"),
    [
        ("gemini-2.5-pro", (384, 384), 258),
        ("gemini-2.5-flash", (960, 540), 6 * 258),
        ("gemini-2.0-flash-001", (3000, 2000), 12 * 258),
        ("gemini-3.8-flash", (100, 100), 1120),
        ("google/gemini-3.1-pro-preview", (4000, 4000), 1120),
    ],
)
def test_gemini_counts_tiles_or_a_fixed_budget(
    model: str, size: tuple[int, int], tokens: int
) -> None:
    assert token_rules(model).image(size).tokens == tokens


def test_other_models_have_a_rule_of_thumb_that_says_so() -> None:
    found = token_rules("qwen2.5-vl-72b").image((4000, 3000))
    assert found.rule == "rule of thumb"
    assert found.most == 143 * 108
    assert found.tokens < found.most


def test_an_image_of_unknown_size_counts_as_a_very_large_one() -> None:
    assert token_rules("claude-sonnet-4-5").image(None).tokens > 1500
    assert token_rules("claude-sonnet-5").image(None).tokens > 4600


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("claude-2", (2, 0)),
        ("claude-3-opus-20240229", (3, 0)),
        ("claude-sonnet-4-20250514", (4, 0)),
        ("claude-opus-4-8", (4, 8)),
        ("anthropic/claude-opus-4.8", (4, 8)),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", (4, 5)),
        ("claude-opus-5", (5, 0)),
        ("gpt-4o", None),
    ],
)
def test_versions_are_read_from_claudes_names(name: str, version: tuple[int, int] | None) -> None:
    assert claude_version(name) == version


JPEG = (
    b"\xff\xd8\xff\xe0" + struct.pack(">H", 16) + b"JFIF\0" + bytes(9)
    + b"\xff\xe1" + struct.pack(">H", 10) + b"\xff\xc0\0\0\0\0\0\0"
    + b"\xff\xff\xc2" + struct.pack(">HBHH", 17, 8, 480, 640) + bytes(9)
)  # fmt: skip
VP8 = b"RIFF\0\0\0\0WEBPVP8 " + bytes(4) + bytes(3) + b"\x9d\x01\x2a" + struct.pack("<HH", 640, 480)
VP8L = b"RIFF\0\0\0\0WEBPVP8L" + bytes(4) + b"\x2f" + struct.pack("<I", 639 | 479 << 14)
VP8X = (
    b"RIFF\0\0\0\0WEBPVP8X" + bytes(4) + bytes(4)
    + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")
)  # fmt: skip
GIF = b"GIF89a" + struct.pack("<HH", 640, 480)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(8) + struct.pack(">II", 640, 480)


@pytest.mark.parametrize("data", [PNG, GIF, JPEG, VP8, VP8L, VP8X])
def test_the_size_is_read_from_the_first_bytes(data: bytes) -> None:
    assert image_size(data) == (640, 480)


@pytest.mark.parametrize("data", [PNG, GIF, JPEG, VP8, VP8L, VP8X, b"", b"%PDF-1.7"])
def test_a_cut_or_foreign_file_has_no_size(data: bytes) -> None:
    for end in range(len(data)):
        assert image_size(data[:end]) in (None, (640, 480))
    assert image_size(b"") is None
    assert image_size(b"%PDF-1.7") is None
    # Sounds and videos are RIFF files too.
    assert image_type(b"RIFF\0\0\0\0WAVEfmt ") == image_type(b"%PDF-1.7") == ""
