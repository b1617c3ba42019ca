"""What is known about models: what they take, what they hold, when they retire.

Four sources, each overruling the one before: a table generated at release time
(``models.json``), hand-written families (``families.json``), what the
provider's API says itself, and the user's own ``models.toml``. What nobody
knows is None: such a parameter is sent, and the provider may refuse it.
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
