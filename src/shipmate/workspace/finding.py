"""State what a check of the workspace found."""

from __future__ import annotations

from typing import Literal

import msgspec


class Finding(msgspec.Struct, frozen=True):
    """How one thing stands, and what to do when it does not stand well."""

    level: Literal["ok", "warn", "error"]
    subject: str
    message: str
    fix: str = ""
