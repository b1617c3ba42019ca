"""The child process that loads lm-evaluation-harness: the only module that imports it.

Requests and answers are JSON lines on its pipes, and it serves until its input ends::

    {"ask": "open", "settings": {...}}    ->  {"answer": {"tasks": {...}, "groups": [...], ...}}
    {"ask": "items"}                      ->  {"item": {...}} ..., {"answer": COUNT}
    {"ask": "score", "task": T, "doc_id": N, "doc_hash": H, "results": [...]}
                                          ->  {"answer": {"values": {...}, "parsed": {...}}}
    {"ask": "aggregate", "task": T, "documents": [[N, REQUESTS, PARSED], ...],
     "iterations": I}
                                          ->  {"answer": {"METRIC,FILTER": [VALUE, STDERR], ...}}

A failure is ``{"error": WHAT, "why": WHY, "hint": HINT}``, or ``{"error": WHAT, "raised": true}``
if the library or a task's own code raised it. What the library does in ``evaluate`` (version
0.4.13) is done here in the same order: overrides of the configuration, few-shot seed, requests,
filters, ``process_results``.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from evalbench.engine.benchmarks.lm_eval.aggregation import (
    AGGREGATIONS,
    CORPUS_METRICS,
    corpus_metric,
)
from evalbench.engine.benchmarks.lm_eval.bootstrap import (
    BOOTSTRAPPED,
    bootstrap_stderr,
)
from evalbench.engine.benchmarks.lm_eval.index import library_tasks

_SEED = 1234
"""The library's default seed of few-shot examples and of NumPy; its own for Python is 0."""
_CHAT = "\x00evalbench-chat:"
_LONGEST = 20_000
"""Most characters of a text in a document that are kept for display."""


