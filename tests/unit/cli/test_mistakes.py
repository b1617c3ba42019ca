"""Typical mistakes: each is answered at once, with what is wrong and what to do, no trace-back.

Those that need a server or an engine (a wrong key, a dead address, a proxy, certificates) are
tried in ``tests/contract/providers`` and ``tests/e2e``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from evalbench.engine.runs.status import State
from evalbench.tui.cli.main import main
from tests.pretending import pretend

RUN = (
    "run",
    "quickstart",
    "--no-ui",
    "--model",
    "compatible/m",
    "--base-url",
    "http://127.0.0.1:9",
)
MMLU = ("run", "mmlu", "--no-ui", "--model", "compatible/m", "--base-url", "http://127.0.0.1:9")

MISTAKES: list[tuple[tuple[str, ...], str, str]] = [
    # What was typed, what is wrong, what to do.
    (("rnu", "quickstart"), "no command 'rnu'", "did you mean run"),
    (("--modle", "x"), "no flag '--modle'", "did you mean"),
    (("run", "qickstart", "--no-ui"), "no benchmark named 'qickstart'", "did you mean quickstart?"),
    ((*RUN, "--limt", "3"), "no flag --limt", "did you mean --limit"),
    (("run", "quickstart", "--model", "opnai/x", "--no-ui"), "no provider named", "openai"),
    (("run", "quickstart", "--model", "gpt-4.1", "--no-ui"), "not name a model", "providers:"),
    (
        ("run", "quickstart", "--model", "openai/x", "--no-ui"),
        "no key for openai",
        "OPENAI_API_KEY",
    ),
    (("run", "quickstart", "--model", "azure/x", "--no-ui"), "needs --endpoint", "--base-url"),
    (("run", "quickstart", "--model", "compatible/x", "--no-ui"), "address", "--base-url"),
    ((*RUN[:-1], "localhost"), "not a web address", "http://"),
    ((*RUN[:-1], "http://my server/v1"), "not a web address", "http://"),
    ((*RUN[:-1], "127.0.0.1:8000"), "not a web address", "http://"),
    ((*RUN, "--limit", "0"), "--limit must be at least 1", "omit --limit"),
    ((*RUN, "--limit", "ten"), "--limit takes a whole number", "omit --limit"),
    ((*RUN, "--budget", "-1"), "--budget must be at least 0", "omit --budget"),
    ((*RUN, "--budget", "ten"), "--budget takes a number", "omit --budget"),
    ((*RUN, "--budget", "1"), "price is unknown", "--price"),
    ((*RUN, "--price", "cheap"), "--price cannot be 'cheap'", "--price 3/15"),
    ((*RUN, "--temperature", "hot"), "--temperature takes a number", "omit --temperature"),
    ((*RUN, "--concurrency", "0"), "--concurrency must be at least 1", "omit --concurrency"),
    ((*RUN, "--mode", "fast"), "--mode cannot be 'fast'", "realtime"),
    ((*RUN, "--header", "X"), "not a header", "--header 'X-Team: evals'"),
    ((*RUN, "--header", "Authorization: Bearer sk-01234567890123"), "looks like a secret", "${"),
    ((*RUN, "--header", "X-A: ${NOT_SET}"), "NOT_SET, which is not set", "export NOT_SET"),
    ((*RUN, "--env-file", "/no/such"), "/no/such", "--env-file"),
    ((*RUN, "--data", "x.csv"), "has its own questions", "omit --data"),
    ((*RUN, "--wait-for-server", "soon"), "--wait-for-server", "30m"),
    ((*MMLU, "--subject", "anatomyy"), "no subject 'anatomyy'", "did you mean anatomy"),
    ((*MMLU, "--data", "/no/such"), "no file or folder /no/such", "check the path"),
    (("run", "mt-bench", *RUN[2:]), "needs a judge", "--judge PROVIDER/NAME"),
    (("run", "mt-bench", *RUN[2:], "--judge", "openai/x"), "no key for openai", "OPENAI_API_KEY"),
    (("run", "no-such.toml", "--no-ui"), "no-such.toml", ""),
    (("run", "empty.toml", *RUN[2:]), "neither a benchmark nor a suite", "[benchmark]"),
    (("run", "suite.toml", "--base-url", "http://x"), "no flag --base-url", "base_url = "),
    (("export", "DONE", "-o", "/dev/null"), "/dev/null is no folder", "-o"),
    (("show", "nope"), "no run 'nope'", "evalbench runs"),
    (("show", "2026"), "could be any of", "give more of the id"),
    (("pause", "DONE"), "is over", ""),
    (("stop", "DONE"), "is over", ""),
    (("compare", "DONE"), "two runs", "RUN RUN"),
    (("compare", "DONE", "DONE"), "named twice", "two runs"),
    (("import", "inspect", "nothing.eval"), "no such file or folder", "check the path"),
    ((*RUN, "--key", "work"), "'work'", "--env-file"),
    (("export", "DONE", "--format", "exel", "-o", "x"), "exel", "did you mean"),
    (("import", "lm-evl", "x"), "lm-evl", "did you mean"),
    (("keys", "set", "opnai"), "no provider of that name", "openai"),
    (("keys", "set", "sk-01234567890123456789"), "does not belong on the command line", "keys set"),
    (("providers", "show", "grok"), "no provider named 'grok'", "did you mean groq"),
    (("models", "grok"), "no provider named 'grok'", "did you mean groq"),
    (("benchmarks", "mmul"), "mmul", "or mmlu"),
    (("parse", "nothing"), "nothing", ""),
    (("translate", "python nothing.py"), "nothing", ""),
]


@pytest.fixture
def runs(home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Two complete runs; the id of one."""
    for name in ("OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", "OPENAI_BASE_URL", "NOT_SET"):
        monkeypatch.delenv(name, raising=False)
    first, second = pretend(), pretend()
    for one in (first, second):
        one.status(State.COMPLETE, alive=False, exit_code=0)
    return first.folder.id


def test_each_is_told_with_its_cause_and_what_to_do(
    runs: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.toml").touch()
    suite = '[[run]]\nbenchmark = "quickstart"\nmodel = "compatible/m"\n'
    (tmp_path / "suite.toml").write_text(suite)
    wrong = []
    for words, what, hint in MISTAKES:
        code = main([runs if word == "DONE" else word for word in words])
        told = capsys.readouterr().err
        fine = code in (1, 5) and "error: " in told and what in told and hint in told
        if not fine or "Traceback" in told or (hint and "try: " not in told):
            wrong.append(f"{' '.join(words)}: exit {code}\n{told}")
    assert not wrong, "\n".join(wrong)
