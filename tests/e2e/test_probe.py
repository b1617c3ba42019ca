"""``evalbench probe``: one short question to a model, and what models say they can do."""

from __future__ import annotations

from tests.e2e.commandline import CommandLine
from tests.e2e.schema import check_line
from tests.simulator.handle import Handle

KEY = {"OPENAI_API_KEY": "sk-0123456789abcdefghijWXYZ"}


def test_a_probe_tells_what_came_back_and_what_it_took(cli: CommandLine, sim: Handle) -> None:
    url = sim.base_url("openai")
    words = ("probe", "openai/gpt-4.1-nano", "--base-url", url, "--temperature", "0.5")
    done = cli(*words, "--thinking-budget", "100", "--json", **KEY)
    assert done.code == 0, done.err
    (line,) = done.lines
    check_line(line)
    assert line["text"]
    assert line["input_tokens"] > 0
    assert line["cost_usd"] > 0
    assert line["params"]["temperature"] == {"fate": "sent", "reason": ""}
    assert line["params"]["thinking_budget"]["fate"] == "dropped"
    assert len([entry for entry in sim.entries() if entry["method"] == "POST"]) == 1

    told = cli(*words, "--price", "1000/2000", **KEY).out
    assert "reply    " in told
    assert "sent     max_tokens; temperature" in told
    assert "cost     $" in told


def test_a_probe_that_fails_says_why_and_what_to_do(cli: CommandLine, sim: Handle) -> None:
    missing = cli("probe", "openai/gpt-4.1-nano", "--json")
    assert missing.code == 5
    assert "OPENAI_API_KEY" in missing.lines[-1]["try"]
    url = sim.base_url("openai")
    unknown = cli("probe", "openai/no-such-model", "--base-url", url, "--json", **KEY)
    assert unknown.code == 5
    assert "no-such-model" in unknown.lines[-1]["what"]
    bad = cli("probe", "openai/gpt-4.1-nano", "--temperature", "hot", **KEY)
    assert bad.code == 1
    assert "--temperature takes a number, not 'hot'" in bad.err


def test_a_model_of_this_machine_is_not_loaded_for_a_probe(cli: CommandLine) -> None:
    done = cli("probe", "local/smollm2-135m-instruct", "--json")
    assert done.code == 1
    assert "loaded" in done.lines[-1]["why"]
    assert "--limit 1" in done.lines[-1]["try"]


def test_models_tell_what_they_cannot_do_and_why(cli: CommandLine, sim: Handle) -> None:
    done = cli("models", "openai", "--base-url", sim.base_url("openai"), "--json", **KEY)
    assert done.code == 0, done.err
    for line in done.lines:
        check_line(line)
    able = {line["name"]: line["able"] for line in done.lines}
    plain = able["gpt-4.1-nano"]
    assert (plain["generate"], plain["choose"]) == (True, False)
    assert "likelihoods" in plain["reason"]
    assert "temperature" not in plain["untaken"]
    reasoning = next(one for name, one in able.items() if name.startswith("o"))
    assert "sampling" in reasoning["untaken"]["temperature"]
