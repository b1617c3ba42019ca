"""``evalbench benchmarks NAME --prompts N``: what would be asked, without any model or key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.commandline import CommandLine
from tests.e2e.schema import check_line


def test_every_role_is_seen_with_made_up_replies_between(
    cli: CommandLine, shared_data: Path
) -> None:
    done = cli(
        "benchmarks", "mt-bench", "--prompts", "2", "--data", str(shared_data / "mt_bench"),
        "--category", "math", "--judge", "openai/gpt-5-mini,max-tokens=77",
        "--judge", "anthropic/claude-haiku-4-5", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert len(done.lines) == 2
    for line in done.lines:
        check_line(line)
        assert line["tags"] == {"category": "math"}
        assert line["unfinished"] == ""
        judges = ["judge/openai/gpt-5-mini", "judge/anthropic/claude-haiku-4-5"]
        asked = [(call["role"], call["step"]) for call in line["calls"]]
        assert asked == [
            ("candidate", "turn-1"),
            ("candidate", "turn-2"),
            *((judge, f"rate-{turn}") for judge in judges for turn in (1, 2)),
        ]
        second = line["calls"][1]["prompt"]["messages"]
        assert second[1]["parts"] == [{"text": line["calls"][0]["reply"]}]
        caps = [call["prompt"]["params"]["max_tokens"] for call in line["calls"]]
        assert caps[:3] == [1024, 1024, 77]
    assert cli.runs() == []


def test_people_read_it_as_text_and_a_judge_stands_in_for_those_to_come(
    cli: CommandLine, shared_data: Path
) -> None:
    done = cli("benchmarks", "mt-bench", "--prompts", "1", "--data", str(shared_data / "mt_bench"))
    assert done.code == 0, done.err
    assert "to candidate, turn-2\n" in done.out
    assert "to judge, rate-1\n" in done.out
    assert "[assistant]\n    (made-up reply to turn-1)\n" in done.out
    assert done.out.count("sample ") == 1


@pytest.mark.slow
def test_choices_settings_and_filters_are_those_of_a_run(
    cli: CommandLine, shared_data: Path
) -> None:
    data = ("--data", str(shared_data / "mmlu"))
    done = cli(
        "benchmarks", "mmlu", "--prompts", "3", *data, "--limit", "2", "--shots", "1", "--json"
    )
    assert done.code == 0, done.err
    assert len(done.lines) == 2
    [call] = done.lines[0]["calls"]
    assert call["prompt"]["continuations"] == [" A", " B", " C", " D"]
    assert call["prompt"]["messages"][0]["role"] == "context"
    wrong = cli("benchmarks", "mmlu", "--prompts", "1", *data, "--subject", "anatmy")
    assert wrong.code == 1
    assert "did you mean anatomy" in wrong.err


@pytest.mark.slow
def test_pictures_are_told_by_kind_and_size(cli: CommandLine, shared_data: Path) -> None:
    done = cli(
        "benchmarks", "openseesime", "--prompts", "1", "--max-side", "200",
        "--data", str(shared_data / "openseesime"),
    )  # fmt: skip
    assert done.code == 0, done.err
    [line] = [line for line in done.out.splitlines() if "<image/" in line]
    assert "200 × " in line
    assert line.endswith("kB>")


def test_a_benchmark_of_ones_own_by_its_file(cli: CommandLine) -> None:
    assert cli("new-benchmark", "capitals").code == 0
    done = cli("benchmarks", "capitals.toml", "--prompts", "1")
    assert done.code == 0, done.err
    assert "to candidate, answer" in done.out


def test_an_error_in_the_place_of_an_answer_is_told_where_it_ends(
    cli: CommandLine, tmp_path: Path, shared_data: Path
) -> None:
    folder = shared_data / "speceval" / "sample"
    answers = tmp_path / "answers" / "results"
    answers.mkdir(parents=True)
    [first, *_] = sorted((folder / "inputs").glob("*.json"))

    said = [{"input_text": "Hello", "output_text": "ERROR: overloaded"}]
    (answers / first.name).write_text(json.dumps(said))
    done = cli(
        "benchmarks", "spec-comply", "--data", str(folder / "specs" / "sample.jsonl"),
        "--answers", f"one={answers.parent}", "--prompts", "1",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "not followed any further: NoAnswer" in done.out


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--prompts", "1"), "--prompts needs a benchmark"),
        (("synthetic", "--prompts", "0"), "--prompts must be at least 1"),
        (("synthetic", "--prompts", "many"), "--prompts takes a whole number"),
        (("synthetik", "--prompts", "1"), "did you mean synthetic"),
        (("suite.toml", "--prompts", "1"), "there is no such file"),
        (("synthetic", "--prompts", "1", "--limitt", "3"), "did you mean --limit"),
    ],
)
def test_mistakes(cli: CommandLine, words: tuple[str, ...], said: str) -> None:
    done = cli("benchmarks", *words)
    assert done.code == 1
    assert said in done.err
    assert done.out == ""


def test_where_questions_come_from_and_who_is_asked(cli: CommandLine) -> None:
    lines = {line["name"]: line for line in cli("benchmarks", "--json").lines}
    for name, source in (
        ("quickstart", "come with evalbench"),
        ("mt-bench", "lmsys/mt-bench"),
        ("code-prediction", "none of its own"),
        ("spec-rank", "none of its own"),
        ("synthetic", "its own"),
    ):
        assert source in lines[name]["data_source"]
    assert lines["mt-bench"]["roles"] == ["candidate", "judge"]
    assert lines["mmlu"]["roles"] == ["candidate"]
    shown = cli("benchmarks", "mt-bench").out
    assert f"questions: {lines['mt-bench']['data_source']}\n" in shown
    assert "asks: the model under test (--model), judges (--judge" in shown
