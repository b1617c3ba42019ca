"""Reads configuration files of other systems as runs.

MT-bench Evaluation System: ``model_config.yaml`` (``models``) and ``evaluation_config.yaml``
(``judge``, ``evaluation``); both or either may be given, and a missing one is read from the same
folder. SpecEval: the files of ``run_batched_ranking`` and ``run_batched_binary_compliance``.

Anything in a file that evalbench does differently is reported, never silently dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evalbench.engine.benchmarks.spec_adherence.data import contestant
from evalbench.engine.config import registry
from evalbench.engine.config.roles import ROLE_OPTIONS, answers_model, parse_judge, parse_model
from evalbench.engine.config.spec import RunSpec, make_spec
from evalbench.engine.errors import SpecError, UsageError
from evalbench.engine.field_checks import (
    Misfit,
    anything,
    either,
    flag,
    list_of,
    maybe,
    number,
    record,
    table_of,
    text,
    whole,
)
from evalbench.engine.files import MB, read_text

_MT_BENCH_FILES = ("model_config.yaml", "evaluation_config.yaml")
_MT_BENCH_TABLES = ("models", "judge", "evaluation")
_JUDGE_PREFIXES = ("ranking_judge", "compliance_judge", "judge")
_NO_BUCKET = "Gemini is asked by its Developer API, with a key; batches there need no bucket"
_HERE_OTHERWISE = {
    "output_dir_base": "at the end the results are written there too, as SpecEval lays them out",
    "verbose": "",
    "input_bucket": _NO_BUCKET,
    "output_bucket": _NO_BUCKET,
    "openai_api_key": "keys come from the environment or the keychain, never from a file",
    "anthropic_api_key": "keys come from the environment or the keychain, never from a file",
    "google_api_key": "keys come from the environment or the keychain, never from a file",
}


class Configured(NamedTuple):
    """The runs described by a file, and notes about them."""

    specs: list[RunSpec]
    notes: tuple[str, ...]


def read_config(
    path: Path,
    common: Mapping[str, Any] | None = None,
    *,
    models: Sequence[str] = (),
    more: Sequence[Path] = (),
) -> Configured:
    """Read a configuration file.

    Args:
        path: the file.
        common: raw values of common settings, overriding the file.
        models: only these of the file's models; all if empty.
        more: further files of the same run.

    Raises:
        SpecError: it is not of a known kind, or a value is invalid.
    """
    body = _load(path)
    for other in more:
        included = _load(other)
        if twice := sorted(map(str, included.keys() & body.keys())):
            raise SpecError("config", f"{path} and {other} both say what {twice[0]} is")
        body |= included
    given = dict(common or {})
    if any(name in body for name in _MT_BENCH_TABLES):
        return _mt_bench(path, body, given, models)
    if "candidate_generation_dirs" in body:
        if models:
            raise SpecError(
                "model",
                f"--model does not go with {path}: it compares answers that exist already",
                hint="--judge PROVIDER/NAME names another judge; leave --model out",
            )
        return _spec_eval(path, body, given)
    raise SpecError(
        "config",
        f"{path} is no configuration that is known here",
        why="its keys are " + (", ".join(map(str, body)) or "none"),
        hint="an MT-bench models or judge file, a SpecEval ranking or compliance file, or a"
        " suite (.toml)",
    )


def _load(path: Path) -> dict[str, Any]:
    import yaml

    try:
        loader = yaml.SafeLoader(read_text(path, MB))
        tree = loader.get_single_node()
        if tree is not None:
            _count(tree)
        body = loader.construct_document(tree) if tree is not None else None
    except OSError as error:
        raise SpecError("config", f"cannot read {path}", why=error.strerror or str(error)) from None
    except RecursionError:
        why = "it is nested too deeply"
        raise SpecError("config", f"{path} is not YAML that is read here", why=why) from None
    except (yaml.YAMLError, ValueError) as error:
        raise SpecError("config", f"{path} is not YAML", why=str(error)) from None
    if not isinstance(body, dict):
        raise SpecError("config", f"{path} holds no keys and values")
    try:
        _BODY(body)
    except Misfit as error:
        raise SpecError("config", f"{path} is not as it should be", why=str(error)) from None
    return body


_SETTING = maybe(either(text, flag, number()))
_BODY = record(
    {},
    {
        "models": maybe(table_of(maybe(table_of(anything)))),
        "judge": maybe(table_of(_SETTING)),
        "evaluation": maybe(table_of(anything)),
        "candidate_generation_dirs": list_of(text),
        "spec_path": text,
        "temperature": maybe(either(number(), text)),
        "batch_size": maybe(whole(1)),
    },
)
_MOST_NODES = 10_000


def _count(tree: Any) -> None:
    """Check the size of a document with all its references expanded.

    Anchors within anchors can expand a few lines to gigabytes.

    Raises:
        ValueError: it is too large, or a part contains itself.
    """
    known: dict[int, int] = {}
    inside: set[int] = set()

    def size(node: Any) -> int:
        if id(node) in known:
            return known[id(node)]
        if id(node) in inside:
            raise ValueError("a part of it contains itself")
        inside.add(id(node))
        nodes = node.value if isinstance(node.value, list) else ()
        parts = [part for one in nodes for part in (one if isinstance(one, tuple) else (one,))]
        known[id(node)] = total = 1 + sum(map(size, parts))
        inside.discard(id(node))
        return total

    if size(tree) > _MOST_NODES:
        raise ValueError(f"it comes to more than {_MOST_NODES:,} values")


# -- MT-bench ----------------------------------------------------------------------


def _mt_bench(
    path: Path, body: dict[str, Any], common: dict[str, Any], wanted: Sequence[str]
) -> Configured:
    for name in _MT_BENCH_FILES:
        beside = path.with_name(name)
        if beside.name != path.name and beside.is_file():
            body = {**_load(beside), **body}
    models = body.get("models")
    if not isinstance(models, dict) or not models:
        raise SpecError("config", f"{path} names no models", hint="put model_config.yaml beside it")
    notes: list[str] = []
    judge = _mt_bench_judge(body.get("judge"), notes)
    evaluation = body.get("evaluation") or {}
    if evaluation.get("turns_per_question", 2) != 2:
        notes.append("turns_per_question: MT-bench has two turns; both are asked")
    seconds = evaluation.get("generation_timeout_seconds")
    if seconds is not None:
        notes.append(
            f"generation_timeout_seconds: {seconds}: a local answer ends at its token cap,"
            " not by the clock"
        )
    specs = []
    for name, settings in _only(path, models, wanted).items():
        values = dict(settings or {})
        chosen = {
            "max_tokens": values.pop("max_new_tokens", None),
            "temperature": values.pop("temperature", None),
            "judge": [judge] if judge else [],
        }
        options: dict[str, Any] = {}
        if values.pop("quantization", False):
            options["quantize"] = "4bit"
        values.pop("use_flash_attention", None)
        values.pop("estimated_memory_gb", None)
        model = _model_of(name)
        own, theirs = _settings_of(model, values)
        chosen |= own
        options |= theirs
        if other := [key for key in values if str(key) not in {**own, **theirs}]:
            notes.append(f"{name}: not used here: {', '.join(map(str, other))}")
        specs.append(
            make_spec(
                "mt-bench",
                model,
                provider_options={k: v for k, v in options.items() if _takes(model, k, notes)},
                **{**{k: v for k, v in chosen.items() if v not in (None, [])}, **common},
            )
        )
    notes.append(
        "the file's temperature is put over MT-bench's own by category"
        if any("temperature" in (one or {}) for one in models.values())
        else "temperatures are MT-bench's own, by category"
    )
    return Configured(specs, tuple(notes))


def _model_of(name: object) -> str:
    """A model named in the file: a short name is one on this machine."""
    return str(name) if "/" in str(name) else f"local/{name}"


def _only(path: Path, models: Mapping[Any, Any], wanted: Sequence[str]) -> Mapping[Any, Any]:
    """The selected models of a file, by their names or in the form of --model.

    Raises:
        SpecError: one is not in the file.
    """
    if not wanted:
        return models
    known = {_model_of(name): name for name in models}
    asked = [_model_of(name) for name in wanted]
    if strange := next((name for name in asked if name not in known), None):
        raise SpecError(
            "model",
            f"{path} has no model {strange}",
            why="it has " + ", ".join(known),
            hint="leave --model out, or: evalbench run mt-bench --model " + strange,
        )
    return {known[name]: models[known[name]] for name in asked}


def _mt_bench_judge(judge: Any, notes: list[str]) -> str:
    if not isinstance(judge, dict) or not judge.get("model"):
        return ""
    name = str(judge["model"])
    model = name if "/" in name else f"openai/{name}"
    given = {str(key): value for key, value in judge.items() if key != "model"}
    if "rate_limit_requests_per_second" in given:
        given["qps"] = given.pop("rate_limit_requests_per_second")
    text, other = _judge_with(model, given)
    if other:
        notes.append(f"judge: not used here: {', '.join(other)}")
    return text


_NOT_OF_FILES = ("key", "stop")
"""A key in a file would be stored with the run; a stop sequence may contain a comma."""


def _settings_of(model: str, given: Mapping[Any, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values that are settings of a role, and those that are its provider's."""
    provider = registry.provider_class(parse_model(model).provider)
    names = [
        {option.name for option in options if option.name not in _NOT_OF_FILES}
        for options in (ROLE_OPTIONS, provider.options)
    ]
    role, own = (
        {str(key): value for key, value in given.items() if key in known and value is not None}
        for known in names
    )
    return role, own


