"""Translates command lines of other systems into ours.

A table for each script says what its flags are called here, or why they have no equivalent. The
scripts are those of the original MMLU, MT-bench, SpecEval, Bedrock and OpenSeeSimE systems;
surrounding commands (installing, setting keys) are recognised too.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from evalbench.engine.errors import UsageError
from evalbench.engine.installed import install_command


class Translation(NamedTuple):
    """What to type instead: commands in order, and notes about them."""

    commands: list[list[str]]
    notes: list[str]


class Flag(NamedTuple):
    """A flag of another system.

    Attributes:
        ours: its name here; empty if there is no equivalent.
        why: a note; for a flag without equivalent, how the same is done here.
        values: number of values that follow: 0, 1, or -1 for all up to the next flag.
    """

    ours: str = ""
    why: str = ""
    values: int = 1


@dataclass(slots=True)
class Given:
    """The flags of one command line, by name; those already translated are removed."""

    flags: dict[str, list[str]]
    notes: list[str] = field(default_factory=list)

    def one(self, name: str, default: str = "") -> str:
        """The flag's value."""
        return (self.flags.pop(name, None) or [default])[-1]

    def all(self, name: str) -> list[str]:
        """All its values."""
        return self.flags.pop(name, [])

    def has(self, name: str) -> bool:
        """Whether it was given."""
        return self.flags.pop(name, None) is not None


class Script(NamedTuple):
    """A script of another system.

    Attributes:
        system: the system's name.
        flags: its flags.
        write: produces our commands from the given flags.
    """

    system: str
    flags: Mapping[str, Flag]
    write: Callable[[Given], list[list[str]]]


_KEPT = "every reply is kept as soon as it is there; nothing is lost when a run is cut off"
_QUIET = "progress is shown anyway"
_EXPORTED = "runs are kept in evalbench's own folder; evalbench export writes them as files"
_NO_BUCKET = "Gemini is asked with a key through its Developer API, which needs no bucket"
_NO_KEY = "keys come from the environment or the keychain: evalbench keys set PROVIDER"
_RETRIES = "retries are by kind of failure; --attempts N limits them"


def translate(words: Sequence[str]) -> Translation:
    """Translate a command of another system.

    Raises:
        UsageError: the command is not known.
    """
    words = _without_prompt(words)
    if not words:
        raise UsageError("there is no command", hint="evalbench translate python script.py …")
    if translated := _surroundings(words):
        return translated
    name, rest = _script_name(words)
    script = SCRIPTS.get(name)
    if script is None:
        raise UsageError(
            f"{shlex.join(words[:3])} is no command of a system that is known here",
            why="known: " + ", ".join(sorted(SCRIPTS)),
            hint="evalbench run --help",
        )
    given = _read(script, rest)
    commands = script.write(given)
    for left in given.flags:
        flag = script.flags[left]
        given.notes.append(f"{left}: {flag.why or 'not needed here'}")
    return Translation(commands, given.notes)


def split_commands(text: str) -> list[list[str]]:
    """The commands in a pasted shell block: comments removed, continued lines joined.

    Raises:
        UsageError: unterminated quote.
    """
    joined = re.sub(r"\\[ \t]*\n", " ", text)
    found = []
    for line in joined.splitlines():
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise UsageError(f"cannot read {line.strip()!r}", why=str(error)) from None
        if words:
            found.append(words)
    return found


def hint(flag: str) -> str:
    """The name here of another system's flag; empty if no known system has it."""
    found = [
        (script.system, script.flags[flag]) for script in SCRIPTS.values() if flag in script.flags
    ]
    if not found:
        return ""
    _, known = found[0]
    systems = " and ".join(dict.fromkeys(name for name, one in found if one.ours == known.ours))
    what = f"it is {known.ours} here" if known.ours else known.why or "not needed here"
    return f"{flag} is of {systems}: {what}; evalbench translate COMMAND… says more"


# -- reading -------------------------------------------------------------------------


_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*")
_PYTHON = re.compile(r"(?:.*/)?python[\d.]*")


