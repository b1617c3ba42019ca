"""A short film of the app for the README: ``docs/screenshots/demo.svg``, an animated SVG.

    python -m docs.demo

A new run is set up, started, watched, read and compared in the real app, in a home of its own,
with the model of ``docs/plugins`` that knows most answers. What a frame shows comes from the app's
own screen; equal lines of all frames are stored once, which keeps the file small.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from docs.screenshots import FOLDER, PLUGINS, RUNS, evalbench

_SIZE = (110, 32)
_CELL, _LINE, _FONT = 8.4, 18, 14
_LONG_S = 180.0
_FRONT, _BACK = "#d8dee6", "#14171b"

Piece = tuple[str, str, str, bool, bool]
"""Text, colour, background, bold, underlined."""


class Film:
    """Frames and how long each is shown, in seconds."""

    def __init__(self) -> None:
        self._frames: list[tuple[float, list[int]]] = []
        self._lines: dict[tuple[Piece, ...], int] = {}

    def add(self, seconds: float, lines: Sequence[Sequence[Piece]]) -> None:
        """One more frame; the last one goes on where nothing changed."""
        frame = [self._lines.setdefault(tuple(line), len(self._lines)) for line in lines]
        if self._frames and self._frames[-1][1] == frame:
            seconds += self._frames.pop()[0]
        self._frames.append((seconds, frame))

    def svg(self, columns: int) -> str:
        """The whole film."""
        rows = len(self._frames[0][1])
        width, height = columns * _CELL + 20, rows * _LINE + 20
        whole = sum(seconds for seconds, _ in self._frames)
        styles, body, at = [], [], 0.0
        for number, (seconds, frame) in enumerate(self._frames):
            begin, end = 100 * at / whole, 100 * (at + seconds) / whole
            at += seconds
            before = "0%{visibility:hidden}" if number else ""
            styles.append(
                f"@keyframes k{number}{{{before}{begin:.3f}%{{visibility:visible}}"
                f"{end:.3f}%{{visibility:hidden}}}}"
                f"#f{number}{{animation:k{number} {whole:.2f}s step-end infinite}}"
            )
            hidden = ' visibility="hidden"' if number else ""
            uses = "".join(
                f'<use href="#l{line}" y="{row * _LINE}"/>' for row, line in enumerate(frame)
            )
            body.append(f'<g id="f{number}"{hidden}>{uses}</g>')
        lines = "".join(
            f'<g id="l{number}">{_line(line)}</g>' for line, number in self._lines.items()
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
            f'font-family="ui-monospace,Menlo,Consolas,DejaVu Sans Mono,monospace" '
            f'font-size="{_FONT}"><title>evalbench: set up, watch, read and compare runs</title>'
            f"<style>{''.join(styles)}"
            "@media (prefers-reduced-motion){g{animation:none!important}}</style>"
            f'<defs>{lines}</defs><rect width="100%" height="100%" rx="8" fill="{_BACK}"/>'
            f'<g transform="translate(10 10)">{"".join(body)}</g></svg>\n'
        )


def _line(line: Sequence[Piece]) -> str:
    """Backgrounds, then texts; each as wide as its cells, whatever the font."""
    boxes, texts, x = [], [], 0
    for text, front, back, bold, underlined in line:
        wide = len(text)
        if back != _BACK:
            box = f'<rect x="{x * _CELL:.1f}" width="{wide * _CELL:.1f}" height="{_LINE}"'
            boxes.append(f'{box} fill="{back}"/>')
        more = ' font-weight="bold"' * bold + ' text-decoration="underline"' * underlined
        # Viewers join spaces: what is further apart is placed by itself.
        for word in re.finditer(r"\S+(?: \S+)*", text):
            start, long = (x + word.start()) * _CELL, len(word[0]) * _CELL
            texts.append(
                f'<text x="{start:.1f}" y="13" textLength="{long:.1f}" '
                f'lengthAdjust="spacingAndGlyphs" fill="{front}"{more}>{escape(word[0])}</text>'
            )
        x += wide
    return "".join(boxes + texts)


async def record() -> Film:
    """Walk through the app."""
    from evalbench.tui.app import EvalbenchApp
    from evalbench.tui.state.draft import Draft
    from evalbench.tui.state.preferences import Preferences

    film = Film()
    app = EvalbenchApp(Preferences(welcomed=True, benchmark="quickstart", model="demo/large"))
    async with app.run_test(size=_SIZE) as pilot:

        def strips() -> list[Any]:
            return list(app.screen._compositor.render_strips())

        def shown() -> str:
            return "\n".join("".join(segment.text for segment in strip) for strip in strips())

        async def until(condition: Callable[[], Any]) -> None:
            end = time.monotonic() + _LONG_S
            while not condition():
                if time.monotonic() > end:
                    raise TimeoutError(shown())
                await pilot.pause(0.1)

        def shoot(seconds: float) -> None:
            film.add(seconds, [_pieces(strip) for strip in strips()])

        async def press(*keys: str, wait: str = "", seconds: float = 1.0) -> None:
            await pilot.press(*keys)
            if wait:
                await until(lambda: re.search(wait, shown()))
            await pilot.pause(0.3)
            shoot(seconds)

        await until(lambda: shown().count("complete") >= len(RUNS))
        await pilot.pause(0.5)
        shoot(2.0)
        app.draft = Draft(
            benchmark="quickstart",
            provider="demo",
            model="large",
            typed={"price": "3/15", "concurrency": "5"},
        )
        await press("n", wait="evalbench run quickstart", seconds=1.0)
        await until(lambda: "72 calls" in shown())
        await pilot.pause(0.5)
        shoot(2.5)
        await press("f9", wait="score and outcomes", seconds=1.0)
        for _ in range(12):
            await pilot.pause(0.6)
            shoot(0.6)
        await until(lambda: "complete" in shown())
        await pilot.pause(1.0)
        shoot(2.5)
        await press("v", wait="95 %", seconds=2.5)
        await press("escape", "a", wait="72 samples", seconds=1.2)
        await press("w", wait="only", seconds=1.2)
        await press("w", wait="only wrong|only right", seconds=0.8)
        await press("enter", wait="gold", seconds=2.5)
        await press("f2", wait="Home", seconds=0.8)
        for key in ("space", "down", "space"):
            await press(key, wait="marked", seconds=0.5)
        await press("c", wait="scored differently", seconds=3.0)
        await press("enter", wait="1 of ", seconds=2.5)
    return film


def _pieces(strip: Any) -> list[Piece]:
    found: list[Piece] = []
    for segment in strip:
        style = segment.style
        front = _colour(style.color, _FRONT) if style else _FRONT
        back = _colour(style.bgcolor, _BACK) if style else _BACK
        if style and style.reverse:
            front, back = back, front
        look = front, back, bool(style and style.bold), bool(style and style.underline)
        if found and found[-1][1:] == look:
            found[-1] = (found[-1][0] + segment.text, *look)
        elif segment.text:
            found.append((segment.text, *look))
    return found


def _colour(colour: Any, otherwise: str) -> str:
    return colour.triplet.hex if colour is not None and colour.triplet else otherwise


def main() -> None:
    """Make the runs, then the film."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {
            "EVALBENCH_HOME": folder,
            "PYTHONPATH": PLUGINS,
            "DEMO_LATENCY": "0.01",
            "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
        }
        for name in ("NO_COLOR", "SSH_CONNECTION"):
            os.environ.pop(name, None)
        sys.path.insert(0, PLUGINS)
        for words in RUNS:
            evalbench(f"{words} --yes")
        os.environ["DEMO_LATENCY"] = "1.5"
        film = asyncio.run(record())
    (FOLDER / "demo.svg").write_text(film.svg(_SIZE[0]), "utf-8")


if __name__ == "__main__":
    main()
