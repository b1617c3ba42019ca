"""What lm-evaluation-harness's own tasks score replies that are there already.

``python -m tests.lm_eval_scorers FOLDER``, which has for each task ``TASK.yaml`` and
``TASK.replies.json`` (a reply for each document). It prints, as JSON, each document's metrics by
task.
"""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Score the replies."""
    import lm_eval
    from lm_eval.api.model import LM
    from lm_eval.tasks import TaskManager

    logging.disable(logging.WARNING)
    folder = Path(sys.argv[1])
    tasks = sorted(path.stem for path in folder.glob("*.yaml"))
    replies = {
        task: json.loads((folder / f"{task}.replies.json").read_text(encoding="utf-8"))
        for task in tasks
    }

    class Given(LM):  # type: ignore[misc, unused-ignore]
        """Answers with the replies."""

        def loglikelihood(self, requests: Any) -> Any:
            raise NotImplementedError

        loglikelihood_rolling = loglikelihood

        def generate_until(self, requests: Any) -> Any:
            return [replies[one.task_name][one.doc_id] for one in requests]

    found = lm_eval.simple_evaluate(
        model=Given(),
        tasks=tasks,
        task_manager=TaskManager(include_path=str(folder), include_defaults=False),
        bootstrap_iters=0,
    )
    scored: dict[str, list[dict[str, Any]]] = {}
    for task, samples in found["samples"].items():
        rows = scored[task] = [{} for _ in replies[task]]
        for one in samples:
            told = {f"{name},{one['filter']}": one[name] for name in one["metrics"]}
            rows[one["doc_id"]].update(told)
    sys.stdout.write(json.dumps(scored, default=float))


if __name__ == "__main__":
    main()