class Refused(BaseException):
    """A request that cannot be answered; what happened, why, and what to do.

    No ``Exception``, because the library goes on without a metric whose loading raises one.
    """

    def __init__(self, what: str, why: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.fields = {"error": what, "why": why, "hint": hint}


def _forbid_code(base: Path) -> None:
    """Let task files outside the library neither name functions nor load metrics' scripts."""
    from jinja2.sandbox import ImmutableSandboxedEnvironment
    from lm_eval import utils
    from lm_eval.tasks import _yaml_loader

    resolve = _yaml_loader._import_func_in_yml

    def checked(qualified: str, folder: Path) -> Any:
        if not Path(folder).resolve().is_relative_to(base):
            raise Refused(
                f"a task file in {folder} runs code of its own: !function {qualified}",
                hint="if you trust it: --unsafe-task-code",
            )
        return resolve(qualified, folder)

    def no_script(path: str, *_: Any, **__: Any) -> Any:
        raise Refused(
            f"the metric {path!r} is a script that would be run",
            hint="if you trust the task files: --unsafe-task-code",
        )

    _yaml_loader._import_func_in_yml = checked
    # In place of the package, whose import loads transformers and torch.
    without_scripts = ModuleType("evaluate")
    vars(without_scripts)["load"] = no_script
    sys.modules["evaluate"] = without_scripts
    plain = utils.env
    utils.env = ImmutableSandboxedEnvironment(
        loader=plain.loader, undefined=plain.undefined, keep_trailing_newline=True
    )
    utils.env.filters.update(plain.filters)


def _forbid_running() -> None:
    """Refuse tasks that run code of models before their own modules are loaded, which may do so."""
    from lm_eval.tasks._factory import TaskFactory
    from lm_eval.tasks._yaml_loader import load_yaml

    build = TaskFactory._build_task

    def checked(factory: Any, entry: Any, overrides: Any) -> Any:
        if entry.yaml_path and load_yaml(entry.yaml_path, resolve_func=False).get("unsafe_code"):
            raise _runs_code(entry.name)
        return build(factory, entry, overrides)

    TaskFactory._build_task = checked


def _check_sentence_data(task: str) -> None:
    """Refuse a task whose module wanted nltk's sentence data when it was loaded and got none.

    Such modules have a function of this name and call it. It downloads, and ignores a failure, so
    that every sample whose sentences are counted would fail after it was paid for.
    """
    if not any("download_nltk_resources" in vars(module) for module in [*sys.modules.values()]):
        return
    import nltk

    try:
        nltk.data.find("tokenizers/punkt_tab")
    except LookupError:
        raise Refused(
            f"{task} needs nltk's sentence data, punkt_tab, which is not on this machine",
            why="it could not be downloaded from GitHub when the task was loaded",
            hint="where there is a network: python -m nltk.downloader punkt_tab",
        ) from None


def _runs_code(task: str) -> Refused:
    return Refused(
        f"{task} runs code that models write, without a sandbox",
        hint="humaneval and mbpp of evalbench itself run it in one; if you accept to run it as"
        " you, without any protection: --unsafe-run-code",
    )


@contextmanager
def _named(task: str) -> Iterator[None]:
    """Name the task that the library, or the task's own code, fails to load."""
    from jinja2 import UndefinedError

    try:
        yield
    except Exception as error:
        why = f"{type(error).__name__}: {error}"[:2000]
        if isinstance(error, StopIteration):
            why = "its data set has no rows"
        elif isinstance(error, UndefinedError):
            why = f"a template of it names what its data set lacks: {error}"
        raise Refused(f"lm-evaluation-harness cannot load {task}", why=why) from None


class Session:
    """The tasks of one run, loaded."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Load the tasks.

        Args:
            settings: ``task``, ``index`` (of the library's tasks and of the user's own),
                ``include_path``, ``num_fewshot``, ``gen_kwargs``, ``system_instruction``,
                ``apply_chat_template``, ``fewshot_as_multiturn``, ``unsafe_task_code``,
                ``unsafe_run_code``.
        """
        self._settings = settings
        self._docs: dict[str, Any] = {}
        self._hashes: dict[tuple[str, int], str] = {}
        self._aggregated: dict[str, dict[str, str]] = {}
        with _named(settings["task"]):
            loaded = self._load()
        self.tasks: dict[str, Any] = loaded["tasks"]
        self.groups: dict[str, Any] = loaded.get("groups") or {}
        for name, task in self.tasks.items():
            self._check(name, task)
            self._override(task)

    def _load(self) -> Any:
        import numpy as np
        from lm_eval.tasks import TaskManager
        from lm_eval.tasks._index import Entry, Kind

        given = self._settings
        if given["include_path"] and not given["unsafe_task_code"]:
            _forbid_code(library_tasks())
        if given["unsafe_run_code"]:
            os.environ["HF_ALLOW_CODE_EVAL"] = "1"
        else:
            _forbid_running()
        random.seed(0)
        np.random.seed(_SEED)
        # It would look through all of ``include_path`` again, and what tools keep there.
        manager = TaskManager(include_defaults=False, metadata={})
        base = library_tasks()
        manager._index = {
            name: Entry(name, Kind[kind], base / path if path else None, None, set(members))
            for name, (kind, path, _, _, _, members) in given["index"].items()
        }
        loaded = manager.load([given["task"]])
        _check_sentence_data(given["task"])
        return loaded

    def _check(self, name: str, task: Any) -> None:
        if getattr(task, "UNSAFE_CODE", False) and not self._settings["unsafe_run_code"]:
            raise _runs_code(name)
        if getattr(task, "MULTIMODAL", False):
            raise Refused(f"{name} shows pictures or plays sounds, which is not supported here")
        if task.get_config("process_results") is None:
            for metric, used in getattr(task, "_metric_fn_list", {}).items():
                if used is None:
                    raise Refused(
                        f"the metric {metric!r} of {name} cannot be loaded",
                        why="neither lm-evaluation-harness nor evaluate has it, or a package that"
                        " it needs is not installed",
                    )

    def _override(self, task: Any) -> None:
        """As ``simple_evaluate`` does before it builds requests."""
        given = self._settings
        if task.get_config("output_type") == "generate_until" and given["gen_kwargs"]:
            task.set_config("generation_kwargs", dict(given["gen_kwargs"]), update=True)
        shots = task.get_config("num_fewshot")
        if given["num_fewshot"] is not None and shots != 0:
            task.set_config("num_fewshot", given["num_fewshot"])
        elif shots is None:
            task.set_config("num_fewshot", 0)
        task.set_fewshot_seed(_SEED)

    def facts(self) -> dict[str, Any]:
        """What is needed besides the documents: metrics, filters, groups, configurations."""
        return {
            "tasks": {name: self._task_facts(name, task) for name, task in self.tasks.items()},
            "groups": [_group_facts(group) for group in _bottom_up(self.groups)],
        }

    def _task_facts(self, name: str, task: Any) -> dict[str, Any]:
        config = _plain(task.dump_config())
        return {
            "alias": config.get("task_alias") or name,
            "version": _plain(task.VERSION),
            "output_type": task.OUTPUT_TYPE,
            "num_fewshot": config.get("num_fewshot", 0),
            "aggregation": self._aggregations(task),
            "higher_is_better": _plain(task.higher_is_better()),
            "filters": [one.name for one in getattr(task, "_filters", ())],
            "config": config,
        }

    def _aggregations(self, task: Any) -> dict[str, str]:
        from lm_eval.api.registry import AGGREGATION_REGISTRY

        names = {id(function): name for name, function in _registered(AGGREGATION_REGISTRY)}
        return {
            str(metric): names.get(id(used)) or f"!{getattr(used, '__name__', used)}"
            for metric, used in task.aggregation().items()
        }

    def items(self) -> Iterator[dict[str, Any]]:
        """Every document with the requests that the task makes of it."""
        given = self._settings
        for name, task in self.tasks.items():
            with _named(name):
                task.build_all_requests(
                    system_instruction=given["system_instruction"] or None,
                    apply_chat_template=given["apply_chat_template"],
                    fewshot_as_multiturn=given["fewshot_as_multiturn"],
                    chat_template=_recorded if given["apply_chat_template"] else None,
                )
            by_doc: dict[int, list[Any]] = {}
            for instance in task.instances:
                by_doc.setdefault(instance.doc_id, []).append(instance)
            for doc_id, instances in by_doc.items():
                instances.sort(key=lambda one: one.idx)
                doc = instances[0].doc
                yield {
                    "task": name,
                    "doc_id": doc_id,
                    "doc_hash": _hash(doc),
                    "doc": _plain(doc),
                    "target": _plain(task.doc_to_target(doc)),
                    "repeats": instances[0].repeats or 1,
                    "requests": [_request(one) for one in instances],
                }

    def score(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Filters and ``process_results`` for one document.

        ``asked["results"]`` has for each request its results: texts, log-likelihoods with whether
        the continuation is greedy, or rolling log-likelihoods.
        """
        from lm_eval.api.instance import Instance

        name, task = asked["task"], self.tasks[asked["task"]]
        doc = self._doc(name, asked["doc_id"])
        if self._hash_of(name, asked["doc_id"], doc) != asked["doc_hash"]:
            raise Refused(
                f"document {asked['doc_id']} of {name} is no longer the one that was asked about",
                why="its data has changed since the run began",
            )
        instances = []
        for number, (kind, results) in enumerate(asked["results"]):
            responses = [tuple(one) if isinstance(one, list) else one for one in results]
            place = (name, asked["doc_id"], len(responses))
            instances.append(Instance(kind, doc, (), number, place, resps=responses))
        values: dict[str, float] = {}
        parsed: dict[str, Any] = {}
        task._instances = instances
        task.apply_filters()
        for filtered in instances[0].filtered_resps:
            filtered_responses = [one.filtered_resps[filtered] for one in instances]
            parsed[str(filtered)] = _plain(
                filtered_responses[0] if len(filtered_responses) == 1 else filtered_responses
            )
            for metric, value in task.process_results(doc, filtered_responses).items():
                used = task.aggregation().get(metric)
                values |= _values(f"{metric},{filtered}", value, used)
        return {"values": values, "parsed": parsed}

    def aggregate(self, asked: Mapping[str, Any]) -> dict[str, list[float | None]]:
        """Values and standard errors that need all documents of a task at once, in order.

        Those are values of aggregation functions of the task's own, and errors that the library
        estimates by resampling. ``asked["documents"]`` has for each document its number, how many
        requests it made, and what the filters gave; ``asked["iterations"]`` counts resamples.
        """
        name, task = asked["task"], self.tasks[asked["task"]]
        used, how = task.aggregation(), self._aggregations(task)
        by_metric: dict[tuple[str, str], list[Any]] = {}
        for doc_id, requests, parsed in asked["documents"]:
            doc = self._doc(name, doc_id)
            for filtered, responses in parsed.items():
                given = [responses] if requests == 1 else responses
                for metric, value in task.process_results(doc, given).items():
                    by_metric.setdefault((metric, filtered), []).append(value)
        found = {}
        for (metric, filtered), values in by_metric.items():
            key, named = f"{metric},{filtered}", how.get(metric, "mean")
            if named in BOOTSTRAPPED:
                numbers = (_values(key, value, used.get(metric)) for value in values)
                rows = [tuple(one.values()) for one in numbers if one]
                found[key] = [None, bootstrap_stderr(rows, named, asked["iterations"])]
            elif named not in AGGREGATIONS:
                found[key] = _by_the_library(used[metric], values, asked["iterations"])
        return found

    def _doc(self, name: str, number: int) -> Any:
        if name not in self._docs:
            self._docs[name] = self.tasks[name].eval_docs
        return self._docs[name][number]

    def _hash_of(self, name: str, number: int, doc: Any) -> str:
        if (name, number) not in self._hashes:
            self._hashes[name, number] = _hash(doc)
        return self._hashes[name, number]


def _by_the_library(
    used: Callable[..., Any], values: list[Any], iterations: int
) -> list[float | None]:
    """An aggregation that only the library, or the task, has; its standard error, if it has one."""
    from lm_eval.api.metrics import stderr_for_metric

    error = stderr_for_metric(used, iterations)
    made = [used(values), error(values) if error and len(values) > 1 else None]
    numbers = [_numbers(one) for one in made]
    return [one[0] if one and math.isfinite(one[0]) else None for one in numbers]


def _registered(registry: Any) -> list[tuple[str, Any]]:
    return [(name, registry[name]) for name in registry]


def _recorded(turns: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
    """In place of a model's chat template: the turns themselves, for the model's provider."""
    return _CHAT + json.dumps([turns, not add_generation_prompt])


def _request(instance: Any) -> dict[str, Any]:
    kind, args = instance.request_type, instance.args
    if kind == "loglikelihood_rolling":
        return {"kind": kind, "text": str(args[0])}
    context = args[0]
    if isinstance(context, str) and context.startswith(_CHAT):
        turns, goes_on = json.loads(context.removeprefix(_CHAT))
        context = [[turn["role"], turn["content"]] for turn in turns]
        if goes_on:
            raise Refused(
                "this task begins the model's answer itself, which a chat template cannot express",
                hint="leave --apply-chat-template out",
            )
    if kind == "loglikelihood":
        return {"kind": kind, "context": context, "continuation": str(args[1])}
    if kind == "generate_until":
        from lm_eval.models.utils import normalize_gen_kwargs

        settings = _plain(normalize_gen_kwargs(args[1]))
        return {"kind": kind, "context": context, "gen_kwargs": settings}
    raise Refused(f"a request of kind {kind!r} is not supported")


def _bottom_up(groups: Mapping[str, Any]) -> list[Any]:
    from lm_eval.evaluator_utils import _collect_groups_bottom_up

    found: list[Any] = _collect_groups_bottom_up(dict(groups))
    return found


def _group_facts(group: Any) -> dict[str, Any]:
    return {
        "name": group.name,
        "alias": group.alias or group.name,
        "version": _plain(group.version),
        "children": list(group.child_names),
        "tasks": [task.task_name for task in group.get_all_tasks()],
        "metrics": [
            {
                "metric": one.metric,
                "filters": [one.filter_list]
                if isinstance(one.filter_list, str)
                else list(one.filter_list or ()),
                "weight_by_size": bool(one.weight_by_size),
            }
            for one in group.aggregate_metric_list or ()
        ],
    }


def _values(name: str, value: Any, used: Callable[..., Any] | None) -> dict[str, float]:
    """A metric of one document as numbers that can be added up over documents.

    Texts that are compared over the whole corpus become the counts which their metric adds up.
    """
    if isinstance(value, list | tuple) and any(isinstance(part, str | list) for part in value):
        counts = _corpus_counts(value, getattr(used, "__name__", ""))
        return {f"{name}#{number}": float(part) for number, part in enumerate(counts)}
    parts = _numbers(value)
    if parts is None:
        return {}
    if not isinstance(value, list | tuple):
        return {name: parts[0]} if math.isfinite(parts[0]) else {}
    return {f"{name}#{number}": part for number, part in enumerate(parts) if math.isfinite(part)}


def _numbers(value: Any) -> list[float] | None:
    import numpy as np

    if value is None or isinstance(value, str):
        return None
    if isinstance(value, bool | int | float | np.generic):
        return [float(value)]
    found: list[float] = []
    for part in value if not isinstance(value, Mapping) else ():
        own = _numbers(part)
        if own is None:
            return None
        found += own
    return found


def _corpus_counts(value: Any, used: str) -> list[float]:
    """What sacrebleu adds up over segments, of one of them; empty for other metrics."""
    name = "chrf++" if used == "chrfpp" else used
    if name not in CORPUS_METRICS:
        return []
    from lm_eval.api.metrics import _sacreformat

    refs, preds = _sacreformat([value[0]], [value[1]])
    found: list[float] = corpus_metric(name)._extract_corpus_statistics(list(preds), refs)[0]
    return found


def _hash(doc: Any) -> str:
    from lm_eval.utils import handle_non_serializable

    text = json.dumps(doc, indent=2, default=handle_non_serializable, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _plain(value: Any) -> Any:
    """A JSON value for a value of the library; what has no JSON form becomes text."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(own) for key, own in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(own) for own in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return str(value)[:_LONGEST]


def _served(session: Session | None, request: Mapping[str, Any], say: Any) -> Any:
    match request["ask"]:
        case "items":
            assert session
            count = 0
            for item in session.items():
                say({"item": item})
                count += 1
            return count
        case "aggregate":
            assert session
            return session.aggregate(request)
    assert session
    return session.score(request)


def main() -> None:
    """Serve requests from standard input."""
    pipe = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    logging.disable(logging.WARNING)

    def say(message: Any) -> None:
        pipe.write(json.dumps(message, ensure_ascii=True).encode() + b"\n")

    session: Session | None = None
    for line in sys.stdin.buffer:
        request = json.loads(line)
        try:
            if request["ask"] == "open":
                session = Session(request["settings"])
                say({"answer": session.facts()})
            else:
                say({"answer": _served(session, request, say)})
        except Refused as error:
            say(error.fields)
        except Exception as error:  # from the library, or from code of a task
            what = f"{type(error).__name__}: {error}"[:2000]
            say({"error": what, "raised": True})
        pipe.flush()


if __name__ == "__main__":
    main()
