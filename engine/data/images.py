"""Images and video frames as sent to models: scaled, encoded, limited in size.

Uses Pillow and PyAV (extra ``vision``), in the child process that prepares data.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from evalbench.engine.errors import DataError
from evalbench.engine.installed import install_command

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_BYTES = 3_700_000
"""Maximum bytes of an image: below 5 MB in base64, the lowest limit of any provider."""

_QUALITIES = (90, 80, 65, 50)
MOST_PIXELS = 100_000_000
"""Maximum pixels of an image or frame; decoded, each takes up to a dozen bytes."""


class Picture(NamedTuple):
    """An encoded image."""

    data: bytes
    media_type: str
    width: int
    height: int


class Frame(NamedTuple):
    """A frame of a video, its index among all frames, and its time in seconds."""

    picture: Picture
    place: int
    seconds: float


class Video(NamedTuple):
    """A whole, unmodified video, and its length in seconds."""

    data: bytes
    media_type: str
    width: int
    height: int
    seconds: float


class Unreadable(Exception):
    """Media that cannot be decoded; the message says why."""


def encode(data: bytes, longest: int) -> Picture:
    """An image in the form in which it is sent: at most ``longest`` pixels per side.

    It stays a PNG if that is small enough; otherwise it becomes a JPEG of the best quality that is.

    Raises:
        Unreadable: it is not an image, or is broken.
        DataError: the extra is not installed.
    """
    image_module = _pillow()
    if not data:
        raise Unreadable("the picture is empty")
    try:
        with image_module.open(io.BytesIO(data)) as image:
            _check_pixels(*image.size)
            image.load()
            return _encoded(image, longest)
    except Unreadable:
        raise
    except Exception as error:  # decoders raise anything on broken files
        raise Unreadable(f"the picture cannot be read: {_why(error)}") from None


def _why(error: Exception) -> str:
    """What a decoder says, without the names of its classes and objects."""
    if type(error).__name__ == "UnidentifiedImageError":
        return "its content is no picture"
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return said or type(error).__name__


def _check_pixels(width: int, height: int) -> None:
    """Check before decoding: a few kilobytes can hold billions of pixels."""
    if width * height > MOST_PIXELS:
        raise Unreadable(f"{width:,} × {height:,} pixels are more than {MOST_PIXELS:,}")


def _encoded(image: Image, longest: int) -> Picture:
    if image.mode not in ("RGB", "L"):
        image = _on_white(image)
    scale = longest / max(image.size)
    if scale < 1:
        width, height = (max(1, round(side * scale)) for side in image.size)
        image = image.resize((width, height), _pillow().Resampling.LANCZOS)
    width, height = image.size
    data = _saved(image, "PNG", optimize=False)
    if len(data) <= MOST_BYTES:
        return Picture(data, "image/png", width, height)
    for quality in _QUALITIES:
        data = _saved(image, "JPEG", quality=quality)
        if len(data) <= MOST_BYTES:
            return Picture(data, "image/jpeg", width, height)
    raise Unreadable(f"the picture has {len(data):,} bytes even when compressed")


def _on_white(image: Image) -> Image:
    """Remove transparency, which models would see as black."""
    with_alpha = image.convert("RGBA")
    ground = _pillow().new("RGBA", with_alpha.size, "white")
    ground.alpha_composite(with_alpha)
    return ground.convert("RGB")


def _saved(image: Image, form: str, **how: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, form, **how)
    return out.getvalue()


def places(total: int, wanted: int, sampling: str) -> list[int]:
    """The indices of the frames to take from ``total``, in order, without duplicates.

    ``uniform`` spreads them from the first to the last, both included, truncated to integers;
    ``segment`` takes the middle of equal segments.
    """
    if total <= 0:
        return []
    count = min(wanted, total)
    if sampling == "segment":
        chosen = [int((2 * n + 1) * total / (2 * count)) for n in range(count)]
    elif count == 1:
        chosen = [0]
    else:
        chosen = [int(n * (total - 1) / (count - 1)) for n in range(count)]
    return sorted(set(chosen))


def frames(data: bytes, wanted: int, sampling: str, longest: int) -> list[Frame]:
    """Frames of a video (or an animated GIF).

    Raises:
        Unreadable: it is not a video, or is broken.
        DataError: the extra is not installed.
    """
    try:
        import av
    except ImportError:
        raise _missing("av") from None
    if not data:
        raise Unreadable("the video is empty")
    try:
        with av.open(io.BytesIO(data), "r") as video:
            _check_pixels(video.streams.video[0].width, video.streams.video[0].height)
            total = video.streams.video[0].frames or sum(1 for _ in video.decode(video=0))
        chosen = places(total, wanted, sampling)
        with av.open(io.BytesIO(data), "r") as video:
            found = list(_taken(video, chosen, longest))
    except (Unreadable, DataError):
        raise
    except Exception as error:  # decoders raise anything on broken files
        raise Unreadable(f"the video cannot be read: {_why(error)}") from None
    if not found:
        raise Unreadable("the video has no frames")
    return found


def whole_video(data: bytes) -> Video | None:
    """A video as models accept it; None if it cannot be sent whole (an animated GIF).

    Raises:
        Unreadable: it is broken.
        DataError: the extra is not installed.
    """
    media_type = _container(data)
    if not media_type:
        return None
    try:
        import av
    except ImportError:
        raise _missing("av") from None
    try:
        with av.open(io.BytesIO(data), "r") as video:
            _check_pixels(video.streams.video[0].width, video.streams.video[0].height)
            frame = next(video.decode(video=0))
            seconds = float(video.duration or 0) / av.time_base
            return Video(data, media_type, frame.width, frame.height, round(seconds, 3))
    except Unreadable:
        raise
    except StopIteration:
        raise Unreadable("the video has no frames") from None
    except Exception as error:  # decoders raise anything on broken files
        raise Unreadable(f"the video cannot be read: {_why(error)}") from None


def _container(data: bytes) -> str:
    """The media type of a video file accepted by models, from its first bytes; else empty."""
    if data[4:8] == b"ftyp":
        return "video/quicktime" if data[8:10] == b"qt" else "video/mp4"
    if data.startswith(b"\x1a\x45\xdf\xa3"):
        return "video/webm" if b"webm" in data[:64] else ""
    if data.startswith(b"RIFF") and data[8:12] == b"AVI ":
        return "video/avi"
    return "video/mpeg" if data.startswith((b"\0\0\1\xba", b"\0\0\1\xb3")) else ""


def _taken(video: Any, chosen: list[int], longest: int) -> Iterator[Frame]:
    left = set(chosen)
    for index, frame in enumerate(video.decode(video=0)):
        if index in left:
            left.discard(index)
            picture = _encoded(frame.to_image(), longest)
            yield Frame(picture, index, round(float(frame.time or 0.0), 3))
            if not left:
                return


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise _missing("pillow") from None
    Image.MAX_IMAGE_PIXELS = MOST_PIXELS
    return Image


def _missing(package: str) -> DataError:
    return DataError(
        "pictures and videos cannot be read here",
        why=f"the package {package} is not installed",
        hint=install_command("vision"),
    )
