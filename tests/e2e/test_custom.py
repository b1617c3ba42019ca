"""A benchmark of one's own, from the example to a score."""

from __future__ import annotations

import pytest

from tests.e2e.commandline import CommandLine
from tests.simulator.handle import Handle


def test_the_example_runs_and_survives_its_files(cli: CommandLine) -> None:
    done = cli("new-benchmark", "capitals")
    assert done.code == 0, done.err
    here = cli.home.parent
    files = [here / "capitals.toml", here / "capitals.csv"]
    assert all(file.is_file() for file in files)
    again = cli("new-benchmark", "capitals")
    assert (again.code, "exists already" in again.err) == (1, True)
    counted = cli("estimate", "capitals.toml", "--model", "scripted/good", "--json")
    assert counted.lines[0]["samples"] == 6
    done = cli("run", "capitals.toml", "--model", "scripted/good", "--json", "--limit", "3")
    assert done.code == 0, done.err
    assert done.lines[-1]["metrics"]["accuracy"]["n"] == 3
    for file in files:
        file.unlink()
    shown = cli("show", "last")
    assert shown.code == 0
    assert "By group" in shown.out
    assert "capitals × scripted/good" in shown.out
    assert "-capitals-good" in shown.out
    assert "\ngold: B) Mercury\n" in cli("show", "last", "--sample", "1").out
    resumed = cli("resume", "last", "--json")
    assert resumed.code == 0, resumed.err
    assert resumed.lines[-1]["metrics"]["accuracy"]["n"] == 3


def test_a_mistake_names_the_place(cli: CommandLine) -> None:
    cli("new-benchmark", "mine")
    file = cli.home.parent / "mine.toml"
    file.write_text(file.read_text().replace("{{ a }}", "{{ aa }}"))
    done = cli("run", "mine.toml", "--model", "scripted/good")
    assert done.code == 1
    assert "mine.csv, row 1" in done.err
    assert "line 13: [prompt] template: the table has no column 'aa'" in done.err


def test_the_judged_template_runs_whole(cli: CommandLine, sim: Handle) -> None:
    done = cli("new-benchmark", "polite", "--template", "judged")
    assert "evalbench run polite.toml --judge PROVIDER/NAME" in done.out
    place = ("--model", "compatible/mine", "--base-url", sim.base_url("custom"))
    alone = cli("run", "polite.toml", *place)
    assert (alone.code, "--judge" in alone.err) == (1, True)
    sim.rule("^Write a two-line", text="Many happy returns!")
    sim.rule("^Explain to a child", text="Light is scattered.")
    sim.rule("Task: Write a two-line.*Answer: Many happy", text="Warm and short. [[9]]")
    sim.rule("Task: Explain to a child.*no formulas", text="Correct, but dry. Rating: [[6]]")
    judges = [
        word
        for name in ("one", "two")
        for word in ("--judge", f"compatible/{name},base-url={sim.base_url('custom')}")
    ]
    done = cli("run", "polite.toml", *place, *judges, "--json")
    assert done.code == 0, done.err
    assert done.lines[-1]["metrics"]["rating"]["value"] == 7.5
    shown = cli("show", "last").out
    assert "polite × compatible/mine" in shown
    sample = cli("show", "last", "--sample", "1").out
    assert "Many happy returns!" in sample
    assert "Warm and short. [[9]]" in sample


@pytest.mark.slow
def test_modules_beside_a_benchmark_are_never_imported(cli: CommandLine) -> None:
    cli("new-benchmark", "theirs")
    here = cli.home.parent
    for name in ("orjson", "yaml", "jinja2", "zstandard", "pandas", "keyring", "evalbench_testing"):
        (here / f"{name}.py").write_text(f"open({str(here / 'it-ran')!r}, 'a').write({name!r})\n")
    # As installed: `python -m`, which tests use, looks into the current folder.
    code = "import sys; from evalbench.tui.cli.main import main; sys.exit(main(sys.argv[1:]))"
    words = ("run", "theirs.toml", "--model", "scripted/good", "--limit", "2", "--json")
    done = cli.finish(cli.start_python("-P", "-c", code, *words))
    assert done.code == 0, done.err
    assert not (here / "it-ran").exists()
