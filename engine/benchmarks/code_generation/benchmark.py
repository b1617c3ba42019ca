"""humaneval and mbpp: write a function, which is then tested."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from evalbench.engine.benchmark import (
    Ask,
    Asked,
    Benchmark,
    DataSet,
    DataSource,
    Item,
    Sample,
    Score,
    answer_outcome,
)
from evalbench.engine.benchmarks.code_generation.parsers import (
    PROGRAM,
    called_function,
    read_program,
)
from evalbench.engine.calls import Outcome, Reply, generate
from evalbench.engine.calls.options import setting, setting_of
from evalbench.engine.calls.templates import Template, chosen_templates, fill, prompt_option
from evalbench.engine.compat import override
from evalbench.engine.data.hub import PinnedFile, fetch_rows
from evalbench.engine.data.reading import Row, converted, find_table, list_in, read_rows
from evalbench.engine.sandbox import UNSAFE, Limits, SandboxOfRun
from evalbench.engine.scoring import metrics
from evalbench.engine.scoring.pooled import Counts, pooled
from evalbench.engine.scoring.statistics import pass_at_k
from evalbench.engine.scoring.tally import Metric, Tally

KS = (1, 5, 10, 100)
"""The k of pass@k, if there are that many programs."""

_SEVERAL = 0.8
"""Temperature if several programs are requested; a single one is requested at 0."""
_FUTURE = re.compile(r"^from __future__ import .*$\n?", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramOptions:
    """Options of a :class:`ProgramBenchmark`."""

    generations: int = setting(
        1,
        "programs for each problem; from n of them pass@k is estimated for k up to n",
        minimum=1,
        maximum=200,
    )
    program_tokens: int = setting(2048, "most tokens of a reply", minimum=16)
    program_seconds: float = setting(10.0, "how long a program and its tests may run", minimum=0.1)
    unsafe_run_code: bool = setting(False, UNSAFE)
    prompt: str | None = setting_of(prompt_option())


class ProgramBenchmark(Benchmark):
    """Problems whose answers are programs.

    Attributes:
        hub: the file on the Hugging Face Hub with the problems.
        tables: names of the problems' file in a folder given by ``--data``.
    """

    opt = ProgramOptions()
    hub: ClassVar[PinnedFile]
    tables: ClassVar[Sequence[str]]

    def __init__(self, options: Any, *, seed: int = 0, shared: Any = None) -> None:
        super().__init__(options, seed=seed, shared=shared)
        chosen = chosen_templates(self.opt.prompt, self.prompt_templates)
        [self._template] = (chosen or self.prompt_templates).values()
        self._sandbox = SandboxOfRun(unsafe=self.opt.unsafe_run_code)

    async def check(self) -> None:
        """Require a sandbox, unless the user has opted out."""
        await self._sandbox.get()

    def prepare(self, source: DataSource) -> DataSet:
        """Read the problems; nothing in them is executed."""
        if source.path is None:
            rows = fetch_rows(self.hub, source.progress)
            origin, revision = self.hub.repository, self.hub.revision
        else:
            what = "file of problems"
            table = find_table(source.path, self.tables, what, "--data FILE")
            rows, origin, revision = read_rows(table), source.path.name, ""
        return DataSet(self._items(rows, origin), origin=origin, revision=revision)

    def _items(self, rows: Iterator[tuple[int, Row]], origin: str) -> Iterator[Item]:
        found = converted(rows, self.item, f"problem of {self.title}", origin)
        return (item for _, item in found)

    @abstractmethod
    def item(self, row: Row) -> Item:
        """A row of the data as a problem.

        Raises:
            KeyError, TypeError, ValueError: it is not a problem.
        """

    @abstractmethod
    def shown(self, sample: Sample) -> dict[str, str]:
        """What the prompt shows of a problem, by the names in its template."""

    @abstractmethod
    def program(self, sample: Sample, answer: str) -> str:
        """The program to run: the answer with the code before it, and the tests."""

    def function(self, sample: Sample) -> str:
        """The name of the function that an answer must define."""
        return str(sample.inputs["function"])

    def templates(self) -> Any:
        """The fixed text of the question and the parser's version."""
        own = next(iter(self.prompt_templates.values()))
        return [fill(own.user, self.shown(_EXAMPLE)), _SEVERAL, PROGRAM]

    async def solve(self, sample: Sample, ask: Ask) -> Score:
        """Ask for every program, and run them."""
        several = self.opt.generations > 1
        asked: list[Asked] = [
            (
                "candidate",
                generate(
                    self._template.messages(self.shown(sample)),
                    max_tokens=self.opt.program_tokens,
                    temperature=_SEVERAL if several else 0.0,
                    seed=(self.seed + number) % 2**31 if several else None,
                ),
                "answer",
                number,
            )
            for number in range(self.opt.generations)
        ]
        replies = await ask.many(asked)
        if self.rehearsal:
            return Score(Outcome.OK, {})
        programs = [self._read(sample, reply) for reply in replies]
        outcomes = [
            answer_outcome(reply, program) for reply, program in zip(replies, programs, strict=True)
        ]
        results = [await self._result(sample, program) for program in programs]
        passed = sum(result == "passed" for result in results)
        stopped = sum(result.startswith("stopped:") for result in results)
        worst = next((one for one in outcomes if one is not Outcome.OK), Outcome.OK)
        of = len(results)
        return Score(
            worst,
            {"passed": passed / of, "stopped": stopped / of},
            {PROGRAM: programs[0] if of == 1 else programs, "result": results},
            note=results[0] if of == 1 else f"{passed} of {of} passed",
        )

    def _read(self, sample: Sample, reply: Reply) -> str | None:
        if reply.outcome.declined:
            return None
        return read_program(reply.text, self.function(sample))

    async def _result(self, sample: Sample, answer: str | None) -> str:
        if answer is None:
            return "no program"
        sandbox = await self._sandbox.get()
        seconds = self.opt.program_seconds
        ran = await sandbox.run(self.program(sample, answer), Limits(seconds=seconds))
        return ran.result

    def metrics(self, tally: Tally) -> list[Metric]:
        """pass@k, unbiased; then the outcomes of replies and programs."""
        n = self.opt.generations
        return [
            *(
                pooled(tally, _passing(n, k), f"pass@{k}", f"Problems solved (pass@{k})")
                for k in KS
                if k <= n
            ),
            metrics.share(tally, (Outcome.UNPARSED,), "unparsed", "Replies without a program"),
            metrics.share(tally, (Outcome.TRUNCATED,), "truncated", "Replies that were cut"),
            pooled(
                tally,
                lambda values: (values["stopped"] * n, n),
                "stopped",
                "Programs that were stopped (time, memory, output)",
            ),
        ]


