"""Backports from the standard library of newer Pythons."""

import sys

if sys.version_info >= (3, 12):
    from typing import override as override
else:
    from typing_extensions import override as override
