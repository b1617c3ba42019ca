"""What a program asks for when it starts a run: settings by name, and consent to what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalbench.engine import process, registry
from evalbench.engine.benchmarks.custom_file import is_custom
from evalbench.engine.calls import Outcome
from evalbench.engine.desk import Checked
from evalbench.engine.errors import NotApproved, SpecError, nearest
from evalbench.engine.paths import expand
from evalbench.engine.settings import COMMON, RunSpec, make_spec, parse_model


def spec_of(benchmark: str | Path, model: str, settings: Mapping[str, Any]) -> RunSpec:
    """A validated spec, with every setting given to whom it belongs.

    Args:
        benchmark: name of an installed benchmark, or the TOML file of one's own.
        model: ``provider/name[@revision]``.
        settings: of the run, the benchmark, the provider and the filters, by name.

    Raises:
        SpecError: a setting is unknown, or its value does not fit.
    """
    given = dict(settings)
    name = str(benchmark)
    if name.endswith(".toml"):
        if not is_custom(expand(name)):
            raise SpecError(
                "benchmark",
                f"{name} does not describe a benchmark",
                cure="a suite is started with: evalbench run FILE.toml",
            )
        given["file"], name = name, "custom"
    bench = registry.benchmark_class(name)
    provider = registry.provider_class(parse_model(model).provider)
    common = {option.name for option in COMMON}
    owners = (
        ("options", {option.name for option in bench.options}),
        ("provider_options", {option.name for option in provider.options}),
        ("filters", set(bench.filters)),
    )
    apart: dict[str, dict[str, Any]] = {owner: {} for owner, _ in owners}
    own: dict[str, Any] = {}
    for setting, value in given.items():
        takers = [apart[owner] for owner, names in owners if setting in names]
        if setting in common:
            takers.append(own)
        if not takers:
            known = common.union(*(names for _, names in owners))
            raise SpecError(
                setting,
                f"neither a run nor {name} nor {provider.name} has a setting {setting!r}",
                cure=nearest(setting, known),
            )
        for taker in takers:
            taker[setting] = value
    return make_spec(name, model, **apart, **own)


def refuse_costs(checked: Sequence[Checked]) -> None:
    """Refuse a run that costs something: nobody has said that it may.

    Raises:
        NotApproved: with what it may cost.
    """
    for one in checked:
        if one.estimate is None:
            continue
        cost = one.estimate["batch" if one.mode == "batch" else "realtime"]
        low, high = cost or (None, None)
        told = "costs an unknown amount" if high is None else f"may cost up to {high:.2f} dollars"
        raise NotApproved(
            f"this run {told}, and nothing says that it may",
            cure="start it with budget=DOLLARS, a ceiling, or with approve=True",
            low=low,
            high=high,
        )


def retried(name: str) -> Outcome:
    """The outcome of that name, if it can be asked again.

    Raises:
        SpecError: it cannot.
    """
    names = [outcome.value for outcome in process.RETRY]
    if name not in names:
        raise SpecError(
            "retry", f"{name!r} cannot be asked again", why="one of " + ", ".join(names)
        )
    return Outcome(name)
