"""Tasks of lm-evaluation-harness: asked by evalbench, made and scored by the library.

The library runs in a child process (:mod:`.harness_child`): it loads the tasks, builds each
document's requests, and later applies filters and ``process_results`` to the replies. Requests
become calls like those of any other benchmark. Aggregation needs no library, see
:mod:`.aggregation`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from evalbench.engine.benchmark import (
    Ask,
    Asked,
    Benchmark,
    DataSet,
    DataSource,
    FirstScore,
    Item,
    Sample,
    Score,
    answer_outcome,
)
from evalbench.engine.benchmarks.lm_eval import aggregation
from evalbench.engine.benchmarks.lm_eval.aggregation import Aggregate
from evalbench.engine.benchmarks.lm_eval.harness import Harness
from evalbench.engine.benchmarks.lm_eval.index import (
    GENERATES,
    LM_EVAL,
    Index,
    all_tasks,
    call_kinds,
    index_path,
    library_version,
    needs_of,
    reachable,
    require_library,
    tasks_in,
)
from evalbench.engine.calls import (
    Capabilities,
    Message,
    Outcome,
    Prompt,
    Reply,
    TextPart,
    generate,
)
from evalbench.engine.calls.options import setting, values_of
from evalbench.engine.errors import SpecError, nearest
from evalbench.engine.scoring import metrics
from evalbench.engine.scoring.statistics import Z95, scaled_interval
from evalbench.engine.scoring.tally import Metric, Tally

_INVALID = "[invalid]"
"""What the library's filters give for a reply that they cannot read."""
_SENT = {"until", "max_gen_toks", "temperature", "top_p", "top_k"}
_HARMLESS = {"do_sample", "use_cache"}
_STDERR = "Standard errors, as the library computes them"
_GREEDY = {"acc", "exact_match"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LmEvalOptions:
    """Options of :class:`LmEval`."""

    include_path: str | None = setting(
        None,
        "folder with task files of your own; they take precedence over the library's",
        path="folder",
        affects_data=True,
    )
    num_fewshot: int | None = setting(
        None,
        "solved examples before each question (default: the task's own)",
        minimum=0,
        maximum=1000,
        affects_data=True,
    )
    apply_chat_template: bool = setting(
        False,
        "ask in chat turns, in the model's own template (default: for models that only chat)",
        affects_data=True,
    )
    fewshot_as_multiturn: bool = setting(
        True,
        "in chat turns, give solved examples as a conversation, not in one turn",
        affects_data=True,
    )
    system_instruction: str | None = setting(
        None,
        "text before everything else, as the system's if in chat turns",
        path="text",
        affects_data=True,
    )
    gen_kwargs: str | None = setting(
        None,
        "generation settings that replace the task's, such as max_gen_toks=64,temperature=0.7 or a"
        " JSON object",
        affects_data=True,
        metavar="NAME=VALUE,...",
    )
    unsafe_task_code: bool = setting(
        False, "run the Python code that files in --include-path name", affects_data=True
    )
    unsafe_run_code: bool = setting(
        False,
        "let tasks such as humaneval run code that models write, without a sandbox",
        affects_data=True,
    )


@dataclass(frozen=True, slots=True)
class _Document:
    """A scored document: its values, the number of its requests, and what was read."""

    doc_id: int
    values: Mapping[str, float]
    requests: int
    parsed: Mapping[str, Any]


class LmEval(Benchmark):
    """A task or group of lm-evaluation-harness.

    Attributes:
        task: its name in the library; empty for the class of all of them.
    """

    name = LM_EVAL
    version = "1"
    title = "lm-evaluation-harness"
    summary = "any task or group of the library: lm-eval/NAME; --search WORD finds names"
    data_source = "the task's own, by the library: mostly the Hugging Face hub"
    opt = LmEvalOptions()
    takes_data = False
    spread_by = "task"
    filters: ClassVar[Mapping[str, str]] = {"task": "only these tasks of a group"}
    task: ClassVar[str] = ""

    def __init__(self, options: Mapping[str, Any], *, seed: int = 0, shared: Any = None) -> None:
        super().__init__(options, seed=seed, shared=shared)
        self._harness = Harness()

    @classmethod
    def named(cls, task: str) -> type[LmEval]:
        """The benchmark of one task or group."""
        return _named(task)

    @classmethod
    def adapted(
        cls, options: LmEvalOptions, given: Iterable[str], able: Callable[[], Capabilities]
    ) -> LmEvalOptions:
        """Chat turns for models that take nothing else.

        Raises:
            SpecError: there is no such task, or an option is invalid.
        """
        if not cls.task:
            raise SpecError(
                "benchmark",
                "lm-eval needs the name of a task",
                hint="for example lm-eval/gsm8k; evalbench benchmarks --search WORD finds names",
            )
        _gen_kwargs(options.gen_kwargs)
        tasks = _index(options.include_path)
        if cls.task not in tasks:
            raise SpecError(
                "benchmark",
                f"lm-evaluation-harness {library_version()} has no task {cls.task!r}",
                hint=nearest(cls.task, tasks) or "evalbench benchmarks --search WORD",
            )
        if "apply_chat_template" in given or able().choose:
            return options
        return replace(options, apply_chat_template=True)

    def needs(self) -> frozenset[str]:
        """Log-likelihoods, text, or both, as the tasks need."""
        if self.shared:
            return call_kinds(one["output_type"] for one in self.shared["tasks"].values())
        if not self.task or not library_version():
            return frozenset({"generate"})
        return needs_of(_index(self.opt.include_path), self.task)

    @classmethod
    def answerable(cls, able: Capabilities) -> str:
        """Tasks that generate text, where there are some of a similar name."""
        if not able.generate:
            return ""
        word = re.split("[_-]", cls.task)[0]
        alike = any(
            name.startswith(word) and GENERATES in task.what for name, task in all_tasks().items()
        )
        words = f"{word} {GENERATES}" if alike else GENERATES
        return f"it can answer the tasks listed by: evalbench benchmarks --search '{words}'"

    async def check(self) -> None:
        """Require the library."""
        require_library(self.name)

    def prepare(self, source: DataSource) -> DataSet:
        """Load the tasks, and build every document's requests."""
        require_library(self.name)
        if source.progress:
            source.progress(f"loading {self.task} with lm-evaluation-harness", 0, None)
        folder = os.getcwd()
        settings = self._settings()
        facts = self._harness.ask({"ask": "open", "settings": settings})
        for one in facts["tasks"].values():
            _read_files(one["config"].get("dataset_kwargs") or {}, source)
        shared = {
            **facts,
            "task": self.task,
            "folder": folder,
            "lm_eval_version": library_version(),
        }
        paths = {str(one["config"].get("dataset_path") or "") for one in facts["tasks"].values()}
        origin = ", ".join(sorted(paths)) if len(paths) < 5 else f"{len(paths)} data sets"
        return DataSet(self._items(), shared=shared, origin=origin)

    def _items(self) -> Iterator[Item]:
        try:
            for item in self._harness.items():
                task, target = item["task"], item.pop("target")
                yield Item(item, target, {"task": task})
        finally:
            self._harness.close()

    def _settings(self) -> dict[str, Any]:
        """What the child loads the tasks with."""
        index = _index(self.opt.include_path)
        return {
            **values_of(self.opt),
            "gen_kwargs": _gen_kwargs(self.opt.gen_kwargs),
            "task": self.task,
            "index": _needed(index, self.task, whole=bool(self.opt.include_path)),
        }

    def further_files(self) -> list[Path]:
        """The index, whose name and time stand for the version of the library."""
        return [index_path()]

    async def solve(self, sample: Sample, ask: Ask) -> Score:
        """Make the document's requests, and have the library score the replies."""
        asked, places = _calls(sample)
        replies = await ask.many(asked)
        if self.rehearsal:
            return Score(Outcome.OK, {})
        results: list[list[Any]] = [[] for _ in sample.inputs["requests"]]
        for reply, (kind, numbers) in zip(replies, places, strict=True):
            by_request = _results(sample, kind, numbers, reply, self._needs_greedy(sample))
            if by_request is None:
                return Score(
                    Outcome.UNPARSED,
                    {},
                    note="this model does not say which continuations are its likeliest, which"
                    " the task's metric needs",
                )
            for number, one in zip(numbers, by_request, strict=True):
                results[number].append(one)
        inputs = sample.inputs
        request = {
            "task": inputs["task"],
            "doc_id": inputs["doc_id"],
            "doc_hash": inputs["doc_hash"],
            "results": [
                [one["kind"], result]
                for one, result in zip(inputs["requests"], results, strict=True)
            ],
        }
        self._harness.folder, self._harness.offline = self.shared["folder"], True
        scored = await self._harness.score(self._settings, request)
        parsed = scored["parsed"]
        return Score(_outcome(replies, parsed), scored["values"], parsed, _unsent(sample))

    def _needs_greedy(self, sample: Sample) -> bool:
        facts = self.shared["tasks"][sample.inputs["task"]]
        if facts["output_type"] == "multiple_choice":
            return "exact_match" in facts["aggregation"]
        return bool(_GREEDY & set(facts["aggregation"]))

    def metrics(self, tally: Tally) -> list[Metric]:
        """The task's or group's metrics, then those of each task, and the library's errors."""
        return self._metrics(tally, {}, {})

    def final_metrics(self, tally: Tally, scored: Iterable[FirstScore]) -> list[Metric]:
        """Also what the library alone can aggregate, and the standard errors that it bootstraps.

        Sums are made in the order of documents, as the library makes them, so that they are
        rounded alike.

        Raises:
            DataError: the tasks can no longer be loaded, or a task's own aggregation failed.
        """
        documents: dict[str, list[_Document]] = {}
        for sample, values, parsed in scored:
            inputs = sample.inputs
            one = _Document(inputs["doc_id"], values, len(inputs["requests"]), parsed)
            documents.setdefault(inputs["task"], []).append(one)
        for listed in documents.values():
            listed.sort(key=lambda one: one.doc_id)
        return self._metrics(tally, self._by_the_library(documents), documents)

    def _by_the_library(
        self, documents: Mapping[str, Sequence[_Document]]
    ) -> dict[str, Mapping[str, tuple[float | None, float | None]]]:
        """Values and standard errors of whole tasks that only the library computes."""
        found = {}
        try:
            for name, task in ((self.shared or {}).get("tasks") or {}).items():
                listed = [one for one in documents.get(name, ()) if one.parsed]
                if not listed or not set(_hows(task)) - aggregation.SUMMED:
                    continue
                self._harness.folder, self._harness.offline = self.shared["folder"], True
                request = {
                    "task": name,
                    "documents": [[one.doc_id, one.requests, one.parsed] for one in listed],
                    "iterations": aggregation.ITERATIONS,
                }
                found[name] = self._harness.aggregate(self._settings, request)
        finally:
            self._harness.close()
        return found

    def _metrics(
        self,
        tally: Tally,
        final: Mapping[str, Mapping[str, tuple[float | None, float | None]]],
        documents: Mapping[str, Sequence[_Document]],
    ) -> list[Metric]:
        """The metrics, with values and standard errors of whole tasks where they are known."""
        if not self.shared:
            return [Metric("acc,none", None, title="the task's own metrics")]
        tasks = self.shared["tasks"]
        parts = tally.groups("task")
        found = {
            name: _task_metrics(
                parts.get(name, Tally()), tasks[name], final.get(name, {}), documents.get(name, ())
            )
            for name in tasks
        }
        values = {name: {key: one for key, (one, _) in own.items()} for name, own in found.items()}
        groups = {one["name"]: _group_metrics(one, values) for one in self.shared["groups"]}
        single = len(tasks) == 1 and not groups
        out: list[Metric] = []
        errors: list[Metric] = []
        for name, own in groups.items():
            at = "" if name == self.task else f"/group={name}"
            for key, value in own.items():
                leaves = [of_task[key][1] for of_task in found.values() if key in of_task]
                out.append(_of_group(key, at, value, share=all(one.share for one in leaves)))
                errors += _stderr(key, at, value)
        for name, aggregates in found.items():
            at = "" if single else f"/task={name}"
            for key, (value, metric) in aggregates.items():
                group, title = ("", _title(key, "")) if single else ("Tasks", _title(key, name))
                out.append(replace(metric, name=f"{key}{at}", group=group, title=title))
                errors += _stderr(key, at, value)
        # The headline is first.
        out.sort(key=lambda metric: metric.group != "")
        return [*out, *errors] or [Metric("acc,none", None)]


@cache
def _named(task: str) -> type[LmEval]:
    body = {
        "__doc__": f"The task or group {task} of lm-evaluation-harness.",
        "__module__": __name__,
        "name": f"{LmEval.name}/{task}",
        "title": task,
        "task": task,
        "summary": f"{task} of lm-evaluation-harness",
    }
    return type("LmEvalTask", (LmEval,), body)


def _index(include_path: str | None) -> Index:
    tasks = all_tasks()
    return {**tasks, **tasks_in(include_path)} if include_path else tasks


def _needed(index: Index, name: str, *, whole: bool) -> dict[str, Any]:
    """The part of the index that a task needs; files of the user's own may refer to any."""
    needed = index.items() if whole else reachable(index, name, by_tags=True)
    return {key: list(entry) for key, entry in needed}


def _gen_kwargs(text: str | None) -> dict[str, Any]:
    """``NAME=VALUE,...`` or a JSON object, as the library's ``--gen_kwargs`` takes it.

    Raises:
        SpecError: it is neither.
    """
    if not text:
        return {}
    try:
        if text.lstrip().startswith("{"):
            found = json.loads(text)
        else:
            pairs = [part.split("=", 1) for part in text.split(",") if part.strip()]
            found = {name.strip(): _value(value.strip()) for name, value in pairs}
    except ValueError as error:
        raise SpecError(
            "gen_kwargs",
            f"--gen-kwargs cannot be {text!r}",
            why=str(error),
            hint="for example max_gen_toks=64,temperature=0.7",
        ) from None
    return dict(found)


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _read_files(given: Mapping[str, Any], source: DataSource) -> None:
    """Note local data files, so that a change in one makes the prepared copy stale."""
    waiting: list[Any] = [given.get("data_files"), given.get("data_dir")]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, str) and Path(one).is_file():
            source.read(Path(one))


