"""Facts about models: what they accept, their limits, when they retire.

Four sources, each overriding the previous: a table generated at release time (``models.json``),
hand-written families (``families.json``), what the provider's API reports, and the user's
``models.toml``. Unknown facts are None: such a parameter is sent, and the provider may refuse it.
"""

from evalbench.providers.modelfacts.facts import ModelFacts
from evalbench.providers.modelfacts.refusals import NOTHING, Negotiable, Refusals, Refused
from evalbench.providers.modelfacts.resolver import FactsResolver
from evalbench.providers.modelfacts.table import known_names, other_provider, table_facts

__all__ = [
    "NOTHING",
    "FactsResolver",
    "ModelFacts",
    "Negotiable",
    "Refusals",
    "Refused",
    "known_names",
    "other_provider",
    "table_facts",
]
