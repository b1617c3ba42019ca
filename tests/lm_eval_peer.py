"""lm-evaluation-harness's own run of tasks, by a model whose answers are hashes of questions.

``python -m tests.lm_eval_peer FOLDER OUT WEIGHTS TASK...`` writes its results and samples. The task
named ``chatted`` is asked in chat turns. ``WEIGHTS`` is ``-``, or the folder of a model that
answers instead, by the library's own code for models of transformers.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sys
from pathlib import Path
from typing import Any

_CAPITALS = {
    "France": "Paris",
    "Italy": "Rome",
    "Peru": "Lima",
    "Norway": "Oslo",
    "Japan": "Tokyo",
    "Kenya": "Nairobi",
}
EMBEDDED_DOCS, EMBEDDED_TOKENS = 2, 8
"""Documents of each task, and tokens of an answer, where a model of transformers answers."""
_ANSWERS = ("{}", " {}", "The answer is {}.", "It is {}", "I do not know", "{}")


def _number(*texts: str) -> int:
    return int.from_bytes(hashlib.sha256("\x00".join(texts).encode()).digest()[:4])


def loglikelihood(context: str, continuation: str) -> tuple[float, bool]:
    """A log-likelihood, and whether the continuation is the likeliest."""
    number = _number(context, continuation)
    return -(number % 9973) / 997, number % 3 == 0


def text(context: str, nth: int = 0) -> str:
    """What the model generates, beyond every stop."""
    number = _number(context, str(nth))
    country = max(_CAPITALS, key=context.rfind)
    return f"{_ANSWERS[number % len(_ANSWERS)].format(_CAPITALS[country])}\n\nQ: {number}"


def rendered(turns: list[dict[str, str]]) -> str:
    """Chat turns in this model's template."""
    return "".join(f"<{turn['role']}>{turn['content']}\n" for turn in turns) + "<answer>"


def main() -> None:
    """Run the tasks."""
    import lm_eval
    from lm_eval.api.model import LM
    from lm_eval.tasks import TaskManager

    class Scripted(LM):  # type: ignore[misc, unused-ignore]
        """Answers as the functions above."""

        tokenizer_name = "none"

        def loglikelihood(self, requests: Any) -> Any:
            return [loglikelihood(*one.args[:2]) for one in requests]

        def loglikelihood_rolling(self, requests: Any) -> Any:
            return [loglikelihood("", one.args[0])[0] for one in requests]

        def generate_until(self, requests: Any) -> Any:
            found: list[str] = []
            times: dict[Any, int] = {}
            for one in requests:
                context, settings = one.args[:2]
                place = one.task_name, one.doc_id
                times[place] = times.get(place, -1) + 1
                said = text(context, times[place])
                for stop in settings.get("until") or ():
                    said = said.split(stop)[0] if stop else said
                found.append(said)
            return found

        def chat_template(self, chat_template: Any = False) -> str:
            return "none"

        def apply_chat_template(self, chat_history: Any, add_generation_prompt: bool = True) -> str:
            return rendered(chat_history)

    logging.disable(logging.WARNING)
    folder, out, weights, *tasks = sys.argv[1:]
    model: LM = Scripted()
    shortened: dict[str, Any] = {}
    if weights != "-":
        from lm_eval.models.huggingface import HFLM

        shortened = {"limit": EMBEDDED_DOCS, "gen_kwargs": {"max_gen_toks": EMBEDDED_TOKENS}}
        model = HFLM(pretrained=weights, dtype="float32", device="cpu", batch_size=1)
    found = {}
    for task in tasks:
        manager = TaskManager(include_path=folder, include_defaults=False)
        found[task] = lm_eval.simple_evaluate(
            model=model,
            tasks=[task],
            task_manager=manager,
            apply_chat_template=task == "chatted",
            bootstrap_iters=10,
            **shortened,
        )
    kept = {task: {key: one[key] for key in ("results", "samples")} for task, one in found.items()}
    Path(out).write_text(json.dumps(kept, default=str))


if __name__ == "__main__":
    main()
