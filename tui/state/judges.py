"""Judges as they are typed: several in one field, each with settings of its own."""

from __future__ import annotations

import re

from evalbench.engine.config.roles import JUDGE, RoleSpec, parse_judge
from evalbench.engine.errors import SpecError
from evalbench.engine.keys import looks_like_key

FORM = "PROVIDER/NAME,temperature=0,qps=10"
"""How one judge is written."""

_SETTING = re.compile(r"\s*[\w-]+\s*=")


def split_judges(text: str) -> list[str]:
    """The judges in a text: after a comma comes a setting of the last one, or the next one."""
    judges: list[str] = []
    for part in text.split(","):
        if judges and _SETTING.match(part):
            judges[-1] += f",{part.strip()}"
        elif part.strip():
            judges.append(part.strip())
    return judges


def read_judges(text: str) -> list[RoleSpec]:
    """Every judge in a text, checked.

    Raises:
        SpecError: one is not written right, or named twice, or has a key in it.
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