def _messages(context: Any) -> tuple[Message, ...]:
    if isinstance(context, str):
        return (Message("context", (TextPart(context),)),)
    return tuple(Message(role, (TextPart(text),)) for role, text in context)


def _calls(sample: Sample) -> tuple[list[Asked], list[tuple[str, list[int]]]]:
    """The calls for a document, and the requests that each answers.

    Neighbouring log-likelihood requests with one context are one call.
    """
    prompts: list[tuple[Prompt, str, list[int]]] = []
    for number, one in enumerate(sample.inputs["requests"]):
        kind = one["kind"]
        if kind == "generate_until":
            prompts.append((_generate(one), kind, [number]))
        elif kind == "loglikelihood_rolling":
            prompt = Prompt("choose", _messages(""), (one["text"],))
            prompts.append((prompt, kind, [number]))
        else:
            messages = _messages(one["context"])
            before = prompts[-1] if prompts else None
            if before and before[1] == kind and before[0].messages == messages:
                more = (*before[0].continuations, one["continuation"])
                prompts[-1] = (Prompt("choose", messages, more), kind, [*before[2], number])
            else:
                prompt = Prompt("choose", messages, (one["continuation"],))
                prompts.append((prompt, kind, [number]))
    asked: list[Asked] = []
    places = []
    for at, (prompt, kind, numbers) in enumerate(prompts):
        for repeat in range(sample.inputs["repeats"]):
            step = "answer" if len(prompts) == 1 else f"request-{at + 1}"
            asked.append(("candidate", prompt, step, repeat))
            places.append((kind, numbers))
    return asked, places


