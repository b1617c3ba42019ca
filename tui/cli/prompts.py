"""``evalbench benchmarks NAME --prompts N``: the prompts of the first samples."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

from evalbench.engine import preflight
from evalbench.engine.config import registry
from evalbench.engine.config.spec import RunSpec
from evalbench.engine.terminal_text import clean, one_line
from evalbench.tui.cli.output import Out, stderr
from evalbench.tui.cli.plain import Plain
from evalbench.tui.cli.target import benchmark_name, wanted_specs
from evalbench.tui.state import figures


def show_prompts(out: Out, args: argparse.Namespace, count: int) -> None:
    """Print the prompts of the first ``count`` samples that the arguments select."""
    spec = _spec(args)
    found = preflight.rendered_prompts(spec, count, Plain(stderr()).preparing)
    if args.json:
        from evalbench.tui.cli import jsonlines

        for sample in found:
            jsonlines.write(out, "prompts", benchmark=spec.benchmark, **sample)
        return
    for number, sample in enumerate(found, 1):
        _print(out, number, sample)


def _spec(args: argparse.Namespace) -> RunSpec:
    registry.benchmark_class(benchmark_name(args.target))  # no suites here
    return wanted_specs(args)[0][0]


def _print(out: Out, number: int, sample: Mapping[str, Any]) -> None:
    tags = " · ".join(f"{name} {one_line(text)}" for name, text in sample["tags"].items())
    out.line(f"sample {number}  {sample['id']}" + (f"  {tags}" if tags else ""))
    for call in sample["calls"]:
        out.line()
        _print_call(out, call)
    if not sample["calls"] and not sample["unfinished"]:
        out.line("  no calls")
    if sample["unfinished"]:
        out.line(f"  not followed any further: {one_line(sample['unfinished'])}")
    out.line()


def _print_call(out: Out, call: Mapping[str, Any]) -> None:
    again = f", repeat {call['repeat']}" if call["repeat"] else ""
    out.line(f"  to {one_line(call['role'])}, {one_line(call['step'])}{again}")
    prompt = call["prompt"]
    if params := prompt.get("params"):
        out.line("  with " + ", ".join(f"{name} {_words(v)}" for name, v in params.items()))
    for message in prompt["messages"]:
        out.line(f"    [{message['role']}]")
        for part in message["parts"]:
            _print_part(out, part)
    if continuations := prompt.get("continuations"):
        out.line("    [which of these is likeliest to follow]")
        out.line("    " + ", ".join(_words(text) for text in continuations))


def _print_part(out: Out, part: Mapping[str, Any]) -> None:
    if "text" not in part:
        size = f"{part['width']} × {part['height']}, " if "width" in part else ""
        out.line(f"    <{part['media_type']}, {size}{figures.amount(part['bytes'], 'B')}>")
        return
    for line in clean(part["text"]).split("\n"):
        out.line(f"    {line}".rstrip())


def _words(value: Any) -> str:
    return one_line(json.dumps(value, ensure_ascii=False))
