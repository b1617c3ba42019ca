"""``evalbench translate``: the commands of the systems that users come from."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import pytest

from evalbench.engine.errors import UsageError
from evalbench.engine.formats.command_lines import (
    SCRIPTS,
    Translation,
    hint,
    split_commands,
    translate,
)
from evalbench.engine.installed import install_command
from evalbench.tui.cli.commands import COMMANDS
from evalbench.tui.cli.main import main
from evalbench.tui.cli.parser import Parser


def translated(text: str) -> Translation:
    [words] = split_commands(text)
    return translate(words)


def parses(words: Sequence[str]) -> None:
    """The command takes these words; whether its files are there is not looked at."""
    if words[0] != "evalbench":
        assert {"pip", "install"} <= set(words)
        return
    module = import_module(f"evalbench.tui.cli.{COMMANDS[words[1]].module}")
    parser = Parser(words[1], "x")
    module.declare(parser, words[2:])
    parser.read(words[2:])


MMLU = "python run_experiment.py --exp-path experiments/a --desc 'my run'"
CODE = "python -m src.models.bedrock_claude.cli --dataset me/set"
SPEC = "python -m batched_examples.run_batched_generation --spec-path s.jsonl"
TOGETHER = "python -m batched_examples.together_batch_inference --model-name Qwen/Q"
EXAMPLES = {
    "python llama_medium_claude.py": [
        "run openseesime --set structural --model anthropic/claude-sonnet-4-5-20250929"
        " --prompt original",
        "export last --format openseesime -o claude_benchmark_results.csv",
    ],
    f"{MMLU} --df-path gone.parquet --max-questions 100 --save-frequency 5": [
        "run mmlu --prompt original --model anthropic/claude-3-5-sonnet-20241022 --desc 'my run'"
        " --limit 100 --tag a",
        "export last --format mmlu-experiment -o experiments/a",
    ],
    "python scripts/run_mmlu_eval.py --experiment b --desc d --api deepseek"
    " --prompt-style=permuted": [
        "--model deepseek/deepseek-chat --desc d --style permuted --tag b"
    ],
    "python scripts/run_mmlu_eval.py --experiment c --desc d --df-path gone --alternative-mode"
    " all_answers": ["--desc d --alternatives all --style permuted --tag c"],
    f"{CODE} --task both --pred-num-problems 40 --choice-num-problems 0 --choice-runs 1"
    " --pred-skip-boolean --region eu-west-1 --output-dir out": [
        "run code-prediction --model-id us.anthropic.claude-sonnet-4-5-20250929-v1:0 --dataset"
        " me/set --region eu-west-1 --limit 40 --skip-booleans --seed 42",
        "run code-choice --model-id us.anthropic.claude-sonnet-4-5-20250929-v1:0 --dataset"
        " me/set --region eu-west-1 --runs 1 --seed 123",
        "export last~1 last --format bedrock -o out",
    ],
    f"{CODE} --compare-reasoning --comparison-samples 7 --pred-samples 3 --enable-thinking": [
        "--limit 3 --seed 42 --enable-thinking",
        "--compare-effort low,medium,high --limit 7",
        "export last~1 --format bedrock",
    ],
    "OPENAI_API_KEY=x python3 -m src.cli --models gpt2-large llama-3.2-1b --max-questions 5"
    " --judge-model gpt-4o-mini --memory-limit 8.0 --output-dir r": [
        "run mt-bench --model local/gpt2-large --model local/llama-3.2-1b --judge"
        " openai/gpt-4o-mini --limit 5 --memory-limit 8.0",
        "export last~1 last --format mt-bench-json -o r",
    ],
    "$ python -m src.cli --list-models": ["models local"],
    f"{SPEC} --pregenerated-inputs-dir in --model-name claude-3-7-sonnet-20250219"
    " --batch-size 9 --output-base-dir out --temperature 0.0 --spec-name openai --verbose": [
        "run spec-generate --data s.jsonl --inputs in --model anthropic/claude-3-7-sonnet-20250219"
        " --mode batch --batch-size 9 --temperature 0.0 --results-dir out --spec-name openai",
    ],
    f"{SPEC} --model-name x --org google": ["--model google/x --mode batch"],
    f"{TOGETHER} --pregenerated-inputs-dir a/google/b --batch-size 10 --qps 4 -v": [
        "run spec-generate --data data/specs/google/jsonl/google.jsonl --inputs a/google/b"
        " --model together/Qwen/Q --concurrency 10 --qps 4",
    ],
    "python examples/generate_google_models.py --spec-path s --model-name 'gemini-1.5-pro\t'": [
        "--model google/gemini-1.5-pro",
    ],
    "python -m batched_examples.run_batched_ranking --config-file c/x.yaml": ["run c/x.yaml"],
    "python -m batched_examples.run_batched_ranking --spec-name g --spec-path s.jsonl"
    " --candidate-generation-dirs a/results b/results --ranking-judge-model-name gemini-2.0"
    " --ranking-judge-org google --input-bucket gs://x --batch-size 3 --temperature 0.0": [
        "run spec-rank --data s.jsonl --answers a/results --answers b/results --judge"
        " google/gemini-2.0,temperature=0.0 --mode batch --batch-size 3"
        " --results-dir data/judgements --spec-name g",
    ],
    "python -m batched_examples.batched_binary_compliance_google --config-file g.yaml": [
        "run g.yaml",
    ],
    "./download_mmlu.sh": ["data fetch mmlu"],
    "python test_claude_api.py": ["keys test anthropic"],
    "python scripts/test_api.py": ["keys test"],
    "security add-generic-password -a me -s deepseek-api-key -w secret": ["keys set deepseek"],
    "huggingface-cli login": ["keys set huggingface"],
    "export ANTHROPIC_API_KEY='x'": ["keys set anthropic"],
    '$env:OPENAI_API_KEY="x"': ["keys set openai"],
    "aws bedrock-runtime converse --model-id arn:aws:bedrock:us-east-1:1:inference-profile/us.a"
    ' --additional-model-request-fields \'{"thinking":{"budget_tokens":2000}}\''
    " --region us-east-1": ["probe bedrock/us.a --region us-east-1 --thinking-budget 2000"],
    "pip install anthropic opencv-python": [install_command("anthropic", "vision")],
}


@pytest.mark.parametrize("text", EXAMPLES)
def test_commands_become_ours(text: str) -> None:
    found = translated(text)
    lines = [line.replace("'", "") for line in map(" ".join, found.commands)]
    for wanted in EXAMPLES[text]:
        assert any(wanted.replace("'", "") in line for line in lines), (wanted, lines)
    for words in found.commands:
        parses(words)


def test_what_has_no_equal_is_told() -> None:
    notes = "\n".join(translated(f"{MMLU} --save-frequency 5").notes)
    assert "--save-frequency: every reply is kept" in notes
    told = translated(f"{SPEC} --model-name gpt-4.1 --openai-api-key secret-one --verbose")
    assert "secret-one" not in str(told)
    assert any(note.startswith("--openai-api-key: keys come from") for note in told.notes)
    assert translated("cd somewhere").commands == []
    made = translated("python scripts/run_answer_generator.py --df-path x --api claude --seed 1")
    assert not made.commands
    assert "a table of them is read: run mmlu --data FILE" in made.notes[0]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("python train.py --lr 3", "no command of a system that is known"),
        ("python -m src.cli --model gpt2", "--model is no flag of the MT-bench Evaluation System"),
        ("python -m src.cli --max-questions", "lacks its value"),
        ("python -m src.cli gpt2", "belongs to no flag"),
        (f"{CODE} --task all", "allowed: prediction, choice, both"),
        ("python", "no command of a system"),
    ],
)
def test_what_is_not_known_is_explained(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        translated(text)


def test_unknown_flags_of_ours_get_a_hint_from_the_same_table(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", "mt-bench", "--max-questions", "5"]) == 1
    assert "it is --limit here" in capsys.readouterr().err
    for flag, ours in (
        ("--pregenerated-inputs-dir", "--inputs"),
        ("--output-base-dir", "--results-dir"),
        ("--pred-samples", "--limit"),
        ("--save-frequency", "every reply is kept"),
        ("--task", "the benchmark's name"),
    ):
        assert ours in hint(flag)
    assert hint("--nonsense") == ""
    assert main(["python", "-m", "src.cli", "--models", "x"]) == 1
    assert "evalbench translate python -m src.cli" in capsys.readouterr().err


def test_a_pasted_block_is_read_from_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    block = "# test\npython -m src.cli \\\n  --models gpt2-large   # one\n\npython odd.py\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO(block))
    assert main(["translate"]) == 1
    out = capsys.readouterr().out
    assert "\nevalbench run mt-bench --model local/gpt2-large --judge openai/gpt-5-mini\n" in out
    assert "# not known: python odd.py" in out
    assert main(["translate", "python", "-m", "src.cli", "--list-models"]) == 0
    assert capsys.readouterr().out == "evalbench models local\n"


def test_an_experiment_that_is_here_is_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "experiments" / "a").mkdir(parents=True)
    (tmp_path / "experiments" / "a" / "config.json").write_text("{}")
    run, export = translated(f"{MMLU} --df-path d.parquet").commands
    assert run[5:7] == ["--data", "experiments/a"]
    assert export[-1] == "experiments/a_out"


def test_a_file_of_variables_that_is_here_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "--env-file" not in translated(f"{CODE} --enable-galileo").commands[0]
    Path(".env").write_text("GALILEO_API_KEY=x\n")
    run = translated(f"{CODE} --enable-galileo").commands[0]
    assert run[run.index("--env-file") + 1] == ".env"
    parses(run)
    assert "--env-file" not in translated(CODE).commands[0]


def test_every_script_says_what_its_flags_are() -> None:
    for name, script in SCRIPTS.items():
        for flag, told in script.flags.items():
            assert told.ours or told.why, (name, flag)


def test_every_command_of_the_documents_has_an_equal(shared_data: Path) -> None:
    """Each is read, and what is to be typed instead is taken by our own commands."""
    sources = shared_data.parent / "sources"
    if not sources.is_dir():
        pytest.skip("the documents are not beside this checkout")
    found: list[list[str]] = []
    for document in sources.iterdir():
        blocks = document.read_text().split("\n```")
        for block in blocks:
            head, _, body = block.partition("\n")
            if head.strip() in ("bash", "cmd", "powershell"):
                found += split_commands(body)
    assert len(found) > 80
    for words in found:
        told = translate(words)
        assert told.commands or told.notes, words
        for ours in told.commands:
            parses(ours)
