"""The headless engine: durable calls, journal, driver and scoring. Knows no screen and no SDK.

The Python API::

    from evalbench.engine import make_spec, open_run, start_run

    engine = start_run(make_spec("quickstart", "local/smollm2-135m-instruct"))
    print(engine.runs[0].status().state)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalbench.engine.process import open_run, resume_run, start_run
    from evalbench.engine.settings import make_spec

__all__ = ["make_spec", "open_run", "resume_run", "start_run"]


def __getattr__(name: str) -> Any:
    # Lazy, so that importing a leaf such as evalbench.engine.errors stays cheap.
    if name == "make_spec":
        from evalbench.engine.settings import make_spec

        return make_spec
    if name in __all__:
        from evalbench.engine import process

        return getattr(process, name)
    raise AttributeError(name)
