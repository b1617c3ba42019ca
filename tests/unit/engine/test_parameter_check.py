"""Parameters are tried on the providers before anything is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.config.spec import make_spec
from evalbench.engine.data.dataset import prepare
from evalbench.engine.errors import SpecError
from evalbench.engine.preflight.parameter_check import check_parameters

CLAUDE = "anthropic/claude-sonnet-4-5"


async def _rehearse(home: Path, benchmark: str, model: str, **common: Any) -> None:
    spec = make_spec(benchmark, model, **common)
    await check_parameters(spec, prepare(spec, home))


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"thinking_budget": 2000},
        {"thinking_budget": 2000, "max_tokens": 2001},
        {"temperature": 0.5, "top_p": 0.5},
    ],
)
async def test_parameters_that_fit_are_no_fault(home: Path, given: dict[str, Any]) -> None:
    for model in (CLAUDE, "openai/gpt-5-mini", "groq/mine", "local/smollm2-135m-instruct"):
        await _rehearse(home, "quickstart", model, **given)


@pytest.mark.parametrize(
    "given",
    [{"thinking_budget": 100}, {"thinking_budget": 2000, "max_tokens": 2000}],
)
async def test_those_that_do_not_are_told_with_the_setting(
    home: Path, given: dict[str, Any]
) -> None:
    with pytest.raises(SpecError, match="thinking budget of") as caught:
        await _rehearse(home, "quickstart", CLAUDE, **given)
    assert caught.value.field == "thinking_budget"
    assert CLAUDE in caught.value.what
    assert caught.value.hint


async def test_judges_are_tried_too(home: Path, shared_data: Path) -> None:
    judged = {"data": str(shared_data / "mt_bench"), "judge": [f"{CLAUDE},thinking-budget=100"]}
    with pytest.raises(SpecError, match="thinking budget of 100") as caught:
        await _rehearse(home, "mt-bench", "openai/gpt-5-mini", **judged)
    assert caught.value.field == "judge"
