"""What newer Pythons have in their own library."""

import sys

if sys.version_info >= (3, 12):
    from typing import override as override
else:
    from typing_extensions import override as override
