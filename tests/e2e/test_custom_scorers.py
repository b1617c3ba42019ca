"""Every scorer of a file of one's own, from the table to the number that a run reports."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from statistics import mean

import pytest
from rapidfuzz import fuzz
from rouge_score import rouge_scorer
from sacrebleu import sentence_bleu

from tests.e2e.commandline import CommandLine
from tests.simulator.handle import Handle

CALL = '{"name": "look_up", "arguments": {"word": "hamster"}}'
ROWS = (
    # what is asked, what the model says, what is right
    ("phrase", "The small hamster sleeps all day", "a small hamster sleeps"),
    ("number", "So it costs $1,234.50 in total.", "1234.5"),
    ("other", "nothing of the kind", "Paris"),
    ("same", "Paris", "paris"),
    ("object", 'Here it is:\n```json\n{"city": "Paris"}\n```', '{"city": "Paris"}'),
    ("call", f"<tool_call>{CALL}</tool_call>", CALL),
)
SCHEMA = '{"type": "object", "required": ["city"]}'
ALL_SCORERS = f"""
[benchmark]
data = "rows.csv"

[prompt]
template = "Say {{{{ row['what is asked'] }}}}"

[answer]
target = "{{{{ right | trim }}}}"

[[score]]
scorer = "exact"
weight = 3
[[score]]
scorer = "exact"
name = "as written"
read = "all"
normalize = ["space"]
[[score]]
scorer = "contains"
[[score]]
scorer = "regex"
pattern = '(?i)(paris)'
normalize = ["case"]
[[score]]
scorer = "f1"
[[score]]
scorer = "rouge"
[[score]]
scorer = "rouge"
name = "rouge of pairs"
variant = "rouge2"
[[score]]
scorer = "bleu"
[[score]]
scorer = "similarity"
[[score]]
scorer = "json"
schema = '{SCHEMA}'
[[score]]
scorer = "tool"
[[score]]
scorer = "python"
function = "brevity"
"""


NUMBERS = """
[benchmark]
data = "numbers.jsonl"

[prompt]
template = "Say {{ name }}"

[answer]
target = "right"
scorer = "numeric"
tolerance = 0.01
"""


def run(cli: CommandLine, sim: Handle, file: str, *more: str) -> Mapping[str, float]:
    """The value of every metric of a run, those by scorer included."""
    place = ("--model", "compatible/mine", "--base-url", sim.base_url("custom"))
    done = cli("run", file, *place, *more, "--json")
    assert done.code == 0, done.err
    (shown,) = cli("show", "last", "--json").lines
    return {name: metric["value"] for name, metric in shown["metrics"].items()}


def test_every_scorer_gives_what_its_library_gives(cli: CommandLine, sim: Handle) -> None:
    here = cli.home.parent
    with (here / "rows.csv").open("w", newline="") as table:
        csv.writer(table).writerows([("what is asked", "right"), *((a, c) for a, _, c in ROWS)])
    (here / "all.toml").write_text(ALL_SCORERS)
    for asked, said, _ in ROWS:
        sim.rule(f"Say {asked}", text=said.replace("\\", "\\\\"))
    pairs = [(said, right) for _, said, right in ROWS]

    def rouge(variant: str) -> float:
        scorer = rouge_scorer.RougeScorer([variant], use_stemmer=True)
        return mean(scorer.score(right, said)[variant].fmeasure for said, right in pairs)

    expected = {
        "exact": mean((1, 1, 0, 1, 0, 1)),  # a short sentence may contain it
        "as written": 0.0,
        "contains": mean((0, 0, 0, 1, 1, 1)),
        "regex": mean((0, 0, 0, 1, 0, 0)),
        # Words without articles: 3 of 5 and 3; none; 1 of 1; 2 of 6 and 2; 3 of 5 and 5.
        "f1": mean((6 / 8, 0, 0, 1, 4 / 8, 6 / 10)),
        "rouge": rouge("rougeL"),
        "rouge of pairs": rouge("rouge2"),
        "bleu": mean(sentence_bleu(said, [right]).score / 100 for said, right in pairs),
        "similarity": mean(
            fuzz.ratio(said.casefold(), right.casefold()) / 100 for said, right in pairs
        ),
        "json": mean((0, 0, 0, 0, 1, 0)),
        "tool": mean((0, 0, 0, 0, 0, 1)),
        "python": mean(1 / len(said.split()) for said, _ in pairs),
    }
    found = run(cli, sim, "all.toml")
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    weighted = sum(expected.values()) + 2 * expected["exact"]
    assert found["score"] == pytest.approx(weighted / (len(expected) + 2))
    assert found["unparsed"] == 0


def test_numbers_by_vote_and_over_epochs(cli: CommandLine, sim: Handle) -> None:
    here = cli.home.parent
    rows = [{"name": "close", "right": "100"}, {"name": "far", "right": 7}]
    (here / "numbers.jsonl").write_text("\n".join(map(json.dumps, rows)))
    file = here / "numbers.toml"
    file.write_text(NUMBERS)
    sim.rule("Say close", text="It is about 99.5 %.")
    sim.rule("Say far", text="9")
    found = run(cli, sim, "numbers.toml", "--epochs", "3")
    assert (found["accuracy"], found["pass@3"], found["pass^3"]) == (0.5, 0.5, 0.5)
    file.write_text(NUMBERS.replace("[answer]", "votes = 3\ntemperature = 1\n[answer]"))
    found = run(cli, sim, "numbers.toml")
    assert (found["accuracy"], found["agreement"]) == (0.5, 1.0)
