"""``evalbench gpu`` and what the doctor says of cards."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.runs.status import State
from evalbench.tui.cli import doctor, gpu
from evalbench.tui.cli.main import main
from tests.pretending import pretend

GB = 1_000_000_000
CARD: dict[str, Any] = {
    "name": "Pretend [bold]9000",
    "used": 3 * GB,
    "peak": 4 * GB,
    "total": 8 * GB,
    "free": 5 * GB,
    "utilisation": 87,
    "temperature": 64,
    "power": 120.5,
    "power_limit": 170.0,
    "capability": (8, 6),
    "uuid": "GPU-1",
    "processes": {"99999999": GB, "99999998": None},
    "history": [0, 50, 100],
}
MUTE = dict.fromkeys(CARD) | {"name": "GPU", "processes": {}, "history": []}


class Pretended:
    """Stands for the reader of cards."""

    cards: list[dict[str, Any]]
    trouble: str
    driver = "590.44"

    def read(self) -> list[dict[str, Any]]:
        return self.cards


@pytest.fixture
def cards(monkeypatch: pytest.MonkeyPatch, home: Path) -> Any:
    """Says which cards there are, or why none is."""

    def say(*found: dict[str, Any], trouble: str = "") -> None:
        made = Pretended()
        made.cards, made.trouble = list(found), trouble
        monkeypatch.setattr(gpu, "Gpus", lambda: made)
        monkeypatch.setattr(doctor, "Gpus", lambda: made)

    return say


def test_each_card_with_what_it_tells(cards: Any, capsys: pytest.CaptureFixture[str]) -> None:
    cards(CARD, MUTE)
    assert main(["gpu"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "0  Pretend [bold]9000  3.0 GB of 8.0 GB (peak 4.0 GB) · 87 % busy · 64 °C · 120 of 170 W",
        "   process 99999999: 1.0 GB",
        "   process 99999998: unknown memory",
        "1  GPU  no readings",
    ]


def test_without_cards_the_reason(cards: Any, capsys: pytest.CaptureFixture[str]) -> None:
    cards(trouble="there is no NVIDIA driver")
    assert main(["gpu"]) == 0
    assert capsys.readouterr().out == "no GPU to read: there is no NVIDIA driver\n"


def test_workers_of_live_runs_are_told(cards: Any, capsys: pytest.CaptureFixture[str]) -> None:
    cards(CARD)
    gauges = {
        "worker_pid": 77,
        "memory": {"used": 2 * GB, "reserved": 3 * GB, "peak": 4 * GB},
        "measures": {"tokens_per_second": 45.33},
        "idle": 0.125,
    }
    live = pretend(model="local/gpt2-large")
    live.status(State.RUNNING, gauges=gauges)
    pretend(model="local/gpt2-large").status(State.RUNNING, alive=False, gauges=gauges)
    pretend(model="openai/gpt-5.2").status(State.RUNNING, gauges={"in_flight": 3})
    assert main(["gpu"]) == 0
    *_, last = capsys.readouterr().out.splitlines()
    assert last == (
        f"{live.folder.id}: worker 77  2.0 GB · 3.0 GB reserved · peak 4.0 GB · 45.3 tokens/s"
        " · 12 % idle"
    )
    assert main(["gpu", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["event"], told["cards"][0]["used"], told["driver"]) == ("gpu", 3 * GB, "590.44")
    assert [(one["run"], one["idle"]) for one in told["workers"]] == [(live.folder.id, 0.125)]


def test_each_of_several_workers_is_told(cards: Any, capsys: pytest.CaptureFixture[str]) -> None:
    cards(CARD)
    workers = [
        {"worker": "gpu 0", "pid": 7, "memory": {"used": 2 * GB}, "idle": 0.5},
        {"worker": "gpu 1", "pid": 8, "memory": {}, "tokens_per_second": 9.0},
        {"worker": "gpu 2", "pid": None},
    ]
    live = pretend(model="local/gpt2-large")
    live.status(State.RUNNING, gauges={"worker_pid": 7, "workers": workers})
    assert main(["gpu"]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        f"{live.folder.id}: worker 7 at gpu 0  2.0 GB · 50 % idle",
        f"{live.folder.id}: worker 8 at gpu 1  9.0 tokens/s",
    ]
    assert main(["gpu", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["workers"]
    assert [(one["worker"], one["node"], one["pid"]) for one in told] == [
        ("gpu 0", "", 7),
        ("gpu 1", "", 8),
    ]


def test_watching_goes_on_until_it_is_interrupted(
    cards: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cards(CARD)
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", pause)
    assert main(["gpu", "--watch", "--every", "0.5"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert pauses == [0.5] * 3
    assert lines.count("   ▁▅█ busy in the last 3 readings") == 3


@pytest.mark.parametrize("every", ["0.1", "often"])
def test_cards_are_not_read_all_the_time(
    cards: Any, capsys: pytest.CaptureFixture[str], every: str
) -> None:
    cards(CARD)
    assert main(["gpu", "--watch", "--every", every]) == 1
    assert "--every" in capsys.readouterr().err


# -- doctor ------------------------------------------------------------------------


def test_a_card_of_today(cards: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    cards(CARD)
    monkeypatch.setattr(doctor, "version", lambda name: "2.13.0+cu130")
    assert list(doctor.gpu_findings()) == [
        (
            "ok",
            "GPU: Pretend [bold]9000, 8.0 GB, compute capability 8.6, driver 590.44",
            "",
        )
    ]


def test_a_torch_that_cannot_use_the_card(cards: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    cards(CARD)
    monkeypatch.setattr(doctor, "version", lambda name: "2.13.0+cpu")
    _, (mark, what, hint) = doctor.gpu_findings()
    assert (mark, hint) == ("note", "install a build of torch for CUDA")
    assert "build for CPUs" in what


@pytest.mark.parametrize(
    ("capability", "mark", "words"),
    [
        ((7, 5), "ok", "float16 instead of bfloat16"),
        ((6, 1), "note", "too old for today's torch"),
        (None, "ok", "GPU: Pretend"),
    ],
)
def test_an_old_card_gets_a_clear_line(
    cards: Any, capability: tuple[int, int] | None, mark: str, words: str
) -> None:
    cards({**CARD, "capability": capability})
    found = next(iter(doctor.gpu_findings()))
    assert found[0] == mark
    assert words in found[1]


@pytest.mark.parametrize(
    ("trouble", "mark", "words"),
    [
        ("there is no NVIDIA driver", "ok", "none found; local models run on the CPU"),
        ("the NVIDIA driver sees no card", "ok", "none found"),
        ("an NVIDIA driver is installed but not loaded", "note", "not loaded"),
        ("the NVIDIA driver does not answer: mismatch", "note", "mismatch"),
    ],
)
def test_why_there_is_no_card(
    cards: Any, monkeypatch: pytest.MonkeyPatch, trouble: str, mark: str, words: str
) -> None:
    cards(trouble=trouble)
    monkeypatch.setattr(doctor, "_card_in_sight", lambda: False)
    ((found, what, hint),) = doctor.gpu_findings()
    assert found == mark
    assert words in what
    assert bool(hint) is (mark == "note")


def test_a_card_without_a_driver_is_seen_on_the_bus(cards: Any, tmp_path: Path) -> None:
    for name, vendor, kind in (("0", "0x8086", "0x030000"), ("1", "0x10de", "0x040300")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "vendor").write_text(vendor + "\n")
        (tmp_path / name / "class").write_text(kind + "\n")
    assert not doctor._card_in_sight(tmp_path)
    (tmp_path / "1" / "class").write_text("0x030200\n")
    assert doctor._card_in_sight(tmp_path)


def test_a_missing_driver_with_a_card_is_a_note(
    cards: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cards(trouble="there is no NVIDIA driver")
    monkeypatch.setattr(doctor, "_card_in_sight", lambda: True)
    ((mark, what, _),) = doctor.gpu_findings()
    assert (mark, "but no driver" in what) == ("note", True)
