"""Judges as typed: several in one field, each with its own settings."""

from __future__ import annotations

import re

from evalbench.engine.config.roles import JUDGE, RoleSpec, parse_judge
from evalbench.engine.errors import SpecError
from evalbench.engine.keys import looks_like_key

FORM = "PROVIDER/NAME,temperature=0,qps=10"
"""How to write one judge."""

_SETTING = re.compile(r"\s*[\w-]+\s*=")


def split_judges(text: str) -> list[str]:
    """Split a text into judges; after a comma comes a setting of the last one, or the next one."""
    judges: list[str] = []
    for part in text.split(","):
        if judges and _SETTING.match(part):
            judges[-1] += f",{part.strip()}"
        elif part.strip():
            judges.append(part.strip())
    return judges


def read_judges(text: str) -> list[RoleSpec]:
    """All judges in a text, validated.

    Raises:
        SpecError: one is malformed, named twice, or contains a key.
    """
    judges: list[RoleSpec] = []
    for one in split_judges(text):
        if any(looks_like_key(word) for word in re.split(r"[,=\s]", one)):
            what = "--judge is no place for a key"
            raise SpecError(JUDGE, what, hint="put it into the keychain")
        judge = parse_judge(one)
        if judge.model in (other.model for other in judges):
            raise SpecError(JUDGE, f"the judge {judge.model} is named twice")
        judges.append(judge)
    return judges
