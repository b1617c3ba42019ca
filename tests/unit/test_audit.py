"""What is said of known vulnerabilities, and when a build fails for them."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parents[2] / ".ci" / "audit.py"
FINE: dict[str, Any] = {"name": "a", "version": "1", "vulns": []}
BAD: dict[str, Any] = {
    "name": "b",
    "version": "2",
    "vulns": [{"id": "CVE-1", "fix_versions": ["2.1", "3"]}, {"id": "CVE-2", "fix_versions": []}],
}
UNKNOWN: dict[str, Any] = {"name": "c", "skip_reason": "not found"}


def told(*packages: dict[str, Any]) -> tuple[list[str], int]:
    lines, code = runpy.run_path(str(SCRIPT))["findings"]({"dependencies": list(packages)})
    return lines, code


def test_a_vulnerability_fails_and_says_what_mends_it() -> None:
    assert told(FINE, BAD, UNKNOWN) == (
        [
            "b 2: CVE-1, mended in 2.1, 3",
            "b 2: CVE-2",
            "2 packages checked, 2 vulnerabilities known; of 1 packages nothing is known",
        ],
        1,
    )
    assert told(FINE) == (["1 packages checked, 0 vulnerabilities known"], 0)


def test_no_network_fails_nothing_but_is_said() -> None:
    lines, code = told(UNKNOWN)
    assert (code, "out of reach" in lines[0]) == (0, True)
