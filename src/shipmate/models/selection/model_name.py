"""Tell what can be the name of a model from what a server gives out for one."""

from __future__ import annotations

from typing import Any, TypeGuard

LONGEST = 200


def is_model_name(value: Any) -> TypeGuard[str]:
    """Return whether a name can be shown in a list, typed and sent: one line without control characters."""
    return isinstance(value, str) and len(value) <= LONGEST and value.isprintable() and bool(value.strip())
