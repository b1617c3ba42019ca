"""Themes: legible ones that ship, and the user's own, which harm nothing when they are bad."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import textual.widgets
from rich.color import ColorSystem
from textual.color import Color
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.theme import Theme

import evalbench.tui.app
from evalbench.tui import screens, widgets
from evalbench.tui.state.theme_files import theme_files, theme_names, themes_dir
from evalbench.tui.themes import DEFAULT, _variables, load_shipped, load_themes, theme_faults
from tests.contrast import ratio

SHIPPED = {
    "ansi",
    "colour-blind-safe",
    "evalbench-dark",
    "evalbench-light",
    "high-contrast",
    "monochrome",
}
GROUNDS = ("background", "surface", "panel")
TEXTS = (
    "foreground",
    "text",
    "text-muted",
    "text-primary",
    "text-secondary",
    "text-accent",
    "text-success",
    "text-warning",
    "text-error",
    "footer-key-foreground",
    "footer-description-foreground",
)
FILLED = ("primary", "secondary", "accent", "success", "warning", "error")
PAIRS = [
    *((text, ground) for text in TEXTS for ground in GROUNDS),
    *(("text", ground) for ground in FILLED),
    *(("button-color-foreground", ground) for ground in FILLED),
    ("block-cursor-foreground", "block-cursor-background"),
    ("input-cursor-foreground", "input-cursor-background"),
]


@pytest.fixture
def own(home: Path) -> Path:
    folder = themes_dir()
    folder.mkdir(parents=True)
    return folder


def shipped(name: str) -> Theme:
    return next(theme for theme in load_themes()[0] if theme.name == name)


def on(ground: Color, value: str) -> Color:
    """The colour that text of this style value has on ``ground``, as Textual mixes it."""
    name, _, percent = value.partition(" ")
    alpha = float(percent.rstrip("%")) / 100 if percent else 1.0
    colour = ground.get_contrast_text(1.0) if name == "auto" else Color.parse(name)
    return ground + colour.with_alpha(alpha * colour.a)


def test_those_that_ship(home: Path) -> None:
    themes, problems = load_themes()
    assert {theme.name for theme in themes} == SHIPPED
    assert not problems
    assert set(theme_names()) == SHIPPED
    assert DEFAULT in SHIPPED
    assert [fault for file in theme_files() for fault in theme_faults(file, {})] == []


def test_one_that_ships_is_found_by_its_name_alone(home: Path) -> None:
    for theme in load_themes()[0]:
        assert load_shipped(theme.name) == theme
    for name in ("nope", "../themes/ansi", "/etc/passwd", "ansi.toml", "a\0b", ""):
        assert load_shipped(name) is None


def in_256_colours(colour: Color) -> Color:
    """What a terminal without 24-bit colours is sent instead."""
    reduced = colour.rich_color.downgrade(ColorSystem.EIGHT_BIT)
    return Color.from_rich_color(reduced)


@pytest.mark.parametrize("reduced", [lambda colour: colour, in_256_colours], ids=["24 bit", "256"])
@pytest.mark.parametrize("name", sorted(SHIPPED - {"ansi"}))
def test_text_stands_out(home: Path, name: str, reduced: Callable[[Color], Color]) -> None:
    theme = shipped(name)
    values = {**theme.to_color_system().generate(), **theme.variables}
    least = 7.0 if name == "high-contrast" else 4.5
    poor = []
    for text, ground in PAIRS:
        below = Color.parse(values[ground])
        if (found := ratio(reduced(on(below, values[text])), reduced(below))) < least:
            poor.append(f"{text} on {ground}: {found:.1f}")
    assert not poor


@pytest.mark.parametrize("name", sorted(SHIPPED - {"ansi"}))
def test_text_can_be_read_in_16_colours(home: Path, name: str) -> None:
    def reduced(colour: Color) -> Color:
        return Color(*colour.rich_color.downgrade(ColorSystem.STANDARD).get_truecolor())

    theme = shipped(name)
    values = {**theme.to_color_system().generate(), **theme.variables}
    poor = []
    for text, ground in PAIRS:
        below = Color.parse(values[ground])
        if (found := ratio(reduced(on(below, values[text])), reduced(below))) < 3:
            poor.append(f"{text} on {ground}: {found:.1f}")
    assert not poor


@pytest.mark.parametrize("name", sorted(SHIPPED - {"ansi"}))
def test_grounds_stay_grey_in_256_colours(home: Path, name: str) -> None:
    values = shipped(name).to_color_system().generate()
    for ground in GROUNDS:
        parts = in_256_colours(Color.parse(values[ground])).rgb
        assert max(parts) - min(parts) <= 8, ground


def test_the_ansi_theme_leaves_the_terminal_its_background(home: Path) -> None:
    values = shipped("ansi").to_color_system().generate()
    assert values["background"] == values["foreground"] == values["text"] == "ansi_default"
    colours = [value for name, value in values.items() if "style" not in name]
    assert not [value for value in colours if value.startswith(("#", "rgb"))]


GOOD = 'name = "mine"\nprimary = "#336699"\n'


def test_a_theme_of_the_users(own: Path) -> None:
    (own / "mine.toml").write_text(GOOD + '[variables]\nborder = "red 50%"\ntext = "auto 70%"\n')
    themes, problems = load_themes()
    assert "mine" in {theme.name for theme in themes}
    assert not problems
    assert "mine" in theme_names()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('name = "mine"', "no primary colour"),
        ('primary = "#123456"', "its name must be"),
        ('name = 3\nprimary = "#123456"', "its name must be"),
        ('name = "[red]x"\nprimary = "#123456"', "its name must be"),
        ('name = "ansi"\nprimary = "#123456"', "a theme 'ansi' already"),
        ('name = "nord"\nprimary = "#123456"', "a theme 'nord' already"),
        (GOOD + 'backgruond = "#000"', "no field 'backgruond', did you mean background"),
        (GOOD + 'error = "reddish"', "error cannot be 'reddish'"),
        (GOOD + "error = 7", "error cannot be 7"),
        (GOOD + 'dark = "yes"', "dark cannot be 'yes'"),
        (GOOD + "luminosity_spread = 9", "luminosity_spread must be between 0 and 1"),
        (GOOD + "text_alpha = true", "text_alpha must be between 0 and 1"),
        (GOOD + 'variables = "no"', "variables is not a table"),
        (GOOD + '[variables]\nbordre = "red"', "no variable 'bordre', did you mean border"),
        (GOOD + '[variables]\nborder = "reddish"', "border cannot be 'reddish'"),
        (GOOD + '[variables]\nborder = "auto 50%"', "border cannot be 'auto 50%'"),
        (GOOD + '[variables]\nborder = "Red"', "border cannot be 'Red'"),
        (GOOD + '[variables]\nborder = ""', "border cannot be ''"),
        (GOOD + '[variables]\nbackground-darken-1 = "red 50%"', "background-darken-1 cannot be"),
        (GOOD + '[variables]\ntext-primary = "auto"', "text-primary cannot be 'auto'"),
        (GOOD + "[variables]\nborder = 3", "border cannot be 3"),
        (GOOD + '[variables]\nborder = "$primary"', "border cannot be '$primary'"),
        (GOOD + '[variables]\nborder = "red; } * { display: none"', "border cannot be"),
        (GOOD + '[variables]\nlink-style = "green"', "link-style cannot be 'green'"),
        ("name = ", "it is not TOML"),
        ("x = " + "[" * 5000, "it is not TOML"),
    ],
)
def test_a_bad_theme_is_told_and_harms_nothing(own: Path, text: str, told: str) -> None:
    (own / "bad.toml").write_text(text)
    (own / "good.toml").write_text('name = "good"\nprimary = "#336699"\n')
    themes, problems = load_themes()
    assert {theme.name for theme in themes} == {*SHIPPED, "good"}
    assert len(problems) == 1
    assert problems[0].startswith("theme bad.toml is not used: ")
    assert told in problems[0]


def test_files_that_are_no_text(own: Path) -> None:
    (own / "binary.toml").write_bytes(b"\xff\xfe\x00")
    (own / "folder.toml").mkdir()
    (own / "huge.toml").write_text("#" * 200_000)
    (own / "lost.toml").symlink_to(own / "nowhere")
    themes, problems = load_themes()
    assert {theme.name for theme in themes} == SHIPPED
    assert len(problems) == 4


def test_two_of_one_name(own: Path) -> None:
    (own / "a.toml").write_text(GOOD)
    (own / "b.toml").write_text(GOOD)
    themes, problems = load_themes()
    assert [theme.name for theme in themes].count("mine") == 1
    assert problems == ["theme b.toml is not used: there is a theme 'mine' already"]


def test_a_problem_holds_no_control_characters(own: Path) -> None:
    (own / "bad.toml").write_text('name = "\\u001b[31mx"\nprimary = "\\u001b]0;x"\n')
    (problem,) = load_themes()[1]
    assert "\x1b" not in problem


def style_sheets() -> Iterator[tuple[str, str]]:
    """Of every widget that there is, Textual's and ours."""
    for name in vars(textual.widgets)["__all__"]:
        getattr(textual.widgets, name)
    for room in (screens, widgets):
        for module in pkgutil.iter_modules(room.__path__, f"{room.__name__}."):
            importlib.import_module(module.name)
    waiting: list[type[DOMNode]] = [DOMNode]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if sheet := kind.__dict__.get("DEFAULT_CSS"):
            yield kind.__qualname__, sheet
    yield "app", (Path(evalbench.tui.app.__file__).parent / "app.tcss").read_text()