def _generate(one: Mapping[str, Any]) -> Prompt:
    given = one["gen_kwargs"]
    sampling = {name: given[name] for name in ("top_p", "top_k") if given.get(name) is not None}
    return generate(
        _messages(one["context"]),
        max_tokens=int(given["max_gen_toks"]),
        temperature=float(given.get("temperature") or 0.0),
        stop=tuple(stop for stop in given.get("until") or () if stop),
        **sampling,
    )


def _unsent(sample: Sample) -> str:
    """A remark on generation settings of the task that are not sent."""
    names = {
        f"{name}={value}"
        for one in sample.inputs["requests"]
        for name, value in one.get("gen_kwargs", {}).items()
        if name not in _SENT | _HARMLESS and value is not None
    }
    return f"not sent: {', '.join(sorted(names))}" if names else ""


def _results(
    sample: Sample, kind: str, numbers: list[int], reply: Reply, greedy: bool
) -> list[Any] | None:
    """A call's results, by request, as the library's models give them."""
    if kind == "generate_until":
        text = reply.text
        for stop in sample.inputs["requests"][numbers[0]]["gen_kwargs"].get("until") or ():
            text = text.split(stop)[0] if stop else text
        return [text]
    if kind == "loglikelihood_rolling":
        return list(reply.logprobs)
    greedy_flags = reply.raw.get("greedy") if isinstance(reply.raw, Mapping) else None
    if greedy_flags is None and greedy:
        return None
    flags = greedy_flags or [False] * len(reply.logprobs)
    return [[number, bool(flag)] for number, flag in zip(reply.logprobs, flags, strict=True)]


