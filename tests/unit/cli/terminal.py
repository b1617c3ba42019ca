"""A stream that calls itself a terminal."""

from __future__ import annotations

import io


class Terminal(io.StringIO):
    """A text stream that calls itself a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True
