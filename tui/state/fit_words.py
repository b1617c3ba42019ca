"""Whether models of this machine fit into its memory, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalbench.engine.errors import SpecError
from evalbench.engine.hardware.devices import DeviceMemory
from evalbench.engine.hardware.fit import Fit, Footprint, Loading, Verdict, fit
from evalbench.tui.state import figures

FORMS = {"8bit": "8-bit", "4bit": "4-bit"}
"""How number formats are called here, where not by their own names."""


def fit_here(
    footprint: Footprint | None,
    memory: DeviceMemory | None,
    options: Mapping[str, Any] | None = None,
) -> Fit | None:
    """Whether a model fits when loaded with a provider's options, given raw.

    None when its footprint, or the free memory, is not known.
    """
    if footprint is None or memory is None:
        return None
    try:
        loading = Loading.chosen(options or {}, memory)
    except SpecError:
        return None
    return fit(footprint, memory, loading)


def fit_words(found: Fit) -> tuple[str, str]:
    """The answer with its figure, and the tone to say it in."""
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
    """What the smallest form that can be loaded takes at the least, and what there is."""
    form, need = min(found.least.items(), key=lambda pair: pair[1])
    free = figures.amount(found.free, "B")
    return f"{figures.amount(need, 'B')} in {FORMS.get(form, form)}, {free} free"


def why_not(found: Fit) -> str:
    """Why a run would be refused, and what would help; empty when it would not."""
    if found.verdict is Verdict.DOES_NOT:
        return f"needs {least_words(found)}"
    if found.verdict is Verdict.OTHER_FORM:
        asked, need = next(iter(found.least.items()))
        told = f"needs {figures.amount(need, 'B')} in {FORMS.get(asked, asked)}"
        flag = "dtype" if found.form in ("bfloat16", "float16") else "quantize"
        return f"{told}, {figures.amount(found.free, 'B')} free; set {flag} to {found.form}"
    return ""
