"""Regular expressions that are compiled when they are first used."""

from __future__ import annotations

import re
from typing import Any, cast


class _Pattern:
    """A pattern in waiting; its methods are those of the compiled one."""

    def __init__(self, text: str, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self._text, self._flags), name)
        # From now on found without coming here.
        setattr(self, name, found)
        return found


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern that costs nothing until it is used: some take a millisecond to compile."""
    return cast("re.Pattern[str]", _Pattern(text, flags))
