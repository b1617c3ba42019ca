"""Value objects: what is asked and what comes back, never changed once made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value_object(cls: type[T]) -> type[T]:
    """Make a data class that type checkers treat as frozen.

    A class that is frozen at run time too sets each field through a function call and takes three
    times as long to make, and every call of a run makes a dozen of these.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)
