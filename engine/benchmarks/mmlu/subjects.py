"""The 57 subjects of MMLU with their subcategories and categories.

The grouping is that of the data set's authors (Hendrycks et al. 2021). Other
tools differ in places: lm-evaluation-harness counts anatomy as STEM.
"""

from __future__ import annotations

from typing import NamedTuple


class Subject(NamedTuple):
    """The groups that a subject belongs to."""

    subcategory: str
    category: str


_OTHER = "other (business, health, misc.)"

# category → subcategory → subjects
_GROUPS = {
    "STEM": {
        "biology": "college_biology high_school_biology",
        "chemistry": "college_chemistry high_school_chemistry",
        "computer science": (
            "college_computer_science computer_security high_school_computer_science"
            " machine_learning"
        ),
        "engineering": "electrical_engineering",
        "math": (
            "abstract_algebra college_mathematics elementary_mathematics"
            " high_school_mathematics high_school_statistics"
        ),
        "physics": "astronomy college_physics conceptual_physics high_school_physics",
    },
    "humanities": {
        "history": (
            "high_school_european_history high_school_us_history high_school_world_history"
            " prehistory"
        ),
        "law": "international_law jurisprudence professional_law",
        "philosophy": (
            "formal_logic logical_fallacies moral_disputes moral_scenarios philosophy"
            " world_religions"
        ),
    },
    "social sciences": {
        "culture": "human_sexuality sociology",
        "economics": "econometrics high_school_macroeconomics high_school_microeconomics",
        "geography": "high_school_geography",
        "politics": (
            "high_school_government_and_politics public_relations security_studies"
            " us_foreign_policy"
        ),
        "psychology": "high_school_psychology professional_psychology",
    },
    _OTHER: {
        "business": "business_ethics management marketing",
        "health": (
            "anatomy clinical_knowledge college_medicine human_aging medical_genetics nutrition"
            " professional_medicine virology"
        ),
        "other": "global_facts miscellaneous professional_accounting",
    },
}

SUBJECTS: dict[str, Subject] = {
    name: Subject(subcategory, category)
    for category, subcategories in _GROUPS.items()
    for subcategory, names in subcategories.items()
    for name in names.split()
}


CATEGORIES = ("STEM", "humanities", "social sciences", "other")
"""The short names used to group scores."""


def category_tag(subject: str) -> str:
    """The short category name used to group scores: the full name without its parenthesis.

    Some data sets in MMLU's format give a category, or a group of their own, instead of a subject:
    that is used then.
    """
    if subject in SUBJECTS:
        return SUBJECTS[subject].category.partition(" (")[0]
    return next((one for one in CATEGORIES if one.lower() == subject.strip().lower()), subject)
