"""Estimates, pilots and budgets through the command line."""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

from evalbench.engine.journal import JournalReader
from tests.e2e.commandline import CommandLine, wait_until
from tests.e2e.schema import check_line
from tests.simulator.handle import Handle

PRICED = ("--model", "scripted/good", "--price", "3/15")
CLAUDE = "anthropic/claude-haiku-4-5"
KEY = {"ANTHROPIC_API_KEY": "sk-ant-" + "x" * 24}


def asked(ledger: Path) -> Counter[str]:
    """How often each call was asked, by its content."""
    lines = ledger.read_text().splitlines()
    return Counter(line.split()[1] for line in lines if line.startswith("asked"))


# -- estimates -------------------------------------------------------------------


def test_an_estimate_needs_no_key_and_asks_nobody(cli: CommandLine) -> None:
    done = cli("estimate", "quickstart", "--model", CLAUDE, "--limit", "40")
    assert done.code == 0, done.err
    assert f"quickstart × {CLAUDE}: 40 samples" in done.out
    assert re.search(r"^candidate +40 +[\d,]+–[\d,]+ +[\d,]+–[\d,]+$", done.out, re.MULTILINE)
    assert re.search(
        r"^prices +\$1 in, \$5 out, .* per million tokens \(genai-prices", done.out, re.MULTILINE
    )
    money = r"\$0\.00\d+–\$0\.0\d+"
    cost = rf"^cost +{money} answered at once; {money} through the batch API$"
    assert re.search(cost, done.out, re.MULTILINE)
    assert cli.runs() == []


def test_an_unknown_price_is_said_and_never_zero(cli: CommandLine) -> None:
    done = cli("estimate", "synthetic", "--model", "scripted/good", "--size", "30")
    assert "prices    unknown; give them with --price IN/OUT" in done.out
    assert "cost      unknown" in done.out
    (line,) = cli("estimate", "synthetic", "--model", "scripted/good", "--json").lines
    check_line(line)
    assert (line["realtime"], line["batch"], line["roles"][0]["prices"]) == (None, None, None)
    refused = cli("run", "synthetic", "--model", "scripted/good", "--budget", "1")
    assert refused.code == 1
    assert "--price IN/OUT" in refused.err
    assert cli.runs() == []


def test_several_runs_are_estimated_and_summed(cli: CommandLine) -> None:
    words = ["estimate", "synthetic", *PRICED, "--model", "scripted/better", "--size", "1000"]
    words += ["--price", "scripted/better=30/150"]
    done = cli(*words)
    assert done.code == 0, done.err
    assert done.out.count("1,000 samples, estimated from 200 drawn at random") == 2
    assert "2 runs\ncost      $" in done.out
    lines = cli(*words, "--json").lines
    for line in lines:
        check_line(line)
    cheap, dear = (line["realtime"] for line in lines)
    assert dear == pytest.approx([10 * end for end in cheap])
    assert lines[0]["counted"] == 200


def test_what_costs_nothing_is_said_so(cli: CommandLine) -> None:
    done = cli("estimate", "synthetic", "--model", "scripted/good", "--price", "0/0")
    assert "prices    free (--price)" in done.out
    assert "cost      nothing" in done.out


def test_an_estimate_covers_what_the_run_then_costs(cli: CommandLine, sim: Handle) -> None:
    (line,) = cli("estimate", "quickstart", "--model", CLAUDE, "--json").lines
    done = cli(
        "run", "quickstart", "--model", CLAUDE, "--base-url", sim.base_url("anthropic"), "--json",
        **KEY,
    )  # fmt: skip
    assert done.code == 0, done.err
    low, high = line["realtime"]
    assert low <= done.lines[-1]["spend_usd"] <= high


# -- spend -----------------------------------------------------------------------


def test_spend_is_told_everywhere_and_agrees_with_the_provider(
    cli: CommandLine, sim: Handle
) -> None:
    words = ("run", "quickstart", "--model", CLAUDE, "--base-url", sim.base_url("anthropic"))
    done = cli(*words, "--limit", "30", "--max-tokens", "16", "--temperature", "0", **KEY)
    assert done.code == 0, done.err
    (line,) = cli("show", "last", "--json").lines
    check_line(line, of_show=True)
    assert line["spend_usd"] == pytest.approx(float(sim.summary()["dollars"]), abs=1e-9)
    assert line["possible_usd"] == 0
    assert line["budget_usd"] is None
    assert line["prices"]["rates"]["input"] == "1"
    assert line["key"]["variable"] == "ANTHROPIC_API_KEY"
    assert line["params"]["max_tokens"]["fate"] == "sent"
    spent = f"${line['spend_usd']:.4f}"
    assert f"spent     {spent}" in done.out
    shown = cli("show", "last").out
    assert f"spent   {spent}" in shown
    assert "prices  $1 in, $5 out" in shown
    assert "key     anthropic key from the environment (ANTHROPIC_API_KEY)" in shown
    assert re.search(r"^  max_tokens +sent", shown, re.MULTILINE)
    table = cli("runs").out.splitlines()
    assert "spent" in table[0].split()
    assert spent in table[1].split()


