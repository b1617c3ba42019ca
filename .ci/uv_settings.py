"""Prints shell commands that tell uv where pip's settings say packages come from.

Fails where pip has settings that uv would not follow.
"""

import ast
import shlex
import subprocess
import sys

TOLD = {
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "constraint": ("UV_CONSTRAINT", " "),
    "cert": ("SSL_CERT_FILE", " "),
}
"""The variable of uv for each of pip's settings, and what stands between several values."""

OF_PIP_ALONE = {"cache-dir", "default-timeout", "disable-pip-version-check", "retries", "timeout"}


def main() -> None:
    """Print them, for ``eval``."""
    listed = subprocess.check_output([sys.executable, "-m", "pip", "config", "list"], text=True)
    found = {}
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        found[name.rpartition(".")[2]] = ast.literal_eval(value).split()
    if unknown := found.keys() - TOLD.keys() - OF_PIP_ALONE:
        sys.exit(f"uv is not used: pip is set up with {', '.join(sorted(unknown))}")
    lines = []
    for name in found.keys() & TOLD.keys():
        variable, between = TOLD[name]
        lines.append(f"export {variable}={shlex.quote(between.join(found[name]))}")
    if found.keys() & {"index-url", "extra-index-url", "find-links"}:
        # As pip does: the best version of all places, whatever was named first. Torch comes from
        # there, too.
        lines += ["export UV_INDEX_STRATEGY=unsafe-best-match", "unset UV_TORCH_BACKEND"]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