def _judge_with(model: str, given: Mapping[str, Any]) -> tuple[str, list[str]]:
    """A judge with its supported settings, in the form of ``--judge``; and the unsupported ones."""
    role, own = _settings_of(model, given)
    taken = {**own, **role}
    text = ",".join([model, *(f"{name}={value}" for name, value in taken.items())])
    return text, [name for name, value in given.items() if name not in taken and value is not None]


def _takes(model: str, option: str, notes: list[str]) -> bool:
    """Whether the model's provider has an option; adds a note if not."""
    provider = registry.provider_class(model.partition("/")[0])
    if any(one.name == option for one in provider.options):
        return True
    notes.append(f"{model}: {option} cannot be set")
    return False


# -- SpecEval ----------------------------------------------------------------------


def _spec_eval(path: Path, body: dict[str, Any], common: dict[str, Any]) -> Configured:
    ranking = "ranking_judge_model_name" in body
    notes: list[str] = []
    prefix = next((p for p in _JUDGE_PREFIXES if f"{p}_model_name" in body), None)
    folders = body["candidate_generation_dirs"]
    if prefix is None or not body.get("spec_path") or not isinstance(folders, list):
        raise SpecError(
            "config",
            f"{path} is not complete",
            why="it needs spec_path, a list of candidate_generation_dirs and a judge",
            hint="ranking_judge_model_name and ranking_judge_org, for example",
        )
    org = str(body.get(f"{prefix}_org", "openai"))
    model = f"{org}/{body[f'{prefix}_model_name']}"
    used = {
        "spec_name", "spec_path", "candidate_generation_dirs", "batch_size",
        f"{prefix}_model_name", f"{prefix}_org",
    }  # fmt: skip
    given = {str(k): v for k, v in body.items() if k not in used and k not in _HERE_OTHERWISE}
    judge, other = _judge_with(model, given)
    answers = [_placed(path, str(folder)) for folder in folders]
    named = [contestant(one) for one in answers]
    notes += [f"{name}: answers in {place}" for name, place in named]
    notes += [f"{key}: {why}" for key in body if (why := _HERE_OTHERWISE.get(str(key)))]
    notes += [f"{key}: not used here" for key in other]
    batches = _batches(body.get("batch_size"), judge, common, notes)
    names = [name for name, _ in named]
    if len(set(names)) < len(names):
        raise UsageError(
            f"{path} names two folders of one model",
            why=", ".join(names),
            hint="give them names: --answers NAME=FOLDER",
        )
    spec = make_spec(
        "spec-rank" if ranking else "spec-comply",
        answers_model(names),
        options={
            "answers": answers,
            "results_dir": body.get("output_dir_base"),
            "spec_name": body.get("spec_name"),
        },
        **{"data": _placed(path, str(body["spec_path"])), "judge": [judge], **batches, **common},
    )
    return Configured([spec], tuple(notes))


def _batches(size: Any, judge: str, common: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    """The settings for a file that requests batches; both can be overridden by flags."""
    if size is None:
        return {}
    if parse_judge(judge).batch_terms() is None:
        notes.append(f"batch_size: {judge.partition('/')[0]} takes no batches; asked at once")
        return {}
    if common.get("mode") in (None, "batch"):
        notes.append(
            "batch_size: the judge is asked in batches, for less money; --mode realtime: at once"
        )
    return {"mode": "batch", "batch_size": size}


def _placed(path: Path, given: str) -> str:
    """A path from the file: unchanged, or relative to the file if it exists there."""
    beside = path.parent / given
    return str(beside) if not Path(given).exists() and beside.exists() else given
