"""The result of a probe (one short question to a model), in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalbench.engine.terminal_text import clean, one_line
from evalbench.tui.state import figures


def probe_facts(probe: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and values of everything notable in a ``probe`` line (docs/json-lines.md)."""
    facts = [("reply", clean(probe["text"]).strip() or "(nothing)")]
    if probe["outcome"] != "ok":
        facts.append(("outcome", one_line(f"{probe['outcome']} {probe['stop_reason']}")))
    if probe["provider_model"]:
        facts.append(("model", one_line(probe["provider_model"])))
    cost = probe["cost_usd"]
    facts += [
        ("took", figures.duration(probe["latency_s"])),
        ("tokens", _tokens(probe)),
        ("cost", "unknown" if cost is None else figures.dollars(cost)),
    ]
    for fate in ("sent", "dropped", "refused"):
        params = [
            _param(name, what) for name, what in probe["params"].items() if what["fate"] == fate
        ]
        facts += [(fate, "; ".join(params))] if params else []
    return facts


def _tokens(probe: Mapping[str, Any]) -> str:
    if probe["input_tokens"] is None or probe["output_tokens"] is None:
        return "the provider does not say"
    words = (
        f"{figures.count(probe['input_tokens'])} in, {figures.count(probe['output_tokens'])} out"
    )
    if thought := probe["reasoning_tokens"]:
        words += f" ({figures.count(thought)} of them thinking)"
    return words


def _param(name: str, what: Mapping[str, str]) -> str:
    return one_line(name + (f" ({what['reason']})" if what["reason"] else ""))
