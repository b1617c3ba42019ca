"""Some tasks of lm-evaluation-harness, for tests where the library need not be installed."""

from __future__ import annotations

from evalbench.engine.benchmarks.lm_eval.index import Entry

INDEX = {
    "gsm8k": Entry("TASK", "gsm8k.yaml", "generate_until", "", "openai/gsm8k main", []),
    "arc_easy": Entry("TASK", "arc.yaml", "multiple_choice", "", "allenai/ai2_arc", []),
    "ai2_arc": Entry("TAG", "", "", "", "", ["arc_easy"]),
    "all": Entry("GROUP", "all.yaml", "", "Everything", "", ["ai2_arc", "gsm8k", "all"]),
}
