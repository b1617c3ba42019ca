"""``evalbench report``: from real runs to files, and the page in a real browser."""

from __future__ import annotations

import asyncio
import base64
import io
from pathlib import Path

import pytest
from PIL import Image

from evalbench.tui.cli.main import main
from tests.e2e.browser import Browser, chromium, until
from tests.e2e.commandline import CommandLine
from tests.e2e.schema import check_line
from tests.reported import HOSTILE, KEY, large_run, mmlu_run

LARGEST = 3_000_000


def test_a_report_lies_with_its_run_unless_told_otherwise(cli: CommandLine, tmp_path: Path) -> None:
    assert cli("run", "synthetic", "--model", "scripted/good", "--size", "20").code == 0
    (run,) = cli.runs()
    done = cli("report", "last", "--json")
    assert (done.code, done.err) == (0, "")
    (line,) = done.lines
    check_line(line)
    assert line["runs"] == [run.id]
    assert line["files"] == [str(run.path / "report.html")]
    assert "synthetic × scripted/good" in (run.path / "report.html").read_text()

    places = [tmp_path / "out" / name for name in ("report.html", "report.md")]
    told = cli("report", run.id, "-o", str(places[0]), "-o", str(places[1])).out
    assert [line.partition(" written, ")[0] for line in told.splitlines()] == list(map(str, places))
    drawn = cli("report", "last", "--plots", "-")
    assert drawn.code == 0
    assert "█" in drawn.out
    assert "written" not in drawn.out


@pytest.mark.slow
def test_plots_and_mistakes(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = mmlu_run(["B", "A"]).id, mmlu_run(["B", "B"], "openai/gpt-5").id
    monkeypatch.setenv("MPLBACKEND", "module://of_some_notebook")
    assert main(["report", first, second, "--plots", "plots"]) == 0
    told = capsys.readouterr().out
    kinds = {path.suffix for path in (tmp_path / "plots").iterdir()}
    assert kinds == {".svg", ".png"}
    assert "01-scores.png written" in told
    assert not list(tmp_path.glob("**/report.html"))

    assert main(["report", first, "-o", "-"]) == 0
    assert capsys.readouterr().out.startswith("<!-- evalbench report -->\n# ")
    assert main(["report", first, "-o", "-", "--format", "html"]) == 0
    assert "<!doctype html>" in capsys.readouterr().out.lower()
    assert main(["report", first, "--format", "md", "-o", "any-name"]) == 0
    assert (tmp_path / "any-name").read_text().startswith("<!-- evalbench report -->")
    summary = tmp_path / "step_summary"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    for _ in range(2):
        assert main(["report", first, "-o", str(summary)]) == 0
    assert summary.read_text().startswith("before\n")
    assert summary.read_text().count("<!-- evalbench report -->") == 2
    capsys.readouterr()

    for name, begins in (("json", "{"), ("jsonl", '{"run"'), ("csv", "run,"), ("junit", "<?xml")):
        assert main(["export", first, "--format", name, "-o", "-"]) == 0
        assert capsys.readouterr().out.startswith(begins)
    assert main(["export", first, "--format", "lm-eval", "-o", "-"]) == 1
    assert "several files" in capsys.readouterr().err
    assert main(["show", first, "--fail-under", "accuracy=1"]) == 8
    assert main(["show", first, "--fail-under", "accuracy.high=0.1"]) == 0
    assert main(["show", first, "--sample", "1", "--fail-under", "accuracy=1"]) == 1
    assert main(["report", first, "-o", "-", "--plots", str(tmp_path / "none")]) == 1
    capsys.readouterr()

    for words, said in (
        ([first, second], "a report on several runs needs a file to write to"),
        ([first, first, "-o", "a.html"], "a run is named twice"),
        ([first, "-o", "a.pdf"], "a report's name ends in .html or .md"),
        ([first, "--samples", "-1"], "--samples"),
        ([first, "--json", "--plots", "-"], "--plots FOLDER"),
        (["nothing"], "there is no run 'nothing'"),
    ):
        assert main(["report", *words]) == 1
        assert said in capsys.readouterr().err
    assert not (tmp_path / "a.html").exists()


def test_nothing_in_a_run_reaches_the_terminal(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mmlu_run([HOSTILE, "B"], tag=HOSTILE)
    assert main(["report", "last", "--plots", "-"]) == 0
    told = capsys.readouterr().out
    assert all(char.isprintable() or char == "\n" for char in told)
    assert KEY not in told


async def _pixels(browser: Browser) -> Image.Image:
    return Image.open(io.BytesIO(await browser.picture())).convert("RGB")


@pytest.mark.slow
async def test_the_page_of_fourteen_thousand_samples_in_a_browser(
    home: Path, tmp_path: Path
) -> None:
    folder = await large_run(14_042)
    page = tmp_path / "report.html"
    assert main(["report", str(folder.path), "-o", str(page)]) == 0
    assert page.stat().st_size < LARGEST
    async with chromium(tmp_path) as browser:
        await browser.tell("Emulation.setScriptExecutionDisabled", value=True)
        await browser.open(page.as_uri())
        await until(lambda: browser.asked, "the page")
        looks = {}
        for scheme in ("light", "dark"):
            features = [{"name": "prefers-color-scheme", "value": scheme}]
            await browser.tell("Emulation.setEmulatedMedia", features=features)
            looks[scheme] = await _pixels(browser)
        light, dark = (sum(look.getpixel((2, 2))) for look in looks.values())
        assert light > 700
        assert dark < 150
        colours = looks["light"].getcolors(1 << 24)
        assert colours is not None
        assert len(colours) > 50, "something is drawn"
        printed = await browser.tell("Page.printToPDF", printBackground=True)
        assert base64.b64decode(printed["data"]).startswith(b"%PDF")
        assert set(browser.wanted) == {page.as_uri()}


@pytest.mark.slow
async def test_a_browser_does_nothing_of_what_a_model_said(home: Path, tmp_path: Path) -> None:
    said = [HOSTILE, "B", f"B {HOSTILE}"]
    await asyncio.to_thread(mmlu_run, said, tag=HOSTILE, desc=HOSTILE)
    page = tmp_path / "report.html"
    assert main(["report", "last", "-o", str(page)]) == 0
    async with chromium(tmp_path) as browser:
        await browser.open(page.as_uri())
        await until(lambda: browser.asked, "the page")
        await browser.tell("Page.enable")
        parts = ("scripts.length", "images.length", "links.length", "readyState")
        expression = f"[{', '.join(f'document.{part}' for part in parts)}]"
        state = ""
        while state != "complete":  # asked for is not read yet
            found = await browser.tell(
                "Runtime.evaluate", expression=expression, returnByValue=True
            )
            scripts, images, links, state = found["result"]["value"]
        assert (scripts, images) == (0, 0)
        assert links > 3, "those to its own sections"
        # Whatever a page asks for is asked for by the time that it is printed.
        await browser.tell("Page.printToPDF")
        assert set(browser.wanted) == {page.as_uri()}
