"""Says which installed packages have known vulnerabilities: ``python .ci/audit.py PIP_AUDIT``.

Ends with 1 if there is one, and with 0 if there is none or if the advisory database could
not be asked, which it says: a build must not fail for want of a network.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


def findings(report: dict[str, Any]) -> tuple[list[str], int]:
    """What pip-audit's JSON says, in lines, and the exit code that it deserves."""
    packages = report["dependencies"]
    asked = [package for package in packages if "vulns" in package]
    if not asked:
        return ["the advisory database is out of reach: no package was checked"], 0
    lines = [
        f"{package['name']} {package['version']}: {found['id']}"
        + (f", mended in {', '.join(found['fix_versions'])}" if found["fix_versions"] else "")
        for package in asked
        for found in package["vulns"]
    ]
    left = len(packages) - len(asked)
    lines.append(
        f"{len(asked)} packages checked, {len(lines)} vulnerabilities known"
        + (f"; of {left} packages nothing is known" if left else "")
    )
    return lines, int(len(lines) > 1)


def main(pip_audit: str) -> int:
    """Audit the environment of this Python."""
    freeze = [sys.executable, "-m", "pip", "freeze", "--exclude-editable"]
    frozen = subprocess.run(freeze, stdout=subprocess.PIPE, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        names = Path(folder) / "requirements.txt"
        names.write_bytes(frozen)
        words = ["--no-deps", "--disable-pip", "--progress-spinner", "off", "--format", "json"]
        done = subprocess.run(
            [pip_audit, "--requirement", str(names), *words],
            capture_output=True,
            check=False,
        )
    try:
        lines, code = findings(json.loads(done.stdout))
    except (ValueError, KeyError):
        why = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        lines, code = ["the advisory database is out of reach: no package was checked", *why], 0
    sys.stdout.write("\n".join(lines) + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
