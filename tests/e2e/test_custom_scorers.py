"""Every scorer of a file of one's own, from the table to the number that a run reports."""

from __future__ import annotations

import csv
import json
import re
import urllib.request
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
scorer = "python"
function = "brevity"
"""


TOOLS = """
[benchmark]
data = "calls.jsonl"

[prompt]
template = "Say {{ name }}"

[answer]
target = "right"
scorer = "tool"
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


GRADED = """
[benchmark]
data = "facts.jsonl"

[prompt]
template = "{{ question }}"

[answer]
target = "right"
scorer = "graded"

[judge]
rubric = "Asked: {{ question }} Reference: {{ target }} Must not say: {{ wrong }} Said: {{ reply }}"
"""
LIKELIEST = """
[benchmark]
data = "facts.jsonl"

[prompt]
template = "{{ question }}"

[answer]
target = "right"
choices = ["right", "wrong", "other"]

[[score]]
scorer = "loglikelihood"
by = "BY"
"""
FACTS = (
    {"question": "Is ice cold?", "right": "yes", "wrong": "no", "other": "unknowable"},
    {"question": "Is fire cold?", "right": "no", "wrong": "yes", "other": "undecided"},
    {"question": "Is steam cold?", "right": "never", "wrong": "always", "other": "it"},
)
SCORING = "vllm/Qwen/Qwen2.5-7B-Instruct"
"""A model that reports log-likelihoods of given texts."""
MATHEMATICS = """
[benchmark]
data = "terms.jsonl"

[prompt]
template = "Say {{ name }}"

[answer]
target = "right"
scorer = "math"
"""


def run(
    cli: CommandLine, sim: Handle, file: str, *more: str, model: str = "compatible/mine"
) -> Mapping[str, float]:
    """The value of every metric of a run, those by scorer included."""
    api = "vllm" if model.startswith("vllm") else "custom"
    place = ("--model", model, "--base-url", sim.base_url(api))
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
        "python": mean(1 / len(said.split()) for said, _ in pairs),
    }
    found = run(cli, sim, "all.toml")
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    weighted = sum(expected.values()) + 2 * expected["exact"]
    assert found["score"] == pytest.approx(weighted / (len(expected) + 2))
    assert found["unparsed"] == 0


def test_calls_of_a_function(cli: CommandLine, sim: Handle) -> None:
    here = cli.home.parent
    # Its arguments count where the target has some.
    rows = {"this call": CALL, "any call": "look_up", "another": "translate", "words": CALL}
    (here / "calls.jsonl").write_text(
        "\n".join(json.dumps({"name": name, "right": right}) for name, right in rows.items())
    )
    (here / "calls.toml").write_text(TOOLS)
    sim.rule("Say words", text="I would look up hamster.")
    sim.rule("Say", text=f"<tool_call>{CALL}</tool_call>")
    assert run(cli, sim, "calls.toml")["accuracy"] == 2 / 4


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


def test_judges_grade_by_a_rubric_and_a_reference(cli: CommandLine, sim: Handle) -> None:
    here = cli.home.parent
    (here / "facts.jsonl").write_text("\n".join(map(json.dumps, FACTS)))
    (here / "graded.toml").write_text(GRADED)
    sim.rule("^Is (ice|fire|steam) cold", text="It is.")
    sim.rule("Asked: Is ice .* Reference: yes Must not say: no Said: It is", text="[[right]]")
    sim.rule("Asked: Is fire", text="It denies the reference. [[wrong]]")
    sim.rule("Asked: Is steam", text="I cannot say.")
    judge = f"compatible/judge,base-url={sim.base_url('custom')}"
    found = run(cli, sim, "graded.toml", "--judge", judge)
    assert (found["accuracy"], found["unparsed"]) == (0.5, 1 / 3)


def test_the_likeliest_letter_is_chosen(cli: CommandLine, sim: Handle) -> None:
    here = cli.home.parent
    (here / "facts.jsonl").write_text("\n".join(map(json.dumps, FACTS)))
    template = "{{ question }} A. {{ right }} B. {{ wrong }} C. {{ other }} Answer:"
    file = LIKELIEST.replace("BY", "letter").replace("{{ question }}", template)
    (here / "likeliest.toml").write_text(file)
    sim.rule("Is ice cold", text="A")
    sim.rule("Is fire cold", text="C")
    sim.rule("Is steam cold", text="A")
    found = run(cli, sim, "likeliest.toml", model=SCORING)
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert "accuracy_norm" not in found


def test_the_likeliest_text_is_chosen_also_per_byte(cli: CommandLine, sim: Handle) -> None:
    here = cli.home.parent
    # A long text of many bytes is unlikely, and yet often likelier per byte than a short one.
    cold = {"right": "🧊" * 40, "wrong": "ok", "other": "it is not known"}
    rows = [*FACTS, *({"question": f"Is number {n} cold?", **cold} for n in range(5))]
    (here / "facts.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (here / "likeliest.toml").write_text(LIKELIEST.replace("BY", "text"))
    for row in rows:
        sim.rule(re.escape(row["question"]), text="yes" if row in FACTS else "ok")
    right, right_per_byte = [], []
    for row in rows:
        options = [row["right"], row["wrong"], row["other"]]
        told = [likelihood(sim, row["question"], option) for option in options]
        sized = [value / len(option.encode()) for value, option in zip(told, options, strict=True)]
        right.append(told[0] == max(told))
        right_per_byte.append(sized[0] == max(sized))
    assert right != right_per_byte
    found = run(cli, sim, "likeliest.toml", model=SCORING)
    assert found["accuracy"] == pytest.approx(mean(right))
    assert found["accuracy_norm"] == pytest.approx(mean(right_per_byte))


def likelihood(sim: Handle, context: str, option: str) -> float:
    """The sum of what the server gives for the tokens of an option after a context."""
    body = {"model": SCORING.partition("/")[2], "prompt": f"{context} {option}", "max_tokens": 1}
    asked = json.dumps({**body, "echo": True, "logprobs": 1}).encode()
    request = urllib.request.Request(f"{sim.url}/vllm/v1/completions", asked)
    with urllib.request.urlopen(request, timeout=10) as reply:
        told = json.load(reply)["choices"][0]["logprobs"]
    tokens = zip(told["text_offset"], told["token_logprobs"], strict=True)
    end = len(context) + 1 + len(option)
    return sum(value for offset, value in tokens if len(context) <= offset < end)


def test_mathematics_is_compared_by_value(cli: CommandLine, sim: Handle) -> None:
    here = cli.home.parent
    rows = (
        ("fraction", r"So it is $\boxed{\frac{2}{4}}$.", "0.5"),
        ("root", r"The answer is $\sqrt{8}$.", r"2\sqrt{2}"),
        ("interval", r"$x \in (1, 2]$", "[1, 2]"),
        ("none", "I do not know.", "7"),
    )
    (here / "terms.jsonl").write_text(
        "\n".join(json.dumps({"name": name, "right": right}) for name, _, right in rows)
    )
    (here / "terms.toml").write_text(MATHEMATICS)
    for name, said, _ in rows:
        sim.rule(f"Say {name}", text=said.replace("\\", "\\\\"))
    found = run(cli, sim, "terms.toml")
    assert found["accuracy"] == 0.5