@pytest.mark.share(4)
@pytest.mark.parametrize(
    ("value", "variables"),
    [
        ("red 50%", 60),
        ("auto", 20),
        ("auto 40%", 20),
        ("rgb(1, 2, 3)", 150),
        ("hsl(1,2%,3%)", 150),
        ("#abcd", 150),
        ("ansi_red", 150),
        ("transparent", 150),
        ("red red", 0),
        ("bold", 10),
        ("not bold", 10),
        ("none", 10),
        ("reverse dim", 10),
    ],
)
def test_a_value_that_is_taken_is_good_for_every_style_sheet(
    own: Path, value: str, variables: int
) -> None:
    known = sorted(_variables())
    for number, name in enumerate(known):
        text = f'name = "n{number}"\nprimary = "#336699"\n[variables]\n{name} = "{value}"\n'
        (own / f"{number}.toml").write_text(text)
    taken: dict[str, str] = {}
    for theme in load_themes()[0]:
        if theme.name not in SHIPPED:
            theme.to_color_system().generate()
            taken |= theme.variables
    assert len(taken) >= variables
    base = Theme("base", "#336699").to_color_system().generate()
    sheets = Stylesheet(variables=base | taken)
    for where, sheet in style_sheets():
        sheets.add_source(sheet, read_from=(where, ""), is_default_css=True)
    sheets.parse()
