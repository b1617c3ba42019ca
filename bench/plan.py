"""Which scripts make the result table, and with which sizes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SIDE = ROOT / ".make" / "bench"
"""Where peers live in environments of their own, and results are kept."""

_DATA = ROOT.parent / "shared" / "data"


_LOCAL = f"--lm-eval {SIDE}/lm-eval-side --mmlu {_DATA}/mmlu --mt-bench {_DATA}/mt_bench"


@dataclass(frozen=True)
class Script:
    """One script of this folder.

    Attributes:
        name: of its module.
        full: its arguments for the table; together about twenty minutes on two cores.
        quick: its arguments for a smoke; none: it has no small form.
        long: it takes too long for every time: run only when it is named.
    """

    name: str
    full: str = ""
    quick: str = ""
    long: bool = False

    @property
    def there(self) -> bool:
        """Whether it exists in this checkout."""
        return (HERE / f"{self.name}.py").exists()


SCRIPTS = (
    Script("app_start", "--rounds 9", "--rounds 1"),
    Script(
        "engine_overhead",
        "--sizes 10000 --rounds 3 --bodies chat,reasoning",
        "--sizes 300 --rounds 1 --bodies chat",
    ),
    Script("growth", "--sizes 10000,100000,1000000 --rounds 3", "--sizes 200,1000 --rounds 1"),
    Script(
        "provider_overhead",
        "--calls 1000 --rounds 2 --latencies 0,0.05 --concurrencies 64",
        "--calls 100 --rounds 1 --latencies 0 --concurrencies 16 --lanes compatible",
    ),
    Script("sdk_layers", "--calls 600 --rounds 5", "--calls 64 --rounds 1"),
    Script("peers", "--rounds 1", "--calls 60 --rounds 1 --latencies 0 --only evalbench"),
    Script("storm", "--calls 2000 --lanes compatible", "--calls 100 --lanes compatible"),
    Script("pace", "--rounds 5", "--rounds 1 --only 8"),
    Script(
        "batches",
        "--lines 3000 --rounds 3 --megabytes 50",
        "--lines 100 --rounds 1 --megabytes 0 --lanes openai",
    ),
    Script("batch_engine", "--samples 20000", "--samples 300 --lanes openai"),
    Script("app_screen", "--rounds 1 --seconds 10", "--rounds 1 --seconds 1 --rate 50"),
    Script("app_keys", "--keys 8", "--keys 1 --size 200 --only home"),
    Script("app_samples", "--size 100000 --rounds 2", "--size 500 --rounds 1"),
    Script("parsers", "--pairs 100", "--size 2000 --pairs 2"),
    Script("comparing", "--rounds 3", "--size 200 --rounds 1"),
    Script("traces", "--size 5000 --rounds 3", "--size 200 --rounds 1"),
    Script("reports", "--rounds 3", "--size 200 --rounds 1"),
    Script("local", f"{_LOCAL} --rounds 1", long=True),
    Script("gpu", long=True),
    Script("cluster", "--size 5000 --rounds 3", "--size 200 --rounds 1"),
    Script("soak", "--minutes 30", "--minutes 0.1 --every 0.5", long=True),
)