def _passing(n: int, k: int) -> Counts:
    return lambda values: (pass_at_k(n, round(values["passed"] * n), k), 1.0)


def joined(before: str, answer: str, after: str) -> str:
    """One program from three parts; what must come first in a file is moved there."""
    future = "".join(dict.fromkeys(_FUTURE.findall(answer)))
    return f"{future}{before}\n{_FUTURE.sub('', answer)}\n\n{after}\n"


_EXAMPLE = Sample("", {"prompt": "", "function": "f", "tests": []}, "")


class HumanEval(ProgramBenchmark):
    """164 functions to write from their signature and docstring.

    Source: M. Chen et al., "Evaluating Large Language Models Trained on Code",
    arXiv 2107.03374 (2021).
    """

    name = "humaneval"
    version = "1"
    title = "HumanEval"
    summary = "write 164 Python functions from their docstrings; their tests run in a sandbox"
    licence = "MIT"
    hub = PinnedFile(
        "openai/openai_humaneval",
        "7dce6050a7d6d172f3cc5c32aa97f52fa1a2e544",
        "openai_humaneval/test-00000-of-00001.parquet",
    )
    prompt_templates: ClassVar[Mapping[str, Template]] = {
        "program": Template(
            "Complete this Python function. Reply with the whole function, and whatever it "
            "imports, in one fenced code block and nothing else.\n\n```python\n{start}\n```",
            {"start": "the function's signature and docstring, with what comes before it"},
            ("start",),
        )
    }
    tables = ("HumanEval.jsonl.gz", "HumanEval.jsonl", "test-00000-of-00001.parquet")
    data_source = "openai/openai_humaneval on the Hugging Face hub, or --data HumanEval.jsonl.gz"

    @override
    def item(self, row: Row) -> Item:
        return Item(
            inputs={"prompt": _text(row, "prompt"), "function": _text(row, "entry_point")},
            gold=_text(row, "test"),
            tags={"task": _text(row, "task_id")},
        )

    def shown(self, sample: Sample) -> dict[str, str]:
        """The signature and docstring, to be completed."""
        return {"start": sample.inputs["prompt"].rstrip()}

    def program(self, sample: Sample, answer: str) -> str:
        """The prompt, with its imports and helpers; the answer; the tests."""
        prompt, name = sample.inputs["prompt"], sample.inputs["function"]
        if not re.search(rf"^def {re.escape(name)}\b", answer, re.MULTILINE):
            # Just a body, as from models that only complete text.
            prompt, answer = "", prompt.rstrip() + "\n" + _as_body(answer)
        return joined(prompt, answer, f"{sample.gold}\n\ncheck({name})")