def _outcome(replies: list[Reply], parsed: Mapping[str, Any]) -> Outcome:
    decisive = next((reply for reply in replies if reply.outcome is not Outcome.OK), replies[0])
    unread = parsed and all(one == _INVALID for one in parsed.values())
    return answer_outcome(decisive, None if unread else parsed)


def _how(task: Mapping[str, Any], metric: str) -> str:
    """The aggregation of a metric; the library takes the mean where a task names none."""
    return str(task["aggregation"].get(metric, "mean"))


def _hows(task: Mapping[str, Any]) -> Iterator[str]:
    """How a task aggregates."""
    return (str(one) for one in task["aggregation"].values())


def _task_metrics(
    part: Tally,
    task: Mapping[str, Any],
    final: Mapping[str, tuple[float | None, float | None]],
    documents: Sequence[_Document],
) -> dict[str, tuple[Aggregate, Metric]]:
    """The metrics of one task by ``metric,filter``."""
    seen = {key.partition("#")[0]: None for row in part for key in row.values}
    seen |= dict.fromkeys(final)
    declared = [f"{m},{f}" for m in task["aggregation"] for f in task["filters"]]
    found = {}
    for key in dict.fromkeys([*declared, *seen]):
        if key not in seen and (seen or key not in declared):
            continue
        how = _how(task, key.rpartition(",")[0])
        rows = aggregation.rows_of(part, key)
        if len(documents) == sum(row.count for row in part):  # asked once each
            numbers = (aggregation.numbers_of(one.values, key) for one in documents)
            rows = [(one, 1) for one in numbers if one]
        value = aggregation.aggregate(rows, how)
        own, stderr = final.get(key, (None, None))
        if own is not None:
            scored = sum(row.count for row in part if row.outcome is not Outcome.ERROR)
            value = replace(value, value=own, n=value.n or scored)
        if stderr is not None:
            value = replace(value, stderr=stderr)
        found[key] = (value, _metric(part, key, how, value))
    return found


