"""What a model cannot do, in words."""

from __future__ import annotations

from collections.abc import Iterable

from evalbench.engine.calls import PARAMETERS
from evalbench.tui.state.model_cache import Model

_CALLS = {
    "generate": "writes no text",
    "choose": "gives no likelihoods of given texts",
    "images": "sees no images",
    "video": "takes no videos as they are",
    "logprobs": "reports no log-probabilities",
}


def obstacle(model: Model, needs: Iterable[str]) -> str:
    """Why a model cannot answer calls of these kinds; empty if it can, or if that is unknown."""
    for need in sorted(needs):
        if model.able.get(need) is False:
            reason = str(model.able.get("reason") or "")
            return reason if reason and need == "choose" else _CALLS.get(need, f"cannot {need}")
    return ""


def shortfalls(model: Model) -> list[str]:
    """What to know before setting parameters: what the model does not support."""
    found = [
        f"no {what}"
        for name, what in (("images", "images"), ("logprobs", "log-probabilities"))
        if model.able.get(name) is False
    ]
    untaken = model.able.get("untaken") or {}
    for name, parameter in PARAMETERS.items():
        if parameter.title and name in untaken:
            reason = str(untaken[name])
            found.append(f"no {parameter.title}" + (f" ({reason})" if reason else ""))
    return found
