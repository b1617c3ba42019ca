"""ifeval: does a model follow instructions that a program can verify?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

from evalbench.engine.benchmark import (
    Ask,
    Benchmark,
    DataSet,
    DataSource,
    Item,
    Sample,
    Score,
    ScoringTimeout,
    answer_outcome,
)
from evalbench.engine.benchmarks.custom.file import CustomFile
from evalbench.engine.benchmarks.custom.rows import hub_rows
from evalbench.engine.benchmarks.sets import instructions
from evalbench.engine.calls import generate
from evalbench.engine.calls.options import setting_of
from evalbench.engine.calls.templates import Template, chosen_templates, prompt_option
from evalbench.engine.data.reading import Row, converted, find_table, list_in, read_rows
from evalbench.engine.installed import require
from evalbench.engine.limited_process import LimitedProcess, LimitExceeded
from evalbench.engine.scoring import metrics
from evalbench.engine.scoring.pooled import pooled
from evalbench.engine.scoring.reply_text import spoken
from evalbench.engine.scoring.tally import Metric, Tally

_HUB = CustomFile(
    hub="google/IFEval", split="train", revision="966cd89545d6b6acfd7638bc708b98261ca58e84"
)
_READS = "ifeval/1"
_WAYS = ("strict", "loose")


@dataclass(frozen=True, slots=True, kw_only=True)
class IfEvalOptions:
    """Options of :class:`IfEval`."""

    prompt: str | None = setting_of(prompt_option())


class IfEval(Benchmark):
    """541 prompts with one to three instructions each; see :mod:`instructions`."""

    name = "ifeval"
    version = "1"
    title = "IFEval"
    summary = "541 prompts whose instructions a program can verify: length, format, words, case"
    licence = "Apache-2.0"
    opt = IfEvalOptions()
    prompt_templates: ClassVar[Mapping[str, Template]] = {
        "prompt": Template("{prompt}", {"prompt": "task and instructions"}, ("prompt",))
    }
    data_source = (
        "google/IFEval on the Hugging Face hub, or --data input_data.jsonl; rules after"
        " https://arxiv.org/abs/2311.07911"
    )

    def __init__(self, options: Mapping[str, Any], *, seed: int = 0, shared: Any = None) -> None:
        super().__init__(options, seed=seed, shared=shared)
        own = self.prompt_templates
        self._prompts = chosen_templates(self.opt.prompt, own) or own

    async def check(self) -> None:
        """Require the libraries that the rules need."""
        require("scorers", "ifeval", "langdetect", "nltk")

    def prepare(self, source: DataSource) -> DataSet:
        """Read the prompts and their instructions."""
        if source.path is None:
            return DataSet(
                _items(hub_rows(_HUB, source), _HUB.hub), origin=_HUB.hub, revision=_HUB.revision
            )
        names = ("input_data.jsonl", "ifeval_input_data.jsonl", "train.jsonl")
        table = find_table(source.path, names, "prompts of IFEval", "--data FILE")
        return DataSet(_items(read_rows(table), str(table)), origin=table.name)

    def templates(self) -> Any:
        """The version of the rules; prompts are the data's own."""
        return [_READS]

    async def solve(self, sample: Sample, ask: Ask) -> Score:
        """Ask, and verify each instruction."""
        asked = self._prompts["prompt"].messages({"prompt": sample.inputs["prompt"]})
        reply = await ask("candidate", generate(asked, max_tokens=2048))
        text = spoken(reply.text)
        ids: list[str] = sample.inputs["instructions"]
        if reply.outcome.declined or not text.strip():
            found = [[False] * len(ids)] * 2
        else:
            found = await self._followed(ids, sample.inputs["arguments"], text)
        values: dict[str, float] = {"of": len(ids)}
        for way, each in zip(_WAYS, found, strict=True):
            values[f"prompt_{way}"] = float(all(each))
            values[f"instruction_{way}"] = sum(each)
        for name, followed in zip(ids, found[0], strict=True):
            kind = name.partition(":")[0]
            values[f"of/{kind}"] = values.get(f"of/{kind}", 0) + 1
            values[f"strict/{kind}"] = values.get(f"strict/{kind}", 0) + followed
        failed = [name for name, followed in zip(ids, found[0], strict=True) if not followed]
        note = f"not followed: {', '.join(failed)}" if failed else ""
        return Score(
            answer_outcome(reply, text.strip() or None),
            values,
            {_READS: dict(zip(ids, found[0], strict=True))},
            note,
        )

    @cached_property
    def _child(self) -> LimitedProcess:
        return instructions.process()

    async def _followed(self, ids: list[str], given: Any, text: str) -> list[list[bool]]:
        try:
            found: list[list[bool]] = await self._child.result([ids, given, text])
        except LimitExceeded as error:
            raise ScoringTimeout(f"verifying the instructions {error}") from None
        return found

    def metrics(self, tally: Tally) -> list[Metric]:
        """The paper's four accuracies, then strict ones by kind of instruction."""
        kinds = sorted({n.partition("/")[2] for row in tally for n in row.values if "of/" in n})
        return [
            metrics.rate(tally, "prompt_strict", "prompt_strict", "Prompts followed, strict"),
            metrics.rate(tally, "prompt_loose", "prompt_loose", "Prompts followed, loose"),
            *(
                pooled(
                    tally,
                    partial(_counts, f"instruction_{way}", "of"),
                    f"instruction_{way}",
                    f"Instructions followed, {way}",
                )
                for way in _WAYS
            ),
            *(
                pooled(
                    tally,
                    partial(_counts, f"strict/{kind}", f"of/{kind}"),
                    f"instruction_strict/kind={kind}",
                    kind,
                    "By kind of instruction",
                )
                for kind in kinds
            ),
        ]


def _counts(followed: str, of: str, values: Mapping[str, float]) -> tuple[float, float]:
    return values.get(followed, 0.0), values.get(of, 0.0)


def _items(rows: Iterator[tuple[int, Row]], origin: str) -> Iterator[Item]:
    return (item for _, item in converted(rows, _item, "prompt of IFEval", origin))


def _item(row: Row) -> Item:
    ids, given = [str(one) for one in list_in(row["instruction_id_list"])], list_in(row["kwargs"])
    if not ids or len(ids) != len(given):
        raise ValueError("instruction_id_list and kwargs")
    arguments = []
    for name, some in zip(ids, given, strict=True):
        if name not in instructions.RULES:
            raise ValueError(f"a known instruction, not {name!r}")
        # The Hub's table has a column for every argument of any kind, most of them null.
        arguments.append({one: some[one] for one in instructions.NEEDS.get(name, ())})
        if any(value is None for value in arguments[-1].values()):
            raise ValueError(f"an argument of {name}")
    return Item({"prompt": str(row["prompt"]), "instructions": ids, "arguments": arguments}, None)
