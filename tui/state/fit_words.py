"""Whether models on this machine fit in its memory, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalbench.engine.calls.footprint import Footprint
from evalbench.engine.errors import SpecError
from evalbench.engine.hardware.devices import DeviceMemory
from evalbench.engine.hardware.fit import Fit, Loading, Verdict, fit
from evalbench.tui.state import figures

FORMS = {"8bit": "8-bit", "4bit": "4-bit"}
"""Display names of number formats, where they differ."""


def fit_here(
    footprint: Footprint | None,
    memory: DeviceMemory | None,
    options: Mapping[str, Any] | None = None,
) -> Fit | None:
    """Whether a model fits if loaded with a provider's raw option values.

    None if its footprint, or the free memory, is unknown.
    """
    if footprint is None or memory is None:
        return None
    try:
        loading = Loading.chosen(options or {}, memory, footprint)
    except SpecError:
        return None
    return fit(footprint, memory, loading)


def fit_words(found: Fit) -> tuple[str, str]:
    """The result with its figure, and its tone."""
    takes = figures.amount(found.need.total, "B")
    match found.verdict:
        case Verdict.FITS:
            return f"fits: {takes}", "good"
        case Verdict.SMALLER_BATCH:
            return f"fits with a smaller batch: {takes}", "good"
        case Verdict.OTHER_FORM:
            return f"fits in {FORMS.get(found.form, found.form)}: {takes}", "warn"
    return f"does not fit: {least_words(found)}", "bad"


def least_words(found: Fit) -> str:
    """The minimum need of the smallest loadable form, and what is available."""
    form, need = min(found.least.items(), key=lambda pair: pair[1])
    free = figures.amount(found.free, "B")
    return f"{figures.amount(need, 'B')} in {FORMS.get(form, form)}, {free} free"


def why_not(found: Fit) -> str:
    """Why a run would be refused, and what would help; empty if it would not."""
    if found.verdict is Verdict.DOES_NOT:
        return f"needs {least_words(found)}"
    if found.verdict is Verdict.OTHER_FORM:
        asked, need = next(iter(found.least.items()))
        need_words = f"needs {figures.amount(need, 'B')} in {FORMS.get(asked, asked)}"
        flag = "dtype" if found.form in ("bfloat16", "float16") else "quantize"
        return f"{need_words}, {figures.amount(found.free, 'B')} free; set {flag} to {found.form}"
    return ""