def _metric(part: Tally, key: str, how: str, aggregate: Aggregate) -> Metric:
    if how in aggregation.SHARES:
        flags = all(row.values.get(key, 0.0) in (0.0, 1.0) for row in part)
        if flags:
            return metrics.rate(part, key, key)
        made = metrics.mean(part, key, key)
        if made.bound_low == made.value == made.bound_high:
            made = replace(made, bound_low=aggregate.value, bound_high=aggregate.value)
        return replace(made, value=aggregate.value)
    return Metric(key, aggregate.value, n=aggregate.n, share=False)


def _group_metrics(
    group: Mapping[str, Any], tasks: Mapping[str, Mapping[str, Aggregate]]
) -> dict[str, Aggregate]:
    """``Group.aggregate``: the mean over its tasks, by size or not, of each listed metric."""
    found = {}
    for one in group["metrics"]:
        own = [tasks[name] for name in group["tasks"] if name in tasks]
        parted = [key.rpartition(",") for key in sorted({key for task in own for key in task})]
        filters = one["filters"] or [filtered for m, _, filtered in parted if m == one["metric"]]
        for filtered in filters:
            key = f"{one['metric']},{filtered}"
            # Each task counts with the documents of its largest metric.
            parts = [
                replace(task[key], n=max(one.n for one in task.values()))
                for task in own
                if key in task
            ]
            found[key] = aggregation.over_tasks(parts, by_size=one["weight_by_size"])
    return found


def _of_group(key: str, at: str, aggregate: Aggregate, *, share: bool) -> Metric:
    value, stderr = aggregate.value, aggregate.stderr
    low = high = None
    interval = ""
    if value is not None and stderr is not None:
        low, high, interval = value - Z95 * stderr, value + Z95 * stderr, metrics.NORMAL
        if share and stderr and (bounded := scaled_interval(value, stderr * stderr, (0.0, 1.0))):
            (low, high), interval = bounded, metrics.SCALED
    return Metric(
        f"{key}{at}",
        value,
        low,
        high,
        n=aggregate.n,
        interval=interval,
        bound_low=value,
        bound_high=value,
        title=_title(key, at.partition("=")[2]),
        group="Groups" if at else "",
    )


def _title(key: str, of: str) -> str:
    metric, _, filtered = key.rpartition(",")
    named = metric if filtered == "none" else f"{metric} ({filtered})"
    return f"{of}: {named}" if of else named


def _stderr(key: str, at: str, aggregate: Aggregate) -> list[Metric]:
    """The library's standard error of a metric, if it has one."""
    if aggregate.stderr is None:
        return []
    metric, _, filtered = key.rpartition(",")
    name = f"{metric}_stderr,{filtered}"
    title = _title(name, at.partition("=")[2])
    return [
        Metric(name + at, aggregate.stderr, n=aggregate.n, title=title, group=_STDERR, share=False)
    ]