class Mbpp(ProgramBenchmark):
    """500 short tasks in words, each with three tests that are shown to the model.

    Source: J. Austin et al., "Program Synthesis with Large Language Models",
    arXiv 2108.07732 (2021): the test split, tasks 11 to 510, with its tests in the prompt.
    """

    name = "mbpp"
    version = "1"
    title = "MBPP"
    summary = "write 500 short Python functions from a sentence and three tests, run in a sandbox"
    licence = "CC-BY-4.0"
    hub = PinnedFile(
        "google-research-datasets/mbpp",
        "4bb6404fdc6cacfda99d4ac4205087b89d32030c",
        "full/test-00000-of-00001.parquet",
    )
    prompt_templates: ClassVar[Mapping[str, Template]] = {
        "program": Template(
            "Write a Python function for this task: {task}\n\nIt must pass these tests:\n\n"
            "```python\n{tests}\n```\n\nReply with the code in one fenced block and nothing else.",
            {"task": "what the function should do", "tests": "three assertions that name it"},
            ("task", "tests"),
        )
    }
    tables = ("mbpp.jsonl", "mbpp.jsonl.gz", "test-00000-of-00001.parquet")
    data_source = "google-research-datasets/mbpp on the Hugging Face hub, or --data mbpp.jsonl"

    def prepare(self, source: DataSource) -> DataSet:
        """The test split; if a file holds all splits, as the original does, that part of it."""
        data = super().prepare(source)
        return DataSet(
            (item for item in data.items if 11 <= int(item.tags["task"]) <= 510),
            origin=data.origin,
            revision=data.revision,
        )

    @override
    def item(self, row: Row) -> Item:
        tests = [str(test) for test in list_in(row["test_list"])]
        name = called_function(tests[0])
        if not name:
            raise ValueError("test_list")
        return Item(
            inputs={"prompt": _text(row, "text"), "function": name, "tests": tests},
            gold=str(row.get("test_setup_code") or ""),
            tags={"task": str(int(row["task_id"]))},
        )

    def shown(self, sample: Sample) -> dict[str, str]:
        """The task and its tests, which contain the function's name."""
        return {"task": sample.inputs["prompt"], "tests": "\n".join(sample.inputs["tests"])}

    def program(self, sample: Sample, answer: str) -> str:
        """What the tests need, the answer, and the tests."""
        return joined(sample.gold, answer, "\n".join(sample.inputs["tests"]))


def _text(row: Row, name: str) -> str:
    if not isinstance(row[name], str):
        raise TypeError(name)
    return str(row[name])


def _as_body(answer: str) -> str:
    """An answer that is just a function body, indented accordingly."""
    lines = answer.splitlines()
    if any(line and not line[0].isspace() for line in lines):
        lines = [f"    {line}" for line in lines]
    return "\n".join(lines)