def _without_prompt(words: Sequence[str]) -> list[str]:
    """The words of the command, without a shell prompt or variable assignments before it."""
    found = list(words)
    if len(found) == 1 and " " in found[0]:
        commands = split_commands(found[0])
        if len(commands) > 1:
            raise UsageError(
                f"these are {len(commands)} commands",
                hint="translate them one by one, or all from a file: evalbench translate < FILE",
            )
        found = commands[0] if commands else []
    while found and (found[0] in ("$", ">", "sudo", "uv", "run", "nohup", "!") or (
        _ASSIGNMENT.fullmatch(found[0]) and len(found) > 1
    )):  # fmt: skip
        del found[0]
    return found


def _script_name(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The script's name without folder and extension, and the words after it."""
    rest = list(words)
    if _PYTHON.fullmatch(rest[0]):
        del rest[0]
        if rest and rest[0] == "-m":
            del rest[0]
    if not rest:
        return "", []
    name = rest[0].rpartition("/")[2].removesuffix(".py")
    # Two of them are called cli; shell scripts keep their extension.
    if name.endswith("bedrock_claude.cli"):
        return "bedrock_claude.cli", rest[1:]
    return name if name.endswith(".sh") else name.rpartition(".")[2], rest[1:]


def _read(script: Script, words: Sequence[str]) -> Given:
    found: dict[str, list[str]] = {}
    at = 0
    while at < len(words):
        name, sign, value = words[at].partition("=")
        name = {"-v": "--verbose"}.get(name, name)
        at += 1
        flag = script.flags.get(name)
        if flag is None:
            if not name.startswith("-"):
                raise UsageError(f"{words[at - 1]!r} belongs to no flag")
            raise UsageError(
                f"{name} is no flag of {script.system}",
                why="known: " + ", ".join(script.flags),
            )
        values = found.setdefault(name, [])
        if sign:
            values.append(value)
            continue
        most = len(words) if flag.values < 0 else flag.values
        taken = 0
        while at < len(words) and taken < most and not _is_flag(words[at]):
            values.append(words[at].strip())
            at, taken = at + 1, taken + 1
        if flag.values and not values:
            raise UsageError(f"{name} lacks its value")
    return Given(found)


def _is_flag(word: str) -> bool:
    return word.startswith("-") and not re.fullmatch(r"-\d+(?:\.\d+)?", word) and word != "-"


def _renamed(given: Given, script: Mapping[str, Flag], names: Sequence[str]) -> list[str]:
    """Flags that only have a different name here."""
    words: list[str] = []
    for name in names:
        if name in given.flags:
            flag = script[name]
            values = given.all(name)
            words += [flag.ours, *values[-1:]] if flag.values else [flag.ours]
    return words


# -- models ----------------------------------------------------------------------------


def _model(name: str, otherwise: str = "local") -> str:
    """A model of another system as ``provider/name``."""
    if re.match(r"claude-", name):
        return f"anthropic/{name}"
    if re.match(r"gemini-", name):
        return f"google/{name}"
    if re.match(r"(?:gpt-(?!oss|2)|o\d|chatgpt-)", name):
        return f"openai/{name}"
    if name.startswith("deepseek-"):
        return f"deepseek/{name}"
    if "/" in name:
        return f"together/{name}"
    return f"{otherwise}/{name}"


# -- OpenSeeSimE -----------------------------------------------------------------------


def _openseesime(family: str, provider: str, model: str) -> Callable[[Given], list[list[str]]]:
    def write(given: Given) -> list[list[str]]:
        given.notes.append(
            "the script has its settings in its last lines: DATASET_NAME is --set (its own set is"
            " private; --data FOLDER takes yours), MODEL_NAME --model, NUM_VIDEO_FRAMES --frames"
        )
        given.notes.append("it asks every row; add --rows N for more than 200, up to all 102,678")
        run = ["evalbench", "run", "openseesime", "--set", "structural"]
        run += ["--model", f"{provider}/{model}", "--prompt", "original"]
        export = ["evalbench", "export", "last", "--format", "openseesime", "-o"]
        return [run, [*export, f"{family}_benchmark_results.csv"]]

    return write


# -- MMLU ------------------------------------------------------------------------------

_MMLU_FLAGS = {
    "--exp-path": Flag("--data", "the experiment's folder; what it has answered is taken over"),
    "--experiment": Flag("--tag"),
    "--df-path": Flag("--data"),
    "--desc": Flag("--desc"),
    "--max-questions": Flag("--limit"),
    "--save-frequency": Flag(why=_KEPT),
    "--api": Flag("--model"),
    "--prompt-style": Flag("--style"),
    "--alternative-mode": Flag("--alternatives"),
}
_APIS = {"claude": "anthropic/claude-3-5-sonnet-20241022", "deepseek": "deepseek/deepseek-chat"}


_NOT_MADE = "wrong answers are not made here; a table of them is read: run mmlu --data FILE"
_GENERATOR_FLAGS = {name: Flag(why=_NOT_MADE) for name in ("--df-path", "--api", "--seed")}


def _mmlu(given: Given) -> list[list[str]]:
    run = ["evalbench", "run", "mmlu", "--prompt", "original"]
    folder, table = given.one("--exp-path"), given.one("--df-path")
    if folder and (Path(folder) / "config.json").is_file():
        run += ["--data", folder]
        if table:
            given.notes.append(f"--df-path: the experiment in {folder} holds its questions")
    elif table and Path(table).exists():
        run += ["--data", table]
    elif table:
        given.notes.append(f"--df-path: {table} is not here; the questions come from the hub")
    name = given.one("--experiment") or (Path(folder).name if folder else "")
    api = given.one("--api", "claude")
    run += ["--model", _APIS.get(api, api)]
    given.notes.append("the model is the one that the script has in its code; name another at will")
    if "--alternative-mode" in given.flags:
        given.has("--prompt-style")
    run += _renamed(given, _MMLU_FLAGS, ("--desc", "--max-questions", "--prompt-style"))
    if mode := given.one("--alternative-mode"):
        run += ["--alternatives", mode.partition("_")[0], "--style", "permuted"]
    if "--limit" in run:
        given.notes.append("--limit takes its questions from all subjects, not from the top")
    if name:
        run += ["--tag", name]
    out = folder or f"experiments/{name or 'first'}"
    export = ["evalbench", "export", "last", "--format", "mmlu-experiment", "-o"]
    return [run, [*export, f"{out}_out" if Path(out).exists() else out]]


# -- execution prediction and choice -----------------------------------------------------

_PARTS = (("prediction", "pred"), ("choice", "choice"))
_CODE_FLAGS = {
    "--dataset": Flag("--data", "a file; of a set on the hub --dataset OWNER/NAME@REVISION"),
    "--split": Flag("--split"),
    "--output-dir": Flag("-o of evalbench export", _EXPORTED),
    "--task": Flag("the benchmark's name", "code-prediction and code-choice are two runs"),
    "--model-id": Flag("--model-id"),
    "--region": Flag("--region"),
    "--enable-thinking": Flag("--enable-thinking", values=0),
    "--thinking-budget-tokens": Flag("--thinking-budget-tokens"),
    "--latency-profile": Flag("--latency-profile"),
    "--compare-reasoning": Flag("--compare-effort low,medium,high", values=0),
    "--comparison-samples": Flag("--limit, in the run with --compare-effort"),
    "--include-missing-mutations": Flag("--include-missing-mutations", values=0),
    "--enable-galileo": Flag("--enable-galileo", values=0),
    "--galileo-project": Flag("--galileo-project"),
    "--galileo-log-stream": Flag("--galileo-log-stream"),
    "--galileo-track-metrics": Flag(why="scores are in every trace", values=0),
    "--pred-samples": Flag("--limit of code-prediction"),
    "--choice-samples": Flag("--limit of code-choice"),
} | {
    f"--{short}-{name}": flag
    for _, short in _PARTS
    for name, flag in {
        "num-problems": Flag("--limit"),
        "start-index": Flag("--start-index"),
        "reasoning": Flag("--reasoning"),
        "max-tokens": Flag("--max-tokens"),
        "temperature": Flag("--temperature"),
        "top-p": Flag(why="the original never sends top_p beside a temperature"),
        "seed": Flag("--seed"),
        "skip-boolean": Flag("--skip-booleans", values=0),
    }.items()
}
_CODE_FLAGS |= {"--pred-generations": Flag("--generations"), "--choice-runs": Flag("--runs")}
_BEDROCK_MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
_SEEDS = {"pred": "42", "choice": "123"}


def _code(given: Given) -> list[list[str]]:
    task = given.one("--task", "prediction")
    if task not in ("prediction", "choice", "both"):
        raise UsageError(f"--task cannot be {task!r}", why="allowed: prediction, choice, both")
    common = ["--model-id", given.one("--model-id", _BEDROCK_MODEL)]
    thinking = [*_renamed(given, _CODE_FLAGS, ("--enable-thinking", "--thinking-budget-tokens"))]
    dataset = given.one("--dataset", "OWNER/NAME")
    source = "--data" if Path(dataset).exists() else "--dataset"
    common += [source, dataset]
    split = given.one("--split", "train")
    if source == "--dataset" and split != "train":
        common += ["--split", split]
    galileo = "--enable-galileo" in given.flags
    names = ("--region", "--latency-profile", "--enable-galileo")
    common += _renamed(given, _CODE_FLAGS, (*names, "--galileo-project", "--galileo-log-stream"))
    if galileo and Path(".env").is_file():
        common += ["--env-file", ".env"]
    missing = _renamed(given, _CODE_FLAGS, ("--include-missing-mutations",))
    compared = given.has("--compare-reasoning")
    samples = given.one("--comparison-samples", "5")
    commands: list[list[str]] = []
    whole: list[int] = []  # the places of those that belong into the file
    for part, short in _PARTS:
        own = _part_flags(given, short)
        if task in (part, "both"):
            more = missing if part == "prediction" else []
            run = ["evalbench", "run", f"code-{part}"]
            whole.append(len(commands))
            commands.append([*run, *common, *own, *thinking, *more])
        if part == "prediction" and compared:
            ablation = ["evalbench", "run", "code-prediction", *common]
            ablation += ["--compare-effort", "low,medium,high", "--limit", samples]
            commands.append([*ablation, "--generations", "1", "--seed", "42"])
    runs = [_last(len(commands) - 1 - place) for place in whole]
    out = given.one("--output-dir", "experiments/results/bedrock_claude")
    commands.append(["evalbench", "export", *runs, "--format", "bedrock", "-o", out])
    if galileo:
        given.notes.append("a .env file with Galileo's key and names is read by: --env-file .env")
    return commands


def _last(back: int) -> str:
    """A run by its age, 0 for the newest."""
    return f"last~{back}" if back else "last"


def _part_flags(given: Given, short: str) -> list[str]:
    """The flags of one task, under our names, with the original's defaults."""
    limit = given.one(f"--{short}-num-problems", given.one(f"--{short}-samples", "20"))
    words = ["--limit", limit] if not limit.startswith(("0", "-")) else []
    generations = {"pred": "--pred-generations", "choice": "--choice-runs"}[short]
    names = [f"--{short}-{name}" for name in ("start-index", "reasoning", "max-tokens")]
    names += [f"--{short}-temperature", generations, f"--{short}-skip-boolean"]
    words += _renamed(given, _CODE_FLAGS, names)
    return [*words, "--seed", given.one(f"--{short}-seed", _SEEDS[short])]


# -- MT-bench --------------------------------------------------------------------------

_MT_BENCH_FLAGS = {
    "--models": Flag("--model, once for each", values=-1),
    "--max-questions": Flag("--limit"),
    "--judge-model": Flag("--judge PROVIDER/NAME"),
    "--memory-limit": Flag("--memory-limit"),
    "--output-dir": Flag("-o of evalbench export", _EXPORTED),
    "--list-models": Flag("evalbench models local", values=0),
    "--verbose": Flag(why=_QUIET, values=0),
    "--openai-api-key": Flag(why=_NO_KEY),
}
_JUDGE = "gpt-5-mini"


def _mt_bench(given: Given) -> list[list[str]]:
    if given.has("--list-models"):
        return [["evalbench", "models", "local"]]
    run = ["evalbench", "run", "mt-bench"]
    models = given.all("--models") or ["gpt2-large"]
    for name in models:
        run += ["--model", _model(name)]
    run += ["--judge", _model(given.one("--judge-model", _JUDGE), "openai")]
    run += _renamed(given, _MT_BENCH_FLAGS, ("--max-questions", "--memory-limit"))
    out = given.one("--output-dir", "results")
    runs = [_last(back) for back in reversed(range(len(models)))]
    return [run, ["evalbench", "export", *runs, "--format", "mt-bench-json", "-o", out]]


# -- SpecEval --------------------------------------------------------------------------

_SPEC_COMMON = {
    "--spec-path": Flag("--data"),
    "--spec-name": Flag("--spec-name"),
    "--temperature": Flag("--temperature"),
    "--verbose": Flag(why=_QUIET, values=0),
    "--batch-size": Flag("--batch-size, with --mode batch"),
    "--input-bucket": Flag(why=_NO_BUCKET),
    "--output-bucket": Flag(why=_NO_BUCKET),
    "--openai-api-key": Flag(why=_NO_KEY),
    "--anthropic-api-key": Flag(why=_NO_KEY),
    "--google-api-key": Flag(why=_NO_KEY),
}
_GENERATION_FLAGS = {
    **_SPEC_COMMON,
    "--pregenerated-inputs-dir": Flag("--inputs"),
    "--model-name": Flag("--model PROVIDER/NAME"),
    "--org": Flag("the provider before the model's name"),
    "--output-base-dir": Flag("--results-dir"),
    "--spec": Flag("--data data/specs/NAME/jsonl/NAME.jsonl"),
    "--qps": Flag("--qps"),
    "--max-retries": Flag("--attempts"),
    "--initial-retry-delay": Flag(why=_RETRIES),
    "--retry-backoff-factor": Flag(why=_RETRIES),
    "--retriable-error-substrings": Flag(why=_RETRIES, values=-1),
}


def _generation(mode: str) -> Callable[[Given], list[list[str]]]:
    """``batch``: through the provider's batches; ``concurrent``: concurrently; or ``plain``."""

    def write(given: Given) -> list[list[str]]:
        name, org = given.one("--model-name", "NAME"), given.one("--org")
        model = f"{org}/{name}" if org else _model(name, "together")
        inputs = given.one("--pregenerated-inputs-dir", "INPUTS")
        run = ["evalbench", "run", "spec-generate", "--data", _specification(given, inputs)]
        run += ["--inputs", inputs, "--model", model]
        size = given.one("--batch-size")
        if mode == "batch":
            run += ["--mode", "batch", *(["--batch-size", size] if size else [])]
        elif mode == "concurrent":
            run += ["--concurrency", size] if size else []
        run += _renamed(given, _GENERATION_FLAGS, ("--temperature", "--qps", "--max-retries"))
        return [[*run, *_tree(given, run, given.one("--output-base-dir", "data/generations"))]]

    return write


def _tree(given: Given, run: Sequence[str], place: str) -> list[str]:
    """The flags for SpecEval's tree of results, which a complete run writes."""
    name = given.one("--spec-name")
    if name in ("", Path(run[run.index("--data") + 1]).stem):
        return ["--results-dir", place]
    return ["--results-dir", place, "--spec-name", name]


def _specification(given: Given, inputs: str) -> str:
    """The specification's file: as given, or where SpecEval keeps the one with this name."""
    if path := given.one("--spec-path"):
        given.has("--spec")
        return path
    known = [part for part in Path(inputs).parts if part in ("openai", "anthropic", "google")]
    name = given.one("--spec") or (known[0] if known else "openai")
    path = f"data/specs/{name}/jsonl/{name}.jsonl"
    given.notes.append(f"--data: the script names no specification's file; {path} is SpecEval's")
    return path


def _judging_flags(prefix: str) -> dict[str, Flag]:
    return {
        **_SPEC_COMMON,
        "--config-file": Flag("evalbench run FILE.yaml"),
        "--candidate-generation-dirs": Flag("--answers NAME=FOLDER, once for each", values=-1),
        f"--{prefix}-judge-model-name": Flag("--judge PROVIDER/NAME"),
        f"--{prefix}-judge-org": Flag("the provider before the judge's name"),
        "--output-dir-base": Flag("--results-dir"),
    }


def _judging(benchmark: str, prefix: str, *, org: str = "openai") -> Callable[..., list[list[str]]]:
    def write(given: Given) -> list[list[str]]:
        if file := given.one("--config-file"):
            return [["evalbench", "run", file]]
        run = ["evalbench", "run", benchmark, "--data", given.one("--spec-path", "SPEC.jsonl")]
        for folder in given.all("--candidate-generation-dirs"):
            run += ["--answers", folder]
        judge = given.one(f"--{prefix}-judge-model-name", "NAME")
        org_name = given.one(f"--{prefix}-judge-org", org)
        temperature = given.one("--temperature")
        run += ["--judge", f"{org_name}/{judge}" + (
            f",temperature={temperature}" if temperature else ""
        )]  # fmt: skip
        if size := given.one("--batch-size"):
            run += ["--mode", "batch", "--batch-size", size]
        return [[*run, *_tree(given, run, given.one("--output-dir-base", "data/judgements"))]]

    return write


_NONE: Mapping[str, Flag] = {}
_EXPERIMENTER = "the Claude MMLU Experimenter"
_SPEC_EVAL = "SpecEval"

SCRIPTS: Mapping[str, Script] = {
    "llama_medium_claude": Script(
        "OpenSeeSimE", _NONE, _openseesime("claude", "anthropic", "claude-sonnet-4-5-20250929")
    ),
    "llama_medium_gemini": Script(
        "OpenSeeSimE", _NONE, _openseesime("gemini", "google", "gemini-2.5-pro")
    ),
    "run_experiment": Script(_EXPERIMENTER, _MMLU_FLAGS, _mmlu),
    "run_mmlu_eval": Script(_EXPERIMENTER, _MMLU_FLAGS, _mmlu),
    "generate_dataframes": Script(
        _EXPERIMENTER, _NONE, lambda given: [["evalbench", "data", "fetch", "mmlu"]]
    ),
    "download_mmlu.sh": Script(
        _EXPERIMENTER, _NONE, lambda given: [["evalbench", "data", "fetch", "mmlu"]]
    ),
    "test_claude_api": Script(
        _EXPERIMENTER, _NONE, lambda given: [["evalbench", "keys", "test", "anthropic"]]
    ),
    "test_api": Script(_EXPERIMENTER, _NONE, lambda given: [["evalbench", "keys", "test"]]),
    "run_answer_generator": Script(_EXPERIMENTER, _GENERATOR_FLAGS, lambda given: []),
    "bedrock_claude.cli": Script("the Bedrock evaluator", _CODE_FLAGS, _code),
    "cli": Script("the MT-bench Evaluation System", _MT_BENCH_FLAGS, _mt_bench),
    "run_batched_generation": Script(_SPEC_EVAL, _GENERATION_FLAGS, _generation("batch")),
    "together_batch_inference": Script(_SPEC_EVAL, _GENERATION_FLAGS, _generation("concurrent")),
    "generate_google_models": Script(_SPEC_EVAL, _GENERATION_FLAGS, _generation("plain")),
    "run_batched_ranking": Script(
        _SPEC_EVAL, _judging_flags("ranking"), _judging("spec-rank", "ranking")
    ),
    "run_batched_binary_compliance": Script(
        _SPEC_EVAL, _judging_flags("compliance"), _judging("spec-comply", "compliance")
    ),
    "batched_binary_compliance_google": Script(
        _SPEC_EVAL,
        _judging_flags("compliance"),
        _judging("spec-comply", "compliance", org="google"),
    ),
}
"""All scripts by name, without folder and ``.py``."""


# -- surrounding commands ------------------------------------------------------------------

_KEY_VARIABLES = {
    "ANTHROPIC_API_KEY": "anthropic",
    "OPENAI_API_KEY": "openai",
    "GOOGLE_API_KEY": "google",
    "GEMINI_API_KEY": "google",
    "TOGETHER_API_KEY": "together",
    "DEEPSEEK_API_KEY": "deepseek",
    "GALILEO_API_KEY": "galileo",
    "HF_TOKEN": "huggingface",
}
_VARIABLE = re.compile(r"(?:\$env:)?(?P<name>[A-Z][A-Z0-9_]+)\s*=")
_EXTRAS = {
    "anthropic": "anthropic", "openai": "openai", "together": "together", "boto3": "bedrock",
    "opencv-python": "vision", "Pillow": "vision", "galileo": "otlp", "transformers": "local",
}  # fmt: skip
_HUB_LOGINS = (["huggingface-cli", "login"], ["hf", "auth", "login"], ["hf", "login"])


def _surroundings(words: Sequence[str]) -> Translation | None:
    """Installing, setting keys and the like; None for a script."""
    first = words[0].rpartition("/")[2]
    if first in ("export", "set", "setx", "echo") or words[0].startswith("$env:"):
        return _variable(" ".join(words))
    if list(words[:2]) in _HUB_LOGINS or list(words[:3]) in _HUB_LOGINS:
        return Translation([["evalbench", "keys", "set", "huggingface"]], [])
    if first == "security":  # macOS's keychain
        provider = "deepseek" if "deepseek-api-key" in words else "anthropic"
        return Translation([["evalbench", "keys", "set", provider]], ["the key is asked for"])
    if first == "aws":
        return _aws(words)
    if _PYTHON.fullmatch(words[0]) and words[1:3] == ["-m", "pip"]:
        words, first = words[2:], "pip"
    if first in ("pip", "pip3"):
        return _pip(words)
    if first in ("git", "cd", "source", "mkdir") or first.endswith("activate"):
        return Translation([], ["nothing to do here: evalbench needs no checkout of the original"])
    if _PYTHON.fullmatch(words[0]) and words[1:3] == ["-m", "venv"]:
        return Translation([], ["as it is; then: pip install evalbench"])
    if first in ("black", "ruff", "mypy", "pytest") or words[1:3] == ["-m", "pytest"]:
        return Translation([], ["for developers of the original; nothing to do here"])
    return None


def _variable(text: str) -> Translation:
    found = _VARIABLE.search(text)
    name = found["name"] if found else ""
    if provider := _KEY_VARIABLES.get(name):
        note = f"{name} works here as it is; or keep the key in the system's keychain:"
        return Translation([["evalbench", "keys", "set", provider]], [note])
    if name.startswith("AWS_"):
        return Translation([["evalbench", "keys", "test", "bedrock"]], [f"{name} works as it is"])
    return Translation([], [f"{name or 'this'} is not read by evalbench"])


def _aws(words: Sequence[str]) -> Translation | None:
    if "bedrock-runtime" not in words:
        return Translation([], ["AWS's own tool; evalbench uses the same profiles and regions"])
    places = {word: words[at + 1] for at, word in enumerate(words[:-1]) if word.startswith("--")}
    model = places.get("--model-id", _BEDROCK_MODEL).rpartition("/")[2]
    probe = ["evalbench", "probe", f"bedrock/{model}"]
    if region := places.get("--region"):
        probe += ["--region", region]
    if found := re.search(r'"budget_tokens"\s*:\s*(\d+)', places.get(_MORE_FIELDS, "")):
        probe += ["--thinking-budget", found[1]]
    return Translation([probe], [])


_MORE_FIELDS = "--additional-model-request-fields"


def _pip(words: Sequence[str]) -> Translation:
    extras = {_EXTRAS[word] for word in words if word in _EXTRAS}
    extras |= {e for word in words for name, e in _EXTRAS.items() if f"_{name}." in word}
    if any(word.startswith("flash-attn") for word in words):
        return Translation([], ["not needed: attention is chosen by what is installed"])
    return Translation([shlex.split(install_command(*sorted(extras or {"all"})))], [])