def test_unknown_spend_is_called_unknown(cli: CommandLine) -> None:
    done = cli("run", "synthetic", "--model", "scripted/good", "--size", "10")
    assert "spent     unknown" in done.out
    assert cli("show", "last", "--json").lines[0]["spend_usd"] is None


def test_progress_tells_spend_budget_and_forecast(slow: CommandLine) -> None:
    words = ("run", "synthetic", *PRICED, "--size", "60", "--concurrency", "4", "--budget", "9")
    done = slow(*words, "--json")
    assert done.code == 0, done.err
    told = [line for line in done.lines if line["event"] == "progress" and line["spend_usd"]]
    assert told
    for line in told:
        check_line(line)
        assert line["budget_usd"] == 9
        # Every call costs the same, and those in flight are not done yet.
        whole = 60 * (150 * 3 + 15) / 1e6
        assert whole <= line["forecast_usd"] < 2 * whole
    assert done.lines[-1]["spend_usd"] == pytest.approx(whole)


# -- pilots ----------------------------------------------------------------------


def test_a_pilot_is_measured_and_the_same_run_goes_on(cli: CommandLine, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    cli.env["SCRIPTED_LEDGER"] = str(ledger)
    done = cli("run", "synthetic", *PRICED, "--size", "100", "--pilot", "10", "--json")
    assert done.code == 0, done.err
    for line in done.lines:
        check_line(line)
    kinds = [line["event"] for line in done.lines]
    assert kinds.count("start") == 2
    assert kinds.count("end") == kinds.count("pilot") == 1
    assert kinds.index("pilot-started") < kinds.index("pilot") < kinds.index("end")
    pilot = done.lines[kinds.index("pilot")]
    one = (150 * 3 + 15) / 1e6
    assert pilot["samples"] == 10
    assert pilot["spent_usd"] == pytest.approx(10 * one)
    assert pilot["cost_usd"] == pytest.approx([100 * one] * 2)
    assert pilot["input_tokens"] == pytest.approx([15_000] * 2)
    assert done.lines[-1]["done"] == 100
    assert done.lines[-1]["spend_usd"] == pytest.approx(100 * one)
    assert set(asked(ledger).values()) == {1}
    assert len(asked(ledger)) == 100


@pytest.mark.slow
def test_a_pilot_draws_its_samples_at_random_and_pauses(cli: CommandLine) -> None:
    code = (
        "from evalbench.engine.process.launch import EngineOptions, launch_runs\n"
        "from evalbench.engine.config.spec import make_spec\n"
        "spec = make_spec('synthetic', 'scripted/good', options={'size': 400}, price='3/15')\n"
        "launch_runs(spec, options=EngineOptions(pilot=20))"
    )
    assert cli.finish(cli.start_python("-c", code)).code == 0
    run = cli.only_run()
    wait_until(lambda: run.status().at_rest, "the pause")
    status = run.status()
    assert (status.state, status.exit_code, status.done, status.total) == ("paused", 4, 20, 400)
    with JournalReader(run.journal) as journal:
        rows = [score.row for score in journal.scores()]
        assert journal.taken() == [(Decimal("0.000465"), 150, 1)] * 20
    # The first ones of the data may all be of one kind.
    assert len(rows) == 20
    assert max(rows) > 200
    resumed = cli("resume", "last", "--json")
    assert (resumed.code, resumed.lines[-1]["done"]) == (0, 400)


def test_a_pilot_as_large_as_the_run_is_the_run(cli: CommandLine) -> None:
    done = cli("run", "synthetic", *PRICED, "--size", "10", "--pilot", "10", "--json")
    kinds = [line["event"] for line in done.lines]
    assert "pilot" not in kinds
    assert done.lines[-1]["state"] == "complete"


@pytest.mark.slow
def test_a_pilot_of_unknown_price_measures_tokens(cli: CommandLine) -> None:
    done = cli("run", "synthetic", "--model", "scripted/good", "--size", "50", "--pilot", "5")
    assert done.code == 0, done.err
    assert "5 samples cost an unknown sum" in done.out
    assert "by that, all 50 cost unknown and take 7,500 input and 50 output tokens" in done.out


@pytest.mark.slow
def test_pilots_of_several_runs_go_on_together(cli: CommandLine) -> None:
    words = ("run", "synthetic", *PRICED, "--model", "scripted/better", "--size", "40")
    done = cli(*words, "--price", "scripted/better=3/15", "--pilot", "5", "--json")
    assert done.code == 0, done.err
    pilots = [line for line in done.lines if line["event"] == "pilot"]
    ends = [line for line in done.lines if line["event"] == "end"]
    assert {line["run"] for line in pilots} == {line["run"] for line in ends}
    assert len(pilots) == 2
    starts = [line["pid"] for line in done.lines if line["event"] == "start"]
    assert len(starts) == 4
    assert len(set(starts)) == 2


@pytest.mark.share(2)
@pytest.mark.parametrize(
    "words", [("--pilot", "1"), ("--pilot", "x"), ("--pilot", "5", "--detach")]
)
def test_a_pilot_that_cannot_be_is_refused(cli: CommandLine, words: tuple[str, ...]) -> None:
    done = cli("run", "synthetic", *PRICED, *words)
    assert done.code == 1
    assert "--pilot" in done.err
    assert cli.runs() == []


# -- budgets ---------------------------------------------------------------------


def test_a_small_budget_means_fewer_calls_at_once_and_a_pause_that_repeats_nothing(
    cli: CommandLine, sim: Handle
) -> None:
    sim.latency(0.05)
    words = ("--base-url", sim.base_url("anthropic"), "--concurrency", "64")
    done = cli("run", "quickstart", "--model", CLAUDE, *words, "--budget", "0.004", "--json", **KEY)
    assert done.code == 3, done.err
    for line in done.lines:
        check_line(line)
    end = done.lines[-1]
    assert (end["state"], end["budget_usd"]) == ("budget", 0.004)
    assert 10 < end["done"] < 72
    assert end["spend_usd"] + end["possible_usd"] <= 0.004
    server = sim.summary()
    assert float(server["dollars"]) == pytest.approx(end["spend_usd"], abs=1e-9)
    assert 1 < server["high_water"] < 16
    reached = [line for line in done.lines if line["event"] == "budget-reached"]
    assert reached

    # Not enough for one more call: nothing is sent.
    before = server["contents"]
    again = cli("resume", "last", **KEY)
    assert again.code == 3
    assert "the budget is reached: the next call may cost" in again.out
    assert sim.summary()["contents"] == before

    more = cli("resume", "last", "--budget", "1", "--json", **KEY)
    assert more.code == 0, more.err
    assert (more.lines[-1]["state"], more.lines[-1]["done"]) == ("complete", 72)
    server = sim.summary()
    assert server["attempts"] == {"1": server["contents"]}
    assert more.lines[-1]["spend_usd"] == pytest.approx(float(server["dollars"]), abs=1e-9)


def test_a_resumed_run_keeps_its_price_until_another_is_given(cli: CommandLine) -> None:
    def sells_at(dollars: int) -> None:
        text = f'["scripted/good"]\ninput = {dollars}000\noutput = {dollars}000\n'
        (cli.home / "config" / "prices.toml").write_text(text)

    each = 151 / 1000
    (cli.home / "config").mkdir(parents=True)
    sells_at(1)
    words = ("synthetic", "--model", "scripted/good", "--size", "12", "--json", "--yes")
    begun = cli("run", *words, "--budget", "0.5").lines[-1]
    assert begun["state"] == "budget"
    assert begun["spend_usd"] == pytest.approx(begun["done"] * each)

    sells_at(2)
    more = cli("resume", "last", "--budget", "1", "--json")
    assert more.lines[-1]["spend_usd"] == pytest.approx(more.lines[-1]["done"] * each)
    [told] = [line for line in more.lines if line["event"] == "price-changed"]
    then, now = told["detail"]["before"], told["detail"]["now"]
    assert (then["input"], now["input"]) == ("1000", "2000")
    known = more.lines[-1]["spend_usd"]

    rest = cli("resume", "last", "--budget", "100", "--price", "3000/3000", "--json").lines[-1]
    left = 12 - more.lines[-1]["done"]
    assert rest["state"] == "complete"
    assert rest["spend_usd"] == pytest.approx(known + left * 3 * each)


def test_a_live_budget_can_be_raised(slow: CommandLine) -> None:
    slow(
        "run",
        "synthetic",
        *PRICED,
        "--size",
        "40",
        "--budget",
        "50",
        "--concurrency",
        "2",
        "--detach",
    )
    run = slow.answering()
    run.command("budget", value=60)
    done = slow("attach", "last", "--json")
    assert done.lines[-1]["budget_usd"] == 60
    assert run.spec().get("budget") == 60
