"""Backports from the standard library of newer Pythons."""

import sys
from typing import TYPE_CHECKING, TypeVar

if sys.version_info >= (3, 12):
    from typing import override as override
elif TYPE_CHECKING:
    from typing_extensions import override as override
else:
    T = TypeVar("T")

    def override(method: T) -> T:
        """Mark a method as overriding one of a base class, for type checkers."""
        return method
